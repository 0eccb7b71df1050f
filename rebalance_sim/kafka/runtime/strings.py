"""Java's hash codes and order of strings that are stored as UTF-8 in two arrays, as in Arrow."""

from itertools import pairwise
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from rebalance_sim.kafka.runtime.kernel import inner_kernel, kernel, kernel_in_place, kernel_or
from rebalance_sim.kafka.runtime.sorting import stable_order

Ints = NDArray[np.int64]
Ints32 = NDArray[np.int32]
Bytes = NDArray[np.uint8]
Flags = NDArray[np.bool_]
_Number = TypeVar("_Number", np.int32, np.uint8)
_FEW = 32
_FEW_STRINGS = 10
_KEY_BYTES = 7
_NOT_ASCII = 0x80808080808080
_NOT_ASCII_WORD = -0x7F7F7F7F7F7F7F80
_ONES = 0x01010101010101
WORD = 8
"""Bytes of a ``word``."""
_MULTIPLIER = 0x1E3779B97F4A7C15
_MASK = 0x7FFFFFFFFFFFFFFF
_POWER_4 = 31**4
_POWER_8 = 31**8 & 0xFFFFFFFF


class Strings(NamedTuple):
    """A column of strings: string i is the UTF-8 bytes ``data[offsets[i]:offsets[i + 1]]``.

    ``of`` and ``over`` make the arrays read-only, because numba compiles a kernel once for writable and once more for
    read-only arrays.
    """

    offsets: Ints32
    data: Bytes

    @classmethod
    def over(cls, offsets: Ints32, data: Bytes) -> "Strings":
        """Return arrays as a column, without a copy.

        >>> Strings.over(np.array([0, 1], np.int32), np.array([97], np.uint8)).data.flags.writeable
        False
        """
        return cls(_read_only(offsets), _read_only(data))

    @classmethod
    def of(cls, values: list[str]) -> "Strings":
        """Return Python strings as a column.

        >>> Strings.of(["ab", "", "c"]).offsets
        array([0, 2, 2, 3], dtype=int32)
        """
        encoded = [value.encode() for value in values]
        offsets = np.zeros(len(encoded) + 1, np.int32)
        offsets[1:] = np.cumsum([len(value) for value in encoded], dtype=np.int64)
        return cls.over(offsets, np.frombuffer(b"".join(encoded), np.uint8))

    def to_list(self) -> list[str]:
        """Return the strings as Python's.

        >>> Strings.of(["ab", "", "c"]).to_list()
        ['ab', '', 'c']
        """
        data = self.data.tobytes()
        return [data[low:high].decode() for low, high in pairwise(self.offsets.tolist())]


def java_key(text: str) -> bytes:
    """Return a key that sorts like ``String.compareTo``: by UTF-16 code units."""
    return text.encode("utf-16-be", "surrogatepass")


def _read_only(array: NDArray[_Number]) -> NDArray[_Number]:
    view = array.view()
    view.flags.writeable = False
    return view


def _byte_in_plain_python(data: Bytes, i: int) -> int:
    return data.item(i)


@kernel_or(_byte_in_plain_python)
def byte_at(data: Bytes, i: int) -> int:
    """Return byte i as a signed number, because numba converts an unsigned and a signed one to a float.

    The index is unsigned, so that numba generates no code for negative indices and LLVM can merge adjacent reads.
    """
    return int(np.int64(data[np.uint64(i)]))


@kernel_in_place
def word(data: Bytes, i: int) -> int:
    """Return eight bytes as one number, which takes one read."""
    low = byte_at(data, i) | byte_at(data, i + 1) << 8 | byte_at(data, i + 2) << 16 | byte_at(data, i + 3) << 24
    high = byte_at(data, i + 4) | byte_at(data, i + 5) << 8 | byte_at(data, i + 6) << 16 | byte_at(data, i + 7) << 24
    return low | high << 32


