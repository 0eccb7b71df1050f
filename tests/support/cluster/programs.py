"""Programs around Kafka's consumers, each in a process of its own: Connect, Streams, the consumers of the console."""

from __future__ import annotations

import json
import subprocess
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from urllib.error import URLError

from tests.support.cluster.broker import HOST, TOOLS, Broker, free_ports
from tests.support.cluster.capture import until
from tests.support.cluster.jars import java_command
from tests.support.maven import MavenProject, java_environment

_FOLDER = Path(__file__).resolve().with_name("programs")
_END_SECONDS = 30
_ANSWER_SECONDS = 10
_INTERNAL_TOPICS = ("config", "offset", "status")


@contextmanager
def streams_application(broker: Broker, application_id: str, topic: str, directory: Path) -> Iterator[None]:
    """Run a Kafka Streams application with two threads."""
    arguments = ["rebalancesim.programs.StreamsApplication", broker.bootstrap_servers, application_id, topic]
    with _process([*_programs(broker), *arguments, str(directory / "state")], directory / "streams.log"):
        yield


@contextmanager
def connect_worker(
    broker: Broker, group: str, connectors: Mapping[str, Mapping[str, str]], directory: Path
) -> Iterator[None]:
    """Run a worker of a Connect cluster with these connectors, by name; it answers when this returns."""
    (port,) = free_ports(1)
    address = f"http://{HOST}:{port}"
    properties = directory / "connect.properties"
    settings = {
        "bootstrap.servers": broker.bootstrap_servers,
        "group.id": group,
        "listeners": address,
        "key.converter": "org.apache.kafka.connect.converters.ByteArrayConverter",
        "value.converter": "org.apache.kafka.connect.converters.ByteArrayConverter",
        # The connectors are on the classpath.
        "plugin.discovery": "only_scan",
    }
    for each in _INTERNAL_TOPICS:
        settings |= {f"{each}.storage.topic": f"{group}.{each}", f"{each}.storage.replication.factor": "1"}
    properties.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    command = [*_programs(broker), "org.apache.kafka.connect.cli.ConnectDistributed", str(properties)]
    with _process(command, directory / "connect.log"):
        until("Connect answers", lambda: _answers(f"{address}/connectors"))
        for name, connector in connectors.items():
            accepted = partial(_answers, f"{address}/connectors/{name}/config", connector)
            until(f"connector {name} is accepted", accepted)
        yield


@contextmanager
def console_consumer(broker: Broker, tool: str, options: Sequence[str], log: Path) -> Iterator[None]:
    """Run one of the console's consumers until the end."""
    command = [*java_command(broker.version, "-Xmx256m"), TOOLS[tool]]
    with _process([*command, "--bootstrap-server", broker.bootstrap_servers, *options], log):
        yield


def _programs(broker: Broker) -> list[str]:
    project = MavenProject(_FOLDER, _FOLDER / "pom.xml", "kafka.version", broker.version)
    return project.java_command("-Xmx384m", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn")


@contextmanager
def _process(command: Sequence[str], log: Path) -> Iterator[None]:
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=output, stderr=subprocess.STDOUT, env=java_environment()
        )
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(timeout=_END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _answers(url: str, configuration: Mapping[str, str] | None = None) -> bool:
    """Return whether a request succeeds; with a configuration, one that puts it there."""
    body = None if configuration is None else json.dumps(configuration).encode()
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"}, method="PUT" if body else "GET")
    try:
        with urllib.request.urlopen(request, timeout=_ANSWER_SECONDS):
            return True
    except (URLError, TimeoutError, ConnectionError):
        return False
