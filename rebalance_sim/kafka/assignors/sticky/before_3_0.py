"""The sticky assignors before 3.0: ``StickyAssignor`` (KIP-54), since 2.4 ``AbstractStickyAssignor``.

0.11 to 2.2 accept every member's claim, so that two members may be assigned the same partition (KAFKA-7026). 2.3 adds
the generation to the user data (KIP-341): the latest claim counts, and a partition moves back to its previous owner if
that improves the balance. 2.4 adds the cooperative protocol (KIP-429), and 2.5.1 an algorithm of its own for members
with equal subscriptions (``constrained_before_3_0``).
"""

import numpy as np

from rebalance_sim.kafka.assignors.sticky.claims import (
    Claims,
    PriorOwners,
    newest_claims,
    number_claims,
    partitions_in_map_order,
    prior_owners,
    without_first_members,
)
from rebalance_sim.kafka.assignors.sticky.constrained_before_3_0 import assign_constrained_before_3_0
from rebalance_sim.kafka.assignors.sticky.current_assignment import (
    CurrentAssignment,
    append_all,
    new_assignment,
    write_lists,
    write_nothing,
)
from rebalance_sim.kafka.assignors.sticky.general import hide_transferring
from rebalance_sim.kafka.assignors.sticky.numbered_group import (
    NOBODY,
    NumberedGroup,
    PotentialConsumers,
    StickyBatch,
    forget_topics,
    members_of,
    number_group,
    partitions_by_popularity,
    potential_consumers,
    some_member_repeats_a_topic,
    sticky_batch,
    topics_of,
)
from rebalance_sim.kafka.assignors.sticky.reassignments import BalanceInput, assign_to_lightest, balance
from rebalance_sim.kafka.groups import (
    NO_GENERATION,
    AssignmentFailure,
    AssignmentOutcome,
    Assignments,
    Groups,
    TopicArrays,
    map_order,
    sorted_order,
)
from rebalance_sim.kafka.runtime.hash_order import java_order, java_table_size
from rebalance_sim.kafka.runtime.kernel import kernel
from rebalance_sim.kafka.runtime.strings import Ints32
from rebalance_sim.releases import StickyRules

_NONE = int(AssignmentFailure.NONE)
_NULL_POINTER = int(AssignmentFailure.NULL_POINTER)
_NO_SUCH_ELEMENT = int(AssignmentFailure.NO_SUCH_ELEMENT)
_GENERATIONS = int(StickyRules.GENERATIONS)
_NEW_PARTITIONS_FIRST = int(StickyRules.NEW_PARTITIONS_FIRST)
_CONSTRAINED = int(StickyRules.CONSTRAINED)
_NO_DOUBLE_CLAIMS = int(StickyRules.NO_DOUBLE_CLAIMS)
_LISTED = -2
"""Mark of a topic in ``StickyBatch.seen`` while a group's topics are listed."""


def assign(groups: Groups, topics: TopicArrays, rules: StickyRules, cooperative: bool) -> AssignmentOutcome:
    """Assign the partitions of every group of a batch."""
    in_map_order = map_order(groups)
    in_id_order = sorted_order(groups, in_map_order, static_members_first=False)
    return _assign(groups, topics, in_map_order, in_id_order, int(rules), cooperative)


@kernel
def _assign(
    groups: Groups, topics: TopicArrays, in_map_order: Ints32, in_id_order: Ints32, rules: int, cooperative: bool
) -> AssignmentOutcome:
    member_count = len(groups.member_racks)
    errors = np.zeros(len(groups.members) - 1, np.int32)
    batch = sticky_batch(groups, topics, in_map_order, in_id_order, rules)
    room = max(16, len(groups.owned.topics))
    written = Assignments(np.zeros(member_count + 1, np.int32), np.empty(room, np.int32), np.empty(room, np.int32))
    for g in range(len(errors)):
        start, end = groups.members[g], groups.members[g + 1]
        if start == end:
            continue
        if rules < _GENERATIONS and _names_unknown_topic(batch, g):
            # Before 2.3 the assignor unboxes the number of partitions of every topic that a member names.
            errors[g] = _NULL_POINTER
            written = write_nothing(written, start, end)
            continue
        group = number_group(batch, g)
        # KAFKA-9987, 2.5.1: equal subscriptions have an algorithm of their own (constrainedAssign).
        if rules >= _CONSTRAINED and group.alike == end - start:
            claims = number_claims(batch.owned, batch.partitions, group, True)
            owned = newest_claims(claims, group.generations, rules)
            errors[g], written = assign_constrained_before_3_0(group, claims, owned, cooperative, written)
        else:
            errors[g], written = _assign_group(batch, group, cooperative, written)
        if errors[g] != _NONE:
            written = write_nothing(written, start, end)
        forget_topics(group)
    total = written.offsets[member_count]
    return AssignmentOutcome(Assignments(written.offsets, written.topics[:total], written.partitions[:total]), errors)


