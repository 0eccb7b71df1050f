"""The base class of a user's own assignor: Kafka's ``ConsumerPartitionAssignor`` in Python."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from rebalance_sim.kafka.rebalances import RebalanceProtocol
from rebalance_sim.kafka.wire.consumer_protocol import Subscription, TopicPartition


class ConsumerPartitionAssignor(ABC):
    """Base class of a user's own assignor.

    It is called once per group, in any order and on any worker: the result must depend on the arguments only.

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
    """Name under which members list it among their protocols."""
    supported_protocols: Sequence[RebalanceProtocol] = (RebalanceProtocol.EAGER,)
    """EAGER, COOPERATIVE or both; with both, members follow COOPERATIVE."""

    @abstractmethod
    def assign(
        self, partitions: Mapping[str, int], subscriptions: Mapping[str, Subscription]
    ) -> Mapping[str, Sequence[TopicPartition]]:
        """Return the partitions of each member, in any order; a member without partitions has an empty list.

        ``partitions``: the number of partitions of each topic that exists and that some member subscribes to.
        ``subscriptions``: the subscription of each member as the leader sees it, by member id. Both are in the order of
        the leader's hash maps. With EAGER, members own no partitions: they have revoked them before they joined. Before
        Kafka 2.4 the leader sees topics and user data only.

        An exception, or an assignment that Kafka cannot carry out, becomes the error of the group.
        """

    def subscription_user_data(self, subscription: Subscription) -> bytes | None:
        """Return the user data that a member adds to its subscription, for the leader's ``assign``.

        Called for members whose row in the members table has no user data. ``subscription.owned`` has the partitions
        that the member owns or, with EAGER, owned last.
        """
        return None
