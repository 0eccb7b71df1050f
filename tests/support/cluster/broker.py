"""Run a Kafka broker on 127.0.0.1 from the released jars for the duration of a `with`."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewTopic

from tests.support.cluster.jars import java_command, needs_zookeeper
from tests.support.maven import java_environment
from tests.support.processes import end, ended_within, started

HOST = "127.0.0.1"
# Any 16 bytes in URL-safe base64.
CLUSTER_ID = "cmViYWxhbmNlLXNpbS0wMQ"
LOGS_REBALANCES = tuple(
    f"-Dorg.slf4j.simpleLogger.{name}"
    for name in (
        "showDateTime=true",
        "dateTimeFormat=[yyyy-MM-dd HH:mm:ss,SSS]",
        "log.org.apache.kafka.coordinator.group=info",
        "log.kafka.coordinator.group=info",
    )
)
"""Options of Java with which a broker logs rebalances, as brokers do by default, with their times."""
START_SECONDS = 90
TOOL_SECONDS = 120

# The classes that Kafka's bin/*.sh scripts run, by the names of the scripts.
TOOLS = {
    "kafka-topics": "org.apache.kafka.tools.TopicCommand",
    "kafka-consumer-groups": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
    "kafka-get-offsets": "org.apache.kafka.tools.GetOffsetShell",
    "kafka-console-consumer": "org.apache.kafka.tools.consumer.ConsoleConsumer",
    "kafka-console-share-consumer": "org.apache.kafka.tools.consumer.ConsoleShareConsumer",
    "kafka-configs": "kafka.admin.ConfigCommand",
    "kafka-groups": "org.apache.kafka.tools.GroupsCommand",
    "kafka-share-groups": "org.apache.kafka.tools.consumer.group.ShareGroupCommand",
    "kafka-streams-groups": "org.apache.kafka.tools.streams.StreamsGroupCommand",
}


class BrokerError(Exception):
    """The broker or a tool failed; the message ends with its output."""


class Broker:
    """
    A combined broker and controller with all replication factors at 1.

    `directory` receives the broker's data, which is deleted at the end, and `broker.log`,
    which is kept. `settings` are further lines of server.properties, `java_options` further options
    of its process. `users` (name: password)
    authenticate with SASL/PLAIN at `sasl_bootstrap_servers` and may do what ACLs allow;
    unauthenticated clients at `bootstrap_servers` may do everything.
    """

    _AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"

    def __init__(
        self,
        version: str,
        directory: Path,
        *,
        initial_rebalance_delay_ms: int = 100,
        settings: Mapping[str, str] | None = None,
        users: Mapping[str, str] | None = None,
        java_options: Sequence[str] = (),
    ) -> None:
        self.version = version
        self.brokers = 1
        """How many brokers the cluster has when all of them run."""
        self.log = directory / "broker.log"
        self.bootstrap_servers = ""
        self.sasl_bootstrap_servers = ""
        self._users = dict(users or {})
        self._delay_ms = initial_rebalance_delay_ms
        self._settings = dict(settings or {})
        self._data = directory / "data"
        self._properties = directory / "server.properties"
        self._java_options = list(java_options)
        self._controller = ""
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self._write_properties()
        try:
            self._prepare()
            self._start()
            self._wait_until_it_answers()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

    def tools(self, tool: str, *args: str, merge_stderr: bool = False) -> str:
        """
        Run one of TOOLS against this broker and return its output.

        `merge_stderr` includes warnings where they occur, like `> file 2>&1` in a shell.
        """
        command = java_command(self.version, "-Xmx256m", log_level="off")
        command += [TOOLS[tool], "--bootstrap-server", self.bootstrap_servers, *args]
        done = subprocess.run(
            command,
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if merge_stderr else subprocess.PIPE,
            env=java_environment(),
            timeout=TOOL_SECONDS,
            encoding="utf-8",
        )
        if done.returncode != 0:
            raise BrokerError(f"{tool} {' '.join(args)}:\n{done.stdout}\n{done.stderr or ''}")
        return done.stdout

    def admin(self) -> AdminClient:
        """Return a client that may do everything.

        A client that is destroyed after its broker has stopped never ends.
        """
        # log_level 0: refused connections are expected until the broker listens.
        return AdminClient({"bootstrap.servers": self.bootstrap_servers, "log_level": 0})

    def create_topics(self, partitions: Mapping[str, int]) -> None:
        """Create topics with these numbers of partitions."""
        admin = self.admin()
        for created in admin.create_topics([NewTopic(*topic, 1) for topic in partitions.items()]).values():
            created.result()

    def stop(self) -> None:
        """Stop the process and delete its data; a second call does nothing."""
        if self._process is not None:
            end(self._process)
            self._process = None
        shutil.rmtree(self._data, ignore_errors=True)
        self._properties.unlink(missing_ok=True)

    def restart(self) -> None:
        """Stop the process and start it again on the same data and ports."""
        if self._process is not None:
            end(self._process)
        self._start()
        self._wait_until_it_answers()

    def settings_to_join(self, listeners: str) -> dict[str, str]:
        """Return the settings with which another broker joins this one's cluster."""
        return {
            "process.roles": "broker",
            "node.id": "2",
            "controller.quorum.voters": f"1@{self._controller}",
            "controller.listener.names": "CONTROLLER",
            "listeners": listeners,
            "advertised.listeners": listeners,
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        }

    def _write_properties(self) -> None:
        broker_port, sasl_port = free_ports(2)
        self.bootstrap_servers = f"{HOST}:{broker_port}"
        settings = {
            "listeners": f"PLAINTEXT://{self.bootstrap_servers}",
            "log.dirs": str(self._data / "logs"),
            "auto.create.topics.enable": "false",
            "group.initial.rebalance.delay.ms": str(self._delay_ms),
            "offsets.topic.num.partitions": "50",
            "offsets.topic.replication.factor": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            # The default buffer of 128 MB does not fit into a small heap.
            "log.cleaner.dedupe.buffer.size": "4194304",
        }
        if self._users:
            self.sasl_bootstrap_servers = f"{HOST}:{sasl_port}"
            settings |= self._sasl_settings()
        settings |= self._quorum_settings(settings["listeners"]) | self._settings
        self._properties.parent.mkdir(parents=True, exist_ok=True)
        self._properties.write_text("".join(f"{k}={v}\n" for k, v in settings.items()))

    def _sasl_settings(self) -> dict[str, str]:
        users = " ".join(f'user_{name}="{password}"' for name, password in self._users.items())
        module = "org.apache.kafka.common.security.plain.PlainLoginModule"
        return {
            "listeners": f"PLAINTEXT://{self.bootstrap_servers},SASL_PLAINTEXT://{self.sasl_bootstrap_servers}",
            "sasl.enabled.mechanisms": "PLAIN",
            "listener.name.sasl_plaintext.plain.sasl.jaas.config": f"{module} required {users};",
            "authorizer.class.name": self._AUTHORIZER,
            "super.users": "User:ANONYMOUS",
        }

    def _quorum_settings(self, listeners: str) -> dict[str, str]:
        (port,) = free_ports(1)
        self._controller = f"{HOST}:{port}"
        protocols = ",".join(f"{name}:{name}" for name in ("PLAINTEXT", "SASL_PLAINTEXT"))
        return {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": f"1@{self._controller}",
            "controller.listener.names": "CONTROLLER",
            "listeners": f"{listeners},CONTROLLER://{self._controller}",
            "advertised.listeners": listeners,
            "listener.security.protocol.map": f"{protocols},CONTROLLER:PLAINTEXT",
        }

    def _prepare(self) -> None:
        """Prepare what the broker needs to start."""
        self._format()

    def _format(self) -> None:
        command = java_command(self.version, "-Xmx256m")
        command += ["kafka.tools.StorageTool", "format", "--cluster-id", CLUSTER_ID]
        command += ["--config", str(self._properties)]
        done = subprocess.run(
            command, check=False, capture_output=True, env=java_environment(), timeout=TOOL_SECONDS, encoding="utf-8"
        )
        if done.returncode != 0:
            raise BrokerError(f"the storage could not be formatted:\n{done.stdout}{done.stderr}")

    def _start(self) -> None:
        command = java_command(self.version, "-Xmx512m", *self._java_options)
        self._process = started([*command, "kafka.Kafka", str(self._properties)], self.log, java_environment())

    def _wait_until_it_answers(self) -> None:
        assert self._process is not None
        deadline = time.monotonic() + START_SECONDS
        client = self.admin()
        while time.monotonic() < deadline:
            if _knows_brokers(client, self.brokers):
                return
            if ended_within(self._process, seconds=0.1):
                raise BrokerError(f"the broker ended while starting:\n{self._log_tail()}")
        raise BrokerError(f"no answer within {START_SECONDS} s:\n{self._log_tail()}")

    def _log_tail(self) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-20:])


