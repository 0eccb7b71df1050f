"""Records from topics of a live cluster, with the partitions that their real producers chose."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pyspark
from py4j.protocol import Py4JError
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from rebalance_sim.engine.inputs import first_line
from rebalance_sim.errors import UserError
from rebalance_sim.sources.librdkafka_properties import java_properties
from rebalance_sim.tables import DEFAULT_CLUSTER, RECORDS

PACKAGE = f"org.apache.spark:spark-sql-kafka-0-10_2.13:{pyspark.__version__}"
"""Spark's source for Kafka, which PySpark comes without."""
_BY_CONSUMER = "spark.sql.streaming.kafka.useDeprecatedOffsetFetching"


def read_records(
    spark: SparkSession,
    bootstrap_servers: str,
    topics: Sequence[str],
    *,
    properties: Mapping[str, str] | None = None,
    cluster: str = DEFAULT_CLUSTER,
) -> DataFrame:
    """Read all records that the topics hold now, as a records table with ``sent_to``.

    ``seq`` is the offset: the order within a partition, which over partitions is not that of the producer.
    ``properties`` are those of a Java client. Raises UserError where the session has no source for Kafka.
    """
    rows = read_topics(spark, bootstrap_servers, topics, java_properties(properties or {}))
    made = {
        "cluster": F.lit(cluster),
        "topic": F.col("topic"),
        "key": F.col("key"),
        "value_bytes": F.octet_length("value"),
        "timestamp_ms": F.unix_millis("timestamp"),
        "seq": F.col("offset"),
        "sent_to": F.col("partition"),
    }
    null = F.lit(None)
    return rows.select(
        *[made.get(column.name, null).cast(column.type).alias(column.name) for column in RECORDS.columns]
    )


def read_topics(
    spark: SparkSession, bootstrap_servers: str, topics: Sequence[str], properties: Mapping[str, str]
) -> DataFrame:
    """Read topics as they are now with Spark's source for Kafka.

    ``properties`` are those of a Java client. Raises UserError where the session has no such source.
    """
    return _load(spark, {"subscribe": ",".join(topics)}, {**properties, "bootstrap.servers": bootstrap_servers})


def read_internal_topic(
    spark: SparkSession, bootstrap_servers: str, topic: str, properties: Mapping[str, str]
) -> DataFrame:
    """Read a topic of Kafka's own, which Spark's source passes over unless a consumer is asked for its offsets.

    Raises UserError where the session has no source for Kafka, and where the topic cannot be read.
    """
    configuration = {**properties, "bootstrap.servers": bootstrap_servers}
    # The partitions are assigned: a consumer that subscribes would join a group, and so write into the offsets topic.
    spark.conf.set(_BY_CONSUMER, "true")
    rows = _load(spark, {"assign": json.dumps({topic: [0]})}, configuration)
    numbers = list(range(_partitions(spark, topic, configuration)))
    return rows if numbers == [0] else _load(spark, {"assign": json.dumps({topic: numbers})}, configuration)


def _partitions(spark: SparkSession, topic: str, configuration: Mapping[str, str]) -> int:
    """Ask the brokers how many partitions a topic has."""
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
