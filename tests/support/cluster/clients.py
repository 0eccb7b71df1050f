"""Run the consumers of a fleet: those of Python's libraries in threads, of other languages in a process of each."""

from __future__ import annotations

import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, NamedTuple, Protocol, Self

from confluent_kafka import Consumer, KafkaException

from tests.support.cluster.fleet import COOPERATIVE, RANGE, ROBIN, SERVER, STICKY, Client
from tests.support.cluster.jars import java_command
from tests.support.maven import java_environment
from tests.support.processes import kill_unless_ended

_JAVA_ASSIGNORS = {
    RANGE: "org.apache.kafka.clients.consumer.RangeAssignor",
    ROBIN: "org.apache.kafka.clients.consumer.RoundRobinAssignor",
    STICKY: "org.apache.kafka.clients.consumer.StickyAssignor",
    COOPERATIVE: "org.apache.kafka.clients.consumer.CooperativeStickyAssignor",
}
# Long enough for a stalled member to hold its group in a rebalance during the whole capture.
_POLL_INTERVAL_MS = 600_000
# Short intervals: members learn of rebalances, and leaders of new partitions, sooner than by default.
_HEARTBEAT_INTERVAL_MS = 1000
_METADATA_MAX_AGE_MS = 1000
_END_SECONDS = 60

Partitions = set[tuple[str, int]]


class Runner(Protocol):
    """The common interface of the consumers of all libraries; NAME is unique, client.id is not."""

    def start(self, name: str, client: Client) -> None: ...

    def subscribe(self, name: str, topics: Sequence[str]) -> None: ...

    def close(self, name: str) -> None: ...

    def assignments(self) -> dict[str, Partitions]: ...


class Report(NamedTuple):
    """A line that a Java consumer printed; see the class PollingConsumer."""

    at_ms: int
    """On the clock of ``time.monotonic_ns``."""
    event: str
    name: str
    fields: tuple[str, ...]


