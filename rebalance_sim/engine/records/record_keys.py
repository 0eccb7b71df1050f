"""Records counted by key: clients place all records of a key in the same way."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rebalance_sim.engine.records.partition_load import record_bytes


def record_keys(records: DataFrame) -> DataFrame:
    """Sum records and bytes by ``client, cluster, topic, key, explicit_partition``."""
    return (
        records.withColumn("bytes", record_bytes())
        .groupBy("client", "cluster", "topic", "key", "explicit_partition")
        .agg(F.count("*").alias("records"), F.sum("bytes").alias("bytes"))
    )
