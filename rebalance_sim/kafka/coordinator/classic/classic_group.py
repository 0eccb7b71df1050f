"""A classic group as its coordinator keeps it: members, state, leader, parked requests, deadlines.

``GroupMetadata`` and ``MemberMetadata`` (1.0 to 3.9, Scala), ``ClassicGroup`` and ``ClassicGroupMember`` (4.x, Java).
Members are numbered in the order in which their ids are generated, and a number is never reused, so that it stands for
the id. Instance ids, protocol types, protocol lists and metadata are numbers too, assigned by the caller.
"""

from enum import IntEnum
from typing import NamedTuple

from rebalance_sim.kafka.coordinator.broker_config import BrokerConfig
from rebalance_sim.kafka.coordinator.errors import Errors
from rebalance_sim.kafka.runtime.hash_order import java_bucket, scala_2_11_index, signed
from rebalance_sim.kafka.runtime.kernel import inner_kernel, kernel_in_place
from rebalance_sim.kafka.runtime.records import Records
from rebalance_sim.releases import CoordinatorRules, MapRule

NONE = -1
"""No member, no instance id, no protocol, no request, or the generation of a client that has none."""
EMPTY_ASSIGNMENT = -1
NEVER = 2**62
"""A time that never comes."""
NEW_MEMBER_JOIN_TIMEOUT_MS = 300_000
"""``NewMemberJoinTimeoutMs`` (KAFKA-7610): how long a new member's JoinGroup stays parked (2.1.1 and later)."""
_SMALLEST_TABLE = 16


class State(IntEnum):
    """``GroupState``; 1.0 calls CompletingRebalance AwaitingSync."""

    EMPTY = 0
    PREPARING_REBALANCE = 1
    COMPLETING_REBALANCE = 2
    STABLE = 3
    DEAD = 4


class Reason(IntEnum):
    """Why the last rebalance began."""

    NONE = 0
    NEW_MEMBER = 1
    MEMBER_CHANGED = 2
    """A member rejoined with another subscription, other protocols or other owned partitions."""
    LEADER_REJOINED = 3
    MEMBER_LEFT = 4
    SESSION_EXPIRED = 5
    NEVER_SYNCED = 6
    """A member sent no SyncGroup within the rebalance timeout (2.8.1 and later, KAFKA-12890)."""
    STORE_FAILED = 7
    STATIC_MEMBER_REPLACED = 8


class AwaitedElection(IntEnum):
    """The election that the coordinator needs from its caller before it can go on."""

    NOT_DUE = 0
    OF_GENERATION = 1
    """The join phase has ended (``initNextGeneration``)."""
    OF_REPLACEMENT = 2
    """A static member of a stable group was replaced; the group rebalances if it would now elect another protocol."""
    OF_DOWNGRADE = 3
    """A consumer-protocol group has become a classic one (``group_conversion``)."""


class RequestKind(IntEnum):
    """The requests of a group's members."""

    JOIN = 0
    SYNC = 1
    HEARTBEAT = 2
    LEAVE = 3
    COMMIT = 4
    CONSUMER_GROUP_HEARTBEAT = 5


class ClassicGroupState:
    """The state of a group that is not per member."""

    exists: bool
    state: int
    previous_state: int
    state_since_ms: int
    """When the group entered its state; NEVER if unknown."""
    generation: int
    leader: int
    protocol: int
    """The protocol of the last election."""
    protocol_type: int
    made: int
    """Number of member ids generated so far."""
    member_places: int
    """Allocated places for members, and for writes in flight."""
    write_places: int
    member_count: int
    largest: int
    """The highest member count so far: hash maps never shrink."""
    puts: int
    """How many members were ever put into the map of members."""
    joining: int
    """Number of members whose JoinGroup is parked."""
    pending: int
    """Number of ids that were answered MEMBER_ID_REQUIRED (KIP-394) and have not joined."""
    pending_syncs: int
    join_deadline: int
    """End of the join phase; NEVER outside of it."""
    is_initial_delay: bool
    """Whether ``join_deadline`` is the end of a group.initial.rebalance.delay.ms (``InitialDelayedJoin``)."""
    delay_ms: int
    """Length of that delay."""
    remaining_ms: int
    new_member_added: bool
    sync_deadline: int
    sessions_end: int
    """No session expires before this time."""
    timers: int
    """Timers set so far: of timers due at the same time, the one set first expires first."""
    join_timer: int
    sync_timer: int
    election: int
    replaced: int
    """The static member that an election of a replacement is about."""
    reason: int
    """Why the last rebalance began, and because of which member."""
    reason_member: int
    rebalances: int
    """Number of rebalances begun."""
    initial_delays: int
    """Number of them that began with group.initial.rebalance.delay.ms, which decides nothing else."""
    writes: int
    """Writes of group metadata begun so far, and ended."""
    writes_ended: int
    evicted: int
    """Members removed so far because a timeout expired."""
    sessions_expired: int
    """Sessions that have expired so far, also of members that stayed because they were waiting for a response."""
    stored: bool
    """Whether a write has succeeded; the following fields are the contents of the last one."""
    stored_generation: int
    stored_leader: int
    stored_protocol: int
    stored_protocol_type: int
    stored_state_since_ms: int


