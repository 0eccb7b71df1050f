"""What holds for every simulation of groups, whatever happens to them."""

from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from rebalance_sim.kafka.coordinator.classic_group import Kind, State
from rebalance_sim.kafka.coordinator.consumer_group import CONSUMER_HEARTBEAT
from rebalance_sim.kafka.coordinator.errors import Errors
from rebalance_sim.kafka.simulation.batch_state import field
from rebalance_sim.kafka.simulation.model import MemberState, Step, Subject
from tests.kafka.simulated import Partition, Played

_ALWAYS_ANSWERED = (Kind.COMMIT, Kind.LEAVE)
_WITHOUT_REBALANCE = {"move-coordinator", "leave", "crash", "subscribe"}
_ONE_AT_A_TIME = (Kind.JOIN, Kind.SYNC)


def faults(played: Played) -> list[str]:
    """Say which group breaks which invariant."""
    return [
        f"{played.histories[group].name}: {told}"
        for check in (_assignments, _timelines, _requests, _rebalances, _ends)
        for group, told in check(played)
        if not _throws_in_kafka(played, group) and not _joins_for_ever_in_kafka(played, group)
    ]


def _throws_in_kafka(played: Played, group: int) -> bool:
    """Tell whether Kafka's own assignor has thrown: a leader with old metadata is told of partitions that it misses."""
    return bool(played.simulated.assignor_failures[group]) and "grow" in _events_of(played, group)


def _joins_for_ever_in_kafka(played: Played, group: int) -> bool:
    """Tell whether sticky gives a consumer again and again what it had and no longer subscribes to.

    Where a partition is moved back to who had it before, Java does not look at the subscription
    (``performReassignments``); who is given it refuses it and joins again, telling the same as before
    (``onJoinComplete``).
    """
    given = [(place, of.given) for place, of in enumerate(played.consumers(group)) if of.given >= 0]
    return "subscribe" in _events_of(played, group) and any(
        topic not in subscribed(played, group, place) for place, row in given for topic, _ in played.listed(group, row)
    )


Told = Iterator[tuple[int, str]]


def _assignments(played: Played) -> Told:
    """No partition is given to two members of a generation, where Kafka's assignor does not do that."""
    for group, name in played.given_twice.items():
        if not _is_given_twice_in_kafka(played, group):
            yield group, f"{name} gives a partition twice"


def _is_given_twice_in_kafka(played: Played, group: int) -> bool:
    """Tell whether the sticky assignor may have been told what it cannot deal with.

    That is two owners of a partition, of whom the older one comes back, for members do not tell their generation before
    2.3 (KIP-341); or a partition that a leader whose metadata are older does not know of.
    """
    told_wrong = played.version == "1.0" or "grow" in _events_of(played, group)
    return played.given_twice.get(group) == "sticky" and told_wrong


def _timelines(played: Played) -> Told:
    """Time never runs back. The generation falls only where another coordinator has read an older one from the log."""
    rows = np.asarray(played.simulated.timeline)
    rows = rows[np.argsort(rows["group"], kind="stable")]
    before, after = rows[:-1], rows[1:]
    same = before["group"] == after["group"]
    for row in after[same & (after["at_ms"] < before["at_ms"])]:
        yield int(row["group"]), f"time runs back to {row['at_ms']}"
    # An empty group of one protocol that somebody of the other one joins is a new group.
    is_another = (before["state"] == State.DEAD) | (before["modern"] != after["modern"])
    fell = same & (after["generation"] < before["generation"]) & ~is_another
    for row in after[fell]:
        yield int(row["group"]), f"generation falls to {row['generation']} at {row['at_ms']}"


