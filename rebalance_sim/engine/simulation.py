"""Simulates groups in Spark's workers: what happens to them in a scenario, and what that costs."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

import mmh3
import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import StructField, StructType

from rebalance_sim.engine.arrow import arrow_type, numbers
from rebalance_sim.engine.batch_arrays import as_groups, elect_protocols, groups_where, of_both_protocols, refusals
from rebalance_sim.engine.custom_assignors import NamedTopics, assign_by_custom, tells_user_data
from rebalance_sim.engine.group_batches import GroupBatch, collect_members
from rebalance_sim.engine.group_events import EventReader, collect_events, rejected_event_rows
from rebalance_sim.engine.prediction import ELECTED, GOES_ON, no_assignor, reject_rows
from rebalance_sim.engine.simulated_groups import Happening, Joiner, SimulatedGroups, expand
from rebalance_sim.engine.simulated_partitions import owned_partition_rows, partition_cost_rows
from rebalance_sim.engine.simulation_rows import Storms, Told, cost_rows, rebalance_rows, timeline_rows
from rebalance_sim.engine.topic_metadata import TopicIndex, TopicMetadata
from rebalance_sim.kafka.assignors import FORGETFUL, KNOWN_ASSIGNORS, assignors_of, find_assignor
from rebalance_sim.kafka.assignors.consumer_partition_assignor import ConsumerPartitionAssignor
from rebalance_sim.kafka.assignors.custom import followed_protocol
from rebalance_sim.kafka.coordinator.classic_group import NONE
from rebalance_sim.kafka.groups import Assignments, Failure, Groups, Outcome, Topics
from rebalance_sim.kafka.rebalances import RebalanceProtocol, course, rebalances
from rebalance_sim.kafka.simulation.batch import NO_LIMIT, simulate_by_steps
from rebalance_sim.kafka.simulation.batch_state import field as field_of
from rebalance_sim.kafka.simulation.consumer_group_batch import simulate_consumer_groups
from rebalance_sim.kafka.simulation.fleet import Fleet
from rebalance_sim.kafka.simulation.scenario import Scenario
from rebalance_sim.kafka.strings import Flags, Ints, Ints32
from rebalance_sim.tables import COSTS, OUTPUTS, OWNED_PARTITIONS, PARTITION_COSTS, REBALANCES, REJECTS, TIMELINE
from rebalance_sim.versions import SERVER_SIDE, CoordinatorRules, KafkaVersion

_ROWS = {
    REBALANCES.name: rebalance_rows,
    TIMELINE.name: timeline_rows,
    OWNED_PARTITIONS.name: owned_partition_rows,
    PARTITION_COSTS.name: partition_cost_rows,
}
"""How the rows of tables are built beside the costs."""
GROUPS_AT_A_TIME = 2_000
"""So many groups are simulated side by side: enough for calls of the assignors, few enough for the memory."""
COLUMNS = (
    "join_order", "member_id", "instance_id", "client_id", "rack", "protocol_type", "protocols", "subscription",
    "owned", "generation", "session_timeout_ms", "rebalance_timeout_ms",
)  # fmt: skip
"""Of the members table; where there are assignors of the user's own, their user data too."""

_MIXED = "before the simulation begins: members of both protocols; a simulated group begins with those of one"


@dataclass(frozen=True)
class Variation:
    """The same scenario under another setting."""

    setting: str
    value: str
    strategy: str | None
    """What all consumers offer; None: as without it."""
    scenario: Scenario


