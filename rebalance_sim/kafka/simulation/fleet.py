"""What is simulated: groups, their consumers, and what will happen to them."""

from typing import NamedTuple

from rebalance_sim.kafka.election import PreferenceLists
from rebalance_sim.kafka.groups import Assignments
from rebalance_sim.kafka.records import Records
from rebalance_sim.kafka.simulation.model import (
    Consumer,
    ScenarioEvent,
)
from rebalance_sim.kafka.strings import Flags, Ints, Ints32, Strings


class Names(NamedTuple):
    """The strings that decide orders, by consumer."""

    member_ids: Strings
    """Ids of those that are members when the simulation begins."""
    id_prefixes: Strings
    """What ids that are made up begin with: the instance id or the client id."""
    instance_ids: Strings


class GroupTopics(NamedTuple):
    """Topics of group g: entries ``offsets[g]`` to ``offsets[g + 1]``."""

    offsets: Ints32
    topics: Ints32
    first_partition: Ints32
    """Number of the topic's first partition among those of the group."""
    partitions: Ints32
    """How many it has in the end."""


class Lists(NamedTuple):
    """Lists of topics: list k is ``offsets[k]`` to ``offsets[k + 1]``."""

    offsets: Ints32
    topics: Ints32


class Fleet(NamedTuple):
    """What is simulated: groups, their consumers, and what will happen to them."""

    consumers: Ints32
    """Consumers of group g: ``consumers[g]`` to ``consumers[g + 1]``; those that are members at first come first."""
    members: Ints32
    """How many of them are."""
    of_consumers: Records[Consumer]
    scenario: Ints32
    """Events of group g: ``scenario[g]`` to ``scenario[g + 1]`` of ``events``."""
    events: Records[ScenarioEvent]
    names: Names
    id_hashes: Ints
    """``hashCode`` of each consumer's ``id_prefixes`` with the hyphen, and of ``member_ids``."""
    member_hashes: Ints
    racks: Ints32
    subscriptions: Lists
    preferences: PreferenceLists
    """By list of protocols."""
    cooperative: Flags
    """By protocol: whether its consumers keep what they have while they join."""
    remembered: Flags
    """By protocol: whether a consumer remembers what it was assigned by it, to tell that when it joins again.

    A consumer has one memory for all of them, though each of Java's assignors has its own."""
    assignors: Ints32
    """By protocol: the coordinator's assignor that it stands for (KIP-848); NONE: the leader's assignor runs."""
    partitions: Ints32
    """Partitions of group g: ``partitions[g]`` to ``partitions[g + 1]``."""
    topics: GroupTopics
    base_topics: Ints32
    """Of each topic of ``Topics``: the one that it is a later state of, or itself."""
    assignments: Assignments
    """What the members have at first; other consumers nothing."""
    generations: Ints
    protocols: Ints32
    """What each group has elected at first."""
    leaders: Ints32
    """Which member leads at first, counted in the group."""
    seeds: Ints
    followed: Flags
