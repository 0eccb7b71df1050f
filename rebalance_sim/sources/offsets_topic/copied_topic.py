"""A copy of ``__consumer_offsets`` that grows night after night, and so outlives the topic's compaction."""

from collections.abc import Mapping
from datetime import UTC, datetime

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from rebalance_sim.engine.runs.files import Files
from rebalance_sim.errors import UserError

COPIED_ON = "copied_on"
"""The folders of a copy: the day on which their records were copied, in UTC."""
_RECORD = ("key", "value", "partition", "offset", "timestamp")


def has_copy(files: Files, folder: str) -> bool:
    """Return whether a folder has a copy. Raises UserError if it has anything else."""
    if not files.exists(folder):
        return False
    names = sorted(name for name in files.names_in(folder) if not name.startswith(("_", ".")))
    other = next((name for name in names if not name.startswith(f"{COPIED_ON}=")), None)
    if other is not None:
        raise UserError(
            f"--keep: {folder!r} has {other!r}, which is not part of a copy; allowed: a new or empty folder, or one "
            "with the copy of earlier runs"
        )
    return bool(names)


def append_new(records: DataFrame, folder: str, copied: DataFrame | None) -> int:
    """Append to the Parquet files of a folder the records that these do not have yet, and return how many there are.

    ``records`` are all those of the topic, as Spark's source for Kafka returns them. ``copied`` are those of the
    folder, if there are any. What a run has not finished writing does not become part of the folder.

    Raises UserError if the topic ends before the copy does: then the copy is not of this topic.
    """
    ends = _ends(records)
    last = {} if copied is None else _ends(copied)
    for partition, offset in last.items():
        if ends.get(partition, -1) < offset:
            raise UserError(
                f"--keep: {folder!r} has offset {offset} of partition {partition}, but the last one of the topic is "
                f"{ends.get(partition, 'unknown')}: the copy is of another topic, or the topic was created again"
            )
    new = records.where(F.col("offset") > F.coalesce(_of_partition(last), F.lit(-1)))
    in_order = new.select(*_RECORD).repartition("partition").sortWithinPartitions("partition", "offset")
    count = new.count()
    if count:
        in_order.withColumn(COPIED_ON, F.lit(datetime.now(UTC).date())).write.mode("append").partitionBy(
            COPIED_ON
        ).parquet(folder)
    return count


def _ends(records: DataFrame) -> dict[int, int]:
    """Return the last offset of each partition."""
    return dict(map(tuple, records.groupBy("partition").agg(F.max("offset")).collect()))


def _of_partition(offsets: Mapping[int, int]) -> Column:
    if not offsets:
        return F.lit(None)
    parts = [F.lit(part) for pair in offsets.items() for part in pair]
    return F.create_map(*parts)[F.col("partition")]