@kernel_in_place
def is_utf8(data: Bytes, at: int, end: int) -> bool:
    """Return whether bytes are UTF-8 as Python reads it: without surrogates and in the shortest form."""
    while at + WORD <= end and word(data, at) & _NOT_ASCII_WORD == 0:
        # The last word overlaps the one before it.
        at = end if at + WORD == end else min(at + WORD, end - WORD)
    while at < end:
        lead = byte_at(data, at)
        if lead < 0x80:
            at += 1
            continue
        size = 2 + (lead >= 0xE0) + (lead >= 0xF0)
        if lead < 0xC2 or lead > 0xF4 or at + size > end:
            return False
        point = lead & 0x7F >> size
        for k in range(at + 1, at + size):
            if byte_at(data, k) & 0xC0 != 0x80:
                return False
            point = point << 6 | byte_at(data, k) & 0x3F
        if point < 1 << 5 * size - 4 or point > 0x10FFFF or 0xD800 <= point < 0xE000:
            return False
        at += size
    return True


@kernel
def java_hash(strings: Strings, i: int) -> int:
    """Return ``String.hashCode`` of string i, unsigned: a polynomial in 31 over its UTF-16 code units."""
    data = strings.data
    position = strings.offsets[i]
    end = strings.offsets[i + 1]
    h = 0
    # Names are mostly ASCII: eight characters at once, whose products do not wait for each other.
    while end - position >= 8:
        a, b = byte_at(data, position), byte_at(data, position + 1)
        c, d = byte_at(data, position + 2), byte_at(data, position + 3)
        e, f = byte_at(data, position + 4), byte_at(data, position + 5)
        g, last = byte_at(data, position + 6), byte_at(data, position + 7)
        if (a | b | c | d | e | f | g | last) >= 0x80:
            break
        first = 29791 * a + 961 * b + 31 * c + d
        h = (h * _POWER_8 + first * _POWER_4 + 29791 * e + 961 * f + 31 * g + last) & 0xFFFFFFFF
        position += 8
    while position < end:
        lead = byte_at(data, position)
        if lead < 0x80:
            h = (31 * h + lead) & 0xFFFFFFFF
            position += 1
        elif lead < 0xE0:
            unit = (lead & 0x1F) << 6 | byte_at(data, position + 1) & 0x3F
            h = (31 * h + unit) & 0xFFFFFFFF
            position += 2
        elif lead < 0xF0:
            unit = (lead & 0x0F) << 12 | (byte_at(data, position + 1) & 0x3F) << 6 | byte_at(data, position + 2) & 0x3F
            h = (31 * h + unit) & 0xFFFFFFFF
            position += 3
        else:
            point = (
                (lead & 0x07) << 18
                | (byte_at(data, position + 1) & 0x3F) << 12
                | (byte_at(data, position + 2) & 0x3F) << 6
                | byte_at(data, position + 3) & 0x3F
            ) - 0x10000
            h = (31 * h + (0xD800 | point >> 10)) & 0xFFFFFFFF
            h = (31 * h + (0xDC00 | point & 0x3FF)) & 0xFFFFFFFF
            position += 4
    return h


@kernel
def java_hashes(strings: Strings) -> Ints:
    """Return ``String.hashCode`` of every string, as unsigned 32-bit numbers.

    >>> java_hashes(Strings.of(["AaAa", "BBBB", "range"])).tolist()
    [2031744, 2031744, 108280125]
    """
    n = len(strings.offsets) - 1
    hashes = np.empty(n, np.int64)
    for i in range(n):
        hashes[i] = java_hash(strings, i)
    return hashes


