"""Pages that repeat code or output, compared with what the program says and prints."""

import doctest
import re
import shlex
import signal
from dataclasses import fields
from enum import IntEnum
from itertools import permutations
from pathlib import Path
from textwrap import indent

import numpy as np
import pytest
import yaml
from pyspark.sql import SparkSession

from rebalance_sim.cli import CHECK_FAILED, INCOMPLETE, SOMETHING_NEW, USER_ERROR, main
from rebalance_sim.engine.audit.judgement import FAMILIES
from rebalance_sim.kafka.runtime.hash_order import vote_order
from rebalance_sim.kafka.runtime.strings import Strings, java_hashes
from rebalance_sim.kafka.simulation.kubernetes import Deployment, Rollout
from rebalance_sim.kafka.simulation.settings import SimulationSettings
from rebalance_sim.releases import (
    RULE_CHANGES,
    ConsumerGroupRules,
    CoordinatorRules,
    KafkaStreamsRules,
    KafkaVersion,
    ShareGroupRules,
    StreamsGroupRules,
    kafka_version,
)
from rebalance_sim.sources.scenarios import KEYS, ScenarioFile
from rebalance_sim.sources.yaml_checks import checked
from rebalance_sim.sources.yaml_files import shipped_names
from rebalance_sim.tables import INPUTS, OUTPUTS, Table

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
TABLES_PAGE, OWN_ASSIGNOR_PAGE = DOCS / "tables.md", DOCS / "own-assignor.md"
SIMULATE_PAGE, VERSIONS_PAGE = DOCS / "simulate.md", DOCS / "kafka-versions.md"
PAGES_OF_OUTPUT = [
    ("assign.md", 2, 8),
    ("audit.md", 2, 18),
    ("compare.md", 2, 6),
    ("connect.md", 7, 5),
    ("elect.md", 3, 11),
    ("explain.md", 5, 0),
    ("fleet.md", 2, 2),
    ("history.md", 5, 15),
    ("kafka-versions.md", 0, 7),
    ("other-libraries.md", 0, 30),
    ("lag.md", 2, 12),
    ("partitions.md", 3, 10),
    ("report.md", 9, 3),
    ("simulate.md", 5, 23),
    ("share-groups.md", 3, 4),
    ("streams-groups.md", 6, 19),
    ("tutorial.md", 0, 27),
]
"""Pages whose output is compared, with their number of commands and of shell examples."""
RUN_ELSEWHERE = {
    "rebalance-sim partition --topics topics.json --keys": "tests/commands/test_partition.py",
    ".venv/bin/python -m rebalance_sim.preparation": "tests/real/test_preparation.py",
    "make run": "tests/real/test_fresh_clone.py",
    "make test": ".ci/run",
    "make test-real": ".ci/run",
    "make setup airflow": "tests/real/airflow/conftest.py",
    "mkdir capture": "tests/real/test_live_cluster.py",
    "kafka-topics.sh": "tests/real/test_live_cluster.py",
    "kafka-consumer-groups.sh": "tests/real/test_live_cluster.py",
    "kafka-groups.sh": "tests/real/test_recognized_clients.py",
    "kafka-share-groups.sh": "tests/real/test_recognized_clients.py",
    ".venv/bin/rebalance-sim audit --kafka-tools capture": "tests/real/test_live_cluster.py",
    ".venv/bin/rebalance-sim audit --bootstrap-servers HOST:9092 --out": "tests/real/test_live_cluster.py",
    ".venv/bin/rebalance-sim assign --topics out/capture/fleet/topics": "tests/real/test_live_cluster.py",
    "rebalance-sim audit --bootstrap-servers HOST:9092 --previous": "tests/real/test_audit_news.py",
    "rebalance-sim fleet --bootstrap-servers HOST:9092,HOST:9092": "tests/real/test_live_cluster.py",
    "rebalance-sim assign --clusters out/fleet/clusters": "tests/real/test_live_cluster.py",
    "rebalance-sim fleet --bootstrap-servers HOST:9092 --out": "tests/real/test_share_groups.py",
    "rebalance-sim fleet --bootstrap-servers HOST:9092 --records-from": "tests/real/test_topic_records.py",
    "spark-submit --packages": "tests/real/test_topic_records.py",
    ".venv/bin/rebalance-sim fleet --offsets-topic dump": "tests/sources/offsets_topic/test_fleet.py",
    "PYTHONPATH=docs/examples .venv/bin/rebalance-sim": "tests/test_documentation.py",
    "make package": "tests/real/test_spark_cluster.py",
    "rebalance-sim fleet --kafka-tools capture --out out/fleet then": "tests/real/test_preparation.py",
    ".venv/bin/spark-submit --master spark://": "tests/real/test_spark_cluster.py",
    ".venv/bin/spark-submit --master yarn": "tests/real/test_yarn.py",
}
"""Commands on other pages, by their beginning, and the test that runs them."""
NOT_RUN = {
    "rebalance-sim fleet --offsets-topic kafka:HOST:9092": "tests/real/test_share_groups.py reads the same records",
    "rebalance-sim connect --offsets-topic kafka:HOST:9092": "tests/real/test_connect_clusters.py reads it",
    "rebalance-sim streams --offsets-topic kafka:HOST:9092": "tests/real/test_streams_groups.py reads it",
    "rebalance-sim streams --streams-members out/fleet": "reads what fleet has read from a broker",
    "rebalance-sim connect --rest-output": "needs the answer of a worker; tests/commands/test_connect.py has one",
    "kafka-streams-groups.sh": "needs a streams group; tests/real/test_streams_groups.py runs it",
    "rebalance-sim audit --bootstrap-servers HOST:9092 --command-config": "needs a broker",
    "pip install 'rebalance-sim[live]'": "the package is in no registry yet",
    "rebalance-sim partition --topics out/fleet/topics": "needs records that the command before it reads from a broker",
    "kafka-console-consumer.sh": "waits 30 seconds; tests/golden has the output of its formatters",
    ".venv/bin/rebalance-sim --print-completion": "changes the user's shell; tests/commands/test_help.py prints it",
    "spark-submit --driver-java-options": "only suppresses Spark's own log",
    "spark-submit --py-files": "tests/commands/test_jobs.py sends the module the same way",
    ".venv/bin/spark-submit --master k8s:": "needs a Kubernetes cluster",
    "python -m tests.support.cluster.capture": "takes two minutes and replaces the examples",
    "python -m tests.support.cluster.share_capture": "takes a minute and replaces an example",
    "python -m tests.support.cluster.streams_capture": "takes a minute and replaces an example",
    ".venv/bin/rebalance-sim history --offsets-topic dumps": "needs a broker; test_history.py merges dumps",
    ".venv/bin/rebalance-sim history --offsets-topic kafka:HOST:9092 --keep": "test_offsets_topic.py runs it",
    "rebalance-sim history --offsets-topic kafka:HOST:9092": "needs a broker; history.md reads a dump",
    "rebalance-sim audit --bootstrap-servers HOST:9092 --history": "needs a broker; history.md audits a dump",
    ".venv/bin/rebalance-sim history --offsets-topic dump --broker-logs": "tests/commands/test_history.py reads logs",
    "rebalance-sim explain assignment --topics out/history/miss_topics": "needs a miss; test_history.py runs it",
    "python -m tests.support.cluster.scripted_history": "takes two minutes and replaces an example",
    "python -m tests.support.cluster.committing_groups": "takes a minute and replaces an example",
    "python -m tests.support.cluster.random_history": "takes an hour; test_random_history.py plays shorter histories",
    ". .venv/bin/activate": "interactive; the examples typed then are run",
    "pyspark": "interactive; the examples typed then are run",
}
"""Commands that no test runs, and why."""
_PROGRAM = r"(?:make|mkdir|rebalance-sim|spark-submit|kafka-[\w-]+\.sh|python|pip|\.)"
_COMMAND = re.compile(rf"(?:[A-Z]+=\S+ )?(?:\S*/)?{_PROGRAM} .+|pyspark")
_FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
REBALANCE_SIM = "PYTHONPATH=docs/examples .venv/bin/rebalance-sim "


