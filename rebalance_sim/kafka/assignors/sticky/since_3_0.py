"""The sticky assignors since 3.0 (``AbstractStickyAssignor``): ``sticky`` and ``cooperative-sticky``.

If all members have the same subscription, ``ConstrainedAssignmentBuilder`` assigns the group, otherwise
``GeneralAssignmentBuilder``.
"""

import numpy as np

from rebalance_sim.kafka.assignors.sticky.claims import newest_claims, number_claims, resolve_claims
from rebalance_sim.kafka.assignors.sticky.constrained import assign_constrained
from rebalance_sim.kafka.assignors.sticky.current_assignment import write_nothing
from rebalance_sim.kafka.assignors.sticky.general import assign_general
from rebalance_sim.kafka.assignors.sticky.numbered_group import forget_topics, number_group, sticky_batch
from rebalance_sim.kafka.assignors.sticky.racks import racks_of, without_racks
from rebalance_sim.kafka.groups import (
    NO_RACK,
    AssignmentFailure,
    AssignmentOutcome,
    Assignments,
    Groups,
    TopicArrays,
    map_order,
    sorted_order,
)
from rebalance_sim.kafka.runtime.kernel import kernel
from rebalance_sim.kafka.runtime.strings import Ints32
from rebalance_sim.releases import KafkaVersion, StickyRules

_NONE = int(AssignmentFailure.NONE)
_CLAIM_GENERATIONS = int(StickyRules.CLAIM_GENERATIONS)


def assign(groups: Groups, topics: TopicArrays, version: KafkaVersion, cooperative: bool) -> AssignmentOutcome:
    """Assign the partitions of every group of a batch."""
    in_map_order = map_order(groups)
    in_id_order = sorted_order(groups, in_map_order, static_members_first=False)
    rack_count = 0
    if version.rack_aware and (groups.member_racks != NO_RACK).any():
        rack_count = max(int(max(groups.member_racks.max(), topics.racks.max(initial=-1))) + 1, 1)
    return _assign(groups, topics, in_map_order, in_id_order, rack_count, int(version.sticky), cooperative)


@kernel
def _assign(
    groups: Groups,
    topics: TopicArrays,
    in_map_order: Ints32,
    in_id_order: Ints32,
    rack_count: int,
    rules: int,
    cooperative: bool,
) -> AssignmentOutcome:
    member_count = len(groups.member_racks)
    errors = np.zeros(len(groups.members) - 1, np.int32)
    batch = sticky_batch(groups, topics, in_map_order, in_id_order, rules)
    room = max(16, len(groups.owned.topics))
    written = Assignments(np.zeros(member_count + 1, np.int32), np.empty(room, np.int32), np.empty(room, np.int32))
    no_racks = without_racks()
    for g in range(len(errors)):
        start, end = groups.members[g], groups.members[g + 1]
        if start == end:
            continue
        group = number_group(batch, g)
        claims = number_claims(groups.owned, topics.partitions, group, True)
        if rules < _CLAIM_GENERATIONS:
            owned = newest_claims(claims, group.generations, rules)
        else:
            owned = resolve_claims(claims, group.generations, rules)
        racks = racks_of(groups, topics, group, claims, rack_count) if rack_count > 0 else no_racks
        if group.alike == end - start:
            errors[g], written = assign_constrained(batch, group, claims, owned, racks, cooperative, written)
        else:
            errors[g], written = assign_general(batch, group, claims, owned, racks, cooperative, written)
        if errors[g] != _NONE:
            written = write_nothing(written, start, end)
        forget_topics(group)
    total = written.offsets[member_count]
    return AssignmentOutcome(Assignments(written.offsets, written.topics[:total], written.partitions[:total]), errors)
