"""Connect clusters of random cases, played by the rules."""

from base64 import b64decode
from collections.abc import Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

from rebalance_sim.kafka.connect.leader import ConnectLeader, JoinedWorker, Round, WorkerMoves, assign_rounds
from rebalance_sim.kafka.connect.worker import ConnectWorker
from rebalance_sim.kafka.wire.connect_protocol import (
    EAGER,
    decode_connect_assignment,
    decode_worker_metadata,
    written_order,
)
from rebalance_sim.releases import kafka_version

JsonObject = dict[str, Any]


class Told(NamedTuple):
    """What a worker sends in a rebalance, and what it is told."""

    sent: JoinedWorker
    moves: WorkerMoves
    delay_ms: int


Answer = list[dict[str, Told]]
"""By rebalance, and worker."""


def told_by_kafka(answer: JsonObject) -> Answer:
    """Return what Kafka's classes answered to a case."""
    return [
        {member: _decoded(member, answered) for member, answered in rebalance.items()}
        for rebalance in answer["rebalances"]
    ]


def _decoded(member: str, answered: JsonObject) -> Told:
    runs = decode_worker_metadata(b64decode(answered["sent"])).runs
    sent = JoinedWorker(member) if runs is None else JoinedWorker(member, runs.connectors, runs.tasks)
    moves = decode_connect_assignment(b64decode(answered["answer"]))
    listed = (moves.connectors, moves.tasks, moves.revoked_connectors, moves.revoked_tasks)
    return Told(sent, _comparable(WorkerMoves(*listed)), moves.delay_ms)


def _comparable(moves: WorkerMoves) -> WorkerMoves:
    """Return moves in the order in which workers read them; nothing depends on the order of what is revoked."""
    revoked = tuple(sorted(set(moves.revoked_connectors))), tuple(sorted(set(moves.revoked_tasks)))
    return WorkerMoves(*written_order(moves.connectors, moves.tasks), *revoked)


def prepared_rounds(cases: Sequence[JsonObject], release: str) -> tuple[list[ConnectLeader], list[Round]]:
    """Return the leaders after all rebalances of cases, and the last rebalance again."""
    clusters = [_Cluster(case, release) for case in cases]
    _play(clusters, cases)
    last = [(cluster, case["steps"][-1]) for cluster, case in zip(clusters, cases, strict=True)]
    rounds = [cluster.round_of(step) for cluster, step in last]
    return [cluster.workers[step["leader"]].as_leader for cluster, step in last], rounds


def played(cases: Sequence[JsonObject], release: str) -> list[Answer]:
    """Return what the rules answer to cases; the same rebalance of all of them is one batch."""
    clusters = [_Cluster(case, release) for case in cases]
    _play(clusters, cases)
    return [cluster.answers for cluster in clusters]


def _play(clusters: Sequence["_Cluster"], cases: Sequence[JsonObject]) -> None:
    for steps in zip_longest(*(case["steps"] for case in cases)):
        playing = [(cluster, step) for cluster, step in zip(clusters, steps, strict=True) if step is not None]
        rounds = [cluster.round_of(step) for cluster, step in playing]
        leaders = [cluster.workers[step["leader"]].as_leader for cluster, step in playing]
        answers = assign_rounds(leaders, rounds)
        for (cluster, step), leader, this_round, moves in zip(playing, leaders, rounds, answers, strict=True):
            delay_ms = 0 if this_round.protocol == EAGER else leader.delay_ms
            cluster.complete(step, this_round, moves, delay_ms)


class _Cluster:
    def __init__(self, case: JsonObject, release: str) -> None:
        self.rules, self.max_delay_ms = kafka_version(release).connect, case["config"]["max_delay_ms"]
        self.workers: dict[str, ConnectWorker] = {}
        self.answers: Answer = []

    def round_of(self, step: JsonObject) -> Round:
        for renamed, before in step["renamed"].items():
            self.workers[renamed] = self.workers.pop(before)
        for member in step["workers"]:
            if member not in self.workers:
                self.workers[member] = ConnectWorker(ConnectLeader(self.rules, self.max_delay_ms))
        joined = [
            JoinedWorker(member) if step["protocol"] == EAGER else self.workers[member].joins_as(member)
            for member in step["workers"]
        ]
        last = self.workers[step["leader"]].last_completed
        return Round(step["now_ms"], step["generation"], last, joined, step["connectors"], step["protocol"])

    def complete(self, step: JsonObject, this_round: Round, moves: dict[str, WorkerMoves], delay_ms: int) -> None:
        self.answers.append(
            {sent.member_id: Told(sent, _comparable(moves[sent.member_id]), delay_ms) for sent in this_round.workers}
        )
        for member in step["workers"]:
            if member not in step["missed"]:
                self.workers[member].complete(moves[member], step["generation"], step["protocol"])
