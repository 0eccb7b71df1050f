"""The members' lists of partitions while a group is assigned, and their output to the batch's assignments."""

from typing import NamedTuple

import numpy as np

from rebalance_sim.kafka.assignors.sticky.claims import Claims
from rebalance_sim.kafka.assignors.sticky.numbered_group import NumberedGroup
from rebalance_sim.kafka.groups import Assignments
from rebalance_sim.kafka.runtime.kernel import inner_kernel, kernel
from rebalance_sim.kafka.runtime.strings import Flags, Ints32


class Links(NamedTuple):
    """Doubly linked lists, so that an entry is removed without a search; -1 stands for no entry."""

    first: Ints32
    """First entry of each list."""
    last: Ints32
    before: Ints32
    """By entry: the entry before it in its list."""
    after: Ints32


@inner_kernel
def append_entry(links: Links, of_list: int, entry: int) -> None:
    """Append an entry that is in no list."""
    tail = links.last[of_list]
    links.before[entry] = tail
    links.after[entry] = -1
    if tail < 0:
        links.first[of_list] = entry
    else:
        links.after[tail] = entry
    links.last[of_list] = entry


@inner_kernel
def remove_entry(links: Links, of_list: int, entry: int) -> None:
    """Remove an entry from its list."""
    before, after = links.before[entry], links.after[entry]
    if before < 0:
        links.first[of_list] = after
    else:
        links.after[before] = after
    if after < 0:
        links.last[of_list] = before
    else:
        links.before[after] = before


class CurrentAssignment(NamedTuple):
    """``currentAssignment`` and ``currentPartitionConsumer`` of Kafka's builders.

    A node is a partition in the list of a member. A partition may be in two lists, or twice in one: Kafka's lists do
    not prevent it, and before 2.4 it happened (KAFKA-7026).
    """

    links: Links
    """The list of each member, of nodes."""
    partition: Ints32
    """Partition of each node."""
    member: Ints32
    """Member in whose list each node is."""
    older: Ints32
    """The next older node of the same partition, or -1."""
    newest: Ints32
    """The newest node of each partition, or -1."""
    owner: Ints32
    """Member that was assigned the partition last (``currentPartitionConsumer``), or NOBODY."""
    sizes: Ints32
    """Length of each member's list."""
    used: Ints32
    """Number of nodes, as an array of one."""


@kernel
def new_assignment(member_count: int, partition_count: int, room: int) -> CurrentAssignment:
    """Return empty lists with room for a number of nodes.

    Arrays of one length are rows of one array: one allocation per group instead of many.
    """
    by_member = np.full((2, member_count), -1, np.int32)
    by_node = np.empty((5, room), np.int32)
    by_partition = np.full((2, partition_count), -1, np.int32)
    return CurrentAssignment(
        Links(by_member[0], by_member[1], by_node[0], by_node[1]),
        by_node[2],
        by_node[3],
        by_node[4],
        by_partition[0],
        by_partition[1],
        np.zeros(member_count, np.int32),
        np.zeros(1, np.int32),
    )


@kernel
def copy_of(current: CurrentAssignment) -> CurrentAssignment:
    """Return a copy of the lists for reading (``preBalanceAssignment``); a node never changes its partition."""
    links = current.links
    return CurrentAssignment(
        Links(links.first.copy(), links.last, links.before, links.after.copy()),
        current.partition,
        current.member.copy(),
        current.older,
        current.newest,
        current.owner,
        current.sizes.copy(),
        current.used,
    )


@inner_kernel
def append_all(current: CurrentAssignment, members: Ints32, partitions: Ints32) -> None:
    """Append partition k to the list of member k, for every k; ``sizes`` and ``owner`` stay as they are."""
    first, last, before, after = current.links
    partition_of, member_of, older, newest = current.partition, current.member, current.older, current.newest
    node = current.used[0]
    for k in range(len(partitions)):
        partition, member = partitions[k], members[k]
        tail = last[member]
        partition_of[node] = partition
        member_of[node] = member
        before[node] = tail
        after[node] = -1
        older[node] = newest[partition]
        newest[partition] = node
        if tail < 0:
            first[member] = node
        else:
            after[tail] = node
        last[member] = node
        node += 1
    current.used[0] = node


@inner_kernel
def append_one(current: CurrentAssignment, member: int, partition: int) -> None:
    """Append a partition to a member's list; ``sizes`` and ``owner`` stay as they are."""
    node = current.used[0]
    current.partition[node] = partition
    current.member[node] = member
    current.older[node] = current.newest[partition]
    current.newest[partition] = node
    append_entry(current.links, member, node)
    current.used[0] = node + 1


@inner_kernel
def node_of(current: CurrentAssignment, member: int, partition: int) -> int:
    """Return the first node of a partition in a member's list, or -1."""
    first = -1
    node = current.newest[partition]
    while node >= 0:
        if current.member[node] == member:
            # The partition is twice in the list: the first entry counts.
            if first >= 0:
                first = current.links.first[member]
                while current.partition[first] != partition:
                    first = current.links.after[first]
                return int(first)
            first = node
        node = current.older[node]
    return int(first)


# ---- the assignments of the batch


@kernel
def with_room(written: Assignments, end: int) -> Assignments:
    """Return assignments with room for ``end`` partitions."""
    if end <= len(written.topics):
        return written
    room = max(end, 2 * len(written.topics))
    topics, partitions = np.empty(room, np.int32), np.empty(room, np.int32)
    topics[: len(written.topics)] = written.topics
    partitions[: len(written.topics)] = written.partitions
    return Assignments(written.offsets, topics, partitions)


@kernel
def write_lists(
    written: Assignments, group: NumberedGroup, current: CurrentAssignment, claims: Claims, hidden: Flags
) -> Assignments:
    """Append a group's lists, without the nodes that are hidden, to those of the groups before it."""
    member_count, links = len(group.members), current.links
    for number in range(member_count):
        written.offsets[group.members[number] + 1] = current.sizes[number]
    for node in range(len(hidden)):
        if hidden[node]:
            written.offsets[group.members[current.member[node]] + 1] -= 1
    for m in range(group.first_member, group.first_member + member_count):
        written.offsets[m + 1] += written.offsets[m]
    written = with_room(written, written.offsets[group.first_member + member_count])
    for number in range(member_count):
        place = written.offsets[group.members[number]]
        node = links.first[number]
        while node >= 0:
            if not hidden[node]:
                partition = current.partition[node]
                written.topics[place] = claims.topics[partition]
                written.partitions[place] = claims.numbers[partition]
                place += 1
            node = links.after[node]
    return written


@kernel
def write_nothing(written: Assignments, first_member: int, end: int) -> Assignments:
    """Append empty lists for members from ``first_member`` to ``end``, whose assignor throws."""
    for m in range(first_member, end):
        written.offsets[m + 1] = written.offsets[m]
    return written
