"""What Connect workers send to the leader and what it answers, as bytes: the embedded protocol of type ``connect``.

That is ``ConnectProtocol`` (version 0, protocol ``default``) and ``IncrementalCooperativeConnectProtocol`` (versions 1
and 2, protocols ``compatible`` and ``sessioned``, KIP-415 and KIP-507), in which a worker sends what it runs. A version
newer than 2 is read as 2, as in Kafka, and bytes after the last field are ignored.
"""

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from rebalance_sim.kafka.runtime.hash_order import java_copy_size, java_order
from rebalance_sim.kafka.runtime.strings import Strings, java_hashes
from rebalance_sim.kafka.wire.readable import SMALLEST_STRING, Readable, SchemaError

EAGER, COMPATIBLE, SESSIONED = "default", "compatible", "sessioned"
CONNECTOR_TASK = -1
"""Stands for the connector itself in a list of its tasks."""
_SMALLEST_CONNECTOR = SMALLEST_STRING + 4
"""Bytes of a connector with an empty name and no tasks."""
CONNECT_PROTOCOLS = (EAGER, COMPATIBLE, SESSIONED)
"""Their names as protocols of a group. All but the first are incremental cooperative rebalancing."""
_VERSIONS = {EAGER: 0, COMPATIBLE: 1, SESSIONED: 2}


class ConnectorTaskId(NamedTuple):
    """A task of a connector."""

    connector: str
    task: int


@dataclass(frozen=True)
class ConnectAssignment:
    """What the leader sends to a worker, and a worker to the leader as what it runs (``ExtendedAssignment``)."""

    leader: str | None = None
    leader_url: str | None = None
    config_offset: int = -1
    connectors: tuple[str, ...] = ()
    tasks: tuple[ConnectorTaskId, ...] = ()
    revoked_connectors: tuple[str, ...] = ()
    revoked_tasks: tuple[ConnectorTaskId, ...] = ()
    delay_ms: int = 0
    """After so much time the workers rebalance again; 0 if they do not."""
    error: int = 0
    """1 if the leader has not read the configurations that a worker has (``CONFIG_MISMATCH``)."""


@dataclass(frozen=True)
class WorkerMetadata:
    """What a worker sends when it joins (``ExtendedWorkerState``)."""

    url: str
    config_offset: int
    runs: ConnectAssignment | None = None
    """None if it runs nothing since it started, or with the protocol ``default``."""


def decode_worker_metadata(data: bytes) -> WorkerMetadata:
    """Decode the metadata of a worker (``IncrementalCooperativeConnectProtocol.deserializeMetadata``).

    >>> decode_worker_metadata(bytes.fromhex("0001" "0003613a31" "0000000000000005" "ffffffff"))
    WorkerMetadata(url='a:1', config_offset=5, runs=None)
    """
    read = Readable(data, "worker metadata")
    _check_version(read)
    url, offset = read.string("url"), read.int64("config-offset")
    allocation = read.nullable_bytes("allocation") if read.left else None
    return WorkerMetadata(url, offset, None if allocation is None else decode_connect_assignment(allocation))


def decode_connect_assignment(data: bytes) -> ConnectAssignment:
    """Decode an assignment of any version (``IncrementalCooperativeConnectProtocol.deserializeAssignment``)."""
    read = Readable(data, "worker assignment")
    _check_version(read)
    error, leader, url = read.int16("error"), read.nullable_string("leader"), read.nullable_string("leader-url")
    offset = read.int64("config-offset")
    connectors, tasks = _read_resources(read, "assignment")
    revoked_connectors, revoked_tasks = _read_resources(read, "revoked")
    delay_ms = read.int32("delay") if read.left else 0
    return ConnectAssignment(leader, url, offset, connectors, tasks, revoked_connectors, revoked_tasks, delay_ms, error)


def _check_version(read: Readable) -> None:
    version = read.int16("version")
    if version < 0:
        raise SchemaError(f"{read.what}: version: {version} at byte 0; versions begin with 0")


