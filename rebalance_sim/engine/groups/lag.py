"""The lag of each group's members, and its balance.

Lag is the log end offset minus the committed offset, and unknown if one of the two is, as in Kafka's tools
(``ConsumerGroupCommand.getLag`` of 4.3, where a committed offset of -1 means none). They print a negative lag for a
committed offset above the log end. Here that lag is 0, so that it does not reduce the sum over other partitions.
"""

from collections.abc import Callable

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from rebalance_sim.engine.tables.percentiles import p99_of_array
from rebalance_sim.tables import LAG_BALANCE, MEMBER_LAG, MEMBERS

_GROUP = ("cluster", "group_id")
_PARTITION = (*_GROUP, "topic", "partition")
_ASSIGNED = (*_GROUP, "strategy")
_MEMBER = (*_ASSIGNED, "member_id")
_COUNTED = ("group_partitions", "group_lag_partitions", "group_unknown_partitions", "group_negative_partitions")
"""Columns that are the same for all members of a group."""
_LAST = 2**63 - 1
_NO_GENERATION = -1


def partition_lag(offsets: DataFrame) -> DataFrame:
    """From usable offsets to ``cluster, group_id, topic, partition, lag, negative``; lag is null if unknown."""
    committed, end = F.col("committed"), F.col("end")
    known = (committed >= 0) & end.isNotNull()
    return offsets.select(
        *_PARTITION,
        F.when(known, F.greatest(end - committed, F.lit(0))).alias("lag"),
        F.coalesce(committed > end, F.lit(False)).alias("negative"),
    )


def with_owners(members: DataFrame) -> Callable[[DataFrame], DataFrame]:
    """From ``partition_lag`` to the same with ``owner``: the usable member that owned the partition before.

    Owned partitions without offsets are added; their ``negative`` is null.
    """
    claims = members.transform(_each_once).transform(_claims)
    return lambda lags: (
        # One exchange by group instead of a join, which would sort both sides by partition.
        lags.unionByName(claims, allowMissingColumns=True)
        .repartition(*_GROUP)
        .groupBy(*_PARTITION)
        .agg(F.max("lag").alias("lag"), F.max("negative").alias("negative"), F.min("claim").alias("claim"))
        .select(*_PARTITION, "lag", "negative", F.col("claim.member_id").alias("owner"))
    )


def held_lag(partitions: DataFrame, members: DataFrame) -> Callable[[DataFrame], DataFrame]:
    """From assignments to one row per member, with figures of its group, for ``member_lag`` and ``lag_balance``.

    ``partitions`` are those of ``with_owners``, and ``members`` are usable; a member that is not among them has an
    unknown subscription. Groups that are known to have no lag are left out.
    """
    subscriptions = members.transform(_each_once).select(*_GROUP, "member_id", "subscription")
    without_offsets = F.sum("without_offsets").over(Window.partitionBy(*_ASSIGNED))
    return lambda assignments: (
        assignments.join(subscriptions, [*_GROUP, "member_id"], "left")
        .transform(_held_partitions(partitions))
        .transform(_by_topic)
        .transform(_by_member)
        .join(partitions.transform(_of_groups), [*_GROUP], "left")
        .fillna(0, list(_COUNTED))
        .withColumns({name: F.col(name) + without_offsets for name in ("group_partitions", "group_unknown_partitions")})
        .where("group_lag_partitions > 0 OR group_unknown_partitions > 0")
    )


def member_lag(held: DataFrame) -> DataFrame:
    """From ``held_lag`` to the lag of each member."""
    largest = F.col("largest")
    return held.withColumns(
        {
            "share": F.try_divide("lag", "group_lag"),
            "max_partition_lag": -largest["minus_lag"],
            "max_lag_partition": F.when(largest.isNotNull(), F.struct(largest["topic"], largest["partition"])),
        }
    ).select(*[F.col(column.name).cast(column.type) for column in MEMBER_LAG.columns])


def lag_balance(held: DataFrame) -> DataFrame:
    """From ``held_lag`` to the balance of each group's lag, and the lag that moves."""
    first = Window.partitionBy("strategy").orderBy(F.desc_nulls_last("excess_lag"), F.desc_nulls_last("lag"), *_GROUP)
    is_known = F.col("max_lag").isNotNull()
    return (
        held.transform(_by_group)
        .withColumns(
            {
                "unassigned_lag": F.col("lag") - F.coalesce("given_lag", F.lit(0)),
                "mean_lag": F.when(is_known, F.col("held_lag") / F.col("members")),
                "p99_lag": F.when(is_known, p99_of_array("lags_of_members")),
                "moved_lag": F.when(F.col("owned_max_lag").isNotNull(), F.coalesce("moved_lag", F.lit(0))),
                "max_lag_bound": F.when(is_known, _bound()),
            }
        )
        .withColumn("imbalance", F.col("max_lag") / F.nullif("mean_lag", F.lit(0)))
        .withColumn("excess_lag", F.col("max_lag") - F.col("max_lag_bound"))
        .withColumn("rank", F.row_number().over(first))
        .select(*[F.col(column.name).cast(column.type) for column in LAG_BALANCE.columns])
    )


