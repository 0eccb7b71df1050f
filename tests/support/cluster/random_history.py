"""
Give many groups of every client library a random history on two brokers, and write down what was done to them.

    python -m tests.support.cluster.random_history --kafka 4.3.1 --minutes 60 --out out/hour

writes what was done to which group and when, what the group coordinators logged, ``topics.json``, and the records of
__consumer_offsets before and after the log cleaner compacted them, and prints how much of what the program finds there
is right, by client library. A folder of tests/golden/random_history has one such hour for each release.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TextIO

from confluent_kafka import ElectionType, KafkaException, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    ResourceType,
)
from pyarrow import parquet

from tests.support.cluster.broker import Broker, JoiningBroker, running
from tests.support.cluster.clients import JavaConsumers, OtherConsumers
from tests.support.cluster.coordinator_log import pack
from tests.support.cluster.fleet import Client
from tests.support.cluster.history_score import report
from tests.support.cluster.history_truth import DONE, LOG
from tests.support.cluster.library_groups import OF_GO, OF_JAVASCRIPT
from tests.support.cluster.random_groups import SUBSCRIBING, RandomGroup, random_groups
from tests.support.cluster.scripted_history import dump, topic_ids
from tests.support.cluster.topic_reader import OFFSETS_TOPIC
from tests.support.library_programs import go_program, node_program

Process = JavaConsumers | OtherConsumers
_SESSION_MS = 10_000
"""Of members that are killed or frozen."""
_MOST_MEMBERS = 5
_AT_ONCE = 3
"""Groups to which something is done at the same moment: what they start costs processor time."""
_PROCESSES = {"java": 4, "go": 12, "node": 4, "python": 6}
"""How many members at most have a process of their own, which can be killed."""
_LOG_OF_COORDINATORS = (
    "-Dorg.slf4j.simpleLogger.log.kafka.coordinator=info",
    "-Dorg.slf4j.simpleLogger.log.org.apache.kafka.coordinator.group=info",
    "-Dorg.slf4j.simpleLogger.showDateTime=true",
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd'T'HH:mm:ss.SSSXXX",
)
_SETTINGS = {
    "offsets.topic.replication.factor": "2",
    "offsets.topic.num.partitions": "10",
    "log.cleaner.backoff.ms": "1000",
    "controlled.shutdown.enable": "true",
}
_OF_CONSUMER_GROUPS = {
    "group.consumer.min.session.timeout.ms": "6000",
    "group.consumer.session.timeout.ms": str(_SESSION_MS),
    "group.consumer.min.heartbeat.interval.ms": "1000",
    "group.consumer.heartbeat.interval.ms": "2000",
}
_NEVER = 86_400_000
_QUIET_SECONDS = 20
"""Longer than a session: all rebalances of what was done are over then."""
_CLEANED_SECONDS = 180


class Truth:
    """The file of what was done, a JSON object per line."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._writing = threading.Lock()
        self.did: Counter[str] = Counter()

    def write(self, did: str, group: str = "", client: str = "", detail: str = "") -> None:
        row = {"at_ms": _now_ms(), "group": group, "did": did, "client": client, "detail": detail}
        with self._writing:
            self.did[did] += 1
            self._out.write(json.dumps(row) + "\n")


