"""librdkafka's ``cooperative-sticky`` assignor (``rdkafka_sticky_assignor.c``, 2.9 to 2.16) for equal subscriptions.

It is Java's sticky assignor of before 2.4, in an order of its own: partitions that nobody owns are visited in the
reverse of the order in which the broker lists the topics. For up to four topics that is the order of the request (a
``Set`` of Scala), in which the leader puts them as the subscriptions name them; for more it is not reproduced.

Groups with different subscriptions are not predicted: librdkafka then uses pointers into lists that it has changed.
Nor are groups with racks, and those in which the order of more than four topics, claims of several generations, or a
partition that moves twice decides.
"""

from typing import NamedTuple

import numpy as np

from rebalance_sim.kafka.assignors.steps.byte_order import in_byte_order
from rebalance_sim.kafka.assignors.steps.join_response import listed_members, without_instance_ids
from rebalance_sim.kafka.assignors.steps.metadata_order import LISTED_AS_REQUESTED
from rebalance_sim.kafka.assignors.steps.rack_matching import has_rack
from rebalance_sim.kafka.assignors.steps.ranges import first_partitions
from rebalance_sim.kafka.groups import (
    AssignmentFailure,
    AssignmentOutcome,
    Groups,
    Subscribers,
    TopicArrays,
    append_partition,
    empty_lists,
    subscribers,
    topics_by_name,
)
from rebalance_sim.kafka.runtime.kernel import kernel
from rebalance_sim.kafka.runtime.sorting import stable_order
from rebalance_sim.kafka.runtime.strings import Flags, Ints, Ints32
from rebalance_sim.releases import KafkaVersion

_NONE, _UNDETERMINED = int(AssignmentFailure.NONE), int(AssignmentFailure.UNDETERMINED)
_NOBODY = -1


def assign(groups: Groups, topics: TopicArrays, version: KafkaVersion) -> AssignmentOutcome:
    """Assign the partitions of every group of a batch; other groups than these fail as UNDETERMINED."""
    seen, listed = listed_members(groups, version)
    in_id_order = in_byte_order(without_instance_ids(seen))
    by_topic = subscribers(seen, listed, listed, len(topics.partitions), count_repeats=False)
    by_name = topics_by_name(topics, by_topic)
    return _assign(seen, topics, by_topic, by_name, first_partitions(topics, by_topic), listed, in_id_order)


@kernel
def _assign(
    groups: Groups,
    topics: TopicArrays,
    by_topic: Subscribers,
    by_name: Ints32,
    places: Ints32,
    listed: Ints32,
    in_id_order: Ints32,
) -> AssignmentOutcome:
    owners, errors = np.full(places[-1], _NOBODY, np.int32), np.zeros(len(groups.members) - 1, np.int32)
    returned = np.zeros(len(groups.owned.topics), np.bool_)
    base = np.full(len(topics.partitions), -1, np.int32)
    ranks = np.full(len(groups.member_racks), _NOBODY, np.int32)
    for g in range(len(errors)):
        first, end = by_topic.group_topics[g], by_topic.group_topics[g + 1]
        start, room = places[first], places[end] - places[first]
        joined = _with_topics(groups, listed[groups.members[g] : groups.members[g + 1]])
        ids = _with_topics(groups, in_id_order[groups.members[g] : groups.members[g + 1]])
        shares = _share_a_rack(groups.member_racks[joined], topics, by_topic.topics[first:end])
        if shares or not _are_alike(first, end, topics, by_topic, len(joined)):
            errors[g] = _UNDETERMINED
            continue
        for i in range(len(ids)):
            ranks[ids[i]] = i
        for entry in range(first, end):
            base[by_topic.topics[entry]] = places[entry] - start
        claims = _claims(groups, topics, base, joined, ranks, room)
        named = _by_name(by_name[first:end], places, start)
        if _depends_on_topics(first, end, places, claims):
            errors[g] = _UNDETERMINED
        else:
            errors[g] = _balance(claims, named, len(ids))
        if errors[g] == _NONE:
            for place in range(room):
                owner = claims.owners[place]
                claimed_by_another = claims.last[place] != _NOBODY and claims.last[place] != owner
                # It goes to its new owner in the next rebalance.
                if owner != _NOBODY and not claimed_by_another:
                    owners[start + place] = ids[owner]
            _return_others(groups, topics, base, joined, returned)
        for entry in range(first, end):
            base[by_topic.topics[entry]] = -1
    return _outcome(groups, by_topic, by_name, places, owners, returned, errors)


