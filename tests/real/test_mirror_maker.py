"""MirrorMaker 2 on a real broker: its tasks replicate what is predicted."""

from functools import partial
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient
from pyspark.sql import SparkSession

from rebalance_sim.api.connect import simulate_connect
from rebalance_sim.sources.connect.rest_output import read_rest_output
from rebalance_sim.tables import CONNECTORS, OFFSETS, TOPICS, WORKERS
from tests.real.conftest import VERSIONS
from tests.support.cluster.broker import Broker, running
from tests.support.cluster.capture import until
from tests.support.cluster.group_requests import commit
from tests.support.cluster.programs import ConnectWorker
from tests.support.rows import table

pytestmark = pytest.mark.cluster

EAST = "east"
COUNTS = {f"topic-{i}": 1 + i % 4 for i in range(70)} | {"orders": 6, "west.topic-1": 2, "topic-internal": 1}
GROUPS = [*(f"group-{i}" for i in range(40)), "console-consumer-1", "idle"]
SOURCE, CHECKPOINTS = "replicates", "checkpoints"


def connectors(servers: str) -> dict[str, dict[str, str]]:
    """Return the configurations of both connectors. Remote topics, which are on the same broker, match no pattern."""
    common = {
        "source.cluster.alias": EAST,
        "target.cluster.alias": "west",
        "topics": "topic-.*, orders, west.*",
        **{f"{of}.cluster.bootstrap.servers": servers for of in ("source", "target")},
        **dict.fromkeys(("replication.factor", "offset-syncs.topic.replication.factor"), "1"),
        "checkpoints.topic.replication.factor": "1",
    }
    package = "org.apache.kafka.connect.mirror"
    return {
        SOURCE: common | {"connector.class": f"{package}.MirrorSourceConnector", "tasks.max": "7"},
        CHECKPOINTS: common | {"connector.class": f"{package}.MirrorCheckpointConnector", "tasks.max": "4"},
    }


def consumed(group: str) -> str:
    """Return the topic of which a group has a committed offset: one that is replicated, unless the group is idle."""
    return "__idle" if group == "idle" else "orders"


def known_topics(admin: AdminClient) -> dict[str, int]:
    """Return the topics of the broker, without those that MirrorMaker 2 creates after it has listed them."""
    listed = admin.list_topics(timeout=30).topics
    return {name: len(of.partitions) for name, of in listed.items() if not name.startswith(f"{EAST}.")}


@pytest.mark.parametrize("version", VERSIONS[:1])
def test_tasks_replicate_what_is_predicted(spark: SparkSession, tmp_path: Path, version: str) -> None:
    with running(version, tmp_path) as broker, ConnectWorker(broker, "mirrors", tmp_path) as worker:
        admin = broker.admin()
        broker.create_topics(COUNTS | {"__idle": 1})
        for group in GROUPS:
            until(f"{group} committed", partial(commit, admin, group, consumed(group), {0: 1}))
        for name, config in connectors(broker.bootstrap_servers).items():
            worker.configure(name, config)
        until("both connectors have tasks", lambda: all(map(worker.task_configs, (SOURCE, CHECKPOINTS))))
        _compare(spark, broker, worker, known_topics(admin), tmp_path / "connectors.json")


def _compare(spark: SparkSession, broker: Broker, worker: ConnectWorker, topics: dict[str, int], saved: Path) -> None:
    saved.write_bytes(worker.connectors())
    workers, configured = read_rest_output(str(saved), "default", "mirrors")
    committed = {"cluster": EAST, "partition": 0, "committed": 1}
    run = simulate_connect(
        table(spark, WORKERS, workers),
        table(spark, CONNECTORS, [row | {"config": dict(row["config"])} for row in configured]),
        kafka_version=broker.version,
        source_topics=table(
            spark, TOPICS, [{"cluster": EAST, "topic": name, "partitions": n} for name, n in topics.items()]
        ),
        source_offsets=table(
            spark, OFFSETS, [committed | {"group_id": group, "topic": consumed(group)} for group in GROUPS]
        ),
    )
    rows = run.mirror_tasks.collect()
    assert {row["error"] for row in rows} == {None}
    for connector, setting in ((SOURCE, "task.assigned.partitions"), (CHECKPOINTS, "task.assigned.groups")):
        of_connector = [row for row in rows if row["connector"] == connector]
        predicted = {row["consumer_group"] or f"{row['topic']}-{row['partition']}": row for row in of_connector}
        actual = {
            name: task
            for task, config in enumerate(worker.task_configs(connector))
            for name in config[setting].split(",")
        }
        assert predicted.keys() == actual.keys()
        certain = {name: row["task"] for name, row in predicted.items() if row["certain"]}
        assert certain == {name: actual[name] for name in certain}
        assert len(certain) == len(predicted) if connector == SOURCE else len(certain) > len(predicted) / 2
