"""brod's ``roundrobin_v2`` strategy (``brod_group_coordinator.erl`` of 3.3.3 to 4.6), its default.

All partitions, sorted by topic and number, go in turn to the members; one that does not subscribe to the topic is
skipped. The members are in the order of the JoinGroup response; since 3.7.1 the leader comes first
(``ensure_leader_at_hd``). The leader fails if a topic does not exist (``get_partitions_count``).
"""

import numpy as np

from rebalance_sim.kafka.assignors.steps.failures import name_unknown_topics, without_unknown_topics
from rebalance_sim.kafka.assignors.steps.join_response import listed_members
from rebalance_sim.kafka.assignors.steps.turns import assign_in_turn
from rebalance_sim.kafka.groups import AssignmentOutcome, Groups, TopicArrays
from rebalance_sim.kafka.runtime.kernel import kernel
from rebalance_sim.kafka.runtime.strings import Ints32
from rebalance_sim.releases import KafkaVersion


def assign(groups: Groups, topics: TopicArrays, version: KafkaVersion) -> AssignmentOutcome:
    """Assign the partitions of every group of a batch."""
    _, listed = listed_members(groups, version)
    return _assign(groups, _leader_first(groups.members, listed), topics)


def assign_before_3_7_1(groups: Groups, topics: TopicArrays, version: KafkaVersion) -> AssignmentOutcome:
    """Assign the partitions of every group of a batch as releases do that do not put the leader first."""
    _, listed = listed_members(groups, version)
    return _assign(groups, listed, topics)


def _assign(groups: Groups, in_turn: Ints32, topics: TopicArrays) -> AssignmentOutcome:
    outcome = assign_in_turn(groups, in_turn, topics)
    return without_unknown_topics(groups, outcome, name_unknown_topics(groups, topics, only_leaders=False))


@kernel
def _leader_first(members: Ints32, listed: Ints32) -> Ints32:
    """Return the members of each group with the leader, which joined first, before the others."""
    in_turn = np.empty(len(listed), np.int32)
    n = 0
    for g in range(len(members) - 1):
        leader, end = members[g], members[g + 1]
        if leader < end:
            in_turn[n] = leader
            n += 1
        for m in listed[leader:end]:
            if m != leader:
                in_turn[n] = m
                n += 1
    return in_turn
