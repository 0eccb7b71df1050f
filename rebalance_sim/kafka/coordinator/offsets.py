"""Committed offsets of a group: how they are kept, and when they, and the group with them, are gone.

``GroupMetadata`` and ``GroupMetadataManager`` (1.0 to 3.9), ``OffsetMetadataManager`` (4.x). Who may commit is told by
``requests.commit_error``; anybody may fetch. Partitions and topics are numbers; who asks says which.
"""

from rebalance_sim.kafka.coordinator.classic_group import NEVER, NONE, ClassicGroup, State, clear_group
from rebalance_sim.kafka.coordinator.errors import Errors
from rebalance_sim.kafka.coordinator.log import forget_members
from rebalance_sim.kafka.kernel import inner_kernel, kernel_in_place
from rebalance_sim.kafka.records import Records
from rebalance_sim.versions import CoordinatorRules

HOUR_MS = 3_600_000


class Offset:
    """A partition, and what is committed of it."""

    topic: int
    offset: int
    """NONE where nothing is committed, as a fetch answers."""
    committed_ms: int
    pending: int
    """Commits of it whose write has not ended (to 3.9; 4.x holds back only the answer)."""
    expired: bool


class Topic:
    """A topic, as the group sees it."""

    subscribed: bool
    """Whether some member had subscribed it when the generation began."""


@kernel_in_place
def clear_offset(offset: Offset) -> None:
    """Let nothing be committed of a partition."""
    offset.offset = NONE
    offset.committed_ms = offset.pending = 0
    offset.expired = False


@inner_kernel
def begin_commit(offset: Offset) -> None:
    """Begin to write a commit that was let pass."""
    offset.pending += 1


@inner_kernel
def end_commit(offset: Offset, committed: int, committed_ms: int, error: int) -> None:
    """End to write a commit, with an error or none."""
    offset.pending -= 1
    if error == Errors.NONE:
        offset.offset = committed
        offset.committed_ms = committed_ms


@inner_kernel
def commit_response_error(error: int, rules: int) -> int:
    """Return what a member that commits is told of an error of the log.

    ``GroupMetadataManager.storeOffsets`` of Scala's coordinator, ``handleOperationException`` of Java's.
    """
    if error in (Errors.UNKNOWN_TOPIC_OR_PARTITION, Errors.NOT_ENOUGH_REPLICAS):
        return Errors.COORDINATOR_NOT_AVAILABLE
    if error in (Errors.NOT_LEADER_OR_FOLLOWER, Errors.KAFKA_STORAGE_ERROR):
        return Errors.NOT_COORDINATOR
    is_too_large = error in (Errors.MESSAGE_TOO_LARGE, Errors.RECORD_LIST_TOO_LARGE, Errors.INVALID_FETCH_SIZE)
    if rules >= CoordinatorRules.JAVA:
        if error == Errors.REQUEST_TIMED_OUT:
            return Errors.COORDINATOR_NOT_AVAILABLE
        return Errors.UNKNOWN_SERVER_ERROR if is_too_large else error
    if error == Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND:
        return Errors.COORDINATOR_NOT_AVAILABLE
    return Errors.INVALID_COMMIT_OFFSET_SIZE if is_too_large else error


@kernel_in_place
def retention_ms(rules: int) -> int:
    """Return how long offsets are kept: offsets.retention.minutes, a day to 1.1, 7 days since 2.0 (KIP-186)."""
    return 24 * HOUR_MS if rules == CoordinatorRules.SCALA_1_0 else 7 * 24 * HOUR_MS


@inner_kernel
def mark_expired(
    c: ClassicGroup, offsets: Records[Offset], count: int, topics: Records[Topic], topics_known: bool, now: int
) -> bool:
    """Mark which of the offsets have expired; tell whether the group goes with them.

    ``cleanupExpiredOffsets``: an empty group without offsets is dead. ``topics_known`` says whether the subscriptions
    of all members of the generation could be read, so that ``topics`` tells.
    """
    left = 0
    for k in range(count):
        offset = offsets[k]
        since = _kept_since(c, offset, topics, topics_known)
        offset.expired = offset.offset != NONE and offset.pending == 0 and _is_over(c, since, now)
        left += not offset.expired and (offset.offset != NONE or offset.pending > 0)
    return c.group.exists and c.group.state == State.EMPTY and left == 0


@inner_kernel
def _kept_since(c: ClassicGroup, offset: Offset, topics: Records[Topic], topics_known: bool) -> int:
    """Return from when on the retention of an offset counts; NEVER while the group uses it.

    To 2.0 that is the commit. Since 2.1 (KIP-211) it is when the group became empty, and the commit only in a group
    without members and protocol type. Since 2.4 (KIP-496) it is the commit too for topics that nobody subscribes, but
    not while the group rebalances (since 2.8.2 and 3.0.2, KAFKA-13636).
    """
    group = c.group
    if c.rules == CoordinatorRules.SCALA_1_0 or group.protocol_type == NONE:
        return offset.committed_ms
    if group.state == State.EMPTY:
        return offset.committed_ms if group.state_since_ms == NEVER else group.state_since_ms
    if c.rules < CoordinatorRules.SCALA_3_9 or group.state != State.STABLE or not topics_known:
        return NEVER
    return NEVER if topics[offset.topic].subscribed else offset.committed_ms


@kernel_in_place
def _is_over(c: ClassicGroup, since: int, now: int) -> bool:
    """Tell whether the retention is over; in 1.0 at the very end it is not yet."""
    if c.rules == CoordinatorRules.SCALA_1_0:
        return since + retention_ms(c.rules) < now
    return now - since >= retention_ms(c.rules)


@inner_kernel
def remove_expired(c: ClassicGroup, offsets: Records[Offset], count: int, ends_group: bool, written: bool) -> None:
    """Remove the offsets that are marked, and the group; ``written`` tells whether the log takes the tombstones."""
    for k in range(count):
        if offsets[k].expired:
            clear_offset(offsets[k])
    if not ends_group:
        return
    forget_members(c)
    clear_group(c.group)
    if written:
        c.group.stored = False
