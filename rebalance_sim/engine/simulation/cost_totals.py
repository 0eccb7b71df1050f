"""Totals of the costs of a fleet, which workers add up: Spark takes far longer to unfold the lists of downtimes."""

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from rebalance_sim.engine.tables.arrow import arrow_type, numbers
from rebalance_sim.engine.tables.percentiles import ranked_below
from rebalance_sim.tables import BOOLEAN, LONG, STRING, struct

_SUMS = ("rebalances", "unowned_ms", "moved", "moved_back", "evicted", "storms", "failed")
COLUMNS = (
    *("cluster", "group_id", "strategy", "error", "events", "partitions", "stable", "stable_ms", "downtimes"),
    *("finished", "failure", *_SUMS),
)
"""Columns of ``costs`` that ``add_up`` reads."""
TOTALS = struct(
    {"strategy": STRING, "affected": BOOLEAN, "figure": STRING, "value": LONG, "total": LONG, "first": STRING}
)
"""Figures of the groups that the scenario affects under a strategy, and of those that it does not.

The figures are sums of columns, of ``partitions`` for simulated groups only; ``groups`` and, of these,
``not_simulated``, ``failing`` (their rollout fails) and ``unstable`` (others that do not become stable). Two are by
``value``, which is null for the others: ``downtimes`` counts partitions, and ``stable_ms`` groups whose rollout does
not fail. ``first`` is the cluster, the id and the failure of the first group that is ``failing``.
"""
_SCHEMA = pa.schema(list(arrow_type(TOTALS)))
_KEYS = ["strategy", "affected"]
_BETWEEN_PARTS = "\0"
"""Texts of several parts sort as the parts do."""


def add_up(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Add up rows of ``COLUMNS``; return rows of ``TOTALS``, one for each figure and value."""
    totals = [part for rows in batches for part in _totals(pa.Table.from_batches([rows]))]
    if totals:
        yield from _merged(pa.concat_tables(totals)).to_batches()


def costs_in(totals: DataFrame) -> list[dict[str, Any]]:
    """Return the figures in rows of ``TOTALS`` by strategy, those of affected groups first.

    Beside the figures without values there are ``mean_ms``, ``p99_ms`` and ``max_ms``, the downtime of a partition;
    ``stable_ms``, the median; and ``first_failing``, a cluster, id and failure. They are null if there are none.
    """
    merged = _merged(totals.toArrow()).sort_by([("value", "ascending")])
    keys = merged.select(_KEYS).group_by(_KEYS).aggregate([]).to_pylist()
    return [_costs(merged, **key) for key in sorted(keys, key=lambda key: (key["strategy"], not key["affected"]))]


def _costs(totals: pa.Table, strategy: str, affected: bool) -> dict[str, Any]:
    own = totals.filter((pc.field("strategy") == strategy) & (pc.field("affected") == affected))
    figures = {row["figure"]: row["total"] for row in own.filter(pc.field("value").is_null()).to_pylist()}
    downtimes, stable = (own.filter(pc.field("figure") == name) for name in ("downtimes", "stable_ms"))
    first = own.filter(pc.field("figure") == "failing")["first"][0].as_py()
    return figures | {
        "strategy": strategy,
        "affected": affected,
        "mean_ms": figures["unowned_ms"] / figures["partitions"] if figures["partitions"] else None,
        "p99_ms": _ranked(downtimes, figures["partitions"] // 100),
        "max_ms": _ranked(downtimes, 0),
        "stable_ms": _ranked(stable, pc.sum(stable["total"]).as_py() // 2) if len(stable) else None,
        "first_failing": first
        and dict(zip(("cluster", "group_id", "failure"), first.split(_BETWEEN_PARTS, 2), strict=True)),
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
    yield from _sums(
        groups,
        {name: costs[name] for name in _SUMS}
        | {"partitions": pc.if_else(not_simulated, 0, costs["partitions"]), "groups": pa.repeat(1, len(costs))}
        | {"not_simulated": not_simulated, "failing": fails, "unstable": unstable},
        pc.binary_join_element_wise(
            *(pc.if_else(fails, costs[name], None) for name in ("cluster", "group_id", "failure")), _BETWEEN_PARTS
        ),
    )
    becomes_stable = pc.and_not(costs["stable_ms"].is_valid(), fails)
    stable_ms = costs["stable_ms"].filter(becomes_stable)
    yield _counts(groups.filter(becomes_stable), "stable_ms", stable_ms, pa.repeat(1, len(stable_ms)))
    lists = costs["downtimes"]
    downtimes = pc.list_flatten(lists)
    milliseconds, partitions = (pc.struct_field(downtimes, name) for name in ("unowned_ms", "partitions"))
    yield _counts(groups.take(pc.list_parent_indices(lists)), "downtimes", milliseconds, partitions)


def _sums(groups: pa.Table, columns: dict[str, pa.ChunkedArray], failing: pa.ChunkedArray) -> Iterator[pa.Table]:
    """Return figures without values; ``failing`` names the groups whose rollout fails."""
    for name, column in columns.items():
        groups = groups.append_column(name, column)
    sums = [(name, "sum") for name in columns]
    added = (
        groups.append_column("first", failing).group_by(_KEYS, use_threads=False).aggregate([*sums, ("first", "min")])
    )
    for name in columns:
        first = added["first_min"] if name == "failing" else None
        yield _rows(added, name, None, added[f"{name}_sum"], first)


def _counts(groups: pa.Table, figure: str, values: pa.ChunkedArray, counts: pa.ChunkedArray) -> pa.Table:
    """Return a figure by value."""
    counted = groups.append_column("value", values).append_column("total", counts)
    added = counted.group_by([*_KEYS, "value"], use_threads=False).aggregate([("total", "sum")])
    return _rows(added, figure, added["value"], added["total_sum"], None)


def _rows(
    keys: pa.Table, figure: str, values: pa.ChunkedArray | None, totals: pa.ChunkedArray, first: pa.ChunkedArray | None
) -> pa.Table:
    count = keys.num_rows
    columns = {
        "figure": pa.repeat(figure, count),
        "value": pa.nulls(count) if values is None else values,
        "total": totals,
        "first": pa.nulls(count) if first is None else first,
    }
    return pa.table({name: keys[name] for name in _KEYS} | columns).cast(_SCHEMA)


def _merged(totals: pa.Table) -> pa.Table:
    """Return one row for each figure and value."""
    merged = totals.group_by([*_KEYS, "figure", "value"], use_threads=False).aggregate(
        [("total", "sum"), ("first", "min")]
    )
    return merged.rename_columns(TOTALS.names)


def _is_positive(figures: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.greater(figures.fill_null(0), 0)
