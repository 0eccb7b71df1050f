"""The kinds of groups that use a coordinator: plain consumers, Kafka Connect, Kafka Streams, jobs that only commit.

Sources: ``ConsumerGroupCommand``, Connect (``WorkerGroupMember``, ``ConnectorConfig``, KIP-411), Kafka Streams
(``StreamThread``), ksqlDB, ``ConsoleConsumer`` and Spark's Kafka source. Users choose ids, so a kind that follows from
an id is never certain.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum


class GroupKind(StrEnum):
    """The kind of program that the members of a group are."""

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
    KCAT = "kcat"
    """kcat's balanced consumer, which people run by hand."""
    SPARK = "spark"
    FLINK = "flink"
    """A job of Flink, which commits offsets, and never joins its group (``KafkaSource`` assigns partitions)."""
    OFFSETS_ONLY = "offsets-only"
    """Offsets without members: consumers that have stopped, or a job that assigns partitions itself (Flink, Spark)."""
    SHARE = "share"
    """A share group (KIP-932)."""
    STREAMS_GROUP = "streams"
    """A streams group (KIP-1071); Kafka Streams over the classic protocol is ``STREAMS``."""
    OTHER = "other"
    """Members of another protocol type than those above."""
    UNKNOWN = "unknown"
    """Nothing shows what the members are: none could be read, or none was described."""


@dataclass(frozen=True)
class GroupSigns:
    """The facts about a group that show its kind."""

    group_id: str
    protocol_types: Sequence[str] = ()
    """Known protocol types of its members."""
    protocols: Sequence[str] = ()
    """The elected protocol, or the protocols that all members offer."""
    client_ids: Sequence[str] = ()
    """Of its members, without those that are unknown."""
    members: int = 0
    group_type: str | None = None
    """As the cluster lists it; None if it is unknown."""
    has_offsets: bool = True
    never_had_members: bool = False
    """Whether its protocol type is empty: its offsets were committed without joining the group."""


SERVICES = frozenset({GroupKind.CONSUMERS, GroupKind.CONNECT_SINK})
"""Kinds of consumers whose owner chooses the assignor and the protocol, and rolls out new releases."""
SETTINGS_PREFIX: dict[str | None, str] = {GroupKind.CONNECT_SINK: "consumer.override."}
"""By kind, what precedes the name of a consumer's setting in its configuration (KIP-458)."""
WITHOUT_PREDICTION = {
    GroupKind.CONNECT: "a Connect cluster, whose workers share connectors and tasks",
    GroupKind.MIRROR_MAKER: "MirrorMaker 2, whose workers share connectors and tasks",
    GroupKind.STREAMS: "a Kafka Streams application, whose assignor places tasks",
    GroupKind.KSQLDB: "a query of ksqlDB, a Kafka Streams application, whose assignor places tasks",
    GroupKind.SCHEMA_REGISTRY: "instances of Schema Registry, which elect a primary",
    GroupKind.SPARK: "a job of Spark, which assigns partitions itself",
    GroupKind.SHARE: "a share group, whose members share partitions record by record",
    GroupKind.STREAMS_GROUP: "a streams group, whose coordinator places the tasks of Kafka Streams",
    GroupKind.OTHER: "members that are not consumers",
}
"""By kind that is not predicted and judged like consumers, what it is; of share groups an assignment is predicted."""


def as_configured(kind: str | None, settings: Mapping[str, str]) -> dict[str, str]:
    """Return settings of consumers under the names that they have where a group of a kind is configured.

    >>> as_configured("connect-sink", {"group.protocol": "consumer"})
    {'consumer.override.group.protocol': 'consumer'}
    """
    prefix = SETTINGS_PREFIX.get(kind, "")
    return {f"{prefix}{name}": value for name, value in settings.items()}


def as_consumers_name_them(kind: str | None, settings: Mapping[str, str]) -> dict[str, str]:
    """Return settings from the configuration of a group of a kind under the names that consumers give them.

    >>> as_consumers_name_them("connect-sink", {"consumer.override.group.protocol": "consumer"})
    {'group.protocol': 'consumer'}
    """
    prefix = SETTINGS_PREFIX.get(kind, "")
    return {name.removeprefix(prefix): value for name, value in settings.items()}


@dataclass(frozen=True)
class KindOfGroup:
    """The kind of a group, and the evidence for it."""

    kind: GroupKind
    evidence: str
    """In words; empty for consumers that show no sign of another kind."""
    is_certain: bool = True
    """Whether the coordinator says so; otherwise an id does, which users choose."""


