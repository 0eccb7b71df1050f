"""Records of Connect clusters in ``__consumer_offsets``, by hand."""

from collections.abc import Sequence

from rebalance_sim.kafka.wire.connect_protocol import (
    CONNECTOR_TASK,
    SESSIONED,
    ConnectAssignment,
    ConnectorTaskId,
    WorkerMetadata,
    encode_connect_assignment,
    encode_worker_metadata,
)
from tests.support.offsets_records import Written, group, stored_member

Resources = Sequence[tuple[str, int]]
"""Tasks, and connectors with ``CONNECTOR_TASK`` for a number."""


def worker_member(
    name: str, runs: Resources = (), told: Resources | None = (), revoked: Resources = (), delay_ms: int = 0
) -> bytes:
    """Return a worker: what it ran when it joined, and what the leader answered; None for an answer without bytes."""
    metadata = WorkerMetadata(f"http://{name}:8083/", 7, _assignment(runs) if runs else None)
    answer = b"" if told is None else encode_connect_assignment(_assignment(told, revoked, delay_ms), SESSIONED)
    return stored_member(f"{name}-1", (None, name), encode_worker_metadata(metadata, SESSIONED), answer)


def record_of(name: str, members: Sequence[bytes], generation: int = 1, protocol_type: str = "connect") -> Written:
    """Return a group's record; the worker ``a`` leads."""
    return group(name, members, protocol_type, SESSIONED, "a-1", (generation, generation))


def _assignment(resources: Resources, revoked: Resources = (), delay_ms: int = 0) -> ConnectAssignment:
    return ConnectAssignment("a-1", "http://a:8083/", 7, *_parts(resources), *_parts(revoked), delay_ms)


def _parts(resources: Resources) -> tuple[tuple[str, ...], tuple[ConnectorTaskId, ...]]:
    connectors = tuple(name for name, number in resources if number == CONNECTOR_TASK)
    return connectors, tuple(ConnectorTaskId(*task) for task in resources if task[1] != CONNECTOR_TASK)
