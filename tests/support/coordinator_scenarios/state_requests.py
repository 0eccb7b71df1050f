"""Every request in every state: what each version answers, and the state after it.

One short scenario for each pair of a state and a request. Members 0 (the leader) and 1 have been there from the start.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from tests.support.coordinator_scenarios.scenario import (
    ALL,
    COMPLETING,
    EMPTY,
    ILLEGAL_GENERATION,
    INCONSISTENT_GROUP_PROTOCOL,
    MEMBER_ID_REQUIRED,
    NONE,
    PREPARING,
    REBALANCE_IN_PROGRESS,
    SINCE_2_3,
    STABLE,
    UNKNOWN_MEMBER_ID,
    Answered,
    Expectation,
    Scenario,
    answer,
    gone,
    group,
    parked,
)
from tests.support.coordinator_scenarios.steps import (
    RANGE_CHANGED,
    ROUND_ROBIN,
    STRANGER,
    MemberRef,
    Step,
    check_offsets,
    commit,
    fetch,
    heartbeat,
    join,
    join_for_id,
    joined,
    leave,
    stable,
    sync,
)

NO_GROUP = "no group"
REMOVED = "removed"
"""An empty group without offsets that the periodic check has made Dead and taken away; no request ever meets a group
that is Dead and still there, unless two threads race."""
PARKED = "parked"

_AT_MS = 9000


@dataclass(frozen=True)
class Setting:
    """How a group comes into a state, and what requests then name as its own."""

    state: str | None
    steps: tuple[Step, ...]
    generation: int
    leader: MemberRef = 0
    follower: MemberRef = 1


def _settings(instances: dict[int, str] | None = None) -> dict[str, Setting]:
    emptied = (*stable(2, instances), leave(7000, 0), leave(7000, 1))
    return {
        NO_GROUP: Setting(None, (), 1, leader=STRANGER, follower=STRANGER),
        EMPTY: Setting(EMPTY, emptied, 2),
        PREPARING: Setting(PREPARING, (*stable(2, instances), join(7000)), 1),
        COMPLETING: Setting(COMPLETING, joined(2, instances), 1),
        STABLE: Setting(STABLE, stable(2, instances), 1),
        REMOVED: Setting(None, (*emptied, check_offsets(8000)), 2),
    }


@dataclass(frozen=True)
class Outcome:
    """An error, or ``PARKED``, and the state after it; by default the one before."""

    error: str
    after: str | None = ""


@dataclass(frozen=True)
class ByVersion:
    """Where versions differ: each one's outcome holds up to the next one that is given."""

    v1_0: Outcome
    v2_3: Outcome | None = None
    v3_9: Outcome | None = None
    v4_3: Outcome | None = None

    def outcome(self, version: str) -> Outcome:
        """What a version does."""
        latest = self.v1_0
        for name, given in zip(ALL, (self.v1_0, self.v2_3, self.v3_9, self.v4_3), strict=True):
            latest = given or latest
            if name == version:
                break
        return latest


@dataclass(frozen=True)
class Request:
    """A row of the table: a request, and its outcome in each state."""

    name: str
    step: Callable[[Setting], Step]
    no_group: Outcome | ByVersion
    empty: Outcome | ByVersion
    preparing: Outcome | ByVersion
    completing: Outcome | ByVersion
    stable: Outcome | ByVersion
    removed: Outcome | ByVersion
    versions: tuple[str, ...] = ALL
    instances: dict[int, str] | None = None

    def outcomes(self) -> dict[str, Outcome | ByVersion]:
        """By state."""
        return {
            NO_GROUP: self.no_group,
            EMPTY: self.empty,
            PREPARING: self.preparing,
            COMPLETING: self.completing,
            STABLE: self.stable,
            REMOVED: self.removed,
        }


OK = Outcome(NONE)
WAITS = Outcome(PARKED)
REBALANCES = Outcome(PARKED, PREPARING)
ID_FIRST = Outcome(MEMBER_ID_REQUIRED)
OTHER_PROTOCOL = Outcome(INCONSISTENT_GROUP_PROTOCOL)
REJOIN = Outcome(REBALANCE_IN_PROGRESS)
STALE = Outcome(ILLEGAL_GENERATION)
UNKNOWN = Outcome(UNKNOWN_MEMBER_ID)
MAKES_GROUP = Outcome(NONE, EMPTY)

