"""Java's view of strings that lie as UTF-8 in two arrays: hash codes and order.

A column of strings is ``offsets`` (length n + 1) into ``data`` (bytes), as in Arrow.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rebalance_sim.kafka.kernel import kernel

Ints = NDArray[np.int64]
Ints32 = NDArray[np.int32]
Bytes = NDArray[np.uint8]
Flags = NDArray[np.bool_]


class Strings(NamedTuple):
    """A column of strings: string i is the UTF-8 bytes ``data[offsets[i]:offsets[i + 1]]``."""

    offsets: Ints32
    data: Bytes

    @classmethod
    def of(cls, values: list[str]) -> "Strings":
        """Lay out Python strings as a column.

        >>> Strings.of(["ab", "", "c"]).offsets
        array([0, 2, 2, 3], dtype=int32)
        """
        encoded = [value.encode() for value in values]
        offsets = np.zeros(len(encoded) + 1, np.int32)
        offsets[1:] = np.cumsum([len(value) for value in encoded], dtype=np.int64)
        return cls(offsets, np.frombuffer(b"".join(encoded), np.uint8))


@kernel
def _byte(data: Bytes, i: int) -> int:
    """Byte i as a signed number: numba makes a float of an unsigned and a signed one."""
    return int(np.int64(data[i]))


@kernel
def java_hash(strings: Strings, i: int) -> int:
    """``String.hashCode`` of string i as an unsigned 32-bit number: 31-polynomial over its UTF-16 code units."""
    data = strings.data
    position = strings.offsets[i]
    end = strings.offsets[i + 1]
    h = 0
    while position < end:
        lead = _byte(data, position)
        if lead < 0x80:
            h = (31 * h + lead) & 0xFFFFFFFF
            position += 1
        elif lead < 0xE0:
            unit = (lead & 0x1F) << 6 | _byte(data, position + 1) & 0x3F
            h = (31 * h + unit) & 0xFFFFFFFF
            position += 2
        elif lead < 0xF0:
            unit = (lead & 0x0F) << 12 | (_byte(data, position + 1) & 0x3F) << 6 | _byte(data, position + 2) & 0x3F
            h = (31 * h + unit) & 0xFFFFFFFF
            position += 3
        else:
            point = (
                (lead & 0x07) << 18
                | (_byte(data, position + 1) & 0x3F) << 12
                | (_byte(data, position + 2) & 0x3F) << 6
                | _byte(data, position + 3) & 0x3F
            ) - 0x10000
            h = (31 * h + (0xD800 | point >> 10)) & 0xFFFFFFFF
            h = (31 * h + (0xDC00 | point & 0x3FF)) & 0xFFFFFFFF
            position += 4
    return h


@kernel
def java_hashes(strings: Strings) -> Ints:
    """``String.hashCode`` of every string, as unsigned 32-bit numbers.

    >>> java_hashes(Strings.of(["AaAa", "BBBB", "range"])).tolist()
    [2031744, 2031744, 108280125]
    """
    n = len(strings.offsets) - 1
    hashes = np.empty(n, np.int64)
    for i in range(n):
        hashes[i] = java_hash(strings, i)
    return hashes


@kernel
def java_compare(strings: Strings, i: int, j: int) -> int:
    """``String.compareTo`` of strings i and j: below, equal to or above 0.

    Java compares UTF-16 code units. UTF-8 bytes give the same order but for one case: a code point beyond the
    basic plane (lead byte 0xF0 and up) is a pair of surrogates in UTF-16, which come before U+E000 to U+FFFF
    (lead bytes 0xEE and 0xEF).
    """
    a, a_end = strings.offsets[i], strings.offsets[i + 1]
    b, b_end = strings.offsets[j], strings.offsets[j + 1]
    while a < a_end and b < b_end:
        x, y = _byte(strings.data, a), _byte(strings.data, b)
        if x != y:
            if x >= 0xEE and y >= 0xEE and (x >= 0xF0) != (y >= 0xF0):
                return y - x
            return x - y
        a += 1
        b += 1
    return int((a_end - a) - (b_end - b))


@kernel
def equal(a: Strings, i: int, b: Strings, j: int) -> bool:
    """Tell whether string i of one column is string j of another."""
    length = a.offsets[i + 1] - a.offsets[i]
    if b.offsets[j + 1] - b.offsets[j] != length:
        return False
    for k in range(length):
        if a.data[a.offsets[i] + k] != b.data[b.offsets[j] + k]:
            return False
    return True


@kernel
def _before(first: Ints, strings: Strings, i: int, j: int) -> bool:
    if first[i] != first[j]:
        return bool(first[i] < first[j])
    return java_compare(strings, i, j) < 0


@kernel
def sort_section(order: Ints32, start: int, end: int, first: Ints, strings: Strings, scratch: Ints32) -> None:
    """Sort ``order[start:end]`` (indices) by number ``first``, then by Java's order of ``strings``; stable.

    Merge sort over runs of 16 that insertion sort makes; ``scratch`` is as long as ``order``.
    """
    run = 16
    for low in range(start, end, run):
        high = min(low + run, end)
        for k in range(low + 1, high):
            moving = order[k]
            place = k
            while place > low and _before(first, strings, moving, order[place - 1]):
                order[place] = order[place - 1]
                place -= 1
            order[place] = moving
    width = run
    while width < end - start:
        for low in range(start, end, 2 * width):
            middle = min(low + width, end)
            high = min(low + 2 * width, end)
            if middle == high or not _before(first, strings, order[middle], order[middle - 1]):
                continue
            scratch[low:middle] = order[low:middle]
            left, right, place = low, middle, low
            while left < middle and right < high:
                if _before(first, strings, order[right], scratch[left]):
                    order[place] = order[right]
                    right += 1
                else:
                    order[place] = scratch[left]
                    left += 1
                place += 1
            while left < middle:
                order[place] = scratch[left]
                left += 1
                place += 1
        width *= 2


@kernel
def sort_sections(order: Ints32, sections: Ints32, first: Ints, strings: Strings) -> None:
    """Sort each ``order[sections[s]:sections[s + 1]]``, as ``sort_section`` does."""
    scratch = np.empty(len(order), np.int32)
    for s in range(len(sections) - 1):
        sort_section(order, sections[s], sections[s + 1], first, strings, scratch)
