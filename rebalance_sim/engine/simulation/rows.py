"""The results of simulations as rows of the output tables."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rebalance_sim.engine.groups.client_libraries import other_libraries
from rebalance_sim.engine.simulation.simulation_batch import SimulationBatch
from rebalance_sim.engine.tables.arrow import lists, rows_of
from rebalance_sim.engine.tables.percentiles import above_p99
from rebalance_sim.kafka.coordinator.classic.classic_group import NONE, Reason, RequestKind, State
from rebalance_sim.kafka.coordinator.consumer.consumer_group import ConsumerGroupState, EpochReason
from rebalance_sim.kafka.coordinator.errors import Errors
from rebalance_sim.kafka.runtime.strings import Flags, Ints
from rebalance_sim.kafka.simulation.batch_state import BatchResult, field
from rebalance_sim.kafka.simulation.group_events import EVENT_KINDS
from rebalance_sim.kafka.simulation.model import ScenarioKind, Subject
from rebalance_sim.kafka.simulation.prepared import PreparedGroups
from rebalance_sim.kafka.simulation.storms import Storms, count_storms
from rebalance_sim.tables import BOUNCES, COSTS, REBALANCES, TIMELINE
from rebalance_sim.wording import plural, plural_of

_VALUED = (
    ScenarioKind.RESTART,
    ScenarioKind.STALL,
    ScenarioKind.GROW,
    ScenarioKind.MOVE_COORDINATOR,
    ScenarioKind.PODS_AVAILABLE,
)
"""Events whose value is shown: a duration or a number of partitions. Other values are numbers within the batch."""
_REASONS = {int(one): one.name for of in (Reason, EpochReason) for one in of if one != Reason.NONE}


@dataclass(frozen=True)
class SimulationResult:
    """A batch of groups and the result of its simulation."""

    batch: SimulationBatch
    prepared: PreparedGroups
    errors: Sequence[str | None]
    """Why a group cannot be simulated, or why its simulation ended early."""
    simulated: BatchResult

    @property
    def succeeded(self) -> Flags:
        """Whether a group has been simulated to the end."""
        return np.array([error is None for error in self.errors], np.bool_)

    def counted(self, name: str) -> Ints:
        """Return a number that the coordinator keeps of each group."""
        return field(self.simulated.groups, name)

    def group_columns(self, groups: Ints, strategy: str) -> dict[str, pa.Array]:
        """Return the columns that name the group of each row."""
        chosen = pa.array(groups)
        return {
            "cluster": self.batch.batch.clusters.take(chosen),
            "group_id": self.batch.batch.group_ids.take(chosen),
            "strategy": pa.repeat(strategy, len(groups)),
        }

    def consumer_names(self, groups: Ints, places: Ints) -> pa.Array:
        """Return the names of consumers, given by their places in their groups; null for NONE."""
        consumers = self.batch.consumers
        return consumers.column("member_id").take(
            pa.array(consumers.offsets[groups].astype(np.int64) + places, mask=places == NONE)
        )


def cost_rows(result: SimulationResult, strategy: str, storms: Storms) -> pa.StructArray:
    """Return the costs of every group; a group that cannot be simulated has an error and no figures."""
    progress, groups = result.simulated.progress, np.arange(len(result.errors))
    failed = ~result.succeeded
    rows = result.simulated.rebalances
    stable = field(progress, "stable").astype(np.bool_)
    event_counts = _played_events(result)
    since = field(progress, "all_owned_ms") - field(progress, "first_event_ms")
    # The members of a consumer-protocol group go on consuming when its epoch rises (KIP-848).
    classic = ~field(rows, "modern").astype(np.bool_)
    in_storms = count_storms(len(groups), field(rows, "group")[classic], field(rows, "from_ms")[classic], storms)
    counted = ("completed", "unowned_ms", "moved", "moved_back", "failed", "messages")
    partitions, downtimes = _partitions(result), _downtimes(result)
    figures = {name: field(progress, name) for name in counted} | {
        "p99_unowned_ms": downtimes.p99_ms(partitions),
        "max_unowned_ms": downtimes.max_ms(),
        "rebalances": field(progress, "begun"),
        "storms": in_storms,
        "evicted": field(result.simulated.groups, "evicted"),
        "simulated_ms": field(result.simulated.queues, "now"),
    }
    return rows_of(
        COSTS.schema,
        result.group_columns(groups, strategy)
        | {
            "consumers": pa.array(np.diff(result.batch.consumers.offsets)),
            "partitions": pa.array(partitions),
            "downtimes": downtimes.counted(),
            "events": pa.array(event_counts),
            "stable": pa.array(stable, mask=failed),
            "stable_ms": pa.array(np.maximum(since, 0), mask=failed | ~stable | (event_counts == 0)),
            "finished": pa.array(finished(result), mask=failed),
            "failure": _failures(result),
            "rejected_members": pa.array(result.batch.batch.rejected_members),
            "other_libraries": other_libraries(result.batch.consumers),
            "error": pa.array(result.errors, pa.string()),
        }
        | {name: pa.array(values, mask=failed) for name, values in figures.items()},
    )


class _Downtimes(NamedTuple):
    """The partitions of each group that are without an owner for some time."""

    offsets: Ints
    """Where the partitions of each group begin in ``unowned_ms``."""
    unowned_ms: Ints
    """Time without an owner, by group, the longest first."""

    def p99_ms(self, partitions: Ints) -> Ints:
        """Return the 99th percentile of each group, given all its partitions."""
        return self._below(above_p99(partitions))

    def max_ms(self) -> Ints:
        """Return the longest time of each group."""
        return self._below(np.zeros(len(self.offsets) - 1, np.int64))

    def _below(self, above: Ints) -> Ints:
        """Return the time of each group that so many partitions are ranked above."""
        places = np.minimum(self.offsets[:-1] + above, self.offsets[1:])
        is_listed = places < self.offsets[1:]
        return np.where(is_listed, np.append(self.unowned_ms, 0)[places], 0)

    def counted(self) -> pa.ListArray:
        """Return the column ``downtimes``."""
        groups = np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))
        differs = (np.diff(groups, prepend=-1) != 0) | (np.diff(self.unowned_ms, prepend=-1) != 0)
        firsts = np.flatnonzero(differs)
        counts = np.diff(np.append(firsts, len(groups)))
        columns = [pa.array(self.unowned_ms[firsts]), pa.array(counts.astype(np.int32))]
        values = pa.StructArray.from_arrays(columns, ["unowned_ms", "partitions"])
        return lists(np.searchsorted(firsts, self.offsets).astype(np.int32), values)


def _downtimes(result: SimulationResult) -> _Downtimes:
    topics, unowned_ms = result.prepared.groups.group_topics, field(result.simulated.partitions, "unowned_ms")
    of_topic = np.repeat(np.arange(len(result.errors)), np.diff(topics.offsets))
    groups = np.repeat(of_topic, topics.partitions)
    chosen = np.flatnonzero((unowned_ms > 0) & result.succeeded[groups])
    order = chosen[np.lexsort((-unowned_ms[chosen], groups[chosen]))]
    return _Downtimes(np.searchsorted(groups[order], np.arange(len(result.errors) + 1)), unowned_ms[order])


def _partitions(result: SimulationResult) -> Ints:
    """Return the number of partitions of each group's topics at the end."""
    topics = result.prepared.groups.group_topics
    counts = np.add.reduceat(np.append(topics.partitions, 0), topics.offsets[:-1])
    return np.asarray(counts * (np.diff(topics.offsets) > 0))


