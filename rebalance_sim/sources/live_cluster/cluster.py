"""Read the topics, consumer groups and offsets of a live cluster from its brokers.

What brokers do not report, such as the assignors that a member offers, is assumed, and listed in ``assumptions``. A
group or topic that cannot be read becomes a reject with Kafka's error; the others are still read.
"""

import base64
import contextlib
import json
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from rebalance_sim.errors import UserError
from rebalance_sim.kafka.assignors.by_library import Leader
from rebalance_sim.kafka.clients.assumed_protocols import Basis, Offer, Offered, offered_protocols
from rebalance_sim.kafka.clients.recognition import Signs
from rebalance_sim.kafka.clients.stated import StatedClient, StatedClients
from rebalance_sim.kafka.group_kinds import SHARE_TYPE, STREAMS_TYPE
from rebalance_sim.kafka.wire.readable import SchemaError
from rebalance_sim.kafka.wire.share_group_describe import ShareGroup, ShareMember
from rebalance_sim.kafka.wire.streams_group_describe import DescribedStreamsGroup
from rebalance_sim.releases import SHARE_ASSIGNORS
from rebalance_sim.sources.assumptions import (
    NO_TOPICS,
    NOT_DESCRIBED,
    NOT_TARGETS,
    OF_OTHER_TYPES,
    OPAQUE,
    PROTOCOLS,
    REBALANCING,
    SHARED,
    USED_TOPICS,
    WITHOUT_MEMBERS,
    MembersAsStated,
    Tallies,
    about_protocols,
    checked_protocols,
    groups,
)
from rebalance_sim.sources.client_columns import client_columns
from rebalance_sim.sources.consumer_groups import CLASSIC, SERVER, SERVER_DEFAULT, classic_by_id, server_protocols
from rebalance_sim.sources.kafka_tools.capture import Capture, frame, frame_of
from rebalance_sim.sources.kafka_tools.contents import ToolOutput, TopicPartition
from rebalance_sim.sources.live_cluster.broker_release import SupportedVersions
from rebalance_sim.sources.live_cluster.connection import NotConnectedError
from rebalance_sim.sources.live_cluster.group_offsets import CommittedOffsets, OffsetReader
from rebalance_sim.sources.live_cluster.librdkafka_properties import (
    check_installed,
    config_problem,
    librdkafka_properties,
    without_secrets,
)
from rebalance_sim.sources.live_cluster.requests import REQUEST_SECONDS, RequestFailure, answers
from rebalance_sim.sources.live_cluster.share_groups import (
    OF_ANOTHER_TYPE,
    OF_SHARE,
    OF_STREAMS,
    DescribeRequest,
    can_be_described,
    describe_groups,
)
from rebalance_sim.sources.sent_subscriptions import sent_columns
from rebalance_sim.sources.streams.described_groups import ASSUMED_REPLICAS, member_rows, subtopology_rows
from rebalance_sim.tables import (
    CLUSTERS,
    DEFAULT_CLUSTER,
    DEFAULT_PROTOCOL_TYPE,
    LISTED_GROUPS,
    MEMBERS,
    OFFSETS,
    REJECTS,
    STREAMS_MEMBERS,
    SUBTOPOLOGIES,
    TOPICS,
)
from rebalance_sim.wording import plural

_REBALANCING_STATES = {"PREPARING_REBALANCING": "PreparingRebalance", "COMPLETING_REBALANCING": "CompletingRebalance"}
_STATES = {**_REBALANCING_STATES, "STABLE": "Stable"}
"""States of groups with members, by librdkafka's names."""
_NAMES_OF_STATES = {state: name for name, state in _STATES.items()}
_FIRST_ANSWER_SECONDS = 3
_PERMANENT_ERRORS = ("_AUTHENTICATION", "_SSL", "_ALL_BROKERS_DOWN")
"""Errors that do not go away while waiting for a first answer."""
_GONE = RequestFailure("GROUP_ID_NOT_FOUND", "the group was deleted after it was listed")
_KIP848_TYPE = "CONSUMER"
_UNKNOWN = "UNKNOWN"
"""State of a consumer-protocol group that assigns or reconciles: librdkafka has no names for these states."""

