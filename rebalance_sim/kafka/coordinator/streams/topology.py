"""The topology of a streams group on the topics of its cluster (``InternalTopicManager.configureTopics``)."""

from collections.abc import Mapping
from dataclasses import dataclass

MISSING_SOURCE_TOPICS, MISSING_INTERNAL_TOPICS = "MISSING_SOURCE_TOPICS", "MISSING_INTERNAL_TOPICS"
INCORRECTLY_PARTITIONED_TOPICS = "INCORRECTLY_PARTITIONED_TOPICS"
NOT_READY = frozenset({MISSING_SOURCE_TOPICS, MISSING_INTERNAL_TOPICS, INCORRECTLY_PARTITIONED_TOPICS})
"""Why it is not ready (``StreamsGroupHeartbeatResponse.Status``)."""

Task = tuple[str, int]
"""Subtopology and partition."""


@dataclass(frozen=True)
class Subtopology:
    """A part of a topology."""

    sources: tuple[str, ...]
    """Topics that it reads, repartition topics among them."""
    changelogs: tuple[str, ...] = ()
    is_stateful: bool = False
    """Whether it has changelogs, known or not."""


@dataclass(frozen=True)
class Topology:
    """What a member sends when it joins."""

    epoch: int
    subtopologies: Mapping[str, Subtopology]

    def configured(self, topics: Mapping[str, int]) -> "ConfiguredTopology":
        """Return the topology on topics with these numbers of partitions."""
        parts = self.subtopologies
        if not all(topic in topics for part in parts.values() for topic in part.sources):
            return ConfiguredTopology({}, MISSING_SOURCE_TOPICS)
        tasks = self.tasks(topics)
        changelogs = [(topic, tasks[name]) for name, part in parts.items() for topic in part.changelogs]
        if any(topics.get(topic, count) != count for topic, count in changelogs):
            return ConfiguredTopology({}, INCORRECTLY_PARTITIONED_TOPICS)
        is_complete = all(topic in topics for topic, _ in changelogs)
        return ConfiguredTopology(tasks) if is_complete else ConfiguredTopology({}, MISSING_INTERNAL_TOPICS)

    def tasks(self, topics: Mapping[str, int]) -> dict[str, int]:
        """Return the number of tasks of each subtopology; all source topics exist."""
        return {name: max(topics[topic] for topic in part.sources) for name, part in self.subtopologies.items()}

    @property
    def topics(self) -> frozenset[str]:
        """The topics that it needs."""
        return frozenset(topic for part in self.subtopologies.values() for topic in (*part.sources, *part.changelogs))


@dataclass(frozen=True)
class ConfiguredTopology:
    """A topology on the topics of the cluster."""

    tasks: Mapping[str, int]
    """Number of tasks by subtopology; none if it is not ready."""
    obstacle: str | None = None
    """The status of a topology that is not ready."""

    @property
    def is_ready(self) -> bool:
        """Whether its tasks can be assigned."""
        return self.obstacle is None

    def has(self, task: Task) -> bool:
        """Return whether there is a task."""
        return 0 <= task[1] < self.tasks.get(task[0], 0)
