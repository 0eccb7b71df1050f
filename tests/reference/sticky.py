"""``StickyAssignor`` and ``CooperativeStickyAssignor`` as they are since Kafka 3.5, and sticky of every version."""

from dataclasses import dataclass, field

from tests.reference.hash_maps import JavaHashMap
from tests.reference.java import JavaError, java_key
from tests.reference.model import Assignment, Cluster, Group, Partition
from tests.reference.sticky_balance import Balancing, Lists, owners
from tests.reference.sticky_before_2_4 import sticky_assign_before_2_4
from tests.reference.sticky_input import (
    RackInfo,
    Subscription,
    cooperative_subscriptions,
    partitions_per_topic,
    sticky_subscriptions,
)

Subscriptions = JavaHashMap[str, Subscription]

NO_GENERATION = -1


def sticky_assign(version: str, group: Group) -> Assignment:
    if version in ("1.0", "2.3"):
        return sticky_assign_before_2_4(version, group)
    assignment, _ = _assign(group.cluster, sticky_subscriptions(group))
    return dict(assignment.items())


def cooperative_sticky_assign(version: str, group: Group) -> Assignment:
    """Return the assignment of the first of two rebalances, without partitions that change their owner."""
    subscriptions = cooperative_subscriptions(group)
    assignment, transferred = _assign(group.cluster, subscriptions)
    if transferred is None:
        transferred = _transferred(subscriptions, assignment)
    for partition, consumer in transferred.items():
        assignment[consumer].remove(partition)
    return dict(assignment.items())


def _transferred(subscriptions: Subscriptions, assignment: Lists) -> dict[Partition, str]:
    """Return the partitions that are new to their owner and lost to another claimant."""
    added: dict[Partition, str] = {}
    revoked: set[Partition] = set()
    for consumer, partitions in assignment.items():
        owned = subscriptions[consumer].partitions
        added |= {partition: consumer for partition in partitions if partition not in owned}
        revoked |= set(owned) - set(partitions)
    return {partition: consumer for partition, consumer in added.items() if partition in revoked}


def _assign(cluster: Cluster, subscriptions: Subscriptions) -> tuple[Lists, dict[Partition, str] | None]:
    """``AbstractStickyAssignor.assignPartitions``: the assignment and, with equal subscriptions, the transfers."""
    topics = partitions_per_topic(cluster, subscriptions)
    racks = RackInfo(cluster, topics, subscriptions)
    owned, claimed_twice = _owned_partitions(topics, subscriptions)
    if subscribed_alike(subscriptions):
        constrained = _Constrained(topics, racks, owned, claimed_twice)
        constrained.assign()
        return constrained.assignment, constrained.transferred
    return _assign_general(topics, racks, owned, subscriptions), None


# ---- what members had


def subscribed_alike(subscriptions: Subscriptions) -> bool:
    """Whether all seem to want the same: as many topics as the first distinct ones, all of them among those.

    Whoever wants nothing is not compared with, if it comes first; and whoever names a topic twice may seem to want two.
    """
    topics: set[str] = set()
    alike = True
    for subscription in subscriptions.values():
        if not topics:
            topics = set(subscription.topics)
        elif len(subscription.topics) != len(topics) or not topics.issuperset(subscription.topics):
            alike = False
    return alike


def _owned_partitions(topics: JavaHashMap[str, int], subscriptions: Subscriptions) -> tuple[Lists, set[Partition]]:
    """What each member may keep, of known topics; and what two of the same generation had.

    The latest generation is believed, and of two of the same neither. How many partitions a topic has is not looked at.
    """
    owned: Lists = JavaHashMap()
    claimed_twice = set()
    claimant: dict[Partition, str] = {}
    for consumer, subscription in subscriptions.items():
        generation = _or_none_known(subscription.generation)
        owned.put(consumer, [])
        for partition in subscription.partitions:
            if partition.topic not in topics:
                continue
            other = claimant.get(partition)
            if other is None:
                owned[consumer].append(partition)
                claimant[partition] = consumer
                continue
            others_generation = _or_none_known(subscriptions[other].generation_id)
            if generation < others_generation:
                continue
            if generation == others_generation:
                claimed_twice.add(partition)
            else:
                owned[consumer].append(partition)
            if partition in owned[other]:
                owned[other].remove(partition)
            claimant[partition] = consumer
    return owned, claimed_twice


