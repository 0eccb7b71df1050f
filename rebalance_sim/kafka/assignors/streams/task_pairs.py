"""The rules of ``StickyTaskAssignor`` in 4.1, which is that of Kafka Streams' clients with members for processes.

A task goes to the least loaded process among those that have a task with which no process had it together (a new pair).
Kafka keeps the candidates in a ``HashSet`` of objects without a hash code of their own: their order, and with it the
choice between processes with equal loads, or between members of a process that had the task, is that of
``System.identityHashCode``. Two calls with the same group have different results. So a group with such a choice is
undetermined, although some happen to have one result whatever Kafka chooses; every other group has one result.

Also undetermined is a group of which a bucket of the ``HashSet`` of its tasks becomes a tree (at the ninth task; tasks
hash to 31 times the subtopology id's hash code plus the partition, so this takes several large subtopologies), and one
with more than 46,340 tasks, beyond which Kafka's number of pairs overflows.
"""

from typing import NamedTuple

import numpy as np

from rebalance_sim.kafka.assignors.streams.numbered_group import NOBODY, StreamsBatch, StreamsGroup
from rebalance_sim.kafka.assignors.streams.task_holders import (
    TaskHolders,
    add_task,
    has_task,
    members_of,
    no_holders,
    tasks_per_member,
)
from rebalance_sim.kafka.runtime.hash_order import java_map_is_crowded, java_order, java_table_size
from rebalance_sim.kafka.runtime.kernel import inner_kernel, kernel
from rebalance_sim.kafka.runtime.strings import Bytes, Flags, Ints, Ints32, java_hash

_UNDETERMINED = -2
_MOST_TASKS = 46_340
_TASKS, _MEMBERS, _QUOTA, _PAIRS = 0, 1, 2, 3


class _Pairs(NamedTuple):
    numbers: Ints
    """Tasks and members that remain, the quota of each member, and the number of pairs."""
    seen: Bytes
    """A bit per pair of tasks: whether a process has had them together."""
    last: Ints32
    """By process: its last task in ``before``, or -1."""
    before: Ints32
    """By entry of ``TaskHolders.holders``: the one that its process got before, or -1."""
    active: Ints32
    """By process: the number of its active tasks."""
    is_candidate: Flags
    """Scratch: by process."""


@kernel
def assign_by_pairs(batch: StreamsBatch, group: StreamsGroup, standby_replicas: int) -> tuple[TaskHolders, bool]:
    """Assign the tasks of a group that has members, and return whether Kafka's assignment is determined."""
    state, tasks = no_holders(group, standby_replicas), int(group.first_task[-1])
    if tasks > _MOST_TASKS:
        return state, False
    pairs = _no_pairs(state, tasks, len(group.members))
    order, is_ordered = _task_order(batch, group, False)
    if not is_ordered or not _assign_active(group, state, pairs, order):
        return state, False
    if standby_replicas <= 0:
        return state, True
    order, is_ordered = _task_order(batch, group, True)
    return state, is_ordered and _assign_standbys(group, state, pairs, order, standby_replicas)