def _requests(played: Played) -> Told:
    """Every request is answered once.

    Two kinds of requests may stay without an answer, both of processes that have stopped: a parked JoinGroup or
    SyncGroup whose member left (``remove``: 1.0 drops both, later versions answer the JoinGroup) or was removed.
    A process that goes on never sends JoinGroup or SyncGroup while it waits for the answer to one of them, so that it
    never replaces a parked one of its own; who replaces a static member's is another process, and fences the first.
    """
    rows = np.asarray(played.simulated.timeline)
    subjects = (Subject.REQUEST, Subject.ANSWER, Subject.STOPPED)
    kept = np.isin(rows["subject"], subjects) & ~np.isin(rows["kind"], (Kind.HEARTBEAT, CONSUMER_HEARTBEAT))
    told = zip(*(rows[kept][name].tolist() for name in ("group", "consumer", "subject", "kind", "at_ms")), strict=True)
    waiting: dict[tuple[int, int, int], int] = defaultdict(int)
    of_stopped: dict[tuple[int, int, int], int] = defaultdict(int)
    for group, consumer, subject, kind, at_ms in told:
        key = (group, consumer, kind)
        if subject == Subject.STOPPED:
            of_stopped.update({(group, consumer, k): waiting[group, consumer, k] for k in Kind})
        elif subject == Subject.REQUEST:
            waits = [k for k in _ONE_AT_A_TIME if waiting[group, consumer, k] > of_stopped[group, consumer, k]]
            if kind in _ONE_AT_A_TIME and waits:
                yield group, f"consumer {consumer} asks again before the answer, at {at_ms}"
            waiting[key] += 1
        else:
            waiting[key] -= 1
            of_stopped[key] = min(of_stopped[key], waiting[key])
            if waiting[key] < 0:
                yield group, f"consumer {consumer} gets a second {Kind(kind).name} answer, at {at_ms}"
    for (group, consumer, kind), count in waiting.items():
        if kind in _ALWAYS_ANSWERED and count:
            yield group, f"{count} {Kind(kind).name} of consumer {consumer} have no answer"
        if count > of_stopped[group, consumer, kind]:
            yield group, f"consumer {consumer} still waits for {Kind(kind).name}"


def _rebalances(played: Played) -> Told:
    """Rebalances follow each other, their figures are those of the course, each taken apart."""
    rows = np.asarray(played.simulated.rebalances)
    rows = rows[np.argsort(rows["group"], kind="stable")]
    ends = np.searchsorted(rows["group"], np.arange(len(played.histories) + 1))
    evicted = field(played.simulated.groups, "evicted")
    for group in range(len(played.histories)):
        course, of_group = played.course(group), rows[ends[group] : ends[group + 1]]
        figures = {name: of_group[name].sum() for name in ("paused", "moved", "evicted")}
        if len(of_group) != course.begun or (of_group["to_ms"] >= 0).sum() != course.completed:
            yield group, f"{len(of_group)} rows of {course.begun} rebalances, {course.completed} completed"
        if figures["evicted"] != evicted[group]:
            yield group, f"rebalances tell of {figures['evicted']} evicted members, the group of {evicted[group]}"
        if figures["moved"] > course.moved or figures["paused"] > course.paused:
            yield group, f"rebalances tell of {figures}, the course of {course.moved} and {course.paused}"
        if _all_is_attributed(played, group) and figures["paused"] != course.paused:
            yield group, f"rebalances tell of {figures['paused']} paused, the course of {course.paused}"
        last = 0
        for row in of_group:
            times = [int(row[name]) for name in ("from_ms", "joined_ms", "to_ms", "settled_ms") if row[name] >= 0]
            if sorted([last, *times]) != [last, *times]:
                yield group, f"times of a rebalance are {times} after {last}"
            last = times[-1]


def _all_is_attributed(played: Played, group: int) -> bool:
    """Tell whether whoever gives up partitions gets them back by a rebalance.

    A static member comes back without one, and who joins a coordinator that then moves may find the group stable. What
    nobody wants any more is missed no longer, be there a rebalance or not. Members of KIP-848 take what is free after a
    rebalance has ended, too.
    """
    if any(of.assignor >= 0 for of in played.consumers(group)):
        return False
    can_do_without = _has_static(played, group) or not _events_of(played, group).isdisjoint(_WITHOUT_REBALANCE)
    course = played.course(group)
    return bool(course.settled and not course.failed and not can_do_without)


def _has_static(played: Played, group: int) -> bool:
    return any(of.instance >= 0 for of in played.consumers(group))


def _events_of(played: Played, group: int) -> set[str]:
    return {of.event for of in played.histories[group].happenings}


