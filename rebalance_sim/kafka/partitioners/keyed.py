"""The partition of a keyed record: the key's hash over all partitions of the topic.

No client leaves out unavailable partitions here: the same key must always reach the same partition.
"""

import numpy as np

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
from rebalance_sim.kafka.partitioners.partitioner import Client, KeyHash, ToPartition
from rebalance_sim.kafka.runtime.kernel import kernel
from rebalance_sim.kafka.runtime.lists import gather
from rebalance_sim.kafka.runtime.strings import Flags, Ints32, Strings

UNKEYED = -1
"""Stands for the partition of a record to which the client applies its rule for unkeyed records."""

_MURMUR2, _LEGACY, _FNV1A = int(KeyHash.MURMUR2), int(KeyHash.LEGACY_KAFKAJS_MURMUR2), int(KeyHash.FNV1A)
_CRC32, _MURMUR3 = int(KeyHash.CRC32), int(KeyHash.MURMUR3)
_XXHASH32, _PHASH2 = int(KeyHash.XXHASH32), int(KeyHash.PHASH2)
_POSITIVE, _UNSIGNED = int(ToPartition.POSITIVE), int(ToPartition.UNSIGNED)
_LOW_27_BITS = int(ToPartition.LOW_27_BITS)


def key_partitions(client: Client, keys: Strings, has_key: Flags, partitions: Ints32) -> Ints32:
    """Return the partition of every record by its key, or UNKEYED.

    ``has_key`` is set for records with a key, even an empty one; ``partitions`` has the partition count of each
    record's topic, at least 1.

    >>> from rebalance_sim.kafka.partitioners.clients import CLIENTS
    >>> keys, has_key = Strings.of(["TT0124", "", ""]), np.array([True, True, False])
    >>> key_partitions(CLIENTS["java-3.3"], keys, has_key, np.full(3, 15, np.int32)).tolist()
    [10, 6, -1]
    >>> key_partitions(CLIENTS["librdkafka"], keys, has_key, np.full(3, 15, np.int32)).tolist()
    [9, -1, -1]
    """
    if client.hash is KeyHash.NONE:
        return np.full(len(has_key), UNKEYED, np.int32)
    hashed = hashed_bytes(client, keys)
    if client.hash is KeyHash.SHA1:
        chosen = [sha1(hashed, i) % int(n) if has_key[i] else UNKEYED for i, n in enumerate(partitions)]
        return np.array(chosen, np.int32)
    return _partitions(
        int(client.hash), int(client.to_partition), client.hashes_empty, client.hashes_null, hashed, has_key, partitions
    )


def hashed_bytes(client: Client, keys: Strings) -> Strings:
    """Return the bytes of each key that the client hashes: all, or for a windowed key those before the window."""
    if client.window_bytes == 0:
        return keys
    lengths = np.maximum(np.diff(keys.offsets) - client.window_bytes, 0)
    offsets, places = gather(keys.offsets[:-1], lengths)
    return Strings.over(offsets, keys.data[places])


@kernel
def _partitions(
    key_hash: int,
    to_partition: int,
    hashes_empty: bool,
    hashes_null: bool,
    keys: Strings,
    has_key: Flags,
    partitions: Ints32,
) -> Ints32:
    chosen = np.full(len(has_key), UNKEYED, np.int32)
    for i in range(len(has_key)):
        empty = keys.offsets[i] == keys.offsets[i + 1]
        if (has_key[i] and (hashes_empty or not empty)) or (hashes_null and not has_key[i]):
            chosen[i] = _partition(to_partition, _hash(key_hash, keys, i), int(partitions[i]))
    return chosen


@kernel
def _hash(key_hash: int, keys: Strings, i: int) -> int:
    if key_hash == _MURMUR2:
        return murmur2(keys, i)
    if key_hash == _CRC32:
        return crc32(keys, i)
    if key_hash == _FNV1A:
        return fnv1a(keys, i)
    if key_hash == _LEGACY:
        return legacy_kafkajs_murmur2(keys, i)
    if key_hash == _MURMUR3:
        return murmur3(keys, i)
    if key_hash == _XXHASH32:
        return xxhash32(keys, i)
    if key_hash == _PHASH2:
        return phash2(keys, i)
    return java_string_hash(keys, i)


@kernel
def _partition(to_partition: int, h: int, n: int) -> int:
    if to_partition == _POSITIVE:
        return (h & 0x7FFFFFFF) % n
    if to_partition == _UNSIGNED:
        return (h & 0xFFFFFFFF) % n
    if to_partition == _LOW_27_BITS:
        return (h & 0x7FFFFFF) % n
    return abs(h) % n
