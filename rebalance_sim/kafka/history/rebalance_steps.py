"""The steps of a rebalance that a group's coordinator logs, and what their reasons say."""

import re
from enum import StrEnum


class RebalanceStep(StrEnum):
    """A step of a rebalance of a classic group, in their order."""

    PREPARING = "1 preparing"
    """It begins: the coordinator waits for the members."""
    STABILIZED = "2 stabilized"
    """All have joined."""
    ASSIGNED = "3 assigned"
    """The leader's assignment has arrived."""


REVOKED = "need to revoke partitions"
"""Java's consumer rejoins for this reason when it has revoked partitions (since 3.2, KIP-800)."""
_JOINED = re.compile(r"Adding new member (.+?) with group instance id")
_LEFT = re.compile(r"explicit `LeaveGroup` request for \((.+)\) members|[Rr]emoving member (.+?) on LeaveGroup")


def joined_by(reason: str) -> str | None:
    """Return the new member that a rebalance begins with.

    >>> joined_by("Adding new member c-1-5d2f with group instance id null; client reason: not provided")
    'c-1-5d2f'
    """
    found = _JOINED.match(reason)
    return found[1] if found else None


def left_by(reason: str) -> str | None:
    """Return the member whose departure a rebalance begins with, if it left by LeaveGroup.

    >>> left_by("explicit `LeaveGroup` request for (c-1) members."), left_by("removing member c-1 on LeaveGroup")
    ('c-1', 'c-1')
    """
    found = _LEFT.match(reason)
    return (found[1] or found[2]) if found else None
