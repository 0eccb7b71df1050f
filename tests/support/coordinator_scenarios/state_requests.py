"""Every request in every state: what each version answers, and the state after it.

One short scenario for each pair of a state and a request. Members 0 (the leader) and 1 have been there from the start.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tests.support.coordinator_scenarios.scenario import (
    ALL,
    COMPLETING,
    EMPTY,
    PREPARING,
    STABLE,
    Answered,
    Error,
    Expectation,
    Scenario,
    answer,
    gone,
    group,
    parked,
    scenario,
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

_AT_MS = 9000


@dataclass(frozen=True)
class Setting:
    """How a group comes into a state, and what requests then name as its own."""

    state: str | None
    steps: tuple[Step, ...]
    generation: int
    leader: MemberRef = 0
    follower: MemberRef = 1


@dataclass(frozen=True)
class Outcome:
    """An error, or None for a request that waits, and the state after it; by default the one before."""

    error: Error | None
    after: str | None = ""


@dataclass(frozen=True)
class Changed:
    """An outcome that is another one since a version."""

    before: Outcome
    since: str
    after: Outcome


Outcomes = tuple[Outcome, Outcome, Outcome, Outcome | Changed, Outcome]
"""Where there is no group, in Empty, PreparingRebalance, CompletingRebalance, and Stable."""


@dataclass(frozen=True)
class Request:
    """A row of the table: a request, and its outcome in each state."""

    name: str
    step: Callable[[Setting], Step]
    outcomes: Outcomes
    since: str = ALL[0]
    instances: dict[int, str] | None = None

    def settings(self) -> dict[str, tuple[Setting, Outcome | Changed]]:
        """A group in each state, and the outcome.

        A group that is removed is an empty one without offsets that the periodic check has made Dead and taken away;
        no request ever meets a group that is Dead and still there, unless two threads race.
        """
        formed = stable(2, self.instances)
        emptied = (*formed, leave(7000, 0), leave(7000, 1))
        no_group, empty, preparing, completing, in_stable = self.outcomes
        return {
            "no group": (Setting(None, (), 1, leader=STRANGER, follower=STRANGER), no_group),
            EMPTY: (Setting(EMPTY, emptied, 2), empty),
            PREPARING: (Setting(PREPARING, (*formed, join(7000)), 1), preparing),
            COMPLETING: (Setting(COMPLETING, joined(2, self.instances), 1), completing),
            STABLE: (Setting(STABLE, formed, 1), in_stable),
            "removed": (Setting(None, (*emptied, check_offsets(8000)), 2), no_group),
        }


OK = Outcome("NONE")
LEAVES = Outcome("NONE", PREPARING)
IS_STABLE = Outcome("NONE", STABLE)
MAKES_GROUP = Outcome("NONE", EMPTY)
WAITS = Outcome(None)
REBALANCES = Outcome(None, PREPARING)
ID_FIRST = Outcome("MEMBER_ID_REQUIRED")
MAKES_GROUP_FOR_ID = Outcome("MEMBER_ID_REQUIRED", EMPTY)
OTHER_PROTOCOL = Outcome("INCONSISTENT_GROUP_PROTOCOL")
REJOIN = Outcome("REBALANCE_IN_PROGRESS")
STALE = Outcome("ILLEGAL_GENERATION")
UNKNOWN = Outcome("UNKNOWN_MEMBER_ID")

TABLE = (
    # Outcomes: no group, Empty, PreparingRebalance, CompletingRebalance, Stable
    Request("join without an id", lambda _: join(_AT_MS), (REBALANCES, REBALANCES, WAITS, REBALANCES, REBALANCES)),
    Request(
        "join without an id where one is required",
        lambda _: join_for_id(_AT_MS),
        (MAKES_GROUP_FOR_ID, ID_FIRST, ID_FIRST, ID_FIRST, ID_FIRST),
        since="2.3",
    ),
    Request("join with an unknown id", lambda _: join(_AT_MS, STRANGER), (UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN)),
    Request("join of a follower, unchanged", lambda own: join(_AT_MS, own.follower), (UNKNOWN, UNKNOWN, WAITS, OK, OK)),
    Request(
        "join of a follower, changed",
        lambda own: join(_AT_MS, own.follower, protocols=RANGE_CHANGED),
        (UNKNOWN, UNKNOWN, WAITS, REBALANCES, REBALANCES),
    ),
    Request(
        "join of the leader, unchanged", lambda own: join(_AT_MS, own.leader), (UNKNOWN, UNKNOWN, WAITS, OK, REBALANCES)
    ),
    Request(
        "join of the leader, changed",
        lambda own: join(_AT_MS, own.leader, protocols=RANGE_CHANGED),
        (UNKNOWN, UNKNOWN, WAITS, REBALANCES, REBALANCES),
    ),
    Request(
        "join of a follower with a protocol that no other member has",
        lambda own: join(_AT_MS, own.follower, protocols=ROUND_ROBIN),
        (UNKNOWN, UNKNOWN, OTHER_PROTOCOL, OTHER_PROTOCOL, OTHER_PROTOCOL),
    ),
    Request(
        "join that replaces a static follower",
        lambda _: join(_AT_MS, instance_id="b"),
        (REBALANCES, REBALANCES, WAITS, Changed(OK, "3.9", REBALANCES), OK),
        since="2.3",
        instances={1: "b"},
    ),
    Request(
        "sync of a follower",
        lambda own: sync(_AT_MS, own.follower, own.generation),
        (UNKNOWN, UNKNOWN, REJOIN, WAITS, OK),
    ),
    Request(
        "sync of the leader",
        lambda own: sync(_AT_MS, own.leader, own.generation),
        (UNKNOWN, UNKNOWN, REJOIN, IS_STABLE, OK),
    ),
    Request(
        "sync with an unknown id",
        lambda own: sync(_AT_MS, STRANGER, own.generation),
        (UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN),
    ),
    Request(
        "sync with an old generation",
        lambda own: sync(_AT_MS, own.leader, own.generation - 1),
        (UNKNOWN, UNKNOWN, STALE, STALE, STALE),
    ),
    Request(
        "heartbeat",
        lambda own: heartbeat(_AT_MS, own.follower, own.generation),
        (UNKNOWN, UNKNOWN, REJOIN, Changed(REJOIN, "3.9", OK), OK),
    ),
    Request(
        "heartbeat with an old generation",
        lambda own: heartbeat(_AT_MS, own.follower, own.generation - 1),
        (UNKNOWN, UNKNOWN, STALE, Changed(REJOIN, "2.3", STALE), STALE),
    ),
    Request(
        "heartbeat with an unknown id",
        lambda own: heartbeat(_AT_MS, STRANGER, own.generation),
        (UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN),
    ),
    Request("leave of a follower", lambda own: leave(_AT_MS, own.follower), (UNKNOWN, UNKNOWN, OK, LEAVES, LEAVES)),
    Request("leave of the leader", lambda own: leave(_AT_MS, own.leader), (UNKNOWN, UNKNOWN, OK, LEAVES, LEAVES)),
    Request(
        "leave with an unknown id", lambda _: leave(_AT_MS, STRANGER), (UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN)
    ),
    Request(
        "commit without id and generation",
        lambda _: commit(_AT_MS, "", -1),
        (MAKES_GROUP, OK, UNKNOWN, Changed(REJOIN, "3.9", UNKNOWN), UNKNOWN),
    ),
    Request(
        "commit of a member without generation",
        lambda own: commit(_AT_MS, own.follower, -1),
        (MAKES_GROUP, OK, STALE, Changed(REJOIN, "3.9", STALE), STALE),
    ),
    Request("commit", lambda own: commit(_AT_MS, own.follower, own.generation), (STALE, UNKNOWN, OK, REJOIN, OK)),
    Request(
        "commit with another generation",
        lambda own: commit(_AT_MS, own.follower, own.generation - 1),
        (STALE, UNKNOWN, STALE, Changed(REJOIN, "3.9", STALE), STALE),
    ),
    Request(
        "commit with an unknown id",
        lambda own: commit(_AT_MS, STRANGER, own.generation),
        (STALE, UNKNOWN, UNKNOWN, Changed(REJOIN, "3.9", UNKNOWN), UNKNOWN),
    ),
    Request("fetch", lambda _: fetch(_AT_MS), (OK, OK, OK, OK, OK)),
)


def _scenario(request: Request, state: str, own: Setting, outcome: Outcome | Changed) -> Scenario:
    step = request.step(own)
    played = scenario(f"{request.name}: {state}", since=request.since).plays(*own.steps, step)
    for version in played.versions:
        played = played.expects(*_expectations(version, step["request"], _outcome_of(version, outcome), own.state))
    return played


def _outcome_of(version: str, outcome: Outcome | Changed) -> Outcome:
    if isinstance(outcome, Changed):
        return outcome.before if ALL.index(version) < ALL.index(outcome.since) else outcome.after
    return outcome


def _expectations(version: str, request: str, outcome: Outcome, before: str | None) -> Iterator[Expectation]:
    if outcome.error is None:
        yield parked(-1, since=version, until=version)
    elif request == "leave":
        # Since 2.4 it is each member's error.
        yield Answered(-1, (version,), {"left": [outcome.error]})
    else:
        yield answer(-1, outcome.error, since=version, until=version)
    after = before if outcome.after == "" else outcome.after
    if after is None:
        yield gone(-1, since=version, until=version)
    else:
        yield group(-1, after, since=version, until=version)


STATE_REQUESTS: tuple[Scenario, ...] = tuple(
    _scenario(request, state, own, outcome) for request in TABLE for state, (own, outcome) in request.settings().items()
)
