"""``StreamsPartitionAssignor.assignTasksToThreads``: a client's tasks on its consumers, its stream threads.

A thread keeps the stateful tasks that it had, those with the smallest lag first, as long as threads stay balanced. Up
to 3.1 stateful active tasks and standby tasks are balanced for themselves; since 3.2, all of them with the stateless
tasks (KAFKA-12959).
"""

from typing import NamedTuple

import numpy as np

from rebalance_sim.kafka.runtime.hash_order import java_map_is_crowded, java_order, java_table_size
from rebalance_sim.kafka.runtime.kernel import inner_kernel, kernel
from rebalance_sim.kafka.runtime.priority_queue import PriorityQueue, heapify, new_queue, poll, remove_at
from rebalance_sim.kafka.runtime.strings import Flags, Ints, Ints32
from rebalance_sim.kafka.streams.applications import ACTIVE, STANDBY, Applications, States, task_hashes
from rebalance_sim.releases import KafkaStreamsRules

_MOST_CAUGHT_UP = int(KafkaStreamsRules.MOST_CAUGHT_UP)
_NOBODY = -1
_STATEFUL, _STANDBY, _STATELESS = 0, 1, 2


class ThreadAssignments(NamedTuple):
    """The consumers of a batch that get the tasks of their clients, and the order in which each gets them."""

    consumers: Ints32
    """By cell: the consumer of the client that gets its task, or -1."""
    places: Ints32
    """By cell: the place in the consumer's list of active tasks, or in that of standby tasks."""
    uncertain: Flags
    """By application: whether ties are broken by a hash table with trees, whose order is not modelled."""


class _Threads(NamedTuple):
    """The consumers of a client while they get tasks. Consumers and tasks are numbered within it."""

    consumers: Ints32
    """By task: the consumer that got it, or -1."""
    places: Ints32
    counts: Ints32
    """By consumer: how many tasks it has of the kind that is being assigned."""
    loads: Ints32
    """By consumer: how many tasks of other kinds it has."""
    active: Ints32
    """By consumer: the length of its list of active tasks."""
    to_fill: Ints32
    """A queue of consumers, as a ring."""
    skipped: Ints32
    """By task: the consumer that had it but has enough tasks already, or -1."""
    queue: PriorityQueue
    """The unassigned tasks."""
    waits: Flags
    """By task: whether it is in the queue."""
    by_lag: Ints32
    """Scratch space: the previous tasks of a consumer."""


@kernel
def assign_threads(batch: Applications, states: States, rules: int) -> ThreadAssignments:
    """Distribute the tasks of each client over its consumers."""
    n = len(batch.clients) - 1
    consumers, places = np.full(batch.cells[n], _NOBODY, np.int32), np.zeros(batch.cells[n], np.int32)
    uncertain = np.zeros(n, np.bool_)
    for a in range(n):
        first, end = batch.tasks[a], batch.tasks[a + 1]
        hashes = task_hashes(batch, a, rules)
        for c in range(batch.clients[a], batch.clients[a + 1]):
            cell = batch.cells[a] + (c - batch.clients[a]) * (end - first)
            row = slice(cell, cell + end - first)
            threads = _threads(batch.consumers[c + 1] - batch.consumers[c], consumers[row], places[row])
            uncertain[a] = _assign_client(batch, a, c, states[row], hashes, threads, rules) or uncertain[a]
    return ThreadAssignments(consumers, places, uncertain)


@kernel
def _threads(n_consumers: int, consumers: Ints32, places: Ints32) -> _Threads:
    n_tasks = len(consumers)
    counts, loads = np.zeros(n_consumers, np.int32), np.zeros(n_consumers, np.int32)
    active, to_fill = np.zeros(n_consumers, np.int32), np.empty(n_consumers, np.int32)
    skipped, by_lag = np.empty(n_tasks, np.int32), np.empty(n_tasks, np.int32)
    queue, waits = new_queue(n_tasks), np.zeros(n_tasks, np.bool_)
    return _Threads(consumers, places, counts, loads, active, to_fill, skipped, queue, waits, by_lag)


