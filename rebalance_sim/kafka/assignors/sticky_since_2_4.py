"""The sticky assignors since 2.4: ``AbstractStickyAssignor``, which ``sticky`` and ``cooperative-sticky`` share.

Where all members want the same topics there is a shorter way (``sticky_constrained``); the general way keeps what is
owned, gives out the rest and evens out (``sticky_balance``). A cooperative member does not get a partition before its
owner has given it up: that takes a second rebalance.
"""

import numpy as np

from rebalance_sim.kafka.assignors.sticky_balance import (
    OTHER,
    OWNER,
    PARTITION,
    Lists,
    Wants,
    append_all,
    assign_to_lightest,
    balance,
    new_lists,
    node_in_list,
)
from rebalance_sim.kafka.assignors.sticky_claims import (
    Claims,
    Owned,
    number_claims,
    previous_owners,
    resolve_claims,
)
from rebalance_sim.kafka.assignors.sticky_constrained import assign_constrained
from rebalance_sim.kafka.assignors.sticky_group import (
    UNKNOWN,
    Numbering,
    Subscriptions,
    Written,
    by_popularity,
    forget_topics,
    names_twice,
    number_group,
    number_members,
    wants_of,
    write_lists,
    write_nothing,
)
from rebalance_sim.kafka.assignors.sticky_racks import Racks, mismatch, racks_of, without_racks
from rebalance_sim.kafka.groups import (
    NO_RACK,
    Assignments,
    Failure,
    Groups,
    Outcome,
    Topics,
    map_order,
    sorted_order,
)
from rebalance_sim.kafka.kernel import kernel
from rebalance_sim.kafka.strings import Flags, Ints, Ints32

_NONE = int(Failure.NONE)
_NOBODY = -1


def assign(groups: Groups, topics: Topics, with_racks: bool, cooperative: bool) -> Outcome:
    """Assign the partitions of every group of a batch."""
    in_map_order = map_order(groups)
    in_id_order = sorted_order(groups, in_map_order, static_members_first=False)
    n_racks = 0
    if with_racks and (groups.member_racks != NO_RACK).any():
        n_racks = int(max(groups.member_racks.max(), topics.racks.max(initial=-1))) + 1
        n_racks = max(n_racks, 1)
    return _assign(groups, topics, in_map_order, in_id_order, n_racks, cooperative)


@kernel
def _assign(
    groups: Groups, topics: Topics, in_map_order: Ints32, in_id_order: Ints32, n_racks: int, cooperative: bool
) -> Outcome:
    n_groups, n_members, n_topics = len(groups.members) - 1, len(groups.member_hashes), len(topics.partitions)
    errors = np.zeros(n_groups, np.int32)
    number_of, seen = np.full(n_topics, UNKNOWN, np.int32), np.full(n_topics, -1, np.int32)
    numbers = number_members(groups.members, in_id_order, in_map_order)
    subscriptions = Subscriptions(groups.subscriptions, groups.topics)
    room = max(16, len(groups.owned.topics))
    written = Written(np.zeros(n_members + 1, np.int32), np.empty(room, np.int32), np.empty(room, np.int32))
    all_generations, no_racks = groups.generations[in_map_order], without_racks()
    for g in range(n_groups):
        start, end = groups.members[g], groups.members[g + 1]
        if start == end:
            continue
        group = number_group(
            subscriptions,
            topics.partitions,
            topics.ranks,
            g,
            numbers[start:end],
            in_id_order[start:end],
            number_of,
            seen,
        )
        claims = number_claims(groups.owned, topics.partitions, group, number_of, True)
        generations = all_generations[start:end]
        owned = resolve_claims(claims, generations, generations)
        racks = racks_of(groups, topics, group, claims, n_racks) if n_racks > 0 else no_racks
        if group.same_subscriptions:
            errors[g], written = assign_constrained(
                group, start, number_of, claims, owned, racks, n_racks, cooperative, written
            )
        else:
            errors[g], written = _assign_general(
                subscriptions,
                topics.hashes,
                group,
                start,
                number_of,
                claims,
                owned,
                generations,
                racks,
                cooperative,
                written,
            )
        if errors[g] != _NONE:
            written = write_nothing(written, start, end - start)
        forget_topics(group, number_of)
    total = written.offsets[n_members]
    return Outcome(Assignments(written.offsets, written.topics[:total], written.partitions[:total]), errors)


