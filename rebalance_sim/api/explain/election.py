"""Why a group elects its protocol: candidates, votes, ties, and the members that are left out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import pyarrow as pa

from rebalance_sim.engine.groups.batch_arrays import elect_protocols
from rebalance_sim.engine.groups.group_batches import GroupBatch
from rebalance_sim.errors import UserError
from rebalance_sim.explanations.explanation import Explanation, first_lines, listed
from rebalance_sim.kafka.brokers import Clusters
from rebalance_sim.kafka.coordinator.classic.classic_group import NONE
from rebalance_sim.kafka.coordinator.group_types import leaders, refusal_errors
from rebalance_sim.kafka.votes import count_votes
from rebalance_sim.releases import MapRule

_MAPS = {
    MapRule.JAVA: "Java's HashMap, lowest bucket first",
    MapRule.SCALA_2_11: "Scala 2.11's maps, highest bucket first",
    MapRule.SCALA_2_13: "Scala 2.13's maps",
    MapRule.SCALA_2_12_13: "Scala 2.12.13's maps, first vote first up to four protocols",
}


@dataclass(frozen=True)
class Ballot:
    """The vote of a member or, in a consumer-protocol group, its preferred assignor."""

    member_id: str
    protocols: tuple[str, ...]
    """The protocols that it supports, the preferred one first."""
    vote: str | None
    """The first that all members support; None for a classic member of a consumer-protocol group, which has no say."""


@dataclass(frozen=True)
class CountedVotes:
    """The votes for a protocol."""

    protocol: str
    votes: int
    bucket: int | None
    """Bucket in the coordinator's map of votes; None where iteration does not go by buckets."""


@dataclass(frozen=True, repr=False)
class ElectionExplanation(Explanation):
    """Why a group elects its protocol."""

    cluster: str
    group_id: str
    kafka_version: str
    of_consumers: bool
    """Whether this is a consumer-protocol group (KIP-848), to which the coordinator assigns partitions."""
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
    """In the order in which the coordinator counts them: of those with the most votes, the first wins."""
    refused: Mapping[str, str]
    """Members that the coordinator refuses, with its error."""
    left_out: tuple[str, ...]
    """Reasons why rows are rejected."""
    map: MapRule

    def lines(self) -> Sequence[str]:
        """Return the facts, one per line."""
        refused = [f"  refused: {member_id}, {answer}" for member_id, answer in self.refused.items()]
        rejected = [f"  rejected row: {reason}" for reason in self.left_out]
        facts = self._preferred_assignors() if self.of_consumers else self._election()
        return [*facts, *first_lines(refused), *first_lines(rejected)]

    def _election(self) -> list[str]:
        if self.protocol is None:
            return [f"group {self.group_id!r} elects no protocol: the coordinator refuses all members"]
        ballots = [f"    {each.member_id}: {each.vote} (supports {', '.join(each.protocols)})" for each in self.ballots]
        lacking = [f"  not a candidate: {name}, not supported by {listed(ids)}" for name, ids in self.lacking.items()]
        return [
            f"group {self.group_id!r} elects {self.protocol} (Kafka {self.kafka_version})",
            f"  candidates, supported by all members: {', '.join(self.candidates)}",
            *first_lines(lacking),
            "  each member votes for the first candidate in its list",
            *first_lines(ballots),
            *self._result(),
            f"  leader: {self.leader_id}, the first member to join",
        ]

    def _result(self) -> list[str]:
        if not self.tie:
            return [f"  votes: {self._votes()}"]
        most = max(each.votes for each in self.counted)
        tied = [each for each in self.counted if each.votes == most]
        order = [each.protocol + ("" if each.bucket is None else f" (bucket {each.bucket})") for each in tied]
        return [
            f"  votes: {self._votes()}: a tie, decided by hash order",
            f"  order in {_MAPS[self.map]}: {', '.join(order)}",
        ]

    def _votes(self) -> str:
        return ", ".join(f"{each.protocol} {each.votes}" for each in self.counted)

    def _preferred_assignors(self) -> list[str]:
        ballots = [f"    {each.member_id}: {each.vote or 'none (classic protocol)'}" for each in self.ballots]
        return [
            f"group {self.group_id!r} is a consumer-protocol group (KIP-848, Kafka {self.kafka_version}): "
            f"its coordinator runs {self.protocol}",
            "  preferred assignors",
            *first_lines(ballots),
            f"  preferred by most: {self._votes()}{': a tie, which uniform wins' if self.tie else ''}",
            "  no leader: the coordinator assigns partitions",
        ]


