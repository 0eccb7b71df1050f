"""Requests to a group coordinator and its responses."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from tests.naive.model import Partition

NONE = "NONE"
UNKNOWN_MEMBER_ID = "UNKNOWN_MEMBER_ID"
ILLEGAL_GENERATION = "ILLEGAL_GENERATION"
REBALANCE_IN_PROGRESS = "REBALANCE_IN_PROGRESS"
FENCED_INSTANCE_ID = "FENCED_INSTANCE_ID"
INCONSISTENT_GROUP_PROTOCOL = "INCONSISTENT_GROUP_PROTOCOL"
COORDINATOR_NOT_AVAILABLE = "COORDINATOR_NOT_AVAILABLE"
NOT_COORDINATOR = "NOT_COORDINATOR"
UNKNOWN_SERVER_ERROR = "UNKNOWN_SERVER_ERROR"

T = TypeVar("T")
Respond = Callable[[T], None]
Protocols = tuple[tuple[str, str], ...]
"""Names and metadata, as the member prefers them."""


class KafkaError(Exception):
    """A request is answered with an error of Kafka's; for an exception without one it is UNKNOWN_SERVER_ERROR."""

    def __init__(self, error: str = UNKNOWN_SERVER_ERROR) -> None:
        super().__init__(error)
        self.error = error


@dataclass(frozen=True)
class Identity:
    """Who asks; heartbeats say no more."""

    member_id: str
    instance_id: str | None
    generation: int


@dataclass(frozen=True)
class JoinRequest:
    member_id: str
    instance_id: str | None
    client_id: str
    protocol_type: str
    protocols: Protocols
    session_timeout_ms: int
    rebalance_timeout_ms: int
    requires_known_member_id: bool
    supports_skipping_assignment: bool

    @property
    def protocol_names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.protocols)


@dataclass(frozen=True)
class SyncRequest:
    identity: Identity
    protocol_type: str | None
    protocol: str | None
    assignments: dict[str, str]


class Leaver(NamedTuple):
    member_id: str
    instance_id: str | None


@dataclass(frozen=True)
class CommitRequest:
    identity: Identity
    offsets: dict[Partition, int]


@dataclass(frozen=True)
class JoinedMember:
    """A member as the leader is told about it."""

    member_id: str
    instance_id: str | None
    metadata: str


@dataclass(frozen=True)
class JoinResponse:
    error: str
    member_id: str
    generation: int
    protocol: str | None = None
    leader: str | None = None
    skip_assignment: bool = False
    members: list[JoinedMember] = field(default_factory=list)


@dataclass(frozen=True)
class SyncResponse:
    error: str
    assignment: str = ""


@dataclass(frozen=True)
class LeaveResponse:
    error: str
    members: list[tuple[str, str]] = field(default_factory=list)
    """The members' ids as they were named, and what happened to each."""


CommitResponse = dict[Partition, str]


@dataclass(frozen=True)
class FetchResponse:
    error: str
    offsets: dict[Partition, int] = field(default_factory=dict)


def once(respond: Respond[T]) -> Respond[T]:
    """A future: what completes it first counts."""
    is_done = False

    def answer(response: T) -> None:
        nonlocal is_done
        if not is_done:
            is_done = True
            respond(response)

    return answer
