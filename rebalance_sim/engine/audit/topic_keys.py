"""What the records of each topic show about its keys."""

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rebalance_sim.engine.tables.percentiles import p99_of_counted

_TOPIC = ("cluster", "topic")
TopicKeys = Mapping[tuple[str, str], Mapping[str, float]]
"""Figures by cluster and topic."""


@dataclass(frozen=True)
class KeyFacts:
    """What the records of all topics show."""

    conflicts: TopicKeys
    """Topics whose clients place some keys differently: ``keys``, ``keys_conflicting``, ``keys_split`` and so on."""
    clients: Mapping[tuple[str, str], tuple[str, ...]]
    """The clients that send keys to these topics."""
    moved: TopicKeys
    """Topics with keys whose records were read from several partitions: ``keys`` and ``keys_moved``."""
    loads: TopicKeys
    """The hottest partition of each topic: ``partition``, ``records`` and ``times`` the mean of all; ``mean_records``
    and ``p99_records`` of all."""
    grown: TopicKeys
    """Topics with keys that a growth moves: ``partitions``, ``partitions_after``, ``keys`` and ``keys_moved``."""
    shared: Mapping[tuple[str, str], Mapping[str, float]]
    """By cluster and topic, the other topics that have keys of it, with the share of the smaller topic's keys."""


def key_facts(
    record_partitions: DataFrame, at_risk: DataFrame, topics: DataFrame, growth: DataFrame | None = None
) -> KeyFacts:
    """Return what records, with the partitions that their clients choose, show about the topics that they are in.

    ``growth`` is the ``partition_growth`` of topics that are to grow.
    """
    conflicts = at_risk.drop("examples").collect()
    figures = ("keys", "keys_conflicting", "keys_shared", "keys_split", "records_split")
    return KeyFacts(
        {(row["cluster"], row["topic"]): {name: row[name] for name in figures} for row in conflicts},
        {(row["cluster"], row["topic"]): tuple(row["clients"]) for row in conflicts},
        _by_topic(_moved(record_partitions)),
        _by_topic(_hottest(record_partitions, topics)),
        {} if growth is None else _by_topic(_moved_by(growth)),
        _shared(record_partitions),
    )


def _by_topic(rows: DataFrame) -> TopicKeys:
    return {
        (row["cluster"], row["topic"]): {name: value for name, value in row.asDict().items() if name not in _TOPIC}
        for row in rows.collect()
    }


def _moved(record_partitions: DataFrame) -> DataFrame:
    """Count the keys whose records were read from several partitions although no application chose them."""
    return (
        record_partitions.where("key IS NOT NULL AND explicit_partition IS NULL AND actual_partition IS NOT NULL")
        .groupBy(*_TOPIC, "key")
        .agg(F.expr("min(actual_partition) != max(actual_partition) AS moved"))
        .groupBy(*_TOPIC)
        .agg(F.expr("count(*) AS keys"), F.expr("count_if(moved) AS keys_moved"))
        .where("keys_moved > 0")
    )


def _moved_by(growth: DataFrame) -> DataFrame:
    """Return the figures of the client of each topic whose keys move most."""
    figures = ("partitions", "partitions_after", "keys", "keys_moved")
    most = f"max_by(struct({', '.join(figures)}), struct(keys_moved, client)) AS most"
    return growth.where("keys_moved > 0").groupBy(*_TOPIC).agg(F.expr(most)).select(*_TOPIC, "most.*")


def _hottest(record_partitions: DataFrame, topics: DataFrame) -> DataFrame:
    """Find the partition with the most records of each topic: the one a record was read from, else the predicted."""
    hottest = "max_by(struct(partition, records), struct(records, -partition)) AS hottest"
    mean = "sum(records) / any_value(partitions)"
    counted = ("collect_list(struct(records, 1 AS times)) AS counted", "any_value(partitions) AS partitions")
    return (
        record_partitions.withColumn("partition", F.coalesce("actual_partition", "partition"))
        .where("partition IS NOT NULL")
        .groupBy(*_TOPIC, "partition")
        .agg(F.expr("count(*) AS records"))
        .join(F.broadcast(topics.select(*_TOPIC, "partitions")), [*_TOPIC])
        .groupBy(*_TOPIC)
        .agg(F.expr(hottest), F.expr(f"{mean} AS mean_records"), *map(F.expr, counted))
        .withColumn("p99_records", p99_of_counted("counted", "records", "times", "partitions"))
        .selectExpr(*_TOPIC, "hottest.*", "mean_records", "p99_records", "hottest.records / mean_records AS times")
    )


def _shared(record_partitions: DataFrame) -> dict[tuple[str, str], dict[str, float]]:
    """Return the share of keys that each two topics of a cluster have in common."""
    keys = record_partitions.where("key IS NOT NULL").select(*_TOPIC, "key").distinct()
    counted = {(row["cluster"], row["topic"]): row["count"] for row in keys.groupBy(*_TOPIC).count().collect()}
    pairs = (
        keys.groupBy("cluster", "key")
        .agg(F.array_sort(F.collect_list("topic")).alias("topics"))
        .where("size(topics) > 1")
        .withColumn("topic", F.explode("topics"))
        .withColumn("other", F.explode("topics"))
        .where("topic != other")
        .groupBy(*_TOPIC, "other")
        .count()
    )
    shared: dict[tuple[str, str], dict[str, float]] = {}
    for row in pairs.collect():
        topic, other = ((row["cluster"], row[name]) for name in ("topic", "other"))
        shared.setdefault(topic, {})[row["other"]] = row["count"] / min(counted[topic], counted[other])
    return shared