class ClassicGroupMember:
    """A member, or an id generated for one."""

    known: bool
    """Whether it is a member now."""
    pending: bool
    instance: int
    taken_for_static: bool
    """Whether it stays in the group without rejoining although it has no instance id (``log.load`` of 2.3)."""
    instance_forgotten: bool
    """Whether its instance id no longer leads to it (2.3)."""
    hash: int
    """``hashCode`` of the id, unsigned."""
    client: int
    """The client that uses this id."""
    protocol_type: int
    protocols: int
    """Supported protocols, one bit each."""
    preferences: int
    """Its ordered list of protocols."""
    metadata: int
    """The metadata that it sent with its protocols."""
    elected_only: bool
    """Whether only the elected protocol is known, as after a load: the log stores no others."""
    session_timeout_ms: int
    rebalance_timeout_ms: int
    join: int
    """Its parked JoinGroup request."""
    sync: int
    skips_assignment: bool
    """Whether that JoinGroup is of version 9 or later (KIP-814)."""
    pending_sync: bool
    is_new: bool
    session_deadline: int
    session_timer: int
    """The timer of that deadline."""
    session_timers: int
    """How many timers have that deadline (up to 2.3.1), and the last of them."""
    last_session_timer: int
    latest_heartbeat_ms: int
    """``latestHeartbeat``: when the member was last heard from (up to 2.3)."""
    assignment: int
    """The set of assignments, as a leader sent it, that contains its own."""
    assigned_as: int
    """The member under which its assignment stands there."""
    entered: int
    """Position in the order of insertion into the map of members; negative if inserted by a consumer-protocol group
    (``group_conversion``)."""
    largest_before: int
    """The highest member count of the map before the member was inserted."""
    place: int
    """Its position in the member list that the leader of its generation received."""
    first_write: int
    """The first and the last write that include it, and what the last one holds."""
    write: int
    written_preferences: int
    written_metadata: int
    written_session_timeout_ms: int
    written_rebalance_timeout_ms: int
    written_assignment: int
    written_as: int
    stored: bool
    """Whether the last successful write includes it, and with what."""
    stored_preferences: int
    stored_metadata: int
    stored_session_timeout_ms: int
    stored_rebalance_timeout_ms: int
    stored_assignment: int
    stored_as: int


class JoinRequest(NamedTuple):
    """A JoinGroup request."""

    request: int
    """A number that the answer repeats."""
    member: int
    """NONE for the empty id."""
    instance: int
    client: int
    hash: int
    """``hashCode`` of the id that would be generated."""
    protocol_type: int
    protocols: int
    preferences: int
    metadata: int
    session_timeout_ms: int
    rebalance_timeout_ms: int
    requires_known_member_id: bool
    """Whether it is of version 4 or later (KIP-394)."""
    skips_assignment: bool


class SyncRequest(NamedTuple):
    """A SyncGroup request."""

    request: int
    member: int
    instance: int
    generation: int
    protocol_type: int
    """NONE, as the protocol, if the request does not name it (before version 5, KIP-559)."""
    protocol: int
    assignment: int
    """The set of assignments that a leader sends."""


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
    """Whether the log has it even if it ends with an error, as a write of 4.x that was waiting for replicas."""
    member: int
    """For the replacement of a static member: its new id, its old id, and the previous leader."""
    holder: int
    """The id that the replaced member has now: Scala's coordinator keeps the member object and changes its id."""
    old_member: int
    old_leader: int
    preferences: int
    """The first field of the member as it was; its fields are restored if the write fails."""
    protocols: int
    metadata: int
    elected_only: bool
    session_timeout_ms: int
    rebalance_timeout_ms: int
    request: int
    """The JoinGroup that caused the replacement."""
    unanswered: int
    """That JoinGroup, if it is neither parked nor answered any more; else NONE."""
    skips_assignment: bool