_NOT_OWNED = "owned partitions are unknown for {}: a coordinator does not report them during a rebalance"
_NO_RACK = "rack is unknown for {}: the coordinator did not report their subscriptions"
_ORDER = "join order is unknown for {}. Predicted leaders and tie-breaks may differ"
_RELEASE = "brokers are of Kafka {}, by the requests that they support; patch level and Scala version are unknown"
_OFFSETS_TOPIC = "__consumer_offsets"
_MIGRATION_POLICY = "group.consumer.migration.policy"
_SENTENCES = (
    *(*PROTOCOLS, SERVER, SERVER_DEFAULT, CLASSIC, USED_TOPICS, NO_TOPICS, OPAQUE),
    *(_NOT_OWNED, _NO_RACK, _ORDER, SHARED, NOT_TARGETS),
)

OnProgress = Callable[[str], None]
_Row = tuple[object, ...]


def read_cluster(
    spark: SparkSession,
    bootstrap_servers: str,
    *,
    properties: Mapping[str, str] | None = None,
    protocols: Sequence[str] | None = None,
    clients: Sequence[StatedClient] = (),
    cluster: str = DEFAULT_CLUSTER,
    on_progress: OnProgress = lambda _: None,
) -> Capture:
    """Read a cluster from its brokers.

    ``properties`` are those of a Java client or of librdkafka. ``clients`` is what the owner of the cluster says about
    clients. ``protocols`` are the assignors that all other classic members offer, instead of the one that their group
    elected. ``on_progress`` is called with lines of progress.

    Raises UserError if confluent-kafka is missing, a property is not allowed, or no broker answers.
    """
    as_stated = MembersAsStated(checked_protocols(protocols), StatedClients(tuple(clients)))
    configuration = librdkafka_properties(properties or {}) | {"bootstrap.servers": bootstrap_servers}
    content = _Reader(configuration, on_progress).read()
    tables = _ClusterTables(content, cluster, as_stated)
    return Capture(
        topics=frame(spark, TOPICS, tables.topics()),
        members=frame(spark, MEMBERS, tables.members()),
        offsets=frame(spark, OFFSETS, tables.offsets()),
        rejects=frame(spark, REJECTS, tables.rejects()),
        clusters=frame(spark, CLUSTERS, tables.clusters()),
        assumptions=tables.assumptions(),
        groups_without_members=sorted(tables.groups_without_members()),
        listed_groups=frame(spark, LISTED_GROUPS, tables.listed_groups()),
        **_streams_tables(spark, content.streams_groups.values(), cluster),
    )


def _streams_tables(
    spark: SparkSession, described: Collection[DescribedStreamsGroup], cluster: str
) -> dict[str, DataFrame]:
    """Return the members and subtopologies of streams groups, if there are any."""
    if not described:
        return {}
    rows = {STREAMS_MEMBERS: member_rows(described, cluster), SUBTOPOLOGIES: subtopology_rows(described, cluster)}
    return {table.name: frame_of(spark, table, of) for table, of in rows.items()}


# --- Reading from the brokers ---


@dataclass(frozen=True, slots=True)
class _DescribedTopic:
    topic_id: str | None
    has_leader: tuple[bool, ...]
    racks: tuple[tuple[str, ...], ...]
    """For each partition, the racks of its replicas on brokers with a rack."""


@dataclass(frozen=True, slots=True)
class _DescribedMember:
    member_id: str
    instance_id: str | None
    client_id: str
    host: str
    assignment: tuple[TopicPartition, ...]


@dataclass(frozen=True, slots=True)
class _DescribedGroup:
    state: str
    is_kip848: bool
    assignor: str
    members: tuple[_DescribedMember, ...]
    protocol_type: str = DEFAULT_PROTOCOL_TYPE

    @property
    def is_opaque(self) -> bool:
        """Whether its members are not consumers, so that what they send has no topics."""
        return self.protocol_type != DEFAULT_PROTOCOL_TYPE


