"""``AbstractStickyAssignor.GeneralAssignmentBuilder``: the sticky assignors since 3.0 if subscriptions differ.

Members keep the owned partitions that they still subscribe to; the others are assigned, and the group is balanced. With
the cooperative protocol (KIP-429) a member does not get a partition in the rebalance in which its owner loses it.
"""

import numpy as np

from rebalance_sim.kafka.assignors.sticky.claims import AcceptedClaims, Claims, previous_owners
from rebalance_sim.kafka.assignors.sticky.current_assignment import (
    CurrentAssignment,
    append_all,
    new_assignment,
    node_of,
    write_lists,
)
from rebalance_sim.kafka.assignors.sticky.numbered_group import (
    NOBODY,
    NumberedGroup,
    PotentialConsumers,
    StickyBatch,
    members_of,
    partitions_by_popularity,
    potential_consumers,
    some_member_repeats_a_topic,
    topics_of,
)
from rebalance_sim.kafka.assignors.sticky.racks import RackInfo, mismatch
from rebalance_sim.kafka.assignors.sticky.reassignments import BalanceInput, assign_to_lightest, balance
from rebalance_sim.kafka.groups import AssignmentFailure, Assignments
from rebalance_sim.kafka.runtime.kernel import kernel
from rebalance_sim.kafka.runtime.strings import Flags, Ints32
from rebalance_sim.releases import StickyRules

_NONE = int(AssignmentFailure.NONE)
_LARGER_GAP = int(StickyRules.LARGER_GAP)


@kernel
def assign_general(
    batch: StickyBatch,
    group: NumberedGroup,
    claims: Claims,
    owned: AcceptedClaims,
    racks: RackInfo,
    cooperative: bool,
    written: Assignments,
) -> tuple[int, Assignments]:
    """Assign a group and append its lists to ``written``; returns the failure, too (``build``)."""
    n_known = group.first_partition[-1]
    potential = potential_consumers(batch, group, group.number_of[claims.topics])
    _correct_max_sizes(potential, n_known)
    current = new_assignment(len(group.members), len(claims.topics), len(claims.partitions) + n_known)
    irregular, revoked = _keep(group, claims, owned, racks, potential, current)
    sorted_partitions = partitions_by_popularity(potential)
    unassigned = _unassigned(group, sorted_partitions, claims, current, potential)
    # balance keeps the result of the moves in any case if no member had a partition (``initializing``).
    initializing = current.sizes.max() == 0
    remaining = unassigned
    # KIP-881, since 3.5: the subscribers in the racks of a partition come first.
    if racks.matter:
        remaining = _assign_in_racks(unassigned, claims, current, potential, racks)
    assign_to_lightest(remaining, current, potential, False)
    balanced = BalanceInput(
        potential,
        previous_owners(claims, group),
        sorted_partitions,
        unassigned,
        not revoked,
        1 if batch.rules >= _LARGER_GAP else 0,
        irregular or some_member_repeats_a_topic(potential),
        False,
        initializing,
    )
    failure, current = balance(current, balanced)
    if failure != _NONE:
        return failure, written
    hidden = np.zeros(current.used[0], np.bool_)
    # CooperativeStickyAssignor.adjustAssignment (KIP-429).
    if cooperative:
        hide_transferring(current, potential, claims, group.in_map_order, hidden)
    return _NONE, write_lists(written, group, current, claims, hidden)


@kernel
def _correct_max_sizes(potential: PotentialConsumers, n_known: int) -> None:
    """Set ``max_sizes`` as Kafka does for a member that names a topic twice.

    ``getMaxAssignmentSize`` returns the number of all partitions if the member's list of topics is as long as that of
    all topics, without looking at the names.
    """
    for member in range(len(potential.max_sizes)):
        if len(topics_of(potential, member)) == len(potential.hashes):
            potential.max_sizes[member] = n_known