def section(table: Table) -> str:
    lines = [f"## {table.name}", "", table.meaning, "", "| column | type | meaning |", "|---|---|---|"]
    for column in table.columns:
        note = "required" if column.required else f"default: {column.default}" if column.default is not None else ""
        meaning = f"{column.meaning} ({note})" if note and table.name in INPUTS else column.meaning
        lines.append(f"| {column.name} | `{column.type.simpleString()}` | {meaning} |")
    return "\n".join(lines)


def page() -> str:
    parts = [
        "# Tables",
        "",
        "Every table the program reads and writes. Optional input columns may be missing: they are read as null or as",
        "their default.",
        "",
    ]
    parts += ["# Input tables", "", *(f"{section(table)}\n" for table in INPUTS.values())]
    parts += ["# Output tables", "", *(f"{section(table)}\n" for table in OUTPUTS.values())]
    return "\n".join(parts)


def test_tables_page_describes_every_column() -> None:
    assert TABLES_PAGE.read_text() == page()


def table_under(text: str, head: str) -> list[list[str]]:
    """Return the cells of a Markdown table without backticks."""
    rows = text.partition(f"| {head} |")[2].partition("\n\n")[0].splitlines()[2:]
    return [[cell.strip().replace("`", "") for cell in row.strip("|").split("|")] for row in rows]


