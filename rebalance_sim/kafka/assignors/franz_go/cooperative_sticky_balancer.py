"""franz-go's ``cooperative-sticky`` balancer (``BalancePlan.AdjustCooperative`` of 1.22) for groups with one topic.

It plans as ``sticky`` does. A partition that another member claims goes to its new owner in the next rebalance, unless
the new owner claims it, too, and no claim is of a later generation.
"""

import numpy as np

from rebalance_sim.kafka.assignors.franz_go.sticky_balancer import planned
from rebalance_sim.kafka.groups import NO_GENERATION, AssignmentOutcome, Groups, Subscribers, TopicArrays
from rebalance_sim.kafka.runtime.kernel import kernel
from rebalance_sim.kafka.runtime.strings import Ints32
from rebalance_sim.releases import KafkaVersion


def assign(groups: Groups, topics: TopicArrays, version: KafkaVersion) -> AssignmentOutcome:
    """Assign the partitions of every group of a batch; other groups than these fail as UNDETERMINED."""
    plan = planned(groups, topics, version)
    _withhold(plan.seen, topics, plan.by_topic, plan.places, plan.owners)
    return plan.outcome(topics)


@kernel
def _withhold(groups: Groups, topics: TopicArrays, by_topic: Subscribers, places: Ints32, owners: Ints32) -> None:
    """Leave out the partitions that another member has to revoke first."""
    owned, generations = groups.owned, groups.generations
    latest = np.full(len(owners), NO_GENERATION, np.int64)
    revoked, kept = np.zeros(len(owners), np.bool_), np.zeros(len(owners), np.bool_)
    base = np.full(len(topics.partitions), -1, np.int32)
    for g in range(len(groups.members) - 1):
        for entry in range(by_topic.group_topics[g], by_topic.group_topics[g + 1]):
            base[by_topic.topics[entry]] = places[entry]
        for reading in range(2):
            for m in range(groups.members[g], groups.members[g + 1]):
                for k in range(owned.offsets[m], owned.offsets[m + 1]):
                    topic, partition = owned.topics[k], owned.partitions[k]
                    if base[topic] < 0 or partition < 0 or partition >= topics.partitions[topic]:
                        continue
                    place = base[topic] + partition
                    if reading == 0:
                        latest[place] = max(latest[place], generations[m])
                        revoked[place] |= owners[place] != m
                    else:
                        kept[place] |= owners[place] == m and generations[m] >= latest[place]
        for entry in range(by_topic.group_topics[g], by_topic.group_topics[g + 1]):
            base[by_topic.topics[entry]] = -1
    for place in range(len(owners)):
        if revoked[place] and not kept[place]:
            owners[place] = -1
