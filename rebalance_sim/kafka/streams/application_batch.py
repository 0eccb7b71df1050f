"""Make the arrays of ``Applications`` from descriptions of applications."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import numpy as np

from rebalance_sim.kafka.runtime.hash_order import java_order, java_table_size
from rebalance_sim.kafka.runtime.lists import list_offsets
from rebalance_sim.kafka.runtime.strings import Ints, Ints32, java_key
from rebalance_sim.kafka.streams.applications import (
    ABSENT,
    ACTIVE,
    STANDBY,
    Applications,
    Racks,
    Settings,
    Tags,
    task_id_hash,
)
from rebalance_sim.kafka.streams.racks import STRATEGIES
from rebalance_sim.kafka.wire.streams_protocol import TaskId
from rebalance_sim.releases import KafkaStreamsRules

_SIGNS = 1 << 127 | 1 << 63
"""The signs of the halves of a process id: with both inverted, ids sort as numbers without signs."""


@dataclass(frozen=True)
class Client:
    """A process of an application, as the assignor sees it (``ClientState``)."""

    process: UUID
    consumers: Mapping[str, Iterable[TaskId]]
    """By member id, the stateful tasks whose offsets the consumer sent, active and standby."""
    previous_active: frozenset[TaskId] = frozenset()
    previous_standby: frozenset[TaskId] = frozenset()
    lags: Mapping[TaskId, int] = field(default_factory=dict)
    """Of every stateful task."""
    tags: Mapping[str, str] = field(default_factory=dict)
    rack: str | None = None
    """The rack of its consumers; None if they have none, or not the same."""


@dataclass(frozen=True)
class AssignmentConfigs:
    """The settings by which a leader assigns tasks, with Kafka's defaults."""

    acceptable_recovery_lag: int = 10_000
    max_warmup_replicas: int = 2
    num_standby_replicas: int = 0
    rack_aware_tags: tuple[str, ...] = ()
    traffic_cost: int | None = None
    non_overlap_cost: int | None = None
    strategy: str = "none"


@dataclass(frozen=True)
class PartitionRacks:
    """The racks of the brokers with replicas of each task's partitions; None if one of them has no rack."""

    sources: Mapping[TaskId, Sequence[frozenset[str] | None]] = field(default_factory=dict)
    changelogs: Mapping[TaskId, Sequence[frozenset[str] | None]] = field(default_factory=dict)
    """By stateful task."""


@dataclass(frozen=True)
class TaskAssignment:
    """An application whose tasks are to be assigned."""

    clients: Sequence[Client]
    """In the order in which the assignor's map of clients is filled."""
    tasks: Sequence[TaskId]
    """In the order in which the map of tasks is filled."""
    stateful: Sequence[TaskId]
    """In the order in which the set of stateful tasks is filled."""
    configs: AssignmentConfigs = field(default_factory=AssignmentConfigs)
    racks: PartitionRacks = field(default_factory=PartitionRacks)

    def sorted_clients(self) -> list[Client]:
        """Return the clients as ``Applications`` numbers them: the order of ``UUID.compareTo``, of signed halves."""
        return sorted(self.clients, key=lambda client: client.process.int ^ _SIGNS)

    def sorted_tasks(self) -> list[TaskId]:
        """Return the tasks as ``Applications`` numbers them."""
        return sorted(self.tasks)


