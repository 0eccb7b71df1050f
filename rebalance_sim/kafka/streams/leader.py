"""``StreamsPartitionAssignor.assign``: what the leader of an application sends to its members.

It reads the members' subscriptions, lets a task assignor distribute the tasks over processes, distributes the tasks of
each process over its threads, and withholds tasks that another thread has to revoke first.

Two things are not a function of the inputs. A member that uses a newer version of the protocol than the leader counts
as a member of a process with a random id (``FUTURE_ID``). And ``probing_at`` is the leader's clock plus
``probing.rebalance.interval.ms``.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

import numpy as np

from rebalance_sim.kafka.runtime.strings import Strings, java_hashes, java_key
from rebalance_sim.kafka.streams.application_batch import (
    AssignmentConfigs,
    Client,
    PartitionRacks,
    TaskAssignment,
    applications,
    uuid_hash,
)
from rebalance_sim.kafka.streams.applications import ACTIVE, STANDBY, Applications, TaskAssignments, hash_map_order
from rebalance_sim.kafka.streams.assignors import FALLBACK_PRIOR, HIGH_AVAILABILITY, STICKY, assign_tasks
from rebalance_sim.kafka.streams.threads import ThreadAssignments, assign_threads
from rebalance_sim.kafka.streams.topology import Topology
from rebalance_sim.kafka.wire.consumer_protocol import Subscription, TopicPartition
from rebalance_sim.kafka.wire.readable import SchemaError
from rebalance_sim.kafka.wire.streams_protocol import (
    LATEST_OFFSET,
    NO_REBALANCE,
    UNKNOWN_OFFSET_SUM,
    AssignmentInfo,
    Host,
    SubscriptionInfo,
    TaskId,
    decode_subscription_info,
)
from rebalance_sim.releases import KafkaStreamsRules, KafkaVersion

_END_POINT = re.compile(r".*?\[?([\w%.:-]*)\]?:(\d+)", re.ASCII)
INCOMPLETE_SOURCE_TOPIC_METADATA, SHUTDOWN_REQUESTED = 1, 4
"""Codes of ``AssignorError``: source topics do not exist, and a member asked all others to shut down (KIP-671)."""


@dataclass(frozen=True)
class StreamsGroup:
    """An application at the moment when its leader assigns."""

    members: Mapping[str, Subscription]
    """By member id, in the order of the coordinator's list; their user data is that of Kafka Streams."""
    leader: UUID
    """The leader's process, of which a thread triggers probing rebalances."""
    topology: Topology
    end_offset_sums: Mapping[TaskId, int] | None
    """By stateful task, the sum of its changelogs' end offsets; None if they cannot be fetched.

    Partitions of changelogs that have just been created count as 0."""
    configs: AssignmentConfigs = field(default_factory=AssignmentConfigs)
    assignor: str = HIGH_AVAILABILITY
    racks: Mapping[TopicPartition, frozenset[str] | None] = field(default_factory=dict)
    """By source and changelog partition, the racks of its replicas; None if one of them has no rack."""


@dataclass(frozen=True)
class MemberAnswer:
    """What the leader sends to a member."""

    partitions: tuple[TopicPartition, ...]
    info: AssignmentInfo


@dataclass(frozen=True)
class GroupAnswer:
    """What the leader sends to the members."""

    members: Mapping[str, MemberAnswer] = field(default_factory=dict)
    failure: str = ""
    """Why the leader's assignment ends with an exception, if it does; no member then gets an answer."""
    is_random: bool = False
    """Whether it depends on a random process id; then there are no answers either."""
    is_uncertain: bool = False
    """Whether ties are broken by a hash table with trees, whose order is not modelled."""


