"""Assigns the tasks of classic applications of Kafka Streams: what their leaders send, until no member rejoins at once.

Unless members sent offsets of changelogs whose ends are known, they count as caught up with the stateful tasks that
they have, and have no state of other tasks. A task that a member has to revoke first is assigned in a rebalance that
follows at once; its state stays on the disk of the process.

If the rate is known at which threads restore state, probing rebalances follow: a thread of the leader's process joins
again ``probing.rebalance.interval.ms`` after a rebalance in which a task could not move yet (``StreamThread.runLoop``),
and the leader assigns again by what processes have restored until then.
"""

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from rebalance_sim.engine.streams.application import NEW_PROCESS, Application, Assigned, Member, Move, Task
from rebalance_sim.engine.streams.restoration import Restoration, RestoreSettings, active_stateful, moves
from rebalance_sim.kafka.streams.application_batch import AssignmentConfigs
from rebalance_sim.kafka.streams.leader import GroupAnswer, StreamsGroup, assign_groups
from rebalance_sim.kafka.streams.topology import Subtopology, Topology
from rebalance_sim.kafka.wire.consumer_protocol import Subscription
from rebalance_sim.kafka.wire.streams_protocol import (
    LATEST_OFFSET,
    NO_REBALANCE,
    SubscriptionInfo,
    TaskId,
    encode_subscription_info,
)
from rebalance_sim.releases import KafkaVersion

_UNKNOWN_END = 1_000_000
"""The offset sum of each stateful task if it is unknown, or any number above acceptable.recovery.lag."""
_FIRST_RELEASE = (2, 6)
"""The oldest release whose rules are known: those of KIP-441."""
_OLDEST_VERSION = 8
"""The version of the user data of that release."""
_CHANGELOG = "changelog"
"""Names of changelog topics decide nothing without racks."""
_MOST_REBALANCES = 10
_MOST_PROBING = 10_000
_NOT_STABLE = f"members still rejoin after {_MOST_REBALANCES} rebalances"
_PROBING_AT = 1
"""The time of a probing rebalance; any that is neither at once nor never."""
_NEW_PROCESSES = UUID("7fffffff-ffff-4fff-bfff-000000000000").int
"""Ids of new processes follow: Kafka Streams draws them at random."""

NO_TOPOLOGY = (
    "no topology: give --subtopologies with a row for each subtopology (group_id, subtopology, topics, stateful), or "
    "--topology with what Topology.describe() prints"
)

ASSUMED_OF_CLASSIC = (
    "members of classic applications are caught up with the stateful tasks that they have, and have no other state, "
    "unless task_offsets says otherwise; changelogs without end_offsets exceed acceptable.recovery.lag; and "
    "rack.aware.assignment.* and task.assignor.class are not set"
)
ASSUMED_IDS = "the process ids of new processes are the largest: they are drawn at random, and decide ties"


def obstacle(group: Application, clients: str, protocol: int) -> str | None:
    """Return why the next assignment of an application cannot be predicted, by the release of its clients."""
    if not group.members:
        return "no members"
    if not group.subtopologies:
        return NO_TOPOLOGY
    if _release(clients) < _FIRST_RELEASE:
        return f"the rules of Kafka Streams {clients} are unknown; known are those since 2.6"
    return _of_topology(group) or _of_members(group, clients, protocol)


def _of_topology(group: Application) -> str | None:
    """Return what is wrong with an application's topology, or not that of the tasks that it has."""
    for name, topics in group.sources.items():
        if not name.isdecimal():
            return f"subtopology '{name}' is not a number"
        if not topics:
            return f"subtopology {name} has no topics"
        missing = min((topic for topic, partitions in topics.items() if not partitions), default=None)
        if missing is not None:
            return f"topic '{missing}' of subtopology {name} is missing: add it to the topics table"
    for member in group.before:
        for name, partition in (*member.active, *member.standby):
            if partition >= group.subtopologies.get(name, (0, False))[0]:
                return f"member {member.member_id} has task {name}_{partition}, which the topology does not have"
        stateless = min((task for task in member.standby if not group.subtopologies[task[0]][1]), default=None)
        if stateless is not None:
            return f"subtopology {stateless[0]} is not stateful, but member {member.member_id} has a standby task of it"
    return None


