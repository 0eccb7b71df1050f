"""A batch of consumer groups as arrays, and the views of it that all assignors use.

Groups, members, subscriptions and assignments are nested lists in CSR form: the elements of list i are entries
``offsets[i]`` to ``offsets[i + 1]``. Topics and members are indices.
"""

from enum import IntEnum
from typing import NamedTuple

import numpy as np

from rebalance_sim.kafka.runtime.hash_order import java_table_size, sort_in_java_order
from rebalance_sim.kafka.runtime.kernel import inner_kernel, kernel, kernel_in_place
from rebalance_sim.kafka.runtime.sorting import stable_order
from rebalance_sim.kafka.runtime.strings import (
    WORD,
    Flags,
    Ints,
    Ints32,
    Strings,
    equal,
    fast_hash,
    java_hash,
    sort_sections,
)

NO_RACK = -1
_NOBODY, _SHARED = -1, -2
_FEW_MEMBERS = 24
"""Members that are compared with each other faster than they are put into a hash table."""
NO_GENERATION = -1
"""``DEFAULT_GENERATION`` of Kafka's assignors, ``UNKNOWN_GENERATION`` of its protocol."""
UNKNOWN_RACK = -2
"""Rack of a member in which the metadata has no replica."""


class AssignmentFailure(IntEnum):
    """The failure of an assignor for a group; NONE if it returns an assignment."""

    message: str
    """The failure as the error of its group."""

    def __new__(cls, number: int, message: str = "") -> "AssignmentFailure":
        """Return a failure that is its number."""
        failure = int.__new__(cls, number)
        failure._value_, failure.message = number, message
        return failure

    NONE = 0, "Kafka's assignor assigns"
    NULL_POINTER = 1, "Kafka's assignor throws NullPointerException"
    ILLEGAL_STATE = 2, "Kafka's assignor throws IllegalStateException"
    NO_SUCH_ELEMENT = 3, "Kafka's assignor throws NoSuchElementException"
    NEVER_RETURNS = 4, "Kafka's assignor never returns"
    ARRAY_INDEX = 5, "Kafka's assignor throws ArrayIndexOutOfBoundsException"
    PARTITION_ASSIGNOR = 6, "Kafka's assignor throws PartitionAssignorException"
    KEY_ERROR = 7, "kafka-python's assignor raises KeyError"
    UNDETERMINED = 8, "the assignment depends on an order that is random or unknown"
    """None is predicted."""
    UNKNOWN_TOPIC = 9, "a topic that the leader has to assign does not exist, and its library fails"
    TASK_ASSIGNOR = 10, "Kafka's assignor throws TaskAssignorException"
    """The task assignor of a streams group has no member for a task."""


class TopicArrays(NamedTuple):
    """The metadata of the topics that a batch subscribes to."""

    partitions: Ints32
    """Number of partitions; -1 if the topic does not exist."""
    hashes: Ints
    """``hashCode`` of the name."""
    ranks: Ints
    """Place of the name among all names, in the order of ``String.compareTo``."""
    first_racks: Ints32
    """Partitions of topic t with racks: entries ``first_racks[t]`` to ``first_racks[t + 1]`` of ``rack_offsets``."""
    rack_offsets: Ints32
    racks: Ints32
    """Racks of the replicas, as indices: those of entry k are ``rack_offsets[k]`` to ``rack_offsets[k + 1]``."""
    rack_hashes: Ints
    """``hashCode`` of each rack."""
    ids: Ints
    """Topic ids, of shape (topics, 2): most and least significant bits; 0 if no assignor uses them."""
    names: Strings


class Assignments(NamedTuple):
    """Partitions of member m, in the order of Kafka's list: ``offsets[m]`` to ``offsets[m + 1]``."""

    offsets: Ints32
    topics: Ints32
    partitions: Ints32


class Subscriptions(NamedTuple):
    """The members' subscriptions, each list of topics stored once: the members of a group mostly share one."""

    of_members: Ints32
    """The list of each member. Members with the same list subscribe alike; different lists may be equal, too."""
    offsets: Ints32
    """Topics of list k: ``offsets[k]`` to ``offsets[k + 1]`` of ``topics``."""
    topics: Ints32