@kernel
def _keep(
    group: NumberedGroup,
    claims: Claims,
    owned: AcceptedClaims,
    racks: RackInfo,
    potential: PotentialConsumers,
    current: CurrentAssignment,
) -> tuple[bool, bool]:
    """Keep the owned partitions that members still subscribe to (``assignOwnedPartitions``).

    Returns whether a partition was kept that no longer exists or that another member keeps, too, and whether one has to
    be revoked (``revocationRequired``).
    """
    n_known = group.first_partition[-1]
    irregular, revoked = False, False
    subscribed_by = np.full(len(group.topics), -1, np.int32)
    members, partitions = np.empty(len(claims.partitions), np.int32), np.empty(len(claims.partitions), np.int32)
    n = 0
    for i in range(len(group.members)):
        low, high = claims.offsets[i], claims.offsets[i + 1]
        if low == high:
            continue
        member = group.in_map_order[i]
        for topic in topics_of(potential, member):
            subscribed_by[topic] = i
        for k in range(low, high):
            # Claims of an older generation, and double claims, are not in consumerToOwnedPartitions.
            if not owned.accepted[k]:
                continue
            partition = claims.partitions[k]
            current.owner[partition] = member
            if subscribed_by[group.number_of[claims.topics[partition]]] != i or (
                racks.matter and mismatch(racks, claims, member, partition, n_known)
            ):
                # revocationRequired: balance then does not try the unassigned partitions first.
                revoked = True
            else:
                # Kafka checks that the topic exists, not the partition.
                members[n], partitions[n] = member, partition
                n += 1
                current.sizes[member] += 1
                irregular = irregular or partition >= n_known
    append_all(current, members[:n], partitions[:n])
    for node in range(n):
        irregular = irregular or current.older[node] >= 0
    return irregular, revoked


@kernel
def _unassigned(
    group: NumberedGroup,
    sorted_partitions: Ints32,
    claims: Claims,
    current: CurrentAssignment,
    potential: PotentialConsumers,
) -> Ints32:
    """Return the partitions that no member keeps (``getUnassignedPartitions``), sorted as all partitions are.

    Kafka merges the sorted lists of kept and of all partitions: at a kept partition that no longer exists the merge
    gets stuck, and all partitions of later topics count as unassigned, although they may be kept. Likewise at one that
    two members keep.
    """
    n_known = len(sorted_partitions)
    blind_topic = np.zeros(len(potential.hashes), np.bool_)
    for partition in current.partition[: current.used[0]]:
        if partition >= n_known:
            blind_topic[group.number_of[claims.topics[partition]]] = True
    unassigned = np.empty(n_known, np.int32)
    n = 0
    blind, topic = False, -1
    for partition in sorted_partitions:
        if potential.topic_of[partition] != topic:
            blind = blind or (topic >= 0 and blind_topic[topic])
            topic = potential.topic_of[partition]
        newest = current.newest[partition]
        if blind or newest < 0:
            unassigned[n] = partition
            n += 1
        else:
            blind = current.older[newest] >= 0
    return unassigned[:n]


@kernel
def _assign_in_racks(
    unassigned: Ints32, claims: Claims, current: CurrentAssignment, potential: PotentialConsumers, racks: RackInfo
) -> Ints32:
    """Assign each partition to the subscriber in its racks with the fewest partitions; return those without one."""
    left = np.empty(len(unassigned), np.int32)
    members, partitions = np.empty(len(unassigned), np.int32), np.empty(len(unassigned), np.int32)
    n, n_left = 0, 0
    for partition in unassigned:
        chosen = NOBODY
        for member in members_of(potential, potential.topic_of[partition]):
            lighter = chosen == NOBODY or (current.sizes[member], member) < (current.sizes[chosen], chosen)
            if lighter and not mismatch(racks, claims, member, partition, potential.first_partition[-1]):
                chosen = member
        if chosen == NOBODY:
            left[n_left] = partition
            n_left += 1
        else:
            members[n], partitions[n] = chosen, partition
            n += 1
            current.sizes[chosen] += 1
            current.owner[partition] = chosen
    append_all(current, members[:n], partitions[:n])
    return left[:n_left]


@kernel
def hide_transferring(
    current: CurrentAssignment, potential: PotentialConsumers, claims: Claims, in_map_order: Ints32, hidden: Flags
) -> None:
    """Hide partitions from their new owner while an old one still owns them.

    ``CooperativeStickyAssignor.computePartitionsTransferringOwnership`` and ``adjustAssignment``: the owner revokes the
    partition first and rejoins (KIP-429). Any claim counts here, also one that was not accepted.
    """
    revoked = np.zeros(len(claims.topics), np.bool_)
    owned_before = np.zeros(current.used[0], np.bool_)
    for i in range(len(in_map_order)):
        member = in_map_order[i]
        for partition in claims.partitions[claims.offsets[i] : claims.offsets[i + 1]]:
            keeps = False
            node = current.newest[partition]
            while node >= 0:
                if current.member[node] == member:
                    keeps = True
                    owned_before[node] = True
                node = current.older[node]
            revoked[partition] = revoked[partition] or not keeps
    for partition in range(len(claims.topics)):
        if revoked[partition]:
            # allAddedPartitions maps a partition that two members get to the one that comes last in the map.
            last = NOBODY
            node = current.newest[partition]
            while node >= 0:
                member = current.member[node]
                if not owned_before[node] and (
                    last == NOBODY or potential.map_place[member] > potential.map_place[last]
                ):
                    last = member
                node = current.older[node]
            if last != NOBODY:
                hidden[node_of(current, last, partition)] = True