@kernel
def _assign_client(
    batch: Applications, a: int, c: int, states: States, hashes: Ints, threads: _Threads, rules: int
) -> bool:
    """Distribute the tasks of client ``c`` of application ``a``, and return whether the result is uncertain.

    ``states`` is the client's row of the assignment.
    """
    stateful = batch.stateful[batch.tasks[a] : batch.tasks[a + 1]]
    actives = np.flatnonzero((states == ACTIVE) & stateful).astype(np.int32)
    stateless = np.flatnonzero((states == ACTIVE) & ~stateful).astype(np.int32)
    standbys = np.flatnonzero(states >= STANDBY).astype(np.int32)
    is_crowded = java_map_is_crowded(hashes, actives) or java_map_is_crowded(hashes, stateless)
    # statefulActiveTasks and statelessActiveTasks collect hash sets; standbyTasks is a tree set.
    actives = java_order(hashes, actives, java_table_size(len(actives)))
    stateless = java_order(hashes, stateless, java_table_size(len(stateless)))
    if rules >= _MOST_CAUGHT_UP:
        _assign_kind(batch, a, c, actives, threads, _STATEFUL)
        _assign_kind(batch, a, c, standbys, threads, _STANDBY)
        _assign_kind(batch, a, c, stateless, threads, _STATELESS)
        return is_crowded
    left = _assign_kind(batch, a, c, actives, threads, _STATEFUL)
    _assign_in_turn(threads, np.sort(stateless), left)
    threads.loads[:] = 0
    _assign_kind(batch, a, c, standbys, threads, _STANDBY)
    return is_crowded


@kernel
def _assign_kind(batch: Applications, a: int, c: int, tasks: Ints32, threads: _Threads, kind: int) -> int:
    """Distribute tasks of one kind, and return how many consumers are left with fewer tasks than others.

    They are at the front of ``threads.to_fill``.
    """
    n_consumers, left = len(threads.loads), 0
    threads.counts[:] = 0
    if len(tasks) > 0:
        minimum = (threads.loads.sum() + len(tasks)) // n_consumers
        threads.queue.size[0] = len(tasks)
        for k in range(len(tasks)):
            threads.queue.keys[k], threads.queue.values[k] = tasks[k], tasks[k]
            threads.waits[tasks[k]], threads.skipped[tasks[k]] = True, _NOBODY
        heapify(threads.queue)
        unfilled = _assign_to_previous_owners(batch, a, c, threads, kind, minimum)
        _fill_up(threads, kind, minimum, unfilled)
        if threads.queue.size[0] > 0:
            left = _assign_rest(threads, np.sort(tasks), kind, minimum)
    for consumer in range(n_consumers):
        threads.loads[consumer] += threads.counts[consumer]
        if kind != _STANDBY:
            threads.active[consumer] += threads.counts[consumer]
    return left


@kernel
def _assign_to_previous_owners(batch: Applications, a: int, c: int, threads: _Threads, kind: int, minimum: int) -> int:
    """Give consumers the tasks that they had, up to the minimum; return how many have fewer, listed in ``to_fill``."""
    unfilled = 0
    for consumer in range(len(threads.loads)):
        target = minimum - threads.loads[consumer]
        if kind != _STATELESS:
            k = batch.consumers[c] + consumer
            had = batch.previous_tasks[batch.previous[k] : batch.previous[k + 1]]
            for task in threads.by_lag[: _sort_by_lag(batch, a, c, had, threads)]:
                if threads.counts[consumer] < target:
                    _remove(threads, task)
                    _assign(threads, consumer, task, kind)
                else:
                    threads.skipped[task] = consumer
        if threads.counts[consumer] < target:
            threads.to_fill[unfilled] = consumer
            unfilled += 1
    return unfilled


