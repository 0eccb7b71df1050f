"""The rules of ``StickyTaskAssignor`` since 4.2, which finds the least loaded process and member by priority queues.

Active tasks stay with their members up to a quota, then go to members that had them as standby tasks, then to the least
loaded member of the least loaded process. Standby tasks follow, in reverse: they go to members that had them as active
or standby tasks, then to the least loaded ones. A process gets a task once.
"""

from typing import NamedTuple

import numpy as np

from rebalance_sim.kafka.assignors.streams.numbered_group import NOBODY, StreamsGroup
from rebalance_sim.kafka.assignors.streams.task_holders import (
    TaskHolders,
    add_task,
    has_task,
    members_of,
    no_holders,
    stateful_tasks,
    tasks_per_member,
)
from rebalance_sim.kafka.runtime.kernel import inner_kernel, kernel
from rebalance_sim.kafka.runtime.priority_queue import PriorityQueue, offer, poll
from rebalance_sim.kafka.runtime.strings import Flags, Ints, Ints32
from rebalance_sim.releases import StreamsRules

_FREE_STANDBYS = int(StreamsRules.FREE_STANDBYS)
_ACTIVE, _ALL = 0, 3
"""Where in ``_Queues.quotas`` the quota of active tasks begins, and that of all tasks."""
_TASKS, _MEMBERS, _QUOTA = 0, 1, 2
"""Tasks and members that remain, and the quota of each."""


class _Queues(NamedTuple):
    quotas: Ints
    processes: PriorityQueue
    """The processes, by load."""
    members: PriorityQueue
    """By process, from ``members_from`` on: a queue of its members, by number of tasks (``membersByLoad``)."""
    is_filled: Flags
    """By process: whether its queue of members is kept. Tasks that a member keeps drop it."""
    passed: Ints32
    """Scratch: processes that hold a task already, in the order in which they were polled."""
    replicas: Ints32
    """By task: the standby tasks that no earlier member takes again."""


@kernel
def assign_by_load(group: StreamsGroup, is_stateful: Flags, standby_replicas: int, rules: int) -> TaskHolders:
    """Assign the tasks of a group that has members."""
    state = no_holders(group, standby_replicas)
    queues = _new_queues(group, is_stateful, standby_replicas)
    _keep_active(group, state, queues, rules, False)
    _keep_active(group, state, queues, rules, True)
    _give_active(group, state, queues)
    if standby_replicas > 0:
        _keep_standbys(group, state, queues, is_stateful, standby_replicas, rules)
        _give_standbys(group, state, queues)
    return state


@kernel
def _new_queues(group: StreamsGroup, is_stateful: Flags, standby_replicas: int) -> _Queues:
    members, active, processes = len(group.members), int(group.first_task[-1]), len(group.processes)
    total = active + stateful_tasks(group, is_stateful) * standby_replicas
    of_active, of_all = tasks_per_member(active, members), tasks_per_member(total, members)
    return _Queues(
        np.array([active, members, of_active, total, members, of_all], np.int64),
        PriorityQueue(np.empty(processes, np.float64), np.empty(processes, np.int32), np.zeros(1, np.int64)),
        PriorityQueue(np.empty(members, np.int64), np.empty(members, np.int32), np.zeros(processes, np.int64)),
        np.zeros(processes, np.bool_),
        np.empty(processes, np.int32),
        np.zeros(active if standby_replicas > 0 else 0, np.int32),
    )


@inner_kernel
def _count(queues: _Queues, quota: int, tasks: int) -> None:
    """Lower a quota once a member has reached it (``maybeUpdateActiveTasksPerMember``, and of all tasks)."""
    quotas = queues.quotas
    if tasks == quotas[quota + _QUOTA]:
        quotas[quota + _MEMBERS] -= 1
        quotas[quota + _TASKS] -= tasks
        quotas[quota + _QUOTA] = tasks_per_member(quotas[quota + _TASKS], quotas[quota + _MEMBERS])


# ---- active tasks


@inner_kernel
def _keep_active(group: StreamsGroup, state: TaskHolders, queues: _Queues, rules: int, as_standby: bool) -> None:
    """Let members keep active tasks, or become active for standby tasks: partition by partition."""
    first_task, most = group.first_task, 0
    for s in range(len(group.subtopologies)):
        most = max(most, first_task[s + 1] - first_task[s])
    for partition in range(most):
        for s in range(len(group.subtopologies)):
            task = first_task[s] + partition
            if task >= first_task[s + 1] or state.held[task] > 0:
                continue
            member = group.previous_active[task]
            if as_standby:
                member = _earlier_standby(group, state, task, rules, False)
            if member != NOBODY and state.counts[member] < queues.quotas[_ACTIVE + _QUOTA]:
                queues.is_filled[group.process_of[member]] = False
                _count_active(queues, add_task(group, state, member, task))


@inner_kernel
def _count_active(queues: _Queues, tasks: int) -> None:
    _count(queues, _ACTIVE, tasks)
    _count(queues, _ALL, tasks)


