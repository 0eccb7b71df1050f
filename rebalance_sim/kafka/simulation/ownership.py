"""The owners of partitions during a simulation, and the time that partitions are unowned."""

from rebalance_sim.kafka.coordinator.classic.classic_group import NONE, knows
from rebalance_sim.kafka.runtime.kernel import inner_kernel
from rebalance_sim.kafka.simulation.model import PartitionState, Presence, Simulation, Subject
from rebalance_sim.kafka.simulation.pods import assign_to_pod
from rebalance_sim.kafka.simulation.timeline import add_timeline_row, end_rebalance_row


@inner_kernel
def count_unowned_ms(simulation: Simulation) -> None:
    """Add the time since the last count for every partition that is unowned."""
    progress = simulation.progress
    progress.unowned_ms += progress.unowned_partitions * (simulation.queue.now - progress.unowned_counted_to_ms)
    progress.unowned_counted_to_ms = simulation.queue.now


@inner_kernel
def is_unowned(partition: PartitionState) -> bool:
    """Return whether a partition counts as unowned: it has no owner although the group consumes its topic."""
    return partition.owners == 0 and partition.tracked and not partition.unsubscribed


@inner_kernel
def _begin_unowned(simulation: Simulation, partition: PartitionState) -> None:
    partition.unowned_since_ms = simulation.queue.now
    simulation.progress.unowned_partitions += 1


@inner_kernel
def _end_unowned(simulation: Simulation, partition: PartitionState) -> None:
    partition.unowned_ms += simulation.queue.now - partition.unowned_since_ms
    simulation.progress.unowned_partitions -= 1


@inner_kernel
def revoke_all(simulation: Simulation, i: int, subject: int) -> None:
    """Revoke all partitions of a consumer; ``subject`` is REVOKED or LOST."""
    consumer = simulation.consumers[i]
    if consumer.owned == NONE:
        return
    count_unowned_ms(simulation)
    first, end = simulation.first_listed[consumer.owned], simulation.first_listed[consumer.owned + 1]
    for k in range(first, end):
        _remove_owner(simulation, simulation.listed[k])
    consumer.owned = NONE
    if end > first:
        simulation.progress.changed_ms = simulation.queue.now
        simulation.progress.revoked += end - first
        add_timeline_row(simulation, subject, i, consumer.member, 0, 0, end - first)


@inner_kernel
def _remove_owner(simulation: Simulation, p: int) -> None:
    if p == NONE:
        return
    partition = simulation.partitions[p]
    partition.owners -= 1
    if is_unowned(partition):
        _begin_unowned(simulation, partition)


@inner_kernel
def own_row(simulation: Simulation, i: int, row: int) -> int:
    """Let a consumer own exactly the partitions of an assignment row; return how many it revokes for that."""
    revoked = _replace_owned(simulation, i, row)
    listed = 0 if row == NONE else simulation.first_listed[row + 1] - simulation.first_listed[row]
    add_timeline_row(simulation, Subject.ASSIGNED, i, simulation.consumers[i].member, 0, 0, listed)
    if listed > 0:
        assign_to_pod(simulation, i)
    return revoked


@inner_kernel
def revoke_all_but(simulation: Simulation, i: int, row: int) -> None:
    """Revoke all partitions of a consumer that an assignment row does not list."""
    revoked = _replace_owned(simulation, i, row)
    add_timeline_row(simulation, Subject.REVOKED, i, simulation.consumers[i].member, 0, 0, revoked)


@inner_kernel
def _replace_owned(simulation: Simulation, i: int, row: int) -> int:
    consumer = simulation.consumers[i]
    count_unowned_ms(simulation)
    mark = simulation.progress.marks + 1
    simulation.progress.marks = mark
    first, end = (0, 0) if row == NONE else (simulation.first_listed[row], simulation.first_listed[row + 1])
    for k in range(first, end):
        if simulation.listed[k] != NONE:
            simulation.partitions[simulation.listed[k]].mark = mark
    revoked = 0
    if consumer.owned != NONE:
        for k in range(simulation.first_listed[consumer.owned], simulation.first_listed[consumer.owned + 1]):
            p = simulation.listed[k]
            _remove_owner(simulation, p)
            if p != NONE and simulation.partitions[p].mark != mark:
                revoked += 1
    for k in range(first, end):
        _add_owner(simulation, i, simulation.listed[k])
    consumer.owned = row
    simulation.progress.changed_ms = simulation.queue.now
    simulation.progress.revoked += revoked
    return revoked


