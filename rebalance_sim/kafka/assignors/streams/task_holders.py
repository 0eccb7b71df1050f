"""Which members hold which tasks while a streams group is assigned (``ProcessState``)."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rebalance_sim.kafka.assignors.streams.numbered_group import StreamsGroup
from rebalance_sim.kafka.runtime.kernel import inner_kernel, kernel
from rebalance_sim.kafka.runtime.strings import Flags, Ints32


class TaskHolders(NamedTuple):
    """The holders of tasks, and how many tasks members and processes hold."""

    room: int
    """The most holders of a task: a process holds it once."""
    holders: Ints32
    """The members that hold task t, the active one first: ``room * t`` to ``room * t + held[t]``."""
    held: Ints32
    """By task: the number of its holders."""
    counts: Ints32
    """By member: the number of its tasks (``memberToTaskCounts``)."""
    process_counts: Ints32
    """By process: the number of its tasks."""
    loads: NDArray[np.float64]
    """By process: tasks per member."""


@kernel
def no_holders(group: StreamsGroup, standby_replicas: int) -> TaskHolders:
    """Return the state before any task is assigned."""
    tasks, processes = int(group.first_task[-1]), len(group.members_from) - 1
    room = int(max(min(standby_replicas + 1, processes), 1))
    return TaskHolders(
        room,
        np.empty(tasks * room, np.int32),
        np.zeros(tasks, np.int32),
        np.zeros(len(group.members), np.int32),
        np.zeros(processes, np.int32),
        np.zeros(processes, np.float64),
    )


@inner_kernel
def add_task(group: StreamsGroup, state: TaskHolders, member: int, task: int) -> int:
    """Give a member a task, and return how many it has (``ProcessState.addTask``)."""
    state.holders[state.room * task + state.held[task]] = member
    state.held[task] += 1
    process = group.process_of[member]
    state.process_counts[process] += 1
    state.loads[process] = state.process_counts[process] / members_of(group, process)
    state.counts[member] += 1
    return int(state.counts[member])


@inner_kernel
def members_of(group: StreamsGroup, process: int) -> int:
    """Return the number of members of a process (its capacity)."""
    return int(group.members_from[process + 1] - group.members_from[process])


@inner_kernel
def has_task(group: StreamsGroup, state: TaskHolders, process: int, task: int) -> bool:
    """Return whether a member of a process holds a task."""
    for k in range(state.room * task, state.room * task + state.held[task]):
        if group.process_of[state.holders[k]] == process:
            return True
    return False


@inner_kernel
def tasks_per_member(tasks: int, members: int) -> int:
    """Return the quota of each member: the quotient, rounded up (``computeTasksPerMember``)."""
    return 0 if members == 0 else -(-tasks // members)


@kernel
def stateful_tasks(group: StreamsGroup, is_stateful: Flags) -> int:
    """Return how many tasks of a group have state."""
    total = 0
    for s in range(len(group.subtopologies)):
        if is_stateful[group.subtopologies[s]]:
            total += group.first_task[s + 1] - group.first_task[s]
    return total