def applications(assignments: Sequence[TaskAssignment], rules: KafkaStreamsRules) -> Applications:
    """Return a batch of applications."""
    made = [_Arrays(assignment, rules) for assignment in assignments]
    consumers = [ids for arrays in made for ids in arrays.consumers]
    previous = [tasks for ids in consumers for tasks in ids]
    configs = [assignment.configs for assignment in assignments]
    return Applications(
        _offsets(len(arrays.clients) for arrays in made),
        _joined((arrays.client_hashes for arrays in made), np.int64),
        _joined((arrays.client_order for arrays in made), np.int32),
        _offsets(map(len, consumers)),
        _offsets(map(len, previous)),
        _joined(previous, np.int32),
        _offsets(len(arrays.tasks) for arrays in made),
        _joined(([task.subtopology for task in arrays.tasks] for arrays in made), np.int32),
        _joined(([task.partition for task in arrays.tasks] for arrays in made), np.int32),
        _joined((arrays.stateful for arrays in made), np.bool_),
        _joined((arrays.task_order for arrays in made), np.int32),
        _joined((arrays.stateful_order for arrays in made), np.int32),
        np.concatenate([[0], np.cumsum([arrays.lags.size for arrays in made])]).astype(np.int64),
        _joined((arrays.lags.ravel() for arrays in made), np.int64),
        _joined((arrays.previous_states.ravel() for arrays in made), np.uint8),
        np.array([arrays.unknown_previous for arrays in made], np.int32),
        _settings(configs),
        _tags(assignments, rules),
        _racks(assignments, rules),
    )


class _Arrays:
    """The arrays of an application."""

    def __init__(self, assignment: TaskAssignment, rules: KafkaStreamsRules) -> None:
        self.clients, self.tasks = assignment.sorted_clients(), assignment.sorted_tasks()
        self.numbers = {task: k for k, task in enumerate(self.tasks)}
        self.client_hashes = np.array([uuid_hash(client.process) for client in self.clients], np.int64)
        of_process = {client.process: k for k, client in enumerate(self.clients)}
        self.client_order = _hash_order(self.client_hashes, [of_process[each.process] for each in assignment.clients])
        hashes = np.array([task_id_hash(task.subtopology, task.partition, int(rules)) for task in self.tasks], np.int64)
        self.task_order = _hash_order(hashes, [self.numbers[task] for task in assignment.tasks])
        of_stateful = _hash_order(hashes, [self.numbers[task] for task in assignment.stateful])
        self.stateful_order = np.zeros(len(self.tasks), np.int32)
        self.stateful_order[: len(of_stateful)] = of_stateful
        self.stateful = np.zeros(len(self.tasks), np.bool_)
        self.stateful[of_stateful] = True
        self.consumers = [self._consumers(client) for client in self.clients]
        self.lags = np.zeros((len(self.clients), len(self.tasks)), np.int64)
        self.previous_states = np.zeros((len(self.clients), len(self.tasks)), np.uint8)
        for k, client in enumerate(self.clients):
            for task, lag in client.lags.items():
                self.lags[k, self.numbers[task]] = lag
            for state, tasks in ((STANDBY, client.previous_standby), (ACTIVE, client.previous_active)):
                self.previous_states[k, self._numbered(tasks)] = state
        unknown = {task for client in self.clients for task in client.previous_active} - self.numbers.keys()
        self.unknown_previous = len(unknown)

    def _consumers(self, client: Client) -> list[list[int]]:
        sent = (self._numbered(client.consumers[member]) for member in sorted(client.consumers, key=java_key))
        return [[number for number in numbers if self.stateful[number]] for numbers in sent]

    def _numbered(self, tasks: Iterable[TaskId]) -> list[int]:
        """Return the numbers of the tasks that exist."""
        return [self.numbers[task] for task in tasks if task in self.numbers]


def _hash_order(hashes: Ints, put: list[int]) -> Ints32:
    return java_order(hashes, np.array(put, np.int32), java_table_size(len(put)))


def uuid_hash(process: UUID) -> int:
    """Return ``UUID.hashCode`` as an unsigned 32-bit number.

    >>> uuid_hash(UUID("00000001-0000-0002-0000-000400000008"))
    15
    """
    halves = (process.int >> 64) ^ (process.int & 0xFFFFFFFFFFFFFFFF)
    return (halves >> 32) ^ (halves & 0xFFFFFFFF)