@inner_kernel
def _add_owner(simulation: Simulation, i: int, p: int) -> None:
    if p == NONE:
        return
    partition = simulation.partitions[p]
    if is_unowned(partition):
        _end_unowned(simulation, partition)
    partition.tracked = True
    partition.owners += 1
    # It is no move if the last owner gets the partition back.
    if partition.owner == i:
        return
    if partition.owner != NONE:
        simulation.progress.moved += 1
        partition.moved += 1
        if partition.owner_before == i:
            simulation.progress.moved_back += 1
    partition.owner_before = partition.owner
    partition.owner = i


@inner_kernel
def grow(simulation: Simulation, first: int, before: int, after: int) -> None:
    """Add partitions to a topic; they are unowned at first."""
    count_unowned_ms(simulation)
    for p in range(first + before, first + after):
        partition = simulation.partitions[p]
        if not partition.tracked:
            partition.tracked = True
            if is_unowned(partition):
                _begin_unowned(simulation, partition)


@inner_kernel
def end_simulation(simulation: Simulation) -> None:
    """Count the unowned time and close the rebalance row that are still open when a simulation ends."""
    count_unowned_ms(simulation)
    for p in range(simulation.progress.partitions):
        if is_unowned(simulation.partitions[p]):
            # Its time so far goes into the costs; the partition stays unowned.
            _end_unowned(simulation, simulation.partitions[p])
            _begin_unowned(simulation, simulation.partitions[p])
    end_rebalance_row(simulation)
    simulation.progress.finished = True


# ---- Subscriptions


@inner_kernel
def lists_only_subscribed(simulation: Simulation, row: int, subscription: int) -> bool:
    """Return whether an assignment row lists only partitions of the subscribed topics."""
    if row == NONE or simulation.row_subscriptions[row] == subscription:
        return True
    simulation.progress.marks += 1
    _mark_topics(simulation, subscription)
    for k in range(simulation.first_listed[row], simulation.first_listed[row + 1]):
        p = simulation.listed[k]
        if p != NONE and simulation.topics[_topic_of(simulation, p)].mark != simulation.progress.marks:
            return False
    return True


@inner_kernel
def set_presence(simulation: Simulation, i: int, presence: int) -> None:
    """Change whether a consumer counts as part of the group."""
    consumer = simulation.consumers[i]
    before = consumer.presence
    consumer.presence = presence
    simulation.progress.lost += int(presence == Presence.LOST) - int(before == Presence.LOST)
    if (before == Presence.AWAY) != (presence == Presence.AWAY):
        update_subscribed_topics(simulation)


@inner_kernel
def drop_lost_consumers(simulation: Simulation) -> None:
    """Stop counting consumers that ended without leaving once the coordinator has removed their members."""
    for i in range(simulation.progress.consumers):
        consumer = simulation.consumers[i]
        if consumer.presence == Presence.LOST and not knows(simulation.coordinator, consumer.member):
            set_presence(simulation, i, Presence.AWAY)


@inner_kernel
def update_subscribed_topics(simulation: Simulation) -> None:
    """Mark the topics without any subscriber in the group: only partitions of the other topics can be unowned."""
    count_unowned_ms(simulation)
    simulation.progress.marks += 1
    for i in range(simulation.progress.consumers):
        if simulation.consumers[i].presence != Presence.AWAY:
            _mark_topics(simulation, simulation.consumers[i].subscription)
    for t in range(simulation.progress.topics):
        topic = simulation.topics[t]
        unsubscribed = topic.mark != simulation.progress.marks
        if unsubscribed != topic.unsubscribed:
            topic.unsubscribed = unsubscribed
            _set_unsubscribed(simulation, topic.first, topic.first + topic.partitions, unsubscribed)


@inner_kernel
def _set_unsubscribed(simulation: Simulation, first: int, end: int, unsubscribed: bool) -> None:
    for p in range(first, end):
        partition = simulation.partitions[p]
        if is_unowned(partition):
            _end_unowned(simulation, partition)
        partition.unsubscribed = unsubscribed
        if is_unowned(partition):
            _begin_unowned(simulation, partition)


@inner_kernel
def _mark_topics(simulation: Simulation, subscription: int) -> None:
    for k in range(simulation.first_subscribed[subscription], simulation.first_subscribed[subscription + 1]):
        low, high = 0, simulation.progress.topics
        while low < high:
            middle = (low + high) >> 1
            if simulation.topics[middle].topic < simulation.subscribed[k]:
                low = middle + 1
            else:
                high = middle
        if low < simulation.progress.topics and simulation.topics[low].topic == simulation.subscribed[k]:
            simulation.topics[low].mark = simulation.progress.marks


@inner_kernel
def _topic_of(simulation: Simulation, p: int) -> int:
    """Return the index of a partition's topic among the topics of the group."""
    low, high = 0, simulation.progress.topics - 1
    while low < high:
        middle = (low + high + 1) >> 1
        if simulation.topics[middle].first <= p:
            low = middle
        else:
            high = middle - 1
    return low
