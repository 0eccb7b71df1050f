"""The hashes of keys, and the partitions that clients make of them."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalance_sim.kafka.partitioners.clients import CLIENTS
from rebalance_sim.kafka.partitioners.key_hashes import (
    crc32,
    fnv1a,
    java_string_hash,
    legacy_kafkajs_murmur2,
    murmur2,
    murmur3,
    phash2,
    sha1,
    xxhash32,
)
from rebalance_sim.kafka.partitioners.partitioner import KeyHash
from rebalance_sim.kafka.runtime.strings import Strings
from tests.reference.key_hashes import HASHES
from tests.support.examples import COMPILED, examples
from tests.support.keys import key_column, partition_of, partitions_of

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")

Hash = Callable[[Strings, int], int]

FUNCTIONS: dict[KeyHash, Hash] = {
    KeyHash.MURMUR2: murmur2,
    KeyHash.LEGACY_KAFKAJS_MURMUR2: legacy_kafkajs_murmur2,
    KeyHash.FNV1A: fnv1a,
    KeyHash.CRC32: crc32,
    KeyHash.MURMUR3: murmur3,
    KeyHash.JAVA_STRING: java_string_hash,
    KeyHash.XXHASH32: xxhash32,
    KeyHash.PHASH2: phash2,
    KeyHash.SHA1: sha1,
}

KEYS = st.one_of(
    st.binary(max_size=40),
    st.text(max_size=12).map(str.encode),
    # Nearly UTF-8: cut characters, surrogates, overlong forms, beyond U+10FFFF.
    st.text("aé注😀", max_size=3).flatmap(lambda text: st.binary(max_size=3).map(lambda more: text.encode() + more)),
    st.sampled_from([b"\xc0\x80", b"\xe0\x9f\xbf", b"\xed\xa0\x80", b"\xf0\x8f\xbf\xbf", b"\xf4\x90\x80\x80", b"\xf5"]),
)
COUNTS = st.one_of(st.integers(1, 64), st.integers(1, 2**31 - 1))


def hash_of(which: KeyHash, key: bytes) -> int:
    return int(FUNCTIONS[which](key_column([b"before", key, b"after"])[0], 1))


VECTORS: list[tuple[str, bytes, int]] = [
    # UtilsTest.testMurmur2
    ("java-3.3", b"21", -973932308),
    ("java-3.3", b"foobar", -790332482),
    ("java-3.3", b"a-little-bit-long-string", -985981536),
    ("java-3.3", b"a-little-bit-longer-string", -1486304829),
    ("java-3.3", b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
    ("java-3.3", b"abc", 479470107),
    ("java-3.3", b"", 275646681),
    # rdmurmur2.c, and librdkafka's test 0048-partitioner
    ("librdkafka-murmur2", b"kafka", 0xD067CF64 - 2**32),
    ("librdkafka-murmur2", b"giberish123456789", 0x8F552B0C - 2**32),
    ("librdkafka-murmur2", b"1234", 0x9FC97B14 - 2**32),
    ("librdkafka-murmur2", b"234", 0xE7C009CA - 2**32),
    ("librdkafka-murmur2", b"34", 0x873930DA - 2**32),
    ("librdkafka-murmur2", b"4", 0x5A4B5CA1),
    ("librdkafka-consistent", b"", 0),
    ("librdkafka", b"23456", 0xB1B451D7),
    ("librdkafka", b"hejsan", 0xD077037E),
    # murmur2.spec.js, the default and the legacy one
    ("kafkajs", b"0", 971027396),
    ("kafkajs", b"1", -1993445489),
    ("kafkajs", b"100:48069", 1009543857),
    ("kafkajs-legacy", b"0", 272173970),
    ("kafkajs-legacy", b"1", 1311020360),
    ("kafkajs-legacy", b"16384", 204404061),
    # Erlang's own phash2(Key, 4294967296), of OTP 25
    ("klife", b"", 147926629),
    ("klife", b"abc", 1306188027),
    ("klife", b"123456789012", 2993083658),
    ("klife", b"1234567890123", 3450183908),
    ("klife", b"\xff\x00\x80", 1144481177),
    # The package xxhash, xxh32 with seed 0
    ("kafka-rust", b"", 46947589),
    ("kafka-rust", b"abc", 852579327),
    ("kafka-rust", b"customer-1", 2115891571),
    ("kafka-rust", b"a-little-bit-longer-string", 3921073941),
]


@pytest.mark.parametrize(("client", "key", "expected"), VECTORS)
def test_hashes_in_the_tests_of_clients(client: str, key: bytes, expected: int) -> None:
    assert hash_of(CLIENTS[client].hash, key) == expected


@pytest.mark.parametrize(("key", "expected"), [(b"", 0x7EE3623B), (b"23456", 0x27E6F469), (b"hejsan", 0x17B1E27A)])
def test_absolute_hashes_in_the_tests_of_librdkafka(key: bytes, expected: int) -> None:
    """``rd_fnv1a`` returns the absolute value."""
    assert abs(hash_of(KeyHash.FNV1A, key)) == expected


@pytest.mark.parametrize(
    ("key", "expected"), [(b"k1", 2110152746), (b"k2", 1479966664), (b"key1", 462881061), (b"key2", 1936800180)]
)
def test_positive_hashes_in_the_tests_of_pulsar(key: bytes, expected: int) -> None:
    """``Murmur3Hash32.makeHash`` has no sign bit."""
    assert hash_of(KeyHash.MURMUR3, key) & 0x7FFFFFFF == expected


PARTITIONS: list[tuple[str, bytes, int, int]] = [
    # kafka-python's test_partitioner.py
    ("kafka-python", b"", 1000, 681),
    ("kafka-python", b"a", 1000, 524),
    ("kafka-python", b"ab", 1000, 434),
    ("kafka-python", b"abc", 1000, 107),
    ("kafka-python", b"123456789", 1000, 566),
    ("kafka-python", b"\x00 ", 1000, 742),
    # Sarama's partitioner_test.go; the last key hashes to the smallest number of 32 bits
    ("sarama-murmur2", b"foo", 100, 16),
    ("sarama-murmur2", b"bar", 100, 45),
    ("sarama-murmur2", b"baz", 100, 80),
    ("sarama-murmur2", b"kafka", 100, 80),
    ("sarama-murmur2", b"sarama", 100, 11),
    ("sarama-crc32", b"abc123def456", 100, 57),
    ("sarama-crc32", b"SheetJS", 100, 26),
    ("sarama", b"1468509572224", 50, 48),
    # kafka-go's balancer_test.go
    ("kafka-go-hash", b"20", 16, 1),
    ("kafka-go-reference-hash", b"20", 16, 15),
    # the same key on two clients
    ("java-3.3", b"TT0124", 15, 10),
    ("librdkafka", b"TT0124", 15, 9),
    ("java-3.3", b"fd7af248-ce5c-46a5-93d7-1c0c9005b99d", 32, 26),
    ("librdkafka-consistent", b"fd7af248-ce5c-46a5-93d7-1c0c9005b99d", 32, 23),
    # the hashes above, modulo the number of partitions
    *((client, b"21", 1000, 340) for client in ("java-2.3", "java-2.4", "franz-go", "aiokafka", "kafkajs")),
    *((client, b"21", 1000, 340) for client in ("librdkafka-murmur2", "librdkafka-murmur2-random", "kafka-go-murmur2")),
    ("kafkajs-legacy", b"0", 1000, 970),
    ("librdkafka-fnv1a", b"23456", 1000, 0x27E6F469 % 1000),
    ("librdkafka-fnv1a-random", b"23456", 1000, 0x27E6F469 % 1000),
    ("sarama-reference", b"20", 16, 15),
    ("kafka-go-crc32", b"23456", 1000, 0xB1B451D7 % 1000),
    ("pulsar-murmur3", b"key2", 1000, 180),
    # Kafka Streams hashes what is before the window
    ("streams-time-windowed", b"21" + bytes(8), 1000, 340),
    ("streams-session-windowed", b"21" + bytes(16), 1000, 340),
    # murmur2 as an unsigned number: 4,294,967,296 - 973,932,308
    ("platformatic-kafka", b"21", 1000, 988),
    # The same number modulo 1,000; brod first takes its lowest 27 bits
    ("klife", b"customer-1", 1000, 62),
    ("brod-hash", b"customer-1", 1000, 774),
    ("kafka-rust", b"customer-1", 1000, 571),
    # int(hashlib.sha1(b"abc").hexdigest(), 16)
    ("pykafka-hash", b"abc", 1000, 0xA9993E364706816ABA3E25717850C26C9CD0D89D % 1000),
    ("ruby-kafka", b"abc123def456", 100, 57),
    ("beats", b"20", 16, 15),
    ("kafka-go-crc32-consistent", b"abc123def456", 100, 57),
    ("kafka-go-murmur2-consistent", b"21", 1000, 340),
    # "abc".hashCode() is 96,354
    ("pulsar", b"abc", 1000, 354),
]


@pytest.mark.parametrize(("client", "key", "partitions", "expected"), PARTITIONS)
def test_partitions_in_the_tests_of_clients(client: str, key: bytes, partitions: int, expected: int) -> None:
    assert partition_of(client, key, partitions) == expected


def test_every_client_that_hashes_keys_is_compared() -> None:
    assert {client for client, *_ in PARTITIONS} == CLIENTS.keys() - UNKEYED_ALWAYS


@pytest.mark.parametrize("which", HASHES)
@examples(200)
@given(st.lists(KEYS, min_size=1, max_size=8))
def test_hashes_equal_their_reference_implementations(which: KeyHash, keys: list[bytes]) -> None:
    column, _ = key_column(keys)
    assert [int(FUNCTIONS[which](column, i)) for i in range(len(keys))] == [HASHES[which](key) for key in keys]


@pytest.mark.parametrize("which", HASHES)
def test_a_key_of_a_mebibyte(which: KeyHash) -> None:
    length = 2**20 + 3 if COMPILED else 2**14 + 3
    for key in (np.random.default_rng(0).bytes(length), b"a" * length):
        assert hash_of(which, key) == HASHES[which](key)


@pytest.mark.parametrize("client", CLIENTS)
@examples(60)
@given(st.lists(st.tuples(st.none() | KEYS, COUNTS), min_size=1))
def test_keys_go_to_partitions_that_exist(client: str, records: list[tuple[bytes | None, int]]) -> None:
    found = partitions_of(client, [key for key, _ in records], [n for _, n in records])
    assert all(partition is None or 0 <= partition < n for partition, (_, n) in zip(found, records, strict=True))


UNKEYED_EVEN_IF_EMPTY = {"librdkafka", "kafka-go-crc32"}
UNKEYED_ALWAYS = {
    *("librdkafka-random", "kafka-go", "kafka-go-least-bytes"),
    *("java-2.4-round-robin", "java-4.0-round-robin", "java-uniform-sticky"),
}
HASHED_EVEN_IF_NULL = {
    "librdkafka-consistent",
    "librdkafka-murmur2",
    "librdkafka-fnv1a",
    "kafka-go-crc32-consistent",
    "kafka-go-murmur2-consistent",
    "brod-hash",
}


@pytest.mark.parametrize("client", CLIENTS)
def test_what_counts_as_a_key(client: str) -> None:
    """Of a null key, an empty one and one that is given, which go to a partition of their own."""
    null, empty, given_one, again = partitions_of(client, [None, b"", b"k", b"k"], [1000] * 4)
    assert (given_one is None) == (client in UNKEYED_ALWAYS)
    assert (empty is None) == (client in UNKEYED_ALWAYS | UNKEYED_EVEN_IF_EMPTY)
    assert (null is None) == (client not in HASHED_EVEN_IF_NULL)
    assert null in (None, empty)
    assert given_one == again


@examples(100)
@given(KEYS, st.integers(1, 10_000), st.integers(1, 8))
def test_a_key_stays_or_goes_to_a_new_partition_when_a_topic_grows_by_a_factor(key: bytes, n: int, factor: int) -> None:
    """Since the new partition is the old one modulo the old number."""
    for client in ("java-3.3", "librdkafka-consistent", "sarama-reference"):
        before, after = partitions_of(client, [key, key], [n, n * factor])
        assert before is not None
        assert after is not None
        assert after % n == before
