"""How a member of KIP-848 comes from what it has to what it is to have (``CurrentAssignmentBuilder``, Kafka 4.3).

First it is told to give up what is no longer its own, and keeps its epoch until it says that it has. Then it takes the
epoch of the target assignment and what is free of its share; the rest follows when its owners have given it up.
"""

from enum import IntEnum

from rebalance_sim.kafka.coordinator.classic_group import NEVER, NONE
from rebalance_sim.kafka.coordinator.consumer_group import (
    NOTHING,
    ConsumerGroup,
    ModernMemberState,
    is_reconciled,
    names_nothing,
    start_rebalance_timeout,
    subscribes,
)
from rebalance_sim.kafka.kernel import inner_kernel


class Move(IntEnum):
    """What happens to a member's assignment."""

    STAYS = 0
    REVOKES = 1
    """It has to give up what is not in its target."""
    ADVANCES = 2
    """It takes the target's epoch, and of its share what is free."""
    REVOKES_UNSUBSCRIBED = 3
    DROPS_UNSUBSCRIBED = 4
    """It has given that up already."""


@inner_kernel
def next_move(c: ConsumerGroup, number: int, owned: int, subscription_changed: bool) -> int:
    """Find what a heartbeat moves; ``owned`` is what the member says it has."""
    member = c.members[number]
    if not subscription_changed and is_reconciled(c, number):
        return Move.STAYS
    if member.state == ModernMemberState.STABLE and member.epoch == c.group.target_epoch:
        return _move_of_subscription(c, number, owned)
    if member.state == ModernMemberState.UNREVOKED_PARTITIONS and _still_owns_pending(c, number, owned):
        return _move_of_subscription(c, number, owned) if subscription_changed else Move.STAYS
    if _drops_any(c, number, False) and _still_owns_dropped(c, number, owned, False):
        return Move.REVOKES
    return Move.ADVANCES


@inner_kernel
def _move_of_subscription(c: ConsumerGroup, number: int, owned: int) -> int:
    """Take away what a member does not subscribe to any more (``updateCurrentAssignment``)."""
    has_pending, drops = _has_pending(c, number), _drops_any(c, number, True)
    # An empty subscription counts as a change even where there is nothing to take away.
    if not drops and (has_pending or not names_nothing(c, c.members[number].subscription)):
        return Move.STAYS
    owns = _still_owns_pending(c, number, owned) or _still_owns_dropped(c, number, owned, True)
    if owns and (has_pending or drops):
        return Move.REVOKES_UNSUBSCRIBED
    return Move.DROPS_UNSUBSCRIBED


@inner_kernel
def _is_dropped(c: ConsumerGroup, number: int, p: int, by_subscription: bool) -> bool:
    """Tell whether a partition is the member's and is no longer to be: by its target, or by its subscription alone."""
    partition = c.partitions[p]
    if partition.owner != number or partition.pending_revocation:
        return False
    topic = c.topics[partition.topic]
    is_subscribed = topic.exists and subscribes(c, c.members[number].subscription, topic.number)
    return not is_subscribed or (partition.target != number and not by_subscription)


@inner_kernel
def _drops_any(c: ConsumerGroup, number: int, by_subscription: bool) -> bool:
    for t in range(c.group.topics):
        topic = c.topics[t]
        for p in range(topic.first, topic.first + topic.places):
            if _is_dropped(c, number, p, by_subscription):
                return True
    return False


@inner_kernel
def _has_pending(c: ConsumerGroup, number: int) -> bool:
    for t in range(c.group.topics):
        topic = c.topics[t]
        for p in range(topic.first, topic.first + topic.places):
            if c.partitions[p].owner == number and c.partitions[p].pending_revocation:
                return True
    return False


@inner_kernel
def _still_owns_pending(c: ConsumerGroup, number: int, owned: int) -> bool:
    """Tell whether a member says, or does not deny, that it has something it was told to give up."""
    if owned in (NONE, NOTHING):
        return owned == NONE
    for k in range(c.first_listed[owned], c.first_listed[owned + 1]):
        p = c.listed[k]
        if p != NONE and c.partitions[p].owner == number and c.partitions[p].pending_revocation:
            return True
    return False