class ConsumersProcess:
    """A process that runs consumers, takes orders and prints reports, and its reports so far."""

    def __init__(self, command: Sequence[str], log: Path) -> None:
        self._command = command
        self._log = log
        self._changed = threading.Condition()
        self._assigned: dict[str, tuple[str, Partitions]] = {}
        self._last_event: dict[str, str] = {}
        self._failures: list[str] = []
        self._reports: list[Report] = []
        self._ordering = threading.Lock()

    def __enter__(self) -> Self:
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env=java_environment(),
                encoding="utf-8",
            )
        self._reader = threading.Thread(target=self._read_reports, daemon=True)
        self._reader.start()
        return self

    def __exit__(self, *exception: object) -> None:
        assert self._process.stdin is not None
        # At the end of its input, it closes every consumer and exits. A killed process has no input any more.
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        kill_unless_ended(self._process, _END_SECONDS)
        self._reader.join()

    def close(self, name: str) -> None:
        """Close a consumer. A static member does not leave the group, but is not counted as an owner."""
        self._order("close", name)
        self._wait_for("closed", name)
        with self._changed:
            self._assigned.pop(name, None)

    def subscribe(self, name: str, topics: Sequence[str]) -> None:
        """Let a consumer subscribe to other topics; its library must be able to."""
        self._order("subscribe", name, ",".join(topics))

    def kill(self) -> None:
        """Kill the process with all its consumers; none of them leaves its group."""
        self._process.kill()

    def freeze(self) -> None:
        """Stop the process: its consumers send nothing until it goes on."""
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let a frozen process go on."""
        self._process.send_signal(signal.SIGCONT)

    def assignments(self) -> dict[str, Partitions]:
        """Return the partitions of each member id, as its consumer last reported them."""
        with self._changed:
            self._raise_failures()
            return dict(self._assigned.values())

    def reports(self) -> list[Report]:
        """Return all reports of the consumers, in order."""
        with self._changed:
            self._raise_failures()
            return list(self._reports)

    def failures(self) -> list[str]:
        """Return which consumers have failed, and why."""
        with self._changed:
            return list(self._failures)

    def _start(self, name: str, settings: Mapping[str, str]) -> None:
        self._order("start", name, *(f"{key}={value}" for key, value in settings.items()))

    def _raise_failures(self) -> None:
        if self._failures:
            raise RuntimeError("; ".join(self._failures))

    def _order(self, *fields: str) -> None:
        assert self._process.stdin is not None
        with self._ordering:
            self._process.stdin.write("\t".join(fields) + "\n")
            self._process.stdin.flush()

    def _wait_for(self, event: str, name: str) -> None:
        with self._changed:
            if not self._changed.wait_for(lambda: self._last_event.get(name) == event, timeout=_END_SECONDS):
                raise TimeoutError(f"{name} is not {event}: {self._last_event.get(name)}")

    def _read_reports(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            event, name, *rest, at_ms = line.rstrip("\n").split("\t")
            with self._changed:
                self._last_event[name] = event
                self._reports.append(Report(int(at_ms), event, name, tuple(rest)))
                if event == "assigned":
                    self._assigned[name] = (rest[0], listed_partitions(rest[2]))
                elif event == "failed":
                    self._failures.append(f"{name}: {rest[0]}")
                self._changed.notify_all()


class JavaConsumers(ConsumersProcess):
    """The process of the class rebalancesim.cluster.Consumers."""

    def __init__(self, version: str, bootstrap_servers: str, log: Path) -> None:
        command = java_command(version, "-Xmx512m", log_level="error")
        super().__init__([*command, "rebalancesim.cluster.Consumers"], log)
        self._bootstrap_servers = bootstrap_servers

    def start(self, name: str, client: Client, more: Mapping[str, str] | None = None) -> None:
        """Start a consumer; ``more`` are settings in addition to the common ones."""
        self._start(name, _java_settings(client, self._bootstrap_servers) | dict(more or {}))

    def failure(self, name: str, client: Client) -> str:
        """Start a consumer that the coordinator refuses, and return how it fails."""
        self.start(name, client)
        self._wait_for("failed", name)
        with self._changed:
            return next(each.fields[0] for each in self._reports if (each.name, each.event) == (name, "failed"))

    def stall(self, name: str) -> None:
        """Return when the consumer has stopped: its last poll may still take part in a rebalance."""
        self._order("stall", name)
        self._wait_for("stalled", name)


class OtherConsumers(ConsumersProcess):
    """The process of a program in tests/real/client_libraries, for libraries of Go or JavaScript."""

    def __init__(self, command: Sequence[str], bootstrap_servers: str, log: Path) -> None:
        super().__init__(command, log)
        self._bootstrap_servers = bootstrap_servers

    def start(self, name: str, client: Client) -> None:
        settings = {
            "library": client.library,
            "servers": self._bootstrap_servers,
            "group": client.group,
            "client": client.client_id,
            "instance": client.instance_id,
            "rack": client.rack,
            "topics": ",".join(client.topics),
            "protocols": ",".join(client.protocols),
            "session": str(client.session_ms),
        }
        self._start(name, settings)


def listed_partitions(listing: str) -> Partitions:
    pairs = (each.rpartition("-") for each in listing.split(",") if each)
    return {(topic, int(partition)) for topic, _, partition in pairs}


def configured_assignors(library: str, protocols: Sequence[str]) -> dict[str, str]:
    """Return the setting with which the consumers of a library are started here to offer protocols.

    Where a library takes classes or functions, the value has their names.
    """
    match library:
        case "java":
            return {"partition.assignment.strategy": ",".join(_JAVA_ASSIGNORS[protocol] for protocol in protocols)}
        case "librdkafka":
            return {"partition.assignment.strategy": ",".join(protocols)}
        case "kafka-python" | "aiokafka":
            classes = (_kafka_python_assignors()[protocol].__name__ for protocol in protocols)
            return {"partition_assignment_strategy": ",".join(classes)}
        case "sarama":
            names = {RANGE: "Range", ROBIN: "RoundRobin", STICKY: "Sticky"}
            calls = (f"sarama.NewBalanceStrategy{names[protocol]}()" for protocol in protocols)
            return {"Consumer.Group.Rebalance.GroupStrategies": ",".join(calls)}
        case "franz-go":
            names = {RANGE: "Range", ROBIN: "RoundRobin", STICKY: "Sticky", COOPERATIVE: "CooperativeSticky"}
            return {"kgo.Balancers": ",".join(f"kgo.{names[protocol]}Balancer()" for protocol in protocols)}
    raise ValueError(f"nothing is known of the setting of {library}")


def _java_settings(client: Client, bootstrap_servers: str) -> dict[str, str]:
    settings = _common_settings(client, bootstrap_servers)
    settings["max.poll.records"] = "20"
    settings["topics"] = ",".join(client.topics)
    settings["commit"] = client.commit
    settings["metadata.max.age.ms"] = str(_METADATA_MAX_AGE_MS)
    if not client.next_generation:
        settings["partition.assignment.strategy"] = ",".join(_JAVA_ASSIGNORS[protocol] for protocol in client.protocols)
    return settings


def _common_settings(client: Client, bootstrap_servers: str) -> dict[str, str]:
    settings = {
        "bootstrap.servers": bootstrap_servers,
        "group.id": client.group,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": "false",
        "max.poll.interval.ms": str(_POLL_INTERVAL_MS),
    }
    if client.next_generation:
        settings["group.protocol"] = "consumer"
        if client.protocols:
            settings["group.remote.assignor"] = client.protocols[0].removeprefix(SERVER)
    else:
        settings["heartbeat.interval.ms"] = str(_HEARTBEAT_INTERVAL_MS)
        if client.session_ms:
            settings["session.timeout.ms"] = str(client.session_ms)
    if client.client_id:
        settings["client.id"] = client.client_id
    if client.rack:
        settings["client.rack"] = client.rack
    if client.instance_id:
        settings["group.instance.id"] = client.instance_id
    return settings


class PythonConsumers:
    """Consumers of a Python library, each polled by its own thread."""

    polling: type[Polling]
    """The thread of a consumer of the library."""

    def __init__(self, bootstrap_servers: str) -> None:
        self._bootstrap_servers = bootstrap_servers
        self._running: dict[str, Polling] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        for each in self._running.values():
            each.ending.set()
        # A daemon: a consumer that its library does not close ends with this process.
        deadline = time.monotonic() + _END_SECONDS
        for each in self._running.values():
            each.join(max(0, deadline - time.monotonic()))

    def start(self, name: str, client: Client) -> None:
        polling = self.polling(client, self._bootstrap_servers)
        self._running[name] = polling
        polling.start()

    def subscribe(self, name: str, topics: Sequence[str]) -> None:
        self._running[name].wanted = list(topics)

    def close(self, name: str) -> None:
        polling = self._running.pop(name)
        polling.ending.set()
        polling.join(_END_SECONDS)
        if polling.is_alive():
            raise TimeoutError(f"{name} is not closed within {_END_SECONDS} s")

    def assignments(self) -> dict[str, Partitions]:
        """Return the partitions of each member id, from its own consumer."""
        ended = [name for name, each in self._running.items() if not each.is_alive()]
        if ended:
            raise RuntimeError(f"the consumers of {', '.join(ended)} have ended; pytest prints why as a warning")
        return dict(each.assigned for each in self._running.values())


class Polling(threading.Thread):
    """The thread of a consumer."""

    def __init__(self, client: Client, bootstrap_servers: str) -> None:
        super().__init__(name=client.client_id, daemon=True)
        self.ending = threading.Event()
        # Read by this thread only: from another thread the call can block forever.
        self.assigned: tuple[str, Partitions] = ("", set())
        # Topics to subscribe to before the next poll; empty if that is done.
        self.wanted = list(client.topics)
        self.client = client
        self.bootstrap_servers = bootstrap_servers

    def renew_subscription(self, subscribe: Callable[[list[str]], object]) -> None:
        if self.wanted:
            wanted, self.wanted = self.wanted, []
            subscribe(wanted)


class _RdkafkaPolling(Polling):
    def run(self) -> None:
        # Always closed: librdkafka waits forever, and the whole process with it, if a consumer is
        # discarded without being closed.
        with closing(Consumer(_rdkafka_settings(self.client, self.bootstrap_servers))) as consumer:
            commit = self.client.commit
            while not self.ending.is_set():
                self.renew_subscription(consumer.subscribe)
                messages = consumer.consume(num_messages=20, timeout=0.2)
                if messages and commit != "never" and _has_committed(consumer, KafkaException, asynchronous=False):
                    commit = "never" if commit == "once" else commit
                partitions = {(p.topic, p.partition) for p in consumer.assignment()}
                self.assigned = (consumer.memberid(), partitions)


class RdkafkaConsumers(PythonConsumers):
    """confluent-kafka consumers."""

    polling = _RdkafkaPolling


def _has_committed(consumer: Any, refused: type[Exception], **options: bool) -> bool:
    """Return whether the commit succeeded. If the generation is outdated, the next commit includes the records."""
    try:
        consumer.commit(**options)
    except refused:
        return False
    return True


def _rdkafka_settings(client: Client, bootstrap_servers: str) -> dict[str, Any]:
    settings: dict[str, Any] = _common_settings(client, bootstrap_servers)
    settings["log_level"] = 0
    settings["topic.metadata.refresh.interval.ms"] = str(_METADATA_MAX_AGE_MS)
    if not client.next_generation:
        settings["partition.assignment.strategy"] = ",".join(client.protocols)
    return settings


class _KafkaPythonPolling(Polling):
    def run(self) -> None:
        # Importing the whole package prints warnings.
        from kafka import KafkaConsumer  # noqa: PLC0415
        from kafka.errors import KafkaError  # noqa: PLC0415

        with closing(KafkaConsumer(**_kafka_python_settings(self.client, self.bootstrap_servers))) as consumer:
            commit = self.client.commit
            while not self.ending.is_set():
                _keep_refreshing(consumer)
                _keep_rejoining(consumer)
                self.renew_subscription(consumer.subscribe)
                messages = consumer.poll(timeout_ms=200, max_records=20)
                if messages and commit != "never" and _has_committed(consumer, KafkaError):
                    commit = "never" if commit == "once" else commit
                member_id = consumer.group_metadata().member_id
                self.assigned = (member_id, {(p.topic, p.partition) for p in consumer.assignment()})


class KafkaPythonConsumers(PythonConsumers):
    """kafka-python's consumers."""

    polling = _KafkaPythonPolling


