"""Invariants of every simulation, whatever happens in it."""

from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from rebalance_sim.kafka.coordinator.classic.classic_group import RequestKind, State
from rebalance_sim.kafka.coordinator.errors import Errors
from rebalance_sim.kafka.simulation.batch_state import field
from rebalance_sim.kafka.simulation.group_events import EVENT_KINDS
from rebalance_sim.kafka.simulation.model import ConsumerStep, MemberState, ScenarioKind, Subject
from tests.support.simulated import Partition, Played

_ALWAYS_ANSWERED = (RequestKind.COMMIT, RequestKind.LEAVE)
_WITHOUT_REBALANCE = {"move-coordinator", "leave", "crash", "subscribe"}
_ONE_AT_A_TIME = (RequestKind.JOIN, RequestKind.SYNC)


def faults(played: Played) -> list[str]:
    """Return a description of each violation, with the name of the group."""
    return [
        f"{played.histories[group].name}: {fault}"
        for check in (_assignments, _timelines, _requests, _rebalances, _ends)
        for group, fault in check(played)
        if not _throws_in_kafka(played, group) and not _joins_for_ever_in_kafka(played, group)
    ]


def _throws_in_kafka(played: Played, group: int) -> bool:
    """Return whether Kafka's own assignor has thrown: a leader with old metadata may get unknown owned partitions."""
    return bool(played.simulated.assignor_failures[group]) and "grow" in _events_of(played, group)


def _joins_for_ever_in_kafka(played: Played, group: int) -> bool:
    """Return whether the sticky assignor keeps assigning what a consumer owned before and no longer subscribes to.

    Java does not check the subscription when it moves a partition back to its previous owner
    (``performReassignments``); that consumer ignores the assignment and joins again with the same metadata
    (``onJoinComplete``).
    """
    given = [(place, of.assignor_output) for place, of in enumerate(played.consumers(group)) if of.assignor_output >= 0]
    return "subscribe" in _events_of(played, group) and any(
        topic not in subscribed(played, group, place) for place, row in given for topic, _ in played.listed(group, row)
    )


Faults = Iterator[tuple[int, str]]


def _assignments(played: Played) -> Faults:
    """No partition is assigned to two members of a generation, unless Kafka's assignor does so."""
    for group, name in played.given_twice.items():
        if not _is_given_twice_in_kafka(played, group):
            yield group, f"{name} gives a partition twice"


def _is_given_twice_in_kafka(played: Played, group: int) -> bool:
    """Return whether the sticky assignor may have got input that it cannot handle.

    That is a partition with two owners, of whom the older one returns (members do not report their generation before
    2.3, KIP-341), or a partition that the leader's older metadata do not have.
    """
    wrong_input = played.version == "1.0" or "grow" in _events_of(played, group)
    return played.given_twice.get(group) == "sticky" and wrong_input


def _timelines(played: Played) -> Faults:
    """Time never decreases. The generation decreases only when another coordinator loads an older one from the log."""
    rows = np.asarray(played.simulated.timeline)
    rows = rows[np.argsort(rows["group"], kind="stable")]
    before, after = rows[:-1], rows[1:]
    same = before["group"] == after["group"]
    for row in after[same & (after["at_ms"] < before["at_ms"])]:
        yield int(row["group"]), f"time runs back to {row['at_ms']}"
    # A consumer that joins an empty group of the other protocol replaces it by a new group.
    is_another = (before["state"] == State.DEAD) | (before["modern"] != after["modern"])
    fell = same & (after["generation"] < before["generation"]) & ~is_another
    for row in after[fell]:
        yield int(row["group"]), f"generation falls to {row['generation']} at {row['at_ms']}"


