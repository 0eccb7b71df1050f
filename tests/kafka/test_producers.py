"""Producers, record by record: as Kafka's released classes answered, as plain Python does, and by hand."""

import random
from typing import Any

import numpy as np
import pytest

from rebalance_sim.kafka.partitioners.clients import CLIENTS
from rebalance_sim.kafka.partitioners.producers import NONE, Producers, Settings
from tests.kafka.cases import JsonObject, golden
from tests.kafka.examples import scaled
from tests.naive.other_clients import other_producer_answer
from tests.naive.record_accumulator import producer_answer
from tests.oracle.partitioner_cases import producer_cases

CLIENT_OF_AGE = {"2.3": "java-2.3", "2.8": "java-2.4", "4.3": "java-3.3"}
OTHERS = (
    "kafkajs",
    "kafka-go-hash",
    "kafka-go-murmur2",
    "kafka-python",
    "librdkafka-random",
    "librdkafka",
    "franz-go",
    "pulsar",
)


def numbers(values: list[int | None]) -> Any:
    return np.array([NONE if value is None else value for value in values], np.int64)


def answer(client: str, case: JsonObject, sent_at_once: int = 7) -> JsonObject:
    """As the oracle answers, with the batches in order."""
    fleet = Producers(Settings(case["batch_size"], case["linger_ms"], case["adaptive"]))
    names, records = list(case["topics"]), case["records"]
    no_leader = {tuple(partition) for partition in case["unavailable"]}
    topics = fleet.add_topics(
        np.repeat(fleet.add_producers(np.array([case["seed"]])), len(names)),
        np.full(len(names), int(CLIENTS[client].unkeyed)),
        np.array([case["topics"][name] for name in names]),
        np.array([(name, n) not in no_leader for name in names for n in range(case["topics"][name])], np.int64),
    )
    partitions, batches = [], []
    for start in range(0, len(records), sent_at_once):
        some = records[start : start + sent_at_once]
        columns = [[record[name] for record in some] for name in ("partition", "key_bytes", "value_bytes", "at_ms")]
        places = topics[[names.index(record["topic"]) for record in some]]
        partitions += fleet.send(places, *map(numbers, columns)).tolist()
        batches.append(fleet.take_sent())
    fleet.finish()
    batches.append(fleet.take_sent())
    told = [
        {
            "topic": names[topic],
            "partition": partition,
            "records": count,
            "bytes": size,
            "created_ms": opened,
            "drained_ms": None if closed == NONE else closed,
        }
        for sent in batches
        for topic, partition, count, size, opened, closed in zip(*(column.tolist() for column in sent), strict=True)
    ]
    return {"partitions": partitions, "batches": in_order(told)}


def in_order(batches: list[JsonObject]) -> list[JsonObject]:
    return sorted(batches, key=lambda batch: [(value is None, value) for value in batch.values()])


def sorted_answer(told: JsonObject) -> JsonObject:
    return {"partitions": told["partitions"], "batches": in_order(told["batches"])}


@pytest.mark.parametrize("version", CLIENT_OF_AGE)
def test_golden(version: str) -> None:
    cases, told = golden("cases-producer"), golden(f"producer-{version}")
    count = scaled(len(cases))
    ours = [answer(CLIENT_OF_AGE[version], case) for case in cases[:count]]
    assert ours == [sorted_answer(of_kafka) for of_kafka in told[:count]]


@pytest.mark.parametrize("version", CLIENT_OF_AGE)
def test_twins_of_java(version: str) -> None:
    for case in producer_cases(11, scaled(200)):
        assert answer(CLIENT_OF_AGE[version], case, 1000) == sorted_answer(producer_answer(version, case))


@pytest.mark.parametrize("client", OTHERS)
def test_twins_of_other_clients(client: str) -> None:
    for case in producer_cases(12, scaled(60)):
        assert answer(client, case) == sorted_answer(other_producer_answer(client, case))


def test_rules_of_all_clients_are_tried() -> None:
    tried = {CLIENTS[client].unkeyed for client in (*CLIENT_OF_AGE.values(), *OTHERS)}
    assert tried == {client.unkeyed for client in CLIENTS.values()}


def test_producers_do_not_disturb_each_other() -> None:
    """Two producers that take turns send what each would alone."""
    rng = random.Random(5)
    settings, records = Settings(300, 5), 400
    rules = np.full(2, int(CLIENTS["java-3.3"].unkeyed))
    turns, at_ms = np.array([rng.randrange(2) for _ in range(records)]), np.arange(records) // 3
    nothing, sizes = np.full(records, NONE), np.array([rng.randrange(100) for _ in range(records)])

    def partitions(whose: list[int]) -> list[list[int]]:
        fleet, mine = Producers(settings), np.isin(turns, whose)
        owners = fleet.add_producers(np.array([100, 200])[whose])
        topics = fleet.add_topics(owners, rules[whose], np.full(len(whose), 8), np.ones(8 * len(whose), np.int64))
        places = topics[np.searchsorted(whose, turns[mine])]
        sent = fleet.send(places, nothing[mine], nothing[mine], sizes[mine], at_ms[mine])
        return [sent[turns[mine] == one].tolist() for one in whose]

    assert partitions([0, 1]) == partitions([0]) + partitions([1])


def test_rows_of_sent_batches_are_used_again() -> None:
    fleet = Producers(Settings())
    topics = fleet.add_topics(
        fleet.add_producers(np.array([1])), np.zeros(1, np.int64), np.array([1]), np.ones(1, np.int64)
    )
    one = np.ones(1, np.int64)
    count = 0
    for moment in range(100):
        fleet.send(topics, one * NONE, one * NONE, one, one * moment)
        count += len(fleet.take_sent().topics)
    assert count == 99
    assert len(fleet._batches) < 10


@pytest.mark.parametrize(("client", "expected"), [("java-2.3", [1, 2, 0]), ("kafkajs", [2, 0, 1])])
def test_round_robin_begins_anywhere(client: str, expected: list[int]) -> None:
    """The first number of seed 42 is 756,844,384, which is 1 modulo 3."""
    case = {
        "topics": {"t": 3},
        "unavailable": [],
        "batch_size": 100,
        "linger_ms": 0,
        "adaptive": True,
        "seed": 42,
        "records": [
            {"at_ms": 0, "topic": "t", "partition": None, "key_bytes": None, "value_bytes": 1} for _ in range(3)
        ],
    }
    assert answer(client, case)["partitions"] == expected


def test_time_that_goes_back_is_no_time() -> None:
    """The batch of the first record lingers from 100 on, whatever the second one's timestamp says."""
    fleet = Producers(Settings(linger_ms=5))
    topics = fleet.add_topics(
        fleet.add_producers(np.array([1])), np.zeros(1, np.int64), np.array([1]), np.ones(1, np.int64)
    )
    nothing = np.full(2, NONE)
    fleet.send(np.repeat(topics, 2), nothing, nothing, nothing, np.array([100, 40]))
    fleet.finish()
    sent = fleet.take_sent()
    assert (sent.records.tolist(), sent.opened_ms.tolist(), sent.closed_ms.tolist()) == ([2], [100], [105])
