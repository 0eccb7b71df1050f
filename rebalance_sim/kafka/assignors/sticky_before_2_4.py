"""The ``sticky`` assignor before 2.4 (``StickyAssignor``).

1.0 takes every member's word for what it owns, so that a partition may stay with two members. 2.3 believes the latest
generation, and moves a partition back to the owner before where that helps.
"""

import numpy as np

from rebalance_sim.kafka.assignors.sticky_balance import (
    AFTER,
    FIRST,
    OTHER,
    OWNER,
    PARTITION,
    Lists,
    Wants,
    append_all,
    assign_to_lightest,
    balance,
    new_lists,
)
from rebalance_sim.kafka.assignors.sticky_claims import (
    Claims,
    History,
    history,
    number_claims,
    partitions_in_map_order,
)
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
from rebalance_sim.kafka.groups import (
    NO_GENERATION,
    Assignments,
    Failure,
    Groups,
    Outcome,
    Topics,
    map_order,
    sorted_order,
)
from rebalance_sim.kafka.hash_order import java_order, java_table_size
from rebalance_sim.kafka.kernel import kernel
from rebalance_sim.kafka.strings import Ints, Ints32

_NONE = int(Failure.NONE)
_NULL_POINTER = int(Failure.NULL_POINTER)
_NO_SUCH_ELEMENT = int(Failure.NO_SUCH_ELEMENT)
_NOBODY = -1


def assign(groups: Groups, topics: Topics, with_generations: bool) -> Outcome:
    """Assign the partitions of every group of a batch, by 2.3 with generations, by 1.0 without."""
    in_map_order = map_order(groups)
    in_id_order = sorted_order(groups, in_map_order, static_members_first=False)
    return _assign(groups, topics, in_map_order, in_id_order, with_generations)


@kernel
def _assign(
    groups: Groups, topics: Topics, in_map_order: Ints32, in_id_order: Ints32, with_generations: bool
) -> Outcome:
    n_groups, n_members, n_topics = len(groups.members) - 1, len(groups.member_hashes), len(topics.partitions)
    errors = np.zeros(n_groups, np.int32)
    number_of, seen = np.full(n_topics, UNKNOWN, np.int32), np.full(n_topics, -1, np.int32)
    named_by = np.full(n_topics, UNKNOWN, np.int32)
    numbers, generations = number_members(groups.members, in_id_order, in_map_order), groups.generations[in_map_order]
    subscriptions = Subscriptions(groups.subscriptions, groups.topics)
    room = max(16, len(groups.owned.topics))
    written = Written(np.zeros(n_members + 1, np.int32), np.empty(room, np.int32), np.empty(room, np.int32))
    for g in range(n_groups):
        start, end = groups.members[g], groups.members[g + 1]
        if start == end:
            continue
        if not with_generations and _wants_unknown_topic(groups, topics, start, end):
            errors[g] = _NULL_POINTER
            written = write_nothing(written, start, end - start)
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
        errors[g], written = _assign_group(
            subscriptions,
            groups.owned,
            generations[start:end],
            topics,
            group,
            start,
            number_of,
            named_by,
            with_generations,
            written,
        )
        if errors[g] != _NONE:
            written = write_nothing(written, start, end - start)
        forget_topics(group, number_of)
    total = written.offsets[n_members]
    return Outcome(Assignments(written.offsets, written.topics[:total], written.partitions[:total]), errors)


@kernel
def _wants_unknown_topic(groups: Groups, topics: Topics, start: int, end: int) -> bool:
    """Tell whether a member wants a topic that is unknown or has no partitions: 1.0 does not expect that."""
    for k in range(groups.subscriptions[start], groups.subscriptions[end]):
        if topics.partitions[groups.topics[k]] <= 0:
            return True
    return False


