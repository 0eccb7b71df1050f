"""The commands that reproduce a finding: with the options of the audit that they need."""

import shlex
import subprocess
from typing import Any

import pytest

from rebalance_sim.commands.configuration import read_options
from rebalance_sim.commands.job_options import JOBS
from rebalance_sim.commands.parsers import parsers
from rebalance_sim.engine.audit.judgement import FAMILIES
from rebalance_sim.engine.runs.recorded_runs import RecordedRun
from rebalance_sim.report.audits.reproduction import command_of, options_now

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


def finding_of(family: str, **more: str) -> dict[str, Any]:
    """Return what a row of findings has for its command."""
    return {"family": family, "kind": "k", "scenario": None, "cluster": "east", "group_id": "a group", **more}


def options_of(command: str) -> dict[str, Any]:
    """Return the options of a command, as the command line reads them."""
    program, *arguments = shlex.split(command)
    assert program == "rebalance-sim"
    return vars(read_options(*parsers(), arguments))


@pytest.mark.parametrize("family", FAMILIES)
def test_a_command_has_the_options_of_the_audit(family: str) -> None:
    read = options_of(command_of(finding_of(family), GIVEN))
    needed = NEEDED.get(family, ())
    assert {name: read[name] for name in needed} == {name: GIVEN[name] for name in needed}
    if not needed:
        assert (read["runs"], read["groups"]) == (GIVEN["out"], "a group")


@pytest.mark.parametrize("family", FAMILIES)
def test_defaults_are_left_out(family: str) -> None:
    """Those of the command are the same."""
    tables = {name: GIVEN[name] for name in ("topics", "members", "records", "out")}
    usual = vars(read_options(*parsers(), ["audit", "--fleet", "f", "--out", "o"]))
    command = command_of(finding_of(family), usual | tables)
    for option in ("--seed", "--format", "--offsets", "--offsets-partitions", "--partitions-after", "--clusters"):
        assert option not in shlex.split(command)
    read = options_of(command)
    assert read["job"] in JOBS
    assert all(read[name] == usual[name] for name in ("seed", "format", "offsets_partitions") if name in read)


def test_the_lag_of_topics_is_computed_by_assign() -> None:
    read = options_of(command_of(finding_of("risks", kind="large-lag"), GIVEN))
    assert (read["job"], read["offsets"]) == ("assign", GIVEN["offsets"])


def test_a_rollout_of_a_streams_group_is_simulated_by_its_own_job() -> None:
    given = GIVEN | {"streams_members": "in/streams_members", "subtopologies": "in/subtopologies"}
    read = options_of(command_of(finding_of("rollouts", group_kind="streams"), given))
    needed = ("topics", "streams_members", "subtopologies", "format", "scenario", "seed", "kafka_version", "clusters")
    assert {name: read[name] for name in needed} == {name: given[name] for name in needed}
    assert (read["job"], read["timeline"]) == ("streams", "a group")


def test_a_migration_is_simulated_as_the_audit_did() -> None:
    read = options_of(command_of(finding_of("migration", scenario="migration"), GIVEN))
    assert (read["job"], read["scenario"], read["follow"], read["seed"]) == ("simulate", "migration", "a group", 7)


@pytest.mark.parametrize(
    "name", ["-x", 'it\'s a "group"', "$HOME `id` !", "a\\b\n\tc", "safe\u202egpj\u0085\U000e0041", "注文"]
)
@pytest.mark.parametrize("family", ["elections", "rollouts", "risks"])
def test_a_shell_reads_every_name_as_it_is(family: str, name: str) -> None:
    command = command_of(finding_of(family, group_id=name), GIVEN)
    assert command.isprintable()
    script = f"rebalance-sim() {{ printf '%s\\0' \"$@\"; }}; {command}"
    read = subprocess.run(["bash", "-c", script], capture_output=True, check=True, env={"LC_ALL": "C.UTF-8"})
    options = vars(read_options(*parsers(), read.stdout.decode().split("\0")[:-1]))
    assert name in (options.get("group"), options.get("follow"), options.get("groups"))


def test_tables_in_a_folder_that_was_moved_are_found() -> None:
    given = {"out": "out/audit/", "members": "out/audit/fleet/members", "topics": "in/topics"}
    now = options_now(RecordedRun("kept/monday/", {"options": given}))
    assert now == {"out": "kept/monday/", "members": "kept/monday/fleet/members", "topics": "in/topics"}
