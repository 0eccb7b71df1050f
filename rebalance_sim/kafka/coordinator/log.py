"""What a coordinator makes of a group that it gives up, or gets from the offsets topic."""

from rebalance_sim.kafka.coordinator.classic_group import (
    NEVER,
    NONE,
    ClassicGroup,
    Election,
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
from rebalance_sim.kafka.coordinator.errors import Errors
from rebalance_sim.kafka.coordinator.rebalance import prepare_rebalance
from rebalance_sim.kafka.kernel import inner_kernel
from rebalance_sim.versions import CoordinatorRules


@inner_kernel
def unload(c: ClassicGroup) -> None:
    """Give the group up; who waits is told to look for another coordinator (``onGroupUnloaded``).

    Writes that have not ended yet may still reach the log; this coordinator does not wait for them.
    """
    for m in range(c.group.made):
        answer_parked_join(c, m, m, Errors.NOT_COORDINATOR)
        answer_parked_sync(c, m, Errors.NOT_COORDINATOR)
    for number in range(c.group.writes_ended, c.group.writes):
        c.writes[number % c.group.write_places].awaited = False
    transition_to(c, State.DEAD, NEVER)
    c.group.sessions_end = c.group.join_deadline = c.group.sync_deadline = NEVER
    c.group.election = Election.NOT_DUE


@inner_kernel
def load(c: ClassicGroup, now: int) -> None:
    """Take the group as the log holds it (``loadGroup``, ``onLoaded``): a rebalance that went on is lost.

    All sessions begin anew. Of what members support, only the elected protocol is known. Without members the group is
    empty; without a write there is none. One that is too large rebalances (KIP-389, 2.2 and later).
    """
    group = c.group
    largest = group.largest
    forget_members(c)
    clear_group(group)
    group.exists = group.stored
    if not group.stored:
        return
    group.generation, group.protocol = group.stored_generation, group.stored_protocol
    group.protocol_type = group.stored_protocol_type
    if c.rules != CoordinatorRules.SCALA_2_3:
        # Written since 2.1 (KIP-211), but not read by 2.3.1 (``readGroupMessageValue``); 1.0 does not need it.
        group.state_since_ms = group.stored_state_since_ms
    _load_members(c, largest)
    if group.members > 0:
        group.leader = group.stored_leader
        group.state = State.STABLE
    is_too_large = group.members > c.config.group_max_size and c.rules > CoordinatorRules.SCALA_1_0
    if is_too_large and c.rules < CoordinatorRules.JAVA:
        prepare_rebalance(c, Reason.NONE, NONE, now)
    timer = next_timer(c)
    for m in range(group.made):
        if c.members[m].known:
            set_session(c, m, c.members[m].session_timeout_ms, timer, now)
    if is_too_large and c.rules >= CoordinatorRules.JAVA:
        prepare_rebalance(c, Reason.NONE, NONE, now)


@inner_kernel
def _load_members(c: ClassicGroup, largest: int) -> None:
    """Put those in whom the log names, in the order of the map that they were written from."""
    group = c.group
    group.largest = largest
    following = _next_to_load(c)
    while following != NONE:
        _load_member(c, following)
        following = _next_to_load(c)
    group.largest = group.members


@inner_kernel
def _next_to_load(c: ClassicGroup) -> int:
    first = NONE
    for m in range(c.group.made):
        member = c.members[m]
        if member.stored and not member.known and (first == NONE or comes_before(c, m, first)):
            first = m
    return first


@inner_kernel
def forget_members(c: ClassicGroup) -> None:
    """Let nobody be in the group, nor an id be pending."""
    for m in range(c.group.made):
        member = c.members[m]
        member.known = member.pending = member.pending_sync = member.is_new = False
        member.session_deadline = NEVER


@inner_kernel
def _load_member(c: ClassicGroup, number: int) -> None:
    member = c.members[number]
    member.known = True
    put(c, number)
    member.elected_only = True
    member.instance_forgotten = False
    # 2.3.1 takes an instance id that is null for one (``readGroupMessageValue``): nobody is removed who does not join.
    member.taken_for_static = c.rules == CoordinatorRules.SCALA_2_3
    c.group.members += 1
    c.group.protocol_type = member.protocol_type
    member.protocols = 1 << c.group.protocol
    member.preferences, member.metadata = member.stored_preferences, member.stored_metadata
    member.session_timeout_ms = member.stored_session_timeout_ms
    member.rebalance_timeout_ms = member.stored_rebalance_timeout_ms
    member.assignment, member.assigned_as = member.stored_assignment, member.stored_as
