"""How far threads restore state from changelog topics (``StoreChangelogReader``, ``DefaultStateUpdater``).

A thread reads the changelogs of all its tasks with one consumer. While an active task restores, standby tasks wait:
their partitions are paused (``enforceRestoreActive``). That tasks of equal rank get equal shares is an assumption: a
consumer fetches from all of its partitions.
"""

from collections.abc import Sequence
from itertools import accumulate


def finish_after(active: Sequence[int], standby: Sequence[int]) -> tuple[list[int], list[int]]:
    """Return how many records a thread has read when each task is restored, from the records that each needs.

    >>> finish_after([100, 10], [5])
    ([110, 20], [115])
    """
    before = sum(active)
    return _shared(active), [before + read for read in _shared(standby)]


def restored_after(active: Sequence[int], standby: Sequence[int], read: int) -> tuple[list[int], list[int]]:
    """Return how many records each task has restored after a thread has read some.

    >>> restored_after([100, 10], [5], 40)
    ([30, 10], [0])
    """
    return _filled(active, read), _filled(standby, max(read - sum(active), 0))


def _shared(amounts: Sequence[int]) -> list[int]:
    """Return what all have together when each has its amount: until then all have the same."""
    in_order = sorted(amounts)
    smaller = dict(zip(in_order, enumerate(accumulate(in_order)), strict=True))
    return [smaller[each][1] + each * (len(amounts) - 1 - smaller[each][0]) for each in amounts]


def _filled(amounts: Sequence[int], total: int) -> list[int]:
    """Distribute a total in equal shares, up to the amount of each; what cannot be divided goes to the smallest."""
    shares = [0] * len(amounts)
    in_order = sorted(range(len(amounts)), key=amounts.__getitem__)
    for place, k in enumerate(in_order):
        shares[k] = min(amounts[k], -(-total // (len(amounts) - place)))
        total -= shares[k]
    return shares
