"""The assignor of one streams group over time: ``StickyTaskAssignor``, by the rules of a release."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from rebalance_sim.kafka.assignors.streams.sticky_task_assignor import assign
from rebalance_sim.kafka.assignors.streams.streams_groups import NO_SUBTOPOLOGY, StreamsGroups, TaskLists
from rebalance_sim.kafka.coordinator.streams.streams_group import NO_TASKS, AssignmentRequest, Tasks
from rebalance_sim.kafka.coordinator.streams.topology import Task
from rebalance_sim.kafka.runtime.lists import list_offsets
from rebalance_sim.kafka.runtime.strings import Strings
from rebalance_sim.releases import KafkaVersion, StreamsRules


@dataclass(frozen=True)
class StreamsTargets:
    """Computes target assignments. Members come in the order in which they joined."""

    version: KafkaVersion

    def __call__(self, asked: AssignmentRequest) -> Mapping[str, Tasks]:
        """Return the target of each member."""
        ids = list(asked.members)
        keeps_current = self.version.streams >= StreamsRules.TASK_OFFSETS
        members = asked.members.items()
        had = [each.assigned if keeps_current else asked.targets.get(name, NO_TASKS) for name, each in members]
        numbers = {name: number for number, name in enumerate(asked.tasks)}
        offsets = [sorted(asked.offsets.get(name, {}).items()) for name in ids]
        groups = StreamsGroups(
            list_offsets(np.array([len(ids)])),
            Strings.of(ids),
            Strings.of([member.process_id for member in asked.members.values()]),
            list_offsets(np.array([len(numbers)])),
            Strings.of(list(numbers)),
            np.array(list(asked.tasks.values()), np.int32),
            np.array([asked.topology.subtopologies[name].is_stateful for name in numbers], np.bool_),
            np.array([asked.standby_replicas], np.int32),
            _lists([sorted(tasks.active) for tasks in had], numbers),
            _lists([sorted(tasks.standby) for tasks in had], numbers),
            _lists([[task for task, _ in listed] for listed in offsets], numbers),
            np.array([offset for listed in offsets for _, offset in listed], np.int64),
        )
        outcome = assign(groups, self.version)
        active, standby = (_named(lists, list(numbers)) for lists in (outcome.active, outcome.standby))
        return {name: Tasks(*of) for name, *of in zip(ids, active, standby, strict=True)}


def _lists(of_members: Sequence[Sequence[Task]], numbers: Mapping[str, int]) -> TaskLists:
    flat = [task for tasks in of_members for task in tasks]
    return TaskLists(
        list_offsets(np.array([len(tasks) for tasks in of_members])),
        np.array([numbers.get(name, NO_SUBTOPOLOGY) for name, _ in flat], np.int32),
        np.array([partition for _, partition in flat], np.int32),
    )


def _named(lists: TaskLists, names: Sequence[str]) -> Iterable[frozenset[Task]]:
    flat = [(names[s], p) for s, p in zip(lists.subtopologies.tolist(), lists.partitions.tolist(), strict=True)]
    return [frozenset(flat[start:end]) for start, end in pairwise(lists.offsets.tolist())]
