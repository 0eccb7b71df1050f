"""Lists stored in one array, as in Arrow: list k is entries ``offsets[k]`` to ``offsets[k + 1]``."""

from collections.abc import Sequence

import numpy as np

from rebalance_sim.kafka.runtime.strings import Flags, Ints, Ints32, Strings


def list_offsets(lengths: Ints | Ints32 | Flags) -> Ints32:
    """Return the offsets of lists of these lengths.

    >>> list_offsets(np.array([2, 0, 1]))
    array([0, 2, 2, 3], dtype=int32)
    """
    offsets = np.zeros(len(lengths) + 1, np.int32)
    np.cumsum(lengths, dtype=np.int32, out=offsets[1:])
    return offsets


def gather(starts: Ints | Ints32, lengths: Ints | Ints32) -> tuple[Ints32, Ints]:
    """Return the offsets of lists, given by start and length, and for each entry its index in the original array."""
    offsets = list_offsets(lengths)
    return offsets, np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], lengths)


def take_lists(offsets: Ints32, chosen: Ints | Ints32) -> tuple[Ints32, Ints]:
    """Return the offsets of the chosen lists, and for each of their entries its index in the original array.

    >>> take_lists(np.array([0, 2, 2, 3], np.int32), np.array([2, 0]))
    (array([0, 1, 3], dtype=int32), array([2, 0, 1]))
    """
    return gather(offsets[chosen], np.diff(offsets)[chosen])


def take_strings(strings: Strings, chosen: Ints | Ints32) -> Strings:
    """Return a column of the chosen strings.

    >>> take_strings(Strings.of(["a", "bc"]), np.array([1])).data.tobytes()
    b'bc'
    """
    offsets, places = take_lists(strings.offsets, chosen)
    return Strings.over(offsets, strings.data[places])


def concat_lists(offsets: Sequence[Ints32]) -> Ints32:
    """Return the offsets of lists that follow each other, as do their entries.

    >>> concat_lists([np.array([0, 2], np.int32), np.array([0, 1, 1], np.int32)])
    array([0, 2, 3, 3], dtype=int32)
    """
    return list_offsets(np.concatenate([np.diff(of) for of in offsets]))


def concat_strings(columns: Sequence[Strings]) -> Strings:
    """Return columns of strings as one.

    >>> concat_strings([Strings.of(["a", "bc"]), Strings.of(["d"])]).to_list()
    ['a', 'bc', 'd']
    """
    data = [column.data[column.offsets[0] : column.offsets[-1]] for column in columns]
    return Strings.over(concat_lists([column.offsets for column in columns]), np.concatenate(data))


def choose_strings(usual: Strings, others: Strings, where: Flags) -> Strings:
    """Return the other strings where a flag is set, else the usual ones.

    >>> choose_strings(Strings.of(["a", "b"]), Strings.of(["", "cd"]), np.array([False, True])).to_list()
    ['a', 'cd']
    """
    if not where.any():
        return usual
    starts = np.where(where, others.offsets[:-1] + len(usual.data), usual.offsets[:-1])
    offsets, places = gather(starts, np.where(where, np.diff(others.offsets), np.diff(usual.offsets)))
    return Strings.over(offsets, np.concatenate([usual.data, others.data])[places])
