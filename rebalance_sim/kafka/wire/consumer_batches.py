"""Subscriptions and assignments of many members at once, between bytes and arrays (see ``consumer_protocol``).

Members of a group mostly subscribe alike, so each distinct list of topics is stored once.
"""

from typing import NamedTuple

import numpy as np

from rebalance_sim.kafka.groups import NO_GENERATION, Assignments, Subscriptions
from rebalance_sim.kafka.runtime.kernel import inner_kernel, kernel, kernel_in_place
from rebalance_sim.kafka.runtime.lists import gather, list_offsets
from rebalance_sim.kafka.runtime.strings import (
    WORD,
    Bytes,
    Flags,
    Ints,
    Ints32,
    Strings,
    byte_at,
    fast_hash,
    is_utf8,
    larger_table,
    word,
)
from rebalance_sim.kafka.wire.consumer_protocol import NEWEST_VERSION
from rebalance_sim.kafka.wire.readable import SchemaError

_MALFORMED = -1
_INT16, _INT32 = 2, 4
_SMALLEST_TOPIC = _INT16 + _INT32
_MOST_BYTES = 2**31 - 1


class SentSubscriptions(NamedTuple):
    """What members have sent, without user data."""

    malformed: Flags
    """By member: whether ``decode_subscription`` raises SchemaError; then the member has nothing."""
    subscriptions: Subscriptions
    """Topics are indices of ``names``, as they are in ``owned``."""
    owned: Assignments
    """Those of version 0 are unknown, and empty here."""
    generations: Ints
    racks: Strings
    """Empty for none."""
    names: Strings
    """Distinct names."""
    has_user_data: Flags
    """By member: whether it sends user data, which are not read; also if these are empty."""
    is_version_0: Flags


class _Spans(NamedTuple):
    """Parts of the bytes: part k is ``data[starts[k]:ends[k]]``."""

    starts: Ints
    ends: Ints

    def take(self, chosen: Ints32) -> "_Spans":
        """Return the chosen parts."""
        return _Spans(self.starts[chosen], self.ends[chosen])

    def copied(self, data: Bytes) -> Strings:
        """Return the parts as a column."""
        offsets, places = gather(self.starts, self.ends - self.starts)
        return Strings.over(offsets, data[places])


class _Rest(NamedTuple):
    """What members send after their topics."""

    owned: Assignments
    """Topics are indices of ``names``."""
    names: _Spans
    generations: Ints
    racks: _Spans


def decode_subscriptions(sent: Strings) -> SentSubscriptions:
    r"""Decode the subscriptions of members as ``decode_subscription`` does.

    >>> found = decode_subscriptions(Strings.of(["\0\0" "\0\0\0\1" "\0\1t" "\0\0\0\0"] * 2))
    >>> found.subscriptions.of_members.tolist(), found.names.to_list()
    ([0, 0], ['t'])
    """
    data, topics = sent.data, _find_topics(sent)
    of_members, firsts = _number(data, topics)
    offsets, names, are_lists = _read_names(data, topics.take(firsts))
    malformed, rest = _read_rest(sent, topics.ends, ~are_lists[of_members])
    all_names, n = _Spans(*map(np.concatenate, zip(names, rest.names, strict=True))), offsets[-1]
    numbers, firsts_of_names = _number(data, all_names)
    # Malformed subscriptions name the topics of one more list, which is empty.
    of_members[malformed] = len(firsts)
    has_user_data, is_version_0 = np.zeros(len(malformed), np.bool_), np.zeros(len(malformed), np.bool_)
    versions = sent.offsets[:-1][~malformed]
    # The length of user data is not negative, and both bytes of the version are 0.
    has_user_data[~malformed] = data[topics.ends[~malformed]] < 0x80
    is_version_0[~malformed] = (data[versions] | data[versions + 1]) == 0
    return SentSubscriptions(
        malformed,
        Subscriptions(of_members, np.append(offsets, n), numbers[:n]),
        rest.owned._replace(topics=numbers[n:][rest.owned.topics]),
        rest.generations,
        rest.racks.copied(data),
        all_names.take(firsts_of_names).copied(data),
        has_user_data,
        is_version_0,
    )


