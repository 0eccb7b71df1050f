"""What tables beside the members show about groups, and about topics."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from rebalance_sim.engine.audit.connect_facts import FACTS_OF_CONNECT
from rebalance_sim.engine.audit.group import COMMITS, LAG_TREND, LAST_HOUR, TopicFacts
from rebalance_sim.engine.audit.streams_facts import FACTS_OF_STREAMS
from rebalance_sim.engine.audit.topic_keys import key_facts
from rebalance_sim.engine.groups.group_batches import collect_members
from rebalance_sim.engine.groups.group_plan import GroupPlan
from rebalance_sim.engine.groups.lag import partition_lag
from rebalance_sim.engine.groups.whole_groups import group_starts, names_of_groups, nest
from rebalance_sim.engine.spark.driver_rows import DriverRows, keeps_rows
from rebalance_sim.engine.tables.arrow import lists, numbers
from rebalance_sim.engine.tables.inputs import union
from rebalance_sim.tables import (
    EXPIRING_OFFSETS,
    LISTED_GROUPS,
    MEMBERS,
    OFFSETS,
    PARTITION_GROWTH,
    RECORD_PARTITIONS,
    REJECTS,
    TOPIC_LAG,
    TOPICS_AT_RISK,
)

_KEYS = ["cluster", "group_id"]
FACTS = {
    OFFSETS.name: ("topic", "partition", "lag", "negative"),
    EXPIRING_OFFSETS.name: ("partitions", "first_expires_at_ms"),
    COMMITS: ("member_id", "committed_at_ms", "lag"),
    REJECTS.name: ("table", "rows", "reason"),
    TOPIC_LAG.name: (
        *("topic", "lag_partitions", "unknown_partitions", "lag", "max_partition_lag", "max_lag_partition"),
        *("max_lag_committed_at_ms", "negative_partitions", "max_negative", "max_negative_partition"),
    ),
    LAG_TREND: ("furthest", "slowest", "growing", "growing_partitions", "growing_records"),
    LISTED_GROUPS.name: ("type", "protocol_type", "state", "members"),
    LAST_HOUR: ("generations", "first_ms", "last_ms", "causes", "rebalances", "generation", "prevented"),
    **FACTS_OF_CONNECT,
    **FACTS_OF_STREAMS,
}
"""Columns of the tables that an audit reads beside members."""
_ABOUT_CLIENTS = "consumers"
"""Rejects of a capture's file about clients, which names groups that no tool need show."""


def group_facts(tables: Mapping[str, DataFrame]) -> dict[str, DataFrame]:
    """Return the rows about groups, by the table that they come from: ``cluster, group_id, COLUMNS``.

    ``tables`` are members, and some of offsets, ``expiring_offsets``, ``topic_lag``, ``lag_trend``, listed groups
    (usable rows), those about Connect clusters and Kafka Streams, rejects, and ``last_hour``, whose other groups are
    left out: they were only in the past.
    """
    as_given = (TOPIC_LAG.name, LAG_TREND, LISTED_GROUPS.name, *FACTS_OF_CONNECT, *FACTS_OF_STREAMS)
    found = {name: tables[name] for name in as_given if name in tables}
    if REJECTS.name in tables:
        found[REJECTS.name] = _counted_rejects(tables[REJECTS.name])
    if OFFSETS.name in tables:
        found[OFFSETS.name] = partition_lag(tables[OFFSETS.name])
        found[EXPIRING_OFFSETS.name] = (
            tables[EXPIRING_OFFSETS.name]
            .groupBy(*_KEYS)
            .agg(F.count("*").alias("partitions"), F.min("expires_at_ms").alias("first_expires_at_ms"))
        )
        found[COMMITS] = _commits(tables[MEMBERS.name], tables[OFFSETS.name])
    if LAST_HOUR in tables:
        known = union([rows.select(*_KEYS) for rows in (tables[MEMBERS.name], *found.values())])
        found[LAST_HOUR] = tables[LAST_HOUR].join(known, _KEYS, "left_semi")
    return {name: rows.where("group_id <> ''").select(*_KEYS, *FACTS[name]) for name, rows in found.items()}


def beside_members(plan: GroupPlan, members: DataFrame, facts: Mapping[str, DataFrame]) -> GroupPlan:
    """Return the plan for the groups of a members table or of facts: with a list of rows for each table of facts."""
    if keeps_rows(members.sparkSession):
        groups = _nested_in_driver(plan, {name: of.toArrow().combine_chunks() for name, of in facts.items()})
        rows: DataFrame = DriverRows(members.sparkSession, groups, from_arrow_schema(groups.schema))
    else:
        rows = collect_members(members, plan.columns).join(_collected(facts), [*_KEYS], "full_outer")
    return replace(plan, rows_of_groups=rows, columns=())