@kernel
def _with_topics(groups: Groups, members: Ints32) -> Ints32:
    """Leave out members without topics, whose subscriptions librdkafka does not accept."""
    of_members, offsets, _ = groups.subscriptions
    kept = np.empty(len(members), np.int32)
    n = 0
    for m in members:
        if offsets[of_members[m] + 1] > offsets[of_members[m]]:
            kept[n] = m
            n += 1
    return kept[:n]


@kernel
def _are_alike(first: int, end: int, topics: TopicArrays, by_topic: Subscribers, n_members: int) -> bool:
    """Return whether all members subscribe to the same topics, of those that exist (``areSubscriptionsIdentical``)."""
    for entry in range(first, end):
        if topics.partitions[by_topic.topics[entry]] > 0 and by_topic.end[entry] - by_topic.first[entry] != n_members:
            return False
    return True


@kernel
def _share_a_rack(member_racks: Ints32, topics: TopicArrays, named: Ints32) -> bool:
    """Return whether a member shares a rack with a replica of these topics."""
    for rack in member_racks:
        if rack < 0:
            continue
        for topic in named:
            for partition in range(topics.partitions[topic]):
                if has_rack(topics, topic, partition, rack):
                    return True
    return False


class _Claims(NamedTuple):
    """By partition, the members that claim it, as places among the members sorted by id, or _NOBODY."""

    owners: Ints32
    """The claim of the latest generation; _NOBODY if two claims are of the same generation."""
    previous: Ints32
    """The claim of the generation before it."""
    last: Ints32
    """The last claim in the order of the JoinGroup response, whatever its generation."""


@kernel
def _claims(groups: Groups, topics: TopicArrays, base: Ints32, joined: Ints32, ranks: Ints32, room: int) -> _Claims:
    """Return the claims that count (``prepopulateCurrentAssignments``)."""
    claims = _Claims(
        np.full(room, _NOBODY, np.int32), np.full(room, _NOBODY, np.int32), np.full(room, _NOBODY, np.int32)
    )
    n = 0
    for m in joined:
        n += groups.owned.offsets[m + 1] - groups.owned.offsets[m]
    places, generations, members = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int32)
    n = 0
    for m in joined:
        for k in range(groups.owned.offsets[m], groups.owned.offsets[m + 1]):
            if _exists(groups, topics, base, k):
                places[n] = base[groups.owned.topics[k]] + groups.owned.partitions[k]
                generations[n], members[n] = groups.generations[m], ranks[m]
                claims.last[places[n]] = ranks[m]
                n += 1
    in_order = stable_order(generations[:n])
    in_order = in_order[stable_order(places[in_order])]
    repeated = np.zeros(room, np.bool_)
    for i in range(n):
        k = in_order[i]
        place = places[k]
        if i > 0 and places[in_order[i - 1]] == place:
            repeated[place] |= generations[in_order[i - 1]] == generations[k]
        claims.previous[place], claims.owners[place] = claims.owners[place], members[k]
    for place in range(room):
        if repeated[place]:
            claims.owners[place] = claims.previous[place] = _NOBODY
    return claims


@kernel
def _exists(groups: Groups, topics: TopicArrays, base: Ints32, k: int) -> bool:
    """Return whether an owned partition is one of those to be assigned."""
    topic, partition = groups.owned.topics[k], groups.owned.partitions[k]
    return base[topic] >= 0 and 0 <= partition < topics.partitions[topic]


@kernel
def _by_name(entries: Ints32, places: Ints32, start: int) -> Ints32:
    """Return the partitions of a group, sorted by topic and number."""
    last = 0
    for entry in entries:
        last += places[entry + 1] - places[entry]
    named = np.empty(last, np.int32)
    n = 0
    for entry in entries:
        for place in range(places[entry], places[entry + 1]):
            named[n] = place - start
            n += 1
    return named


@kernel
def _depends_on_topics(first: int, end: int, places: Ints32, claims: _Claims) -> bool:
    """Return whether the order of topics decides, and it is not that of the request."""
    if end - first <= LISTED_AS_REQUESTED or (claims.owners == _NOBODY).all():
        return False
    topics_with_free = 0
    for entry in range(first, end):
        free = claims.owners[places[entry] - places[first] : places[entry + 1] - places[first]] == _NOBODY
        topics_with_free += free.any()
    return topics_with_free > 1


@kernel
def _balance(claims: _Claims, named: Ints32, n_members: int) -> int:
    """Assign free partitions and balance (``balance``); returns an ``AssignmentFailure``."""
    owners = claims.owners
    held = np.zeros(n_members, np.int64)
    disputed = (owners != _NOBODY) & (claims.last != owners)
    for owner in owners:
        if owner != _NOBODY:
            held[owner] += 1
    in_order, free = _sorted_partitions(claims, named, held)
    for place in free:
        owners[place] = np.argmin(held)
        held[owners[place]] += 1
    if n_members < 2:
        return _NONE
    took = np.zeros(n_members, np.bool_)
    if not _reassign(free, claims, held, disputed, took) or not _reassign(in_order, claims, held, disputed, took):
        return _UNDETERMINED
    return _NONE


