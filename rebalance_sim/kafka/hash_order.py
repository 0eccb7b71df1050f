"""The order in which the hash maps of Java and Scala iterate, from the hash codes of their keys.

Kafka's coordinator and assignors walk such maps, so this order decides ties and the order of partitions.
Each function takes ``hashes`` (unsigned 32-bit ``hashCode`` of every key) and ``keys``, the indices of the keys of
one map in the order in which they were put in, and returns the indices in the order of iteration.

Not modelled: what a Java map does with the ninth key of a bucket, or with the eighth where ``computeIfAbsent`` puts it
there (a tree, or one more doubling below 64 buckets). Between equal hash codes of keys that cannot be compared a tree
goes by ``System.identityHashCode``, which nobody can foresee. Among names that takes some that are made to collide;
among partitions ten topics whose names differ in the last digit but one, with ten partitions each.
"""

import numpy as np

from rebalance_sim.kafka.kernel import kernel, kernel_in_place
from rebalance_sim.kafka.strings import Ints, Ints32
from rebalance_sim.versions import MapRule

_JAVA = int(MapRule.JAVA)
_SCALA_2_11 = int(MapRule.SCALA_2_11)


@kernel
def java_table_size(count: int) -> int:
    """Return the buckets of a ``java.util.HashMap`` that grew to ``count`` keys: doubled past 3/4 full."""
    size = 16
    while 4 * count > 3 * size:
        size *= 2
    return size


@kernel_in_place
def java_bucket(h: int, size: int) -> int:
    """Bucket of a key among ``size`` of a ``java.util.HashMap``."""
    return int((h ^ h >> 16) & (size - 1))


@kernel
def java_order(hashes: Ints, keys: Ints32, size: int) -> Ints32:
    """``java.util.HashMap`` of ``size`` buckets: buckets ascending, in a bucket as inserted (a resize keeps that)."""
    return _bucket_order(hashes, keys, size)


@kernel
def java_compute_if_absent_order(hashes: Ints, keys: Ints32, last_call_inserts: bool) -> Ints32:
    """``java.util.HashMap`` filled by ``computeIfAbsent``.

    That puts a new key at the head of its bucket, and doubles a table that is past 3/4 full before it looks for the
    key, not after the insertion: so the last doubling waits for one more call, with whatever key.
    """
    counted = len(keys) - 1 if last_call_inserts else len(keys)
    return _bucket_order(hashes, keys[::-1].copy(), java_table_size(counted))


@kernel
def java_copy_size(count: int) -> int:
    """Return the buckets of a ``java.util.HashSet`` that is made from a collection of ``count`` keys.

    As Java does up to 18. Since 19 the table is half as large for 12, 24, 48 and so on keys.
    """
    size = 16
    while size < 4 * count // 3 + 1:
        size *= 2
    return size


@kernel
def _bucket_order(hashes: Ints, keys: Ints32, size: int) -> Ints32:
    """Sort stably by bucket, by counting."""
    starts = np.zeros(size + 1, np.int32)
    for key in keys:
        starts[java_bucket(hashes[key], size) + 1] += 1
    for bucket in range(size):
        starts[bucket + 1] += starts[bucket]
    order = np.empty(len(keys), np.int32)
    for key in keys:
        bucket = java_bucket(hashes[key], size)
        order[starts[bucket]] = key
        starts[bucket] += 1
    return order


@kernel
def topic_partition_hash(topic_hash: int, partition: int) -> int:
    """``TopicPartition.hashCode`` as an unsigned 32-bit number."""
    return (31 * (31 + int(partition)) + int(topic_hash)) & 0xFFFFFFFF


@kernel_in_place
def signed(h: int) -> int:
    """Return an unsigned number of 32 bits as Java has it."""
    return h - 0x100000000 if h >= 0x80000000 else h