def assign_groups(groups: Sequence[StreamsGroup], kafka: KafkaVersion, probing_at: int) -> list[GroupAnswer]:
    """Return what leaders of this release send; ``probing_at`` is the time of a probing rebalance, in milliseconds."""
    leaders = [_Leader(group, kafka) for group in groups]
    for assignor in (HIGH_AVAILABILITY, STICKY, FALLBACK_PRIOR):
        _assign_batch([leader for leader in leaders if leader.assignor == assignor], assignor, kafka.kafka_streams)
    return [leader.answer(probing_at) for leader in leaders]


def _assign_batch(leaders: list["_Leader"], assignor: str, rules: KafkaStreamsRules) -> None:
    """Let a task assignor assign the tasks of all applications that use it."""
    if not leaders:
        return
    batch = applications([leader.assignment for leader in leaders], rules)
    tasks = assign_tasks(assignor, batch, rules)
    threads = assign_threads(batch, tasks.states, int(rules))
    for a, leader in enumerate(leaders):
        leader.take(batch, a, tasks, threads)


@dataclass
class _Process:
    """A process of the application, as the leader gets to know it (``ClientMetadata``)."""

    info: SubscriptionInfo
    """What its first member sent."""
    offset_sums: dict[str, Mapping[TaskId, int]] = field(default_factory=dict)
    """By member id."""
    owners: dict[TopicPartition, str] = field(default_factory=dict)
    """By partition, the member that owns it."""
    active: dict[str, list[TaskId]] = field(default_factory=dict)
    """By member, its tasks in the order in which it got them."""
    standby: dict[str, list[TaskId]] = field(default_factory=dict)


