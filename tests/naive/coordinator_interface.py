"""What a group coordinator is asked, and what Scala's and Java's do in their own ways."""

from abc import ABC, abstractmethod
from collections.abc import Callable

from tests.naive.coordinator_group import CoordinatedGroup, GroupMember
from tests.naive.coordinator_messages import (
    CommitRequest,
    CommitResponse,
    FetchResponse,
    Identity,
    JoinRequest,
    JoinResponse,
    Leaver,
    LeaveResponse,
    Respond,
    SyncRequest,
    SyncResponse,
)
from tests.naive.coordinator_offsets import Offset
from tests.naive.coordinator_rules import RULES, Config
from tests.naive.coordinator_time import Timer
from tests.naive.model import Partition

MakeId = Callable[[str], str]
"""A new member id that begins as told."""


class CoordinatorInterface(ABC):
    """The coordinator of one group, if it has one at the moment.

    Subclasses tell how time passes in it, how it writes to its log and what else differs.
    """

    def __init__(self, version: str, config: Config, timer: Timer, make_id: MakeId) -> None:
        self.version = version
        self.rules = RULES[version]
        self.config = config
        self.timer = timer
        self.make_id = make_id
        self.group: CoordinatedGroup | None = None
        self.offsets: dict[Partition, Offset] = {}

    # ---- what is asked of it

    @abstractmethod
    def join(self, request: JoinRequest, respond: Respond[JoinResponse]) -> None: ...

    @abstractmethod
    def sync(self, request: SyncRequest, respond: Respond[SyncResponse]) -> None: ...

    @abstractmethod
    def heartbeat(self, identity: Identity, respond: Respond[str]) -> None: ...

    @abstractmethod
    def leave(self, leavers: list[Leaver], respond: Respond[LeaveResponse]) -> None: ...

    @abstractmethod
    def commit(self, request: CommitRequest, respond: Respond[CommitResponse]) -> None: ...

    @abstractmethod
    def fetch(self, partitions: list[Partition]) -> FetchResponse: ...

    @abstractmethod
    def check_offsets(self) -> None: ...

    @abstractmethod
    def fail_store(self, error: str) -> None: ...

    @abstractmethod
    def hold_store(self, held: bool) -> None: ...

    @abstractmethod
    def finish_store(self) -> None: ...

    @abstractmethod
    def unload(self) -> None: ...

    @abstractmethod
    def load(self) -> None: ...

    # ---- what the subclasses do in their own ways

    @abstractmethod
    def _restart_session(self, group: CoordinatedGroup, member: GroupMember) -> None:
        """The member's session timeout begins anew."""

    @abstractmethod
    def _await_new_member(self, group: CoordinatedGroup, member: GroupMember) -> None:
        """A new member's first join is parked."""

    @abstractmethod
    def _await_pending(self, group: CoordinatedGroup, member_id: str, session_timeout_ms: int) -> None:
        """A made-up id waits for the join of its member."""

    @abstractmethod
    def _synced(self, group: CoordinatedGroup, member_id: str) -> None:
        """A member has sent its SyncGroup."""

    @abstractmethod
    def _prepare_rebalance(self, group: CoordinatedGroup) -> None: ...

    @abstractmethod
    def _look_at_join_phase(self, group: CoordinatedGroup) -> None:
        """It may be that now everybody has joined."""

    @abstractmethod
    def _is_initial(self, group: CoordinatedGroup) -> bool:
        """Is this the join phase that new members delay?"""

    @abstractmethod
    def _replacement(self, member: GroupMember, member_id: str) -> GroupMember:
        """The static member under its new id."""

    @abstractmethod
    def _store_group(self, group: CoordinatedGroup, assignments: dict[str, str], ended: Respond[str]) -> None:
        """Writes the group to the log; ``ended`` is told the error that clients see."""

    @abstractmethod
    def _forget_pending(self, group: CoordinatedGroup, member_id: str) -> None:
        """A pending id has left."""

    @abstractmethod
    def _remove_leaver(self, group: CoordinatedGroup, member: GroupMember) -> None: ...
