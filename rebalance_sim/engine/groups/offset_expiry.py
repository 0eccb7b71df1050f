"""Which committed offsets expire, and when, by the coordinator's rules for offsets.retention.minutes."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from rebalance_sim.kafka.coordinator.classic.classic_group import State
from rebalance_sim.kafka.coordinator.classic.offsets import RetentionStart, expiry_ms, retention_ms, retention_start
from rebalance_sim.releases import KafkaVersion
from rebalance_sim.tables import DEFAULT_PROTOCOL_TYPE, EXPIRING_OFFSETS

_GROUP = ("cluster", "group_id")
_REASONS = {
    RetentionStart.COMMIT: "retention counts from the commit",
    RetentionStart.GROUP_EMPTY: "the group has no members: the earliest time, counted from its latest commit",
}
_EXPLICIT = "the commit set an expiry time"
_MINUTE_MS = 60_000


def expiring_offsets(
    offsets: DataFrame, members: DataFrame, version: KafkaVersion, retention_minutes: int | None
) -> DataFrame:
    """From usable offsets and members to the offsets that expire."""
    rules = version.coordinator
    retention = retention_ms(rules) if retention_minutes is None else retention_minutes * _MINUTE_MS
    protocol_type = F.coalesce("protocol_type", F.lit(DEFAULT_PROTOCOL_TYPE))
    subscribed = members.groupBy(*_GROUP).agg(
        F.flatten(F.collect_set(F.coalesce("subscription", F.array()))).alias("topics"),
        # Only the subscriptions of consumers can be read; other groups in use keep all their offsets.
        F.bool_and(protocol_type == DEFAULT_PROTOCOL_TYPE).alias("readable"),
    )
    is_used = F.col("topics").isNotNull()
    is_subscribed = ~F.col("readable") | F.array_contains("topics", F.col("topic"))
    start = F.when(~is_used, F.lit(int(retention_start(rules, State.EMPTY, True, False))))
    for subscribes in (True, False):
        of_stable = int(retention_start(rules, State.STABLE, True, subscribes))
        start = start.when(is_subscribed == F.lit(subscribes), F.lit(of_stable))
    latest_ms = F.max("committed_at_ms").over(Window.partitionBy(*_GROUP))
    since_ms = F.when(F.col("start") == RetentionStart.GROUP_EMPTY, latest_ms).otherwise(F.col("committed_at_ms"))
    extra_ms = int(expiry_ms(rules, 0, 0))
    explicit_ms = F.col("expires_at_ms") + extra_ms
    return (
        offsets.where("committed >= 0")
        .join(subscribed, [*_GROUP], "left")
        .withColumn("start", start)
        .where(F.col("start") != RetentionStart.NEVER)
        .withColumn("reason", F.when(explicit_ms.isNotNull(), _EXPLICIT).otherwise(_reason()))
        .withColumn("expires_at_ms", F.coalesce(explicit_ms, since_ms + int(expiry_ms(rules, 0, retention))))
        .select(*[F.col(column.name).cast(column.type) for column in EXPIRING_OFFSETS.columns])
    )


def _reason() -> Column:
    reason = F.lit(None)
    for start, text in _REASONS.items():
        reason = F.when(F.col("start") == start, text).otherwise(reason)
    return reason
