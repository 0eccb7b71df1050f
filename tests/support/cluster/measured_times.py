"""
Compare how long groups take to become stable, on a broker and simulated with the same settings.

    python -m tests.support.cluster.measured_times

Prints both side by side; the exit code is 1 if a line differs by more than allowed. docs/simulate.md describes the
measurement.
"""

from __future__ import annotations

import os
import random
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from confluent_kafka import Consumer, TopicPartition

from rebalance_sim.kafka.simulation.model import Subject
from rebalance_sim.kafka.simulation.settings import SimulationSettings
from tests.support.cluster.broker import running
from tests.support.cluster.clients import JavaConsumers
from tests.support.cluster.fleet import COOPERATIVE, RANGE, Client
from tests.support.cluster.timed_groups import TimedGroup, generations, now_ms, to_each, wait_until_balanced
from tests.support.simulated import History, Played, at, consumer, play
from tests.support.unavailable import Unavailable

KAFKA_VERSION = "4.3.1"
SERVER = "server-uniform"
STRATEGIES = (RANGE, COOPERATIVE, SERVER)
CRASH, LEAVE, STATIC_RESTART, ROLLING_RESTART = SITUATIONS = "crash", "leave", "static restart", "rolling restart"
ALLOWED_SHARE, ALLOWED_MS = 0.1, 500

TOPIC, PARTITIONS, MEMBERS = "orders", 12, 3
GROUPS = 6
"""Groups of each strategy. Events occur at random phases of the heartbeats, so medians are compared."""
SIMULATED_GROUPS = 300
SESSION_TIMEOUT_MS, HEARTBEAT_MS, INITIAL_DELAY_MS = 8000, 1000, 100
DOWN_MS, EVERY_MS = 2000, 6000
"""Longer than leaving or joining takes, so that each causes its own rebalance."""
POLL_MS = 200
"""How long a poll of the class PollingConsumer waits for records; there are none."""
_COMMITS = 50
_LASTS_MS = 30_000
"""Longer than a simulated group needs to become stable."""

_BROKER = {
    "group.initial.rebalance.delay.ms": str(INITIAL_DELAY_MS),
    "group.consumer.min.session.timeout.ms": str(SESSION_TIMEOUT_MS),
    "group.consumer.session.timeout.ms": str(SESSION_TIMEOUT_MS),
    "group.consumer.min.heartbeat.interval.ms": str(HEARTBEAT_MS),
    "group.consumer.heartbeat.interval.ms": str(HEARTBEAT_MS),
}
_CONSUMER = {"session.timeout.ms": str(SESSION_TIMEOUT_MS), "heartbeat.interval.ms": str(HEARTBEAT_MS)}


class Outcome(NamedTuple):
    """What happened to a group."""

    stable_ms: int
    """From the start of the event until every partition had an owner that knew of it, for the last time."""
    rebalances: int
    """The number of new generations, or epochs of a consumer-protocol group."""


Outcomes = dict[tuple[str, str], list[Outcome]]
"""Outcomes by situation and strategy."""


@dataclass(frozen=True)
class Machine:
    """Measured properties of the machine, as settings of the simulation."""

    start_ms: Mapping[str, int]
    """By strategy: from the start of a consumer, in a running process, to its first poll."""
    close_ms: Mapping[str, int]
    """By strategy: duration of a close. It leaves the group first, then waits for fetches in flight."""
    store_ms: int
    """Duration of a commit."""

    @property
    def description(self) -> str:
        return "; ".join(
            f"{strategy}: start_ms {self.start_ms[strategy]}, close {self.close_ms[strategy]} ms"
            for strategy in STRATEGIES
        )


# ---- Measured


def measure(directory: Path) -> tuple[Outcomes, Machine]:
    """Run all situations with groups on a broker."""
    with ExitStack() as stack:
        started = stack.enter_context(running(KAFKA_VERSION, directory, settings=_BROKER))
        servers = started.bootstrap_servers
        processes = [
            stack.enter_context(JavaConsumers(KAFKA_VERSION, servers, directory / f"{name}.log"))
            for name in ("staying", "leaving")
        ]
        started.create_topics({TOPIC: PARTITIONS})
        store_ms = _store_ms(servers)
        static = _groups("static", *processes)
        dynamic = _groups("dynamic", *processes)
        spans = [*_static_restarts(static), *_leaves(dynamic), *_rolling_restarts(dynamic), *_crashes(dynamic)]
        groups = [*static, *dynamic]
        lasted_ms = _medians(groups, "starting", "started"), _medians(groups, "closing", "closed")
        return _outcomes(spans, generations(servers)), Machine(*lasted_ms, store_ms)


class _Span(NamedTuple):
    """The period of an event of a group."""

    situation: str
    strategy: str
    group_id: str
    stable_ms: int
    between_ms: tuple[int, int]
    """On the broker's wall clock, which may be adjusted; ``stable_ms`` uses a monotonic clock."""


