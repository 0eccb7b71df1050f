"""The hashes of keys, and what each client makes of one, in Python that reads like the clients' own code."""

import base64
import zlib
from collections.abc import Callable

import mmh3

from tests.support.java import java_hash, signed

ToPartition = Callable[[bytes | None, int], int | None]
"""From a key and the number of partitions to the partition; None where the client does not go by the key."""


def int32(number: float) -> int:
    """JavaScript's ``| 0``, Java's ``(int)`` of a long, Go's ``int32`` of an unsigned number."""
    return signed(int(number) % 2**32)


def murmur2(data: bytes) -> int:
    """``Utils.murmur2``."""
    m, h = 0x5BD1E995, 0x9747B28C ^ len(data)
    whole = len(data) // 4 * 4
    for i in range(0, whole, 4):
        k = int.from_bytes(data[i : i + 4], "little") * m % 2**32
        k ^= k >> 24
        h = h * m % 2**32 ^ k * m % 2**32
    if whole < len(data):
        h = (h ^ int.from_bytes(data[whole:], "little")) * m % 2**32
    h = (h ^ h >> 13) * m % 2**32
    return signed(h ^ h >> 15)


def legacy_kafkajs_murmur2(data: bytes) -> int:
    """``legacy/murmur2.js``: numbers are doubles, of which the operators on bits take the lowest 32."""
    m = float(0x5BD1E995)
    h = float(int32(0x9747B28C ^ len(data)))
    i = 0
    while i < len(data) / 4:
        b0, b1, b2, b3 = (data[place] if place < len(data) else 0 for place in range(4 * i, 4 * i + 4))
        k = float(b0 + (b1 << 8) + (b2 << 16) + int32(b3 << 24)) * m
        k = float(int32(k) ^ int(k) % 2**32 >> 24) * m
        h = float(int32(h * m) ^ int32(k))
        i += 1
    rest = data[len(data) & ~3 :]
    for place in reversed(range(len(rest))):
        h = float(int32(h) ^ rest[place] << 8 * place)
    if rest:
        h *= m
    h = float(int32(h) ^ int(h) % 2**32 >> 13) * m
    return int32(h) ^ int(h) % 2**32 >> 15


def fnv1a(data: bytes) -> int:
    """``hash/fnv``'s 32a, as a signed number."""
    h = 2166136261
    for byte in data:
        h = (h ^ byte) * 16777619 % 2**32
    return signed(h)


def pulsar_key(data: bytes) -> str:
    """``TypedMessageBuilder``: keys are strings; bytes go as Base64, which is needed for those that are no string."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return base64.b64encode(data).decode()


def murmur3(data: bytes) -> int:
    return mmh3.hash(pulsar_key(data).encode(), 0)


def java_string_hash(data: bytes) -> int:
    return signed(java_hash(pulsar_key(data)))


def _positive(h: int) -> int:
    return h & 0x7FFFFFFF


def _java(key: bytes | None, n: int) -> int | None:
    return None if key is None else _positive(murmur2(key)) % n


def _consistent(key: bytes | None, n: int) -> int | None:
    return zlib.crc32(key or b"") % n


def _consistent_random(key: bytes | None, n: int) -> int | None:
    return zlib.crc32(key) % n if key else None


def _librdkafka_murmur2(key: bytes | None, n: int) -> int | None:
    return _positive(murmur2(key or b"")) % n


def _librdkafka_fnv1a(key: bytes | None, n: int) -> int | None:
    """``rd_fnv1a`` takes the absolute value itself."""
    return abs(fnv1a(key or b"")) % n


def _librdkafka_fnv1a_random(key: bytes | None, n: int) -> int | None:
    return None if key is None else _librdkafka_fnv1a(key, n)


def _go_hash(key: bytes | None, n: int) -> int | None:
    """Go's remainder has the sign of the dividend."""
    if key is None:
        return None
    h = fnv1a(key)
    remainder = h % n if h >= 0 else -(-h % n)
    return -remainder if remainder < 0 else remainder


def _go_reference_hash(key: bytes | None, n: int) -> int | None:
    return None if key is None else _positive(fnv1a(key)) % n


def _sarama_crc32(key: bytes | None, n: int) -> int | None:
    return None if key is None else zlib.crc32(key) % n


def _legacy_kafkajs(key: bytes | None, n: int) -> int | None:
    return None if key is None else _positive(legacy_kafkajs_murmur2(key)) % n


def _pulsar(key: bytes | None, n: int) -> int | None:
    return None if key is None else _positive(java_string_hash(key)) % n


def _pulsar_murmur3(key: bytes | None, n: int) -> int | None:
    return None if key is None else _positive(murmur3(key)) % n


def _ignores_keys(_key: bytes | None, _n: int) -> None:
    return None


PARTITIONERS: dict[str, ToPartition] = {
    "java-2.3": _java,
    "java-2.4": _java,
    "java-3.3": _java,
    "librdkafka": _consistent_random,
    "librdkafka-random": _ignores_keys,
    "librdkafka-consistent": _consistent,
    "librdkafka-murmur2": _librdkafka_murmur2,
    "librdkafka-murmur2-random": _java,
    "librdkafka-fnv1a": _librdkafka_fnv1a,
    "librdkafka-fnv1a-random": _librdkafka_fnv1a_random,
    "sarama": _go_hash,
    "sarama-reference": _go_reference_hash,
    "sarama-crc32": _sarama_crc32,
    "sarama-murmur2": _java,
    "franz-go": _java,
    "kafka-python": _java,
    "aiokafka": _java,
    "kafkajs": _java,
    "kafkajs-legacy": _legacy_kafkajs,
    "kafka-go": _ignores_keys,
    "kafka-go-hash": _go_hash,
    "kafka-go-reference-hash": _go_reference_hash,
    "kafka-go-crc32": _consistent_random,
    "kafka-go-murmur2": _java,
    "pulsar": _pulsar,
    "pulsar-murmur3": _pulsar_murmur3,
}
"""By the names of the clients."""
