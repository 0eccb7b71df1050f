"""A batch of consumer groups as arrays, and the views of it that the assignors share.

Groups, members, subscriptions and assignments are nested lists in CSR form: the parts of thing i lie from
``offsets[i]`` to ``offsets[i + 1]``. Topics and members are indices.
"""

from enum import IntEnum
from typing import NamedTuple

import numpy as np

from rebalance_sim.kafka.hash_order import java_order, java_table_size
from rebalance_sim.kafka.kernel import kernel
from rebalance_sim.kafka.strings import Flags, Ints, Ints32, Strings, equal, sort_sections

NO_RACK = -1
NO_GENERATION = -1
"""``DEFAULT_GENERATION`` of Kafka's assignors, ``UNKNOWN_GENERATION`` of its protocol."""
UNKNOWN_RACK = -2
"""Rack of a member that no replica of the metadata has."""


class Failure(IntEnum):
    """How assignors fail."""

    NONE = 0
    NULL_POINTER = 1
    ILLEGAL_STATE = 2
    NO_SUCH_ELEMENT = 3
    NEVER_RETURNS = 4
    ARRAY_INDEX = 5
    PARTITION_ASSIGNOR = 6
    KEY_ERROR = 7

    @property
    def told(self) -> str:
        """What becomes of the group, as an error of it."""
        return _TOLD[self]


_TOLD = {
    Failure.NONE: "Kafka's assignor assigns",
    Failure.NULL_POINTER: "Kafka's assignor throws NullPointerException",
    Failure.ILLEGAL_STATE: "Kafka's assignor throws IllegalStateException",
    Failure.NO_SUCH_ELEMENT: "Kafka's assignor throws NoSuchElementException",
    Failure.NEVER_RETURNS: "Kafka's assignor never returns",
    Failure.ARRAY_INDEX: "Kafka's assignor throws ArrayIndexOutOfBoundsException",
    Failure.PARTITION_ASSIGNOR: "Kafka's assignor throws PartitionAssignorException",
    Failure.KEY_ERROR: "kafka-python's assignor raises KeyError",
}


class Topics(NamedTuple):
    """What the cluster's metadata says of the topics that a batch subscribes to."""

    partitions: Ints32
    """Number of partitions; -1 where the metadata has no such topic."""
    hashes: Ints
    """``hashCode`` of the name."""
    ranks: Ints
    """Place of the name among all names in Java's order."""
    first_racks: Ints32
    """Racks of topic t: entries ``first_racks[t]`` to ``first_racks[t + 1]`` of ``rack_offsets``, one a partition."""
    rack_offsets: Ints32
    racks: Ints32
    """Racks of the replicas, as indices."""
    ids: Ints
    """Uuids, of shape (topics, 2): most and least significant bits; 0 where no assignor asks for them."""


class Assignments(NamedTuple):
    """Partitions of member m, in Kafka's order: ``offsets[m]`` to ``offsets[m + 1]``."""

    offsets: Ints32
    topics: Ints32
    partitions: Ints32


class Groups(NamedTuple):
    """A batch of groups. Members lie in the order in which they were put into the leader's map of subscriptions."""

    members: Ints32
    """Members of group g: ``members[g]`` to ``members[g + 1]``."""
    member_ids: Strings
    member_hashes: Ints
    """``hashCode`` of the member id."""
    instance_first: Ints
    """0 for a static member, 1 for a dynamic one."""
    sort_ids: Strings
    """Instance id of a static member, member id of a dynamic one."""
    member_racks: Ints32
    """Index of the rack, NO_RACK or UNKNOWN_RACK."""
    subscriptions: Ints32
    """Subscription of member m: ``subscriptions[m]`` to ``subscriptions[m + 1]`` of ``topics``."""
    topics: Ints32
    owned: Assignments
    """What the members say they own; empty lists for an assignor that does not ask (``Assignor.remembers``)."""
    generations: Ints
    """Generation that ``owned`` comes from; NO_GENERATION where the member does not tell."""


class Outcome(NamedTuple):
    """What an assignor answers for a batch of groups."""

    assignments: Assignments
    errors: Ints32
    """How Kafka's class fails, by group, as a number of ``Failure``; the members of such a group have nothing."""


def without_failures(groups: Groups, assignments: Assignments) -> Outcome:
    """Answer for an assignor that never throws."""
    return Outcome(assignments, np.zeros(len(groups.members) - 1, np.int32))


