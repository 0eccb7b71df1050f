"""When committed offsets of a group expire.

``GroupMetadata`` and ``GroupMetadataManager`` (1.0 to 3.9), ``OffsetMetadataManager`` (4.x).
"""

from enum import IntEnum

from rebalance_sim.kafka.coordinator.classic.classic_group import State
from rebalance_sim.kafka.runtime.kernel import kernel_in_place
from rebalance_sim.releases import CoordinatorRules

HOUR_MS = 3_600_000


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
