"""The coordinator's ``uniform`` assignor (``UniformAssignor``, Kafka 4.x, the default of ``group.protocol=consumer``).

Members that all subscribe to the same names (``UniformHomogeneousAssignmentBuilder``) keep what they own up to their
quota; what is left fills up those below it. Others (``UniformHeterogeneousAssignmentBuilder``) keep all they still
subscribe to; what nobody owns goes to the least loaded subscribers, and then, topic by topic, partitions move from the
most to the least loaded ones.

``owned`` is the group's target assignment. A partition that several members own, or that does not exist, is no target
of a coordinator's; it has the effect that it would have in Kafka's classes.
"""

from typing import NamedTuple

import numpy as np

from rebalance_sim.kafka.groups import Assignments, Failure, Groups, Outcome, Subscribers, Topics, subscribers
from rebalance_sim.kafka.hash_order import java_copy_size, java_order, java_table_size
from rebalance_sim.kafka.kernel import kernel
from rebalance_sim.kafka.server_groups import (
    partition_key,
    sorted_sets,
    specification_order,
    uuid_hashes,
    uuid_ranks,
)
from rebalance_sim.kafka.strings import Ints, Ints32
from rebalance_sim.versions import KafkaVersion

_ARRAY_INDEX = int(Failure.ARRAY_INDEX)
_PARTITION_ASSIGNOR = int(Failure.PARTITION_ASSIGNOR)
_ROUNDS = 16
"""``MAX_ITERATION_COUNT`` of the balancing over all topics."""


def assign(groups: Groups, topics: Topics, version: KafkaVersion) -> Outcome:
    """Assign the partitions of every group of a batch."""
    return assign_in_order(groups, topics, specification_order(groups), version.uniform_keeps_extra_partitions)


def assign_in_order(groups: Groups, topics: Topics, order: Ints32, keeps_extra: bool) -> Outcome:
    """Assign with the members of each group given in ``order``."""
    by_topic = subscribers(groups, order, order, len(topics.partitions), count_repeats=False)
    ids = _Ids(uuid_hashes(topics.ids), uuid_ranks(topics.ids))
    holders, keys, errors = _assign(groups, topics, ids, order, by_topic, keeps_extra)
    return Outcome(sorted_sets(len(order), holders, keys, topics.ranks), errors)


class _Ids(NamedTuple):
    """The topic ids of a batch."""

    hashes: Ints
    ranks: Ints


class _Room(NamedTuple):
    """The partitions of a group's known topics as places, numbered through."""

    base: Ints32
    """Place of partition 0, by topic; -1 for a topic that is not the group's or not in the metadata."""
    wanted_by: Ints32
    """By topic, the member that was looked at last and subscribes to it."""
    claimed_by: Ints32
    """By place, the member that was looked at last and owns it."""


class _ByMember(NamedTuple):
    """What the second builder notes by member of the batch."""

    loads: Ints32
    """Partitions that the member has by now."""
    last: Ints32
    """The last partition of a topic that the member may give up."""


class _Holdings(NamedTuple):
    """Pairs of a member and the key of a partition that it has; room for all that a batch can come to."""

    holders: Ints32
    keys: Ints


@kernel
def _hold(out: _Holdings, filled: int, m: int, key: int) -> int:
    out.holders[filled] = m
    out.keys[filled] = key
    return filled + 1


@kernel
def _assign(
    groups: Groups, topics: Topics, ids: _Ids, order: Ints32, by_topic: Subscribers, keeps_extra: bool
) -> tuple[Ints32, Ints, Ints32]:
    total, largest = len(groups.owned.partitions), 0
    for g in range(len(groups.members) - 1):
        in_group = 0
        for topic in by_topic.topics[by_topic.group_topics[g] : by_topic.group_topics[g + 1]]:
            in_group += max(topics.partitions[topic], 0)
        total += in_group
        largest = max(largest, in_group)
    out = _Holdings(np.empty(total, np.int32), np.empty(total, np.int64))
    room = _Room(
        np.full(len(topics.partitions), -1, np.int32),
        np.full(len(topics.partitions), -1, np.int32),
        np.full(largest, -1, np.int32),
    )
    by_member = _ByMember(np.zeros(len(order), np.int32), np.empty(len(order), np.int32))
    errors = np.zeros(len(groups.members) - 1, np.int32)
    filled = 0
    for g in range(len(groups.members) - 1):
        first, end = by_topic.group_topics[g], by_topic.group_topics[g + 1]
        places, known = 0, False
        for topic in by_topic.topics[first:end]:
            if topics.partitions[topic] >= 0:
                known = True
                room.base[topic] = places
                places += topics.partitions[topic]
        if known:
            room.claimed_by[:places] = -1
            members = order[groups.members[g] : groups.members[g + 1]]
            before = filled
            if _same_subscriptions(by_topic, first, end, len(members)):
                filled = _assign_alike(groups, topics, ids, room, members, places, keeps_extra, out, filled)
            else:
                filled = _assign_unlike(groups, topics, ids, room, members, by_topic, g, by_member, out, filled)
            if filled < 0:
                errors[g] = -filled
                filled = before
        for topic in by_topic.topics[first:end]:
            room.base[topic] = -1
    return out.holders[:filled], out.keys[:filled], errors


