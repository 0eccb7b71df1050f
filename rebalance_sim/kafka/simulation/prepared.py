"""A batch of groups under the conditions of one simulation, as the arrays that the simulation runs on."""

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, cast

import numpy as np

from rebalance_sim.kafka.assignors.resolved import Assignors, ResolvedAssignor
from rebalance_sim.kafka.coordinator.classic.classic_group import NONE
from rebalance_sim.kafka.coordinator.consumer.consumer_group import server_assignor
from rebalance_sim.kafka.groups import Assignments
from rebalance_sim.kafka.runtime.lists import choose_strings, list_offsets
from rebalance_sim.kafka.runtime.records import Records, new_records
from rebalance_sim.kafka.runtime.strings import Flags, Ints, Ints32, Strings, java_hashes
from rebalance_sim.kafka.simulation.fleet import Names, SimulatedFleet
from rebalance_sim.kafka.simulation.inputs import OptionalStrings, SimulatedGroups
from rebalance_sim.kafka.simulation.member_ids import HYPHEN
from rebalance_sim.kafka.simulation.model import Consumer, ScenarioEvent, ScenarioKind
from rebalance_sim.kafka.simulation.protocols import OfferedProtocols, Offers, number_protocols, one_protocol
from rebalance_sim.kafka.simulation.scenario import Scenario
from rebalance_sim.kafka.simulation.settings import MAX_POLL_INTERVAL_MS
from rebalance_sim.kafka.simulation.topic_growth import Growth

_UUID = re.compile(r"-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\Z")
"""The UUID that the coordinator appends to the id of a client (``GroupMetadata.generateMemberId``)."""
_PLAIN = ("at_ms", "delay_ms", "kind", "consumer", "value")
"""Fields of an event that the simulation reads as they are given."""
_CHANGED = (ScenarioKind.GROW, ScenarioKind.SUBSCRIBE, ScenarioKind.PROTOCOLS)
"""Kinds of events whose fields refer to what the batch knows of them."""


@dataclass(frozen=True)
class Conditions:
    """The conditions under which groups are simulated."""

    scenario: Scenario
    """Its settings and its overrides of consumer configurations; its steps are among the events of the groups."""
    assignors: Assignors
    strategy: str | None = None
    """The protocol that all consumers offer, now and later; None: their own protocols."""


class StartingState(NamedTuple):
    """The state of the groups when the simulation begins: as after their last rebalance."""

    protocols: Ints32
    """The elected protocol of each group, by its number in the batch."""
    assignments: Assignments
    """The partitions of the first members."""
    generations: Ints
    errors: list[str | None]
    """Why a group cannot be simulated."""

    @property
    def failed(self) -> Flags:
        """Whether a group cannot be simulated."""
        return np.array([error is not None for error in self.errors], np.bool_)