@kernel
def _no_pairs(state: TaskHolders, tasks: int, members: int) -> _Pairs:
    processes = len(state.loads)
    return _Pairs(
        np.array([tasks, members, tasks_per_member(tasks, members), 0], np.int64),
        np.zeros(tasks * (tasks - 1) // 16 + 1, np.uint8),
        np.full(processes, -1, np.int32),
        np.full(len(state.holders), -1, np.int32),
        np.zeros(processes, np.int32),
        np.zeros(processes, np.bool_),
    )


@kernel
def _task_order(batch: StreamsBatch, group: StreamsGroup, only_stateful: bool) -> tuple[Ints32, bool]:
    """Return tasks in the order of a ``HashSet``, and whether none of its buckets has become a tree."""
    hashes, tasks, n = np.empty(group.first_task[-1], np.int64), np.empty(group.first_task[-1], np.int32), 0
    for s in range(len(group.subtopologies)):
        of_name = 31 * java_hash(batch.groups.subtopology_ids, group.subtopologies[s])
        if only_stateful and not batch.groups.is_stateful[group.subtopologies[s]]:
            continue
        for task in range(group.first_task[s], group.first_task[s + 1]):
            hashes[task] = (of_name + int(task - group.first_task[s])) & 0xFFFFFFFF
            tasks[n] = task
            n += 1
    if java_map_is_crowded(hashes, tasks[:n]):
        return tasks[:n], False
    return java_order(hashes, tasks[:n], java_table_size(n)), True


# ---- pairs of tasks


@inner_kernel
def _pair(one: int, other: int) -> int:
    low, high = min(one, other), max(one, other)
    return high * (high - 1) // 2 + low


@inner_kernel
def _has_new_pair(state: TaskHolders, pairs: _Pairs, process: int, task: int) -> bool:
    """Return whether a process has no task, or one with which the task makes a new pair (``hasNewPair``)."""
    tasks = len(state.held)
    if pairs.numbers[_PAIRS] == tasks * (tasks - 1) // 2:
        return False
    entry = pairs.last[process]
    if entry < 0:
        return True
    while entry >= 0:
        pair = _pair(task, entry // state.room)
        if pairs.seen[pair >> 3] >> (pair & 7) & 1 == 0:
            return True
        entry = pairs.before[entry]
    return False


@inner_kernel
def _add(group: StreamsGroup, state: TaskHolders, pairs: _Pairs, member: int, task: int) -> None:
    """Give a member a task, and note its pairs with the other tasks of the process."""
    process = group.process_of[member]
    entry = pairs.last[process]
    while entry >= 0:
        pair = _pair(task, entry // state.room)
        if pairs.seen[pair >> 3] >> (pair & 7) & 1 == 0:
            pairs.seen[pair >> 3] |= np.uint8(1 << (pair & 7))
            pairs.numbers[_PAIRS] += 1
        entry = pairs.before[entry]
    added = state.room * task + state.held[task]
    pairs.before[added], pairs.last[process] = pairs.last[process], added
    add_task(group, state, member, task)


@inner_kernel
def _add_active(group: StreamsGroup, state: TaskHolders, pairs: _Pairs, member: int, task: int) -> None:
    """Give a member an active task; the quota falls once a process has as many (``maybeUpdateTasksPerMember``)."""
    _add(group, state, pairs, member, task)
    process, numbers = group.process_of[member], pairs.numbers
    pairs.active[process] += 1
    if pairs.active[process] == numbers[_QUOTA]:
        numbers[_MEMBERS] -= 1
        numbers[_TASKS] -= pairs.active[process]
        numbers[_QUOTA] = tasks_per_member(numbers[_TASKS], numbers[_MEMBERS])


# ---- candidates


@inner_kernel
def _prefer_new_pairs(state: TaskHolders, pairs: _Pairs, task: int) -> None:
    """Keep the candidates for which a task makes a new pair, if there are any."""
    n = 0
    for process in range(len(pairs.is_candidate)):
        if pairs.is_candidate[process] and _has_new_pair(state, pairs, process, task):
            n += 1
    if n == 0:
        return
    for process in range(len(pairs.is_candidate)):
        if pairs.is_candidate[process] and not _has_new_pair(state, pairs, process, task):
            pairs.is_candidate[process] = False


@inner_kernel
def _least_loaded(group: StreamsGroup, state: TaskHolders, pairs: _Pairs, task: int) -> int:
    """Return the member to which a candidate's least load points, NOBODY or _UNDETERMINED.

    Of the process it is the member with the fewest tasks, the first of equal ones in the order of a ``HashMap``.
    """
    _prefer_new_pairs(state, pairs, task)
    best, is_tied = NOBODY, False
    for process in range(len(pairs.is_candidate)):
        if not pairs.is_candidate[process]:
            continue
        is_tied = best != NOBODY and (state.loads[process] == state.loads[best] or is_tied)
        if best == NOBODY or state.loads[process] < state.loads[best]:
            is_tied, best = False, process
    if best == NOBODY or is_tied:
        return NOBODY if best == NOBODY else _UNDETERMINED
    start = group.members_from[best]
    chosen = group.process_members[start]
    for k in range(start + 1, start + members_of(group, best)):
        if state.counts[group.process_members[k]] < state.counts[chosen]:
            chosen = group.process_members[k]
    return int(chosen)


@inner_kernel
def _least_load_of_earlier(group: StreamsGroup, state: TaskHolders, pairs: _Pairs, task: int, only_free: bool) -> float:
    """Return the least load of a process that had a task as a standby task, -1 if there is none.

    Only those that Kafka may choose remain candidates.
    """
    pairs.is_candidate[:] = False
    for k in range(group.previous_from[task], group.previous_from[task + 1]):
        process = group.process_of[group.previous_standby[k]]
        pairs.is_candidate[process] = not only_free or not has_task(group, state, process, task)
    _prefer_new_pairs(state, pairs, task)
    least = -1.0
    for process in range(len(pairs.is_candidate)):
        if pairs.is_candidate[process] and (least < 0 or state.loads[process] < least):
            least = state.loads[process]
    for process in range(len(pairs.is_candidate)):
        pairs.is_candidate[process] = pairs.is_candidate[process] and state.loads[process] == least
    return least


@inner_kernel
def _earlier_standby(group: StreamsGroup, state: TaskHolders, pairs: _Pairs, task: int, quota: int) -> int:
    """Return the member among the candidates that had a task as a standby task, if all that Kafka may choose agree.

    A member with ``quota`` tasks gets none; without a quota it is -1.
    """
    chosen, options, full = NOBODY, 0, 0
    for k in range(group.previous_from[task], group.previous_from[task + 1]):
        member = group.previous_standby[k]
        if pairs.is_candidate[group.process_of[member]]:
            options += 1
            if quota >= 0 and state.counts[member] >= quota:
                full += 1
            else:
                chosen = member
    if full == options:
        return NOBODY
    return int(chosen) if options == 1 else _UNDETERMINED


# ---- active tasks


@inner_kernel
def _assign_active(group: StreamsGroup, state: TaskHolders, pairs: _Pairs, order: Ints32) -> bool:
    """Assign the active tasks; return False if a choice is undetermined."""
    for task in order:
        member = group.previous_active[task]
        if member != NOBODY and state.counts[member] < pairs.numbers[_QUOTA]:
            _add_active(group, state, pairs, member, task)
    for task in order:
        if state.held[task] == 0 and _least_load_of_earlier(group, state, pairs, task, False) >= 0:
            member = _earlier_standby(group, state, pairs, task, max(pairs.numbers[_QUOTA], 0))
            if member == _UNDETERMINED:
                return False
            if member != NOBODY:
                _add_active(group, state, pairs, member, task)
    for task in order:
        if state.held[task] == 0:
            pairs.is_candidate[:] = True
            member = _least_loaded(group, state, pairs, task)
            if member == _UNDETERMINED:
                return False
            _add_active(group, state, pairs, member, task)
    return True


# ---- standby tasks


@inner_kernel
def _assign_standbys(group: StreamsGroup, state: TaskHolders, pairs: _Pairs, order: Ints32, replicas: int) -> bool:
    """Assign the standby tasks; return False if a choice is undetermined."""
    for task in order:
        for _ in range(min(replicas, len(state.loads) - 1)):
            member = _standby(group, state, pairs, task)
            if member == _UNDETERMINED:
                return False
            _add(group, state, pairs, member, task)
    return True


@inner_kernel
def _standby(group: StreamsGroup, state: TaskHolders, pairs: _Pairs, task: int) -> int:
    """Return the member that gets a standby task, of a process without the task; there is such a process."""
    member = group.previous_active[task]
    if member != NOBODY:
        process = group.process_of[member]
        is_free = not has_task(group, state, process, task)
        if is_free and _is_balanced(state, state.loads[process]) and _has_new_pair(state, pairs, process, task):
            return int(member)
    load = _least_load_of_earlier(group, state, pairs, task, True)
    if load >= 0 and _is_balanced(state, load):
        return _earlier_standby(group, state, pairs, task, -1)
    for process in range(len(state.loads)):
        pairs.is_candidate[process] = not has_task(group, state, process, task)
    return _least_loaded(group, state, pairs, task)


@inner_kernel
def _is_balanced(state: TaskHolders, load: float) -> bool:
    """Return whether a process of this load has fewer tasks than members or none has less (``isLoadBalanced``)."""
    if load < 1:
        return True
    for process in range(len(state.loads)):
        if state.loads[process] < load:
            return False
    return True