class BrokerWithZooKeeper(Broker):
    """A broker before Kafka 3.3, with the ZooKeeper in which it keeps its metadata."""

    _AUTHORIZER = "kafka.security.auth.SimpleAclAuthorizer"
    _zookeeper: subprocess.Popen[bytes] | None = None
    _zookeeper_address = ""

    def stop(self) -> None:
        # The broker first: without ZooKeeper it would take long to stop.
        if self._process is not None:
            end(self._process)
            self._process = None
        if self._zookeeper is not None:
            end(self._zookeeper)
            self._zookeeper = None
        super().stop()

    def _quorum_settings(self, listeners: str) -> dict[str, str]:
        (port,) = free_ports(1)
        self._zookeeper_address = f"{HOST}:{port}"
        return {"broker.id": "1", "zookeeper.connect": self._zookeeper_address}

    def settings_to_join(self, listeners: str) -> dict[str, str]:
        return {"broker.id": "2", "zookeeper.connect": self._zookeeper_address, "listeners": listeners}

    def _prepare(self) -> None:
        host, _, port = self._zookeeper_address.partition(":")
        data = self._data / "zookeeper"
        data.mkdir(parents=True)
        properties = data / "zookeeper.properties"
        properties.write_text(f"dataDir={data}\nclientPort={port}\nclientPortAddress={host}\nmaxClientCnxns=0\n")
        options = ("-Xmx128m", "-Dzookeeper.admin.enableServer=false", "-Dzookeeper.jmx.log4j.disable=true")
        command = [*java_command(self.version, *options), "org.apache.zookeeper.server.quorum.QuorumPeerMain"]
        log = self.log.with_name("zookeeper.log")
        self._zookeeper = started([*command, str(properties)], log, java_environment())
        self._wait_for_zookeeper(host, int(port))

    def _wait_for_zookeeper(self, host: str, port: int) -> None:
        assert self._zookeeper is not None
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            with socket.socket() as connection:
                if connection.connect_ex((host, port)) == 0:
                    return
            if ended_within(self._zookeeper, seconds=0.1):
                break
        raise BrokerError(f"ZooKeeper does not answer: see {self.log.with_name('zookeeper.log')}")