@inner_kernel
def _sort_by_lag(batch: Applications, a: int, c: int, had: Ints32, threads: _Threads) -> int:
    """Write the tasks that wait to ``by_lag``, by lag, then by task, and return their number (``prevTasksByLag``)."""
    n_tasks = batch.tasks[a + 1] - batch.tasks[a]
    row = batch.cells[a] + (c - batch.clients[a]) * n_tasks
    count = 0
    for task in had:
        if not threads.waits[task]:
            continue
        place, lag = count, batch.lags[row + task]
        while place > 0:
            before = threads.by_lag[place - 1]
            if batch.lags[row + before] < lag or (batch.lags[row + before] == lag and before < task):
                break
            threads.by_lag[place] = before
            place -= 1
        threads.by_lag[place] = task
        count += 1
    return count


@inner_kernel
def _fill_up(threads: _Threads, kind: int, minimum: int, unfilled: int) -> None:
    """Give unassigned tasks in turn to the consumers that have fewer than the minimum."""
    front, size, room = 0, unfilled, len(threads.to_fill)
    while size > 0 and threads.queue.size[0] > 0:
        task, consumer = poll(threads.queue), threads.to_fill[front]
        front, size = (front + 1) % room, size - 1
        threads.waits[task] = False
        _assign(threads, consumer, task, kind)
        if threads.counts[consumer] + threads.loads[consumer] < minimum:
            threads.to_fill[(front + size) % room] = consumer
            size += 1


@inner_kernel
def _assign_rest(threads: _Threads, tasks: Ints32, kind: int, minimum: int) -> int:
    """Give one more task to consumers at the minimum, previous owners first; return how many get none.

    ``tasks`` are sorted. The rest is taken in the order of the queue's iterator.
    """
    filled = 0
    for consumer in range(len(threads.loads)):
        if threads.counts[consumer] + threads.loads[consumer] == minimum:
            threads.to_fill[filled] = consumer
            filled += 1
    for task in tasks:
        consumer = threads.skipped[task]
        if consumer == _NOBODY or not threads.waits[task]:
            continue
        place = 0
        while place < filled and threads.to_fill[place] != consumer:
            place += 1
        if place < filled:
            filled -= 1
            for k in range(place, filled):
                threads.to_fill[k] = threads.to_fill[k + 1]
            _remove(threads, task)
            _assign(threads, consumer, task, kind)
    rest = min(threads.queue.size[0], filled)
    for k in range(rest):
        task = threads.queue.values[k]
        threads.waits[task] = False
        _assign(threads, threads.to_fill[k], task, kind)
    for task in tasks:
        threads.waits[task] = False
    threads.queue.size[0] = 0
    for k in range(rest, filled):
        threads.to_fill[k - rest] = threads.to_fill[k]
    return filled - rest


@inner_kernel
def _assign_in_turn(threads: _Threads, tasks: Ints32, left: int) -> None:
    """Give stateless tasks to the first ``left`` consumers of ``to_fill``, and then to all in turn (up to 3.1)."""
    for k in range(len(tasks)):
        consumer = threads.to_fill[k] if k < left else (k - left) % len(threads.loads)
        threads.consumers[tasks[k]] = consumer
        threads.places[tasks[k]] = threads.active[consumer]
        threads.active[consumer] += 1


@inner_kernel
def _assign(threads: _Threads, consumer: int, task: int, kind: int) -> None:
    threads.consumers[task] = consumer
    threads.places[task] = threads.counts[consumer]
    if kind == _STATELESS:
        threads.places[task] += threads.active[consumer]
    threads.counts[consumer] += 1


@inner_kernel
def _remove(threads: _Threads, task: int) -> None:
    """Take a task out of the queue."""
    place = 0
    while threads.queue.values[place] != task:
        place += 1
    remove_at(threads.queue, place)
    threads.waits[task] = False