@dataclass
class _ClusterContent:
    releases: list[str] = field(default_factory=list)
    """Releases of the brokers that answered, the oldest first; empty if unknown."""
    migration_policy: str | None = None
    topics: dict[str, _DescribedTopic] = field(default_factory=dict)
    groups: dict[str, _DescribedGroup] = field(default_factory=dict)
    subscriptions: dict[tuple[str, str], bytes] = field(default_factory=dict)
    """By group and member, the subscription bytes that classic members of stable groups sent to the coordinator."""
    other_groups: list[str] = field(default_factory=list)
    """Share groups and streams groups that are not described, and other groups without a readable member."""
    share_groups: dict[str, ShareGroup] = field(default_factory=dict)
    share_problem: str | None = None
    """Why share groups could not be described."""
    streams_groups: dict[str, DescribedStreamsGroup] = field(default_factory=dict)
    streams_problem: str | None = None
    """Why streams groups could not be described."""
    offsets: dict[str, CommittedOffsets] = field(default_factory=dict)
    ends: dict[TopicPartition, int] = field(default_factory=dict)
    rejects: list[tuple[ToolOutput, str | None, str, str]] = field(default_factory=list)

    def reject(self, kind: ToolOutput, group_id: str | None, row: Mapping[str, object], reason: object) -> None:
        """Record a request or row that cannot be used, and the reason."""
        self.rejects.append((kind, group_id, json.dumps(row, ensure_ascii=False), str(reason)))

    def assigned(self, group_id: str) -> set[TopicPartition]:
        """Return the partitions assigned to members of a group."""
        return {partition for member in self.groups[group_id].members for partition in member.assignment}


