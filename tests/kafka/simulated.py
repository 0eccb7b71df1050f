"""Simulates groups without Spark, and keeps what a look at each of them needs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from rebalance_sim.engine.arrow import arrow_type
from rebalance_sim.engine.group_batches import GroupBatch
from rebalance_sim.engine.simulated_groups import Happening, Joiner, SimulatedGroups
from rebalance_sim.engine.simulation import begin
from rebalance_sim.engine.topic_metadata import TopicMetadata
from rebalance_sim.kafka.assignors import ASSIGNORS
from rebalance_sim.kafka.coordinator.errors import Errors
from rebalance_sim.kafka.groups import Groups, Outcome
from rebalance_sim.kafka.rebalances import RebalanceProtocol
from rebalance_sim.kafka.records import Records
from rebalance_sim.kafka.simulation.batch import NO_LIMIT, simulate_by_steps
from rebalance_sim.kafka.simulation.batch_state import Simulated
from rebalance_sim.kafka.simulation.consumer_group_batch import simulate_consumer_groups
from rebalance_sim.kafka.simulation.fleet import Fleet
from rebalance_sim.kafka.simulation.model import Consumer, Course, PartitionState, Subject
from rebalance_sim.kafka.simulation.scenario import Scenario
from rebalance_sim.kafka.simulation.settings import Settings
from rebalance_sim.kafka.strings import Ints32
from rebalance_sim.tables import MEMBERS, TOPICS
from rebalance_sim.versions import SERVER_SIDE, CoordinatorRules, kafka_version
from tests.kafka.cases import JsonObject

EAGER = tuple(name for name, known in ASSIGNORS.items() if known.protocol is RebalanceProtocol.EAGER)
Partition = tuple[str, int]


@dataclass(frozen=True)
class History:
    """A group, and what happens to it: consumers are known by their places, members first."""

    members: Sequence[JsonObject] = ()
    joiners: Sequence[JsonObject] = ()
    happenings: Sequence[Happening] = ()
    name: str = "g"


def consumer(name: str, *topics: str, protocols: Sequence[str] = ("range",), **more: Any) -> JsonObject:
    """A row of the members table."""
    return {"member_id": name, "client_id": name, "protocols": list(protocols), "subscription": list(topics)} | more


def at(at_ms: int, event: str, place: int = -1, value: int = 0, **more: Any) -> Happening:
    """An event; ``value`` is down_ms, for_ms, the partitions more, or the error."""
    return Happening(0, at_ms, event, place, value, **more)


@dataclass(frozen=True, eq=False)
class Played:
    """Histories, and what became of them."""

    version: str
    histories: Sequence[History]
    groups: SimulatedGroups
    fleet: Fleet
    given_twice: dict[int, str]
    """Groups that were given a partition for two members at a time, and by which assignor."""
    errors: list[str | None]
    simulated: Simulated

    def course(self, group: int = 0) -> Course:
        return self.simulated.courses[group]

    def consumers(self, group: int = 0) -> Sequence[Consumer]:
        return self.fleet.of_consumers[self.fleet.consumers[group] : self.fleet.consumers[group + 1]]

    def partitions(self, group: int = 0) -> Records[PartitionState]:
        return self.simulated.partitions[self.fleet.partitions[group] : self.fleet.partitions[group + 1]]

    def names(self, group: int = 0) -> list[str]:
        low, high = self.fleet.consumers[group], self.fleet.consumers[group + 1]
        names: list[str] = self.groups.consumers.column("member_id")[low:high].to_pylist()
        return names

    def owned(self, group: int = 0) -> dict[str, list[Partition]]:
        """What each consumer works on in the end."""
        return {
            name: sorted(self.listed(group, of.owned))
            for name, of in zip(self.names(group), self.consumers(group), strict=True)
            if of.owned >= 0
        }

    def listed(self, group: int, row: int) -> list[Partition]:
        """What a row of the assignments lists."""
        low, high = self.simulated.first_listed[row : row + 2]
        return [self._numbered[group][number] for number in self.simulated.listed[low:high].tolist() if number >= 0]

    @cached_property
    def _numbered(self) -> list[list[Partition]]:
        """The partitions of each group by number."""
        topics, names = self.groups.group_topics, self.groups.found_topics.names.to_pylist()
        of_entries = [
            [(names[topic], partition) for partition in range(count)]
            for topic, count in zip(topics.topics.tolist(), topics.partitions.tolist(), strict=True)
        ]
        return [list(chain.from_iterable(of_entries[low:high])) for low, high in pairwise(topics.offsets.tolist())]

    def rebalances(self, group: int = 0) -> list[Any]:
        """Rows of the rebalances; protocols by number."""
        rows = np.asarray(self.simulated.rebalances)
        return list(rows[rows["group"] == group].view(np.recarray))

    def timeline(self, group: int = 0) -> list[Any]:
        rows = np.asarray(self.simulated.timeline)
        return list(rows[rows["group"] == group].view(np.recarray))

    def times(self, subject: Subject, place: int, group: int = 0) -> list[int]:
        """When something happened to a consumer."""
        return [int(row.at_ms) for row in self.timeline(group) if (row.subject, row.consumer) == (subject, place)]

    def failures(self, group: int = 0) -> dict[str, str]:
        """Consumers that an error ended, and the error."""
        told = zip(self.names(group), self.consumers(group), strict=True)
        return {name: Errors(of.failure).name for name, of in told if of.failure != Errors.NONE}


def play(
    histories: Sequence[History], topics: Mapping[str, int], version: str = "4.3", settings: Settings | None = None
) -> Played:
    """Simulate groups by the rules of a version of Kafka; all have the same topics, by number of partitions."""
    rules = kafka_version(version)
    older = rules.coordinator < CoordinatorRules.SCALA_3_9
    batch, index = _batch(histories), _metadata(topics).index()
    joiners = [Joiner(g, row) for g, history in enumerate(histories) for row in history.joiners]
    happenings = [replace(event, group=g) for g, history in enumerate(histories) for event in history.happenings]
    scenario = Scenario("", settings=settings or Settings())
    groups = SimulatedGroups.of(batch, joiners, happenings, index, EAGER, None, older, scenario)
    start = begin(groups, rules)
    seeds = np.array([hash_of(history.name) for history in histories], np.int64)
    followed = np.ones(len(histories), np.bool_)
    fleet = groups.fleet(start.assignments, start.generations, start.protocols, seeds, followed)
    given, _ = groups.topics()
    given_twice: dict[int, str] = {}

    def keep(of_consumers: Ints32, outcome: Outcome, sizes: Ints32, name: str) -> None:
        made = outcome.assignments
        owned = list(zip(made.topics.tolist(), made.partitions.tolist(), strict=True))
        for low, high in pairwise(sizes):
            in_group = owned[made.offsets[low] : made.offsets[high]]
            if len(set(in_group)) < len(in_group):
                whose = int(of_consumers[low])
                given_twice[int(np.searchsorted(fleet.consumers, whose, side="right") - 1)] = name

    def assign(protocol: int, joined: Groups, consumers: Ints32) -> Outcome:
        name = groups.protocol_names[protocol]
        outcome = ASSIGNORS[name].assign(joined, given, rules)
        keep(consumers, outcome, joined.members, name)
        return outcome

    first = np.flatnonzero(groups.is_member).astype(np.int32)
    keep(first, Outcome(start.assignments, np.zeros(len(histories), np.int32)), batch.offsets, "at first")
    run = simulate_consumer_groups if set(groups.protocol_names) & set(SERVER_SIDE) else simulate_by_steps
    numbers = int(rules.coordinator), int(rules.coordinator_map)
    *_, simulated = run(fleet, given, scenario.settings, *numbers, assign, ~start.failed, NO_LIMIT)
    return Played(version, histories, groups, fleet, given_twice, start.errors, simulated)


def hash_of(name: str) -> int:
    """A seed that depends on the group's name only."""
    h = 0
    for character in name:
        h = (31 * h + ord(character)) & 0x7FFFFFFFFFFFFFFF
    return h


def _batch(histories: Sequence[History]) -> GroupBatch:
    struct = pa.struct([of for of in arrow_type(MEMBERS.schema) if of.name not in ("cluster", "group_id")])
    members = [
        [{"join_order": k, "protocol_type": "consumer"} | row for k, row in enumerate(history.members)]
        for history in histories
    ]
    given = {
        "cluster": pa.array(["default"] * len(histories)),
        "group_id": pa.array([history.name for history in histories]),
        "members": pa.array(members, pa.list_(struct)),
    }
    return GroupBatch.of(pa.RecordBatch.from_pydict(given))


def _metadata(topics: Mapping[str, int]) -> TopicMetadata:
    rows = [{"cluster": "default", "topic": name, "partitions": count} for name, count in topics.items()]
    return TopicMetadata(pa.Table.from_pylist(rows, pa.schema(list(arrow_type(TOPICS.schema)))))
