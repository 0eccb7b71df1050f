"""The leaders of Connect clusters, with the names of workers, connectors and tasks."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from rebalance_sim.kafka.connect.clusters import NO_CANDIDATE, Leader, Moves, Resources, Workers
from rebalance_sim.kafka.connect.eager import assign_eagerly
from rebalance_sim.kafka.connect.incremental_cooperative import rebalance
from rebalance_sim.kafka.runtime.records import new_records, rows
from rebalance_sim.kafka.runtime.strings import Ints32, Strings, java_hashes, java_key
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


@dataclass(frozen=True)
class WorkerMoves:
    """What a rebalance tells a worker to start and to stop; with the protocol ``default``, all that it is to run."""

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
class Remembered(Generic[_Name]):
    """The connectors, or the tasks, that a leader remembers of its last rebalance."""

    assigned: frozenset[_Name] = frozenset()
    revoked: frozenset[_Name] = frozenset()


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
    connectors: Remembered[str] = Remembered()
    tasks: Remembered[ConnectorTaskId] = Remembered()

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
    connectors = dict(sorted(this_round.connectors.items(), key=lambda connector: java_key(connector[0])))
    members = [worker.member_id for worker in this_round.workers]
    assigned = assign_eagerly(members, list(connectors), tasks_of(connectors))
    return {member: WorkerMoves(tuple(names), tuple(tasks)) for member, (names, tasks) in assigned.items()}


def _assign_incrementally(
    leaders: Sequence[ConnectLeader], rounds: Sequence[Round], rules: ConnectRules
) -> list[dict[str, WorkerMoves]]:
    workers, memory = _workers(leaders, rounds), _memory(leaders, rounds)
    connectors = [
        _numbered(leader.connectors, each.connectors, [worker.connectors for worker in each.workers])
        for leader, each in zip(leaders, rounds, strict=True)
    ]
    tasks = [
        _numbered(leader.tasks, tasks_of(each.connectors), [worker.tasks for worker in each.workers])
        for leader, each in zip(leaders, rounds, strict=True)
    ]
    of_connectors, of_tasks = _arrays(connectors), _arrays(tasks)
    connector_moves, task_moves = rebalance(workers, of_connectors, of_tasks, rows(memory), int(rules))
    answers = []
    for c, (leader, this_round) in enumerate(zip(leaders, rounds, strict=True)):
        first, end = workers.offsets[c], workers.offsets[c + 1]
        _remember(leader, this_round, memory[c], workers.candidates[first:end])
        leader.connectors, leader.tasks = connectors[c].remembered(of_connectors, c), tasks[c].remembered(of_tasks, c)
        answers.append(
            _named_moves(
                this_round, connectors[c].moves(connector_moves, first, end), tasks[c].moves(task_moves, first, end)
            )
        )
    return answers


class _Numbered(NamedTuple, Generic[_Name]):
    """The connectors of a cluster, or its tasks, with their numbers."""

    names: list[_Name]
    """In the order of their numbers."""
    configured: list[bool]
    assigned: list[bool]
    revoked: list[bool]
    held: list[list[int]]
    """By worker."""

    def remembered(self, arrays: Resources, c: int) -> Remembered[_Name]:
        """Return what the leader of cluster c remembers after a rebalance."""
        low, high = arrays.offsets[c], arrays.offsets[c + 1]
        assigned, revoked = np.flatnonzero(arrays.previous[low:high]), np.flatnonzero(arrays.revoked[low:high])
        return Remembered(frozenset(self.names[k] for k in assigned), frozenset(self.names[k] for k in revoked))

    def moves(self, moves: Moves, first: int, end: int) -> list[tuple[tuple[_Name, ...], tuple[_Name, ...]]]:
        """Return what each worker from ``first`` to ``end`` of the batch has to start and to stop."""
        return list(
            zip(
                self._lists(moves.assigned_from[first : end + 1], moves.assigned),
                self._lists(moves.revoked_from[first : end + 1], moves.revoked),
                strict=True,
            )
        )

    def _lists(self, offsets: Ints32, numbers: Ints32) -> Iterable[tuple[_Name, ...]]:
        return (tuple(self.names[k] for k in numbers[low:high]) for low, high in pairwise(offsets))


def tasks_of(connectors: Mapping[str, int]) -> list[ConnectorTaskId]:
    """Return the tasks of connectors, by their number of tasks.

    >>> tasks_of({"sink": 1})
    [ConnectorTaskId(connector='sink', task=0)]
    """
    return [ConnectorTaskId(name, number) for name, count in connectors.items() for number in range(count)]


def _numbered(
    remembered: Remembered[_Name], configured: Iterable[_Name], held: Sequence[Sequence[_Name]]
) -> _Numbered[_Name]:
    """Number what a cluster has configured, remembers, or runs, in the order in which Kafka sorts it."""
    chosen = frozenset(configured)
    names = sorted(chosen.union(remembered.assigned, remembered.revoked, *held), key=_sort_key)
    number_of = {name: number for number, name in enumerate(names)}
    return _Numbered(
        names,
        [name in chosen for name in names],
        [name in remembered.assigned for name in names],
        [name in remembered.revoked for name in names],
        [[number_of[name] for name in dict.fromkeys(listed)] for listed in held],
    )


def _sort_key(name: str | ConnectorTaskId) -> tuple[bytes, int]:
    return (java_key(name), 0) if isinstance(name, str) else (java_key(name.connector), name.task)


def _arrays(numbered: Sequence[_Numbered[Any]]) -> Resources:
    lists = [listed for cluster in numbered for listed in cluster.held]
    return Resources(
        _offsets([len(cluster.names) for cluster in numbered]),
        np.array([flag for cluster in numbered for flag in cluster.configured], np.bool_),
        np.array([flag for cluster in numbered for flag in cluster.assigned], np.bool_),
        np.array([flag for cluster in numbered for flag in cluster.revoked], np.bool_),
        _offsets([len(listed) for listed in lists]),
        np.array([number for listed in lists for number in listed], np.int32),
    )


def _offsets(lengths: Sequence[int]) -> Ints32:
    return np.array([0, *accumulate(lengths)], np.int32)


def _workers(leaders: Sequence[ConnectLeader], rounds: Sequence[Round]) -> Workers:
    ids = [[worker.member_id for worker in each.workers] for each in rounds]
    ranks = [{name: rank for rank, name in enumerate(sorted(of_cluster, key=java_key))} for of_cluster in ids]
    candidates = [{name: place for place, name in enumerate(leader.candidates)} for leader in leaders]
    return Workers(
        _offsets([len(of_cluster) for of_cluster in ids]),
        java_hashes(Strings.of([name for of_cluster in ids for name in of_cluster])),
        np.array([ranks[c][name] for c, of_cluster in enumerate(ids) for name in of_cluster], np.int32),
        np.array(
            [candidates[c].get(name, NO_CANDIDATE) for c, of_cluster in enumerate(ids) for name in of_cluster], np.int32
        ),
    )


def _memory(leaders: Sequence[ConnectLeader], rounds: Sequence[Round]) -> Any:
    """Return what leaders remember as records."""
    memory: Any = new_records(Leader, len(leaders))
    for record, leader, this_round in zip(memory, leaders, rounds, strict=True):
        record.now_ms, record.max_delay_ms = this_round.now_ms, leader.max_delay_ms
        record.is_continued = leader.generation == this_round.last_completed
        record.lost_worker = not leader.members.issubset(worker.member_id for worker in this_round.workers)
        record.candidates = len(leader.candidates)
        for name in _REMEMBERED:
            setattr(record, name, getattr(leader, name))
    return memory


_REMEMBERED = ("scheduled_ms", "delay_ms", "may_revoke", "revoked_before", "revocations_in_a_row")
"""Fields of a leader that its record has under the same names."""


def _remember(leader: ConnectLeader, this_round: Round, record: Any, candidates: Ints32) -> None:
    """Write what a leader remembers after a rebalance."""
    for name in _REMEMBERED:
        setattr(leader, name, record[name].item())
    leader.generation = this_round.generation
    leader.members = frozenset(worker.member_id for worker in this_round.workers)
    known = leader.candidates if record.candidates else []
    places = {place: worker for worker, place in enumerate(candidates.tolist())}
    new = range(len(known), int(record.candidates))
    leader.candidates = [*known, *(this_round.workers[places[place]].member_id for place in new)]


def _named_moves(
    this_round: Round,
    connectors: Sequence[tuple[tuple[str, ...], tuple[str, ...]]],
    tasks: Sequence[tuple[tuple[ConnectorTaskId, ...], tuple[ConnectorTaskId, ...]]],
) -> dict[str, WorkerMoves]:
    moves = zip(this_round.workers, connectors, tasks, strict=True)
    return {
        worker.member_id: WorkerMoves(of_connectors[0], of_tasks[0], of_connectors[1], of_tasks[1])
        for worker, of_connectors, of_tasks in moves
    }
