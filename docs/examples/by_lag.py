"""An assignor of one's own: by lag (see docs/own-assignor.md)."""

import json
from collections.abc import Mapping, Sequence

from rebalance_sim import ConsumerPartitionAssignor, Subscription, TopicPartition


class ByLag(ConsumerPartitionAssignor):
    """Gives each partition, the longest lag first, to the subscriber with the least lag so far.

    Of equal ones it is who has the fewest partitions, then the first by member id. A member's user data is JSON:
    the lags that it knows, ``[{"topic": "orders", "partition": 0, "lag": 22}]``; what nobody knows counts as none.
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
            subscribers = [m for m, told in subscriptions.items() if partition.topic in told.topics]
            receiver = min(subscribers, key=lambda m: (lag_of[m], len(assignment[m]), m))
            assignment[receiver].append(partition)
            lag_of[receiver] += lags.get(partition, 0)
        return assignment


def known_lags(subscriptions: Mapping[str, Subscription]) -> dict[TopicPartition, int]:
    """Read the lags from the members' user data."""
    told = [json.loads(subscription.user_data) for subscription in subscriptions.values() if subscription.user_data]
    return {TopicPartition(lag["topic"], lag["partition"]): lag["lag"] for lags in told for lag in lags}
