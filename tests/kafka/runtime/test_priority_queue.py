"""The heap of ``java.util.PriorityQueue``."""

from hypothesis import given
from hypothesis import strategies as st

from rebalance_sim.kafka.runtime.priority_queue import heapify, new_queue, offer, poll, remove_at
from tests.support.examples import examples


@given(st.lists(st.integers(0, 20), max_size=30))
@examples(200)
def test_values_are_polled_by_key(keys: list[int]) -> None:
    queue = new_queue(len(keys))
    for value, key in enumerate(keys):
        offer(queue, key, value)
    assert [keys[poll(queue)] for _ in keys] == sorted(keys)


@given(st.lists(st.integers(0, 20), max_size=30))
@examples(200)
def test_a_filled_queue_becomes_a_heap(keys: list[int]) -> None:
    queue = new_queue(len(keys))
    for place, key in enumerate(keys):
        queue.keys[place], queue.values[place] = key, place
    queue.size[0] = len(keys)
    heapify(queue)
    heap = queue.keys.tolist()
    assert all(heap[(k - 1) // 2] <= heap[k] for k in range(1, len(heap)))
    assert sorted(heap) == sorted(keys)


def test_the_last_value_moves_up_if_it_has_to() -> None:
    queue = new_queue(7)
    for key in (1, 10, 2, 11, 12, 3, 4):
        offer(queue, key, key)
    remove_at(queue, 3)
    assert queue.values[: queue.size[0]].tolist() == [1, 4, 2, 10, 12, 3]
