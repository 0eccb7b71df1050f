"""Records read from a real topic are in the partitions predicted for the producers that sent them."""

import os
import random
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pyspark
import pytest
from confluent_kafka.admin import AclOperation, ResourceType
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from rebalance_sim import partition
from rebalance_sim.errors import UserError
from rebalance_sim.sources.live_cluster.topic_records import PACKAGE, read_records
from rebalance_sim.tables import RECORDS
from tests.real.conftest import ALICE, VERSIONS, alices_properties, allow
from tests.support.cluster.broker import Broker
from tests.support.cluster.producers import Record, send_by_java, send_by_kafka_python, send_by_librdkafka
from tests.support.spark_settings import FOR_A_SHORT_LIFE
from tests.support.submitted_jobs import ROOT, environment, submitted

pytestmark = [pytest.mark.cluster, pytest.mark.filterwarnings("ignore:(read|open)_text is deprecated")]

KEYS = 100_000
PARTITIONS = {"java-3.3": 12, "java-2.3": 7, "librdkafka": 7, "librdkafka-murmur2-random": 7, "kafka-python": 7}
"""Partitions of each topic, which is named after its client. Not a power of two, which would hide wrong signs."""
CRC32 = {"librdkafka"}
"""The other clients hash with murmur2."""
PACKAGES = (PACKAGE, PACKAGE.replace(pyspark.__version__, "4.2.0"))
"""Maven Central gets a release of Spark later than PyPI; the previous release works as well."""
_unresolved: set[str] = set()


def some_records(topic: str) -> list[Record]:
    """Return a tombstone and values of many lengths; keys of bytes and text, a quarter of them repeated."""
    draw = random.Random(5)
    # librdkafka's consistent_random sends an empty key to a random partition.
    shortest = 1 if topic == "librdkafka" else 0
    keys = [draw.randbytes(draw.randrange(shortest, 80)) for _ in range(KEYS // 2)]
    keys += [f"{draw.choice(['customer', 'Zoë', 'клиент', '顧客', '🚲'])}-{n}".encode() for n in range(KEYS // 4)]
    keys += draw.choices(keys, k=KEYS - len(keys))
    return [(key, b"v" * (place % 50) if place else None) for place, key in enumerate(keys)]


@pytest.fixture(scope="module")
def sent(live_broker: Broker) -> Broker:
    servers = live_broker.bootstrap_servers
    admin = live_broker.admin()
    live_broker.create_topics(PARTITIONS)
    allow(admin, ResourceType.TOPIC, "*", AclOperation.READ)
    allow(admin, ResourceType.BROKER, "kafka-cluster")
    senders: dict[str, Callable[[str, str, Sequence[Record]], None]] = {
        "java-3.3": partial(send_by_java, "4.3.1"),
        "java-2.3": partial(send_by_java, "2.3.1"),
        "librdkafka": partial(send_by_librdkafka, partitioner="consistent_random"),
        "librdkafka-murmur2-random": partial(send_by_librdkafka, partitioner="murmur2_random"),
        "kafka-python": send_by_kafka_python,
    }
    with ThreadPoolExecutor() as at_once:
        sending = [at_once.submit(send, servers, topic, some_records(topic)) for topic, send in senders.items()]
    for each in sending:
        each.result()
    return live_broker


def run_job(job: str, arguments: Sequence[str]) -> "subprocess.CompletedProcess[str]":
    """Run the job in its own Spark with a verbose log, and the first of the packages that can be fetched."""
    for package in PACKAGES:
        if package in _unresolved:
            continue
        done = _run_job(package, job, arguments)
        if "unresolved dependency" not in done.stdout + done.stderr:
            return done
        _unresolved.add(package)
    pytest.skip(f"Maven cannot fetch {' or '.join(PACKAGES)}")


def _run_job(package: str, job: str, arguments: Sequence[str]) -> "subprocess.CompletedProcess[str]":
    """The tests' session is started without the package."""
    settings = FOR_A_SHORT_LIFE | {"spark.jars.packages": package, "spark.log.level": "INFO"}
    return subprocess.run(
        submitted("local[2]", [job, *arguments], settings),
        check=False,
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=os.environ | environment(),
        timeout=300,
    )


@pytest.mark.parametrize("live_broker", [VERSIONS[0]], indirect=True)
def test_records_are_in_the_predicted_partitions(spark: SparkSession, sent: Broker, tmp_path: Path) -> None:
    """No log contains the user's password, not even Spark's verbose one."""
    arguments = ["--bootstrap-servers", sent.sasl_bootstrap_servers, "--command-config", alices_properties(tmp_path)]
    arguments += ["--records-from", ",".join(PARTITIONS), "--out", f"{tmp_path}/out"]
    done = run_job("fleet", arguments)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "PlainLoginModule" not in done.stdout + done.stderr
    assert ALICE["alice"] not in done.stdout + done.stderr
    assert "sasl.jaas.config = [hidden]" in done.stderr

    topics, records = (spark.read.parquet(f"{tmp_path}/out/{name}") for name in ("topics", "records"))
    assert records.columns == RECORDS.names
    assert records.where("value_bytes IS NULL").count() == len(PARTITIONS)
    assert records.where("timestamp_ms > 1.6e12 AND seq >= 0").count() == len(PARTITIONS) * KEYS
    used = records.groupBy("topic").agg(F.count_distinct("actual_partition"))
    assert dict(used.collect()) == PARTITIONS
    for topic in PARTITIONS:
        keys = records.where(F.col("topic") == topic).select("key").toArrow()["key"].to_pylist()
        assert sorted(keys) == sorted(key for key, _ in some_records(topic))

    senders = F.col("topic")
    others = F.when(senders.isin(*CRC32), "java-3.3").otherwise("librdkafka")
    assert as_predicted(records.withColumn("client", senders), topics) == dict.fromkeys(PARTITIONS, KEYS)
    assert max(as_predicted(records.withColumn("client", others), topics).values()) < KEYS / 5


def as_predicted(records: DataFrame, topics: DataFrame) -> dict[str, int]:
    """Return how many records of each topic are in the predicted partition."""
    same = F.count_if(F.col("partition") == F.col("actual_partition"))
    return dict(records.transform(partition(topics)).groupBy("topic").agg(same).collect())


def test_a_session_without_the_source_for_kafka_is_an_error(spark: SparkSession) -> None:
    with pytest.raises(UserError, match=rf"no source for Kafka: start it with --packages {PACKAGE}"):
        read_records(spark, "127.0.0.1:1", ["t"])


def test_a_package_that_cannot_be_fetched_is_an_error() -> None:
    start = "from rebalance_sim.engine.spark.session import session; session('test', ['rebalancesim:nothing:1'])"
    inherited = {name: value for name, value in os.environ.items() if name != "PYSPARK_GATEWAY_PORT"}
    done = subprocess.run(
        [sys.executable, "-c", start],
        check=False,
        capture_output=True,
        text=True,
        env=inherited | {"PYTHONPATH": str(ROOT)},
        timeout=300,
    )
    assert "UserError: Spark cannot start with rebalancesim:nothing:1 from a Maven repository" in done.stderr
