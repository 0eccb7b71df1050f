"""The hashes of keys that Kafka's own classes do not have, in Python that reads like the clients' code."""

import base64
import zlib
from collections.abc import Callable

import mmh3

from rebalance_sim.kafka.partitioners.clients import KeyHash
from tests.support.java import java_hash, signed


def _int32(number: float) -> int:
    """JavaScript's ``| 0``."""
    return signed(int(number) % 2**32)


def legacy_kafkajs_murmur2(data: bytes) -> int:
    """``legacy/murmur2.js``: numbers are doubles, of which the operators on bits take the lowest 32."""
    m = float(0x5BD1E995)
    h = float(_int32(0x9747B28C ^ len(data)))
    i = 0
    while i < len(data) / 4:
        b0, b1, b2, b3 = (data[place] if place < len(data) else 0 for place in range(4 * i, 4 * i + 4))
        k = float(b0 + (b1 << 8) + (b2 << 16) + _int32(b3 << 24)) * m
        k = float(_int32(k) ^ int(k) % 2**32 >> 24) * m
        h = float(_int32(h * m) ^ _int32(k))
        i += 1
    rest = data[len(data) & ~3 :]
    for place in reversed(range(len(rest))):
        h = float(_int32(h) ^ rest[place] << 8 * place)
    if rest:
        h *= m
    h = float(_int32(h) ^ int(h) % 2**32 >> 13) * m
    return _int32(h) ^ int(h) % 2**32 >> 15


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


HASHES: dict[KeyHash, Callable[[bytes], int]] = {
    KeyHash.LEGACY_KAFKAJS_MURMUR2: legacy_kafkajs_murmur2,
    KeyHash.FNV1A: fnv1a,
    KeyHash.CRC32: zlib.crc32,
    KeyHash.MURMUR3: lambda key: mmh3.hash(pulsar_key(key).encode(), 0),
    KeyHash.JAVA_STRING: lambda key: signed(java_hash(pulsar_key(key))),
}