@kernel
def _same_subscriptions(by_topic: Subscribers, first: int, end: int, n_members: int) -> bool:
    """``ModernGroup.subscriptionType``: every name is subscribed to by all, also a name that no topic has."""
    for entry in range(first, end):
        if by_topic.offsets[entry + 1] - by_topic.offsets[entry] != n_members:
            return False
    return True


# ---- the same subscriptions


@kernel
def _assign_alike(
    groups: Groups,
    topics: Topics,
    ids: _Ids,
    room: _Room,
    members: Ints32,
    places: int,
    keeps_extra: bool,
    out: _Holdings,
    filled: int,
) -> int:
    """Assign a group of equal subscriptions; returns how much of ``out`` is filled, or minus the failure."""
    free, n_free = _unassigned(groups, topics, ids, room, members, places)
    least, extras = places // len(members), places % len(members)
    below = np.empty(len(members), np.int32)
    missing = np.empty(len(members), np.int32)
    n_below = 0
    for i in range(len(members)):
        m = members[i]
        quota = least + (1 if extras > 0 else 0)
        has_extra = extras > 0
        mine = _owned_once(groups.owned, topics.partitions, room, m)
        if len(mine) <= quota:
            for k in mine:
                key = partition_key(topics.ranks[groups.owned.topics[k]], groups.owned.partitions[k])
                filled = _hold(out, filled, m, key)
            quota -= len(mine)
        else:
            filled, n_free = _revoke(groups.owned, topics.ranks, ids.hashes, m, mine, quota, out, filled, free, n_free)
            quota = 0
        if has_extra and keeps_extra and quota > 0 and len(members) - i > extras:
            # Somebody behind may own one partition more already; the last ones must take what is left.
            quota -= 1
            has_extra = False
        if quota > 0:
            below[n_below], missing[n_below] = m, quota
            n_below += 1
        if has_extra:
            extras -= 1
    given = 0
    for i in range(n_below):
        for _ in range(min(missing[i], n_free - given)):
            filled = _hold(out, filled, below[i], free[given])
            given += 1
    return filled if given == n_free else -_PARTITION_ASSIGNOR


@kernel
def _unassigned(
    groups: Groups, topics: Topics, ids: _Ids, room: _Room, members: Ints32, places: int
) -> tuple[Ints, int]:
    """Keys of the partitions that nobody owns, topics in the order of a ``HashSet`` of their ids.

    The set has room for as many topics as there are names, and is filled in the order of the first member's names.
    The array has room for all that may be revoked.
    """
    owned = 0
    for m in members:
        for k in range(groups.owned.offsets[m], groups.owned.offsets[m + 1]):
            owned += 1
            topic, partition = groups.owned.topics[k], groups.owned.partitions[k]
            if room.base[topic] >= 0 and partition < topics.partitions[topic]:
                room.claimed_by[room.base[topic] + partition] = m
    free = np.empty(places + owned, np.int64)
    n_free = 0
    for topic in _topic_order(groups, topics, ids, room, members[0]):
        for partition in range(topics.partitions[topic]):
            if room.claimed_by[room.base[topic] + partition] < 0:
                free[n_free] = partition_key(topics.ranks[topic], partition)
                n_free += 1
    room.claimed_by[:places] = -1
    return free, n_free


@kernel
def _topic_order(groups: Groups, topics: Topics, ids: _Ids, room: _Room, m: int) -> Ints32:
    """Known topics of a member in the order of a ``HashSet`` of ids.

    The member's names are in a ``HashSet`` made of the one that was made of its list.
    """
    first, end = groups.subscriptions[m], groups.subscriptions[m + 1]
    names = np.empty(end - first, np.int32)
    n = 0
    for topic in groups.topics[first:end]:
        if room.wanted_by[topic] != m:
            room.wanted_by[topic] = m
            names[n] = topic
            n += 1
    sent = java_order(topics.hashes, names[:n], java_copy_size(end - first))
    kept = java_order(topics.hashes, sent, java_copy_size(n))
    return java_order(ids.hashes, kept[topics.partitions[kept] >= 0], java_copy_size(n))