@kernel
def _assign_general(
    subscriptions: Subscriptions,
    hashes: Ints,
    group: Numbering,
    first_member: int,
    number_of: Ints32,
    claims: Claims,
    owned: Owned,
    generations: Ints,
    racks: Racks,
    cooperative: bool,
    written: Written,
) -> tuple[int, Written]:
    """``GeneralAssignmentBuilder.build``: what is thrown, and the answer so far."""
    n_members, n_known = len(group.members), group.first_partition[-1]
    wants = wants_of(subscriptions, hashes, group, number_of, number_of[claims.topics])
    _count_most(wants, n_known)
    lists = new_lists(n_members, len(claims.topics), len(claims.partitions) + n_known)
    owner = np.full(len(claims.topics), _NOBODY, np.int32)
    foreign, revoked = _keep(group, number_of, claims, owned, racks, wants, lists, owner)
    in_turn = by_popularity(wants)
    unassigned = _unassigned(in_turn, claims, lists, wants, number_of)
    was_empty = lists.sizes.max() == 0
    rest = unassigned
    if racks.matter:
        rest = _assign_in_racks(unassigned, claims, lists, wants, owner, racks)
    assign_to_lightest(rest, lists, wants, owner, False)
    previous = previous_owners(claims, generations, group.in_map_order)
    failure, lists = balance(
        lists,
        wants,
        owner,
        previous,
        unassigned,
        in_turn,
        not revoked,
        1,
        foreign or names_twice(wants),
        False,
        was_empty,
    )
    if failure != _NONE:
        return failure, written
    hidden = np.zeros(lists.used[0], np.bool_)
    if cooperative:
        _hide_transferred(lists, wants, claims, group.in_map_order, hidden)
    return _NONE, write_lists(written, first_member, group, lists, claims.topics, claims.numbers, hidden)


@kernel
def _count_most(wants: Wants, n_known: int) -> None:
    """Count what each member can get at most as Kafka does, also of one that names a topic twice.

    ``getMaxAssignmentSize`` compares the number of topics that a member names with that of all.
    """
    n_topics = len(wants.hashes)
    for member in range(len(wants.most)):
        if wants.topics[member + 1] - wants.topics[member] == n_topics:
            wants.most[member] = n_known


@kernel
def _keep(
    group: Numbering,
    number_of: Ints32,
    claims: Claims,
    owned: Owned,
    racks: Racks,
    wants: Wants,
    lists: Lists,
    owner: Ints32,
) -> tuple[bool, bool]:
    """Let members keep what they own and still want (``assignOwnedPartitions``).

    Returns whether a partition that is not there any more was kept, and whether one was taken away.
    """
    n_known = group.first_partition[-1]
    foreign, revoked = False, False
    wanted_by = np.full(len(group.topics), -1, np.int32)
    members, partitions = np.empty(len(claims.partitions), np.int32), np.empty(len(claims.partitions), np.int32)
    n = 0
    for i in range(len(group.members)):
        low, high = claims.offsets[i], claims.offsets[i + 1]
        if low == high:
            continue
        member = group.in_map_order[i]
        for topic in wants.wanted[wants.topics[member] : wants.topics[member + 1]]:
            wanted_by[topic] = i
        for k in range(low, high):
            if not owned.holds[k]:
                continue
            partition = claims.partitions[k]
            owner[partition] = member
            if wanted_by[number_of[claims.topics[partition]]] != i or (
                racks.matter and mismatch(racks, claims, member, partition, n_known)
            ):
                revoked = True
            else:
                members[n], partitions[n] = member, partition
                n += 1
                lists.sizes[member] += 1
                foreign = foreign or partition >= n_known
    append_all(lists, members[:n], partitions[:n])
    return foreign, revoked


