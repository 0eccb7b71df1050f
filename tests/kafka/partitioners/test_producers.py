"""Producers: against Kafka's released classes, and the rules of other clients worked out by hand."""

import random
from itertools import accumulate
from typing import Any

import numpy as np
import pytest

from rebalance_sim.kafka.partitioners.clients import CLIENTS
from rebalance_sim.kafka.partitioners.partitioner import KeyHash
from rebalance_sim.kafka.partitioners.producers import ProducerTopics, RecordsToSend, send
from rebalance_sim.kafka.partitioners.record_accumulator import NONE, ProducerSettings
from rebalance_sim.kafka.runtime.thread_local_random import next_positive, states
from tests.oracle.oracle import (
    BUILT_IN_PARTITIONER_VERSIONS,
    DEFAULT_PARTITIONER_VERSIONS,
    GOLDEN_PRODUCERS,
    PRODUCER_VERSIONS,
)
from tests.support.cases import JsonObject, golden, golden_sample
from tests.support.producer_answers import answer, differences, producer_answer

RULES = {
    "murmur2": PRODUCER_VERSIONS,
    "default-partitioner": DEFAULT_PARTITIONER_VERSIONS,
    "built-in-partitioner": BUILT_IN_PARTITIONER_VERSIONS,
    "producer": GOLDEN_PRODUCERS,
}
SEED = 42


# ---- Kafka's classes


@pytest.mark.parametrize(("rule", "version"), [(rule, version) for rule in RULES for version in RULES[rule]])
def test_answers_are_those_of_kafkas_classes(rule: str, version: str) -> None:
    cases, answers = golden_sample(f"cases-{rule}"), golden_sample(f"{rule}-{version}")
    assert differences(version, cases, answers) == []


def test_many_steps_of_the_built_in_partitioner_are_compared() -> None:
    """Not those that follow one that cannot happen to a producer."""
    cases = golden("cases-built-in-partitioner")
    compared = sum(len(answer("4.3", case)["partitions"]) for case in cases)
    assert compared > sum(len(case["steps"]) for case in cases) / 3


# ---- other clients, whose rules are used with the random numbers of ``ThreadLocalRandom``


def drawn(numbers: int) -> list[int]:
    """Return the first random numbers of a producer with the seed."""
    state = states(np.array([SEED]))
    return [next_positive(state, 0) for _ in range(numbers)]


def placed(client: str, records: list[JsonObject], without_leader: tuple[int, ...] = (), **others: Any) -> list[int]:
    """Return the partitions of records to a topic of three partitions, unless it is said to have more."""
    case = {"topics": {"t": 3}, "seed": SEED, "batch_size": 100, "linger_ms": 0, "adaptive": False, **others}
    unavailable = [["t", number] for number in without_leader]
    found: list[int] = producer_answer(client, case | {"records": records, "unavailable": unavailable})["partitions"]
    return found


def record(at_ms: int, partition: int | None = None, value_bytes: int = 1, topic: str = "t") -> JsonObject:
    return {"at_ms": at_ms, "topic": topic, "partition": partition, "key_bytes": None, "value_bytes": value_bytes}


def unkeyed(client: str, *at_ms: int, without_leader: tuple[int, ...] = ()) -> list[int]:
    """Return the partitions of records without a key that are sent at these times."""
    return placed(client, [record(at) for at in at_ms], without_leader)


@pytest.mark.parametrize(
    ("client", "without_leader", "expected"),
    [
        # A random start: the first number of the seed is 756,844,384, which is 1 modulo 3.
        ("java-2.3", (), [1, 2, 0, 1]),
        ("kafkajs", (), [2, 0, 1, 2]),
        ("kafkajs", (1,), [2, 0, 2, 0]),
        ("kafkajs", (0, 1, 2), [2, 0, 1, 2]),
        # From the first partition.
        ("java-4.0-round-robin", (1,), [0, 2, 0, 2]),
        ("java-4.0-round-robin", (0, 1, 2), [0, 1, 2, 0]),
        ("kafka-rust", (1,), [0, 2, 0, 2]),
        # Among all partitions.
        ("kafka-go-hash", (1,), [0, 1, 2, 0]),
    ],
)
def test_round_robin_takes_turns_among_available_partitions(
    client: str, without_leader: tuple[int, ...], expected: list[int]
) -> None:
    assert unkeyed(client, 0, 0, 0, 0, without_leader=without_leader) == expected


