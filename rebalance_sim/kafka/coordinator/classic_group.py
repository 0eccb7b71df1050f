"""A group of the classic protocol as its coordinator keeps it: members, states, leader, parked requests, deadlines.

``GroupMetadata`` and ``MemberMetadata`` (1.0 to 3.9, Scala), ``ClassicGroup`` and ``ClassicGroupMember`` (4.x, Java).
Members are numbered in the order in which their ids are made up, and a number is never given twice, so that it stands
for the id. Instance ids, protocol types, lists of protocols and what they carry are numbers too; who asks the
coordinator says which.
"""

from enum import IntEnum
from typing import NamedTuple

from rebalance_sim.kafka.coordinator.errors import Errors
from rebalance_sim.kafka.hash_order import java_bucket, scala_2_11_index, signed
from rebalance_sim.kafka.kernel import inner_kernel, kernel_in_place
from rebalance_sim.kafka.records import Records
from rebalance_sim.versions import CoordinatorRules, MapRule

NONE = -1
"""Stands for no member, no instance id, no protocol, no request, and the generation of who has none."""
EMPTY_ASSIGNMENT = -1
NEVER = 2**62
"""A time that does not come."""
NEW_MEMBER_JOIN_TIMEOUT_MS = 300_000
"""``NewMemberJoinTimeoutMs``: how long a new member's JoinGroup stays parked (2.1.1 and later)."""
_SMALLEST_TABLE = 16


class State(IntEnum):
    """``GroupState``; what is called CompletingRebalance was AwaitingSync in 1.0."""

    EMPTY = 0
    PREPARING_REBALANCE = 1
    COMPLETING_REBALANCE = 2
    STABLE = 3
    DEAD = 4


class Reason(IntEnum):
    """Why a group rebalances, or has not yet."""

    NONE = 0
    NEW_MEMBER = 1
    MEMBER_CHANGED = 2
    """A member joins again with another subscription, other protocols, or what it owns."""
    LEADER_REJOINED = 3
    MEMBER_LEFT = 4
    SESSION_EXPIRED = 5
    NEVER_SYNCED = 6
    """A member did not send SyncGroup within the rebalance timeout (2.8.1 and later)."""
    STORE_FAILED = 7
    STATIC_MEMBER_REPLACED = 8


class Election(IntEnum):
    """What the coordinator waits for before it can go on: nothing, or to be told the elected protocol."""

    NOT_DUE = 0
    OF_GENERATION = 1
    """The join phase is over (``initNextGeneration``)."""
    OF_REPLACEMENT = 2
    """A static member was replaced in a stable group, which rebalances if it would elect another protocol."""
    OF_DOWNGRADE = 3
    """A group of KIP-848 has become one of the classic protocol (``migration``)."""


class Kind(IntEnum):
    """Requests of a group's members."""

    JOIN = 0
    SYNC = 1
    HEARTBEAT = 2
    LEAVE = 3
    COMMIT = 4


class Group:
    """What there is once a group."""

    exists: bool
    state: int
    previous_state: int
    state_since_ms: int
    """When it came to its state; NEVER where that is not known."""
    generation: int
    leader: int
    protocol: int
    """What was elected last."""
    protocol_type: int
    made: int
    """Ids made up so far."""
    member_places: int
    """How many ids, and how many writes at a time, there is room for."""
    write_places: int
    members: int
    largest: int
    """The most members that it has had; hash maps do not shrink."""
    puts: int
    """How often somebody was put into the map of members."""
    joining: int
    """Members whose JoinGroup is parked."""
    pending: int
    """Ids that were answered MEMBER_ID_REQUIRED and have not joined."""
    pending_syncs: int
    join_deadline: int
    """End of the join phase; NEVER outside of it."""
    is_initial_delay: bool
    """Whether that is the end of a wait of group.initial.rebalance.delay.ms."""
    delay_ms: int
    """Length of that wait."""
    remaining_ms: int
    new_member_added: bool
    sync_deadline: int
    sessions_end: int
    """No session ends before that."""
    timers: int
    """Timers set so far: of those that are due at the same time, the one set first is."""
    join_timer: int
    sync_timer: int
    election: int
    replaced: int
    """The member that a replacement's election is about."""
    reason: int
    """Why the last rebalance began, and by which member."""
    reason_member: int
    rebalances: int
    """How often it began."""
    writes: int
    """Writes of group metadata begun so far, and ended."""
    writes_ended: int
    evicted: int
    """Members removed so far because nothing was heard of them in time."""
    stored: bool
    """Whether a write has succeeded; the following is what the last one holds."""
    stored_generation: int
    stored_leader: int
    stored_protocol: int
    stored_protocol_type: int
    stored_state_since_ms: int


