"""``StickyAssignor`` of Kafka 1.0 and 2.3; generations came with 2.3 (KIP-341)."""

from collections.abc import Iterator, Sequence

from tests.reference.hash_maps import JavaHashMap
from tests.reference.java import JavaError, java_key
from tests.reference.model import Assignment, Group, Partition
from tests.reference.sticky_balance import Balancing, Lists, by_load, deep_copy, owners
from tests.reference.sticky_input import Subscription, partitions_per_topic, sticky_subscriptions

Subscriptions = JavaHashMap[str, Subscription]
Previous = JavaHashMap[Partition, str]


def sticky_assign_before_2_4(version: str, group: Group) -> Assignment:
    subscriptions = sticky_subscriptions(group)
    topics = partitions_per_topic(group.cluster, subscriptions)
    current, previous = _by_generation(subscriptions) if version == "2.3" else _as_told(subscriptions)
    fresh = not len(current)
    topics_of = {name: _known(version, topics, sub) for name, sub in subscriptions.items()}
    consumers_of = {topic: [name for name in topics_of for t in topics_of[name] if t == topic] for topic in topics}
    for consumer in subscriptions:
        if consumer not in current:
            current.put(consumer, [])
    owner = owners(current)
    potential: JavaHashMap[Partition, list[str]] = JavaHashMap()
    for topic, count in topics.items():
        for number in range(count):
            potential.put(Partition(topic, number), consumers_of[topic])
    if not fresh and _subscriptions_identical(version, potential, topics_of):
        in_order = _from_who_has_most(current, potential, previous)
    else:
        in_order = sorted(potential, key=lambda p: (len(potential[p]), java_key(p.topic), p.number))
    unassigned = _keep_what_is_valid(current, owner, potential, subscriptions, in_order)
    Balancing(topics, topics_of, consumers_of, current, owner, dict(previous.items()), None).balance(
        in_order, unassigned, newcomers_first=False
    )
    return dict(current.items())


def _known(version: str, topics: JavaHashMap[str, int], subscription: Subscription) -> list[str]:
    """Return the topics that have partitions; 1.0 throws for others."""
    known = [topic for topic in subscription.topics if topic in topics]
    if version == "1.0" and len(known) < len(subscription.topics):
        raise JavaError("NullPointerException")
    return known


# ---- what members had


def _as_told(subscriptions: Subscriptions) -> tuple[Lists, Previous]:
    """Accept every claim, as 1.0 does, also if two members claim the same partition."""
    current: Lists = JavaHashMap()
    for consumer, subscription in subscriptions.items():
        if subscription.has_user_data:
            current.put(consumer, list(subscription.partitions))
    return current, JavaHashMap()


def _by_generation(subscriptions: Subscriptions) -> tuple[Lists, Previous]:
    """2.3 believes the latest generation, and remembers who had a partition in the one before.

    Of members of the same generation the first one is believed; of members without a generation the last.
    """
    claims: JavaHashMap[Partition, dict[int, str]] = JavaHashMap()
    for consumer, subscription in subscriptions.items():
        for partition in subscription.partitions:
            if partition not in claims:
                claims.put(partition, {})
            if subscription.generation is None:
                claims[partition][-1] = consumer
            else:
                claims[partition].setdefault(subscription.generation, consumer)
    current: Lists = JavaHashMap()
    previous: Previous = JavaHashMap()
    for partition, consumers in claims.items():
        latest, *older = sorted(consumers, reverse=True)
        current.compute_if_absent(consumers[latest], list).append(partition)
        if older:
            previous.put(partition, consumers[older[0]])
    return current, previous


def _keep_what_is_valid(
    current: Lists,
    owner: dict[Partition, str],
    potential: JavaHashMap[Partition, list[str]],
    subscriptions: Subscriptions,
    in_order: list[Partition],
) -> list[Partition]:
    """Remove partitions that no longer exist or are no longer subscribed to; return the unassigned ones."""
    unassigned = list(in_order)
    for consumer, partitions in current.items():
        for partition in list(partitions):
            if partition not in potential:
                partitions.remove(partition)
                owner.pop(partition, None)
            elif partition.topic not in subscriptions[consumer].topics:
                partitions.remove(partition)
            elif partition in unassigned:
                unassigned.remove(partition)
    return unassigned


# ---- the order in which partitions are assigned and moved


def _subscriptions_identical(
    version: str, potential: JavaHashMap[Partition, list[str]], topics_of: dict[str, list[str]]
) -> bool:
    """Return whether every consumer may get every partition; 1.0 needs at least one."""
    if version == "1.0" and not len(potential):
        raise JavaError("NoSuchElementException")
    return _all_same(potential.values()) and _all_same(iter(topics_of.values()))


def _all_same(lists: Iterator[Sequence[str]]) -> bool:
    return len({frozenset(names) for names in lists}) <= 1


def _from_who_has_most(
    current: Lists, potential: JavaHashMap[Partition, list[str]], previous: Previous
) -> list[Partition]:
    """Sort partitions: in turn from the member with the most left, returning ones first; then unassigned ones."""
    in_order = []
    left = deep_copy(current)
    for partitions in left.values():
        partitions[:] = [partition for partition in partitions if partition in potential]
    while any(left.values()):
        partitions = left[by_load(left)[-1]]
        partition = next((partition for partition in previous if partition in partitions), partitions[0])
        partitions.remove(partition)
        in_order.append(partition)
    return in_order + [partition for partition in potential if partition not in in_order]
