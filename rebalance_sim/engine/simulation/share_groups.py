"""Simulates the share groups (KIP-932) of a batch, one after the other, and returns rows of the output tables."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from rebalance_sim.engine.groups.client_libraries import other_libraries
from rebalance_sim.engine.simulation.simulation_batch import SimulationBatch
from rebalance_sim.engine.tables.arrow import arrow_type
from rebalance_sim.engine.tables.percentiles import above_p99
from rebalance_sim.kafka.coordinator.share.share_group import AssignorError
from rebalance_sim.kafka.runtime.strings import Flags, Ints
from rebalance_sim.kafka.simulation.group_events import EVENT_KINDS, GroupEvent
from rebalance_sim.kafka.simulation.model import ScenarioKind
from rebalance_sim.kafka.simulation.settings import SimulationSettings
from rebalance_sim.kafka.simulation.share_groups import (
    SIMULATED_EVENTS,
    EpochRow,
    ShareOutcome,
    ShareSetUp,
    SharingConsumer,
    StepRow,
    simulate_share_group,
)
from rebalance_sim.kafka.simulation.share_targets import ShareTargets
from rebalance_sim.releases import SHARE_ASSIGNORS, KafkaVersion
from rebalance_sim.tables import BOUNCES, COSTS, OWNED_PARTITIONS, PARTITION_COSTS, REBALANCES, TIMELINE, Table
from rebalance_sim.wording import plural

_OTHER_STRATEGY = f"a share group (KIP-932) is assigned by {SHARE_ASSIGNORS[0]}"
_OLD_BROKERS = "brokers before Kafka 4.0 have no share groups (KIP-932)"
_Rows = dict[str, list[dict[str, Any]]]


@dataclass(frozen=True)
class SimulatedShareGroups:
    """The share groups of a batch, and how they are simulated."""

    batch: SimulationBatch
    version: KafkaVersion
    settings: SimulationSettings
    seeds: Ints
    followed: Flags
    elects: bool
    """Whether members offer their own protocols; no other strategy assigns a share group."""
    strategy: str

    def tables(self) -> Iterator[tuple[str, pa.StructArray]]:
        """Yield the rows of each output table that a simulation fills."""
        rows: _Rows = defaultdict(list)
        for group in range(len(self.batch.batch.group_ids)):
            for name, found in self._rows_of(group).items():
                rows[name] += found
        for table in (COSTS, BOUNCES, REBALANCES, TIMELINE, OWNED_PARTITIONS, PARTITION_COSTS):
            yield table.name, _struct(table, rows[table.name])

    def _rows_of(self, group: int) -> _Rows:
        events = self._events[group]
        error, outcome = self._error(events), None
        set_up = self._set_up(group, events)
        if error is None:
            try:
                outcome = simulate_share_group(set_up)
            except AssignorError as failure:
                error = str(failure)
        names = {
            "cluster": self.batch.batch.clusters[group].as_py(),
            "group_id": self.batch.batch.group_ids[group].as_py(),
            "strategy": self.strategy,
        }
        happening = sum(event.kind < ScenarioKind.NEXT_BOUNCE for event in events)
        costs = names | self._unsimulated(group, set_up) | {"events": happening, "error": error}
        if outcome is None:
            return {COSTS.name: [costs]}
        rows = GroupRows(names, [each.name for each in set_up.consumers], set_up, outcome)
        return {
            COSTS.name: [costs | rows.costs(happening)],
            BOUNCES.name: rows.bounces() if happening else [],
            REBALANCES.name: [rows.rebalance(number, row) for number, row in enumerate(outcome.epochs, 1)],
            TIMELINE.name: [*map(rows.step, *zip(*enumerate(outcome.steps), strict=True))]
            if self.followed[group] and outcome.steps
            else [],
            OWNED_PARTITIONS.name: rows.owned(),
            PARTITION_COSTS.name: rows.partitions(),
        }

    def _error(self, events: Sequence[GroupEvent]) -> str | None:
        """Return why a group with these events cannot be simulated."""
        if not self.elects:
            return _OTHER_STRATEGY
        if not self.version.share_assignors:
            return _OLD_BROKERS
        names = {kind: name for name, kind in EVENT_KINDS.items()}
        others = sorted({names[event.kind] for event in events if event.kind not in SIMULATED_EVENTS})
        return f"event {others[0]} is not simulated for share groups (KIP-932)" if others else None

    def _unsimulated(self, group: int, set_up: ShareSetUp) -> dict[str, Any]:
        """Return the columns of costs that a group has without a simulation."""
        subscribed = frozenset().union(*(each.subscription for each in set_up.consumers))
        return {
            "consumers": len(set_up.consumers),
            "partitions": sum(count for name, count in set_up.topics.items() if name in subscribed),
            "finished": None,
            "rejected_members": int(self.batch.batch.rejected_members[group]),
            "other_libraries": self._other_libraries[group],
            "downtimes": [],
        }

    @cached_property
    def _other_libraries(self) -> list[list[str] | None]:
        libraries: list[list[str] | None] = other_libraries(self.batch.consumers).to_pylist()
        return libraries

    @cached_property
    def _events(self) -> dict[int, list[GroupEvent]]:
        """The events of each group in the order in which they happen."""
        listed: defaultdict[int, list[tuple[int, int, GroupEvent]]] = defaultdict(list)
        for kind in ScenarioKind:
            for place, event in self.batch.events.of_kind(kind):
                listed[event.group].append((event.at_ms + event.delay_ms, place, event._replace(kind=kind)))
        return defaultdict(list, {group: [each[2] for each in sorted(found)] for group, found in listed.items()})

    @cached_property
    def _columns(self) -> dict[str, list[Any]]:
        wanted = ("member_id", "subscription", "owned", "generation", "start_ms", "rebalance_timeout_ms")
        return {name: self.batch.consumers.column(name).to_pylist() for name in wanted}

    def _set_up(self, group: int, events: Sequence[GroupEvent]) -> ShareSetUp:
        first, end = self.batch.consumers.offsets[group : group + 2].tolist()
        present = int(np.diff(self.batch.batch.offsets)[group])
        consumers = [
            self._consumer(place, is_member=number < present) for number, place in enumerate(range(first, end))
        ]
        named = {name for each in consumers for name in each.subscription}
        named |= {topic for each in consumers for topic, _ in each.owned}
        named |= {name for event in events if event.kind is ScenarioKind.SUBSCRIBE for name in event.names}
        names = sorted(named)
        clusters = self.batch.batch.clusters.slice(group, 1)
        found = self.batch.index.find(clusters, np.zeros(len(names), np.int32), pa.array(names, pa.string()))
        counts = found.topics.partitions[found.numbers].tolist()
        numbers = dict(zip(names, found.numbers.tolist(), strict=True))
        # Topics grow, those of the batch do not.
        topics = found.topics._replace(partitions=found.topics.partitions.copy())
        epochs = [epoch for epoch in self._columns["generation"][first:end] if epoch is not None]
        return ShareSetUp(
            consumers,
            {name: count for name, count in zip(names, counts, strict=True) if count >= 0},
            ShareTargets(topics, numbers, self.version.share),
            events,
            self.version.share_groups,
            self.settings,
            max(epochs, default=1),
            int(self.seeds[group]),
        )

    def _consumer(self, place: int, *, is_member: bool) -> SharingConsumer:
        row = {name: values[place] for name, values in self._columns.items()}
        owned = tuple((each["topic"], each["partition"]) for each in row["owned"] or ()) if is_member else ()
        return SharingConsumer(
            row["member_id"],
            frozenset(row["subscription"] or ()),
            owned,
            row["start_ms"],
            row["rebalance_timeout_ms"],
            is_member,
        )


@dataclass(frozen=True)
class GroupRows:
    """The rows of one group."""

    names: Mapping[str, str]
    consumers: Sequence[str]
    set_up: ShareSetUp
    outcome: ShareOutcome

    def costs(self, events: int) -> dict[str, Any]:
        """Return the figures of costs."""
        outcome, sharing = self.outcome, self.outcome.sharing
        unowned = sorted((ms for ms in self._unowned_ms.values() if ms), reverse=True)
        counted = sum(name in sharing.subscribed for name, _ in self._unowned_ms)
        above = int(above_p99(np.array([counted]))[0])
        since_ms = max(outcome.stable_since_ms - (outcome.first_event_ms or 0), 0)
        return {
            "partitions": counted,
            "rebalances": len(outcome.epochs),
            "epochs": len(outcome.epochs),
            "completed": sum(row.to_ms is not None for row in outcome.epochs),
            "storms": 0,
            "stable": outcome.is_stable,
            "stable_ms": since_ms if outcome.is_stable and events else None,
            "unowned_ms": sum(unowned),
            "p99_unowned_ms": unowned[above] if above < len(unowned) else 0,
            "max_unowned_ms": unowned[0] if unowned else 0,
            "downtimes": [{"unowned_ms": ms, "partitions": count} for ms, count in Counter(unowned).items()],
            "moved": sharing.moved,
            "moved_back": sharing.moved_back,
            "evicted": outcome.evicted,
            "failed": len(outcome.failed),
            "finished": outcome.awaited is None,
            "failure": self._failure,
            "messages": outcome.messages,
            "simulated_ms": outcome.ended_ms,
        }

    @cached_property
    def _unowned_ms(self) -> dict[tuple[str, int], int]:
        """How long each partition of the group was without a member."""
        listed = {(name, p): 0 for name, count in self._topics.items() for p in range(count)}
        for partition, shares in self.outcome.sharing.partitions.items():
            since = shares.unowned_since_ms
            open_ms = 0 if since is None else self.outcome.ended_ms - since
            listed[partition] = shares.unowned_ms + open_ms
        return listed

    @cached_property
    def _topics(self) -> dict[str, int]:
        """The topics of the group with their partitions at the end."""
        numbers, counts = self.set_up.targets.numbers, self.set_up.targets.topics.partitions
        return {name: int(counts[numbers[name]]) for name in self.set_up.topics}

    @property
    def _failure(self) -> str | None:
        """The first failure of a consumer, or else what the rollout waits for; None if it succeeds."""
        for first in self.outcome.failed:
            return f"{first.error.name}: {self.consumers[first.consumer]}, at {first.at_ms} ms"
        awaited = self.outcome.awaited
        if awaited is None:
            return None
        what = "a restarted consumer or a partition without a member"
        if awaited.kind is ScenarioKind.PODS_AVAILABLE:
            what = f"{plural(awaited.value, 'available pod')} of consumers with partitions"
        return f"the rollout does not finish: it waits for {what}"

    def bounces(self) -> list[dict[str, Any]]:
        """Return all bounces as one, which lasts as long as the scenario."""
        outcome, sharing = self.outcome, self.outcome.sharing
        from_ms = outcome.first_event_ms or 0
        figures = {
            "bounce": 1,
            "partitions": sum(name in sharing.subscribed for name, _ in self._unowned_ms),
            "from_ms": from_ms,
            "to_ms": max(outcome.stable_since_ms, from_ms) if outcome.is_stable else None,
            "rebalances": len(outcome.epochs),
            "epochs": len(outcome.epochs),
            "unowned_ms": sum(self._unowned_ms.values()),
            "moved": sharing.moved,
            "moved_back": sharing.moved_back,
            "failed": len(outcome.failed),
        }
        return [dict(self.names) | figures]

    def rebalance(self, number: int, row: EpochRow) -> dict[str, Any]:
        """Return an epoch as a row of rebalances."""
        return dict(self.names) | {
            "rebalance": number,
            "reason": row.reason.name,
            "member_id": self._name(row.consumer),
            "from_ms": row.from_ms,
            "joined_ms": row.assigned_ms,
            "to_ms": row.to_ms,
            "all_owned_ms": row.all_owned_ms,
            "generation": row.epoch,
            "protocol": SHARE_ASSIGNORS[0],
            "joined": row.members,
            "evicted": row.evicted,
            "revoked": row.revoked,
            "moved": row.moved,
            "unowned_ms": row.unowned_ms,
        }

    def step(self, number: int, row: StepRow) -> dict[str, Any]:
        """Return a step of the timeline."""
        return dict(self.names) | {
            "number": number,
            "at_ms": row.at_ms,
            "kind": row.subject.name,
            "member_id": self._name(row.consumer),
            "detail": row.detail,
            "error": row.error,
            "generation": row.epoch,
            "state": row.state,
            "partitions": row.partitions,
            "value": row.value,
        }

    def owned(self) -> list[dict[str, Any]]:
        """Return what each running consumer has in the end."""
        listed = {place: sorted(partitions) for place, partitions in self.outcome.owned.items()}
        return [
            dict(self.names)
            | {
                "member_id": self.consumers[place],
                "partitions": [{"topic": topic, "partition": number} for topic, number in partitions],
            }
            for place, partitions in listed.items()
        ]

    def partitions(self) -> list[dict[str, Any]]:
        """Return the partitions that were without a member for some time, or went to another one."""
        rows = []
        for (topic, number), shares in sorted(self.outcome.sharing.partitions.items()):
            unowned_ms = self._unowned_ms[topic, number]
            if unowned_ms or shares.moved:
                (only,) = shares.consumers if len(shares.consumers) == 1 else (None,)
                figures = {"topic": topic, "partition": number, "unowned_ms": unowned_ms, "moved": shares.moved}
                rows.append(dict(self.names) | figures | {"member_id": self._name(only)})
        return rows

    def _name(self, place: int | None) -> str | None:
        return None if place is None else self.consumers[place]


def _struct(table: Table, rows: Sequence[Mapping[str, Any]]) -> pa.StructArray:
    return pa.array(rows, arrow_type(table.schema))
