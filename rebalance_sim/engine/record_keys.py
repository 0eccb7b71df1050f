"""Records counted by key: what clients make of a key is the same for all its records."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rebalance_sim.engine.partition_load import record_bytes


def record_keys(records: DataFrame) -> DataFrame:
    """From records to ``records`` and ``bytes`` by ``client, cluster, topic, key, explicit_partition``."""
    return (
        records.withColumn("bytes", record_bytes())
        .groupBy("client", "cluster", "topic", "key", "explicit_partition")
        .agg(F.count("*").alias("records"), F.sum("bytes").alias("bytes"))
    )
