"""Groups whose leader may use one of several libraries: find the libraries that assign differently."""

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rebalance_sim.engine.tables.arrow import numbers
from rebalance_sim.kafka.groups import AssignmentFailure, AssignmentOutcome
from rebalance_sim.kafka.runtime.strings import Flags, Ints, Ints32


class Answer(NamedTuple):
    """What an assignor returns for a batch of groups."""

    outcome: AssignmentOutcome
    order: Ints32
    """The members in the order of the assignment's lists."""
    topics: pa.Array
    """The names of the topics by their numbers."""


def differing_groups(group_of_member: Ints32, first: Answer, second: Answer) -> Flags:
    """Return which groups two assignors assign differently: if one of them fails, or a member gets other partitions."""
    differs: Flags = (first.outcome.errors != second.outcome.errors) | (second.outcome.errors != AssignmentFailure.NONE)
    most = max(_most(first), _most(second)) + 1
    changed = np.setxor1d(
        _keys(first, np.arange(len(first.topics)), most),
        _keys(second, numbers(pc.index_in(second.topics, first.topics)).astype(np.int64), most),
    )
    differs[group_of_member[changed // (most * max(len(first.topics), 1))]] = True
    return differs


def _most(answer: Answer) -> int:
    return int(answer.outcome.assignments.partitions.max(initial=0))


def _keys(answer: Answer, topic_numbers: Ints, most: int) -> Ints:
    """Return a number for each partition of a member; ``most`` is above all partition numbers."""
    assignments = answer.outcome.assignments
    members = answer.order[np.repeat(np.arange(len(answer.order)), np.diff(assignments.offsets))].astype(np.int64)
    topics = topic_numbers[assignments.topics]
    return (members * max(len(topic_numbers), 1) + topics) * most + assignments.partitions