class Hosts:
    """The processes in which consumers run: one per program for most of them, and their own for some."""

    def __init__(self, on: Broker, folder: Path) -> None:
        self._on = on
        self._folder = folder
        self._shared: dict[str, Process] = {}
        self._own: Counter[str] = Counter()
        self._failures: list[str] = []
        self._lock = threading.Lock()
        self._stack = ExitStack()
        self._programs = {
            "go": go_program("consumers", folder),
            "node": node_program("consumers", folder / "node"),
            "python": [sys.executable, "-m", "tests.support.cluster.python_consumers"],
        }

    def __enter__(self) -> Hosts:
        return self

    def __exit__(self, *exception: object) -> None:
        self._stack.close()

    def shared(self, library: str) -> Process:
        program = _program(library)
        with self._lock:
            if program not in self._shared:
                process = self._process(program, program)
                self._stack.enter_context(process)
                self._shared[program] = process
            return self._shared[program]

    def own(self, library: str, name: str) -> Process | None:
        """Start a process for a member; None if there are enough."""
        program = _program(library)
        with self._lock:
            if self._own[program] >= _PROCESSES[program]:
                return None
            self._own[program] += 1
        process = self._process(program, name)
        process.__enter__()
        return process

    def end(self, library: str, process: Process) -> None:
        """End a process that ``own`` started."""
        process.__exit__()
        self._failures += process.failures()
        with self._lock:
            self._own[_program(library)] -= 1

    def failures(self) -> list[str]:
        """Return which consumers have failed, and why."""
        return self._failures + [failure for process in self._shared.values() for failure in process.failures()]

    def _process(self, program: str, name: str) -> Process:
        servers, log = self._on.bootstrap_servers, self._folder / f"{name.replace('#', '-')}.log"
        if program == "java":
            return JavaConsumers(self._on.version, servers, log)
        return OtherConsumers(self._programs[program], servers, log)


@dataclass
class _Running:
    """A consumer."""

    name: str
    client: Client
    process: Process
    is_own: bool


@dataclass
class Life:
    """What happens to a group."""

    group: RandomGroup
    hosts: Hosts
    truth: Truth
    admin: AdminClient
    working: threading.Semaphore
    random: random.Random
    pause_seconds: float
    """Between two things, on average."""
    ending: threading.Event
    _running: dict[str, _Running] = field(default_factory=dict)
    _sizes: dict[str, int] = field(default_factory=dict)
    _clients: int = 0
    _starts: int = 0

    def live(self) -> None:
        """Do one thing after the other until the end."""
        self._sizes = dict(self.group.topics)
        self._wait(self.random.uniform(0, self.pause_seconds))
        self._do(self._add)
        while not self.ending.is_set():
            self._wait(self._pause())
            self._do(self._choice())

    def end(self) -> None:
        """Close or end all consumers that have their own process."""
        for each in self._running.values():
            if each.is_own:
                self.hosts.end(each.client.library, each.process)

    def _pause(self) -> float:
        """Return mostly long pauses, in which a group becomes stable, and some in which it does not."""
        if self.random.random() < 0.2:
            return self.random.uniform(0.2, 3)
        return self.random.uniform(0.5, 1.7) * self.pause_seconds

    def _choice(self) -> Callable[[], None]:
        members = len(self._running)
        mortal = any(each.is_own for each in self._running.values())
        subscribing = any(each.client.library in SUBSCRIBING for each in self._running.values())
        weights: dict[Callable[[], None], float] = {
            self._add: 3 * (members < _MOST_MEMBERS) + 6 * (members < 2),
            self._remove: 2 * (members > 1) + 0.3 * (members == 1),
            self._restart: 3 * (members > 0),
            self._kill: 2.5 * mortal,
            self._freeze: 1.0 * mortal,
            self._subscribe: 1.2 * subscribing,
            self._grow: 0.7 * (sum(self._sizes.values()) < 30),
        }
        return self.random.choices(list(weights), list(weights.values()))[0]

    def _do(self, action: Callable[[], None]) -> None:
        if self.ending.is_set():
            return
        try:
            action()
        except (KafkaException, TimeoutError, OSError) as failure:
            self._write("failed", detail=f"{action.__name__.strip('_')}: {failure}")

    def _add(self) -> None:
        number, self._clients = self._clients, self._clients + 1
        name = f"{self.group.name}-{number}"
        client = Client(
            self.group.name,
            name if self.group.has_names else "",
            self.group.protocols,
            tuple(list(self._sizes)[:2]),
            instance_id=f"{self.group.name}-till-{number}" if self.group.is_static else "",
            library=self.group.libraries[number % len(self.group.libraries)],
            commit="never",
        )
        self._start(name, client, "start")

    def _start(self, name: str, client: Client, did: str) -> None:
        self._starts += 1
        label = f"{name}#{self._starts}"
        with self.working:
            own = self.hosts.own(client.library, label) if self.random.random() < 0.45 else None
            process = own or self.hosts.shared(client.library)
            session_ms = 0 if own is None else _SESSION_MS
            self._write(did, name, detail="in a process of its own" if own else "")
            process.start(label, replace(client, session_ms=session_ms))
        self._running[name] = _Running(label, client, process, own is not None)

    def _remove(self) -> None:
        self._close(self._member(lambda _: True))

    def _close(self, name: str) -> _Running:
        running = self._running.pop(name)
        with self.working:
            self._write("close", name)
            try:
                running.process.close(running.name)
            finally:
                if running.is_own:
                    self.hosts.end(running.client.library, running.process)
        return running

    def _restart(self) -> None:
        name = self._member(lambda _: True)
        closed = self._close(name)
        self._wait(self.random.choice((0.1, 0.5, 2, 5, 12)))
        self._start(name, closed.client, "restart")

    def _kill(self) -> None:
        name = self._member(lambda each: each.is_own)
        killed = self._running.pop(name)
        self._write("kill", name)
        killed.process.kill()
        self.hosts.end(killed.client.library, killed.process)
        if self.random.random() < 0.7:
            self._wait(self.random.choice((0.5, 3, 8, 14)))
            self._start(name, killed.client, "restart")

    def _freeze(self) -> None:
        """Let a member time out, and come back."""
        name = self._member(lambda each: each.is_own)
        self._write("freeze", name)
        self._running[name].process.freeze()
        try:
            self._wait(self.random.uniform(1.3, 2) * _SESSION_MS / 1000)
        finally:
            self._running[name].process.thaw()
        self._write("thaw", name)

    def _subscribe(self) -> None:
        name = self._member(lambda each: each.client.library in SUBSCRIBING)
        running, topics = self._running[name], list(self._sizes)
        wanted = tuple(topics if len(running.client.topics) == 2 else topics[:2])
        if running.client.library == "franz-go" and len(wanted) == 2:
            # It only adds topics.
            return
        running.client = replace(running.client, topics=wanted)
        self._write("subscribe", name, detail=",".join(wanted))
        running.process.subscribe(running.name, wanted)

    def _grow(self) -> None:
        topic = self.random.choice(list(self._sizes))
        self._sizes[topic] += self.random.randint(1, 3)
        self._write("grow", detail=f"{topic} to {self._sizes[topic]} partitions")
        self.admin.create_partitions([NewPartitions(topic, self._sizes[topic])])[topic].result()

    def _member(self, is_wanted: Callable[[_Running], bool]) -> str:
        return self.random.choice([name for name, each in self._running.items() if is_wanted(each)])

    def _wait(self, seconds: float) -> None:
        self.ending.wait(seconds)

    def _write(self, did: str, client: str = "", detail: str = "") -> None:
        self.truth.write(did, self.group.name, client, detail)


