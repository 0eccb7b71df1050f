"""Java's priority queue: entries come by priority; which of equal ones comes first is Kafka's answer elsewhere."""

import random

import numpy as np

from rebalance_sim.kafka.assignors.streams.process_queue import add, poll
from tests.support.examples import scaled


def test_the_lowest_priority_comes_first(seed: int) -> None:
    """Entries are added and taken at random; the queue is a part of its array."""
    rng, start = random.Random(seed), 3
    for _ in range(scaled(200)):
        priorities = np.array([rng.randint(0, 5) for _ in range(20)], np.float64)
        queue, waiting = np.full(30, -1, np.int32), list[int]()
        for entry in rng.sample(range(20), 20):
            add(queue, start, len(waiting), priorities, entry)
            waiting.append(entry)
            if rng.random() < 0.4:
                taken = poll(queue, start, len(waiting), priorities)
                assert priorities[taken] == min(priorities[waiting])
                waiting.remove(taken)
        assert sorted(queue[start : start + len(waiting)]) == sorted(waiting)
        assert set(queue[:start]) == {-1}


def test_equal_entries_are_not_in_order_of_insertion() -> None:
    """As in Java: the last entry takes the place of the one that is polled."""
    queue, priorities = np.zeros(4, np.int32), np.zeros(4, np.int32)
    for entry in range(4):
        add(queue, 0, entry, priorities, entry)
    assert [poll(queue, 0, size, priorities) for size in (4, 3, 2, 1)] == [0, 3, 2, 1]
