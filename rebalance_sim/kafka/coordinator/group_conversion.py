"""Online migration of a group between the classic and the consumer protocol (Kafka 4.x).

``GroupMetadataManager`` with ``group.consumer.migration.policy`` at its default, bidirectional. The first
consumer-protocol member that joins a classic group converts it; the others go on with the classic protocol
(``mixed_requests``). When only classic members remain, the group is converted back. A member has the same number in
both groups, of which one exists at a time.
"""

from typing import NamedTuple

from rebalance_sim.kafka.coordinator.classic.classic_group import (
    NEVER,
    NONE,
    AwaitedElection,
    ClassicGroup,
    State,
    answer_parked_join,
    answer_parked_sync,
    clear_group,
    clear_member,
    comes_before,
    next_timer,
    set_session,
)
from rebalance_sim.kafka.coordinator.classic.log import forget_group
from rebalance_sim.kafka.coordinator.classic.rebalance import prepare_rebalance
from rebalance_sim.kafka.coordinator.consumer.consumer_group import (
    JOIN_EPOCH,
    NOTHING,
    ConsumerGroup,
    Heartbeat,
    ModernMemberState,
    clear_consumer_group,
    count_subscriber,
    is_since,
    next_modern_answer,
    set_consumer_session,
    update_state,
)
from rebalance_sim.kafka.coordinator.consumer.heartbeat import consumer_heartbeat
from rebalance_sim.kafka.coordinator.errors import Errors
from rebalance_sim.kafka.coordinator.write_errors import response_error
from rebalance_sim.kafka.runtime.hash_order import timeline_slot
from rebalance_sim.kafka.runtime.kernel import inner_kernel
from rebalance_sim.releases import ConsumerGroupRules, CoordinatorRules

UNREADABLE = -3
"""A subscription or an assignment that cannot be decoded, or an assignment with user data."""


class MixedGroup(NamedTuple):
    """Everything that the coordinator keeps of one group, in either protocol."""

    classic: ClassicGroup
    """Its answers are those to requests of the classic protocol."""
    modern: ConsumerGroup
    consumer_type: int
    """The protocol type of consumers; groups of other types are not converted."""
    store_ms: int
    """How long the replication of a write takes: some timers start only then."""


@inner_kernel
def is_consumer_group(mixed: MixedGroup) -> bool:
    """Return whether the group is a consumer-protocol group now."""
    return mixed.modern.group.exists


@inner_kernel
def new_member_number(mixed: MixedGroup) -> int:
    """Number a consumer-protocol member, which chooses its own id."""
    align_numbers(mixed)
    mixed.modern.group.made += 1
    align_numbers(mixed)
    return mixed.modern.group.made - 1


@inner_kernel
def align_numbers(mixed: MixedGroup) -> None:
    """Extend the numbers of both groups to the same range."""
    classic_group, modern_group = mixed.classic.group, mixed.modern.group
    for number in range(classic_group.made, modern_group.made):
        member = mixed.classic.members[number]
        clear_member(member)
        member.entered = 0
    classic_group.made = modern_group.made = max(classic_group.made, modern_group.made)


# ---- To the consumer protocol


@inner_kernel
def may_upgrade(mixed: MixedGroup, request: Heartbeat) -> bool:
    """Return whether a heartbeat may convert a classic group: then call ``describe_classic_member`` first."""
    group = mixed.classic.group
    return request.epoch == JOIN_EPOCH and group.exists and group.state != State.EMPTY


@inner_kernel
def describe_classic_member(
    mixed: MixedGroup, number: int, subscription: int, protocol: int, last_assignment: int
) -> None:
    """Set what the coordinator decodes when it converts a classic member.

    That is its subscription, the first protocol in its list, and the row of its last assignment in ``listed`` (NOTHING
    if it has none). Subscription and row may be UNREADABLE.
    """
    member, classic_member = mixed.modern.members[number], mixed.classic.members[number]
    member.subscription = subscription
    member.protocol = mixed.classic.group.protocol if classic_member.elected_only else protocol
    member.given = last_assignment


