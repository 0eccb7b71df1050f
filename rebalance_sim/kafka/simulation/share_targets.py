"""The assignor of one simulated share group over time: the order of a member's target decides ties of the next."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from rebalance_sim.kafka.assignors.server.simple import assign_in_order
from rebalance_sim.kafka.assignors.server.specification import specification_order
from rebalance_sim.kafka.coordinator.share.share_group import AssignmentRequest, AssignorError, Partition, Partitions
from rebalance_sim.kafka.groups import (
    NO_GENERATION,
    NO_RACK,
    AssignmentFailure,
    Assignments,
    Groups,
    Subscriptions,
    TopicArrays,
)
from rebalance_sim.kafka.runtime.lists import list_offsets
from rebalance_sim.kafka.runtime.strings import Strings
from rebalance_sim.releases import ShareRules


@dataclass
class ShareTargets:
    """Computes target assignments with ``SimpleAssignor``, and remembers each member's in the order of its record."""

    topics: TopicArrays
    """The metadata of the batch; ``partitions`` may grow."""
    numbers: Mapping[str, int]
    """The topics of the group by name."""
    rules: ShareRules
    targets: dict[str, list[Partition]] = field(default_factory=dict)

    def __call__(self, asked: AssignmentRequest) -> Mapping[str, Partitions]:
        """Return the target of each member. Raises AssignorError."""
        ids = list(asked.subscriptions)
        self.targets = {name: self.targets.get(name, []) if name in asked.targets else [] for name in ids}
        groups = self._groups(asked)
        outcome = assign_in_order(
            groups, self.topics, specification_order(groups), self._lists([self._uninitialized(asked)]), self.rules
        )
        failure = AssignmentFailure(int(outcome.errors[0]))
        if failure is not AssignmentFailure.NONE:
            raise AssignorError(failure.message)
        names = {number: name for name, number in self.numbers.items()}
        offsets, topics, partitions = (each.tolist() for each in outcome.assignments)
        for place, name in enumerate(ids):
            entries = range(offsets[place], offsets[place + 1])
            target = [(names[topics[k]], partitions[k]) for k in entries]
            if set(target) != set(self.targets[name]):
                self.targets[name] = target
        return {name: frozenset(target) for name, target in self.targets.items()}

    def _groups(self, asked: AssignmentRequest) -> Groups:
        """Return the group as a batch of one; no member has a rack, which the assignor does not ask for."""
        ids = list(asked.subscriptions)
        count = len(ids)
        subscribed = [sorted(self.numbers[name] for name in asked.subscriptions[each]) for each in ids]
        return Groups(
            np.array([0, count], np.int32),
            Strings.of(ids),
            np.ones(count, np.int64),
            Strings.of(ids),
            np.full(count, NO_RACK, np.int32),
            Subscriptions(
                np.arange(count, dtype=np.int32),
                list_offsets(np.array([len(each) for each in subscribed])),
                np.array([number for each in subscribed for number in each], np.int32),
            ),
            self._lists([self.targets[name] for name in ids]),
            np.full(count, NO_GENERATION),
        )

    def _uninitialized(self, asked: AssignmentRequest) -> list[Partition]:
        counts = self.topics.partitions
        named = {name for topics in asked.subscriptions.values() for name in topics}
        listed = [(name, p) for name in sorted(named) for p in range(max(int(counts[self.numbers[name]]), 0))]
        return [partition for partition in listed if partition not in asked.initialized]

    def _lists(self, lists: Sequence[Sequence[Partition]]) -> Assignments:
        flat = [partition for each in lists for partition in each]
        return Assignments(
            list_offsets(np.array([len(each) for each in lists])).astype(np.int32),
            np.array([self.numbers[topic] for topic, _ in flat], np.int32),
            np.array([number for _, number in flat], np.int32),
        )
