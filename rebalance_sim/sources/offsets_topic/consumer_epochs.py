"""The epochs of a consumer-protocol group (KIP-848), from the records of its members and their assignments.

The coordinator writes a member's current assignment when a heartbeat changes it: when the member has to revoke
partitions, when the member has revoked them, and when it has given the member all of its target assignment.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from rebalance_sim.kafka.history.changes import Participant
from rebalance_sim.kafka.wire.consumer_protocol import TopicPartition
from rebalance_sim.kafka.wire.offsets_topic import (
    ConsumerGroupCurrentMemberAssignment,
    ConsumerGroupMemberMetadata,
    ConsumerGroupMetadata,
    ConsumerGroupPartitionMetadata,
    ConsumerGroupRegularExpression,
    ConsumerGroupTargetAssignmentMember,
    ConsumerGroupTargetAssignmentMetadata,
    Key,
    RecordType,
    TopicIdPartitions,
    Value,
)
from rebalance_sim.sources.consumer_groups import server_protocols
from rebalance_sim.sources.offsets_topic.gaps import Position
from rebalance_sim.sources.offsets_topic.generation_rows import Values
from rebalance_sim.sources.offsets_topic.reading import Reading
from rebalance_sim.sources.offsets_topic.stored_members import consumer_columns

_SERVER = "server-"
_STABLE = 0
"""``MemberState.STABLE``: the member has its target assignment."""


class EpochMember(NamedTuple):
    """A member of an epoch."""

    columns: Values
    """Its row of ``generation_members`` without the columns of the group."""
    participant: Participant


class Epoch(NamedTuple):
    """An epoch, with the target assignments that were computed for it."""

    number: int
    position: Position
    members: list[EpochMember]
    partitions: Mapping[str, int] | None
    """Partitions by topic; None since Kafka 4.1, which does not store them."""
    rejects: list[tuple[Values, str]]
    """Partitions of topics without a name, with the reason."""
    converged_ms: int | None = None
    """Time until all members had their target assignments; None if they had not before the next epoch, or without
    times."""


class _Begun(NamedTuple):
    """An epoch without its target assignments, and the state of the group when it began."""

    number: int
    position: Position
    members: Mapping[str, Values]
    current: Mapping[str, ConsumerGroupCurrentMemberAssignment]


class _Revocation(NamedTuple):
    """Partitions that a member has to revoke, and the record that says so."""

    partitions: frozenset[tuple[str, int]]
    position: Position


class ConsumerGroup:
    """The state of a group after each of its records."""

    def __init__(self, group_id: str, reading: Reading) -> None:
        self._group_id = group_id
        self._as_stated = reading.as_stated
        self._names = reading.topic_names
        self._gaps = reading.gaps
        self._own_names: dict[str, str] = {}
        self._partitions: dict[str, int] | None = None
        self._members: dict[str, Values] = {}
        self._current: dict[str, ConsumerGroupCurrentMemberAssignment] = {}
        self._targets: dict[str, tuple[TopicIdPartitions, ...]] = {}
        self._matched: dict[str, tuple[str, ...]] = {}
        """Topics by the regular expression that they match."""
        self._begun: _Begun | None = None
        self._assigned: Epoch | None = None
        """The last epoch, if its target assignments are computed: members may still have to take them."""
        self._unsettled: set[str] = set()
        """Members that do not have their target assignments of this epoch."""
        self._revoking: dict[str, _Revocation] = {}
        self._revoked_ms: dict[str, int] = {}
        """How long each member took to revoke partitions since the last epoch that was returned."""

    def add(self, key: Key, value: Value | None, position: Position) -> Epoch | None:
        """Add a record, and return the epoch that it ends."""
        member_id = key.member_id or ""
        match value:
            case ConsumerGroupMemberMetadata():
                self._members[member_id] = consumer_columns(key, value, self._as_stated)
            case ConsumerGroupTargetAssignmentMember():
                self._targets[member_id] = value.partitions
            case ConsumerGroupCurrentMemberAssignment():
                self._current[member_id] = value
                self._note_revocation(member_id, value, position)
                self._note_settled(member_id, value, position)
            case ConsumerGroupPartitionMetadata():
                self._own_names |= {topic.topic_id: topic.topic for topic in value.topics}
                self._partitions = {topic.topic: topic.partitions for topic in value.topics}
            case ConsumerGroupRegularExpression():
                self._matched[key.regular_expression or ""] = value.topics
            case ConsumerGroupMetadata():
                before = self.taken()
                self._begun = _Begun(value.epoch, position, dict(self._members), dict(self._current))
                return before
            case ConsumerGroupTargetAssignmentMetadata() if self._begun and value.epoch >= self._begun.number:
                self._unsettled = set(self._begun.members)
                self._assigned = self._completed(self._targets)
            case None:
                self._remove(key.type, member_id)
            case _:
                pass
        return None

    def taken(self) -> Epoch | None:
        """Return the last epoch, if there is one. Without a heartbeat, its target assignments were never computed."""
        epoch, self._assigned = self._assigned, None
        if self._begun is not None:
            epoch = self._completed(None)
        if epoch is not None:
            for member in epoch.members:
                member.columns["revoked_ms"] = self._revoked_ms.get(member.participant.member_id)
            self._revoked_ms = {}
        return epoch

    def _note_revocation(self, member_id: str, current: ConsumerGroupCurrentMemberAssignment, now: Position) -> None:
        """Note when a member has to revoke partitions, and when it has revoked them."""
        revocation = self._revoking.get(member_id)
        pending = frozenset((of.topic_id, number) for of in current.pending_revocation for number in of.partitions)
        if revocation is not None and not revocation.partitions & pending:
            del self._revoking[member_id]
            took_ms = self._time_between(revocation.position, now)
            if took_ms is not None:
                self._revoked_ms[member_id] = max(took_ms, self._revoked_ms.get(member_id, 0))
        if pending:
            self._revoking.setdefault(member_id, _Revocation(pending, now))

    def _note_settled(self, member_id: str, current: ConsumerGroupCurrentMemberAssignment, now: Position) -> None:
        """Note when the last member has its target assignment."""
        epoch = self._assigned
        if epoch is None or current.member_epoch != epoch.number or current.state != _STABLE:
            return
        if self._unsettled == {member_id}:
            self._assigned = epoch._replace(converged_ms=self._time_between(epoch.position, now))
        self._unsettled.discard(member_id)

    def _time_between(self, earlier: Position, later: Position) -> int | None:
        """Return the time between two records; None if one between them may be missing, or if clocks ran backwards."""
        if earlier.recorded_at_ms is None or later.recorded_at_ms is None or self._gaps.between(earlier, later):
            return None
        took_ms = later.recorded_at_ms - earlier.recorded_at_ms
        return took_ms if took_ms >= 0 else None

    def _remove(self, record_type: RecordType, member_id: str) -> None:
        """Delete what a tombstone is about."""
        kept: dict[RecordType, dict[str, Any]] = {
            RecordType.CONSUMER_GROUP_MEMBER_METADATA: self._members,
            RecordType.CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER: self._targets,
            RecordType.CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT: self._current,
        }
        kept.get(record_type, {}).pop(member_id, None)
        if record_type is RecordType.CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT:
            self._revoking.pop(member_id, None)

    def _completed(self, targets: Mapping[str, tuple[TopicIdPartitions, ...]] | None) -> Epoch:
        begun, self._begun = self._begun, None
        assert begun is not None
        rejects: list[tuple[Values, str]] = []
        preferred = self._preferred(begun.members.values())
        members = [self._member(begun, member_id, targets, preferred, rejects) for member_id in sorted(begun.members)]
        return Epoch(begun.number, begun.position, members, self._partitions, rejects)

    def _member(
        self,
        begun: _Begun,
        member_id: str,
        targets: Mapping[str, tuple[TopicIdPartitions, ...]] | None,
        preferred: str | None,
        rejects: list[tuple[Values, str]],
    ) -> EpochMember:
        columns = dict(begun.members[member_id])
        matched = self._matched.get(columns["subscribed_regex"] or "", ())
        topics = tuple(sorted({*columns["subscription"], *matched}))
        columns["subscription"] = topics
        if columns["protocols"] is None:
            likely = server_protocols(preferred)
            columns |= {"protocols": likely.protocols, "protocols_assumed": likely.basis}
        assigned = None if targets is None else self._named(member_id, targets.get(member_id, ()), rejects)
        current = begun.current.get(member_id)
        if current is not None:
            owned = self._named(member_id, current.assigned, rejects)
            columns |= {"owned": _structs(owned), "owned_generation": current.member_epoch}
        columns["assigned"] = _structs(assigned)
        participant = Participant(
            member_id,
            columns["instance_id"],
            columns["client_id"],
            columns["host"],
            columns["session_timeout_ms"],
            columns["rebalance_timeout_ms"],
            topics,
            (columns["client_library"], columns["client_version"]),
            assigned=assigned,
        )
        return EpochMember(columns, participant)

    def _preferred(self, members: Iterable[Values]) -> str | None:
        """Return the assignor that most members prefer; in a tie the last by name, as ``read_offsets_topic`` does."""
        offered = [each["protocols"][0] for each in members if each["protocols"]]
        votes = Counter(name.removeprefix(_SERVER) for name in offered if name.startswith(_SERVER))
        return max(votes, key=lambda name: (votes[name], name), default=None)

    def _named(
        self, member_id: str, topics: Iterable[TopicIdPartitions], rejects: list[tuple[Values, str]]
    ) -> tuple[TopicPartition, ...] | None:
        """Return partitions with the names of their topics; None, and a reject, if a topic has none."""
        partitions = []
        for topic_id, numbers in topics:
            name = self._own_names.get(topic_id) or self._names.get(topic_id)
            if name is None:
                row = {"member_id": member_id, "topic_id": topic_id, "partitions": numbers}
                rejects.append((row, f"topic id {topic_id} has no name; --topics with a topic_id gives it one"))
                return None
            partitions += [TopicPartition(name, number) for number in numbers]
        return tuple(sorted(partitions))


def _structs(partitions: Iterable[TopicPartition] | None) -> list[Values] | None:
    return None if partitions is None else [each._asdict() for each in partitions]
