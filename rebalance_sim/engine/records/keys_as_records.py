"""Keys without records: each counts as one record in every topic where it is placed."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rebalance_sim.engine.spark.sql_text import message, when
from rebalance_sim.engine.tables.inputs import REASON, fit, usable
from rebalance_sim.tables import KEYS

_NO_TOPIC = when("topic IS NOT NULL AND NOT known", message("topic '{topic}' is not in the topics table"))


def fit_keys(keys: DataFrame, topics: DataFrame) -> DataFrame:
    """Fit a keys table to usable topics: rows are those of ``fit``, with a reason for unknown topics."""
    known = topics.select("topic").distinct().withColumn("known", F.lit(True))
    return (
        fit(keys, KEYS)
        .join(F.broadcast(known), "topic", "left")
        .withColumn("known", F.coalesce("known", F.lit(False)))
        .withColumn(REASON, F.expr(f"coalesce({REASON}, {_NO_TOPIC})"))
        .drop("known")
    )


def keys_as_records(fitted: DataFrame, topics: DataFrame) -> DataFrame:
    """Return a record for every usable key and topic: the topic of the key, or each topic if it names none."""
    keys = usable(fitted).withColumnRenamed("topic", "of_topic").withColumnRenamed("cluster", "of_cluster")
    with_partitions = topics.where("partitions > 0").select("cluster", "topic")
    same = F.expr("coalesce(of_topic, topic) = topic AND coalesce(of_cluster, cluster) = cluster")
    return keys.join(F.broadcast(with_partitions), same).select("cluster", "topic", "key", "client")
