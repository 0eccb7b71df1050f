"""Groups whose leader may use one of several libraries: find the libraries that assign differently."""

from typing import NamedTuple

import numpy as np
import pyarrow.compute as pc

from rebalance_sim.engine.tables.arrow import numbers
from rebalance_sim.engine.tables.topic_metadata import BatchTopics
from rebalance_sim.kafka.groups import AssignmentFailure, AssignmentOutcome
from rebalance_sim.kafka.runtime.strings import Flags, Ints, Ints32


class Answer(NamedTuple):
    """What an assignor returns for a batch of groups."""

    outcome: AssignmentOutcome
    order: Ints32
    """The members in the order of the assignment's lists."""
    topics: BatchTopics
    """The topics that the assignment's lists number."""


def differing_groups(group_of_member: Ints32, first: Answer, second: Answer) -> Flags:
    """Return which groups two assignors assign differently: if one of them fails, or a member gets other partitions."""
    differs: Flags = (first.outcome.errors != second.outcome.errors) | (second.outcome.errors != AssignmentFailure.NONE)
    most, topics = max(_most(first), _most(second)) + 1, len(first.topics.names)
    changed = np.setxor1d(_keys(first, np.arange(topics), most), _keys(second, _same_topics(first, second), most))
    differs[group_of_member[changed // (most * max(topics, 1))]] = True
    return differs


def _same_topics(first: Answer, second: Answer) -> Ints:
    """Return the numbers that the topics of the second answer have in the first.

    Topics that exist have the same number: clusters may have topics of the same name. The others come after them.
    """
    names, others = second.topics.names, first.topics.names
    known = np.count_nonzero(first.topics.topics.partitions >= 0)
    same = np.arange(len(names))
    same[known:] = known + numbers(pc.index_in(names[known:], others[known:]))
    return same


def _most(answer: Answer) -> int:
    return int(answer.outcome.assignments.partitions.max(initial=0))


def _keys(answer: Answer, topic_numbers: Ints, most: int) -> Ints:
    """Return a number for each partition of a member; ``most`` is above all partition numbers."""
    assignments = answer.outcome.assignments
    members = answer.order[np.repeat(np.arange(len(answer.order)), np.diff(assignments.offsets))].astype(np.int64)
    topics = topic_numbers[assignments.topics]
    return (members * max(len(topic_numbers), 1) + topics) * most + assignments.partitions