def _of_members(group: Application, clients: str, protocol: int) -> str | None:
    """Return why members do not follow the rules of a release."""
    for member in group.members:
        try:
            _process_id(member)
        except ValueError:
            return f"process id '{member.process_id}' of member {member.member_id} is not a UUID"
        if (member.supported_version or protocol) < _OLDEST_VERSION:
            return f"member {member.member_id} is older than Kafka 2.6"
    leader = group.members[0].supported_version
    if leader in (None, protocol):
        return None
    return (
        f"the leader's user data is of version {leader}, but that of Kafka {clients} is of version {protocol}: give "
        "--client-version, or client_version of the clusters table"
    )


def assign_applications(
    groups: Sequence[Application], kafka: KafkaVersion, settings: RestoreSettings
) -> list[Assigned]:
    """Return the assignment of each application after its next rebalance, and those that follow at once.

    Its moves are also those of the probing rebalances that follow, if it is known how long state is restored.
    """
    members = [_Members(group, settings) for group in groups]
    _rebalance(members, kafka)
    first = [each.assigned() for each in members]
    waiting = [each for each in members if each.is_timed]
    for _ in range(_MOST_PROBING):
        waiting = [each for each in waiting if each.is_probing]
        if not waiting:
            break
        for each in waiting:
            each.wait_for_probing()
        _rebalance(waiting, kafka)
    return [each.with_moves(assigned) for each, assigned in zip(members, first, strict=True)]


def _rebalance(members: "Sequence[_Members]", kafka: KafkaVersion) -> None:
    """Let applications rebalance until no member joins again at once."""
    waiting = members
    for _ in range(_MOST_REBALANCES):
        answers = assign_groups([each.streams_group(kafka) for each in waiting], kafka, _PROBING_AT)
        for each, answer in zip(waiting, answers, strict=True):
            each.take(answer)
        waiting = [each for each in waiting if each.rejoins]
        if not waiting:
            break
    for each in members:
        each.begin()