def test_round_robin_partitioner_counts_each_topic_alone() -> None:
    records = [record(0, topic=topic) for topic in ("t", "u", "t", "u")]
    assert placed("java-4.0-round-robin", records, topics={"t": 3, "u": 3}) == [0, 0, 1, 1]


def test_round_robin_partitioner_before_3_9_2_loses_the_turn_of_a_record_that_opens_a_batch() -> None:
    """KAFKA-9965: of two partitions only the second gets records, if every record needs a batch of its own.

    The first turns of the records are 0, 2, 4 and so on.
    """
    large = [record(0, value_bytes=200) for _ in range(4)]
    assert placed("java-2.4-round-robin", large, topics={"t": 2}) == [1, 1, 1, 1]
    assert placed("java-4.0-round-robin", large, topics={"t": 2}) == [0, 1, 0, 1]
    # The batches of 1 and 0 are open after the turns 0, 1 and 2, 3; the third record takes turn 4 only.
    small = [record(0) for _ in range(5)]
    assert placed("java-2.4-round-robin", small, topics={"t": 3}) == [1, 0, 1, 0, 1]


def test_round_robin_partitioner_takes_no_turn_for_an_explicit_partition() -> None:
    records = [record(0, 2), record(0), record(0, 2), record(0)]
    assert placed("java-4.0-round-robin", records) == [2, 0, 2, 1]


def test_uniform_sticky_partitioner_places_records_with_keys_as_those_without() -> None:
    records = [{**record(at), "key_bytes": 3} for at in (0, 0, 5, 5)]
    assert placed("java-uniform-sticky", records) == placed("java-2.4", records)
    assert CLIENTS["java-uniform-sticky"].hash is KeyHash.NONE


def test_kafka_go_prefers_the_partition_with_the_fewest_bytes() -> None:
    """Records of 5, 1, 1, 2 and 1 bytes; partitions without a leader count, too."""
    sizes = [5, 1, 1, 2, 1, 1]
    found = placed("kafka-go-least-bytes", [record(0, value_bytes=size) for size in sizes], without_leader=(1,))
    assert found == [0, 1, 2, 1, 2, 2]


# The topics and sizes of records that one producer sends.
ONE_COUNTER = {"t": 3, "u": 3, "v": 2}
ALTERNATING = (("t", 5), ("u", 1), ("t", 2), ("u", 1), ("v", 1), ("v", 1), ("t", 1), ("u", 1), ("v", 1))


@pytest.mark.parametrize(
    ("client", "expected"),
    [
        ("kafka-go", [0, 1, 2, 0, 0, 1, 0, 1, 0]),
        ("kafka-go-hash", [0, 1, 2, 0, 0, 1, 0, 1, 0]),
        ("kafka-go-least-bytes", [0, 1, 2, 1, 0, 1, 0, 1, 0]),
        ("kafka-rust", [0, 1, 2, 0, 0, 1, 0, 1, 0]),
        ("platformatic-kafka", [0, 0, 1, 1, 0, 1, 2, 2, 0]),
    ],
)
def test_one_counter_for_all_topics_of_a_producer(client: str, expected: list[int]) -> None:
    """The answers are those of kafka-go 0.4.51, whose Writer has one balancer for all topics.

    ``LeastBytes`` begins to count again whenever the number of partitions differs from that of the record before.
    """
    records = [record(0, value_bytes=size, topic=topic) for topic, size in ALTERNATING]
    assert placed(client, records, topics=ONE_COUNTER) == expected