class WriteKind(IntEnum):
    """The purpose of a write."""

    EMPTY_GROUP = 0
    ASSIGNMENTS = 1
    REPLACEMENT = 2


class Answer:
    """The coordinator's answer to a request."""

    kind: int
    request: int
    error: int
    member: int
    generation: int
    protocol: int
    leader: int
    lists_members: bool
    """Whether it lists all members with their metadata, as for a leader."""
    skips_assignment: bool
    assignment: int
    assigned_as: int


class ClassicGroup(NamedTuple):
    """Everything that the coordinator keeps of one group."""

    group: ClassicGroupState
    members: Records[ClassicGroupMember]
    """By number."""
    writes: Records[Write]
    """By number, modulo its length."""
    answers: Records[Answer]
    answered: Records["Counter"]
    """How many of ``answers`` are to be sent."""
    config: BrokerConfig
    rules: int
    """A member of CoordinatorRules."""
    map_rule: int


class Counter:
    """A mutable number."""

    value: int


@inner_kernel
def clear_group(group: ClassicGroupState) -> None:
    """Reset to a group without members; counters and the contents of the log stay."""
    group.exists = False
    group.state = group.previous_state = State.EMPTY
    group.state_since_ms = NEVER
    group.generation = 0
    group.leader = group.protocol = group.protocol_type = NONE
    group.member_count = group.largest = group.puts = group.joining = group.pending = group.pending_syncs = 0
    group.join_deadline = group.sync_deadline = group.sessions_end = NEVER
    group.is_initial_delay = group.new_member_added = False
    group.election = AwaitedElection.NOT_DUE


@inner_kernel
def transition_to(classic: ClassicGroup, state: int, now: int) -> None:
    """Change the state; an illegal transition is an error (``validPreviousStates``)."""
    before, legal = classic.group.state, False
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
    classic.group.previous_state, classic.group.state = before, state
    classic.group.state_since_ms = now


@kernel_in_place
def can_rebalance(state: int) -> bool:
    """Return whether a group in this state may go to PreparingRebalance (``canRebalance``)."""
    return state in (State.EMPTY, State.STABLE, State.COMPLETING_REBALANCE)


@kernel_in_place
def knows(classic: ClassicGroup, member: int) -> bool:
    """Return whether the number is that of a current member."""
    return 0 <= member < classic.group.made and classic.members[member].known


@kernel_in_place
def is_pending(classic: ClassicGroup, member: int) -> bool:
    """Return whether the id was generated for a client that has not joined with it yet (KIP-394)."""
    return 0 <= member < classic.group.made and classic.members[member].pending


@inner_kernel
def static_member(classic: ClassicGroup, instance: int) -> int:
    """Return the member that has an instance id, or NONE."""
    if instance == NONE:
        return NONE
    for number in range(classic.group.made - 1, -1, -1):
        member = classic.members[number]
        if member.known and member.instance == instance and not member.instance_forgotten:
            return number
    return NONE


@inner_kernel
def member_error(classic: ClassicGroup, member: int, instance: int) -> int:
    """Check the identity in a request (``validateMember``, ``validateCurrentMember``).

    Since 3.0, an instance id that no member has is an error of its own.
    """
    if instance != NONE:
        holder = static_member(classic, instance)
        if holder == NONE and classic.rules >= CoordinatorRules.SCALA_3_0:
            return Errors.UNKNOWN_MEMBER_ID
        if holder not in (NONE, member):
            return Errors.FENCED_INSTANCE_ID
    return Errors.NONE if knows(classic, member) else Errors.UNKNOWN_MEMBER_ID


@inner_kernel
def supports_protocols(classic: ClassicGroup, protocol_type: int, protocols: int) -> bool:
    """Return whether a client with these protocols may join (``supportsProtocols``).

    A known member's earlier protocols count too: it cannot switch to a protocol that it did not offer before.
    """
    if classic.group.state == State.EMPTY:
        return protocol_type != NONE and protocols != 0
    if classic.rules == CoordinatorRules.SCALA_1_0 and classic.group.member_count == 0:
        return protocol_type == classic.group.protocol_type
    candidates = protocols
    for number in range(classic.group.made):
        if classic.members[number].known:
            candidates &= classic.members[number].protocols
    return protocol_type == classic.group.protocol_type and candidates != 0


