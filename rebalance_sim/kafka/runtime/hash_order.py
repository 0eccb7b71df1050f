"""Iteration orders of Java's and Scala's hash maps, computed from the hash codes of their keys.

Kafka's coordinator and assignors iterate over hash maps, so this order decides ties and the order of partitions.
Each function takes ``hashes`` (the unsigned 32-bit ``hashCode`` of every key) and ``keys`` (the indices of one map's
keys in order of insertion), and returns the indices in order of iteration.

Not modelled: trees. A Java map turns a bucket into a tree at its ninth key, or at the eighth if ``computeIfAbsent``
inserts it (with fewer than 64 buckets it doubles the table instead). Within a tree, keys with equal hash codes that
are not ``Comparable`` are ordered by ``System.identityHashCode``, which cannot be predicted. Member ids and protocol
names reach this only if they are chosen to collide; partitions do with ten topics whose names differ only in the
second-to-last digit and which have ten partitions each.
"""

import numpy as np

from rebalance_sim.kafka.runtime.kernel import kernel, kernel_in_place
from rebalance_sim.kafka.runtime.strings import Ints, Ints32
from rebalance_sim.releases import MapRule

_JAVA = int(MapRule.JAVA)
_SCALA_2_13 = int(MapRule.SCALA_2_13)
_SCALA_2_12_13 = int(MapRule.SCALA_2_12_13)
_FEW_KEYS = 4
_FEWEST_BUCKETS = 16
_MOST_KEYS_OF_A_LIST = 8


@kernel
def java_table_size(count: int) -> int:
    """Return the number of buckets of a ``java.util.HashMap`` that grew to ``count`` keys: it is at most 3/4 full."""
    size = 16
    while 4 * count > 3 * size:
        size *= 2
    return size


@kernel
def java_table_size_from(capacity: int, count: int) -> int:
    """Return the same of a map that was created for ``capacity`` keys (``new HashMap<>(capacity)``).

    >>> java_table_size_from(4, 3), java_table_size_from(4, 4)
    (4, 8)
    """
    size = 1
    while size < capacity or 4 * count > 3 * size:
        size *= 2
    return size


@kernel_in_place
def java_bucket(h: int, size: int) -> int:
    """Return the bucket of a key in a ``java.util.HashMap`` of ``size`` buckets (``HashMap.hash``)."""
    return int((h ^ h >> 16) & (size - 1))


@kernel
def java_order(hashes: Ints, keys: Ints32, size: int) -> Ints32:
    """Return the order of a ``java.util.HashMap`` of ``size`` buckets (a counting sort).

    Buckets are visited in ascending order, keys of a bucket in order of insertion, which a resize preserves.
    """
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
def sort_in_java_order(keys: Ints32, hashes: Ints) -> None:
    """Sort keys in place from the order in which a ``java.util.HashMap`` got them to that of its iteration."""
    size = java_table_size(len(keys))
    if size > _FEWEST_BUCKETS:
        keys[:] = java_order(hashes, keys, size)
        return
    for k in range(1, len(keys)):
        moving, place = keys[k], k
        bucket = java_bucket(hashes[moving], size)
        while place > 0 and java_bucket(hashes[keys[place - 1]], size) > bucket:
            keys[place] = keys[place - 1]
            place -= 1
        keys[place] = moving


@kernel
def _java_order_of_all(hashes: Ints, keys: Ints32) -> Ints32:
    """Return the order of a ``java.util.HashMap`` to which the keys were added one by one."""
    order = keys.copy()
    sort_in_java_order(order, hashes)
    return order


@kernel
def java_compute_if_absent_order(hashes: Ints, keys: Ints32, last_call_inserts: bool) -> Ints32:
    """Return the order of a ``java.util.HashMap`` filled by ``computeIfAbsent``.

    Unlike ``put``, it inserts a new key at the head of its bucket. It resizes a table that is over 3/4 full at the
    start of a call rather than after the insertion, so the last doubling needs one more call, with any key.
    """
    counted = len(keys) - 1 if last_call_inserts else len(keys)
    return java_order(hashes, keys[::-1].copy(), java_table_size(counted))