def against_elected(elections: DataFrame) -> Callable[[DataFrame], DataFrame]:
    """From ``lag_balance`` to the same with ``elected_max_lag``: ``max_lag`` under the elected protocol."""
    of_elected = F.max(F.when(F.col("strategy") == F.col("protocol"), F.col("max_lag"))).over(
        Window.partitionBy(*_GROUP)
    )
    protocols = elections.select(*_GROUP, "protocol")
    return lambda balanced: balanced.join(protocols, [*_GROUP], "left").withColumn("elected_max_lag", of_elected)


def without_assignment(assignments: DataFrame) -> Callable[[DataFrame], DataFrame]:
    """From ``partition_lag`` to the groups with lag but no assignment: ``cluster, group_id, lag``."""
    return lambda lags: (
        lags.groupBy(*_GROUP)
        .agg(F.try_sum("lag").alias("lag"))
        .where("lag > 0")
        .join(assignments.select(*_GROUP), [*_GROUP], "left_anti")
    )


def _each_once(members: DataFrame) -> DataFrame:
    """Take the first of repeated members, as assignments do: by join order, then by content."""
    join_order = F.coalesce("join_order", F.lit(_LAST)).alias("join_order")
    first = F.min(F.struct(join_order, "subscription", "owned", "generation")).alias("member")
    return members.groupBy(*_GROUP, "member_id").agg(first).select(*_GROUP, "member_id", "member.*")


def _claims(members: DataFrame) -> DataFrame:
    """Return the claims to each partition; the least is the one that ``rebalance_sim.kafka.balance`` takes."""
    latest = -F.coalesce("generation", F.lit(_NO_GENERATION))
    claim = F.struct(latest.alias("latest"), "join_order", "member_id").alias("claim")
    return members.select(*_GROUP, claim, F.inline("owned"))


def _held_partitions(partitions: DataFrame) -> Callable[[DataFrame], DataFrame]:
    """From assignments with subscriptions to a row for each partition of a member, and for each of its topics.

    A member without a topic has an empty row. All rows of a group are in one of Spark's partitions, so that nothing
    computed of a group needs another exchange.
    """
    return lambda assigned: (
        assigned.select(*_GROUP, F.struct("strategy", "member_id").alias("holder"), F.inline("partitions"))
        .unionByName(partitions, allowMissingColumns=True)
        .repartition(*_GROUP)
        .groupBy(*_PARTITION)
        .agg(
            F.sort_array(F.collect_list("holder")).alias("holders"),
            *[F.max(name).alias(name) for name in ("lag", "negative", "owner")],
        )
        .select(*_PARTITION, "lag", "negative", "owner", F.inline(F.transform("holders", _holder)))
        .unionByName(assigned.transform(_subscribed), allowMissingColumns=True)
        .repartition(*_GROUP)
    )


def _holder(holder: Column, place: Column) -> Column:
    """Return a member that has a partition, whether it is the first of its strategy, and whether the owner is one."""
    strategy = holder["strategy"]
    return F.struct(
        strategy.alias("strategy"),
        holder["member_id"].alias("member_id"),
        (~F.get("holders", place - 1)["strategy"].eqNullSafe(strategy)).alias("is_first"),
        F.array_contains("holders", F.struct(strategy, F.col("owner").alias("member_id"))).alias("stays"),
    )


def _subscribed(assigned: DataFrame) -> DataFrame:
    topics = F.array_distinct(F.coalesce("subscription", F.array().cast(MEMBERS.schema["subscription"].dataType)))
    return assigned.select(
        *_MEMBER, F.col("subscription").isNull().alias("may_take_all"), F.explode_outer(topics).alias("topic")
    )


def _by_topic(given: DataFrame) -> DataFrame:
    """Sum up by member and topic, with the topic's lag and the members that may be assigned its partitions.

    A partition that is assigned twice counts once for the group, and once for each of its members.
    """
    of_topic = Window.partitionBy(*_ASSIGNED, "topic")
    is_partition, lag, first = F.col("partition").isNotNull(), F.col("lag"), F.col("is_first")
    moved = F.col("owner").isNotNull() & ~F.col("stays")
    return (
        given.groupBy(*_MEMBER, "topic")
        .agg(
            F.bool_or("may_take_all").alias("may_take_all"),
            F.count("partition").alias("partitions"),
            F.count_if(lag > 0).alias("lag_partitions"),
            F.count_if(is_partition & lag.isNull()).alias("unknown_partitions"),
            F.count_if(first & F.col("negative").isNull()).alias("without_offsets"),
            F.try_sum("lag").alias("lag"),
            F.min(F.when(lag > 0, F.struct((-lag).alias("minus_lag"), "topic", "partition"))).alias("largest"),
            F.try_sum(F.when(first, lag)).alias("given_lag"),
            F.try_sum(F.when(first & moved, lag)).alias("moved_lag"),
            F.collect_list(F.when(first & (lag > 0), lag)).alias("lags"),
        )
        .withColumn("topic_lag", F.try_sum("given_lag").over(of_topic))
        .withColumn("takers", F.count("*").over(of_topic))
    )