@inner_kernel
def fast_hash(data: Bytes, start: int, end: int, scope: int) -> int:
    """Return a hash from 0 on that is equal for equal bytes of the same scope."""
    code = int(end - start) * 31 + int(scope)
    if end - start < WORD:
        for k in range(start, end):
            code = ((code ^ byte_at(data, k)) * _MULTIPLIER) & _MASK
        return code ^ code >> 29
    for k in range(start, end - WORD, WORD):
        code = ((code ^ word(data, k)) * _MULTIPLIER) & _MASK
        code ^= code >> 32
    code = ((code ^ word(data, end - WORD)) * _MULTIPLIER) & _MASK
    return code ^ code >> 29


@kernel
def larger_table(bits: int, hashes: Ints) -> Ints32:
    """Return a hash table with open addressing and ``2**bits`` slots, of the places of distinct hashes.

    The slot of a hash, or one of the next, is ``hash >> 16`` modulo the size.
    """
    table = np.full(1 << bits, -1, np.int32)
    for of in range(len(hashes)):
        slot = hashes[of] >> 16 & len(table) - 1
        while table[slot] >= 0:
            slot = slot + 1 & len(table) - 1
        table[slot] = of
    return table


@inner_kernel
def java_compare(strings: Strings, i: int, j: int) -> int:
    """Return a number below, equal to or above 0, like ``String.compareTo`` of strings i and j.

    Java compares UTF-16 code units. UTF-8 bytes have the same order, with one exception: a code point beyond the basic
    multilingual plane (lead byte 0xF0 and up) is a surrogate pair in UTF-16, which sorts before U+E000 to U+FFFF (lead
    bytes 0xEE and 0xEF).
    """
    a, a_end = strings.offsets[i], strings.offsets[i + 1]
    b, b_end = strings.offsets[j], strings.offsets[j + 1]
    while a + WORD <= a_end and b + WORD <= b_end and word(strings.data, a) == word(strings.data, b):
        a += WORD
        b += WORD
    while a < a_end and b < b_end:
        x, y = byte_at(strings.data, a), byte_at(strings.data, b)
        if x != y:
            if x >= 0xEE and y >= 0xEE and (x >= 0xF0) != (y >= 0xF0):
                return y - x
            return x - y
        a += 1
        b += 1
    return int((a_end - a) - (b_end - b))


@inner_kernel
def equal(a: Strings, i: int, b: Strings, j: int) -> bool:
    """Return whether string i of one column equals string j of another."""
    length = a.offsets[i + 1] - a.offsets[i]
    if b.offsets[j + 1] - b.offsets[j] != length:
        return False
    first_a, first_b, k = a.offsets[i], b.offsets[j], 0
    while k + WORD <= length:
        if word(a.data, first_a + k) != word(b.data, first_b + k):
            return False
        k += WORD
    while k < length:
        if a.data[first_a + k] != b.data[first_b + k]:
            return False
        k += 1
    return True


@kernel
def sort_by_key(values: Ints32, keys: Ints) -> None:
    """Sort both arrays by key, in place and stably."""
    sorted_to = 1
    while sorted_to < len(keys) and keys[sorted_to - 1] <= keys[sorted_to]:
        sorted_to += 1
    if sorted_to >= len(keys):
        return
    if len(values) > _FEW:
        order = stable_order(keys)
        values[:] = values[order]
        keys[:] = keys[order]
        return
    for k in range(sorted_to, len(values)):
        value, key = values[k], keys[k]
        place = k
        while place > 0 and keys[place - 1] > key:
            values[place], keys[place] = values[place - 1], keys[place - 1]
            place -= 1
        values[place], keys[place] = value, key


@kernel
def _common_prefix(strings: Strings, order: Ints32, start: int) -> int:
    """Return how many bytes after the first ``start`` all of these strings share."""
    offsets, data = strings.offsets, strings.data
    model = offsets[order[0]] + start
    shared = int(offsets[order[0] + 1] - model)
    for i in order[1:]:
        first = offsets[i] + start
        shared = min(shared, int(offsets[i + 1] - first))
        k = 0
        while k + WORD <= shared and word(data, first + k) == word(data, model + k):
            k += WORD
        while k < shared and byte_at(data, first + k) == byte_at(data, model + k):
            k += 1
        shared = k
    return shared


