"""The lag of groups and members as transformations, each for ``DataFrame.transform``.

They are made from assignments of any kind: what ``assign`` and ``last_assignments`` return, the tables of the jobs, or
others with the same columns. The tables and their columns are those of ``rebalance_sim.tables``.
"""

from collections.abc import Callable

from pyspark.sql import DataFrame

from rebalance_sim.engine import lag
from rebalance_sim.engine.inputs import fit, fit_offsets, rejected, usable
from rebalance_sim.tables import MEMBERS, OFFSETS

Transformation = Callable[[DataFrame], DataFrame]


def member_lag(offsets: DataFrame) -> Transformation:
    """From assignments to the lag that each member has.

    Lag is the log end offset less the committed offset of the group; where one of the two is missing it is not known,
    and null rather than 0. Groups that are known to have no lag are left out.

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
    held = _held(offsets, None)
    return lambda assignments: assignments.transform(held).transform(lag.member_lag)


def lag_balance(offsets: DataFrame, members: DataFrame | None = None) -> Transformation:
    """From assignments to how even each group's lag lies, and what better could do at the most.

    ``members`` tell what they subscribe to, and what they ``owned`` before. Without them all may take everything, and
    nobody owned anything. With the assignments of several strategies there is a row for each of them.

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
    held = _held(offsets, members)
    return lambda assignments: assignments.transform(held).transform(lag.lag_balance)


def rejected_offsets(offsets: DataFrame) -> DataFrame:
    """From offsets to the rows that cannot be used, each with a reason.

    >>> offsets.transform(rejected_offsets).count()
    0
    """
    return rejected(fit_offsets(offsets), OFFSETS)


def _held(offsets: DataFrame, members: DataFrame | None) -> Transformation:
    lags = lag.partition_lag(usable(fit_offsets(offsets)))
    if members is None:
        members = offsets.sparkSession.createDataFrame([], MEMBERS.schema)
    used = usable(fit(members, MEMBERS))
    return lag.held_lag(lags.transform(lag.with_owners(used)), used)
