"""Records counted by key: clients place all records of a key in the same way."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rebalance_sim.engine.records.partition_load import RECORD_BYTES


def record_keys(records: DataFrame) -> DataFrame:
    """Sum records and bytes by ``client, cluster, topic, key, explicit_partition``."""
    return records.groupBy("client", "cluster", "topic", "key", "explicit_partition").agg(
        F.expr("count(*) AS records"), F.expr(f"sum({RECORD_BYTES}) AS bytes")
    )