class Member:
    """A member, or an id that was made up for one."""

    known: bool
    """Whether it is a member now."""
    pending: bool
    instance: int
    taken_for_static: bool
    """Whether it stays though it does not join again and has no instance id (``log.load`` of 2.3)."""
    instance_forgotten: bool
    """Whether it is not found by its instance id any more (2.3)."""
    hash: int
    """``hashCode`` of the id, unsigned."""
    client: int
    """Whoever it is that asks with this id."""
    protocol_type: int
    protocols: int
    """A bit for each protocol that it supports."""
    preferences: int
    """Its ordered list of protocols."""
    metadata: int
    """What it sends with them."""
    elected_only: bool
    """Whether only the elected one of its protocols is known, as after a load."""
    session_timeout_ms: int
    rebalance_timeout_ms: int
    join: int
    """Its parked JoinGroup request."""
    sync: int
    skips_assignment: bool
    """Whether that JoinGroup is of version 9 or later."""
    pending_sync: bool
    is_new: bool
    session_deadline: int
    session_timer: int
    """The timer of that deadline."""
    session_timers: int
    """How many timers there are of that deadline, up to 2.3.1, and the last of them."""
    last_session_timer: int
    latest_heartbeat_ms: int
    """``latestHeartbeat``, when something was heard of it (up to 2.3)."""
    assignment: int
    """The set of assignments, as a leader sent it, that holds its own."""
    assigned_as: int
    """The member as which it is named there."""
    entered: int
    """When it was put into the map of members: how many were before; below 0: by a group of KIP-848 (``migration``)."""
    place: int
    """Its place among the members that the leader of its generation was told."""
    first_write: int
    """The first and the last write that it was part of, and what the last one holds."""
    write: int
    written_preferences: int
    written_metadata: int
    written_session_timeout_ms: int
    written_rebalance_timeout_ms: int
    written_assignment: int
    written_as: int
    stored: bool
    """Whether it is in the last write that succeeded, and with what."""
    stored_preferences: int
    stored_metadata: int
    stored_session_timeout_ms: int
    stored_rebalance_timeout_ms: int
    stored_assignment: int
    stored_as: int


class JoinRequest(NamedTuple):
    """What JoinGroup says, beside who sends it."""

    request: int
    """A number for the answer to name."""
    member: int
    """NONE for the empty id."""
    instance: int
    client: int
    hash: int
    """``hashCode`` of the id that would be made up for it."""
    protocol_type: int
    protocols: int
    preferences: int
    metadata: int
    session_timeout_ms: int
    rebalance_timeout_ms: int
    requires_known_member_id: bool
    """Whether it is of version 4 or later."""
    skips_assignment: bool


class Write:
    """A write of group metadata to the offsets topic."""

    kind: int
    generation: int
    assignment: int
    leader: int
    protocol: int
    protocol_type: int
    state_since_ms: int
    awaited: bool
    """Whether the coordinator that began it still has the group."""
    appended: bool
    """Whether the log holds it even if it ends with an error, as one of 4.x that waited for replicas."""
    member: int
    """Of a static member's replacement: the new id, the old one, and who led."""
    holder: int
    """The id that the new one's member has now; Scala's coordinator gives the same member another id."""
    old_member: int
    old_leader: int
    preferences: int
    """What the member has again if the write fails."""
    protocols: int
    metadata: int
    elected_only: bool
    session_timeout_ms: int
    rebalance_timeout_ms: int
    request: int
    """The JoinGroup that asks for it."""
    unanswered: int
    """The same if it is parked no more, and has no answer; else NONE."""
    skips_assignment: bool


