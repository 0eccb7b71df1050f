"""The leaders of Connect clusters, with the names of workers, connectors and tasks."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from rebalance_sim.kafka.connect.clusters import NO_CANDIDATE, Leader, Moves, Resources, Workers
from rebalance_sim.kafka.connect.incremental_cooperative import rebalance
from rebalance_sim.kafka.runtime.records import new_records, rows
from rebalance_sim.kafka.runtime.strings import Flags, Ints32, Strings, java_hashes, java_key
from rebalance_sim.kafka.wire.connect_protocol import EAGER, ConnectorTaskId
from rebalance_sim.releases import ConnectRules

DEFAULT_MAX_DELAY_MS = 300_000
"""Default of ``scheduled.rebalance.max.delay.ms``."""
NO_GENERATION = -1
_Name = TypeVar("_Name", str, ConnectorTaskId)


@dataclass(frozen=True)
class JoinedWorker:
    """A worker that has joined a rebalance, and what it runs, in the order in which it lists it."""

    member_id: str
    connectors: tuple[str, ...] = ()
    tasks: tuple[ConnectorTaskId, ...] = ()


class WorkerMoves(NamedTuple):
    """What a worker is assigned and revokes in a rebalance; with the protocol ``default``, all that it runs."""

    connectors: tuple[str, ...] = ()
    tasks: tuple[ConnectorTaskId, ...] = ()
    revoked_connectors: tuple[str, ...] = ()
    revoked_tasks: tuple[ConnectorTaskId, ...] = ()


@dataclass(frozen=True)
class Round:
    """A rebalance of a Connect cluster, as its leader sees it."""

    now_ms: int
    generation: int
    last_completed: int
    """The last generation of which the leader itself has got the assignment, or NO_GENERATION."""
    workers: Sequence[JoinedWorker]
    """In the order of the JoinGroup response."""
    connectors: Mapping[str, int]
    """The number of tasks of each configured connector."""
    protocol: str
    """The elected protocol: ``default``, ``compatible`` or ``sessioned``."""


@dataclass(frozen=True)
class Numbering(Generic[_Name]):
    """The connectors, or the tasks, of a cluster by their numbers, which are in the order in which Kafka sorts them."""

    names: Sequence[_Name] = ()
    numbers: Mapping[_Name, int] = field(default_factory=dict)

    @classmethod
    def of(cls, names: Iterable[_Name]) -> "Numbering[_Name]":
        """Number names."""
        ordered = sorted(names, key=_sort_key)
        return cls(ordered, {name: number for number, name in enumerate(ordered)})

    def flags(self, names: Iterable[_Name]) -> Flags:
        """Return which numbers have one of these names. Raises KeyError for a name without a number."""
        flags = np.zeros(len(self.names), np.bool_)
        flags[list(map(self.numbers.__getitem__, names))] = True
        return flags

    def named(self, flags: Flags) -> list[_Name]:
        """Return the names of the numbers that are set."""
        return [self.names[number] for number in np.flatnonzero(flags).tolist()]


@dataclass(frozen=True)
class Remembered(Generic[_Name]):
    """The connectors, or the tasks, that a leader remembers of its last rebalance."""

    numbering: Numbering[_Name]
    assigned: Flags
    """By number."""
    revoked: Flags

    @classmethod
    def of(cls, assigned: Iterable[_Name]) -> "Remembered[_Name]":
        """Return what a leader remembers that has assigned these, and revoked nothing."""
        numbering = Numbering.of(frozenset(assigned))
        none = np.zeros(len(numbering.names), np.bool_)
        return cls(numbering, ~none, none)


@dataclass
class ConnectLeader:
    """A worker that leads its cluster, and what it remembers of its rebalances (``IncrementalCooperativeAssignor``)."""

    rules: ConnectRules
    max_delay_ms: int = DEFAULT_MAX_DELAY_MS
    delay_ms: int = 0
    """The time after which the workers rebalance again; 0 if they do not."""
    scheduled_ms: int = 0
    may_revoke: bool = True
    revoked_before: bool = False
    revocations_in_a_row: int = 0
    generation: int = NO_GENERATION
    members: frozenset[str] = frozenset()
    candidates: list[str] = field(default_factory=list)
    """Workers that were idle while a rebalance was delayed, the earliest first."""
    connectors: Remembered[str] = field(default_factory=lambda: Remembered.of(()))
    tasks: Remembered[ConnectorTaskId] = field(default_factory=lambda: Remembered.of(()))

    def assign(self, this_round: Round) -> dict[str, WorkerMoves]:
        """Return the moves of each worker.

        >>> workers = [JoinedWorker("a"), JoinedWorker("b")]
        >>> first = Round(0, 1, NO_GENERATION, workers, {"sink": 2}, "sessioned")
        >>> moves = ConnectLeader(ConnectRules.WITHOUT_DELAY).assign(first)
        >>> moves["b"].tasks, moves["b"].connectors
        ((ConnectorTaskId(connector='sink', task=1),), ())
        """
        return assign_rounds([self], [this_round])[0]


def assign_rounds(leaders: Sequence[ConnectLeader], rounds: Sequence[Round]) -> list[dict[str, WorkerMoves]]:
    """Let the leaders of several clusters assign, each once; return the moves of their workers by member id."""
    answers: list[dict[str, WorkerMoves]] = [{} for _ in rounds]
    by_rules: dict[ConnectRules, list[int]] = {}
    for place, this_round in enumerate(rounds):
        if this_round.protocol == EAGER:
            answers[place] = _eager_moves(this_round)
        else:
            by_rules.setdefault(leaders[place].rules, []).append(place)
    for rules, places in by_rules.items():
        moves = _assign_incrementally([leaders[place] for place in places], [rounds[place] for place in places], rules)
        for place, of_cluster in zip(places, moves, strict=True):
            answers[place] = of_cluster
    return answers


def _eager_moves(this_round: Round) -> dict[str, WorkerMoves]:
    """Deal the sorted connectors, and then the sorted tasks, to the members in the order of their ids.

    ``EagerAssignor``: every rebalance stops everything and assigns it anew.
    """
    names = sorted(this_round.connectors, key=java_key)
    tasks = tasks_of({name: this_round.connectors[name] for name in names})
    members = sorted((worker.member_id for worker in this_round.workers), key=java_key)
    count = len(members)
    # The first task goes to the member after the one with the last connector.
    return {
        member: WorkerMoves(tuple(names[place::count]), tuple(tasks[(place - len(names)) % count :: count]))
        for place, member in enumerate(members)
    }


def _assign_incrementally(
    leaders: Sequence[ConnectLeader], rounds: Sequence[Round], rules: ConnectRules
) -> list[dict[str, WorkerMoves]]:
    clusters = NumberedClusters.of(leaders, rounds)
    both = clusters.rebalance(rules)
    _remember(leaders, rounds, clusters.workers, clusters.memory)
    lists = [_by_worker(moves.assigned_from, moves.assigned) for moves in both]
    lists += [_by_worker(moves.revoked_from, moves.revoked) for moves in both]
    answers = []
    bounds = pairwise(clusters.workers.offsets.tolist())
    numbered = zip(leaders, rounds, clusters.connectors, clusters.tasks, bounds, strict=True)
    for c, (leader, this_round, connectors, tasks, (first, end)) in enumerate(numbered):
        leader.connectors = connectors.after(clusters.arrays_of_connectors, c)
        leader.tasks = tasks.after(clusters.arrays_of_tasks, c)
        answer = {}
        of_workers = zip(this_round.workers, *(listed[first:end] for listed in lists), strict=True)
        for worker, new, new_tasks, old, old_tasks in of_workers:
            started = connectors.named(new), tasks.named(new_tasks)
            answer[worker.member_id] = WorkerMoves(*started, connectors.named(old), tasks.named(old_tasks))
        answers.append(answer)
    return answers


def _by_worker(offsets: Ints32, numbers: Ints32) -> list[list[int]]:
    listed = numbers[: offsets[-1]].tolist()
    return [listed[low:high] for low, high in pairwise(offsets.tolist())]


class _Numbered(NamedTuple, Generic[_Name]):
    """The connectors of a cluster, or its tasks, with their numbers."""

    remembered: Remembered[_Name]
    configured: Flags
    held: list[list[int]]
    """By worker."""

    def after(self, arrays: Resources, c: int) -> Remembered[_Name]:
        """Return what the leader of cluster c remembers after a rebalance."""
        low, high = arrays.offsets[c], arrays.offsets[c + 1]
        return Remembered(self.remembered.numbering, arrays.previous[low:high], arrays.revoked[low:high])

    def named(self, numbers: Sequence[int]) -> tuple[_Name, ...]:
        """Return the names of numbers."""
        names = self.remembered.numbering.names
        return tuple([names[number] for number in numbers])


@dataclass(frozen=True)
class NumberedClusters:
    """A batch of clusters before a rebalance: as arrays, and with the names of what is numbered there."""

    workers: Workers
    memory: Any
    """Records of ``Leader``."""
    connectors: Sequence[_Numbered[str]]
    tasks: Sequence[_Numbered[ConnectorTaskId]]
    arrays_of_connectors: Resources
    arrays_of_tasks: Resources

    @classmethod
    def of(cls, leaders: Sequence[ConnectLeader], rounds: Sequence[Round]) -> "NumberedClusters":
        """Number what the clusters have configured, remember or run."""
        pairs = list(zip(leaders, rounds, strict=True))
        connectors = [
            _numbered(leader.connectors, [*each.connectors], [worker.connectors for worker in each.workers])
            for leader, each in pairs
        ]
        tasks = [
            _numbered(leader.tasks, tasks_of(each.connectors), [worker.tasks for worker in each.workers])
            for leader, each in pairs
        ]
        arrays = _arrays(connectors), _arrays(tasks)
        return cls(_workers(leaders, rounds), _memory(leaders, rounds), connectors, tasks, *arrays)

    def rebalance(self, rules: ConnectRules) -> tuple[Moves, Moves]:
        """Return the moves of connectors and of tasks, by worker of the batch; change what leaders remember."""
        return rebalance(self.workers, self.arrays_of_connectors, self.arrays_of_tasks, rows(self.memory), int(rules))


def tasks_of(connectors: Mapping[str, int]) -> list[ConnectorTaskId]:
    """Return the tasks of connectors, by their number of tasks.

    >>> tasks_of({"sink": 1})
    [ConnectorTaskId(connector='sink', task=0)]
    """
    return [task for connector in connectors.items() for task in _tasks_of(*connector)]


@lru_cache(maxsize=1 << 12)
def _tasks_of(connector: str, count: int) -> tuple[ConnectorTaskId, ...]:
    return tuple(ConnectorTaskId(connector, number) for number in range(count))


def _numbered(
    remembered: Remembered[_Name], configured: Sequence[_Name], held: Sequence[Sequence[_Name]]
) -> _Numbered[_Name]:
    """Number what a cluster has configured, remembers, or runs; as before if there is nothing new."""
    numbering = remembered.numbering
    try:
        return _Numbered(remembered, numbering.flags(configured), _numbers(numbering, held))
    except KeyError:
        kept = [numbering.named(flags) for flags in (remembered.assigned, remembered.revoked)]
        numbering = Numbering.of(frozenset(configured).union(*kept, *held))
        remembered = Remembered(numbering, *map(numbering.flags, kept))
    return _Numbered(remembered, numbering.flags(configured), _numbers(numbering, held))


def _numbers(numbering: Numbering[_Name], held: Sequence[Sequence[_Name]]) -> list[list[int]]:
    """Return lists of names as numbers, each once."""
    numbers = numbering.numbers
    listed = [list(map(numbers.__getitem__, names)) for names in held]
    return [of if len(set(of)) == len(of) else list(dict.fromkeys(of)) for of in listed]


def _sort_key(name: str | ConnectorTaskId) -> tuple[bytes, int]:
    return (java_key(name), 0) if isinstance(name, str) else (java_key(name.connector), name.task)


def _arrays(numbered: Sequence[_Numbered[Any]]) -> Resources:
    lists = [listed for cluster in numbered for listed in cluster.held]
    return Resources(
        _offsets([len(cluster.configured) for cluster in numbered]),
        np.concatenate([cluster.configured for cluster in numbered]),
        np.concatenate([cluster.remembered.assigned for cluster in numbered]),
        np.concatenate([cluster.remembered.revoked for cluster in numbered]),
        _offsets([len(listed) for listed in lists]),
        np.array([number for listed in lists for number in listed], np.int32),
    )


def _offsets(lengths: Sequence[int]) -> Ints32:
    return np.array([0, *accumulate(lengths)], np.int32)


def _workers(leaders: Sequence[ConnectLeader], rounds: Sequence[Round]) -> Workers:
    ids = [[worker.member_id for worker in each.workers] for each in rounds]
    ranks = [{name: rank for rank, name in enumerate(sorted(of_cluster, key=java_key))} for of_cluster in ids]
    candidates = [dict(zip(leader.candidates, range(len(leader.candidates)), strict=True)) for leader in leaders]
    places = [(c, name) for c, of_cluster in enumerate(ids) for name in of_cluster]
    return Workers(
        _offsets([len(of_cluster) for of_cluster in ids]),
        java_hashes(Strings.of([name for _, name in places])),
        np.array([ranks[c][name] for c, name in places], np.int32),
        np.array([candidates[c].get(name, NO_CANDIDATE) for c, name in places], np.int32),
    )


def _memory(leaders: Sequence[ConnectLeader], rounds: Sequence[Round]) -> Any:
    """Return what leaders remember as records, which are filled by column: numpy's records are slow one by one."""
    memory: Any = new_records(Leader, len(leaders))
    pairs = list(zip(leaders, rounds, strict=True))
    memory["now_ms"] = [each.now_ms for each in rounds]
    memory["max_delay_ms"] = [leader.max_delay_ms for leader in leaders]
    memory["is_continued"] = [leader.generation == each.last_completed for leader, each in pairs]
    joined = [{worker.member_id for worker in each.workers} for each in rounds]
    memory["lost_worker"] = [not leader.members <= ids for leader, ids in zip(leaders, joined, strict=True)]
    memory["candidates"] = [len(leader.candidates) for leader in leaders]
    for name in _REMEMBERED:
        memory[name] = [getattr(leader, name) for leader in leaders]
    return memory


_REMEMBERED = ("scheduled_ms", "delay_ms", "may_revoke", "revoked_before", "revocations_in_a_row")
"""Fields of a leader that its record has under the same names."""


def _remember(leaders: Sequence[ConnectLeader], rounds: Sequence[Round], workers: Workers, memory: Any) -> None:
    """Write what leaders remember after a rebalance, but for connectors and tasks."""
    for name in _REMEMBERED:
        for leader, value in zip(leaders, memory[name].tolist(), strict=True):
            setattr(leader, name, value)
    counts, places = memory["candidates"].tolist(), workers.candidates.tolist()
    bounds = pairwise(workers.offsets.tolist())
    for leader, this_round, count, (first, end) in zip(leaders, rounds, counts, bounds, strict=True):
        leader.generation = this_round.generation
        leader.members = frozenset(worker.member_id for worker in this_round.workers)
        known = leader.candidates if count else []
        by_place = {place: worker for worker, place in enumerate(places[first:end])}
        new = (this_round.workers[by_place[place]].member_id for place in range(len(known), count))
        leader.candidates = [*known, *new]
