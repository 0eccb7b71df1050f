"""Lists that lie one behind the other: list k is entries ``offsets[k]`` to ``offsets[k + 1]``."""

import numpy as np

from rebalance_sim.kafka.strings import Ints, Ints32, Strings


def list_offsets(lengths: Ints | Ints32) -> Ints32:
    """Return where lists of these lengths begin and end.

    >>> list_offsets(np.array([2, 0, 1]))
    array([0, 2, 2, 3], dtype=int32)
    """
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)


def gather(starts: Ints | Ints32, lengths: Ints | Ints32) -> tuple[Ints32, Ints]:
    """Lay lists, given by start and length, one behind the other: their offsets, and where their entries were."""
    offsets = list_offsets(lengths)
    return offsets, np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], lengths)


def take_lists(offsets: Ints32, chosen: Ints | Ints32) -> tuple[Ints32, Ints]:
    """Lay some of the lists one behind the other: their offsets, and where their entries were.

    >>> take_lists(np.array([0, 2, 2, 3], np.int32), np.array([2, 0]))
    (array([0, 1, 3], dtype=int32), array([2, 0, 1]))
    """
    return gather(offsets[chosen], np.diff(offsets)[chosen])


def take_strings(strings: Strings, chosen: Ints | Ints32) -> Strings:
    """Take some of the strings.

    >>> take_strings(Strings.of(["a", "bc"]), np.array([1])).data.tobytes()
    b'bc'
    """
    offsets, places = take_lists(strings.offsets, chosen)
    return Strings.over(offsets, strings.data[places])
