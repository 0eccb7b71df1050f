"""Simulates groups without Spark, and keeps the complete results for tests."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from rebalance_sim.engine.groups.group_batches import GroupBatch
from rebalance_sim.engine.simulation.simulation_batch import SimulationBatch
from rebalance_sim.engine.tables.arrow import arrow_type
from rebalance_sim.engine.tables.topic_metadata import TopicMetadata
from rebalance_sim.kafka.assignors import ASSIGNORS
from rebalance_sim.kafka.assignors.resolved import Assignors
from rebalance_sim.kafka.coordinator.errors import Errors
from rebalance_sim.kafka.groups import AssignmentOutcome, Groups
from rebalance_sim.kafka.runtime.records import Records
from rebalance_sim.kafka.runtime.strings import Ints32
from rebalance_sim.kafka.simulation.batch import Batch, simulate
from rebalance_sim.kafka.simulation.batch_state import BatchResult, broker_of
from rebalance_sim.kafka.simulation.fleet import SimulatedFleet
from rebalance_sim.kafka.simulation.group_events import EVENT_KINDS, GroupEvent, GroupEvents, JoiningConsumer
from rebalance_sim.kafka.simulation.model import Consumer, GroupProgress, PartitionState, Subject
from rebalance_sim.kafka.simulation.prepared import Conditions, PreparedGroups
from rebalance_sim.kafka.simulation.scenario import Scenario
from rebalance_sim.kafka.simulation.settings import SimulationSettings
from rebalance_sim.kafka.simulation.start import start_groups
from rebalance_sim.releases import kafka_version
from rebalance_sim.tables import MEMBERS, TOPICS
from tests.support.cases import JsonObject

Partition = tuple[str, int]


@dataclass(frozen=True)
class History:
    """A group and its events; consumers are numbered, members first."""

    members: Sequence[JsonObject] = ()
    joiners: Sequence[JsonObject] = ()
    events: Sequence[GroupEvent] = ()
    name: str = "g"


def consumer(name: str, *topics: str, protocols: Sequence[str] = ("range",), **more: Any) -> JsonObject:
    """Return a row of the members table."""
    return {"member_id": name, "client_id": name, "protocols": list(protocols), "subscription": list(topics)} | more


def at(at_ms: int, event: str, place: int = -1, value: int = 0, **more: Any) -> GroupEvent:
    """Return an event of a group's consumer; ``value`` is that of ``GroupEvent``."""
    return GroupEvent(0, at_ms, EVENT_KINDS[event], place, value, **more)


@dataclass(frozen=True, eq=False)
class Played:
    """Histories and the results of their simulation."""

    version: str
    histories: Sequence[History]
    batch: SimulationBatch
    prepared: PreparedGroups
    fleet: SimulatedFleet
    given_twice: dict[int, str]
    """Groups in which an assignor gave a partition to two members, and that assignor."""
    errors: list[str | None]
    simulated: BatchResult

    def progress(self, group: int = 0) -> GroupProgress:
        return self.simulated.progress[group]

    def consumers(self, group: int = 0) -> Sequence[Consumer]:
        return self.fleet.of_consumers[self.fleet.consumers[group] : self.fleet.consumers[group + 1]]

    def partitions(self, group: int = 0) -> Records[PartitionState]:
        return self.simulated.partitions[self.fleet.partitions[group] : self.fleet.partitions[group + 1]]

    def names(self, group: int = 0) -> list[str]:
        low, high = self.fleet.consumers[group], self.fleet.consumers[group + 1]
        names: list[str] = self.batch.consumers.column("member_id")[low:high].to_pylist()
        return names

    def owned(self, group: int = 0) -> dict[str, list[Partition]]:
        """Return the partitions that each consumer owns in the end."""
        return {
            name: sorted(self.listed(group, of.owned))
            for name, of in zip(self.names(group), self.consumers(group), strict=True)
            if of.owned >= 0
        }

    def listed(self, group: int, row: int) -> list[Partition]:
        """Return the partitions of an assignment row."""
        low, high = self.simulated.first_listed[row : row + 2]
        return [self._numbered[group][number] for number in self.simulated.listed[low:high].tolist() if number >= 0]

    @cached_property
    def _numbered(self) -> list[list[Partition]]:
        """The partitions of each group by number."""
        topics, names = self.batch.groups.group_topics, self.batch.topics.names.to_pylist()
        of_entries = [
            [(names[topic], partition) for partition in range(count)]
            for topic, count in zip(topics.topics.tolist(), topics.partitions.tolist(), strict=True)
        ]
        return [list(chain.from_iterable(of_entries[low:high])) for low, high in pairwise(topics.offsets.tolist())]

    def rebalances(self, group: int = 0) -> list[Any]:
        """Return the rebalance rows; protocols by their numbers in the group."""
        rows = np.asarray(self.simulated.rebalances)
        return list(rows[rows["group"] == group].view(np.recarray))

    def elected(self, group: int = 0) -> list[str]:
        """Names of the protocols that were elected, by rebalance."""
        protocols = self.prepared.protocols
        numbers = protocols.of_groups[protocols.first_of_group[group] :]
        return [protocols.names[numbers[row.protocol]] for row in self.rebalances(group) if row.protocol >= 0]

    def timeline(self, group: int = 0) -> list[Any]:
        rows = np.asarray(self.simulated.timeline)
        return list(rows[rows["group"] == group].view(np.recarray))

    def times(self, subject: Subject, place: int, group: int = 0) -> list[int]:
        """Return the times of a consumer's timeline rows with a subject."""
        return [int(row.at_ms) for row in self.timeline(group) if (row.subject, row.consumer) == (subject, place)]

    def failures(self, group: int = 0) -> dict[str, str]:
        """Return the consumers that an error ended, with the error."""
        consumers = zip(self.names(group), self.consumers(group), strict=True)
        return {name: Errors(of.failure).name for name, of in consumers if of.failure != Errors.NONE}