SHARE_TYPE = "share"
"""The type of share groups (KIP-932), and the protocol type of their members."""
STREAMS_TYPE = "streams"
"""The type of streams groups (KIP-1071)."""
STREAMS_PROTOCOL = "stream"
"""The only protocol of an application over the classic protocol (``StreamsPartitionAssignor.name``)."""
OF_GROUP_TYPES = {SHARE_TYPE: GroupKind.SHARE, STREAMS_TYPE: GroupKind.STREAMS_GROUP}
"""Kinds of groups by the types whose members are not consumers (``GroupType`` since Kafka 4.0)."""
CONNECT_TYPE = "connect"
"""The protocol type of the workers of Connect clusters."""
_OF_PROTOCOL_TYPES = OF_GROUP_TYPES | {CONNECT_TYPE: GroupKind.CONNECT, "sr": GroupKind.SCHEMA_REGISTRY}
_OF_PROTOCOLS = {
    STREAMS_PROTOCOL: GroupKind.STREAMS,
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
"""By kind, patterns of group ids that show a more specific kind."""
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
_LIBRDKAFKAS_CLIENT_ID = "rdkafka"
_NAMED_KCAT = re.compile(r"(?:.*[^a-z])?(?:kcat|kafkacat)(?:[^a-z].*)?", re.IGNORECASE)
_NAMED_FLINK = re.compile(r"(?:.*[^a-z])?flink(?:[^a-z].*)?", re.IGNORECASE)
"""Patterns of ids that people give to groups of a program. An id alone is no evidence."""


def kind_of_group(signs: GroupSigns) -> KindOfGroup:
    """Return the kind of a group, by what the coordinator reports, else by its client ids, else by its own id.

    >>> kind_of_group(GroupSigns("billing", ["consumer"], ["range"], ["billing-1"], 1)).kind
    <GroupKind.CONSUMERS: 'consumers'>
    >>> kind_of_group(GroupSigns("app", ["consumer"], ["stream"], ["app-1"], 1))
    KindOfGroup(kind=<GroupKind.STREAMS: 'kafka-streams'>, evidence="protocol 'stream'", is_certain=True)
    >>> sink = kind_of_group(GroupSigns("connect-s3", [], ["range"], ["connector-consumer-s3-0"], 1))
    >>> sink.kind, sink.evidence, sink.is_certain
    (<GroupKind.CONNECT_SINK: 'connect-sink'>, "client id 'connector-consumer-s3-0'", False)
    """
    return _stated(signs) or _by_client_ids(signs) or _by_group_id(signs) or _by_name(signs) or _by_members(signs)


def _stated(signs: GroupSigns) -> KindOfGroup | None:
    """Return the kind that the coordinator states."""
    if signs.group_type in OF_GROUP_TYPES:
        return KindOfGroup(OF_GROUP_TYPES[signs.group_type], f"type {signs.group_type!r}")
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


def _by_name(signs: GroupSigns) -> KindOfGroup | None:
    """Return the kind that a name suggests, if nothing contradicts it.

    kcat has the default client id of librdkafka. Flink's client ids are never seen, because its consumers do not join:
    a group whose coordinator knows a protocol type had other consumers.
    """
    if signs.members:
        ids = set(signs.client_ids) if len(signs.client_ids) >= signs.members else set()
        if ids == {_LIBRDKAFKAS_CLIENT_ID} and _NAMED_KCAT.fullmatch(signs.group_id):
            evidence = f"group id {signs.group_id!r}, a name, and librdkafka's client id"
            return KindOfGroup(GroupKind.KCAT, evidence, is_certain=False)
        return None
    if signs.has_offsets and not signs.protocol_types and _NAMED_FLINK.fullmatch(signs.group_id):
        evidence = f"group id {signs.group_id!r}, a name, and {_offsets_only(signs)}"
        return KindOfGroup(GroupKind.FLINK, evidence, is_certain=False)
    return None


def _by_members(signs: GroupSigns) -> KindOfGroup:
    if signs.members:
        return KindOfGroup(GroupKind.CONSUMERS, "")
    return KindOfGroup(GroupKind.OFFSETS_ONLY, _offsets_only(signs) if signs.has_offsets else "no members")


def _offsets_only(signs: GroupSigns) -> str:
    if signs.never_had_members:
        return "offsets of a group that never had members (its protocol type is empty)"
    return "offsets without members"
