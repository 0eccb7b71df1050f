"""A batch of Connect clusters as arrays, and what their leaders remember between two rebalances.

Workers, connectors and tasks are numbered by cluster, from 0. Lists are in CSR form, as in ``kafka/groups.py``.
"""

from typing import NamedTuple

from rebalance_sim.kafka.runtime.strings import Flags, Ints, Ints32


class Workers(NamedTuple):
    """The workers of each cluster that have joined, in the order of the JoinGroup response."""

    offsets: Ints32
    """Workers of cluster c: entries ``offsets[c]`` to ``offsets[c + 1]`` of the arrays by worker."""
    hashes: Ints
    """``hashCode`` of the member id."""
    ranks: Ints32
    """Place of the member id among those of its cluster, in the order of ``String.compareTo``."""
    candidates: Ints32
    """Place among the workers that were idle while a rebalance was delayed, from 0, or NO_CANDIDATE; written."""


class Resources(NamedTuple):
    """The connectors of each cluster, or their tasks: both are assigned by the same rules.

    They are numbered in the order of their names (``String.compareTo``), tasks of a connector by their own number.
    """

    offsets: Ints32
    """Resources of cluster c: entries ``offsets[c]`` to ``offsets[c + 1]`` of the arrays by resource."""
    configured: Flags
    previous: Flags
    """Whether the leader counts it as assigned by its last rebalance; written."""
    revoked: Flags
    """Whether the leader's last rebalance revoked it; written."""
    held_from: Ints32
    """The resources that worker w runs: entries ``held_from[w]`` to ``held_from[w + 1]`` of ``held``."""
    held: Ints32


class Leader:
    """What the leader of a cluster remembers of its rebalances; a record.

    The fields of ``IncrementalCooperativeAssignor``, of which ``may_revoke`` exists before 3.4 only, and
    ``revoked_before`` and ``revocations_in_a_row`` since then.
    """

    now_ms: int
    max_delay_ms: int
    """``scheduled.rebalance.max.delay.ms``."""
    is_continued: bool
    """Whether the last generation that this leader completed is the one that it computed last."""
    lost_worker: bool
    """Whether a worker of its last rebalance has not joined this one."""
    scheduled_ms: int
    """When the delayed rebalance is due; 0 if none is."""
    delay_ms: int
    """The delay that it sends to the workers."""
    may_revoke: bool
    revoked_before: bool
    """Whether the last rebalance revoked resources to balance the workers."""
    revocations_in_a_row: int
    candidates: int
    """The number of workers, present or not, that were idle while a rebalance was delayed."""


class Moves(NamedTuple):
    """What the workers start and stop in a rebalance."""

    assigned_from: Ints32
    """Resources that worker w has to start: entries ``assigned_from[w]`` to ``assigned_from[w + 1]``."""
    assigned: Ints32
    revoked_from: Ints32
    revoked: Ints32


class Cluster(NamedTuple):
    """The workers of a cluster, numbered from 0."""

    hashes: Ints
    ranks: Ints32
    candidates: Ints32
    order: Ints32
    """The workers in the order of the leader's hash map of member ids."""


NO_CANDIDATE = -1
