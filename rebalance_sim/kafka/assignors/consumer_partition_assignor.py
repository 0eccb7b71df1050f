"""What a user's own assignor is: ``ConsumerPartitionAssignor`` of Kafka, to be written in Python."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from rebalance_sim.kafka.consumer_protocol import Subscription, TopicPartition
from rebalance_sim.kafka.rebalances import RebalanceProtocol


class ConsumerPartitionAssignor(ABC):
    """Base class of a user's own assignor.

    It is called for one group after the other, in any order and on any worker: its answer must come from the arguments
    alone.

    >>> class ToTheFirst(ConsumerPartitionAssignor):
    ...     name = "to-the-first"
    ...
    ...     def assign(self, partitions, subscriptions):
    ...         assignment = {member_id: [] for member_id in subscriptions}
    ...         for topic, count in partitions.items():
    ...             first = min(m for m, subscription in subscriptions.items() if topic in subscription.topics)
    ...             assignment[first] += [TopicPartition(topic, number) for number in range(count)]
    ...         return assignment
    >>> subscriptions = {"c2": Subscription(("orders",)), "c1": Subscription(("orders",))}
    >>> ToTheFirst().assign({"orders": 2}, subscriptions)["c1"]
    [TopicPartition(topic='orders', partition=0), TopicPartition(topic='orders', partition=1)]
    """

    name: str
    """Under which members offer it in their list of protocols."""
    supported_protocols: Sequence[RebalanceProtocol] = (RebalanceProtocol.EAGER,)
    """EAGER, COOPERATIVE or both: then it is COOPERATIVE."""

    @abstractmethod
    def assign(
        self, partitions: Mapping[str, int], subscriptions: Mapping[str, Subscription]
    ) -> Mapping[str, Sequence[TopicPartition]]:
        """Return each member's partitions, in any order; a member that gets nothing has an empty list.

        ``partitions``: the number of partitions of each topic that some member subscribes to and the cluster has.
        ``subscriptions``: what the leader sees of each member, by member id. Both are in the order of the leader's hash
        maps. With EAGER members own nothing: they gave it back. Of consumers before Kafka 2.4 the leader knows the
        topics and the user data only.

        Raised exceptions, and answers that Kafka cannot carry out, are the error of the group.
        """

    def subscription_user_data(self, subscription: Subscription) -> bytes | None:
        """Return what a member of this assignor adds to its subscription for the leader's ``assign``.

        It is asked for members whose row of the members table has no user data. ``subscription.owned`` is what the
        member has now or, with EAGER, had last.
        """
        return None
