"""Mistakes that show without data are reported before Spark starts, and before Kafka's rules are imported."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rebalance_sim.commands.parsers import parsers

RUN_ALL = """
import contextlib, io, json, sys, types
from rebalance_sim.cli import main

def start(*_):
    sys.exit("Spark starts")

def run(arguments):
    with contextlib.redirect_stderr(io.StringIO()) as errors, contextlib.redirect_stdout(io.StringIO()) as printed:
        try:
            code = main(arguments)
        except SystemExit as asked:
            code = str(asked)
    return [code, errors.getvalue(), printed.getvalue()]

sys.modules["rebalance_sim.commands.starting"] = types.SimpleNamespace(start=start)
print(json.dumps({line: run(line.split("|")) for line in json.loads(sys.stdin.read())}))
"""
"""Runs command lines in one process that does not start Spark, and returns their exit codes and what they print."""
MEMBERS, TOPICS = "--members m.json", "--topics t.json"
GROUPS = f"{TOPICS} {MEMBERS} --out o"
RECORDS = f"{TOPICS} --records r.json --out o"
MISTAKES = {
    "fleet --synthetic smal --out o": "--synthetic: 'smal' is not known (did you mean 'small'?); allowed: ",
    "fleet --synthetic small --groups -1 --out o": "--groups: -1 is not allowed; allowed: 0 or more",
    "fleet --synthetic small --groups 9999999999 --out o": "groups: expected a whole number from 0 to 1000000000",
    "fleet --synthetic none.yaml --out o": "none.yaml: cannot be read: No such file or directory",
    "fleet --kafka-tools nowhere --out o": "cannot read the capture 'nowhere': it does not exist",
    "fleet --offsets-topic nowhere --out o": "cannot read the dump 'nowhere': it does not exist",
    "fleet --kafka-tools . --protocols range,,sticky --out o": "protocols: expected a list of assignors, not ['range'",
    "fleet --kafka-tools . --records-from t --out o": "--records-from: only allowed with --bootstrap-servers",
    "fleet --kafka-tools . --topics t.json --out o": "--topics: only allowed with --offsets-topic",
    "fleet --kafka-tools . --command-config c --out o": "--command-config: only allowed with --bootstrap-servers and ",
    "fleet --bootstrap-servers b:9092 --command-config c --out o": "c: cannot be read: No such file or directory",
    "fleet --offsets-topic m.json --topics none.json --out o": "topics: cannot read 'none.json': it does not exist",
    "fleet --synthetic small --out elected": "--out: 'elected' is the output of elect, which fleet would replace; ",
    "elect --members nowhere --out o": "members: cannot read 'nowhere': it does not exist",
    "elect --members empty.json --out o": "members: 'empty.json' is empty: it has no rows and no columns",
    "elect --members lines --format csv --out o": "members: 'lines' is not csv, it looks like json; ",
    "elect --members begun/members --out o": "members: 'begun/members' belongs to a run of fleet that has not finished",
    f"elect {MEMBERS} --kafka-version 3.99 --out o": "kafka version '3.99' is not known; allowed: ",
    f"elect {MEMBERS} --client-version 1 --out o": "kafka version '1' is not known; allowed: ",
    f"elect {MEMBERS} --kafka-version 4.0 --scala-version 2.12 --out o": "scala version '2.12' is not a build of ",
    f"elect {MEMBERS} --offsets-partitions 0 --out o": "--offsets-partitions: 0 is not allowed; allowed: 1 or more",
    f"elect {MEMBERS} --clusters nowhere --out o": "clusters: cannot read 'nowhere': it does not exist",
    f"elect {MEMBERS} --out .": "--out: '.' contains the input of --members ('m.json'); allowed: ",
    f"elect {MEMBERS} --out m.json": "--out: 'm.json' is the input of --members ('m.json'); allowed: ",
    f"elect {MEMBERS} --out t.json": "--out: 't.json' is a file; allowed: a folder",
    f"elect {MEMBERS} --out files": "--out: 'files' is not the output of a run (no _run.json), and the run would",
    f"elect {MEMBERS} --out o then assign {GROUPS} --strategy rage": "--strategy: 'rage' is not known (did you mean ",
    f"assign {GROUPS} --strategy rage": "--strategy: 'rage' is not known (did you mean 'range'?); allowed: ",
    f"assign {GROUPS} --strategy cooperative-sticky --kafka-version 2.3": "--strategy: Kafka 2.3 has no 'cooperative-",
    f"assign {GROUPS} --assignors nowhere:Own": "--assignors: nowhere:Own: no module named 'nowhere'; ",
    f"assign {GROUPS} --strategy json:Own": "--strategy: json:Own: json has no class Own derived from ",
    f"assign --topics nowhere {MEMBERS} --out o": "topics: cannot read 'nowhere': it does not exist",
    f"assign {TOPICS} --members nowhere --out o": "members: cannot read 'nowhere': it does not exist",
    f"assign {GROUPS} --offsets nowhere": "offsets: cannot read 'nowhere': it does not exist",
    f"partition {RECORDS} --client sarma": "--client: 'sarma' is not known (did you mean 'sarama'?); allowed: ",
    f"partition {RECORDS} --client a=sarama,franz-go": "--client: 'a=sarama,franz-go' names a topic for some clients ",
    f"partition {RECORDS} --compare sarama": "--compare: 'sarama' is one client; at least two are needed",
    f"partition {RECORDS} --compare sarama,sarma": "--compare: 'sarma' is not known (did you mean 'sarama'?); ",
    f"partition {RECORDS} --batch-size -1": "--batch-size: -1 is not allowed; allowed: 0 to 1073741824",
    f"partition {RECORDS} --linger-ms -1": "--linger-ms: -1 is not allowed; allowed: 0 to 1073741824",
    f"partition {RECORDS} --kafka-version new": "kafka version 'new' is not known; allowed: ",
    f"partition {RECORDS} --partitions-after 0": "--partitions-after: 0 is not allowed; allowed: 1 to 1000000",
    f"partition {RECORDS} --partitions-after nowhere": "topics_after: cannot read 'nowhere': it does not exist",
    f"partition {TOPICS} --records nowhere --out o": "records: cannot read 'nowhere': it does not exist",
    f"partition {TOPICS} --keys nowhere.txt --out o": "keys: cannot read 'nowhere.txt': it does not exist",
    f"partition {TOPICS} --keys nowhere --out o": "keys: cannot read 'nowhere': it does not exist",
    f"simulate {GROUPS}": "--scenario: nothing to simulate; give --scenario, --events, or both",
    f"simulate {GROUPS} --scenario rolling": "--scenario: 'rolling' is not known (did you mean 'rolling-restart'?); ",
    f"simulate {GROUPS} --scenario none.yaml": "none.yaml: cannot be read: No such file or directory",
    f"simulate {GROUPS} --scenario leave --settings network=5": "--settings: ",
    f"simulate {GROUPS} --scenario leave --strategy rage": "--strategy: 'rage' is not known (did you mean 'range'?); ",
    f"simulate {GROUPS} --scenario leave --storm-rebalances 1": "--storm-rebalances: 1 is not allowed; allowed: 2 or ",
    f"simulate {GROUPS} --scenario leave --storm-window-ms 0": "--storm-window-ms: 0 is not allowed; allowed: 1",
    f"simulate {GROUPS} --events nowhere": "events: cannot read 'nowhere': it does not exist",
    f"simulate {TOPICS} --members nowhere --scenario leave --out o": "members: cannot read 'nowhere': it does no",
    "audit --fleet nowhere --out o": "--fleet: 'nowhere' is not the output of a finished run (no _run.json)",
    "audit --fleet elected --out o": "--topics: 'elected' has no table topics; give --fleet, or --topics and --members",
    "audit --out o": "--topics: no fleet is given; give --fleet, or --topics and --members",
    f"audit {GROUPS} --protocols range": "--protocols: not allowed with tables that exist already",
    f"audit {GROUPS} --scenario rolling": "--scenario: 'rolling' is not known (did you mean 'rolling-restart'?); ",
    f"audit {GROUPS} --thresholds none.yaml": "none.yaml: cannot be read: No such file or directory",
    f"audit {GROUPS} --assignors nowhere:Own": "--assignors: nowhere:Own: no module named 'nowhere'; ",
    f"audit {GROUPS} --partitions-after t.json": "--partitions-after: needs records, whose keys may move; give -",
    f"audit {GROUPS} --records nowhere": "records: cannot read 'nowhere': it does not exist",
    f"audit {GROUPS} --history nowhere": "--history: 'nowhere' is not the output of a finished run (no _run.json)",
    f"audit {GROUPS} --history begun": "--history: 'begun' is not the output of a finished run (no _run.json)",
    f"audit {GROUPS} --history elected": "--history: 'elected' is the output of elect; allowed: that of history",
    "audit --kafka-tools nowhere --out o": "cannot read the capture 'nowhere': it does not exist",
    "history --offsets-topic nowhere --out o": "cannot read the dump 'nowhere': it does not exist",
    "history --offsets-topic m.json,nowhere --out o": "cannot read the dump 'nowhere': it does not exist",
    "history --offsets-topic , --out o": "--offsets-topic: ',' names no dump",
    "history --offsets-topic m.json --out m.json": "--out: 'm.json' is the input of --offsets-topic ('m.json'); ",
    "history --offsets-topic m.json --since noon --out o": "--since: 'noon' is not a time; allowed: a date ",
    "history --offsets-topic m.json --since 2026-03-02 --until 2026-03-01 --out o": "--since: 2026-03-02 is after ",
    "history --offsets-topic m.json --command-config c --out o": "--command-config: only allowed with --offsets-topic ",
    "history --offsets-topic m.json --topics nowhere --out o": "topics: cannot read 'nowhere': it does not exist",
    "explain election": "explain election needs --members",
    "explain election --members nowhere": "members: cannot read 'nowhere': it does not exist",
    f"explain assignment {TOPICS} {MEMBERS} --topic t": "explain assignment needs --partition",
    f"explain assignment {TOPICS} {MEMBERS} --topic t --partition 0 --strategy rage": "--strategy: 'rage' is not known",
    "explain key --key a": "give --partitions, or --topics and --topic",
    "explain key --partitions 3": "give --key or --key-hex",
    "explain key --key-hex xy --partitions 3": "--key-hex: 'xy' is not hexadecimal",
    "explain key --key a --partitions 3 --client sarma": "client: 'sarma' is not known (did you mean 'sarama'?)",
    "explain key --key a --topics nowhere --topic t": "topics: cannot read 'nowhere': it does not exist",
    "explain agreement --partitions 3": "--client: 'java-3.3' is one client; explain agreement needs at least two",
    "explain agreement --client sarama,java-3.3 --partitions 0": "partitions is 0; allowed: at least 1",
    "check --runs elected --max-ties -1": "--max-ties: -1.0 is not allowed; allowed: 0 or more",
    "check --runs elected --max-findings eror=1": "--max-findings: 'eror' is not known (did you mean 'error'?); ",
    "check --runs elected,nowhere --max-ties 1": "--runs: 'nowhere' is not the output of a finished run (no _run.json)",
    "check --runs elected --max-imbalance 1": "--max-imbalance: no run of --runs has a table balance",
    "report --runs elected,nowhere --out o": "--runs: 'nowhere' is not the output of a finished run (no _run.json)",
    "report --runs elected --out elected": "--out: 'elected' is the input of --runs ('elected'); allowed: a folder ",
}
NEEDED = {"fleet": "--synthetic small --out o", "partition": RECORDS, "check": "--runs elected --max-ties 1"}
NEEDED |= {"elect": f"{MEMBERS} --out o", "assign": GROUPS, "simulate": f"{GROUPS} --scenario leave", "audit": GROUPS}
NEEDED |= {
    "history": "--offsets-topic m.json --out o",
    "report": "--runs elected --out o",
    "connect": "--workers m.json --connectors m.json --out o",
    "streams": "--streams-members m.json --subtopologies m.json --topics t.json --out o",
    "explain": "key --key a --partitions 3",
}
"""Options with which each job would run."""
MISSPELT = {
    f"{job} {NEEDED[job]} {action.option_strings[-1]} misspelt": f"{action.option_strings[-1]}: 'misspelt' is not known"
    for job, parser in parsers()[1].items()
    for action in parser._actions
    if action.choices and action.option_strings
}


def run_all(lines: list[str], folder: Path, **variables: str) -> dict[str, Any]:
    """Run command lines in a process without Spark."""
    asked = json.dumps([line.replace(" ", "|") for line in lines])
    ran = subprocess.run(
        [sys.executable, "-c", RUN_ALL],
        cwd=folder,
        env=os.environ | variables,
        input=asked,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return dict(zip(lines, json.loads(ran.stdout).values(), strict=True))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write inputs, a finished run of ``elect``, and the beginning of a run of ``fleet``."""
    folder = tmp_path_factory.mktemp("given")
    (folder / "m.json").write_text('{"group_id": "g", "member_id": "a", "protocols": ["range"], "subscription": ["t"]}')
    (folder / "t.json").write_text('{"topic": "t", "partitions": 3}')
    (folder / "r.json").write_text('{"topic": "t", "key": "a"}')
    (folder / "lines").write_text("{}")
    (folder / "empty.json").touch()
    for name in ("elected", "begun", "files"):
        (folder / name).mkdir()
    run = {"job": "elect", "options": {}, "versions": {}, "rows": {"out": {"elections": 0}}, "assumptions": []}
    (folder / "elected" / "_run.json").write_text(json.dumps(run))
    (folder / "begun" / "_begun.json").write_text('{"job": "fleet", "replaces": ["members"], "owner": null}')
    (folder / "files" / "notes").touch()
    return folder


