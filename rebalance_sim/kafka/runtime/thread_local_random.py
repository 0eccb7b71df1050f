"""Java's ``ThreadLocalRandom``, so that a seed gives the numbers that Kafka's own classes would draw.

The algorithm is SplitMix64 (Java 8 and later): a 64-bit state that grows by a constant, and a mix of its bits. Here a
state is two numbers, the higher and the lower 32 bits.
"""

import numpy as np

from rebalance_sim.kafka.runtime.kernel import kernel_in_place
from rebalance_sim.kafka.runtime.strings import Ints

HIGH, LOW = 0, 1
"""Columns of a state."""
_MASK = 0xFFFFFFFF
_LOW_31 = 0x7FFFFFFF
_GAMMA_HIGH, _GAMMA_LOW = 0x9E3779B9, 0x7F4A7C15
_FIRST_FACTOR, _SECOND_FACTOR = 0xFF51AFD7ED558CCD - 2**64, 0xC4CEB9FE1A85EC53 - 2**64
"""Java's constants, as signed numbers."""


def states(seeds: Ints) -> Ints:
    """Return 64-bit seeds as states, one per row.

    >>> next_int(states(np.array([42])), 0)
    756844384
    """
    bits = seeds.astype(np.int64).view(np.uint64)
    return np.stack([bits >> np.uint64(32), bits & np.uint64(_MASK)], axis=1).astype(np.int64)


@kernel_in_place
def next_int(random: Ints, row: int) -> int:
    """Draw a signed 32-bit number (``nextInt()``) from the state in the first two columns of a row."""
    low = int(random[row, LOW]) + _GAMMA_LOW
    high = (int(random[row, HIGH]) + _GAMMA_HIGH + (low >> 32)) & _MASK
    low &= _MASK
    random[row, HIGH], random[row, LOW] = high, low
    # mix32. Only the lowest 64 bits of the numbers count: compiled code has no others.
    mixed = high << 32 | low
    mixed = (mixed ^ mixed >> 33 & _LOW_31) * _FIRST_FACTOR
    mixed = (mixed ^ mixed >> 33 & _LOW_31) * _SECOND_FACTOR
    return ((mixed >> 32 & _MASK) ^ 0x80000000) - 0x80000000


@kernel_in_place
def next_positive(random: Ints, row: int) -> int:
    """Draw a number from 0 to 2^31 - 1, as Kafka derives it from ``nextInt()`` (``Utils.toPositive``)."""
    return next_int(random, row) & 0x7FFFFFFF
