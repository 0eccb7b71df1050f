"""A consumer-protocol group (KIP-848) as its coordinator keeps it (``ConsumerGroup``, Kafka 4.3).

No partition has two members, neither in the target assignment nor in the current one. So the owner is a field of the
partition, and a member's partitions follow from that. The caller numbers members, as consumers choose their own ids,
and instance ids, subscriptions and assignors too.
"""

from enum import IntEnum
from typing import NamedTuple

from rebalance_sim.kafka.coordinator.broker_config import BrokerConfig
from rebalance_sim.kafka.coordinator.classic.classic_group import NEVER, NONE, Counter
from rebalance_sim.kafka.runtime.kernel import inner_kernel, kernel_in_place
from rebalance_sim.kafka.runtime.records import Records
from rebalance_sim.kafka.runtime.strings import Ints, Ints32
from rebalance_sim.releases import SERVER_ASSIGNORS, ConsumerGroupRules, KafkaVersion

NOTHING = -2
"""No partitions, where NONE is a request that does not report what its sender owns."""
UNSUPPORTED = -2
"""An assignor that the coordinator does not have."""
JOIN_EPOCH, LEAVE_EPOCH, LEAVE_STATIC_EPOCH = 0, -1, -2
"""The special epochs that members send when they join or leave."""
FIRST_EPOCH = 1
"""The lowest epoch of a group with members; since 4.3 a new group has it, and its first member raises it."""


def server_assignor(protocol: str) -> int:
    """Return the number of the coordinator's assignor that a protocol name stands for, or NONE for a consumer's own."""
    return SERVER_ASSIGNORS.index(protocol) if protocol in SERVER_ASSIGNORS else NONE


class ConsumerGroupState(IntEnum):
    """``ConsumerGroup.ConsumerGroupState``; empty and stable have the same numbers in both protocols."""

    EMPTY = 0
    ASSIGNING = 1
    RECONCILING = 2
    STABLE = 3
    DEAD = 4


class ModernMemberState(IntEnum):
    """``MemberState`` of the coordinator."""

    STABLE = 0
    UNREVOKED_PARTITIONS = 1
    """It has not confirmed the revocation of its partitions."""
    UNRELEASED_PARTITIONS = 2
    """Other members have not released all of its partitions."""


class EpochReason(IntEnum):
    """Why a group's epoch rose; the numbers of ``Reason`` where the classic protocol has the same."""

    NEW_MEMBER = 1
    MEMBER_CHANGED = 2
    MEMBER_LEFT = 4
    SESSION_EXPIRED = 5
    NEVER_SYNCED = 6
    """A classic member did not send SyncGroup in time."""
    STATIC_MEMBER_REPLACED = 8
    """A classic member replaced the last consumer-protocol member, which was static."""
    REBALANCE_TIMED_OUT = 9
    """A member did not revoke its partitions in time."""
    TOPICS_CHANGED = 10
    NEVER_JOINED = 11
    """A classic member was sent back to join again, and did not in time."""


class Timer(IntEnum):
    """The timers of a member."""

    SESSION = 0
    REBALANCE = 1
    """For the member to revoke partitions."""
    JOIN = 2
    """For a classic member to rejoin."""
    SYNC = 3