@kernel
def _revoke(
    owned: Assignments,
    ranks: Ints,
    id_hashes: Ints,
    m: int,
    mine: Ints32,
    quota: int,
    out: _Holdings,
    filled: int,
    free: Ints,
    n_free: int,
) -> tuple[int, int]:
    """Keep what the member owns up to its quota, and free the rest (``maybeRevokePartitions``).

    Returns how much of ``out`` and of ``free`` is filled.
    """
    for topic in _owned_topic_order(owned, id_hashes, m):
        of_topic = mine[owned.topics[mine] == topic]
        if len(of_topic) > quota:
            numbers = owned.partitions[of_topic].astype(np.int64)
            listed = np.arange(len(numbers)).astype(np.int32)
            of_topic = of_topic[java_order(numbers, listed, java_copy_size(len(numbers)))]
        for k in of_topic:
            key = partition_key(ranks[topic], owned.partitions[k])
            if quota > 0:
                quota -= 1
                filled = _hold(out, filled, m, key)
            else:
                free[n_free] = key
                n_free += 1
    return filled, n_free


@kernel
def _owned_once(owned: Assignments, partitions: Ints32, room: _Room, m: int) -> Ints32:
    """Entries of ``owned`` of the group's topics, each partition once."""
    first, end = owned.offsets[m], owned.offsets[m + 1]
    mine = np.empty(end - first, np.int32)
    n = 0
    for k in range(first, end):
        topic = owned.topics[k]
        base = room.base[topic]
        if base < 0:
            continue
        if owned.partitions[k] < partitions[topic]:
            place = base + owned.partitions[k]
            new = room.claimed_by[place] != m
            room.claimed_by[place] = m
        else:
            new = not _named_before(owned, m, k)
        if new:
            mine[n] = k
            n += 1
    return mine[:n]


@kernel
def _named_before(owned: Assignments, m: int, k: int) -> bool:
    """Tell whether the member names the partition of its entry k before that entry."""
    for other in range(owned.offsets[m], k):
        if owned.topics[other] == owned.topics[k] and owned.partitions[other] == owned.partitions[k]:
            return True
    return False


@kernel
def _owned_topic_order(owned: Assignments, id_hashes: Ints, m: int) -> Ints32:
    """Topics that a member owns partitions of, in the order of a ``HashMap`` of ids; also those that are gone.

    As the member was given them, by ``computeIfAbsent``, which puts a newcomer at the head of its bucket; from there
    they were written and read, which keeps the order inside a bucket.
    """
    first, end = owned.offsets[m], owned.offsets[m + 1]
    named = np.empty(end - first, np.int32)
    n = 0
    for topic in owned.topics[first:end]:
        at = n - 1
        while at >= 0 and named[at] != topic:
            at -= 1
        if at < 0:
            named[n] = topic
            n += 1
    return java_order(id_hashes, named[:n][::-1].copy(), java_table_size(n))


# ---- different subscriptions


class _Lost(NamedTuple):
    """Partitions that a member owns but another one has been counted as owner of."""

    members: Ints32
    places: Ints32
    """Place of the partition; -1 once the member was given it."""
    keys: Ints


@kernel
def _assign_unlike(
    groups: Groups,
    topics: Topics,
    ids: _Ids,
    room: _Room,
    members: Ints32,
    by_topic: Subscribers,
    g: int,
    by_member: _ByMember,
    out: _Holdings,
    filled: int,
) -> int:
    """Assign a group of unequal subscriptions; returns how much of ``out`` is filled, or minus the failure.

    ``loads`` is 0 for the members of the group.
    """
    entries = _sorted_topics(topics, ids, by_topic, by_topic.group_topics[g], by_topic.group_topics[g + 1])
    places = 0
    for entry in entries:
        places += topics.partitions[by_topic.topics[entry]]
    owners = np.full(places, -1, np.int32)
    lost, exists = _take_over(groups, topics, room, members, owners, by_member.loads)
    if not exists:
        return -_ARRAY_INDEX
    _assign_free(topics, room, by_topic, entries, owners, by_member.loads, lost)
    _balance(topics, room, by_topic, entries, owners, by_member, lost)
    for entry in entries:
        topic = by_topic.topics[entry]
        for partition in range(topics.partitions[topic]):
            key = partition_key(topics.ranks[topic], partition)
            filled = _hold(out, filled, owners[room.base[topic] + partition], key)
    for i in range(len(lost.members)):
        if lost.places[i] >= 0:
            filled = _hold(out, filled, lost.members[i], lost.keys[i])
    return filled