@kernel
def java_map_is_crowded(hashes: Ints, keys: Ints32) -> bool:
    """Return whether a bucket gets a ninth key while a ``java.util.HashMap`` grows: ``java_order`` does not hold then.

    >>> java_map_is_crowded(np.arange(9), np.arange(9, dtype=np.int32))
    False
    >>> java_map_is_crowded(np.zeros(9, np.int64), np.arange(9, dtype=np.int32))
    True
    """
    size, grown = _FEWEST_BUCKETS, java_table_size(len(keys))
    while size <= grown:
        counts = np.zeros(size, np.int32)
        for key in keys[: 3 * size // 4 + 1]:
            bucket = java_bucket(hashes[key], size)
            counts[bucket] += 1
            if counts[bucket] > _MOST_KEYS_OF_A_LIST:
                return True
        size *= 2
    return False


@kernel
def java_copy_size(count: int) -> int:
    """Return the number of buckets of a ``java.util.HashSet`` copied from a collection of ``count`` keys.

    This is the size up to Java 18. Since Java 19 the table is half as large for 12, 24, 48, ... keys.
    """
    size = 16
    while size < 4 * count // 3 + 1:
        size *= 2
    return size


@kernel
def topic_partition_hash(topic_hash: int, partition: int) -> int:
    """Return ``TopicPartition.hashCode`` as an unsigned 32-bit number."""
    return (31 * (31 + int(partition)) + int(topic_hash)) & 0xFFFFFFFF


@kernel_in_place
def signed(h: int) -> int:
    """Return an unsigned 32-bit number as a Java ``int``."""
    return h - 0x100000000 if h >= 0x80000000 else h


@kernel_in_place
def scala_2_11_index(h: int, bits: int) -> int:
    """Return the bucket in Scala 2.11's ``mutable.HashMap`` of ``2 ** bits`` (``HashTable.index`` and ``improve``).

    ``byteswap32``, then a rotation to the right by 4: the seed value of a table that started with 16 buckets, which
    growing does not change.
    """
    h = (int(h) * 0x9E3775CD) & 0xFFFFFFFF
    h = (h & 0xFF) << 24 | (h & 0xFF00) << 8 | h >> 8 & 0xFF00 | h >> 24
    h = (h * 0x9E3775CD) & 0xFFFFFFFF
    h = (h >> 4 | h << 28) & 0xFFFFFFFF
    return h >> (32 - bits)


@kernel
def scala_2_11_order(hashes: Ints, keys: Ints32) -> Ints32:
    """Return the order of Scala 2.11's ``mutable.HashMap``.

    A new key becomes the head of its bucket. When the table is over 3/4 full it doubles: buckets are moved from last to
    first, each from head to tail, and every node becomes the head of its new bucket. Iteration runs from the last
    bucket to the first.
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
    """Return the order of Scala 2.13's ``mutable.HashMap``.

    Buckets are visited in ascending order; a bucket is sorted by improved hash (signed), then by insertion. The table
    doubles before an insertion that would reach 3/4 of its buckets, one key earlier than Java's.
    """
    size = 16
    while 4 * len(keys) >= 3 * size:
        size *= 2
    order = java_order(hashes, keys, size)
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
    """Return the order of a ``TimelineHashMap`` (``BaseHashTable``), in which Kafka 4.x keeps a group's members.

    The slot is given by the highest bits of the hash times a constant. Slots are visited in ascending order, keys of a
    slot from the last inserted to the first. A table starts with 2 slots and doubles in ``put`` at a load of 4/3. The
    coordinator puts a joining member twice, and the second ``put`` may double the table again: hence the ``+ 1``.
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
    """Return the slot of a ``TimelineHashMap`` of ``2 ** bits``: the highest bits of a 64-bit product."""
    return (int(signed(int(h))) * -7046029254386353131 >> (64 - bits)) & ((1 << bits) - 1)


@kernel
def coordinator_order(hashes: Ints, keys: Ints32, map_rule: int) -> Ints32:
    """Return the order of the coordinator's own maps: its members, and the counted votes before they are copied."""
    if map_rule == _JAVA:
        return _java_order_of_all(hashes, keys)
    if map_rule == _SCALA_2_13:
        return scala_2_13_order(hashes, keys)
    return scala_2_11_order(hashes, keys)


@kernel
def _trie_key(h: int) -> int:
    """Return the improved hash of Scala's immutable hash maps (``improve``; in 2.13 ``scala.collection.Hashing``)."""
    h = (h + (~(h << 9))) & 0xFFFFFFFF
    h ^= h >> 14
    h = (h + (h << 4)) & 0xFFFFFFFF
    return h ^ h >> 10


@kernel
def _trie_before(a: int, b: int) -> bool:
    """Return whether a trie of 5-bit groups, the least significant first, yields ``a`` before ``b``."""
    for shift in range(0, 35, 5):
        x, y = a >> shift & 31, b >> shift & 31
        if x != y:
            return x < y
    return False


@kernel
def scala_2_11_group_by_order(hashes: Ints, keys: Ints32) -> Ints32:
    """Return the order of Scala 2.11's ``groupBy``, which copies a mutable map into an immutable one.

    Up to 4 keys keep the order of the mutable map (``Map1`` to ``Map4``); 5 or more are in the order of a hash trie.
    """
    return scala_2_11_immutable_order(hashes, scala_2_11_order(hashes, keys))


@kernel
def scala_2_11_immutable_order(hashes: Ints, keys: Ints32) -> Ints32:
    """Return the order of Scala 2.11's immutable map: up to 4 keys as they are put, 5 or more as in a hash trie."""
    order = keys.copy()
    if len(order) > _FEW_KEYS:
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
    """Return the order of Scala 2.13's ``groupBy``, which copies a mutable map into an immutable CHAMP map.

    A node first yields the keys that do not share their 5-bit group, by group, then its child nodes, by group. Keys
    with the same hash keep the order of the mutable map.
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
    """Return whether a CHAMP map yields ``a`` before ``b``, from improved hashes and the levels of their nodes."""
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
    """Return the order in which ``selectProtocol`` visits the votes; ``keys`` are in order of their first vote.

    Since Scala 2.12.13, ``groupBy`` fills the immutable map itself, so that up to 4 protocols stay in that order.
    """
    if map_rule == _JAVA:
        return _java_order_of_all(hashes, keys)
    if map_rule == _SCALA_2_13:
        return scala_2_13_group_by_order(hashes, keys)
    if map_rule == _SCALA_2_12_13 and len(keys) <= _FEW_KEYS:
        return keys.copy()
    return scala_2_11_group_by_order(hashes, keys)


@kernel
def vote_order_depends_on_first_votes(hashes: Ints, keys: Ints32, map_rule: int) -> bool:
    """Return whether ``vote_order`` may differ for the same keys in another order."""
    if map_rule != _JAVA:
        return True
    size, buckets = java_table_size(len(keys)), 0
    if size > _FEWEST_BUCKETS:
        return True
    for key in keys:
        bit = 1 << java_bucket(hashes[key], size)
        if buckets & bit:
            return True
        buckets |= bit
    return False
