"""What differs between the group coordinators of the versions, as data."""

from dataclasses import dataclass

HOUR_MS = 3_600_000
DAY_MS = 24 * HOUR_MS


@dataclass(frozen=True)
class Rules:
    """The rules of the newest Scala coordinator (3.9) are the defaults; the Java coordinator shares most of them."""

    completing_state: str = "CompletingRebalance"
    max_session_timeout_ms: int = 30 * 60_000
    retention_ms: int = 7 * DAY_MS
    error_generation: int = -1
    """The generation of a JoinGroup response that is an error."""
    tells_skipped_assignment: bool = True
    """KIP-814: a JoinGroup response says whether the leader is to assign."""
    answers_by_future: bool = True
    """Since 3.4 a request that answers others too is answered after them."""
    pending_ids: bool = True
    """KIP-394: a new member's id is made known to it before it joins."""
    unknown_instance_id_is_error: bool = True
    """A member may not name an instance id that the group does not know (2.3: only a joining one)."""
    updates_timeouts: bool = True
    """Since 3.3 a member that rejoins may bring other timeouts (``GroupMetadata.updateMember``)."""
    heartbeats_while_completing: bool = True
    """Since 2.6.1 heartbeats count in CompletingRebalance; before, the member was told to rejoin."""
    checks_generation_while_completing: bool = True
    pending_syncs: bool = True
    """Since 2.8.1 members that do not sync in time are removed (``onExpirePendingSync``)."""
    checks_protocol_of_sync: bool = True
    batch_leave: bool = True
    """KIP-345: several members can leave at once, static ones by their instance id."""
    commit_checks_member_first: bool = True
    """Since 2.4 a commit's member and generation count for more than that the group is completing a rebalance."""
    expires_in_use: bool = False
    """Until 2.0 offsets expired whether the group was in use or not."""
    knows_subscribed_topics: bool = True
    """KIP-496: offsets of topics that nobody subscribes expire in a group that is in use."""


_RULES_3_9 = Rules()
_RULES_2_3 = Rules(
    tells_skipped_assignment=False,
    answers_by_future=False,
    unknown_instance_id_is_error=False,
    updates_timeouts=False,
    heartbeats_while_completing=False,
    pending_syncs=False,
    checks_protocol_of_sync=False,
    batch_leave=False,
    commit_checks_member_first=False,
    knows_subscribed_topics=False,
)
_RULES_1_0 = Rules(
    completing_state="AwaitingSync",
    max_session_timeout_ms=5 * 60_000,
    retention_ms=DAY_MS,
    error_generation=0,
    tells_skipped_assignment=False,
    answers_by_future=False,
    pending_ids=False,
    unknown_instance_id_is_error=False,
    updates_timeouts=False,
    heartbeats_while_completing=False,
    checks_generation_while_completing=False,
    pending_syncs=False,
    checks_protocol_of_sync=False,
    batch_leave=False,
    commit_checks_member_first=False,
    expires_in_use=True,
    knows_subscribed_topics=False,
)
RULES = {"1.0": _RULES_1_0, "2.3": _RULES_2_3, "3.9": _RULES_3_9, "4.3": _RULES_3_9}
NEW_MEMBER_JOIN_TIMEOUT_MS = 5 * 60_000


@dataclass(frozen=True)
class Config:
    """The broker's settings; those that a case does not name are Kafka's defaults."""

    initial_rebalance_delay_ms: int = 3000
    group_max_size: int = 2**31 - 1
    min_session_timeout_ms: int = 6000
    max_session_timeout_ms: int = 30 * 60_000
