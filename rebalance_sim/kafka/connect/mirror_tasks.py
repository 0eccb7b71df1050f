"""How MirrorMaker 2's connectors divide topic partitions and consumer groups among their tasks.

Both are divided in the order in which an admin client lists them, which is that of Java's hash maps. Names that share a
bucket stay in the order of the brokers' answer.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from rebalance_sim.kafka.connect.mirror_connectors import MirrorConnector
from rebalance_sim.kafka.runtime.hash_order import (
    java_bucket,
    java_map_is_crowded,
    java_order,
    java_table_size,
    java_table_size_from,
    scala_2_13_order,
)
from rebalance_sim.kafka.runtime.strings import Ints, Ints32, Strings, java_hashes
from rebalance_sim.releases import MirrorRules

_OF_KAFKA = ("__consumer_offsets", "__transaction_state", "__share_group_state")
"""Topics that admin clients do not list (``Topic.INTERNAL_TOPICS``)."""


class MirrorShare(NamedTuple):
    """A partition of a topic, or a consumer group, with the task that gets it."""

    task: int
    name: str
    partition: int | None
    is_certain: bool
    """Whether the task is the same in whatever order the brokers list the names."""


class _Listing(NamedTuple):
    """Names in the order in which they are divided."""

    names: list[str]
    ties: list[int]
    """By name: names with the same number may be in any order."""


def shares_of_topics(connector: MirrorConnector, topics: Mapping[str, int], known_order: bool) -> list[MirrorShare]:
    """Return the tasks of the partitions that a source connector replicates, of all topics of its source cluster.

    Brokers are taken to list topics in the order of KRaft's; ``known_order`` is whether they are certain to do so.
    Raises UserError for settings whose meaning is unknown.
    """
    if not connector.is_enabled:
        return []
    listing = _listed_topics(sorted(topics), connector.replicates_topic, known_order)
    items = [(name, partition) for name in listing.names for partition in range(topics[name])]
    count = min(connector.tasks_max, len(items))
    in_turn = connector.rules >= MirrorRules.IN_TURN
    tasks = (place % count for place in range(len(items))) if in_turn else _ranges(len(items), count)
    return _shares(listing, items, tasks)


def shares_of_groups(connector: MirrorConnector, consumed: Mapping[str, set[str]]) -> list[MirrorShare]:
    """Return the tasks of the consumer groups whose checkpoints a connector emits.

    ``consumed`` has all groups of its source cluster, with the topics of which they have committed offsets. Raises
    UserError for settings whose meaning is unknown.
    """
    if not connector.is_enabled:
        return []
    in_set = connector.rules >= MirrorRules.SET_OF_GROUPS
    listing = _listed_groups(sorted(consumed), lambda group: connector.replicates_group(group, consumed[group]), in_set)
    count = min(connector.tasks_max, len(listing.names))
    return _shares(listing, [(name, None) for name in listing.names], _ranges(len(listing.names), count))


def _listed_topics(names: list[str], is_replicated: Callable[[str], bool], known_order: bool) -> _Listing:
    """Return the replicated topics in the order of ``MirrorSourceConnector.findSourceTopicPartitions``.

    Topics pass from the brokers' answer through the map of ``listTopics``, the set of those that are replicated, the
    two maps of ``describeTopics`` and that of ``DescribeTopicsResult.all``.
    """
    hashes = java_hashes(Strings.of(names))
    # KafkaApis filters topics into a HashSet of Scala; KRaft's brokers have done so since 3.0.
    answered = scala_2_13_order(hashes, _all(names))
    listed = answered[[names[each] not in _OF_KAFKA for each in answered]]
    first = java_table_size(len(listed))
    chosen = java_order(hashes, listed, first)
    chosen = chosen[[is_replicated(names[each]) for each in chosen]]
    count = len(chosen)
    described, copied = java_table_size_from(count, count), java_table_size_from(4 * count // 3 + 1, count)
    order = _through(hashes, chosen, java_table_size(count), described, copied, described)
    # Java 19 and newer copy 3, 6, 12, ... entries into a smaller table.
    copied_since_19 = java_table_size_from(-(-4 * count // 3), count)
    other = _through(hashes, chosen, java_table_size(count), described, copied_since_19, described)
    ties = _ties(hashes, order, max(first, copied), known_order)
    if java_map_is_crowded(hashes, listed) or java_map_is_crowded(hashes, chosen):
        ties[:] = 0
    ties[np.isin(ties, ties[order != other])] = -1
    return _Listing([names[each] for each in order], ties.tolist())


def _listed_groups(names: list[str], is_replicated: Callable[[str], bool], in_set: bool) -> _Listing:
    """Return the replicated groups in the order of ``MirrorCheckpointConnector.findConsumerGroups``.

    Groups pass from the brokers' answers, which come in any order, through the map of ``listConsumerGroups``, and since
    3.6 through a set.
    """
    hashes = java_hashes(Strings.of(names))
    first = java_table_size(len(names))
    chosen = java_order(hashes, _all(names), first)
    chosen = chosen[[is_replicated(names[each]) for each in chosen]]
    order = _through(hashes, chosen, java_table_size(len(chosen))) if in_set else chosen
    ties = _ties(hashes, order, first, known_order=False)
    if java_map_is_crowded(hashes, _all(names)) or java_map_is_crowded(hashes, chosen):
        ties[:] = 0
    return _Listing([names[each] for each in order], ties.tolist())


def _all(names: list[str]) -> Ints32:
    return np.arange(len(names), dtype=np.int32)


def _through(hashes: Ints, order: Ints32, *sizes: int) -> Ints32:
    """Return the order after one hash map was filled from the other; they have these numbers of buckets."""
    for size in sizes:
        order = java_order(hashes, order, size)
    return order


def _ties(hashes: Ints, order: Ints32, largest: int, known_order: bool) -> Ints:
    """Return numbers of names, which are equal where the brokers' answer decides their order and is unknown.

    All tables are at most as large as the largest: names in different buckets of it are never in the same of another
    one. Of equal hash codes, the order is never known.
    """
    if known_order:
        return hashes[order]
    return np.array([java_bucket(h, largest) for h in hashes[order]], np.int64)


def _ranges(items: int, tasks: int) -> Iterator[int]:
    """Yield the task of each item: the first tasks have one more than the others (``groupPartitions``)."""
    for task in range(tasks):
        yield from [task] * (items // tasks + (task < items % tasks))


def _shares(listing: _Listing, items: Sequence[tuple[str, int | None]], tasks: Iterator[int]) -> list[MirrorShare]:
    placed = list(zip(items, tasks, strict=True))
    tie_of = dict(zip(listing.names, listing.ties, strict=True))
    of_tie: dict[int, set[int]] = defaultdict(set)
    for (name, _), task in placed:
        of_tie[tie_of[name]].add(task)
    names = Counter(listing.ties)
    certain = {name: names[tie] == 1 or len(of_tie[tie]) == 1 for name, tie in tie_of.items()}
    return [MirrorShare(task, name, partition, certain[name]) for (name, partition), task in placed]
