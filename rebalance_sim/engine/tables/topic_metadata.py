"""The topics table on the workers, each of which has all of it, as in a broadcast join."""

from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from rebalance_sim.engine.spark.driver_rows import DriverRows, without_null
from rebalance_sim.engine.tables.arrow import codes, list_offsets, numbers, strings
from rebalance_sim.engine.tables.topic_ids import topic_ids
from rebalance_sim.kafka.groups import NO_RACK, UNKNOWN_RACK, TopicArrays
from rebalance_sim.kafka.runtime.kernel import kernel
from rebalance_sim.kafka.runtime.strings import Ints, Ints32, Strings, equal, java_hashes, sort_sections
from rebalance_sim.tables import TOPICS

_FEW_FOUND = 16
"""Sorting is faster than marking all topics if so many times fewer names than topics are looked up."""


@dataclass(frozen=True)
class TopicMetadata:
    """Topics with their partition counts and racks: about 60 bytes per topic, which is small enough to send."""

    topics: pa.Table
    """cluster, topic, partitions, racks and, if needed, topic_id; one row per topic."""
    token: str = field(default_factory=lambda: uuid4().hex)

    @classmethod
    def of(cls, topics: DataFrame, ids: bool = True) -> "TopicMetadata":
        """Collect the table on the driver, which sends it to the workers with each task.

        Few assignors need ``ids``, which take 24 bytes per topic.
        """
        names = ("cluster", "topic", "partitions", "racks", *(["topic_id"] if ids else []))
        if not isinstance(topics, DriverRows):
            topics = topics.withColumn("racks", without_null("racks", TOPICS.schema["racks"].dataType))
        return cls(topics.select(*names).toArrow().combine_chunks())

    def index(self) -> "TopicIndex":
        """Return an index for look-ups, built once per worker process."""
        return _index(_ByToken(self))


class _ByToken:
    """A cache key under which copies of the same metadata, unpickled by different tasks, are equal."""

    def __init__(self, metadata: TopicMetadata) -> None:
        self.metadata = metadata

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _ByToken) and other.metadata.token == self.metadata.token

    def __hash__(self) -> int:
        return hash(self.metadata.token)


@lru_cache(maxsize=1)
def _index(key: _ByToken) -> "TopicIndex":
    return TopicIndex(key.metadata.topics)


def _array(table: pa.Table, name: str) -> pa.Array:
    column = table.column(name)
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks or [pa.array([], column.type)])


class TopicIndex:
    """Finds topics by cluster and name, one batch at a time. Topics are sorted by name, as Java sorts strings."""

    def __init__(self, table: pa.Table) -> None:
        table = table.take(pa.array(_order(_array(table, "topic"))))
        self._names = _array(table, "topic")
        self._partitions = numbers(_array(table, "partitions")).astype(np.int32)
        self._strings = strings(self._names)
        self._hashes = java_hashes(self._strings)
        self._texts_of_ids = _array(table, "topic_id") if "topic_id" in table.column_names else None
        self._cluster_codes, self._clusters = codes(_array(table, "cluster"))
        self._table = _hash_table(self._strings, self._hashes, self._cluster_codes)
        racks = _array(table, "racks")
        flat = racks.flatten()
        rack_codes, self._rack_names = codes(flat.flatten())
        self._rack_hashes = java_hashes(strings(self._rack_names))
        self._first_racks, self._rack_offsets, self._racks = (list_offsets(racks), list_offsets(flat), rack_codes)

    @cached_property
    def _ids(self) -> Ints:
        """The topics' Uuids; all zero if the metadata has none."""
        if self._texts_of_ids is None:
            return np.zeros((len(self._names), 2), np.int64)
        return topic_ids(self._texts_of_ids, self._names)

    def find(self, clusters: pa.Array, cluster_of_name: Ints32, names: pa.Array, ids: bool = True) -> "BatchTopics":
        """Look up topic names; ``cluster_of_name`` is the index of each name's cluster in ``clusters``.

        Without ``ids`` the Uuids are zero, and are not decoded.
        """
        cluster_codes = numbers(pc.index_in(clusters, self._clusters).fill_null(-1)).astype(np.int32)
        wanted = strings(names)
        hashes = java_hashes(wanted)
        places_in_index = _find(
            wanted,
            hashes,
            cluster_codes[cluster_of_name],
            self._strings,
            self._hashes,
            self._cluster_codes,
            self._table,
        )
        used, places = _distinct(places_in_index, len(self._names))
        if len(used) and used[0] == -1:
            return self._with_missing(names, places_in_index, used[1:], places, ids)
        known_names = self._names.take(pa.array(used))
        return BatchTopics(places.astype(np.int32), known_names, self._topics(used, known_names, ids))

    def _with_missing(
        self, names: pa.Array, places_in_index: Ints, used: Ints, places: Ints, ids: bool
    ) -> "BatchTopics":
        """Number topics that the metadata does not have after those that it has."""
        missing = places_in_index < 0
        missing_codes, missing_names = codes(names.filter(pa.array(missing)))
        places = places - 1
        places[missing] = len(used) + missing_codes
        known_names = self._names.take(pa.array(used))
        known = self._topics(used, known_names, ids)
        all_names = pa.concat_arrays([known_names, missing_names])
        topics = TopicArrays(
            np.concatenate([known.partitions, np.full(len(missing_names), -1, np.int32)]),
            np.concatenate([known.hashes, java_hashes(strings(missing_names))]),
            _ranks(all_names),
            np.concatenate([known.first_racks, np.full(len(missing_names), known.first_racks[-1], np.int32)]),
            known.rack_offsets,
            known.racks,
            known.rack_hashes,
            np.concatenate([known.ids, np.zeros((len(missing_names), 2), np.int64)]),
            strings(all_names),
        )
        return BatchTopics(places.astype(np.int32), all_names, topics)

    def _topics(self, used: Ints, names: pa.Array, ids: bool) -> TopicArrays:
        first_racks, rack_offsets, racks = _racks_of(used, self._first_racks, self._rack_offsets, self._racks)
        return TopicArrays(
            self._partitions[used],
            self._hashes[used],
            np.arange(len(used)),
            first_racks,
            rack_offsets,
            racks,
            self._rack_hashes,
            self._ids[used] if ids else np.zeros((len(used), 2), np.int64),
            strings(names),
        )

    def racks(self, names: pa.Array) -> Ints32:
        """Return the numbers of the members' racks. An empty name is no rack (``RangeAssignor.consumerRacks``)."""
        if names.null_count == len(names):
            return np.full(len(names), NO_RACK, np.int32)
        of_names = numbers(pc.index_in(names, self._rack_names).fill_null(UNKNOWN_RACK)).astype(np.int32)
        none = numbers(pc.equal(pc.binary_length(names), 0).fill_null(True))
        of_names[none] = NO_RACK
        return of_names