class Groups(NamedTuple):
    """A batch of groups. Members are in the order in which the leader puts them into its map of subscriptions."""

    members: Ints32
    """Members of group g: ``members[g]`` to ``members[g + 1]``."""
    member_ids: Strings
    instance_first: Ints
    """0 for a static member, 1 for a dynamic one."""
    sort_ids: Strings
    """Instance id of a static member, member id of a dynamic one."""
    member_racks: Ints32
    """Index of the rack, NO_RACK or UNKNOWN_RACK."""
    subscriptions: Subscriptions
    owned: Assignments
    """Partitions that the members claim to own; empty if the assignor does not use them (``Assignor.remembers``)."""
    generations: Ints
    """Generation of ``owned``; NO_GENERATION if the member does not send it."""


class AssignmentOutcome(NamedTuple):
    """The assignments and failures of an assignor for a batch of groups."""

    assignments: Assignments
    errors: Ints32
    """By group, the value of ``AssignmentFailure``. If it is not NONE, the lists of the group's members are empty."""


@kernel
def empty_lists(sizes: Ints32) -> tuple[Assignments, Ints32]:
    """Return lists to be filled, and the place of the first partition of each member.

    ``sizes`` has the number of partitions of member m at m + 1, and becomes the offsets.
    """
    for m in range(len(sizes) - 1):
        sizes[m + 1] += sizes[m]
    return Assignments(sizes, np.empty(sizes[-1], np.int32), np.empty(sizes[-1], np.int32)), sizes[:-1].copy()


@kernel_in_place
def append_partition(lists: Assignments, cursor: Ints32, m: int, topic: int, partition: int) -> None:
    """Append a partition to the list of a member; ``cursor`` has the place of each member's next one."""
    lists.topics[cursor[m]] = topic
    lists.partitions[cursor[m]] = partition
    cursor[m] += 1


def without_failures(groups: Groups, assignments: Assignments) -> AssignmentOutcome:
    """Return the outcome of an assignor that never throws."""
    return AssignmentOutcome(assignments, np.zeros(len(groups.members) - 1, np.int32))


class Subscribers(NamedTuple):
    """The topics of each group, and their subscribers."""

    group_topics: Ints32
    """Topics of group g, in the order in which members name them: ``group_topics[g]`` to ``group_topics[g + 1]``."""
    topics: Ints32
    first: Ints32
    """Subscribers of entry k of ``topics``: ``first[k]`` to ``end[k]`` of ``members``. Topics with the same subscribers
    may share a list."""
    end: Ints32
    members: Ints32
    last_name_is_new: Flags
    """By group: whether the last topic that its last member names had not been named before.

    It decides the size of a map filled with ``computeIfAbsent`` (``java_compute_if_absent_order``)."""


@kernel
def map_order(groups: Groups) -> Ints32:
    """Return the members of each group in the order of the leader's ``HashMap`` of subscriptions."""
    order = np.arange(len(groups.member_racks)).astype(np.int32)
    hashes = np.empty(len(order), np.int64)
    for g in range(len(groups.members) - 1):
        _sort_in_map_order(groups, groups.members[g], groups.members[g + 1], order, hashes)
    return order


@kernel
def naming_order(groups: Groups) -> Ints32:
    """Return the members of each group in an order that names its topics in the same order as ``map_order``.

    If all members have the same list of topics, any order does, and no hash code is computed.
    """
    order = np.arange(len(groups.member_racks)).astype(np.int32)
    hashes = np.empty(len(order), np.int64)
    lists = groups.subscriptions.of_members
    for g in range(len(groups.members) - 1):
        start, end = groups.members[g], groups.members[g + 1]
        for m in range(start + 1, end):
            if lists[m] != lists[start]:
                _sort_in_map_order(groups, start, end, order, hashes)
                break
    return order