JOINS = (
    Request(
        name="join without an id",
        step=lambda _: join(_AT_MS),
        no_group=REBALANCES,
        empty=REBALANCES,
        preparing=WAITS,
        completing=REBALANCES,
        stable=REBALANCES,
        removed=REBALANCES,
    ),
    Request(
        name="join without an id where one is required",
        step=lambda _: join_for_id(_AT_MS),
        no_group=replace(ID_FIRST, after=EMPTY),
        empty=ID_FIRST,
        preparing=ID_FIRST,
        completing=ID_FIRST,
        stable=ID_FIRST,
        removed=replace(ID_FIRST, after=EMPTY),
        versions=SINCE_2_3,
    ),
    Request(
        name="join with an unknown id",
        step=lambda _: join(_AT_MS, STRANGER),
        no_group=UNKNOWN,
        empty=UNKNOWN,
        preparing=UNKNOWN,
        completing=UNKNOWN,
        stable=UNKNOWN,
        removed=UNKNOWN,
    ),
    Request(
        name="join of a follower, unchanged",
        step=lambda setting: join(_AT_MS, setting.follower),
        no_group=UNKNOWN,
        empty=UNKNOWN,
        preparing=WAITS,
        completing=OK,
        stable=OK,
        removed=UNKNOWN,
    ),
    Request(
        name="join of a follower, changed",
        step=lambda setting: join(_AT_MS, setting.follower, protocols=RANGE_CHANGED),
        no_group=UNKNOWN,
        empty=UNKNOWN,
        preparing=WAITS,
        completing=REBALANCES,
        stable=REBALANCES,
        removed=UNKNOWN,
    ),
    Request(
        name="join of the leader, unchanged",
        step=lambda setting: join(_AT_MS, setting.leader),
        no_group=UNKNOWN,
        empty=UNKNOWN,
        preparing=WAITS,
        completing=OK,
        stable=REBALANCES,
        removed=UNKNOWN,
    ),
    Request(
        name="join of the leader, changed",
        step=lambda setting: join(_AT_MS, setting.leader, protocols=RANGE_CHANGED),
        no_group=UNKNOWN,
        empty=UNKNOWN,
        preparing=WAITS,
        completing=REBALANCES,
        stable=REBALANCES,
        removed=UNKNOWN,
    ),
    Request(
        name="join of a follower with a protocol that no other member has",
        step=lambda setting: join(_AT_MS, setting.follower, protocols=ROUND_ROBIN),
        no_group=UNKNOWN,
        empty=UNKNOWN,
        preparing=OTHER_PROTOCOL,
        completing=OTHER_PROTOCOL,
        stable=OTHER_PROTOCOL,
        removed=UNKNOWN,
    ),
    Request(
        name="join that replaces a static follower",
        step=lambda _: join(_AT_MS, instance_id="b"),
        no_group=REBALANCES,
        empty=REBALANCES,
        preparing=WAITS,
        completing=ByVersion(OK, v3_9=REBALANCES),
        stable=OK,
        removed=REBALANCES,
        versions=SINCE_2_3,
        instances={1: "b"},
    ),
)

SYNCS = (
    Request(
        name="sync of a follower",
        step=lambda setting: sync(_AT_MS, setting.follower, setting.generation),
        no_group=UNKNOWN,
        empty=UNKNOWN,
        preparing=REJOIN,
        completing=WAITS,
        stable=OK,
        removed=UNKNOWN,
    ),
    Request(
        name="sync of the leader",
        step=lambda setting: sync(_AT_MS, setting.leader, setting.generation),
        no_group=UNKNOWN,
        empty=UNKNOWN,
        preparing=REJOIN,
        completing=replace(OK, after=STABLE),
        stable=OK,
        removed=UNKNOWN,
    ),
    Request(
        name="sync with an unknown id",
        step=lambda setting: sync(_AT_MS, STRANGER, setting.generation),
        no_group=UNKNOWN,
        empty=UNKNOWN,
        preparing=UNKNOWN,
        completing=UNKNOWN,
        stable=UNKNOWN,
        removed=UNKNOWN,
    ),
    Request(
        name="sync with an old generation",
        step=lambda setting: sync(_AT_MS, setting.leader, setting.generation - 1),
        no_group=UNKNOWN,
        empty=UNKNOWN,
        preparing=STALE,
        completing=STALE,
        stable=STALE,
        removed=UNKNOWN,
    ),
)

HEARTBEATS = (
    Request(
        name="heartbeat",
        step=lambda setting: heartbeat(_AT_MS, setting.follower, setting.generation),
        no_group=UNKNOWN,
        empty=UNKNOWN,
        preparing=REJOIN,
        completing=ByVersion(REJOIN, v3_9=OK),
        stable=OK,
        removed=UNKNOWN,
    ),
    Request(
        name="heartbeat with an old generation",
        step=lambda setting: heartbeat(_AT_MS, setting.follower, setting.generation - 1),
        no_group=UNKNOWN,
        empty=UNKNOWN,
        preparing=STALE,
        completing=ByVersion(REJOIN, v2_3=STALE),
        stable=STALE,
        removed=UNKNOWN,
    ),
    Request(
        name="heartbeat with an unknown id",
        step=lambda setting: heartbeat(_AT_MS, STRANGER, setting.generation),
        no_group=UNKNOWN,
        empty=UNKNOWN,
        preparing=UNKNOWN,
        completing=UNKNOWN,
        stable=UNKNOWN,
        removed=UNKNOWN,
    ),
)