def encode_assignments(given: Assignments, names: Strings) -> Strings:
    """Encode the members' assignments as ``encode_assignment`` does, without user data.

    Topics are indices of ``names``, which have at most 32,767 bytes. Raises SchemaError if the bytes are more than fit
    into a column.
    """
    sizes = _assignment_sizes(given, names)
    if sizes.sum() > _MOST_BYTES:
        raise SchemaError(f"assignments of {sizes.sum()} bytes do not fit into a column; at most {_MOST_BYTES} do")
    offsets = list_offsets(sizes)
    return Strings.over(offsets, _write_assignments(given, names, offsets))


# ---- decoding


@kernel
def _find_topics(sent: Strings) -> _Spans:
    """Return the list of topics in each member's bytes; it has no bytes where it is malformed."""
    n = len(sent.offsets) - 1
    starts, ends = np.zeros(n, np.int64), np.zeros(n, np.int64)
    for m in range(n):
        end = _end_of_topics(sent.data, sent.offsets[m], sent.offsets[m + 1])
        if end != _MALFORMED:
            starts[m], ends[m] = sent.offsets[m] + _INT16, end
    return _Spans(starts, ends)


@kernel_in_place
def _end_of_topics(data: Bytes, at: int, end: int) -> int:
    count = _count(data, at + _INT16, end, _INT16)
    if count == _MALFORMED or _int16(data, at) < 0:
        return _MALFORMED
    at += _INT16 + _INT32
    for _ in range(count):
        at = _end_of_string(data, at, end)
    return at


@kernel
def _number(data: Bytes, parts: _Spans) -> tuple[Ints32, Ints32]:
    """Return the place of each part among the distinct ones, and of those the first part that is equal to it."""
    n, count, bits = len(parts.starts), 0, 8
    places, firsts = np.empty(n, np.int32), np.empty(n, np.int32)
    hashes = np.empty(n, np.int64)
    table = np.full(1 << bits, -1, np.int32)
    for k in range(n):
        if k > 0 and _are_equal(data, parts, k - 1, k):
            places[k] = places[k - 1]
            continue
        code = fast_hash(data, parts.starts[k], parts.ends[k], 0)
        slot = code >> 16 & len(table) - 1
        while table[slot] >= 0:
            if hashes[table[slot]] == code and _are_equal(data, parts, firsts[table[slot]], k):
                break
            slot = slot + 1 & len(table) - 1
        places[k] = table[slot]
        if table[slot] < 0:
            places[k], table[slot] = count, count
            firsts[count], hashes[count] = k, code
            count += 1
            if 2 * count > len(table):
                bits += 1
                table = larger_table(bits, hashes[:count])
    return places, firsts[:count]


@inner_kernel
def _are_equal(data: Bytes, parts: _Spans, a: int, b: int) -> bool:
    first, other, length = parts.starts[a], parts.starts[b], parts.ends[a] - parts.starts[a]
    if length != parts.ends[b] - other:
        return False
    if length < WORD:
        for k in range(length):
            if data[first + k] != data[other + k]:
                return False
        return True
    for k in range(0, length - WORD, WORD):
        if word(data, first + k) != word(data, other + k):
            return False
    # The last word overlaps the one before it.
    return word(data, first + length - WORD) == word(data, other + length - WORD)


@kernel
def _read_names(data: Bytes, lists: _Spans) -> tuple[Ints32, _Spans, Flags]:
    """Return the offsets of the lists, the names in them, and which lists are well formed."""
    n, room = len(lists.starts), 0
    offsets, are_lists = np.zeros(n + 1, np.int32), lists.ends > lists.starts
    for k in range(n):
        room += _int32(data, lists.starts[k]) if are_lists[k] else 0
    starts, ends = np.empty(room, np.int64), np.empty(room, np.int64)
    for k in range(n):
        filled, at = offsets[k], lists.starts[k] + _INT32
        for _ in range(_int32(data, lists.starts[k]) if are_lists[k] else 0):
            starts[filled], ends[filled] = at + _INT16, _end_of_string(data, at, lists.ends[k])
            at = ends[filled]
            are_lists[k] &= is_utf8(data, starts[filled], at)
            filled += 1
        offsets[k + 1] = filled if are_lists[k] else offsets[k]
    return offsets, _Spans(starts[: offsets[n]], ends[: offsets[n]]), are_lists


