"""Records read from a real topic: they are where the producers that sent them are predicted to send them."""

import os
import random
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyspark
import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AclOperation, AdminClient, NewTopic, ResourceType
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from rebalance_sim import partition
from rebalance_sim.engine.java_runtime import java_home
from rebalance_sim.errors import UserError
from rebalance_sim.sources.topic_records import PACKAGE, read_records
from rebalance_sim.tables import RECORDS
from tests.cluster.broker import Broker
from tests.cluster.conftest import ALICE, VERSIONS, alices_properties, allow

pytestmark = [pytest.mark.cluster, pytest.mark.filterwarnings("ignore:(read|open)_text is deprecated")]

ROOT = Path(__file__).parents[2]
KEYS = 1000
PARTITIONS = 7
TOPICS = {
    "by-librdkafka": "librdkafka",
    "by-librdkafka-murmur2": "librdkafka-murmur2-random",
    "by-kafka-python": "kafka-python",
}
"""Topics, by the client whose rules its producer follows."""
PACKAGES = (PACKAGE, PACKAGE.replace(pyspark.__version__, "4.2.0"))
"""Maven's repositories get a release of Spark later than PyPI does; the release before works as well."""


def some_keys() -> list[bytes]:
    draw = random.Random(5)
    binary = [draw.randbytes(draw.randrange(1, 40)) for _ in range(KEYS // 2)]
    return binary + [f"customer-{n}".encode() for n in range(KEYS - len(binary))]


def send_by_librdkafka(servers: str, topic: str, keys: Sequence[bytes], partitioner: str) -> None:
    producer = Producer({"bootstrap.servers": servers, "partitioner": partitioner, "log_level": 0})
    for place, key in enumerate(keys):
        # A tombstone among them.
        producer.produce(topic, b"v" * (place % 50) if place else None, key)
    assert producer.flush(60) == 0


def send_by_kafka_python(servers: str, topic: str, keys: Sequence[bytes]) -> None:
    from kafka import KafkaProducer  # noqa: PLC0415 - the whole package, which warns

    producer = KafkaProducer(bootstrap_servers=servers)
    for place, key in enumerate(keys):
        producer.send(topic, b"v" * (place % 50) if place else None, key)
    producer.flush(60)
    producer.close()


@pytest.fixture(scope="module")
def sent(live_broker: Broker) -> Broker:
    servers = live_broker.bootstrap_servers
    admin = AdminClient({"bootstrap.servers": servers, "log_level": 0})
    for created in admin.create_topics([NewTopic(topic, PARTITIONS, 1) for topic in TOPICS]).values():
        created.result()
    allow(admin, ResourceType.TOPIC, "*", AclOperation.READ)
    allow(admin, ResourceType.BROKER, "kafka-cluster")
    send_by_librdkafka(servers, "by-librdkafka", some_keys(), "consistent_random")
    send_by_librdkafka(servers, "by-librdkafka-murmur2", some_keys(), "murmur2_random")
    send_by_kafka_python(servers, "by-kafka-python", some_keys())
    return live_broker


def run_fleet(package: str, arguments: Sequence[str]) -> "subprocess.CompletedProcess[str]":
    """With a Spark of its own: the tests' session was started without the package."""
    submit = [f"{Path(sys.executable).parent}/spark-submit", "--master", "local[2]", "--packages", package]
    environment: Mapping[str, str] = os.environ | {
        "JAVA_HOME": str(java_home()),
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": str(ROOT),
    }
    return subprocess.run(
        [*submit, "--conf", "spark.driver.host=127.0.0.1", str(ROOT / "jobs" / "fleet.py"), *arguments],
        check=False,
        capture_output=True,
        text=True,
        env=environment,
        timeout=300,
    )


@pytest.mark.parametrize("live_broker", [VERSIONS[0]], indirect=True)
def test_records_are_where_they_are_predicted(spark: SparkSession, sent: Broker, tmp_path: Path) -> None:
    """They are read by a user whose password no log has, not even that of Spark, which tells much here."""
    arguments = ["--bootstrap-servers", sent.sasl_bootstrap_servers, "--command-config", alices_properties(tmp_path)]
    arguments += ["--records-from", ",".join(TOPICS), "--out", f"{tmp_path}/out"]
    for package in PACKAGES:
        done = run_fleet(package, arguments)
        if "unresolved dependency" not in done.stdout + done.stderr:
            break
    else:
        pytest.skip(f"Maven cannot fetch {' or '.join(PACKAGES)}")
    assert done.returncode == 0, done.stderr[-3000:]
    assert "PlainLoginModule" not in done.stdout + done.stderr
    assert ALICE["alice"] not in done.stdout + done.stderr
    assert "sasl.jaas.config = [hidden]" in done.stderr

    topics, records = (spark.read.parquet(f"{tmp_path}/out/{name}") for name in ("topics", "records"))
    assert records.columns == RECORDS.names
    assert records.where("value_bytes IS NULL").count() == len(TOPICS)
    assert records.where("timestamp_ms > 1.6e12 AND seq >= 0").count() == len(TOPICS) * KEYS
    for topic, client in TOPICS.items():
        real = records.where(F.col("topic") == topic)
        assert sorted(bytes(row["key"]) for row in real.collect()) == sorted(some_keys())
        placed = real.transform(partition(topics, [client]))
        assert placed.where("partition = sent_to").count() == KEYS
        assert placed.select("sent_to").distinct().count() == PARTITIONS
    other = records.where("topic = 'by-librdkafka'").transform(partition(topics, ["java-3.3"]))
    assert other.where("partition = sent_to").count() < KEYS / 2


def test_a_session_without_the_source(spark: SparkSession) -> None:
    with pytest.raises(UserError, match=rf"no source for Kafka: start it with --packages {PACKAGE}"):
        read_records(spark, "127.0.0.1:1", ["t"])


def test_a_package_that_cannot_be_fetched() -> None:
    start = "from rebalance_sim.engine.session import session; session('test', ['rebalancesim:nothing:1'])"
    environment = {name: value for name, value in os.environ.items() if name != "PYSPARK_GATEWAY_PORT"}
    done = subprocess.run(
        [sys.executable, "-c", start],
        check=False,
        capture_output=True,
        text=True,
        env=environment | {"PYTHONPATH": str(ROOT)},
        timeout=300,
    )
    assert "UserError: Spark does not start with rebalancesim:nothing:1, which it fetches from a Maven" in done.stderr
