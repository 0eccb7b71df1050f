"""A group that turns from the classic protocol to that of KIP-848, and back (Kafka 4.3, online migration).

``GroupMetadataManager``, with ``group.consumer.migration.policy`` at its default, bidirectional. The first member of
KIP-848 that joins a classic group makes it a group of KIP-848, in which the others go on by the classic protocol
(``mixed_requests``). When only such members are left, it is a classic group again. A member has the same number in
both. Of the two groups here, the one that exists is in charge.
"""

from typing import NamedTuple

from rebalance_sim.kafka.coordinator.classic_group import (
    NEVER,
    NONE,
    ClassicGroup,
    Election,
    State,
    answer_parked_join,
    answer_parked_sync,
    clear_group,
    comes_before,
    next_timer,
    set_session,
)
from rebalance_sim.kafka.coordinator.consumer_group import (
    JOIN_EPOCH,
    NOTHING,
    ConsumerGroup,
    Heartbeat,
    ModernMemberState,
    clear_consumer_group,
    count_subscriber,
    knows_member,
    next_modern_answer,
    set_consumer_session,
    update_state,
)
from rebalance_sim.kafka.coordinator.consumer_heartbeat import consumer_heartbeat, modern_response_error
from rebalance_sim.kafka.coordinator.errors import Errors
from rebalance_sim.kafka.coordinator.log import forget_members
from rebalance_sim.kafka.coordinator.rebalance import prepare_rebalance
from rebalance_sim.kafka.hash_order import timeline_slot
from rebalance_sim.kafka.kernel import inner_kernel

UNREADABLE = -3
"""Stands for a subscription, or an assignment, that is not as consumers write them, or tells more than partitions."""


class MixedGroup(NamedTuple):
    """All that the coordinator has of one group, whichever protocol it follows."""

    classic: ClassicGroup
    """Its answers are those to requests of the classic protocol."""
    modern: ConsumerGroup
    consumer_type: int
    """The protocol type of consumers; groups of others stay as they are."""
    store_ms: int
    """How long a write takes until it is replicated: some timers begin then."""


@inner_kernel
def is_consumer_group(m: MixedGroup) -> bool:
    """Tell whether the group is one of KIP-848 now."""
    return m.modern.group.exists


@inner_kernel
def new_member_number(m: MixedGroup) -> int:
    """Number a member of KIP-848, which chooses its id itself."""
    align_numbers(m)
    m.modern.group.made += 1
    align_numbers(m)
    return m.modern.group.made - 1


@inner_kernel
def align_numbers(m: MixedGroup) -> None:
    """Let both groups know the same numbers."""
    classic, modern = m.classic.group, m.modern.group
    for k in range(classic.made, modern.made):
        member = m.classic.members[k]
        member.known = member.pending = member.pending_sync = member.stored = False
        member.taken_for_static = member.instance_forgotten = False
        member.entered = 0
        member.instance = member.join = member.sync = member.write = NONE
        member.session_deadline = NEVER
    classic.made = modern.made = max(classic.made, modern.made)


# ---- To KIP-848


@inner_kernel
def may_upgrade(m: MixedGroup, request: Heartbeat) -> bool:
    """Tell whether a heartbeat may make a classic group one of KIP-848: then ``tell_classic_member`` is due."""
    group = m.classic.group
    return request.epoch == JOIN_EPOCH and group.exists and group.state != State.EMPTY


@inner_kernel
def tell_classic_member(m: MixedGroup, number: int, subscription: int, protocol: int, given: int) -> None:
    """Tell what stands behind the numbers of a member of the classic group.

    That is its subscription, the first protocol on its list, and the row of ``listed`` that its last assignment is
    (NOTHING if it has none). Either may be UNREADABLE.
    """
    member, was = m.modern.members[number], m.classic.members[number]
    member.subscription = subscription
    member.protocol = m.classic.group.protocol if was.elected_only else protocol
    member.given = given


