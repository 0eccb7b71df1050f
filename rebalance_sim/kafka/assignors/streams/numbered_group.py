"""A streams group as its task assignor sees it: numbered members, processes and tasks.

Members have the numbers of their places in ``GroupSpec.members``, a ``HashMap``. Tasks are numbered by subtopology, in
the order of the ids (a ``TreeMap``), and partition.
"""

from typing import NamedTuple

import numpy as np

from rebalance_sim.kafka.assignors.server.specification import order_of_members
from rebalance_sim.kafka.assignors.streams.streams_groups import NO_SUBTOPOLOGY, StreamsGroups, TaskLists
from rebalance_sim.kafka.runtime.hash_order import java_bucket, java_order, java_table_size_from, sort_in_java_order
from rebalance_sim.kafka.runtime.kernel import inner_kernel, kernel
from rebalance_sim.kafka.runtime.strings import Flags, Ints, Ints32, equal, java_hashes, sort_sections
from rebalance_sim.releases import StreamsRules

NOBODY = -1
_NO_TASK = -1
_TASK_OFFSETS = int(StreamsRules.TASK_OFFSETS)


class StreamsBatch(NamedTuple):
    """A batch with what is computed of all groups at once."""

    groups: StreamsGroups
    order: Ints32
    """The members of each group in the order of ``GroupSpec.members``."""
    member_hashes: Ints
    process_hashes: Ints
    """By member: the hash code of its process id."""
    subtopologies: Ints32
    """The subtopologies of each group, sorted by id."""
    places: Ints32
    """By subtopology: its place in the sorted group."""


class StreamsGroup(NamedTuple):
    """A group whose members, processes and tasks are numbered."""

    members: Ints32
    """The members of the batch in the order of their numbers."""
    subtopologies: Ints32
    """Entries of the batch, sorted by id."""
    first_task: Ints32
    """By subtopology: its first task. One entry more than subtopologies."""
    process_of: Ints32
    """By member. Processes are numbered in the order of their first members."""
    processes: Ints32
    """The processes in the order of ``processIdToState``, a ``HashMap`` (since 4.2)."""
    members_from: Ints32
    """Members of process p: ``members_from[p]`` to ``members_from[p + 1]`` of ``process_members``."""
    process_members: Ints32
    """The members of each process in the order of ``ProcessState.memberToTaskCounts``, a ``HashMap``."""
    previous_active: Ints32
    """By task: the member that had it as an active task, or NOBODY; of several the last."""
    previous_from: Ints32
    """Members that had task t as a standby task: ``previous_from[t]`` to ``previous_from[t + 1]`` of
    ``previous_standby``."""
    previous_standby: Ints32


class _Processes(NamedTuple):
    process_of: Ints32
    first_members: Ints32
    """By process: its first member."""


def new_batch(groups: StreamsGroups) -> StreamsBatch:
    """Return a batch of groups, with its members and subtopologies sorted."""
    subtopologies = np.arange(len(groups.tasks), dtype=np.int32)
    sort_sections(subtopologies, groups.subtopologies, np.zeros(len(subtopologies), np.int64), groups.subtopology_ids)
    places = np.empty(len(subtopologies), np.int32)
    firsts = np.repeat(groups.subtopologies[:-1], np.diff(groups.subtopologies))
    places[subtopologies] = np.arange(len(subtopologies)) - firsts
    return StreamsBatch(
        groups,
        order_of_members(groups.members, groups.member_ids),
        java_hashes(groups.member_ids),
        java_hashes(groups.process_ids),
        subtopologies,
        places,
    )


@kernel
def number_group(batch: StreamsBatch, g: int, rules: int) -> StreamsGroup:
    """Number the members, processes and tasks of a group, and read which member had which task."""
    groups = batch.groups
    members = batch.order[groups.members[g] : groups.members[g + 1]]
    subtopologies = batch.subtopologies[groups.subtopologies[g] : groups.subtopologies[g + 1]]
    first_task = np.zeros(len(subtopologies) + 1, np.int32)
    for s in range(len(subtopologies)):
        first_task[s + 1] = first_task[s] + groups.tasks[subtopologies[s]]
    numbered = _number_processes(batch, members)
    members_from, process_members = _members_by_process(batch, members, numbered)
    previous_from, previous_standby = _previous_standby(batch, members, first_task, rules)
    return StreamsGroup(
        members,
        subtopologies,
        first_task,
        numbered.process_of,
        _process_order(batch, members, numbered, rules),
        members_from,
        process_members,
        _previous_active(batch, members, first_task),
        previous_from,
        previous_standby,
    )


