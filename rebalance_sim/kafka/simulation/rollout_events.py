"""Events of a rollout by Kubernetes: consumers stop and start in waves, each once enough new pods are available."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, cast

import numpy as np

from rebalance_sim.kafka.coordinator.classic.classic_group import NONE
from rebalance_sim.kafka.runtime.lists import list_offsets, take_lists
from rebalance_sim.kafka.runtime.records import Records, new_records
from rebalance_sim.kafka.runtime.strings import Ints, Ints32
from rebalance_sim.kafka.simulation.group_events import EventRow, GroupEvent, GroupEvents
from rebalance_sim.kafka.simulation.kubernetes import PodTimes, Rollout, StatefulSet
from rebalance_sim.kafka.simulation.model import ScenarioKind

ROLLOUT_AT_MS = 10_000
"""When a rollout begins, counted from the beginning of its bounce."""


class PlannedEvent(NamedTuple):
    """An event of a scenario in groups of some size."""

    stage: int
    at_ms: int
    delay_ms: int
    kind: int
    consumer: int
    value: int


class _Plan(NamedTuple):
    """A rollout in a group of some size."""

    events: list[PlannedEvent]
    replaced: list[int]
    """The members whose place new consumers take, in the order of the new consumers."""


def rollout_events(
    rollout: Rollout, stage: int, sizes: Ints32, joined: Ints32
) -> tuple[Iterator[tuple[int, int, int]], GroupEvents]:
    """Return the new consumers and the events of a rollout, for groups with these numbers of members.

    ``stage`` is that of the scenario's last bounce; ``joined`` is how many consumers its steps add to each group. A new
    consumer is given by its group, the member that it replaces, and its number among those that join.
    """
    keys, of_groups = np.unique(np.stack([sizes, joined]), axis=1, return_inverse=True)
    plans = [_plan(rollout, stage, size, before) for size, before in keys.T.tolist()]
    of_groups = of_groups.reshape(-1)
    replaced = (
        (group, member, int(joined[group]) + number)
        for group, plan in enumerate(of_groups.tolist())
        for number, member in enumerate(plans[plan].replaced, 1)
    )
    rows = event_rows([plan.events for plan in plans], of_groups)
    return replaced, GroupEvents(rows, [GroupEvent(NONE, 0, ScenarioKind.JOIN)])


def event_rows(plans: Sequence[Sequence[PlannedEvent]], of_groups: Ints) -> Records[EventRow]:
    """Return the events of groups, each of which follows one of some plans."""
    offsets = list_offsets(np.array([len(plan) for plan in plans]))
    _, places = take_lists(offsets, of_groups)
    rows = new_records(EventRow, len(places))
    columns, fields = cast(Any, rows), PlannedEvent._fields
    columns["group"] = np.repeat(np.arange(len(of_groups)), np.diff(offsets)[of_groups])
    flat = np.array([event for plan in plans for event in plan], np.int64).reshape(-1, len(fields))
    for column, name in enumerate(fields):
        columns[name] = flat[places, column]
    return rows


def _plan(rollout: Rollout, stage: int, size: int, joined: int) -> _Plan:
    """Return the rollout in a group; its consumers are distributed to the pods in order, as evenly as possible."""
    pods = min(rollout.replicas or size, size)
    if pods == 0:
        return _Plan([], [])
    consumers = [range(pod * size // pods, (pod + 1) * size // pods) for pod in range(pods)]
    waves, in_place = rollout.kind.waves(pods), isinstance(rollout.kind, StatefulSet)
    order = [pod for wave in waves for pod in wave.starts]
    plan = _Plan([], [])
    for wave in waves:
        begins = wave is waves[0]
        if not (begins or wave is waves[-1] or wave.starts or wave.stops):
            continue
        if not begins:
            stage += 1
            needed = sum(len(consumers[pod]) for pod in order[: wave.available])
            # Pods that no controller starts never become available.
            needed += wave.available - min(wave.available, len(order))
            plan.events.append(PlannedEvent(stage, 0, 0, ScenarioKind.PODS_AVAILABLE, NONE, needed))
        at_ms = ROLLOUT_AT_MS if begins else 0
        stopped = [consumer for pod in wave.stops for consumer in consumers[pod]]
        started = [consumer for pod in wave.starts for consumer in consumers[pod]]
        if not in_place:
            for consumer in started:
                place = size + joined + len(plan.replaced)
                plan.events.append(PlannedEvent(stage, at_ms, rollout.times.start_ms, ScenarioKind.JOIN, place, 0))
                plan.replaced.append(consumer)
        for consumer in stopped:
            for kind, delay_ms, value in _stop(rollout.times, in_place):
                plan.events.append(PlannedEvent(stage, at_ms, delay_ms, kind, consumer, value))
    return plan


def _stop(times: PodTimes, in_place: bool) -> list[tuple[ScenarioKind, int, int]]:
    """Return what a consumer goes through when its pod stops, each with its delay and value.

    The application closes its consumer in time, or is killed at the end of the grace period.
    """
    if times.shutdown_ms > times.grace_ms:
        restarts = [(ScenarioKind.RESTART, times.grace_ms, times.start_ms)] if in_place else []
        return [(ScenarioKind.CRASH, times.grace_ms, 0), *restarts]
    if in_place:
        return [(ScenarioKind.RESTART, times.shutdown_ms, times.start_ms)]
    return [(ScenarioKind.LEAVE, times.shutdown_ms, 0)]
