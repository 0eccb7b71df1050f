"""The ``sticky`` task assignor of streams groups (``StickyTaskAssignor``, KIP-1071), the only one up to 4.4.

``least_loaded`` has its rules since 4.2, ``task_pairs`` those of 4.1. Ties are decided by the iteration order of hash
maps of member ids and process ids. ``specification`` names what the members alone do not determine of it: a
coordinator's map that was larger once, and the member whose heartbeat triggers the assignment.
"""

import numpy as np

from rebalance_sim.kafka.assignors.streams.least_loaded import assign_by_load
from rebalance_sim.kafka.assignors.streams.numbered_group import StreamsBatch, StreamsGroup, new_batch, number_group
from rebalance_sim.kafka.assignors.streams.streams_groups import StreamsGroups, TaskLists, TaskOutcome
from rebalance_sim.kafka.assignors.streams.task_holders import TaskHolders
from rebalance_sim.kafka.assignors.streams.task_pairs import assign_by_pairs
from rebalance_sim.kafka.groups import AssignmentFailure
from rebalance_sim.kafka.runtime.kernel import kernel
from rebalance_sim.kafka.runtime.strings import Ints32
from rebalance_sim.releases import KafkaVersion, StreamsRules

_TASK_ASSIGNOR = int(AssignmentFailure.TASK_ASSIGNOR)
_UNDETERMINED = int(AssignmentFailure.UNDETERMINED)
_BY_PAIRS = int(StreamsRules.TASK_PAIRS)


def assign(groups: StreamsGroups, version: KafkaVersion) -> TaskOutcome:
    """Assign the tasks of every group of a batch, by the rules of a release from 4.1 on."""
    return TaskOutcome(*_assign(new_batch(groups), int(version.streams)))


@kernel
def _assign(batch: StreamsBatch, rules: int) -> tuple[TaskLists, TaskLists, Ints32]:
    groups = batch.groups
    active, standby = _new_lists(batch)
    errors = np.zeros(len(groups.members) - 1, np.int32)
    for g in range(len(errors)):
        start, end = groups.members[g], groups.members[g + 1]
        active.offsets[start + 1 : end + 1] = active.offsets[start]
        standby.offsets[start + 1 : end + 1] = standby.offsets[start]
        group = number_group(batch, g, rules)
        if group.first_task[-1] == 0:
            continue
        if start == end:
            errors[g] = _TASK_ASSIGNOR
            continue
        if rules == _BY_PAIRS:
            holders, is_determined = assign_by_pairs(batch, group, groups.standby_replicas[g])
            if not is_determined:
                errors[g] = _UNDETERMINED
                continue
        else:
            holders = assign_by_load(group, groups.is_stateful, groups.standby_replicas[g], rules)
        _list(group, holders, start, active, standby)
    return _filled(active), _filled(standby), errors


@kernel
def _new_lists(batch: StreamsBatch) -> tuple[TaskLists, TaskLists]:
    """Return room for the active and standby tasks of all members."""
    groups, of_active, of_standby = batch.groups, 0, 0
    for g in range(len(groups.members) - 1):
        others = max(groups.members[g + 1] - groups.members[g] - 1, 0)
        for s in range(groups.subtopologies[g], groups.subtopologies[g + 1]):
            of_active += groups.tasks[s]
            if groups.is_stateful[s]:
                of_standby += groups.tasks[s] * min(groups.standby_replicas[g], others)
    members = groups.members[-1] + 1
    return (
        TaskLists(np.zeros(members, np.int32), np.empty(of_active, np.int32), np.empty(of_active, np.int32)),
        TaskLists(np.zeros(members, np.int32), np.empty(of_standby, np.int32), np.empty(of_standby, np.int32)),
    )


@kernel
def _filled(lists: TaskLists) -> TaskLists:
    end = lists.offsets[-1]
    return TaskLists(lists.offsets, lists.subtopologies[:end], lists.partitions[:end])


@kernel
def _list(group: StreamsGroup, state: TaskHolders, start: int, active: TaskLists, standby: TaskLists) -> None:
    """Fill the lists of the last members, the first of which is ``start``."""
    active_at, standby_at = np.zeros(len(group.members), np.int32), np.zeros(len(group.members), np.int32)
    for task in range(len(state.held)):
        first = state.room * task
        active_at[state.holders[first]] += 1
        for k in range(first + 1, first + state.held[task]):
            standby_at[state.holders[k]] += 1
    _start_lists(group, start, active_at, active)
    _start_lists(group, start, standby_at, standby)
    for s in range(len(group.subtopologies)):
        for task in range(group.first_task[s], group.first_task[s + 1]):
            first, partition = state.room * task, task - group.first_task[s]
            _append(active, active_at, state.holders[first], group.subtopologies[s], partition)
            for k in range(first + 1, first + state.held[task]):
                _append(standby, standby_at, state.holders[k], group.subtopologies[s], partition)


@kernel
def _start_lists(group: StreamsGroup, start: int, counts: Ints32, lists: TaskLists) -> None:
    """Set the offsets of the last members, and replace the number of tasks of each by the place of its first."""
    for i in range(len(counts)):
        lists.offsets[group.members[i] + 1] = counts[i]
    for m in range(start, start + len(counts)):
        lists.offsets[m + 1] += lists.offsets[m]
    for i in range(len(counts)):
        counts[i] = lists.offsets[group.members[i]]


@kernel
def _append(lists: TaskLists, cursor: Ints32, member: int, subtopology: int, partition: int) -> None:
    lists.subtopologies[cursor[member]] = subtopology
    lists.partitions[cursor[member]] = partition
    cursor[member] += 1
