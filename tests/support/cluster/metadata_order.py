"""The order in which a broker lists the partitions of a topic: client libraries hand it on or sort it."""

from __future__ import annotations

from rebalance_sim.kafka.wire.readable import Readable
from tests.support.cluster.silent_members import Connection
from tests.support.wire_fields import array, string

_METADATA = (3, 1)
"""The request and its version."""


def listed_partitions(servers: str, topic: str) -> list[int]:
    """Return the partitions of a topic in the order of a Metadata response."""
    with Connection(servers, "metadata-order") as connection:
        connection.send(_METADATA, array([string(topic)]))
        return _partitions(connection.answer("Metadata", has_error=False))


def _partitions(answer: Readable) -> list[int]:
    """Return the partitions of the only topic in a response."""
    for _ in range(answer.int32("brokers")):
        answer.int32("node id")
        answer.string("host")
        answer.int32("port")
        answer.nullable_string("rack")
    answer.int32("controller")
    assert answer.int32("topics") == 1
    assert answer.int16("error") == 0
    answer.string("topic")
    answer.int8("internal")
    return [_partition(answer) for _ in range(answer.int32("partitions"))]


def _partition(answer: Readable) -> int:
    answer.int16("error")
    number = answer.int32("partition")
    answer.int32("leader")
    answer.int32s("replicas")
    answer.int32s("replicas in sync")
    return number