class JoiningBroker(Broker):
    """A second broker of a cluster, which the first one's controller or ZooKeeper serves."""

    def __init__(
        self, first: Broker, directory: Path, *, settings: Mapping[str, str], java_options: Sequence[str] = ()
    ) -> None:
        super().__init__(first.version, directory, settings=settings, java_options=java_options)
        self._first = first
        self.brokers = 2

    def __enter__(self) -> Self:
        super().__enter__()
        self._first.brokers = self.brokers
        return self

    def _quorum_settings(self, listeners: str) -> dict[str, str]:
        return self._first.settings_to_join(listeners)

    def _prepare(self) -> None:
        if not needs_zookeeper(self.version):
            self._format()


def running(
    version: str,
    directory: Path,
    *,
    settings: Mapping[str, str] | None = None,
    users: Mapping[str, str] | None = None,
    java_options: Sequence[str] = (),
) -> Broker:
    """Return a broker of any version whose jars are released, which runs for the duration of a ``with``."""
    kind = BrokerWithZooKeeper if needs_zookeeper(version) else Broker
    return kind(version, directory, settings=settings, users=users, java_options=java_options)


def _knows_brokers(client: AdminClient, count: int) -> bool:
    """Return whether the metadata contains so many brokers: the controller has unfenced them."""
    try:
        return len(client.list_topics(timeout=1).brokers) == count
    except KafkaException:
        return False


def free_ports(count: int) -> list[int]:
    """Return ports that were free a moment ago, all reserved at once so that they differ."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind((HOST, 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()
