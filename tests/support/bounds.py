"""Whether assignments are within the bounds of their balance."""

from collections.abc import Sequence

import numpy as np

from rebalance_sim.kafka.balance_bounds import Bounds
from rebalance_sim.kafka.runtime.strings import Flags
from tests.support.batches import Batch
from tests.support.model import Assignment


def outside(batch: Batch, bounds: Bounds, assignments: Sequence[Assignment]) -> Flags:
    """Return, by group, whether a figure of its assignment is outside the bounds."""
    figures = batch.measure(assignments)
    within = np.diff(batch.arrays.members) == 0
    within |= (
        (bounds.min <= figures.min)
        & (figures.max <= bounds.max)
        & (bounds.idle_members_min <= figures.idle_members)
        & (figures.idle_members <= bounds.idle_members_max)
        & (bounds.moved_min <= figures.moved)
        & (figures.moved <= bounds.moved_max)
    )
    return ~within
