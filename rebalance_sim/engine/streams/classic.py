"""Assigns the tasks of classic applications of Kafka Streams: what their leaders send, until no member rejoins at once.

Unknown are the offsets of changelog topics, so members count as caught up with the stateful tasks that they have, and
have no state of other tasks. A task that a member has to revoke first is assigned in a rebalance that follows at once;
its state stays on the disk of the process until then.
"""

from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

from rebalance_sim.engine.streams.application import NEW_PROCESS, Application, Assigned, Member, Task
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

CAUGHT_UP = 1_000_000
"""The offset sum of each stateful task, by which processes without its state lag: more than acceptable.recovery.lag."""
_FIRST_RELEASE = (2, 6)
"""The oldest release whose rules are known: those of KIP-441."""
_OLDEST_VERSION = 8
"""The version of the user data of that release."""
_CHANGELOG = "changelog"
"""Names of changelog topics decide nothing without racks."""
_MOST_REBALANCES = 10
_NOT_STABLE = f"members still rejoin after {_MOST_REBALANCES} rebalances"
_PROBING_AT = 1
"""The time of a probing rebalance; any that is neither at once nor never."""
_NEW_PROCESSES = UUID("7fffffff-ffff-4fff-bfff-000000000000").int
"""Ids of new processes follow: Kafka Streams draws them at random."""

NO_TOPOLOGY = (
    "no topology: give --subtopologies with a row for each subtopology (group_id, subtopology, topics, stateful), as "
    "Topology.describe() prints them"
)

ASSUMED_OF_CLASSIC = (
    "members of classic applications are caught up with the stateful tasks that they have, and have no other state; "
    "all changelogs exceed acceptable.recovery.lag, and rack.aware.assignment.* and task.assignor.class are not set"
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


def assign_applications(groups: Sequence[Application], kafka: KafkaVersion, warmup_replicas: int) -> list[Assigned]:
    """Return the assignment of each application after its next rebalance, and those that follow at once."""
    members = [_Members(group, AssignmentConfigs(max_warmup_replicas=warmup_replicas)) for group in groups]
    waiting = members
    for _ in range(_MOST_REBALANCES):
        answers = assign_groups([each.streams_group(kafka) for each in waiting], kafka, _PROBING_AT)
        for each, answer in zip(waiting, answers, strict=True):
            each.take(answer)
        waiting = [each for each in waiting if each.rejoins]
        if not waiting:
            break
    return [each.assigned() for each in members]


class _Members:
    """The members of an application between two rebalances."""

    def __init__(self, group: Application, configs: AssignmentConfigs) -> None:
        self._group = group
        self._configs = replace(configs, num_standby_replicas=group.standby_replicas)
        parts = [
            Subtopology(int(name), tuple(topics), (_CHANGELOG,) if group.subtopologies[name][1] else ())
            for name, topics in group.sources.items()
        ]
        partitions = {topic: count for topics in group.sources.values() for topic, count in topics.items()}
        self._topology = Topology(parts, partitions)
        self._stateful = {part.number for part in parts if part.changelogs}
        self._processes = {member.member_id: _process_id(member) for member in group.members}
        self._active = {member.member_id: _task_ids(member.active) for member in group.members}
        self._standby = {member.member_id: _task_ids(member.standby) for member in group.members}
        self._complete = {process: self._stateful_tasks(process) for process in self._processes.values()}
        """The tasks of which a process has all state on its disk; what it starts to restore is not complete at once."""
        self._error: str | None = None
        self._probing = False
        self.rejoins = False
        """Whether a member joins again at once."""

    def streams_group(self, kafka: KafkaVersion) -> StreamsGroup:
        """Return the application as its leader sees it when all members join again."""
        partitions = self._topology.tasks(kafka.kafka_streams)
        newest = [member.supported_version or kafka.streams_protocol for member in self._group.members]
        version = min(kafka.streams_protocol, *newest)
        topics = tuple(sorted(self._topology.partitions))
        members = {}
        for member, supported in zip(self._processes, newest, strict=True):
            owned = [part for task in self._active[member] for part in sorted(partitions[task])]
            info = SubscriptionInfo(version, self._processes[member], supported, self._offset_sums(member))
            members[member] = Subscription(topics, encode_subscription_info(info), tuple(owned))
        ends = dict.fromkeys((task for task in partitions if task.subtopology in self._stateful), CAUGHT_UP)
        leader = next(iter(self._processes.values()))
        return StreamsGroup(members, leader, self._topology, ends, self._configs)

    def _offset_sums(self, member: str) -> dict[TaskId, int]:
        """Return what a member sends of its stateful tasks; the first of a process also sends those revoked from it."""
        process = self._processes[member]
        complete = self._complete[process]
        is_first = member == min(name for name, of in self._processes.items() if of == process)
        revoked = sorted(complete - self._stateful_tasks(process)) if is_first else []
        tasks = [*self._active[member], *self._standby[member], *revoked]
        sums = {task: CAUGHT_UP if task in complete else 0 for task in tasks if task.subtopology in self._stateful}
        return sums | {task: LATEST_OFFSET for task in self._active[member] if task in complete}

    def _stateful_tasks(self, process: UUID) -> set[TaskId]:
        """Return the stateful tasks that a process has, active and standby."""
        members = [member for member, of in self._processes.items() if of == process]
        tasks = {task for member in members for task in (*self._active[member], *self._standby[member])}
        return {task for task in tasks if task.subtopology in self._stateful}

    def take(self, answer: GroupAnswer) -> None:
        """Let the members have what the leader sends."""
        self._error = _failure(answer)
        if self._error is not None:
            self.rejoins = False
            return
        for member, sent in answer.members.items():
            self._active[member] = tuple(sorted(set(sent.info.active_tasks)))
            self._standby[member] = tuple(sorted(sent.info.standby_tasks))
        times = {sent.info.next_rebalance_ms for sent in answer.members.values()}
        self.rejoins = 0 in times
        self._probing = bool(times - {0, NO_REBALANCE})

    def assigned(self) -> Assigned:
        """Return the tasks of each member."""
        error = _NOT_STABLE if self.rejoins else self._error
        if error is not None:
            none: list[list[Task]] = [[] for _ in self._processes]
            return Assigned(none, none, error)
        active, standby = (
            [[(str(task.subtopology), task.partition) for task in of[member]] for member in self._processes]
            for of in (self._active, self._standby)
        )
        return Assigned(active, standby, probing=self._probing)


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


def _task_ids(tasks: Sequence[Task]) -> tuple[TaskId, ...]:
    return tuple(TaskId(int(name), partition) for name, partition in tasks)


def _release(name: str) -> tuple[int, ...]:
    return tuple(map(int, name.split(".")[:2]))