def _outcomes(spans: Sequence[_Span], written: Mapping[str, Mapping[int, int]]) -> Outcomes:
    outcomes: Outcomes = {}
    for span in spans:
        low, high = span.between_ms
        rebalances = sum(low <= at_ms <= high for at_ms in written[span.group_id].values())
        outcomes.setdefault((span.situation, span.strategy), []).append(Outcome(span.stable_ms, rebalances))
    return outcomes


def _medians(groups: Sequence[TimedGroup], first: str, last: str) -> dict[str, int]:
    """Return the time from one report of a consumer to another, by strategy."""
    lasted: dict[str, list[int]] = {strategy: [] for strategy in STRATEGIES}
    for group in groups:
        lasted[_strategy(group)] += group.lasted_ms(first, last)
    return {strategy: round(statistics.median(times)) for strategy, times in lasted.items()}


def _groups(kind: str, staying: JavaConsumers, leaving: JavaConsumers) -> list[TimedGroup]:
    """Start groups of each strategy; the leaving member joined first in some, and later in others."""
    groups = []
    for number in range(GROUPS):
        for strategy in STRATEGIES:
            name = f"{kind}-{number}-{strategy}"
            clients = [_client(name, place, strategy, kind == "static") for place in range(MEMBERS)]
            settings = {} if strategy == SERVER else _CONSUMER
            groups.append(TimedGroup(clients, settings, PARTITIONS, number % MEMBERS, staying, leaving))
    to_each(groups, TimedGroup.start_all)
    wait_until_balanced(groups)
    return groups


def _client(group: str, place: int, strategy: str, static: bool) -> Client:
    name = f"{group}-{place}"
    protocols = () if strategy == SERVER else (strategy,)
    return Client(group, name, protocols, (TOPIC,), instance_id=name if static else "", commit="never")


def _strategy(group: TimedGroup) -> str:
    return next(iter(group.clients[0].protocols), SERVER)


def _static_restarts(groups: Sequence[TimedGroup]) -> list[_Span]:
    spans = _timed(STATIC_RESTART, groups, lambda group: group.restart(group.leaver, DOWN_MS))
    to_each(groups, TimedGroup.close_all)
    return spans


def _leaves(groups: Sequence[TimedGroup]) -> list[_Span]:
    spans = _timed(LEAVE, groups, lambda group: group.close(group.leaver))
    to_each(groups, lambda group: group.start(group.leaver))
    wait_until_balanced(groups)
    return spans


def _rolling_restarts(groups: Sequence[TimedGroup]) -> list[_Span]:
    return _timed(ROLLING_RESTART, groups, lambda group: group.restart_all(DOWN_MS, EVERY_MS))


def _crashes(groups: Sequence[TimedGroup]) -> list[_Span]:
    """Kill the process of the leaving members."""
    killed_ms: list[int] = []

    def die(group: TimedGroup) -> None:
        if not killed_ms:
            killed_ms.append(now_ms())
            group.leaving.kill()
        group.lose_leaver(killed_ms[0])

    return _timed(CRASH, groups, die)


def _timed(situation: str, groups: Sequence[TimedGroup], happen: Callable[[TimedGroup], None]) -> list[_Span]:
    began_ms, began_at_ms = now_ms(), _time_of_day_ms()
    to_each(groups, happen, HEARTBEAT_MS)
    wait_until_balanced(groups)
    between_ms = began_at_ms, _time_of_day_ms()
    return [
        _Span(situation, _strategy(g), g.group_id, g.all_owned_ms() - g.began_ms(began_ms), between_ms) for g in groups
    ]


def _time_of_day_ms() -> int:
    return time.time_ns() // 1_000_000


def _store_ms(servers: str) -> int:
    """Return the median duration of a commit."""
    committing = Consumer({"bootstrap.servers": servers, "group.id": "store", "enable.auto.commit": False})
    committing.assign([TopicPartition(TOPIC, 0)])
    taken = []
    for offset in range(_COMMITS):
        began = time.perf_counter()
        committing.commit(offsets=[TopicPartition(TOPIC, 0, offset)], asynchronous=False)
        taken.append(time.perf_counter() - began)
    committing.close()
    return round(1000 * statistics.median(taken))


# ---- Simulated


def simulate(machine: Machine) -> Outcomes:
    """Simulate groups with the same events in the same order."""
    outcomes: Outcomes = {}
    for strategy in STRATEGIES:
        outcomes |= _simulated((STATIC_RESTART,), strategy, machine)
        outcomes |= _simulated((LEAVE, ROLLING_RESTART, CRASH), strategy, machine)
    return {(situation, strategy): outcomes[situation, strategy] for situation in SITUATIONS for strategy in STRATEGIES}


def _simulated(situations: Sequence[str], strategy: str, machine: Machine) -> Outcomes:
    rng = random.Random(f"{strategy} {situations}")
    begun = [_begin(situations, rng) for _ in range(SIMULATED_GROUPS)]
    histories = [_history(began_ms, number, strategy, machine) for number, began_ms in enumerate(begun)]
    played = play(histories, {TOPIC: PARTITIONS}, settings=_settings(strategy, machine))
    outcomes: Outcomes = {(situation, strategy): [] for situation in situations}
    for number, began_ms in enumerate(begun):
        complete = _complete(played, number)
        for situation, from_ms in began_ms.items():
            to_ms = from_ms + _LASTS_MS
            all_owned_ms = max(at_ms for at_ms in complete if from_ms <= at_ms < to_ms)
            rebalances = sum(from_ms <= row.from_ms < to_ms for row in played.rebalances(number))
            outcomes[situation, strategy].append(Outcome(all_owned_ms - from_ms, rebalances))
    return outcomes


