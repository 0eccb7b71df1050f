"""The partitioners of librdkafka, kafka-python and kafka-go, called live, choose the predicted partitions."""

import ctypes
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Message, Producer, cimpl

from tests.support.cases import JsonObject
from tests.support.keys import partitions_of
from tests.support.library_programs import answers_of, go_program
from tests.support.producer_answers import producer_answer
from tests.support.shares import Draws

pytestmark = pytest.mark.clients

PARTITIONS = {"narrow": 3, "wide": 16, "odd": 101}
PARTITIONERS = {
    "consistent_random": "librdkafka",
    "random": "librdkafka-random",
    "consistent": "librdkafka-consistent",
    "murmur2": "librdkafka-murmur2",
    "murmur2_random": "librdkafka-murmur2-random",
    "fnv1a": "librdkafka-fnv1a",
    "fnv1a_random": "librdkafka-fnv1a-random",
}
"""Clients by the value of librdkafka's option ``partitioner``."""


def some_keys() -> list[bytes | None]:
    """Return keys of random bytes, up to 100,000 bytes long, with null and empty keys between them."""
    draw = random.Random(4)
    keys = [draw.randbytes(draw.randrange(1, 40)) for _ in range(300)]
    keys += [f"customer-{i}".encode() for i in range(100)] + [draw.randbytes(100_000)]
    return [key for given in keys for key in (None, b"", given)]


KEYS = some_keys()


@pytest.fixture(scope="module")
def brokers() -> Iterator[str]:
    """Start librdkafka's mock cluster. Topics made outside of C get 4 partitions, where signs do not matter."""
    library = ctypes.CDLL(cimpl.__file__)
    library.rd_kafka_new.restype = library.rd_kafka_mock_cluster_new.restype = ctypes.c_void_p
    library.rd_kafka_mock_cluster_bootstraps.restype = ctypes.c_char_p
    producer = 0
    owner = ctypes.c_void_p(library.rd_kafka_new(producer, None, None, ctypes.c_size_t(0)))
    cluster = ctypes.c_void_p(library.rd_kafka_mock_cluster_new(owner, 1))
    for topic, partitions in PARTITIONS.items():
        assert library.rd_kafka_mock_topic_create(cluster, topic.encode(), partitions, 1) == 0
    yield library.rd_kafka_mock_cluster_bootstraps(cluster).decode()
    library.rd_kafka_mock_cluster_destroy(cluster)
    library.rd_kafka_destroy(owner)


def chosen(brokers: str, partitioner: str, topic: str, keys: Sequence[bytes | None]) -> list[int]:
    """Send a record for every key; return the partitions in the delivery reports."""
    partitions: dict[int, int] = {}
    producer = Producer({"bootstrap.servers": brokers, "partitioner": partitioner, "linger.ms": 5})
    assert producer.list_topics(topic, timeout=10).topics[topic].partitions.keys() == set(range(PARTITIONS[topic]))

    def delivered(error: Any, message: Message, place: int) -> None:
        assert error is None, error
        partitions[place] = message.partition()

    for i, key in enumerate(keys):
        producer.produce(topic, b"", key, on_delivery=lambda error, message, place=i: delivered(error, message, place))
    assert producer.flush(30) == 0
    return [partitions[i] for i in range(len(keys))]


@pytest.mark.parametrize("topic", PARTITIONS)
@pytest.mark.parametrize(("partitioner", "client"), PARTITIONERS.items())
def test_librdkafka_chooses_the_predicted_partitions(brokers: str, partitioner: str, client: str, topic: str) -> None:
    """Keys that it does not hash go to random partitions: to more than one."""
    found = chosen(brokers, partitioner, topic, KEYS)
    predicted = partitions_of(client, KEYS, [PARTITIONS[topic]] * len(KEYS))
    hashed = [(real, ours) for real, ours in zip(found, predicted, strict=True) if ours is not None]
    assert [real for real, _ in hashed] == [ours for _, ours in hashed]
    assert (None in predicted) == (client not in ("librdkafka-consistent", "librdkafka-murmur2", "librdkafka-fnv1a"))


class Metadata:
    """The methods of cluster metadata that kafka-python's partitioner calls."""

    def __init__(self, partitions: int) -> None:
        self._partitions = set(range(partitions))

    def topics(self) -> set[str]:
        return {"topic"}

    def partitions_for_topic(self, _topic: str) -> set[int]:
        return self._partitions

    def available_partitions_for_topic(self, _topic: str) -> set[int]:
        return {1}


@pytest.mark.filterwarnings("ignore:(read|open)_text is deprecated")
@pytest.mark.parametrize("partitions", PARTITIONS.values())
def test_kafka_python_chooses_the_predicted_partitions(partitions: int) -> None:
    """A record without key goes to an available partition; here there is only one."""
    from kafka.partitioner.default import DefaultPartitioner  # noqa: PLC0415 - the whole package, which warns

    real = DefaultPartitioner()
    found = [real.partition("topic", key, key, b"", b"", Metadata(partitions)) for key in KEYS]
    for client in ("kafka-python", "aiokafka"):
        predicted = partitions_of(client, KEYS, [partitions] * len(KEYS))
        assert [1 if partition is None else partition for partition in predicted] == found


def some_writers(seed: int, count: int) -> list[JsonObject]:
    """Return Writers of kafka-go that send records without a key to several topics."""
    draw = random.Random(seed)
    writers = []
    for _ in range(count):
        topics = {name: draw.randint(1, 4) for name in "tuv"[: draw.randint(1, 3)]}
        runs = [(draw.choice(list(topics)), draw.randint(1, 4)) for _ in range(20)]
        records = [
            {"topic": topic, "value_bytes": draw.randrange(20), "key_bytes": None, "partition": None, "at_ms": 0}
            for topic, length in runs
            for _ in range(length)
        ]
        writers.append({"topics": topics, "records": records})
    return writers


def test_a_writer_of_kafka_go_chooses_the_predicted_partitions(tmp_path: Path, seed: int, draws: Draws) -> None:
    """A Writer has one balancer for all its topics."""
    writers = some_writers(seed, draws(500))
    answers = answers_of(go_program("balancers", tmp_path), writers, tmp_path)
    settings = {"seed": 0, "batch_size": 100, "linger_ms": 0, "adaptive": False, "unavailable": []}
    for client in ("kafka-go", "kafka-go-hash", "kafka-go-least-bytes"):
        ours = [producer_answer(client, writer | settings)["partitions"] for writer in writers]
        assert ours == [answer[client] for answer in answers]