@kernel
def _sorted_partitions(claims: _Claims, named: Ints32, held: Ints) -> tuple[Ints32, Ints32]:
    """Return all partitions in the order in which they are visited, and the free ones among them (``sortPartitions``).

    The members with the most partitions list one each, in the reverse order of their ids, first those that somebody
    else claims of the generation before. Then follow the free partitions.
    """
    owners = claims.owners
    if held.sum() == 0:
        return named, named
    ends = np.cumsum(held)
    next_place, lists = ends - held, np.empty(ends[-1], np.int32)
    for claimed_before in (True, False):
        for place in named:
            owner = owners[place]
            if owner != _NOBODY and (claims.previous[place] != _NOBODY) == claimed_before:
                lists[next_place[owner]] = place
                next_place[owner] += 1
    in_order = np.empty(len(owners), np.int32)
    n = 0
    for left in range(held.max(), 0, -1):
        for i in range(len(held) - 1, -1, -1):
            if held[i] >= left:
                in_order[n] = lists[ends[i] - left]
                n += 1
    listed = n
    for place in range(len(owners) - 1, -1, -1):
        if owners[place] == _NOBODY:
            in_order[n] = place
            n += 1
    return in_order, in_order[listed:].copy()


@kernel
def _reassign(in_order: Ints32, claims: _Claims, held: Ints, disputed: Flags, took: Flags) -> bool:
    """Move partitions until the loads differ by at most one (``performReassignments``).

    A partition moves to the member that claims it of the generation before, or else to the one with the fewest. Returns
    False if what librdkafka does is not reproduced: it takes a disputed partition from the wrong member, and if a
    member that took one gives one, it may move another partition instead.
    """
    moved = True
    while moved:
        moved = False
        for place in in_order:
            if held.max() <= held.min() + 1:
                return True
            giver, taker = claims.owners[place], claims.previous[place]
            if disputed[place]:
                return False
            if taker == _NOBODY or held[giver] <= held[taker] + 1:
                taker = np.argmin(held)
            if held[giver] <= held[taker] + 1:
                continue
            if took[giver]:
                return False
            claims.owners[place] = taker
            held[giver] -= 1
            held[taker] += 1
            took[taker] = moved = True
    return True


@kernel
def _return_others(groups: Groups, topics: TopicArrays, base: Ints32, joined: Ints32, returned: Flags) -> None:
    """Return owned partitions that are not to be assigned to the last member that claims them."""
    n = 0
    for m in joined:
        n += groups.owned.offsets[m + 1] - groups.owned.offsets[m]
    keys, claims = np.empty(n, np.int64), np.empty(n, np.int64)
    n = 0
    for m in joined:
        for k in range(groups.owned.offsets[m], groups.owned.offsets[m + 1]):
            if not _exists(groups, topics, base, k):
                keys[n] = np.int64(groups.owned.topics[k]) << 32 | np.int64(groups.owned.partitions[k])
                claims[n] = k
                n += 1
    in_order = stable_order(keys[:n])
    for i in range(n):
        returned[claims[in_order[i]]] = i == n - 1 or keys[in_order[i]] != keys[in_order[i + 1]]


@kernel
def _outcome(
    groups: Groups,
    by_topic: Subscribers,
    by_name: Ints32,
    places: Ints32,
    owners: Ints32,
    returned: Flags,
    errors: Ints32,
) -> AssignmentOutcome:
    """Return the members' lists: sorted by topic and number, then the partitions that are returned."""
    owned, sizes = groups.owned, np.zeros(len(groups.member_racks) + 1, np.int32)
    for owner in owners:
        if owner != _NOBODY:
            sizes[owner + 1] += 1
    for m in range(len(groups.member_racks)):
        sizes[m + 1] += returned[owned.offsets[m] : owned.offsets[m + 1]].sum()
    lists, cursor = empty_lists(sizes)
    for entry in by_name:
        for place in range(places[entry], places[entry + 1]):
            if owners[place] != _NOBODY:
                append_partition(lists, cursor, owners[place], by_topic.topics[entry], place - places[entry])
    for m in range(len(groups.member_racks)):
        for k in range(owned.offsets[m], owned.offsets[m + 1]):
            if returned[k]:
                append_partition(lists, cursor, m, owned.topics[k], owned.partitions[k])
    return AssignmentOutcome(lists, errors)