def _begin(situations: Sequence[str], rng: random.Random) -> dict[str, int]:
    """Return the times of a group's events: at random phases of its heartbeats, when it is stable again."""
    return {
        situation: 2 * place * _LASTS_MS + rng.randrange(HEARTBEAT_MS)
        for place, situation in enumerate(situations, start=1)
    }


def _history(began_ms: Mapping[str, int], number: int, strategy: str, machine: Machine) -> History:
    """Return the history of a group: three consumers join, then the events. As on the broker, members restart."""
    leaver = number % MEMBERS
    down_ms = DOWN_MS + machine.close_ms[strategy]
    events = [at(0, "join", place) for place in range(MEMBERS)]
    for situation, at_ms in began_ms.items():
        events += {
            CRASH: [at(at_ms, "crash", leaver)],
            LEAVE: [at(at_ms, "restart", leaver, _LASTS_MS)],
            STATIC_RESTART: [at(at_ms, "restart", leaver, down_ms)],
            ROLLING_RESTART: [at(at_ms + place * EVERY_MS, "restart", place, down_ms) for place in range(MEMBERS)],
        }[situation]
    static = STATIC_RESTART in began_ms
    joiners = [
        consumer(name, TOPIC, protocols=(strategy,), session_timeout_ms=SESSION_TIMEOUT_MS)
        | ({"instance_id": name} if static else {})
        for name in "ABC"[:MEMBERS]
    ]
    return History(joiners=joiners, events=events, name=f"{strategy}-{number}")


def _complete(played: Played, group: int) -> list[int]:
    """Return when each partition got an owner again."""
    has = dict.fromkeys(range(MEMBERS), 0)
    complete = []
    for row in played.timeline(group):
        before = sum(has.values())
        if row.subject == Subject.ASSIGNED:
            has[row.consumer] = row.partitions
        elif row.subject in (Subject.REVOKED, Subject.LOST, Subject.STOPPED):
            has[row.consumer] = 0
        if before < sum(has.values()) == PARTITIONS:
            complete.append(int(row.at_ms))
    return complete


def _settings(strategy: str, machine: Machine) -> SimulationSettings:
    return SimulationSettings(
        group_initial_rebalance_delay_ms=INITIAL_DELAY_MS,
        heartbeat_interval_ms=HEARTBEAT_MS,
        group_consumer_heartbeat_interval_ms=HEARTBEAT_MS,
        group_consumer_session_timeout_ms=SESSION_TIMEOUT_MS,
        enable_auto_commit=False,
        poll_interval_ms=POLL_MS if strategy == SERVER else 1,
        store_ms=machine.store_ms,
        start_ms=machine.start_ms[strategy],
    )


# ---- Side by side


class Line(NamedTuple):
    """A line of the comparison."""

    situation: str
    strategy: str
    measured: list[int]
    simulated: list[int]

    @property
    def apart_ms(self) -> float:
        return statistics.median(self.simulated) - statistics.median(self.measured)

    @property
    def allowed_ms(self) -> float:
        return ALLOWED_SHARE * statistics.median(self.measured) + ALLOWED_MS

    @property
    def is_within(self) -> bool:
        return abs(self.apart_ms) <= self.allowed_ms


def side_by_side(measured: Outcomes, simulated: Outcomes) -> list[Line]:
    return [
        Line(*key, [each.stable_ms for each in measured[key]], [each.stable_ms for each in simulated[key]])
        for key in simulated
    ]


def table(lines: Sequence[Line]) -> str:
    """Print the lines as Markdown: medians, with minimum and maximum in brackets."""
    rows = ["| what happens | assignor | measured | simulated | difference | allowed |", "|---|---|---|---|---|---|"]
    for line in lines:
        cells = [line.situation, line.strategy, _spread(line.measured), _spread(line.simulated)]
        rows.append(f"| {' | '.join([*cells, f'{line.apart_ms:+,.0f}', f'{line.allowed_ms:,.0f}'])} |")
    return "\n".join(rows)


def _spread(times: Sequence[int]) -> str:
    return f"{statistics.median(times):,.0f} ({min(times):,} to {max(times):,})"


def main() -> int:
    # Without this, a terminated measurement would leave its broker running.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with tempfile.TemporaryDirectory() as directory:
        try:
            measured, machine = measure(Path(directory))
        except Unavailable as reason:
            print(reason, file=sys.stderr)
            return 2
    load = os.getloadavg()[1]
    lines = side_by_side(measured, simulate(machine))
    print(table(lines))
    print(f"{machine.description}; store_ms {machine.store_ms}; load of the machine in the last 5 minutes {load:.1f}")
    return 0 if all(line.is_within for line in lines) else 1


if __name__ == "__main__":
    sys.exit(main())
