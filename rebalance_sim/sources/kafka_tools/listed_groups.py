"""Groups of any type as the tools list them, beside the members and offsets of consumer groups.

``kafka-groups.sh --list`` and ``kafka-consumer-groups.sh --list`` name groups with their types, and
``kafka-share-groups.sh`` and ``kafka-streams-groups.sh`` describe groups that have no consumers.
"""

from dataclasses import dataclass, field

from rebalance_sim.kafka.group_kinds import OF_GROUP_TYPES

SHARE, STREAMS = OF_GROUP_TYPES
_IS_CONSUMER_PROTOCOL = {"consumer": True, "classic": False}


@dataclass(frozen=True, slots=True)
class GroupLine:
    """A line about a group; a field that the line does not show is None."""

    group_id: str
    group_type: str | None
    protocol_type: str | None = None
    state: str | None = None
    members: int | None = None
    """The number of members."""
    member_id: str | None = None
    topic: str | None = None
    """A topic of which the group reads a partition."""
    assignment_epoch: int | None = None
    """The epoch of a share group's target assignment."""


@dataclass(slots=True)
class ListedGroup:
    """What all lines about a group show together; if lines contradict each other, the first is used."""

    group_type: str | None = None
    protocol_type: str | None = None
    state: str | None = None
    assignment_epoch: int | None = None
    topics: set[str] = field(default_factory=set)
    _members: int | None = None
    _member_ids: set[str] = field(default_factory=set)

    def add(self, line: GroupLine) -> None:
        """Add what a line shows.

        >>> group = ListedGroup()
        >>> group.add(GroupLine("queue", "share", state="Stable"))
        >>> group.add(GroupLine("queue", None, member_id="8XYk0V8BRZCMtoYgMwwEoA"))
        >>> group.group_type, group.state, group.members
        ('share', 'Stable', 1)
        """
        self.group_type = self.group_type or line.group_type
        # The protocol type of a group that never had members is empty, which says something.
        self.protocol_type = line.protocol_type if self.protocol_type is None else self.protocol_type
        self.state = self.state or line.state
        self._members = line.members if self._members is None else self._members
        if self.assignment_epoch is None:
            self.assignment_epoch = line.assignment_epoch
        if line.member_id is not None:
            self._member_ids.add(line.member_id)
        if line.topic is not None:
            self.topics.add(line.topic)

    @property
    def members(self) -> int | None:
        """The number of members; None if no line shows any."""
        return len(self._member_ids) or None if self._members is None else self._members

    @property
    def is_kip848(self) -> bool | None:
        """Whether the group uses the consumer protocol; None for other types, and if the type is unknown."""
        return _IS_CONSUMER_PROTOCOL.get(self.group_type or "")
