"""The meaning of a capture's lines, independent of the tool that printed them."""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from rebalance_sim.sources.kafka_tools.listed_groups import GroupLine

TopicPartition = tuple[str, int]
Tasks = tuple[tuple[str, int], ...]
"""Subtopologies' ids and partitions."""

LONGEST_QUOTE = 80


class ToolOutput(StrEnum):
    """The output that a line belongs to."""

    TOPICS = "topics"
    OFFSETS = "offsets"
    STATE = "state"
    MEMBERS = "members"
    GROUPS = "groups"
    STREAMS_MEMBERS = "streams_members"
    END_OFFSETS = "end_offsets"
    CONSUMERS = "consumers"
    UNKNOWN = "capture"
    FILE = "file"
    """A whole file that no supported tool printed."""


class MalformedError(ValueError):
    """The reason why a line cannot be used."""


def quoted(text: str) -> str:
    """Return a value as messages show it, which may be cut off."""
    return repr(text if len(text) <= LONGEST_QUOTE else text[: LONGEST_QUOTE - 3] + "...")


@dataclass(frozen=True, slots=True)
class TopicLine:
    """A topic of ``kafka-topics``."""

    topic: str
    topic_id: str | None
    partitions: int


@dataclass(frozen=True, slots=True)
class PartitionLine:
    """A partition of ``kafka-topics``."""

    topic: str
    partition: int
    has_leader: bool


@dataclass(frozen=True, slots=True)
class OffsetLine:
    """A partition of ``--offsets``; without a topic, the line lists a member without partitions."""

    group_id: str | None
    topic_partition: TopicPartition | None
    committed: int | None
    end: int | None
    member_id: str | None
    host: str = ""
    client_id: str = ""
    """The member's client.id; empty without a member."""
    group_type: str | None = None
    """None for a consumer group."""
    owner: str | None = None
    """The cell of OWNER, which Kafka 0.9 to 0.10.1 print instead of the member."""


@dataclass(frozen=True, slots=True)
class StateLine:
    """A group of ``--state``."""

    group_id: str | None
    strategy: str | None
    state: str
    members: int
    is_kip848: bool | None
    """None if the layout does not show it."""


@dataclass(frozen=True, slots=True)
class MemberLine:
    """A member of ``--members``."""

    group_id: str | None
    member_id: str
    instance_id: str | None
    client_id: str
    host: str
    partitions: int
    assignment: tuple[TopicPartition, ...] | None
    """None if the line does not name the topics."""
    names_lost: bool = False
    """Whether the line lists partitions without their topics (Kafka 3.8 and 3.9)."""
    is_kip848: bool | None = None
    """Whether the group uses the consumer protocol; None if the layout does not show it."""
    upgraded: bool | None = None
    """Whether the member uses the consumer protocol (KIP-1099); None if the line does not show it."""
    instance_id_known: bool = True
    """Whether the tool shows group.instance.id if the member has one."""
    group_type: str | None = None
    """``share`` if the layout is that of a share group, else None."""
    epoch: int | None = None
    """The epoch of a share member's assignment; None if the line does not show it."""


class TasksByRole(NamedTuple):
    """Tasks of a member of a streams group."""

    active: Tasks
    standby: Tasks


@dataclass(frozen=True, slots=True)
class StreamsMemberLine:
    """A member of a streams group (KIP-1071) of ``--members``."""

    group_id: str
    member_id: str
    process_id: str
    client_id: str
    current: TasksByRole
    """The tasks that it has now."""
    target: TasksByRole | None
    """The tasks that it is to have; None if the line does not show them, without ``--verbose``."""


@dataclass(frozen=True, slots=True)
class EndOffsetLine:
    """A partition of ``kafka-get-offsets``."""

    topic: str
    partition: int
    end: int | None


@dataclass(frozen=True, slots=True)
class ConsumerLine:
    """A row of ``consumers.csv``; None for an empty cell."""

    group_id: str
    client_id: str
    instance_id: str | None
    protocols: tuple[str, ...] | None
    subscription: tuple[str, ...] | None
    rack: str | None
    client_library: str | None = None
    client_version: str | None = None


class Notice(StrEnum):
    """The meaning of a line that is not data."""

    NO_MEMBERS = "the group has no members"
    REBALANCING = "the group is rebalancing"
    ERROR = "the tool failed"
    OTHER = "a warning, a log line, a stack trace"


@dataclass(frozen=True, slots=True)
class NoticeLine:
    """A line that is not data."""

    notice: Notice
    group_id: str | None
    group_type: str | None = None
    """None if it is that of consumers."""


@dataclass(frozen=True, slots=True)
class HeaderLine:
    """A header line."""

    kind: ToolOutput


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that cannot be used."""

    kind: ToolOutput
    group_id: str | None
    reason: str


Content = (
    TopicLine
    | PartitionLine
    | OffsetLine
    | StateLine
    | MemberLine
    | StreamsMemberLine
    | GroupLine
    | EndOffsetLine
    | ConsumerLine
    | NoticeLine
    | HeaderLine
    | BadLine
)


@dataclass(frozen=True, slots=True)
class Line:
    """A non-blank line with its meaning."""

    number: int
    text: str
    content: Content
