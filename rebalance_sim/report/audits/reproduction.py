"""The commands, and in a notebook the calls, that reproduce what a page shows of a group."""

import shlex
from collections.abc import Iterable, Mapping
from typing import Any

from pyspark.sql import Row

from rebalance_sim.defaults import AUTO, CLUSTER, SCENARIO
from rebalance_sim.engine.runs.recorded_runs import RecordedRun
from rebalance_sim.kafka.group_kinds import GroupKind
from rebalance_sim.releases import OFFSETS_PARTITIONS

_BROKERS = ("kafka_version", "scala_version", "client_version", "clusters")
_RULES = ("assignors", *_BROKERS, "offsets_partitions")
_OF_STREAMS = ("streams_members", "subtopologies")
_TABLES = ("topics", "members", "offsets", "records", "partitions_after", "clusters", *_OF_STREAMS)
_DEFAULTS = {"format": AUTO, "offsets_partitions": OFFSETS_PARTITIONS}
"""Defaults of options that are not empty; an option with its default is left out."""
_COMMAND = "rebalance-sim"
_MIGRATION = "migration"
_OF_LAG = ("large-lag", "lag-grows", "lag-without-assignment")
"""Kinds of findings about risks that rest on the lag of topics, which ``assign`` computes."""
_ASCII = 0x80
_LONGEST_CODE = 0xFFFF


def options_now(run: RecordedRun) -> dict[str, Any]:
    """Return the options of a run, as its folder is named now: the tables in it have moved with it."""
    options, folder = run.record["options"], run.folder.rstrip("/")
    before = str(options.get("out") or "").rstrip("/")
    moved = {
        name: folder + str(options[name]).removeprefix(before)
        for name in _TABLES
        if before and str(options.get(name) or "").startswith(f"{before}/")
    }
    return options | moved | {"out": run.folder}


def command_of(finding: Mapping[str, Any], options: Mapping[str, Any]) -> str:
    """Return the command that reproduces a finding, from a row of ``findings`` and the options of the audit.

    The row may have the ``group_kind`` of its verdict.

    >>> tie = {"family": "elections", "kind": "election-tie", "scenario": None, "cluster": "eu", "group_id": "my group"}
    >>> command_of(tie, {"members": "out/fleet/members", "out": "out"})
    "rebalance-sim explain election --members out/fleet/members --cluster eu --group 'my group'"
    """
    group = finding["group_id"]

    def given(*names: str) -> list[str]:
        return [part for name in names for part in _option(name, options.get(name))]

    def simulated(*scenario: str) -> list[str]:
        tables, rules = given("topics", "members", "format"), given("seed", *_RULES)
        return ["simulate", *tables, *scenario, *_named("follow", group), *rules, "--out", "simulated"]

    scenario = _named("scenario", str(options.get("scenario") or SCENARIO))
    match "balance" if finding["kind"] in _OF_LAG else finding["family"]:
        case "elections":
            named = [*_named("cluster", finding["cluster"]), *_named("group", group)]
            parts = ["explain", "election", *given("members", "format"), *named, *given("assignors", *_BROKERS)]
        case "balance":
            tables = given("topics", "members", "offsets", "format")
            parts = ["assign", *tables, "--strategy", "all", *given(*_RULES), "--out", "assigned"]
        case "rollouts" if is_rollout_of_tasks(finding):
            tables, rules = given(*_OF_STREAMS, "topology", "topics", "format"), given("settings", "seed", *_BROKERS)
            parts = ["streams", *tables, *scenario, *_named("timeline", group), *rules, "--out", "simulated"]
        case "rollouts":
            parts = simulated(*scenario, "--advice", *given("settings"))
        case "migration" if finding["scenario"] == _MIGRATION:
            parts = simulated("--scenario", _MIGRATION)
        case "keys":
            parts = ["partition", *given("topics", "records", "partitions_after", "format"), "--out", "placed"]
        case _:
            named = [*_named("runs", str(options.get("out") or "")), *_named("groups", group)]
            parts = ["report", *named, "--out", "page"]
    return pasted([_COMMAND, *parts])


def is_rollout_of_tasks(finding: Mapping[str, Any]) -> bool:
    """Return whether a finding with the ``group_kind`` of its verdict is about the rollout of a streams group."""
    return finding["family"] == "rollouts" and finding.get("group_kind") == GroupKind.STREAMS_GROUP