def play(
    version: str, groups: Sequence[RandomGroup], minutes: float, out: Path, *, seed: int = 0, pause_seconds: float = 40
) -> Counter[str]:
    """Play on two brokers, and return how often what was done."""
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        brokers = _brokers(version, folder, stack)
        admin = brokers[0].admin()
        brokers[0].create_topics({name: count for group in groups for name, count in group.topics.items()})
        truth = Truth(stack.enter_context(gzip.open(out / DONE, "wt", encoding="utf-8")))
        ending, working = threading.Event(), threading.Semaphore(_AT_ONCE)
        hosts = stack.enter_context(Hosts(brokers[0], folder))
        lives = [
            Life(group, hosts, truth, admin, working, random.Random(f"{seed} {group.name}"), pause_seconds, ending)
            for group in groups
        ]
        threads = [threading.Thread(target=life.live, name=life.group.name) for life in lives]
        for thread in threads:
            thread.start()
        try:
            _configure(admin, {"segment.ms": str(max(10_000, int(minutes * 6000)))})
            _disturb(brokers, admin, truth, minutes * 60)
        finally:
            ending.set()
            for thread in threads:
                thread.join()
        time.sleep(_QUIET_SECONDS)
        _keep(brokers, admin, truth, out)
        for life in lives:
            life.end()
        for failure in hosts.failures():
            truth.write("client failed", detail=failure)
        # A client that is destroyed after its broker has stopped never ends.
        del admin, lives
    return truth.did


