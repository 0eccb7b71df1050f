"""The hash functions that producers apply to keys.

A column of keys is ``Strings``, whatever its bytes. Each function returns the hash of key i as the client's own code
does: a signed 32-bit number, except for those that are unsigned in every client: CRC-32, XXH32, phash2, and SHA-1 with
its 160 bits.
"""

import hashlib

import numpy as np

from rebalance_sim.kafka.runtime.hash_order import signed
from rebalance_sim.kafka.runtime.kernel import kernel
from rebalance_sim.kafka.runtime.strings import Bytes, Ints, Strings, byte_at, is_utf8, java_hash

_MASK = 0xFFFFFFFF
_MURMUR2_SEED = 0x9747B28C
_MURMUR2_M = 0x5BD1E995
_FNV_OFFSET = 0x811C9DC5
_FNV_PRIME = 0x01000193
_CRC_POLYNOMIAL = 0xEDB88320
_XXH_1, _XXH_2, _XXH_3, _XXH_4, _XXH_5 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D, 0x27D4EB2F, 0x165667B1
_GOLDEN_RATIO = 0x9E3779B9
_PHASH2_OF_BINARY = 13 * _GOLDEN_RATIO & _MASK
_BASE64 = np.frombuffer(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", np.uint8)


def _crc_of_bytes() -> Ints:
    """Return the CRC-32 remainder of each byte."""
    remainders = np.arange(256, dtype=np.int64)
    for _ in range(8):
        remainders = np.where(remainders & 1, remainders >> 1 ^ _CRC_POLYNOMIAL, remainders >> 1)
    return remainders


_CRC = _crc_of_bytes()


@kernel
def murmur2(keys: Strings, i: int) -> int:
    """Return ``org.apache.kafka.common.utils.Utils.murmur2``: all releases; also kafka-python, franz-go and others.

    >>> [murmur2(Strings.of(["abc", ""]), i) for i in range(2)]
    [479470107, 275646681]
    """
    data, place, end = keys.data, int(keys.offsets[i]), int(keys.offsets[i + 1])
    h = (_MURMUR2_SEED ^ (end - place)) & _MASK
    while end - place >= 4:
        k = _little_endian(data, place) * _MURMUR2_M & _MASK
        k = (k ^ k >> 24) * _MURMUR2_M & _MASK
        h = h * _MURMUR2_M & _MASK ^ k
        place += 4
    if place < end:
        for k in range(end - place):
            h ^= byte_at(data, place + k) << 8 * k
        h = h * _MURMUR2_M & _MASK
    h = (h ^ h >> 13) * _MURMUR2_M & _MASK
    return signed(h ^ h >> 15)


@kernel
def legacy_kafkajs_murmur2(keys: Strings, i: int) -> int:
    """Return the hash of KafkaJS's legacy partitioner (``legacy/murmur2.js``, 2.2.4), with its two bugs.

    The number of blocks is length / 4 without rounding, so an incomplete last block is mixed in as a whole one, padded
    with zeros, and then once more as the tail. And products are JavaScript numbers: doubles, which lose the lowest
    bits of a 64-bit product.
    """
    data, start, end = keys.data, int(keys.offsets[i]), int(keys.offsets[i + 1])
    length = end - start
    h = signed((_MURMUR2_SEED ^ length) & _MASK)
    for block in range((length + 3) // 4):
        k = 0
        for byte in range(4):
            place = start + 4 * block + byte
            if place < end:
                k |= byte_at(data, place) << 8 * byte
        k = _product(signed(k))
        k = _product(signed(k ^ k >> 24))
        h = signed(_product(h) ^ k)
    tail = length % 4
    for byte in range(tail):
        h ^= byte_at(data, end - tail + byte) << 8 * byte
    low = h & _MASK
    if tail:
        low = _product(h)
    low = _product(signed(low ^ low >> 13))
    return signed(low ^ low >> 15)


@kernel
def fnv1a(keys: Strings, i: int) -> int:
    """Return 32-bit FNV-1a: Go's ``hash/fnv`` (Sarama, kafka-go) and librdkafka's ``rd_fnv1a``."""
    h = _FNV_OFFSET
    for place in range(keys.offsets[i], keys.offsets[i + 1]):
        h = (h ^ byte_at(keys.data, place)) * _FNV_PRIME & _MASK
    return signed(h)


@kernel
def crc32(keys: Strings, i: int) -> int:
    """Return the unsigned CRC-32 of IEEE 802.3: librdkafka's ``rd_crc32``, Go's ``crc32.ChecksumIEEE``."""
    h = _MASK
    for place in range(keys.offsets[i], keys.offsets[i + 1]):
        h = h >> 8 ^ int(_CRC[(h ^ byte_at(keys.data, place)) & 0xFF])
    return h ^ _MASK


@kernel
def murmur3(keys: Strings, i: int) -> int:
    """Return MurmurHash3 (x86, 32 bits, seed 0) of a Pulsar key (``Murmur3Hash32``)."""
    text = _pulsar_key(keys, i)
    length, place, h, tail = len(text), 0, 0, 0
    while length - place >= 4:
        h ^= _murmur3_block(_little_endian(text, place))
        h = ((h << 13 | h >> 19) & _MASK) * 5 + 0xE6546B64 & _MASK
        place += 4
    for k in range(length - place):
        tail |= byte_at(text, place + k) << 8 * k
    h ^= _murmur3_block(tail) ^ length
    h = (h ^ h >> 16) * 0x85EBCA6B & _MASK
    h = (h ^ h >> 13) * 0xC2B2AE35 & _MASK
    return signed(h ^ h >> 16)


@kernel
def java_string_hash(keys: Strings, i: int) -> int:
    """Return ``String.hashCode`` of a Pulsar key (``JavaStringHash``)."""
    text = _pulsar_key(keys, i)
    return signed(java_hash(Strings(np.array([0, len(text)], np.int32), text), 0))


@kernel
def xxhash32(keys: Strings, i: int) -> int:
    """Return XXH32 with seed 0, unsigned: the hasher of kafka-rust (``twox_hash::XxHash32``).

    >>> xxhash32(Strings.of(["abc"]), 0)
    852579327
    """
    data, place, end = keys.data, int(keys.offsets[i]), int(keys.offsets[i + 1])
    length = end - place
    h = _XXH_5
    if length >= 16:
        a, b, c, d = (_XXH_1 + _XXH_2) & _MASK, _XXH_2, 0, -_XXH_1 & _MASK
        while end - place >= 16:
            a = _xxh_round(a, _little_endian(data, place))
            b = _xxh_round(b, _little_endian(data, place + 4))
            c = _xxh_round(c, _little_endian(data, place + 8))
            d = _xxh_round(d, _little_endian(data, place + 12))
            place += 16
        h = _rotated(a, 1) + _rotated(b, 7) + _rotated(c, 12) + _rotated(d, 18)
    h = (h + length) & _MASK
    while end - place >= 4:
        h = _rotated((h + _little_endian(data, place) * _XXH_3) & _MASK, 17) * _XXH_4 & _MASK
        place += 4
    while place < end:
        h = _rotated((h + byte_at(data, place) * _XXH_5) & _MASK, 11) * _XXH_1 & _MASK
        place += 1
    h = (h ^ h >> 15) * _XXH_2 & _MASK
    h = (h ^ h >> 13) * _XXH_3 & _MASK
    return h ^ h >> 16


@kernel
def _xxh_round(lane: int, k: int) -> int:
    return _rotated((lane + k * _XXH_2) & _MASK, 13) * _XXH_1 & _MASK


@kernel
def _rotated(h: int, bits: int) -> int:
    """Rotate 32 bits to the left."""
    return (h << bits | h >> (32 - bits)) & _MASK


@kernel
def phash2(keys: Strings, i: int) -> int:
    """Return ``erlang:phash2(Key, 4294967296)`` of a binary: Bob Jenkins's hash of 1996, unsigned.

    >>> phash2(Strings.of(["abc"]), 0)
    1306188027
    """
    data, place, end = keys.data, int(keys.offsets[i]), int(keys.offsets[i + 1])
    length = end - place
    if length == 0:
        return _PHASH2_OF_BINARY
    a = b = _GOLDEN_RATIO
    c = _PHASH2_OF_BINARY
    while end - place >= 12:
        a += _little_endian(data, place)
        b += _little_endian(data, place + 4)
        c += _little_endian(data, place + 8)
        a, b, c = _jenkins_mix(a, b, c)
        place += 12
    c += length
    for k in range(end - place):
        byte = byte_at(data, place + k)
        if k < 4:
            a += byte << 8 * k
        elif k < 8:
            b += byte << 8 * (k - 4)
        else:
            # The lowest byte of c has the length.
            c += byte << 8 * (k - 7)
    return _jenkins_mix(a, b, c)[2]


@kernel
def _jenkins_mix(a: int, b: int, c: int) -> tuple[int, int, int]:
    a, b, c = a & _MASK, b & _MASK, c & _MASK
    for first, second, third in ((13, 8, 13), (12, 16, 5), (3, 10, 15)):
        a = (a - b - c & _MASK) ^ c >> first
        b = (b - c - a & _MASK) ^ a << second & _MASK
        c = (c - a - b & _MASK) ^ b >> third
    return a, b, c


def sha1(keys: Strings, i: int) -> int:
    """Return SHA-1 as a number of 160 bits: pykafka's ``HashingPartitioner``. No kernel: its users are few."""
    key = keys.data[keys.offsets[i] : keys.offsets[i + 1]].tobytes()
    return int.from_bytes(hashlib.sha1(key, usedforsecurity=False).digest())


@kernel
def _pulsar_key(keys: Strings, i: int) -> Bytes:
    """Return a key as Pulsar's clients hash it: keys are strings, so other bytes are Base64-encoded.

    ``TypedMessageBuilder.keyBytes``.
    """
    key = keys.data[keys.offsets[i] : keys.offsets[i + 1]]
    return key if is_utf8(key, 0, len(key)) else _in_base64(key)


@kernel
def _in_base64(key: Bytes) -> Bytes:
    text = np.full((len(key) + 2) // 3 * 4, ord("="), np.uint8)
    for start in range(0, len(key), 3):
        some = min(3, len(key) - start)
        bits = 0
        for k in range(some):
            bits |= byte_at(key, start + k) << 8 * (2 - k)
        for k in range(some + 1):
            text[start // 3 * 4 + k] = _BASE64[bits >> 6 * (3 - k) & 0x3F]
    return text


@kernel
def _murmur3_block(k: int) -> int:
    k = k * 0xCC9E2D51 & _MASK
    return ((k << 15 | k >> 17) & _MASK) * 0x1B873593 & _MASK


@kernel
def _little_endian(data: Bytes, place: int) -> int:
    return (
        byte_at(data, place)
        | byte_at(data, place + 1) << 8
        | byte_at(data, place + 2) << 16
        | byte_at(data, place + 3) << 24
    )


@kernel
def _product(k: int) -> int:
    """Multiply by the murmur2 constant in doubles, as JavaScript does, and return the lowest 32 bits."""
    return int(np.int64(float(k) * float(_MURMUR2_M))) & _MASK