def _ends(played: Played) -> Told:
    """When nothing happens any more, coordinator and consumers agree, and each partition is somebody's."""
    for group in range(len(played.histories)):
        course, coordinator, consumers = played.course(group), played.simulated.groups[group], played.consumers(group)
        now = played.simulated.queues[group].now
        if played.errors[group] or played.simulated.assignor_failures[group]:
            yield group, f"is not simulated: {played.errors[group]}"
            continue
        if not course.finished or now < course.last_event_ms:
            yield group, f"ends at {now}, before the last event"
        for figure in ("paused", "moved"):
            of_partitions, of_group = int(field(played.partitions(group), figure).sum()), getattr(course, figure)
            if of_partitions != of_group:
                yield group, f"{figure} {of_group}, but of its partitions {of_partitions}"
        running = [place for place, of in enumerate(consumers) if of.step != Step.STOPPED]
        for place in running:
            of = consumers[place]
            member = (of.step, of.generation) == (Step.POLLING, coordinator.generation) and of.coordinator_known
            if of.assignor < 0:
                member &= of.state == MemberState.STABLE and of.heartbeating and not of.rejoin_needed
            if not member:
                yield group, f"consumer {place} is no member: {of}"
        if _may_keep_who_left(played, group):
            continue
        if coordinator.members != len(running) or len({consumers[place].member for place in running}) != len(running):
            yield group, f"has {coordinator.members} members, but {running} run"
        if running and coordinator.state != State.STABLE:
            yield group, f"is in state {State(coordinator.state).name}"
        yield from ((group, told) for told in _owners(played, group, running))
        stopped = [of for of in consumers if of.step == Step.STOPPED]
        if any(of.owned >= 0 for of in stopped):
            yield group, "a stopped consumer has partitions"
        if sum(of.failure != Errors.NONE for of in consumers) > course.failed:
            yield group, f"{course.failed} consumers have failed"


def _may_keep_who_left(played: Played, group: int) -> bool:
    """Tell whether somebody's goodbye to a group of KIP-848 may not have been written.

    The coordinator then keeps the member, but has given up its timers: it stays until another coordinator comes.
    """
    return any(of.assignor >= 0 for of in played.consumers(group)) and "fail-store" in _events_of(played, group)


def _owners(played: Played, group: int, running: list[int]) -> Iterator[str]:
    """Each partition of the topics that somebody wants is with one consumer."""
    consumers = played.consumers(group)
    owners: dict[Partition, list[int]] = defaultdict(list)
    for place in running:
        row = consumers[place].owned
        for partition in played.listed(group, row) if row >= 0 else []:
            owners[partition].append(place)
            if partition[0] not in subscribed(played, group, place):
                yield f"consumer {place} does not subscribe to {partition}"
    wanted = {
        (topic, partition)
        for place in running
        for topic in subscribed(played, group, place)
        for partition in range(partitions_of(played, group, topic))
    }
    wrong = {partition: owners.get(partition, []) for partition in wanted if len(owners.get(partition, [])) != 1}
    if wrong and not _is_given_twice_in_kafka(played, group) and not _may_miss_news(played, group):
        yield f"owners are wrong: {wrong}"
    if running and not wrong and not played.course(group).settled:
        yield "is not settled"


def _may_miss_news(played: Played, group: int) -> bool:
    """Tell whether the group may go on as it was though topics have grown, or somebody wants other ones.

    A static leader that comes back after a topic has grown, and before it has told the others, leads on without an
    assignment (3.2 and later, ``onLeaderElected``), or not knowing that it leads (earlier). A static member that comes
    back, or has been thrown out, with another subscription is given what it had
    (``updateStaticMemberAndRebalance``).
    """
    events = _events_of(played, group)
    comes_back = _has_static(played, group) and not events.isdisjoint({"restart", "stall"})
    return comes_back and not events.isdisjoint({"grow", "subscribe"})


def subscribed(played: Played, group: int, place: int) -> tuple[str, ...]:
    """What a consumer wants in the end."""
    history = played.histories[group]
    changes = [
        (of.at_ms, number, of.names)
        for number, of in enumerate(history.happenings)
        if (of.event, of.consumer) == ("subscribe", place)
    ]
    return max(changes)[2] if changes else tuple([*history.members, *history.joiners][place]["subscription"])


def partitions_of(played: Played, group: int, topic: str) -> int:
    """How many partitions a topic has in the end."""
    index = played.groups.found_topics.names.to_pylist().index(topic)
    topics = played.groups.group_topics
    low, high = topics.offsets[group], topics.offsets[group + 1]
    return int(topics.partitions[low + topics.topics[low:high].tolist().index(index)])
