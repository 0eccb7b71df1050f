"""A Connect worker between two rebalances: what it runs, and what it remembers if it leads."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

from rebalance_sim.kafka.connect.leader import NO_GENERATION, ConnectLeader, JoinedWorker, WorkerMoves
from rebalance_sim.kafka.wire.connect_protocol import EAGER, ConnectorTaskId, written_order

_Name = TypeVar("_Name")


@dataclass
class ConnectWorker:
    """A worker process (``WorkerCoordinator``)."""

    as_leader: ConnectLeader
    connectors: tuple[str, ...] = ()
    tasks: tuple[ConnectorTaskId, ...] = ()
    last_completed: int = NO_GENERATION
    """The last generation of which it has got the assignment."""

    def joins_as(self, member_id: str) -> JoinedWorker:
        """Return what the leader reads of this worker when it joins."""
        return JoinedWorker(member_id, *written_order(self.connectors, self.tasks))

    def complete(self, moves: WorkerMoves, generation: int, protocol: str) -> None:
        """Start and stop what the leader says (``onJoinComplete``): what is new stands before what it kept."""
        started = written_order(moves.connectors, moves.tasks)
        if protocol == EAGER:
            self.connectors, self.tasks = started
        else:
            self.connectors = _changed(started[0], self.connectors, moves.revoked_connectors)
            self.tasks = _changed(started[1], self.tasks, moves.revoked_tasks)
        self.last_completed = generation


def _changed(started: tuple[_Name, ...], ran: Iterable[_Name], revoked: tuple[_Name, ...]) -> tuple[_Name, ...]:
    stopped = set(revoked)
    return (*started, *(name for name in ran if name not in stopped))