@dataclass(frozen=True)
class PreparedGroups:
    """A batch of groups under the conditions of one simulation."""

    groups: SimulatedGroups
    conditions: Conditions

    @property
    def offer(self) -> tuple[str | None, tuple[str, ...] | None]:
        """What consumers offer in place of their own protocols: one strategy, or the protocols of the scenario."""
        return self.conditions.strategy, self.conditions.scenario.consumers.protocols

    @cached_property
    def protocols(self) -> OfferedProtocols:
        """All protocols that consumers offer, now or later."""
        groups, (strategy, instead) = self.groups, self.offer
        if strategy is not None:
            return one_protocol(groups.count, len(groups.racks), strategy)
        same = Offers(np.zeros(len(groups.racks), np.int32), [instead or ()])
        offers = groups.read_protocols() if instead is None else same
        changes = [event for _, event in groups.events.of_kind(ScenarioKind.PROTOCOLS)]
        return number_protocols(groups.count, groups.group_of_consumer, offers, changes)

    @cached_property
    def assignors(self) -> list[ResolvedAssignor]:
        """The assignor behind each protocol."""
        return [self.conditions.assignors.resolve(name) for name in self.protocols.names]

    @cached_property
    def eager_lists(self) -> Flags:
        """By list of protocols: whether a consumer that offers it follows the eager protocol.

        ``ConsumerCoordinator`` follows the highest protocol that all of a consumer's assignors support: one eager
        assignor is enough.
        """
        eager = [assignor.eager for assignor in self.assignors]
        return np.array([any(eager[number] for number in numbers) for numbers in self.protocols.lists], np.bool_)

    @cached_property
    def _assignor_of_list(self) -> Ints:
        """By list of protocols: the coordinator's assignor that it stands for, or NONE for the classic protocol."""
        return np.array([server_assignor(self.protocols.names[numbers[0]]) for numbers in self.protocols.lists])

    @cached_property
    def instance_ids(self) -> OptionalStrings:
        """Instance ids; where a scenario makes all consumers static, those without one get their member id."""
        given, static = self.groups.instance_ids, self.conditions.scenario.consumers.static
        if static is None:
            return given
        if not static:
            return OptionalStrings(Strings.of([""] * len(given.known)), np.zeros_like(given.known))
        ids = choose_strings(self.groups.member_ids, given.values, given.known)
        return OptionalStrings(ids, np.ones_like(given.known))

    @cached_property
    def played_events(self) -> Flags:
        """Whether an event changes something.

        A grow event does not if no topic of the group becomes larger, nor does a protocols event if all consumers offer
        the same strategy anyway.
        """
        kinds = self.groups.events.column("kind")
        played = kinds != ScenarioKind.GROW
        played[[growth.event for growth in self.groups.growths]] = True
        return played & ((kinds != ScenarioKind.PROTOCOLS) | (self.conditions.strategy is None))

    def fleet(self, start: StartingState, seeds: Ints, followed: Flags) -> SimulatedFleet:
        """Return the arrays that the simulation runs on.

        ``seeds`` are those of the groups' random numbers; of the groups that are ``followed`` a timeline is recorded.
        """
        groups, protocols = self.groups, self.protocols
        scenario, events = self._events()
        prefixes = self._id_prefixes()
        topics = groups.group_topics
        remembered = np.array([assignor.sends_last_assignment for assignor in self.assignors], np.bool_)
        return SimulatedFleet(
            groups.offsets,
            groups.sizes,
            self._consumers(),
            scenario,
            events,
            Names(groups.member_ids, prefixes, self.instance_ids.values),
            31 * java_hashes(prefixes) + HYPHEN & 0xFFFFFFFF,
            groups.member_hashes,
            groups.racks,
            groups.subscriptions,
            protocols.preferences,
            np.array([not assignor.eager for assignor in self.assignors], np.bool_),
            np.array([server_assignor(name) for name in protocols.names], np.int32),
            protocols.first_of_group,
            protocols.of_groups,
            remembered[protocols.of_groups],
            list_offsets(topics.partitions)[topics.offsets],
            topics,
            groups.topic_variants[1],
            start.assignments,
            start.generations,
            start.protocols,
            np.zeros(groups.count, np.int32),
            seeds,
            followed,
            np.zeros(groups.count, np.int32),
        )

    def _id_prefixes(self) -> Strings:
        """Return what the coordinator puts before the hyphen in ids that it makes (``generateMemberId``).

        That is the instance id or the client id. If neither is known, it is what precedes the UUID of the current id.
        """
        member_ids, client_ids, instance_ids = self.groups.member_ids, self.groups.client_ids, self.instance_ids
        usual = client_ids.values
        if not (client_ids.known | instance_ids.known).all():
            without_uuid = Strings.of([_UUID.sub("", member_id) for member_id in member_ids.to_list()])
            usual = choose_strings(without_uuid, client_ids.values, client_ids.known)
        return choose_strings(usual, instance_ids.values, instance_ids.known)

    def _consumers(self) -> Records[Consumer]:
        groups, protocols, overrides = self.groups, self.protocols, self.conditions.scenario.consumers
        records = new_records(Consumer, len(groups.racks))
        columns = cast(Any, records)
        columns["instance"] = NONE
        if self.instance_ids.known.any():
            number_of: dict[str, int] = {}
            columns["instance"] = [
                NONE if name is None else number_of.setdefault(name, len(number_of))
                for name in self.instance_ids.to_list()
            ]
        columns["preferences"], columns["protocols"] = protocols.of_consumers, protocols.consumer_bits
        columns["eager"] = self.eager_lists[protocols.of_consumers]
        columns["assignor"] = self._assignor_of_list[protocols.of_consumers]
        columns["subscription"] = np.arange(len(groups.racks))
        default_ms = self.conditions.assignors.version.session_timeout_ms
        session_ms, longest_poll_ms = groups.session_timeout_ms, groups.rebalance_timeout_ms
        columns["session_timeout_ms"] = overrides.session_timeout_ms or np.where(
            session_ms == NONE, default_ms, session_ms
        )
        columns["rebalance_timeout_ms"] = overrides.max_poll_interval_ms or np.where(
            longest_poll_ms == NONE, MAX_POLL_INTERVAL_MS, longest_poll_ms
        )
        settings = self.conditions.scenario.settings
        columns["start_ms"] = _known_or_assumed(groups.start_ms, groups.longest_start_ms, settings.start_ms)
        columns["revoke_ms"] = _known_or_assumed(groups.revoke_ms, groups.longest_revoke_ms, settings.revoke_ms)
        columns["assignor_ms"] = np.where(groups.assignor_ms == NONE, settings.assignor_ms, groups.assignor_ms)
        return records

    def _events(self) -> tuple[Ints32, Records[ScenarioEvent]]:
        """Return where the events of each group begin and end, and the events by group and time."""
        given, changed = self.groups.events, self._changed_events()
        plain = np.flatnonzero(~np.isin(given.column("kind"), _CHANGED))
        places = np.concatenate([plain, np.array([place for place, _ in changed], np.int64)])
        groups, at_ms = given.column("group")[places], given.column("at_ms")[places]
        order = np.lexsort((places, at_ms, given.column("stage")[places], groups))
        records = new_records(ScenarioEvent, len(places))
        columns = cast(Any, records)
        for name in _PLAIN:
            columns[name] = given.column(name)[places]
        columns["assignor"] = NONE
        for row, (_, fields) in enumerate(changed, len(plain)):
            for name, value in fields.items():
                columns[name][row] = value
        return np.searchsorted(groups[order], np.arange(self.groups.count + 1)).astype(np.int32), columns[order]

    def _changed_events(self) -> list[tuple[int, dict[str, int]]]:
        """Return the place of each event of these kinds, and its fields; a row for each topic that grows."""
        events = self.groups.events
        variants = enumerate(self.groups.growths, len(self.groups.topics.partitions))
        rows = [(growth.event, self._growth_fields(variant, growth)) for variant, growth in variants]
        subscribe = events.of_kind(ScenarioKind.SUBSCRIBE)
        rows += [(place, {"value": k}) for k, (place, _) in enumerate(subscribe, len(self.groups.racks))]
        if self.conditions.strategy is None:
            lists = zip(self.protocols.of_events, self.protocols.event_bits, strict=True)
            for (place, _), (number, bits) in zip(events.of_kind(ScenarioKind.PROTOCOLS), lists, strict=True):
                offer = {"protocols": bits, "eager": bool(self.eager_lists[number]), "value": number}
                rows.append((place, offer | {"assignor": int(self._assignor_of_list[number])}))
        return rows

    def _growth_fields(self, variant: int, growth: Growth) -> dict[str, int]:
        topic = {"topic": growth.topic, "grown_topic": variant, "first": self._first_partition(growth)}
        return topic | {"before": growth.before, "value": growth.after}

    def _first_partition(self, growth: Growth) -> int:
        topics = self.groups.group_topics
        low, high = topics.offsets[growth.group], topics.offsets[growth.group + 1]
        return int(topics.first_partition[low + np.searchsorted(topics.topics[low:high], growth.topic)])


def _known_or_assumed(known_ms: Ints, longest_ms: Ints, assumed_ms: int) -> Ints:
    """Return a time of each consumer; one that is assumed is never longer than any that was seen."""
    bounded = np.where(longest_ms == NONE, assumed_ms, np.minimum(longest_ms, assumed_ms))
    return np.where(known_ms == NONE, bounded, known_ms)
