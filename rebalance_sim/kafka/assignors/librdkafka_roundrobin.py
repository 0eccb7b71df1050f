"""``roundrobin`` as librdkafka assigns it (``rdkafka_roundrobin_assignor.c``, 2.9 to 2.16): Java's in another order."""

import numpy as np

from rebalance_sim.kafka.assignors import roundrobin
from rebalance_sim.kafka.assignors.client_member_order import as_joined, as_told_by, sort_by_librdkafka
from rebalance_sim.kafka.groups import Groups, Outcome, Topics
from rebalance_sim.kafka.kernel import kernel
from rebalance_sim.kafka.strings import Ints32
from rebalance_sim.versions import KafkaVersion


def assign(groups: Groups, topics: Topics, version: KafkaVersion) -> Outcome:
    """Assign the partitions of every group of a batch."""
    told = as_told_by(version, groups)
    return roundrobin.deal(told, _in_turn(told, as_joined(told, int(version.coordinator_map))), topics)


@kernel
def _in_turn(groups: Groups, joined: Ints32) -> Ints32:
    """Members of each group as they are sorted; those without a subscription, whom a leader leaves out, come last."""
    order = np.empty(len(groups.member_hashes), np.int32)
    sections = np.zeros(2 * len(groups.members) - 1, np.int32)
    n = 0
    for g in range(len(groups.members) - 1):
        for reads in (True, False):
            for m in joined[groups.members[g] : groups.members[g + 1]]:
                if (groups.subscriptions[m + 1] > groups.subscriptions[m]) == reads:
                    order[n] = m
                    n += 1
            sections[2 * g + (1 if reads else 2)] = n
    sort_by_librdkafka(order, sections, groups)
    return order
