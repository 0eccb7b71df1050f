"""The commands that reproduce a finding: with the options of the audit that they need."""

import shlex
from typing import Any

import pytest

from rebalance_sim.commands.configuration import read_options
from rebalance_sim.commands.job_options import JOBS
from rebalance_sim.commands.parsers import parsers
from rebalance_sim.engine.audit.judgement import FAMILIES
from rebalance_sim.report.audits.reproduction import command_of

TABLES = ("topics", "members", "offsets", "records", "partitions_after", "clusters")
GIVEN: dict[str, Any] = {
    **{name: f"in/{name}" for name in TABLES},
    "format": "json",
    "seed": 7,
    "scenario": "slow.yaml",
    "assignors": "own:Own",
    "kafka_version": "4.2",
    "scala_version": "2.13",
    "client_version": "4.1",
    "offsets_partitions": 10,
    "out": "out/audit",
}
"""Options of an audit, none with its default."""
OF_BROKERS = ("kafka_version", "scala_version", "client_version", "clusters", "assignors")
NEEDED = {
    "elections": ("members", "format", *OF_BROKERS),
    "balance": ("topics", "members", "offsets", "format", "offsets_partitions", *OF_BROKERS),
    "rollouts": ("topics", "members", "format", "scenario", "seed", "offsets_partitions", *OF_BROKERS),
    "keys": ("topics", "records", "partitions_after", "format"),
}
"""By family, the options on which its findings rest."""


def options_of(command: str) -> dict[str, Any]:
    """Return the options of a command, as the command line reads them."""
    program, *arguments = shlex.split(command)
    assert program == "rebalance-sim"
    return vars(read_options(*parsers(), arguments))


@pytest.mark.parametrize("family", FAMILIES)
def test_a_command_has_the_options_of_the_audit(family: str) -> None:
    read = options_of(command_of(family, GIVEN, "a group", "east"))
    needed = NEEDED.get(family, ())
    assert {name: read[name] for name in needed} == {name: GIVEN[name] for name in needed}
    if not needed:
        assert (read["runs"], read["groups"]) == (GIVEN["out"], "a group")


@pytest.mark.parametrize("family", FAMILIES)
def test_defaults_are_left_out(family: str) -> None:
    """Those of the command are the same."""
    tables = {name: GIVEN[name] for name in ("topics", "members", "records", "out")}
    usual = vars(read_options(*parsers(), ["audit", "--fleet", "f", "--out", "o"]))
    command = command_of(family, usual | tables, "g", "east")
    for option in ("--seed", "--format", "--offsets", "--offsets-partitions", "--partitions-after", "--clusters"):
        assert option not in shlex.split(command)
    read = options_of(command)
    assert read["job"] in JOBS
    assert all(read[name] == usual[name] for name in ("seed", "format", "offsets_partitions") if name in read)