@kernel
def _names_unknown_topic(batch: StickyBatch, g: int) -> bool:
    """Return whether a member subscribes to a topic that does not exist or has no partitions."""
    of_members, offsets, topics = batch.subscriptions
    last = -1
    for of in of_members[batch.members[g] : batch.members[g + 1]]:
        if of == last:
            continue
        last = of
        for topic in topics[offsets[of] : offsets[of + 1]]:
            if batch.partitions[topic] <= 0:
                return True
    return False


@kernel
def _assign_group(
    batch: StickyBatch, group: NumberedGroup, cooperative: bool, written: Assignments
) -> tuple[int, Assignments]:
    """Assign a group and append its lists to ``written``; returns the failure, too."""
    n_known = group.first_partition[-1]
    claims = number_claims(batch.owned, batch.partitions, group, False)
    if batch.rules >= _CONSTRAINED:
        # allSubscriptionsEqual has read the user data of the members before the first that differs, and without a
        # rewind (KAFKA-12464, 3.0) it cannot be read again: sticky loses their claims, cooperative-sticky generations.
        if cooperative:
            group.generations[: group.alike] = NO_GENERATION
        else:
            claims = without_first_members(claims, group.alike)
    potential = potential_consumers(batch, group, group.number_of[claims.topics])
    current = new_assignment(len(group.members), len(claims.topics), len(claims.partitions) + 2 * n_known)
    identical = _identical_subscriptions(potential)
    irregular, revoked = False, False
    if batch.rules >= _GENERATIONS:
        # KIP-341, 2.3: the latest claim on a partition counts, the claim before it is its previous owner.
        user_data_has_generation = cooperative and batch.rules >= _NO_DOUBLE_CLAIMS
        prior = prior_owners(claims, batch.hashes, group, user_data_has_generation)
        fresh = len(prior.partitions) == 0
        revoked = _keep_latest(group, prior, potential, identical, current)
    else:
        # Every claim counts, so that two members may keep the same partition (KAFKA-7026).
        nothing = np.empty(0, np.int32)
        prior = PriorOwners(nothing, nothing, np.full(len(claims.topics), NOBODY, np.int32))
        fresh = len(claims.partitions) == 0 and (group.generations == NO_GENERATION).all()
        irregular = _keep_all(group, claims, potential, identical, current)
    if batch.rules < _GENERATIONS and not fresh and n_known == 0:
        # hasIdenticalListElements of these releases asks an empty collection for its first element.
        return _NO_SUCH_ELEMENT, written
    # sortPartitions: with equal subscriptions, members with many partitions give theirs first; else by popularity.
    if identical and not fresh and batch.rules < _CONSTRAINED:
        sorted_partitions = _most_loaded_first(batch, group, claims, prior, current)
    else:
        sorted_partitions = partitions_by_popularity(potential)
    unassigned = _unassigned(sorted_partitions, current)
    initializing = current.sizes.max() == 0
    assign_to_lightest(unassigned, current, potential, identical)
    balanced = BalanceInput(
        potential,
        prior.previous,
        sorted_partitions,
        unassigned,
        batch.rules >= _NEW_PARTITIONS_FIRST and not revoked,
        0,
        irregular or some_member_repeats_a_topic(potential),
        identical,
        initializing,
    )
    failure, current = balance(current, balanced)
    if failure != _NONE:
        return failure, written
    hidden = np.zeros(current.used[0], np.bool_)
    if cooperative:
        hide_transferring(current, potential, claims, group.in_map_order, hidden)
    return _NONE, write_lists(written, group, current, claims, hidden)