class _Reader:
    """Reads topics, groups and offsets one after the other; a failed request becomes a reject."""

    def __init__(self, configuration: Mapping[str, str], on_progress: OnProgress) -> None:
        self._configuration = dict(configuration)
        self._report = on_progress
        self._content = _ClusterContent()
        self._errors: list[str] = []
        self._admin = self._connected()

    def read(self) -> _ClusterContent:
        """Read the whole cluster."""
        self._report(f"reading the cluster at {self._configuration['bootstrap.servers']}")
        self._read_topics(self._topic_names())
        self._read_releases()
        self._read_migration_policy()
        group_ids = self._group_ids()
        self._read_groups(group_ids)
        self._read_subscriptions(group_ids)
        content = self._content
        # Of the other groups, share groups (KIP-932) and streams groups (KIP-1071).
        content.share_problem = self._describe("share groups", OF_SHARE, content.share_groups)
        content.streams_problem = self._describe("streams groups", OF_STREAMS, content.streams_groups)
        self._read_offsets()
        self._read_ends()
        return self._content

    def _connected(self) -> Any:
        check_installed()
        from confluent_kafka import KafkaException  # noqa: PLC0415 (an optional dependency)
        from confluent_kafka.admin import AdminClient  # noqa: PLC0415

        # librdkafka's log would mix with the progress lines. Errors that matter reach error_cb.
        configuration = {"log_level": 0, "client.id": "rebalance-sim"} | self._configuration
        try:
            return AdminClient(configuration | {"error_cb": self._on_error})
        except KafkaException as problem:
            # Not chained with `from problem`: its message may contain a password.
            raise config_problem(problem.args[0].str(), self._configuration) from None

    def _on_error(self, error: Any) -> None:
        self._errors.append(without_secrets(f"{error.name()}: {error.str()}", self._configuration))

    def _topic_names(self) -> list[str]:
        from confluent_kafka import KafkaException  # noqa: PLC0415

        last = time.monotonic() + REQUEST_SECONDS
        while time.monotonic() < last and not any(error.startswith(_PERMANENT_ERRORS) for error in self._errors):
            try:
                return sorted(self._admin.list_topics(timeout=_FIRST_ANSWER_SECONDS).topics)
            except KafkaException:
                # Lets librdkafka call _on_error.
                self._admin.poll(0)
        # The first error is the cause of the others.
        why = self._errors[0] if self._errors else f"no answer within {REQUEST_SECONDS} s"
        raise UserError(f"--bootstrap-servers: cannot read {self._configuration['bootstrap.servers']}: {why}")

    def _read_releases(self) -> None:
        from confluent_kafka import KafkaException  # noqa: PLC0415
        from confluent_kafka.admin import AdminClient  # noqa: PLC0415

        versions = SupportedVersions()
        client = AdminClient(self._configuration | {"debug": "feature", "log_level": 7}, logger=versions.logger())
        with contextlib.suppress(KafkaException):
            client.list_topics(timeout=_FIRST_ANSWER_SECONDS)
        # Lets librdkafka write its log.
        client.poll(0)
        self._content.releases = versions.releases()

    def _read_migration_policy(self) -> None:
        """Read the setting from a broker; it stays unknown without the permission to describe its settings."""
        from confluent_kafka import KafkaException  # noqa: PLC0415
        from confluent_kafka.admin import ConfigResource, ResourceType  # noqa: PLC0415

        with contextlib.suppress(KafkaException):
            broker = next(iter(self._admin.list_topics(timeout=_FIRST_ANSWER_SECONDS).brokers))
            asked = ConfigResource(ResourceType.BROKER, str(broker))
            described = self._admin.describe_configs([asked], request_timeout=REQUEST_SECONDS)[asked].result()
            if _MIGRATION_POLICY in described:
                self._content.migration_policy = described[_MIGRATION_POLICY].value.lower()

    def _read_topics(self, names: Sequence[str]) -> None:
        from confluent_kafka import TopicCollection  # noqa: PLC0415

        for name, answer in answers(
            lambda batch: self._admin.describe_topics(TopicCollection(batch), request_timeout=REQUEST_SECONDS),
            names,
            self._progress("topics described", len(names)),
        ):
            if isinstance(answer, RequestFailure):
                self._content.reject(ToolOutput.TOPICS, None, {"request": "DescribeTopics", "topic": name}, answer)
            else:
                self._content.topics[name] = _topic(answer)

    def _group_ids(self) -> list[str]:
        result = self._admin.list_consumer_groups(request_timeout=REQUEST_SECONDS).result()
        for problem in result.errors or ():
            # A broker does not answer: the groups that it coordinates are missing.
            self._content.reject(ToolOutput.GROUPS, None, {"request": "ListGroups"}, RequestFailure.of(problem))
        listed = sorted({group.group_id for group in result.valid or ()})
        self._report(f"groups listed: {len(listed):,}")
        return listed

    def _read_groups(self, group_ids: Sequence[str]) -> None:
        for group_id, answer in answers(
            lambda batch: self._admin.describe_consumer_groups(batch, request_timeout=REQUEST_SECONDS),
            group_ids,
            self._progress("groups described", len(group_ids)),
        ):
            gone = not isinstance(answer, RequestFailure) and answer.state.name == "DEAD"
            failure = _GONE if gone else answer
            if isinstance(failure, RequestFailure):
                row = {"request": "DescribeConsumerGroups", "group_id": group_id}
                self._content.reject(ToolOutput.GROUPS, group_id, row, failure)
            else:
                self._content.groups[group_id] = _group(answer)

    def _read_subscriptions(self, group_ids: Collection[str]) -> None:
        """Read subscription bytes and groups that are not consumers, which only librdkafka's older request returns."""
        from confluent_kafka import KafkaException  # noqa: PLC0415

        try:
            with warnings.catch_warnings(category=DeprecationWarning, action="ignore"):
                listed = self._admin.list_groups(timeout=REQUEST_SECONDS)
        except KafkaException as problem:
            self._content.reject(ToolOutput.MEMBERS, None, {"request": "DescribeGroups"}, RequestFailure.of(problem))
            return
        undescribed = {group.id: group for group in listed if group.id not in {*group_ids}}
        opaque = {group_id: _opaque_group(group) for group_id, group in undescribed.items() if _is_opaque(group)}
        self._content.groups |= opaque
        self._content.other_groups = sorted(undescribed.keys() - opaque.keys())
        for group in (each for each in listed if each.id not in undescribed):
            # A group that rebalances has none, and brokers of 2.3 return the assignment instead.
            self._content.subscriptions |= {
                (group.id, member.id): member.metadata
                for member in group.members
                if member.metadata and member.metadata != member.assignment
            }
        self._report(f"subscriptions read: {len(self._content.subscriptions):,}")

    def _describe(self, what: str, request: DescribeRequest, found: dict[str, Any]) -> str | None:
        """Move the groups of a type from the other groups to ``found``; return why that is not possible."""
        content, problem = self._content, None
        if not content.other_groups or not can_be_described(content.releases):
            return None
        try:
            for group_id, answer in describe_groups(content.other_groups, self._configuration, request):
                if not isinstance(answer, RequestFailure):
                    found[group_id] = answer
                elif answer.name != OF_ANOTHER_TYPE:
                    row = {"request": request.name, "group_id": group_id}
                    content.reject(ToolOutput.GROUPS, group_id, row, answer)
        except NotConnectedError as failure:
            problem = without_secrets(str(failure), self._configuration)
        content.other_groups = [each for each in content.other_groups if each not in found]
        self._report(f"{what} described: {len(found):,}")
        return problem

    def _read_offsets(self) -> None:
        group_ids = list(self._content.groups)
        progress = self._progress("groups' offsets read", len(group_ids))
        with OffsetReader(self._configuration | {"log_level": "0"}) as reader:
            for done, (group_id, answer) in enumerate(reader.read(group_ids), 1):
                row: dict[str, object] = {"request": "ListConsumerGroupOffsets", "group_id": group_id}
                if isinstance(answer, RequestFailure):
                    self._content.reject(ToolOutput.OFFSETS, group_id, row, answer)
                else:
                    self._content.offsets[group_id] = answer
                    for topic, partition, failure in answer.failures:
                        self._content.reject(
                            ToolOutput.OFFSETS, group_id, row | {"topic": topic, "partition": partition}, failure
                        )
                if done % 1000 == 0 or done == len(group_ids):
                    progress(done)

    def _read_ends(self) -> None:
        from confluent_kafka import TopicPartition as Partition  # noqa: PLC0415
        from confluent_kafka.admin import OffsetSpec  # noqa: PLC0415

        wanted = {(topic, number) for each in self._content.offsets.values() for topic, number, _, _ in each.partitions}
        wanted = wanted.union(*(self._content.assigned(group_id) for group_id in self._content.groups))
        topics = self._content.topics.items()
        # Those have the state of applications of Kafka Streams.
        changelogs = [(name, topic) for name, topic in topics if name.endswith("-changelog")]
        wanted |= {(name, number) for name, topic in changelogs for number in range(len(topic.has_leader))}
        asked = sorted(each for each in wanted if self._has_leader(each))

        def ask(batch: list[TopicPartition]) -> dict[TopicPartition, Any]:
            latest = {Partition(*each): OffsetSpec.latest() for each in batch}
            futures = self._admin.list_offsets(latest, request_timeout=REQUEST_SECONDS)
            return {(key.topic, key.partition): future for key, future in futures.items()}

        for (topic, number), answer in answers(ask, asked, self._progress("log ends read", len(asked))):
            if isinstance(answer, RequestFailure):
                row = {"request": "ListOffsets", "topic": topic, "partition": number}
                self._content.reject(ToolOutput.END_OFFSETS, None, row, answer)
            else:
                self._content.ends[topic, number] = answer.offset

    def _has_leader(self, partition: TopicPartition) -> bool:
        """Return whether a partition has a leader; without one librdkafka would retry until the request times out."""
        topic = self._content.topics.get(partition[0])
        return topic is not None and partition[1] < len(topic.has_leader) and topic.has_leader[partition[1]]

    def _progress(self, step: str, total: int) -> Callable[[int], None]:
        return lambda done: self._report(f"{step}: {done:,} of {total:,}")


