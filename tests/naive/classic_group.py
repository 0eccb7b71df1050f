"""A group of the classic protocol as its coordinator keeps it: who is let in, who leads, which protocol wins.

``GroupMetadata`` (1.0 to 3.9, Scala) and ``ClassicGroup`` (4.x, Java).
"""

from collections.abc import Iterable
from typing import Any

from tests.naive.group_by import group_by_211, group_by_213
from tests.naive.hash_maps import HashMap, JavaHashMap, ScalaHashMap211, ScalaHashMap213
from tests.naive.java import java_hash, signed
from tests.naive.model import Joiner

MAPS: dict[str, type[HashMap[str, Any]]] = {
    "1.0": ScalaHashMap211,
    "2.3": ScalaHashMap211,
    "3.9": ScalaHashMap213,
    "4.3": JavaHashMap,
}
"""The map of a group's members by their ids."""


class ClassicGroup:
    """Members join and leave; a vote can be held at any time.

    No member names a protocol twice. (If one did, Kafka since 2.3 would count it twice and find no candidate.)
    """

    def __init__(self, version: str) -> None:
        self.version = version
        self.members: HashMap[str, Joiner] = MAPS[version]()
        self.leader: str | None = None

    def admits(self, joiner: Joiner) -> bool:
        """Else the coordinator answers INCONSISTENT_GROUP_PROTOCOL."""
        if not self.members:
            return bool(joiner.protocol_type and joiner.protocols)
        same_type = joiner.protocol_type == next(self.members.values()).protocol_type
        return same_type and not self.candidates().isdisjoint(joiner.protocols)

    def join(self, joiner: Joiner) -> bool:
        """Takes a member in, if it may; the first one leads."""
        if not self.admits(joiner):
            return False
        if self.leader is None:
            self.leader = joiner.member_id
        self.members.put(joiner.member_id, joiner)
        return True

    def remove(self, member_id: str) -> None:
        """The leader's successor is whoever comes first in the map."""
        self.members.remove(member_id)
        if self.leader == member_id:
            self.leader = next(iter(self.members), None)

    def candidates(self) -> set[str]:
        """Protocols that every member supports."""
        return set.intersection(*(set(member.protocols) for member in self.members.values()))

    def votes(self) -> list[tuple[str, int]]:
        """Votes by protocol, in the order in which the coordinator sees them."""
        candidates = self.candidates()
        return counted(self.version, [_vote(member, candidates) for member in self.members.values()])

    def select_protocol(self) -> str:
        if not self.members:
            raise ValueError("Cannot select protocol for empty group")
        return winner_of(self.votes())


def counted(version: str, ballots: list[str]) -> list[tuple[str, int]]:
    """Votes by protocol, in the order in which the coordinator sees them; ballots come in the order of the members."""
    if version == "4.3":
        return _counted_in_java(ballots)
    return group_by_213(ballots) if version == "3.9" else group_by_211(ballots)


def winner_of(votes: list[tuple[str, int]]) -> str:
    """The first that has the most votes."""
    return max(votes, key=lambda vote: vote[1])[0]


def _vote(member: Joiner, candidates: set[str]) -> str:
    return next(protocol for protocol in member.protocols if protocol in candidates)


def _counted_in_java(ballots: Iterable[str]) -> list[tuple[str, int]]:
    counts: JavaHashMap[str, int] = JavaHashMap()
    for ballot in ballots:
        counts.put(ballot, counts[ballot] + 1 if ballot in counts else 1)
    return list(counts.items())


def offsets_partition(group_id: str, partitions: int) -> int:
    """The partition of ``__consumer_offsets`` whose leader is the group's coordinator.

    ``Utils.abs`` makes 0 of the one int that has no positive counterpart.
    """
    hash_code = signed(java_hash(group_id))
    return 0 if hash_code == -(2**31) else abs(hash_code) % partitions
