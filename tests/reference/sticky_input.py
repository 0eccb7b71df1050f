"""The input of a leader's sticky assignor: subscriptions, the members' claims, and racks."""

from dataclasses import dataclass

from tests.reference.hash_maps import JavaHashMap
from tests.reference.model import Cluster, Group, Member, Partition


@dataclass(frozen=True)
class Subscription:
    """A member as the assignor sees it (``Subscription``, with its ``MemberData`` or ``ConsumerUserData``)."""

    topics: tuple[str, ...]
    partitions: list[Partition]
    """The partitions that the member claims to have owned."""
    generation: int | None
    """The generation in which it owned them, sent with the partitions."""
    generation_id: int | None
    """The generation in the subscription itself (KIP-792), which consumers send with any assignor."""
    has_user_data: bool
    rack: str | None


def sticky_subscriptions(group: Group) -> JavaHashMap[str, Subscription]:
    """Return subscriptions whose user data has the claims (``StickyAssignor``)."""
    subscriptions: JavaHashMap[str, Subscription] = JavaHashMap()
    for member in group.members:
        generation = _generation(member)
        tells = bool(member.owned) or generation is not None
        subscription = Subscription(member.topics, user_data(member), generation, generation, tells, member.rack)
        subscriptions.put(member.member_id, subscription)
    return subscriptions


def cooperative_subscriptions(group: Group) -> JavaHashMap[str, Subscription]:
    """Return subscriptions that have the owned partitions themselves (``CooperativeStickyAssignor``)."""
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
    """``AbstractStickyAssignor.RackInfo`` (3.5); empty if racks do not matter."""

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
        """Return whether the consumer has a rack without a replica of the partition, which may not exist."""
        rack = self.consumer_racks.get(consumer)
        return rack is not None and rack not in self.partition_racks.get(partition, set())

    def match(self, consumer: str, partition: Partition) -> bool:
        """Return whether the consumer's rack has a replica of the partition."""
        return self.consumer_racks.get(consumer) in self.partition_racks.get(partition, set())

    def consumers_near(self, partition: Partition) -> int:
        """Return the number of consumers in the racks of a partition."""
        racks = self.partition_racks.get(partition, set())
        return sum(rack in racks for rack in self.consumer_racks.values())
