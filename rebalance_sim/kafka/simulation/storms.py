"""Rebalance storms: many rebalances of one group in a short time."""

from typing import NamedTuple

import numpy as np

from rebalance_sim.defaults import STORM_REBALANCES, STORM_WINDOW_MS
from rebalance_sim.kafka.runtime.kernel import kernel
from rebalance_sim.kafka.runtime.strings import Ints, Ints32


class Storms(NamedTuple):
    """The definition of a storm: this many rebalances that begin within a window."""

    rebalances: int = STORM_REBALANCES
    window_ms: int = STORM_WINDOW_MS


@kernel
def count_storms(groups: int, group_of_rebalance: Ints, from_ms: Ints, storms: Storms) -> Ints32:
    """Count the storms of each group: windows that do not overlap and hold enough beginnings of rebalances.

    The rebalances of a group are in order of time; a window opens with the first one that no earlier window holds.
    """
    counts = np.zeros(groups, np.int32)
    opened = np.full(groups, -storms.window_ms - 1, np.int64)
    inside = np.zeros(groups, np.int32)
    for k in range(len(group_of_rebalance)):
        group = group_of_rebalance[k]
        if from_ms[k] - opened[group] >= storms.window_ms:
            opened[group] = from_ms[k]
            inside[group] = 0
        inside[group] += 1
        if inside[group] == storms.rebalances:
            counts[group] += 1
    return counts
