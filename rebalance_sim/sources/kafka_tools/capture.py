"""Reads a fleet from the output of Kafka's command-line tools.

A capture is a directory with the output of ``kafka-topics.sh``, ``kafka-consumer-groups.sh`` and
``kafka-get-offsets.sh``, or of other tools that show the same (rpk, kcat, AKHQ), in files of any name. An optional
``consumers.csv`` adds what no tool prints: the assignors, topics and racks that clients are configured with. Everything
else that is unknown becomes an assumption.
"""

import itertools
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema

from rebalance_sim.engine.runs.hadoop_files import HadoopFiles, local_path
from rebalance_sim.engine.runs.input_formats import check_exists
from rebalance_sim.engine.spark.driver_rows import driver_rows
from rebalance_sim.engine.tables.inputs import first_line
from rebalance_sim.errors import UserError
from rebalance_sim.kafka.assignors.by_library import Leader
from rebalance_sim.kafka.clients.assumed_protocols import Basis, Offer, Offered, offered_protocols
from rebalance_sim.kafka.clients.recognition import Signs
from rebalance_sim.kafka.clients.stated import StatedClient, StatedClients
from rebalance_sim.kafka.group_kinds import SHARE_TYPE
from rebalance_sim.releases import SERVER_ASSIGNORS, SHARE_ASSIGNORS
from rebalance_sim.sources.assumptions import (
    NO_TOPICS,
    NOT_DESCRIBED,
    NOT_TARGETS,
    OF_OTHER_TYPES,
    OWNED_TOPICS,
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
    names,
)
from rebalance_sim.sources.consumer_groups import (
    CLASSIC,
    DEFAULT_SERVER_ASSIGNOR,
    SERVER,
    SERVER_DEFAULT,
    classic_by_id,
    server_protocols,
)
from rebalance_sim.sources.kafka_tools.clients import known_client
from rebalance_sim.sources.kafka_tools.contents import ConsumerLine, Notice, ToolOutput, TopicPartition
from rebalance_sim.sources.kafka_tools.lines import (
    LONGEST_SAMPLE,
    CapturedMember,
    Lines,
    Location,
    Reject,
    partitions_by_owner,
)
from rebalance_sim.sources.kafka_tools.listed_groups import ListedGroup
from rebalance_sim.sources.kafka_tools.streams_members import assumptions as assumptions_of_streams
from rebalance_sim.sources.kafka_tools.streams_members import member_rows
from rebalance_sim.tables import (
    DEFAULT_CLUSTER,
    DEFAULT_PROTOCOL_TYPE,
    LISTED_GROUPS,
    MEMBERS,
    OFFSETS,
    REBALANCING_STATES,
    REJECTS,
    STREAMS_MEMBERS,
    TOPICS,
    WITHOUT_MEMBERS_STATES,
    Table,
)
from rebalance_sim.wording import plural

_MEMBERS_COMMAND = "kafka-consumer-groups.sh --bootstrap-server HOST:PORT --describe --all-groups --members --verbose"
_BATCH_ROWS = 50_000
_HIDDEN = ("_", ".")
_OF_MEMBERS = (ToolOutput.MEMBERS, ToolOutput.STREAMS_MEMBERS)
# Member ids of consumer-protocol members are bare Uuids (22 characters); those of classic ones end in 36 characters.
_KIP848_MEMBER_ID = re.compile(r"[A-Za-z0-9_-]{22}")


@dataclass(frozen=True)
class Capture:
    """The tables of a real cluster, and the assumptions about it."""

    topics: DataFrame
    members: DataFrame
    offsets: DataFrame
    rejects: DataFrame
    """Lines that cannot be used. ``row`` has their file, line number and text, or the failed request of a live cluster.
    ``table`` is the output they belong to: topics, members, streams_members, offsets, state, groups, end_offsets,
    consumers, capture if that is unknown, or file for a whole file."""
    assumptions: list[str]
    """One sentence per assumption."""
    groups_without_members: list[str]
    clusters: DataFrame | None = None
    """The brokers, as far as they can be asked."""
    listed_groups: DataFrame | None = None
    """Groups of any type, as far as the source lists them."""
    streams_members: DataFrame | None = None
    subtopologies: DataFrame | None = None
    """Those of streams groups, if there are any."""


