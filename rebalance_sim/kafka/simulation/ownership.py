"""Who works on which partition, and how long nobody does."""

from rebalance_sim.kafka.coordinator.classic_group import NONE, knows
from rebalance_sim.kafka.kernel import inner_kernel
from rebalance_sim.kafka.simulation.model import PartitionState, Presence, Simulation, Subject
from rebalance_sim.kafka.simulation.timeline import end_row, tell


@inner_kernel
def count_paused(s: Simulation) -> None:
    """Count the time up to now for the partitions that nobody has."""
    s.course.paused += s.course.unowned * (s.queue.now - s.course.counted_ms)
    s.course.counted_ms = s.queue.now


@inner_kernel
def is_missed(partition: PartitionState) -> bool:
    """Tell whether nobody has a partition that a consumer of the group wants."""
    return partition.owners == 0 and partition.counted and not partition.unwanted


@inner_kernel
def _begin_to_miss(s: Simulation, partition: PartitionState) -> None:
    partition.missed_ms = s.queue.now
    s.course.unowned += 1


@inner_kernel
def _cease_to_miss(s: Simulation, partition: PartitionState) -> None:
    partition.paused += s.queue.now - partition.missed_ms
    s.course.unowned -= 1


@inner_kernel
def release(s: Simulation, i: int, subject: int) -> None:
    """Let a consumer give up all it has."""
    consumer = s.consumers[i]
    if consumer.owned == NONE:
        return
    count_paused(s)
    first, end = s.first_listed[consumer.owned], s.first_listed[consumer.owned + 1]
    for k in range(first, end):
        _release_one(s, s.listed[k])
    consumer.owned = NONE
    if end > first:
        s.course.changed_ms = s.queue.now
        s.course.revoked += end - first
        tell(s, subject, i, consumer.member, 0, 0, end - first)


@inner_kernel
def _release_one(s: Simulation, p: int) -> None:
    if p == NONE:
        return
    partition = s.partitions[p]
    partition.owners -= 1
    if is_missed(partition):
        _begin_to_miss(s, partition)


@inner_kernel
def take(s: Simulation, i: int, row: int) -> int:
    """Let a consumer have what a row of the assignments lists, instead of what it has; return how many it gives up."""
    given_up = _exchange(s, i, row)
    listed = 0 if row == NONE else s.first_listed[row + 1] - s.first_listed[row]
    tell(s, Subject.ASSIGNED, i, s.consumers[i].member, 0, 0, listed)
    return given_up


@inner_kernel
def keep(s: Simulation, i: int, row: int) -> None:
    """Let a consumer give up all it has but what a row of the assignments lists."""
    given_up = _exchange(s, i, row)
    tell(s, Subject.REVOKED, i, s.consumers[i].member, 0, 0, given_up)


@inner_kernel
def _exchange(s: Simulation, i: int, row: int) -> int:
    consumer = s.consumers[i]
    count_paused(s)
    mark = s.course.marks + 1
    s.course.marks = mark
    first, end = (0, 0) if row == NONE else (s.first_listed[row], s.first_listed[row + 1])
    for k in range(first, end):
        if s.listed[k] != NONE:
            s.partitions[s.listed[k]].mark = mark
    given_up = 0
    if consumer.owned != NONE:
        for k in range(s.first_listed[consumer.owned], s.first_listed[consumer.owned + 1]):
            _release_one(s, s.listed[k])
            if s.listed[k] != NONE and s.partitions[s.listed[k]].mark != mark:
                given_up += 1
    for k in range(first, end):
        _take_one(s, i, s.listed[k])
    consumer.owned = row
    s.course.changed_ms = s.queue.now
    s.course.revoked += given_up
    return given_up


@inner_kernel
def _take_one(s: Simulation, i: int, p: int) -> None:
    if p == NONE:
        return
    partition = s.partitions[p]
    if is_missed(partition):
        _cease_to_miss(s, partition)
    partition.counted = True
    partition.owners += 1
    if partition.owner == i:
        return
    if partition.owner != NONE:
        s.course.moved += 1
        partition.moved += 1
        if partition.owner_before == i:
            s.course.moved_back += 1
    partition.owner_before = partition.owner
    partition.owner = i