def _nested_in_driver(plan: GroupPlan, facts: Mapping[str, pa.Table]) -> pa.Table:
    """Bring the rows about each group together without a job of Spark."""
    members = plan.rows_of_groups.toArrow()
    rows_of_members = pa.RecordBatch.from_arrays([of.combine_chunks() for of in members.columns], schema=members.schema)
    nested = pa.Table.from_batches([nest(rows_of_members, group_starts(rows_of_members), plan.columns)])
    named = [rows.select(_KEYS) for rows in (nested, *facts.values())]
    groups = pa.concat_tables(named, promote_options="default").group_by(_KEYS).aggregate([])
    names = names_of_groups(groups.column).combine_chunks()
    beside = nested.take(pc.index_in(names, value_set=names_of_groups(nested.column).combine_chunks())).drop_columns(
        _KEYS
    )
    columns = {key: groups[key] for key in _KEYS} | {name: beside[name] for name in beside.column_names}
    for name, rows in facts.items():
        places = numbers(pc.index_in(names_of_groups(rows.column).combine_chunks(), value_set=names))
        ordered = rows.drop_columns(_KEYS).take(pa.array(np.argsort(places, kind="stable"))).combine_chunks()
        first = np.searchsorted(np.sort(places), np.arange(len(groups) + 1)).astype(np.int32)
        columns[name] = lists(first, ordered.to_struct_array().combine_chunks())
    return pa.table(columns)


def _collected(facts: Mapping[str, DataFrame]) -> DataFrame:
    """Bring the rows about each group together: a row per group, with a list of rows for each table."""
    rows = [of.select(*_KEYS, F.struct(*FACTS[name]).alias(name)) for name, of in facts.items()]
    united = rows[0]
    for more in rows[1:]:
        united = united.unionByName(more, allowMissingColumns=True)
    return united.groupBy(*_KEYS).agg(*[F.collect_list(name).alias(name) for name in facts])


def topic_facts(tables: Mapping[str, DataFrame], topics: DataFrame) -> TopicFacts:
    """Return what is known about topics.

    Records are given by ``record_partitions`` and ``topics_at_risk``, both or neither; ``partition_growth`` is that of
    topics that are to grow.
    """
    facts = replace(_leaders_and_commits(topics, tables.get(OFFSETS.name)), partitions=_partitions(topics))
    if RECORD_PARTITIONS.name not in tables:
        return facts
    growth = tables.get(PARTITION_GROWTH.name)
    return replace(facts, keys=key_facts(tables[RECORD_PARTITIONS.name], tables[TOPICS_AT_RISK.name], topics, growth))


def _counted_rejects(rejects: DataFrame) -> DataFrame:
    """Return the number of rejected rows of each group by their table, with a reason."""
    counted = rejects.where((F.col("table") != _ABOUT_CLIENTS) & F.col("group_id").isNotNull())
    return counted.groupBy(*_KEYS, "table").agg(F.count("*").alias("rows"), F.min("reason").alias("reason"))


def _commits(members: DataFrame, offsets: DataFrame) -> DataFrame:
    """Return the latest commit of each member that has lag, in the partitions that it owns.

    Both times of commits and log end offsets have to be known.
    """
    lag = F.when(F.col("end") > F.col("committed"), F.col("end") - F.col("committed"))
    commits = offsets.select(*_KEYS, "topic", "partition", "committed_at_ms", lag.alias("lag"))
    return (
        members.select(*_KEYS, "member_id", F.inline("owned"))
        .join(commits, [*_KEYS, "topic", "partition"])
        .groupBy(*_KEYS, "member_id")
        .agg(F.max("committed_at_ms").alias("committed_at_ms"), F.sum("lag").alias("lag"))
        .where("committed_at_ms IS NOT NULL AND lag IS NOT NULL")
    )


def _leaders_and_commits(topics: DataFrame, offsets: DataFrame | None) -> TopicFacts:
    without_leader = F.size("unavailable")
    lost = F.when(without_leader > 0, F.struct("topic", without_leader.alias("partitions")))
    facts = topics.groupBy("cluster").agg(
        F.collect_list(lost).alias("lost"), F.count_if(F.col("racks").isNotNull()).alias("with_racks")
    )
    rows = facts.collect()
    commits = [] if offsets is None else offsets.groupBy("cluster").agg(F.max("committed_at_ms")).collect()
    return TopicFacts(
        {(row["cluster"], topic): partitions for row in rows for topic, partitions in row["lost"]},
        frozenset(row["cluster"] for row in rows if row["with_racks"]),
        {cluster: latest_ms for cluster, latest_ms in commits if latest_ms is not None},
    )


def _partitions(topics: DataFrame) -> dict[tuple[str, str], int]:
    """Return the number of partitions of each topic."""
    columns = topics.select("cluster", "topic", "partitions").toArrow()
    clusters, names, partitions = (columns[name].to_pylist() for name in columns.column_names)
    return dict(zip(zip(clusters, names, strict=True), partitions, strict=True))
