"""A group of KIP-848 (``group.protocol=consumer``) as its coordinator keeps it (``ConsumerGroup``, Kafka 4.3).

No partition is two members' at once, neither in the target nor in what they have been given; so who has it stands with
the partition, and the sets of a member follow from that. Members are numbered by who asks: consumers choose their ids
themselves. Instance ids, subscriptions and assignors are numbers too.
"""

from enum import IntEnum
from typing import NamedTuple

from rebalance_sim.kafka.coordinator.classic_group import NEVER, NONE, Counter
from rebalance_sim.kafka.kernel import inner_kernel, kernel_in_place
from rebalance_sim.kafka.records import Records
from rebalance_sim.kafka.strings import Ints, Ints32

NOTHING = -2
"""Stands for no partitions, where NONE stands for a request that does not tell what its sender has."""
UNSUPPORTED = -2
"""An assignor that the coordinator does not have."""
SERVER_ASSIGNORS = ("server-uniform", "server-range")
"""The assignors that the coordinator has, by number; the first is the default (``group.consumer.assignors``)."""
JOIN_EPOCH, LEAVE_EPOCH, LEAVE_STATIC_EPOCH = 0, -1, -2
"""What members send instead of their epoch."""
FIRST_EPOCH = 1
"""Epoch of a group that is new (``ModernGroup``); its first member makes it the second."""
CONSUMER_HEARTBEAT = 5
"""ConsumerGroupHeartbeat, a number behind those of ``Kind``."""


class ConsumerGroupState(IntEnum):
    """``ConsumerGroup.ConsumerGroupState``; numbered so that what is stable or empty is so in both protocols."""

    EMPTY = 0
    ASSIGNING = 1
    RECONCILING = 2
    STABLE = 3
    DEAD = 4


class ModernMemberState(IntEnum):
    """``MemberState`` of the coordinator."""

    STABLE = 0
    UNREVOKED_PARTITIONS = 1
    """It has not said yet that it has given up what it has to."""
    UNRELEASED_PARTITIONS = 2
    """Others still have some of what is to be its own."""


class EpochReason(IntEnum):
    """Why a group's epoch went up; numbers of ``Reason`` where the classic protocol has the same."""

    NEW_MEMBER = 1
    MEMBER_CHANGED = 2
    MEMBER_LEFT = 4
    SESSION_EXPIRED = 5
    NEVER_SYNCED = 6
    """A member of the classic protocol did not send SyncGroup in time."""
    STATIC_MEMBER_REPLACED = 8
    """A member of the classic protocol took the place of the last one of this protocol."""
    REBALANCE_TIMED_OUT = 9
    """A member did not give up its partitions in time."""
    TOPICS_CHANGED = 10
    NEVER_JOINED = 11
    """A member of the classic protocol was told to join again, and did not in time."""


class Timer(IntEnum):
    """What a member is given time for."""

    SESSION = 0
    REBALANCE = 1
    """To give partitions up."""
    JOIN = 2
    """To join again; that and the next one are of members of the classic protocol."""
    SYNC = 3


class ModernGroup:
    """What there is once a group."""

    exists: bool
    only_stored: bool
    """Whether it is only in the log any more (``migration``)."""
    state: int
    epoch: int
    target_epoch: int
    """The epoch that the target assignment was made for (``assignmentEpoch``)."""
    assigned_ms: int
    """When that was (``assignmentTimestamp``)."""
    made: int
    """Numbers of members so far."""
    members: int
    largest: int
    """The most members that it has had; hash maps do not shrink."""
    puts: int
    """How many members have been put into that map."""
    topics: int
    """How many topics it has ever subscribed to."""
    refresh_ms: int
    """From when on a heartbeat looks at the topics again (``metadataRefreshDeadline``)."""
    refresh_epoch: int
    earliest_ms: int
    """No timer ends before that."""
    timers: int
    """Timers set so far."""
    target_due: bool
    """Whether the coordinator waits for a new target assignment, with the following heartbeat to go on."""
    asking: int
    joins: bool
    """Whether the heartbeat to go on with is a JoinGroup."""
    request: int
    owned: int
    subscription_changed: bool
    full: bool
    reason: int
    """Why the epoch last went up, and by which member."""
    reason_member: int
    rebalances: int
    """How often it did."""
    evicted: int
    """Members removed so far because nothing was heard of them in time."""
    wrote: bool
    """Whether the last request or timer had something to write."""
    stored_ms: int
    """When all that was written will have been replicated; answers wait for it."""


