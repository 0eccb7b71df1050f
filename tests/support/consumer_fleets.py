"""Simulations of one small consumer-protocol group, described in a line."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from rebalance_sim.kafka.assignors import ASSIGNORS
from rebalance_sim.kafka.election import PreferenceLists
from rebalance_sim.kafka.groups import NO_GENERATION, NO_RACK, AssignmentOutcome, Assignments, Groups, TopicArrays
from rebalance_sim.kafka.runtime.records import new_records
from rebalance_sim.kafka.runtime.strings import Ints32, Strings, java_hashes
from rebalance_sim.kafka.simulation.batch import simulate
from rebalance_sim.kafka.simulation.batch_state import Simulated, broker_of
from rebalance_sim.kafka.simulation.consumer_group_batch import ConsumerGroupBatch
from rebalance_sim.kafka.simulation.fleet import Fleet, GroupTopics, Lists, Names
from rebalance_sim.kafka.simulation.model import (
    Consumer,
    RebalanceRow,
    ScenarioEvent,
    ScenarioKind,
    Subject,
    TimelineRow,
)
from rebalance_sim.kafka.simulation.settings import Settings
from rebalance_sim.releases import SERVER_ASSIGNORS, kafka_version

_VERSION = kafka_version("4.3")


@dataclass
class Scripted:
    """An event of one consumer, with the value that its kind takes."""

    at_ms: int
    kind: ScenarioKind
    consumer: int = 0
    value: int = 0


@dataclass
class SmallGroup:
    """A group of identical consumers."""

    members: int
    partitions: int
    events: Sequence[Scripted]
    more: int = 0
    """Consumers that are not members at first."""
    static: bool = False
    max_poll_interval_ms: int = 300_000
    grown: int = 0
    """Partitions of the topic after it has grown."""
    strategy: str = "server-uniform"
    settings: Settings = field(default_factory=Settings)

    def simulate(self, groups: int = 1) -> "SimulatedGroup":
        """Simulate this many copies of the group, each with random numbers of its own."""
        topics = self._topics()

        def assign(_: int, asked: Groups, consumers: Ints32) -> AssignmentOutcome:
            return ASSIGNORS[self.strategy].assign(asked, topics, _VERSION)

        broker = broker_of(self.settings, int(_VERSION.coordinator), int(_VERSION.coordinator_map))
        fleet = self._fleet(groups, topics)
        chosen = np.ones(len(fleet.members), np.bool_)
        (simulated,) = simulate(ConsumerGroupBatch(fleet, topics, self.settings, broker, assign), chosen)
        return SimulatedGroup(simulated)

    def _topics(self) -> TopicArrays:
        """Return the topic as it is, and as it will be."""
        counts = [self.partitions, max(self.grown, self.partitions)]
        return TopicArrays(
            np.array(counts, np.int32),
            java_hashes(Strings.of(["orders", "orders"])),
            np.array([0, 1]),
            np.zeros(3, np.int32),
            np.zeros(1, np.int32),
            np.zeros(0, np.int32),
            np.array([[1, 2], [1, 2]], np.int64),
        )

    def _fleet(self, groups: int, topics: TopicArrays) -> Fleet:
        size = self.members + self.more
        count = groups * size
        names = [f"member-{g}-{m}" for g in range(groups) for m in range(size)]
        instances = [f"instance-{m}" if self.static else "" for _ in range(groups) for m in range(size)]
        consumers = np.arange(0, count + 1, size).astype(np.int32)
        members = np.arange(0, groups * self.members + 1, self.members).astype(np.int32)
        first = self._first_assignments(members, [name for m, name in enumerate(names) if m % size < self.members])
        zeros = np.zeros(groups, np.int32)
        most = int(topics.partitions.max())
        return Fleet(
            consumers,
            np.full(groups, self.members, np.int32),
            self._consumers(groups, size),
            np.arange(0, groups * len(self.events) + 1, max(len(self.events), 1)).astype(np.int32)
            if self.events
            else np.zeros(groups + 1, np.int32),
            self._events(groups),
            Names(Strings.of(names), Strings.of(names), Strings.of(instances)),
            java_hashes(Strings.of(names)),
            java_hashes(Strings.of(names)),
            np.full(count, NO_RACK, np.int32),
            Lists(np.array([0, 1], np.int32), np.zeros(1, np.int32)),
            PreferenceLists(np.array([0, 1], np.int32), np.zeros(1, np.int32), java_hashes(Strings.of(["uniform"]))),
            np.zeros(1, np.bool_),
            np.array([SERVER_ASSIGNORS.index(self.strategy)], np.int32),
            np.arange(groups + 1).astype(np.int32),
            zeros,
            np.zeros(groups, np.bool_),
            (np.arange(groups + 1) * most).astype(np.int32),
            GroupTopics(np.arange(groups + 1).astype(np.int32), zeros, zeros, np.full(groups, most, np.int32)),
            np.zeros(2, np.int32),
            first,
            np.full(groups, 7, np.int64),
            zeros,
            zeros,
            np.arange(groups) * 1234567891 + 42,
            np.full(groups, groups == 1),
        )

    def _first_assignments(self, members: Ints32, names: list[str]) -> Assignments:
        count = len(names)
        ids = Strings.of(names)
        groups = Groups(
            members,
            ids,
            java_hashes(ids),
            np.ones(count, np.int64),
            ids,
            np.full(count, NO_RACK, np.int32),
            np.arange(count + 1).astype(np.int32),
            np.zeros(count, np.int32),
            Assignments(np.zeros(count + 1, np.int32), np.zeros(0, np.int32), np.zeros(0, np.int32)),
            np.full(count, NO_GENERATION, np.int64),
        )
        return ASSIGNORS[self.strategy].assign(groups, self._topics(), _VERSION).assignments

    def _consumers(self, groups: int, size: int) -> Any:
        consumers = cast(Any, new_records(Consumer, groups * size))
        consumers["instance"] = np.tile(np.arange(size), groups) if self.static else -1
        consumers["protocols"] = 1
        consumers["assignor"] = SERVER_ASSIGNORS.index(self.strategy)
        consumers["session_timeout_ms"] = 45_000
        consumers["rebalance_timeout_ms"] = self.max_poll_interval_ms
        return consumers

    def _events(self, groups: int) -> Any:
        events = cast(Any, new_records(ScenarioEvent, groups * len(self.events)))
        for k, event in enumerate(self.events):
            mine = slice(k, None, len(self.events))
            for name in ("at_ms", "kind", "consumer", "value"):
                events[name][mine] = getattr(event, name)
            if event.kind == ScenarioKind.GROW:
                events["grown_topic"][mine] = 1
                events["before"][mine] = self.partitions
        return events


class SimulatedGroup:
    """The results of a simulated group."""

    def __init__(self, simulated: Simulated) -> None:
        self.simulated = simulated
        self.progress = simulated.progress[0]
        self.group = simulated.groups[0]

    @property
    def rebalances(self) -> list[RebalanceRow]:
        """Return the rows of its rebalances."""
        return list(self.simulated.rebalances)

    def timeline(self, subject: Subject, error: int | None = None) -> list[TimelineRow]:
        """Return the rows of the timeline with this subject."""
        rows = [row for row in self.simulated.timeline if row.subject == subject]
        return rows if error is None else [row for row in rows if row.error == error]
