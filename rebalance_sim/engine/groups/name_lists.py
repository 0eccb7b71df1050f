"""Lists of names, each distinct one stored once: members of a group mostly subscribe alike and offer the same."""

import numpy as np
import pyarrow as pa

from rebalance_sim.engine.tables.arrow import list_offsets, numbers, strings
from rebalance_sim.kafka.runtime.kernel import inner_kernel, kernel
from rebalance_sim.kafka.runtime.strings import WORD, Ints, Ints32, Strings, fast_hash, larger_table, word

_NULL = -1


def store_once(lists: pa.ListArray, namespaces: Ints32) -> pa.DictionaryArray:
    """Return each list as its place among the distinct lists.

    Names of different ``namespaces``, which are given by list, differ although they are written alike.

    >>> stored = store_once(pa.array([["a"], ["a"], None, ["b"]]), np.zeros(4, np.int32))
    >>> stored.indices.to_pylist(), stored.dictionary.to_pylist()
    ([0, 0, 1, 2], [['a'], None, ['b']])
    """
    names, offsets = lists.flatten(), list_offsets(lists)
    scopes = namespaces.astype(np.int64)
    if lists.null_count:
        scopes[numbers(lists.is_null())] = _NULL
    if names.null_count:
        # ``strings`` has a null as an empty string: a list that contains one is equal to no other.
        with_null = np.unique(np.searchsorted(offsets, np.flatnonzero(numbers(names.is_null())), side="right") - 1)
        scopes[with_null] = _NULL - 1 - with_null
    places, firsts = _number_lists(offsets, strings(names), scopes)
    return pa.DictionaryArray.from_arrays(pa.array(places), lists.take(pa.array(firsts)))


def number_names(names: pa.StringArray, namespaces: Ints32) -> tuple[Ints32, Ints32]:
    """Return the place of each name among the distinct ones, and of those the first name that is equal to it.

    No name is null. Names of different ``namespaces``, which are given by name, differ although they are written alike.

    >>> places, firsts = number_names(pa.array(["a", "a", "b"]), np.zeros(3, np.int32))
    >>> places.tolist(), firsts.tolist()
    ([0, 0, 1], [0, 2])
    """
    return _number_lists(np.arange(len(names) + 1, dtype=np.int32), strings(names), namespaces.astype(np.int64))


@kernel
def _number_lists(offsets: Ints32, names: Strings, scopes: Ints) -> tuple[Ints32, Ints32]:
    """Return the place of each list among the distinct ones, and of those the first list that is equal to it."""
    n, count, bits = len(scopes), 0, 8
    places, firsts = np.empty(n, np.int32), np.empty(n, np.int32)
    hashes = np.empty(n, np.int64)
    table = np.full(1 << bits, -1, np.int32)
    for k in range(n):
        if k > 0 and _are_equal(offsets, names, scopes, k - 1, k):
            places[k] = places[k - 1]
            continue
        code = fast_hash(names.data, names.offsets[offsets[k]], names.offsets[offsets[k + 1]], scopes[k])
        slot = code >> 16 & len(table) - 1
        while table[slot] >= 0:
            of = table[slot]
            if hashes[of] == code and _are_equal(offsets, names, scopes, firsts[of], k):
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
def _are_equal(offsets: Ints32, names: Strings, scopes: Ints, a: int, b: int) -> bool:
    first_a, first_b, n = offsets[a], offsets[b], offsets[a + 1] - offsets[a]
    if scopes[a] != scopes[b] or n != offsets[b + 1] - first_b:
        return False
    start_a, start_b = names.offsets[first_a], names.offsets[first_b]
    distance, length = start_b - start_a, names.offsets[first_a + n] - start_a
    for k in range(1, n + 1):
        if names.offsets[first_b + k] - names.offsets[first_a + k] != distance:
            return False
    if length < WORD:
        for k in range(length):
            if names.data[start_a + k] != names.data[start_b + k]:
                return False
        return True
    for k in range(0, length - WORD, WORD):
        if word(names.data, start_a + k) != word(names.data, start_b + k):
            return False
    # The last word overlaps the one before it: a loop over single bytes would take as long as all words.
    return word(names.data, start_a + length - WORD) == word(names.data, start_b + length - WORD)
