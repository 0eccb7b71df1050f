"""Totals of the costs of a fleet, added up by workers: Spark takes far longer to unfold the lists of downtimes."""

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from rebalance_sim.engine.tables.arrow import arrow_type, numbers
from rebalance_sim.engine.tables.percentiles import above_p99, ranked_below
from rebalance_sim.tables import BOOLEAN, LONG, STRING, struct

_SUMS = ("rebalances", "epochs", "unowned_ms", "moved", "moved_back", "evicted", "storms", "failed")
COLUMNS = (
    *("cluster", "group_id", "strategy", "error", "events", "partitions", "stable", "stable_ms", "downtimes"),
    *("finished", "failure", *_SUMS),
)
"""Columns of ``costs`` that ``add_up`` reads."""
_NAMED = ("cluster", "group_id", "failure")
TOTALS = struct(
    {"strategy": STRING, "affected": BOOLEAN, "figure": STRING, "value": LONG, "total": LONG}
    | {"cluster": STRING, "group_id": STRING, "failure": STRING}
)
"""Figures of the groups that the scenario affects under a strategy, and of those that it does not.

Some figures are sums of columns; ``partitions`` leaves out groups that are not simulated. Others count groups:
``groups``, ``not_simulated``, ``failing`` (the rollout fails; with the first such group) and ``unstable`` (the rollout
does not fail, but the group does not become stable). ``downtimes`` counts partitions by their downtime, and
``stable_ms`` the groups whose rollout does not fail by the time until they are stable; ``value`` is this time.
"""
_SCHEMA = pa.schema(list(arrow_type(TOTALS)))
_KEYS = ["strategy", "affected"]


def add_up(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Add up rows of ``COLUMNS``; return rows of ``TOTALS``, one for each figure and value."""
    totals = [part for rows in batches for part in _totals(pa.Table.from_batches([rows]))]
    if totals:
        yield from _merged(pa.concat_tables(totals)).to_batches()


def costs_in(totals: DataFrame) -> list[dict[str, Any]]:
    """Return the figures in rows of ``TOTALS`` by strategy, those of affected groups first.

    Beside the figures without values there are ``mean_ms``, ``p99_ms`` and ``max_ms``, the downtime of a partition;
    ``stable_ms``, the median; and ``first_failing`` with a ``cluster``, ``group_id`` and ``failure``. They are null if
    there are none.
    """
    merged = _merged(totals.toArrow()).sort_by([("value", "ascending")])
    keys = merged.select(_KEYS).group_by(_KEYS).aggregate([]).to_pylist()
    return [_costs(merged, **key) for key in sorted(keys, key=lambda key: (key["strategy"], not key["affected"]))]


def _costs(totals: pa.Table, strategy: str, affected: bool) -> dict[str, Any]:
    own = totals.filter((pc.field("strategy") == strategy) & (pc.field("affected") == affected))
    rows = {row["figure"]: row for row in own.filter(pc.field("value").is_null()).to_pylist()}
    figures = {"failing": 0} | {name: row["total"] for name, row in rows.items()}
    downtimes, stable = (own.filter(pc.field("figure") == name) for name in ("downtimes", "stable_ms"))
    return figures | {
        "strategy": strategy,
        "affected": affected,
        "mean_ms": figures["unowned_ms"] / figures["partitions"] if figures["partitions"] else None,
        "p99_ms": _ranked(downtimes, above_p99(figures["partitions"])),
        "max_ms": _ranked(downtimes, 0),
        "stable_ms": _ranked(stable, pc.sum(stable["total"]).as_py() // 2) if len(stable) else None,
        "first_failing": rows.get("failing"),
    }


def _ranked(counted: pa.Table, above: int) -> int:
    """Return the value that so many of the counted ones are ranked above."""
    return ranked_below(numbers(counted["value"]), numbers(counted["total"]), above)


def _totals(costs: pa.Table) -> Iterator[pa.Table]:
    """Return rows of ``TOTALS``, of which several may be of one figure and value."""
    not_simulated, stops = costs["error"].is_valid(), pc.invert(costs["finished"].fill_null(True))
    fails = pc.and_not(pc.or_(stops, _is_positive(costs["failed"])), not_simulated)
    unstable = pc.and_not(pc.invert(costs["stable"].fill_null(True)), pc.or_(fails, not_simulated))
    affected = not_simulated
    for name in ("events", "rebalances", "unowned_ms"):
        affected = pc.or_(affected, _is_positive(costs[name]))
    groups = pa.table([costs["strategy"], affected], _KEYS)
    sums = {name: costs[name] for name in _SUMS} | {"partitions": pc.if_else(not_simulated, 0, costs["partitions"])}
    sums |= {"groups": pa.repeat(1, len(costs)), "not_simulated": not_simulated, "unstable": unstable}
    yield from _sums(groups, sums)
    failing = costs.filter(fails)
    yield _merged(_rows(groups.filter(fails), "failing", None, pa.repeat(1, len(failing)), failing))
    becomes_stable = pc.and_not(costs["stable_ms"].is_valid(), fails)
    stable_ms = costs["stable_ms"].filter(becomes_stable)
    yield _counts(groups.filter(becomes_stable), "stable_ms", stable_ms, pa.repeat(1, len(stable_ms)))
    lists = costs["downtimes"]
    downtimes = pc.list_flatten(lists)
    milliseconds, partitions = (pc.struct_field(downtimes, name) for name in ("unowned_ms", "partitions"))
    yield _counts(groups.take(pc.list_parent_indices(lists)), "downtimes", milliseconds, partitions)


def _sums(groups: pa.Table, columns: dict[str, pa.ChunkedArray]) -> Iterator[pa.Table]:
    """Return figures without values."""
    for name, column in columns.items():
        groups = groups.append_column(name, column)
    added = groups.group_by(_KEYS, use_threads=False).aggregate([(name, "sum") for name in columns])
    for name in columns:
        yield _rows(added, name, None, added[f"{name}_sum"])


def _counts(groups: pa.Table, figure: str, values: pa.ChunkedArray, counts: pa.ChunkedArray) -> pa.Table:
    """Return a figure by value."""
    counted = groups.append_column("value", values).append_column("total", counts)
    added = counted.group_by([*_KEYS, "value"], use_threads=False).aggregate([("total", "sum")])
    return _rows(added, figure, added["value"], added["total_sum"])


def _rows(
    keys: pa.Table, figure: str, values: pa.ChunkedArray | None, totals: pa.ChunkedArray, named: pa.Table | None = None
) -> pa.Table:
    """Return rows of ``TOTALS``, with the groups that are ``named``."""
    count = keys.num_rows
    columns = {name: keys[name] for name in _KEYS} | {"figure": pa.repeat(figure, count)}
    columns |= {"value": pa.nulls(count) if values is None else values, "total": totals}
    columns |= {name: pa.nulls(count) if named is None else named[name] for name in _NAMED}
    return pa.table(columns).cast(_SCHEMA)


def _merged(totals: pa.Table) -> pa.Table:
    """Return one row for each figure and value."""
    in_order = totals.sort_by([("cluster", "ascending"), ("group_id", "ascending")])
    merged = in_order.group_by([*_KEYS, "figure", "value"], use_threads=False).aggregate(
        [("total", "sum"), *((name, "first") for name in _NAMED)]
    )
    return merged.rename_columns(TOTALS.names)


def _is_positive(figures: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.greater(figures.fill_null(0), 0)
