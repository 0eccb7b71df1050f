"""What the past shows of how long members, leaders and groups took."""

from enum import StrEnum


class Timing(StrEnum):
    """A time between two events of a group."""

    ASSIGN = "assign"
    """From the time at which all members had joined until the leader's SyncGroup arrived."""
    JOIN = "join"
    """From the beginning of a rebalance until all members had joined."""
    REVOKE = "revoke"
    """From the assignment that takes partitions from members of a cooperative group until they have rejoined.

    Of a consumer-protocol group: from the record in which the coordinator tells a member to revoke partitions to the
    one after it has.
    """
    CONVERGE = "converge"
    """From the record of an epoch of a consumer-protocol group until all members had their target assignments."""
    RESTART = "restart"
    """From the departure of a member in a rolling restart until it has rejoined."""
    RETURN = "return"
    """The same of any other member that left and came back."""


class Bound(StrEnum):
    """What a time says of the one that a simulation needs."""

    MEASURED = "measured"
    UPPER = "upper bound"
    """It was at most that long: the records show when it was over, and a time before it began."""


class Source(StrEnum):
    """Where a time is from."""

    RECORDS = "records"
    BROKER_LOGS = "broker logs"
