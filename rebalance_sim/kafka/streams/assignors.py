"""The task assignors of Kafka Streams, by name."""

from rebalance_sim.kafka.streams.applications import Applications
from rebalance_sim.kafka.streams.high_availability import TaskAssignments, assign_highly_available
from rebalance_sim.releases import StreamsRules


def assign_tasks(assignor: str, batch: Applications, rules: StreamsRules) -> TaskAssignments:
    """Return the tasks that an assignor gives to the clients of each application."""
    if assignor == "high-availability":
        return assign_highly_available(batch, int(rules))
    raise NotImplementedError
