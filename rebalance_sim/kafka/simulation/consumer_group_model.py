"""What a simulation keeps of a group of KIP-848, beside what it keeps of any."""

from enum import IntEnum
from typing import NamedTuple

from rebalance_sim.kafka.coordinator.classic_group import NONE
from rebalance_sim.kafka.coordinator.consumer_group import ConsumerGroup, SubscribedTopic
from rebalance_sim.kafka.coordinator.migration import MixedGroup, is_consumer_group
from rebalance_sim.kafka.kernel import inner_kernel, kernel_written_out
from rebalance_sim.kafka.records import Records
from rebalance_sim.kafka.simulation.model import ROWS, Simulation
from rebalance_sim.kafka.strings import Ints, Ints32

_CONSUMER_TYPE = 0
"""Number of the protocol type "consumer"; no other is simulated."""


class ClientState(IntEnum):
    """``MemberState`` of the consumer (``AbstractMembershipManager``)."""

    UNSUBSCRIBED = 0
    JOINING = 1
    RECONCILING = 2
    """It has been given other partitions than it has."""
    ACKNOWLEDGING = 3
    """It has what it was given, and has to say so."""
    STABLE = 4
    FENCED = 5
    STALE = 6
    """It has left, since the application did not poll in time."""


class AsyncConsumer:
    """What an ``AsyncKafkaConsumer`` knows beside what any consumer does."""

    state: int
    in_flight: bool
    """Whether a heartbeat is to be answered."""
    sent_ms: int
    sends_all: bool
    """Whether the next heartbeat tells all fields, since an error may have lost some."""
    sends_owned: bool
    sent_subscription: int
    looking_up: bool
    target: int
    """The row of the assignments that it was given last."""
    reconciling: int
    """The row that it is about to take; NONE where it is not."""


class ConsumerGroupSimulation(NamedTuple):
    """One group with its consumers, of which some follow KIP-848 or will.

    What is told of every group is told by ``base``. While it is a group of KIP-848, the coordinator there only shows
    state, epoch and members of ``modern``.
    """

    base: Simulation
    modern: ConsumerGroup
    clients: Records[AsyncConsumer]
    rows: Ints
    """How many rows of assignments there are, and what there is room for: see ``BatchState.rows``."""
    row_generations: Ints
    listed_topics: Ints32
    listed_partitions: Ints32


@inner_kernel
def is_modern(c: ConsumerGroupSimulation) -> bool:
    """Tell whether it is a group of KIP-848 now."""
    return is_consumer_group(mixed_group(c))


@kernel_written_out
def mixed_group(c: ConsumerGroupSimulation) -> MixedGroup:
    """Return the group as a coordinator keeps it that knows both protocols."""
    return MixedGroup(c.base.coordinator, c.modern, _CONSUMER_TYPE, c.base.settings.store_ms)


@inner_kernel
def write_row(c: ConsumerGroupSimulation, member: int) -> int:
    """Add a row to the assignments: what a member has been given."""
    s = c.base
    row = c.rows[ROWS]
    end = s.first_listed[row]
    for t in range(c.modern.group.topics):
        topic = c.modern.topics[t]
        for p in range(topic.first, topic.first + topic.places):
            partition = c.modern.partitions[p]
            if partition.owner == member and not partition.pending_revocation:
                end = _list(c, end, topic, p)
    return _end_row(c, row, end, member)


@inner_kernel
def _list(c: ConsumerGroupSimulation, end: int, topic: SubscribedTopic, p: int) -> int:
    c.base.listed[end] = p
    c.listed_topics[end] = topic.number
    c.listed_partitions[end] = p - topic.first
    return end + 1


@inner_kernel
def _end_row(c: ConsumerGroupSimulation, row: int, end: int, member: int) -> int:
    s = c.base
    s.first_listed[row + 1] = end
    c.row_generations[row] = c.modern.group.epoch
    s.row_sets[row], s.row_members[row], s.row_subscriptions[row] = row, member, NONE
    s.row_sets[row + 1] = s.row_members[row + 1] = NONE
    c.rows[ROWS] = row + 1
    return row


@inner_kernel
def write_kept(c: ConsumerGroupSimulation, before: int, after: int) -> int:
    """Add a row to the assignments: what is in both of two sorted ones."""
    s = c.base
    row = c.rows[ROWS]
    end = s.first_listed[row]
    k = s.first_listed[after]
    for b in range(s.first_listed[before], s.first_listed[before + 1]):
        while k < s.first_listed[after + 1] and s.listed[k] < s.listed[b]:
            k += 1
        if k < s.first_listed[after + 1] and s.listed[k] == s.listed[b]:
            s.listed[end] = s.listed[b]
            c.listed_topics[end], c.listed_partitions[end] = c.listed_topics[b], c.listed_partitions[b]
            end += 1
    return _end_row(c, row, end, NONE)


@inner_kernel
def same_rows(s: Simulation, a: int, b: int) -> bool:
    """Tell whether two sorted rows list the same."""
    if a == b:
        return True
    if NONE in (a, b):
        return False
    size = s.first_listed[a + 1] - s.first_listed[a]
    if s.first_listed[b + 1] - s.first_listed[b] != size:
        return False
    for k in range(size):
        if s.listed[s.first_listed[a] + k] != s.listed[s.first_listed[b] + k]:
            return False
    return True


@inner_kernel
def write_targets(c: ConsumerGroupSimulation) -> int:
    """Add a row for each member, with what the target assignment gives it, as one set; return the first."""
    s = c.base
    first = c.rows[ROWS]
    for member in range(c.modern.group.made):
        if not s.coordinator.members[member].known:
            continue
        row = c.rows[ROWS]
        end = s.first_listed[row]
        for t in range(c.modern.group.topics):
            topic = c.modern.topics[t]
            for p in range(topic.first, topic.first + topic.places):
                if c.modern.partitions[p].target == member:
                    end = _list(c, end, topic, p)
        _end_row(c, row, end, member)
        s.row_sets[row] = first
    return first
