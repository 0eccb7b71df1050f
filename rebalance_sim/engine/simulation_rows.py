"""What simulations found, as rows of the output tables."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rebalance_sim.engine.arrow import rows_of
from rebalance_sim.engine.simulated_groups import KINDS, SimulatedGroups
from rebalance_sim.kafka.coordinator.classic_group import NEVER, NONE, Kind, Reason, State
from rebalance_sim.kafka.coordinator.consumer_group import CONSUMER_HEARTBEAT, ConsumerGroupState, EpochReason
from rebalance_sim.kafka.coordinator.errors import Errors
from rebalance_sim.kafka.kernel import kernel
from rebalance_sim.kafka.simulation.batch_state import Simulated, field
from rebalance_sim.kafka.simulation.model import ScenarioKind, Subject
from rebalance_sim.kafka.strings import Flags, Ints, Ints32
from rebalance_sim.tables import COSTS, REBALANCES, TIMELINE

_REQUESTS = {int(kind): kind.name for kind in Kind} | {CONSUMER_HEARTBEAT: "CONSUMER_GROUP_HEARTBEAT"}
_VALUED = (ScenarioKind.RESTART, ScenarioKind.STALL, ScenarioKind.GROW, ScenarioKind.MOVE_COORDINATOR)
"""Events with a number that tells something outside of the batch."""
_REASONS = {int(one): one.name for of in (Reason, EpochReason) for one in of if one != Reason.NONE}


@dataclass(frozen=True)
class Storms:
    """What counts as a storm of rebalances."""

    rebalances: int = 10
    window_ms: int = 60_000


@dataclass(frozen=True)
class Told:
    """A batch of groups, and what became of them."""

    groups: SimulatedGroups
    errors: Sequence[str | None]
    """Why there is no simulation of a group, or why it ended."""
    simulated: Simulated

    @property
    def simulates(self) -> Flags:
        """Whether there is a simulation, by group."""
        return np.array([error is None for error in self.errors], np.bool_)

    def group_columns(self, groups: Ints, strategy: str) -> dict[str, pa.Array]:
        """Return the columns that say which group, for some rows."""
        chosen = pa.array(groups)
        return {
            "cluster": self.groups.batch.clusters.take(chosen),
            "group_id": self.groups.batch.group_ids.take(chosen),
            "strategy": pa.repeat(strategy, len(groups)),
        }

    def consumer_names(self, groups: Ints, places: Ints) -> pa.Array:
        """Return the names of consumers, given by their places in their groups; null for NONE."""
        consumers = self.groups.consumers
        return consumers.column("member_id").take(
            pa.array(consumers.offsets[groups].astype(np.int64) + places, mask=places == NONE)
        )


def cost_rows(told: Told, strategy: str, storms: Storms) -> pa.StructArray:
    """Build the costs of every group; those without a simulation have an error and no figures."""
    courses, groups = told.simulated.courses, np.arange(len(told.errors))
    failed = ~told.simulates
    rows = told.simulated.rebalances
    settled = field(courses, "settled").astype(np.bool_)
    played, first_ms = _events(told)
    since = field(courses, "settled_ms") - first_ms
    in_storms = _storms(len(groups), field(rows, "group"), field(rows, "from_ms"), storms.rebalances, storms.window_ms)
    figures = {
        "rebalances": field(courses, "begun"),
        "completed": field(courses, "completed"),
        "storms": in_storms,
        "paused_ms": field(courses, "paused"),
        "moved": field(courses, "moved"),
        "moved_back": field(courses, "moved_back"),
        "evicted": field(told.simulated.groups, "evicted"),
        "failed": field(courses, "failed"),
        "messages": field(courses, "messages"),
        "simulated_ms": field(told.simulated.queues, "now"),
    }
    return rows_of(
        COSTS.schema,
        told.group_columns(groups, strategy)
        | {
            "consumers": pa.array(np.diff(told.groups.consumers.offsets)),
            "partitions": pa.array(
                np.add.reduceat(
                    np.append(told.groups.group_topics.partitions, 0), told.groups.group_topics.offsets[:-1]
                )
                * (np.diff(told.groups.group_topics.offsets) > 0)
            ),
            "events": pa.array(played),
            "settled": pa.array(settled, mask=failed),
            "settle_ms": pa.array(np.maximum(since, 0), mask=failed | ~settled | (played == 0)),
            "failure": _failures(told),
            "error": pa.array(told.errors, pa.string()),
        }
        | {name: pa.array(values, mask=failed) for name, values in figures.items()},
    )


def _events(told: Told) -> tuple[Ints, Ints]:
    """Count the events of each group, and tell when the first happens."""
    count, first_ms = np.zeros(len(told.errors), np.int64), np.full(len(told.errors), NEVER)
    for happening in told.groups.played:
        count[happening.group] += 1
        first_ms[happening.group] = min(first_ms[happening.group], happening.at_ms)
    return count, first_ms


def _failures(told: Told) -> pa.Array:
    """Say which consumer failed first, how, when, and after which event."""
    courses = told.simulated.courses
    failed = np.flatnonzero(field(courses, "failed"))
    said: list[str | None] = [None] * len(told.errors)
    names = told.consumer_names(failed, field(courses, "failed_consumer")[failed]).to_pylist()
    for group, name in zip(failed.tolist(), names, strict=True):
        course = courses[group]
        error = Errors(course.failure).name
        said[group] = f"{error}: {name}, at {course.failed_ms} ms, after event {course.failed_event + 1}"
    return pa.array(said, pa.string())


@kernel
def _storms(groups: int, group_of_row: Ints, from_ms: Ints, least: int, window_ms: int) -> Ints32:
    """Count windows, none of which overlaps another, in which at least so many rebalances of a group begin.

    The rows of a group are in the order of time.
    """
    counts = np.zeros(groups, np.int32)
    opened = np.full(groups, -window_ms - 1, np.int64)
    inside = np.zeros(groups, np.int32)
    for row in range(len(group_of_row)):
        g = group_of_row[row]
        if from_ms[row] - opened[g] >= window_ms:
            opened[g] = from_ms[row]
            inside[g] = 0
        inside[g] += 1
        if inside[g] == least:
            counts[g] += 1
    return counts


def rebalance_rows(told: Told, strategy: str) -> pa.StructArray:
    """Build the rebalances, by group and number."""
    rows = told.simulated.rebalances
    order = np.argsort(field(rows, "group"), kind="stable")
    given = {name: field(rows, name)[order] for name in rows.dtype.names}  # type: ignore[attr-defined]
    groups = given["group"]
    first = np.searchsorted(groups, np.arange(len(told.errors)))
    protocols = pa.array(told.groups.protocol_names, pa.string())
    times = ("joined_ms", "to_ms", "settled_ms")
    counts = ("generation", "joined", "evicted", "revoked", "moved")
    return rows_of(
        REBALANCES.schema,
        told.group_columns(groups, strategy)
        | {
            "rebalance": pa.array(np.arange(len(groups)) - first[groups] + 1),
            "reason": _reasons(given["reason"]),
            "member_id": told.consumer_names(groups, given["consumer"]),
            "from_ms": pa.array(given["from_ms"]),
            "protocol": protocols.take(pa.array(given["protocol"], mask=given["protocol"] == NONE)),
            "leader": told.consumer_names(groups, given["leading_consumer"]),
            "paused_ms": pa.array(given["paused"]),
        }
        | {name: pa.array(given[name], mask=given[name] == NONE) for name in times}
        | {name: pa.array(given[name]) for name in counts},
    )


def timeline_rows(told: Told, strategy: str) -> pa.StructArray:
    """Build the timelines of the groups that are followed, by group and order."""
    rows = told.simulated.timeline
    order = np.argsort(field(rows, "group"), kind="stable")
    given = {name: field(rows, name)[order] for name in rows.dtype.names}  # type: ignore[attr-defined]
    groups, subjects = given["group"], given["subject"]
    first = np.searchsorted(groups, np.arange(len(told.errors)))
    numbers = given["partitions"]
    counted = np.isin(subjects, (Subject.REVOKED, Subject.LOST, Subject.ASSIGNED))
    valued = (subjects == Subject.EVENT) & np.isin(given["kind"], _VALUED)
    fails = (subjects == Subject.EVENT) & (given["kind"] == ScenarioKind.FAIL_STORE)
    errors = np.where(fails, numbers, given["error"])
    return rows_of(
        TIMELINE.schema,
        told.group_columns(groups, strategy)
        | {
            "number": pa.array(np.arange(len(groups)) - first[groups]),
            "at_ms": pa.array(given["at_ms"]),
            "what": _names(Subject, subjects),
            "member_id": told.consumer_names(groups, given["consumer"]),
            "detail": _details(subjects, given["kind"]),
            "error": _names(Errors, errors, errors == Errors.NONE),
            "generation": pa.array(given["generation"]),
            "state": _states(given["state"], given["modern"]),
            "partitions": pa.array(numbers, mask=~counted),
            "value": pa.array(numbers, mask=~valued),
        },
    )


def _details(subjects: Ints, kinds: Ints) -> pa.Array:
    """Say which event, request or reason a row is about."""
    names = {
        Subject.EVENT: {int(kind): name for name, kind in KINDS.items()},
        Subject.REQUEST: _REQUESTS,
        Subject.ANSWER: _REQUESTS,
        Subject.STATE: _REASONS,
    }
    said = [names.get(Subject(subject), {}).get(kind) for subject, kind in zip(subjects, kinds, strict=True)]
    return pa.array(said, pa.string())


def _reasons(reasons: Ints) -> pa.Array:
    return pa.array([_REASONS.get(reason) for reason in reasons.tolist()], pa.string())


def _states(states: Ints, modern: Ints) -> pa.Array:
    """Return the names that Kafka's tools show."""
    names = [
        "".join(word.capitalize() for word in state.name.split("_"))
        for of in (State, ConsumerGroupState)
        for state in of
    ]
    return pa.array(names).take(pa.array(states + len(State) * modern))


def _names(of: type[IntEnum], numbers: Ints, none: np.ndarray | None = None) -> pa.Array:
    known = {int(one): one.name for one in of}
    values = pa.array(list(known))
    return pa.array(list(known.values())).take(pc.index_in(pa.array(numbers, mask=none), values))
