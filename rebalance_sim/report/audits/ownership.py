"""Who owns what: a picture of each member's partitions before and after, in the order of all partitions."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

Partition = tuple[str, int]
Owned = Mapping[str, Sequence[Partition]]
"""By member, its partitions."""
CELLS = 400
"""Partitions of a group that are drawn one by one; those of a larger group are only counted."""
_CELL, _GAP = 10, 6
"""Width of a partition, and between topics."""
HEIGHT = 14
_WIDTH = 200


@dataclass(frozen=True)
class OwnedPartitions:
    """The partitions of one member at one time."""

    count: int
    moved: int
    """Partitions that another member owned before."""
    kept_path: str
    """Of the picture: partitions that the member owned before, or that nobody did."""
    moved_path: str


@dataclass(frozen=True)
class Picture:
    """The places of a group's partitions in the pictures of its members."""

    width: int
    places: Mapping[Partition, int]
    topics: tuple[tuple[str, int], ...]
    """Topics from left to right, with their numbers of partitions."""

    @property
    def shown_width(self) -> int:
        """The width on the page, in pixels: partitions of a small group are wider."""
        return min(2 * self.width, max(self.width, _WIDTH))

    @classmethod
    def of(cls, partitions: Sequence[Partition]) -> "Picture":
        """Place partitions side by side, topic by topic.

        >>> Picture.of([("b", 0), ("a", 1), ("a", 0)]).places
        {('a', 0): 0, ('a', 1): 10, ('b', 0): 26}
        """
        ordered = sorted(set(partitions))
        places: dict[Partition, int] = {}
        at = 0
        for place, partition in enumerate(ordered):
            at += 0 if place == 0 else _CELL if ordered[place - 1][0] == partition[0] else _CELL + _GAP
            places[partition] = at
        topics: dict[str, int] = {}
        for topic, _ in ordered:
            topics[topic] = topics.get(topic, 0) + 1
        return cls(at + _CELL, places if len(ordered) <= CELLS else {}, tuple(topics.items()))

    def owned(
        self, partitions: Sequence[Partition], member: str, before: Mapping[Partition, Collection[str]]
    ) -> OwnedPartitions:
        """Return the picture of a member's partitions; ``before`` are the previous owners, as far as there are any."""
        moved = [each for each in partitions if member not in before.get(each, (member,))]
        kept = [each for each in partitions if member in before.get(each, (member,))]
        return OwnedPartitions(len(partitions), len(moved), self._path(kept, 3), self._path(moved, 0))

    def _path(self, partitions: Sequence[Partition], margin: int) -> str:
        """Return rectangles side by side as one path; neighbours keep a gap."""
        places = sorted(self.places[each] for each in partitions if each in self.places)
        height = HEIGHT - 2 * margin
        return "".join(f"M{place} {margin}h{_CELL - 2}v{height}h-{_CELL - 2}z" for place in places)


def owners(owned: Owned) -> dict[Partition, str]:
    """Return the owner of each partition.

    >>> owners({"a": [("t", 0)], "b": [("t", 1)]})
    {('t', 0): 'a', ('t', 1): 'b'}
    """
    return {partition: member for member, partitions in owned.items() for partition in partitions}


def all_owners(owned: Owned) -> dict[Partition, set[str]]:
    """Return the owners of each partition: in a share group it may have several.

    >>> sorted(all_owners({"a": [("t", 0)], "b": [("t", 0)]})["t", 0])
    ['a', 'b']
    """
    found: dict[Partition, set[str]] = {}
    for member, partitions in owned.items():
        for partition in partitions:
            found.setdefault(partition, set()).add(member)
    return found


def ranges(numbers: Sequence[int]) -> str:
    """Return numbers in a short form.

    >>> ranges([3, 0, 1, 2, 7])
    '0–3, 7'
    """
    ordered = sorted(set(numbers))
    starts = [number for place, number in enumerate(ordered) if place == 0 or ordered[place - 1] != number - 1]
    ends = [one for one, other in pairwise(ordered) if other != one + 1] + ordered[-1:]
    return ", ".join(str(one) if one == other else f"{one}–{other}" for one, other in zip(starts, ends, strict=True))
