"""Reconcile a member's assignment with its target (``CurrentAssignmentBuilder``).

A member is first asked to revoke what is not in its target, and keeps its epoch until it has confirmed that. Then it
advances to the epoch of the target assignment and receives those of its partitions that are free; the rest follow as
their owners revoke them.
"""

from enum import IntEnum

from rebalance_sim.kafka.coordinator.classic.classic_group import NEVER, NONE
from rebalance_sim.kafka.coordinator.consumer.consumer_group import (
    NOTHING,
    ConsumerGroup,
    ModernMemberState,
    all_places,
    is_reconciled,
    is_since,
    names_nothing,
    start_rebalance_timeout,
    subscribes,
    update_state,
)
from rebalance_sim.kafka.coordinator.errors import Errors
from rebalance_sim.kafka.runtime.kernel import inner_kernel
from rebalance_sim.releases import ConsumerGroupRules


class Move(IntEnum):
    """The next change of a member's assignment."""

    STAYS = 0
    """The assignment does not change."""
    REVOKES = 1
    """The member must revoke what is not in its target."""
    ADVANCES = 2
    """The member advances to the target's epoch and receives its free partitions."""
    REVOKES_UNSUBSCRIBED = 3
    """The member must revoke partitions of topics that it no longer subscribes to."""
    DROPS_UNSUBSCRIBED = 4
    """The member no longer owns the unsubscribed partitions."""


@inner_kernel
def reconcile(modern: ConsumerGroup, store_error: int, now: int) -> int:
    """Move the sender towards its target, if the log accepts that (``maybeReconcile``)."""
    group, number = modern.group, modern.group.asking
    move = next_move(modern, number, group.owned, group.subscription_changed)
    writes = move_changes(modern, number, move)
    if writes and store_error != Errors.NONE:
        # A refused write is rolled back, but timers are not.
        if not modern.members[number].classic:
            if move in (Move.REVOKES, Move.REVOKES_UNSUBSCRIBED):
                start_rebalance_timeout(modern, number, now)
            else:
                modern.members[number].rebalance_deadline = NEVER
        return Reconciliation.REFUSED
    other = carry_out(modern, number, move, now)
    group.wrote = group.wrote or writes
    if group.wrote:
        update_state(modern)
    return Reconciliation.CHANGED if other else Reconciliation.SAME


@inner_kernel
def next_move(modern: ConsumerGroup, number: int, owned: int, subscription_changed: bool) -> int:
    """Return the change that a heartbeat causes (``build``); ``owned`` are the partitions that the member reports."""
    member = modern.members[number]
    # Since 4.2 (KAFKA-19431) unsubscribed partitions are revoked before a new target assignment is computed.
    looks_at_subscription = subscription_changed and is_since(modern, ConsumerGroupRules.ONLY_SUBSCRIBED)
    if not looks_at_subscription and is_reconciled(modern, number):
        return Move.STAYS
    # STABLE: without a newer target only a change of the subscription matters.
    if member.state == ModernMemberState.STABLE and member.epoch == modern.group.target_epoch:
        return _move_of_subscription(modern, number, owned)
    # UNREVOKED_PARTITIONS: the member keeps its epoch while a heartbeat still reports a partition that it must revoke.
    if member.state == ModernMemberState.UNREVOKED_PARTITIONS and _still_owns(modern, number, owned, _Lost.PENDING):
        return _move_of_subscription(modern, number, owned) if looks_at_subscription else Move.STAYS
    # computeNextAssignment: first revoke what the target no longer has, in the current epoch.
    if _loses_any(modern, number, _Lost.BY_TARGET) and _still_owns(modern, number, owned, _Lost.BY_TARGET):
        return Move.REVOKES
    # Nothing is left to revoke: advance to the target's epoch, and wait there for partitions that others still own.
    return Move.ADVANCES


