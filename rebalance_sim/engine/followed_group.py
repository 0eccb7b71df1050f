"""One group, followed step by step: its timeline as a log to read."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pyspark.sql import DataFrame

from rebalance_sim.engine.group_batches import collect_group
from rebalance_sim.engine.simulation import Simulations
from rebalance_sim.engine.simulation_rows import timeline_rows
from rebalance_sim.errors import UserError
from rebalance_sim.kafka.coordinator.errors import Errors

_STATE_WIDTH = len("CompletingRebalance")


def follow(simulations: Simulations, members: DataFrame) -> Iterator[str]:
    """Simulate one group, event by event, as lines are asked for.

    Raises UserError where the members are of several groups, or of none, or where the group cannot be simulated.
    """
    group = collect_group(members, simulations.columns)
    read = simulations.read(group, simulations.metadata.index())
    if len(read.batch.group_ids) == 0:
        raise UserError(f"members: none can be used: {read.rejects[0].field('reason')[0].as_py()}")
    strategy = simulations.strategies[0]
    groups = simulations.groups(read, strategy, simulations.scenario)
    told = 0
    for stand in simulations.steps(groups, events=1):
        rows = timeline_rows(stand, strategy).to_pylist()
        yield from log_lines(rows[told:])
        told = len(rows)
        if stand.errors[0] is not None:
            raise UserError(f"group {rows[0]['group_id'] if rows else ''!r}: {stand.errors[0]}")


def log_lines(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Write rows of a timeline as lines: when, generation and state of the group, who, what.

    >>> row = {"at_ms": 10005, "generation": 3, "state": "Stable", "what": "ANSWER", "member_id": "c1",
    ...        "detail": "HEARTBEAT", "error": "REBALANCE_IN_PROGRESS", "partitions": None, "value": None}
    >>> log_lines([row])
    ['    10.005 s  3 Stable               c1: answered HEARTBEAT REBALANCE_IN_PROGRESS']
    """
    return [
        f"{row['at_ms'] / 1000:10.3f} s  {row['generation']} {row['state']:{_STATE_WIDTH}}  {_told(row)}"
        for row in rows
    ]


def _told(row: Mapping[str, Any]) -> str:
    what, detail, error = row["what"], row["detail"], row["error"]
    said = {
        "EVENT": f"event: {_event(row)}",
        "STATE": f"is {row['state']}" + (f" ({detail})" if detail and row["state"] == "PreparingRebalance" else ""),
        "REQUEST": f"sends {detail}",
        "ANSWER": f"answered {detail} {error or ''}",
        "STARTED": "starts",
        "STOPPED": "stops",
        "FAILED": f"fails: {error}",
        "REVOKED": f"gives up {row['partitions']} partitions",
        "LOST": f"loses {row['partitions']} partitions",
        "ASSIGNED": f"works on {row['partitions']} partitions",
        "POLL_EXPIRED": "has not polled for max.poll.interval.ms",
    }[what].strip()
    return f"{row['member_id'] or 'group'}: {said}"


def _event(row: Mapping[str, Any]) -> str:
    if row["detail"] == "fail-store":
        return f"fail-store {row['error'] or Errors.NONE.name}"
    return row["detail"] if row["value"] is None else f"{row['detail']} {row['value']}"