@kernel_in_place
def scala_2_11_index(h: int, bits: int) -> int:
    """Bucket among ``2 ** bits`` of Scala 2.11's ``mutable.HashMap`` (``HashTable.index`` and ``improve``).

    ``byteswap32``, then rotated right by 4: the seed of a table that began with 16 buckets, kept when it grows.
    """
    h = (int(h) * 0x9E3775CD) & 0xFFFFFFFF
    h = (h & 0xFF) << 24 | (h & 0xFF00) << 8 | h >> 8 & 0xFF00 | h >> 24
    h = (h * 0x9E3775CD) & 0xFFFFFFFF
    h = (h >> 4 | h << 28) & 0xFFFFFFFF
    return h >> (32 - bits)


@kernel
def scala_2_11_order(hashes: Ints, keys: Ints32) -> Ints32:
    """Scala 2.11's ``mutable.HashMap``.

    A key is put at the head of its bucket. Past 3/4 full the table doubles: buckets from the last to the first, head
    to tail, each node put at the head of its new bucket. Iteration goes from the last bucket to the first.
    """
    bits = 4
    heads = np.full(1 << bits, -1, np.int32)
    following = np.full(len(keys), -1, np.int32)
    for k in range(len(keys)):
        bucket = scala_2_11_index(hashes[keys[k]], bits)
        following[k] = heads[bucket]
        heads[bucket] = k
        if 4 * (k + 1) > 3 * len(heads):
            bits += 1
            grown = np.full(1 << bits, -1, np.int32)
            for old_bucket in range(len(heads) - 1, -1, -1):
                node = heads[old_bucket]
                while node >= 0:
                    after = following[node]
                    bucket = scala_2_11_index(hashes[keys[node]], bits)
                    following[node] = grown[bucket]
                    grown[bucket] = node
                    node = after
            heads = grown
    order = np.empty(len(keys), np.int32)
    filled = 0
    for bucket in range(len(heads) - 1, -1, -1):
        node = heads[bucket]
        while node >= 0:
            order[filled] = keys[node]
            filled += 1
            node = following[node]
    return order


@kernel
def scala_2_13_order(hashes: Ints, keys: Ints32) -> Ints32:
    """Scala 2.13's ``mutable.HashMap``: buckets ascending, in a bucket by improved hash (signed), then as inserted.

    It doubles before an insertion that would reach 3/4 of its buckets, one key earlier than Java's.
    """
    size = 16
    while 4 * len(keys) >= 3 * size:
        size *= 2
    order = _bucket_order(hashes, keys, size)
    for k in range(1, len(order)):
        moving = order[k]
        h = hashes[moving]
        improved = h ^ h >> 16
        place = k
        while place > 0:
            before = hashes[order[place - 1]]
            before ^= before >> 16
            if before & (size - 1) != improved & (size - 1) or signed(before) <= signed(improved):
                break
            order[place] = order[place - 1]
            place -= 1
        order[place] = moving
    return order


@kernel
def timeline_order(hashes: Ints, keys: Ints32) -> Ints32:
    """Kafka's ``TimelineHashMap`` (``BaseHashTable``), in which the coordinator of Kafka 4.x keeps a group's members.

    The highest bits of the hash times a constant choose the slot; slots ascending, in a slot the last put first. A
    table begins with 2 slots and doubles, when a key is put, at a load of 4/3. Here every key is put twice, as the
    coordinator does with a member that joins; so the size counts one more.
    """
    bits = 1
    while 3 * (len(keys) + 1) > 4 << bits and len(keys) > 0:
        bits += 1
    starts = np.zeros((1 << bits) + 1, np.int32)
    for key in keys:
        starts[timeline_slot(hashes[key], bits) + 1] += 1
    for slot in range(1 << bits):
        starts[slot + 1] += starts[slot]
    order = np.empty(len(keys), np.int32)
    for k in range(len(keys) - 1, -1, -1):
        slot = timeline_slot(hashes[keys[k]], bits)
        order[starts[slot]] = keys[k]
        starts[slot] += 1
    return order


@kernel
def timeline_slot(h: int, bits: int) -> int:
    """Slot among ``2 ** bits``: the highest of the lowest 64 bits of the product."""
    return (int(signed(int(h))) * -7046029254386353131 >> (64 - bits)) & ((1 << bits) - 1)


