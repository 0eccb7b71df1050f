"""The timeline of a group, and one row per rebalance."""

from rebalance_sim.kafka.coordinator.classic.classic_group import NONE, State
from rebalance_sim.kafka.runtime.kernel import inner_kernel
from rebalance_sim.kafka.simulation.model import Simulation, Subject


@inner_kernel
def add_timeline_row(
    simulation: Simulation, subject: int, consumer: int, member: int, kind: int, error: int, partitions: int
) -> None:
    """Add a row to the timeline if the group is followed."""
    if not simulation.progress.followed:
        return
    row = simulation.timeline[simulation.written.timeline]
    simulation.written.timeline += 1
    row.group = simulation.group
    row.at_ms = simulation.queue.now
    row.subject = subject
    row.consumer = consumer
    row.member = member
    row.kind = kind
    row.error = error
    row.generation = simulation.coordinator.group.generation
    row.state = simulation.coordinator.group.state
    row.modern = simulation.progress.modern
    row.partitions = partitions


@inner_kernel
def record_rebalances(simulation: Simulation) -> None:
    """Open, complete or close the row of a rebalance, depending on how the coordinator's group has changed."""
    group, progress = simulation.coordinator.group, simulation.progress
    if group.rebalances > progress.begun:
        progress.begun = group.rebalances
        end_rebalance_row(simulation)
        _begin_rebalance_row(simulation)
    if group.state != progress.state:
        progress.state = group.state
        progress.changed_ms = simulation.queue.now
        add_timeline_row(simulation, Subject.STATE, NONE, NONE, group.reason, 0, 0)
        # The next coordinator reads the last stored generation from the log: the rebalance never completes.
        if group.state == State.DEAD:
            end_rebalance_row(simulation)
        if group.state == State.STABLE and progress.rebalance != NONE:
            row = simulation.rebalances[progress.rebalance]
            if row.to_ms == NONE:
                row.to_ms = simulation.queue.now
                progress.completed += 1
    # A group may be Stable while consumers still revoke or take partitions: the row stays open until all have owners.
    stable = group.state == State.STABLE and progress.unowned_partitions == 0
    if stable and not progress.stable:
        progress.all_owned_ms = simulation.queue.now
        if progress.rebalance != NONE:
            simulation.rebalances[progress.rebalance].all_owned_ms = simulation.queue.now
            end_rebalance_row(simulation)
    progress.stable = stable


@inner_kernel
def _begin_rebalance_row(simulation: Simulation) -> None:
    group, progress = simulation.coordinator.group, simulation.progress
    progress.rebalance = simulation.written.rebalances
    simulation.written.rebalances += 1
    row = simulation.rebalances[progress.rebalance]
    row.group = simulation.group
    row.modern = progress.modern
    row.from_ms = simulation.queue.now
    row.joined_ms = row.to_ms = row.all_owned_ms = NONE
    row.reason = group.reason
    row.member = group.reason_member
    row.consumer = NONE if row.member == NONE else simulation.coordinator.members[row.member].client
    row.generation = group.generation + 1
    row.protocol = row.leader = row.leading_consumer = NONE
    row.joined = row.evicted = row.revoked = row.moved = row.unowned_ms = 0


@inner_kernel
def record_generation(simulation: Simulation) -> None:
    """Record the members, leader and protocol of the generation that has just been elected."""
    group, progress = simulation.coordinator.group, simulation.progress
    if progress.rebalance == NONE:
        return
    row = simulation.rebalances[progress.rebalance]
    row.joined_ms = simulation.queue.now
    row.generation = group.generation
    row.protocol = group.protocol
    row.leader = group.leader
    if group.leader != NONE:
        row.leading_consumer = simulation.coordinator.members[group.leader].client
    row.joined = group.member_count


@inner_kernel
def end_rebalance_row(simulation: Simulation) -> None:
    """Close the row of the current rebalance.

    It is charged with all unowned time, revocations, moves and evictions since the previous row was closed.
    """
    progress = simulation.progress
    if progress.rebalance == NONE:
        return
    row = simulation.rebalances[progress.rebalance]
    uncounted_ms = simulation.queue.now - progress.unowned_counted_to_ms
    unowned_ms = progress.unowned_ms + progress.unowned_partitions * uncounted_ms
    row.unowned_ms = unowned_ms - progress.unowned_ms_before
    row.revoked = progress.revoked - progress.revoked_before
    row.moved = progress.moved - progress.moved_before
    row.evicted = simulation.coordinator.group.evicted - progress.evicted_before
    progress.unowned_ms_before = unowned_ms
    progress.revoked_before, progress.moved_before = progress.revoked, progress.moved
    progress.evicted_before = simulation.coordinator.group.evicted
    progress.rebalance = NONE
