"""Producers, record by record, compared with Kafka's released classes and with reference implementations."""

import random
from typing import Any

import numpy as np
import pytest

from rebalance_sim.kafka.partitioners.clients import CLIENTS
from rebalance_sim.kafka.partitioners.producers import ProducerTopics, RecordsToSend, send
from rebalance_sim.kafka.partitioners.record_accumulator import NONE, ProducerSettings
from tests.oracle.partitioner_cases import producer_cases
from tests.reference.other_clients import other_producer_answer
from tests.reference.record_accumulator import producer_answer
from tests.support.cases import JsonObject, golden
from tests.support.examples import scaled

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


def answer(client: str, case: JsonObject) -> JsonObject:
    """Return the answer in the oracle's form, with sorted batches."""
    names, records = list(case["topics"]), case["records"]
    no_leader = {tuple(partition) for partition in case["unavailable"]}
    topics = ProducerTopics(
        np.zeros(len(names), np.int64),
        np.full(len(names), int(CLIENTS[client].unkeyed)),
        np.array([case["topics"][name] for name in names]),
        np.array([(name, n) not in no_leader for name in names for n in range(case["topics"][name])], np.int64),
    )
    columns = [[record[name] for record in records] for name in ("partition", "key_bytes", "value_bytes", "at_ms")]
    places = np.array([names.index(record["topic"]) for record in records], np.int64)
    settings = ProducerSettings(case["batch_size"], case["linger_ms"], case["adaptive"])
    given = RecordsToSend(np.arange(len(records)), places, *map(numbers, columns))
    sent = send(settings, np.array([case["seed"]]), topics, given)
    batches = [
        {
            "topic": record["topic"],
            "partition": partition,
            "records": count,
            "bytes": size,
            "created_ms": opened,
            "drained_ms": None if closed == NONE else closed,
        }
        for record, partition, count, size, opened, closed in zip(
            records, *(column.tolist() for column in sent), strict=True
        )
        if count
    ]
    return {"partitions": sent.partitions.tolist(), "batches": in_order(batches)}


def in_order(batches: list[JsonObject]) -> list[JsonObject]:
    return sorted(batches, key=lambda batch: [(value is None, value) for value in batch.values()])


def sorted_answer(answer: JsonObject) -> JsonObject:
    return {"partitions": answer["partitions"], "batches": in_order(answer["batches"])}


@pytest.mark.parametrize("version", CLIENT_OF_AGE)
def test_java_producers_place_records_as_kafkas_classes_did(version: str) -> None:
    cases, answers = golden("cases-producer"), golden(f"producer-{version}")
    count = scaled(len(cases))
    ours = [answer(CLIENT_OF_AGE[version], case) for case in cases[:count]]
    assert ours == [sorted_answer(of_kafka) for of_kafka in answers[:count]]


@pytest.mark.parametrize("version", CLIENT_OF_AGE)
def test_java_producers_equal_the_reference_implementation(version: str) -> None:
    for case in producer_cases(11, scaled(200)):
        assert answer(CLIENT_OF_AGE[version], case) == sorted_answer(producer_answer(version, case))


@pytest.mark.parametrize("client", OTHERS)
def test_producers_of_other_clients_equal_the_reference_implementation(client: str) -> None:
    for case in producer_cases(12, scaled(60)):
        assert answer(client, case) == sorted_answer(other_producer_answer(client, case))


def test_the_rules_of_all_clients_are_compared() -> None:
    tried = {CLIENTS[client].unkeyed for client in (*CLIENT_OF_AGE.values(), *OTHERS)}
    assert tried == {client.unkeyed for client in CLIENTS.values()}


def test_producers_do_not_disturb_each_other() -> None:
    """Two alternating producers send the same as each of them alone."""
    rng = random.Random(5)
    count, partitions = 400, 8
    turns, at_ms = np.array([rng.randrange(2) for _ in range(count)]), np.arange(count) // 3
    nothing, sizes = np.full(count, NONE), np.array([rng.randrange(100) for _ in range(count)])
    seeds, rule = np.array([100, 200]), int(CLIENTS["java-3.3"].unkeyed)

    def sent_by(*whose: int) -> list[list[int]]:
        mine = np.isin(turns, whose)
        topics = ProducerTopics(
            np.arange(len(whose)),
            np.full(len(whose), rule),
            np.full(len(whose), partitions),
            np.ones(partitions * len(whose), np.int64),
        )
        places = np.searchsorted(whose, turns[mine])
        records = RecordsToSend(np.arange(len(places)), places, nothing[mine], nothing[mine], sizes[mine], at_ms[mine])
        sent = send(ProducerSettings(300, 5), seeds[list(whose)], topics, records)
        return [sent.partitions[places == place].tolist() for place in range(len(whose))]

    assert sent_by(0, 1) == sent_by(0) + sent_by(1)


@pytest.mark.parametrize(("client", "expected"), [("java-2.3", [1, 2, 0]), ("kafkajs", [2, 0, 1])])
def test_round_robin_starts_at_a_random_number(client: str, expected: list[int]) -> None:
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


def test_the_clock_of_a_producer_never_goes_back() -> None:
    """The batch of the first record lingers from 100 on, although the second record is from 40."""
    one, nothing = np.ones(1, np.int64), np.full(2, NONE)
    topics = ProducerTopics(np.zeros(1, np.int64), np.zeros(1, np.int64), one, one)
    records = RecordsToSend(np.arange(2), np.zeros(2, np.int64), nothing, nothing, nothing, np.array([100, 40]))
    sent = send(ProducerSettings(linger_ms=5), one, topics, records)
    assert (sent.batch_records[0], sent.opened_ms[0], sent.closed_ms[0]) == (2, 100, 105)


def test_producers_without_records_send_nothing() -> None:
    nothing = np.empty(0, np.int64)
    sent = send(ProducerSettings(), nothing, ProducerTopics(*[nothing] * 4), RecordsToSend(*[nothing] * 6))
    assert [len(column) for column in sent] == [0, 0, 0, 0, 0]
