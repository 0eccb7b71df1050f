"""Simulates the share groups (KIP-932) of a batch, one after the other, and returns rows of the output tables."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from rebalance_sim.engine.groups.client_libraries import other_libraries
from rebalance_sim.engine.simulation.rollout_rows import SIMULATED, GroupRows, Rows
from rebalance_sim.engine.simulation.simulation_batch import SimulationBatch
from rebalance_sim.engine.tables.arrow import arrow_type
from rebalance_sim.kafka.coordinator.share.share_group import AssignorError
from rebalance_sim.kafka.runtime.strings import Flags, Ints
from rebalance_sim.kafka.simulation.group_events import EVENT_KINDS, GroupEvent
from rebalance_sim.kafka.simulation.model import ScenarioKind
from rebalance_sim.kafka.simulation.settings import SimulationSettings
from rebalance_sim.kafka.simulation.share_groups import (
    SIMULATED_EVENTS,
    ShareSetUp,
    SharingConsumer,
    simulate_share_group,
)
from rebalance_sim.kafka.simulation.share_targets import ShareTargets
from rebalance_sim.releases import SHARE_ASSIGNORS, KafkaVersion
from rebalance_sim.tables import COSTS

_OTHER_STRATEGY = f"a share group (KIP-932) is assigned by {SHARE_ASSIGNORS[0]}"
_OLD_BROKERS = "brokers before Kafka 4.0 have no share groups (KIP-932)"


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
        rows: Rows = defaultdict(list)
        for group in range(len(self.batch.batch.group_ids)):
            for name, found in self._rows_of(group).items():
                rows[name] += found
        for table in SIMULATED:
            yield table.name, pa.array(rows[table.name], arrow_type(table.schema))

    def _rows_of(self, group: int) -> Rows:
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
        # Topics grow, those of the batch do not.
        counts = set_up.targets.topics.partitions
        topics = {name: int(counts[set_up.targets.numbers[name]]) for name in set_up.topics}
        rows = GroupRows(names, [each.name for each in set_up.consumers], topics, SHARE_ASSIGNORS[0], outcome)
        return rows.tables(costs, happening, is_followed=bool(self.followed[group]))

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
    def _events(self) -> Mapping[int, list[GroupEvent]]:
        return self.batch.events.by_group()

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
