"""How long members, leaders and groups took in the past, as far as records of ``__consumer_offsets`` and logs tell."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from rebalance_sim.engine.spark.driver_rows import map_batches
from rebalance_sim.engine.tables.arrow import arrow_type
from rebalance_sim.engine.tables.inputs import union
from rebalance_sim.kafka.history.causes import Cause
from rebalance_sim.kafka.history.episodes import EpisodeKind
from rebalance_sim.kafka.history.rebalance_steps import REVOKED, RebalanceStep, joined_by, left_by
from rebalance_sim.kafka.history.timings import Bound, Source, Timing
from rebalance_sim.kafka.workloads import workload
from rebalance_sim.tables import LONG, STRING, TIMINGS, struct

_GROUP = ("cluster", "group_id")
_HISTORY = (*_GROUP, "recreated")
"""Generations of different histories of a group have nothing to do with each other."""
_NAMES = ("client_id", "instance_id")
_BEGINNING = struct(dict.fromkeys((*_GROUP, "broker"), STRING) | {"at_ms": LONG, "left": STRING, "joined": STRING})
"""The beginning of a rebalance, and the member that left or joined."""
_OF_WORKLOADS = struct(dict.fromkeys((*_GROUP, "workload", "timing", "bound", "source"), STRING) | {"ms": LONG})
_IDENTITY = ("instance_id", "client_id", "host")
"""What a dynamic member keeps when it gets a new member id; a static member keeps its instance id alone."""


@dataclass(frozen=True)
class Timings:
    """The times in a history."""

    generations: DataFrame
    episodes: DataFrame
    steps: DataFrame | None = None
    """Steps of rebalances in the logs of brokers (``broker_logs.STEP``); None without logs."""

    def __call__(self, generation_members: DataFrame) -> DataFrame:
        """Return the rows of ``timings``."""
        returns = self._returns(generation_members)
        samples = [self._assign(generation_members), self._revoke(), _bounded(returns)]
        samples += [self._converge(), _revoked_by_members(generation_members)]
        if self.steps is not None:
            read = self.generations.select(*_GROUP).distinct()
            steps = self.steps.join(read, [*_GROUP], "left_semi").transform(_in_order)
            samples += [steps.transform(_steps), _revoked(steps, generation_members), _away(steps, returns)]
        return map_batches(union(samples), _with_workloads, _OF_WORKLOADS).transform(_summarised)

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

    def _converge(self) -> DataFrame:
        """Return how long consumer-protocol groups took until all members had their assignments."""
        known = self.generations.where("converged_ms IS NOT NULL")
        return known.select(*_sample(Timing.CONVERGE, Bound.MEASURED, F.col("converged_ms")))

    def _returns(self, members: DataFrame) -> DataFrame:
        """Return the members that came back, with the times of the last generation before and the first one after.

        Of members that have their client id and host in common, the records do not show which one is back. The record
        of an epoch has no other time than its own.
        """
        client_id, host = (
            F.when(F.col("instance_id").isNull(), F.col(name)).alias(name) for name in ("client_id", "host")
        )
        # Only epochs have no elected protocol.
        epoch_at_ms = F.when(F.col("protocol").isNull(), F.col("recorded_at_ms"))
        timed = members.withColumn("at_ms", F.coalesce("completed_at_ms", epoch_at_ms))
        own = timed.where("at_ms IS NOT NULL").select(
            *_HISTORY, "generation", "at_ms", "member_id", "instance_id", client_id, host
        )
        of_generation = Window.partitionBy(*_HISTORY, *_IDENTITY, "generation")
        of_identity = Window.partitionBy(*_HISTORY, *_IDENTITY)
        alone = (
            own.withColumn("alike", F.count("*").over(of_generation))
            .withColumn("most", F.max("alike").over(of_identity))
            .withColumn("seen_at_ms", F.lag("at_ms").over(of_identity.orderBy("generation")))
            .withColumn("left_id", F.lag("member_id").over(of_identity.orderBy("generation")))
            .where("most = 1 AND at_ms >= seen_at_ms")
        )
        back = self.generations.where("restarted > 0").select(
            *_HISTORY, "generation", "episode", F.explode("restarted_ids").alias("member_id")
        )
        kinds = self.episodes.select(*_GROUP, "episode", "kind")
        restart = F.when(F.col("kind") == EpisodeKind.ROLLING_RESTART, Timing.RESTART).otherwise(Timing.RETURN)
        returned = back.join(alone, [*_HISTORY, "generation", "member_id"]).join(kinds, [*_GROUP, "episode"])
        return returned.withColumn("timing", restart)


def _bounded(returns: DataFrame) -> DataFrame:
    """Return at most how long members were away: as long as no generation has them, and before until they left."""
    return returns.select(*_sample(F.col("timing"), Bound.UPPER, F.expr("at_ms - seen_at_ms"), names=_NAMES))


def _revoked_by_members(members: DataFrame) -> DataFrame:
    """Return at most how long members of consumer-protocol groups took to revoke: until their next heartbeat."""
    known = members.where("revoked_ms IS NOT NULL")
    return known.select(*_sample(Timing.REVOKE, Bound.UPPER, F.col("revoked_ms"), names=_NAMES))


def _in_order(steps: DataFrame) -> DataFrame:
    """Add to each step of a rebalance the one before it, in the log of the same broker."""
    in_order = Window.partitionBy(*_GROUP, "broker").orderBy("at_ms", "generation", "step")
    before = {f"{name}_before": F.lag(name).over(in_order) for name in ("step", "generation", "at_ms")}
    return steps.withColumns(before).withColumn("ms", F.expr("at_ms - at_ms_before"))


def _steps(steps: DataFrame) -> DataFrame:
    """Return how long members took to join, and leaders to assign."""
    kinds = {
        Timing.JOIN: (RebalanceStep.PREPARING, RebalanceStep.STABILIZED),
        Timing.ASSIGN: (RebalanceStep.STABILIZED, RebalanceStep.ASSIGNED),
    }
    found = [
        steps.where(
            f"step_before = '{first}' AND step = '{last}' AND generation = generation_before AND generation > 1"
        ).select(*_sample(timing, Bound.MEASURED, F.col("ms"), Source.BROKER_LOGS))
        for timing, (first, last) in kinds.items()
    ]
    return union(found)


def _revoked(steps: DataFrame, members: DataFrame) -> DataFrame:
    """Return how long the only member that had to revoke partitions took: from the assignment until it rejoined.

    Of several, only the first to rejoin is in the log.
    """
    has_to = F.size(F.array_except("owned", "assigned")) > 0
    alone = (
        members.groupBy(*_GROUP, "recreated", (F.col("generation") + 1).alias("generation"))
        .agg(F.count_if(has_to).alias("revoking"))
        .groupBy(*_GROUP, "generation")
        .agg(F.max("revoking").alias("revoking"), F.count("*").alias("histories"))
        .where("revoking = 1 AND histories = 1")
    )
    rejoined = steps.where(
        f"step_before = '{RebalanceStep.ASSIGNED}' AND step = '{RebalanceStep.PREPARING}'"
        f" AND generation = generation_before + 1 AND contains(reason, '{REVOKED}')"
    )
    found = rejoined.join(alone, [*_GROUP, "generation"], "left_semi")
    return found.select(*_sample(Timing.REVOKE, Bound.MEASURED, F.col("ms"), Source.BROKER_LOGS))


def _away(steps: DataFrame, returns: DataFrame) -> DataFrame:
    """Return how long members were away whose departure and return each began a rebalance."""
    begun = map_batches(steps.select(*_BEGINNING.names[:4], "reason"), _who_began, _BEGINNING)
    left, joined = (
        begun.where(f"{who} IS NOT NULL").select(
            *_GROUP, "broker", F.col(who).alias(name), F.col("at_ms").alias(f"{who}_at_ms")
        )
        for who, name in (("left", "left_id"), ("joined", "member_id"))
    )
    found = returns.join(left, [*_GROUP, "left_id"]).join(joined, [*_GROUP, "broker", "member_id"])
    away = found.where("joined_at_ms >= left_at_ms")
    return away.select(
        *_sample(F.col("timing"), Bound.MEASURED, F.expr("joined_at_ms - left_at_ms"), Source.BROKER_LOGS, _NAMES)
    )


def _who_began(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Return the member whose departure or return each rebalance began with."""
    for batch in batches:
        rows = batch.to_pylist()
        for row in rows:
            row |= {"left": left_by(row["reason"] or ""), "joined": joined_by(row["reason"] or "")}
        yield pa.RecordBatch.from_struct_array(pa.array(rows, arrow_type(_BEGINNING)))