class WriteKind(IntEnum):
    """What a write is for."""

    EMPTY_GROUP = 0
    ASSIGNMENTS = 1
    REPLACEMENT = 2


class Answer:
    """What the coordinator answers to a request."""

    kind: int
    request: int
    error: int
    member: int
    generation: int
    protocol: int
    leader: int
    lists_members: bool
    """Whether it tells all members and what they sent, as to a leader."""
    skips_assignment: bool
    assignment: int
    assigned_as: int


class Config(NamedTuple):
    """Settings of the broker, by the names that they have there."""

    group_initial_rebalance_delay_ms: int = 3000
    group_max_size: int = 2**31 - 1
    group_min_session_timeout_ms: int = 6000
    group_max_session_timeout_ms: int = 1_800_000


class ClassicGroup(NamedTuple):
    """All that the coordinator has of one group."""

    group: Group
    members: Records[Member]
    """By number."""
    writes: Records[Write]
    """By number, modulo its length."""
    answers: Records[Answer]
    answered: Records["Counter"]
    """How many of ``answers`` are to be sent."""
    config: Config
    rules: int
    """A number of CoordinatorRules."""
    map_rule: int


class Counter:
    """A number that may change."""

    value: int


@inner_kernel
def clear_group(group: Group) -> None:
    """Make it a group that nobody has joined; what is counted, and what the log holds, stays."""
    group.exists = False
    group.state = group.previous_state = State.EMPTY
    group.state_since_ms = NEVER
    group.protocol_type = NONE
    group.generation = 0
    group.leader = group.protocol = NONE
    group.members = group.largest = group.puts = group.joining = group.pending = group.pending_syncs = 0
    group.join_deadline = group.sync_deadline = group.sessions_end = NEVER
    group.is_initial_delay = group.new_member_added = False
    group.election = Election.NOT_DUE


@inner_kernel
def transition_to(c: ClassicGroup, state: int, now: int) -> None:
    """Go from one state to another; an illegal transition is an error."""
    before, legal = c.group.state, False
    if state == State.DEAD:
        legal = True
    elif state in (State.EMPTY, State.COMPLETING_REBALANCE):
        legal = before == State.PREPARING_REBALANCE
    elif state == State.PREPARING_REBALANCE:
        legal = can_rebalance(before)
    elif state == State.STABLE:
        legal = before == State.COMPLETING_REBALANCE
    if not legal:
        raise ValueError("illegal transition of a group's state")
    c.group.previous_state = before
    c.group.state = state
    c.group.state_since_ms = now


@kernel_in_place
def can_rebalance(state: int) -> bool:
    """Tell whether a group in this state may go to PreparingRebalance (``canRebalance``)."""
    return state in (State.EMPTY, State.STABLE, State.COMPLETING_REBALANCE)


@kernel_in_place
def knows(c: ClassicGroup, member: int) -> bool:
    """Tell whether it is a member of the group."""
    return 0 <= member < c.group.made and c.members[member].known


@kernel_in_place
def is_pending(c: ClassicGroup, member: int) -> bool:
    """Tell whether the id was made up for somebody who has not joined with it."""
    return 0 <= member < c.group.made and c.members[member].pending


@inner_kernel
def static_member(c: ClassicGroup, instance: int) -> int:
    """Return the member that has an instance id, or NONE."""
    if instance == NONE:
        return NONE
    for m in range(c.group.made - 1, -1, -1):
        member = c.members[m]
        if member.known and member.instance == instance and not member.instance_forgotten:
            return m
    return NONE


@inner_kernel
def member_error(c: ClassicGroup, member: int, instance: int) -> int:
    """Check the identity that a request comes with (``validateMember``, ``validateCurrentMember``).

    An instance id that nobody has is an error of its own since 3.0.
    """
    if instance != NONE:
        holder = static_member(c, instance)
        if holder == NONE and c.rules >= CoordinatorRules.SCALA_3_9:
            return Errors.UNKNOWN_MEMBER_ID
        if holder not in (NONE, member):
            return Errors.FENCED_INSTANCE_ID
    return Errors.NONE if knows(c, member) else Errors.UNKNOWN_MEMBER_ID


