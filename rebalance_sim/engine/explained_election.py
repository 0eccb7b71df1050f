"""Why a group elects what it elects: the facts by which the coordinator goes, from the rules that predict it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from rebalance_sim.engine.batch_arrays import answers, elect_protocols
from rebalance_sim.engine.explanation import Explanation, first_lines, shown
from rebalance_sim.engine.group_batches import GroupBatch
from rebalance_sim.errors import UserError
from rebalance_sim.kafka.election import ballot
from rebalance_sim.kafka.hash_order import (
    coordinator_order,
    java_bucket,
    java_table_size,
    scala_2_11_index,
    vote_order,
)
from rebalance_sim.kafka.strings import Ints32
from rebalance_sim.versions import KafkaVersion, MapRule

_MAPS = {
    MapRule.JAVA: "Java's HashMap, the lowest bucket first",
    MapRule.SCALA_2_11: "Scala 2.11's maps, the highest bucket first",
    MapRule.SCALA_2_13: "Scala 2.13's maps",
}
_BITS_OF_16_BUCKETS = 4


@dataclass(frozen=True)
class Ballot:
    """The vote of a member, or, in a group of KIP-848, its wish."""

    member_id: str
    protocols: tuple[str, ...]
    """What it offers, the preferred one first."""
    vote: str | None
    """The first that all members support; a member of the classic protocol has no wish in a group of KIP-848."""


@dataclass(frozen=True)
class CountedVotes:
    """The votes for a protocol."""

    protocol: str
    votes: int
    bucket: int | None
    """Where the map of votes has it; None where the order is not one of buckets."""


@dataclass(frozen=True, repr=False)
class ElectionExplanation(Explanation):
    """Why a group elects what it elects."""

    cluster: str
    group_id: str
    kafka_version: str
    of_consumers: bool
    """The group is of type consumer (KIP-848): its coordinator assigns."""
    protocol: str | None
    leader_id: str | None
    tie: bool
    candidates: tuple[str, ...]
    """Protocols that all members support, in the leader's order."""
    lacking: Mapping[str, tuple[str, ...]]
    """The other protocols, each with the members that do not support it."""
    ballots: tuple[Ballot, ...]
    """In the order of joining."""
    counted: tuple[CountedVotes, ...]
    """In the order in which the coordinator meets them: of those with the most votes the first wins."""
    refused: Mapping[str, str]
    """Members that the coordinator does not take, with its answer."""
    left_out: tuple[str, ...]
    """Why rows cannot be used."""
    map: MapRule

    def lines(self) -> Sequence[str]:
        """Tell the facts, a line each."""
        refused = [f"  {member_id} is refused: {answer}" for member_id, answer in self.refused.items()]
        left_out = [f"  a member is left out: {reason}" for reason in self.left_out]
        told = self._wishes() if self.of_consumers else self._election()
        return [*told, *first_lines(refused), *first_lines(left_out)]

    def _election(self) -> list[str]:
        if self.protocol is None:
            return [f"group {self.group_id!r} elects nothing: nobody is admitted"]
        ballots = [f"    {each.member_id}: {each.vote} (offers {', '.join(each.protocols)})" for each in self.ballots]
        lacking = [f"  no candidate: {name}, not offered by {shown(who)}" for name, who in self.lacking.items()]
        return [
            f"group {self.group_id!r} elects {self.protocol} (Kafka {self.kafka_version})",
            f"  candidates, which all members support: {', '.join(self.candidates)}",
            *first_lines(lacking),
            "  each votes for the first candidate of its list",
            *first_lines(ballots),
            *self._count(),
            f"  leader: {self.leader_id}, the first to join",
        ]

    def _count(self) -> list[str]:
        votes = ", ".join(f"{each.protocol} {each.votes}" for each in self.counted)
        if not self.tie:
            return [f"  votes: {votes}"]
        most = max(each.votes for each in self.counted)
        tied = [each for each in self.counted if each.votes == most]
        met = [each.protocol + ("" if each.bucket is None else f" (bucket {each.bucket})") for each in tied]
        return [f"  votes: {votes}: a tie", f"  the first in {_MAPS[self.map]}: {', then '.join(met)}"]

    def _wishes(self) -> list[str]:
        ballots = [
            f"    {each.member_id}: {each.vote or 'follows the classic protocol, has no wish'}" for each in self.ballots
        ]
        wishes = ", ".join(f"{each.protocol} {each.votes}" for each in self.counted)
        return [
            f"group {self.group_id!r} elects nothing: its coordinator assigns by {self.protocol} "
            f"(KIP-848, Kafka {self.kafka_version})",
            "  each may wish for an assignor",
            *first_lines(ballots),
            f"  wishes: {wishes}{': as many, and uniform comes first' if self.tie else ''}",
            "  nobody leads",
        ]