@inner_kernel
def make_id(classic: ClassicGroup, request: JoinRequest) -> int:
    """Generate an id."""
    number = classic.group.made
    classic.group.made += 1
    member = classic.members[number]
    clear_member(member)
    member.instance, member.client, member.hash = request.instance, request.client, request.hash
    member.assignment, member.assigned_as = EMPTY_ASSIGNMENT, number
    member.first_write = classic.group.writes
    return number


@inner_kernel
def clear_member(member: ClassicGroupMember) -> None:
    """Reset to an id that no member has, with no request parked and no write begun."""
    member.known = member.pending = member.pending_sync = member.stored = False
    member.taken_for_static = member.instance_forgotten = False
    member.instance = member.join = member.sync = member.write = NONE
    member.session_deadline = NEVER


@inner_kernel
def add(classic: ClassicGroup, number: int, request: JoinRequest) -> None:
    """Add a member with its JoinGroup parked. The first member becomes the leader."""
    group, member = classic.group, classic.members[number]
    if group.member_count == 0:
        group.protocol_type = request.protocol_type
    if group.leader == NONE:
        group.leader = number
    if member.pending:
        member.pending = False
        group.pending -= 1
    member.known = member.is_new = True
    member.pending_sync = False
    member.protocol_type = request.protocol_type
    member.session_timeout_ms, member.rebalance_timeout_ms = request.session_timeout_ms, request.rebalance_timeout_ms
    member.assignment = EMPTY_ASSIGNMENT
    member.sync = member.join = NONE
    park_join(classic, number, request)
    put(classic, number)
    group.member_count += 1
    group.largest = max(group.largest, group.member_count)


@inner_kernel
def put(classic: ClassicGroup, number: int) -> None:
    """Insert a member into the map of members: a client that asked for an id first may join later (KIP-394)."""
    classic.members[number].entered = classic.group.puts
    classic.members[number].largest_before = classic.group.largest
    classic.group.puts += 1


@inner_kernel
def park_join(classic: ClassicGroup, number: int, request: JoinRequest) -> None:
    """Park a member's JoinGroup and update its protocols."""
    member = classic.members[number]
    if member.join == NONE:
        classic.group.joining += 1
    else:
        note_unanswered(classic, member.join)
    member.join, member.skips_assignment = request.request, request.skips_assignment
    member.protocols, member.preferences, member.metadata = request.protocols, request.preferences, request.metadata
    member.elected_only = False


@inner_kernel
def note_unanswered(classic: ClassicGroup, request: int) -> None:
    """Note that a JoinGroup was dropped without an answer; the write that it began may still answer it."""
    for number in range(classic.group.writes_ended, classic.group.writes):
        write = classic.writes[number % classic.group.write_places]
        if write.kind == WriteKind.REPLACEMENT and write.request == request:
            write.unanswered = request


@inner_kernel
def remove(classic: ClassicGroup, number: int) -> None:
    """Remove a member or a pending id, and forget its instance id.

    Before 2.8 another member may have that instance id by now (``removeMemberAndUpdateGroup``, ``removeStaticMember``).
    """
    was_known = classic.members[number].known
    take_out(classic, number)
    if was_known and CoordinatorRules.SCALA_2_3 <= classic.rules < CoordinatorRules.SCALA_2_8:
        forget_instance(classic, classic.members[number].instance)


@inner_kernel
def forget_instance(classic: ClassicGroup, instance: int) -> None:
    """Forget which member has an instance id; the member stays (``removeStaticMember``)."""
    holder = static_member(classic, instance)
    if holder != NONE:
        classic.members[holder].instance_forgotten = True


@inner_kernel
def take_out(classic: ClassicGroup, number: int) -> None:
    """Remove a member or a pending id. The next leader is the first member in the order of the map."""
    group, member = classic.group, classic.members[number]
    if member.pending:
        member.pending = False
        group.pending -= 1
    if not member.known:
        return
    member.known = False
    group.member_count -= 1
    if member.join != NONE:
        member.join = NONE
        group.joining -= 1
    forget_pending_sync(classic, number)
    member.sync = NONE
    if classic.rules > CoordinatorRules.SCALA_1_0:
        # In 1.0 the session timer goes on, and removes the member a second time (``onExpireHeartbeat``).
        member.session_deadline = NEVER
    if group.leader == number:
        group.leader = first_member(classic, False)