@inner_kernel
def supports_protocols(c: ClassicGroup, protocol_type: int, protocols: int) -> bool:
    """Tell whether somebody with these protocols fits in (``supportsProtocols``); its own earlier ones count too."""
    if c.group.state == State.EMPTY:
        return protocol_type != NONE and protocols != 0
    if c.rules == CoordinatorRules.SCALA_1_0 and c.group.members == 0:
        return protocol_type == c.group.protocol_type
    candidates = protocols
    for m in range(c.group.made):
        if c.members[m].known:
            candidates &= c.members[m].protocols
    return protocol_type == c.group.protocol_type and candidates != 0


@inner_kernel
def make_id(c: ClassicGroup, request: JoinRequest) -> int:
    """Make up an id for a member."""
    number = c.group.made
    c.group.made += 1
    member = c.members[number]
    member.known = False
    member.pending = False
    member.instance = request.instance
    member.taken_for_static = False
    member.instance_forgotten = False
    member.hash = request.hash
    member.client = request.client
    member.join = NONE
    member.sync = NONE
    member.pending_sync = False
    member.session_deadline = NEVER
    member.assignment = EMPTY_ASSIGNMENT
    member.assigned_as = number
    member.first_write = c.group.writes
    member.write = NONE
    member.stored = False
    return number


@inner_kernel
def add(c: ClassicGroup, number: int, request: JoinRequest) -> None:
    """Take a member in, its JoinGroup parked. The first one leads."""
    group, member = c.group, c.members[number]
    if group.members == 0:
        group.protocol_type = request.protocol_type
    if group.leader == NONE:
        group.leader = number
    if member.pending:
        member.pending = False
        group.pending -= 1
    member.known = True
    member.is_new = True
    member.pending_sync = False
    member.protocol_type = request.protocol_type
    member.session_timeout_ms = request.session_timeout_ms
    member.rebalance_timeout_ms = request.rebalance_timeout_ms
    member.assignment = EMPTY_ASSIGNMENT
    member.sync = NONE
    member.join = NONE
    park_join(c, number, request)
    put(c, number)
    group.members += 1
    group.largest = max(group.largest, group.members)


@inner_kernel
def put(c: ClassicGroup, number: int) -> None:
    """Put a member into the map of members: who asked for an id first may join later (KIP-394)."""
    c.members[number].entered = c.group.puts
    c.group.puts += 1


@inner_kernel
def park_join(c: ClassicGroup, number: int, request: JoinRequest) -> None:
    """Keep a member's JoinGroup for later, and what it says of its protocols."""
    member = c.members[number]
    if member.join == NONE:
        c.group.joining += 1
    else:
        note_unanswered(c, member.join)
    member.join = request.request
    member.skips_assignment = request.skips_assignment
    member.protocols = request.protocols
    member.preferences = request.preferences
    member.metadata = request.metadata
    member.elected_only = False


@inner_kernel
def note_unanswered(c: ClassicGroup, request: int) -> None:
    """Note that a JoinGroup is parked no more and has no answer; the write that it began may still give it one."""
    for number in range(c.group.writes_ended, c.group.writes):
        write = c.writes[number % c.group.write_places]
        if write.kind == WriteKind.REPLACEMENT and write.request == request:
            write.unanswered = request


@inner_kernel
def remove(c: ClassicGroup, number: int) -> None:
    """Take a member, or a pending id, out, and forget its instance id.

    In 2.3.1 another member may have that id by now (``removeMemberAndUpdateGroup``, ``removeStaticMember``).
    """
    was_known = c.members[number].known
    take_out(c, number)
    if was_known and c.rules == CoordinatorRules.SCALA_2_3:
        forget_instance(c, c.members[number].instance)


@inner_kernel
def forget_instance(c: ClassicGroup, instance: int) -> None:
    """Know no more whose an instance id is; the member stays (``removeStaticMember``)."""
    holder = static_member(c, instance)
    if holder != NONE:
        c.members[holder].instance_forgotten = True


