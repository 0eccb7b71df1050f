"""Asks librdkafka how it assigns: a coordinator that makes its consumers the leaders of groups with any members.

librdkafka has no way to call an assignor. But a consumer that becomes the leader runs one, and sends its result.
So here is as much of a broker as it takes to join a group, in old versions of the protocol. What is asked of the
library is its own, from the bytes of the members' subscriptions to those of their assignments.
"""

import socketserver
import struct
import threading
from collections.abc import Sequence

from confluent_kafka import Consumer

from rebalance_sim.kafka.wire.consumer_protocol import decode_assignment
from rebalance_sim.kafka.wire.readable import Readable
from tests.support.model import Assignment, Cluster, Group, Member, Partition
from tests.support.wire_fields import array, int16, int32, sized, string

_METADATA, _FIND_COORDINATOR, _JOIN_GROUP, _SYNC_GROUP, _API_VERSIONS = 3, 10, 11, 14, 18
_OFFSET_COMMIT, _OFFSET_FETCH, _HEARTBEAT, _LEAVE_GROUP = 8, 9, 12, 13
_VERSIONS = {
    _METADATA: (0, 1),
    _OFFSET_COMMIT: (1, 2),
    _OFFSET_FETCH: (1, 1),
    _FIND_COORDINATOR: (0, 0),
    _JOIN_GROUP: (0, 5),
    _HEARTBEAT: (0, 0),
    _LEAVE_GROUP: (0, 0),
    _SYNC_GROUP: (0, 3),
    _API_VERSIONS: (0, 0),
}
"""By request, the lowest and the highest version. Without those of offsets librdkafka knows no consumer groups."""
_UNKNOWN_TOPIC, _REBALANCE_IN_PROGRESS, _UNSUPPORTED_VERSION = 3, 27, 35
_BROKER, _OWN_TOPIC, _OWN_ID = 0, "the-leaders-own", "leader"
_LONG = 1000 * "-"
"""librdkafka sets aside memory by the size of the answer: too little where topics are unknown and all else is short."""


def ask_librdkafka(strategy: str, groups: Sequence[Group], seconds: float = 60) -> list[Assignment]:
    """Return how librdkafka assigns each group; members missing in its answer have nothing."""
    with _Server(strategy, groups) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        consumer = Consumer(
            {
                "bootstrap.servers": f"127.0.0.1:{server.server_address[1]}",
                "group.id": "asked",
                "partition.assignment.strategy": strategy,
                "log_level": 0,
            }
        )
        consumer.subscribe([_OWN_TOPIC])
        answered = server.answered.wait(seconds)
        server.ending.set()
        consumer.close()
        server.shutdown()
        thread.join()
    if not answered:
        raise TimeoutError(f"{len(server.answers)} of {len(groups)} groups in {seconds} seconds")
    return server.answers


class _Request(Readable):
    """A request whose header is read."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data, "request")
        self.kind, self.version = self.int16("key"), self.int16("version")
        self.correlation = self.int32("correlation id")
        self.nullable_string("client id")


class _Server(socketserver.ThreadingTCPServer):
    """Asks one group after the other."""

    daemon_threads = True

    def __init__(self, strategy: str, groups: Sequence[Group]) -> None:
        super().__init__(("127.0.0.1", 0), _Connection)
        self.strategy = strategy
        self.groups = groups
        self.answers: list[Assignment] = []
        self.answered = threading.Event()
        self.ending = threading.Event()

    @property
    def group(self) -> Group:
        """The group that is asked about now."""
        return self.groups[len(self.answers)]

    def take(self, given: Assignment) -> None:
        """Take the answer for the group; with the last one the consumer has to wait."""
        self.answers.append({member.member_id: given.get(member.member_id, []) for member in self.group.members})
        if len(self.answers) == len(self.groups):
            self.answered.set()
            self.ending.wait()


class _Connection(socketserver.StreamRequestHandler):
    server: _Server

    def handle(self) -> None:
        while len(size := self.rfile.read(4)) == 4:
            request = _Request(self.rfile.read(int.from_bytes(size)))
            response = int32(request.correlation) + self._answer(request)
            if self.server.ending.is_set():
                return
            self.wfile.write(int32(len(response)) + response)

    def _answer(self, request: _Request) -> bytes:
        server = self.server
        host, port = server.server_address[:2]
        address = string(str(host)) + int32(port)
        match request.kind:
            case 18:
                return _api_versions(0 if request.version == 0 else _UNSUPPORTED_VERSION)
            case 3:
                return _metadata(request, address, server.group.cluster)
            case 10:
                return int16(0) + int32(_BROKER) + address
            case 11:
                return _joined(server.strategy, server.group)
            case 14:
                server.take(_assignment(request))
                return int32(0) + int16(_REBALANCE_IN_PROGRESS) + sized(b"")
        return int16(0)


def _api_versions(error: int) -> bytes:
    return int16(error) + array(struct.pack(">hhh", kind, *versions) for kind, versions in _VERSIONS.items())


def _metadata(request: _Request, address: bytes, cluster: Cluster) -> bytes:
    """A broker without a rack, which has replicas of all partitions, and one for every rack; they have one address."""
    racks = sorted({rack for topic in cluster.racks.values() for replicas in topic for rack in replicas})
    brokers = [int32(number) + address + string(rack) for number, rack in enumerate([None, *racks, _LONG])]
    topics = [_topic_metadata(request.string("topic"), cluster, racks) for _ in range(request.int32("topics"))]
    return array(brokers) + int32(_BROKER) + array(topics)


def _topic_metadata(name: str, cluster: Cluster, racks: list[str]) -> bytes:
    count = cluster.partitions.get(name, 0)
    error = 0 if count or name == _OWN_TOPIC else _UNKNOWN_TOPIC
    listed = cluster.racks.get(name, [[]] * count)
    partitions = []
    for number, on_racks in enumerate(listed):
        replicas = array(map(int32, [_BROKER, *(1 + racks.index(rack) for rack in on_racks)]))
        partitions.append(int16(0) + int32(number) + int32(_BROKER) + replicas + replicas)
    return int16(error) + string(name) + b"\0" + array(partitions)


def _joined(strategy: str, group: Group) -> bytes:
    listed = [string(m.member_id) + string(m.instance_id) + sized(_subscription(m)) for m in group.members]
    header = int32(0) + int16(0) + int32(1) + string(strategy) + string(_OWN_ID) + string(_OWN_ID)
    return header + array(listed)


def _subscription(member: Member) -> bytes:
    """Version 3; the owned partitions in the order in which they are given."""
    owned = [string(topic) + array([int32(number)]) for topic, number in member.owned]
    topics = array(map(string, member.topics))
    return int16(3) + topics + sized(b"") + array(owned) + int32(member.generation) + string(member.rack)


def _assignment(request: _Request) -> Assignment:
    """What the leader sends along: for each member what it gets."""
    request.string("group"), request.int32("generation"), request.string("member"), request.nullable_string("instance")
    given: Assignment = {}
    for _ in range(request.int32("assignments")):
        member_id, assigned = request.string("member"), decode_assignment(request.sized_bytes("assignment"))
        given[member_id] = [Partition(*each) for each in assigned.partitions]
    return given
