"""How long members, leaders and groups took in the past, as far as the records of ``__consumer_offsets`` tell."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from rebalance_sim.engine.spark.driver_rows import map_batches
from rebalance_sim.engine.tables.arrow import arrow_type
from rebalance_sim.engine.tables.inputs import union
from rebalance_sim.kafka.history.causes import Cause
from rebalance_sim.kafka.history.episodes import EpisodeKind
from rebalance_sim.kafka.history.timings import Bound, Source, Timing
from rebalance_sim.kafka.workloads import workload
from rebalance_sim.tables import LONG, STRING, TIMINGS, struct

_GROUP = ("cluster", "group_id")
_HISTORY = (*_GROUP, "recreated")
"""Generations of different histories of a group have nothing to do with each other."""
_SAMPLE = struct(
    dict.fromkeys((*_GROUP, "client_id", "instance_id", "timing", "bound", "source"), STRING) | {"ms": LONG}
)
"""One time; a client id and an instance id only if it is about a member."""
_OF_WORKLOADS = struct(dict.fromkeys((*_GROUP, "workload", "timing", "bound", "source"), STRING) | {"ms": LONG})
_IDENTITY = ("instance_id", "client_id", "host")
"""What a dynamic member keeps when it gets a new member id; a static member keeps its instance id alone."""


@dataclass(frozen=True)
class Timings:
    """The times in a history."""

    generations: DataFrame
    episodes: DataFrame

    def __call__(self, generation_members: DataFrame) -> DataFrame:
        """Return the rows of ``timings``."""
        samples = union([self._assign(generation_members), self._revoke(), self._returns(generation_members)])
        return map_batches(samples, _with_workloads, _OF_WORKLOADS).transform(_summarised)

    def _assign(self, members: DataFrame) -> DataFrame:
        """Return how long leaders took to assign: from the time in the record to that of the record.

        A record that was written again has the first time of its generation. Where an earlier record may be missing,
        that shows only if no member is static. The first generation seen may come from the consumer protocol.
        """
        static = members.where("instance_id IS NOT NULL").select(*_HISTORY).distinct().withColumn("static", F.lit(True))
        known = self.generations.where(
            f"type = 'classic' AND NOT rewritten AND members > 0 AND cause <> '{Cause.FIRST_SEEN}'"
            " AND recorded_at_ms >= completed_at_ms"
        ).join(static, [*_HISTORY], "left")
        whole = known.where("complete OR static IS NULL")
        return whole.select(*_sample(Timing.ASSIGN, Bound.MEASURED, F.expr("recorded_at_ms - completed_at_ms")))

    def _revoke(self) -> DataFrame:
        """Return at most how long members of cooperative groups took to revoke partitions: until all had rejoined."""
        in_order = Window.partitionBy(*_HISTORY).orderBy("generation")
        first = self.generations.where("type = 'classic' AND NOT rewritten")
        placed = first.withColumn(
            "assigned_at_ms", F.lag(F.expr("coalesce(recorded_at_ms, completed_at_ms)")).over(in_order)
        )
        rejoined = placed.where(f"cause = '{Cause.REVOKED}' AND skipped = 0 AND completed_at_ms >= assigned_at_ms")
        return rejoined.select(*_sample(Timing.REVOKE, Bound.UPPER, F.expr("completed_at_ms - assigned_at_ms")))

    def _returns(self, members: DataFrame) -> DataFrame:
        """Return at most how long members were away: from the last generation that has them to the next one.

        That includes the time until they left. Of members that have their client id and host in common, the records do
        not show which one is back.
        """
        client_id, host = (
            F.when(F.col("instance_id").isNull(), F.col(name)).alias(name) for name in ("client_id", "host")
        )
        own = members.where("completed_at_ms IS NOT NULL").select(
            *_HISTORY, "generation", "completed_at_ms", "member_id", "instance_id", client_id, host
        )
        of_generation = Window.partitionBy(*_HISTORY, *_IDENTITY, "generation")
        of_identity = Window.partitionBy(*_HISTORY, *_IDENTITY)
        alone = (
            own.withColumn("alike", F.count("*").over(of_generation))
            .withColumn("most", F.max("alike").over(of_identity))
            .withColumn("left_at_ms", F.lag("completed_at_ms").over(of_identity.orderBy("generation")))
            .where("most = 1 AND completed_at_ms >= left_at_ms")
        )
        back = self.generations.where("restarted > 0").select(
            *_HISTORY, "generation", "episode", F.explode("restarted_ids").alias("member_id")
        )
        kinds = self.episodes.select(*_GROUP, "episode", "kind")
        restart = F.when(F.col("kind") == EpisodeKind.ROLLING_RESTART, Timing.RESTART).otherwise(Timing.RETURN)
        returned = back.join(alone, [*_HISTORY, "generation", "member_id"]).join(kinds, [*_GROUP, "episode"])
        names = (F.col("client_id"), F.col("instance_id"))
        return returned.select(*_sample(restart, Bound.UPPER, F.expr("completed_at_ms - left_at_ms"), names))


def _sample(
    timing: Timing | Column, bound: Bound, milliseconds: Column, names: tuple[Column, Column] | None = None
) -> list[Column]:
    """Return the columns of ``_SAMPLE``."""
    none = F.lit(None).cast(STRING)
    client_id, instance_id = names or (none, none)
    return [
        *(F.col(name) for name in _GROUP),
        client_id.alias("client_id"),
        instance_id.alias("instance_id"),
        (timing if isinstance(timing, Column) else F.lit(timing.value)).alias("timing"),
        F.lit(bound.value).alias("bound"),
        F.lit(Source.RECORDS.value).alias("source"),
        milliseconds.alias("ms"),
    ]


def _with_workloads(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Return each time for its group and, if a member's name shows one, for its workload."""
    for batch in batches:
        rows = [{**row, "workload": None} for row in batch.to_pylist()]
        rows += [row | {"workload": found} for row in rows if (found := workload(row["client_id"], row["instance_id"]))]
        columns = arrow_type(_OF_WORKLOADS)
        yield pa.RecordBatch.from_struct_array(
            pa.array([{of.name: row[of.name] for of in columns} for row in rows], columns)
        )


def _summarised(samples: DataFrame) -> DataFrame:
    figures = [
        F.count("*").alias("count"),
        F.min("ms").alias("min_ms"),
        F.expr("percentile_disc(0.5D) WITHIN GROUP (ORDER BY ms)").cast(LONG).alias("median_ms"),
        F.max("ms").alias("max_ms"),
    ]
    return samples.groupBy(*_OF_WORKLOADS.names[:-1]).agg(*figures).select(*TIMINGS.names)
