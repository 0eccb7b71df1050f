"""What kind of group uses the coordinator: plain consumers, Kafka Connect, Kafka Streams, jobs that only commit.

The facts were read off ``ConsumerGroupCommand``, Connect (``WorkerGroupMember``, ``ConnectorConfig``, KIP-411), Kafka
Streams (``StreamThread``), ksqlDB, ``ConsoleConsumer`` and Spark's Kafka source. An id is chosen by a user, so what
rests on one is never certain.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class GroupKind(StrEnum):
    """What kind of program the members of a group are."""

    CONSUMERS = "consumers"
    CONNECT = "connect"
    """Workers of a Connect cluster, which share connectors and tasks, not partitions."""
    CONNECT_SINK = "connect-sink"
    """Consumers of a sink connector, which Connect starts: one per task."""
    MIRROR_MAKER = "mirrormaker"
    """Workers of MirrorMaker 2, which are those of Connect clusters."""
    STREAMS = "kafka-streams"
    KSQLDB = "ksqldb"
    """A query of ksqlDB, which is a Kafka Streams application."""
    SCHEMA_REGISTRY = "schema-registry"
    CONSOLE = "console-consumer"
    SPARK = "spark"
    OFFSETS_ONLY = "offsets-only"
    """Offsets without members: consumers that have stopped, or a job that assigns partitions itself (Flink, Spark)."""
    OTHER = "other"
    """Members of another protocol type than those above."""
    UNKNOWN = "unknown"
    """The group has members, of which none could be read."""


@dataclass(frozen=True)
class GroupSigns:
    """What is known of a group."""

    group_id: str
    protocol_types: Sequence[str] = ()
    """Of its members, without those that are unknown."""
    protocols: Sequence[str] = ()
    """That are elected, or offered by all members."""
    client_ids: Sequence[str] = ()
    """Of its members, without those that are unknown."""
    members: int = 0


SERVICES = frozenset({GroupKind.CONSUMERS, GroupKind.CONNECT_SINK})
"""Kinds of consumers whose owner chooses the assignor and the protocol, and rolls out new releases."""
SETTINGS_PREFIX = {GroupKind.CONNECT_SINK: "consumer.override."}
"""By kind, what stands before a consumer's setting in its configuration (KIP-458)."""
WITHOUT_PREDICTION = {
    GroupKind.CONNECT: "a Connect cluster: its workers share connectors and tasks",
    GroupKind.MIRROR_MAKER: "MirrorMaker 2: its workers share connectors and tasks",
    GroupKind.STREAMS: "a Kafka Streams application: its assignor places tasks",
    GroupKind.KSQLDB: "a query of ksqlDB, a Kafka Streams application: its assignor places tasks",
    GroupKind.SCHEMA_REGISTRY: "instances of Schema Registry, which elect a primary",
    GroupKind.SPARK: "a job of Spark, which assigns partitions itself",
    GroupKind.OTHER: "members that are not consumers",
}
"""By kind without a predicted assignment, what it is."""


@dataclass(frozen=True)
class KindOfGroup:
    """The kind of a group, and what it rests on."""

    kind: GroupKind
    evidence: str
    """In words; empty for consumers that show no sign of another kind."""
    is_certain: bool = True
    """Whether the coordinator says so; otherwise an id does, which users choose."""


