"""
How long groups take until they are stable again: measured on a broker, and simulated with the same settings.

    python -m tests.cluster.measured_times

Prints both side by side; the exit code is 1 if a line is further apart than allowed. docs/simulate.md says what is
measured and how.
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
from confluent_kafka.admin import AdminClient, NewTopic

from rebalance_sim.kafka.simulation.model import Subject
from rebalance_sim.kafka.simulation.settings import Settings
from tests.cluster.broker import broker
from tests.cluster.clients import JavaConsumers
from tests.cluster.fleet import COOPERATIVE, RANGE, Client
from tests.cluster.jars import ClusterUnavailable
from tests.cluster.timed_groups import TimedGroup, generations, now_ms, to_each, wait_until_balanced
from tests.kafka.simulated import History, Played, at, consumer, play

KAFKA_VERSION = "4.3.1"
SERVER = "server-uniform"
STRATEGIES = (RANGE, COOPERATIVE, SERVER)
CRASH, LEAVE, STATIC_RESTART, ROLLING_RESTART = SITUATIONS = "crash", "leave", "static restart", "rolling restart"
ALLOWED_SHARE, ALLOWED_MS = 0.1, 500

TOPIC, PARTITIONS, MEMBERS = "orders", 12, 3
GROUPS = 6
"""Of each strategy: at which phase of the heartbeats something happens is chance, and the median is compared."""
SIMULATED_GROUPS = 300
SESSION_TIMEOUT_MS, HEARTBEAT_MS, INITIAL_DELAY_MS = 8000, 1000, 100
DOWN_MS, EVERY_MS = 2000, 6000
"""Longer than it takes to leave or to join, so that each is a rebalance of its own."""
POLL_MS = 200
"""How long a poll of the class PollingConsumer waits for records, of which there are none."""
_COMMITS = 50
_LASTS_MS = 30_000
"""Longer than a group that is simulated needs until it is stable again."""

_BROKER = {
    "group.initial.rebalance.delay.ms": str(INITIAL_DELAY_MS),
    "group.consumer.min.session.timeout.ms": str(SESSION_TIMEOUT_MS),
    "group.consumer.session.timeout.ms": str(SESSION_TIMEOUT_MS),
    "group.consumer.min.heartbeat.interval.ms": str(HEARTBEAT_MS),
    "group.consumer.heartbeat.interval.ms": str(HEARTBEAT_MS),
}
_CONSUMER = {"session.timeout.ms": str(SESSION_TIMEOUT_MS), "heartbeat.interval.ms": str(HEARTBEAT_MS)}


class Outcome(NamedTuple):
    """What became of a group."""

    settle_ms: int
    """From the beginning of what happened until each partition had an owner that knew, for the last time."""
    rebalances: int
    """How many generations (of KIP-848: epochs) more it has then."""


Outcomes = dict[tuple[str, str], list[Outcome]]
"""By situation and strategy."""


@dataclass(frozen=True)
class Machine:
    """What a simulation is told of the machine."""

    start_ms: Mapping[str, int]
    """By strategy: from the start of a consumer, in a process that runs, to its first poll."""
    close_ms: Mapping[str, int]
    """By strategy: what a close takes. The group is left at its beginning; then fetches in flight are waited for."""
    store_ms: int
    """Until a commit is answered."""

    @property
    def told(self) -> str:
        return "; ".join(
            f"{strategy}: start_ms {self.start_ms[strategy]}, close {self.close_ms[strategy]} ms"
            for strategy in STRATEGIES
        )


# ---- Measured


def measure(directory: Path) -> tuple[Outcomes, Machine]:
    """Let everything happen to groups on a broker."""
    with ExitStack() as stack:
        started = stack.enter_context(broker(KAFKA_VERSION, directory, settings=_BROKER))
        servers = started.bootstrap_servers
        processes = [
            stack.enter_context(JavaConsumers(KAFKA_VERSION, servers, directory / f"{name}.log"))
            for name in ("staying", "leaving")
        ]
        admin = AdminClient({"bootstrap.servers": servers, "log_level": 0})
        admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])[TOPIC].result()
        store_ms = _store_ms(servers)
        static = _groups("static", *processes)
        dynamic = _groups("dynamic", *processes)
        spans = [*_static_restarts(static), *_leaves(dynamic), *_rolling_restarts(dynamic), *_crashes(dynamic)]
        groups = [*static, *dynamic]
        lasted_ms = _medians(groups, "starting", "started"), _medians(groups, "closing", "closed")
        return _outcomes(spans, generations(servers)), Machine(*lasted_ms, store_ms)


class _Span(NamedTuple):
    """The time in which something happened to a group."""

    situation: str
    strategy: str
    group_id: str
    settle_ms: int
    between_ms: tuple[int, int]
    """By the broker's clock, which may be set meanwhile; ``settle_ms`` is not by that."""


