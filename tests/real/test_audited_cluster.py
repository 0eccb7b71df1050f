"""A live cluster with hundreds of groups is audited from its brokers to the page; the time is printed (pytest -s)."""

import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from pathlib import Path

import pytest
from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient
from pyspark.sql import SparkSession

from rebalance_sim import findings
from rebalance_sim.sources.live_cluster.cluster import read_cluster
from tests.real.conftest import VERSIONS
from tests.support.cluster.broker import Broker, running
from tests.support.cluster.capture import until
from tests.support.cluster.fleet import COOPERATIVE, JAVA_DEFAULT, RANGE, ROBIN, STICKY
from tests.support.cluster.silent_members import SilentGroup

pytestmark = [pytest.mark.cluster, pytest.mark.alone]

RECORDS = 5
"""In each partition; the groups have read one."""
FORMED_AT_ONCE = 25
DELAY_MS = 1000
"""Of the first rebalance of a group: long enough for all its members."""
TOPICS = {f"topic-{number:02}": 4 + number % 9 for number in range(40)}
OFFERS = (JAVA_DEFAULT, (COOPERATIVE,), (ROBIN,), (STICKY,), (RANGE, ROBIN))


def groups() -> Iterator[SilentGroup]:
    """Return 500 groups of 1 to 5 members, which read one topic or two."""
    names = list(TOPICS)
    for number, pair in enumerate(list(pairwise([*names, names[0]])) * 13):
        if number < 500:
            topics = pair[: 1 + number % 2]
            yield SilentGroup(f"group-{number:03}", 1 + number % 5, OFFERS[number * 7 % len(OFFERS)], topics)


@pytest.fixture(scope="module")
def broker_with_groups(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """Start a broker, fill its topics, and let all groups form."""
    settings = {"group.initial.rebalance.delay.ms": str(DELAY_MS)}
    with running(VERSIONS[0], tmp_path_factory.mktemp("audited"), settings=settings) as broker:
        servers = broker.bootstrap_servers
        admin = broker.admin()
        broker.create_topics(TOPICS)
        producer = Producer({"bootstrap.servers": servers, "log_level": 0})
        for topic, count in TOPICS.items():
            for place in range(count * RECORDS):
                producer.produce(topic, b"record", partition=place % count)
        assert producer.flush(60) == 0
        until("coordinators answer for all groups", lambda: all(map(partial(is_coordinated, admin), groups())))
        with ThreadPoolExecutor(FORMED_AT_ONCE) as pool:
            list(pool.map(lambda group: group.form(servers, TOPICS), groups()))
        yield broker


def is_coordinated(admin: AdminClient, group: SilentGroup) -> bool:
    """Return whether the coordinator knows that the group does not exist yet; the first question creates its topic."""
    try:
        found = admin.describe_consumer_groups([group.group_id])[group.group_id].result()
    except KafkaException as problem:
        return bool(problem.args[0].name() == "GROUP_ID_NOT_FOUND")
    return bool(found.state.name == "DEAD")


def test_every_group_of_a_live_cluster_is_audited(
    spark: SparkSession, broker_with_groups: Broker, tmp_path: Path
) -> None:
    out = f"{tmp_path}/out"
    command = [sys.executable, "-m", "rebalance_sim.cli", "audit", "--out", out]
    started = time.monotonic()
    done = subprocess.run(
        [*command, "--bootstrap-servers", broker_with_groups.bootstrap_servers],
        check=False,
        capture_output=True,
        text=True,
    )
    given = list(groups())
    members = sum(group.members for group in given)
    print(f"{time.monotonic() - started:.1f} s: {len(given)} groups, {members} members\n{done.stderr}\n{done.stdout}")
    assert done.returncode == 0, done.stderr
    verdicts = {row["group_id"]: row for row in spark.read.parquet(f"{out}/verdicts").collect()}
    assert {name: row["members"] for name, row in verdicts.items()} == {each.group_id: each.members for each in given}
    assert {row["migration"] for row in verdicts.values()} == {"online"}
    assert sorted(row["migration_order"] for row in verdicts.values()) == list(range(1, len(given) + 1))
    assert spark.read.parquet(f"{out}/rejects").isEmpty()
    owned = spark.read.parquet(f"{out}/fleet/members").selectExpr("sum(size(owned))").first()
    partitions = sum(TOPICS[topic] for group in given for topic in group.topics)
    assert owned == (partitions,)
    lag = spark.read.parquet(f"{out}/fleet/offsets").selectExpr("sum(end - committed)").first()
    assert lag == (partitions * (RECORDS - 1),)
    assert Path(out, "report.html").exists()


def test_a_group_that_rebalances_is_found(spark: SparkSession, broker_with_groups: Broker) -> None:
    """Its members wait for an assignment; so what they own is unknown."""
    servers = broker_with_groups.bootstrap_servers
    SilentGroup("waiting", 2, (RANGE,), ("topic-00",)).join(servers)
    capture = read_cluster(spark, servers)
    members = capture.members.where("group_id IN ('waiting', 'group-000')")
    states = {(row["group_id"], row["group_state"], row["owned"] is None) for row in members.collect()}
    assert states == {("waiting", "CompletingRebalance", True), ("group-000", "Stable", False)}
    found = members.transform(findings(capture.topics)).where("kind = 'rebalancing-now'")
    assert [row["group_id"] for row in found.collect()] == ["waiting"]
