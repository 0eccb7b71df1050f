"""The members of a group that kafka-python's assignors do not lose, sorted (``range.py``, ``roundrobin.py`` of 3.0.12).

It separates static from dynamic members with ``itertools.groupby`` without sorting first. ``groupby`` groups neighbours
only, and each run of a kind replaces the run before it: the members of all runs but the last of each kind are lost, and
get no partitions. The remaining static members come first, sorted by instance id, then the dynamic ones by member id.
"""

import numpy as np

from rebalance_sim.kafka.assignors.steps.join_response import merge_sort
from rebalance_sim.kafka.groups import Groups
from rebalance_sim.kafka.runtime.kernel import kernel
from rebalance_sim.kafka.runtime.strings import Ints32


@kernel
def remaining_members(order: Ints32, sections: Ints32, groups: Groups) -> tuple[Ints32, Ints32]:
    """Return the members that are not lost in each ``order[sections[s]:sections[s + 1]]``, sorted.

    Those of section s are entries ``offsets[s]`` to ``offsets[s + 1]`` of the second array; ``offsets`` is the first.
    """
    offsets = np.zeros(len(sections), np.int32)
    members = np.empty(len(order), np.int32)
    n = 0
    for s in range(len(sections) - 1):
        for dynamic in range(2):
            start = n
            place = sections[s + 1] - 1
            while place >= sections[s] and groups.instance_first[order[place]] != dynamic:
                place -= 1
            while place >= sections[s] and groups.instance_first[order[place]] == dynamic:
                members[n] = order[place]
                n += 1
                place -= 1
            merge_sort(members[start:n], groups)
        offsets[s + 1] = n
    return offsets, members[:n]