def _sample(
    timing: Timing | Column,
    bound: Bound,
    milliseconds: Column,
    source: Source = Source.RECORDS,
    names: Sequence[str] = ("CAST(NULL AS STRING)", "CAST(NULL AS STRING)"),
) -> list[Column]:
    """Return the columns of a time, with the client id and instance id if it is of a member."""
    client_id, instance_id = map(F.expr, names)
    return [
        *(F.col(name) for name in _GROUP),
        client_id.alias("client_id"),
        instance_id.alias("instance_id"),
        (timing if isinstance(timing, Column) else F.lit(timing.value)).alias("timing"),
        F.lit(bound.value).alias("bound"),
        F.lit(source.value).alias("source"),
        milliseconds.alias("ms"),
    ]


def _with_workloads(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Return each time for its group and, if a member's name shows one, for its workload."""
    for batch in batches:
        rows = [{**row, "workload": None} for row in batch.to_pylist()]
        rows += [row | {"workload": found} for row in rows if (found := workload(row["client_id"], row["instance_id"]))]
        yield pa.RecordBatch.from_struct_array(pa.array(rows, arrow_type(_OF_WORKLOADS)))


def _summarised(samples: DataFrame) -> DataFrame:
    figures = [
        F.count("*").alias("count"),
        F.min("ms").alias("min_ms"),
        F.expr("percentile_disc(0.5D) WITHIN GROUP (ORDER BY ms)").cast(LONG).alias("median_ms"),
        F.max("ms").alias("max_ms"),
    ]
    return samples.groupBy(*_OF_WORKLOADS.names[:-1]).agg(*figures).select(*TIMINGS.names)
