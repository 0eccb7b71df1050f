"""The topology of an application: its subtopologies, and the tasks that result from the partitions of their topics."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rebalance_sim.kafka.streams.applications import hash_map_order, task_id_hash
from rebalance_sim.kafka.wire.consumer_protocol import TopicPartition
from rebalance_sim.kafka.wire.streams_protocol import TaskId
from rebalance_sim.releases import KafkaStreamsRules


@dataclass(frozen=True)
class Subtopology:
    """A part of a topology that shares no state with others (``TopicsInfo``)."""

    number: int
    sources: tuple[str, ...]
    """The topics that it reads, with repartition topics."""
    changelogs: tuple[str, ...] = ()
    """The changelog topics of its state stores; a source topic may be one (``topology.optimization``)."""


@dataclass(frozen=True)
class Topology:
    """All subtopologies, and the number of partitions of their source topics."""

    subtopologies: Sequence[Subtopology]
    partitions: Mapping[str, int]

    def missing_topics(self) -> list[str]:
        """Return the source topics that do not exist."""
        sources = {topic for part in self.subtopologies for topic in part.sources}
        return sorted(topic for topic in sources if not self.partitions.get(topic))

    def tasks(self, rules: KafkaStreamsRules) -> dict[TaskId, frozenset[TopicPartition]]:
        """Return the partitions of each task, in the order in which the map of tasks is filled.

        A task has the partitions of its number, of those source topics that have so many (``PartitionGrouper``).

        >>> topology = Topology([Subtopology(0, ("a", "b"))], {"a": 1, "b": 2})
        >>> [len(partitions) for partitions in topology.tasks(KafkaStreamsRules.RACKS).values()]
        [2, 1]
        """
        tasks = {}
        for part in self._in_map_order(rules):
            for partition in range(max(self.partitions[topic] for topic in part.sources)):
                tasks[TaskId(part.number, partition)] = frozenset(
                    TopicPartition(topic, partition) for topic in part.sources if partition < self.partitions[topic]
                )
        return tasks

    def stateful_tasks(self, rules: KafkaStreamsRules) -> list[TaskId]:
        """Return the tasks with changelogs, in the order in which the set of stateful tasks is filled.

        The tasks of each subtopology are in a hash set of their own before (``tasksForTopicGroup``).
        """
        in_order = _hash_order(list(self.tasks(rules)), rules)
        parts = self._in_map_order(rules) if rules >= KafkaStreamsRules.TASK_ID_HASH else self.subtopologies
        stateful: list[TaskId] = []
        for part in parts:
            if part.changelogs:
                stateful += _hash_order([task for task in in_order if task.subtopology == part.number], rules)
        return stateful

    def _in_map_order(self, rules: KafkaStreamsRules) -> list[Subtopology]:
        """Return the subtopologies in the order of a ``HashMap``: of numbers, and since 3.0 of ``Subtopology``."""
        has_class = rules >= KafkaStreamsRules.TASK_ID_HASH
        hashes = [31 * (31 + part.number) if has_class else part.number for part in self.subtopologies]
        return [self.subtopologies[k] for k in hash_map_order(hashes)]


def _hash_order(tasks: list[TaskId], rules: KafkaStreamsRules) -> list[TaskId]:
    hashes = [task_id_hash(task.subtopology, task.partition, int(rules)) for task in tasks]
    return [tasks[k] for k in hash_map_order(hashes)]
