"""Options from the command line, from a file, and by default."""

import re
from pathlib import Path

import pytest
import yaml

from rebalance_sim.cli import main
from rebalance_sim.commands.configuration import read_options
from rebalance_sim.commands.parsers import parsers
from rebalance_sim.engine.spark.session import SUBMITTED_DEFAULTS

CONF = Path(__file__).parents[2] / "conf"
TABLES = ["--topics", "t", "--members", "m"]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "options.yaml"


def test_the_example_file_has_all_defaults() -> None:
    """It lists every option of every job, and changes none."""
    given = ["assign", *TABLES, "--out", "o"]
    with_file = vars(read_options(*parsers(), [*given, "--config", f"{CONF}/rebalance-sim.yaml"]))
    without = vars(read_options(*parsers(), given))
    for options in (with_file, without):
        options.pop("config"), options.pop("sources")
    assert with_file == without

    text = (CONF / "rebalance-sim.yaml").read_text()
    parts = re.split(r"^(\w+):", text, flags=re.MULTILINE)
    named = {
        name: set(re.findall(r"^  (?:# )?([a-z-]+):", part, re.MULTILINE))
        for name, part in zip(parts[1::2], parts[2::2], strict=True)
    }
    _, jobs = parsers()
    for job, parser in jobs.items():
        actions = [action for action in parser._actions if action.option_strings]
        options = {action.option_strings[-1].removeprefix("--"): action for action in actions}
        assert named[job] | named["common"] >= options.keys() - {"help", "config", "dry-run", "explain"}
        assert named[job] <= options.keys()
        merged = yaml.safe_load(text)["common"] | (yaml.safe_load(text)[job] or {})
        assert {key: value for key, value in merged.items() if key in options and options[key].default != value} == {}


def test_sources_have_an_order_of_precedence(file: Path) -> None:
    """The command line, then the job's section, then the common one, then the default."""
    file.write_text(
        "common: {kafka-version: '2.3', out: common, log-format: json}\n"
        "assign: {out: own, strategy: [range, sticky], members: m, topics: of-the-file}\n"
        "elect: {kafka-version: '1.0'}\n"
    )
    found = read_options(*parsers(), ["assign", "--topics", "t", "--config", str(file)])
    assert (found.topics, found.members, found.strategy) == ("t", "m", "range,sticky")
    assert (found.out, found.kafka_version, found.log_format, found.seed) == ("own", "2.3", "json", 0)
    names = ("topics", "members", "seed", "config")
    assert [found.sources[name] for name in names] == ["option", str(file), "default", "option"]


def test_only_one_source_of_a_fleet_is_used(file: Path) -> None:
    """A source on the command line replaces the one in the file."""
    file.write_text("fleet: {kafka-tools: capture, out: o}")
    assert read_options(*parsers(), ["fleet", "--config", str(file)]).kafka_tools == "capture"
    given = ["fleet", "--config", str(file), "--synthetic", "f.yaml"]
    assert vars(read_options(*parsers(), given)).items() >= {"kafka_tools": None, "synthetic": "f.yaml"}.items()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "asign: {}",
            ": line 1: 'asign' is not known (did you mean 'assign'?); allowed: common, fleet, elect, assign, ",
        ),
        (
            "assign: {kafka_version: '3.9'}",
            ": line 1: assign: 'kafka_version' is not known (did you mean 'kafka-version'?); ",
        ),
        (
            "common: {strategies: all}",
            ": line 1: common: 'strategies' is not known (did you mean 'strategy'?); allowed: ",
        ),
        ("assign: {dry-run: true}", ": line 1: assign: 'dry-run' is not known"),
        (
            "assign: [strategy]",
            ": line 1: assign: ['strategy'] is not allowed; allowed: a mapping of topics, members, ",
        ),
        (
            "elect: {kafka-version: 3.9}",
            ": line 1: elect: kafka-version: 3.9 is not allowed; allowed: text, in quotes ",
        ),
        ("elect: {seed: one}", ": line 1: elect: seed: 'one' is not allowed; allowed: whole numbers"),
        ("elect: {seed: true}", ": line 1: elect: seed: True is not allowed; allowed: whole numbers"),
        ("check: {max-ties: few}", ": line 1: check: max-ties: 'few' is not allowed; allowed: numbers"),
        ("simulate: {advice: 1}", ": line 1: simulate: advice: 1 is not allowed; allowed: true and false"),
        ("assign: {strategy: [range, 1]}", ": line 1: assign: strategy: 1 is not allowed; allowed: text"),
        ("elect: {members: }", ": line 1: elect: members: None is not allowed; allowed: text"),
        (
            "common: {log-level: warn}",
            ": line 1: common: log-level: 'warn' is not known (did you mean 'warning'?); allowed: debug",
        ),
        ("fleet: {synthetic: a, kafka-tools: b}", ": line 1: fleet: --synthetic and --kafka-tools exclude each other"),
        (
            "common:\n  seed: 1\nelect:\n  format: json\n  seed: one",
            ": line 5: elect: seed: 'one' is not allowed; allowed: whole numbers",
        ),
        ("elect: {seed: 1, seed: 2}", ": 'seed' is given twice, in line 1"),
    ],
)
def test_mistakes_in_a_file_are_reported(
    file: Path, capsys: pytest.CaptureFixture[str], text: str, expected: str
) -> None:
    """They are reported whichever job runs."""
    file.write_text(text)
    assert main(["assign", *TABLES, "--out", "o", "--config", str(file)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"rebalance-sim: {file}{expected}")


def test_a_missing_file_is_an_error() -> None:
    assert main(["assign", *TABLES, "--out", "o", "--config", "nowhere.yaml"]) == 2


def test_the_file_for_spark_submit_has_the_defaults_of_sessions() -> None:
    lines = (CONF / "spark-defaults.conf").read_text().splitlines()
    assert dict(line.split() for line in lines if line and not line.startswith("#")) == SUBMITTED_DEFAULTS