def test_simulate_page_lists_all_scenarios_events_and_settings() -> None:
    text = SIMULATE_PAGE.read_text()
    assert sorted(row[0] for row in table_under(text, "scenario")) == shipped_names("scenarios")

    turns = "members, every_ms, times, again_after_ms"
    events = {row[0]: row[1].replace("*turns*", turns).replace("**", "") for row in table_under(text, "event")}
    assert {event: set(filter(None, keys.split(", "))) for event, keys in events.items()} == {
        event: set(keys) for event, keys in KEYS.items()
    }

    kip_848 = "group_consumer_"
    defaults = {
        name: str(value).lower() for name, value in vars(SimulationSettings()).items() if not name.startswith(kip_848)
    }
    assert {row[0]: row[1] for row in table_under(text, "setting")} == defaults
    assert blocks(text, "yaml") == [(DOCS / "examples" / "rollout.yaml").read_text()]
    (in_one_line,) = re.findall(r"^    (deployment: .*)$", text, re.MULTILINE)
    deployment = checked(yaml.safe_load(in_one_line), ScenarioFile).deployment
    assert deployment is not None
    assert deployment.rollout() == Rollout(Deployment(), replicas=30)


def test_versions_page_lists_every_rule_and_the_order_of_ties() -> None:
    text = VERSIONS_PAGE.read_text()
    assert {row[0] for row in table_under(text, "rule")} == {
        rule.name for rule in fields(KafkaVersion) if rule.name != "name"
    }
    assert [row[:4] for row in table_under(text, "since")] == [
        [change.since, rule, shown_rule(value), change.cause or "-"]
        for change in RULE_CHANGES
        for rule, value in change.rules.items()
    ]
    for kind, rules in (
        ("the coordinator", CoordinatorRules),
        ("consumer-protocol groups", ConsumerGroupRules),
        ("share groups", ShareGroupRules),
        ("streams groups", StreamsGroupRules),
        ("Kafka Streams", KafkaStreamsRules),
    ):
        assert [row[0] for row in table_under(text, f"rules of {kind}")] == [of.name for of in rules]

    for version, winners in table_under(text, "version"):
        names = winners.split(", ")
        hashes, map_rule = java_hashes(Strings.of(names)), int(kafka_version(version).coordinator_map)
        for count in range(2, len(names) + 1):
            for voted in permutations(range(len(names)), count):
                met = vote_order(hashes, np.array(voted, np.int32), map_rule)
                assert met.tolist() == sorted(voted), version


def test_audit_page_lists_every_kind_of_finding() -> None:
    rows = table_under((DOCS / "audit.md").read_text(), "family | kind")
    known = [
        [family, kind.name, str(kind.severity), str(kind.harm)] for family, of in FAMILIES.items() for kind in of.kinds
    ]
    assert [row[:4] for row in rows] == known


def shown_rule(value: object) -> str:
    if isinstance(value, IntEnum):
        return value.name
    if isinstance(value, bool):
        return "yes" if value else "no"
    return ", ".join(value) if isinstance(value, tuple) else str(value)


@pytest.mark.parametrize("page", ["adding-rules.md", "architecture.md"])
def test_paths_named_for_contributors_exist(page: str) -> None:
    named = re.findall(r"`((?:rebalance_sim|tests)/[\w/.]+)`", (DOCS / page).read_text())
    assert len(named) > 10
    assert [path for path in named if not (ROOT / path).exists()] == []


@pytest.mark.setup
def test_own_assignor_page_shows_the_example_and_runs(spark: SparkSession, tmp_path: Path) -> None:
    """Its class is the example file, and its shell session and its command run."""
    text = OWN_ASSIGNOR_PAGE.read_text()
    assert indent((DOCS / "examples" / "by_lag.py").read_text(), "    ") in text
    assert main(["fleet", "--kafka-tools", str(DOCS / "examples" / "kafka-4.3.1"), "--out", f"{tmp_path}/fleet"]) == 0

    here = text.replace("out/", f"{tmp_path}/").replace('"docs/', f'"{DOCS}/')
    session = doctest.DocTestParser().get_doctest(here, {"spark": spark}, OWN_ASSIGNOR_PAGE.name, None, 0)
    assert doctest.DocTestRunner().run(session) == (0, len(session.examples))
    assert len(session.examples) > 10

    _, _, command = here.partition(REBALANCE_SIM)
    assert main(shlex.split(command.partition("\n\n")[0].replace("\\\n", ""))) == 0
    balance = spark.read.parquet(f"{tmp_path}/by-lag/assign/balance")
    assert {(row.strategy, row.error) for row in balance.collect()} == {("range", None), ("by-lag", None)}


