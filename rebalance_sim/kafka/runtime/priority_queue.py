"""``java.util.PriorityQueue``: a binary heap whose inner order decides ties, and the order of its iterator."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rebalance_sim.kafka.runtime.kernel import inner_kernel, kernel
from rebalance_sim.kafka.runtime.strings import Ints, Ints32


class PriorityQueue(NamedTuple):
    """Values, ordered by their keys. The iterator of Java's queue yields them in the order of ``values``."""

    keys: Ints | NDArray[np.float64]
    values: Ints32
    size: Ints
    """As an array of one."""


@kernel
def new_queue(room: int) -> PriorityQueue:
    """Return an empty queue with room for so many values.

    Of equal keys, the last one may be polled first.

    >>> queue = new_queue(3)
    >>> for value, key in enumerate([5, 3, 5]):
    ...     offer(queue, key, value)
    >>> [poll(queue) for _ in range(3)]
    [1, 2, 0]
    """
    return PriorityQueue(np.empty(room, np.int64), np.empty(room, np.int32), np.zeros(1, np.int64))


@inner_kernel
def offer(queue: PriorityQueue, key: float, value: int) -> None:
    """Add a value (``offer``)."""
    place = queue.size[0]
    queue.size[0] += 1
    _sift_up(queue, place, key, value)


@inner_kernel
def poll(queue: PriorityQueue) -> int:
    """Remove the first value and return it (``poll``); the queue must not be empty."""
    first, last = queue.values[0], queue.size[0] - 1
    queue.size[0] = last
    sift_down(queue, 0, queue.keys[last], queue.values[last])
    return int(first)


@inner_kernel
def remove_at(queue: PriorityQueue, place: int) -> None:
    """Remove the value at a place (``removeAt``): the last value takes its place, and then moves down or up."""
    queue.size[0] -= 1
    last = queue.size[0]
    if place == last:
        return
    key, value = queue.keys[last], queue.values[last]
    sift_down(queue, place, key, value)
    if queue.values[place] == value:
        _sift_up(queue, place, key, value)


@inner_kernel
def heapify(queue: PriorityQueue) -> None:
    """Order a queue whose values were written one after the other (``PriorityQueue(Collection)``)."""
    for place in range(queue.size[0] // 2 - 1, -1, -1):
        sift_down(queue, place, queue.keys[place], queue.values[place])


@inner_kernel
def _sift_up(queue: PriorityQueue, place: int, key: float, value: int) -> None:
    while place > 0:
        parent = (place - 1) >> 1
        if key >= queue.keys[parent]:
            break
        queue.keys[place], queue.values[place] = queue.keys[parent], queue.values[parent]
        place = parent
    queue.keys[place], queue.values[place] = key, value


@inner_kernel
def sift_down(queue: PriorityQueue, place: int, key: float, value: int) -> None:
    """Put a value at a place, or below if others have lower keys (``siftDown``)."""
    size = queue.size[0]
    while place < size >> 1:
        child = 2 * place + 1
        if child + 1 < size and queue.keys[child] > queue.keys[child + 1]:
            child += 1
        if key <= queue.keys[child]:
            break
        queue.keys[place], queue.values[place] = queue.keys[child], queue.values[child]
        place = child
    queue.keys[place], queue.values[place] = key, value
