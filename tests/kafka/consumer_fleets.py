"""Small fleets of one group of KIP-848, told in a line, and their simulation."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from rebalance_sim.kafka.assignors import ASSIGNORS
from rebalance_sim.kafka.coordinator.consumer_group import SERVER_ASSIGNORS
from rebalance_sim.kafka.election import PreferenceLists
from rebalance_sim.kafka.groups import NO_GENERATION, NO_RACK, Assignments, Groups, Outcome, Topics
from rebalance_sim.kafka.records import new_records
from rebalance_sim.kafka.simulation.batch import NO_LIMIT
from rebalance_sim.kafka.simulation.batch_state import Simulated
from rebalance_sim.kafka.simulation.consumer_group_batch import simulate_consumer_groups
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
from rebalance_sim.kafka.strings import Ints32, Strings, java_hashes
from rebalance_sim.versions import kafka_version

_VERSION = kafka_version("4.3")


@dataclass
class Told:
    """An event: what happens to which consumer, when, and the number that comes with it."""

    at_ms: int
    kind: ScenarioKind
    consumer: int = 0
    value: int = 0


@dataclass
class SmallGroup:
    """A group whose consumers are all alike."""

    members: int
    partitions: int
    events: Sequence[Told]
    more: int = 0
    """Consumers that are no members at first."""
    static: bool = False
    max_poll_interval_ms: int = 300_000
    grown: int = 0
    """Partitions of the topic in the end."""
    strategy: str = "server-uniform"
    settings: Settings = field(default_factory=Settings)

    def simulate(self, groups: int = 1) -> "Course848":
        """Simulate it so many times, each with other random numbers."""
        topics = self._topics()

        def assign(_: int, asked: Groups, consumers: Ints32) -> Outcome:
            return ASSIGNORS[self.strategy].assign(asked, topics, _VERSION)

        rules, map_rule = int(_VERSION.coordinator), int(_VERSION.coordinator_map)
        fleet = self._fleet(groups, topics)
        chosen = np.ones(len(fleet.members), np.bool_)
        *_, simulated = simulate_consumer_groups(
            fleet, topics, self.settings, rules, map_rule, assign, chosen, NO_LIMIT
        )
        return Course848(simulated)

    def _topics(self) -> Topics:
        """The topic as it is, and as it will be."""
        counts = [self.partitions, max(self.grown, self.partitions)]
        return Topics(
            np.array(counts, np.int32),
            java_hashes(Strings.of(["orders", "orders"])),
            np.array([0, 1]),
            np.zeros(3, np.int32),
            np.zeros(1, np.int32),
            np.zeros(0, np.int32),
            np.array([[1, 2], [1, 2]], np.int64),
        )

    def _fleet(self, groups: int, topics: Topics) -> Fleet:
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
            np.zeros(1, np.bool_),
            np.array([SERVER_ASSIGNORS.index(self.strategy)], np.int32),
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
        for k, told in enumerate(self.events):
            mine = slice(k, None, len(self.events))
            for name in ("at_ms", "kind", "consumer", "value"):
                events[name][mine] = getattr(told, name)
            if told.kind == ScenarioKind.GROW:
                events["grown_topic"][mine] = 1
                events["before"][mine] = self.partitions
        return events


class Course848:
    """What became of a small group."""

    def __init__(self, simulated: Simulated) -> None:
        self.simulated = simulated
        self.course = simulated.courses[0]
        self.group = simulated.groups[0]

    @property
    def rebalances(self) -> list[RebalanceRow]:
        """The rows of its rebalances."""
        return list(self.simulated.rebalances)

    def told(self, subject: Subject, error: int | None = None) -> list[TimelineRow]:
        """The rows of the timeline that tell this."""
        rows = [row for row in self.simulated.timeline if row.subject == subject]
        return rows if error is None else [row for row in rows if row.error == error]