LEAVES = (
    Request(
        name="leave of a follower",
        step=lambda setting: leave(_AT_MS, setting.follower),
        no_group=UNKNOWN,
        empty=UNKNOWN,
        preparing=OK,
        completing=replace(OK, after=PREPARING),
        stable=replace(OK, after=PREPARING),
        removed=UNKNOWN,
    ),
    Request(
        name="leave of the leader",
        step=lambda setting: leave(_AT_MS, setting.leader),
        no_group=UNKNOWN,
        empty=UNKNOWN,
        preparing=OK,
        completing=replace(OK, after=PREPARING),
        stable=replace(OK, after=PREPARING),
        removed=UNKNOWN,
    ),
    Request(
        name="leave with an unknown id",
        step=lambda _: leave(_AT_MS, STRANGER),
        no_group=UNKNOWN,
        empty=UNKNOWN,
        preparing=UNKNOWN,
        completing=UNKNOWN,
        stable=UNKNOWN,
        removed=UNKNOWN,
    ),
)

OFFSETS = (
    Request(
        name="commit without id and generation",
        step=lambda _: commit(_AT_MS, "", -1),
        no_group=MAKES_GROUP,
        empty=OK,
        preparing=UNKNOWN,
        completing=ByVersion(REJOIN, v3_9=UNKNOWN),
        stable=UNKNOWN,
        removed=MAKES_GROUP,
    ),
    Request(
        name="commit of a member without generation",
        step=lambda setting: commit(_AT_MS, setting.follower, -1),
        no_group=MAKES_GROUP,
        empty=OK,
        preparing=STALE,
        completing=ByVersion(REJOIN, v3_9=STALE),
        stable=STALE,
        removed=MAKES_GROUP,
    ),
    Request(
        name="commit",
        step=lambda setting: commit(_AT_MS, setting.follower, setting.generation),
        no_group=STALE,
        empty=UNKNOWN,
        preparing=OK,
        completing=REJOIN,
        stable=OK,
        removed=STALE,
    ),
    Request(
        name="commit with another generation",
        step=lambda setting: commit(_AT_MS, setting.follower, setting.generation - 1),
        no_group=STALE,
        empty=UNKNOWN,
        preparing=STALE,
        completing=ByVersion(REJOIN, v3_9=STALE),
        stable=STALE,
        removed=STALE,
    ),
    Request(
        name="commit with an unknown id",
        step=lambda setting: commit(_AT_MS, STRANGER, setting.generation),
        no_group=STALE,
        empty=UNKNOWN,
        preparing=UNKNOWN,
        completing=ByVersion(REJOIN, v3_9=UNKNOWN),
        stable=UNKNOWN,
        removed=STALE,
    ),
    Request(
        name="fetch",
        step=lambda _: fetch(_AT_MS),
        no_group=OK,
        empty=OK,
        preparing=OK,
        completing=OK,
        stable=OK,
        removed=OK,
    ),
)

TABLE = (*JOINS, *SYNCS, *HEARTBEATS, *LEAVES, *OFFSETS)


def _scenario(request: Request, state: str, told: Outcome | ByVersion) -> Scenario:
    setting = _settings(request.instances)[state]
    by_version = told if isinstance(told, ByVersion) else ByVersion(told)
    step = request.step(setting)
    return Scenario(
        name=f"{request.name}: {state}",
        mirrors=(),
        versions=request.versions,
        steps=(*setting.steps, step),
        expected=tuple(
            expectation
            for version in request.versions
            for expectation in _expectations(version, step, by_version.outcome(version), setting.state)
        ),
    )


def _expectations(version: str, step: Step, outcome: Outcome, before: str | None) -> tuple[Expectation, ...]:
    versions = (version,)
    after = before if outcome.after == "" else outcome.after
    stands = gone(-1, versions=versions) if after is None else group(-1, after, versions=versions)
    if outcome.error == PARKED:
        return parked(-1, versions=versions), stands
    if step["request"] == "leave":
        return _left(versions, outcome.error), stands
    return answer(-1, outcome.error, versions=versions), stands


def _left(versions: tuple[str, ...], error: str) -> Answered:
    """Since 2.4 it is each member's error."""
    return Answered(-1, versions, {"left": [error]})


STATE_REQUESTS: tuple[Scenario, ...] = tuple(
    _scenario(request, state, told) for request in TABLE for state, told in request.outcomes().items()
)
