"""``java.util.PriorityQueue`` in an array: which of several equal entries comes first depends on its moves."""

import numpy as np
from numpy.typing import NDArray

from rebalance_sim.kafka.runtime.kernel import inner_kernel
from rebalance_sim.kafka.runtime.strings import Ints32

Priorities = NDArray[np.float64] | Ints32
"""By entry, what the queue is sorted by: the lowest comes first."""


@inner_kernel
def add(queue: Ints32, start: int, size: int, priorities: Priorities, entry: int) -> None:
    """Add an entry to the queue ``queue[start:start + size]`` (``siftUp``).

    >>> queue, priorities = np.zeros(3, np.int32), np.array([2.0, 1.0, 1.0])
    >>> for entry in range(3):
    ...     add(queue, 0, entry, priorities, entry)
    >>> queue.tolist()
    [1, 0, 2]
    """
    place = size
    while place > 0:
        parent = (place - 1) // 2
        above = queue[start + parent]
        if priorities[entry] >= priorities[above]:
            break
        queue[start + place] = above
        place = parent
    queue[start + place] = entry


@inner_kernel
def poll(queue: Ints32, start: int, size: int, priorities: Priorities) -> int:
    """Take the first entry from the queue ``queue[start:start + size]``, which is not empty (``siftDown``).

    >>> queue = np.array([1, 0, 2], np.int32)
    >>> int(poll(queue, 0, 3, np.array([2.0, 1.0, 1.0]))), queue[:2].tolist()
    (1, [2, 0])
    """
    first = queue[start]
    end = size - 1
    moving, place = queue[start + end], 0
    while 2 * place + 1 < end:
        child = 2 * place + 1
        if child + 1 < end and priorities[queue[start + child]] > priorities[queue[start + child + 1]]:
            child += 1
        below = queue[start + child]
        if priorities[moving] <= priorities[below]:
            break
        queue[start + place] = below
        place = child
    queue[start + place] = moving
    return int(first)
