"""A batch of groups under the conditions of one simulation, as the arrays that the simulation runs on."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from typing import Any, NamedTuple, cast

import numpy as np

from rebalance_sim.kafka.assignors.resolved import Assignors, ResolvedAssignor
from rebalance_sim.kafka.coordinator.classic.group import NONE
from rebalance_sim.kafka.coordinator.consumer.group import server_assignor
from rebalance_sim.kafka.groups import Assignments
from rebalance_sim.kafka.runtime.lists import list_offsets
from rebalance_sim.kafka.runtime.records import Records, new_records
from rebalance_sim.kafka.runtime.strings import Flags, Ints, Ints32, Strings, java_hashes
from rebalance_sim.kafka.simulation.fleet import Names, SimulatedFleet
from rebalance_sim.kafka.simulation.group_events import GroupEvent
from rebalance_sim.kafka.simulation.inputs import SimulatedGroups
from rebalance_sim.kafka.simulation.model import Consumer, ScenarioEvent, ScenarioKind
from rebalance_sim.kafka.simulation.protocols import OfferedProtocols, number_protocols, one_protocol
from rebalance_sim.kafka.simulation.scenario import Scenario
from rebalance_sim.kafka.simulation.settings import MAX_POLL_INTERVAL_MS
from rebalance_sim.kafka.simulation.topic_growth import Growth

_UUID = re.compile(r"-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\Z")
"""What the coordinator appends to the id of a client (``GroupMetadata.generateMemberId``)."""
_PLAIN = ("group", "at_ms", "kind", "consumer", "value")
"""What most events have, and nothing else."""
_NO_MORE: Mapping[str, int] = {}


@dataclass(frozen=True)
class Conditions:
    """Under which conditions groups are simulated."""

    scenario: Scenario
    """Its settings and its overrides of consumer configurations; its steps are among the events of the groups."""
    assignors: Assignors
    strategy: str | None = None
    """What all consumers offer, now and later; None: their own protocols."""


class StartingState(NamedTuple):
    """How the groups are when the simulation begins: as after their last rebalance."""

    protocols: Ints32
    """The elected protocol of each group, by its number in the batch."""
    assignments: Assignments
    """What the first members have."""
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

    @cached_property
    def protocols(self) -> OfferedProtocols:
        """All protocols that consumers offer, now or later."""
        groups, strategy = self.groups, self.conditions.strategy
        if strategy is not None:
            return one_protocol(groups.count, len(groups.member_ids), strategy)
        instead = self.conditions.scenario.consumers.protocols
        offers = groups.read_protocols() if instead is None else [instead] * len(groups.member_ids)
        changes = [event for event in groups.events if event.kind == ScenarioKind.PROTOCOLS]
        return number_protocols(groups.count, groups.group_of_consumer.tolist(), offers, changes)

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
    def instance_ids(self) -> Sequence[str | None]:
        """Instance ids; where a scenario makes all consumers static, those without one get their member id."""
        given, static = self.groups.instance_ids, self.conditions.scenario.consumers.static
        if static is None:
            return given
        if not static:
            return [None] * len(given)
        return [
            member_id if instance_id is None else instance_id
            for instance_id, member_id in zip(given, self.groups.member_ids, strict=True)
        ]

    @cached_property
    def played_events(self) -> list[GroupEvent]:
        """The events that change something.

        A grow event does not if no topic of the group becomes larger, nor does a protocols event if all consumers offer
        the same strategy anyway.
        """
        growing = {growth.event for growth in self.groups.growths}
        return [
            event
            for place, event in enumerate(self.groups.events)
            if (event.kind != ScenarioKind.GROW or place in growing)
            and (event.kind != ScenarioKind.PROTOCOLS or self.conditions.strategy is None)
        ]

    def fleet(self, start: StartingState, seeds: Ints, followed: Flags) -> SimulatedFleet:
        """Return the arrays that the simulation runs on.

        ``seeds`` are those of the groups' random numbers; of the groups that are ``followed`` a timeline is recorded.
        """
        groups, protocols = self.groups, self.protocols
        scenario, events = self._events()
        prefixes = self._id_prefixes()
        member_ids, member_hashes = groups.id_strings
        topics = groups.group_topics
        remembered = np.array([assignor.sends_last_assignment for assignor in self.assignors], np.bool_)
        return SimulatedFleet(
            groups.offsets,
            groups.sizes,
            self._consumers(),
            scenario,
            events,
            Names(member_ids, Strings.of(prefixes), Strings.of([name or "" for name in self.instance_ids])),
            java_hashes(Strings.of([f"{prefix}-" for prefix in prefixes])),
            member_hashes,
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
        )

    def _id_prefixes(self) -> list[str]:
        """Return what the coordinator puts before the hyphen in ids that it makes (``generateMemberId``).

        That is the instance id or the client id. If neither is known, it is what precedes the UUID of the current id.
        """
        of_consumers = zip(self.instance_ids, self.groups.client_ids, self.groups.member_ids, strict=True)
        return [
            instance_id if instance_id is not None else client_id if client_id is not None else _UUID.sub("", member_id)
            for instance_id, client_id, member_id in of_consumers
        ]

    def _consumers(self) -> Records[Consumer]:
        groups, protocols, overrides = self.groups, self.protocols, self.conditions.scenario.consumers
        records = new_records(Consumer, len(groups.member_ids))
        columns = cast(Any, records)
        number_of: dict[str, int] = {}
        columns["instance"] = [
            NONE if name is None else number_of.setdefault(name, len(number_of)) for name in self.instance_ids
        ]
        columns["preferences"], columns["protocols"] = protocols.of_consumers, protocols.consumer_bits
        columns["eager"] = self.eager_lists[protocols.of_consumers]
        columns["assignor"] = self._assignor_of_list[protocols.of_consumers]
        columns["subscription"] = np.arange(len(groups.member_ids))
        default_ms = self.conditions.assignors.version.session_timeout_ms
        session_ms, longest_poll_ms = groups.session_timeout_ms, groups.rebalance_timeout_ms
        columns["session_timeout_ms"] = overrides.session_timeout_ms or np.where(
            session_ms == NONE, default_ms, session_ms
        )
        columns["rebalance_timeout_ms"] = overrides.max_poll_interval_ms or np.where(
            longest_poll_ms == NONE, MAX_POLL_INTERVAL_MS, longest_poll_ms
        )
        return records

    def _events(self) -> tuple[Ints32, Records[ScenarioEvent]]:
        """Return where the events of each group begin and end, and the events by group and time."""
        rows = self._event_rows()
        fields = {name: np.array([getattr(event, name) for event in self.groups.events], np.int64) for name in _PLAIN}
        places = np.array([place for place, _ in rows], np.int64)
        order = np.lexsort((fields["at_ms"][places], fields["group"][places]))
        groups = fields.pop("group")[places[order]]
        records = new_records(ScenarioEvent, len(rows))
        columns = cast(Any, records)
        columns["assignor"] = NONE
        for name, values in fields.items():
            columns[name] = values[places[order]]
        for row, number in enumerate(order):
            for name, value in rows[number][1].items():
                columns[name][row] = value
        return np.searchsorted(groups, np.arange(self.groups.count + 1)).astype(np.int32), records

    def _event_rows(self) -> list[tuple[int, Mapping[str, int]]]:
        """Return each event's place and the fields that are not plain; a row for each topic that grows."""
        growths: dict[int, list[tuple[int, Growth]]] = {}
        for variant, growth in enumerate(self.groups.growths, len(self.groups.topics.partitions)):
            growths.setdefault(growth.event, []).append((variant, growth))
        subscriptions = count(len(self.groups.member_ids))
        lists = zip(self.protocols.of_events, self.protocols.event_bits, strict=True)
        rows: list[tuple[int, Mapping[str, int]]] = []
        for place, event in enumerate(self.groups.events):
            if event.kind == ScenarioKind.GROW:
                rows += [(place, self._growth_fields(variant, growth)) for variant, growth in growths.get(place, [])]
            elif event.kind == ScenarioKind.SUBSCRIBE:
                rows.append((place, {"value": next(subscriptions)}))
            elif event.kind != ScenarioKind.PROTOCOLS:
                rows.append((place, _NO_MORE))
            elif self.conditions.strategy is None:
                number, bits = next(lists)
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