def _settings(configs: Sequence[AssignmentConfigs]) -> Settings:
    def costs(of: Iterable[int | None]) -> Ints32:
        return np.array([ABSENT if cost is None else cost for cost in of], np.int32)

    return Settings(
        np.array([config.acceptable_recovery_lag for config in configs], np.int64),
        np.array([config.max_warmup_replicas for config in configs], np.int32),
        np.array([config.num_standby_replicas for config in configs], np.int32),
        np.array([STRATEGIES.index(config.strategy) for config in configs], np.int32),
        costs(config.traffic_cost for config in configs),
        costs(config.non_overlap_cost for config in configs),
    )


def _tags(assignments: Sequence[TaskAssignment], rules: KafkaStreamsRules) -> Tags:
    takes_tags = rules >= KafkaStreamsRules.MOST_CAUGHT_UP
    keys, configured, values = [], [], []
    for assignment in assignments:
        clients = assignment.sorted_clients()
        named = sorted({key for client in clients for key in client.tags})
        keys.append(len(named))
        configured += [key in assignment.configs.rack_aware_tags for key in named]
        columns = []
        for key in named:
            numbers: dict[str, int] = {}
            columns.append([_number(numbers, client.tags.get(key)) for client in clients])
        values.append(np.array(columns, np.int32).reshape(len(named), len(clients)).T.ravel())
    places = np.concatenate([[0], np.cumsum(list(map(len, values)))])[:-1].astype(np.int64)
    aware = np.array([takes_tags and bool(one.configs.rack_aware_tags) for one in assignments], np.bool_)
    return Tags(_offsets(keys), np.array(configured, np.bool_), aware, places, _joined(values, np.int32))


def _racks(assignments: Sequence[TaskAssignment], rules: KafkaStreamsRules) -> Racks:
    enabled = [rules >= KafkaStreamsRules.RACKS and _knows_racks(assignment) for assignment in assignments]
    of_clients: list[int] = []
    misses, changelog_misses = [], []
    for assignment, is_enabled in zip(assignments, enabled, strict=True):
        clients, numbers = assignment.sorted_clients(), dict[str, int]()
        of_clients += [_number(numbers, client.rack) for client in clients]
        misses.append(_misses(assignment, assignment.racks.sources) if is_enabled else np.empty(0, np.int32))
        of_changelogs = is_enabled and assignment.configs.num_standby_replicas > 0
        known = assignment.racks.changelogs if of_changelogs else {}
        changelog_misses.append(_misses(assignment, known) if is_enabled else np.empty(0, np.int32))
    places = np.concatenate([[0], np.cumsum(list(map(len, misses)))])[:-1].astype(np.int64)
    of_partitions = (_joined(counts, np.int32) for counts in (misses, changelog_misses))
    return Racks(np.array(enabled, np.bool_), np.array(of_clients, np.int32), places, *of_partitions)


def _knows_racks(assignment: TaskAssignment) -> bool:
    """Return whether racks count: all of them have to be known, those of changelogs only with standby tasks."""
    configs, racks = assignment.configs, assignment.racks
    if configs.strategy == STRATEGIES[0] or any(client.rack is None for client in assignment.clients):
        return False
    of_tasks = [*racks.sources.values(), *(racks.changelogs.values() if configs.num_standby_replicas else ())]
    return all(known for partitions in of_tasks for known in partitions)


def _misses(assignment: TaskAssignment, racks: Mapping[TaskId, Sequence[frozenset[str] | None]]) -> Ints32:
    """Return how many partitions of each task have no replica in the rack of each client."""
    counts = [
        sum(client.rack not in known for known in racks.get(task, ()) if known is not None)
        for client in assignment.sorted_clients()
        for task in assignment.sorted_tasks()
    ]
    return np.array(counts, np.int32)


def _number(numbers: dict[str, int], value: str | None) -> int:
    return ABSENT if value is None else numbers.setdefault(value, len(numbers))


def _offsets(lengths: Iterable[int]) -> Ints32:
    return list_offsets(np.array(list(lengths), np.int64))


def _joined(parts: Iterable[Any], kind: type) -> Any:
    """Return the numbers of several lists or arrays in one array."""
    arrays: list[Any] = [np.asarray(part, kind) for part in parts]
    return np.concatenate(arrays) if arrays else np.empty(0, kind)
