"""The task assignors of Kafka Streams, by name."""

from rebalance_sim.kafka.streams.applications import Applications, TaskAssignments
from rebalance_sim.kafka.streams.high_availability import assign_highly_available
from rebalance_sim.kafka.streams.sticky import assign_sticky
from rebalance_sim.releases import KafkaStreamsRules

HIGH_AVAILABILITY, STICKY, FALLBACK_PRIOR = "high-availability", "sticky", "fallback-prior"


def assign_tasks(assignor: str, batch: Applications, rules: KafkaStreamsRules) -> TaskAssignments:
    """Return the tasks that an assignor gives to the clients of each application."""
    if assignor == HIGH_AVAILABILITY:
        return assign_highly_available(batch, int(rules))
    return assign_sticky(batch, assignor == FALLBACK_PRIOR, int(rules))