@inner_kernel
def _move_of_subscription(modern: ConsumerGroup, number: int, owned: int) -> int:
    """Revoke partitions of topics that the member no longer subscribes to (``updateCurrentAssignment``)."""
    has_pending = _loses_any(modern, number, _Lost.PENDING)
    drops = _loses_any(modern, number, _Lost.BY_SUBSCRIPTION)
    # An empty subscription counts as a change even where there is nothing to revoke.
    if not drops and (has_pending or not names_nothing(modern, modern.members[number].subscription)):
        return Move.STAYS
    owns = _still_owns(modern, number, owned, _Lost.PENDING)
    owns = owns or _still_owns(modern, number, owned, _Lost.BY_SUBSCRIPTION)
    if owns and (has_pending or drops):
        return Move.REVOKES_UNSUBSCRIBED
    return Move.DROPS_UNSUBSCRIBED


class Reconciliation(IntEnum):
    """The result of moving a member towards its target."""

    REFUSED = 0
    """The log refused the write."""
    SAME = 1
    CHANGED = 2
    """The member's partitions have changed."""


class _Lost(IntEnum):
    """Partitions that a member loses."""

    PENDING = 0
    """Partitions that it has been asked to revoke."""
    BY_TARGET = 1
    """Partitions that it loses next, because of its target or its subscription."""
    BY_SUBSCRIPTION = 2
    """Partitions that it loses next, because of its subscription alone."""


@inner_kernel
def _is_lost(modern: ConsumerGroup, number: int, p: int, which: int) -> bool:
    partition = modern.partitions[p]
    if partition.owner != number or partition.pending_revocation != (which == _Lost.PENDING):
        return False
    if which == _Lost.PENDING:
        return True
    if which == _Lost.BY_TARGET and partition.target != number:
        return True
    return not _may_own(modern, number, partition.topic)


@inner_kernel
def _may_own(modern: ConsumerGroup, number: int, t: int) -> bool:
    """Return whether the member subscribes to a topic that exists; before 4.2 only the target counts."""
    if not is_since(modern, ConsumerGroupRules.ONLY_SUBSCRIBED):
        return True
    topic = modern.topics[t]
    return topic.exists and subscribes(modern, modern.members[number].subscription, topic.number)


@inner_kernel
def _loses_any(modern: ConsumerGroup, number: int, which: int) -> bool:
    for p in range(all_places(modern)):
        if _is_lost(modern, number, p, which):
            return True
    return False


@inner_kernel
def _still_owns(modern: ConsumerGroup, number: int, owned: int, which: int) -> bool:
    """Return whether the member may still own such a partition (``ownsRevokedPartitions``)."""
    # A heartbeat without owned partitions leaves them unchanged: the member may still own all of them.
    if owned in (NONE, NOTHING):
        return owned == NONE
    for k in range(modern.first_listed[owned], modern.first_listed[owned + 1]):
        if modern.listed[k] != NONE and _is_lost(modern, number, modern.listed[k], which):
            return True
    return False


@inner_kernel
def owns_within(modern: ConsumerGroup, number: int, owned: int) -> bool:
    """Return whether the member reports only partitions that it was assigned (``isSubset``)."""
    if owned in (NONE, NOTHING):
        return owned == NOTHING
    for k in range(modern.first_listed[owned], modern.first_listed[owned + 1]):
        p = modern.listed[k]
        if p == NONE or modern.partitions[p].owner != number or modern.partitions[p].pending_revocation:
            return False
    return True


@inner_kernel
def move_changes(modern: ConsumerGroup, number: int, move: int) -> bool:
    """Return whether a change writes a record."""
    if move != Move.ADVANCES:
        return move != Move.STAYS
    member = modern.members[number]
    if member.epoch != modern.group.target_epoch or member.previous_epoch != member.epoch:
        return True
    if member.state == ModernMemberState.UNREVOKED_PARTITIONS:
        return True
    unreleased = False
    for t in range(modern.group.topics):
        topic, may_own = modern.topics[t], _may_own(modern, number, t)
        for p in range(topic.first, topic.first + topic.places):
            partition = modern.partitions[p]
            wanted = may_own and partition.target == number
            if (wanted and partition.owner == NONE) or (partition.owner == number and not wanted):
                return True
            unreleased = unreleased or (wanted and partition.owner != number)
    return unreleased != (member.state == ModernMemberState.UNRELEASED_PARTITIONS)


