"""A batch of streams groups as arrays, and the tasks that their members get.

A task is a partition of a subtopology: the number of tasks of a subtopology is the largest number of partitions of its
input topics (``ConfiguredSubtopology.numberOfTasks``). Lists are in CSR form, as in ``rebalance_sim.kafka.groups``.
"""

from typing import NamedTuple

from rebalance_sim.kafka.runtime.strings import Flags, Ints, Ints32, Strings

NO_SUBTOPOLOGY = -1
"""A subtopology that is not in the topology of the group."""


class TaskLists(NamedTuple):
    """Tasks of member m: ``offsets[m]`` to ``offsets[m + 1]``."""

    offsets: Ints32
    subtopologies: Ints32
    """Entries of ``StreamsGroups.subtopology_ids``, or NO_SUBTOPOLOGY."""
    partitions: Ints32


class StreamsGroups(NamedTuple):
    """A batch of streams groups. Members are in the order in which they joined.

    Of instance ids, racks, client tags and warm-up tasks nothing is here: no assignor up to 4.4 reads them.
    """

    members: Ints32
    """Members of group g: ``members[g]`` to ``members[g + 1]``."""
    member_ids: Strings
    process_ids: Strings
    """By member: the process in which it runs."""
    subtopologies: Ints32
    """Subtopologies of group g, in any order: ``subtopologies[g]`` to ``subtopologies[g + 1]``. None if the topology is
    not ready, because source or internal topics are missing: then no member gets a task."""
    subtopology_ids: Strings
    tasks: Ints32
    """Number of tasks of each subtopology."""
    is_stateful: Flags
    """Whether a subtopology has changelog topics."""
    standby_replicas: Ints32
    """By group: ``num.standby.replicas``."""
    active: TaskLists
    """Active tasks that the members had: those of the target assignment before, since 4.4 those of the current
    assignment, without tasks that they are to revoke."""
    standby: TaskLists
    """The same of standby tasks."""
    reported: TaskLists
    """Tasks with state on the disk of a member, as it has reported in heartbeats. They count since 4.4. The coordinator
    keeps them in memory only: no record has them."""
    offset_sums: Ints
    """By entry of ``reported``: the sum of its offsets."""


class TaskOutcome(NamedTuple):
    """The tasks of all members. Kafka has sets; these lists are sorted by subtopology id and partition.

    There are no warm-up tasks: up to 4.4 no assignor assigns any, and ``AssignmentRefiner`` of 4.4 adds none.
    """

    active: TaskLists
    standby: TaskLists
    errors: Ints32
    """By group, the value of ``AssignmentFailure``. If it is not NONE, the lists of the group's members are empty."""
