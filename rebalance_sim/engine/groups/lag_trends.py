"""How the lag of groups has changed since an earlier time: what arrived and what was committed meanwhile."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

_GROUP = ("cluster", "group_id")
_PARTITION = (*_GROUP, "topic", "partition")
_FIGURES = ("lag", "arrived", "done", "growth")


def lag_trends(offsets: DataFrame, earlier: DataFrame, least_records: int, least_share: float) -> DataFrame:
    """From usable offsets of two times to a row per group: ``cluster, group_id`` and partitions with lag.

    Each is a struct ``topic, partition, lag, arrived, done, growth``: records that ``arrived`` between both times, and
    those that were committed (``done``). ``furthest`` has the most lag; ``slowest`` the lag that took longest to
    arrive, of those with ``least_records``; ``growing`` the most growth, of the ``growing_partitions``. These have
    grown by ``least_records`` and by ``least_share`` of what arrived: then not even a group that commits only once in
    that share of the time looks slower than its producers. Together they have grown by ``growing_records``.

    A partition is left out if offsets are unknown at either time or went back: its topic was created again, or the
    group was reset.
    """
    before = earlier.select(*_PARTITION, *(F.col(name).alias(f"{name}_before") for name in ("committed", "end")))
    joined = offsets.select(*_PARTITION, "committed", "end").join(before, list(_PARTITION))
    committed, end, committed_before, end_before = map(F.col, ("committed", "end", "committed_before", "end_before"))
    # A comparison with an unknown offset is null, which leaves the partition out.
    known = joined.where(
        (committed_before >= 0) & (committed >= committed_before) & (end >= end_before) & (end > committed)
    )
    figures = known.select(
        *_PARTITION,
        (end - committed).alias("lag"),
        (end - end_before).alias("arrived"),
        (committed - committed_before).alias("done"),
        (end - committed - F.greatest(end_before - committed_before, F.lit(0))).alias("growth"),
    )
    lag, arrived, growth = map(F.col, ("lag", "arrived", "growth"))
    grows = (growth >= least_records) & (growth >= least_share * arrived)
    # Where nothing arrived, the lag is older than the earlier time.
    took = F.when(lag >= least_records, F.coalesce(lag / F.nullif(arrived, F.lit(0)), F.lit(float("inf"))))
    return figures.groupBy(*_GROUP).agg(
        _first("furthest", lag),
        _first("slowest", took),
        _first("growing", F.when(grows, growth)),
        F.count_if(grows).alias("growing_partitions"),
        F.sum(F.when(grows, growth)).alias("growing_records"),
    )


def _first(name: str, by: Column) -> Column:
    """Return the partition with the most of something, the first of equal ones; null if it is null for all."""
    order = F.when(by.isNotNull(), F.struct((-by).alias("most_first"), "topic", "partition"))
    return F.min_by(F.struct("topic", "partition", *_FIGURES), order).alias(name)
