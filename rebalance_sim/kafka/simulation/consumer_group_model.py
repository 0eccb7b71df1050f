"""The additional state of a simulated group that is, or may become, a consumer-protocol group (KIP-848)."""

from enum import IntEnum
from typing import NamedTuple

from rebalance_sim.kafka.coordinator.classic.classic_group import NONE
from rebalance_sim.kafka.coordinator.consumer.consumer_group import ConsumerGroup, all_places
from rebalance_sim.kafka.coordinator.group_conversion import MixedGroup, is_consumer_group
from rebalance_sim.kafka.runtime.kernel import inner_kernel, kernel_written_out
from rebalance_sim.kafka.runtime.records import Records
from rebalance_sim.kafka.runtime.strings import Ints, Ints32
from rebalance_sim.kafka.simulation.model import Simulation

_CONSUMER_TYPE = 0
"""Number of the protocol type "consumer"; no other is simulated."""


class ClientState(IntEnum):
    """``org.apache.kafka.clients.consumer.internals.MemberState``."""

    UNSUBSCRIBED = 0
    JOINING = 1
    RECONCILING = 2
    """Its assignment differs from the partitions that it owns."""
    ACKNOWLEDGING = 3
    """It has reconciled, and the next heartbeat reports that."""
    STABLE = 4
    FENCED = 5
    STALE = 6
    """It has left because the application did not poll in time."""


class AsyncConsumer:
    """State of an ``AsyncKafkaConsumer`` beside that of any consumer."""

    state: int
    in_flight: bool
    """Whether a heartbeat has not been answered yet."""
    sent_ms: int
    sends_all: bool
    """Whether the next heartbeat sends all fields, as after an error (``HeartbeatState.reset``)."""
    sends_owned: bool
    """Whether the next heartbeat sends the owned partitions."""
    sent_subscription: int
    looking_up: bool
    """Whether FindCoordinator has not been answered yet."""
    target: int
    """The assignment row that it received last (``currentTargetAssignment``)."""
    reconciling: int
    """The assignment row of the reconciliation in progress; NONE without one."""


class ConsumerGroupSimulation(NamedTuple):
    """One group with its consumers, of which some use the consumer protocol or will.

    ``base`` records the progress of every group. While the group is a consumer-protocol group, ``base.coordinator``
    only mirrors the state, epoch and member count of ``modern``.
    """

    base: Simulation
    modern: ConsumerGroup
    clients: Records[AsyncConsumer]
    row_generations: Ints
    listed_topics: Ints32
    listed_partitions: Ints32


@inner_kernel
def is_modern(simulation: ConsumerGroupSimulation) -> bool:
    """Return whether the group is a consumer-protocol group now."""
    return is_consumer_group(mixed_group(simulation))


@kernel_written_out
def mixed_group(simulation: ConsumerGroupSimulation) -> MixedGroup:
    """Return the group as a coordinator holds it that serves both protocols."""
    base = simulation.base
    return MixedGroup(base.coordinator, simulation.modern, _CONSUMER_TYPE, base.settings.store_ms)


# ---- Assignment rows


@inner_kernel
def add_assigned_row(simulation: ConsumerGroupSimulation, member: int) -> int:
    """Add an assignment row with the partitions that the coordinator has assigned to a member."""
    return _add_row_of_member(simulation, member, False)


@inner_kernel
def _add_row_of_member(simulation: ConsumerGroupSimulation, member: int, of_target: bool) -> int:
    row = simulation.base.written.assignments
    end = simulation.base.first_listed[row]
    for p in range(all_places(simulation.modern)):
        partition = simulation.modern.partitions[p]
        has = partition.owner == member and not partition.pending_revocation
        if partition.target == member if of_target else has:
            end = _append_partition(simulation, end, p)
    return _finish_row(simulation, row, end, member)


@inner_kernel
def _append_partition(simulation: ConsumerGroupSimulation, end: int, p: int) -> int:
    topic = simulation.modern.topics[simulation.modern.partitions[p].topic]
    simulation.base.listed[end] = p
    simulation.listed_topics[end] = topic.number
    simulation.listed_partitions[end] = p - topic.first
    return end + 1


@inner_kernel
def _finish_row(simulation: ConsumerGroupSimulation, row: int, end: int, member: int) -> int:
    base = simulation.base
    base.first_listed[row + 1] = end
    simulation.row_generations[row] = simulation.modern.group.epoch
    base.row_sets[row], base.row_members[row], base.row_subscriptions[row] = row, member, NONE
    base.row_sets[row + 1] = base.row_members[row + 1] = NONE
    base.written.assignments = row + 1
    return row


@inner_kernel
def add_kept_row(simulation: ConsumerGroupSimulation, before: int, after: int) -> int:
    """Add an assignment row with the partitions that two sorted rows have in common."""
    base = simulation.base
    row = base.written.assignments
    end = base.first_listed[row]
    k = base.first_listed[after]
    for b in range(base.first_listed[before], base.first_listed[before + 1]):
        while k < base.first_listed[after + 1] and base.listed[k] < base.listed[b]:
            k += 1
        if k < base.first_listed[after + 1] and base.listed[k] == base.listed[b]:
            base.listed[end] = base.listed[b]
            simulation.listed_topics[end] = simulation.listed_topics[b]
            simulation.listed_partitions[end] = simulation.listed_partitions[b]
            end += 1
    return _finish_row(simulation, row, end, NONE)


@inner_kernel
def list_same_partitions(base: Simulation, a: int, b: int) -> bool:
    """Return whether two sorted assignment rows list the same partitions."""
    if a == b:
        return True
    if NONE in (a, b):
        return False
    size = base.first_listed[a + 1] - base.first_listed[a]
    if base.first_listed[b + 1] - base.first_listed[b] != size:
        return False
    for k in range(size):
        if base.listed[base.first_listed[a] + k] != base.listed[base.first_listed[b] + k]:
            return False
    return True


@inner_kernel
def add_target_rows(simulation: ConsumerGroupSimulation) -> int:
    """Add one assignment of the group, with a row per member of its target assignment; return the first row."""
    base = simulation.base
    first = base.written.assignments
    for member in range(simulation.modern.group.made):
        if base.coordinator.members[member].known:
            base.row_sets[_add_row_of_member(simulation, member, True)] = first
    return first