@inner_kernel
def join_classic_group(mixed: MixedGroup, request: Heartbeat, store_error: int, now: int) -> None:
    """Handle the heartbeat of a consumer that joins a classic group (``getOrMaybeCreateConsumerGroup``)."""
    group, modern, largest = mixed.classic.group, mixed.modern.group, mixed.modern.config.group_consumer_max_size
    if group.state == State.EMPTY:
        if store_error == Errors.NONE:
            _forget_classic_group(mixed)
            modern.rebalances, modern.evicted = group.rebalances, group.evicted
        consumer_heartbeat(mixed.modern, request, store_error, now)
        return
    error: int = Errors.NONE
    # ``validateOnlineUpgrade``
    if group.protocol_type != mixed.consumer_type or group.member_count > largest:
        error = Errors.GROUP_ID_NOT_FOUND
    if error == Errors.NONE:
        # Waiting members must rejoin even if the conversion fails now.
        for number in range(group.made):
            answer_parked_join(mixed.classic, number, number, Errors.REBALANCE_IN_PROGRESS)
            answer_parked_sync(mixed.classic, number, Errors.REBALANCE_IN_PROGRESS)
        error = _conversion_error(mixed)
    if error == Errors.NONE and group.member_count >= largest:
        error = Errors.GROUP_MAX_SIZE_REACHED
    if error == Errors.NONE:
        error = response_error(store_error, CoordinatorRules.JAVA)
    if error != Errors.NONE:
        next_modern_answer(mixed.modern, request.request, error)
        return
    _upgrade(mixed, now)
    consumer_heartbeat(mixed.modern, request, store_error, now)


@inner_kernel
def _conversion_error(mixed: MixedGroup) -> int:
    """Check whether all members can be converted (``fromClassicGroup``).

    Kafka throws an exception if there is no elected protocol, or a member no longer supports it.
    """
    protocol = mixed.classic.group.protocol
    for number in range(mixed.classic.group.made):
        if not mixed.classic.members[number].known:
            continue
        if mixed.modern.members[number].given == UNREADABLE:
            return Errors.GROUP_ID_NOT_FOUND
        if protocol == NONE or mixed.classic.members[number].protocols >> protocol & 1 == 0:
            return Errors.UNKNOWN_SERVER_ERROR
        if mixed.modern.members[number].subscription == UNREADABLE:
            return Errors.GROUP_ID_NOT_FOUND
    return Errors.NONE


@inner_kernel
def _upgrade(mixed: MixedGroup, now: int) -> None:
    """Convert the group; the leader's last assignment becomes the target, and the members' current assignment."""
    classic_group, modern = mixed.classic.group, mixed.modern
    align_numbers(mixed)
    _forget_partitions(modern)
    clear_consumer_group(modern)
    modern.group.exists = True
    modern.group.epoch = modern.group.target_epoch = classic_group.generation
    modern.group.rebalances, modern.group.evicted = classic_group.rebalances, classic_group.evicted
    modern.group.member_count = modern.group.largest = modern.group.puts = classic_group.member_count
    for number in range(classic_group.made):
        if mixed.classic.members[number].known:
            _take_over(mixed, number, now)
    records_topics = is_since(modern, ConsumerGroupRules.TOPICS_AT_UPGRADE)
    for t in range(modern.group.topics):
        topic = modern.topics[t]
        topic.known = records_topics and topic.subscribers > 0 and topic.exists
        topic.known_partitions = topic.partitions
    update_state(modern)
    _forget_classic_group(mixed)


@inner_kernel
def _take_over(mixed: MixedGroup, number: int, now: int) -> None:
    """Convert a member; timers of an earlier conversion go on."""
    modern, member = mixed.modern, mixed.modern.members[number]
    classic_member = mixed.classic.members[number]
    member.known = member.classic = True
    member.leaving = False
    member.instance, member.client, member.hash = classic_member.instance, classic_member.client, classic_member.hash
    member.epoch = member.previous_epoch = modern.group.epoch
    member.state = ModernMemberState.STABLE
    member.assignor = NONE
    member.rebalance_timeout_ms = classic_member.rebalance_timeout_ms
    member.session_timeout_ms = classic_member.session_timeout_ms
    member.rebalance_deadline = NEVER
    member.entered = _places_after(mixed, number)
    forget_past_timers(modern, number, now)
    set_consumer_session(modern, number, member.session_timeout_ms, now)
    count_subscriber(modern, member.subscription, 1)
    if member.given == NOTHING:
        return
    for place in range(modern.first_listed[member.given], modern.first_listed[member.given + 1]):
        if modern.listed[place] != NONE and modern.topics[modern.partitions[modern.listed[place]].topic].exists:
            partition = modern.partitions[modern.listed[place]]
            partition.owner = partition.target = number
            partition.epoch = modern.group.epoch