@inner_kernel
def take_out(c: ClassicGroup, number: int) -> None:
    """Take a member, or a pending id, out. If it led, whoever comes first in the map of members does."""
    group, member = c.group, c.members[number]
    if member.pending:
        member.pending = False
        group.pending -= 1
    if not member.known:
        return
    member.known = False
    group.members -= 1
    if member.join != NONE:
        member.join = NONE
        group.joining -= 1
    forget_pending_sync(c, number)
    member.sync = NONE
    if c.rules > CoordinatorRules.SCALA_1_0:
        # In 1.0 the session goes on, and its end is an end of a member once more (``onExpireHeartbeat``).
        member.session_deadline = NEVER
    if group.leader == number:
        group.leader = first_member(c, False)


@kernel_in_place
def forget_pending_sync(c: ClassicGroup, number: int) -> None:
    """Wait no more for a member's SyncGroup."""
    if c.members[number].pending_sync:
        c.members[number].pending_sync = False
        c.group.pending_syncs -= 1


@inner_kernel
def first_member(c: ClassicGroup, joined: bool) -> int:
    """Return who comes first in the map of members, of all or of those that have joined; NONE if there is nobody."""
    first = NONE
    for m in range(c.group.made):
        member = c.members[m]
        if member.known and (member.join != NONE or not joined) and (first == NONE or comes_before(c, m, first)):
            first = m
    return first


@inner_kernel
def comes_before(c: ClassicGroup, one: int, other: int) -> bool:
    """Compare the places of two members in the map (``hash_order``)."""
    a, b = c.members[one].hash, c.members[other].hash
    is_later = c.members[one].entered > c.members[other].entered
    if c.map_rule == MapRule.SCALA_2_11:
        bits = 4
        while 4 * c.group.largest > 3 << bits:
            bits += 1
        # From the last bucket to the first; a key is put at the head of its bucket.
        if scala_2_11_index(a, bits) == scala_2_11_index(b, bits):
            return is_later
        return scala_2_11_index(a, bits) > scala_2_11_index(b, bits)
    size = _SMALLEST_TABLE
    if c.map_rule == MapRule.SCALA_2_13:
        while 4 * c.group.largest >= 3 * size:
            size *= 2
        if java_bucket(a, size) == java_bucket(b, size):
            return signed(a ^ a >> 16) < signed(b ^ b >> 16)
        return java_bucket(a, size) < java_bucket(b, size)
    while 4 * c.group.largest > 3 * size:
        size *= 2
    if java_bucket(a, size) == java_bucket(b, size):
        return not is_later
    return java_bucket(a, size) < java_bucket(b, size)


@inner_kernel
def rebalance_timeout_ms(c: ClassicGroup) -> int:
    """Return the largest rebalance timeout of the members."""
    longest = 0
    for m in range(c.group.made):
        if c.members[m].known:
            longest = max(longest, c.members[m].rebalance_timeout_ms)
    return longest


@inner_kernel
def restart_session(c: ClassicGroup, number: int, timeout_ms: int, now: int) -> None:
    """Count a member as alive (``completeAndScheduleNextHeartbeatExpiration``, ``rescheduleHeartbeat``)."""
    set_session(c, number, timeout_ms, next_timer(c), now)