@dataclass(frozen=True)
class Simulations:
    """What to simulate of every group, and by which rules."""

    outputs: tuple[str, ...]
    version: KafkaVersion
    strategies: tuple[str, ...]
    metadata: TopicMetadata
    scenario: Scenario
    seed: int = 0
    followed: tuple[str, ...] | None = ()
    """Groups whose timeline is told; None: all."""
    storms: Storms = field(default_factory=Storms)
    variations: tuple[Variation, ...] = ()
    """Each is simulated beside the scenario itself; its costs name it."""
    assignors: tuple[ConsumerPartitionAssignor, ...] = ()
    """A user's own, which may be named in the strategies, and elected."""

    @property
    def columns(self) -> list[str]:
        """Columns of the members table that are needed."""
        return [*COLUMNS, "user_data"] if self.assignors else list(COLUMNS)

    @property
    def _custom(self) -> dict[str, ConsumerPartitionAssignor]:
        return {assignor.name: assignor for assignor in self.assignors}

    @property
    def schema(self) -> StructType:
        """A struct column for each table, and in every row just one of them is set; costs say of which variation."""
        fields = [StructField(name, OUTPUTS[name].schema) for name in self.outputs]
        return StructType([*fields, StructField("variation", COSTS.schema["rebalances"].dataType)])

    def __call__(self, members: DataFrame, events: DataFrame | None = None) -> DataFrame:
        """Simulate all groups of a members table, with what an events table says beside the scenario."""
        groups = collect_members(members, self.columns)
        if events is not None:
            groups = groups.join(collect_events(events), ["cluster", "group_id"], "full_outer")
        return groups.mapInArrow(self.simulate_batches, self.schema)

    def simulate_batches(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Do a worker's part."""
        index = self.metadata.index()
        for batch in batches:
            for first in range(0, len(batch), GROUPS_AT_A_TIME):
                for name, variation, rows in self._outcomes(batch.slice(first, GROUPS_AT_A_TIME), index):
                    if name in self.outputs and len(rows):
                        yield self._as_outcome(name, variation, rows)

    def _as_outcome(self, name: str, variation: int, rows: pa.StructArray) -> pa.RecordBatch:
        columns = [
            rows if output == name else pa.nulls(len(rows), arrow_type(OUTPUTS[output].schema))
            for output in self.outputs
        ]
        columns.append(pa.array(np.full(len(rows), variation, np.int32)))
        return pa.RecordBatch.from_arrays(columns, names=[*self.outputs, "variation"])

    def _outcomes(self, rows: pa.RecordBatch, index: TopicIndex) -> Iterator[tuple[str, int, pa.StructArray]]:
        read = self.read(rows, index)
        for rejects in read.rejects:
            yield REJECTS.name, 0, rejects
        for strategy in self.strategies if len(read.batch.group_ids) else ():
            yield from self._simulate(read, strategy)

    def read(self, rows: pa.RecordBatch, index: TopicIndex) -> "ReadBatch":
        """Take a batch of groups as ``collect_members`` and ``collect_events`` make it.

        A group in which nobody is, and that nobody will join, is left out: all rows about it are rejects.
        """
        elects = ELECTED in self.strategies
        batch, rejected = GroupBatch.of(rows).without_unusable_members(elects)
        if elects:
            batch, refused = batch.reject(refusals(elect_protocols(batch, self.version)))
            rejected += refused
        rejects = [reject_rows(batch, rejected)] if rejected else []
        joiners, happenings = expand(self.scenario, batch)
        if "events" in rows.schema.names:
            told = EventReader(batch, joiners, happenings, index).read(rows.column("events"))
            joiners, happenings = joiners + told.joiners, happenings + told.happenings
            rejects.append(rejected_event_rows(batch, told.rejected))
        return ReadBatch(batch, joiners, happenings, index, rejects).without_empty_groups()

    def _simulate(self, read: "ReadBatch", strategy: str) -> Iterator[tuple[str, int, pa.StructArray]]:
        for number, variation in enumerate([Variation("", "", None, self.scenario), *self.variations]):
            told = self._told(self.groups(read, variation.strategy or strategy, variation.scenario))
            yield COSTS.name, number, cost_rows(told, strategy, self.storms)
            for name, rows_of in _ROWS.items() if number == 0 else ():
                if name in self.outputs:
                    yield name, 0, rows_of(told, strategy)

    def groups(self, read: "ReadBatch", strategy: str, scenario: Scenario) -> SimulatedGroups:
        """Put together what is simulated of a batch under a strategy."""
        older = self.version.coordinator < CoordinatorRules.SCALA_3_9
        offered = None if strategy == ELECTED else strategy
        groups = SimulatedGroups.of(read.batch, read.joiners, read.happenings, read.index, (), offered, older, scenario)
        return replace(
            groups,
            eager=[name for name in groups.protocol_names if self._is_eager(name)],
            forgetful=[*FORGETFUL, *(name for name, assignor in self._custom.items() if not tells_user_data(assignor))],
        )

    def _is_eager(self, protocol: str) -> bool:
        """Tell whether an assignor's members give up everything before they join; one that is not known counts so."""
        if protocol in self._custom:
            return followed_protocol(self._custom[protocol], self.version) is RebalanceProtocol.EAGER
        return protocol not in KNOWN_ASSIGNORS or KNOWN_ASSIGNORS[protocol].protocol is RebalanceProtocol.EAGER

    def _told(self, groups: SimulatedGroups) -> Told:
        *_, told = self.steps(groups, NO_LIMIT)
        return told

    def steps(self, groups: SimulatedGroups, events: int) -> Iterator[Told]:
        """Simulate groups, and tell how they stand after so many events, again and again, and at the end."""
        start = begin(groups, self.version, self._custom)
        fleet = groups.fleet(
            start.assignments, start.generations, start.protocols, self._seeds(groups), self._followed(groups)
        )
        topics, _ = groups.topics()
        leaders = _Leaders(groups, fleet, topics, self.version, self._custom)
        rules, map_rule = int(self.version.coordinator), int(self.version.coordinator_map)
        settings = groups.scenario.settings
        modern = set(groups.protocol_names) & set(SERVER_SIDE) & set(assignors_of(self.version))
        run = simulate_consumer_groups if modern else simulate_by_steps
        for simulated in run(fleet, topics, settings, rules, map_rule, leaders.assign, ~start.failed, events):
            failures = _failures(leaders.problems)
            errors = [failures[number] if number else None for number in simulated.assignor_failures.tolist()]
            yield Told(groups, [early or late for early, late in zip(start.errors, errors, strict=True)], simulated)

    def _seeds(self, groups: SimulatedGroups) -> Ints:
        """Seeds of the groups' random numbers: they depend on nothing but the group's name and the job's seed."""
        names = zip(groups.batch.clusters.to_pylist(), groups.batch.group_ids.to_pylist(), strict=True)
        seed = self.seed & 0xFFFFFFFF
        return np.array([mmh3.hash64(f"{cluster}\0{group}", seed)[0] for cluster, group in names], np.int64)

    def _followed(self, groups: SimulatedGroups) -> Flags:
        if self.followed is None:
            return np.ones(len(groups.batch.group_ids), np.bool_)
        return np.array([group in self.followed for group in groups.batch.group_ids.to_pylist()], np.bool_)


@dataclass(frozen=True)
class _Leaders:
    """The leaders of groups: they run the assignor that their group has elected."""

    groups: SimulatedGroups
    fleet: Fleet
    topics: Topics
    version: KafkaVersion
    custom: Mapping[str, ConsumerPartitionAssignor]
    """The user's own, by name."""
    problems: list[str] = field(default_factory=list)
    """What fails beside Kafka's own assignors; the numbers follow those of ``Failure``."""

    @cached_property
    def _named_topics(self) -> NamedTopics:
        names = self.groups.found_topics.names.take(pa.array(self.fleet.base_topics))
        return NamedTopics(names.to_pylist(), self.topics.partitions.tolist())

    def assign(self, protocol: int, joined: Groups, consumers: Ints32) -> Outcome:
        """Assign the partitions of groups that have joined; their members are these consumers."""
        name = self.groups.protocol_names[protocol]
        if name in self.custom:
            told = self.groups.told_to_leaders.take(pa.array(consumers))
            eager = field_of(self.fleet.of_consumers, "eager")[consumers].astype(np.bool_)
            own, topics = self.custom[name], self._named_topics
            return assign_by_custom(own, told, eager, joined, topics, self.version, self.problems)
        assignor = find_assignor(name, self.version)
        if assignor is not None:
            return assignor.assign(joined, self.topics, self.version)
        self.problems.append(no_assignor(name))
        nobody = np.empty(0, np.int32)
        nothing = Assignments(np.zeros(len(joined.member_hashes) + 1, np.int32), nobody, nobody)
        return Outcome(nothing, np.full(len(joined.members) - 1, len(Failure) + len(self.problems) - 1, np.int32))


def _failures(problems: list[str]) -> list[str]:
    """Say how assignors fail, by number."""
    return [*(failure.told for failure in Failure), *problems]


@dataclass(frozen=True)
class ReadBatch:
    """A batch of groups with all that will happen to them, and the rows that cannot be used."""

    batch: GroupBatch
    joiners: list[Joiner]
    happenings: list[Happening]
    index: TopicIndex
    rejects: list[pa.StructArray]

    def without_empty_groups(self) -> "ReadBatch":
        """Leave out the groups in which nobody is, and that nobody will join."""
        joined = np.diff(self.batch.offsets) > 0
        joined[[joiner.group for joiner in self.joiners]] = True
        if joined.all():
            return self
        number = np.cumsum(joined) - 1
        return replace(
            self,
            batch=groups_where(self.batch, joined),
            joiners=[replace(joiner, group=int(number[joiner.group])) for joiner in self.joiners],
            happenings=[replace(of, group=int(number[of.group])) for of in self.happenings if joined[of.group]],
        )


@dataclass(frozen=True)
class Start:
    """How groups are when a simulation begins: as after their last rebalance."""

    protocols: Ints32
    """Places among ``SimulatedGroups.protocol_names``."""
    assignments: Assignments
    generations: Ints
    errors: list[str | None]
    """Why a group cannot be simulated."""

    @property
    def failed(self) -> Flags:
        """Whether it cannot."""
        return np.array([error is not None for error in self.errors], np.bool_)


def begin(
    groups: SimulatedGroups, version: KafkaVersion, custom: Mapping[str, ConsumerPartitionAssignor] | None = None
) -> Start:
    """Let the members of every group rebalance, from what they own, until nobody asks for another rebalance.

    ``custom`` are the user's own assignors, by name.
    """
    custom = custom or {}
    batch = groups.batch
    elected, mixed = _protocols(groups, version)
    errors: list[str | None] = [_MIXED if each else None for each in mixed.tolist()]
    parts: list[tuple[Ints32, Assignments]] = []
    for protocol in np.unique(elected).tolist():
        chosen = np.flatnonzero((elected == protocol) & ~mixed)
        if protocol < 0 or not len(chosen):
            continue
        name = groups.protocol_names[protocol]
        if name not in custom and find_assignor(name, version) is None:
            for group in chosen.tolist():
                errors[group] = no_assignor(name)
            continue
        members = np.flatnonzero(np.isin(batch.group_of_member(), chosen)).astype(np.int32)
        part = groups_where(batch, (elected == protocol) & ~mixed)
        assignments, told = _settle(groups, part, members, name, version, custom)
        parts.append((members, assignments))
        for group, error in zip(chosen.tolist(), told, strict=True):
            errors[group] = error
    return Start(
        np.maximum(elected, 0).astype(np.int32), _together(len(batch.members), parts), _generations(batch), errors
    )


def _protocols(groups: SimulatedGroups, version: KafkaVersion) -> tuple[Ints32, Flags]:
    """Return what each group goes by, and whether it has members of both protocols."""
    if groups.strategy is not None:
        nothing = np.zeros(len(groups.batch.group_ids), np.int32)
        return nothing, nothing.astype(np.bool_)
    batch = groups.as_offered
    found = elect_protocols(batch, version)
    _, names = batch.preferences
    place = np.array([*(groups.protocol_names.index(name) for name in names.to_pylist()), NONE], np.int32)
    return place[found.elections.winner], of_both_protocols(batch, found)


def _settle(
    groups: SimulatedGroups,
    part: GroupBatch,
    members: Ints32,
    name: str,
    version: KafkaVersion,
    custom: Mapping[str, ConsumerPartitionAssignor],
) -> tuple[Assignments, list[str | None]]:
    topics = groups.topics_of_members(members)
    joined = as_groups(part, topics, groups.index)
    protocol = followed_protocol(custom[name], version) if name in custom else KNOWN_ASSIGNORS[name].protocol
    ranks = topics.topics.ranks
    eager = groups.eager_members(members)
    problems: list[str] = []

    def answer(asked: Groups, of_members: Ints32) -> Outcome:
        if name not in custom:
            return KNOWN_ASSIGNORS[name].assign(asked, topics.topics, version)
        rows, named = part.members.take(pa.array(of_members)), NamedTopics.of(topics)
        return assign_by_custom(custom[name], rows, eager[of_members], asked, named, version, problems)

    end = course(protocol, joined, ranks, list(rebalances(protocol, joined, ranks, eager, answer)))
    failures = _failures(problems)
    told: list[str | None] = []
    for error, ended in zip(end.errors.tolist(), end.ended.tolist(), strict=True):
        failure = failures[error] if error else GOES_ON
        told.append(None if ended else f"before the simulation begins: {failure}")
    return end.assignments, told


def _together(members: int, parts: list[tuple[Ints32, Assignments]]) -> Assignments:
    """Put the lists of some members in the order of all."""
    lengths = np.zeros(members, np.int64)
    for chosen, lists in parts:
        lengths[chosen] = np.diff(lists.offsets)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    topics, partitions = np.empty(offsets[-1], np.int32), np.empty(offsets[-1], np.int32)
    for chosen, lists in parts:
        places = np.arange(lists.offsets[-1]) + np.repeat(offsets[chosen] - lists.offsets[:-1], np.diff(lists.offsets))
        topics[places], partitions[places] = lists.topics, lists.partitions
    return Assignments(offsets, topics, partitions)


def _generations(batch: GroupBatch) -> Ints:
    """Return the latest generation that a member of the group tells of, 1 if none does, 0 where there is no member."""
    generations = (np.diff(batch.offsets) > 0).astype(np.int64)
    np.maximum.at(generations, batch.group_of_member(), numbers(batch.column("generation").fill_null(1)))
    return generations