@inner_kernel
def forget_past_timers(modern: ConsumerGroup, number: int, now: int) -> None:
    """Drop timers that expired while the group was a classic one, or the member was not in it."""
    member = modern.members[number]
    member.join_deadline = NEVER if member.join_deadline <= now else member.join_deadline
    member.sync_deadline = NEVER if member.sync_deadline <= now else member.sync_deadline
    modern.group.earliest_ms = min(modern.group.earliest_ms, member.join_deadline, member.sync_deadline)


@inner_kernel
def _places_after(mixed: MixedGroup, number: int) -> int:
    """Count the members that come after one in the classic group's map: they are put into the new map first."""
    count = 0
    for rival in range(mixed.classic.group.made):
        if mixed.classic.members[rival].known and rival != number:
            count += comes_before(mixed.classic, number, rival)
    return count


@inner_kernel
def _forget_classic_group(mixed: MixedGroup) -> None:
    """Remove the classic group; only the timer of a join phase goes on, as Kafka does not cancel it."""
    group = mixed.classic.group
    join_deadline = group.join_deadline
    forget_group(mixed.classic)
    group.join_deadline = join_deadline
    group.stored = False


@inner_kernel
def _forget_partitions(modern: ConsumerGroup) -> None:
    """Clear the current and the target assignment, and remove all members."""
    for number in range(modern.group.made):
        modern.members[number].known = False
    for t in range(modern.group.topics):
        topic = modern.topics[t]
        topic.subscribers = 0
        for p in range(topic.first, topic.first + topic.places):
            partition = modern.partitions[p]
            partition.owner = partition.target = NONE
            partition.pending_revocation = False


# ---- To the classic protocol


@inner_kernel
def may_downgrade(mixed: MixedGroup, leaver: int) -> bool:
    """Return whether the group becomes a classic one without the leaver and the members marked ``leaving``.

    ``validateOnlineDowngradeWithFencedMembers``. The leaver may be NONE.
    """
    return 0 < _classic_members_without(mixed, leaver) <= mixed.classic.config.group_max_size


@inner_kernel
def may_downgrade_by_replacement(mixed: MixedGroup, replaced: int) -> bool:
    """Return whether the group becomes a classic one when a classic member replaces this static member (or NONE).

    ``validateOnlineDowngradeWithReplacedMember``.
    """
    if replaced == NONE or mixed.modern.members[replaced].classic:
        return False
    return 0 <= _classic_members_without(mixed, replaced) < mixed.classic.config.group_max_size


@inner_kernel
def _classic_members_without(mixed: MixedGroup, leaver: int) -> int:
    """Count the remaining members; NONE if one of them uses the consumer protocol."""
    count = 0
    for number in range(mixed.modern.group.made):
        member = mixed.modern.members[number]
        if member.known and not member.leaving and number != leaver:
            if not member.classic:
                return NONE
            count += 1
    return count


@inner_kernel
def begin_downgrade(mixed: MixedGroup, generation: int, joining: int, reason: int, about: int, now: int) -> None:
    """Convert to a classic group, without members marked ``leaving``, up to the election (``convertToClassicGroup``).

    The reason, and the member that it is about, are those of the rebalance that follows; NONE if none does. ``joining``
    is the member that has just replaced a static one.
    """
    modern, group = mixed.modern, mixed.classic.group
    join_deadline = group.join_deadline
    clear_group(group)
    # The timer of an earlier join phase goes on, although no member joins.
    group.join_deadline = NEVER if join_deadline <= now else join_deadline
    group.exists = True
    group.state, group.previous_state = State.STABLE, State.DEAD
    group.state_since_ms = now
    group.generation = generation
    group.protocol_type = mixed.consumer_type
    group.rebalances, group.evicted = modern.group.rebalances, modern.group.evicted
    timer = next_timer(mixed.classic)
    for number in range(modern.group.made):
        if modern.members[number].known and not modern.members[number].leaving:
            _give_back(mixed, number)
            set_session(mixed.classic, number, modern.members[number].session_timeout_ms, timer, now)
    group.largest = group.member_count
    _order_members(mixed, joining)
    group.election = AwaitedElection.OF_DOWNGRADE
    modern.group.exists = False
    modern.group.reason, modern.group.reason_member = reason, about
    modern.group.wrote = True


@inner_kernel
def _give_back(mixed: MixedGroup, number: int) -> None:
    """Convert a member; its protocols are those that it last joined with."""
    member, classic_member = mixed.modern.members[number], mixed.classic.members[number]
    classic_member.known = True
    classic_member.pending = classic_member.is_new = classic_member.pending_sync = False
    classic_member.instance, classic_member.client = member.instance, member.client
    classic_member.rebalance_timeout_ms = member.rebalance_timeout_ms
    classic_member.session_timeout_ms = member.session_timeout_ms
    classic_member.join = classic_member.sync = NONE
    mixed.classic.group.member_count += 1