class ModernGroup:
    """The state of a group that is not per member."""

    exists: bool
    only_stored: bool
    """Whether only the log still has the group (``group_conversion``)."""
    state: int
    epoch: int
    target_epoch: int
    """The epoch of the target assignment (``assignmentEpoch``)."""
    assigned_ms: int
    """When the target was computed (``assignmentTimestamp``); NEVER if that is unknown, where Kafka has 0."""
    made: int
    """How many members have been numbered so far."""
    member_count: int
    largest: int
    """The highest member count so far: hash maps never shrink."""
    puts: int
    """How many members were ever put into that map."""
    topics: int
    """How many topics the group has ever subscribed to."""
    refresh_ms: int
    """When a heartbeat next refreshes the topic metadata (``metadataRefreshDeadline``)."""
    refresh_epoch: int
    earliest_ms: int
    """No timer expires before this time."""
    timers: int
    """Timers set so far."""
    target_due: bool
    """Whether the coordinator waits for a new target assignment to finish the following heartbeat."""
    preferred_assignor: int
    """The assignor that is to compute it (``preferred_assignor``)."""
    homogeneous: bool
    """Whether the assignor is to take all members as subscribed to the same topics (``SubscriptionType``)."""
    new_member_differs: bool
    """Whether that is so only because a new member without a subscription does not count."""
    asking: int
    joins: bool
    """Whether that request is a JoinGroup."""
    ends: bool
    """Whether it also converts the group to a classic one, of this generation."""
    generation_before: int
    request: int
    owned: int
    subscription_changed: bool
    full: bool
    reason: int
    """Why the epoch last rose, and because of which member."""
    reason_member: int
    rebalances: int
    """How often the epoch rose."""
    evicted: int
    """Members removed so far because a timeout expired."""
    wrote: bool
    """Whether the last request or timer wrote records."""
    stored_ms: int
    """When everything written will be replicated; answers wait for that."""


class ModernMember:
    """A member."""

    known: bool
    instance: int
    hash: int
    """``hashCode`` of the id, unsigned."""
    client: int
    """The client that uses this id."""
    epoch: int
    previous_epoch: int
    state: int
    subscription: int
    assignor: int
    """The assignor that it prefers, or NONE."""
    rebalance_timeout_ms: int
    session_deadline: int
    session_timer: int
    """The number of that timer: of timers due at the same time, the one set first expires first."""
    rebalance_deadline: int
    rebalance_timer: int
    rebalance_epoch: int
    """The epoch for which the rebalance timeout was set."""
    entered: int
    """Position in the order of insertion into the map: in one slot, the last inserted comes first."""
    classic: bool
    """Whether it uses the classic protocol; the following fields matter only then."""
    session_timeout_ms: int
    protocol: int
    """The first protocol in its list."""
    given: int
    """Row of its last assignment by a leader, when its group becomes a consumer-protocol group."""
    leaving: bool
    """Whether the current request removes it."""
    join_deadline: int
    join_timer: int
    sync_deadline: int
    sync_timer: int


class SubscribedTopic:
    """A topic that members subscribe to, or have subscribed to."""

    number: int
    """The number of its name in subscriptions."""
    first: int
    """Number of its first partition in the group."""
    places: int
    """Allocated places for its partitions."""
    exists: bool
    """Whether the cluster's metadata has the topic now."""
    partitions: int
    subscribers: int
    known: bool
    """Whether it had when the group's epoch last rose (``metadataHash``)."""
    known_partitions: int


class AssignedPartition:
    """A partition of a group's topics."""

    topic: int
    """The topic's index in the group."""
    target: int
    """The member in the target assignment."""
    computed_target: int
    """The same in the next target assignment, which the assignor has computed."""
    target_before: int
    """The same in the assignment before, which a group keeps that becomes a classic one before 4.1.1."""
    owner: int
    """The member that was assigned it and has not revoked it."""
    pending_revocation: bool
    """Whether the owner must revoke it."""
    epoch: int
    """The owner's epoch when it was assigned the partition."""


class ModernAnswer:
    """The coordinator's answer to a heartbeat."""

    request: int
    error: int
    member: int
    epoch: int
    has_assignment: bool
    """Whether it contains the member's partitions."""


class Heartbeat(NamedTuple):
    """A ConsumerGroupHeartbeat; members send only the fields that have changed."""

    request: int
    """A number that the answer repeats."""
    member: int
    epoch: int
    instance: int
    client: int
    hash: int
    """``hashCode`` of the id."""
    rebalance_timeout_ms: int
    """NONE if not sent; so are the following."""
    subscription: int
    assignor: int
    owned: int
    """A row of ``listed``, NOTHING, or NONE."""