def refuse_share_group(batch: GroupBatch) -> None:
    """Raise UserError if the only group in a batch is a share group, in which nobody has a partition alone."""
    if batch.of_shares.any():
        group_id = batch.group_ids[0].as_py()
        raise UserError(f"group {group_id!r} is a share group (KIP-932), which is not explained; assign predicts it")


def explain_election(group: pa.RecordBatch, clusters: Clusters) -> ElectionExplanation:
    """Explain the election of the only group in a batch, as ``collect_group`` returns it.

    Raises UserError if none of its members can be used.
    """
    batch, rejected = GroupBatch.of(group).without_unusable_members(all_vote=True)
    reasons = tuple(each.reason for each in rejected)
    if len(batch.members) == 0:
        raise UserError(f"members: none can be used: {reasons[0]}")
    brokers = clusters.of(batch.clusters[0].as_py())
    version = brokers.rules()
    found = elect_protocols(batch, version)
    refuse_share_group(batch)
    elections, of_consumers = found.elections, bool(found.of_consumers[0])
    preferences, protocols = batch.preferences
    names: list[str] = protocols.to_pylist()
    member_ids: list[str] = batch.column("member_id").to_pylist()
    offered = [tuple(each) for each in batch.column("protocols").to_pylist()]
    joined = np.flatnonzero(elections.admitted).astype(np.int32)
    candidates = elections.candidates.tolist()
    votes = dict(zip(candidates, elections.votes.tolist(), strict=True))
    if of_consumers:
        ballots = [None if found.classic[member] else offered[member][0] for member in joined]
        counted = [CountedVotes(names[protocol], votes[protocol], None) for protocol in candidates if votes[protocol]]
        lacking: dict[str, tuple[str, ...]] = {}
    else:
        cast = count_votes(batch.offered, preferences, batch.member_ids, joined, version.coordinator_map)
        ballots = [names[protocol] for protocol in cast.ballots]
        counted = [
            CountedVotes(names[protocol], votes[protocol], bucket)
            for protocol, bucket in zip(cast.counted, cast.buckets, strict=True)
        ]
        without = {
            name: tuple(member_ids[member] for member in joined if name not in offered[member])
            for name in dict.fromkeys(chain.from_iterable(offered))
        }
        lacking = {name: members for name, members in without.items() if 0 < len(members) < len(joined)}
    refused = [member_ids[member] for member in np.flatnonzero(~elections.admitted)]
    winner, leader = int(elections.winner[0]), int(leaders(batch.offsets, found)[0])
    return ElectionExplanation(
        cluster=batch.clusters[0].as_py(),
        group_id=batch.group_ids[0].as_py(),
        kafka_version=brokers.version,
        of_consumers=of_consumers,
        protocol=names[winner] if winner >= 0 else None,
        leader_id=None if leader == NONE else member_ids[leader],
        tie=bool(elections.tie[0]),
        candidates=tuple(names[protocol] for protocol in candidates),
        lacking=lacking,
        ballots=tuple(
            Ballot(member_ids[member], offered[member], vote) for member, vote in zip(joined, ballots, strict=True)
        ),
        counted=tuple(counted),
        refused=dict(zip(refused, refusal_errors(found), strict=True)),
        left_out=reasons,
        map=version.coordinator_map,
    )
