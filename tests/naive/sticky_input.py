"""What a leader's sticky assignor is given: subscriptions, what members tell of the past, and racks."""

from dataclasses import dataclass

from tests.naive.hash_maps import JavaHashMap
from tests.naive.model import Cluster, Group, Member, Partition


@dataclass(frozen=True)
class Subscription:
    """A member as the assignor sees it (``Subscription``, with its ``MemberData`` or ``ConsumerUserData``)."""

    topics: tuple[str, ...]
    partitions: list[Partition]
    """What the member says it owned."""
    generation: int | None
    """The generation in which it owned that; it stands beside the partitions."""
    generation_id: int | None
    """The subscription's own field, which consumers send whatever the assignor."""
    has_user_data: bool
    rack: str | None


def sticky_subscriptions(group: Group) -> JavaHashMap[str, Subscription]:
    """Subscriptions of members that tell the past in their user data (``StickyAssignor``)."""
    subscriptions: JavaHashMap[str, Subscription] = JavaHashMap()
    for member in group.members:
        generation = _generation(member)
        tells = bool(member.owned) or generation is not None
        subscription = Subscription(member.topics, user_data(member), generation, generation, tells, member.rack)
        subscriptions.put(member.member_id, subscription)
    return subscriptions


def cooperative_subscriptions(group: Group) -> JavaHashMap[str, Subscription]:
    """Subscriptions that themselves say what the member owns (``CooperativeStickyAssignor``)."""
    subscriptions: JavaHashMap[str, Subscription] = JavaHashMap()
    for member in group.members:
        generation = _generation(member)
        subscription = Subscription(member.topics, list(member.owned), generation, generation, False, member.rack)
        subscriptions.put(member.member_id, subscription)
    return subscriptions


def _generation(member: Member) -> int | None:
    return member.generation if member.generation >= 0 else None


def user_data(member: Member) -> list[Partition]:
    """The partitions in the order in which the leader reads them.

    Since 2.1 consumers gather them by topic with ``computeIfAbsent``, and the oracle does so for all versions.
    """
    by_topic: JavaHashMap[str, list[Partition]] = JavaHashMap()
    for partition in member.owned:
        by_topic.compute_if_absent(partition.topic, list).append(partition)
    return [partition for partitions in by_topic.values() for partition in partitions]


def partitions_per_topic(cluster: Cluster, subscriptions: JavaHashMap[str, Subscription]) -> JavaHashMap[str, int]:
    """The subscribed topics that have partitions (``AbstractPartitionAssignor.assign``)."""
    named: JavaHashMap[str, None] = JavaHashMap()
    for subscription in subscriptions.values():
        for topic in subscription.topics:
            named.put(topic, None)
    known: JavaHashMap[str, int] = JavaHashMap()
    for topic in named:
        if cluster.partitions.get(topic, 0) > 0:
            known.put(topic, cluster.partitions[topic])
    return known


class RackInfo:
    """``AbstractStickyAssignor.RackInfo`` (3.5): empty where racks do not matter."""

    def __init__(self, cluster: Cluster, topics: JavaHashMap[str, int], subscriptions: JavaHashMap[str, Subscription]):
        self.consumer_racks: dict[str, str] = {}
        self.partition_racks: dict[Partition, set[str]] = {}
        consumer_racks = {consumer: sub.rack for consumer, sub in subscriptions.items() if sub.rack}
        partition_racks = {
            Partition(topic, number): set(cluster.racks[topic][number]) if topic in cluster.racks else set()
            for topic, count in topics.items()
            for number in range(count)
        }
        everywhere: set[str] = set().union(*partition_racks.values())
        apart = any(racks != everywhere for racks in partition_racks.values())
        if not everywhere.isdisjoint(consumer_racks.values()) and apart:
            self.consumer_racks = consumer_racks
            self.partition_racks = partition_racks

    def mismatch(self, consumer: str, partition: Partition) -> bool:
        """Whether the consumer has a rack and the partition, which may not exist, no replica there."""
        rack = self.consumer_racks.get(consumer)
        return rack is not None and rack not in self.partition_racks.get(partition, set())

    def match(self, consumer: str, partition: Partition) -> bool:
        """Whether the consumer has a rack and the partition a replica there."""
        return self.consumer_racks.get(consumer) in self.partition_racks.get(partition, set())

    def consumers_near(self, partition: Partition) -> int:
        """How many consumers there are on the racks of a partition."""
        racks = self.partition_racks.get(partition, set())
        return sum(rack in racks for rack in self.consumer_racks.values())