class GroupRules(NamedTuple):
    """The rules that changed inside 4.x, as in ``KafkaVersion``."""

    rules: int
    """A number of ``ConsumerGroupRules``."""
    reclaims_revoked: bool
    rebalances_after_replacement: bool


def group_rules(version: KafkaVersion) -> GroupRules:
    """Return the rules of a release for consumer-protocol groups.

    >>> from rebalance_sim.releases import kafka_version
    >>> group_rules(kafka_version("4.1.1"))
    GroupRules(rules=1, reclaims_revoked=False, rebalances_after_replacement=True)
    """
    return GroupRules(int(version.consumer_groups), version.reclaims_revoked, version.rebalances_after_replacement)


class ConsumerGroup(NamedTuple):
    """Everything that the coordinator keeps of one group."""

    group: ModernGroup
    members: Records[ModernMember]
    """By number."""
    topics: Records[SubscribedTopic]
    partitions: Records[AssignedPartition]
    first_subscribed: Ints32
    """Subscription k is ``first_subscribed[k]`` to ``first_subscribed[k + 1]`` of ``subscribed``."""
    subscribed: Ints32
    first_listed: Ints
    """Row r of listed partitions is ``first_listed[r]`` to ``first_listed[r + 1]`` of ``listed``."""
    listed: Ints32
    """Numbers of partitions; NONE for a partition that does not exist."""
    answers: Records[ModernAnswer]
    answered: Records[Counter]
    """How many of ``answers`` are to be sent."""
    config: BrokerConfig
    of_release: GroupRules


@inner_kernel
def is_since(modern: ConsumerGroup, rules: int) -> bool:
    """Return whether the coordinator's release has these ``ConsumerGroupRules``."""
    return modern.of_release.rules >= rules


@inner_kernel
def clear_consumer_group(modern: ConsumerGroup) -> None:
    """Reset to a group without members."""
    group = modern.group
    group.exists = group.only_stored = False
    group.state = ConsumerGroupState.EMPTY
    group.epoch = group.target_epoch = FIRST_EPOCH if is_since(modern, ConsumerGroupRules.ASSIGNMENT_INTERVAL) else 0
    group.assigned_ms = NEVER
    group.member_count = group.largest = group.puts = 0
    group.joins = group.ends = False
    group.refresh_ms = group.refresh_epoch = 0
    group.earliest_ms = NEVER
    group.target_due = False


@kernel_in_place
def knows_member(modern: ConsumerGroup, member: int) -> bool:
    """Return whether the number is that of a current member."""
    return 0 <= member < modern.group.made and modern.members[member].known


@inner_kernel
def is_full(modern: ConsumerGroup, number: int, instance: int) -> bool:
    """Return whether the group has no room for this member (``throwIfConsumerGroupIsFull``).

    Since 4.4 it has for a static member that rejoins under another id (KAFKA-20601).
    """
    if static_consumer(modern, instance) != NONE and is_since(modern, ConsumerGroupRules.EMPTY_GROUPS):
        return False
    is_at_limit = modern.group.member_count >= modern.config.group_consumer_max_size
    return is_at_limit and not knows_member(modern, number)


@inner_kernel
def put_member(modern: ConsumerGroup, number: int) -> None:
    """Put a member into the map of members."""
    modern.members[number].entered = modern.group.puts
    modern.group.puts += 1
    modern.group.largest = max(modern.group.largest, modern.group.member_count)


@inner_kernel
def static_consumer(modern: ConsumerGroup, instance: int) -> int:
    """Return the member that has an instance id, or NONE."""
    if instance == NONE:
        return NONE
    for number in range(modern.group.made - 1, -1, -1):
        if modern.members[number].known and modern.members[number].instance == instance:
            return number
    return NONE


@inner_kernel
def subscribes(modern: ConsumerGroup, subscription: int, topic: int) -> bool:
    """Return whether a subscription contains a topic."""
    if subscription == NONE:
        return False
    for k in range(modern.first_subscribed[subscription], modern.first_subscribed[subscription + 1]):
        if modern.subscribed[k] == topic:
            return True
    return False