@kernel_in_place
def forget_pending_sync(classic: ClassicGroup, number: int) -> None:
    """Stop waiting for a member's SyncGroup."""
    if classic.members[number].pending_sync:
        classic.members[number].pending_sync = False
        classic.group.pending_syncs -= 1


@inner_kernel
def first_member(classic: ClassicGroup, joined: bool) -> int:
    """Return the first member in the order of the map, of all or of those that have joined; NONE if there is none."""
    first = NONE
    for number in range(classic.group.made):
        member = classic.members[number]
        counts = member.known and (member.join != NONE or not joined)
        if counts and (first == NONE or comes_before(classic, number, first)):
            first = number
    return first


@inner_kernel
def _scala_2_11_bits(count: int) -> int:
    """Return the number of bits of a bucket in Scala 2.11's ``mutable.HashMap`` that grew to this many keys."""
    bits = 4
    while 4 * count > 3 << bits:
        bits += 1
    return bits


@inner_kernel
def comes_before(classic: ClassicGroup, number: int, rival: int) -> bool:
    """Compare the positions of two members in the coordinator's hash map (``hash_order``)."""
    a, b = classic.members[number].hash, classic.members[rival].hash
    is_later = classic.members[number].entered > classic.members[rival].entered
    if classic.map_rule in (MapRule.SCALA_2_11, MapRule.SCALA_2_12_13):
        bits = _scala_2_11_bits(classic.group.largest)
        # Scala 2.11 iterates from the last bucket to the first.
        if scala_2_11_index(a, bits) != scala_2_11_index(b, bits):
            return scala_2_11_index(a, bits) > scala_2_11_index(b, bits)
        # It puts a key at the head of its bucket, and reverses every bucket when it doubles the table.
        last = max(classic.members[number].largest_before, classic.members[rival].largest_before)
        return is_later == ((bits - _scala_2_11_bits(last)) % 2 == 0)
    size = _SMALLEST_TABLE
    if classic.map_rule == MapRule.SCALA_2_13:
        while 4 * classic.group.largest >= 3 * size:
            size *= 2
        if java_bucket(a, size) == java_bucket(b, size):
            return signed(a ^ a >> 16) < signed(b ^ b >> 16)
        return java_bucket(a, size) < java_bucket(b, size)
    while 4 * classic.group.largest > 3 * size:
        size *= 2
    if java_bucket(a, size) == java_bucket(b, size):
        return not is_later
    return java_bucket(a, size) < java_bucket(b, size)


@inner_kernel
def rebalance_timeout_ms(classic: ClassicGroup) -> int:
    """Return the largest rebalance timeout of the members."""
    longest = 0
    for number in range(classic.group.made):
        if classic.members[number].known:
            longest = max(longest, classic.members[number].rebalance_timeout_ms)
    return longest


@inner_kernel
def restart_session(classic: ClassicGroup, number: int, timeout_ms: int, now: int) -> None:
    """Restart a member's session timer (``completeAndScheduleNextHeartbeatExpiration``, ``rescheduleHeartbeat``)."""
    set_session(classic, number, timeout_ms, next_timer(classic), now)


@inner_kernel
def set_session(classic: ClassicGroup, number: int, timeout_ms: int, timer: int, now: int) -> None:
    """Restart a session with a timer number that the caller may share among members, in the order of the map.

    Scala's coordinator sets no timer for a member that waits for an answer; since 2.1.1 (KAFKA-7610) it does for new
    members.
    """
    member = classic.members[number]
    watches_new = member.is_new and classic.rules > CoordinatorRules.SCALA_1_0
    waits = member.join != NONE or member.sync != NONE
    heard_in_same_ms = classic.rules < CoordinatorRules.SCALA_2_5 and member.latest_heartbeat_ms == now
    member.latest_heartbeat_ms = now
    if waits and not watches_new and classic.rules < CoordinatorRules.JAVA:
        member.session_deadline = NEVER
    elif _outlives_session(classic, number, timeout_ms):
        # The member loses its deadline, except in the very millisecond in which it came.
        if not heard_in_same_ms:
            member.session_deadline = NEVER
    elif heard_in_same_ms and member.session_deadline == now + timeout_ms:
        # Before 2.5 a timer is cancelled only by a later deadline: now there are two.
        member.session_timers += 1
        member.last_session_timer = timer
    else:
        member.session_deadline = now + timeout_ms
        member.session_timer = timer
        member.session_timers = 1
        classic.group.sessions_end = min(classic.group.sessions_end, member.session_deadline)


