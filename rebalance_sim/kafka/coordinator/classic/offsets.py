"""Committed offsets of a group: commits, expiry, and the deletion of an empty group without offsets.

``GroupMetadata`` and ``GroupMetadataManager`` (1.0 to 3.9), ``OffsetMetadataManager`` (4.x). ``commit_offsets`` of
``requests`` decides whether a member may commit; every client may fetch. The caller numbers partitions and topics.
"""

from enum import IntEnum

from rebalance_sim.kafka.coordinator.classic.classic_group import NEVER, NONE, ClassicGroup, State, clear_group
from rebalance_sim.kafka.coordinator.classic.log import forget_members, forget_writes
from rebalance_sim.kafka.coordinator.errors import Errors
from rebalance_sim.kafka.runtime.kernel import inner_kernel, kernel_in_place
from rebalance_sim.kafka.runtime.records import Records
from rebalance_sim.releases import CoordinatorRules

HOUR_MS = 3_600_000


class CommittedOffset:
    """A partition and its committed offset."""

    topic: int
    offset: int
    """NONE if nothing is committed, as a fetch answers."""
    committed_ms: int
    pending: int
    """Commits whose write has not ended (up to 3.9; 4.x delays only the answer)."""
    expired: bool


class GroupTopic:
    """A topic with committed offsets."""

    subscribed: bool
    """Whether a member subscribed to it when the generation began (``computeSubscribedTopics``)."""


@kernel_in_place
def clear_offset(offset: CommittedOffset) -> None:
    """Remove the committed offset of a partition."""
    offset.offset = NONE
    offset.committed_ms = offset.pending = 0
    offset.expired = False


@inner_kernel
def begin_commit(offset: CommittedOffset) -> None:
    """Begin to write an accepted commit."""
    offset.pending += 1


@inner_kernel
def end_commit(offset: CommittedOffset, committed: int, committed_ms: int, error: int) -> None:
    """End the write of a commit, with an error or Errors.NONE."""
    offset.pending -= 1
    if error == Errors.NONE:
        offset.offset = committed
        offset.committed_ms = committed_ms


@kernel_in_place
def retention_ms(rules: int) -> int:
    """Return the default of offsets.retention.minutes: 1 day up to 1.1, 7 days since 2.0 (KIP-186)."""
    return 24 * HOUR_MS if rules == CoordinatorRules.SCALA_1_0 else 7 * 24 * HOUR_MS


class RetentionStart(IntEnum):
    """The event from which the retention of a committed offset counts."""

    NEVER = 0
    """The group uses the offset: it does not expire."""
    COMMIT = 1
    GROUP_EMPTY = 2


@kernel_in_place
def retention_start(
    rules: int, state: int, has_protocol_type: bool, is_subscribed: bool, also_rebalancing: bool = False
) -> int:
    """Return from which event the retention of an offset counts (``getExpiredOffsets``, ``cleanupExpiredOffsets``).

    Up to 2.0 every commit counts by itself, even of a group in use. Since 2.1 (KIP-211) offsets expire only after the
    group became empty; a group that never had members, so that it has no protocol type, still counts from each commit.
    Since 2.4 (KIP-496) offsets of topics that no member subscribes to expire too. During a rebalance, when the
    subscriptions are incomplete, they do so only in releases with ``rebalancing_offsets_expire`` (KAFKA-13636).
    """
    if rules == CoordinatorRules.SCALA_1_0 or not has_protocol_type:
        return RetentionStart.COMMIT
    if state == State.EMPTY:
        return RetentionStart.GROUP_EMPTY
    if rules < CoordinatorRules.SCALA_2_4 or is_subscribed or not (also_rebalancing or state == State.STABLE):
        return RetentionStart.NEVER
    return RetentionStart.COMMIT


@kernel_in_place
def expiry_ms(rules: int, since_ms: int, retention: int) -> int:
    """Return when the retention is over; 1.0 keeps the offset in its last millisecond (``expireTimestamp < now``)."""
    return since_ms + retention + (1 if rules == CoordinatorRules.SCALA_1_0 else 0)


@inner_kernel
def mark_expired(
    classic: ClassicGroup,
    offsets: Records[CommittedOffset],
    count: int,
    topics: Records[GroupTopic],
    topics_known: bool,
    also_rebalancing: bool,
    now: int,
) -> bool:
    """Mark the offsets that have expired; return whether the group is deleted with them.

    ``cleanupExpiredOffsets``: an empty group without offsets becomes dead. ``topics_known`` is whether the
    subscriptions of all members of the generation could be read, ``also_rebalancing`` the release's
    ``rebalancing_offsets_expire``.
    """
    group, left = classic.group, 0
    for k in range(count):
        offset = offsets[k]
        is_subscribed = not topics_known or topics[offset.topic].subscribed
        has_type = group.protocol_type != NONE
        start = retention_start(classic.rules, group.state, has_type, is_subscribed, also_rebalancing)
        since_ms = offset.committed_ms
        if start == RetentionStart.GROUP_EMPTY and group.state_since_ms != NEVER:
            since_ms = group.state_since_ms
        is_over = start != RetentionStart.NEVER and now >= expiry_ms(
            classic.rules, since_ms, retention_ms(classic.rules)
        )
        offset.expired = offset.offset != NONE and offset.pending == 0 and is_over
        left += not offset.expired and (offset.offset != NONE or offset.pending > 0)
    return group.exists and group.state == State.EMPTY and left == 0


@inner_kernel
def remove_expired(
    classic: ClassicGroup, offsets: Records[CommittedOffset], count: int, ends_group: bool, written: bool
) -> None:
    """Remove the marked offsets, and the group; ``written`` is whether the log has the tombstones."""
    for k in range(count):
        if offsets[k].expired:
            clear_offset(offsets[k])
    if not ends_group:
        return
    forget_members(classic)
    forget_writes(classic)
    clear_group(classic.group)
    if written:
        classic.group.stored = False