@inner_kernel
def names_nothing(modern: ConsumerGroup, subscription: int) -> bool:
    """Return whether a subscription is empty."""
    return subscription == NONE or modern.first_subscribed[subscription] == modern.first_subscribed[subscription + 1]


@inner_kernel
def same_topics(modern: ConsumerGroup, a: int, b: int) -> bool:
    """Return whether two subscriptions contain the same topics, in any order."""
    return a == b or (_names_all(modern, a, b) and _names_all(modern, b, a))


@inner_kernel
def _names_all(modern: ConsumerGroup, a: int, b: int) -> bool:
    """Return whether subscription a contains all topics of b."""
    if b == NONE:
        return True
    for k in range(modern.first_subscribed[b], modern.first_subscribed[b + 1]):
        if not subscribes(modern, a, modern.subscribed[k]):
            return False
    return True


@inner_kernel
def count_subscriber(modern: ConsumerGroup, subscription: int, difference: int) -> None:
    """Add to the number of subscribers of each topic."""
    for t in range(modern.group.topics):
        if subscribes(modern, subscription, modern.topics[t].number):
            modern.topics[t].subscribers += difference


@inner_kernel
def subscribe_alike(modern: ConsumerGroup, member_count: int) -> bool:
    """Return whether every topic with subscribers has this number of them (``ConsumerGroup.subscriptionType``)."""
    for t in range(modern.group.topics):
        if modern.topics[t].subscribers not in (0, member_count):
            return False
    return True


@inner_kernel
def is_reconciled(modern: ConsumerGroup, number: int) -> bool:
    """Return whether a member has reached the target assignment (``isReconciledTo``)."""
    member = modern.members[number]
    return member.state == ModernMemberState.STABLE and member.epoch == modern.group.target_epoch


@inner_kernel
def update_state(modern: ConsumerGroup) -> None:
    """Update the group's state (``maybeUpdateGroupState``)."""
    group = modern.group
    if group.member_count == 0:
        group.state = ConsumerGroupState.EMPTY
    elif group.epoch > group.target_epoch:
        group.state = ConsumerGroupState.ASSIGNING
    else:
        group.state = ConsumerGroupState.STABLE
        for number in range(group.made):
            if modern.members[number].known and not is_reconciled(modern, number):
                group.state = ConsumerGroupState.RECONCILING
                break


@inner_kernel
def all_places(modern: ConsumerGroup) -> int:
    """Return the number of places for partitions, which are in the order of the topics."""
    if modern.group.topics == 0:
        return 0
    last = modern.topics[modern.group.topics - 1]
    return last.first + last.places


@inner_kernel
def give_up_partitions(modern: ConsumerGroup, number: int) -> None:
    """Free a member's partitions, and clear its target."""
    for p in range(all_places(modern)):
        partition = modern.partitions[p]
        if partition.owner == number:
            partition.owner = NONE
            partition.pending_revocation = False
        if partition.target == number:
            partition.target = NONE


# ---- Epochs


@inner_kernel
def topics_differ(modern: ConsumerGroup, old: int, new: int) -> bool:
    """Return whether the topics changed since the epoch last rose, given a member's change of subscription."""
    for t in range(modern.group.topics):
        topic = modern.topics[t]
        subscribers = topic.subscribers
        subscribers += int(subscribes(modern, new, topic.number)) - int(subscribes(modern, old, topic.number))
        exists = subscribers > 0 and topic.exists
        if exists != topic.known or (exists and topic.partitions != topic.known_partitions):
            return True
    return False


@inner_kernel
def bump_epoch(modern: ConsumerGroup, reason: int, member: int) -> None:
    """Raise the epoch, and record the topics as they are."""
    group = modern.group
    group.epoch += 1
    group.reason, group.reason_member = reason, member
    group.rebalances += 1
    if group.member_count == 0 and is_since(modern, ConsumerGroupRules.EMPTY_GROUPS):
        # KAFKA-20442: an empty assignment at an unknown time.
        group.target_epoch = group.epoch
        group.assigned_ms = NEVER
    for t in range(group.topics):
        topic = modern.topics[t]
        topic.known = topic.subscribers > 0 and topic.exists
        topic.known_partitions = topic.partitions


