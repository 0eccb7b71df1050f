"""The command line itself: help, completion, and mistakes in names."""

import json
import subprocess
import sys

import pytest

from rebalance_sim.cli import main
from rebalance_sim.commands.job_options import JOBS
from rebalance_sim.commands.parsers import parsers
from rebalance_sim.kafka.assignors import KNOWN_ASSIGNORS

SLOW = ("numba", "numpy", "pandas", "pyarrow", "pyspark", "py4j")
"""Libraries that take longer to import than help may take."""


RUN_ALL = """
import json, sys
from rebalance_sim.cli import main
calls, slow = map(json.loads, sys.argv[1:])
for arguments in calls:
    try:
        main(arguments)
    except SystemExit:
        pass
    print("loaded by", arguments, [name for name in slow if name in sys.modules])
"""


def test_help_loads_nothing_slow() -> None:
    calls = [["--help"], ["--version"], ["--print-completion", "bash"], *([job, "--help"] for job in JOBS)]
    calls.append(["elect", "--out"])
    command = [sys.executable, "-c", RUN_ALL, json.dumps(calls), json.dumps(SLOW)]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    assert [line for line in printed if line.startswith("loaded by ")] == [f"loaded by {call} []" for call in calls]


def printed_help(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as ended:
        main([*arguments, "--help"])
    assert ended.value.code == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("job", JOBS)
def test_help_has_sections_and_examples(capsys: pytest.CaptureFixture[str], job: str) -> None:
    printed = printed_help(capsys, job)
    sections = [line.removesuffix(":") for line in printed.splitlines() if line.endswith(":") and line[0] != " "]
    expected = ["options", "Input", "Rules", "Output", "Logging", "Examples"]
    assert sections == [name for name in expected if name in sections]
    assert {"Input", "Logging", "Examples"} <= set(sections)
    examples = printed.partition("Examples:\n")[2].splitlines()
    assert all(line.startswith(f"  rebalance-sim {job} ") for line in examples)


def test_every_example_is_accepted() -> None:
    parser, _ = parsers()
    for name, job in JOBS.items():
        for example in job.examples:
            assert parser.parse_args([name, *example.split()]).job == name


def test_help_names_every_job_and_assignor(capsys: pytest.CaptureFixture[str]) -> None:
    overview = printed_help(capsys)
    assert all(f"\n    {job} " in overview for job in JOBS)
    listed = " ".join(printed_help(capsys, "assign").split()).partition("some of: ")[2].partition(", MODULE:CLASS")[0]
    assert set(listed.split(", ")) == KNOWN_ASSIGNORS.keys()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_complete_jobs_and_options(capsys: pytest.CaptureFixture[str], shell: str) -> None:
    with pytest.raises(SystemExit):
        main(["--print-completion", shell])
    printed = capsys.readouterr().out
    assert all(word in printed for word in ("simulate", "heaviest-keys", "quarantine"))


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("asign --topics t", "JOB: 'asign' is not known (did you mean 'assign'?); allowed: fleet, elect, assign, "),
        ("--verison", "option: '--verison' is not known (did you mean '--version'?); allowed: --help, --version, "),
        ("elect --membres m", "option: '--membres' is not known (did you mean '--members'?); allowed: --help, "),
        ("elect --strateg=all", "option: '--strateg' is not known; allowed: --help, --members, "),
        ("assign --ou o", "option: '--ou' is not known (did you mean '--out'?); allowed: "),
        ("elect --log-level warn", "--log-level: 'warn' is not known (did you mean 'warning'?); allowed: debug, "),
        ("elect --seed x", "argument --seed: invalid int value: 'x'; see rebalance-sim elect --help"),
        (
            "assign --topics t",
            "the following arguments are required: --members, --out; see rebalance-sim assign --help",
        ),
        ("fleet --out o", "one of the arguments --synthetic --kafka-tools --bootstrap-servers --offsets-topic is "),
        ("", "the following arguments are required: JOB; see rebalance-sim --help"),
    ],
)
def test_mistakes_take_one_line(capsys: pytest.CaptureFixture[str], line: str, expected: str) -> None:
    assert main(line.split()) == 2
    (printed,) = capsys.readouterr().err.splitlines()
    assert printed.startswith(f"rebalance-sim: {expected}")
