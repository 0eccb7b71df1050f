"""Why a simulated group pauses: it needs what only its batch can provide, or its simulation has ended."""

from enum import IntEnum

from rebalance_sim.kafka.coordinator.classic.classic_group import NONE, AwaitedElection
from rebalance_sim.kafka.runtime.kernel import kernel_in_place
from rebalance_sim.kafka.simulation.consumer_group_model import ConsumerGroupSimulation
from rebalance_sim.kafka.simulation.model import Simulation

ASSIGNMENT_ROWS_PER_EVENT = 4
"""Most assignment rows that one event of a group with the consumer protocol adds, beside one per member when the group
becomes a classic group."""
REBALANCE_ROWS_PER_EVENT = 2
"""Most rebalance rows that one event writes."""
TIMELINE_ROWS_PER_MEMBER = 4
"""Most timeline rows that one event writes per member and consumer, counting two more for the group itself."""


class Pause(IntEnum):
    """Why a group pauses."""

    RUNNING = -1
    """It does not."""
    ENDED = 0
    ELECTION = 1
    ROOM_FOR_MEMBERS = 2
    ROOM_FOR_EVENTS = 3
    ROOM_FOR_ROWS = 4
    STEPPED = 5
    """It has handled the requested number of events."""
    REVOCATION = 6
    """A consumer revokes what it no longer subscribes to, and needs an assignment row for what it keeps."""
    TARGET = 7
    """A server-side assignor has to compute a target assignment (KIP-848)."""


@kernel_in_place
def missing_room(simulation: ConsumerGroupSimulation) -> int:
    """Return which arrays may be too short for what the next event writes; ``Pause.RUNNING`` if none is."""
    base, written = simulation.base, simulation.base.written
    group, consumers = base.coordinator.group, base.progress.consumers
    if group.made + 1 >= group.member_places or group.writes - group.writes_ended >= group.write_places - 1:
        return Pause.ROOM_FOR_MEMBERS
    # One event may answer all members, or schedule something for all consumers.
    if base.queue.length + max(group.member_count, consumers) + 8 >= base.queue.places:
        return Pause.ROOM_FOR_EVENTS
    if (
        written.rebalances + REBALANCE_ROWS_PER_EVENT > written.rebalances_capacity
        or written.timeline + TIMELINE_ROWS_PER_MEMBER * (group.member_count + consumers + 2)
        > written.timeline_capacity
        or (base.progress.uses_consumer_protocol and _lists_may_be_too_short(base))
    ):
        return Pause.ROOM_FOR_ROWS
    return Pause.RUNNING


@kernel_in_place
def _lists_may_be_too_short(base: Simulation) -> bool:
    """Return whether one event may write more assignment rows, or partitions in them, than fit."""
    written = base.written
    rows_end = written.assignments + ASSIGNMENT_ROWS_PER_EVENT + base.coordinator.group.member_count
    listed_end = base.first_listed[written.assignments] + (ASSIGNMENT_ROWS_PER_EVENT + 1) * base.progress.partitions
    return bool(rows_end > written.assignments_capacity or listed_end > written.listed_capacity)


@kernel_in_place
def missing_decision(simulation: ConsumerGroupSimulation) -> int:
    """Return what the group waits for; ``Pause.RUNNING`` if it waits for nothing."""
    if simulation.modern.group.target_due:
        return Pause.TARGET
    if simulation.base.coordinator.group.election != AwaitedElection.NOT_DUE:
        return Pause.ELECTION
    return Pause.RUNNING if simulation.base.progress.revoking == NONE else Pause.REVOCATION