def _played_events(result: SimulationResult) -> Ints:
    """Return the number of events of each group."""
    events, played = result.prepared.groups.events, result.prepared.played_events
    happens = played & (events.column("kind") < ScenarioKind.NEXT_BOUNCE)
    return np.bincount(events.column("group")[happens], minlength=len(result.errors))


def _failures(result: SimulationResult) -> pa.Array:
    """Return why each rollout fails.

    The reason is the first failure of a consumer: the error, the consumer, the time and the last event. If no consumer
    fails, it is the event that the rollout waits for.
    """
    progress = result.simulated.progress
    failed = np.flatnonzero(field(progress, "failed"))
    texts: list[str | None] = [None] * len(result.errors)
    for group in np.flatnonzero(~finished(result)).tolist():
        texts[group] = f"the rollout does not finish: {_awaited(result, group)}"
    names = result.consumer_names(failed, field(progress, "failed_consumer")[failed]).to_pylist()
    for group, name in zip(failed.tolist(), names, strict=True):
        ended = progress[group]
        error = Errors(ended.failure).name
        texts[group] = f"{error}: {name}, at {ended.failed_ms} ms, after event {ended.failed_event + 1}"
    return pa.array(texts, pa.string())


def finished(result: SimulationResult) -> Flags:
    """Return whether all events of a group have happened. A simulation that ends with an error counts as finished."""
    progress = result.simulated.progress
    return ~result.succeeded | (field(progress, "next_event") == field(progress, "events"))


