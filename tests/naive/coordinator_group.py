"""A classic group as its coordinator keeps it: ``GroupMetadata`` (Scala, to 3.9) and ``ClassicGroup`` (Java, 4.x)."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.naive.classic_group import MAPS, counted, winner_of
from tests.naive.coordinator_messages import (
    FENCED_INSTANCE_ID,
    ILLEGAL_GENERATION,
    NONE,
    UNKNOWN_MEMBER_ID,
    Identity,
    JoinedMember,
    JoinRequest,
    JoinResponse,
    KafkaError,
    Protocols,
    Respond,
    SyncResponse,
)
from tests.naive.coordinator_subscription import subscribed_topics
from tests.naive.group_by import group_by_211
from tests.naive.hash_maps import HashMap

EMPTY = "Empty"
PREPARING = "PreparingRebalance"
COMPLETING = "CompletingRebalance"
STABLE = "Stable"
DEAD = "Dead"

_BEFORE = {
    EMPTY: {PREPARING},
    PREPARING: {STABLE, COMPLETING, EMPTY},
    COMPLETING: {PREPARING},
    STABLE: {COMPLETING},
    DEAD: {STABLE, PREPARING, COMPLETING, EMPTY, DEAD},
}
"""The states from which a group may come to each state."""


@dataclass(eq=False)
class GroupMember:
    member_id: str
    instance_id: str | None
    protocol_type: str
    protocols: Protocols
    session_timeout_ms: int
    rebalance_timeout_ms: int
    assignment: str = ""
    answer_join: Respond[JoinResponse] | None = None
    """Answers the parked JoinGroup request."""
    answer_sync: Respond[SyncResponse] | None = None
    is_new: bool = False
    """It has parked its first join and may still be given up for lost."""
    heartbeat_satisfied: bool = False
    """Its session is just being restarted (Scala since 2.1.1)."""
    latest_heartbeat_ms: int = -1
    is_leaving: bool = False
    is_static: bool = field(init=False)

    def __post_init__(self) -> None:
        self.is_static = self.instance_id is not None

    @property
    def is_parked(self) -> bool:
        """It waits for an answer, so that nobody can expect its heartbeat."""
        return self.answer_join is not None or self.answer_sync is not None

    def metadata(self, protocol: str | None) -> str:
        found = next((metadata for name, metadata in self.protocols if name == protocol), None)
        if found is None:
            raise KafkaError
        return found

    def vote(self, candidates: set[str]) -> str:
        found = next((name for name, _ in self.protocols if name in candidates), None)
        if found is None:
            raise KafkaError
        return found

    def finish_join(self, response: JoinResponse) -> bool:
        """Answers the parked join, if there is one."""
        answer, self.answer_join = self.answer_join, None
        if answer is not None:
            answer(response)
        return answer is not None

    def finish_sync(self, response: SyncResponse) -> bool:
        answer, self.answer_sync = self.answer_sync, None
        if answer is not None:
            answer(response)
        return answer is not None


class CoordinatedGroup:
    """Members, state and generation, and the rules that need no clock."""

    def __init__(self, version: str, now_ms: int) -> None:
        self.version = version
        self.state = EMPTY
        self.previous_state = DEAD
        self.state_since_ms: int | None = now_ms
        self.protocol_type: str | None = None
        self.protocol: str | None = None
        self.generation = 0
        self.leader: str | None = None
        self.members: HashMap[str, GroupMember] = MAPS[version]()
        self.static_members: dict[str, str] = {}
        self.pending: set[str] = set()
        self.pending_syncs: set[str] = set()
        self.new_member_added = False
        self.subscribed_topics: set[str] | None = None
        self._supporters: Counter[str] = Counter()

    # ---- who is there

    def all_members(self) -> list[GroupMember]:
        return list(self.members.values())

    def awaiting_join(self) -> int:
        return sum(member.answer_join is not None for member in self.members.values())

    def has_all_joined(self) -> bool:
        return len(self.members) == self.awaiting_join() and not self.pending

    def yet_to_rejoin(self) -> list[GroupMember]:
        return [member for member in self.members.values() if member.answer_join is None]

    def rebalance_timeout_ms(self) -> int:
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    def add(self, member: GroupMember) -> None:
        if member.instance_id is not None:
            self.static_members[member.instance_id] = member.member_id
        if not self.members:
            self.protocol_type = member.protocol_type
        if self.leader is None:
            self.leader = member.member_id
        self.members.put(member.member_id, member)
        self._count_protocols(member, 1)
        self.pending.discard(member.member_id)

    def remove(self, member_id: str) -> None:
        """Removes a member or a pending id, if there is one; whoever comes first succeeds a leader."""
        if member_id in self.members:
            member = self.members[member_id]
            self.members.remove(member_id)
            self._count_protocols(member, -1)
            if member.instance_id is not None:
                self.static_members.pop(member.instance_id, None)
        if self.leader == member_id:
            self.leader = next(iter(self.members), None)
        self.pending.discard(member_id)
        self.pending_syncs.discard(member_id)

    def update(self, member: GroupMember, protocols: Protocols, answer_join: Respond[JoinResponse] | None) -> None:
        """A member joins again."""
        self._count_protocols(member, -1)
        member.protocols = protocols
        self._count_protocols(member, 1)
        member.answer_join = answer_join

    def replace_static(self, old_id: str, new: GroupMember) -> None:
        """A member takes the place of the one of its instance id, whose parked requests are fenced."""
        if old_id not in self.members or new.instance_id is None:
            raise KafkaError
        old = self.members[old_id]
        self.members.remove(old_id)
        old.finish_join(JoinResponse(FENCED_INSTANCE_ID, old_id, -1))
        old.finish_sync(SyncResponse(FENCED_INSTANCE_ID))
        self.members.put(new.member_id, new)
        if self.leader == old_id:
            self.leader = new.member_id
        self.static_members[new.instance_id] = new.member_id

    def validate(self, member_id: str, instance_id: str | None, unknown_instance_is_error: bool = True) -> None:
        """Is the member in the group, and under its instance id?"""
        if instance_id is not None:
            current = self.static_members.get(instance_id)
            if current is None and unknown_instance_is_error:
                raise KafkaError(UNKNOWN_MEMBER_ID)
            if current is not None and current != member_id:
                raise KafkaError(FENCED_INSTANCE_ID)
        if member_id not in self.members:
            raise KafkaError(UNKNOWN_MEMBER_ID)

    def validate_generation(self, identity: Identity) -> None:
        if identity.generation != self.generation:
            raise KafkaError(ILLEGAL_GENERATION)

    # ---- protocols

    def supports(self, request: JoinRequest) -> bool:
        """Else the coordinator answers INCONSISTENT_GROUP_PROTOCOL."""
        if self.state == EMPTY:
            return bool(request.protocol_type and request.protocols)
        if self.protocol_type != request.protocol_type:
            return False
        if self.version == "1.0" and not self.members:
            return True
        return any(self._supporters[name] == len(self.members) for name in request.protocol_names)

    def select_protocol(self) -> str:
        candidates = {name for name, supporters in self._supporters.items() if supporters == len(self.members)}
        return winner_of(counted(self.version, [member.vote(candidates) for member in self.members.values()]))

    def _count_protocols(self, member: GroupMember, by: int) -> None:
        for name, _ in member.protocols:
            self._supporters[name] += by

    # ---- states and generations

    def can_rebalance(self) -> bool:
        return self.state in _BEFORE[PREPARING]

    def move_to(self, state: str, now_ms: int) -> None:
        if self.state not in _BEFORE[state]:
            raise KafkaError
        self.previous_state, self.state, self.state_since_ms = self.state, state, now_ms

    def maybe_elect_joined_leader(self) -> bool:
        """Does somebody lead who has joined? A leader that has not gives way to whoever comes first."""
        if self.leader is None:
            return False
        if self.members[self.leader].answer_join is not None:
            return True
        joined = next((member.member_id for member in self.members.values() if member.answer_join is not None), None)
        self.leader = joined if joined is not None else self.leader
        return joined is not None

    def start_next_generation(self, now_ms: int, knows_subscribed_topics: bool) -> None:
        self.generation += 1
        self.protocol = self.select_protocol() if self.members else None
        if knows_subscribed_topics:
            self.subscribed_topics = self.compute_subscribed_topics()
        self.move_to(COMPLETING if self.members else EMPTY, now_ms)
        self.pending_syncs.clear()

    def compute_subscribed_topics(self) -> set[str] | None:
        """None where the metadata of a member are not a consumer's."""
        if self.protocol_type != "consumer":
            return None
        topics: set[str] = set()
        for member in self.members.values():
            subscribed = subscribed_topics(member.metadata(self.protocol))
            if subscribed is None:
                return None
            topics |= subscribed
        return topics

    def current_members(self) -> list[JoinedMember]:
        """What a leader is told."""
        if self.state in (DEAD, PREPARING):
            raise KafkaError
        return [
            JoinedMember(member.member_id, member.instance_id, member.metadata(self.protocol))
            for member in self._in_answers_order()
        ]

    def _in_answers_order(self) -> Iterable[GroupMember]:
        """1.0 hands out an immutable map of a map of the members."""
        if self.version != "1.0":
            return self.members.values()
        return (self.members[member_id] for member_id, _ in group_by_211(self.members))

    def join_response(self, member_id: str, to_leader: bool) -> JoinResponse:
        """The current generation, with the members for the leader."""
        members = self.current_members() if to_leader else []
        return JoinResponse(NONE, member_id, self.generation, self.protocol, self.leader, members=members)