@inner_kernel
def can_assign(modern: ConsumerGroup, now: int) -> bool:
    """Return whether a target assignment may be computed now (``canComputeNextTargetAssignment``)."""
    interval_ms = modern.config.group_consumer_assignment_interval_ms
    if interval_ms == 0 or not is_since(modern, ConsumerGroupRules.ASSIGNMENT_INTERVAL):
        return True
    return modern.group.assigned_ms == NEVER or now >= modern.group.assigned_ms + interval_ms


# ---- Timers


@inner_kernel
def _number_timer(modern: ConsumerGroup, deadline: int) -> int:
    """Number a timer."""
    number = modern.group.timers
    modern.group.timers += 1
    modern.group.earliest_ms = min(modern.group.earliest_ms, deadline)
    return number


@inner_kernel
def restart_consumer_session(modern: ConsumerGroup, number: int, now: int) -> None:
    """Restart a member's session timer with the broker's session timeout."""
    set_consumer_session(modern, number, modern.config.group_consumer_session_timeout_ms, now)


@inner_kernel
def set_consumer_session(modern: ConsumerGroup, number: int, timeout_ms: int, now: int) -> None:
    """Restart a member's session timer with its own session timeout, as classic members have."""
    member = modern.members[number]
    member.session_deadline = now + timeout_ms
    member.session_timer = _number_timer(modern, member.session_deadline)


@inner_kernel
def start_rebalance_timeout(modern: ConsumerGroup, number: int, now: int) -> None:
    """Start the time that a member has to revoke partitions."""
    member = modern.members[number]
    member.rebalance_deadline = now + member.rebalance_timeout_ms
    member.rebalance_timer = _number_timer(modern, member.rebalance_deadline)
    member.rebalance_epoch = member.epoch


@inner_kernel
def wait_for_rejoin(modern: ConsumerGroup, number: int, now: int) -> None:
    """Start the time that a classic member has to rejoin, unless it runs already (``scheduleIfAbsent``)."""
    member = modern.members[number]
    if member.join_deadline != NEVER:
        return
    member.join_deadline = now + member.rebalance_timeout_ms
    member.join_timer = _number_timer(modern, member.join_deadline)


@inner_kernel
def wait_for_sync(modern: ConsumerGroup, number: int, now: int) -> None:
    """Start the time that a classic member has to send SyncGroup."""
    member = modern.members[number]
    member.sync_deadline = now + member.rebalance_timeout_ms
    member.sync_timer = _number_timer(modern, member.sync_deadline)


@inner_kernel
def set_deadline(modern: ConsumerGroup, number: int, timer: int, deadline: int) -> None:
    """Set the deadline of a member's timer."""
    member = modern.members[number]
    if timer == Timer.SESSION:
        member.session_deadline = deadline
    elif timer == Timer.REBALANCE:
        member.rebalance_deadline = deadline
    elif timer == Timer.JOIN:
        member.join_deadline = deadline
    else:
        member.sync_deadline = deadline


@inner_kernel
def cancel_timers(modern: ConsumerGroup, number: int) -> None:
    """Cancel all timers of a member (``cancelTimers``)."""
    member = modern.members[number]
    member.session_deadline = member.rebalance_deadline = member.join_deadline = member.sync_deadline = NEVER


@inner_kernel
def next_modern_answer(modern: ConsumerGroup, request: int, error: int) -> ModernAnswer:
    """Begin an answer."""
    answer = modern.answers[modern.answered[0].value]
    modern.answered[0].value += 1
    answer.request, answer.error, answer.member, answer.epoch = request, error, NONE, 0
    answer.has_assignment = False
    return answer