def read_capture(
    spark: SparkSession,
    directory: str,
    *,
    protocols: Sequence[str] | None = None,
    clients: Sequence[StatedClient] = (),
    cluster: str = DEFAULT_CLUSTER,
) -> Capture:
    """Read a directory with the output of the tools, local or on any file system that Spark reads.

    ``clients`` is what the owner of the cluster states about clients. ``protocols`` are the assignors of all members
    for which neither ``clients`` nor ``consumers.csv`` has any. Raises UserError if the directory cannot be read or
    contains no output of ``kafka-consumer-groups.sh`` with members.
    """
    as_stated = MembersAsStated(checked_protocols(protocols), StatedClients(tuple(clients)))
    lines = Lines()
    files, lines.hidden_files = _files(spark, directory)
    for name in sorted(files):
        lines.add_file(name.rpartition("/")[2], files.pop(name))
    has_groups = lines.owners or lines.owners_without_id or lines.other_groups()
    if not lines.has_members and not has_groups:
        why = f" ({problem})" if (problem := lines.first_problem()) else ""
        raise UserError(
            f"{directory!r} contains no members of groups{why}; add a file with the output of: {_MEMBERS_COMMAND}"
        )
    tables = CaptureTables(lines, cluster, as_stated)
    return Capture(
        topics=frame(spark, TOPICS, tables.topics()),
        members=frame(spark, MEMBERS, tables.members()),
        offsets=frame(spark, OFFSETS, tables.offsets()),
        rejects=frame(spark, REJECTS, tables.rejects()),
        assumptions=tables.assumptions(),
        groups_without_members=tables.groups_without_members(),
        listed_groups=frame(spark, LISTED_GROUPS, tables.listed_groups()),
        streams_members=frame_of(spark, STREAMS_MEMBERS, tables.streams_members()) if lines.streams_members else None,
    )


def _files(spark: SparkSession, directory: str) -> tuple[dict[str, bytes], list[str]]:
    """Return the contents of a directory's files by path, and the names of local files that are skipped."""
    check_exists(HadoopFiles(spark), "the capture", directory)
    folder = local_path(spark, directory)
    try:
        if folder is not None and folder.is_dir():
            # Spark would skip the same files; this does not start its first job.
            files = [file for file in folder.iterdir() if file.is_file()]
            skipped = [file.name for file in files if file.name.startswith(_HIDDEN)]
            return {str(file): file.read_bytes() for file in files if file.name not in skipped}, skipped
        rows = spark.read.format("binaryFile").load(directory).select("path", "content").toLocalIterator()
        return {row["path"]: bytes(row["content"]) for row in rows}, []
    except (OSError, PySparkException, Py4JError) as problem:
        raise UserError(f"cannot read the capture {directory!r}: {first_line(problem)}") from problem


def arrow_table(table: Table, rows: Iterable[tuple[object, ...]]) -> pa.Table:
    """Convert rows to columns in batches, because Python objects take many times the memory."""
    schema = to_arrow_schema(table.schema)
    batches = []
    remaining = iter(rows)
    while chunk := list(itertools.islice(remaining, _BATCH_ROWS)):
        columns = zip(zip(*chunk, strict=True), schema, strict=True)
        arrays = [pa.array(column, kind.type) for column, kind in columns]
        batches.append(pa.RecordBatch.from_arrays(arrays, schema=schema))
    # Spark rejects columns without any chunk.
    return pa.Table.from_batches(batches or [pa.RecordBatch.from_pylist([], schema)], schema)


def frame(spark: SparkSession, table: Table, rows: Iterable[tuple[object, ...]]) -> DataFrame:
    """Return rows as a DataFrame."""
    return driver_rows(spark, arrow_table(table, rows), table.schema)