def play(
    histories: Sequence[History],
    topics: Mapping[str, int],
    version: str = "4.3",
    settings: SimulationSettings | None = None,
) -> Played:
    """Simulate groups with the rules of a Kafka version; all have the same topics, given by partition count."""
    rules = kafka_version(version)
    joining = [JoiningConsumer(g, row) for g, history in enumerate(histories) for row in history.joiners]
    events = [event._replace(group=g) for g, history in enumerate(histories) for event in history.events]
    batch = SimulationBatch(_batch(histories), joining, GroupEvents.of(events), _metadata(topics).index())
    groups, scenario = batch.groups, Scenario("", settings=settings or SimulationSettings())
    prepared = PreparedGroups(groups, Conditions(scenario, Assignors(rules)))
    start = start_groups(prepared)
    seeds = np.array([hash_of(history.name) for history in histories], np.int64)
    fleet = prepared.fleet(start, seeds, np.ones(len(histories), np.bool_))
    given, _ = groups.topic_variants
    given_twice: dict[int, str] = {}

    def keep(of_consumers: Ints32, outcome: AssignmentOutcome, sizes: Ints32, name: str) -> None:
        made = outcome.assignments
        owned = list(zip(made.topics.tolist(), made.partitions.tolist(), strict=True))
        for low, high in pairwise(sizes):
            in_group = owned[made.offsets[low] : made.offsets[high]]
            if len(set(in_group)) < len(in_group):
                whose = int(of_consumers[low])
                given_twice[int(np.searchsorted(fleet.consumers, whose, side="right") - 1)] = name

    def assign(protocol: int, joined: Groups, consumers: Ints32) -> AssignmentOutcome:
        name = prepared.protocols.names[protocol]
        outcome = ASSIGNORS[name].assign(joined, given, rules)
        keep(consumers, outcome, joined.members, name)
        return outcome

    at_first = AssignmentOutcome(start.assignments, np.zeros(len(histories), np.int32))
    keep(groups.first_members, at_first, groups.initial.members, "at first")
    broker = broker_of(scenario.settings, rules)
    (simulated,) = simulate(Batch(fleet, given, [scenario.settings], broker, assign), ~start.failed)
    return Played(version, histories, batch, prepared, fleet, given_twice, start.errors, simulated)


def hash_of(name: str) -> int:
    """Return a seed that depends on the group's name only."""
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
        "rejected_members": pa.array([0] * len(histories)),
    }
    return GroupBatch.of(pa.RecordBatch.from_pydict(given))


def _metadata(topics: Mapping[str, int]) -> TopicMetadata:
    rows = [{"cluster": "default", "topic": name, "partitions": count} for name, count in topics.items()]
    return TopicMetadata(pa.Table.from_pylist(rows, pa.schema(list(arrow_type(TOPICS.schema)))))