def _awaited(result: SimulationResult, group: int) -> str:
    """Return the event that the rollout of a group never reaches."""
    simulated, progress = result.simulated, result.simulated.progress[group]
    events = simulated.events[simulated.first_event[group] : simulated.first_event[group + 1]]
    if events[progress.next_event].kind != ScenarioKind.PODS_AVAILABLE:
        return "a bounce waits for a restarted consumer or for a partition without an owner"
    needed = max(int(event.value) for event in events if event.kind == ScenarioKind.PODS_AVAILABLE)
    what = f"{progress.available} of {plural(needed, 'new consumer')} are available"
    low, high = result.batch.consumers.offsets[group : group + 2]
    idle = int(field(simulated.consumers, "unready")[low:high].sum())
    if not idle:
        return what
    because = plural_of(idle, "is not ready, because it has", "are not ready, because they have")
    return f"{what}; {plural(idle, 'consumer')} {because} no partitions"


def bounce_rows(result: SimulationResult, strategy: str) -> pa.StructArray:
    """Return the bounces that have begun, by group and number."""
    simulated, progress = result.simulated, result.simulated.progress
    of_event = np.repeat(np.arange(len(result.errors)), np.diff(simulated.first_event))
    waits = np.flatnonzero(field(simulated.events, "kind") == ScenarioKind.NEXT_BOUNCE)
    reached = waits[waits - simulated.first_event[of_event[waits]] < field(progress, "next_event")[of_event[waits]]]
    chosen = np.flatnonzero(result.succeeded & (_played_events(result) > 0))
    groups = np.concatenate([of_event[reached], chosen])
    order = np.argsort(groups, kind="stable")
    groups = groups[order]
    is_first = np.append(True, groups[1:] != groups[:-1])[: len(groups)]
    is_last = np.append(groups[1:] != groups[:-1], True)[: len(groups)]

    def totals(of_event: str, of_group: str) -> Ints:
        """Return the figures at the end of each bounce."""
        values = np.concatenate([field(simulated.events, of_event)[reached], field(progress, of_group)[chosen]])
        return values[order]

    def of_bounce(of_event: str, of_group: str) -> Ints:
        values = totals(of_event, of_group)
        return values - np.where(is_first, 0, np.append(0, values[:-1])[: len(values)])

    ends_ms = totals("reached_ms", "all_owned_ms")
    over = finished(result) & field(progress, "stable").astype(np.bool_) & (field(progress, "failed") == 0)
    firsts = np.where(is_first, field(progress, "first_event_ms")[groups], np.append(0, ends_ms[:-1])[: len(groups)])
    ends_ms = np.maximum(ends_ms, firsts)
    counted = ("unowned_ms", "moved", "moved_back", "failed")
    return rows_of(
        BOUNCES.schema,
        result.group_columns(groups, strategy)
        | {
            "bounce": pa.array(np.arange(len(groups)) - np.searchsorted(groups, groups) + 1),
            "partitions": pa.array(_partitions(result)[groups]),
            "from_ms": pa.array(firsts),
            "to_ms": pa.array(ends_ms, mask=is_last & ~over[groups]),
            "rebalances": pa.array(of_bounce("rebalances", "begun")),
        }
        | {name: pa.array(of_bounce(name, name)) for name in counted},
    )


def rebalance_rows(result: SimulationResult, strategy: str) -> pa.StructArray:
    """Return the rebalances by group and number."""
    fields, numbers = _by_group(result.simulated.rebalances)
    groups = fields["group"]
    offered = result.prepared.protocols
    # An elected protocol is recorded by its number in the group.
    in_batch = np.append(offered.of_groups, NONE)[offered.first_of_group[groups] + fields["protocol"]]
    protocols = pa.array(offered.names, pa.string())
    times = ("joined_ms", "to_ms", "all_owned_ms")
    counts = ("generation", "joined", "evicted", "revoked", "moved")
    return rows_of(
        REBALANCES.schema,
        result.group_columns(groups, strategy)
        | {
            "rebalance": pa.array(numbers + 1),
            "reason": _texts(_REASONS, fields["reason"]),
            "member_id": result.consumer_names(groups, fields["consumer"]),
            "from_ms": pa.array(fields["from_ms"]),
            "protocol": protocols.take(pa.array(in_batch, mask=fields["protocol"] == NONE)),
            "leader": result.consumer_names(groups, fields["leading_consumer"]),
            "unowned_ms": pa.array(fields["unowned_ms"]),
        }
        | {name: pa.array(fields[name], mask=fields[name] == NONE) for name in times}
        | {name: pa.array(fields[name]) for name in counts},
    )