@inner_kernel
def _outlives_session(classic: ClassicGroup, number: int, timeout_ms: int) -> bool:
    """Return whether a session timer of a new member is cancelled at once (``shouldKeepAlive``, before 2.5).

    It keeps the deadline for its join. Up to 2.4.0 that holds while it waits for the response to its JoinGroup, in
    2.4.1 also for the session that begins with this response, so that it has none until its first heartbeat
    (KAFKA-9752).
    """
    member = classic.members[number]
    if not CoordinatorRules.SCALA_2_3 <= classic.rules < CoordinatorRules.SCALA_2_5:
        return False
    is_watched = member.is_new and classic.rules == CoordinatorRules.SCALA_2_4_1
    return timeout_ms < NEW_MEMBER_JOIN_TIMEOUT_MS and (is_watched or member.join != NONE)


@kernel_in_place
def next_timer(classic: ClassicGroup) -> int:
    """Number a timer."""
    classic.group.timers += 1
    return classic.group.timers


@inner_kernel
def wait_for_joins(classic: ClassicGroup, delay_ms: int, now: int) -> None:
    """Set the deadline of the join phase or of an initial delay."""
    classic.group.join_deadline = now + delay_ms
    classic.group.join_timer = next_timer(classic)


@inner_kernel
def wait_for_syncs(classic: ClassicGroup, delay_ms: int, now: int) -> None:
    """Set the deadline for SyncGroup (``schedulePendingSync``)."""
    classic.group.sync_deadline = now + delay_ms
    classic.group.sync_timer = next_timer(classic)


@inner_kernel
def next_answer(classic: ClassicGroup, kind: int, request: int, error: int) -> Answer:
    """Begin an answer."""
    answer = classic.answers[classic.answered[0].value]
    classic.answered[0].value += 1
    answer.kind, answer.request, answer.error = kind, request, error
    answer.member = answer.generation = answer.protocol = answer.leader = answer.assigned_as = NONE
    answer.lists_members = answer.skips_assignment = False
    answer.assignment = EMPTY_ASSIGNMENT
    return answer


@inner_kernel
def answer_join(classic: ClassicGroup, request: int, member: int, error: int) -> None:
    """Answer a JoinGroup with an error; ``member`` is the id in the answer.

    The generation of such an answer was 0 in 1.0, and is -1 since (``GroupCoordinator.joinError``).
    """
    answer = next_answer(classic, RequestKind.JOIN, request, error)
    answer.member = member
    answer.generation = 0 if classic.rules == CoordinatorRules.SCALA_1_0 else NONE


@inner_kernel
def answer_joined(
    classic: ClassicGroup, request: int, member: int, leader: int, lists_members: bool, skips: bool
) -> None:
    """Answer a JoinGroup with the current generation."""
    answer = next_answer(classic, RequestKind.JOIN, request, Errors.NONE)
    answer.member, answer.leader = member, leader
    answer.generation, answer.protocol = classic.group.generation, classic.group.protocol
    answer.lists_members, answer.skips_assignment = lists_members, skips


@inner_kernel
def answer_parked_join(classic: ClassicGroup, number: int, member: int, error: int) -> None:
    """Answer a member's parked JoinGroup with an error, if there is one."""
    if classic.members[number].join != NONE:
        answer_join(classic, classic.members[number].join, member, error)
        classic.members[number].join = NONE
        classic.group.joining -= 1


@inner_kernel
def answer_parked_sync(classic: ClassicGroup, number: int, error: int) -> bool:
    """Answer a member's parked SyncGroup with its assignment or an error; return whether there was one."""
    member = classic.members[number]
    if member.sync == NONE:
        return False
    answer_sync(classic, member.sync, number, error)
    member.sync = NONE
    return True


@inner_kernel
def answer_sync(classic: ClassicGroup, request: int, number: int, error: int) -> None:
    """Answer a SyncGroup, with the member's assignment if there is no error."""
    answer = next_answer(classic, RequestKind.SYNC, request, error)
    answer.member = number
    if error == Errors.NONE:
        answer.generation = classic.group.generation
        answer.assignment = classic.members[number].assignment
        answer.assigned_as = classic.members[number].assigned_as