def _brokers(version: str, folder: Path, stack: ExitStack) -> tuple[Broker, Broker]:
    settings = _SETTINGS | (_OF_CONSUMER_GROUPS if version[0] >= "4" else {})
    (folder / "1").mkdir()
    (folder / "2").mkdir()
    first = running(version, folder / "1", settings=settings, java_options=_LOG_OF_COORDINATORS)
    first = stack.enter_context(first)
    second = JoiningBroker(first, folder / "2", settings=settings, java_options=_LOG_OF_COORDINATORS)
    return first, stack.enter_context(second)


def _disturb(brokers: tuple[Broker, Broker], admin: AdminClient, truth: Truth, seconds: float) -> None:
    """Restart both brokers, one after the other, and move coordinators back to their preferred brokers."""
    began = time.monotonic()
    for share, number in ((0.35, 1), (0.65, 0)):
        time.sleep(max(0, began + share * seconds - time.monotonic()))
        truth.write("restart broker", detail=str(number + 1))
        brokers[number].restart()
        time.sleep(0.1 * seconds)
        truth.write("move coordinators")
        _elect_preferred_leaders(admin)
    time.sleep(max(0, began + seconds - time.monotonic()))


def _elect_preferred_leaders(admin: AdminClient) -> None:
    partitions = [
        TopicPartition(OFFSETS_TOPIC, number) for number in range(int(_SETTINGS["offsets.topic.num.partitions"]))
    ]
    admin.elect_leaders(ElectionType.PREFERRED, partitions).result()


def _keep(brokers: Sequence[Broker], admin: AdminClient, truth: Truth, out: Path) -> None:
    """Write the records before and after compaction, and what the brokers logged until then."""
    truth.write("end")
    pack([each.log for each in brokers], out / LOG)
    before = dump(brokers[0])
    parquet.write_table(before, out / "before.parquet", compression="zstd")
    rows = topic_ids(brokers[0]) if brokers[0].version[0] >= "4" else _partitions(admin)
    (out / "topics.json").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    _configure(admin, {"min.compaction.lag.ms": "0", "min.cleanable.dirty.ratio": "0.01"})
    after, deadline = before, time.monotonic() + _CLEANED_SECONDS
    while time.monotonic() < deadline:
        time.sleep(10)
        last, after = after, dump(brokers[0])
        if len(after) < len(before) and len(last) - len(after) < 20:
            break
    parquet.write_table(after, out / "after.parquet", compression="zstd")


def _configure(admin: AdminClient, settings: Mapping[str, str]) -> None:
    """Configure __consumer_offsets, once it exists."""
    entries = [
        ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
        for name, value in ({"min.compaction.lag.ms": str(_NEVER)} | dict(settings)).items()
    ]
    resource = ConfigResource(ResourceType.TOPIC, OFFSETS_TOPIC, incremental_configs=entries)
    while OFFSETS_TOPIC not in admin.list_topics(timeout=10).topics:
        time.sleep(1)
    admin.incremental_alter_configs([resource])[resource].result()


def _partitions(admin: AdminClient) -> Iterator[dict[str, str | int]]:
    """Yield topics without their ids, of which classic groups have none; Kafka's tool has another class before 3.5."""
    for name, topic in admin.list_topics(timeout=10).topics.items():
        if not name.startswith("__"):
            yield {"topic": name, "partitions": len(topic.partitions)}


def _program(library: str) -> str:
    """Return which program runs the consumers of a library."""
    if library == "java":
        return library
    return "go" if library in OF_GO else "node" if library in OF_JAVASCRIPT else "python"


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kafka", default="4.3.1")
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--pause-seconds", type=float, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    groups = random_groups(given.kafka)
    did = play(given.kafka, groups, given.minutes, given.out, seed=given.seed, pause_seconds=given.pause_seconds)
    print(json.dumps(did))
    print(report(given.out, given.kafka))


if __name__ == "__main__":
    main()