@kernel
def _sort_in_map_order(groups: Groups, start: int, end: int, order: Ints32, hashes: Ints) -> None:
    """Sort the members of a group in place; ``hashes`` is scratch space."""
    for m in range(start, end):
        hashes[m] = java_hash(groups.member_ids, m)
    sort_in_java_order(order[start:end], hashes)


def any_order(groups: Groups) -> Ints32:
    """Return the members of each group as they are given, for an assignor that sorts them."""
    return np.arange(len(groups.member_racks), dtype=np.int32)


def has_static_members(groups: Groups) -> bool:
    """Return whether a member has an instance id. Several may have the same, whereas member ids are distinct."""
    return not groups.instance_first.all()


def sorted_order(groups: Groups, in_map_order: Ints32, static_members_first: bool) -> Ints32:
    """Return the members of each group as the assignors sort them.

    Since 2.4 (``AbstractPartitionAssignor.MemberInfo.compareTo``, KIP-345) static members come first, by instance id,
    then dynamic members by member id. Before, all are sorted by member id.
    """
    order = in_map_order.copy()
    if static_members_first:
        sort_sections(order, groups.members, groups.instance_first, groups.sort_ids)
    else:
        sort_sections(order, groups.members, np.zeros_like(groups.instance_first), groups.member_ids)
    return order


@kernel
def subscribers(
    groups: Groups, in_map_order: Ints32, in_sorted_order: Ints32, n_topics: int, count_repeats: bool
) -> Subscribers:
    """Return the subscribers of each topic, in sorted order.

    A member that names a topic twice is in the list twice before Kafka 3.5 (``count_repeats``), which fills lists, and
    once in later releases.
    """
    topic_room, subscriber_room = _rooms(groups, count_repeats)
    n_groups, n_members, n_lists = len(groups.members) - 1, len(in_sorted_order), len(groups.subscriptions.offsets) - 1
    group_topics, last_name_is_new = np.zeros(n_groups + 1, np.int32), np.zeros(n_groups, np.bool_)
    # All members in sorted order come first: the list of each topic that the whole group subscribes to.
    members = np.empty(n_members + subscriber_room, np.int32)
    members[:n_members] = in_sorted_order
    collected = _CollectedTopics(
        np.empty(topic_room, np.int32),
        np.zeros(topic_room, np.int32),
        np.empty(topic_room, np.int32),
        np.empty(topic_room, np.int32),
        np.full(topic_room, -1, np.int32),
        np.full(topic_room, _NOBODY, np.int32),
        members,
        np.full(n_topics, -1, np.int32),
        np.empty(n_members, np.int32),
        np.zeros(n_lists, np.int32),
        np.full(n_lists, -1, np.int32),
    )
    entries, filled = 0, n_members
    for g in range(n_groups):
        first_entry = entries
        start, end = groups.members[g], groups.members[g + 1]
        entries, listed, last_name_is_new[g] = _name_topics(
            collected, groups.subscriptions, in_map_order[start:end], entries
        )
        for of in collected.lists[:listed]:
            _count_users(collected, groups.subscriptions, of, count_repeats)
        of_all = -1 if count_repeats else end - start
        before, shared = filled, 0
        for entry in range(first_entry, entries):
            filled = _place(collected, entry, start, of_all, filled)
            shared += collected.listed_for[entry] == _SHARED
        if filled > before:
            _fill_lists_of_alike(collected, groups.subscriptions, in_sorted_order[start:end])
        if first_entry + shared < entries:
            _fill_own_lists(collected, groups.subscriptions, in_sorted_order[start:end], count_repeats)
        for of in collected.lists[:listed]:
            collected.users[of], collected.list_first[of] = 0, -1
        for entry in range(first_entry, entries):
            collected.entry_of[collected.topics[entry]] = -1
        group_topics[g + 1] = entries
    return Subscribers(
        group_topics,
        collected.topics[:entries],
        collected.first[:entries],
        collected.end[:entries],
        members[:filled],
        last_name_is_new,
    )


