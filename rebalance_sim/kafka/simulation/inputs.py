"""The input of a simulation: a batch of groups, their consumers, and the events that happen to them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from rebalance_sim.kafka.groups import Groups, TopicArrays
from rebalance_sim.kafka.runtime.lists import gather
from rebalance_sim.kafka.runtime.strings import Flags, Ints, Ints32, Strings, java_hashes
from rebalance_sim.kafka.simulation.fleet import GroupTopics, Lists
from rebalance_sim.kafka.simulation.group_events import GroupEvents
from rebalance_sim.kafka.simulation.model import ScenarioKind
from rebalance_sim.kafka.simulation.protocols import Offers
from rebalance_sim.kafka.simulation.topic_growth import (
    Growth,
    SubscribedTopics,
    add_grown_topics,
    find_group_topics,
    find_growths,
)


class OptionalStrings(NamedTuple):
    """A column of strings of which some are null."""

    values: Strings
    """Empty where null."""
    known: Flags

    def to_list(self) -> list[str | None]:
        """Return the strings as Python's."""
        strings = zip(self.values.to_list(), self.known.tolist(), strict=True)
        return [value if known else None for value, known in strings]


@dataclass(frozen=True)
class SimulatedGroups:
    """A batch of groups with all consumers that they will have: members first, then those that join later."""

    initial: Groups
    """The members when the simulation begins, and what they own."""
    offsets: Ints32
    """Consumers of group g: ``offsets[g]`` to ``offsets[g + 1]``."""
    member_ids: Strings
    client_ids: OptionalStrings
    instance_ids: OptionalStrings
    racks: Ints32
    session_timeout_ms: Ints
    """NONE where unknown."""
    rebalance_timeout_ms: Ints
    start_ms: Ints
    revoke_ms: Ints
    assignor_ms: Ints
    longest_start_ms: Ints
    """No consumer of the group took longer in the past."""
    longest_revoke_ms: Ints
    read_protocols: Callable[[], Offers]
    """Reads what each consumer offers; not called where all offer the same (``Conditions.strategy``)."""
    events: GroupEvents
    topics: TopicArrays
    read_topic_names: Callable[[], list[str]]
    subscriptions: Lists
    """The subscriptions of the consumers, then those of the subscribe events."""
    user_data: Sequence[bytes | None] = ()
    """Read by the user's own assignors, as are the names of the racks."""
    rack_names: Sequence[str | None] = ()

    @property
    def count(self) -> int:
        """Number of groups."""
        return len(self.offsets) - 1

    @cached_property
    def sizes(self) -> Ints32:
        """How many members each group has when the simulation begins."""
        return np.diff(self.initial.members).astype(np.int32)

    @cached_property
    def group_of_consumer(self) -> Ints32:
        """The group of each consumer."""
        return np.repeat(np.arange(self.count, dtype=np.int32), np.diff(self.offsets))

    @cached_property
    def first_members(self) -> Ints32:
        """The consumers that are members when the simulation begins."""
        return gather(self.offsets[:-1], self.sizes)[1].astype(np.int32)

    @cached_property
    def subscribed_topics(self) -> SubscribedTopics:
        """The topics that consumers subscribe to, now or later."""
        later = [event.group for _, event in self.events.of_kind(ScenarioKind.SUBSCRIBE)]
        groups = np.concatenate([self.group_of_consumer, np.array(later, np.int32)])
        offsets = self.subscriptions.offsets
        return SubscribedTopics(np.repeat(groups, np.diff(offsets)), self.subscriptions.topics[: offsets[-1]])

    @cached_property
    def growths(self) -> list[Growth]:
        """Every growth of a topic of a group, in order of time."""
        return find_growths(self.events, self.subscribed_topics, self.topics, self.read_topic_names)

    @cached_property
    def group_topics(self) -> GroupTopics:
        """The existing topics of each group with the partitions that they have in the end."""
        return find_group_topics(self.count, self.subscribed_topics, self.topics, self.growths)

    @cached_property
    def topic_variants(self) -> tuple[TopicArrays, Ints32]:
        """The topics followed by what they are after each growth, and the topic that each is a variant of."""
        return add_grown_topics(self.topics, self.growths)

    @cached_property
    def member_hashes(self) -> Ints:
        """``hashCode`` of the member ids."""
        return java_hashes(self.member_ids)