def frame_of(spark: SparkSession, table: Table, rows: Iterable[Mapping[str, object]]) -> DataFrame:
    """Return rows by the names of their columns as a DataFrame; a column that a row does not have is null."""
    return frame(spark, table, (tuple(map(row.get, table.names)) for row in rows))


_Key = tuple[str, str]
"""Group and member id."""
# {} is "12 members (4 groups)", FILES the files with members.
_NAMES_LOST = "owned partitions of {} are taken from --offsets: Kafka 3.8 and 3.9 print them without topics"
_NOT_VERBOSE = "owned partitions of {} are taken from --offsets: --members was run without --verbose"
NOT_CAPTURED = "--state shows members of the group, but no line of --members does"
"""The reason in rejects, as the next two."""
NOT_LISTED = "--offsets shows the member, but no line of --members does"
ONE_MORE = "--state shows a member of the group more than --members does"
_BY_OFFSETS = "{} are missing from --members and read from --offsets, which does not show group.instance.id"
_MORE_SHOWN = "state or offsets show more members than were read, perhaps because the commands ran at different times"
_NO_INSTANCE_ID = (
    "group.instance.id of {} is unknown, because the tool does not print it; they are read as dynamic members"
)
_NOT_OWNED = "owned partitions of {} are unknown: neither --members --verbose nor --offsets lists them"
_OTHER_MOMENT = "the partition count of {} differs between --offsets and --members, which ran at different times"
_NO_RACK = "the rack of {} is unknown: no tool prints client.rack"
_ORDER = "join order is unknown for {}; the order of FILES is used. Predicted leaders and tie-breaks may differ"
_SENTENCES = (
    *(*PROTOCOLS, SERVER, SERVER_DEFAULT, CLASSIC, USED_TOPICS, OWNED_TOPICS, NO_TOPICS, SHARED, NOT_TARGETS),
    *(_BY_OFFSETS, _NO_INSTANCE_ID, _NAMES_LOST, _NOT_VERBOSE, _NOT_OWNED, _OTHER_MOMENT, _NO_RACK, _ORDER),
)


