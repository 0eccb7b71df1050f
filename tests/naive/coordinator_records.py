"""What a coordinator writes to the offsets topic, and the group that it reads from there."""

from dataclasses import dataclass, replace

from tests.naive.coordinator_group import EMPTY, STABLE, CoordinatedGroup, GroupMember
from tests.naive.coordinator_offsets import Offset
from tests.naive.model import Partition


@dataclass(frozen=True)
class GroupRecord:
    """``GroupMetadataValue``: members know the elected protocol only."""

    generation: int
    protocol_type: str | None
    protocol: str | None
    leader: str | None
    state_since_ms: int | None
    members: tuple[GroupMember, ...]


NEW_GROUP = GroupRecord(0, None, None, None, None, ())
"""A group that nobody has joined yet (4.x)."""


@dataclass(frozen=True)
class Record:
    """What is written for the group, or for a partition's offset; None is a tombstone."""

    partition: Partition | None
    value: GroupRecord | Offset | None

    @property
    def is_of_group(self) -> bool:
        return self.partition is None


def record_of(group: CoordinatedGroup, assignments: dict[str, str]) -> GroupRecord:
    members = tuple(_stored(group, member, assignments[member.member_id]) for member in group.all_members())
    return GroupRecord(
        group.generation, group.protocol_type, group.protocol, group.leader, group.state_since_ms, members
    )


def _stored(group: CoordinatedGroup, member: GroupMember, assignment: str) -> GroupMember:
    return GroupMember(
        member.member_id,
        member.instance_id,
        member.protocol_type,
        ((group.protocol or "", member.metadata(group.protocol)),),
        member.session_timeout_ms,
        member.rebalance_timeout_ms,
        assignment,
    )


def loaded(version: str, record: GroupRecord, knows_subscribed_topics: bool = True) -> CoordinatedGroup:
    group = CoordinatedGroup(version, 0)
    group.state_since_ms = record.state_since_ms
    group.state = STABLE if record.members else EMPTY
    group.generation = record.generation
    group.protocol_type = record.protocol_type
    group.protocol = record.protocol
    group.leader = record.leader
    for member in record.members:
        group.add(replace(member))
    if knows_subscribed_topics:
        group.subscribed_topics = group.compute_subscribed_topics()
    return group
