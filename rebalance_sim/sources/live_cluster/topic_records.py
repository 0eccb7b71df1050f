"""Read records from topics of a live cluster, with the partitions that their producers chose."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pyspark
from py4j.protocol import Py4JError
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from rebalance_sim.engine.tables.inputs import first_line
from rebalance_sim.errors import UserError
from rebalance_sim.sources.live_cluster.librdkafka_properties import java_properties
from rebalance_sim.tables import DEFAULT_CLUSTER, RECORDS

PACKAGE = f"org.apache.spark:spark-sql-kafka-0-10_2.13:{pyspark.__version__}"
"""Spark's source for Kafka, which is not part of PySpark."""
_BY_CONSUMER = "spark.sql.streaming.kafka.useDeprecatedOffsetFetching"


def read_records(
    spark: SparkSession,
    bootstrap_servers: str,
    topics: Sequence[str],
    *,
    properties: Mapping[str, str] | None = None,
    cluster: str = DEFAULT_CLUSTER,
) -> DataFrame:
    """Read all current records of the topics as a records table with ``actual_partition``.

    ``seq`` is the offset, which orders the records of one partition only. ``properties`` are those of a Java client.
    Raises UserError if the session has no source for Kafka.
    """
    rows = read_topics(spark, bootstrap_servers, topics, java_properties(properties or {}))
    made = {
        "cluster": F.lit(cluster),
        "topic": F.col("topic"),
        "key": F.col("key"),
        "value_bytes": F.octet_length("value"),
        "timestamp_ms": F.unix_millis("timestamp"),
        "seq": F.col("offset"),
        "actual_partition": F.col("partition"),
    }
    null = F.lit(None)
    return rows.select(
        *[made.get(column.name, null).cast(column.type).alias(column.name) for column in RECORDS.columns]
    )


def read_topics(
    spark: SparkSession, bootstrap_servers: str, topics: Sequence[str], properties: Mapping[str, str]
) -> DataFrame:
    """Read the current records of topics with Spark's source for Kafka.

    ``properties`` are those of a Java client. Raises UserError if the session has no source for Kafka.
    """
    return _load(spark, {"subscribe": ",".join(topics)}, {**properties, "bootstrap.servers": bootstrap_servers})


def read_internal_topic(
    spark: SparkSession, bootstrap_servers: str, topic: str, properties: Mapping[str, str]
) -> DataFrame:
    """Read an internal topic of Kafka.

    Spark's source skips internal topics unless it fetches offsets with a consumer, so this switches to one. Raises
    UserError if the session has no source for Kafka, or the topic cannot be read.
    """
    configuration = {**properties, "bootstrap.servers": bootstrap_servers}
    # Assign partitions rather than subscribe: a subscribing consumer joins a group, which writes to this very topic.
    spark.conf.set(_BY_CONSUMER, "true")
    rows = _load(spark, {"assign": json.dumps({topic: [0]})}, configuration)
    numbers = list(range(_partitions(spark, topic, configuration)))
    return rows if numbers == [0] else _load(spark, {"assign": json.dumps({topic: numbers})}, configuration)


def _partitions(spark: SparkSession, topic: str, configuration: Mapping[str, str]) -> int:
    """Return the number of partitions of a topic, from the brokers."""
    jvm: Any = spark.sparkContext._jvm
    given = jvm.java.util.Properties()
    for name, value in configuration.items():
        given.setProperty(name, value)
    try:
        admin = jvm.org.apache.kafka.clients.admin.AdminClient.create(given)
        try:
            described = admin.describeTopics(jvm.java.util.List.of(topic)).allTopicNames().get()
            return int(described.get(topic).partitions().size())
        finally:
            admin.close()
    except Py4JError as problem:
        raise UserError(f"cannot read topic {topic!r}: {first_line(problem)}") from problem


def _load(spark: SparkSession, what: Mapping[str, str], configuration: Mapping[str, str]) -> DataFrame:
    reader = spark.read.format("kafka").options(**what)
    for name, value in configuration.items():
        reader = reader.option(f"kafka.{name}", value)
    try:
        return reader.load()
    except AnalysisException as problem:
        raise UserError(
            f"the Spark session has no source for Kafka: start it with --packages {PACKAGE} ({first_line(problem)})"
        ) from problem