class _Leader:
    """The leader of an application."""

    def __init__(self, group: StreamsGroup, kafka: KafkaVersion) -> None:
        self._group, self._kafka = group, kafka
        self._infos: dict[str, SubscriptionInfo] = {}
        self._probing = self._is_uncertain = False
        self.assignor = ""
        """The task assignor to ask, or empty if the answer is known without."""
        self._known = self._known_answer()
        if self._known:
            return
        self._partitions = group.topology.tasks(kafka.kafka_streams)
        self._task_of = {part: task for task, partitions in self._partitions.items() for part in partitions}
        stateful = group.topology.stateful_tasks(kafka.kafka_streams)
        self._stateful = frozenset(stateful)
        self._processes = self._read_processes()
        owned = [process.owners for process in self._processes.values() if process.owners]
        self._owned = set().union(*owned)
        if any(self._task_of.keys().isdisjoint(owners) for owners in owned):
            # Kafka relies on some partition of each process to belong to a task, if it owns any.
            self._known = GroupAnswer(failure="IllegalStateException")
            return
        clients = [self._client(process_id, process) for process_id, process in self._processes.items()]
        tasks = list(self._partitions)
        self.assignment = TaskAssignment(clients, tasks, stateful, group.configs, self._racks(stateful))
        # Without changelogs, nothing is fetched that may fail.
        has_ends = group.end_offset_sums is not None or not stateful
        self.assignor = group.assignor if has_ends or group.assignor == STICKY else FALLBACK_PRIOR

    def _known_answer(self) -> GroupAnswer | None:
        """Read the subscriptions, and return the answer if no task has to be assigned for it."""
        try:
            ids = list(self._group.members)
            # In the order of the leader's ``HashMap`` of subscriptions.
            for member in (ids[k] for k in hash_map_order(java_hashes(Strings.of(ids)))):
                data = self._group.members[member].user_data or b""
                self._infos[member] = decode_subscription_info(data, self._kafka.streams_protocol)
                _host(self._infos[member].user_end_point)
        except SchemaError as problem:
            return GroupAnswer(failure=str(problem))
        if any(info.version > self._kafka.streams_protocol for info in self._infos.values()):
            return GroupAnswer(is_random=True)
        if any(info.error_code == SHUTDOWN_REQUESTED for info in self._infos.values()):
            return self._error(SHUTDOWN_REQUESTED)
        return self._error(INCOMPLETE_SOURCE_TOPIC_METADATA) if self._group.topology.missing_topics() else None

    def _error(self, code: int) -> GroupAnswer:
        version = self._kafka.streams_protocol
        answer = MemberAnswer((), AssignmentInfo(version, version, error_code=code))
        return GroupAnswer(dict.fromkeys(self._infos, answer))

    def _read_processes(self) -> dict[UUID, _Process]:
        """Return the processes in the iteration order of their ``HashMap``."""
        processes: dict[UUID, _Process] = {}
        for member, info in self._infos.items():
            process = processes.setdefault(info.process, _Process(info))
            process.offset_sums[member] = info.offset_sums
            process.owners |= dict.fromkeys(self._group.members[member].owned or (), member)
        ids = list(processes)
        return {ids[k]: processes[ids[k]] for k in hash_map_order(map(uuid_hash, ids))}

    def _client(self, process_id: UUID, process: _Process) -> Client:
        """Return a process as task assignors see it (``ClientState``)."""
        sums = {task: offset for sent in process.offset_sums.values() for task, offset in sent.items()}
        active = {self._task_of[part] for part in process.owners if part in self._task_of}
        rest = {task: offset for task, offset in sums.items() if task not in active}
        standby = frozenset(task for task, offset in rest.items() if offset != LATEST_OFFSET)
        previous = frozenset(active | (rest.keys() - standby)), standby
        lags = {task: self._lag(task, sums.get(task, 0)) for task in self._stateful}
        racks = {self._group.members[member].rack for member in process.offset_sums}
        rack = racks.pop() if len(racks) == 1 else None
        return Client(process_id, process.offset_sums, *previous, lags, process.info.client_tags, rack)

    def _racks(self, stateful: list[TaskId]) -> PartitionRacks:
        """Return the racks of the partitions of all tasks."""
        racks, topology = self._group.racks, self._group.topology
        changelogs = {part.number: part.changelogs for part in topology.subtopologies}
        return PartitionRacks(
            {task: [racks.get(part) for part in partitions] for task, partitions in self._partitions.items()},
            {
                task: [racks.get(TopicPartition(topic, task.partition)) for topic in changelogs[task.subtopology]]
                for task in stateful
            },
        )

    def _lag(self, task: TaskId, offset_sum: int) -> int:
        """Return the lag of a task (``computeTaskLags``); an offset beyond the end counts as no state at all."""
        ends = self._group.end_offset_sums
        end = UNKNOWN_OFFSET_SUM if ends is None else ends[task]
        is_sentinel = offset_sum in (LATEST_OFFSET, UNKNOWN_OFFSET_SUM)
        if is_sentinel and (self._kafka.kafka_streams >= KafkaStreamsRules.LAG_SENTINELS or end >= offset_sum):
            return offset_sum
        return end if end < offset_sum else end - offset_sum

    def take(self, batch: Applications, a: int, tasks: TaskAssignments, threads: ThreadAssignments) -> None:
        """Take over what the task assignor decided about application ``a`` of a batch."""
        self._probing = bool(tasks.probing[a])
        self._is_uncertain = bool(tasks.uncertain[a] or threads.uncertain[a])
        numbered = self.assignment.sorted_tasks()
        for k, client in enumerate(self.assignment.sorted_clients()):
            row = slice(batch.cells[a] + k * len(numbered), batch.cells[a] + (k + 1) * len(numbered))
            states, consumers, places = tasks.states[row], threads.consumers[row], threads.places[row]
            members = sorted(client.consumers, key=java_key)
            process = self._processes[client.process]
            process.active, process.standby = {member: [] for member in members}, {member: [] for member in members}
            for t in np.lexsort((places, consumers)):
                if states[t] == ACTIVE:
                    process.active[members[consumers[t]]].append(numbered[t])
                elif states[t] >= STANDBY:
                    process.standby[members[consumers[t]]].append(numbered[t])

    def answer(self, probing_at: int) -> GroupAnswer:
        """Return what the members receive."""
        if self._known:
            return self._known
        if any(map(self._fails, self._processes.values())):
            return GroupAnswer(failure="IllegalStateException")
        hosts = self._hosts()
        answers: dict[str, MemberAnswer] = {}
        for process_id, process in self._processes.items():
            next_probing = probing_at if self._probing and process_id == self._group.leader else NO_REBALANCE
            for member in process.active:
                answers[member] = self._member_answer(process_id, member, next_probing, hosts)
                # One thread triggers the probing rebalance, unless one before it has to join again at once.
                if answers[member].info.next_rebalance_ms != NO_REBALANCE:
                    next_probing = NO_REBALANCE
        return GroupAnswer(answers, is_uncertain=self._is_uncertain)

    def _fails(self, process: _Process) -> bool:
        """Return whether a thread sent a task that has no lag, which releases up to 3.0 look up."""
        if self._kafka.kafka_streams >= KafkaStreamsRules.KNOWN_TASKS:
            return False
        active = any(task in self._stateful for tasks in process.active.values() for task in tasks)
        sent = {task for sums in process.offset_sums.values() for task in sums}
        return (active or any(process.standby.values())) and not sent <= self._stateful

    def _member_answer(self, process_id: UUID, member: str, next_probing: int, hosts: "_Hosts") -> MemberAnswer:
        process = self._processes[process_id]
        kept: list[tuple[TopicPartition, TaskId]] = []
        waiting: list[TaskId] = []
        for task in process.active[member]:
            partitions = self._partitions[task]
            if any(part in self._owned and process.owners.get(part) != member for part in partitions):
                waiting.append(task)
            else:
                kept += [(part, task) for part in partitions]
        kept.sort(key=lambda pair: (java_key(pair[0].topic), pair[0].partition))
        standby = process.standby[member] + [task for task in waiting if self._waits_as_standby(process_id, task)]
        infos = self._infos.values()
        info = AssignmentInfo(
            min(info.version for info in infos),
            min(self._kafka.streams_protocol, *(info.latest_supported_version for info in infos)),
            tuple(task for _, task in kept),
            {task: self._partitions[task] for task in standby},
            *hosts,
            next_rebalance_ms=0 if waiting else next_probing,
        )
        return MemberAnswer(tuple(part for part, _ in kept), info)

    def _waits_as_standby(self, process_id: UUID, task: TaskId) -> bool:
        """Return whether a task that another thread has to revoke is a standby task until then."""
        if task not in self._stateful:
            return False
        if self._kafka.kafka_streams < KafkaStreamsRules.OWNED_STANDBYS:
            return True
        return any(each.process == process_id and task in each.previous_standby for each in self.assignment.clients)

    def _hosts(self) -> "_Hosts":
        """Return the partitions of each end point, active and standby; of equal ones, the last process counts."""
        active: dict[Host, frozenset[TopicPartition]] = {}
        standby: dict[Host, frozenset[TopicPartition]] = {}
        for process in self._processes.values():
            host = _host(process.info.user_end_point)
            if host:
                active[host] = self._partitions_of(process.active.values())
                standby[host] = self._partitions_of(process.standby.values())
        return active, standby

    def _partitions_of(self, shares: Iterable[list[TaskId]]) -> frozenset[TopicPartition]:
        return frozenset(part for tasks in shares for task in tasks for part in self._partitions[task])


_Hosts = tuple[dict[Host, frozenset[TopicPartition]], dict[Host, frozenset[TopicPartition]]]


def _host(end_point: str | None) -> Host | None:
    """Return the host and port of an end point (``HostInfo.buildFromEndpoint``); SchemaError if it has none.

    >>> _host("http://[::1]:8080")
    Host(host='::1', port=8080)
    """
    if not end_point or not end_point.strip():
        return None
    parts = _END_POINT.fullmatch(end_point)
    if parts is None:
        raise SchemaError(f"end point {end_point!r} has no host and port")
    return Host(parts[1], int(parts[2]))