@dataclass(frozen=True)
class FirstSteps:
    """The first steps of each timeline that are of some kinds."""

    kinds: Collection[str]
    count: int

    def of(self, fields: Mapping[str, Ints]) -> Ints:
        """Return the places of these steps among all steps of timelines, which are sorted by group."""
        wanted = np.flatnonzero(np.isin(fields["subject"], [Subject[kind] for kind in self.kinds]))
        groups = fields["group"][wanted]
        return wanted[np.arange(len(wanted)) - np.searchsorted(groups, groups) < self.count]


def timeline_rows(result: SimulationResult, strategy: str, first: FirstSteps | None = None) -> pa.StructArray:
    """Return the timelines of the groups that have one, by group and order, or only their first steps."""
    fields, numbers = _by_group(result.simulated.timeline)
    if first is not None:
        chosen = first.of(fields)
        fields, numbers = {name: values[chosen] for name, values in fields.items()}, numbers[chosen]
    groups, subjects, values = fields["group"], fields["subject"], fields["partitions"]
    counted = np.isin(subjects, (Subject.REVOKED, Subject.LOST, Subject.ASSIGNED))
    valued = (subjects == Subject.EVENT) & np.isin(fields["kind"], _VALUED)
    fails = (subjects == Subject.EVENT) & (fields["kind"] == ScenarioKind.FAIL_STORE)
    errors = np.where(fails, values, fields["error"])
    return rows_of(
        TIMELINE.schema,
        result.group_columns(groups, strategy)
        | {
            "number": pa.array(numbers),
            "at_ms": pa.array(fields["at_ms"]),
            "kind": _texts(_names(Subject), subjects),
            "member_id": result.consumer_names(groups, fields["consumer"]),
            "detail": _details(subjects, fields["kind"]),
            "error": _texts(_names(Errors), errors, errors == Errors.NONE),
            "generation": pa.array(fields["generation"]),
            "state": _states(fields["state"], fields["modern"]),
            "partitions": pa.array(values, mask=~counted),
            "value": pa.array(values, mask=~valued),
        },
    )


def _by_group(rows: Any) -> tuple[dict[str, Ints], Ints]:
    """Return the fields of records sorted by group, and the number of each record within its group, from 0."""
    order = np.argsort(field(rows, "group"), kind="stable")
    fields = {name: field(rows, name)[order] for name in rows.dtype.names}
    return fields, np.arange(len(order)) - np.searchsorted(fields["group"], fields["group"])


def _details(subjects: Ints, kinds: Ints) -> pa.Array:
    """Return the event, request or reason of each row."""
    names = {
        Subject.EVENT: {int(kind): name for name, kind in EVENT_KINDS.items()},
        Subject.REQUEST: _names(RequestKind),
        Subject.ANSWER: _names(RequestKind),
        Subject.STATE: _REASONS,
    }
    return pc.coalesce(*(_texts(of, kinds, subjects != subject) for subject, of in names.items()))


def _states(states: Ints, modern: Ints) -> pa.Array:
    """Return the names of states as Kafka's tools show them."""
    names = [
        "".join(word.capitalize() for word in state.name.split("_"))
        for of in (State, ConsumerGroupState)
        for state in of
    ]
    return pa.array(names).take(pa.array(states + len(State) * modern))


def _names(of: type[IntEnum]) -> dict[int, str]:
    return {int(member): member.name for member in of}


def _texts(texts: Mapping[int, str], numbers: Ints, none: np.ndarray | None = None) -> pa.Array:
    """Return the text of each number; null where there is none."""
    found = pc.index_in(pa.array(numbers, mask=none), pa.array(list(texts), pa.from_numpy_dtype(numbers.dtype)))
    return pa.array(list(texts.values())).take(found)