class ModernMember:
    """A member."""

    known: bool
    instance: int
    hash: int
    """``hashCode`` of the id, unsigned."""
    client: int
    """Whoever it is that asks with this id."""
    epoch: int
    previous_epoch: int
    state: int
    subscription: int
    assignor: int
    """The assignor that it wishes for, or NONE."""
    rebalance_timeout_ms: int
    session_deadline: int
    session_timer: int
    """Which timer of the group's that is: of two with one deadline the first set ends first."""
    rebalance_deadline: int
    rebalance_timer: int
    rebalance_epoch: int
    """The epoch that the rebalance timeout is about."""
    entered: int
    """When it was put into the map of members: of those in one bucket the last one comes first."""
    classic: bool
    """Whether it follows the classic protocol; the following matters only then."""
    session_timeout_ms: int
    protocol: int
    """The first one on its list."""
    given: int
    """A row with what a leader last assigned to it, when its group becomes one of this protocol."""
    leaving: bool
    """Whether the request that goes on removes it, whichever protocol it follows."""
    join_deadline: int
    join_timer: int
    sync_deadline: int
    sync_timer: int


class SubscribedTopic:
    """A topic that members subscribe to, or once did."""

    number: int
    """Its name, by which subscriptions name it."""
    first: int
    """Number of its first partition among those of the group."""
    places: int
    """How many partitions there is room for."""
    exists: bool
    """What the cluster's metadata say now."""
    partitions: int
    subscribers: int
    known: bool
    """What they said when the group's epoch last went up (``metadataHash``)."""
    known_partitions: int


class AssignedPartition:
    """A partition of a group's topics."""

    topic: int
    """The topic's place among those of the group."""
    target: int
    """The member that is to have it."""
    owner: int
    """The member that has been given it and has not given it up."""
    pending_revocation: bool
    """Whether the owner has to give it up."""
    epoch: int
    """The owner's epoch when it was given the partition."""


class ConsumerConfig(NamedTuple):
    """Settings of the broker, by the names that they have there."""

    group_consumer_session_timeout_ms: int = 45_000
    group_consumer_heartbeat_interval_ms: int = 5000
    group_consumer_max_size: int = 2**31 - 1
    group_consumer_assignment_interval_ms: int = 1000
    """The least time between two target assignments (4.3)."""


class ModernAnswer:
    """What the coordinator answers to a heartbeat."""

    request: int
    error: int
    member: int
    epoch: int
    has_assignment: bool
    """Whether it tells the member's partitions."""


class Heartbeat(NamedTuple):
    """What ConsumerGroupHeartbeat says, beside who sends it; only what has changed is sent."""

    request: int
    """A number for the answer to name."""
    member: int
    epoch: int
    instance: int
    client: int
    hash: int
    """``hashCode`` of the id."""
    rebalance_timeout_ms: int
    """NONE where it is not sent; so it is with the following."""
    subscription: int
    assignor: int
    owned: int
    """A row of ``listed``, NOTHING, or NONE."""


class ConsumerGroup(NamedTuple):
    """All that the coordinator has of one group."""

    group: ModernGroup
    members: Records[ModernMember]
    """By number."""
    topics: Records[SubscribedTopic]
    partitions: Records[AssignedPartition]
    first_subscribed: Ints32
    """Subscription k names ``first_subscribed[k]`` to ``first_subscribed[k + 1]`` of ``subscribed``."""
    subscribed: Ints32
    first_listed: Ints
    """Row r of what requests list is ``first_listed[r]`` to ``first_listed[r + 1]`` of ``listed``."""
    listed: Ints32
    """Numbers of partitions; NONE for one that no topic has."""
    answers: Records[ModernAnswer]
    answered: Records[Counter]
    """How many of ``answers`` are to be sent."""
    config: ConsumerConfig


