"""Members of classic groups by plain requests: hundreds of groups without a consumer each.

A silent member joins, syncs and commits as a consumer does, but sends no heartbeats afterwards. The coordinator keeps
it until its session times out, for which brokers allow half an hour (``group.max.session.timeout.ms``).
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from rebalance_sim.kafka.wire.consumer_protocol import (
    Assignment,
    Subscription,
    TopicPartition,
    encode_assignment,
    encode_subscription,
)
from rebalance_sim.kafka.wire.readable import Readable
from tests.support.wire_fields import array, int32, sized, string

_OFFSET_COMMIT, _JOIN_GROUP, _LEAVE_GROUP, _SYNC_GROUP = (8, 2), (11, 2), (13, 1), (14, 1)
"""Requests and their versions: the oldest that brokers of 4.x answer without member ids in advance (KIP-394)."""
_SESSION_MS = 1_800_000
_TIMEOUT_SECONDS = 120


@dataclass(frozen=True)
class SilentGroup:
    """A group whose members all offer the same protocols and subscribe to the same topics."""

    group_id: str
    members: int
    protocols: tuple[str, ...]
    topics: tuple[str, ...]
    committed: int = 1
    """The offset that the leader commits for each partition."""

    def form(self, bootstrap_servers: str, partitions: Mapping[str, int]) -> None:
        """Let the members join in one rebalance, which the broker's initial delay must leave time for.

        Partitions are dealt to the members in turn, and the leader commits an offset for each.
        """
        with ExitStack() as stack:
            connections, joined = self._join(stack, bootstrap_servers)
            (leader,) = [each for each in joined if each.member_id == each.leader_id]
            assert len({each.generation for each in joined}) == 1
            assert len(leader.members) == self.members
            every = [TopicPartition(topic, n) for topic in self.topics for n in range(partitions[topic])]
            given = {name: every[place :: self.members] for place, name in enumerate(leader.members)}
            for connection, each in zip(connections, joined, strict=True):
                of_leader = given if each is leader else {}
                connection.send(
                    _SYNC_GROUP, self._of_member(each) + array(_assigned(*item) for item in of_leader.items())
                )
            for connection in connections:
                connection.answer("SyncGroup")
            self._commit(connections[joined.index(leader)], leader, partitions)

    def join(self, bootstrap_servers: str) -> None:
        """Let the members join, and nothing more: the coordinator waits for the leader's assignment."""
        with ExitStack() as stack:
            self._join(stack, bootstrap_servers)

    def _join(self, stack: ExitStack, bootstrap_servers: str) -> tuple[list[Connection], list[_Joined]]:
        connections = [
            stack.enter_context(Connection(bootstrap_servers, f"{self.group_id}-{number}"))
            for number in range(self.members)
        ]
        for connection in connections:
            connection.send(_JOIN_GROUP, self._joining())
        return connections, [_Joined.read(connection.answer("JoinGroup")) for connection in connections]

    def _joining(self) -> bytes:
        metadata = encode_subscription(Subscription(self.topics, owned=()), version=1)
        offered = array(string(name) + sized(metadata) for name in self.protocols)
        timeouts = struct.pack(">ii", _SESSION_MS, _SESSION_MS)
        return string(self.group_id) + timeouts + string("") + string("consumer") + offered

    def _of_member(self, joined: _Joined) -> bytes:
        return string(self.group_id) + int32(joined.generation) + string(joined.member_id)

    def _commit(self, connection: Connection, leader: _Joined, partitions: Mapping[str, int]) -> None:
        topics = array(
            string(topic)
            + array(struct.pack(">iqh", number, self.committed, -1) for number in range(partitions[topic]))
            for topic in self.topics
        )
        connection.send(_OFFSET_COMMIT, self._of_member(leader) + struct.pack(">q", -1) + topics)
        connection.answer("OffsetCommit", has_error=False)


def leave(bootstrap_servers: str, group_id: str, member_ids: Iterable[str]) -> None:
    """Let members leave their group."""
    with Connection(bootstrap_servers, group_id) as connection:
        for member_id in member_ids:
            connection.send(_LEAVE_GROUP, string(group_id) + string(member_id))
            connection.answer("LeaveGroup")


@dataclass(frozen=True)
class _Joined:
    generation: int
    leader_id: str
    member_id: str
    members: tuple[str, ...]
    """Of the leader only: the ids of all members."""

    @classmethod
    def read(cls, answer: Readable) -> _Joined:
        generation = answer.int32("generation")
        answer.string("protocol")
        leader_id, member_id = answer.string("leader"), answer.string("member id")
        members = []
        for _ in range(answer.int32("members")):
            members.append(answer.string("member id"))
            answer.sized_bytes("metadata")
        return cls(generation, leader_id, member_id, tuple(members))


class Connection:
    """A connection to a broker, on which requests are answered in order."""

    def __init__(self, bootstrap_servers: str, client_id: str) -> None:
        host, _, port = bootstrap_servers.partition(":")
        self._socket = socket.create_connection((host, int(port)), _TIMEOUT_SECONDS)
        self._client_id = client_id

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *exception: object) -> None:
        self._socket.close()

    def send(self, request: tuple[int, int], body: bytes) -> None:
        sent = struct.pack(">hhi", *request, 0) + string(self._client_id) + body
        self._socket.sendall(sized(sent))

    def answer(self, name: str, *, has_error: bool = True) -> Readable:
        """Return the answer to the next request after its throttle time and its error, which must be none."""
        (size,) = struct.unpack(">i", self._receive(4))
        answer = Readable(self._receive(size)[4:], name)
        if has_error:
            answer.int32("throttle time")
            error = answer.int16("error")
            assert error == 0, f"{name}: error {error}"
        return answer

    def _receive(self, size: int) -> bytes:
        received = b""
        while len(received) < size:
            part = self._socket.recv(size - len(received))
            if not part:
                raise ConnectionError("the broker has closed the connection")
            received += part
        return received


def _assigned(member_id: str, partitions: Sequence[TopicPartition]) -> bytes:
    return string(member_id) + sized(encode_assignment(Assignment(tuple(partitions)), version=1))
