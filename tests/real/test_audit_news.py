"""Two audits of a live cluster: six changes between them are news, nothing else is, and lag that grows is found."""

import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import NewPartitions, OffsetSpec
from pyspark.sql import SparkSession

from rebalance_sim.cli import SOMETHING_NEW, main
from rebalance_sim.tables import FINDINGS, NEWS
from tests.real.conftest import VERSIONS
from tests.real.test_audited_cluster import DELAY_MS, is_coordinated
from tests.support.cluster.broker import Broker, running
from tests.support.cluster.capture import until
from tests.support.cluster.fleet import COOPERATIVE, RANGE, ROBIN
from tests.support.cluster.silent_members import SilentGroup, leave

pytestmark = [pytest.mark.cluster, pytest.mark.alone]

TOPICS = {"orders": 6, "grows": 4}
RECORDS = 12_000
"""In each partition of orders; the limit of a large lag is 10,000."""
SAME = SilentGroup("same", 3, (COOPERATIVE,), ("orders",), RECORDS)
REJOINS = replace(SAME, group_id="rejoins")
READS = SilentGroup("reads", 2, (COOPERATIVE,), ("grows",))
STOPS = replace(SAME, group_id="stops")
SWITCHES = SilentGroup("switches", 3, (RANGE,), ("orders",), RECORDS)
CROWDED = SilentGroup("crowded", 6, (COOPERATIVE,), ("orders",), RECORDS)
LAGS = SilentGroup("lags", 3, (COOPERATIVE,), ("orders",))
BEFORE = (SAME, REJOINS, READS, STOPS, SWITCHES, CROWDED, LAGS)
APPEARS = replace(SAME, group_id="appears", protocols=(ROBIN,))
"""Of a group with warnings, these are news too."""
FORMED_AGAIN = (
    REJOINS,
    replace(SWITCHES, protocols=(ROBIN,)),
    replace(CROWDED, members=7),
    replace(LAGS, committed=RECORDS),
)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """Start a broker, fill its topics, and let the groups form."""
    settings = {"group.initial.rebalance.delay.ms": str(DELAY_MS)}
    with running(VERSIONS[0], tmp_path_factory.mktemp("news"), settings=settings) as broker:
        servers = broker.bootstrap_servers
        admin = broker.admin()
        broker.create_topics(TOPICS)
        for number in range(TOPICS["orders"]):
            produce(servers, RECORDS, number)
        until("coordinators answer for all groups", lambda: all(map(partial(is_coordinated, admin), BEFORE)))
        for group in BEFORE:
            group.form(servers, TOPICS)
        yield broker


def produce(servers: str, records: int, partition: int = 0) -> None:
    """Write records to a partition of orders."""
    producer = Producer({"bootstrap.servers": servers, "log_level": 0})
    for _ in range(records):
        producer.produce("orders", b"record", partition=partition)
        producer.poll(0)
    assert producer.flush(60) == 0


def change(broker: Broker) -> None:
    """Make the six changes, and let the members of a group leave and join again, which is none."""
    servers, admin = broker.bootstrap_servers, broker.admin()
    admin.create_partitions([NewPartitions("grows", 8)])["grows"].result()
    for group in (STOPS, *FORMED_AGAIN):
        described = admin.describe_consumer_groups([group.group_id])[group.group_id].result()
        leave(servers, group.group_id, [member.member_id for member in described.members])
    for group in (*FORMED_AGAIN, APPEARS):
        group.form(servers, TOPICS)


def test_six_changes_are_the_news(spark: SparkSession, cluster: Broker, tmp_path: Path) -> None:
    servers, one, other = cluster.bootstrap_servers, f"{tmp_path}/one", f"{tmp_path}/other"
    audit = ["audit", "--bootstrap-servers", servers]
    assert main([*audit, "--out", one]) == 0
    assert main([*audit, "--previous", one, "--fail-on-new", "note", "--out", f"{tmp_path}/unchanged"]) == 0
    change(cluster)
    assert main([*audit, "--previous", one, "--fail-on-new", "note", "--out", other]) == SOMETHING_NEW
    rows = spark.read.parquet(f"{other}/{NEWS.name}").collect()
    assert {(row["change"], row["group_id"] or row["topic"], row["kind"]) for row in rows} == {
        ("appeared", "appears", None),
        ("new", "stops", "no-members"),
        ("changed", "grows", None),
        ("changed", "switches", None),
        ("new", "crowded", "more-members-than-partitions"),
        ("resolved", "lags", "large-lag"),
    }
    texts = {row["group_id"] or row["topic"]: row["description"] for row in rows}
    assert texts["grows"] == "8 partitions, before 4; subscribed by 1 group"
    assert texts["switches"].startswith("elected assignor: roundrobin (before range)")


def test_lag_that_grows_is_found_between_two_audits(spark: SparkSession, cluster: Broker, tmp_path: Path) -> None:
    """Of a group that commits a third of what arrives, and of one that commits nothing; a third keeps up."""
    servers, groups = cluster.bootstrap_servers, [replace(SAME, group_id=name) for name in ("slow", "stuck", "fast")]
    admin = cluster.admin()
    until("coordinators answer for all groups", lambda: all(map(partial(is_coordinated, admin), groups)))
    first = TopicPartition("orders", 0)
    end = admin.list_offsets({first: OffsetSpec.latest()})[first].result().offset
    for group in groups:
        replace(group, committed=end).form(servers, TOPICS)
    thresholds = tmp_path / "thresholds.yaml"
    thresholds.write_text("growth_minutes: 1\n")
    audit = ["audit", "--bootstrap-servers", servers, "--thresholds", str(thresholds)]
    began = time.monotonic()
    assert main([*audit, "--out", f"{tmp_path}/one"]) == 0
    produce(servers, 6_000)
    for group, committed in zip(groups, (2_000, None, 6_000), strict=True):
        if committed is not None:
            described = admin.describe_consumer_groups([group.group_id])[group.group_id].result()
            leave(servers, group.group_id, [member.member_id for member in described.members])
            replace(group, committed=end + committed).form(servers, TOPICS)
    time.sleep(max(began + 61 - time.monotonic(), 0))
    assert main([*audit, "--previous", f"{tmp_path}/one", "--out", f"{tmp_path}/two"]) == 0
    findings = spark.read.parquet(f"{tmp_path}/two/{FINDINGS.name}").where("kind = 'lag-grows'").collect()
    grew = {row["group_id"]: row for row in findings}
    assert "fast" not in grew
    assert grew["slow"]["description"].startswith("the lag of orders-0 grew by 4,000 records in ")
    assert grew["stuck"]["description"].startswith("the lag of orders-0 grew by 6,000 records in ")
    assert grew["stuck"]["recommendation"].startswith("See what the consumer of orders-0 does")
    assert {row["kind"] for row in spark.read.parquet(f"{tmp_path}/two/{NEWS.name}").collect()} >= {"lag-grows"}