def explain_election(group: pa.RecordBatch, version: KafkaVersion, kafka_version: str) -> ElectionExplanation:
    """Explain the election of the one group of a batch, as ``collect_group`` returns it.

    Raises UserError where none of its members can be used.
    """
    batch, rejected = GroupBatch.of(group).without_unusable_members(all_vote=True)
    reasons = tuple(each.reason for each in rejected)
    if len(batch.members) == 0:
        raise UserError(f"members: none can be used: {reasons[0]}")
    found = elect_protocols(batch, version)
    elections, of_consumers = found.elections, bool(found.of_consumers[0])
    preferences, protocols = batch.preferences
    names: list[str] = protocols.to_pylist()
    member_ids: list[str] = batch.column("member_id").to_pylist()
    offered = [tuple(each) for each in batch.column("protocols").to_pylist()]
    joined = np.flatnonzero(elections.admitted).astype(np.int32)
    candidates = elections.candidates.tolist()
    votes = dict(zip(candidates, elections.votes.tolist(), strict=True))

    support = np.zeros(len(names), np.int32)
    for member in joined:
        support[preferences.protocols[preferences.offsets[member] : preferences.offsets[member + 1]]] += 1
    if of_consumers:
        ballots = [None if found.classic[member] else offered[member][0] for member in joined]
        met = [protocol for protocol in candidates if votes[protocol]]
    else:
        voted = [ballot(int(member), preferences, support, len(joined)) for member in joined]
        ballots = [names[protocol] for protocol in voted]
        met = _met(batch, joined, voted, version.coordinator_map)
    winner = int(elections.winner[0])
    return ElectionExplanation(
        cluster=batch.clusters[0].as_py(),
        group_id=batch.group_ids[0].as_py(),
        kafka_version=kafka_version,
        of_consumers=of_consumers,
        protocol=names[winner] if winner >= 0 else None,
        leader_id=None if of_consumers or len(joined) == 0 else member_ids[joined[0]],
        tie=bool(elections.tie[0]),
        candidates=tuple(names[protocol] for protocol in candidates),
        lacking={
            name: tuple(member_ids[m] for m in joined if name not in offered[m])
            for protocol, name in enumerate(names)
            if not of_consumers and 0 < support[protocol] < len(joined)
        },
        ballots=tuple(
            Ballot(member_ids[member], offered[member], vote) for member, vote in zip(joined, ballots, strict=True)
        ),
        counted=tuple(
            CountedVotes(
                names[protocol],
                votes[protocol],
                None if of_consumers else _bucket(int(preferences.hashes[protocol]), len(met), version.coordinator_map),
            )
            for protocol in met
        ),
        refused=dict(zip([member_ids[m] for m in np.flatnonzero(~elections.admitted)], answers(found), strict=True)),
        left_out=reasons,
        map=version.coordinator_map,
    )


def _met(batch: GroupBatch, joined: Ints32, voted: list[int], map_rule: MapRule) -> list[int]:
    """Protocols that are voted for, in the order in which the coordinator meets their votes."""
    preferences, _ = batch.preferences
    places = coordinator_order(batch.member_hashes[joined], np.arange(len(joined), dtype=np.int32), int(map_rule))
    in_order = np.array(list(dict.fromkeys(voted[place] for place in places)), np.int32)
    met: list[int] = vote_order(preferences.hashes, in_order, int(map_rule)).tolist()
    return met


def _bucket(protocol_hash: int, voted: int, map_rule: MapRule) -> int | None:
    """Bucket of a protocol in the map of votes, where iteration goes by buckets (``hash_order.vote_order``)."""
    if map_rule is MapRule.JAVA:
        return java_bucket(protocol_hash, java_table_size(voted))
    if map_rule is MapRule.SCALA_2_11 and voted <= 4:
        return scala_2_11_index(protocol_hash, _BITS_OF_16_BUCKETS)
    return None
