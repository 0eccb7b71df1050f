"""The commands, and in a notebook the calls, that reproduce what a page shows of a group."""

import shlex
from collections.abc import Mapping
from typing import Any

from rebalance_sim.defaults import AUTO, CLUSTER, SCENARIO
from rebalance_sim.releases import OFFSETS_PARTITIONS

_BROKERS = ("kafka_version", "scala_version", "client_version", "clusters")
_RULES = ("assignors", *_BROKERS, "offsets_partitions")
_DEFAULTS = {"format": AUTO, "offsets_partitions": OFFSETS_PARTITIONS}
"""Defaults of options that are not empty; an option with its default is left out."""
_COMMAND = "rebalance-sim"


def command_of(family: str, options: Mapping[str, Any], group: str, cluster: str) -> str:
    """Return the command that reproduces a finding, from its family and the options of the audit.

    >>> command_of("elections", {"members": "out/fleet/members", "out": "out"}, "my group", "default")
    "rebalance-sim explain election --members out/fleet/members --cluster default --group 'my group'"
    """

    def given(*names: str) -> list[str]:
        return [part for name in names for part in _option(name, options.get(name))]

    match family:
        case "elections":
            parts = ["explain", "election", *given("members", "format"), "--cluster", cluster, "--group", group]
            parts += given("assignors", *_BROKERS)
        case "balance":
            tables = given("topics", "members", "offsets", "format")
            parts = ["assign", *tables, "--strategy", "all", *given(*_RULES), "--out", "assigned"]
        case "rollouts":
            played = ["--scenario", str(options.get("scenario") or SCENARIO), "--advice", "--follow", group]
            tables = given("topics", "members", "format")
            parts = ["simulate", *tables, *played, *given("seed", *_RULES), "--out", "simulated"]
        case "keys":
            parts = ["partition", *given("topics", "records", "partitions_after", "format"), "--out", "placed"]
        case _:
            parts = ["report", "--runs", str(options.get("out") or ""), "--groups", group, "--out", "page"]
    return shlex.join([_COMMAND, *parts])


def call_of(family: str, options: Mapping[str, Any], group: str, cluster: str) -> str:
    """Return the call that reproduces a finding of an audit of the tables ``members`` and ``topics`` in a notebook.

    >>> call_of("rollouts", {"kafka_version": "3.9", "scenario": "leave"}, "billing", "default")
    "show(members.where(members.group_id == 'billing').transform(timeline('leave', topics, kafka_version='3.9')))"
    """
    of_cluster = "" if cluster == CLUSTER else f".where(members.cluster == {cluster!r})"
    rows = f"members.where(members.group_id == {group!r}){of_cluster}"
    release = options.get("kafka_version")
    version = "clusters" if options.get("clusters") else repr(release) if release else ""
    rules = f", kafka_version={version}" if version else ""
    match family:
        case "elections":
            return f"explain_election({rows}{rules})"
        case "balance":
            return f"show({rows}.transform(compare(topics{rules})))"
        case "rollouts":
            return f"show({rows}.transform(timeline({options.get('scenario', SCENARIO)!r}, topics{rules})))"
        case "keys":
            return "show(records.transform(partition(topics)).transform(partition_load(topics)))"
        case _:
            return f"show(audited, {group!r})"


def _option(name: str, value: object) -> list[str]:
    """Return an option with its value; nothing if the value is the default."""
    return [f"--{name.replace('_', '-')}", str(value)] if value and value != _DEFAULTS.get(name) else []
