"""Why a record goes to its partition: the hash of its key, and how the client reduces it to a partition."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rebalance_sim.defaults import CLIENT
from rebalance_sim.explanations.explanation import Explanation, check_partitions
from rebalance_sim.kafka.partitioners.clients import client_named
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
from rebalance_sim.kafka.partitioners.keyed import UNKEYED, hashed_bytes, key_partitions
from rebalance_sim.kafka.partitioners.partitioner import Client, KeyHash, ToPartition
from rebalance_sim.kafka.runtime.strings import Strings

_HASHES = {
    KeyHash.MURMUR2: ("murmur2", murmur2),
    KeyHash.LEGACY_KAFKAJS_MURMUR2: ("KafkaJS's legacy murmur2", legacy_kafkajs_murmur2),
    KeyHash.FNV1A: ("FNV-1a", fnv1a),
    KeyHash.CRC32: ("CRC-32", crc32),
    KeyHash.MURMUR3: ("murmur3", murmur3),
    KeyHash.JAVA_STRING: ("String.hashCode", java_string_hash),
    KeyHash.XXHASH32: ("XXH32", xxhash32),
    KeyHash.PHASH2: ("phash2", phash2),
    KeyHash.SHA1: ("SHA-1", sha1),
}
_TO_PARTITION = {
    ToPartition.POSITIVE: "sign bit cleared, modulo {}",
    ToPartition.UNSIGNED: "as an unsigned number, modulo {}",
    ToPartition.ABSOLUTE: "absolute value of the remainder modulo {}",
    ToPartition.LOW_27_BITS: "lowest 27 bits, modulo {}",
}


@dataclass(frozen=True, repr=False)
class KeyExplanation(Explanation):
    """The partition of a record, with the steps that lead to it."""

    client: Client
    key: bytes | None
    partitions: int
    """Partitions of the topic."""
    hash: int | None
    """Hash of the key; None if the client does not partition this record by key."""
    partition: int | None

    def lines(self) -> Sequence[str]:
        """Return the facts, one per line."""
        key = "a null key" if self.key is None else f"key {self.key.decode(errors='backslashreplace')!r}"
        if self.hash is None:
            why = "ignores keys" if self.client.hash is KeyHash.NONE else f"does not hash {key}"
            rule = self.client.unkeyed.name.lower().replace("_", " ")
            return [
                f"{key} does not determine a partition (client {self.client.name})",
                f"  {self.client.name} {why}; rule for such records: {rule}",
            ]
        name, _ = _HASHES[self.client.hash]
        hashed = max(len(self.key or b"") - self.client.window_bytes, 0)
        reduction = _TO_PARTITION[self.client.to_partition].format(self.partitions)
        return [
            f"{key} goes to partition {self.partition} of {self.partitions} (client {self.client.name})",
            f"  {name} of {hashed} bytes: {self.hash}",
            f"  {reduction}: {self.partition}",
        ]


def rule_of(client: Client, partitions: int) -> str:
    """Return how a client places keys in a topic with this number of partitions.

    >>> from rebalance_sim.kafka.partitioners.clients import CLIENTS
    >>> rule_of(CLIENTS["librdkafka"], 12), rule_of(CLIENTS["kafka-go"], 12)
    ('CRC-32, as an unsigned number, modulo 12; an empty key counts as no key', 'ignores keys')
    """
    if client.hash is KeyHash.NONE:
        return "ignores keys"
    name, _ = _HASHES[client.hash]
    of_key = f" of the key without its last {client.window_bytes} bytes" if client.window_bytes else ""
    empty = "" if client.hashes_empty else "; an empty key counts as no key"
    return f"{name}{of_key}, {_TO_PARTITION[client.to_partition].format(partitions)}{empty}"


def explain_key(key: bytes | str | None, partitions: int, client: str = CLIENT) -> KeyExplanation:
    """Explain to which of a topic's partitions a client sends a record with this key; a str is encoded as UTF-8.

    Raises UserError for an unknown client, and for a number of partitions below one.

    >>> explain_key("TT0124", 15)
    key 'TT0124' goes to partition 10 of 15 (client java-3.3)
      murmur2 of 6 bytes: -1442328778
      sign bit cleared, modulo 15: 10
    >>> explain_key("TT0124", 15, "librdkafka").partition
    9
    """
    known = client_named("client", client)
    check_partitions(partitions)
    given = key.encode() if isinstance(key, str) else key
    data = given or b""
    keys = Strings.over(np.array([0, len(data)], np.int32), np.frombuffer(data, np.uint8))
    exists, counts = np.array([given is not None]), np.array([partitions], np.int32)
    found = int(key_partitions(known, keys, exists, counts)[0])
    if found == UNKEYED:
        return KeyExplanation(known, given, partitions, None, None)
    _, hash_of = _HASHES[known.hash]
    return KeyExplanation(known, given, partitions, int(hash_of(hashed_bytes(known, keys), 0)), found)