@inner_kernel
def join_classic_group(m: MixedGroup, request: Heartbeat, store_error: int, now: int) -> None:
    """Take the heartbeat of somebody who joins a classic group (``getOrMaybeCreateConsumerGroup``)."""
    if m.classic.group.state == State.EMPTY:
        if store_error == Errors.NONE:
            _forget_classic_group(m)
            m.modern.group.rebalances, m.modern.group.evicted = m.classic.group.rebalances, m.classic.group.evicted
        consumer_heartbeat(m.modern, request, store_error, now)
        return
    error = _upgrade_error(m)
    if error == Errors.NONE:
        # Even if it fails now: who waits shall join again.
        for k in range(m.classic.group.made):
            answer_parked_join(m.classic, k, k, Errors.REBALANCE_IN_PROGRESS)
            answer_parked_sync(m.classic, k, Errors.REBALANCE_IN_PROGRESS)
        error = _conversion_error(m)
    if error == Errors.NONE and m.classic.group.members >= m.modern.config.group_consumer_max_size:
        error = Errors.GROUP_MAX_SIZE_REACHED
    if error == Errors.NONE:
        error = modern_response_error(store_error)
    if error != Errors.NONE:
        next_modern_answer(m.modern, request.request, error)
        return
    _upgrade(m, now)
    consumer_heartbeat(m.modern, request, store_error, now)


@inner_kernel
def _upgrade_error(m: MixedGroup) -> int:
    """Check whether the group may follow KIP-848 (``validateOnlineUpgrade``)."""
    group = m.classic.group
    if group.protocol_type != m.consumer_type or group.members > m.modern.config.group_consumer_max_size:
        return Errors.GROUP_ID_NOT_FOUND
    return Errors.NONE


@inner_kernel
def _conversion_error(m: MixedGroup) -> int:
    """Check whether all members can be taken over (``fromClassicGroup``).

    Without an elected protocol, or with a member that has given it up, Kafka throws an exception.
    """
    protocol = m.classic.group.protocol
    for k in range(m.classic.group.made):
        if not m.classic.members[k].known:
            continue
        if m.modern.members[k].given == UNREADABLE:
            return Errors.GROUP_ID_NOT_FOUND
        if protocol == NONE or m.classic.members[k].protocols >> protocol & 1 == 0:
            return Errors.UNKNOWN_SERVER_ERROR
        if m.modern.members[k].subscription == UNREADABLE:
            return Errors.GROUP_ID_NOT_FOUND
    return Errors.NONE


@inner_kernel
def _upgrade(m: MixedGroup, now: int) -> None:
    """Let the group follow KIP-848; what its leader last assigned is the target, and what members have."""
    was, c = m.classic.group, m.modern
    align_numbers(m)
    _forget_partitions(c)
    clear_consumer_group(c.group)
    c.group.exists = True
    c.group.epoch = c.group.target_epoch = was.generation
    c.group.rebalances, c.group.evicted = was.rebalances, was.evicted
    c.group.members = c.group.largest = c.group.puts = was.members
    for k in range(was.made):
        if m.classic.members[k].known:
            _take_over(m, k, now)
    for t in range(c.group.topics):
        topic = c.topics[t]
        topic.known = topic.subscribers > 0 and topic.exists
        topic.known_partitions = topic.partitions
    update_state(c)
    _forget_classic_group(m)


@inner_kernel
def _take_over(m: MixedGroup, number: int, now: int) -> None:
    """Let a member of the classic group be one of the other; timers of an earlier time go on."""
    c, was, member = m.modern, m.classic.members[number], m.modern.members[number]
    member.known = member.classic = True
    member.leaving = False
    member.instance, member.client, member.hash = was.instance, was.client, was.hash
    member.epoch = member.previous_epoch = c.group.epoch
    member.state = ModernMemberState.STABLE
    member.assignor = NONE
    member.rebalance_timeout_ms = was.rebalance_timeout_ms
    member.session_timeout_ms = was.session_timeout_ms
    member.rebalance_deadline = NEVER
    member.entered = _places_after(m, number)
    forget_past_timers(c, number, now)
    set_consumer_session(c, number, member.session_timeout_ms, now)
    count_subscriber(c, member.subscription, 1)
    if member.given == NOTHING:
        return
    for k in range(c.first_listed[member.given], c.first_listed[member.given + 1]):
        if c.listed[k] != NONE and c.topics[c.partitions[c.listed[k]].topic].exists:
            partition = c.partitions[c.listed[k]]
            partition.owner = partition.target = number
            partition.epoch = c.group.epoch


@inner_kernel
def forget_past_timers(c: ConsumerGroup, number: int, now: int) -> None:
    """Drop timers that nobody heard the end of, as the group was a classic one or the member not in it."""
    member = c.members[number]
    member.join_deadline = NEVER if member.join_deadline <= now else member.join_deadline
    member.sync_deadline = NEVER if member.sync_deadline <= now else member.sync_deadline
    c.group.earliest_ms = min(c.group.earliest_ms, member.join_deadline, member.sync_deadline)