@inner_kernel
def _order_members(mixed: MixedGroup, joining: int) -> None:
    """Insert the members into the classic group's map in the order of the other map, ``joining`` last.

    The first one becomes the leader.
    """
    group, bits = mixed.classic.group, _map_bits(mixed)
    for number in range(group.made):
        if not mixed.classic.members[number].known:
            continue
        place = 0
        for rival in range(group.made):
            if mixed.classic.members[rival].known and rival not in (number, joining):
                place += number == joining or _is_before(mixed, rival, number, bits)
        mixed.classic.members[number].entered = place - group.member_count
        if place == 0:
            group.leader = number


@inner_kernel
def _map_bits(mixed: MixedGroup) -> int:
    """Return the size of the map of members: ``2 ** bits`` slots (``hash_order.timeline_order``)."""
    bits = 1
    while 3 * (max(mixed.modern.group.largest, mixed.modern.group.member_count) + 1) > 4 << bits:
        bits += 1
    return bits


@inner_kernel
def _is_before(mixed: MixedGroup, number: int, rival: int, bits: int) -> bool:
    a, b = timeline_slot(mixed.modern.members[number].hash, bits), timeline_slot(mixed.modern.members[rival].hash, bits)
    return a < b or (a == b and mixed.modern.members[number].entered > mixed.modern.members[rival].entered)


@inner_kernel
def finish_downgrade(mixed: MixedGroup, protocol: int, assignment: int, now: int) -> None:
    """Go on after the election; ``assignment`` is the set of assignments made from the target assignment.

    The members rebalance, unless a static member was replaced and has the same subscription.
    """
    group = mixed.classic.group
    group.election = AwaitedElection.NOT_DUE
    group.protocol = protocol
    for number in range(group.made):
        if mixed.classic.members[number].known:
            mixed.classic.members[number].assignment = assignment
            mixed.classic.members[number].assigned_as = number
    _store(mixed)
    _forget_partitions(mixed.modern)
    clear_consumer_group(mixed.modern)
    if mixed.modern.group.reason != NONE:
        prepare_rebalance(mixed.classic, mixed.modern.group.reason, mixed.modern.group.reason_member, now)


@inner_kernel
def _store(mixed: MixedGroup) -> None:
    """Record the contents of the log: consumer-protocol groups write every request when it is handled."""
    group = mixed.classic.group
    group.stored = True
    group.stored_generation, group.stored_leader = group.generation, group.leader
    group.stored_protocol, group.stored_protocol_type = group.protocol, group.protocol_type
    group.stored_state_since_ms = group.state_since_ms
    for number in range(group.made):
        member = mixed.classic.members[number]
        member.stored = member.known
        member.stored_preferences, member.stored_metadata = member.preferences, member.metadata
        member.stored_session_timeout_ms = member.session_timeout_ms
        member.stored_rebalance_timeout_ms = member.rebalance_timeout_ms
        member.stored_assignment, member.stored_as = member.assignment, member.assigned_as


@inner_kernel
def hide_consumer_group(mixed: MixedGroup) -> None:
    """Hide a consumer-protocol group without members from a JoinGroup; the log still has it."""
    group, modern = mixed.classic.group, mixed.modern.group
    group.rebalances, group.evicted = modern.rebalances, modern.evicted
    group.join_deadline = NEVER
    modern.exists, modern.only_stored = False, True


@inner_kernel
def forget_hidden_group(mixed: MixedGroup) -> None:
    """Remove the hidden group, as there is a new one."""
    if mixed.modern.group.only_stored:
        clear_consumer_group(mixed.modern)


@inner_kernel
def order_timers(mixed: MixedGroup) -> None:
    """Number the timers of a loaded group in the order of its map."""
    modern, bits, count = mixed.modern, _map_bits(mixed), 0
    for number in range(modern.group.made):
        if modern.members[number].known:
            before = 0
            for rival in range(modern.group.made):
                if modern.members[rival].known and rival != number:
                    before += _is_before(mixed, rival, number, bits)
            modern.members[number].session_timer, modern.members[number].rebalance_timer = 2 * before, 2 * before + 1
            count += 1
    modern.group.timers = max(modern.group.timers, 2 * count)