class _Members:
    """The members of an application between two rebalances."""

    def __init__(self, group: Application, settings: RestoreSettings) -> None:
        self._group = group
        self._settings = settings
        self._configs = AssignmentConfigs(
            settings.acceptable_lag, settings.warmup_replicas, num_standby_replicas=group.standby_replicas
        )
        parts = [
            Subtopology(int(name), tuple(topics), (_CHANGELOG,) if group.subtopologies[name][1] else ())
            for name, topics in group.sources.items()
        ]
        partitions = {topic: count for topics in group.sources.values() for topic, count in topics.items()}
        self._topology = Topology(parts, partitions)
        self._now = {member.member_id: member for member in group.members}
        """The members with their tasks."""
        self._processes = {member.member_id: _process_id(member) for member in group.members}
        unknown = max(_UNKNOWN_END, settings.acceptable_lag + 1)
        counts = [(name, count) for name, (count, is_stateful) in group.subtopologies.items() if is_stateful]
        self._ends = (
            group.ends
            if group.ends is not None
            else {(name, k): unknown for name, count in counts for k in range(count)}
        )
        self._restoration = Restoration(self._ends, settings.rate)
        of_members = group.before if group.ends is not None else [each._replace(offsets=None) for each in group.before]
        self._restoration.read_state(of_members)
        self._owners = active_stateful(group, group.before)
        """By active stateful task, the process that had it when the members last were stable."""
        self._moves: list[Move] = []
        self._error: str | None = None
        self._probing_rebalances = 0
        self.is_probing = False
        """Whether a probing rebalance follows."""
        self.rejoins = False
        """Whether a member joins again at once."""

    @property
    def is_timed(self) -> bool:
        """Whether it is known how long state is restored."""
        return self._group.ends is not None and self._settings.rate is not None and self._failure() is None

    def streams_group(self, kafka: KafkaVersion) -> StreamsGroup:
        """Return the application as its leader sees it when all members join again."""
        partitions = self._topology.tasks(kafka.kafka_streams)
        newest = {name: of.supported_version or kafka.streams_protocol for name, of in self._now.items()}
        version = min(kafka.streams_protocol, *newest.values())
        topics = tuple(sorted(self._topology.partitions))
        members = {}
        for name, member in self._now.items():
            owned = [part for task in member.active for part in sorted(partitions[_task_id(task)])]
            info = SubscriptionInfo(version, self._processes[name], newest[name], self._offset_sums(member))
            members[name] = Subscription(topics, encode_subscription_info(info), tuple(owned))
        leader = next(iter(self._processes.values()))
        ends = {_task_id(task): end for task, end in self._ends.items()}
        return StreamsGroup(members, leader, self._topology, ends, self._configs)

    def _offset_sums(self, member: Member) -> dict[TaskId, int]:
        """Return what a member sends of its stateful tasks; the first of a process also sends those revoked from it."""
        process, tasks = member.process_id, [*member.active, *member.standby]
        of_process = [each for each in self._now.values() if each.process_id == process]
        if member.member_id == min(each.member_id for each in of_process):
            has = {task for each in of_process for task in (*each.active, *each.standby)}
            tasks += sorted(set(self._restoration.tasks_with_state(process)) - has, key=_task_id)
        left = {task: self._restoration.left(process, task) for task in tasks if task in self._ends}
        sums = {_task_id(task): self._ends[task] - amount for task, amount in left.items()}
        return sums | {_task_id(task): LATEST_OFFSET for task in member.active if left.get(task) == 0}

    def take(self, answer: GroupAnswer) -> None:
        """Let the members have what the leader sends."""
        self._error = _failure(answer)
        if self._error is not None:
            self.rejoins = self.is_probing = False
            return
        for name, sent in answer.members.items():
            active, standby = sorted(set(sent.info.active_tasks)), sorted(sent.info.standby_tasks)
            self._now[name] = self._now[name]._replace(active=_tasks(active), standby=_tasks(standby))
        times = {sent.info.next_rebalance_ms for sent in answer.members.values()}
        self.rejoins = 0 in times
        self.is_probing = bool(times - {0, NO_REBALANCE})

    def begin(self) -> None:
        """Let the members run the tasks that they have after a rebalance."""
        if self._failure() is not None:
            return
        members = list(self._now.values())
        self._restoration.begin(members)
        self._moves += moves(self._owners, members, self._restoration.now_ms)
        self._owners |= active_stateful(self._group, members)

    def wait_for_probing(self) -> None:
        """Let the members restore state until a thread of the leader's process joins again."""
        until = self._restoration.now_ms + self._settings.probing_interval_ms
        self._restoration.run(list(self._now.values()), until)
        self._probing_rebalances += 1

    def _failure(self) -> str | None:
        return _NOT_STABLE if self.rejoins else self._error

    def assigned(self) -> Assigned:
        """Return the tasks of each member."""
        error = self._failure()
        if error is not None:
            none: list[list[Task]] = [[] for _ in self._now]
            return Assigned(none, none, error)
        members = self._now.values()
        return Assigned(
            [member.active for member in members], [member.standby for member in members], probing=self.is_probing
        )

    def with_moves(self, first: Assigned) -> Assigned:
        """Add what is known of the state of tasks, and the moves of the rebalances after the first."""
        if first.error is not None:
            return first
        is_timed = self.is_timed
        if is_timed:
            self._restoration.run(list(self._now.values()))
        return replace(
            first,
            restored=self._restoration.restored() if self._group.ends is not None else None,
            moves=self._moves,
            is_timed=is_timed,
            probing_rebalances=self._probing_rebalances if is_timed and not self.is_probing else None,
        )


def _failure(answer: GroupAnswer) -> str | None:
    """Return why there is no certain answer."""
    if answer.failure:
        return f"the leader's assignment ends with an exception: {answer.failure}"
    if answer.is_random or answer.is_uncertain:
        return "ties are broken in an order that is not modelled"
    return None


def _process_id(member: Member) -> UUID:
    """Return the id of a member's process; ValueError if it is not a UUID."""
    new = member.process_id.removeprefix(NEW_PROCESS)
    return UUID(member.process_id) if new == member.process_id else UUID(int=_NEW_PROCESSES + int(new))


def _task_id(task: Task) -> TaskId:
    return TaskId(int(task[0]), task[1])


def _tasks(of: Sequence[TaskId]) -> list[Task]:
    return [(str(task.subtopology), task.partition) for task in of]


def _release(name: str) -> tuple[int, ...]:
    return tuple(map(int, name.split(".")[:2]))