@inner_kernel
def carry_out(modern: ConsumerGroup, number: int, move: int, now: int) -> bool:
    """Change a member's assignment; return whether its partitions differ from before."""
    if move == Move.STAYS:
        return False
    changed = move_changes(modern, number, move)
    differs = _advance(modern, number) if move == Move.ADVANCES else _drop(modern, number, move)
    member = modern.members[number]
    # The rebalance timeout limits the time to revoke partitions only; classic members have the timer of their rejoin.
    if changed and not member.classic:
        if member.state == ModernMemberState.UNREVOKED_PARTITIONS:
            start_rebalance_timeout(modern, number, now)
        else:
            member.rebalance_deadline = NEVER
    return differs


@inner_kernel
def _advance(modern: ConsumerGroup, number: int) -> bool:
    member, target_epoch = modern.members[number], modern.group.target_epoch
    unreleased, differs = False, False
    for t in range(modern.group.topics):
        topic, may_own = modern.topics[t], _may_own(modern, number, t)
        for p in range(topic.first, topic.first + topic.places):
            partition = modern.partitions[p]
            wanted = may_own and partition.target == number
            mine = partition.owner == number
            if mine and not wanted:
                # Revoked, as the heartbeat shows: the partition is free for its next owner from now on.
                differs = differs or not partition.pending_revocation
                partition.owner = NONE
            elif mine and partition.pending_revocation and not modern.of_release.reclaims_revoked:
                # Before KAFKA-19449 a partition that returns to the target while it is revoked counts as owned by
                # another member, though it is this one: the member waits until the next heartbeat finds it free.
                partition.owner = NONE
                unreleased = True
            elif wanted and (partition.owner == NONE or (mine and partition.pending_revocation)):
                partition.owner = number
                partition.epoch = target_epoch
                differs = True
            elif wanted and not mine:
                # Another member still owns it (``currentPartitionEpoch`` is not -1).
                unreleased = True
            if mine:
                partition.pending_revocation = False
    member.previous_epoch, member.epoch = member.epoch, target_epoch
    member.state = ModernMemberState.UNRELEASED_PARTITIONS if unreleased else ModernMemberState.STABLE
    return differs


@inner_kernel
def _drop(modern: ConsumerGroup, number: int, move: int) -> bool:
    """Revoke partitions: they become free at once if the member has revoked them already, else once it confirms."""
    member = modern.members[number]
    which: int = _Lost.BY_TARGET if move == Move.REVOKES else _Lost.BY_SUBSCRIPTION
    differs = False
    for p in range(all_places(modern)):
        partition = modern.partitions[p]
        if _is_lost(modern, number, p, which):
            differs = True
            if move == Move.DROPS_UNSUBSCRIBED:
                partition.owner = NONE
            else:
                partition.pending_revocation = True
        elif partition.owner == number and partition.pending_revocation and move == Move.REVOKES:
            # The revocation before this one is confirmed: computeNextAssignment begins without its partitions.
            partition.owner = NONE
            partition.pending_revocation = False
    # computeNextAssignment sets the epoch anew and with it the previous one, updateCurrentAssignment only since 4.3.
    if move == Move.REVOKES or is_since(modern, ConsumerGroupRules.ASSIGNMENT_INTERVAL):
        member.previous_epoch = member.epoch
    # Up to 4.1 a member that has confirmed a revocation goes on in the next epoch (current + 1), even if it must revoke
    # more; since 4.2 it keeps its epoch between two revocations.
    keeps_epoch = is_since(modern, ConsumerGroupRules.ONLY_SUBSCRIBED)
    if member.state == ModernMemberState.UNREVOKED_PARTITIONS and not keeps_epoch:
        member.epoch += 1
    if move != Move.DROPS_UNSUBSCRIBED:
        member.state = ModernMemberState.UNREVOKED_PARTITIONS
    return differs
