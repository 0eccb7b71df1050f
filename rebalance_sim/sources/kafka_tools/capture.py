"""Reads a fleet from the output of Kafka's command-line tools.

A capture is a directory with the output of ``kafka-topics.sh``, ``kafka-consumer-groups.sh`` and
``kafka-get-offsets.sh`` in files of any name. An optional ``consumers.csv`` adds what no tool prints: the assignors,
topics and racks that clients are configured with. Everything else that is unknown becomes an assumption.
"""

import codecs
import io
import itertools
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

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
from rebalance_sim.kafka.clients.assumed_protocols import Offer, assumed_protocols
from rebalance_sim.kafka.clients.recognition import Signs
from rebalance_sim.releases import SERVER_ASSIGNORS
from rebalance_sim.sources.assumptions import (
    DEFAULTS,
    GIVEN,
    JAVA_DEFAULT_PROTOCOLS,
    LIBRARY_DEFAULTS,
    NO_TOPICS,
    REBALANCING,
    USED_TOPICS,
    WITHOUT_MEMBERS,
    Tallies,
    given_protocols,
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
from rebalance_sim.sources.kafka_tools.columns import ToolOutput
from rebalance_sim.sources.kafka_tools.text import (
    BadLine,
    ConsumerLine,
    Content,
    EndOffsetLine,
    GroupLine,
    HeaderLine,
    MemberLine,
    Notice,
    NoticeLine,
    OffsetLine,
    PartitionLine,
    StateLine,
    TopicLine,
    TopicPartition,
    read_lines,
    survey,
)
from rebalance_sim.tables import (
    DEFAULT_CLUSTER,
    DEFAULT_PROTOCOL_TYPE,
    MEMBERS,
    OFFSETS,
    REBALANCING_STATES,
    REJECTS,
    TOPICS,
    Table,
)
from rebalance_sim.wording import plural

_MEMBERS_COMMAND = "kafka-consumer-groups.sh --bootstrap-server HOST:PORT --describe --all-groups --members --verbose"
_LONGEST_SAMPLE = 200
_BATCH_ROWS = 50_000
_ENCODING_SAMPLE = 1000
_HIDDEN = ("_", ".")
# Before 2.3 the tool describes one group at a time and does not print its name, so the file's name must have it.
_TEXT_SUFFIX = re.compile(r"\.(?:txt|log|out)$", re.IGNORECASE)
_REPORT_SUFFIX = re.compile(r"(?:^|[._-])(?:members|offsets|state)(?:[._-]verbose)?$", re.IGNORECASE)
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
    ``table`` is the output they belong to: topics, members, offsets, state, groups, end_offsets, consumers, capture
    if that is unknown, or file for a whole file."""
    assumptions: list[str]
    """One sentence per assumption."""
    groups_without_members: list[str]
    unread_groups: list[str] = field(default_factory=list)
    """Groups that have members, of which none can be used; rejects say why."""
    clusters: DataFrame | None = None
    """The brokers, as far as they can be asked."""


def read_capture(
    spark: SparkSession, directory: str, *, protocols: Sequence[str] | None = None, cluster: str = DEFAULT_CLUSTER
) -> Capture:
    """Read a directory with the output of the tools, local or on any file system that Spark reads.

    ``protocols`` are the assignors of all members for which ``consumers.csv`` has none. Raises UserError if the
    directory cannot be read or contains no output of ``kafka-consumer-groups.sh`` with members.
    """
    given = given_protocols(protocols)
    lines = Lines()
    files = _files(spark, directory)
    lines.hidden_files = _hidden(spark, directory)
    for name in sorted(files):
        lines.add_file(name.rpartition("/")[2], files.pop(name))
    if not lines.has_members and not lines.owners:
        raise UserError(
            f"{directory!r} contains no output of kafka-consumer-groups.sh --members; "
            f"add a file with the output of: {_MEMBERS_COMMAND}{_first_reject(lines)}"
        )
    tables = CaptureTables(lines, cluster, given)
    return Capture(
        topics=frame(spark, TOPICS, tables.topics()),
        members=frame(spark, MEMBERS, tables.members()),
        offsets=frame(spark, OFFSETS, tables.offsets()),
        rejects=frame(spark, REJECTS, tables.rejects()),
        assumptions=tables.assumptions(),
        groups_without_members=tables.groups_without_members(),
        unread_groups=tables.unread_groups(),
    )


def _first_reject(lines: "Lines") -> str:
    """Return what may have been such output, such as text that a terminal has wrapped."""
    if not lines.rejects:
        return ""
    first = lines.rejects[0]
    return f". {plural(len(lines.rejects), 'line')} could not be used, the first in {first.place}: {first.reason}"


def _files(spark: SparkSession, directory: str) -> dict[str, bytes]:
    """Return the contents of a directory's files by path."""
    check_exists(HadoopFiles(spark), "the capture", directory)
    folder = local_path(spark, directory)
    try:
        if folder is not None and folder.is_dir():
            # Those that Spark would read, without starting its first job for them.
            files = [file for file in folder.iterdir() if file.is_file() and not file.name.startswith(_HIDDEN)]
            return {str(file): file.read_bytes() for file in files}
        rows = spark.read.format("binaryFile").load(directory).select("path", "content").toLocalIterator()
        return {row["path"]: bytes(row["content"]) for row in rows}
    except (OSError, PySparkException, Py4JError) as problem:
        raise UserError(f"cannot read the capture {directory!r}: {first_line(problem)}") from problem


def _hidden(spark: SparkSession, directory: str) -> list[str]:
    """Return the names of a local directory's files that are not read, as Spark reads none that begin so."""
    folder = local_path(spark, directory)
    if folder is None or not folder.is_dir():
        return []
    return [file.name for file in folder.iterdir() if file.is_file() and file.name.startswith(_HIDDEN)]


def _text(content: bytes) -> io.TextIOWrapper:
    """Decode a file line by line; PowerShell's ``>`` writes UTF-16."""
    # Only "\n" ends a line: a client.id may contain the other characters at which Python splits lines.
    return io.TextIOWrapper(io.BytesIO(content), _encoding(content), errors="replace", newline="\n")


def _encoding(content: bytes) -> str:
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    # Without its mark: in what the tools print, most characters are of ASCII, one byte of which is zero.
    start = content[:_ENCODING_SAMPLE]
    for nth, encoding in ((1, "utf-16-le"), (0, "utf-16-be")):
        if start[nth::2].count(0) > len(start) // 4 > start[1 - nth :: 2].count(0):
            return encoding
    return "utf-8-sig"


def _undecodable(content: bytes) -> int | None:
    """Return the number of the first line that is not in the encoding of its file."""
    encoding = _encoding(content)
    try:
        content.decode(encoding)
    except UnicodeDecodeError as problem:
        return content[: problem.start].decode(encoding, "replace").count("\n") + 1
    return None


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


# --- Lines, joined over files ---


@dataclass(frozen=True, slots=True)
class _Location:
    """File, number and text of a line."""

    file: str
    number: int
    text: str

    def __str__(self) -> str:
        return f"{self.file} line {self.number}"

    def as_json(self) -> str:
        """Return the row of rejects."""
        return json.dumps({"file": self.file, "line": self.number, "text": self.text}, ensure_ascii=False)


@dataclass(slots=True)
class _Topic:
    place: _Location
    topic_id: str | None
    partitions: int
    has_leader: dict[int, bool] = field(default_factory=dict)


@dataclass(slots=True)
class _Offset:
    committed: int | None
    end: int | None
    member_id: str | None


@dataclass(frozen=True, slots=True)
class _Owner:
    """A member in the rows of offsets."""

    place: _Location
    line: OffsetLine
    """Its first one."""


@dataclass(frozen=True, slots=True)
class _Member:
    place: _Location
    group_id: str
    line: MemberLine
    by_offsets: bool = False
    """Whether only the rows of offsets show it."""


@dataclass(frozen=True, slots=True)
class _Reject:
    kind: ToolOutput
    group_id: str | None
    """As far as the line shows it."""
    place: _Location
    reason: str


@dataclass(slots=True)
class _Consumer:
    place: _Location
    line: ConsumerLine
    used: bool = False


_ConsumerKey = tuple[str, str, str | None]
_GroupLine = OffsetLine | StateLine | MemberLine


class Lines:
    """The lines of all files; duplicates are rejected."""

    def __init__(self) -> None:
        self.has_members = False
        self.has_offsets = False
        self.topics: dict[str, _Topic] = {}
        self.members: dict[tuple[str, str], _Member] = {}
        self.offsets: dict[tuple[str, str, int], _Offset] = {}
        self.owners: dict[tuple[str, str], _Owner] = {}
        """The members in the rows of offsets, by group and id."""
        self.states: dict[str, StateLine] = {}
        self.places_of_states: dict[str, _Location] = {}
        self.types: dict[str, bool] = {}
        self.other_groups: set[str] = set()
        """Groups that are listed, and whose members are not consumers."""
        self.ends: dict[TopicPartition, int | None] = {}
        self.consumers: dict[_ConsumerKey, _Consumer] = {}
        self.noticed: defaultdict[Notice, set[str]] = defaultdict(set)
        self.errors: list[_Location] = []
        self.empty_files: list[str] = []
        self.hidden_files: list[str] = []
        self.undecodable: dict[str, int] = {}
        """The first line, by file, that is not in the encoding of the file."""
        self.groups_by_file: dict[str, str] = {}
        self.rejects: list[_Reject] = []
        self._names: dict[str, str] = {}

    def add_file(self, file: str, content: bytes) -> None:
        """Add the lines of a file."""
        if b"\n" not in content:
            # As old editors of the Macintosh end lines.
            content = content.replace(b"\r", b"\n")
        found = survey(_text(content))
        undecodable = _undecodable(content)
        if undecodable is not None and found.known:
            self.undecodable[file] = undecodable
        if found.first is None:
            self.empty_files.append(file)
        elif not found.known:
            number, text = found.first
            place = _Location(file, number, text[:_LONGEST_SAMPLE])
            self.reject(place, ToolOutput.FILE, None, "the file is not the output of a supported Kafka tool")
        else:
            group_id = _only_group(found.noticed_groups) or _group_in_name(file)
            for line in read_lines(_text(content)):
                self._add(_Location(file, line.number, line.text), line.content, group_id)

    def reject(self, place: _Location, kind: ToolOutput, group_id: str | None, reason: str) -> None:
        """Reject a line with a reason."""
        self.rejects.append(_Reject(kind, group_id, place, reason))

    def _add(self, place: _Location, content: Content, file_group: str | None) -> None:
        match content:
            case BadLine():
                self._add_bad(place, content)
            case HeaderLine():
                self.has_members |= content.kind is ToolOutput.MEMBERS
                self.has_offsets |= content.kind is ToolOutput.OFFSETS
            case NoticeLine():
                self._add_notice(place, content)
            case TopicLine():
                self._add_topic(place, content)
            case PartitionLine():
                self._add_partition(place, content)
            case EndOffsetLine():
                self._add_end(place, content)
            case GroupLine():
                if not content.is_of_consumers:
                    self.other_groups.add(content.group_id)
                if content.is_kip848 is not None:
                    self.types[content.group_id] = content.is_kip848
            case ConsumerLine():
                self._add_consumer(place, content)
            case OffsetLine():
                self._add_offset(place, content, file_group)
            case StateLine():
                self._add_state(place, content, file_group)
            case MemberLine():
                self._add_member(place, content, file_group)

    def _add_bad(self, place: _Location, bad: BadLine) -> None:
        self.reject(place, bad.kind, bad.group_id, bad.reason)

    def _add_notice(self, place: _Location, notice: NoticeLine) -> None:
        if notice.group_id is not None:
            self.noticed[notice.notice].add(notice.group_id)
        elif notice.notice is Notice.ERROR:
            self.errors.append(place)

    def _add_topic(self, place: _Location, line: TopicLine) -> None:
        first = self.topics.get(line.topic)
        if first is not None:
            reason = f"topic {line.topic!r} is listed more than once; {first.place} is used"
            self.reject(place, ToolOutput.TOPICS, None, reason)
        else:
            self.topics[line.topic] = _Topic(place, line.topic_id, line.partitions)

    def _add_partition(self, place: _Location, line: PartitionLine) -> None:
        topic = self.topics.get(line.topic)
        if topic is None:
            reason = f"topic {line.topic!r} has no usable line with its PartitionCount"
        elif line.partition >= topic.partitions:
            reason = (
                f"partition {line.partition} is out of range: "
                f"topic {line.topic!r} has PartitionCount {topic.partitions}"
            )
        elif line.partition in topic.has_leader:
            reason = f"partition {line.partition} of topic {line.topic!r} is listed more than once; the first is used"
        else:
            topic.has_leader[line.partition] = line.has_leader
            return
        self.reject(place, ToolOutput.TOPICS, None, reason)

    def _add_end(self, place: _Location, line: EndOffsetLine) -> None:
        key = (self._one_name(line.topic), line.partition)
        if key in self.ends:
            reason = f"partition {line.partition} of topic {line.topic!r} is listed more than once; the first is used"
            self.reject(place, ToolOutput.END_OFFSETS, None, reason)
        else:
            self.ends[key] = line.end

    def _add_consumer(self, place: _Location, line: ConsumerLine) -> None:
        first = self.consumers.setdefault((line.group_id, line.client_id, line.instance_id), _Consumer(place, line))
        # Clients on several hosts often share client.id and configuration; identical rows are no conflict.
        if first.line != line:
            reason = f"this client has another row in {first.place}, which is used"
            self.reject(place, ToolOutput.CONSUMERS, line.group_id, reason)

    def _group_id(self, place: _Location, kind: ToolOutput, line: _GroupLine, file_group: str | None) -> str | None:
        """Return the group of a line; reject the line if the group is unknown."""
        if line.group_id is not None:
            return self._one_name(line.group_id)
        if file_group is None:
            reason = (
                "no GROUP column (Kafka before 2.3); name the file GROUP.members.txt, GROUP.offsets.txt or GROUP.txt"
            )
            self.reject(place, kind, None, reason)
        else:
            self.groups_by_file[place.file] = file_group
        return file_group

    def _add_offset(self, place: _Location, line: OffsetLine, file_group: str | None) -> None:
        group_id = self._group_id(place, ToolOutput.OFFSETS, line, file_group)
        if group_id is None:
            return
        # Without a host, the line of a consumer by ZooKeeper, or one that is cut off within the member id.
        if line.member_id is not None and line.host:
            self.owners.setdefault((group_id, line.member_id), _Owner(place, line))
        if line.topic_partition is None:
            return
        topic, partition = line.topic_partition
        key = (group_id, self._one_name(topic), partition)
        if key in self.offsets:
            reason = f"partition {partition} of topic {topic!r} is listed more than once; the first is used"
            self.reject(place, ToolOutput.OFFSETS, group_id, reason)
        else:
            member_id = None if line.member_id is None else self._one_name(line.member_id)
            self.offsets[key] = _Offset(line.committed, line.end, member_id)

    def _add_state(self, place: _Location, line: StateLine, file_group: str | None) -> None:
        group_id = self._group_id(place, ToolOutput.STATE, line, file_group)
        if group_id is None:
            return
        if group_id in self.states:
            self.reject(place, ToolOutput.STATE, group_id, "the group is listed more than once; the first is used")
        else:
            self.states[group_id] = line
            self.places_of_states[group_id] = place

    def _add_member(self, place: _Location, line: MemberLine, file_group: str | None) -> None:
        group_id = self._group_id(place, ToolOutput.MEMBERS, line, file_group)
        if group_id is None:
            return
        key = (group_id, line.member_id)
        used, other = _Member(place, group_id, line), self.members.get(key)
        if other is not None:
            # --members and --members --verbose of the same group: use the line with the assignment.
            if other.line.assignment is not None or line.assignment is None:
                used, other = other, used
            reason = f"the member is listed more than once; {used.place} is used"
            self.reject(other.place, ToolOutput.MEMBERS, group_id, reason)
        self.members[key] = used

    def add_members_of_offsets(self) -> None:
        """Add the members that the rows of offsets show, of groups for which there is no usable line of --members.

        ``--describe`` without ``--members``, which is new in 1.1, lists members with their partitions, and those
        without partitions in rows of their own.
        """
        listed = {group_id for group_id, _ in self.members}
        owned = _partitions_by_owner(self)
        for (group_id, member_id), owner in self.owners.items():
            if group_id not in listed:
                partitions = tuple(sorted(owned.get((group_id, member_id), ())))
                line = MemberLine(
                    *(group_id, member_id, None, owner.line.client_id, owner.line.host),
                    *(len(partitions), partitions, False, None, None),
                )
                self.members[group_id, member_id] = _Member(owner.place, group_id, line, by_offsets=True)

    def _one_name(self, name: str) -> str:
        """Return the shared copy of a name that is repeated in very many lines."""
        return self._names.setdefault(name, name)


def _only_group(groups: set[str]) -> str | None:
    return next(iter(groups)) if len(groups) == 1 else None


def _group_in_name(file: str) -> str | None:
    return _REPORT_SUFFIX.sub("", _TEXT_SUFFIX.sub("", file)) or None


# --- Tables and assumptions ---


# {} is "12 members (4 groups)", FILES the files with members.
_ELECTED = "the protocols of {} are unknown; the elected strategy printed by --state is used"
_NAMES_LOST = "owned partitions of {} are taken from --offsets: Kafka 3.8 and 3.9 print them without topics"
_NOT_VERBOSE = "owned partitions of {} are taken from --offsets: --members was run without --verbose"
NOT_CAPTURED = "--state shows members of the group, but no line of --members does"
"""The reason in rejects, as the next two."""
NOT_LISTED = "--offsets shows the member, but no line of --members does"
ONE_MORE = "--state shows a member of the group more than --members does"
_BY_OFFSETS = "{} are read from --offsets, as no line of --members shows them; group.instance.id is unknown"
_MORE_SHOWN = "--state or --offsets shows more than the usable lines of --members, or was run at another time"
_NOT_OWNED = "owned partitions of {} are unknown: neither --members --verbose nor --offsets lists them"
_OTHER_MOMENT = "the partition count of {} differs between --offsets and --members, which ran at different times"
_NO_RACK = "the rack of {} is unknown: no tool prints client.rack"
_ORDER = "join order is unknown for {}; the order of FILES is used. Predicted leaders and tie-breaks may differ"
_SENTENCES = (
    *(GIVEN, *LIBRARY_DEFAULTS.values(), _ELECTED, DEFAULTS, SERVER, SERVER_DEFAULT, CLASSIC, USED_TOPICS, NO_TOPICS),
    *(_BY_OFFSETS, _NAMES_LOST, _NOT_VERBOSE, _NOT_OWNED, _OTHER_MOMENT, _NO_RACK, _ORDER),
)


class CaptureTables:
    """The rows of the tables. Rejects and assumptions are complete once the other tables have been read."""

    def __init__(self, lines: Lines, cluster: str, protocols: tuple[str, ...]) -> None:
        lines.add_members_of_offsets()
        self._lines = lines
        self._cluster = cluster
        self._given_protocols = protocols
        self._kip848 = _kip848_groups(lines)
        self._classic = _classic_members(lines, self._kip848)
        self._owned_by_offsets = _owned_by_offsets(lines)
        self._topics_of_group = _topics_of_group(lines)
        self._bad_members = self._rejected_members()
        self._library_defaults = self._defaults_by_member()
        self._tallies = Tallies()
        self._ends_filled = 0

    def topics(self) -> Iterator[tuple[object, ...]]:
        """Return the rows of the topics table."""
        for name, topic in self._lines.topics.items():
            unavailable = sorted(number for number, led in topic.has_leader.items() if not led)
            known = bool(topic.has_leader) or not topic.partitions
            yield self._cluster, name, topic.partitions, topic.topic_id, unavailable if known else None, None

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

    def rejects(self) -> Iterator[tuple[object, ...]]:
        """Return the rows of the rejects table."""
        for reject in self._lines.rejects:
            group_id = self._group_of(reject)
            yield reject.kind.value, self._cluster, group_id, reject.place.as_json(), reject.reason
        places = self._lines.places_of_states
        missing = [_Reject(ToolOutput.MEMBERS, name, places[name], NOT_CAPTURED) for name in self._not_captured()]
        for group_id in sorted(self._with_missing_members):
            missing += self._missing_members(group_id)
        for reject in missing:
            yield reject.kind.value, self._cluster, reject.group_id, reject.place.as_json(), reject.reason

    def _member(self, member: _Member, consumer: ConsumerLine | None, place: int) -> tuple[object, ...]:
        if member.group_id not in self._kip848:
            self._tallies.add(_ORDER, member.group_id)
        if member.by_offsets:
            self._tallies.add(_BY_OFFSETS, member.group_id)
        owned = self._owned(member)
        state = self._lines.states.get(member.group_id)
        rack = consumer.rack if consumer else None
        if rack is None:
            self._tallies.add(_NO_RACK, member.group_id)
        return (
            self._cluster,
            member.group_id,
            member.line.member_id,
            member.line.instance_id,
            member.line.client_id,
            member.line.host,
            rack,
            DEFAULT_PROTOCOL_TYPE,
            self._protocols(member, consumer),
            self._subscription(member, consumer),
            None,
            None if owned is None else [{"topic": topic, "partition": partition} for topic, partition in owned],
            None,
            None,
            place,
            None,
            None,
            *known_client(self._signs(member, consumer), consumer),
            state and state.state,
            None,
            None,
            None,
        )

    def _defaults_by_member(self) -> dict[tuple[str, str], tuple[str, tuple[str, ...]]]:
        """Return, by group and member, the library and its default protocols, where they are assumed."""
        of_groups: defaultdict[str, dict[tuple[str, str], Offer]] = defaultdict(dict)
        for key, member in self._lines.members.items():
            consumer = self._consumer(member)
            library, release, _ = known_client(self._signs(member, consumer), consumer)
            configured = (consumer and consumer.protocols) or ()
            of_groups[member.group_id][key] = Offer(Leader(library or "", release or ""), configured)
        found: dict[tuple[str, str], tuple[str, tuple[str, ...]]] = {}
        for group_id, offers in of_groups.items():
            state = self._lines.states.get(group_id)
            elected = state.strategy if state and group_id not in self._kip848 else None
            assumed = zip(offers.items(), assumed_protocols([*offers.values()], elected), strict=True)
            found |= {key: (offer.library, protocols) for (key, offer), protocols in assumed if protocols}
        return found

    def _signs(self, member: _Member, consumer: ConsumerLine | None) -> Signs:
        state = self._lines.states.get(member.group_id)
        elected = (state.strategy,) if state and state.strategy and member.group_id not in self._kip848 else ()
        offered = (consumer and consumer.protocols) or elected
        line = member.line
        return Signs(member.group_id, line.member_id, line.client_id, line.instance_id, offered)

    def _protocols(self, member: _Member, consumer: ConsumerLine | None) -> tuple[str, ...]:
        group_id = member.group_id
        in_kip848 = group_id in self._kip848
        is_classic = not in_kip848 or (group_id, member.line.member_id) in self._classic
        if in_kip848 and is_classic and member.line.upgraded is None:
            self._tallies.add(CLASSIC, group_id)
        configured = None if consumer is None else consumer.protocols
        if configured is not None and (not in_kip848 or is_classic == set(configured).isdisjoint(SERVER_ASSIGNORS)):
            return configured
        state = self._lines.states.get(group_id)
        assignor = None if state is None else state.strategy
        if not is_classic:
            self._tallies.add(SERVER if assignor else SERVER_DEFAULT, group_id)
            return server_protocols(assignor)
        if self._given_protocols:
            self._tallies.add(GIVEN, group_id)
            return self._given_protocols
        by_library = self._library_defaults.get((group_id, member.line.member_id))
        if by_library is not None:
            self._tallies.add(LIBRARY_DEFAULTS[by_library], group_id)
            return by_library[1]
        if assignor is not None and not in_kip848:
            self._tallies.add(_ELECTED, group_id)
            return (assignor,)
        self._tallies.add(DEFAULTS, group_id)
        return JAVA_DEFAULT_PROTOCOLS

    def _subscription(self, member: _Member, consumer: ConsumerLine | None) -> list[str]:
        if consumer is not None and consumer.subscription is not None:
            return list(consumer.subscription)
        topics = sorted(self._topics_of_group[member.group_id])
        self._tallies.add(USED_TOPICS if topics else NO_TOPICS, member.group_id)
        return topics

    def _owned(self, member: _Member) -> Sequence[TopicPartition] | None:
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

    def _consumer(self, member: _Member) -> ConsumerLine | None:
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
        return sorted(self._named - self._with_members() - set(self.unread_groups()))

    def unread_groups(self) -> list[str]:
        """Return the groups that have members, of which none can be used."""
        lines = self._lines
        expected = {group_id for group_id, state in lines.states.items() if state.members}
        return sorted((expected | self._bad_members.keys()) - self._with_members())

    @cached_property
    def _named(self) -> set[str]:
        """The groups that usable lines name."""
        lines = self._lines
        named = {group_id for group_id, _, _ in lines.offsets} | lines.states.keys() | self._with_members()
        return named.union(*lines.noticed.values())

    def _group_of(self, reject: _Reject) -> str | None:
        """Return the group of a line that cannot be read, whose first word may be a part of its id only."""
        guess, text = reject.group_id, reject.place.text
        if guess is None or guess in self._named:
            return guess
        return max((name for name in self._named if f"{name} " in text), key=len, default=guess)

    def _with_members(self) -> set[str]:
        return set(self._read)

    def _not_captured(self) -> list[str]:
        """Return the groups that have members by --state, but no line of --members."""
        return [group_id for group_id in self.unread_groups() if group_id not in self._bad_members]

    def _missing_members(self, group_id: str) -> list[_Reject]:
        """Return a reject for each member of a group that other outputs show, and no line of --members, usable or not.

        They may have been lost from the capture, or the tool was run at another time.
        """
        read, places = self._read[group_id], self._lines.places_of_states
        # A line that is rejected because the member is listed more than once is that of a member that was read.
        bad = [text for text in self._bad_members[group_id] if not any(member_id in text for member_id in read)]
        owners = self._absent_owners[group_id]
        unlisted = [place for member_id, place in owners.items() if not any(member_id in text for text in bad)]
        state = self._lines.states.get(group_id)
        more = state.members - len(read) - len(bad) - len(unlisted) if state else 0
        return [
            *(_Reject(ToolOutput.MEMBERS, group_id, place, NOT_LISTED) for place in unlisted),
            *(_Reject(ToolOutput.MEMBERS, group_id, places[group_id], ONE_MORE) for _ in range(more)),
        ]

    def _rejected_members(self) -> defaultdict[str, list[str]]:
        """Return the rejected lines of --members, by group, as far as they show it."""
        texts: defaultdict[str, list[str]] = defaultdict(list)
        for reject in self._lines.rejects:
            if reject.kind is ToolOutput.MEMBERS and (group_id := self._group_of(reject)) is not None:
                texts[group_id].append(reject.place.text)
        return texts

    @cached_property
    def _absent_owners(self) -> defaultdict[str, dict[str, _Location]]:
        """The members that --offsets shows and that were not read, by group, with their first lines."""
        absent: defaultdict[str, dict[str, _Location]] = defaultdict(dict)
        for (group_id, member_id), owner in self._lines.owners.items():
            if (group_id, member_id) not in self._lines.members:
                absent[group_id][member_id] = owner.place
        return absent

    @cached_property
    def _read(self) -> defaultdict[str, set[str]]:
        """The ids of the members that were read, by group."""
        read: defaultdict[str, set[str]] = defaultdict(set)
        for group_id, member_id in self._lines.members:
            read[group_id].add(member_id)
        return read

    @cached_property
    def _with_missing_members(self) -> set[str]:
        """The groups of which --state or --offsets shows more members than were read."""
        lines = self._lines
        shown = {(group_id, offset.member_id) for (group_id, _, _), offset in lines.offsets.items() if offset.member_id}
        absent = {group_id for group_id, _ in (shown | lines.owners.keys()) - lines.members.keys()}
        fewer = {name for name, state in lines.states.items() if state.members > len(self._read.get(name, ()))}
        return (absent | fewer) & self._with_members()

    def assumptions(self) -> list[str]:
        """Return one sentence per assumption."""
        files = names({member.place.file for member in self._lines.members.values()})
        by_member = [each.replace("FILES", files) for each in self._tallies.sentences(_SENTENCES)]
        return [*by_member, *self._about_groups(), *self._about_topics(), *self._about_files()]

    def _about_groups(self) -> Iterator[str]:
        lines = self._lines
        rebalancing = lines.noticed[Notice.REBALANCING] | {
            group_id for group_id, state in lines.states.items() if state.state in REBALANCING_STATES
        }
        if rebalancing:
            yield REBALANCING.replace("{}", groups(rebalancing))
        without = set(self.groups_without_members())
        if without:
            yield WITHOUT_MEMBERS.replace("{}", groups(without))
        if lines.other_groups:
            yield f"{groups(lines.other_groups)} ignored: not consumer groups"
        not_captured = self._not_captured()
        if not_captured:
            yield f"{groups(not_captured)} missing from the output of --members, but --state shows members"

        incomplete = self._with_missing_members
        if incomplete:
            yield f"{groups(incomplete)} may have lost members: {_MORE_SHOWN}"

    def _about_topics(self) -> Iterator[str]:
        lines = self._lines
        if not lines.topics:
            yield "no output of kafka-topics.sh --describe: the topics table is empty"
        missing = [topic.partitions - len(topic.has_leader) for topic in lines.topics.values()]
        if any(missing):
            what = f"{plural(sum(missing), 'partition')} of {plural(sum(map(bool, missing)), 'topic')}"
            yield f"{what} assumed to have a leader: kafka-topics.sh printed no line for them"
        if not lines.has_offsets:
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
            yield f"names with characters that are neither UTF-8 nor UTF-16 are read with \ufffd, first in {places}"
        if lines.empty_files:
            yield f"no content in {names(lines.empty_files)}"
        if lines.hidden_files:
            yield f"not read, because a name that begins with _ or . is hidden: {names(lines.hidden_files)}"
        if lines.errors:
            first = lines.errors[0]
            what = f"the tools printed {plural(len(lines.errors), 'error')}; parts of the cluster may be missing"
            yield f"{what}. {first}: {first.text.strip()[:_LONGEST_SAMPLE]}"


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
    for group_id, is_kip848 in lines.types.items():
        stated[group_id].add(is_kip848)
    certain = {group_id for group_id, answers in stated.items() if True in answers}
    return certain | {group_id for group_id in signs if False not in stated[group_id]}


def _classic_members(lines: Lines, kip848: set[str]) -> set[tuple[str, str]]:
    """Return the members of these groups that use the classic protocol, by UPGRADED or else by their ids."""
    ids: defaultdict[str, list[str]] = defaultdict(list)
    for group_id, member_id in lines.members:
        if group_id in kip848:
            ids[group_id].append(member_id)
    by_id = {(group_id, member_id) for group_id, of_group in ids.items() for member_id in classic_by_id(of_group)}
    found = set()
    for key, member in lines.members.items():
        if key[0] in kip848 and (member.line.upgraded is False or (member.line.upgraded is None and key in by_id)):
            found.add(key)
    return found


def _owned_by_offsets(lines: Lines) -> dict[tuple[str, str], list[TopicPartition]]:
    has_all = all(member.line.assignment is not None for member in lines.members.values())
    return {} if has_all else _partitions_by_owner(lines)


def _partitions_by_owner(lines: Lines) -> dict[tuple[str, str], list[TopicPartition]]:
    owned: defaultdict[tuple[str, str], list[TopicPartition]] = defaultdict(list)
    for (group_id, topic, partition), offset in lines.offsets.items():
        if offset.member_id is not None:
            owned[group_id, offset.member_id].append((topic, partition))
    return dict(owned)


def _topics_of_group(lines: Lines) -> defaultdict[str, set[str]]:
    topics: defaultdict[str, set[str]] = defaultdict(set)
    for group_id, topic, _ in lines.offsets:
        topics[group_id].add(topic)
    for member in lines.members.values():
        topics[member.group_id].update(topic for topic, _ in member.line.assignment or ())
    return topics