def test_two_alternating_topics_of_kafka_go_leave_half_of_the_partitions_idle() -> None:
    """Reported as segmentio/kafka-go issue 1300."""
    records = [record(0, topic=topic) for topic in ("t", "u") * 4]
    assert placed("kafka-go", records, topics={"t": 4, "u": 4}) == [0, 1, 2, 3] * 2


def test_kafka_rust_does_not_count_records_that_fail() -> None:
    records = [record(0, topic=topic) for topic in ("t", "u", "t", "u", "t")]
    found = placed("kafka-rust", records, (0, 1, 2), topics={"t": 3, "u": 3})
    assert [found[1], found[3]] == [0, 1]


def test_a_random_partition_of_all_or_of_those_available() -> None:
    numbers = drawn(20)
    times = [0] * len(numbers)
    assert unkeyed("kafka-go-murmur2", *times, without_leader=(1,)) == [number % 3 for number in numbers]
    assert unkeyed("kafka-python", *times, without_leader=(1,)) == [(0, 2)[number % 2] for number in numbers]
    assert unkeyed("kafka-python", *times, without_leader=(0, 1, 2)) == [number % 3 for number in numbers]


def test_librdkafka_draws_again_if_the_first_partition_has_no_leader() -> None:
    numbers = iter(drawn(40))
    expected = []
    for _ in range(20):
        first = next(numbers) % 3
        expected.append(next(numbers) % 3 if first == 1 else first)
    assert unkeyed("librdkafka-random", *[0] * 20, without_leader=(1,)) == expected


def test_librdkafka_keeps_a_partition_until_more_than_ten_milliseconds_have_passed() -> None:
    first, second, third = (number % 100 for number in drawn(3))
    records = [record(at) for at in (0, 10, 11, 21, 22)]
    assert placed("librdkafka", records, topics={"t": 100}) == [first, first, second, second, third]


def test_librdkafka_keeps_no_partition_without_a_leader() -> None:
    assert unkeyed("librdkafka", 0, 0, 0, without_leader=(0, 1, 2)) == [number % 3 for number in drawn(6)[1::2]]


def test_pulsar_takes_the_next_partition_every_ten_milliseconds() -> None:
    times, start = (0, 9, 10, 25, 100), drawn(1)[0]
    assert unkeyed("pulsar", *times, without_leader=(0,)) == [(at // 10 + start) % 3 for at in times]


@pytest.mark.parametrize(("value_bytes", "draws"), [(32_759, [0, 0, 1]), (32_760, [0, 1, 2])])
def test_franz_go_keeps_a_partition_for_less_than_64_kibibytes(value_bytes: int, draws: list[int]) -> None:
    """A record counts 4 bytes, 1 for the null key, 3 for the length of its value, and the value."""
    numbers = drawn(3)
    records = [record(0, value_bytes=value_bytes)] * 3
    assert placed("franz-go", records, topics={"t": 101}, without_leader=(100,)) == [numbers[n] % 100 for n in draws]


def test_franz_go_prefers_partitions_with_fewer_buffered_records() -> None:
    """A partition is drawn for every large record; the sender takes all records before the next millisecond."""
    draws = 20
    numbers = iter(drawn(2 * draws))
    records, expected = [], []
    for at_ms in (0, 1):
        records += [*[record(at_ms, 0)] * 5, record(at_ms, 3), *[record(at_ms, value_bytes=70_000)] * draws]
        buffered = {0: 5, 2: 0, 3: 1}
        for _ in range(draws):
            edges = list(accumulate(1 / (1 + count) for count in buffered.values()))
            pick = next(numbers) / 2**31 * edges[-1]
            expected.append(next(n for n, edge in zip(buffered, edges, strict=True) if pick <= edge))
            buffered[expected[-1]] += 1
    found = placed("franz-go", records, (1,), topics={"t": 4}, adaptive=True)
    assert [n for n, each in zip(found, records, strict=True) if each["partition"] is None] == expected


# ---- producers


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