@kernel
def _unassigned(sorted_partitions: Ints32, current: CurrentAssignment) -> Ints32:
    """Return the partitions that are in no member's list."""
    unassigned = np.empty(len(sorted_partitions), np.int32)
    n = 0
    for partition in sorted_partitions:
        if current.newest[partition] < 0:
            unassigned[n] = partition
            n += 1
    return unassigned[:n]


@kernel
def _identical_subscriptions(potential: PotentialConsumers) -> bool:
    """Return ``areSubscriptionsIdentical``: whether every member subscribes to every known topic."""
    n_topics = len(potential.hashes)
    seen = np.full(n_topics, -1, np.int32)
    for member in range(len(potential.max_sizes)):
        distinct = 0
        for topic in topics_of(potential, member):
            if seen[topic] != member:
                seen[topic] = member
                distinct += 1
        if distinct != n_topics:
            return False
    return True


@kernel
def _keep_latest(
    group: NumberedGroup, prior: PriorOwners, potential: PotentialConsumers, identical: bool, current: CurrentAssignment
) -> bool:
    """Keep each partition with the member of its latest claim if that still subscribes to the topic, in map order.

    Returns whether a member has to revoke a partition because it does not subscribe any more (``revocationRequired``).
    """
    n_known = group.first_partition[-1]
    sorted_topics = potential.topics if identical else _sorted_topics(potential)
    members, partitions = np.empty(len(prior.partitions), np.int32), np.empty(len(prior.partitions), np.int32)
    n, revoked = 0, False
    for partition in prior.partitions:
        if partition < n_known:
            member = prior.current[partition]
            current.owner[partition] = member
            if identical or _subscribes(potential, sorted_topics, member, potential.topic_of[partition]):
                members[n], partitions[n] = member, partition
                n += 1
                current.sizes[member] += 1
            else:
                revoked = True
    append_all(current, members[:n], partitions[:n])
    return revoked


@kernel
def _keep_all(
    group: NumberedGroup, claims: Claims, potential: PotentialConsumers, identical: bool, current: CurrentAssignment
) -> bool:
    """Keep every claimed partition to whose topic the member still subscribes.

    Returns whether the group is irregular: a partition is in two lists, or in the list of another member than its
    owner, which is the last member to claim it, subscribed or not.
    """
    n_known = group.first_partition[-1]
    sorted_topics = potential.topics if identical else _sorted_topics(potential)
    members, partitions = np.empty(len(claims.partitions), np.int32), np.empty(len(claims.partitions), np.int32)
    n = 0
    for i in range(len(group.members)):
        member = group.in_map_order[i]
        for partition in claims.partitions[claims.offsets[i] : claims.offsets[i + 1]]:
            if partition < n_known:
                current.owner[partition] = member
                if identical or _subscribes(potential, sorted_topics, member, potential.topic_of[partition]):
                    members[n], partitions[n] = member, partition
                    n += 1
                    current.sizes[member] += 1
    append_all(current, members[:n], partitions[:n])
    for node in range(n):
        if current.older[node] >= 0 or current.member[node] != current.owner[current.partition[node]]:
            return True
    return False


@kernel
def _sorted_topics(potential: PotentialConsumers) -> Ints32:
    """Return ``potential.topics`` with each member's topics sorted, for a binary search."""
    topics = np.empty(len(potential.topics), np.int32)
    filled = potential.topic_offsets[:-1].copy()
    for topic in range(len(potential.hashes)):
        for member in members_of(potential, topic):
            topics[filled[member]] = topic
            filled[member] += 1
    return topics


@kernel
def _subscribes(potential: PotentialConsumers, sorted_topics: Ints32, member: int, topic: int) -> bool:
    """Return whether a member subscribes to a topic."""
    low, high = potential.topic_offsets[member], potential.topic_offsets[member + 1]
    end = high
    while low < high:
        middle = (low + high) // 2
        if sorted_topics[middle] < topic:
            low = middle + 1
        else:
            high = middle
    return low < end and sorted_topics[low] == topic