def blocks(text: str, language: str = "") -> list[str]:
    return [block for named, block in _FENCED.findall(text) if named == language]


@pytest.mark.setup
@pytest.mark.parametrize(("page", "commands", "examples"), PAGES_OF_OUTPUT)
def test_pages_show_the_output_of_their_commands(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str], page: str, commands: int, examples: int
) -> None:
    """A block is a command or a part of the last command's output; the shell examples run after all commands."""
    here = (DOCS / page).read_text().replace("docs/", f"{ROOT}/docs/")
    text, printed, run = re.sub("(?<=[ ,])out/", f"{tmp_path}/out/", here), "", 0
    for block in blocks(text):
        if block.startswith("$ .venv/bin/rebalance-sim "):
            arguments = shlex.split(block.replace("\\\n", " "))[2:]
            assert main(arguments) == 0
            printed, run = capsys.readouterr().out, run + 1
        else:
            assert block in printed
    assert run == commands
    session = "".join(blocks(text, "python")).replace('"out/', f'"{tmp_path}/out/')
    shell = doctest.DocTestParser().get_doctest(session, {"spark": spark}, page, None, None)
    assert doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(shell) == (0, examples)


@pytest.mark.setup
def test_operations_page_lists_all_exit_codes_and_shows_real_output(
    spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its commands write nothing."""
    text = (DOCS / "operations.md").read_text()
    codes = [int(row[0]) for row in table_under(text, "code | means")]
    own = [USER_ERROR, CHECK_FAILED, INCOMPLETE, SOMETHING_NEW]
    assert codes == [0, 1, *own, 128 + signal.SIGINT, 128 + signal.SIGTERM]
    assert blocks(text, "yaml") == [(DOCS / "examples" / "options.yaml").read_text()]
    printed, run = "", 0
    for block in blocks(text):
        if block.startswith("$ .venv/bin/rebalance-sim "):
            assert main(shlex.split(block.replace("\\\n", " "))[2:]) == 0
            printed, run = capsys.readouterr().out, run + 1
        else:
            assert block in printed
    assert run == 2
    session = doctest.DocTestParser().get_doctest("".join(blocks(text, "python")), {}, "operations.md", None, None)
    assert doctest.DocTestRunner().run(session) == (0, 2)


def commands() -> list[str]:
    """Return all commands of the README and the pages, except those of the pages of output, which are run there."""
    found = []
    for page in (ROOT / "README.md", *DOCS.rglob("*.md")):
        text = page.read_text().replace("\\\n", " ")
        fenced = "\n".join(blocks(text)).splitlines()
        indented = re.findall(r"^    (\S.*)$", _FENCED.sub("", text), re.MULTILINE)
        found += [line for line in (*fenced, *indented) if _COMMAND.fullmatch(line.strip())]
    return found


def test_every_command_is_run_or_has_a_reason_not_to_be() -> None:
    known = RUN_ELSEWHERE | NOT_RUN
    found = [re.sub(" +", " ", command.strip()) for command in commands()]
    assert [command for command in found if not command.startswith(tuple(known))] == []
    assert [begin for begin in known if not any(command.startswith(begin) for command in found)] == []
    assert [path for path in RUN_ELSEWHERE.values() if not (ROOT / path).exists()] == []


def test_links_between_pages_lead_somewhere() -> None:
    pages = [ROOT / "README.md", *(ROOT / "tests").rglob("README.md"), *DOCS.rglob("*.md")]
    broken = []
    for page in pages:
        for target, _, anchor in re.findall(r"\]\((?!https?:)([^)#\s]*)(#([^)\s]+))?\)", page.read_text()):
            path = (page.parent / target) if target else page
            if not path.exists() or (anchor and anchor not in anchors(path)):
                broken.append(f"{page.relative_to(ROOT)}: {target}#{anchor}")
    assert broken == []


def anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub names them."""
    headings = re.findall(r"^#+ (.+)$", _FENCED.sub("", page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