@inner_kernel
def grow(s: Simulation, first: int, before: int, after: int) -> None:
    """Let a topic have more partitions, which nobody has yet."""
    count_paused(s)
    for p in range(first + before, first + after):
        partition = s.partitions[p]
        if not partition.counted:
            partition.counted = True
            if is_missed(partition):
                _begin_to_miss(s, partition)


@inner_kernel
def end_course(s: Simulation) -> None:
    """Close what is open when a simulation ends."""
    count_paused(s)
    for p in range(s.course.partitions):
        if is_missed(s.partitions[p]):
            _cease_to_miss(s, s.partitions[p])
            _begin_to_miss(s, s.partitions[p])
    end_row(s)
    s.course.finished = True


# ---- What the consumers of the group want


@inner_kernel
def matches(s: Simulation, row: int, subscription: int) -> bool:
    """Tell whether a row of the assignments lists nothing but partitions of topics that are subscribed to."""
    if row == NONE or s.row_subscriptions[row] == subscription:
        return True
    s.course.marks += 1
    _mark_topics(s, subscription)
    for k in range(s.first_listed[row], s.first_listed[row + 1]):
        if s.listed[k] != NONE and s.topics[_topic_of(s, s.listed[k])].mark != s.course.marks:
            return False
    return True


@inner_kernel
def set_presence(s: Simulation, i: int, presence: int) -> None:
    """Let a consumer begin or end to count as one of the group."""
    consumer = s.consumers[i]
    before = consumer.presence
    consumer.presence = presence
    s.course.lost += int(presence == Presence.LOST) - int(before == Presence.LOST)
    if (before == Presence.AWAY) != (presence == Presence.AWAY):
        note_wanted(s)


@inner_kernel
def forget_lost(s: Simulation) -> None:
    """Count no more who has ended without leaving, once the coordinator does not take it for a member any more."""
    for i in range(s.course.consumers):
        consumer = s.consumers[i]
        if consumer.presence == Presence.LOST and not knows(s.coordinator, consumer.member):
            set_presence(s, i, Presence.AWAY)


@inner_kernel
def note_wanted(s: Simulation) -> None:
    """Miss partitions, from now on, of those topics that a consumer of the group subscribes to."""
    count_paused(s)
    s.course.marks += 1
    for i in range(s.course.consumers):
        if s.consumers[i].presence != Presence.AWAY:
            _mark_topics(s, s.consumers[i].subscription)
    for t in range(s.course.topics):
        topic = s.topics[t]
        unwanted = topic.mark != s.course.marks
        if unwanted != topic.unwanted:
            topic.unwanted = unwanted
            _miss(s, topic.first, topic.first + topic.partitions, not unwanted)


@inner_kernel
def _miss(s: Simulation, first: int, end: int, missed: bool) -> None:
    for p in range(first, end):
        partition = s.partitions[p]
        if is_missed(partition):
            _cease_to_miss(s, partition)
        partition.unwanted = not missed
        if is_missed(partition):
            _begin_to_miss(s, partition)


@inner_kernel
def _mark_topics(s: Simulation, subscription: int) -> None:
    for k in range(s.first_subscribed[subscription], s.first_subscribed[subscription + 1]):
        low, high = 0, s.course.topics
        while low < high:
            middle = (low + high) >> 1
            if s.topics[middle].topic < s.subscribed[k]:
                low = middle + 1
            else:
                high = middle
        if low < s.course.topics and s.topics[low].topic == s.subscribed[k]:
            s.topics[low].mark = s.course.marks


@inner_kernel
def _topic_of(s: Simulation, p: int) -> int:
    """Return the place of the topic that a partition is of."""
    low, high = 0, s.course.topics - 1
    while low < high:
        middle = (low + high + 1) >> 1
        if s.topics[middle].first <= p:
            low = middle
        else:
            high = middle - 1
    return low