@kernel
def _sorted_topics(topics: Topics, ids: _Ids, by_topic: Subscribers, first: int, end: int) -> Ints32:
    """Entries of the known topics: most partitions a subscriber first, then fewest subscribers, then by id."""
    entries = np.empty(end - first, np.int32)
    per_subscriber = np.empty(end - first, np.float64)
    n = 0
    for entry in range(first, end):
        topic = by_topic.topics[entry]
        if topics.partitions[topic] < 0:
            continue
        count = by_topic.offsets[entry + 1] - by_topic.offsets[entry]
        entries[n] = entry
        per_subscriber[n] = -topics.partitions[topic] / count
        n += 1
    entries = entries[:n]
    counts = by_topic.offsets[entries + 1] - by_topic.offsets[entries]
    order = np.argsort(ids.ranks[by_topic.topics[entries]])
    order = order[np.argsort(counts[order], kind="mergesort")]
    order = order[np.argsort(per_subscriber[:n][order], kind="mergesort")]
    return entries[order]


@kernel
def _take_over(
    groups: Groups, topics: Topics, room: _Room, members: Ints32, owners: Ints32, loads: Ints32
) -> tuple[_Lost, bool]:
    """Let members keep what they own and still subscribe to; tells also whether all of that exists."""
    lost = _Lost(np.empty(16, np.int32), np.empty(16, np.int32), np.empty(16, np.int64))
    n_lost = 0
    for m in members:
        for topic in groups.topics[groups.subscriptions[m] : groups.subscriptions[m + 1]]:
            room.wanted_by[topic] = m
        for k in _owned_once(groups.owned, topics.partitions, room, m):
            topic, partition = groups.owned.topics[k], groups.owned.partitions[k]
            if room.wanted_by[topic] != m:
                continue
            if partition >= topics.partitions[topic]:
                return lost, False
            place = room.base[topic] + partition
            if owners[place] >= 0:
                if n_lost == len(lost.members):
                    lost = _Lost(
                        np.append(lost.members, lost.members),
                        np.append(lost.places, lost.places),
                        np.append(lost.keys, lost.keys),
                    )
                lost.members[n_lost], lost.places[n_lost] = owners[place], place
                lost.keys[n_lost] = partition_key(topics.ranks[topic], partition)
                n_lost += 1
            owners[place] = m
            loads[m] += 1
    return _Lost(lost.members[:n_lost], lost.places[:n_lost], lost.keys[:n_lost]), True


@kernel
def _give(owners: Ints32, loads: Ints32, lost: _Lost, place: int, m: int) -> None:
    """Give a partition to a member, away from the owner if there is one (``assignPartition``)."""
    if owners[place] >= 0:
        loads[owners[place]] -= 1
    owners[place] = m
    loads[m] += 1
    for i in range(len(lost.members)):
        if lost.members[i] == m and lost.places[i] == place:
            lost.places[i] = -1


class _Least(NamedTuple):
    """The least loaded of sorted members, the first ``end`` of them, who are given partitions in turn."""

    end: int
    load: int
    """What each of them has, or more."""
    following: int
    """Who is next."""


@kernel
def _next_least(least: _Least, by_load: Ints32, loads: Ints32) -> _Least:
    """Choose who is given the next partition: the member before ``following`` of the answer.

    Once all have been given one, those that have just as much join them.
    """
    end, load, following = least.end, least.load, least.following
    if following >= end:
        load += 1
        while end < len(by_load) and loads[by_load[end]] == load:
            end += 1
        following = 0
    return _Least(end, load, following + 1)


class _Most(NamedTuple):
    """The most loaded of sorted members, from ``start`` to ``end``, who give up partitions in turn, the last first."""

    start: int
    end: int
    """Those behind have nothing of the topic to give up."""
    load: int
    following: int


_NOBODY = -2
"""``_Most.following`` where nobody is left who could give up a partition."""


@kernel
def _next_most(most: _Most, by_load: Ints32, loads: Ints32) -> _Most:
    """Choose who gives up the next partition: the member behind ``following`` of the answer."""
    start, load, following = most.start, most.load, most.following
    if following < start:
        if most.end <= start and start > 0:
            load = loads[by_load[start - 1]]
        else:
            load -= 1
        while start > 0 and loads[by_load[start - 1]] == load:
            start -= 1
        following = most.end - 1
    return _Most(start, most.end, load, following - 1 if following >= 0 else _NOBODY)


