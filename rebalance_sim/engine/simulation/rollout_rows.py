"""The rows of output tables about simulated share groups and streams groups, one group after the other."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from rebalance_sim.engine.tables.percentiles import above_p99
from rebalance_sim.kafka.simulation.heartbeat_groups import EpochRow, RolloutOutcome, StepRow
from rebalance_sim.kafka.simulation.model import ScenarioKind
from rebalance_sim.tables import BOUNCES, COSTS, OWNED_PARTITIONS, PARTITION_COSTS, REBALANCES, TIMELINE
from rebalance_sim.wording import plural

SIMULATED = (COSTS, BOUNCES, REBALANCES, TIMELINE, OWNED_PARTITIONS, PARTITION_COSTS)
"""The tables that a simulation fills."""
_OF_EPOCH = ("from_ms", "to_ms", "all_owned_ms", "evicted", "revoked", "moved", "unowned_ms")
_OF_STEP = ("at_ms", "detail", "error", "state", "partitions", "value")
"""Columns of rebalances, and of the timeline, that are fields of the outcome's rows."""
Rows = dict[str, list[dict[str, Any]]]
"""By table."""


@dataclass(frozen=True)
class GroupRows:
    """The rows of one group."""

    names: Mapping[str, str]
    consumers: Sequence[str]
    topics: Mapping[str, int]
    """The topics of the group, or its subtopologies, with their partitions at the end."""
    protocol: str
    outcome: RolloutOutcome
    awaited: tuple[str, str] = ("a restarted consumer or a partition without a member", "consumers with partitions")
    """What a rollout may wait for: at the end of a bounce, and in available pods."""

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
        listed = {(name, p): 0 for name, count in self.topics.items() for p in range(count)}
        for partition, shares in self.outcome.sharing.partitions.items():
            since = shares.unowned_since_ms
            open_ms = 0 if since is None else self.outcome.ended_ms - since
            listed[partition] = shares.unowned_ms + open_ms
        return listed

    @property
    def _failure(self) -> str | None:
        """The first failure of a consumer, or else what the rollout waits for; None if it succeeds."""
        for first in self.outcome.failed:
            return f"{first.error.name}: {self.consumers[first.consumer]}, at {first.at_ms} ms"
        awaited = self.outcome.awaited
        if awaited is None:
            return None
        what, in_pods = self.awaited
        if awaited.kind is ScenarioKind.PODS_AVAILABLE:
            what = f"{plural(awaited.value, 'available pod')} of {in_pods}"
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
            "joined_ms": row.assigned_ms,
            "generation": row.epoch,
            "protocol": self.protocol,
            "joined": row.members,
            **{name: getattr(row, name) for name in _OF_EPOCH},
        }

    def step(self, number: int, row: StepRow) -> dict[str, Any]:
        """Return a step of the timeline."""
        return dict(self.names) | {
            "number": number,
            "kind": row.subject.name,
            "member_id": self._name(row.consumer),
            "generation": row.epoch,
            **{name: getattr(row, name) for name in _OF_STEP},
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

    def tables(self, costs: dict[str, Any], happening: int, *, is_followed: bool) -> Rows:
        """Return the rows of all tables; ``costs`` are the columns that a group has without a simulation."""
        outcome = self.outcome
        return {
            COSTS.name: [costs | self.costs(happening)],
            BOUNCES.name: self.bounces() if happening else [],
            REBALANCES.name: [self.rebalance(number, row) for number, row in enumerate(outcome.epochs, 1)],
            TIMELINE.name: [self.step(number, row) for number, row in enumerate(outcome.steps)] if is_followed else [],
            OWNED_PARTITIONS.name: self.owned(),
            PARTITION_COSTS.name: self.partitions(),
        }