@pytest.fixture(scope="module")
def reported(folder: Path) -> dict[str, Any]:
    return run_all([*MISTAKES, *MISSPELT], folder)


@pytest.mark.parametrize("line", [*MISTAKES, *MISSPELT])
def test_a_mistake_is_reported_before_spark_starts(reported: dict[str, Any], line: str) -> None:
    code, errors, printed = reported[line]
    assert (code, printed) == (2, "")
    (error,) = errors.splitlines()
    assert error.partition(": ")[2].startswith((MISTAKES | MISSPELT)[line])


def test_inputs_that_an_earlier_job_makes_are_not_missing(folder: Path) -> None:
    """Nor is anything wrong with its output folder yet. The mistake of the last job ends all."""
    jobs = [
        "fleet --synthetic small --out made",
        "audit --fleet made --out audited",
        "check --runs audited --max-ties 1",
        "elect --members made/members --out elected-too",
        "assign --topics none --members made/members --out o",
    ]
    line = " then ".join(jobs)
    code, errors, _ = run_all([line], folder)[line]
    assert code == 2
    assert errors == "rebalance-sim assign: topics: cannot read 'none': it does not exist\n"


@pytest.mark.parametrize(
    ("line", "variables"),
    [
        ("elect --members s3://bucket/members --out o", {}),
        ("elect --members *.jsonl --out o", {}),
        ("elect --members catalog.members --format iceberg --out o", {}),
        ("elect --members nowhere --out o", {"HADOOP_CONF_DIR": "conf"}),
        ("check --runs s3://bucket/run --max-ties 1", {}),
    ],
)
def test_paths_that_may_be_elsewhere_are_left_to_spark(folder: Path, line: str, variables: dict[str, str]) -> None:
    assert run_all([line], folder, **variables)[line][0] == "Spark starts"