def _or_none_known(generation: int | None) -> int:
    return NO_GENERATION if generation is None else generation


def _not_assigned(in_order: list[Partition], assigned: list[Partition]) -> list[Partition]:
    """Walk two lists in the same order: an assigned partition that does not exist hides all that follow."""
    rest = iter(assigned)
    next_assigned = next(rest, None)
    unassigned = []
    for partition in in_order:
        if partition == next_assigned:
            next_assigned = next(rest, None)
        else:
            unassigned.append(partition)
    return unassigned


def _partitions_of(topics: JavaHashMap[str, int], names: list[str]) -> list[Partition]:
    return [Partition(topic, number) for topic in names for number in range(topics[topic])]


# ---- equal subscriptions


@dataclass
class _Constrained:
    """``ConstrainedAssignmentBuilder``: each member gets ``least`` partitions, some (``larger``) one more."""

    topics: JavaHashMap[str, int]
    racks: RackInfo
    owned: Lists
    claimed_twice: set[Partition]
    transferred: dict[Partition, str] = field(default_factory=dict)
    """New owners of partitions that another member owns, or may own."""

    def __post_init__(self) -> None:
        if not len(self.owned):
            raise JavaError("ArithmeticException")
        self.least, self.larger = divmod(sum(self.topics.values()), len(self.owned))
        self.most = self.least + (self.larger > 0)
        self.have_most = 0
        """The number of members that have ``most`` partitions."""
        self.below: list[str] = []
        """Members with fewer than ``least`` partitions."""
        self.at_least: list[str] = []
        """Members with exactly ``least`` partitions that may get one more."""
        self.revoked: dict[Partition, str] = {}
        self.assignment: Lists = JavaHashMap()
        for consumer in self.owned:
            self.assignment.put(consumer, [])

    def assign(self) -> None:
        for consumer, partitions in self.owned.items():
            self._keep(consumer, self._may_keep(consumer, partitions))
        kept = [partition for partitions in self.assignment.values() for partition in partitions]
        kept.sort(key=lambda partition: (java_key(partition.topic), partition.number))
        unassigned = _not_assigned(_partitions_of(self.topics, sorted(self.topics, key=java_key)), kept)
        self.below.sort(key=java_key)
        self.at_least.sort(key=java_key)
        if self.racks.consumer_racks:
            unassigned.sort(key=self.racks.consumers_near)
            unassigned = [partition for partition in unassigned if not self._give_on_rack(partition)]
        self._deal(unassigned)
        self._verify()

    # ---- what members keep

    def _may_keep(self, consumer: str, partitions: list[Partition]) -> list[Partition]:
        """Keep partitions except those in other racks and those that two members claimed; low numbers first."""
        near = []
        for partition in partitions:
            if self.racks.mismatch(consumer, partition):
                self.revoked[partition] = consumer
            else:
                near.append(partition)
        near.sort(key=lambda partition: (partition.number, java_key(partition.topic)))
        return [partition for partition in near if partition not in self.claimed_twice]

    def _keep(self, consumer: str, partitions: list[Partition]) -> None:
        """Keep as many as the quota; the first members with enough partitions may keep the larger quota."""
        if len(partitions) < self.least:
            self.below.append(consumer)
            kept = len(partitions)
        elif len(partitions) >= self.most and self.have_most < self.larger:
            kept = self.most
            self._one_more_has_most()
        else:
            kept = self.least
            if self.have_most < self.larger:
                self.at_least.append(consumer)
        self.assignment[consumer].extend(partitions[:kept])
        self.revoked |= dict.fromkeys(partitions[kept:], consumer)

    def _one_more_has_most(self) -> None:
        self.have_most += 1
        if self.have_most == self.larger:
            self.at_least.clear()

    # ---- what is left, on racks

    turn = 0

    def _give_on_rack(self, partition: Partition) -> bool:
        """Assign to the next member below ``least`` in the partition's racks, else to the first that may get more."""
        consumer = self._next_near(partition)
        if consumer is not None:
            self._fill_in_turn(consumer)
        else:
            consumer = next((member for member in self.at_least if self.racks.match(member, partition)), None)
            if consumer is None:
                return False
            if len(self.assignment[consumer]) + 1 == self.most:
                self.at_least.remove(consumer)
                self._one_more_has_most()
        self._give(partition, consumer)
        return True

    def _next_near(self, partition: Partition) -> str | None:
        in_turn = self.below[self.turn :] + self.below[: self.turn]
        return next((member for member in in_turn if self.racks.match(member, partition)), None)

    def _fill_in_turn(self, consumer: str) -> None:
        """Remove a member that is about to have ``least`` partitions, and keep the place in the round."""
        self.turn = self.below.index(consumer)
        load = len(self.assignment[consumer]) + 1
        if load >= self.least:
            self.below.remove(consumer)
            if load < self.most and self.have_most < self.larger:
                self.at_least.append(consumer)
        else:
            self.turn += 1
        self.turn = self.turn % len(self.below) if self.below else 0

    # ---- what is left

    def _deal(self, unassigned: list[Partition]) -> None:
        """Assign in turn to members below ``least``, then one each to those that may get one more."""
        turn = 0
        for partition in unassigned:
            if turn == len(self.below):
                turn = 0
            if self.below:
                consumer = self.below[turn]
                turn += 1
            elif self.at_least:
                consumer = self.at_least.pop(0)
            else:
                raise JavaError("IllegalStateException")
            load = self._give(partition, consumer)
            if load == self.least:
                turn -= 1
                self.below.pop(turn)
                self.at_least.append(consumer)
            elif load == self.most:
                self.have_most += 1

    def _give(self, partition: Partition, consumer: str) -> int:
        """Assign a partition and return how many the consumer then has."""
        self.assignment[consumer].append(partition)
        if self.revoked.get(partition, consumer) != consumer or partition in self.claimed_twice:
            self.transferred[partition] = consumer
        return len(self.assignment[consumer])

    def _verify(self) -> None:
        enough = all(len(self.assignment[consumer]) == self.least for consumer in self.below)
        if self.below and (self.have_most != self.larger or not enough):
            raise JavaError("IllegalStateException")


