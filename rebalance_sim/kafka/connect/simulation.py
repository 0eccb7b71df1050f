"""What happens in a Connect cluster while workers restart, crash, leave and start, and connectors change.

Leaders answer and remember as Kafka's do (``leader.py``). What is assumed is the time that workers need to rejoin: all
do within a heartbeat interval. When a delay ends they rejoin at once, since each of them counts it
(``DistributedHerder.tick``). A worker that had to stop something requests another rebalance.
"""

import random
import uuid
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from itertools import count

import numpy as np

from rebalance_sim.kafka.connect.leader import (
    DEFAULT_MAX_DELAY_MS,
    NO_GENERATION,
    ConnectLeader,
    JoinedWorker,
    Remembered,
    Round,
    WorkerMoves,
    tasks_of,
)
from rebalance_sim.kafka.connect.worker import ConnectWorker
from rebalance_sim.kafka.runtime.hash_order import coordinator_order
from rebalance_sim.kafka.runtime.strings import Strings, java_hashes
from rebalance_sim.kafka.wire.connect_protocol import EAGER, ConnectorTaskId
from rebalance_sim.releases import ConnectRules, MapRule

SESSION_TIMEOUT_MS = 10_000
"""Default of a worker's ``session.timeout.ms``."""
MOST_REBALANCES = 10_000
"""A cluster that rebalances more often than that is taken never to become stable."""

Resource = str | ConnectorTaskId
"""A connector, or a task."""


@dataclass(frozen=True)
class WorkerRow:
    """A worker of the cluster at the beginning."""

    member_id: str
    name: str
    """What people know it by: it stays when the worker restarts."""
    connectors: tuple[str, ...] = ()
    tasks: tuple[ConnectorTaskId, ...] = ()
    session_timeout_ms: int = SESSION_TIMEOUT_MS


@dataclass(frozen=True)
class ClusterEvent:
    """An event of the scenario."""

    at_ms: int
    kind: str
    """``restart``, ``leave``, ``crash``, ``join`` or ``configure``."""
    place: int = 0
    """The place of the worker among those of the cluster, in the order in which they joined."""
    down_ms: int = 0
    connector: str = ""
    tasks: int | None = None
    """For ``configure``: the connector's new number of tasks; None if it is deleted."""


@dataclass(frozen=True)
class ClusterSettings:
    """The configuration of the workers and of the brokers, and what is assumed of times."""

    rules: ConnectRules
    protocol: str
    """The elected protocol."""
    map_rule: MapRule = MapRule.JAVA
    max_delay_ms: int = DEFAULT_MAX_DELAY_MS
    pending_delay_ms: int = 0
    """The delay that the last rebalance before the simulation sent; 0 if it sent none."""
    rejoin_ms: int = 3_000
    """Until all workers have learned of a rebalance and rejoined: at most ``heartbeat.interval.ms``."""
    start_ms: int = 1_000
    """From the start of a worker's process until it joins."""


@dataclass(frozen=True)
class RebalanceRow:
    """A rebalance that has completed."""

    at_ms: int
    reason: str
    generation: int
    leader: str
    workers: int
    started: int
    """Connectors and tasks that workers have to start."""
    stopped: int
    """Those that workers have to stop."""
    unassigned: int
    """Those that are configured, and that no worker runs afterwards."""
    delay_ms: int


@dataclass
class Process:
    """A worker's process, under the member id of its current membership."""

    worker: ConnectWorker
    name: str
    place: int
    session_timeout_ms: int
    is_alive: bool = True