@kernel
def _key(strings: Strings, i: int, start: int) -> int:
    """Return the next bytes of a string as one number that sorts as they do; 0 marks the end of the string.

    Lead bytes of surrogate pairs (0xF0 and up) sort below 0xEE and 0xEF, as in ``java_compare``.
    """
    first, end, data = int(strings.offsets[i] + start), int(strings.offsets[i + 1]), strings.data
    if end - first >= _KEY_BYTES:
        high = byte_at(data, first) << 48 | byte_at(data, first + 1) << 40 | byte_at(data, first + 2) << 32
        low = byte_at(data, first + 3) << 24 | byte_at(data, first + 4) << 16 | byte_at(data, first + 5) << 8
        ascii_key = high | low | byte_at(data, first + 6)
        if ascii_key & _NOT_ASCII == 0:
            return ascii_key + _ONES
    key = 0
    for place in range(first, min(first + _KEY_BYTES, end)):
        byte = byte_at(data, place)
        if byte >= 0xF0:
            byte -= 2
        elif byte >= 0xEE:
            byte += 5
        key = key << 8 | (byte + 1)
    return key << 8 * max(first + _KEY_BYTES - end, 0)


@kernel
def _sort_strings(order: Ints32, strings: Strings, keys: Ints, runs: Ints32) -> None:
    """Sort by as many bytes as fit into a number, then sort each run of equal ones by the next bytes.

    ``keys`` and ``runs`` are scratch space: ``keys`` has the length of ``order``, ``runs`` half of that plus one. A run
    that is still to be sorted is its first index, its end, and the number of bytes known to be equal.
    """
    runs[0, 0], runs[0, 1], runs[0, 2] = 0, len(order), 0
    n_runs = 1
    while n_runs > 0:
        n_runs -= 1
        low, end, start = runs[n_runs]
        start += _common_prefix(strings, order[low:end], start)
        for k in range(low, end):
            keys[k] = _key(strings, order[k], start)
        sort_by_key(order[low:end], keys[low:end])
        for k in range(low + 1, end + 1):
            if k == end or keys[k] != keys[low]:
                if k > low + 1 and keys[low] & 0xFF:
                    runs[n_runs, 0], runs[n_runs, 1], runs[n_runs, 2] = low, k, start + _KEY_BYTES
                    n_runs += 1
                low = k


@inner_kernel
def _insert_one_by_one(order: Ints32, low: int, end: int, first: Ints, strings: Strings) -> None:
    """Sort a short section as ``sort_sections`` does."""
    for k in range(low + 1, end):
        moving, place = order[k], k
        while place > low:
            before = order[place - 1]
            if first[before] < first[moving]:
                break
            if first[before] == first[moving] and java_compare(strings, before, moving) <= 0:
                break
            order[place] = before
            place -= 1
        order[place] = moving


@kernel
def sort_sections(order: Ints32, sections: Ints32, first: Ints, strings: Strings) -> None:
    """Sort each ``order[sections[s]:sections[s + 1]]`` (indices) by ``first``, then by the Java order of ``strings``.

    The sort is stable.
    """
    keys = np.empty(len(order), np.int64)
    runs = np.empty((len(order) // 2 + 1, 3), np.int32)
    for s in range(len(sections) - 1):
        low, end = sections[s], sections[s + 1]
        if end - low <= _FEW_STRINGS:
            _insert_one_by_one(order, low, end, first, strings)
            continue
        for k in range(low, end):
            keys[k] = first[order[k]]
        sort_by_key(order[low:end], keys[low:end])
        for k in range(low + 1, end + 1):
            if k == end or first[order[k]] != first[order[low]]:
                if k > low + 1:
                    _sort_strings(order[low:k], strings, keys[low:k], runs)
                low = k
