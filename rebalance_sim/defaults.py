"""Defaults of columns and options. They stand here so that ``--help`` shows them without importing Spark."""

CLUSTER = "default"
CLIENT = "java-3.3"
STRATEGY = "elected"
SCENARIO = "rolling-restart"
"""The scenario that an audit simulates: one of ``conf/scenarios``."""
TITLE, AUDIT_TITLE = "What Kafka will do", "Consumer groups: what to do"
"""Titles of a page, and of the page of an audit."""
STORM_REBALANCES = 10
STORM_WINDOW_MS = 60_000
AUTO = "auto"
"""The format of an input is that of its name or first bytes."""
WARMUP_REPLICAS = 2
"""max.warmup.replicas of Kafka Streams (KIP-441)."""
ACCEPTABLE_RECOVERY_LAG = 10_000
"""acceptable.recovery.lag of Kafka Streams, in records."""
PROBING_INTERVAL_MS = 600_000
"""probing.rebalance.interval.ms of Kafka Streams."""