def _by_member(by_topic: DataFrame) -> DataFrame:
    summed = ("partitions", "lag_partitions", "unknown_partitions", "without_offsets")
    nothing = F.sum("partitions") == 0
    return by_topic.groupBy(*_MEMBER).agg(
        *[F.sum(name).alias(name) for name in summed],
        F.when(nothing, 0).otherwise(F.try_sum("lag")).alias("lag"),
        F.min("largest").alias("largest"),
        F.try_sum("given_lag").alias("given_lag"),
        F.try_sum("moved_lag").alias("moved_lag"),
        F.flatten(F.collect_list("lags")).alias("lags"),
        F.bool_or("may_take_all").alias("may_take_all"),
        F.bool_or(F.col("topic_lag") > 0).alias("may_take"),
        F.max(_ceiling("topic_lag", "takers")).alias("bound_of_topics"),
    )


def _by_group(held: DataFrame) -> DataFrame:
    # A member without partitions is known to have no lag; that is no information if no partition's lag is known.
    known = F.try_sum("given_lag").isNotNull() | (F.sum("partitions") == 0)
    most = F.min(F.when(F.col("lag") > 0, F.struct((-F.col("lag")).alias("minus_lag"), "member_id")))
    return (
        held.groupBy(*_ASSIGNED)
        .agg(
            F.count("*").alias("members"),
            *[F.first(name).alias(name.removeprefix("group_")) for name in (*_COUNTED, "group_lag", "owned_max_lag")],
            F.try_sum("given_lag").alias("given_lag"),
            F.try_sum("moved_lag").alias("moved_lag"),
            F.when(known, F.max("lag")).alias("max_lag"),
            F.when(known, F.min("lag")).alias("min_lag"),
            F.collect_list("lag").alias("lags_of_members"),
            F.try_sum("lag").alias("held_lag"),
            most["member_id"].alias("max_lag_member_id"),
            F.coalesce(-F.min("largest.minus_lag"), F.when(known, 0)).alias("max_partition_lag"),
            F.sort_array(F.flatten(F.collect_list("lags")), asc=False).alias("lags"),
            F.bool_or("may_take_all").alias("some_may_take_all"),
            F.count_if("may_take").alias("may_take"),
            F.max("bound_of_topics").alias("bound_of_topics"),
        )
        .withColumn(
            "takers",
            F.greatest(F.when(F.col("some_may_take_all"), F.col("members")).otherwise(F.col("may_take")), F.lit(1)),
        )
    )


def _bound() -> Column:
    """Return a lower bound of the largest lag of a member, over all possible assignments.

    One member has the partition with the most lag. Some member has at least the mean over all members that may have
    lag, and over those that may have a topic's. With more partitions than members, two of the first n + 1 partitions by
    lag share a member.
    """
    lags, takers = F.col("lags"), F.col("takers").cast("int")
    return F.greatest(
        F.coalesce("max_partition_lag", F.lit(0)),
        _ceiling("given_lag", "takers"),
        F.try_add(F.get(lags, takers - 1), F.get(lags, takers)),
        F.when(~F.col("some_may_take_all"), F.col("bound_of_topics")),
    )


def _ceiling(total: str, parts: str) -> Column:
    return F.expr(f"{total} DIV {parts} + CAST({total} % {parts} > 0 AS BIGINT)")


def _of_groups(partitions: DataFrame) -> DataFrame:
    """Return each group's figures from offsets, and the largest lag that a member owned before."""
    with_offsets, lag = F.col("negative").isNotNull(), F.col("lag")
    return (
        partitions.groupBy(*_GROUP, "owner")
        .agg(
            F.count_if(with_offsets).alias("group_partitions"),
            F.count_if(lag > 0).alias("group_lag_partitions"),
            F.count_if(with_offsets & lag.isNull()).alias("group_unknown_partitions"),
            F.count_if("negative").alias("group_negative_partitions"),
            F.try_sum("lag").alias("lag"),
        )
        .groupBy(*_GROUP)
        .agg(
            *[F.sum(name).alias(name) for name in _COUNTED],
            F.try_sum("lag").alias("group_lag"),
            F.max(F.when(F.col("owner").isNotNull(), lag)).alias("owned_max_lag"),
        )
    )