def _read_resources(read: Readable, field: str) -> tuple[tuple[str, ...], tuple[ConnectorTaskId, ...]]:
    """Read a list that is null or missing in older versions."""
    connectors: list[str] = []
    tasks: list[ConnectorTaskId] = []
    for _ in range(read.size(field, _SMALLEST_CONNECTOR, nullable=True) if read.left else 0):
        name = read.string(f"{field}: connector")
        for number in read.int32s(f"{field}: tasks"):
            if number == CONNECTOR_TASK:
                connectors.append(name)
            else:
                tasks.append(ConnectorTaskId(name, number))
    return tuple(connectors), tuple(tasks)


def encode_worker_metadata(metadata: WorkerMetadata, protocol: str) -> bytes:
    """Encode the metadata of a worker for one of its protocols."""
    start = struct.pack(">h", _VERSIONS[protocol]) + _string(metadata.url) + struct.pack(">q", metadata.config_offset)
    if protocol == EAGER:
        return start
    if metadata.runs is None:
        return start + struct.pack(">i", -1)
    allocation = encode_connect_assignment(metadata.runs, protocol)
    return start + struct.pack(">i", len(allocation)) + allocation


def encode_connect_assignment(assignment: ConnectAssignment, protocol: str) -> bytes:
    """Encode an assignment as Kafka does since 3.3; before, ``sessioned`` has the version of ``compatible``."""
    content = [
        struct.pack(">hh", _VERSIONS[protocol], assignment.error),
        _string(assignment.leader),
        _string(assignment.leader_url),
        struct.pack(">q", assignment.config_offset),
        _resources(hash_set_order(assignment.connectors), assignment.tasks),
    ]
    if protocol != EAGER:
        content += [
            _resources(tuple(dict.fromkeys(assignment.revoked_connectors)), assignment.revoked_tasks),
            struct.pack(">i", assignment.delay_ms),
        ]
    return b"".join(content)


@lru_cache(maxsize=1 << 16)
def hash_set_order(names: tuple[str, ...]) -> tuple[str, ...]:
    """Return names in the order of a ``java.util.HashSet`` copied from them, in which connectors are written.

    >>> hash_set_order(("b", "a"))
    ('a', 'b')
    """
    unique = list(dict.fromkeys(names))
    order = java_order(
        java_hashes(Strings.of(unique)), np.arange(len(unique), dtype=np.int32), java_copy_size(len(names))
    )
    return tuple(unique[i] for i in order)


def written_order(
    connectors: Sequence[str], tasks: Sequence[ConnectorTaskId]
) -> tuple[tuple[str, ...], tuple[ConnectorTaskId, ...]]:
    """Return connectors and tasks in the order in which they are read after they were written.

    They are written by connector (``Assignment.asMap``): first those that are in the list themselves.

    >>> written_order(["b", "a"], [ConnectorTaskId("c", 0), ConnectorTaskId("b", 1)])
    (('a', 'b'), (ConnectorTaskId(connector='b', task=1), ConnectorTaskId(connector='c', task=0)))
    """
    written = hash_set_order(tuple(connectors))
    by_connector: dict[str, list[ConnectorTaskId]] = {name: [] for name in written}
    for task in tasks:
        by_connector.setdefault(task.connector, []).append(task)
    return written, tuple(task for listed in by_connector.values() for task in listed)


def _resources(connectors: Iterable[str], tasks: Iterable[ConnectorTaskId]) -> bytes:
    listed: dict[str, list[int]] = {name: [CONNECTOR_TASK] for name in connectors}
    for task in tasks:
        listed.setdefault(task.connector, []).append(task.task)
    rows = [
        _string(name) + struct.pack(f">i{len(numbers)}i", len(numbers), *numbers) for name, numbers in listed.items()
    ]
    return struct.pack(">i", len(rows)) + b"".join(rows)


def _string(value: str | None) -> bytes:
    if value is None:
        return struct.pack(">h", -1)
    encoded = value.encode()
    return struct.pack(">h", len(encoded)) + encoded
