"""A custom assignor that balances lag (see docs/own-assignor.md)."""

import json
from collections.abc import Mapping, Sequence

from rebalance_sim import ConsumerPartitionAssignor, Subscription, TopicPartition


class ByLag(ConsumerPartitionAssignor):
    """Assigns partitions by lag, most first, each to the subscriber with the least lag so far.

    Ties go to the subscriber with the fewest partitions, then to the first by member id. Each member sends the lags it
    knows as user data, in JSON: ``[{"topic": "orders", "partition": 0, "lag": 22}]``. An unknown lag counts as 0.
    """

    name = "by-lag"

    def assign(
        self, partitions: Mapping[str, int], subscriptions: Mapping[str, Subscription]
    ) -> Mapping[str, Sequence[TopicPartition]]:
        """Assign the partitions of a group."""
        lags = known_lags(subscriptions)
        assignment: dict[str, list[TopicPartition]] = {member_id: [] for member_id in subscriptions}
        lag_of = dict.fromkeys(subscriptions, 0)
        everything = [TopicPartition(topic, n) for topic, count in partitions.items() for n in range(count)]
        for partition in sorted(everything, key=lambda partition: (-lags.get(partition, 0), partition)):
            subscribers = [member for member, own in subscriptions.items() if partition.topic in own.topics]
            receiver = min(subscribers, key=lambda member: (lag_of[member], len(assignment[member]), member))
            assignment[receiver].append(partition)
            lag_of[receiver] += lags.get(partition, 0)
        return assignment


def known_lags(subscriptions: Mapping[str, Subscription]) -> dict[TopicPartition, int]:
    """Read the lags from the members' user data."""
    sent = [json.loads(subscription.user_data) for subscription in subscriptions.values() if subscription.user_data]
    return {TopicPartition(lag["topic"], lag["partition"]): lag["lag"] for lags in sent for lag in lags}
