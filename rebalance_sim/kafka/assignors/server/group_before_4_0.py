"""A group as the builders of ``server-uniform`` before Kafka 4.0 see it."""

from typing import NamedTuple

import numpy as np

from rebalance_sim.kafka.assignors.server.racks_3_7 import RackMatches
from rebalance_sim.kafka.assignors.server.target_assignment import UniformBatch
from rebalance_sim.kafka.groups import TopicArrays
from rebalance_sim.kafka.runtime.kernel import kernel
from rebalance_sim.kafka.runtime.sorting import stable_order
from rebalance_sim.kafka.runtime.strings import Ints, Ints32

NO_LIMIT = -1


class EarlyMembers(NamedTuple):
    """The members of a batch."""

    hashes: Ints
    """``hashCode`` of the member id."""
    ranks: Ints32
    """Place of the member id among those of the group, in the order of ``String.compareTo``."""
    racks: Ints32
    loads: Ints32
    """Number of partitions; 0 before the member's group is assigned."""
    held: Ints32
    """Number of distinct partitions, which is smaller after a member is assigned a partition that it shared before."""
    limits: Ints32
    """The partitions that it may get; NO_LIMIT before the member's group is assigned."""


class EarlyGroup(NamedTuple):
    """A group, whose partitions are numbered."""

    number: int
    """Its place in the batch."""
    topics: TopicArrays
    by_member: EarlyMembers
    members: Ints32
    """Its members in the order of the coordinator's map."""
    topic_of: Ints32
    """By place: the topic."""
    by_id: Ints32
    """All places by topic id and partition."""
    matches: RackMatches
    topic_count: int
    """The number of names that its members subscribe to."""
    named_in: Ints32
    """Scratch, by topic: the last group whose topics were listed and that has the topic."""


@kernel
def topics_of_places(batch: UniformBatch, topics: Ints32, places: int) -> Ints32:
    """Return the topic of each place."""
    topic_of = np.empty(places, np.int32)
    for topic in topics:
        if batch.partitions[topic] >= 0:
            topic_of[batch.base[topic] : batch.base[topic] + batch.partitions[topic]] = topic
    return topic_of


@kernel
def places_by_id(batch: UniformBatch, topic_of: Ints32) -> Ints32:
    """Return all places by topic id and partition."""
    return stable_order(batch.id_ranks[topic_of]).astype(np.int32)