@kernel
def _assign_group(
    subscriptions: Subscriptions,
    all_owned: Assignments,
    generations: Ints,
    topics: Topics,
    group: Numbering,
    first_member: int,
    number_of: Ints32,
    named_by: Ints32,
    with_generations: bool,
    written: Written,
) -> tuple[int, Written]:
    n_members, n_known = len(group.members), group.first_partition[-1]
    claims = number_claims(all_owned, topics.partitions, group, number_of, False)
    wants = wants_of(subscriptions, topics.hashes, group, number_of, number_of[claims.topics])
    lists = new_lists(n_members, len(claims.topics), len(claims.partitions) + 2 * n_known)
    owner = np.full(len(claims.topics), _NOBODY, np.int32)
    identical = _identical_subscriptions(wants)
    if with_generations:
        past = history(claims, topics, generations, group.in_map_order)
        fresh = len(past.partitions) == 0
        _believe_latest(group, past, wants, identical, lists, owner)
        odd = False
    else:
        nothing = np.empty(0, np.int32)
        past = History(nothing, nothing, np.full(len(claims.topics), _NOBODY, np.int32))
        fresh = len(claims.partitions) == 0 and (generations == NO_GENERATION).all()
        odd = _believe_all(group, claims, wants, identical, lists, owner)
    if not with_generations and not fresh and n_known == 0:
        # hasIdenticalListElements of 1.0 does not expect an empty collection.
        return _NO_SUCH_ELEMENT, written
    if identical and not fresh:
        in_turn = _fullest_first(subscriptions, topics, group, number_of, claims, past, lists, named_by)
    else:
        in_turn = by_popularity(wants)
    unassigned = _nobodys(in_turn, lists)
    was_empty = lists.sizes.max() == 0
    assign_to_lightest(unassigned, lists, wants, owner, identical)
    odd = odd or names_twice(wants)
    failure, lists = balance(
        lists, wants, owner, past.previous, unassigned, in_turn, False, 0, odd, identical, was_empty
    )
    if failure != _NONE:
        return failure, written
    hidden = np.zeros(lists.used[0], np.bool_)
    return _NONE, write_lists(written, first_member, group, lists, claims.topics, claims.numbers, hidden)


@kernel
def _nobodys(in_turn: Ints32, lists: Lists) -> Ints32:
    """Partitions that nobody has."""
    unassigned = np.empty(len(in_turn), np.int32)
    n = 0
    for partition in in_turn:
        if lists.node_of[partition] < 0:
            unassigned[n] = partition
            n += 1
    return unassigned[:n]


@kernel
def _identical_subscriptions(wants: Wants) -> bool:
    """``areSubscriptionsIdentical``: every member wants every known topic."""
    n_topics = len(wants.hashes)
    seen = np.full(n_topics, -1, np.int32)
    for member in range(len(wants.most)):
        distinct = 0
        for topic in wants.wanted[wants.topics[member] : wants.topics[member + 1]]:
            if seen[topic] != member:
                seen[topic] = member
                distinct += 1
        if distinct != n_topics:
            return False
    return True


@kernel
def _believe_latest(
    group: Numbering, past: History, wants: Wants, identical: bool, lists: Lists, owner: Ints32
) -> None:
    """Give each partition to its latest owner, if that one still wants it; the order is that of a hash map."""
    n_known = group.first_partition[-1]
    wanted = wants.wanted if identical else _wanted(wants)
    members, partitions = np.empty(len(past.partitions), np.int32), np.empty(len(past.partitions), np.int32)
    n = 0
    for partition in past.partitions:
        if partition < n_known:
            member = past.current[partition]
            owner[partition] = member
            if identical or _is_wanted(wants.topics, wanted, member, wants.topic_of[partition]):
                members[n], partitions[n] = member, partition
                n += 1
                lists.sizes[member] += 1
    append_all(lists, members[:n], partitions[:n])


@kernel
def _believe_all(group: Numbering, claims: Claims, wants: Wants, identical: bool, lists: Lists, owner: Ints32) -> bool:
    """Let every member keep all that it says to own and still wants.

    Tells whether a partition stands twice, or in the list of another member than the one that counts as its owner (the
    last to claim it, wanted or not).
    """
    n_known = group.first_partition[-1]
    wanted = wants.wanted if identical else _wanted(wants)
    members, partitions = np.empty(len(claims.partitions), np.int32), np.empty(len(claims.partitions), np.int32)
    n = 0
    for i in range(len(group.members)):
        member = group.in_map_order[i]
        for partition in claims.partitions[claims.offsets[i] : claims.offsets[i + 1]]:
            if partition < n_known:
                owner[partition] = member
                if identical or _is_wanted(wants.topics, wanted, member, wants.topic_of[partition]):
                    members[n], partitions[n] = member, partition
                    n += 1
                    lists.sizes[member] += 1
    append_all(lists, members[:n], partitions[:n])
    for node in range(n):
        if lists.nodes[node, OTHER] >= 0 or lists.nodes[node, OWNER] != owner[lists.nodes[node, PARTITION]]:
            return True
    return False


@kernel
def _wanted(wants: Wants) -> Ints32:
    """Each member's topics, sorted, so that one is found by halving."""
    wanted = np.empty(len(wants.wanted), np.int32)
    filled = wants.topics[:-1].copy()
    for topic in range(len(wants.hashes)):
        for member in wants.members[wants.subscribers[topic] : wants.subscribers[topic + 1]]:
            wanted[filled[member]] = topic
            filled[member] += 1
    return wanted


@kernel
def _is_wanted(offsets: Ints32, wanted: Ints32, member: int, topic: int) -> bool:
    low, high = offsets[member], offsets[member + 1]
    while low < high:
        middle = (low + high) // 2
        if wanted[middle] < topic:
            low = middle + 1
        else:
            high = middle
    return low < offsets[member + 1] and wanted[low] == topic