@dataclass(frozen=True)
class BatchTopics:
    """The topics of a batch, numbered from 0, and the number of each name that was looked up."""

    numbers: Ints32
    names: pa.Array
    topics: TopicArrays


def _distinct(found: Ints, size: int) -> tuple[Ints, Ints]:
    """Return the sorted distinct numbers, all below ``size``, and the place of each of ``found`` among them."""
    if _FEW_FOUND * len(found) < size or len(found) == 0 or found.min() < 0:
        used, places = np.unique(found, return_inverse=True)
        return used, places
    is_used = np.zeros(size, np.bool_)
    is_used[found] = True
    return np.flatnonzero(is_used), (np.cumsum(is_used, dtype=np.int32) - np.int32(1))[found]


def _order(names: pa.Array) -> Ints32:
    """Return the order in which Java sorts strings."""
    order = np.arange(len(names), dtype=np.int32)
    section = np.array([0, len(names)], np.int32)
    sort_sections(order, section, np.zeros(len(names), np.int64), strings(names))
    return order


def _ranks(names: pa.Array) -> Ints:
    """Return the place of each name in Java's order of strings."""
    ranks = np.empty(len(names), np.int64)
    ranks[_order(names)] = np.arange(len(names))
    return ranks


@kernel
def _slot(topic_hash: int, cluster: int, bits: int) -> int:
    """Return a slot by multiplicative hashing of a topic's hash code and its cluster's number."""
    return ((int(topic_hash) + int(cluster) * 0x85EBCA6B & 0xFFFFFFFF) * 0x9E3779B1 & 0xFFFFFFFF) >> (32 - bits)


@kernel
def _hash_table(names: Strings, hashes: Ints, clusters: Ints32) -> Ints32:
    """Return a table with open addressing and linear probing, at most half full."""
    bits = 1
    while 1 << bits < 2 * len(hashes):
        bits += 1
    table = np.full(1 << bits, -1, np.int32)
    for i in range(len(hashes)):
        place = _slot(hashes[i], clusters[i], bits)
        while table[place] >= 0:
            place = (place + 1) & (len(table) - 1)
        table[place] = i
    return table


@kernel
def _find(
    wanted: Strings,
    wanted_hashes: Ints,
    wanted_clusters: Ints32,
    names: Strings,
    hashes: Ints,
    clusters: Ints32,
    table: Ints32,
) -> Ints:
    bits = 0
    while 1 << bits < len(table):
        bits += 1
    found = np.full(len(wanted_hashes), -1, np.int64)
    for i in range(len(wanted_hashes)):
        # The partitions that a member owns are mostly listed by topic.
        same = i > 0 and wanted_hashes[i] == wanted_hashes[i - 1] and wanted_clusters[i] == wanted_clusters[i - 1]
        if same and equal(wanted, i, wanted, i - 1):
            found[i] = found[i - 1]
            continue
        place = _slot(wanted_hashes[i], wanted_clusters[i], bits)
        while table[place] >= 0:
            at = table[place]
            if hashes[at] == wanted_hashes[i] and clusters[at] == wanted_clusters[i] and equal(wanted, i, names, at):
                found[i] = at
                break
            place = (place + 1) & (len(table) - 1)
    return found


@kernel
def _racks_of(used: Ints, first_racks: Ints32, rack_offsets: Ints32, racks: Ints32) -> tuple[Ints32, Ints32, Ints32]:
    """Return the racks of some topics."""
    firsts = np.zeros(len(used) + 1, np.int32)
    total = 0
    for i in range(len(used)):
        low, high = first_racks[used[i]], first_racks[used[i] + 1]
        firsts[i + 1] = firsts[i] + high - low
        total += rack_offsets[high] - rack_offsets[low]
    offsets = np.zeros(firsts[len(used)] + 1, np.int32)
    copied = np.empty(total, np.int32)
    filled = 0
    for i in range(len(used)):
        low = first_racks[used[i]]
        for k in range(firsts[i + 1] - firsts[i]):
            for place in range(rack_offsets[low + k], rack_offsets[low + k + 1]):
                if racks[place] >= 0:
                    copied[filled] = racks[place]
                    filled += 1
            offsets[firsts[i] + k + 1] = filled
    return firsts, offsets, copied[:filled]
