"""Why a record goes to its partition: the hash of its key, and what the client makes of it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rebalance_sim.engine.explanation import Explanation
from rebalance_sim.kafka.key_hashes import crc32, fnv1a, java_string_hash, legacy_kafkajs_murmur2, murmur2, murmur3
from rebalance_sim.kafka.partitioners.clients import Client, KeyHash, ToPartition
from rebalance_sim.kafka.partitioners.keyed import UNKEYED, key_partitions
from rebalance_sim.kafka.strings import Strings

_HASHES = {
    KeyHash.MURMUR2: ("murmur2", murmur2),
    KeyHash.LEGACY_KAFKAJS_MURMUR2: ("KafkaJS's legacy murmur2", legacy_kafkajs_murmur2),
    KeyHash.FNV1A: ("FNV-1a", fnv1a),
    KeyHash.CRC32: ("CRC-32", crc32),
    KeyHash.MURMUR3: ("murmur3", murmur3),
    KeyHash.JAVA_STRING: ("String.hashCode", java_string_hash),
}
_TO_PARTITION = {
    ToPartition.POSITIVE: "without its sign bit, modulo {}",
    ToPartition.UNSIGNED: "as an unsigned number, modulo {}",
    ToPartition.ABSOLUTE: "modulo {}, without the sign of the remainder",
}


@dataclass(frozen=True, repr=False)
class KeyExplanation(Explanation):
    """Why a record goes to its partition."""

    client: Client
    key: bytes | None
    partitions: int
    """Partitions of the topic."""
    hash: int | None
    """Hash of the key; None where the client does not go by the key."""
    partition: int | None

    def lines(self) -> Sequence[str]:
        """Tell the facts, a line each."""
        key = "a null key" if self.key is None else f"key {self.key.decode(errors='backslashreplace')!r}"
        if self.hash is None:
            looks = "does not look at keys" if self.client.hash is KeyHash.NONE else "has no key to go by"
            spread = self.client.unkeyed.name.lower().replace("_", " ")
            return [
                f"{key} tells no partition (client {self.client.name})",
                f"  {self.client.name} {looks}, and spreads such records: {spread}",
            ]
        name, _ = _HASHES[self.client.hash]
        told = _TO_PARTITION[self.client.to_partition].format(self.partitions)
        return [
            f"{key} goes to partition {self.partition} of {self.partitions} (client {self.client.name})",
            f"  {name} of {len(self.key or b'')} bytes: {self.hash}",
            f"  {told}: {self.partition}",
        ]


def explain_key(key: bytes | None, partitions: int, client: Client) -> KeyExplanation:
    """Explain where a client sends a record with this key, in a topic of so many partitions."""
    laid_out = key or b""
    keys = Strings.over(np.array([0, len(laid_out)], np.int32), np.frombuffer(laid_out, np.uint8))
    given, counts = np.array([key is not None]), np.array([partitions], np.int32)
    found = int(key_partitions(client, keys, given, counts)[0])
    if found == UNKEYED:
        return KeyExplanation(client, key, partitions, None, None)
    _, hash_of = _HASHES[client.hash]
    return KeyExplanation(client, key, partitions, int(hash_of(keys, 0)), found)