@kernel
def _fullest_first(
    subscriptions: Subscriptions,
    topics: Topics,
    group: Numbering,
    number_of: Ints32,
    claims: Claims,
    past: History,
    lists: Lists,
    named_by: Ints32,
) -> Ints32:
    """Take partitions from whoever has the most left, in turn; then come those that nobody has (``sortPartitions``).

    Of a member first those go that another had before, in the order of their hash map, then the others as they lie.
    """
    n_members, n_known = len(group.members), group.first_partition[-1]
    in_turn = np.empty(lists.used[0] + n_known, np.int32)
    returning, first_returning = _returning(topics, claims, past, lists, n_members, n_known)
    taken = np.zeros(lists.used[0], np.bool_)
    following = lists.ends[:, FIRST].copy()
    filled = 0
    for member in _rounds(lists.sizes):
        if first_returning[member] < first_returning[n_members + member]:
            node = lists.node_of[returning[first_returning[member]]]
            first_returning[member] += 1
        else:
            node = following[member]
            while taken[node]:
                node = lists.nodes[node, AFTER]
            following[member] = lists.nodes[node, AFTER]
        taken[node] = True
        in_turn[filled] = lists.nodes[node, PARTITION]
        filled += 1
    for partition in _all_in_map_order(subscriptions, topics, group, number_of, claims, named_by):
        if lists.node_of[partition] < 0:
            in_turn[filled] = partition
            filled += 1
    return in_turn[:filled]


@kernel
def _returning(
    topics: Topics, claims: Claims, past: History, lists: Lists, n_members: int, n_known: int
) -> tuple[Ints32, Ints32]:
    """Each member's partitions that another had before: where they begin, and behind it where they end, by member."""
    before = past.partitions[past.previous[past.partitions] != _NOBODY]
    bounds = np.zeros(2 * n_members, np.int32)
    returning = np.empty(len(before), np.int32)
    if len(before) == 0:
        return returning, bounds
    counts = np.zeros(n_members + 1, np.int32)
    for partition in before:
        if partition < n_known and lists.node_of[partition] >= 0:
            counts[lists.nodes[lists.node_of[partition], OWNER] + 1] += 1
    for member in range(n_members):
        counts[member + 1] += counts[member]
    bounds[:n_members] = counts[:n_members]
    bounds[n_members:] = counts[:n_members]
    for partition in partitions_in_map_order(claims.topics, claims.numbers, topics, before):
        if partition < n_known and lists.node_of[partition] >= 0:
            member = lists.nodes[lists.node_of[partition], OWNER]
            returning[bounds[n_members + member]] = partition
            bounds[n_members + member] += 1
    return returning, bounds


@kernel
def _rounds(sizes: Ints32) -> Ints32:
    """Members in the order in which whoever has the most partitions left gives one; of equal ones the last by id."""
    most = sizes.max()
    starts = np.zeros(most + 1, np.int32)
    for size in sizes:
        starts[:size] += 1
    place = 0
    for left in range(most, -1, -1):
        starts[left], place = place, place + starts[left]
    rounds = np.empty(place, np.int32)
    for member in range(len(sizes) - 1, -1, -1):
        for left in range(sizes[member]):
            rounds[starts[left]] = member
            starts[left] += 1
    return rounds


@kernel
def _all_in_map_order(
    subscriptions: Subscriptions,
    topics: Topics,
    group: Numbering,
    number_of: Ints32,
    claims: Claims,
    named_by: Ints32,
) -> Ints32:
    """All known partitions in the order of the map of their potential consumers.

    Its keys come from the map of the known topics, and that one's from the set of all topics that members name.
    ``named_by`` is UNKNOWN for every topic of the batch and is left so.
    """
    room = 0
    for m in group.members:
        room += subscriptions.offsets[m + 1] - subscriptions.offsets[m]
    named = np.empty(room, np.int32)
    n_named = 0
    for member in group.in_map_order:
        m = group.members[member]
        for topic in subscriptions.topics[subscriptions.offsets[m] : subscriptions.offsets[m + 1]]:
            if named_by[topic] == UNKNOWN:
                named_by[topic] = member
                named[n_named] = topic
                n_named += 1
    named = named[:n_named]
    named_by[named] = UNKNOWN
    hashes = topics.hashes[named]
    order = java_order(hashes, np.arange(n_named).astype(np.int32), java_table_size(n_named))
    known = order[topics.partitions[named[order]] > 0]
    partitions = np.empty(group.first_partition[-1], np.int32)
    filled = 0
    for place in java_order(hashes, known, java_table_size(len(known))):
        topic = number_of[named[place]]
        for partition in range(group.first_partition[topic], group.first_partition[topic + 1]):
            partitions[filled] = partition
            filled += 1
    return partitions_in_map_order(claims.topics, claims.numbers, topics, partitions)