class Subscribers(NamedTuple):
    """The topics of each group and who subscribes to them."""

    group_topics: Ints32
    """Topics of group g, in the order in which members name them: ``group_topics[g]`` to ``group_topics[g + 1]``."""
    topics: Ints32
    offsets: Ints32
    """Subscribers of entry k of ``topics``: ``offsets[k]`` to ``offsets[k + 1]`` of ``members``."""
    members: Ints32
    last_name_is_new: Flags
    """Whether the last topic that the group's last member names was not named before."""


@kernel
def map_order(groups: Groups) -> Ints32:
    """Members of each group in the order of the ``HashMap`` of subscriptions that the leader builds."""
    order = np.empty(len(groups.member_hashes), np.int32)
    for g in range(len(groups.members) - 1):
        start, end = groups.members[g], groups.members[g + 1]
        order[start:end] = java_order(
            groups.member_hashes, np.arange(start, end).astype(np.int32), java_table_size(end - start)
        )
    return order


def sorted_order(groups: Groups, in_map_order: Ints32, static_members_first: bool) -> Ints32:
    """Members of each group as the assignors sort them.

    ``AbstractPartitionAssignor.MemberInfo.compareTo`` since 2.4: static members by instance id, before dynamic ones by
    member id. Earlier: by member id.
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
    """Turn subscriptions around: each topic's subscribers, in sorted order.

    A member that names a topic twice stands twice in the lists of Kafka before 2.4 (``count_repeats``), and once in
    the maps of later versions.
    """
    n_groups = len(groups.members) - 1
    group_topics = np.zeros(n_groups + 1, np.int32)
    topics = np.empty(len(groups.topics), np.int32)
    offsets = np.zeros(len(groups.topics) + 1, np.int32)
    members = np.empty(len(groups.topics), np.int32)
    entry_of = np.full(n_topics, -1, np.int32)
    counts = np.zeros(len(groups.topics), np.int32)
    last_counted = np.full(len(groups.topics), -1, np.int32)
    last_listed = np.full(len(groups.topics), -1, np.int32)
    last_name_is_new = np.zeros(n_groups, np.bool_)
    entries = 0
    for g in range(n_groups):
        first_entry = entries
        start, end = groups.members[g], groups.members[g + 1]
        for m in in_map_order[start:end]:
            for k in range(groups.subscriptions[m], groups.subscriptions[m + 1]):
                topic = groups.topics[k]
                last_name_is_new[g] = entry_of[topic] < 0
                if entry_of[topic] < 0:
                    entry_of[topic] = entries
                    topics[entries] = topic
                    entries += 1
                entry = entry_of[topic]
                if count_repeats or last_counted[entry] != m:
                    last_counted[entry] = m
                    counts[entry] += 1
        for entry in range(first_entry, entries):
            offsets[entry + 1] = offsets[entry] + counts[entry]
            counts[entry] = 0
        for m in in_sorted_order[start:end]:
            for k in range(groups.subscriptions[m], groups.subscriptions[m + 1]):
                entry = entry_of[groups.topics[k]]
                if count_repeats or last_listed[entry] != m:
                    last_listed[entry] = m
                    members[offsets[entry] + counts[entry]] = m
                    counts[entry] += 1
        for entry in range(first_entry, entries):
            entry_of[topics[entry]] = -1
        group_topics[g + 1] = entries
    return Subscribers(
        group_topics, topics[:entries], offsets[: entries + 1], members[: offsets[entries]], last_name_is_new
    )


@kernel
def topics_by_name(topics: Topics, by_topic: Subscribers) -> Ints32:
    """Entries of ``by_topic.topics``, those of each group sorted by the topic's name."""
    order = np.empty(len(by_topic.topics), np.int32)
    for g in range(len(by_topic.group_topics) - 1):
        first, end = by_topic.group_topics[g], by_topic.group_topics[g + 1]
        order[first:end] = np.argsort(topics.ranks[by_topic.topics[first:end]]) + first
    return order


@kernel
def groups_with_repeated_members(groups: Ints32, member_ids: Strings, member_hashes: Ints) -> Flags:
    """Tell which groups name a member id more than once."""
    repeated = np.zeros(len(groups) - 1, np.bool_)
    for g in range(len(groups) - 1):
        start, end = groups[g], groups[g + 1]
        size = java_table_size(end - start)
        table = np.full(size, -1, np.int32)
        for m in range(start, end):
            h = member_hashes[m]
            place = (h ^ h >> 16) & (size - 1)
            while table[place] >= 0:
                if member_hashes[table[place]] == h and equal(member_ids, table[place], member_ids, m):
                    repeated[g] = True
                    break
                place = (place + 1) & (size - 1)
            table[place] = m
    return repeated