@inner_kernel
def clear_consumer_group(group: ModernGroup) -> None:
    """Make it a group that nobody has joined."""
    group.exists = group.only_stored = False
    group.state = ConsumerGroupState.EMPTY
    group.epoch = group.target_epoch = FIRST_EPOCH
    group.assigned_ms = 0
    group.members = group.largest = group.puts = 0
    group.joins = False
    group.refresh_ms = group.refresh_epoch = 0
    group.earliest_ms = NEVER
    group.target_due = False


@kernel_in_place
def knows_member(c: ConsumerGroup, member: int) -> bool:
    """Tell whether it is a member of the group."""
    return 0 <= member < c.group.made and c.members[member].known


@inner_kernel
def put_member(c: ConsumerGroup, number: int) -> None:
    """Put a member into the map of members."""
    c.members[number].entered = c.group.puts
    c.group.puts += 1
    c.group.largest = max(c.group.largest, c.group.members)


@inner_kernel
def static_consumer(c: ConsumerGroup, instance: int) -> int:
    """Return the member that has an instance id, or NONE."""
    if instance == NONE:
        return NONE
    for m in range(c.group.made - 1, -1, -1):
        if c.members[m].known and c.members[m].instance == instance:
            return m
    return NONE


@inner_kernel
def subscribes(c: ConsumerGroup, subscription: int, topic: int) -> bool:
    """Tell whether a subscription names a topic."""
    if subscription == NONE:
        return False
    for k in range(c.first_subscribed[subscription], c.first_subscribed[subscription + 1]):
        if c.subscribed[k] == topic:
            return True
    return False


@inner_kernel
def names_nothing(c: ConsumerGroup, subscription: int) -> bool:
    """Tell whether a subscription is empty."""
    return subscription == NONE or c.first_subscribed[subscription] == c.first_subscribed[subscription + 1]


@inner_kernel
def same_topics(c: ConsumerGroup, a: int, b: int) -> bool:
    """Tell whether two subscriptions name the same topics, in whichever order."""
    return a == b or (_names_all(c, a, b) and _names_all(c, b, a))


@inner_kernel
def _names_all(c: ConsumerGroup, a: int, b: int) -> bool:
    """Tell whether subscription a names all that b names."""
    if b == NONE:
        return True
    for k in range(c.first_subscribed[b], c.first_subscribed[b + 1]):
        if not subscribes(c, a, c.subscribed[k]):
            return False
    return True


@inner_kernel
def count_subscriber(c: ConsumerGroup, subscription: int, difference: int) -> None:
    """Count one subscriber more or less of each topic."""
    for t in range(c.group.topics):
        if subscribes(c, subscription, c.topics[t].number):
            c.topics[t].subscribers += difference


@inner_kernel
def is_reconciled(c: ConsumerGroup, number: int) -> bool:
    """Tell whether a member has what the target assignment gives it (``isReconciledTo``)."""
    member = c.members[number]
    return member.state == ModernMemberState.STABLE and member.epoch == c.group.target_epoch


@inner_kernel
def update_state(c: ConsumerGroup) -> None:
    """Find the group's state (``maybeUpdateGroupState``)."""
    group = c.group
    if group.members == 0:
        group.state = ConsumerGroupState.EMPTY
    elif group.epoch > group.target_epoch:
        group.state = ConsumerGroupState.ASSIGNING
    else:
        group.state = ConsumerGroupState.STABLE
        for m in range(group.made):
            if c.members[m].known and not is_reconciled(c, m):
                group.state = ConsumerGroupState.RECONCILING
                break


@inner_kernel
def give_up_partitions(c: ConsumerGroup, number: int) -> None:
    """Take a member's partitions away, and its share of the target assignment."""
    for t in range(c.group.topics):
        topic = c.topics[t]
        for p in range(topic.first, topic.first + topic.places):
            partition = c.partitions[p]
            if partition.owner == number:
                partition.owner = NONE
                partition.pending_revocation = False
            if partition.target == number:
                partition.target = NONE


# ---- Epochs


@inner_kernel
def topics_differ(c: ConsumerGroup, old: int, new: int) -> bool:
    """Tell whether the topics are others than when the epoch last went up, after a member's change of subscription."""
    for t in range(c.group.topics):
        topic = c.topics[t]
        subscribers = topic.subscribers
        subscribers += int(subscribes(c, new, topic.number)) - int(subscribes(c, old, topic.number))
        exists = subscribers > 0 and topic.exists
        if exists != topic.known or (exists and topic.partitions != topic.known_partitions):
            return True
    return False


