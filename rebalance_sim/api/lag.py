"""The lag of groups and members as transformations, each for ``DataFrame.transform``.

They take assignments of any origin: what ``assign`` and ``last_assignments`` return, the tables of the jobs, or others
with the same columns. The tables and their columns are those of ``rebalance_sim.tables``.
"""

from collections.abc import Sequence

from pyspark.sql import DataFrame

from rebalance_sim.engine.groups import lag, offset_expiry
from rebalance_sim.engine.groups.lag_rows import TABLES
from rebalance_sim.engine.spark.driver_rows import no_rows
from rebalance_sim.engine.tables.inputs import fit, fit_offsets, rejected, usable
from rebalance_sim.engine.tables.outcomes import Outcomes, Transformation, outcome
from rebalance_sim.errors import UserError
from rebalance_sim.releases import NEWEST
from rebalance_sim.releases import kafka_version as rules_of
from rebalance_sim.tables import LAG_BALANCE, MEMBER_LAG, MEMBERS, OFFSETS


def lag_tables(assignments: DataFrame, offsets: DataFrame, members: DataFrame | None = None) -> Outcomes:
    """Return all lag tables of some assignments, from rows that are computed once: ``member_lag`` and ``lag_balance``.

    Beside them, ``group_lag`` has the lag of each group, the number of its offsets, and whether it has an assignment.
    ``members`` are those of ``lag_balance``.
    """
    return Outcomes(
        assignments.transform(_lag_of(offsets, members, tuple(TABLES))),
        {name: outcome(name) for name in TABLES} | {LAG_BALANCE.name: lag.lag_balance},
    )


def member_lag(offsets: DataFrame) -> Transformation:
    """From assignments to the lag of each member.

    Lag is the log end offset minus the group's committed offset. Where one of the two is missing, lag is unknown: null
    rather than 0. Groups that are known to have no lag are left out.

    Raises UserError for offsets without a required column.

    >>> from rebalance_sim import assign
    >>> assignments = members.transform(assign("range", topics))
    >>> lags = assignments.transform(member_lag(offsets)).orderBy("member_id")
    >>> lags.select("member_id", "partitions", "unknown_partitions", "lag", "share", "max_lag_partition").show()
    +---------+----------+------------------+---+-----+-----------------+
    |member_id|partitions|unknown_partitions|lag|share|max_lag_partition|
    +---------+----------+------------------+---+-----+-----------------+
    |       c1|         2|                 0| 30| 0.75|      {orders, 0}|
    |       c2|         1|                 0| 10| 0.25|      {orders, 2}|
    +---------+----------+------------------+---+-----+-----------------+
    <BLANKLINE>
    """
    return lambda assignments: assignments.transform(_lag_of(offsets, None, [MEMBER_LAG.name])).transform(
        outcome(MEMBER_LAG.name)
    )


def lag_balance(offsets: DataFrame, members: DataFrame | None = None) -> Transformation:
    """From assignments to the balance of each group's lag, and the best that another assignment could reach.

    ``members`` have the topics that each subscribes to and the partitions that it ``owned`` before. Without them, every
    member may be assigned any partition, and nothing was owned. Assignments of several strategies give a row for each.

    Raises UserError for offsets or members without a required column.

    >>> from rebalance_sim import assign
    >>> assignments = members.transform(assign("range", topics))
    >>> balanced = assignments.transform(lag_balance(offsets, members))
    >>> balanced.select("rank", "lag", "max_lag", "mean_lag", "max_lag_bound", "excess_lag").show()
    +----+---+-------+--------+-------------+----------+
    |rank|lag|max_lag|mean_lag|max_lag_bound|excess_lag|
    +----+---+-------+--------+-------------+----------+
    |   1| 40|     30|    20.0|           20|        10|
    +----+---+-------+--------+-------------+----------+
    <BLANKLINE>
    """
    return lambda assignments: assignments.transform(_lag_of(offsets, members, [LAG_BALANCE.name])).transform(
        lag.lag_balance
    )


def topic_lag(offsets: DataFrame) -> DataFrame:
    """From offsets to the lag of each group and topic, also of groups without members or a predicted assignment.

    Raises UserError for offsets without a required column.

    >>> offsets.transform(topic_lag).select("group_id", "topic", "partitions", "lag", "max_lag_partition").show()
    +--------+------+----------+---+-----------------+
    |group_id| topic|partitions|lag|max_lag_partition|
    +--------+------+----------+---+-----------------+
    |   group|orders|         3| 40|                0|
    +--------+------+----------+---+-----------------+
    <BLANKLINE>
    """
    return lag.topic_lag(usable(fit_offsets(offsets)))


def rejected_offsets(offsets: DataFrame) -> DataFrame:
    """From offsets to the rows that cannot be used, each with a reason.

    >>> offsets.transform(rejected_offsets).count()
    0
    """
    return rejected(fit_offsets(offsets), OFFSETS)


def expiring_offsets(
    offsets: DataFrame, kafka_version: str = NEWEST, retention_minutes: int | None = None
) -> Transformation:
    """From members to the committed offsets that expire while nothing changes, and when they do.

    ``retention_minutes`` is offsets.retention.minutes; by default the release's own, 7 days or, up to 1.1, 1 day. A
    group loses its position in a partition when the offset expires: consumers that come back start where
    auto.offset.reset says. Groups without a row in members are taken to be empty.

    Raises UserError for offsets or members without a required column.

    >>> used = members.transform(expiring_offsets(offsets))
    >>> used.count()
    0
    >>> committed = offsets.selectExpr("*", "0L AS committed_at_ms")
    >>> abandoned = members.limit(0).transform(expiring_offsets(committed))
    >>> abandoned.select("group_id", "topic", "expires_at_ms").distinct().show()
    +--------+------+-------------+
    |group_id| topic|expires_at_ms|
    +--------+------+-------------+
    |   group|orders|    604800000|
    +--------+------+-------------+
    <BLANKLINE>
    """
    version, committed = rules_of(kafka_version), usable(fit_offsets(offsets))
    if retention_minutes is not None and retention_minutes < 1:
        raise UserError(f"retention_minutes is {retention_minutes}; it must be at least 1")
    return lambda members: offset_expiry.expiring_offsets(
        committed, usable(fit(members, MEMBERS)), version, retention_minutes
    )


def _lag_of(offsets: DataFrame, members: DataFrame | None, tables: Sequence[str]) -> Transformation:
    if members is None:
        members = no_rows(offsets.sparkSession, MEMBERS.schema)
    return lag.lag_of(lag.partition_lag(usable(fit_offsets(offsets))), usable(fit(members, MEMBERS)), tables)