def _topic(description: Any) -> _DescribedTopic:
    partitions = sorted(description.partitions, key=lambda partition: partition.id)
    return _DescribedTopic(
        _topic_id(description.topic_id),
        tuple(each.leader is not None and each.leader.id >= 0 for each in partitions),
        tuple(tuple(node.rack for node in each.replicas if node.rack) for each in partitions),
    )


def _topic_id(uuid: Any) -> str | None:
    """Return an id as Kafka prints it (librdkafka uses another alphabet); None before Kafka 2.8, without topic ids."""
    if uuid is None:
        return None
    mask = 2**64 - 1
    bits = (uuid.get_most_significant_bits() & mask) << 64 | uuid.get_least_significant_bits() & mask
    return base64.urlsafe_b64encode(bits.to_bytes(16)).decode().rstrip("=") if bits else None


def _signs(group_id: str, group: _DescribedGroup, member: _DescribedMember) -> Signs:
    elected = (group.assignor,) if group.assignor and not group.is_kip848 else ()
    ids = (group_id, member.member_id, member.client_id, member.instance_id)
    return Signs(*ids, elected, protocol_type=group.protocol_type)


def _group(description: Any) -> _DescribedGroup:
    members = tuple(
        _DescribedMember(
            member.member_id,
            member.group_instance_id or None,
            member.client_id,
            member.host,
            tuple((each.topic, each.partition) for each in member.assignment.topic_partitions),
        )
        for member in description.members
    )
    # confluent-kafka before 2.10 has no type, and does not describe consumer-protocol groups.
    group_type = getattr(description, "type", None)
    is_kip848 = group_type is not None and group_type.name == _KIP848_TYPE
    return _DescribedGroup(description.state.name, is_kip848, description.partition_assignor, members)