class Downtimes:
    """The time during which configured connectors and tasks run on no worker.

    >>> downtimes = Downtimes({"sink"}, ["sink"])
    >>> downtimes.stop(["sink"], 1_000)
    >>> downtimes.start(["sink"], 4_000)
    >>> downtimes.total_ms["sink"], downtimes.longest_ms
    (3000, 3000)
    """

    def __init__(self, configured: Iterable[Resource], running: Iterable[Resource]) -> None:
        self.running = Counter(running)
        self.down = {resource: 0 for resource in configured if not self.running[resource]}
        """Since when each resource is down."""
        self.configured = set(configured)
        self.total_ms: Counter[Resource] = Counter()
        self.longest_ms = 0
        self.starts = 0

    def configure(self, configured: set[Resource], now_ms: int) -> None:
        """Change what is configured; what is new is down from now on."""
        for resource in self.configured - configured:
            self._end(resource, now_ms)
        self.configured = configured
        for resource in configured:
            if not self.running[resource]:
                self.down.setdefault(resource, now_ms)

    def stop(self, resources: Iterable[Resource], now_ms: int) -> None:
        """Let workers stop resources that they run."""
        for resource in resources:
            self.running[resource] -= 1
            if self.running[resource] == 0 and resource in self.configured:
                self.down[resource] = now_ms

    def start(self, resources: Iterable[Resource], now_ms: int) -> None:
        """Let workers start resources."""
        for resource in resources:
            self.running[resource] += 1
            self.starts += 1
            self._end(resource, now_ms)

    def end(self, now_ms: int) -> None:
        """Count what is still down up to the end of the simulation; it stays down."""
        for resource in list(self.down):
            since_ms = self.down[resource]
            self._end(resource, now_ms)
            self.down[resource] = since_ms

    def _end(self, resource: Resource, now_ms: int) -> None:
        if resource in self.down:
            lasted_ms = now_ms - self.down.pop(resource)
            self.total_ms[resource] += lasted_ms
            self.longest_ms = max(self.longest_ms, lasted_ms)


