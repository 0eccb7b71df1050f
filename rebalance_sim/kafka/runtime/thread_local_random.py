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
_GAMMA_HIGH, _GAMMA_LOW = 0x9E3779B9, 0x7F4A7C15


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
    # mix32: (z ^ z >>> 33) times a constant, twice. Only the highest 32 bits of the last product are returned.
    high, low = _product(high, low ^ high >> 1, 0xFF51AFD7, 0xED558CCD)
    high, low = _product(high, low ^ high >> 1, 0xC4CEB9FE, 0x1A85EC53)
    return (high ^ 0x80000000) - 0x80000000


@kernel_in_place
def next_positive(random: Ints, row: int) -> int:
    """Draw a number from 0 to 2^31 - 1, as Kafka derives it from ``nextInt()`` (``Utils.toPositive``)."""
    return next_int(random, row) & 0x7FFFFFFF


@kernel_in_place
def _product(high: int, low: int, by_high: int, by_low: int) -> tuple[int, int]:
    """Return the lowest 64 bits of a product as two halves; intermediate overflow affects higher bits only."""
    upper = low * (by_low >> 16)
    lower = low * (by_low & 0xFFFF) + ((upper & 0xFFFF) << 16)
    above = (upper >> 16) + (lower >> 32)
    return (above + high * by_low + low * by_high) & _MASK, lower & _MASK