def _is_opaque(group: Any) -> bool:
    """Return whether a group, such as a Connect cluster, has elected a protocol of another type than ``consumer``.

    The request reports share groups and streams groups as unknown groups without a protocol type.
    """
    return bool(group.protocol_type and group.protocol_type != DEFAULT_PROTOCOL_TYPE and group.protocol)


def _opaque_group(group: Any) -> _DescribedGroup:
    """Return a group whose members are not consumers, from librdkafka's older request; it has no instance ids."""
    members = tuple(
        _DescribedMember(member.id, None, member.client_id, member.client_host, ()) for member in group.members
    )
    state = _NAMES_OF_STATES.get(group.state, _UNKNOWN)
    return _DescribedGroup(state, False, group.protocol, members, group.protocol_type)


# --- Tables and assumptions ---


class _ClusterTables:
    """The rows of the tables. Rejects and assumptions are complete after all other tables have been read."""

    def __init__(self, content: _ClusterContent, cluster: str, as_stated: MembersAsStated) -> None:
        self._content = content
        self._cluster = cluster
        self._as_stated = as_stated
        self._tallies = Tallies()
        self._ends_unknown = 0

    def topics(self) -> Iterator[_Row]:
        """Return the rows of the topics table."""
        for name, topic in self._content.topics.items():
            unavailable = [number for number, led in enumerate(topic.has_leader) if not led]
            racks = topic.racks if any(topic.racks) else None
            ends = [self._content.ends.get((name, number)) for number in range(len(topic.has_leader))]
            known = ends if any(end is not None for end in ends) else None
            yield self._cluster, name, len(topic.has_leader), topic.topic_id, unavailable, racks, known

    def clusters(self) -> Iterator[_Row]:
        """Return the row of the clusters table, during a rolling upgrade with the older release."""
        offsets_topic = self._content.topics.get(_OFFSETS_TOPIC)
        release = next(iter(self._content.releases), None)
        partitions = offsets_topic and len(offsets_topic.has_leader)
        yield self._cluster, release, None, None, partitions, self._content.migration_policy

    def offsets(self) -> Iterator[_Row]:
        """Return the rows of the offsets table: partitions with a committed offset or an owner."""
        content = self._content
        for group_id in content.groups:
            partitions = content.offsets.get(group_id, CommittedOffsets()).partitions
            committed = {(topic, number): (offset, metadata) for topic, number, offset, metadata in partitions}
            for topic, number in sorted(committed.keys() | content.assigned(group_id)):
                offset, metadata = committed.get((topic, number), (None, None))
                end = content.ends.get((topic, number))
                self._ends_unknown += end is None
                yield self._cluster, group_id, topic, number, offset, end, metadata, None, None

    def members(self) -> Iterator[_Row]:
        """Return the rows of the members table."""
        for group_id, group in self._content.groups.items():
            used_topics = self._used_topics(group_id)
            rows = list[dict[str, Any]]()
            for member in group.members:
                columns = self._member(group_id, group, member)
                try:
                    columns |= self._subscription(group_id, group, member, used_topics)
                except SchemaError as problem:
                    row = {"group_id": group_id, "member_id": member.member_id, "client_id": member.client_id}
                    # Without a subscription, later runs reject the member too and mark its group.
                    self._content.reject(ToolOutput.MEMBERS, group_id, row, problem)
                rows.append(columns)
            for columns, offered in zip(rows, self._offered(group_id, group, rows), strict=True):
                columns |= {"protocols": offered.protocols, "protocols_assumed": offered.basis}
                yield tuple(map(columns.get, MEMBERS.schema.names))
        for sharing in self._content.share_groups.values():
            for each in sharing.members:
                yield tuple(map(self._share_member(sharing, each).get, MEMBERS.schema.names))

    def rejects(self) -> Iterator[_Row]:
        """Return the rows of the rejects table."""
        for kind, group_id, row, reason in self._content.rejects:
            yield kind.value, self._cluster, group_id, row, reason

    def _member(self, group_id: str, group: _DescribedGroup, member: _DescribedMember) -> dict[str, Any]:
        """Return the columns that describe a member and what it owns."""
        if not group.is_kip848:
            self._tallies.add(_ORDER, group_id)
        owned = [{"topic": topic, "partition": number} for topic, number in member.assignment]
        is_rebalancing = not owned and group.state in _REBALANCING_STATES
        if is_rebalancing and not group.is_opaque:
            self._tallies.add(_NOT_OWNED, group_id)
        return {
            "cluster": self._cluster,
            "group_id": group_id,
            "member_id": member.member_id,
            "instance_id": member.instance_id,
            "client_id": member.client_id,
            "host": member.host,
            "protocol_type": group.protocol_type,
            "owned": None if is_rebalancing or group.is_opaque else owned,
            "group_state": _STATES.get(group.state),
            **client_columns(_signs(group_id, group, member), self._stated(group_id, member.client_id)),
        }

    def _share_member(self, group: ShareGroup, member: ShareMember) -> dict[str, Any]:
        """Return the columns of a member of a share group; its current assignment is taken to be its target."""
        group_id = group.group_id
        self._tallies.add(SHARED, group_id)
        if member.epoch != group.assignment_epoch:
            self._tallies.add(NOT_TARGETS, group_id)
        signs = Signs(group_id, member.member_id, member.client_id, None, protocol_type=SHARE_TYPE)
        return {
            "cluster": self._cluster,
            "group_id": group_id,
            "member_id": member.member_id,
            "client_id": member.client_id,
            "host": member.client_host,
            "rack": member.rack_id,
            "protocol_type": SHARE_TYPE,
            "protocols": SHARE_ASSIGNORS,
            "subscription": member.subscribed_topics,
            "owned": [{"topic": topic, "partition": number} for topic, number in member.assigned],
            "generation": member.epoch,
            "group_state": group.state,
            **client_columns(signs, self._stated(group_id, member.client_id)),
        }

    def _subscription(
        self, group_id: str, group: _DescribedGroup, member: _DescribedMember, used_topics: list[str]
    ) -> dict[str, Any]:
        """Return the columns that a member's subscription fills; raise SchemaError if it is malformed."""
        if group.is_opaque:
            self._tallies.add(OPAQUE, group_id)
            return {"subscription": []}
        sent = self._content.subscriptions.get((group_id, member.member_id))
        if sent is not None:
            return sent_columns(_signs(group_id, group, member), sent, self._stated(group_id, member.client_id))
        for sentence in (_NO_RACK, USED_TOPICS if used_topics else NO_TOPICS):
            self._tallies.add(sentence, group_id)
        return {"subscription": used_topics}

    def _offered(self, group_id: str, group: _DescribedGroup, rows: Sequence[Mapping[str, Any]]) -> list[Offered]:
        """Return the protocols of a group's members; count what is assumed."""
        offers = [self._offer(row) for row in rows]
        if not group.is_kip848:
            stated = () if group.is_opaque else self._as_stated.protocols
            offered = offered_protocols(offers, group.assignor or None, stated)
            for each in zip(offers, offered, strict=True):
                self._tallies.add(about_protocols(*each), group_id)
            return offered
        member_ids = [row["member_id"] for row in rows]
        classic = classic_by_id(member_ids)
        return [
            self._of_classic_member(group_id, offer) if member_id in classic else self._of_server(group_id, group)
            for member_id, offer in zip(member_ids, offers, strict=True)
        ]

    def _offer(self, row: Mapping[str, Any]) -> Offer:
        leader = Leader(row["client_library"] or "", row["client_version"] or "")
        return Offer(leader, self._stated(row["group_id"], row["client_id"]).protocols or ())

    def _stated(self, group_id: str, client_id: str | None) -> StatedClient:
        return self._as_stated.clients.of(group_id, client_id)

    def _of_classic_member(self, group_id: str, offer: Offer) -> Offered:
        """Return the protocols of a member that uses the classic protocol in a consumer-protocol group."""
        (offered,) = offered_protocols([offer], None, self._as_stated.protocols)
        self._tallies.add(CLASSIC, group_id)
        self._tallies.add(about_protocols(offer, offered), group_id)
        return offered

    def _of_server(self, group_id: str, group: _DescribedGroup) -> Offered:
        offered = server_protocols(group.assignor or None)
        self._tallies.add(SERVER if offered.basis is Basis.GROUPS_ASSIGNOR else SERVER_DEFAULT, group_id)
        return offered

    def _used_topics(self, group_id: str) -> list[str]:
        partitions = self._content.offsets.get(group_id, CommittedOffsets()).partitions
        return sorted(
            {topic for topic, _, _, _ in partitions} | {topic for topic, _ in self._content.assigned(group_id)}
        )

    def listed_groups(self) -> Iterator[_Row]:
        """Return the rows of the listed_groups table: share groups, and groups that cannot be described."""
        for group in self._content.share_groups.values():
            yield self._cluster, group.group_id, SHARE_TYPE, SHARE_TYPE, group.state, len(group.members)
        for described in self._content.streams_groups.values():
            yield self._cluster, described.group_id, STREAMS_TYPE, STREAMS_TYPE, described.state, len(described.members)
        for group_id in self._content.other_groups:
            yield self._cluster, group_id, None, None, None, None

    def groups_without_members(self) -> set[str]:
        """Return the groups that have offsets but no members."""
        return {group_id for group_id, group in self._content.groups.items() if not group.members}

    def assumptions(self) -> list[str]:
        """Return a sentence for each kind of assumption."""
        releases = [_RELEASE.format(" and ".join(self._content.releases))] if self._content.releases else []
        return [*releases, *self._tallies.sentences(_SENTENCES), *self._about_groups(), *self._about_offsets()]

    def _about_groups(self) -> Iterator[str]:
        by_state: defaultdict[str, set[str]] = defaultdict(set)
        for group_id, group in self._content.groups.items():
            by_state[group.state].add(group_id)
        rebalancing = set[str]().union(*(by_state[state] for state in _REBALANCING_STATES))
        rebalancing |= {group_id for group_id in by_state[_UNKNOWN] if self._content.groups[group_id].is_kip848}
        for sentence, group_ids in ((REBALANCING, rebalancing), (WITHOUT_MEMBERS, self.groups_without_members())):
            if group_ids:
                yield sentence.replace("{}", groups(group_ids))
        empty = {group_id for group_id, sharing in self._content.share_groups.items() if not sharing.members}
        if empty:
            yield OF_OTHER_TYPES.format(groups(empty))
        if self._content.other_groups:
            yield NOT_DESCRIBED.format(groups(self._content.other_groups))
        if self._content.share_problem is not None:
            yield f"share groups could not be described: {self._content.share_problem}"
        described = [group_id for group_id, group in self._content.streams_groups.items() if group.subtopologies]
        if described:
            yield ASSUMED_REPLICAS.format(groups(described))
        if self._content.streams_problem is not None:
            yield f"streams groups could not be described: {self._content.streams_problem}"

    def _about_offsets(self) -> Iterator[str]:
        if self._ends_unknown:
            rows = plural(self._ends_unknown, "row")
            yield f"log end offset is unknown for {rows} of the offsets table: no such topic, no leader, or no answer"
