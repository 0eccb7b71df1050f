"""A live cluster with hundreds of groups is audited from its brokers to the page; the time is printed (pytest -s)."""

import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.sql import SparkSession

from tests.real.conftest import VERSIONS, running
from tests.support.cluster.broker import Broker
from tests.support.cluster.capture import until
from tests.support.cluster.clients import JavaConsumers
from tests.support.cluster.fleet import COOPERATIVE, RANGE, ROBIN, SERVER, Client

pytestmark = [pytest.mark.cluster, pytest.mark.alone]

GROUPS, MEMBERS, AT_ONCE = 500, 2, 50
TOPICS = {f"topic-{number:02}": 4 + number % 9 for number in range(40)}
OFFERS = ((RANGE, COOPERATIVE), (RANGE, COOPERATIVE), (COOPERATIVE,), (ROBIN,), (f"{SERVER}uniform",))
QUIET = {"metadata.max.age.ms": "300000", "fetch.max.wait.ms": "30000"}
"""Settings with which consumers without records send little but heartbeats."""


def consumers() -> Iterator[tuple[str, Client]]:
    names = list(TOPICS)
    for number in range(GROUPS):
        group, topics = f"group-{number:03}", (names[number % len(names)], names[number * 7 % len(names)])
        for place in range(MEMBERS):
            client_id = f"{group}-{place}"
            offers = OFFERS[number % len(OFFERS)]
            yield client_id, Client(group, client_id, offers, tuple(sorted(set(topics))), commit="never")


@pytest.fixture(scope="module")
def broker_with_groups(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """Start a broker and the consumers of all groups; when the groups are stable, the members only send heartbeats."""
    directory = tmp_path_factory.mktemp("audited")
    with ExitStack() as stack:
        broker = stack.enter_context(running(VERSIONS[0], directory))
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers, "log_level": 0})
        for created in admin.create_topics([NewTopic(name, count, 1) for name, count in TOPICS.items()]).values():
            created.result()
        log = directory / "consumers.log"
        java = stack.enter_context(JavaConsumers(broker.version, broker.bootstrap_servers, log))
        for name, client in consumers():
            heartbeats = {} if client.next_generation else {"heartbeat.interval.ms": "10000"}
            java.start(name, client, QUIET | heartbeats)
        ids = sorted({client.group for _, client in consumers()})
        until(
            "all groups are stable",
            lambda: all(is_stable(admin, ids[n : n + AT_ONCE]) for n in range(0, GROUPS, AT_ONCE)),
        )
        with ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(java.stall, (name for name, _ in consumers())))
        yield broker


def is_stable(admin: AdminClient, group_ids: list[str]) -> bool:
    described = [future.result() for future in admin.describe_consumer_groups(group_ids).values()]
    return all(each.state.name == "STABLE" and len(each.members) == MEMBERS for each in described)


def test_every_group_of_a_live_cluster_is_audited(
    spark: SparkSession, broker_with_groups: Broker, tmp_path: Path
) -> None:
    out = f"{tmp_path}/out"
    command = [sys.executable, "-m", "rebalance_sim.cli", "audit", "--out", out]
    command += ["--bootstrap-servers", broker_with_groups.bootstrap_servers]
    started = time.monotonic()
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    print(f"{time.monotonic() - started:.1f} s for {GROUPS} groups of {MEMBERS} members\n{done.stdout}\n{done.stderr}")
    assert done.returncode == 0, done.stderr
    verdicts = spark.read.parquet(f"{out}/verdicts")
    assert verdicts.where(f"members = {MEMBERS}").count() == verdicts.count() == GROUPS
    counted = {row["migration"]: row["count"] for row in verdicts.groupBy("migration").count().collect()}
    assert counted == {"online": GROUPS * 4 // 5, "done": GROUPS // 5}
    assert spark.read.parquet(f"{out}/rejects").isEmpty()
    owned = spark.read.parquet(f"{out}/fleet/members").selectExpr("sum(size(owned)) AS owned").first()
    subscribed = {(client.group, topic) for _, client in consumers() for topic in client.topics}
    assert owned is not None
    assert owned["owned"] == sum(TOPICS[topic] for _, topic in subscribed)
    assert Path(out, "report.html").exists()