def _keep_refreshing(consumer: Any) -> None:
    """Start the loop that refreshes metadata again if it has ended.

    It ends when a refresh fails that another task has begun, and the consumer never learns of new partitions then
    (``ClusterMetadata._refresh_loop`` of kafka-python 3.0.12).
    """
    metadata = consumer._cluster
    loop = metadata._refresh_loop_future
    if loop is not None and loop.is_done:
        metadata._refresh_loop_future = None
        metadata.start_refresh_loop()


def _keep_rejoining(consumer: Any) -> None:
    """Let a member that is rejoining its group go on with that in the next poll.

    A leader whose topics have grown otherwise forgets the rejoin once it has computed the assignment, if a poll ends
    before it receives its own: it sends no heartbeats then, and its session times out
    (``ConsumerCoordinator.need_rejoin`` of kafka-python 3.0.12 compares the topics with those of the assignment).
    """
    coordinator = consumer._coordinator
    if coordinator._join_task is not None:
        coordinator.request_rejoin()


def _kafka_python_assignors() -> dict[str, Any]:
    from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor  # noqa: PLC0415
    from kafka.coordinator.assignors.range import RangePartitionAssignor  # noqa: PLC0415
    from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor  # noqa: PLC0415
    from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor  # noqa: PLC0415

    return {
        RANGE: RangePartitionAssignor,
        ROBIN: RoundRobinPartitionAssignor,
        STICKY: StickyPartitionAssignor,
        COOPERATIVE: CooperativeStickyAssignor,
    }


def _kafka_python_settings(client: Client, bootstrap_servers: str) -> dict[str, Any]:
    assignors = _kafka_python_assignors()
    named: dict[str, Any] = {"client_id": client.client_id} if client.client_id else {}
    if client.session_ms:
        named["session_timeout_ms"] = client.session_ms
    return named | {
        "bootstrap_servers": bootstrap_servers,
        "group_id": client.group,
        "auto_offset_reset": "earliest",
        "enable_auto_commit": False,
        "group_instance_id": client.instance_id or None,
        "heartbeat_interval_ms": _HEARTBEAT_INTERVAL_MS,
        "metadata_max_age_ms": _METADATA_MAX_AGE_MS,
        "partition_assignment_strategy": [assignors[protocol] for protocol in client.protocols],
    }