@kernel
def _read_rest(sent: Strings, ends_of_topics: Ints, malformed: Flags) -> tuple[Flags, _Rest]:
    """Return which subscriptions are malformed, now that all is read, and what follows the topics of the others."""
    n, room = len(malformed), 0
    for m in range(n):
        room += 0 if malformed[m] else sent.offsets[m + 1] - ends_of_topics[m]
    rest = _Rest(
        Assignments(np.zeros(n + 1, np.int32), np.empty(room // _INT32, np.int32), np.empty(room // _INT32, np.int32)),
        _Spans(np.empty(room // _SMALLEST_TOPIC, np.int64), np.empty(room // _SMALLEST_TOPIC, np.int64)),
        np.full(n, NO_GENERATION, np.int64),
        _Spans(np.zeros(n, np.int64), np.zeros(n, np.int64)),
    )
    named, listed = 0, 0
    for m in range(n):
        if not malformed[m]:
            names, partitions, at = _read_rest_of_one(sent, m, ends_of_topics[m], rest, named, listed)
            malformed[m] = at == _MALFORMED
            if not malformed[m]:
                named, listed = names, partitions
        rest.owned.offsets[m + 1] = listed
    owned = Assignments(rest.owned.offsets, rest.owned.topics[:listed], rest.owned.partitions[:listed])
    return malformed, _Rest(
        owned, _Spans(rest.names.starts[:named], rest.names.ends[:named]), rest.generations, rest.racks
    )


@kernel_in_place
def _read_rest_of_one(sent: Strings, m: int, at: int, rest: _Rest, named: int, listed: int) -> tuple[int, int, int]:
    """Read the rest of a member; return the new numbers of names and partitions, and where the rest ends."""
    data, end = sent.data, int(sent.offsets[m + 1])
    version = min(_int16(data, sent.offsets[m]), NEWEST_VERSION)
    at = _end_of_user_data(data, at, end)
    if version >= 1:
        named, listed, at = _read_owned(data, at, end, rest, named, listed)
    generation, rack, end_of_rack = NO_GENERATION, 0, 0
    if version >= 2:
        if at == _MALFORMED or end - at < _INT32:
            return named, listed, _MALFORMED
        generation = max(_int32(data, at), NO_GENERATION)
        at += _INT32
    if version >= 3:
        if end - at >= _INT16 and _int16(data, at) < 0:
            at += _INT16
        else:
            rack, end_of_rack = at + _INT16, _end_of_string(data, at, end)
            at = end_of_rack
            if at == _MALFORMED or not is_utf8(data, rack, at):
                return named, listed, _MALFORMED
    rest.generations[m], rest.racks.starts[m], rest.racks.ends[m] = generation, rack, end_of_rack
    return named, listed, at


@kernel_in_place
def _read_owned(data: Bytes, at: int, end: int, rest: _Rest, named: int, listed: int) -> tuple[int, int, int]:
    """Read owned partitions; return the new numbers of names and partitions, and where they end."""
    count = _count(data, at, end, _SMALLEST_TOPIC)
    at += _INT32
    for _ in range(count):
        start, at = at + _INT16, _end_of_string(data, at, end)
        numbers = _count(data, at, end, _INT32)
        if numbers == _MALFORMED or not is_utf8(data, start, at):
            return named, listed, _MALFORMED
        rest.names.starts[named], rest.names.ends[named] = start, at
        at += _INT32
        for _ in range(numbers):
            rest.owned.topics[listed], rest.owned.partitions[listed] = named, _int32(data, at)
            listed += 1
            at += _INT32
        named += 1
    return named, listed, at if count != _MALFORMED else _MALFORMED


@kernel_in_place
def _end_of_user_data(data: Bytes, at: int, end: int) -> int:
    if end - at < _INT32:
        return _MALFORMED
    length = max(_int32(data, at), 0)
    at += _INT32
    return at + length if length <= end - at else _MALFORMED


@kernel_in_place
def _end_of_string(data: Bytes, at: int, end: int) -> int:
    """Return where a string ends; ``at`` may be _MALFORMED, as the result is if the bytes end before the string."""
    if at == _MALFORMED or end - at < _INT16:
        return _MALFORMED
    length = _int16(data, at)
    at += _INT16
    return at + length if 0 <= length <= end - at else _MALFORMED


@kernel_in_place
def _count(data: Bytes, at: int, end: int, item_bytes: int) -> int:
    """Return the number of items of an array, whose items have at least so many bytes, or _MALFORMED."""
    if at == _MALFORMED or end - at < _INT32:
        return _MALFORMED
    count = _int32(data, at)
    return count if 0 <= count * item_bytes <= end - at - _INT32 else _MALFORMED


@kernel_in_place
def _int16(data: Bytes, at: int) -> int:
    value = byte_at(data, at) << 8 | byte_at(data, at + 1)
    return value - (value << 1 & 0x10000)


@kernel_in_place
def _int32(data: Bytes, at: int) -> int:
    low = byte_at(data, at + 2) << 8 | byte_at(data, at + 3)
    return _int16(data, at) << 16 | low


# ---- encoding


@kernel
def _assignment_sizes(given: Assignments, names: Strings) -> Ints:
    """Return the number of bytes of each member's assignment."""
    sizes = np.empty(len(given.offsets) - 1, np.int64)
    named_by = np.full(len(names.offsets) - 1, -1, np.int32)
    for m in range(len(sizes)):
        first, end = given.offsets[m], given.offsets[m + 1]
        size = _INT16 + _INT32 + (end - first) * _INT32 + _INT32
        for topic in given.topics[first:end]:
            if named_by[topic] != m:
                named_by[topic] = m
                size += _SMALLEST_TOPIC + names.offsets[topic + 1] - names.offsets[topic]
        sizes[m] = size
    return sizes


@kernel
def _write_assignments(given: Assignments, names: Strings, offsets: Ints32) -> Bytes:
    data = np.empty(offsets[-1], np.uint8)
    left, places = np.zeros(len(names.offsets) - 1, np.int32), np.empty(len(names.offsets) - 1, np.int64)
    for m in range(len(offsets) - 1):
        _write_assignment(given, names, m, data[offsets[m] : offsets[m + 1]], left, places)
    return data


@kernel_in_place
def _write_assignment(given: Assignments, names: Strings, m: int, data: Bytes, left: Ints32, places: Ints) -> None:
    """Write the assignment of a member, topics in the order in which it first has them.

    By topic, ``left`` has the number of partitions, 0 again in the end, and ``places`` is scratch.
    """
    at, topics, end = _INT16 + _INT32, 0, given.offsets[m + 1]
    for topic in given.topics[given.offsets[m] : end]:
        left[topic] += 1
    k = given.offsets[m]
    while k < end:
        topic = given.topics[k]
        if left[topic] > 0:
            first, length = names.offsets[topic], names.offsets[topic + 1] - names.offsets[topic]
            _put_int16(data, at, length)
            at += _INT16
            for i in range(length):
                data[at + i] = names.data[first + i]
            _put_int32(data, at + length, left[topic])
            places[topic] = at + length + _INT32
            at = places[topic] + left[topic] * _INT32
            left[topic], topics = 0, topics + 1
        place = places[topic]
        while k < end and given.topics[k] == topic:
            _put_int32(data, place, given.partitions[k])
            place, k = place + _INT32, k + 1
        places[topic] = place
    _put_int16(data, 0, NEWEST_VERSION)
    _put_int32(data, _INT16, topics)
    _put_int32(data, at, -1)


@kernel_in_place
def _put_int16(data: Bytes, at: int, value: int) -> None:
    # Unsigned, as in ``byte_at``.
    data[np.uint64(at)], data[np.uint64(at + 1)] = value >> 8 & 0xFF, value & 0xFF


@kernel_in_place
def _put_int32(data: Bytes, at: int, value: int) -> None:
    _put_int16(data, at, value >> 16)
    _put_int16(data, at + _INT16, value)