class _CollectedTopics(NamedTuple):
    """The topics of a batch and their subscribers while they are collected, and scratch space that groups share."""

    topics: Ints32
    counts: Ints32
    """By entry of ``topics``: the number of its subscribers."""
    first: Ints32
    end: Ints32
    last_list: Ints32
    """By entry: the last list of topics that names it."""
    listed_for: Ints32
    """By entry: the last member in its list of subscribers, or _SHARED if other topics have the same list."""
    members: Ints32
    entry_of: Ints32
    """By topic: its entry in the current group, or -1."""
    lists: Ints32
    """The lists of topics that members of the current group have, each once."""
    users: Ints32
    """By list of topics: the members of the current group that have it."""
    list_first: Ints32
    """By list of topics: the place of these members in ``members``, if topics that only this list names share them."""


@inner_kernel
def _name_topics(
    collected: _CollectedTopics, subscriptions: Subscriptions, in_map_order: Ints32, entries: int
) -> tuple[int, int, bool]:
    """Add the topics of a group, and count the members that have each list.

    Returns the number of topics of all groups so far, the number of lists, and whether the last name is new.
    """
    of_members, offsets, topics = subscriptions
    n_lists, last_is_new = 0, False
    for m in in_map_order:
        of = of_members[m]
        collected.users[of] += 1
        if collected.users[of] > 1:
            last_is_new = last_is_new and offsets[of] == offsets[of + 1]
            continue
        collected.lists[n_lists] = of
        n_lists += 1
        for k in range(offsets[of], offsets[of + 1]):
            last_is_new = collected.entry_of[topics[k]] < 0
            if last_is_new:
                collected.entry_of[topics[k]] = entries
                collected.topics[entries] = topics[k]
                entries += 1
    return entries, n_lists, last_is_new


@inner_kernel
def _count_users(collected: _CollectedTopics, subscriptions: Subscriptions, of: int, count_repeats: bool) -> None:
    """Count the members that have a list as subscribers of its topics."""
    for k in range(subscriptions.offsets[of], subscriptions.offsets[of + 1]):
        entry = collected.entry_of[subscriptions.topics[k]]
        if count_repeats or collected.last_list[entry] != of:
            collected.last_list[entry] = of
            collected.counts[entry] += collected.users[of]


@inner_kernel
def _place(collected: _CollectedTopics, entry: int, start: int, of_all: int, filled: int) -> int:
    """Choose where the subscribers of a topic are listed, and return the end of all lists.

    The ``of_all`` members of the group are listed from ``start`` already.
    """
    count, of = collected.counts[entry], collected.last_list[entry]
    collected.listed_for[entry] = _SHARED
    if count == of_all:
        collected.first[entry], collected.end[entry] = start, start + count
    elif count == collected.users[of]:
        if collected.list_first[of] < 0:
            collected.list_first[of] = filled
            filled += count
        collected.first[entry], collected.end[entry] = collected.list_first[of], collected.list_first[of] + count
    else:
        collected.listed_for[entry] = _NOBODY
        collected.first[entry], collected.end[entry] = filled, filled
        filled += count
    return filled


@inner_kernel
def _fill_lists_of_alike(collected: _CollectedTopics, subscriptions: Subscriptions, in_sorted_order: Ints32) -> None:
    """List the members of each list of topics that names a topic which no other list names."""
    for m in in_sorted_order:
        of = subscriptions.of_members[m]
        if collected.list_first[of] >= 0:
            collected.members[collected.list_first[of]] = m
            collected.list_first[of] += 1


@inner_kernel
def _fill_own_lists(
    collected: _CollectedTopics, subscriptions: Subscriptions, in_sorted_order: Ints32, count_repeats: bool
) -> None:
    """List the subscribers of the topics that share their list with no other."""
    of_members, offsets, topics = subscriptions
    for m in in_sorted_order:
        for k in range(offsets[of_members[m]], offsets[of_members[m] + 1]):
            entry = collected.entry_of[topics[k]]
            if collected.listed_for[entry] != _SHARED and (count_repeats or collected.listed_for[entry] != m):
                collected.listed_for[entry] = m
                collected.members[collected.end[entry]] = m
                collected.end[entry] += 1


