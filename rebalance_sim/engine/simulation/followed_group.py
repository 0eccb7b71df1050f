"""One group, followed event by event: its timeline as the lines of a log."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pyspark.sql import DataFrame

from rebalance_sim.engine.groups.group_batches import collect_group
from rebalance_sim.engine.simulation.rows import timeline_rows
from rebalance_sim.engine.simulation.simulations import Simulations
from rebalance_sim.errors import UserError
from rebalance_sim.kafka.coordinator.errors import Errors
from rebalance_sim.wording import plural

_STATE_WIDTH = len("CompletingRebalance")


def follow(simulations: Simulations, members: DataFrame) -> Iterator[str]:
    """Simulate one group, event by event, as lines of its timeline are asked for.

    Raises UserError if the members are not those of exactly one group, or if it cannot be simulated.
    """
    group = collect_group(members, simulations.columns)
    batch = simulations.read(group, simulations.metadata.index())
    if len(batch.batch.group_ids) == 0:
        raise UserError(f"members: no member can be used: {batch.rejects[0].field('reason')[0].as_py()}")
    strategy = simulations.strategies[0]
    printed = 0
    for result in simulations.steps(batch, strategy, simulations.scenario, events=1):
        rows = timeline_rows(result, strategy).to_pylist()
        yield from log_lines(rows[printed:])
        printed = len(rows)
        if result.errors[0] is not None:
            raise UserError(f"group {batch.batch.group_ids[0].as_py()!r}: {result.errors[0]}")


def log_lines(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return rows of a timeline as lines: the time, the group's generation and state, the consumer, what it does.

    >>> row = {"at_ms": 10005, "generation": 3, "state": "Stable", "kind": "ANSWER", "member_id": "c1",
    ...        "detail": "HEARTBEAT", "error": "REBALANCE_IN_PROGRESS", "partitions": None, "value": None}
    >>> log_lines([row])
    ['    10.005 s  3 Stable               c1: receives HEARTBEAT response REBALANCE_IN_PROGRESS']
    """
    return [
        f"{row['at_ms'] / 1000:10.3f} s  {row['generation']} {row['state']:{_STATE_WIDTH}}  {_text(row)}"
        for row in rows
    ]


def _text(row: Mapping[str, Any]) -> str:
    detail, error = row["detail"], row["error"]
    partitions = f"{row['partitions']} partition" + ("" if row["partitions"] == 1 else "s")
    reason = f" ({detail})" if detail and row["state"] == "PreparingRebalance" else ""
    text = {
        "EVENT": f"event: {_event(row)}",
        "STATE": f"becomes {row['state']}{reason}",
        "REQUEST": f"sends {detail}",
        "ANSWER": f"receives {detail} response {error or ''}",
        "STARTED": "starts",
        "STOPPED": "stops",
        "FAILED": f"fails: {error}",
        "REVOKED": f"revokes {partitions}",
        "LOST": f"loses {partitions}",
        "ASSIGNED": f"is assigned {partitions}",
        "POLL_EXPIRED": "has not polled for max.poll.interval.ms",
    }[row["kind"]].strip()
    return f"{row['member_id'] or 'group'}: {text}"


def _event(row: Mapping[str, Any]) -> str:
    if row["detail"] == "fail-store":
        return f"fail-store {row['error'] or Errors.NONE.name}"
    if row["detail"] == "next-bounce":
        return "the bounce is over"
    if row["detail"] == "pods-available":
        return f"{plural(row['value'], 'new consumer')} available"
    return row["detail"] if row["value"] is None else f"{row['detail']} {row['value']}"