def miss_command(miss: Mapping[str, Any] | Row, run: RecordedRun) -> str:
    r"""Return the command that explains the first wrong partition of a miss, from a row of ``backtest`` of a run.

    >>> first = {"topic": "orders", "partition": 2}
    >>> run = RecordedRun("past", {"options": {"assignors": "own:Own", "output_format": "json"}})
    >>> print(miss_command({"miss": "eu/billing/0/7/as joined", "first_differing": first}, run).replace(" --", "\n--"))
    rebalance-sim explain assignment
    --topics past/miss_topics
    --members past/miss_members
    --clusters past/miss_clusters
    --format json
    --assignors own:Own
    --cluster 'eu/billing/0/7/as joined'
    --topic orders
    --partition 2
    """
    tables = [part for name in ("topics", "members", "clusters") for part in _named(name, run.path(f"miss_{name}"))]
    kind = [] if run.output_format == "parquet" else _named("format", run.output_format)
    own, partition = _option("assignors", run.record["options"].get("assignors")), miss["first_differing"]
    of_topic = [*_named("topic", partition["topic"]), "--partition", str(partition["partition"])]
    return pasted(
        [_COMMAND, "explain", "assignment", *tables, *kind, *own, *_named("cluster", miss["miss"]), *of_topic]
    )


def pasted(parts: Iterable[str]) -> str:
    r"""Return a command as one can paste it into a shell; no character of it is invisible.

    >>> print(pasted(["report", "--groups", "it's", "a\u202eb"]))
    report --groups 'it'"'"'s' $'a\u202eb'
    """
    return " ".join(map(_quoted, parts))


def call_of(finding: Mapping[str, Any], options: Mapping[str, Any]) -> str:
    """Return the call that reproduces a finding of an audit of the tables ``members`` and ``topics`` in a notebook.

    >>> rollout = {"family": "rollouts", "kind": "rollout-cost", "cluster": "default", "group_id": "billing"}
    >>> call_of(rollout, {"kafka_version": "3.9", "scenario": "leave"})
    "show(members.where(members.group_id == 'billing').transform(timeline('leave', topics, kafka_version='3.9')))"
    """
    group, cluster = finding["group_id"], finding["cluster"]
    of_cluster = "" if cluster == CLUSTER else f".where(members.cluster == {cluster!r})"
    rows = f"members.where(members.group_id == {group!r}){of_cluster}"
    release = options.get("kafka_version")
    version = "clusters" if options.get("clusters") else repr(release) if release else ""
    rules = f", kafka_version={version}" if version else ""
    played = repr(options.get("scenario", SCENARIO))
    match finding["family"]:
        case "elections":
            return f"explain_election({rows}{rules})"
        case "balance":
            return f"show({rows}.transform(compare(topics{rules})))"
        case "rollouts" if is_rollout_of_tasks(finding):
            tables = "streams_members, subtopologies, topics"
            return f"show(simulate_streams({tables}, {played}, followed=[{group!r}]{rules}).timeline, {group!r})"
        case "rollouts":
            return f"show({rows}.transform(timeline({played}, topics{rules})))"
        case "keys":
            return "show(records.transform(partition(topics)).transform(partition_load(topics)))"
        case _:
            return f"show(audited, {group!r})"


def _option(name: str, value: object) -> list[str]:
    """Return an option with its value; nothing if the value is the default."""
    return _named(name.replace("_", "-"), str(value)) if value and value != _DEFAULTS.get(name) else []


def _named(name: str, value: str) -> list[str]:
    """Return an option with its value, which may look like an option itself."""
    return [f"--{name}={value}"] if value.startswith("-") else [f"--{name}", value]


def _quoted(part: str) -> str:
    if part.isprintable():
        return shlex.quote(part)
    return f"$'{''.join(map(_escaped, part))}'"


def _escaped(character: str) -> str:
    """Return a character as bash and zsh read it in a text with a dollar sign."""
    if character in "\\'":
        return f"\\{character}"
    if character.isprintable():
        return character
    code = ord(character)
    if code < _ASCII:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= _LONGEST_CODE else f"\\U{code:08x}"