@kernel
def _leave_out(most: _Most, by_load: Ints32) -> _Most:
    """Move the member that was chosen last behind the most loaded: it has nothing to give up."""
    at, last = most.following + 1, most.end - 1
    by_load[at], by_load[last] = by_load[last], by_load[at]
    return _Most(most.start, last, most.load, most.following)


@kernel
def _sorted_by_load(members: Ints32, loads: Ints32) -> Ints32:
    """Sort members by load, stably: by counting, unless the loads lie far apart."""
    fewest, most = loads[members[0]], loads[members[0]]
    for m in members:
        fewest, most = min(fewest, loads[m]), max(most, loads[m])
    if most - fewest > 4 * len(members) + 16:
        return members[np.argsort(loads[members], kind="mergesort")]
    starts = np.zeros(most - fewest + 2, np.int32)
    for m in members:
        starts[loads[m] - fewest + 1] += 1
    for load in range(most - fewest + 1):
        starts[load + 1] += starts[load]
    by_load = np.empty(len(members), np.int32)
    for m in members:
        by_load[starts[loads[m] - fewest]] = m
        starts[loads[m] - fewest] += 1
    return by_load


@kernel
def _assign_free(
    topics: Topics, room: _Room, by_topic: Subscribers, entries: Ints32, owners: Ints32, loads: Ints32, lost: _Lost
) -> None:
    """Give what nobody owns to the least loaded subscribers (``assignRemainingPartitions``)."""
    for entry in entries:
        topic = by_topic.topics[entry]
        first, end = room.base[topic], room.base[topic] + topics.partitions[topic]
        if not (owners[first:end] < 0).any():
            continue
        by_load = _sorted_by_load(by_topic.members[by_topic.offsets[entry] : by_topic.offsets[entry + 1]], loads)
        least = _Least(0, loads[by_load[0]] - 1, 0)
        for place in range(first, end):
            if owners[place] < 0:
                least = _next_least(least, by_load, loads)
                _give(owners, loads, lost, place, by_load[least.following - 1])


@kernel
def _balance(
    topics: Topics,
    room: _Room,
    by_topic: Subscribers,
    entries: Ints32,
    owners: Ints32,
    by_member: _ByMember,
    lost: _Lost,
) -> None:
    """Even out topic after topic, round after round, until a whole round moves nothing (``balanceTopics``)."""
    counts = by_topic.offsets[entries + 1] - by_topic.offsets[entries]
    shared = entries[counts > 1]
    last_moved = -1
    for _ in range(_ROUNDS):
        for i in range(len(shared)):
            if i == last_moved:
                return
            moved = _balance_topic(topics, room, by_topic, shared[i], owners, by_member, lost)
            if moved or last_moved < 0:
                last_moved = i


@kernel
def _balance_topic(
    topics: Topics,
    room: _Room,
    by_topic: Subscribers,
    entry: int,
    owners: Ints32,
    by_member: _ByMember,
    lost: _Lost,
) -> bool:
    """Move partitions of one topic from the most to the least loaded subscribers; tells whether any moved.

    A member gives up the highest of the partitions that it has at the beginning.
    """
    loads, last_of = by_member.loads, by_member.last
    members = by_topic.members[by_topic.offsets[entry] : by_topic.offsets[entry + 1]]
    fewest, largest = loads[members[0]], loads[members[0]]
    for m in members:
        fewest, largest = min(fewest, loads[m]), max(largest, loads[m])
    if largest - fewest <= 1:
        return False
    by_load = _sorted_by_load(members, loads)
    first = room.base[by_topic.topics[entry]]
    before = np.empty(topics.partitions[by_topic.topics[entry]], np.int32)
    for m in members:
        last_of[m] = -1
    for partition in range(len(before)):
        owner = owners[first + partition]
        before[partition] = last_of[owner]
        last_of[owner] = partition
    least = _Least(0, fewest - 1, 0)
    most = _Most(len(members), len(members), largest + 1, len(members) - 1)
    moved = False
    while most.load - least.load > 1:
        most = _next_most(most, by_load, loads)
        while most.following != _NOBODY and last_of[by_load[most.following + 1]] < 0:
            most = _next_most(_leave_out(most, by_load), by_load, loads)
        if most.following == _NOBODY:
            break
        giver = by_load[most.following + 1]
        partition = last_of[giver]
        last_of[giver] = before[partition]
        least = _next_least(least, by_load, loads)
        if most.load - least.load <= 1:
            break
        _give(owners, loads, lost, first + partition, by_load[least.following - 1])
        moved = True
    return moved