@kernel
def _most_loaded_first(
    batch: StickyBatch, group: NumberedGroup, claims: Claims, prior: PriorOwners, current: CurrentAssignment
) -> Ints32:
    """Return the partitions of the member with the most left, in turn, then the unassigned ones (``sortPartitions``).

    A member's partitions with a previous owner come first, in the order of their hash map, so that they move back
    before others move; then the rest of its list.
    """
    member_count, n_known = len(group.members), group.first_partition[-1]
    sorted_partitions = np.empty(current.used[0] + n_known, np.int32)
    returning, returning_start, returning_end = _returning(batch, claims, prior, current, member_count, n_known)
    taken = np.zeros(current.used[0], np.bool_)
    following, after = current.links.first.copy(), current.links.after
    filled = 0
    for member in _rounds(current.sizes):
        if returning_start[member] < returning_end[member]:
            node = current.newest[returning[returning_start[member]]]
            returning_start[member] += 1
        else:
            node = following[member]
            while taken[node]:
                node = after[node]
            following[member] = after[node]
        taken[node] = True
        sorted_partitions[filled] = current.partition[node]
        filled += 1
    for partition in _all_in_map_order(batch, group, claims):
        if current.newest[partition] < 0:
            sorted_partitions[filled] = partition
            filled += 1
    return sorted_partitions[:filled]


@kernel
def _returning(
    batch: StickyBatch, claims: Claims, prior: PriorOwners, current: CurrentAssignment, member_count: int, n_known: int
) -> tuple[Ints32, Ints32, Ints32]:
    """Return the partitions with a previous owner, by member, and where those of each member start and end."""
    before = prior.partitions[prior.previous[prior.partitions] != NOBODY]
    starts, ends = np.zeros(member_count, np.int32), np.zeros(member_count, np.int32)
    returning = np.empty(len(before), np.int32)
    if len(before) == 0:
        return returning, starts, ends
    counts = np.zeros(member_count + 1, np.int32)
    for partition in before:
        if partition < n_known and current.newest[partition] >= 0:
            counts[current.member[current.newest[partition]] + 1] += 1
    for member in range(member_count):
        counts[member + 1] += counts[member]
    starts[:] = counts[:member_count]
    ends[:] = starts
    for partition in partitions_in_map_order(claims, batch.hashes, before):
        if partition < n_known and current.newest[partition] >= 0:
            member = current.member[current.newest[partition]]
            returning[ends[member]] = partition
            ends[member] += 1
    return returning, starts, ends


@kernel
def _rounds(sizes: Ints32) -> Ints32:
    """Return the members in the order in which ``sortPartitions`` takes a partition from the one with the most left.

    Between members with equally many it is the last by id (``TreeSet.pollLast``).
    """
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
def _all_in_map_order(batch: StickyBatch, group: NumberedGroup, claims: Claims) -> Ints32:
    """Return all known partitions in the order of ``partition2AllPotentialConsumers``, a ``HashMap``.

    Its keys are put in the order of the map of known topics, and those in the order of the set of all names.
    """
    of_members, offsets, topics = batch.subscriptions
    seen, room = batch.seen, 0
    for m in group.members:
        room += offsets[of_members[m] + 1] - offsets[of_members[m]]
    named = np.empty(room, np.int32)
    n_named = 0
    for member in group.in_map_order:
        of = of_members[group.members[member]]
        for topic in topics[offsets[of] : offsets[of + 1]]:
            if seen[topic] != _LISTED:
                seen[topic] = _LISTED
                named[n_named] = topic
                n_named += 1
    named = named[:n_named]
    seen[named] = -1
    hashes = batch.hashes[named]
    order = java_order(hashes, np.arange(n_named).astype(np.int32), java_table_size(n_named))
    known = order[batch.partitions[named[order]] > 0]
    partitions = np.empty(group.first_partition[-1], np.int32)
    filled = 0
    for place in java_order(hashes, known, java_table_size(len(known))):
        topic = group.number_of[named[place]]
        for partition in range(group.first_partition[topic], group.first_partition[topic + 1]):
            partitions[filled] = partition
            filled += 1
    return partitions_in_map_order(claims, batch.hashes, partitions)