@kernel
def coordinator_order(hashes: Ints, keys: Ints32, map_rule: int) -> Ints32:
    """Order of the coordinator's own map: ``members``, and the counted votes before they are copied."""
    if map_rule == _JAVA:
        return java_order(hashes, keys, java_table_size(len(keys)))
    if map_rule == _SCALA_2_11:
        return scala_2_11_order(hashes, keys)
    return scala_2_13_order(hashes, keys)


@kernel
def _trie_key(h: int) -> int:
    """``improve`` of Scala's immutable hash maps (``scala.collection.Hashing`` in 2.13)."""
    h = (h + (~(h << 9))) & 0xFFFFFFFF
    h ^= h >> 14
    h = (h + (h << 4)) & 0xFFFFFFFF
    return h ^ h >> 10


@kernel
def _trie_before(a: int, b: int) -> bool:
    """Compare two improved hashes as a trie of 5-bit groups does, the least significant group first."""
    for shift in range(0, 35, 5):
        x, y = a >> shift & 31, b >> shift & 31
        if x != y:
            return x < y
    return False


@kernel
def scala_2_11_group_by_order(hashes: Ints, keys: Ints32) -> Ints32:
    """Scala 2.11's ``groupBy``: a mutable map, copied into an immutable one.

    Up to 4 keys keep the order of the mutable map; 5 and more are in the order of the immutable trie.
    """
    order = scala_2_11_order(hashes, keys)
    if len(order) > 4:
        for k in range(1, len(order)):
            moving = order[k]
            improved = _trie_key(hashes[moving])
            place = k
            while place > 0 and _trie_before(improved, _trie_key(hashes[order[place - 1]])):
                order[place] = order[place - 1]
                place -= 1
            order[place] = moving
    return order


@kernel
def scala_2_13_group_by_order(hashes: Ints, keys: Ints32) -> Ints32:
    """Scala 2.13's ``groupBy``: a mutable map, copied into an immutable CHAMP map.

    A node yields the keys that are alone at their 5-bit group first, by group, then its children, by group.
    Keys with the same hash keep the order of the mutable map.
    """
    order = scala_2_13_order(hashes, keys)
    improved = np.empty(len(order), np.int64)
    depth = np.zeros(len(order), np.int64)
    for k in range(len(order)):
        improved[k] = _trie_key(hashes[order[k]])
    for a in range(len(order)):
        for b in range(len(order)):
            if improved[a] != improved[b]:
                shared = 0
                while (improved[a] ^ improved[b]) >> (5 * shared) & 31 == 0:
                    shared += 1
                depth[a] = max(depth[a], shared)
            elif a != b:
                depth[a] = 7
    for k in range(1, len(order)):
        moving, moving_hash, moving_depth = order[k], improved[k], depth[k]
        place = k
        while place > 0 and _champ_before(moving_hash, moving_depth, improved[place - 1], depth[place - 1]):
            order[place] = order[place - 1]
            improved[place] = improved[place - 1]
            depth[place] = depth[place - 1]
            place -= 1
        order[place], improved[place], depth[place] = moving, moving_hash, moving_depth
    return order


@kernel
def _champ_before(a: int, a_depth: int, b: int, b_depth: int) -> bool:
    """Compare two keys of a CHAMP map by improved hash and the level of the node that holds each."""
    for level in range(7):
        a_here, b_here = a_depth == level, b_depth == level
        if a_here != b_here:
            return a_here
        x, y = a >> (5 * level) & 31, b >> (5 * level) & 31
        if x != y:
            return x < y
    return False


@kernel
def vote_order(hashes: Ints, keys: Ints32, map_rule: int) -> Ints32:
    """Order in which a version's ``selectProtocol`` meets the counted votes; ``keys`` as they were first voted for."""
    if map_rule == _JAVA:
        return java_order(hashes, keys, java_table_size(len(keys)))
    if map_rule == _SCALA_2_11:
        return scala_2_11_group_by_order(hashes, keys)
    return scala_2_13_group_by_order(hashes, keys)