@kernel
def _rooms(groups: Groups, count_repeats: bool) -> tuple[int, int]:
    """Return the most entries of topics, and of subscribers beside the members, that ``subscribers`` may need."""
    of_members, offsets, _ = groups.subscriptions
    topics, listed = 0, 0
    for g in range(len(groups.members) - 1):
        start, end = groups.members[g], groups.members[g + 1]
        alike, named = True, 0
        for of in of_members[start:end]:
            alike = alike and of == of_members[start]
            named += offsets[of + 1] - offsets[of]
        if alike and not count_repeats and end > start:
            topics += offsets[of_members[start] + 1] - offsets[of_members[start]]
        else:
            topics, listed = topics + named, listed + named
    return topics, listed


@kernel
def own_lists(by_topic: Subscribers) -> tuple[Ints32, Ints32]:
    """Return the offsets of the topics' lists of subscribers, none of which is shared, and the subscribers."""
    offsets = np.zeros(len(by_topic.topics) + 1, np.int32)
    for entry in range(len(by_topic.topics)):
        offsets[entry + 1] = offsets[entry] + by_topic.end[entry] - by_topic.first[entry]
    members = np.empty(offsets[-1], np.int32)
    for entry in range(len(by_topic.topics)):
        members[offsets[entry] : offsets[entry + 1]] = by_topic.members[by_topic.first[entry] : by_topic.end[entry]]
    return offsets, members


def with_lists(by_topic: Subscribers, offsets: Ints32, members: Ints32) -> Subscribers:
    """Return the same topics with other lists of subscribers."""
    return by_topic._replace(first=offsets[:-1], end=offsets[1:], members=members)


@kernel
def topics_by_name(topics: TopicArrays, by_topic: Subscribers) -> Ints32:
    """Return the entries of ``by_topic.topics``, those of each group sorted by topic name."""
    order = np.empty(len(by_topic.topics), np.int32)
    for g in range(len(by_topic.group_topics) - 1):
        first, end = by_topic.group_topics[g], by_topic.group_topics[g + 1]
        if end == first + 1:
            order[first] = first
        elif end > first:
            order[first:end] = stable_order(topics.ranks[by_topic.topics[first:end]]) + first
    return order


@kernel
def groups_with_repeated_members(groups: Ints32, member_ids: Strings) -> Flags:
    """Return, by group, whether a member id occurs more than once."""
    repeated = np.zeros(len(groups) - 1, np.bool_)
    hashes = np.empty(len(member_ids.offsets) - 1, np.int64)
    for g in range(len(groups) - 1):
        if groups[g + 1] - groups[g] <= _FEW_MEMBERS:
            repeated[g] = _find_equal_of_few(member_ids, groups[g], groups[g + 1], hashes)
        else:
            repeated[g] = _find_equal_of_many(member_ids, groups[g], groups[g + 1], hashes)
    return repeated


@inner_kernel
def _find_equal_of_few(strings: Strings, start: int, end: int, tails: Ints) -> bool:
    """Return whether two strings are equal: each is compared with each, the last bytes first, which are random in ids.

    ``tails`` is scratch space.
    """
    for m in range(start, end):
        low, high = strings.offsets[m], strings.offsets[m + 1]
        tails[m] = fast_hash(strings.data, max(low, high - WORD), high, 0)
        for other in range(start, m):
            if tails[other] == tails[m] and equal(strings, other, strings, m):
                return True
    return False


@kernel
def _find_equal_of_many(strings: Strings, start: int, end: int, hashes: Ints) -> bool:
    """Return whether two strings are equal, by a hash table; ``hashes`` is scratch space."""
    size = java_table_size(end - start)
    table = np.full(size, _NOBODY, np.int32)
    for m in range(start, end):
        hashes[m] = fast_hash(strings.data, strings.offsets[m], strings.offsets[m + 1], 0)
        place = hashes[m] >> 16 & (size - 1)
        while table[place] >= 0:
            if hashes[table[place]] == hashes[m] and equal(strings, table[place], strings, m):
                return True
            place = (place + 1) & (size - 1)
        table[place] = m
    return False