_OF_PROTOCOL_TYPES = {"connect": GroupKind.CONNECT, "sr": GroupKind.SCHEMA_REGISTRY}
_OF_PROTOCOLS = {
    # StreamsPartitionAssignor.name(): the only protocol of a Streams application.
    "stream": GroupKind.STREAMS,
    # ConnectProtocolCompatibility. EAGER's protocol, "default", may be the name of a user's assignor as well.
    "compatible": GroupKind.CONNECT,
    "sessioned": GroupKind.CONNECT,
}
CONSUMER_TYPE = "consumer"
"""The protocol type of consumers."""
_NARROWER = {
    # ksqlDB's application ids begin with its service id; MirrorMaker 2 calls its groups SOURCE-mm2.
    GroupKind.STREAMS: (("_confluent-ksql-.+", GroupKind.KSQLDB),),
    GroupKind.CONNECT: ((".+-mm2", GroupKind.MIRROR_MAKER),),
}
"""By kind, patterns of group ids that tell a narrower one."""
_OF_CLIENT_IDS = (
    (r"connector-consumer-.+-\d+", GroupKind.CONNECT_SINK),
    (r".+-StreamThread-\d+-consumer", GroupKind.STREAMS),
    ("console-consumer", GroupKind.CONSOLE),
)
"""Patterns of the client ids that all members of a kind have."""
_OF_GROUP_IDS = (
    (r"console-consumer-\d+", GroupKind.CONSOLE),
    ("_confluent-ksql-.+", GroupKind.KSQLDB),
    (r"(?:spark-executor-)?spark-kafka-(?:source|relation)-.+", GroupKind.SPARK),
)
"""Patterns of the ids that programs give to groups by themselves."""


def kind_of_group(signs: GroupSigns) -> KindOfGroup:
    """Return the kind of a group: what the coordinator says of it, else what its client ids do, else its own id.

    >>> kind_of_group(GroupSigns("billing", ["consumer"], ["range"], ["billing-1"], 1)).kind
    <GroupKind.CONSUMERS: 'consumers'>
    >>> kind_of_group(GroupSigns("app", ["consumer"], ["stream"], ["app-1"], 1))
    KindOfGroup(kind=<GroupKind.STREAMS: 'kafka-streams'>, evidence="protocol 'stream'", is_certain=True)
    >>> sink = kind_of_group(GroupSigns("connect-s3", [], ["range"], ["connector-consumer-s3-0"], 1))
    >>> sink.kind, sink.evidence, sink.is_certain
    (<GroupKind.CONNECT_SINK: 'connect-sink'>, "client id 'connector-consumer-s3-0'", False)
    """
    return _stated(signs) or _by_client_ids(signs) or _by_group_id(signs) or _by_members(signs)


def _stated(signs: GroupSigns) -> KindOfGroup | None:
    """Return the kind that the coordinator states."""
    for protocol_type in signs.protocol_types:
        if protocol_type not in ("", CONSUMER_TYPE):
            kind = _OF_PROTOCOL_TYPES.get(protocol_type, GroupKind.OTHER)
            return KindOfGroup(_narrowed(kind, signs.group_id), f"protocol type {protocol_type!r}")
    for protocol in signs.protocols:
        if protocol in _OF_PROTOCOLS:
            return KindOfGroup(_narrowed(_OF_PROTOCOLS[protocol], signs.group_id), f"protocol {protocol!r}")
    return None


def _narrowed(kind: GroupKind, group_id: str) -> GroupKind:
    patterns = _NARROWER.get(kind, ())
    return next((narrower for pattern, narrower in patterns if re.fullmatch(pattern, group_id)), kind)


def _by_client_ids(signs: GroupSigns) -> KindOfGroup | None:
    if not signs.client_ids or len(signs.client_ids) < signs.members:
        return None
    for pattern, kind in _OF_CLIENT_IDS:
        if all(re.fullmatch(pattern, each) for each in signs.client_ids):
            shown = "client id" if len(signs.client_ids) == 1 else "client ids such as"
            evidence = f"{shown} {signs.client_ids[0]!r}"
            return KindOfGroup(_narrowed(kind, signs.group_id), evidence, is_certain=False)
    return None


def _by_group_id(signs: GroupSigns) -> KindOfGroup | None:
    for pattern, kind in _OF_GROUP_IDS:
        if re.fullmatch(pattern, signs.group_id):
            return KindOfGroup(kind, f"group id {signs.group_id!r}", is_certain=False)
    return None


def _by_members(signs: GroupSigns) -> KindOfGroup:
    if signs.members:
        return KindOfGroup(GroupKind.CONSUMERS, "")
    return KindOfGroup(GroupKind.OFFSETS_ONLY, "offsets without members")