class ConnectCluster:
    """A simulated cluster.

    >>> settings = ClusterSettings(ConnectRules.WITHOUT_DELAY, "sessioned")
    >>> workers = [WorkerRow("a-1", "a", ("sink",), (ConnectorTaskId("sink", 0),)), WorkerRow("b-1", "b")]
    >>> cluster = ConnectCluster(workers, {"sink": 1}, settings)
    >>> cluster.play([ClusterEvent(0, "crash", place=0)])
    >>> [(row.at_ms, row.reason, row.leader) for row in cluster.rebalances]
    [(13000, 'worker a timed out', 'b')]
    """

    def __init__(
        self, rows: Sequence[WorkerRow], connectors: Mapping[str, int], settings: ClusterSettings, seed: int = 0
    ) -> None:
        """Take the workers, the leader first, and the connectors with their numbers of tasks."""
        self.rows, self.connectors, self.settings = rows, dict(connectors), settings
        self.rebalances: list[RebalanceRow] = []
        self.now_ms, self.generation, self.leader = 0, 1, rows[0].member_id if rows else ""
        self._random, self._numbers = random.Random(seed), count()
        self._agenda: list[tuple[int, int, str, ClusterEvent | str | int]] = []
        self._reason: str | None = None
        self._tasks_of_new: dict[str, int] = {}
        self._delay_number, self._waits_for_sessions = 0, False
        self.members = {row.member_id: self._process(row, place) for place, row in enumerate(self.rows)}
        self._ids = {process.place: member_id for member_id, process in self.members.items()}
        self._remember_present()
        running = [resource for process in self.members.values() for resource in _resources(process.worker)]
        self.downtimes = Downtimes(self.configured(), running)

    def _process(self, row: WorkerRow, place: int) -> Process:
        leader = ConnectLeader(self.settings.rules, self.settings.max_delay_ms)
        worker = ConnectWorker(leader, row.connectors, row.tasks, self.generation)
        return Process(worker, row.name, place, row.session_timeout_ms)

    def _remember_present(self) -> None:
        """Let the leader remember what runs as what its last rebalance assigned.

        If a delay is pending, it also remembers what is configured and does not run: it is lost. Idle workers are
        candidates for it then.
        """
        if not self.rows:
            return
        leader, delay_ms = self.members[self.leader].worker.as_leader, self.settings.pending_delay_ms
        workers = [process.worker for process in self.members.values()]
        lost = self.connectors if delay_ms else {}
        leader.connectors = Remembered.of([*lost, *(name for worker in workers for name in worker.connectors)])
        leader.tasks = Remembered.of([*tasks_of(lost), *(task for worker in workers for task in worker.tasks)])
        leader.generation, leader.members = self.generation, frozenset(self.members)
        if delay_ms:
            leader.delay_ms, leader.scheduled_ms = delay_ms, delay_ms
            leader.candidates = [name for name, process in self.members.items() if not _resources(process.worker)]
            self._schedule_delay(delay_ms)

    def configured(self) -> set[Resource]:
        """Return the configured connectors and tasks."""
        return {*self.connectors, *tasks_of(self.connectors)}

    def play(self, events: Iterable[ClusterEvent], *, rebalance_first: bool = False) -> None:
        """Play events until no rebalance is due any longer."""
        for event in events:
            self._add(event.at_ms, "event", event)
        if rebalance_first:
            self._rebalance_after(0, "requested")
        while self._agenda and len(self.rebalances) < MOST_REBALANCES:
            self.now_ms, _, kind, what = heappop(self._agenda)
            match kind, what:
                case "event", ClusterEvent(kind="configure") as event:
                    self._configure(event)
                case "event", ClusterEvent(kind="join") as event:
                    self._join(event.place)
                case "event", ClusterEvent() as event:
                    self._stop(event)
                case "expire", str(member_id):
                    self._expire(member_id)
                case "delay", int(number):
                    if number == self._delay_number:
                        self._rebalance_after(0, "the delay of lost tasks ended")
                case _:
                    self._complete()
        self.downtimes.end(self.now_ms)

    @property
    def is_stable(self) -> bool:
        """Whether every configured connector and task runs, and no rebalance is due."""
        return not self._agenda and not self.downtimes.down

    def owners(self) -> dict[Resource, str]:
        """Return the worker that runs each connector and task, by its name."""
        alive = [process for process in self.members.values() if process.is_alive]
        return {resource: process.name for process in alive for resource in _resources(process.worker)}

    def _add(self, at_ms: int, kind: str, what: ClusterEvent | str | int = 0) -> None:
        heappush(self._agenda, (at_ms, next(self._numbers), kind, what))

    def _configure(self, event: ClusterEvent) -> None:
        name, before = event.connector, self.connectors.get(event.connector)
        if event.tasks == before:
            return
        if before is None:
            # A new connector has no tasks until it runs, and says what they are.
            self._tasks_of_new[name] = event.tasks or 0
            self._set_tasks(name, 0, f"connector {name} was added")
        else:
            change = "deleted" if event.tasks is None else "changed"
            self._set_tasks(name, event.tasks, f"connector {name} was {change}")

    def _set_tasks(self, connector: str, tasks: int | None, reason: str) -> None:
        if tasks is None:
            del self.connectors[connector]
        else:
            self.connectors[connector] = tasks
        self.downtimes.configure(self.configured(), self.now_ms)
        self._rebalance_after(self.settings.rejoin_ms, reason)

    def _join(self, place: int) -> None:
        row = self.rows[place] if place < len(self.rows) else WorkerRow("", f"new-{place - len(self.rows) + 1}")
        bits = self._random.getrandbits(128)
        member_id = f"{row.name}-{uuid.UUID(int=bits, version=4)}"
        self.members[member_id] = self._process(WorkerRow(member_id, row.name, (), (), row.session_timeout_ms), place)
        self.members[member_id].worker.last_completed = NO_GENERATION
        self._ids[place] = member_id
        self.leader = self.leader or member_id
        self._rebalance_after(self.settings.rejoin_ms, f"worker {row.name} joined")

    def _stop(self, event: ClusterEvent) -> None:
        process = self.members.get(self._ids.get(event.place, ""))
        if process is None or not process.is_alive:
            return
        process.is_alive = False
        self.downtimes.stop(_resources(process.worker), self.now_ms)
        if event.kind == "crash":
            self._add(self.now_ms + process.session_timeout_ms, "expire", self._ids[event.place])
            return
        self._remove(self._ids[event.place], f"worker {process.name} left")
        if event.kind == "restart":
            back = replace(event, kind="join", at_ms=self.now_ms + event.down_ms + self.settings.start_ms)
            self._add(back.at_ms, "event", back)

    def _expire(self, member_id: str) -> None:
        self._remove(member_id, f"worker {self.members[member_id].name} timed out")
        if self._waits_for_sessions:
            self._complete()

    def _remove(self, member_id: str, reason: str) -> None:
        del self.members[member_id]
        if member_id == self.leader:
            self.leader = next(iter(self._in_coordinators_order()), "")
        if self.members:
            self._rebalance_after(self.settings.rejoin_ms, reason)

    def _in_coordinators_order(self) -> list[str]:
        """Return the members in the order of the coordinator's map, from which it takes the next leader."""
        names = list(self.members)
        places = np.arange(len(names), dtype=np.int32)
        order = coordinator_order(java_hashes(Strings.of(names)), places, int(self.settings.map_rule))
        return [names[place] for place in order]

    def _rebalance_after(self, rejoin_ms: int, reason: str) -> None:
        """Begin a rebalance, unless one has begun."""
        if self._reason is not None:
            return
        self._reason = reason
        if self.settings.protocol == EAGER:
            for process in self.members.values():
                self.downtimes.stop(_resources(process.worker), self.now_ms)
                process.worker.connectors, process.worker.tasks = (), ()
        self._add(self.now_ms + rejoin_ms, "complete")

    def _complete(self) -> None:
        """Let the leader assign. The coordinator waits for members that do not rejoin until their sessions expire."""
        self._waits_for_sessions = any(not process.is_alive for process in self.members.values())
        if self._waits_for_sessions or self._reason is None or not self.members:
            return
        reason, self._reason = self._reason, None
        self.generation += 1
        leader = self.members[self.leader].worker
        protocol, order = self.settings.protocol, self._in_coordinators_order()
        is_eager = protocol == EAGER
        joined = [JoinedWorker(name) if is_eager else self.members[name].worker.joins_as(name) for name in order]
        seen = Round(self.now_ms, self.generation, leader.last_completed, joined, self.connectors, protocol)
        moves = leader.as_leader.assign(seen)
        delay_ms = 0 if is_eager else leader.as_leader.delay_ms
        started, stopped = self._apply(moves)
        unassigned = len(self.downtimes.down)
        name, workers = self.members[self.leader].name, len(self.members)
        row = RebalanceRow(self.now_ms, reason, self.generation, name, workers, started, stopped, unassigned, delay_ms)
        self.rebalances.append(row)
        self._schedule_delay(delay_ms)
        if stopped:
            self._rebalance_after(self.settings.rejoin_ms, "workers stopped what was revoked")
        for name in [name for name in self._tasks_of_new if self.downtimes.running[name]]:
            self._set_tasks(name, self._tasks_of_new.pop(name), f"connector {name} has its tasks")

    def _apply(self, moves: Mapping[str, WorkerMoves]) -> tuple[int, int]:
        """Let workers stop and start what the leader says; return how much they start and stop."""
        started, stopped = 0, 0
        for member_id, of_worker in moves.items():
            worker = self.members[member_id].worker
            ran = _resources(worker)
            revoked: list[Resource] = [*of_worker.revoked_connectors, *of_worker.revoked_tasks]
            assigned: list[Resource] = [*of_worker.connectors, *of_worker.tasks]
            self.downtimes.stop([resource for resource in revoked if resource in ran], self.now_ms)
            worker.complete(of_worker, self.generation, self.settings.protocol)
            self.downtimes.start(assigned, self.now_ms)
            started += len(assigned)
            stopped += len(revoked)
        return started, stopped

    def _schedule_delay(self, delay_ms: int) -> None:
        """Replace the time at which workers rejoin by themselves."""
        self._delay_number += 1
        if delay_ms:
            self._add(self.now_ms + delay_ms, "delay", self._delay_number)


def _resources(worker: ConnectWorker) -> list[Resource]:
    return [*worker.connectors, *worker.tasks]
