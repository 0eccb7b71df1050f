"""The partitions of the leader's topics for all members in turn: the rule of the JavaScript libraries.

Topics to which the leader does not subscribe are left out, and members get partitions of topics to which they do not
subscribe.
"""

import numpy as np

from rebalance_sim.kafka.groups import Assignments, Groups, TopicArrays, append_partition, empty_lists
from rebalance_sim.kafka.runtime.kernel import kernel
from rebalance_sim.kafka.runtime.strings import Ints32


@kernel
def assign_leaders_topics(groups: Groups, in_turn: Ints32, topics: TopicArrays) -> Assignments:
    """Assign the topics of each group's leader, in its order.

    The leader is the member that joined first; ``in_turn`` lists the members of the first group, of the second, ...
    """
    of_members, offsets, named = groups.subscriptions
    # A list names a topic once for these libraries, which keep topics in a set.
    last_group = np.full(len(topics.partitions), -1, np.int32)
    firsts = np.zeros(len(groups.members), np.int32)
    leaders_topics = np.empty(len(named), np.int32)
    sizes = np.zeros(len(in_turn) + 1, np.int32)
    n = 0
    for g in range(len(groups.members) - 1):
        start, end = groups.members[g], groups.members[g + 1]
        total = 0
        if end > start:
            leaders_list = of_members[start]
            for k in range(offsets[leaders_list], offsets[leaders_list + 1]):
                if last_group[named[k]] != g and topics.partitions[named[k]] > 0:
                    last_group[named[k]] = g
                    if n == len(leaders_topics):
                        leaders_topics = np.concatenate((leaders_topics, np.empty(n, np.int32)))
                    leaders_topics[n] = named[k]
                    total += topics.partitions[named[k]]
                    n += 1
        for i in range(start, end):
            sizes[in_turn[i] + 1] = total // (end - start) + (1 if i - start < total % (end - start) else 0)
        firsts[g + 1] = n
    lists, cursor = empty_lists(sizes)
    for g in range(len(groups.members) - 1):
        turn = groups.members[g]
        for topic in leaders_topics[firsts[g] : firsts[g + 1]]:
            for partition in range(topics.partitions[topic]):
                append_partition(lists, cursor, in_turn[turn], topic, partition)
                turn = turn + 1 if turn + 1 < groups.members[g + 1] else groups.members[g]
    return lists
