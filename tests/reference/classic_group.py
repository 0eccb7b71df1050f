"""A group of the classic protocol as its coordinator keeps it: who is let in, who leads, which protocol wins.

``GroupMetadata`` (1.0 to 3.9, Scala) and ``ClassicGroup`` (4.x, Java).
"""

from collections.abc import Iterable
from typing import Any

from tests.reference.group_by import group_by_211, group_by_213
from tests.reference.hash_maps import HashMap, JavaHashMap, ScalaHashMap211, ScalaHashMap213
from tests.reference.java import java_hash, signed
from tests.reference.model import Joiner

MAPS: dict[str, type[HashMap[str, Any]]] = {
    "1.0": ScalaHashMap211,
    "2.3": ScalaHashMap211,
    "3.9": ScalaHashMap213,
    "4.3": JavaHashMap,
}
"""The map of a group's members by id."""


class ClassicGroup:
    """Members join and leave; a vote can be held at any time.

    No member names a protocol twice. (If one did, Kafka since 2.3 would count it twice and find no candidate.)
    """

    def __init__(self, version: str) -> None:
        self.version = version
        self.members: HashMap[str, Joiner] = MAPS[version]()
        self.leader: str | None = None

    def admits(self, joiner: Joiner) -> bool:
        """Return whether the member is admitted; otherwise the error is INCONSISTENT_GROUP_PROTOCOL."""
        if not self.members:
            return bool(joiner.protocol_type and joiner.protocols)
        same_type = joiner.protocol_type == next(self.members.values()).protocol_type
        return same_type and not self.candidates().isdisjoint(joiner.protocols)

    def join(self, joiner: Joiner) -> bool:
        """Add a member if it is admitted; the first one leads."""
        if not self.admits(joiner):
            return False
        if self.leader is None:
            self.leader = joiner.member_id
        self.members.put(joiner.member_id, joiner)
        return True

    def remove(self, member_id: str) -> None:
        """Remove a member; the first member in the map becomes the leader if the leader leaves."""
        self.members.remove(member_id)
        if self.leader == member_id:
            self.leader = next(iter(self.members), None)

    def candidates(self) -> set[str]:
        """Return the protocols that every member supports."""
        return set.intersection(*(set(member.protocols) for member in self.members.values()))

    def votes(self) -> list[tuple[str, int]]:
        """Return the votes by protocol, in the order in which the coordinator sees them."""
        candidates = self.candidates()
        ballots = [_vote(member, candidates) for member in self.members.values()]
        if self.version == "4.3":
            return _counted_in_java(ballots)
        return group_by_213(ballots) if self.version == "3.9" else group_by_211(ballots)

    def select_protocol(self) -> str:
        if not self.members:
            raise ValueError("Cannot select protocol for empty group")
        return max(self.votes(), key=lambda vote: vote[1])[0]


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