@inner_kernel
def _places_after(m: MixedGroup, number: int) -> int:
    """Return how many members come after one in the map of the classic group: they are put into the new one first."""
    count = 0
    for k in range(m.classic.group.made):
        if m.classic.members[k].known and k != number:
            count += comes_before(m.classic, number, k)
    return count


@inner_kernel
def _forget_classic_group(m: MixedGroup) -> None:
    """Let there be no classic group; only the end of a join phase is still waited for (the timer is not cancelled)."""
    group = m.classic.group
    forget_members(m.classic)
    join_deadline = group.join_deadline
    clear_group(group)
    group.join_deadline = join_deadline
    group.stored = False
    for number in range(group.writes_ended, group.writes):
        m.classic.writes[number % group.write_places].awaited = False


@inner_kernel
def _forget_partitions(c: ConsumerGroup) -> None:
    """Let nobody have, or be to have, anything, and no member be in the group."""
    for k in range(c.group.made):
        c.members[k].known = False
    for t in range(c.group.topics):
        topic = c.topics[t]
        topic.subscribers = 0
        for p in range(topic.first, topic.first + topic.places):
            partition = c.partitions[p]
            partition.owner = partition.target = NONE
            partition.pending_revocation = False


# ---- To the classic protocol


@inner_kernel
def may_downgrade(m: MixedGroup) -> bool:
    """Tell whether only members of the classic protocol stay, and not too many.

    ``validateOnlineDowngradeWithFencedMembers``; who goes is ``leaving``.
    """
    left = 0
    for k in range(m.modern.group.made):
        member = m.modern.members[k]
        if member.known and not member.leaving:
            if not member.classic:
                return False
            left += 1
    return 0 < left <= m.classic.config.group_max_size


@inner_kernel
def may_downgrade_by_replacement(m: MixedGroup, replaced: int) -> bool:
    """Tell the same of a static member whose place one of the classic protocol takes.

    ``validateOnlineDowngradeWithReplacedMember``.
    """
    c = m.modern
    if replaced == NONE or c.members[replaced].classic:
        return False
    for k in range(c.group.made):
        if c.members[k].known and not c.members[k].classic and k != replaced:
            return False
    return c.group.members <= m.classic.config.group_max_size


@inner_kernel
def begin_downgrade(m: MixedGroup, generation: int, joining: int, reason: int, about: int, now: int) -> None:
    """Let the group be a classic one, without those that are ``leaving``, as far as the election.

    ``convertToClassicGroup``. The reason, and about which member it is, are those of a rebalance; NONE if there is
    none. ``joining`` is who has just taken a static member's place.
    """
    c, group = m.modern, m.classic.group
    join_deadline = group.join_deadline
    clear_group(group)
    # The timer of a join phase from before goes on, though nobody joins.
    group.join_deadline = NEVER if join_deadline <= now else join_deadline
    group.exists = True
    group.state, group.previous_state = State.STABLE, State.DEAD
    group.state_since_ms = now
    group.generation = generation
    group.protocol_type = m.consumer_type
    group.rebalances, group.evicted = c.group.rebalances, c.group.evicted
    timer = next_timer(m.classic)
    for k in range(c.group.made):
        if c.members[k].known and not c.members[k].leaving:
            _give_back(m, k)
            set_session(m.classic, k, c.members[k].session_timeout_ms, timer, now)
    group.largest = group.members
    _order_members(m, joining)
    group.election = Election.OF_DOWNGRADE
    c.group.exists = False
    c.group.reason, c.group.reason_member = reason, about
    c.group.wrote = True


@inner_kernel
def _give_back(m: MixedGroup, number: int) -> None:
    """Let a member be one of the classic group again; its protocols are those that it last joined with."""
    member, now = m.modern.members[number], m.classic.members[number]
    now.known = True
    now.pending = now.is_new = now.pending_sync = False
    now.instance, now.client = member.instance, member.client
    now.rebalance_timeout_ms = member.rebalance_timeout_ms
    now.session_timeout_ms = member.session_timeout_ms
    now.join = now.sync = NONE
    m.classic.group.members += 1


