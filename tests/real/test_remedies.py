"""Groups of real clients with a problem are audited live, follow the recommendation, and are audited again.

The recommended settings go to the libraries under their recommended names and values, where a program can pass them on.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from confluent_kafka import ConsumerGroupState
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.sql import Row, SparkSession

from rebalance_sim.cli import main
from rebalance_sim.engine.audit.changes import as_kafka_names_them
from tests.real.conftest import VERSIONS
from tests.support.cluster.aiokafka_consumers import AiokafkaConsumers
from tests.support.cluster.broker import Broker, running
from tests.support.cluster.capture import until
from tests.support.cluster.clients import Runner, configured_assignors
from tests.support.cluster.fleet import RANGE, RDKAFKA_DEFAULT, ROBIN, Client
from tests.support.cluster.group_requests import described
from tests.support.cluster.library_clients import library_clients
from tests.support.cluster.live_set_ups import LiveSetUps
from tests.support.cluster.programs import connect_worker
from tests.support.cluster.set_ups import Grow, Join, Leave, Round, SetUp

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.alone,
    pytest.mark.filterwarnings("ignore:(read|open)_text is deprecated"),
]

THREES = {f"three-{number}": 3 for number in range(1, 5)}
SINK = "connect-threes"
_KAFKAJS = "RoundRobinAssigner"


@dataclass(frozen=True)
class Sick:
    """A group with a finding."""

    kind: str
    library: str
    protocols: tuple[str, ...]
    topics: Mapping[str, int]

    @property
    def group(self) -> str:
        """The id of the group."""
        return f"{self.kind}-{self.library}"

    def set_up(self) -> SetUp:
        """Return its topics and its two members."""
        topics = {f"{self.group}.{topic}": count for topic, count in self.topics.items()}
        members = (
            Client(self.group, name, self.protocols, tuple(topics), library=self.library, commit="never")
            for name in ("z", "y")
        )
        return SetUp(self.group, topics, tuple(members), ())


SICK = [
    Sick("imbalance", "java", (RANGE,), THREES),
    Sick("imbalance", "librdkafka", RDKAFKA_DEFAULT, THREES),
    Sick("imbalance", "kafka-python", RDKAFKA_DEFAULT, THREES),
    Sick("imbalance", "aiokafka", (RANGE,), THREES),
    Sick("imbalance", "sarama", (RANGE,), THREES),
    Sick("imbalance", "franz-go", (RANGE,), THREES),
    Sick("idle-members", "kafka-go", RDKAFKA_DEFAULT, {"one": 1, "one-too": 1}),
    Sick("migration-possible", "java", (RANGE,), {"six": 6}),
    Sick("migration-possible", "librdkafka", RDKAFKA_DEFAULT, {"six": 6}),
]
APART = [Sick("partitions-not-consumed", library, (protocol,), {"six": 6, "eight": 8})
         for library, protocol in (("kafkajs", _KAFKAJS), ("platformatic-kafka", ROBIN))]  # fmt: skip
"""Groups whose members subscribe to different topics, so that no state of them has an owner for each partition."""
NAMES = [(each.group, each.kind) for each in (*SICK, *APART)] + [(SINK, "imbalance")]


@dataclass(frozen=True)
class Findings:
    """What two audits found, by group and kind."""

    before: Mapping[tuple[str, str], Row]
    after: Mapping[tuple[str, str], Row]


@pytest.fixture(scope="module")
def findings(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Findings:
    directory = tmp_path_factory.mktemp("remedied")
    with running(VERSIONS[0], directory) as broker:
        return audited_twice(spark, broker, directory)


def audited_twice(spark: SparkSession, broker: Broker, directory: Path) -> Findings:
    """Audit the groups with their problems, and after the remedies."""
    clients = directory / "clients.yaml"
    clients.write_text(yaml.safe_dump({"clients": [stated(each) for each in (*SICK, *APART)]}))
    with ExitStack() as stack:
        runners: dict[str, Runner] = stack.enter_context(library_clients(broker, directory))
        runners["aiokafka"] = stack.enter_context(AiokafkaConsumers(broker.bootstrap_servers))
        live = LiveSetUps(broker, runners, [each.set_up() for each in SICK])
        live.form()
        ranges = {"consumer.override.partition.assignment.strategy": JAVAS_RANGE}
        with sink(broker, directory / "first", ranges):
            start_apart(broker, runners)
            before = audited(spark, broker, clients, directory / "before")
        live.play({each.group: list(remedy(each, before[each.group, each.kind])) for each in SICK})
        restart_together(broker, runners)
        with sink(broker, directory / "second", dict(before[SINK, "imbalance"]["settings"])):
            after = audited(spark, broker, clients, directory / "after")
    return Findings(before, after)


def stated(each: Sick) -> dict[str, Any]:
    """Return what the owner of the cluster states about a group."""
    return {"group": each.group, "library": each.library}


def audited(spark: SparkSession, broker: Broker, clients: Path, out: Path) -> dict[tuple[str, str], Row]:
    """Audit the live cluster, and return the findings by group and kind."""
    given = ["--bootstrap-servers", broker.bootstrap_servers, "--clients", str(clients)]
    assert main(["audit", *given, "--out", str(out)]) == 0
    return {(row["group_id"], row["kind"]): row for row in spark.read.parquet(f"{out}/findings").collect()}


def remedy(each: Sick, finding: Row) -> Iterator[Round]:
    """Return the restarts, or the growth of topics, that a finding recommends."""
    members = each.set_up().members
    if not finding["settings"]:
        assert "Give each topic at least as many partitions" in finding["recommendation"]
        yield tuple(Grow(topic, 2) for topic in each.set_up().topics)
        return
    settings = as_kafka_names_them(finding["settings"])
    if settings.get("group.protocol") == "consumer":
        new: tuple[str, ...] = (f"server-{settings['group.remote.assignor']}",)
    else:
        new = tuple(settings["partition.assignment.strategy"].split(","))
        assert finding["settings"] == configured_assignors(each.library, new)
    lists = [new] if "in one rolling restart" in finding["recommendation"] else [(*each.protocols, *new), new]
    for listed in lists:
        for client in members:
            yield (Leave(client.client_id),)
            yield (Join(replace(client, protocols=listed)),)


# ---- groups whose members subscribe to different topics


def members_of(each: Sick, topics: Sequence[str]) -> list[Client]:
    return [replace(client, topics=(topic,)) for client, topic in zip(each.set_up().members, topics, strict=True)]


def start_apart(broker: Broker, runners: Mapping[str, Runner]) -> None:
    """Start two members with a topic each."""
    admin = broker.admin()
    for each in APART:
        topics = each.set_up().topics
        broker.create_topics(topics)
        start(admin, runners[each.library], each, members_of(each, list(topics)))


def restart_together(broker: Broker, runners: Mapping[str, Runner]) -> None:
    """Restart the members with both topics, as is recommended."""
    admin = broker.admin()
    for each in APART:
        for client in each.set_up().members:
            runners[each.library].close(f"{each.group}#{client.client_id}")
        start(admin, runners[each.library], each, each.set_up().members)


def start(admin: AdminClient, runner: Runner, each: Sick, clients: Sequence[Client]) -> None:
    for number, client in enumerate(clients, 1):
        runner.start(f"{each.group}#{client.client_id}", client)

        def is_stable(number: int = number) -> bool:
            return stable_members(admin, each.group) == number

        until(f"{each.group} has {number} members", is_stable)


def stable_members(admin: AdminClient, group: str) -> int | None:
    """Return how many members a stable group has; None if it is not stable."""
    found = described(admin, [group])[group]
    return len(found.members) if found and found.state is ConsumerGroupState.STABLE else None


# ---- a sink connector

JAVAS_RANGE = "org.apache.kafka.clients.consumer.RangeAssignor"


@contextmanager
def sink(broker: Broker, directory: Path, settings: Mapping[str, str]) -> Iterator[None]:
    """Run a worker of Connect with a sink connector of two tasks, and these settings.

    The cluster is named after the folder: the second one does not know the connector of the first.
    """
    directory.mkdir()
    topics = {f"{SINK}.{topic}": count for topic, count in THREES.items()}
    admin = broker.admin()
    for created in admin.create_topics([NewTopic(name, count, 1) for name, count in topics.items()]).values():
        # There are some if this is the second cluster.
        created.exception()
    connector = {
        "connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector",
        "topics": ",".join(topics),
        "file": str(directory / "sink.txt"),
        "tasks.max": "2",
        **settings,
    }
    with connect_worker(broker, f"connect-{directory.name}", {SINK.removeprefix("connect-"): connector}, directory):
        until("the tasks have joined", lambda: stable_members(admin, SINK) == 2)
        yield


@pytest.mark.parametrize(("group", "kind"), NAMES)
def test_the_finding_is_gone_after_its_remedy(findings: Findings, group: str, kind: str) -> None:
    assert findings.before[group, kind]["recommendation"]
    assert (group, kind) not in findings.after
    known = {name for name, _ in findings.after}
    assert group in known


def test_a_remedy_leads_to_no_other_problem(findings: Findings) -> None:
    before, after = (
        {key for key, row in found.items() if row["severity"] != "note"} for found in (findings.before, findings.after)
    )
    assert after - before == set()


def test_the_settings_of_a_sink_connector_are_those_of_its_configuration(findings: Findings) -> None:
    assert all(name.startswith("consumer.override.") for name in findings.before[SINK, "imbalance"]["settings"])
