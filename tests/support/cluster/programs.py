"""Programs around Kafka's consumers, each in a process of its own: Connect, Streams, the consumers of the console."""

from __future__ import annotations

import json
import subprocess
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import MappingProxyType
from urllib.error import URLError

from tests.support.cluster.broker import HOST, TOOLS, Broker, free_ports
from tests.support.cluster.capture import until
from tests.support.cluster.jars import java_command
from tests.support.maven import MavenProject, java_environment
from tests.support.processes import end, started

_FOLDER = Path(__file__).resolve().with_name("programs")
_ANSWER_SECONDS = 10
_INTERNAL_TOPICS = ("config", "offset", "status")


@contextmanager
def streams_application(
    broker: Broker, application_id: str, topic: str, directory: Path, *more: str
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a process of a Kafka Streams application: with two threads, or one thread and a store.

    It has the store if ``more`` has a protocol, and after it the number of standby replicas and the group.instance.id.
    """
    arguments = ["rebalancesim.programs.StreamsApplication", broker.bootstrap_servers, application_id, topic]
    arguments += [str(directory / "state"), *more]
    with _process([*_programs(broker), *arguments], directory / "streams.log") as process:
        yield process


@contextmanager
def connect_worker(
    broker: Broker, group: str, connectors: Mapping[str, Mapping[str, str]], directory: Path
) -> Iterator[None]:
    """Run a worker of a Connect cluster with these connectors, by name; it answers when this returns."""
    with ConnectWorker(broker, group, directory) as worker:
        for name, connector in connectors.items():
            worker.configure(name, connector)
        yield


class ConnectWorker:
    """A worker of a Connect cluster, which answers once it is entered, and can be ended and started again."""

    def __init__(
        self, broker: Broker, group: str, directory: Path, settings: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        (port,) = free_ports(1)
        self.address = f"{HOST}:{port}"
        self._broker, self._log = broker, directory / "connect.log"
        self._properties = directory / "connect.properties"
        internal = {
            f"{each}.storage.{name}": value
            for each in _INTERNAL_TOPICS
            for name, value in (("topic", f"{group}.{each}"), ("replication.factor", "1"))
        }
        own = {
            "bootstrap.servers": broker.bootstrap_servers,
            "group.id": group,
            "listeners": f"http://{self.address}",
            "key.converter": "org.apache.kafka.connect.converters.ByteArrayConverter",
            "value.converter": "org.apache.kafka.connect.converters.ByteArrayConverter",
            # The connectors are on the classpath.
            "plugin.discovery": "only_scan",
        }
        lines = (f"{name}={value}\n" for name, value in (own | internal | dict(settings)).items())
        self._properties.write_text("".join(lines))
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def is_running(self) -> bool:
        """Return whether its process was started, and not ended."""
        return self._process is not None

    def __enter__(self) -> ConnectWorker:
        """Start the worker, and wait until it answers."""
        command = [*_programs(self._broker), "org.apache.kafka.connect.cli.ConnectDistributed", str(self._properties)]
        self._process = started(command, self._log, java_environment(), stdin=subprocess.PIPE)
        until("Connect answers", lambda: _answers(f"http://{self.address}/connectors"))
        return self

    def __exit__(self, *_: object) -> None:
        """Close the worker, if it runs."""
        self.close()

    def close(self) -> None:
        """Let the worker leave its cluster, and end its process."""
        if self._process is not None:
            end(self._process)
            self._process = None

    def kill(self) -> None:
        """End the worker's process without closing it."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()
        self._process = None

    def configure(self, connector: str, configuration: Mapping[str, str]) -> None:
        """Create or change a connector."""
        accepted = partial(_answers, f"http://{self.address}/connectors/{connector}/config", configuration)
        until(f"connector {connector} is accepted", accepted)

    def connectors(self) -> bytes:
        """Return what the REST API says of all connectors."""
        return self._answer("connectors?expand=info&expand=status")

    def task_configs(self, connector: str) -> list[dict[str, str]]:
        """Return the configurations of a connector's tasks."""
        return [task["config"] for task in json.loads(self._answer(f"connectors/{connector}/tasks"))]

    def _answer(self, path: str) -> bytes:
        with urllib.request.urlopen(f"http://{self.address}/{path}") as answer:
            return bytes(answer.read())


@contextmanager
def console_consumer(broker: Broker, tool: str, options: Sequence[str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run one of the console's consumers until the end."""
    command = [*java_command(broker.version, "-Xmx256m"), TOOLS[tool]]
    with _process([*command, "--bootstrap-server", broker.bootstrap_servers, *options], log) as process:
        yield process


def _programs(broker: Broker) -> list[str]:
    project = MavenProject(_FOLDER, _FOLDER / "pom.xml", "kafka.version", broker.version)
    return project.java_command("-Xmx384m", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn")


@contextmanager
def _process(command: Sequence[str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    process = started(command, log, java_environment(), stdin=subprocess.PIPE)
    try:
        yield process
    finally:
        end(process)


def _answers(url: str, configuration: Mapping[str, str] | None = None) -> bool:
    """Return whether a request succeeds; with a configuration, one that puts it there."""
    body = None if configuration is None else json.dumps(configuration).encode()
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"}, method="PUT" if body else "GET")
    try:
        with urllib.request.urlopen(request, timeout=_ANSWER_SECONDS):
            return True
    except (URLError, TimeoutError, ConnectionError):
        return False