@kernel
def _unassigned(in_turn: Ints32, claims: Claims, lists: Lists, wants: Wants, number_of: Ints32) -> Ints32:
    """Partitions that nobody keeps, in the order of ``in_turn``.

    ``getUnassignedPartitions`` walks the kept partitions beside all others: at one that is not there any more it stops
    looking, and takes all that follow for unassigned.
    """
    n_known = len(in_turn)
    blind_topic = np.zeros(len(wants.hashes), np.bool_)
    for partition in lists.nodes[: lists.used[0], PARTITION]:
        if partition >= n_known:
            blind_topic[number_of[claims.topics[partition]]] = True
    unassigned = np.empty(n_known, np.int32)
    n = 0
    blind, topic = False, -1
    for partition in in_turn:
        if wants.topic_of[partition] != topic:
            blind = blind or (topic >= 0 and blind_topic[topic])
            topic = wants.topic_of[partition]
        if blind or lists.node_of[partition] < 0:
            unassigned[n] = partition
            n += 1
    return unassigned[:n]


@kernel
def _assign_in_racks(
    unassigned: Ints32, claims: Claims, lists: Lists, wants: Wants, owner: Ints32, racks: Racks
) -> Ints32:
    """Give each partition to the subscriber in its racks that has the fewest; return those that fit nowhere."""
    left = np.empty(len(unassigned), np.int32)
    members, partitions = np.empty(len(unassigned), np.int32), np.empty(len(unassigned), np.int32)
    n, n_left = 0, 0
    for partition in unassigned:
        topic = wants.topic_of[partition]
        chosen = _NOBODY
        for k in range(wants.subscribers[topic], wants.subscribers[topic + 1]):
            member = wants.members[k]
            lighter = chosen == _NOBODY or (lists.sizes[member], member) < (lists.sizes[chosen], chosen)
            if lighter and not mismatch(racks, claims, member, partition, wants.first_partition[-1]):
                chosen = member
        if chosen == _NOBODY:
            left[n_left] = partition
            n_left += 1
        else:
            members[n], partitions[n] = chosen, partition
            n += 1
            lists.sizes[chosen] += 1
            owner[partition] = chosen
    append_all(lists, members[:n], partitions[:n])
    return left[:n_left]


@kernel
def _hide_transferred(lists: Lists, wants: Wants, claims: Claims, in_map_order: Ints32, hidden: Flags) -> None:
    """Hide partitions that somebody says to own who does not have them any more, from those to whom they are new.

    ``CooperativeStickyAssignor.computePartitionsTransferringOwnership`` and ``adjustAssignment``.
    """
    given_up = np.zeros(len(claims.topics), np.bool_)
    owned_before = np.zeros(lists.used[0], np.bool_)
    for i in range(len(in_map_order)):
        member = in_map_order[i]
        for partition in claims.partitions[claims.offsets[i] : claims.offsets[i + 1]]:
            found = False
            node = lists.node_of[partition]
            while node >= 0:
                if lists.nodes[node, OWNER] == member:
                    found = True
                    owned_before[node] = True
                node = lists.nodes[node, OTHER]
            given_up[partition] = given_up[partition] or not found
    for partition in range(len(claims.topics)):
        if given_up[partition]:
            last = _NOBODY
            node = lists.node_of[partition]
            while node >= 0:
                member = lists.nodes[node, OWNER]
                if not owned_before[node] and (last == _NOBODY or wants.map_place[member] > wants.map_place[last]):
                    last = member
                node = lists.nodes[node, OTHER]
            if last != _NOBODY:
                hidden[node_in_list(lists, last, partition)] = True
