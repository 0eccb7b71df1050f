"""A group's move between coordinators: unloading it, and loading it from the offsets topic."""

from rebalance_sim.kafka.coordinator.classic.classic_group import (
    NEVER,
    NONE,
    AwaitedElection,
    ClassicGroup,
    Reason,
    State,
    answer_parked_join,
    answer_parked_sync,
    clear_group,
    comes_before,
    next_timer,
    put,
    set_session,
    transition_to,
)
from rebalance_sim.kafka.coordinator.classic.rebalance import prepare_rebalance
from rebalance_sim.kafka.coordinator.errors import Errors
from rebalance_sim.kafka.runtime.kernel import inner_kernel
from rebalance_sim.releases import CoordinatorRules


@inner_kernel
def unload(classic: ClassicGroup) -> None:
    """Unload the group; waiting members are sent to another coordinator (``onGroupUnloaded``)."""
    for number in range(classic.group.made):
        answer_parked_join(classic, number, number, Errors.NOT_COORDINATOR)
        answer_parked_sync(classic, number, Errors.NOT_COORDINATOR)
    forget_writes(classic)
    transition_to(classic, State.DEAD, NEVER)
    classic.group.sessions_end = classic.group.join_deadline = classic.group.sync_deadline = NEVER
    classic.group.election = AwaitedElection.NOT_DUE


@inner_kernel
def load(classic: ClassicGroup, now: int) -> None:
    """Load the group from the log (``loadGroup``, ``onLoaded``): a rebalance in progress is lost.

    All sessions restart. Only the elected protocol of each member is known. A group without members is empty; without a
    write it does not exist. A group larger than the maximum rebalances (KIP-389, 2.2 and later).
    """
    group = classic.group
    largest = group.largest
    forget_members(classic)
    clear_group(group)
    group.exists = group.stored
    if not group.stored:
        return
    group.generation, group.protocol = group.stored_generation, group.stored_protocol
    group.protocol_type = group.stored_protocol_type
    if not CoordinatorRules.SCALA_2_3 <= classic.rules < CoordinatorRules.SCALA_2_6_1:
        # Written since 2.1 (KIP-211), but not read from 2.3 to 2.6.0 (KAFKA-10401); 1.0 does not need it.
        group.state_since_ms = group.stored_state_since_ms
    _load_members(classic, largest)
    if group.member_count > 0:
        group.leader = group.stored_leader
        group.state = State.STABLE
    is_too_large = group.member_count > classic.config.group_max_size and classic.rules > CoordinatorRules.SCALA_1_0
    if is_too_large and classic.rules < CoordinatorRules.JAVA:
        prepare_rebalance(classic, Reason.NONE, NONE, now)
    timer = next_timer(classic)
    for number in range(group.made):
        if classic.members[number].known:
            set_session(classic, number, classic.members[number].session_timeout_ms, timer, now)
    if is_too_large and classic.rules >= CoordinatorRules.JAVA:
        prepare_rebalance(classic, Reason.NONE, NONE, now)


@inner_kernel
def _load_members(classic: ClassicGroup, largest: int) -> None:
    """Add the members in the log, in the order of the map that they were written from."""
    group = classic.group
    group.largest = largest
    following = _next_to_load(classic)
    while following != NONE:
        _load_member(classic, following)
        following = _next_to_load(classic)
    group.largest = group.member_count


@inner_kernel
def _next_to_load(classic: ClassicGroup) -> int:
    first = NONE
    for number in range(classic.group.made):
        member = classic.members[number]
        if member.stored and not member.known and (first == NONE or comes_before(classic, number, first)):
            first = number
    return first


@inner_kernel
def forget_group(classic: ClassicGroup) -> None:
    """Remove the group with its members; the log still has what was written of it."""
    forget_members(classic)
    forget_writes(classic)
    clear_group(classic.group)


@inner_kernel
def forget_members(classic: ClassicGroup) -> None:
    """Remove all members and pending ids."""
    for number in range(classic.group.made):
        member = classic.members[number]
        member.known = member.pending = member.pending_sync = member.is_new = False
        member.session_deadline = NEVER


@inner_kernel
def forget_writes(classic: ClassicGroup) -> None:
    """Stop waiting for the writes that have not ended; they may still reach the log."""
    for write_number in range(classic.group.writes_ended, classic.group.writes):
        classic.writes[write_number % classic.group.write_places].awaited = False


@inner_kernel
def _load_member(classic: ClassicGroup, number: int) -> None:
    member = classic.members[number]
    member.known = True
    put(classic, number)
    # Loading fills a new map.
    member.largest_before = classic.group.member_count
    member.elected_only = True
    member.instance_forgotten = False
    # Before 2.8 a null instance id is read as an instance id (``readGroupMessageValue``), so that loaded members are
    # not removed when they do not rejoin.
    member.taken_for_static = CoordinatorRules.SCALA_2_3 <= classic.rules < CoordinatorRules.SCALA_2_8
    classic.group.member_count += 1
    classic.group.protocol_type = member.protocol_type
    member.protocols = 1 << classic.group.protocol
    member.preferences, member.metadata = member.stored_preferences, member.stored_metadata
    member.session_timeout_ms = member.stored_session_timeout_ms
    member.rebalance_timeout_ms = member.stored_rebalance_timeout_ms
    member.assignment, member.assigned_as = member.stored_assignment, member.stored_as
