"""What is written down of the course of a group: its timeline, and a row for each rebalance."""

from rebalance_sim.kafka.coordinator.classic_group import NONE, State
from rebalance_sim.kafka.kernel import inner_kernel
from rebalance_sim.kafka.simulation.model import RebalanceRow, Simulation, Subject

REBALANCES, TIMELINE, REBALANCES_ROOM, TIMELINE_ROOM = range(4)
"""Places in ``Simulation.written``: how many rows are filled, and how many there is room for."""


@inner_kernel
def tell(s: Simulation, subject: int, consumer: int, member: int, kind: int, error: int, partitions: int) -> None:
    """Add a row to the timeline of a group that is followed."""
    if not s.course.followed:
        return
    row = s.timeline[s.written[TIMELINE]]
    s.written[TIMELINE] += 1
    row.group = s.group
    row.at_ms = s.queue.now
    row.subject = subject
    row.consumer = consumer
    row.member = member
    row.kind = kind
    row.error = error
    row.generation = s.coordinator.group.generation
    row.state = s.coordinator.group.state
    row.modern = s.course.modern
    row.partitions = partitions


@inner_kernel
def follow_rebalances(s: Simulation) -> None:
    """Look at what has changed at the coordinator, and keep the row of the rebalance that goes on."""
    group, course = s.coordinator.group, s.course
    if group.rebalances > course.begun:
        course.begun = group.rebalances
        end_row(s)
        _begin_row(s)
    if group.state != course.state:
        course.state = group.state
        course.changed_ms = s.queue.now
        tell(s, Subject.STATE, NONE, NONE, group.reason, 0, 0)
        if group.state == State.DEAD:
            end_row(s)
        if group.state == State.STABLE and course.rebalance != NONE:
            row = s.rebalances[course.rebalance]
            if row.to_ms == NONE:
                row.to_ms = s.queue.now
                course.completed += 1
    settled = group.state == State.STABLE and course.unowned == 0
    if settled and not course.settled:
        course.settled_ms = s.queue.now
        if course.rebalance != NONE:
            s.rebalances[course.rebalance].settled_ms = s.queue.now
            end_row(s)
    course.settled = settled


@inner_kernel
def _begin_row(s: Simulation) -> None:
    group, course = s.coordinator.group, s.course
    course.rebalance = s.written[REBALANCES]
    s.written[REBALANCES] += 1
    row = s.rebalances[course.rebalance]
    row.group = s.group
    row.from_ms = s.queue.now
    row.joined_ms = row.to_ms = row.settled_ms = NONE
    row.reason = group.reason
    row.member = group.reason_member
    row.consumer = NONE if row.member == NONE else s.coordinator.members[row.member].client
    row.generation = group.generation + 1
    row.protocol = row.leader = row.leading_consumer = NONE
    row.joined = row.evicted = row.revoked = row.moved = row.paused = 0


@inner_kernel
def note_generation(s: Simulation) -> None:
    """Note who is in the generation that has been elected."""
    group, course = s.coordinator.group, s.course
    if course.rebalance == NONE:
        return
    row = s.rebalances[course.rebalance]
    row.joined_ms = s.queue.now
    row.generation = group.generation
    row.protocol = group.protocol
    row.leader = group.leader
    if group.leader != NONE:
        row.leading_consumer = s.coordinator.members[group.leader].client
    row.joined = group.members


@inner_kernel
def end_row(s: Simulation) -> None:
    """Close the row of a rebalance: what has been paused or given up since the one before was closed is its doing."""
    course = s.course
    if course.rebalance == NONE:
        return
    row = s.rebalances[course.rebalance]
    _sum_up(s, row)
    course.rebalance = NONE


@inner_kernel
def _sum_up(s: Simulation, row: RebalanceRow) -> None:
    course = s.course
    paused = course.paused + course.unowned * (s.queue.now - course.counted_ms)
    row.paused = paused - course.paused_before
    row.revoked = course.revoked - course.revoked_before
    row.moved = course.moved - course.moved_before
    row.evicted = s.coordinator.group.evicted - course.evicted_before
    course.paused_before, course.revoked_before, course.moved_before = paused, course.revoked, course.moved
    course.evicted_before = s.coordinator.group.evicted