@inner_kernel
def bump_epoch(c: ConsumerGroup, reason: int, member: int) -> None:
    """Let a new epoch begin, with the topics as they are."""
    group = c.group
    group.epoch += 1
    group.reason, group.reason_member = reason, member
    group.rebalances += 1
    for t in range(group.topics):
        topic = c.topics[t]
        topic.known = topic.subscribers > 0 and topic.exists
        topic.known_partitions = topic.partitions


@inner_kernel
def can_assign(c: ConsumerGroup, now: int) -> bool:
    """Tell whether a target assignment may be made now (``canComputeNextTargetAssignment``, 4.3)."""
    interval_ms = c.config.group_consumer_assignment_interval_ms
    return c.group.assigned_ms == 0 or interval_ms == 0 or now >= c.group.assigned_ms + interval_ms


# ---- Timers


@inner_kernel
def _number_timer(c: ConsumerGroup, deadline: int) -> int:
    """Return the number of a timer that is set: of those with one deadline the first set ends first."""
    number = c.group.timers
    c.group.timers += 1
    c.group.earliest_ms = min(c.group.earliest_ms, deadline)
    return number


@inner_kernel
def restart_consumer_session(c: ConsumerGroup, number: int, now: int) -> None:
    """Count a member as alive."""
    set_consumer_session(c, number, c.config.group_consumer_session_timeout_ms, now)


@inner_kernel
def set_consumer_session(c: ConsumerGroup, number: int, timeout_ms: int, now: int) -> None:
    """Do so with a session timeout of its own, as members of the classic protocol have."""
    member = c.members[number]
    member.session_deadline = now + timeout_ms
    member.session_timer = _number_timer(c, member.session_deadline)


@inner_kernel
def start_rebalance_timeout(c: ConsumerGroup, number: int, now: int) -> None:
    """Give a member its rebalance timeout to give partitions up."""
    member = c.members[number]
    member.rebalance_deadline = now + member.rebalance_timeout_ms
    member.rebalance_timer = _number_timer(c, member.rebalance_deadline)
    member.rebalance_epoch = member.epoch


@inner_kernel
def wait_for_rejoin(c: ConsumerGroup, number: int, now: int) -> None:
    """Give a member its rebalance timeout to join again, unless that goes on already (``scheduleIfAbsent``)."""
    member = c.members[number]
    if member.join_deadline != NEVER:
        return
    member.join_deadline = now + member.rebalance_timeout_ms
    member.join_timer = _number_timer(c, member.join_deadline)


@inner_kernel
def wait_for_sync(c: ConsumerGroup, number: int, now: int) -> None:
    """Give a member its rebalance timeout to send SyncGroup."""
    member = c.members[number]
    member.sync_deadline = now + member.rebalance_timeout_ms
    member.sync_timer = _number_timer(c, member.sync_deadline)


@inner_kernel
def set_deadline(c: ConsumerGroup, number: int, timer: int, deadline: int) -> None:
    """Let a timer of a member end then, or never."""
    member = c.members[number]
    if timer == Timer.SESSION:
        member.session_deadline = deadline
    elif timer == Timer.REBALANCE:
        member.rebalance_deadline = deadline
    elif timer == Timer.JOIN:
        member.join_deadline = deadline
    else:
        member.sync_deadline = deadline


@inner_kernel
def cancel_timers(c: ConsumerGroup, number: int) -> None:
    """Give a member time for nothing (``cancelTimers``)."""
    member = c.members[number]
    member.session_deadline = member.rebalance_deadline = member.join_deadline = member.sync_deadline = NEVER


@inner_kernel
def next_modern_answer(c: ConsumerGroup, request: int, error: int) -> ModernAnswer:
    """Begin an answer."""
    answer = c.answers[c.answered[0].value]
    c.answered[0].value += 1
    answer.request = request
    answer.error = error
    answer.member = NONE
    answer.epoch = 0
    answer.has_assignment = False
    return answer