@inner_kernel
def set_session(c: ClassicGroup, number: int, timeout_ms: int, timer: int, now: int) -> None:
    """Do so with a timer of a number that all members share whose timers are set in the order of the map.

    Scala's coordinator watches nobody who waits for an answer; since 2.1.1 (KAFKA-7610) it watches new members.
    """
    member = c.members[number]
    watches_new = member.is_new and c.rules > CoordinatorRules.SCALA_1_0
    waits = member.join != NONE or member.sync != NONE
    heard_in_same_ms = c.rules <= CoordinatorRules.SCALA_2_3 and member.latest_heartbeat_ms == now
    member.latest_heartbeat_ms = now
    if waits and not watches_new and c.rules < CoordinatorRules.JAVA:
        member.session_deadline = NEVER
    elif c.rules == CoordinatorRules.SCALA_2_3 and member.join != NONE and timeout_ms < NEW_MEMBER_JOIN_TIMEOUT_MS:
        # Until 2.3.1 a new member's deadline is gone when it is heard of while it still waits
        # (``shouldKeepMemberAlive``), unless that is in the very millisecond in which it came.
        if not heard_in_same_ms:
            member.session_deadline = NEVER
    elif heard_in_same_ms and member.session_deadline == now + timeout_ms:
        # Until 2.3.1 a timer is given up for a later deadline only: there are two now.
        member.session_timers += 1
        member.last_session_timer = timer
    else:
        member.session_deadline = now + timeout_ms
        member.session_timer = timer
        member.session_timers = 1
        c.group.sessions_end = min(c.group.sessions_end, member.session_deadline)


@kernel_in_place
def next_timer(c: ClassicGroup) -> int:
    """Number a timer that is set."""
    c.group.timers += 1
    return c.group.timers


@inner_kernel
def wait_for_joins(c: ClassicGroup, delay_ms: int, now: int) -> None:
    """Let the join phase, or an initial delay, end in that time."""
    c.group.join_deadline = now + delay_ms
    c.group.join_timer = next_timer(c)


@inner_kernel
def wait_for_syncs(c: ClassicGroup, delay_ms: int, now: int) -> None:
    """Let members have that time to send SyncGroup."""
    c.group.sync_deadline = now + delay_ms
    c.group.sync_timer = next_timer(c)


@inner_kernel
def next_answer(c: ClassicGroup, kind: int, request: int, error: int) -> Answer:
    """Begin an answer."""
    answer = c.answers[c.answered[0].value]
    c.answered[0].value += 1
    answer.kind = kind
    answer.request = request
    answer.error = error
    answer.member = NONE
    answer.generation = NONE
    answer.protocol = NONE
    answer.leader = NONE
    answer.lists_members = False
    answer.skips_assignment = False
    answer.assignment = EMPTY_ASSIGNMENT
    answer.assigned_as = NONE
    return answer


@inner_kernel
def answer_join(c: ClassicGroup, request: int, member: int, error: int) -> None:
    """Answer a JoinGroup with an error; ``member`` is the id that the answer names.

    The generation of such an answer was 0 in 1.0, later it is none (``GroupCoordinator.joinError``).
    """
    answer = next_answer(c, Kind.JOIN, request, error)
    answer.member = member
    answer.generation = 0 if c.rules == CoordinatorRules.SCALA_1_0 else NONE


@inner_kernel
def answer_joined(c: ClassicGroup, request: int, member: int, leader: int, lists_members: bool, skips: bool) -> None:
    """Answer a JoinGroup with the generation as it is."""
    answer = next_answer(c, Kind.JOIN, request, Errors.NONE)
    answer.member = member
    answer.generation = c.group.generation
    answer.protocol = c.group.protocol
    answer.leader = leader
    answer.lists_members = lists_members
    answer.skips_assignment = skips


@inner_kernel
def answer_parked_join(c: ClassicGroup, number: int, member: int, error: int) -> None:
    """Answer a member's parked JoinGroup with an error, if there is one."""
    if c.members[number].join != NONE:
        answer_join(c, c.members[number].join, member, error)
        c.members[number].join = NONE
        c.group.joining -= 1


@inner_kernel
def answer_parked_sync(c: ClassicGroup, number: int, error: int) -> bool:
    """Answer a member's parked SyncGroup, if there is one: with its assignment or an error."""
    member = c.members[number]
    if member.sync == NONE:
        return False
    answer_sync(c, member.sync, number, error)
    member.sync = NONE
    return True


@inner_kernel
def answer_sync(c: ClassicGroup, request: int, number: int, error: int) -> None:
    """Answer a SyncGroup, with the member's assignment if there is no error."""
    answer = next_answer(c, Kind.SYNC, request, error)
    answer.member = number
    if error == Errors.NONE:
        answer.generation = c.group.generation
        answer.assignment = c.members[number].assignment
        answer.assigned_as = c.members[number].assigned_as