@kernel
def _number_processes(batch: StreamsBatch, members: Ints32) -> _Processes:
    ids, hashes, size = batch.groups.process_ids, batch.process_hashes, 4
    while size < 2 * len(members):
        size *= 2
    table = np.full(size, NOBODY, np.int32)
    process_of, first_members, n = np.empty(len(members), np.int32), np.empty(len(members), np.int32), 0
    for i in range(len(members)):
        m = members[i]
        slot = java_bucket(hashes[m], size)
        while table[slot] != NOBODY:
            known = members[table[slot]]
            if hashes[known] == hashes[m] and equal(ids, known, ids, m):
                break
            slot = (slot + 1) & (size - 1)
        if table[slot] == NOBODY:
            table[slot], process_of[i], first_members[n] = i, n, i
            n += 1
        process_of[i] = process_of[table[slot]]
    return _Processes(process_of, first_members[:n])


@kernel
def _process_order(batch: StreamsBatch, members: Ints32, processes: _Processes, rules: int) -> Ints32:
    """Return the order of a ``HashMap`` that is created for as many keys as the group has members.

    Since 4.4 ``computeIfAbsent`` fills it (see ``java_compute_if_absent_order``), before that ``putIfAbsent``.
    """
    count = len(processes.first_members)
    numbers = np.arange(count).astype(np.int32)
    if count <= 1:
        return numbers
    hashes = batch.process_hashes[members[processes.first_members]]
    if rules < _TASK_OFFSETS:
        return java_order(hashes, numbers, java_table_size_from(len(members), count))
    last_is_new = processes.first_members[count - 1] == len(members) - 1
    size = java_table_size_from(len(members), count - 1 if last_is_new else count)
    return java_order(hashes, numbers[::-1].copy(), size)


@kernel
def _members_by_process(batch: StreamsBatch, members: Ints32, processes: _Processes) -> tuple[Ints32, Ints32]:
    process_of, count = processes.process_of, len(processes.first_members)
    starts = np.zeros(count + 1, np.int32)
    for p in process_of:
        starts[p + 1] += 1
    for p in range(count):
        starts[p + 1] += starts[p]
    by_process, cursor = np.empty(len(members), np.int32), starts[:-1].copy()
    for i in range(len(members)):
        by_process[cursor[process_of[i]]] = i
        cursor[process_of[i]] += 1
    if count < len(members):
        hashes = batch.member_hashes[members]
        for p in range(count):
            if starts[p + 1] > starts[p] + 1:
                sort_in_java_order(by_process[starts[p] : starts[p + 1]], hashes)
    return starts, by_process


@inner_kernel
def _task(batch: StreamsBatch, first_task: Ints32, lists: TaskLists, k: int) -> int:
    """Return the number of a task in a list, or _NO_TASK if the topology does not have it."""
    subtopology, partition = lists.subtopologies[k], lists.partitions[k]
    if subtopology == NO_SUBTOPOLOGY:
        return _NO_TASK
    place = batch.places[subtopology]
    task = first_task[place] + partition
    return int(task) if partition >= 0 and task < first_task[place + 1] else _NO_TASK


@kernel
def _previous_active(batch: StreamsBatch, members: Ints32, first_task: Ints32) -> Ints32:
    previous, active = np.full(first_task[-1], NOBODY, np.int32), batch.groups.active
    for i in range(len(members)):
        for k in range(active.offsets[members[i]], active.offsets[members[i] + 1]):
            task = _task(batch, first_task, active, k)
            if task != _NO_TASK:
                previous[task] = i
    return previous


