"""The reference implementations give Kafka's own answers to the committed cases about producers."""

import pytest

from tests.oracle.make_golden import GOLDEN_PRODUCERS
from tests.oracle.oracle import BUILT_IN_PARTITIONER_VERSIONS, DEFAULT_PARTITIONER_VERSIONS, PRODUCER_VERSIONS
from tests.reference.partitioners import LoadStats, murmur2, partition_for_key
from tests.reference.record_accumulator import varint_bytes
from tests.support.cases import golden, producer_reference_answer

RULES = {
    "murmur2": PRODUCER_VERSIONS,
    "default-partitioner": DEFAULT_PARTITIONER_VERSIONS,
    "built-in-partitioner": BUILT_IN_PARTITIONER_VERSIONS,
    "producer": GOLDEN_PRODUCERS,
}


@pytest.mark.parametrize(("rule", "version"), [(rule, version) for rule in RULES for version in RULES[rule]])
def test_reference_implementations_give_kafkas_answers(rule: str, version: str) -> None:
    answers = [producer_reference_answer(version, case) for case in golden(f"cases-{rule}")]
    assert answers == golden(f"{rule}-{version}")


def test_ages_of_the_partitioner_answer_differently() -> None:
    """Releases are not confused: each age answers most cases differently."""
    by_age = [[answer["partitions"] for answer in golden(f"producer-{version}")] for version in GOLDEN_PRODUCERS]
    for first, second in ((0, 1), (1, 2), (0, 2)):
        assert sum(a != b for a, b in zip(by_age[first], by_age[second], strict=True)) > len(by_age[0]) / 2


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("21", -973932308),
        ("foobar", -790332482),
        ("a-little-bit-long-string", -985981536),
        ("a-little-bit-longer-string", -1486304829),
        ("lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        ("abc", 479470107),
        ("", 275646681),
    ],
)
def test_murmur2_of_kafkas_own_test(key: str, expected: int) -> None:
    assert murmur2(key.encode()) == expected


def test_partition_for_key() -> None:
    assert [partition_for_key(key, 1000) for key in (b"", b"a", b"ab", b"abc", b"123456789")] == [
        681,
        524,
        434,
        107,
        566,
    ]


def test_weights_of_kip_794() -> None:
    """The example of BuiltInPartitioner.updatePartitionLoadStats: queues of 0, 3 and 1 batches."""
    stats = LoadStats([4, 5, 8], [0, 1, 2])
    assert [stats.pick(random) for random in range(9)] == [0, 0, 0, 0, 1, 2, 2, 2, 0]


@pytest.mark.parametrize(
    ("value", "size"),
    [(0, 1), (-1, 1), (63, 1), (64, 2), (-64, 1), (-65, 2), (8191, 2), (8192, 3), (2**31 - 1, 5), (-(2**63), 10)],
)
def test_varint_bytes(value: int, size: int) -> None:
    assert varint_bytes(value) == size
