"""Records from topics of a live cluster, with the partitions that their real producers chose."""

from collections.abc import Mapping, Sequence

import pyspark
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from rebalance_sim.engine.inputs import first_line
from rebalance_sim.errors import UserError
from rebalance_sim.sources.librdkafka_properties import java_properties
from rebalance_sim.tables import DEFAULT_CLUSTER, RECORDS

PACKAGE = f"org.apache.spark:spark-sql-kafka-0-10_2.13:{pyspark.__version__}"
"""Spark's source for Kafka, which PySpark comes without."""


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
    reader = spark.read.format("kafka").option("subscribe", ",".join(topics))
    for name, value in {**properties, "bootstrap.servers": bootstrap_servers}.items():
        reader = reader.option(f"kafka.{name}", value)
    try:
        return reader.load()
    except AnalysisException as problem:
        raise UserError(
            f"the Spark session has no source for Kafka: start it with --packages {PACKAGE} ({first_line(problem)})"
        ) from problem