class CaptureTables:
    """The rows of the tables. Rejects and assumptions are complete once the other tables have been read."""

    def __init__(self, lines: Lines, cluster: str, as_stated: MembersAsStated) -> None:
        lines.add_members_of_offsets()
        lines.separate_other_groups()
        self._lines = lines
        self._cluster = cluster
        self._as_stated = as_stated
        self._share = lines.share_groups()
        self._streams = {group_id for group_id, _ in lines.streams_members}
        self._kip848 = _kip848_groups(lines)
        self._classic = _classic_members(lines, self._kip848)
        self._owned_by_offsets = _owned_by_offsets(lines)
        self._topics_of_group = _topics_of_group(lines)
        self._topics_owned = self._owned_topics()
        self._bad_members = self._rejected_members()
        self._tallies = Tallies()
        self._clients = {key: self._client(member) for key, member in lines.members.items()}
        self._offered = self._offered_by_member()
        self._ends_filled = 0

    def topics(self) -> Iterator[tuple[object, ...]]:
        """Return the rows of the topics table."""
        for name, topic in self._lines.topics.items():
            unavailable = sorted(number for number, led in topic.has_leader.items() if not led)
            known = bool(topic.has_leader) or not topic.partitions
            row = (self._cluster, name, topic.partitions, topic.topic_id, unavailable if known else None, None)
            yield *row, self._end_offsets(name, topic.partitions) if self._lines.ends else None

    def _end_offsets(self, topic: str, partitions: int) -> list[int | None] | None:
        """Return the log end offsets of a topic; None if all are unknown."""
        ends = [self._lines.ends.get((topic, number)) for number in range(partitions)]
        return ends if any(end is not None for end in ends) else None

    def offsets(self) -> Iterator[tuple[object, ...]]:
        """Return the rows of the offsets table."""
        for (group_id, topic, partition), offset in self._lines.offsets.items():
            end = offset.end
            if end is None:
                end = self._lines.ends.get((topic, partition))
                self._ends_filled += end is not None
            yield self._cluster, group_id, topic, partition, offset.committed, end, None, None, None

    def members(self) -> Iterator[tuple[object, ...]]:
        """Return the rows of the members table."""
        places: defaultdict[str, int] = defaultdict(int)
        for member in self._lines.members.values():
            yield self._member(member, self._consumer(member), places[member.group_id])
            places[member.group_id] += 1
        self._reject_unused_consumers()

    def streams_members(self) -> Iterator[dict[str, Any]]:
        """Return the rows of the members of streams groups."""
        return member_rows([member.line for member in self._lines.streams_members.values()], self._cluster)

    def listed_groups(self) -> Iterator[tuple[object, ...]]:
        """Return the rows of the table of listed groups."""
        lines = self._lines
        without_members = lines.noticed[Notice.NO_MEMBERS]
        for group_id in sorted({*lines.listed, *lines.states}.union(*lines.noticed.values())):
            listed, state = lines.listed.get(group_id, ListedGroup()), lines.states.get(group_id)
            shown = listed.members if state is None else state.members
            members = 0 if shown is None and group_id in without_members else shown
            state_name = listed.state if state is None else state.state
            yield self._cluster, group_id, listed.group_type, listed.protocol_type, state_name, members

    def rejects(self) -> Iterator[tuple[object, ...]]:
        """Return the rows of the rejects table."""
        for reject in self._lines.rejects:
            group_id = self._group_of(reject)
            yield reject.kind.value, self._cluster, group_id, reject.place.as_json(), reject.reason
        places = self._lines.places_of_states
        missing = [Reject(ToolOutput.MEMBERS, name, places[name], NOT_CAPTURED) for name in self._not_captured()]
        for group_id in sorted(self._with_missing_members):
            missing += self._missing_members(group_id)
        for reject in missing:
            yield reject.kind.value, self._cluster, reject.group_id, reject.place.as_json(), reject.reason

    def _member(self, member: CapturedMember, consumer: ConsumerLine | None, place: int) -> tuple[object, ...]:
        self._assume_order(member)
        if member.by_offsets:
            self._tallies.add(_BY_OFFSETS, member.group_id)
        if not member.line.instance_id_known:
            self._tallies.add(_NO_INSTANCE_ID, member.group_id)
        owned = self._owned(member)
        state = self._lines.states.get(member.group_id)
        rack = consumer.rack if consumer else None
        key = (member.group_id, member.line.member_id)
        offered, is_share = self._offered[key], member.group_id in self._share
        if rack is None and not is_share:
            self._tallies.add(_NO_RACK, member.group_id)
        columns = {
            "cluster": self._cluster,
            "group_id": member.group_id,
            "member_id": member.line.member_id,
            "instance_id": member.line.instance_id,
            "client_id": member.line.client_id,
            "host": member.line.host,
            "rack": rack,
            "protocol_type": SHARE_TYPE if is_share else DEFAULT_PROTOCOL_TYPE,
            "protocols": offered.protocols,
            "protocols_assumed": offered.basis,
            "subscription": self._subscription(member, consumer),
            "owned": None
            if owned is None
            else [{"topic": topic, "partition": partition} for topic, partition in owned],
            "generation": member.line.epoch,
            "join_order": None if is_share else place,
            "group_state": state.state if state else self._lines.listed[member.group_id].state if is_share else None,
            **self._clients[key],
        }
        return tuple(map(columns.get, MEMBERS.schema.names))

    def _assume_order(self, member: CapturedMember) -> None:
        """Count what is assumed about the order of a member, and for a share member about its target assignment."""
        group_id = member.group_id
        if group_id not in self._share:
            self._tallies.add(None if group_id in self._kip848 else _ORDER, group_id)
            return
        self._tallies.add(SHARED, group_id)
        target_epoch = self._lines.listed[group_id].assignment_epoch
        if member.line.epoch is None or member.line.epoch != target_epoch:
            self._tallies.add(NOT_TARGETS, group_id)

    def _offered_by_member(self) -> dict[_Key, Offered]:
        """Return the protocols of each member, by group and member; count what is assumed."""
        of_groups: defaultdict[str, dict[_Key, Offer]] = defaultdict(dict)
        offered: dict[_Key, Offered] = {}
        for key, member in self._lines.members.items():
            consumer = self._consumer(member)
            configured = self._configured(member, consumer)
            if member.group_id in self._share:
                offered[key] = Offered(SHARE_ASSIGNORS)
            elif self._is_classic(member):
                client = self._clients[key]
                leader = Leader(client["client_library"] or "", client["client_version"] or "")
                of_groups[member.group_id][key] = Offer(leader, configured)
            else:
                offered[key] = Offered(configured) if configured else self._of_server(member.group_id)
        for group_id, offers in of_groups.items():
            offered |= self._of_classic_members(group_id, offers)
        return offered

    def _client(self, member: CapturedMember) -> dict[str, Any]:
        """Return the columns about a member's client."""
        consumer = self._consumer(member)
        return known_client(self._signs(member, consumer), consumer, self._stated(member))

    def _stated(self, member: CapturedMember) -> StatedClient:
        return self._as_stated.clients.of(member.group_id, member.line.client_id)

    def _is_classic(self, member: CapturedMember) -> bool:
        key = (member.group_id, member.line.member_id)
        return member.group_id not in self._kip848 or key in self._classic

    def _configured(self, member: CapturedMember, consumer: ConsumerLine | None) -> tuple[str, ...]:
        """Return the protocols that a user states; in a consumer-protocol group, those of the member's kind only."""
        protocols = (consumer and consumer.protocols) or self._stated(member).protocols or ()
        is_usable = self._is_classic(member) == set(protocols).isdisjoint(SERVER_ASSIGNORS)
        return protocols if is_usable or member.group_id not in self._kip848 else ()

    def _of_server(self, group_id: str) -> Offered:
        state = self._lines.states.get(group_id)
        offered = server_protocols(state.strategy if state else None)
        self._tallies.add(SERVER if offered.basis is Basis.GROUPS_ASSIGNOR else SERVER_DEFAULT, group_id)
        return offered

    def _of_classic_members(self, group_id: str, offers: dict[_Key, Offer]) -> dict[_Key, Offered]:
        state = self._lines.states.get(group_id)
        elected = state.strategy if state and group_id not in self._kip848 else None
        of_members = offered_protocols([*offers.values()], elected or None, self._as_stated.protocols)
        for (key, offer), offered in zip(offers.items(), of_members, strict=True):
            if group_id in self._kip848 and self._lines.members[key].line.upgraded is None:
                self._tallies.add(CLASSIC, group_id)
            self._tallies.add(about_protocols(offer, offered), group_id)
        return dict(zip(offers, of_members, strict=True))

    def _signs(self, member: CapturedMember, consumer: ConsumerLine | None) -> Signs:
        state = self._lines.states.get(member.group_id)
        elected = (state.strategy,) if state and state.strategy and member.group_id not in self._kip848 else ()
        offered = (consumer and consumer.protocols) or elected
        line = member.line
        ids = (member.group_id, line.member_id, line.client_id, line.instance_id)
        if member.group_id in self._share:
            return Signs(*ids, protocol_type=SHARE_TYPE)
        return Signs(*ids, offered)

    def _subscription(self, member: CapturedMember, consumer: ConsumerLine | None) -> list[str]:
        if consumer is not None and consumer.subscription is not None:
            return list(consumer.subscription)
        owned = self._topics_owned.get(member.group_id)
        topics = sorted(owned or self._topics_of_group[member.group_id])
        self._tallies.add(OWNED_TOPICS if owned else USED_TOPICS if topics else NO_TOPICS, member.group_id)
        return topics

    def _owned_topics(self) -> dict[str, set[str]]:
        """Return the topics of which a group owns partitions, if these are all to which its members subscribe.

        A group that does not rebalance owns its topics as a whole: offsets of others are of an earlier subscription.
        """
        topics: defaultdict[str, set[str]] = defaultdict(set)
        uncertain = {group_id for group_id, row in self._lines.states.items() if row.state in REBALANCING_STATES}
        for (group_id, member_id), member in self._lines.members.items():
            assigned = member.line.assignment
            owned = self._owned_by_offsets.get((group_id, member_id), []) if assigned is None else assigned
            if len(owned) != member.line.partitions:
                uncertain.add(group_id)
            topics[group_id].update(topic for topic, _ in owned)
        return {group_id: names for group_id, names in topics.items() if group_id not in uncertain}

    def _owned(self, member: CapturedMember) -> Sequence[TopicPartition] | None:
        if member.line.assignment is not None:
            return member.line.assignment
        owned = self._owned_by_offsets.get((member.group_id, member.line.member_id), [])
        if not owned and not member.line.partitions:
            return ()
        if not owned:
            self._tallies.add(_NOT_OWNED, member.group_id)
            return None
        self._tallies.add(_NAMES_LOST if member.line.names_lost else _NOT_VERBOSE, member.group_id)
        if len(owned) != member.line.partitions:
            self._tallies.add(_OTHER_MOMENT, member.group_id)
        return sorted(owned)

    def _consumer(self, member: CapturedMember) -> ConsumerLine | None:
        """Return the row of consumers.csv for a member: one with its instance_id, else one without."""
        rows = self._lines.consumers
        client = (member.group_id, member.line.client_id)
        row = rows.get((*client, member.line.instance_id)) or rows.get((*client, None))
        if row is None:
            return None
        row.used = True
        return row.line

    def _reject_unused_consumers(self) -> None:
        clients = {(member.group_id, member.line.client_id) for member in self._lines.members.values()}
        for (group_id, client_id, instance_id), row in self._lines.consumers.items():
            if row.used:
                continue
            if (group_id, client_id) not in clients:
                reason = f"no member of group {group_id!r} has client_id {client_id!r}"
            elif instance_id is not None:
                reason = f"no member of group {group_id!r} with client_id {client_id!r} has instance_id {instance_id!r}"
            else:
                reason = "every member with this client_id has a row with its instance_id"
            self._lines.reject(row.place, ToolOutput.CONSUMERS, group_id, reason)

    def groups_without_members(self) -> list[str]:
        """Return the groups without members that the capture names."""
        unknown = self._lines.other_groups().union(self._unread_groups(), self._not_described())
        return sorted(self._named - self._read.keys() - unknown)

    def _not_described(self) -> set[str]:
        """Return the listed groups for which no other output shows whether they have members."""
        lines = self._lines
        described = {group_id for group_id, _, _ in lines.offsets} | lines.states.keys() | self._read.keys()
        listed = {
            group_id
            for group_id, group in lines.listed.items()
            if group.members != 0 and group.state not in WITHOUT_MEMBERS_STATES
        }
        return listed.difference(described, lines.noticed[Notice.NO_MEMBERS], lines.other_groups())

    def _unread_groups(self) -> list[str]:
        """Return the groups with members none of which can be used."""
        lines = self._lines
        expected = {group_id for group_id, state in lines.states.items() if state.members}
        return sorted((expected | self._bad_members.keys()) - self._read.keys())

    @cached_property
    def _named(self) -> set[str]:
        """The groups that usable lines name."""
        lines = self._lines
        named = {group_id for group_id, _, _ in lines.offsets} | lines.states.keys() | self._read.keys()
        return named.union(lines.listed, *lines.noticed.values())

    def _group_of(self, reject: Reject) -> str | None:
        """Return the group of an unreadable line; the first word of the line may be only a part of the group id."""
        guess, text = reject.group_id, reject.place.text
        if guess is None or guess in self._named:
            return guess
        return max((name for name in self._named if f"{name} " in text), key=len, default=guess)

    def _not_captured(self) -> list[str]:
        """Return the groups that have members by --state, but no line of --members."""
        return [group_id for group_id in self._unread_groups() if group_id not in self._bad_members]

    def _missing_members(self, group_id: str) -> list[Reject]:
        """Return a reject for each member of a group that other outputs show and no line of --members has.

        Their lines may have been lost from the capture, or the tool was run at another time.
        """
        read, places = self._read[group_id], self._lines.places_of_states
        # A line that is rejected because the member is listed more than once is that of a member that was read.
        bad = [text for text in self._bad_members[group_id] if not any(member_id in text for member_id in read)]
        owners = self._absent_owners[group_id]
        unlisted = [place for member_id, place in owners.items() if not any(member_id in text for text in bad)]
        more = self._shown_members.get(group_id, 0) - len(read) - len(bad) - len(unlisted)
        kind = ToolOutput.STREAMS_MEMBERS if group_id in self._streams else ToolOutput.MEMBERS
        return [
            *(Reject(kind, group_id, place, NOT_LISTED) for place in unlisted),
            *(Reject(kind, group_id, places[group_id], ONE_MORE) for _ in range(more)),
        ]

    def _rejected_members(self) -> defaultdict[str, list[str]]:
        """Return the rejected lines of --members by group, if they show the group."""
        texts: defaultdict[str, list[str]] = defaultdict(list)
        for reject in self._lines.rejects:
            if reject.kind in _OF_MEMBERS and (group_id := self._group_of(reject)) is not None:
                texts[group_id].append(reject.place.text)
        return texts

    @cached_property
    def _absent_owners(self) -> defaultdict[str, dict[str, Location]]:
        """By group, the members that --offsets shows and that were not read, with their first lines."""
        absent: defaultdict[str, dict[str, Location]] = defaultdict(dict)
        for (group_id, member_id), owner in self._lines.owners.items():
            if (group_id, member_id) not in self._lines.members:
                absent[group_id][member_id] = owner.place
        return absent

    @cached_property
    def _shown_members(self) -> dict[str, int]:
        """By group, the number of members that --state shows."""
        listed = {name: self._lines.listed[name].members or 0 for name in self._lines.other_groups()}
        return listed | {name: state.members for name, state in self._lines.states.items()}

    @cached_property
    def _read(self) -> defaultdict[str, set[str]]:
        """The ids of the members that were read, by group."""
        read: defaultdict[str, set[str]] = defaultdict(set)
        for group_id, member_id in (*self._lines.members, *self._lines.streams_members):
            read[group_id].add(member_id)
        return read

    @cached_property
    def _with_missing_members(self) -> set[str]:
        """The groups of which --state or --offsets shows more members than were read."""
        lines = self._lines
        shown = {(group_id, offset.member_id) for (group_id, _, _), offset in lines.offsets.items() if offset.member_id}
        absent = {group_id for group_id, _ in (shown | lines.owners.keys()) - lines.members.keys()}
        fewer = {name for name, shown in self._shown_members.items() if shown > len(self._read.get(name, ()))}
        return (absent | fewer) & self._read.keys()

    def assumptions(self) -> list[str]:
        """Return one sentence per assumption."""
        files = names({member.place.file for member in self._lines.members.values()})
        by_member = [sentence.replace("FILES", files) for sentence in self._tallies.sentences(_SENTENCES)]
        by_member += assumptions_of_streams([member.line for member in self._lines.streams_members.values()])
        return [*by_member, *self._about_groups(), *self._about_topics(), *self._about_files()]

    def _about_groups(self) -> Iterator[str]:
        lines = self._lines
        rebalancing = lines.noticed[Notice.REBALANCING] | {
            group_id for group_id, state in lines.states.items() if state.state in REBALANCING_STATES
        }
        if rebalancing:
            yield REBALANCING.replace("{}", groups(rebalancing))
        of_other_types = lines.other_groups() - self._read.keys()
        if of_other_types:
            yield OF_OTHER_TYPES.format(groups(of_other_types))
        not_described = self._not_described()
        if not_described:
            yield NOT_DESCRIBED.format(groups(not_described))
        without = set(self.groups_without_members())
        if without:
            yield WITHOUT_MEMBERS.replace("{}", groups(without))
        not_captured = self._not_captured()
        if not_captured:
            yield f"{groups(not_captured)} missing from the output of --members, but --state shows members"

        incomplete = self._with_missing_members
        if incomplete:
            yield f"members of {groups(incomplete)} may be missing: {_MORE_SHOWN}"

    def _about_topics(self) -> Iterator[str]:
        lines = self._lines
        if not lines.topics:
            yield "no output of kafka-topics.sh --describe: the topics table is empty"
        missing = [topic.partitions - len(topic.has_leader) for topic in lines.topics.values()]
        if any(missing):
            without_line = f"{plural(sum(missing), 'partition')} of {plural(sum(map(bool, missing)), 'topic')}"
            yield f"{without_line} assumed to have a leader: kafka-topics.sh printed no line for them"
        if not lines.has_offsets and not lines.offsets:
            yield "no output of kafka-consumer-groups.sh --offsets: the offsets table is empty"
        if self._ends_filled:
            yield f"kafka-get-offsets.sh supplies the log end offset of {plural(self._ends_filled, 'row')} of offsets"

    def _about_files(self) -> Iterator[str]:
        lines = self._lines
        if lines.groups_by_file:
            file, group_id = min(lines.groups_by_file.items())
            what = f"{plural(len(lines.groups_by_file), 'file')} without a GROUP column"
            yield f"{what}: the group is taken from messages in the file or its name, such as {group_id} for {file}"
        if lines.undecodable:
            places = names([f"{file} line {number}" for file, number in lines.undecodable.items()])
            yield f"characters that are not valid UTF-8 or UTF-16 are replaced by \ufffd, first in {places}"
        if lines.empty_files:
            yield f"no content in {names(lines.empty_files)}"
        if lines.hidden_files:
            yield f"files whose names begin with _ or . are skipped: {names(lines.hidden_files)}"
        if lines.errors:
            first = lines.errors[0]
            what = f"the tools printed {plural(len(lines.errors), 'error')}; parts of the cluster may be missing"
            yield f"{what}. {first}: {first.text.strip()[:LONGEST_SAMPLE]}"


