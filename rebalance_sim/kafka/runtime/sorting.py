"""A stable sort of numbers. numba would compile NumPy's for each type again, which takes seconds each time."""

import numpy as np
from numpy.typing import NDArray

from rebalance_sim.kafka.runtime.kernel import inner_kernel, kernel

_Numbers = NDArray[np.int64] | NDArray[np.int32]
_RUN = 16
"""Entries that are sorted by insertion, before sorted runs are merged."""


@kernel
def stable_order(keys: _Numbers) -> NDArray[np.int64]:
    """Return the indices that sort numbers, as ``np.argsort(keys, kind="stable")``.

    >>> stable_order(np.array([3, 1, 2, 1])).tolist()
    [1, 3, 2, 0]
    """
    count = len(keys)
    order, room = np.arange(count), np.empty(count, np.int64)
    for low in range(0, count, _RUN):
        _insert(keys, order, low, min(low + _RUN, count))
    width = _RUN
    while width < count:
        for low in range(0, count, 2 * width):
            middle = min(low + width, count)
            _merge(keys, order, room, low, middle, min(middle + width, count))
        order, room = room, order
        width *= 2
    return order


@inner_kernel
def _insert(keys: _Numbers, order: NDArray[np.int64], low: int, end: int) -> None:
    for k in range(low + 1, end):
        moving, place = order[k], k
        while place > low and keys[order[place - 1]] > keys[moving]:
            order[place] = order[place - 1]
            place -= 1
        order[place] = moving


@inner_kernel
def _merge(
    keys: _Numbers, order: NDArray[np.int64], merged: NDArray[np.int64], low: int, middle: int, end: int
) -> None:
    """Merge two sorted runs, ``order[low:middle]`` and ``order[middle:end]``."""
    left, right = low, middle
    for place in range(low, end):
        if left < middle and (right == end or keys[order[left]] <= keys[order[right]]):
            merged[place] = order[left]
            left += 1
        else:
            merged[place] = order[right]
            right += 1