def _outcomes(spans: Sequence[_Span], written: Mapping[str, Mapping[int, int]]) -> Outcomes:
    outcomes: Outcomes = {}
    for span in spans:
        low, high = span.between_ms
        rebalances = sum(low <= at_ms <= high for at_ms in written[span.group_id].values())
        outcomes.setdefault((span.situation, span.strategy), []).append(Outcome(span.settle_ms, rebalances))
    return outcomes


def _medians(groups: Sequence[TimedGroup], first: str, last: str) -> dict[str, int]:
    """How long it took from one report of a consumer to another, by strategy."""
    lasted: dict[str, list[int]] = {strategy: [] for strategy in STRATEGIES}
    for group in groups:
        lasted[_strategy(group)] += group.lasted_ms(first, last)
    return {strategy: round(statistics.median(times)) for strategy, times in lasted.items()}


def _groups(kind: str, staying: JavaConsumers, leaving: JavaConsumers) -> list[TimedGroup]:
    """Start groups of each strategy; who leaves has joined first in some, and later in others."""
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
    """Kill the process of those that leave."""
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
        _Span(situation, _strategy(g), g.group_id, g.settled_ms() - g.began_ms(began_ms), between_ms) for g in groups
    ]


def _time_of_day_ms() -> int:
    return time.time_ns() // 1_000_000


def _store_ms(servers: str) -> int:
    """Measure how long a commit takes, in the median."""
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
    """Let the same happen, in the same order, to groups that are simulated."""
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
            settled_ms = max(at_ms for at_ms in complete if from_ms <= at_ms < to_ms)
            rebalances = sum(from_ms <= row.from_ms < to_ms for row in played.rebalances(number))
            outcomes[situation, strategy].append(Outcome(settled_ms - from_ms, rebalances))
    return outcomes


def _begin(situations: Sequence[str], rng: random.Random) -> dict[str, int]:
    """When something happens to a group: at any phase of its heartbeats, and when it is stable again."""
    return {
        situation: 2 * place * _LASTS_MS + rng.randrange(HEARTBEAT_MS)
        for place, situation in enumerate(situations, start=1)
    }


def _history(began_ms: Mapping[str, int], number: int, strategy: str, machine: Machine) -> History:
    """Three consumers join, and then it happens. Who has left is started again, as on the broker."""
    leaver = number % MEMBERS
    down_ms = DOWN_MS + machine.close_ms[strategy]
    happenings = [at(0, "join", place) for place in range(MEMBERS)]
    for situation, at_ms in began_ms.items():
        happenings += {
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
    return History(joiners=joiners, happenings=happenings, name=f"{strategy}-{number}")


def _complete(played: Played, group: int) -> list[int]:
    """When each partition got an owner again."""
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


def _settings(strategy: str, machine: Machine) -> Settings:
    return Settings(
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
    """A line of the table."""

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
        Line(*key, [each.settle_ms for each in measured[key]], [each.settle_ms for each in simulated[key]])
        for key in simulated
    ]


def table(lines: Sequence[Line]) -> str:
    """Write the lines as Markdown: medians, and in brackets the least and the most."""
    rows = ["| what happens | assignor | measured | simulated | difference | allowed |", "|---|---|---|---|---|---|"]
    for line in lines:
        cells = [line.situation, line.strategy, _spread(line.measured), _spread(line.simulated)]
        rows.append(f"| {' | '.join([*cells, f'{line.apart_ms:+,.0f}', f'{line.allowed_ms:,.0f}'])} |")
    return "\n".join(rows)


def _spread(times: Sequence[int]) -> str:
    return f"{statistics.median(times):,.0f} ({min(times):,} to {max(times):,})"


def main() -> int:
    # Without this, a terminated measurement would leave its broker behind.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with tempfile.TemporaryDirectory() as directory:
        try:
            measured, machine = measure(Path(directory))
        except ClusterUnavailable as reason:
            print(reason, file=sys.stderr)
            return 2
    load = os.getloadavg()[1]
    lines = side_by_side(measured, simulate(machine))
    print(table(lines))
    print(f"{machine.told}; store_ms {machine.store_ms}; load of the machine in the last 5 minutes {load:.1f}")
    return 0 if all(line.is_within for line in lines) else 1


if __name__ == "__main__":
    sys.exit(main())
