"""Commits around generations: offsets that went back, and partitions without commits for longer than usual.

Most records are commits. Workers reduce those of a partition that follow each other without a record of the group's
members between them to a span: its first and its last commit, and how far apart they all are. Only spans are exchanged,
and a generation is compared with the last commit before its record and the first one after it, in the order of the
log: clocks do not matter for that.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from rebalance_sim.engine.spark.driver_rows import map_batches
from rebalance_sim.engine.tables.arrow import codes, numbers, rows_of
from rebalance_sim.kafka.history.changes import Kind
from rebalance_sim.kafka.runtime.strings import Ints
from rebalance_sim.sources.offsets_topic.gaps import Gaps
from rebalance_sim.tables import BINARY, BOOLEAN, INT, LONG, struct

SPAN = struct(
    {"group": BINARY, "key": BINARY}
    | {"partition": INT, "first": LONG, "last": LONG, "first_at_ms": LONG, "last_at_ms": LONG}
    | {"first_committed": LONG, "last_committed": LONG}
    | {"intervals": LONG, "total_ms": LONG, "squares": LONG, "pauses": LONG}
)
"""Commits for one partition (``key``): positions, times and offsets of the first and the last, and the number, sum and
sum of squares of the intervals between them, without pauses."""
_PAIR = struct(
    {"partition": INT, "generation": LONG, "missing": BOOLEAN} | dict.fromkeys(("back", "gap_ms", "late_ms"), LONG)
)
"""The last commit before a generation and the first after it: whether one between them may be missing, by how much the
offset went back, how far apart they are, and how much longer that is than usual; null if it cannot be estimated."""
_AT_ONCE = 1 << 18
"""Records that a worker reduces together, so that its memory is bounded."""
_PAUSE_MS = 60_000
"""A longer interval is a pause: nothing was read, or nobody was there to read."""
_UNTIMED = -1
"""In place of a time that is unknown."""
_FEWEST, _MOST_PAUSES, _REGULAR = 10, 0.1, 0.5
"""A partition with an estimate has at least so many intervals, at most so many pauses for each, and intervals whose
standard deviation is at most this part of their mean."""
_POSITION = ("record_partition", "record_offset")
_BOUNDARY = ("record_partition AS partition", "record_offset AS first", "record_offset AS generation")
_IS_REBALANCE = f"type = '{Kind.CLASSIC}' AND NOT rewritten"
_OF_LAST = ("last", "last_at_ms", "last_committed", "generation")
_COUNTS = ("commits_compared", "rewound", "rewound_records", "downtime_partitions")
_FIGURES = ("downtime_ms",)
_GAP_MS = "try_subtract(first_at_ms, last_at_ms_before) AS gap_ms"
_IS_SAME = "generation IS NOT DISTINCT FROM generation_before"
_BETWEEN = f"coalesce(is_same AND gap_ms BETWEEN 0 AND {_PAUSE_MS}, false)"
_INTERVALS = {
    "intervals": f"intervals + int({_BETWEEN})",
    "total_ms": f"total_ms + CASE WHEN {_BETWEEN} THEN gap_ms ELSE 0 END",
    "squares": f"squares + CASE WHEN {_BETWEEN} THEN gap_ms * gap_ms ELSE 0 END",
    "pauses": f"pauses + int(coalesce(is_same AND gap_ms > {_PAUSE_MS}, false))",
}
"""The intervals in a span and before it. How commits are divided into spans, which depends on tasks, changes no sum."""
_MEAN = "all_total_ms / nullif(all_intervals, 0)"
_DEVIATION = f"sqrt(greatest(all_squares / nullif(all_intervals, 0) - pow({_MEAN}, 2), 0))"
_TELLS = (
    f"all_intervals >= {_FEWEST} AND all_pauses <= {_MOST_PAUSES} * all_intervals"
    f" AND {_DEVIATION} <= {_REGULAR} * {_MEAN}"
)
_USUAL_MS = f"{_MEAN} + 2 * {_DEVIATION}"
"""Nearly all intervals of regular commits are at most that long."""
_LATE_MS = f"try_cast(greatest(gap_ms - ({_USUAL_MS}), 0) AS BIGINT)"
PRINTED_COMMITS, NO_COMMITS = "commits that are printed are not read", "the dump has no commits"
OF_EPOCHS = "an epoch begins before members revoke its partitions"
_NO_PAIRS = "no partition has a commit before and after the generation"
_MISSING = "commits before or after the generation may be missing"
_NO_TIMES = "the dump has no times of commits"
_IRREGULAR = "its partitions are committed too rarely or too irregularly, or clocks ran backwards"


def around_generations(records: DataFrame, generations: DataFrame, gaps: Gaps) -> DataFrame:
    """Compare the commits before and after generations, by the positions of their records.

    ``records`` are all records of the topic, each once, mostly in order. Those of groups that are read have the
    ``group``; their commits have the ``key`` and the ``committed`` offset, and the others are ``needed``.
    """
    spans = map_batches(records, spans_of, SPAN)
    boundaries = generations.where(_IS_REBALANCE).selectExpr("CAST(group_id AS BINARY) AS `group`", *_BOUNDARY)
    in_log = Window.partitionBy("group", "partition").orderBy("first").rowsBetween(Window.unboundedPreceding, 0)
    placed = spans.unionByName(boundaries, allowMissingColumns=True).withColumn(
        "generation", F.last("generation", ignorenulls=True).over(in_log)
    )
    of_key = Window.partitionBy("group", "partition", "key")
    before = {f"{name}_before": F.lag(name).over(of_key.orderBy("first")) for name in _OF_LAST}
    follows = placed.where("key IS NOT NULL").withColumns(before).selectExpr("*", _GAP_MS, f"{_IS_SAME} AS is_same")
    sums = {f"all_{name}": F.sum(F.expr(each)).over(of_key) for name, each in _INTERVALS.items()}
    pairs = follows.withColumns(sums).where("NOT is_same AND last_before IS NOT NULL AND generation IS NOT NULL")
    compared = pairs.selectExpr(
        *("partition", "generation", "first", "last_before", "gap_ms"),
        "try_subtract(last_committed_before, first_committed) AS back",
        f"CASE WHEN {_TELLS} AND gap_ms >= 0 THEN {_LATE_MS} END AS late_ms",
    )
    return map_batches(compared, partial(_with_missing, gaps), _PAIR).transform(_by_generation)


def with_commits(generations: DataFrame, around: DataFrame) -> DataFrame:
    """Fill the columns of ``generations`` about commits; those of consumer-protocol groups say why they are null."""
    joined = generations.drop(*_FIGURES, *_COUNTS).join(around, list(_POSITION), "left")
    counts = {name: F.expr(f"CASE WHEN {_IS_REBALANCE} THEN coalesce({name}, 0) END") for name in _COUNTS}
    reason = f"CASE WHEN {_IS_REBALANCE} THEN nvl2(commits_compared, untold, '{_NO_PAIRS}') ELSE downtime_reason END"
    return joined.withColumns({"downtime_reason": F.expr(reason)}).withColumns(counts).select(*generations.columns)


def with_sums(episodes: DataFrame, generations: DataFrame, around: DataFrame) -> DataFrame:
    """Fill the columns of ``episodes`` about commits."""
    of_episode = ["cluster", "group_id", "episode"]
    figures = {name: F.try_sum(name) for name in ("rewound", "rewound_records", "downtime_ms")}
    figures["downtime_generations"] = F.count("downtime_ms").cast("int")
    placed = generations.select(*of_episode, *_POSITION).join(around, list(_POSITION))
    summed = placed.groupBy(*of_episode).agg(*(figure.alias(name) for name, figure in figures.items()))
    return episodes.drop(*figures).join(summed, of_episode, "left").select(*episodes.columns)


def spans_of(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Reduce commits to rows of ``SPAN``."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(map(len, waiting)) >= _AT_ONCE:
            yield _spans(pa.Table.from_batches(waiting))
            waiting = []
    if waiting:
        yield _spans(pa.Table.from_batches(waiting))


def _spans(records: pa.Table) -> pa.RecordBatch:
    columns = {name: records[name].combine_chunks() for name in records.column_names}
    of_keys, _ = codes(columns["key"])
    places = np.flatnonzero(of_keys >= 0)
    places = places[np.argsort(of_keys[places], kind="stable")]
    stretches = _stretches(columns)[places]
    begins = (np.diff(of_keys[places], prepend=-1) != 0) | (np.diff(stretches, prepend=-1) != 0)
    firsts = np.flatnonzero(begins)
    lasts = np.append(firsts[1:], len(places))[: len(firsts)] - 1
    at_ms = numbers(columns["recorded_at_ms"].fill_null(_UNTIMED))[places]
    is_unknown = begins | (np.minimum(at_ms, np.roll(at_ms, 1)) == _UNTIMED)
    between = np.where(is_unknown, _UNTIMED, np.diff(at_ms, prepend=0))
    is_usual = (between >= 0) & (between <= _PAUSE_MS)
    usual = np.where(is_usual, between, 0)
    parts = {"intervals": is_usual, "total_ms": usual, "squares": usual**2, "pauses": between > _PAUSE_MS}
    found = {name: columns[name].take(pa.array(places[firsts])) for name in ("group", "key", "partition")}
    values = {"": numbers(columns["offset"])[places], "_committed": _big_endian(columns["committed"])[places]}
    for side, ends in (("first", firsts), ("last", lasts)):
        found |= {f"{side}{name}": pa.array(value[ends]) for name, value in values.items()}
        found[f"{side}_at_ms"] = pa.array(at_ms[ends], mask=at_ms[ends] == _UNTIMED)
    totals = {name: np.concatenate([[0], np.cumsum(part)]) for name, part in parts.items()}
    found |= {name: pa.array(total[lasts + 1] - total[firsts]) for name, total in totals.items()}
    return pa.RecordBatch.from_struct_array(rows_of(SPAN, found))


def _stretches(columns: Mapping[str, pa.Array]) -> Ints:
    """Number the stretches of each group's records without a needed one, or an offset that is missing, between them.

    Records of other tasks may be between those of two stretches.
    """
    partitions, offsets = (numbers(columns[name]) for name in ("partition", "offset"))
    is_apart = (np.diff(partitions, prepend=-1) != 0) | (np.diff(offsets, prepend=-1) != 1)
    of_groups, _ = codes(columns["group"])
    order = np.argsort(of_groups, kind="stable")
    runs = np.cumsum(is_apart)[order]
    begins = numbers(columns["needed"])[order].astype(np.bool_)
    begins |= (np.diff(of_groups[order], prepend=-2) != 0) | (np.diff(runs, prepend=0) != 0)
    stretches = np.empty(len(order), np.int64)
    stretches[order] = np.cumsum(begins)
    return stretches


def _big_endian(octets: pa.Array) -> Ints:
    """Return the numbers in eight bytes each; 0 for null."""
    found = np.zeros(len(octets), np.int64)
    known = octets.drop_null().cast(pa.binary(8))
    found[numbers(octets.is_valid()).astype(np.bool_)] = np.frombuffer(known.buffers()[1] or b"", ">i8", len(known))
    return found


def _with_missing(gaps: Gaps, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Add to pairs of commits with a generation between them whether a record between them may be missing."""
    for batch in batches:
        columns = {name: batch.column(name) for name in _PAIR.names if name != "missing"}
        places = (numbers(batch.column(name)) for name in ("partition", "last_before", "first"))
        columns["missing"] = pa.array(gaps.are_between(*places))
        yield pa.RecordBatch.from_struct_array(rows_of(_PAIR, columns))


def _by_generation(pairs: DataFrame) -> DataFrame:
    """Sum up the partitions of each generation."""
    untold = f"CASE WHEN downtime_partitions > 0 THEN NULL WHEN commits_compared = 0 THEN '{_MISSING}' "
    untold += f"WHEN timed = 0 THEN '{_NO_TIMES}' ELSE '{_IRREGULAR}' END AS untold"
    went_back = "NOT missing AND back > 0"
    summed = pairs.groupBy("partition", "generation").agg(
        F.expr("CAST(count_if(NOT missing) AS INT) AS commits_compared"),
        F.expr(f"CAST(count_if({went_back}) AS INT) AS rewound"),
        F.expr(f"try_sum(CASE WHEN {went_back} THEN back ELSE 0 END) AS rewound_records"),
        F.expr("try_sum(CASE WHEN NOT missing THEN late_ms END) AS downtime_ms"),
        F.expr("CAST(count(CASE WHEN NOT missing THEN late_ms END) AS INT) AS downtime_partitions"),
        F.expr("count(CASE WHEN NOT missing THEN gap_ms END) AS timed"),
    )
    return summed.selectExpr(
        "partition AS record_partition", "generation AS record_offset", *_COUNTS, *_FIGURES, untold
    )