@kernel
def _previous_standby(batch: StreamsBatch, members: Ints32, first_task: Ints32, rules: int) -> tuple[Ints32, Ints32]:
    """List the members that had each task as a standby task.

    Since 4.4 these come first, then members that report offsets of the task; both by their offsets, the highest first
    (``rankStandbyCandidates``).
    """
    starts, room = np.zeros(first_task[-1] + 1, np.int32), _room(batch, members, rules)
    if room == 0:
        return starts, np.empty(0, np.int32)
    candidates = _Candidates(
        np.empty(room, np.int32),
        np.empty(room, np.int32),
        np.zeros(room, np.bool_),
        np.zeros(room, np.int64),
        np.full(first_task[-1], NOBODY, np.int32),
    )
    n = 0
    for i in range(len(members)):
        first = n
        n = _add_standbys(batch, first_task, candidates, members[i], i, n)
        if rules >= _TASK_OFFSETS:
            n = _add_reported(batch, first_task, candidates, members[i], i, n)
        for entry in range(first, n):
            starts[candidates.tasks[entry] + 1] += 1
    for task in range(first_task[-1]):
        starts[task + 1] += starts[task]
    return starts, candidates.members[_ranked(candidates, n, starts)]


@inner_kernel
def _room(batch: StreamsBatch, members: Ints32, rules: int) -> int:
    """Return the most candidates that a group may have."""
    standby, reported, room = batch.groups.standby, batch.groups.reported, 0
    for m in members:
        room += standby.offsets[m + 1] - standby.offsets[m]
        if rules >= _TASK_OFFSETS:
            room += reported.offsets[m + 1] - reported.offsets[m]
    return int(room)


class _Candidates(NamedTuple):
    """Members that may take a task, by entry."""

    tasks: Ints32
    members: Ints32
    is_new: Flags
    """Whether the member did not have the task as a standby task, and only reports its offsets."""
    sums: Ints
    """The offsets that the member reports; 0 if it reports none."""
    last_entries: Ints32
    """Scratch by task: its last entry."""


@inner_kernel
def _add_standbys(
    batch: StreamsBatch, first_task: Ints32, candidates: _Candidates, m: int, number: int, entries: int
) -> int:
    """Add the standby tasks that a member had, and return the number of all entries."""
    standby = batch.groups.standby
    for k in range(standby.offsets[m], standby.offsets[m + 1]):
        task = _task(batch, first_task, standby, k)
        if task != _NO_TASK and not _is_candidate(candidates, task, number):
            candidates.tasks[entries], candidates.members[entries] = task, number
            candidates.last_entries[task] = entries
            entries += 1
    return entries


@inner_kernel
def _add_reported(
    batch: StreamsBatch, first_task: Ints32, candidates: _Candidates, m: int, number: int, entries: int
) -> int:
    """Add the tasks of which a member reports offsets, and return the number of all entries."""
    reported = batch.groups.reported
    for k in range(reported.offsets[m], reported.offsets[m + 1]):
        task = _task(batch, first_task, reported, k)
        if task == _NO_TASK:
            continue
        if not _is_candidate(candidates, task, number):
            candidates.tasks[entries], candidates.members[entries], candidates.is_new[entries] = task, number, True
            candidates.last_entries[task] = entries
            entries += 1
        candidates.sums[candidates.last_entries[task]] = batch.groups.offset_sums[k]
    return entries


@inner_kernel
def _is_candidate(candidates: _Candidates, task: int, number: int) -> bool:
    """Return whether a member, the last one so far, is a candidate for a task."""
    entry = candidates.last_entries[task]
    return bool(entry != NOBODY and candidates.members[entry] == number)


@kernel
def _ranked(candidates: _Candidates, entries: int, starts: Ints32) -> Ints32:
    """Return the entries of each task, those that are not new first, then by the highest sum; the sort is stable."""
    tasks, is_new, sums = candidates.tasks, candidates.is_new, candidates.sums
    order, ends = np.empty(entries, np.int32), starts[:-1].copy()
    for entry in range(entries):
        start, place = starts[tasks[entry]], ends[tasks[entry]]
        ends[tasks[entry]] += 1
        while place > start:
            before = order[place - 1]
            if is_new[before] < is_new[entry] or (is_new[before] == is_new[entry] and sums[before] >= sums[entry]):
                break
            order[place] = before
            place -= 1
        order[place] = entry
    return order
