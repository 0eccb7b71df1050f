"""``roundrobin`` as kafka-python assigns it (``roundrobin.py`` of 3.0.12).

All partitions, sorted by topic and number, go to the members that are remembered in turn. Passing over a member that
does not subscribe to a topic fails: it takes the next one for a member id, which is a pair of ids, and raises
KeyError. Topics are those of all members, the forgotten ones too.
"""

import numpy as np

from rebalance_sim.kafka.assignors.client_member_order import as_joined, as_told_by, remembered_by_kafka_python
from rebalance_sim.kafka.assignors.range import collect
from rebalance_sim.kafka.groups import Failure, Groups, Outcome, Subscribers, Topics, subscribers, topics_by_name
from rebalance_sim.kafka.kernel import kernel
from rebalance_sim.kafka.strings import Ints32
from rebalance_sim.versions import KafkaVersion

_KEY_ERROR = int(Failure.KEY_ERROR)


def assign(groups: Groups, topics: Topics, version: KafkaVersion) -> Outcome:
    """Assign the partitions of every group of a batch."""
    told = as_told_by(version, groups)
    joined = as_joined(told, int(version.coordinator_map))
    by_topic = subscribers(told, joined, joined, len(topics.partitions), count_repeats=False)
    offsets, members = remembered_by_kafka_python(joined, told.members, told)
    return _deal(len(joined), offsets, members, topics, by_topic, topics_by_name(topics, by_topic))


@kernel
def _deal(
    n_members: int, offsets: Ints32, remembered: Ints32, topics: Topics, by_topic: Subscribers, order: Ints32
) -> Outcome:
    """Deal to the members remembered of each group g: ``offsets[g]`` to ``offsets[g + 1]``."""
    n_groups = len(offsets) - 1
    first_partition = np.zeros(len(order) + 1, np.int32)
    for entry in range(len(order)):
        first_partition[entry + 1] = first_partition[entry] + max(topics.partitions[by_topic.topics[entry]], 0)
    owners = np.full(first_partition[len(order)], -1, np.int32)
    last_wanted = np.full(n_members, -1, np.int32)
    errors = np.zeros(n_groups, np.int32)
    for g in range(n_groups):
        first, end = by_topic.group_topics[g], by_topic.group_topics[g + 1]
        turn = offsets[g]
        for entry in order[first:end]:
            for m in by_topic.members[by_topic.offsets[entry] : by_topic.offsets[entry + 1]]:
                last_wanted[m] = entry
            for place in range(first_partition[entry], first_partition[entry + 1]):
                m = remembered[turn]
                if last_wanted[m] != entry:
                    errors[g] = _KEY_ERROR
                owners[place] = m
                turn = turn + 1 if turn + 1 < offsets[g + 1] else offsets[g]
        if errors[g] != 0:
            owners[first_partition[first] : first_partition[end]] = -1
    return Outcome(collect(n_members, by_topic, first_partition, owners, order), errors)