# ---- different subscriptions


class _Balancing(Balancing):
    def most(self, consumer: str) -> int:
        """Return the maximum: all partitions if the member names as many topics as exist, even one of them twice."""
        if len(self.topics_of[consumer]) == len(self.topics):
            return sum(self.topics.values())
        return super().most(consumer)

    def has_more(self, load: int, other: int) -> bool:
        return load + 1 < other


def _assign_general(
    topics: JavaHashMap[str, int], racks: RackInfo, owned: Lists, subscriptions: Subscriptions
) -> Lists:
    """``GeneralAssignmentBuilder``."""
    topics_of = {name: [topic for topic in sub.topics if topic in topics] for name, sub in subscriptions.items()}
    consumers_of = {topic: [name for name in topics_of for t in topics_of[name] if t == topic] for topic in topics}
    owner = owners(owned)
    revocation = False
    for consumer, partitions in owned.items():
        for partition in list(partitions):
            unwanted = partition.topic not in subscriptions[consumer].topics
            if unwanted or racks.mismatch(consumer, partition):
                partitions.remove(partition)
                revocation = True

    def rank(topic: str) -> tuple[int, bytes]:
        return len(consumers_of[topic]), java_key(topic)

    kept = [partition for partitions in owned.values() for partition in partitions]
    kept.sort(key=lambda partition: (rank(partition.topic), partition.number))
    in_order = _partitions_of(topics, sorted(topics, key=rank))
    previous = _previous_owners(subscriptions)
    _Balancing(topics, topics_of, consumers_of, owned, owner, previous, racks).balance(
        in_order, _not_assigned(in_order, kept), newcomers_first=not revocation
    )
    return owned


def _previous_owners(subscriptions: Subscriptions) -> dict[Partition, str]:
    """Return the previous owner of a partition: the latest claim of an older generation, of equal ones the first."""
    latest = max((_or_none_known(sub.generation) for sub in subscriptions.values()), default=NO_GENERATION)
    previous: dict[Partition, tuple[int, str]] = {}
    for consumer, subscription in subscriptions.items():
        generation = _or_none_known(subscription.generation)
        if generation < latest:
            for partition in subscription.partitions:
                if partition not in previous or generation > previous[partition][0]:
                    previous[partition] = generation, consumer
    return {partition: consumer for partition, (_, consumer) in previous.items()}