@inner_kernel
def _still_owns_dropped(c: ConsumerGroup, number: int, owned: int, by_subscription: bool) -> bool:
    if owned in (NONE, NOTHING):
        return owned == NONE
    for k in range(c.first_listed[owned], c.first_listed[owned + 1]):
        if c.listed[k] != NONE and _is_dropped(c, number, c.listed[k], by_subscription):
            return True
    return False


@inner_kernel
def owns_within(c: ConsumerGroup, number: int, owned: int) -> bool:
    """Tell whether all that a member says it has is what it has been given (``isSubset``)."""
    if owned in (NONE, NOTHING):
        return owned == NOTHING
    for k in range(c.first_listed[owned], c.first_listed[owned + 1]):
        p = c.listed[k]
        if p == NONE or c.partitions[p].owner != number or c.partitions[p].pending_revocation:
            return False
    return True


@inner_kernel
def move_changes(c: ConsumerGroup, number: int, move: int) -> bool:
    """Tell whether a move changes anything that is written."""
    if move != Move.ADVANCES:
        return move != Move.STAYS
    member = c.members[number]
    if member.epoch != c.group.target_epoch or member.previous_epoch != member.epoch:
        return True
    if member.state == ModernMemberState.UNREVOKED_PARTITIONS:
        return True
    unreleased = False
    for t in range(c.group.topics):
        topic = c.topics[t]
        is_subscribed = topic.exists and subscribes(c, member.subscription, topic.number)
        for p in range(topic.first, topic.first + topic.places):
            partition = c.partitions[p]
            wanted = is_subscribed and partition.target == number
            if (wanted and partition.owner == NONE) or (partition.owner == number and not wanted):
                return True
            unreleased = unreleased or (wanted and partition.owner != number)
    return unreleased != (member.state == ModernMemberState.UNRELEASED_PARTITIONS)


@inner_kernel
def carry_out(c: ConsumerGroup, number: int, move: int, now: int) -> bool:
    """Move a member; tell whether its partitions are others than before."""
    if move == Move.STAYS:
        return False
    changed = move_changes(c, number, move)
    other = _advance(c, number) if move == Move.ADVANCES else _drop(c, number, move)
    member = c.members[number]
    if changed and not member.classic:
        if member.state == ModernMemberState.UNREVOKED_PARTITIONS:
            start_rebalance_timeout(c, number, now)
        else:
            member.rebalance_deadline = NEVER
    return other


@inner_kernel
def _advance(c: ConsumerGroup, number: int) -> bool:
    member, target_epoch = c.members[number], c.group.target_epoch
    unreleased, other = False, False
    for t in range(c.group.topics):
        topic = c.topics[t]
        is_subscribed = topic.exists and subscribes(c, member.subscription, topic.number)
        for p in range(topic.first, topic.first + topic.places):
            partition = c.partitions[p]
            wanted = is_subscribed and partition.target == number
            mine = partition.owner == number
            if mine and not wanted:
                other = other or not partition.pending_revocation
                partition.owner = NONE
            elif wanted and (partition.owner == NONE or (mine and partition.pending_revocation)):
                partition.owner = number
                partition.epoch = target_epoch
                other = True
            elif wanted and not mine:
                unreleased = True
            if mine:
                partition.pending_revocation = False
    member.previous_epoch = member.epoch
    member.epoch = target_epoch
    member.state = ModernMemberState.UNRELEASED_PARTITIONS if unreleased else ModernMemberState.STABLE
    return other


@inner_kernel
def _drop(c: ConsumerGroup, number: int, move: int) -> bool:
    """Take away what is dropped: it is free if the member has given it up already, otherwise when it does."""
    member = c.members[number]
    by_subscription = move != Move.REVOKES
    other = False
    for t in range(c.group.topics):
        topic = c.topics[t]
        for p in range(topic.first, topic.first + topic.places):
            partition = c.partitions[p]
            if _is_dropped(c, number, p, by_subscription):
                other = True
                if move == Move.DROPS_UNSUBSCRIBED:
                    partition.owner = NONE
                else:
                    partition.pending_revocation = True
            elif partition.owner == number and partition.pending_revocation and move == Move.REVOKES:
                partition.owner = NONE
                partition.pending_revocation = False
    member.previous_epoch = member.epoch
    if move != Move.DROPS_UNSUBSCRIBED:
        member.state = ModernMemberState.UNREVOKED_PARTITIONS
    return other