@inner_kernel
def _order_members(m: MixedGroup, joining: int) -> None:
    """Put the members into the map of the classic group in the order of the other's, ``joining`` last.

    The first one leads.
    """
    group, bits = m.classic.group, _map_bits(m)
    for k in range(group.made):
        if not m.classic.members[k].known:
            continue
        place = 0
        for other in range(group.made):
            if m.classic.members[other].known and other not in (k, joining):
                place += k == joining or _is_before(m, other, k, bits)
        m.classic.members[k].entered = place - group.members
        if place == 0:
            group.leader = k


@inner_kernel
def _map_bits(m: MixedGroup) -> int:
    """Return how large the map of members is: ``2 ** bits`` slots (``hash_order.timeline_order``)."""
    bits = 1
    while 3 * (max(m.modern.group.largest, m.modern.group.members) + 1) > 4 << bits:
        bits += 1
    return bits


@inner_kernel
def _is_before(m: MixedGroup, one: int, other: int, bits: int) -> bool:
    a, b = timeline_slot(m.modern.members[one].hash, bits), timeline_slot(m.modern.members[other].hash, bits)
    return a < b or (a == b and m.modern.members[one].entered > m.modern.members[other].entered)


@inner_kernel
def finish_downgrade(m: MixedGroup, protocol: int, assignment: int, now: int) -> None:
    """Go on after the election; ``assignment`` is the set of assignments that the target assignment makes.

    The members rebalance, unless a static member was replaced whose subscription is the same.
    """
    group = m.classic.group
    group.election = Election.NOT_DUE
    group.protocol = protocol
    for k in range(group.made):
        if m.classic.members[k].known:
            m.classic.members[k].assignment = assignment
            m.classic.members[k].assigned_as = k
    _store(m)
    _forget_partitions(m.modern)
    clear_consumer_group(m.modern.group)
    if m.modern.group.reason != NONE:
        prepare_rebalance(m.classic, m.modern.group.reason, m.modern.group.reason_member, now)


@inner_kernel
def _store(m: MixedGroup) -> None:
    """Note what the log holds from now on, as of a group of KIP-848, whose requests are written when they are taken."""
    group = m.classic.group
    group.stored = True
    group.stored_generation, group.stored_leader = group.generation, group.leader
    group.stored_protocol, group.stored_protocol_type = group.protocol, group.protocol_type
    group.stored_state_since_ms = group.state_since_ms
    for k in range(group.made):
        member = m.classic.members[k]
        member.stored = member.known
        member.stored_preferences, member.stored_metadata = member.preferences, member.metadata
        member.stored_session_timeout_ms = member.session_timeout_ms
        member.stored_rebalance_timeout_ms = member.rebalance_timeout_ms
        member.stored_assignment, member.stored_as = member.assignment, member.assigned_as


@inner_kernel
def hide_consumer_group(m: MixedGroup) -> None:
    """Let a group of KIP-848 without members be gone, as a JoinGroup comes; the log still has it."""
    m.classic.group.rebalances, m.classic.group.evicted = m.modern.group.rebalances, m.modern.group.evicted
    m.classic.group.join_deadline = NEVER
    m.modern.group.exists = False
    m.modern.group.only_stored = True


@inner_kernel
def forget_hidden_group(m: MixedGroup) -> None:
    """Let it be gone for good, as there is another one now."""
    if m.modern.group.only_stored:
        clear_consumer_group(m.modern.group)


@inner_kernel
def order_timers(m: MixedGroup) -> None:
    """Let the timers of a group that has been loaded be set in the order of its map."""
    c, count = m.modern, 0
    for k in range(c.group.made):
        if c.members[k].known:
            before = _place_in_map(m, k)
            c.members[k].session_timer, c.members[k].rebalance_timer = 2 * before, 2 * before + 1
            count += 1
    c.group.timers = max(c.group.timers, 2 * count)


@inner_kernel
def _place_in_map(m: MixedGroup, number: int) -> int:
    bits, count = _map_bits(m), 0
    for k in range(m.modern.group.made):
        if m.modern.members[k].known and k != number:
            count += _is_before(m, k, number, bits)
    return count


@inner_kernel
def is_full(c: ConsumerGroup, number: int) -> bool:
    """Tell whether there is no room for somebody (``throwIfConsumerGroupIsFull``)."""
    return c.group.members >= c.config.group_consumer_max_size and not knows_member(c, number)
