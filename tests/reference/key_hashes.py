"""The hashes of keys that Kafka's own classes do not have, in Python that reads like the clients' code."""

import base64
import hashlib
import struct
import zlib
from collections.abc import Callable

import mmh3

from rebalance_sim.kafka.partitioners.partitioner import KeyHash
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


def xxhash32(data: bytes) -> int:
    """``twox_hash::XxHash32`` with seed 0: four lanes over stripes of 16 bytes, then words, then bytes."""
    primes = (0, 2654435761, 2246822519, 3266489917, 668265263, 374761393)

    def rotate(number: int, bits: int) -> int:
        number %= 2**32
        return (number << bits) % 2**32 + (number >> 32 - bits)

    lanes = [primes[1] + primes[2], primes[2], 0, -primes[1]]
    stripes = len(data) // 16
    for stripe in struct.iter_unpack("<4I", data[: 16 * stripes]):
        lanes = [rotate(lane + word * primes[2], 13) * primes[1] for lane, word in zip(lanes, stripe, strict=True)]
    h = sum(map(rotate, lanes, (1, 7, 12, 18))) if stripes else primes[5]
    h += len(data)
    words, rest = data[16 * stripes : len(data) & ~3], data[len(data) & ~3 :]
    for (word,) in struct.iter_unpack("<I", words):
        h = rotate(h + word * primes[3], 17) * primes[4]
    for byte in rest:
        h = rotate(h + byte * primes[5], 11) * primes[1]
    h %= 2**32
    for shift, prime in ((15, primes[2]), (13, primes[3]), (16, 1)):
        h = (h ^ h >> shift) * prime % 2**32
    return h


def phash2(data: bytes) -> int:
    """``make_hash2`` of the Erlang runtime for a binary: Bob Jenkins's ``lookup2``, whose third word has the length."""
    golden = 0x9E3779B9
    state = [golden, golden, 13 * golden % 2**32]
    if not data:
        return state[2]

    def mix(words: tuple[int, ...]) -> None:
        state[:] = [(number + word) % 2**32 for number, word in zip(state, words, strict=True)]
        for place, shift in enumerate((-13, 8, -13, -12, 16, -5, -3, 10, -15)):
            changed, following, last = place % 3, (place + 1) % 3, (place + 2) % 3
            mixed = state[last] << shift if shift > 0 else state[last] >> -shift
            state[changed] = (state[changed] - state[following] - state[last] ^ mixed) % 2**32

    whole = len(data) // 12 * 12
    for words in struct.iter_unpack("<3I", data[:whole]):
        mix(words)
    rest = data[whole:].ljust(11, b"\0")
    a, b, c = struct.unpack("<3I", rest[:8] + bytes(1) + rest[8:])
    mix((a, b, c + len(data)))
    return state[2]


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
    KeyHash.XXHASH32: xxhash32,
    KeyHash.PHASH2: phash2,
    KeyHash.SHA1: lambda key: int(hashlib.sha1(key).hexdigest(), 16),
    KeyHash.JAVA_STRING: lambda key: signed(java_hash(pulsar_key(key))),
}