@inner_kernel
def _give_active(group: StreamsGroup, state: TaskHolders, queues: _Queues) -> None:
    """Give the remaining tasks to the least loaded members, subtopology by subtopology."""
    _fill_processes(group, state, queues)
    for task in range(group.first_task[-1]):
        if state.held[task] > 0:
            continue
        process = poll(queues.processes)
        _count_active(queues, _add_to_least_loaded(group, state, queues, process, task))
        offer(queues.processes, state.loads[process], process)


@inner_kernel
def _fill_processes(group: StreamsGroup, state: TaskHolders, queues: _Queues) -> None:
    queues.processes.size[0] = 0
    for process in group.processes:
        offer(queues.processes, state.loads[process], process)


@inner_kernel
def _add_to_least_loaded(group: StreamsGroup, state: TaskHolders, queues: _Queues, process: int, task: int) -> int:
    """Give a task to a process, and return how many its member has (``addTaskToLeastLoadedMember``)."""
    start, size = group.members_from[process], members_of(group, process)
    if size == 1:
        return add_task(group, state, group.process_members[start], task)
    keys, values, sizes = queues.members
    members = PriorityQueue(keys[start : start + size], values[start : start + size], sizes[process : process + 1])
    if not queues.is_filled[process]:
        members.size[0] = 0
        for member in group.process_members[start : start + size]:
            offer(members, state.counts[member], member)
        queues.is_filled[process] = True
    member = poll(members)
    tasks = add_task(group, state, member, task)
    offer(members, tasks, member)
    return tasks


# ---- standby tasks


@inner_kernel
def _keep_standbys(
    group: StreamsGroup, state: TaskHolders, queues: _Queues, is_stateful: Flags, replicas: int, rules: int
) -> None:
    """Let members that had a task take its standby tasks, the last partition first."""
    first_task, most = group.first_task, 0
    for s in range(len(group.subtopologies)):
        most = max(most, first_task[s + 1] - first_task[s])
    for partition in range(most - 1, -1, -1):
        for s in range(len(group.subtopologies) - 1, -1, -1):
            task = first_task[s] + partition
            if task >= first_task[s + 1] or not is_stateful[group.subtopologies[s]]:
                continue
            kept = 0
            while kept < replicas and _keep_standby(group, state, queues, task, rules):
                kept += 1
            queues.replicas[task] = replicas - kept


@inner_kernel
def _keep_standby(group: StreamsGroup, state: TaskHolders, queues: _Queues, task: int, rules: int) -> bool:
    """Return whether a member that had a task takes it as a standby task."""
    quota = queues.quotas[_ALL + _QUOTA]
    member = group.previous_active[task]
    if member == NOBODY or has_task(group, state, group.process_of[member], task) or state.counts[member] >= quota:
        member = _earlier_standby(group, state, task, rules, True)
        if member == NOBODY or state.counts[member] >= quota:
            return False
    queues.is_filled[group.process_of[member]] = False
    _count(queues, _ALL, add_task(group, state, member, task))
    return True


@inner_kernel
def _earlier_standby(group: StreamsGroup, state: TaskHolders, task: int, rules: int, only_free: bool) -> int:
    """Return the member that had a task as a standby task, or NOBODY (``findPrevMemberWithLeastLoad``).

    A member comes before an earlier one only if both its process and itself have less load. ``only_free`` leaves out
    processes that hold the task. Before KAFKA-20899 the first member counts all the same, and if its process holds the
    task there is none.
    """
    start, end = group.previous_from[task], group.previous_from[task + 1]
    best, is_fixed = NOBODY, rules >= _FREE_STANDBYS
    for k in range(start, end):
        member = group.previous_standby[k]
        process = group.process_of[member]
        if only_free and (is_fixed or k > start) and has_task(group, state, process, task):
            continue
        if best == NOBODY or (
            state.loads[process] < state.loads[group.process_of[best]] and state.counts[member] < state.counts[best]
        ):
            best = member
    if (
        only_free
        and not is_fixed
        and start < end
        and has_task(group, state, group.process_of[group.previous_standby[start]], task)
    ):
        return NOBODY
    return int(best)


@inner_kernel
def _give_standbys(group: StreamsGroup, state: TaskHolders, queues: _Queues) -> None:
    """Give the remaining standby tasks to the least loaded processes, as far as there are any without the task."""
    _fill_processes(group, state, queues)
    for task in range(group.first_task[-1] - 1, -1, -1):
        remaining = queues.replicas[task]
        while remaining > 0 and _give_standby(group, state, queues, task):
            remaining -= 1


@inner_kernel
def _give_standby(group: StreamsGroup, state: TaskHolders, queues: _Queues, task: int) -> bool:
    """Give a standby task to the least loaded process without it; return False if there is none."""
    passed, is_given = 0, False
    while queues.processes.size[0] > 0 and not is_given:
        process = poll(queues.processes)
        is_given = not has_task(group, state, process, task)
        if is_given:
            _count(queues, _ALL, _add_to_least_loaded(group, state, queues, process, task))
        queues.passed[passed] = process
        passed += 1
    while passed > 0:
        passed -= 1
        offer(queues.processes, state.loads[queues.passed[passed]], queues.passed[passed])
    return is_given