def _kip848_groups(lines: Lines) -> set[str]:
    """Return the consumer-protocol groups: by layouts that state the type, else by features of such groups."""
    stated: defaultdict[str, set[bool | None]] = defaultdict(set)
    signs = set()
    for (group_id, member_id), member in lines.members.items():
        stated[group_id].add(member.line.is_kip848)
        if _KIP848_MEMBER_ID.fullmatch(member_id):
            signs.add(group_id)
    for group_id, state in lines.states.items():
        stated[group_id].add(state.is_kip848)
        if state.strategy == DEFAULT_SERVER_ASSIGNOR:
            signs.add(group_id)
    for group_id, listed in lines.listed.items():
        stated[group_id].add(listed.is_kip848)
    signs -= lines.share_groups()
    certain = {group_id for group_id, answers in stated.items() if True in answers}
    return certain | {group_id for group_id in signs if False not in stated[group_id]}


def _classic_members(lines: Lines, kip848: set[str]) -> set[tuple[str, str]]:
    """Return the members of these groups that use the classic protocol, by UPGRADED or else by their ids."""
    ids: defaultdict[str, list[str]] = defaultdict(list)
    for group_id, member_id in lines.members:
        if group_id in kip848:
            ids[group_id].append(member_id)
    by_id = {(group_id, member_id) for group_id, of_group in ids.items() for member_id in classic_by_id(of_group)}
    classic = set()
    for key, member in lines.members.items():
        if key[0] in kip848 and (member.line.upgraded is False or (member.line.upgraded is None and key in by_id)):
            classic.add(key)
    return classic


def _owned_by_offsets(lines: Lines) -> dict[tuple[str, str], list[TopicPartition]]:
    has_all = all(member.line.assignment is not None for member in lines.members.values())
    return {} if has_all else partitions_by_owner(lines)


def _topics_of_group(lines: Lines) -> defaultdict[str, set[str]]:
    topics: defaultdict[str, set[str]] = defaultdict(set)
    for group_id, topic, _ in lines.offsets:
        topics[group_id].add(topic)
    for member in lines.members.values():
        topics[member.group_id].update(topic for topic, _ in member.line.assignment or ())
    for group_id in lines.share_groups():
        topics[group_id] |= lines.listed[group_id].topics
    return topics