def _requests(played: Played) -> Faults:
    """Every request gets one response.

    Two kinds of requests may get none, both of stopped processes: a pending JoinGroup or SyncGroup whose member left
    (``remove``: 1.0 drops both, later versions answer the JoinGroup) or was evicted. A running process never sends
    JoinGroup or SyncGroup while it waits for the response to one of them, so it never replaces a pending request of its
    own; a static member is replaced by another process, which fences the first.
    """
    rows = np.asarray(played.simulated.timeline)
    subjects = (Subject.REQUEST, Subject.ANSWER, Subject.STOPPED)
    heartbeats = (RequestKind.HEARTBEAT, RequestKind.CONSUMER_GROUP_HEARTBEAT)
    kept = np.isin(rows["subject"], subjects) & ~np.isin(rows["kind"], heartbeats)
    messages = zip(
        *(rows[kept][name].tolist() for name in ("group", "consumer", "subject", "kind", "at_ms")), strict=True
    )
    waiting: dict[tuple[int, int, int], int] = defaultdict(int)
    of_stopped: dict[tuple[int, int, int], int] = defaultdict(int)
    for group, consumer, subject, kind, at_ms in messages:
        key = (group, consumer, kind)
        if subject == Subject.STOPPED:
            of_stopped.update({(group, consumer, k): waiting[group, consumer, k] for k in RequestKind})
        elif subject == Subject.REQUEST:
            waits = [k for k in _ONE_AT_A_TIME if waiting[group, consumer, k] > of_stopped[group, consumer, k]]
            if kind in _ONE_AT_A_TIME and waits:
                yield group, f"consumer {consumer} asks again before the answer, at {at_ms}"
            waiting[key] += 1
        else:
            waiting[key] -= 1
            of_stopped[key] = min(of_stopped[key], waiting[key])
            if waiting[key] < 0:
                yield group, f"consumer {consumer} gets a second {RequestKind(kind).name} answer, at {at_ms}"
    for (group, consumer, kind), count in waiting.items():
        if kind in _ALWAYS_ANSWERED and count:
            yield group, f"{count} {RequestKind(kind).name} of consumer {consumer} have no answer"
        if count > of_stopped[group, consumer, kind]:
            yield group, f"consumer {consumer} still waits for {RequestKind(kind).name}"


def _rebalances(played: Played) -> Faults:
    """Rebalance rows follow each other, and their figures add up to those of the group."""
    rows = np.asarray(played.simulated.rebalances)
    rows = rows[np.argsort(rows["group"], kind="stable")]
    ends = np.searchsorted(rows["group"], np.arange(len(played.histories) + 1))
    evicted = field(played.simulated.groups, "evicted")
    for group in range(len(played.histories)):
        progress, of_group = played.progress(group), rows[ends[group] : ends[group + 1]]
        figures = {name: of_group[name].sum() for name in ("unowned_ms", "moved", "evicted")}
        if len(of_group) != progress.begun or (of_group["to_ms"] >= 0).sum() != progress.completed:
            yield group, f"{len(of_group)} rows of {progress.begun} rebalances, {progress.completed} completed"
        if figures["evicted"] != evicted[group]:
            yield group, f"rebalance rows have {figures['evicted']} evicted members, the group {evicted[group]}"
        if figures["moved"] > progress.moved or figures["unowned_ms"] > progress.unowned_ms:
            yield group, f"rebalance rows have {figures}, the group {progress.moved} and {progress.unowned_ms}"
        if _all_is_attributed(played, group) and figures["unowned_ms"] != progress.unowned_ms:
            yield group, f"rebalance rows have {figures['unowned_ms']} unowned ms, the group {progress.unowned_ms}"
        last = 0
        for row in of_group:
            times = [int(row[name]) for name in ("from_ms", "joined_ms", "to_ms", "all_owned_ms") if row[name] >= 0]
            if sorted([last, *times]) != [last, *times]:
                yield group, f"times of a rebalance are {times} after {last}"
            last = times[-1]


def _all_is_attributed(played: Played, group: int) -> bool:
    """Return whether all unowned time falls into rebalances.

    A static member returns without one, and a consumer may join a coordinator that then moves and find the group
    stable. Partitions of topics without subscribers stop being unowned with or without a rebalance. Members of the
    consumer protocol also take partitions that become free after a rebalance has ended.
    """
    if any(of.assignor >= 0 for of in played.consumers(group)):
        return False
    can_do_without = _has_static(played, group) or not _events_of(played, group).isdisjoint(_WITHOUT_REBALANCE)
    progress = played.progress(group)
    return bool(progress.stable and not progress.failed and not can_do_without)


def _has_static(played: Played, group: int) -> bool:
    return any(of.instance >= 0 for of in played.consumers(group))


def _events_of(played: Played, group: int) -> set[str]:
    kinds = {of.kind for of in played.histories[group].events}
    return {name for name, kind in EVENT_KINDS.items() if kind in kinds}


def _ends(played: Played) -> Faults:
    """In the end, coordinator and consumers agree, and each partition has an owner."""
    for group in range(len(played.histories)):
        progress, coordinator, consumers = (
            played.progress(group),
            played.simulated.groups[group],
            played.consumers(group),
        )
        now = played.simulated.queues[group].now
        if played.errors[group] or played.simulated.assignor_failures[group]:
            yield group, f"is not simulated: {played.errors[group]}"
            continue
        if not progress.finished or now < progress.last_event_ms:
            yield group, f"ends at {now}, before the last event"
        for figure in ("unowned_ms", "moved"):
            of_partitions, of_group = int(field(played.partitions(group), figure).sum()), getattr(progress, figure)
            if of_partitions != of_group:
                yield group, f"{figure} {of_group}, but of its partitions {of_partitions}"
        running = [place for place, of in enumerate(consumers) if of.step != ConsumerStep.STOPPED]
        for place in running:
            of = consumers[place]
            member = (of.step, of.generation) == (ConsumerStep.POLLING, coordinator.generation) and of.coordinator_known
            if of.assignor < 0:
                member &= of.state == MemberState.STABLE and of.heartbeating and not of.rejoin_needed
            if not member:
                yield group, f"consumer {place} is no member: {of}"
        if _may_keep_who_left(played, group):
            continue
        if coordinator.member_count != len(running) or len({consumers[place].member for place in running}) != len(
            running
        ):
            yield group, f"has {coordinator.member_count} members, but {running} run"
        if running and coordinator.state != State.STABLE:
            yield group, f"is in state {State(coordinator.state).name}"
        yield from ((group, fault) for fault in _owners(played, group, running))
        stopped = [of for of in consumers if of.step == ConsumerStep.STOPPED]
        if any(of.owned >= 0 for of in stopped):
            yield group, "a stopped consumer has partitions"
        if sum(of.failure != Errors.NONE for of in consumers) > progress.failed:
            yield group, f"{progress.failed} consumers have failed"


def _may_keep_who_left(played: Played, group: int) -> bool:
    """Return whether the write for a member that left a consumer-protocol group may have failed.

    The coordinator then keeps the member but has cancelled its timers: it stays until the coordinator moves.
    """
    return any(of.assignor >= 0 for of in played.consumers(group)) and "fail-store" in _events_of(played, group)


def _owners(played: Played, group: int, running: list[int]) -> Iterator[str]:
    """Each partition of a subscribed topic has one owner."""
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
    if running and not wrong and not played.progress(group).stable:
        yield "is not stable"


def _may_miss_news(played: Played, group: int) -> bool:
    """Return whether the group may legitimately go on with an assignment that ignores growth or a new subscription.

    A static leader that returns after a topic has grown, and before it has seen the growth as leader, continues without
    assigning (3.2 and later, ``onLeaderElected``), or without knowing that it is the leader (earlier). A static member
    that returns, or was evicted, with another subscription receives its previous assignment
    (``updateStaticMemberAndRebalance``).
    """
    events = _events_of(played, group)
    comes_back = _has_static(played, group) and not events.isdisjoint({"restart", "stall"})
    return comes_back and not events.isdisjoint({"grow", "subscribe"})


def subscribed(played: Played, group: int, place: int) -> tuple[str, ...]:
    """Return the subscription of a consumer in the end."""
    history = played.histories[group]
    changes = [
        (of.at_ms, number, of.names)
        for number, of in enumerate(history.events)
        if (of.kind, of.consumer) == (ScenarioKind.SUBSCRIBE, place)
    ]
    return max(changes)[2] if changes else tuple([*history.members, *history.joiners][place]["subscription"])


def partitions_of(played: Played, group: int, topic: str) -> int:
    """Return the partition count of a topic in the end."""
    index = played.batch.topics.names.to_pylist().index(topic)
    topics = played.batch.groups.group_topics
    low, high = topics.offsets[group], topics.offsets[group + 1]
    return int(topics.partitions[low + topics.topics[low:high].tolist().index(index)])
