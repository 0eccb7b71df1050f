"""Parses the output of Kafka's command-line tools, line by line.

The tools print for people: columns are padded to the longest value, each group has its own header, warnings appear in
between, and layouts differ by release. What people paste has lost its alignment, or has gained an indentation or the
prefix of another program. Supported are the layouts of Kafka 0.11 to 4.3 of

- ``kafka-topics.sh --describe``
- ``kafka-consumer-groups.sh --describe`` with ``--offsets``, ``--state`` or ``--members``, with and without
  ``--verbose``, and ``--list --type``
- ``kafka-get-offsets.sh``

and ``consumers.csv``, in which a user supplies what no tool prints.
"""

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from rebalance_sim.engine.tables.inputs import LIST_SEPARATOR
from rebalance_sim.sources.kafka_tools.columns import (
    NAME,
    NUMBER,
    GroupTable,
    MalformedError,
    ToolOutput,
    group_table,
    quoted,
)
from rebalance_sim.sources.kafka_tools.decorations import undecorated, without_prefix
from rebalance_sim.tables import DEFAULT_PROTOCOL_TYPE, MAX_PARTITIONS

TopicPartition = tuple[str, int]

_MAX_INT = 2**31 - 1
_MAX_LONG = 2**63 - 1


@dataclass(frozen=True, slots=True)
class TopicLine:
    """A topic of ``kafka-topics``."""

    topic: str
    topic_id: str | None
    partitions: int


@dataclass(frozen=True, slots=True)
class PartitionLine:
    """A partition of ``kafka-topics``."""

    topic: str
    partition: int
    has_leader: bool


@dataclass(frozen=True, slots=True)
class OffsetLine:
    """A partition of ``--offsets``; without a topic, the line lists a member without partitions."""

    group_id: str | None
    topic_partition: TopicPartition | None
    committed: int | None
    end: int | None
    member_id: str | None
    host: str = ""
    client_id: str = ""
    """Of the member; empty without one."""


@dataclass(frozen=True, slots=True)
class StateLine:
    """A group of ``--state``."""

    group_id: str | None
    strategy: str | None
    state: str
    members: int
    is_kip848: bool | None
    """None if the layout does not show it."""


@dataclass(frozen=True, slots=True)
class MemberLine:
    """A member of ``--members``."""

    group_id: str | None
    member_id: str
    instance_id: str | None
    client_id: str
    host: str
    partitions: int
    assignment: tuple[TopicPartition, ...] | None
    """None if the line does not name the topics."""
    names_lost: bool
    """Whether the line lists partitions without their topics (Kafka 3.8 and 3.9)."""
    is_kip848: bool | None
    """Whether the group uses the consumer protocol; None if the layout does not show it."""
    upgraded: bool | None
    """Whether the member does (KIP-1099); None if the line does not show it."""


@dataclass(frozen=True, slots=True)
class GroupLine:
    """A group of ``--list --type``, or of ``kafka-groups.sh --list``, which lists groups of all kinds."""

    group_id: str
    is_kip848: bool | None
    """None for other types of groups, such as share groups."""
    is_of_consumers: bool
    """Whether its members are consumers, as far as the line shows it; a Connect cluster is a classic group as well."""


@dataclass(frozen=True, slots=True)
class EndOffsetLine:
    """A partition of ``kafka-get-offsets``."""

    topic: str
    partition: int
    end: int | None


@dataclass(frozen=True, slots=True)
class ConsumerLine:
    """A row of ``consumers.csv``; None for an empty cell."""

    group_id: str
    client_id: str
    instance_id: str | None
    protocols: tuple[str, ...] | None
    subscription: tuple[str, ...] | None
    rack: str | None
    client_library: str | None = None
    client_version: str | None = None


class Notice(StrEnum):
    """The meaning of a line that is not data."""

    NO_MEMBERS = "the group has no members"
    REBALANCING = "the group is rebalancing"
    ERROR = "the tool failed"
    OTHER = "a warning, a log line, a stack trace"


@dataclass(frozen=True, slots=True)
class NoticeLine:
    """A line that is not data."""

    notice: Notice
    group_id: str | None


@dataclass(frozen=True, slots=True)
class HeaderLine:
    """A header line."""

    kind: ToolOutput


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that cannot be used."""

    kind: ToolOutput
    group_id: str | None
    reason: str


Content = (
    TopicLine
    | PartitionLine
    | OffsetLine
    | StateLine
    | MemberLine
    | GroupLine
    | EndOffsetLine
    | ConsumerLine
    | NoticeLine
    | HeaderLine
    | BadLine
)


@dataclass(frozen=True, slots=True)
class Line:
    """A non-blank line with its meaning."""

    number: int
    text: str
    content: Content


@dataclass(slots=True)
class Survey:
    """The nature of a file, from all its lines."""

    known: bool = False
    """Whether any line is the output of a tool or the header of consumers.csv."""
    first: tuple[int, str] | None = None
    """Number and text of the first non-blank line."""
    noticed_groups: set[str] = field(default_factory=set)
    """Groups named by messages of the tools."""


# --- Rows of kafka-consumer-groups ---


def _number(name: str, text: str, largest: int) -> int | None:
    """Read a non-negative number; None for the tools' ``-``."""
    if text == "-":
        return None
    if text.startswith("-"):
        raise MalformedError(f"{name} is {quoted(text)}, negative")
    # Python refuses to read numbers of thousands of digits.
    digits = text.lstrip("0") or "0"
    if len(digits) > len(str(largest)) or int(digits) > largest:
        raise MalformedError(f"{name} is {quoted(text)}; the largest allowed value is {largest}")
    return int(digits)


def _count(name: str, text: str, largest: int) -> int:
    number = _number(name, text, largest)
    if number is None:
        raise MalformedError(f"{name} is '-', not a number")
    return number


def _partition(name: str, text: str) -> int:
    return _count(name, text, MAX_PARTITIONS - 1)


def _offset_row(cells: dict[str, str]) -> OffsetLine:
    if "HOST" not in cells and "  " in cells["CONSUMER-ID"]:
        raise MalformedError(f"CONSUMER-ID is {quoted(cells['CONSUMER-ID'])}, more than one column")
    # In 1.0 a member without partitions has a line of its own, with "-" for topic, partition and offsets.
    idle = cells["TOPIC"] == "-" and cells["PARTITION"] == "-"
    # -1 means no offset: the tools compute no lag from it either.
    committed = "-" if cells["CURRENT-OFFSET"] == "-1" else cells["CURRENT-OFFSET"]
    return OffsetLine(
        cells.get("GROUP"),
        None if idle else (cells["TOPIC"], _partition("PARTITION", cells["PARTITION"])),
        _number("CURRENT-OFFSET", committed, _MAX_LONG),
        _number("LOG-END-OFFSET", cells["LOG-END-OFFSET"], _MAX_LONG),
        None if cells["CONSUMER-ID"] == "-" else cells["CONSUMER-ID"],
        *(("", "") if cells["CONSUMER-ID"] == "-" else (_host(cells), cells.get("CLIENT-ID", ""))),
    )


def _host(cells: dict[str, str]) -> str:
    return cells.get("HOST", "").removeprefix("/")


def _state_row(cells: dict[str, str]) -> StateLine:
    strategy = cells["ASSIGNMENT-STRATEGY"]
    return StateLine(
        cells.get("GROUP"),
        None if strategy in ("", "-") else strategy,
        cells["STATE"],
        _count("#MEMBERS", cells["#MEMBERS"], _MAX_INT),
        # Only the KIP-848 state machine has these two states; the epoch is shown by 4.x with --verbose.
        True if cells["STATE"] in ("Assigning", "Reconciling") else _has(cells, "GROUP-EPOCH"),
    )


def _member_row(cells: dict[str, str]) -> MemberLine:
    partitions = _count("#PARTITIONS", cells["#PARTITIONS"], _MAX_INT)
    text = cells.get("CURRENT-ASSIGNMENT", cells.get("ASSIGNMENT"))
    assignment, names_lost = (None, False) if text is None else _assignment(text, partitions)
    # UPGRADED: only in a KIP-848 group that still has classic members (KIP-1099).
    is_kip848 = _has(cells, "UPGRADED") or _has(cells, "CURRENT-EPOCH")
    return MemberLine(
        cells.get("GROUP"),
        cells["CONSUMER-ID"],
        cells.get("GROUP-INSTANCE-ID") or None,
        cells["CLIENT-ID"],
        _host(cells),
        partitions,
        assignment,
        names_lost,
        is_kip848,
        {"true": True, "false": False}.get(cells.get("UPGRADED", "-")),
    )


def _group_row(cells: dict[str, str]) -> GroupLine:
    is_kip848 = {"consumer": True, "classic": False}.get(cells["TYPE"].lower())
    # Blank for a group with offsets only.
    has_type = cells.get("PROTOCOL", "") in ("", "-", DEFAULT_PROTOCOL_TYPE)
    return GroupLine(cells["GROUP"], is_kip848, is_kip848 is not None and has_type)


def _has(cells: dict[str, str], column: str) -> bool | None:
    """Return whether a row has a value in a column; None if there is no such column."""
    return cells[column] != "-" if column in cells else None


_READERS: dict[ToolOutput, Callable[[dict[str, str]], Content]] = {
    ToolOutput.OFFSETS: _offset_row,
    ToolOutput.STATE: _state_row,
    ToolOutput.MEMBERS: _member_row,
    ToolOutput.GROUPS: _group_row,
}

_NUMBERS = r"[0-9]+(?:,[0-9]+)*"
# Up to 3.7 "orders(0,1), returns(2)"; 3.8 and 3.9 "(0,1), (2)"; some wrappers of the tools print no space.
_AFTER_PARENTHESIS = re.compile(r"(?<=\)), ?")
_IN_PARENTHESES = re.compile(rf"({NAME.pattern})?\(({_NUMBERS})\)")
# From 4.0 on "orders:0,1;returns:2".
_AFTER_COLON = re.compile(rf"({NAME.pattern}):({_NUMBERS})")


def _assignment(text: str, partitions: int) -> tuple[tuple[TopicPartition, ...] | None, bool]:
    """Read a member's partitions; return also whether their topics are missing."""
    pattern, items = (
        (_IN_PARENTHESES, _AFTER_PARENTHESIS.split(text)) if "(" in text else (_AFTER_COLON, text.split(";"))
    )
    found: list[TopicPartition] = []
    names_lost = False
    for nth, item in enumerate([] if text == "-" else items):
        match = pattern.fullmatch(item)
        if match is None:
            raise MalformedError(f"the assignment contains {quoted(item)}; expected partitions of a topic")
        if nth and names_lost != (match[1] is None):
            raise MalformedError("the assignment names the topics of only some partitions")
        names_lost = match[1] is None
        numbers = [_partition("a partition in the assignment", each) for each in match[2].split(",")]
        found += [(match[1] or "", number) for number in numbers]
    if len(found) != partitions:
        raise MalformedError(f"the assignment has {len(found)} partitions, but #PARTITIONS is {partitions}")
    if names_lost:
        return None, True
    if len(set(found)) != len(found):
        raise MalformedError("the assignment lists a partition twice")
    return tuple(sorted(found)), False


# --- kafka-topics and kafka-get-offsets ---

# Up to 2.3 without a space after the colon; the id since 2.8.
_TOPIC = re.compile(r"\s*Topic:\s*(\S+)\s+(?:TopicId:\s*(\S+)\s+)?PartitionCount:\s*(\S+)")
_PARTITION = re.compile(r"\s*Topic:\s*(\S+)\s+Partition:\s*(\S+)\s+Leader:\s*(\S+)")
_NO_LEADER = ("none", "-1")
_LIKE_END_OFFSET = re.compile(r"([^\s:]+):([^\s:]*):([^\s:]*)")


def _topic(text: str) -> Content:
    topic = _TOPIC.match(text)
    if topic:
        return TopicLine(_topic_name(topic[1]), topic[2], _digits("PartitionCount", topic[3], MAX_PARTITIONS))
    partition = _PARTITION.match(text)
    if partition is None:
        raise MalformedError("neither a topic (PartitionCount) nor a partition (Partition, Leader)")
    has_leader = partition[3] not in _NO_LEADER
    if has_leader:
        _digits("Leader", partition[3], _MAX_INT)
    number = _digits("Partition", partition[2], MAX_PARTITIONS - 1)
    return PartitionLine(_topic_name(partition[1]), number, has_leader)


def _end_offset(text: str) -> EndOffsetLine:
    match = _LIKE_END_OFFSET.fullmatch(text.strip())
    if match is None:
        raise MalformedError("expected topic:partition:offset")
    # Up to 1.1 several offsets with --offsets, the latest first; since 2.0 none if it is unknown.
    latest = match[3].partition(",")[0]
    end = _digits("the offset", latest, _MAX_LONG) if latest else None
    return EndOffsetLine(_topic_name(match[1]), _digits("the partition", match[2], MAX_PARTITIONS - 1), end)


def _topic_name(text: str) -> str:
    if not NAME.fullmatch(text):
        raise MalformedError(f"{quoted(text)} is not a topic name")
    return text


def _digits(name: str, text: str, largest: int) -> int:
    if not NUMBER.pattern.fullmatch(text):
        raise MalformedError(f"{name} is {quoted(text)}, not a number")
    return _count(name, text, largest)


# --- consumers.csv ---

_CLIENT = ("client_library", "client_version")
_CONSUMER_COLUMNS = ("group_id", "client_id", "protocols", "subscription", "rack", "instance_id", *_CLIENT)
_CONSUMER_KEY = {"group_id", "client_id"}


@dataclass(frozen=True)
class _ConsumerTable:
    """The table in consumers.csv, from its header line."""

    columns: tuple[str, ...]
    kind = ToolOutput.CONSUMERS

    def read(self, text: str) -> Content:
        """Read a row. Raises MalformedError."""
        cells = _csv_cells(text)
        if len(cells) != len(self.columns):
            raise MalformedError(f"{len(cells)} columns, the header has {len(self.columns)}")
        row = dict(zip(self.columns, cells, strict=True))
        if not row["group_id"]:
            raise MalformedError("group_id is empty")
        return ConsumerLine(
            row["group_id"],
            row["client_id"],
            row.get("instance_id") or None,
            _items("protocols", row),
            _items("subscription", row),
            row.get("rack") or None,
            *(row.get(name) or None for name in _CLIENT),
        )

    def group(self, text: str) -> str | None:
        """Return the likely group of a row that cannot be read."""
        return text.partition(",")[0] or None if self.columns[0] == "group_id" else None


def _csv_cells(text: str) -> list[str]:
    try:
        return next(csv.reader([text], strict=True))
    except csv.Error as problem:
        raise MalformedError(f"not a line of CSV: {problem}") from None


def _items(name: str, row: Mapping[str, str]) -> tuple[str, ...] | None:
    cell = row.get(name, "")
    if "," in cell:
        raise MalformedError(f"{name} is {quoted(cell)}; {LIST_SEPARATOR!r} separates names")
    return tuple(item.strip() for item in cell.split(LIST_SEPARATOR) if item.strip()) or None


def _consumer_table(text: str) -> _ConsumerTable | None:
    """Read the header line of consumers.csv; None if the line is not one."""
    if "group_id" not in text or "client_id" not in text:
        return None
    try:
        columns = tuple(cell.strip() for cell in _csv_cells(text))
    except MalformedError:
        return None
    return _ConsumerTable(columns) if set(columns) >= _CONSUMER_KEY else None


def _check_consumer_header(table: _ConsumerTable) -> None:
    unknown = [column for column in table.columns if column not in _CONSUMER_COLUMNS]
    if unknown:
        raise MalformedError(f"unknown column {quoted(unknown[0])}; allowed: {', '.join(_CONSUMER_COLUMNS)}")
    if len(set(table.columns)) != len(table.columns):
        raise MalformedError("duplicate column")


# --- Lines that are not data ---

_NO_MEMBERS = re.compile(r"Consumer group '(.*)' has no active members\.")
_REBALANCING = re.compile(r"Warning: Consumer group '(.*)' is rebalancing\.")
_ERROR = re.compile(
    r"Error: |Error occurred: |Error while executing |Exception in thread "
    r"|Skip getting offsets for topic-partition "
)
_LEVEL = r"(?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL)\b"
_OTHER = re.compile(
    # Log lines of the tools, and of log4j 2 about itself.
    rf"\[\d{{4}}-\d\d-\d\d[ T][^\]]*\] {_LEVEL}|\d{{4}}-\d\d-\d\dT\S+ \S+ {_LEVEL}"
    r"|(?:WARNING|WARN|Warning|Warn|Note|SLF4J|log4j|Picked up \w+): ?"
    r"|\S+ (?:64|32)-Bit Server VM warning: "
    r"|The --[a-z-]+ option is deprecated|Option \S+ (?:is|has been) deprecated"
    r"|Topic '?[a-zA-Z0-9._-]+'? "
    r"(?:does not exist|doesn't exist|has 0 partitions|is (?:already )?marked for deletion)"
    # A shell prompt with the command, and Markdown around the output.
    r"|.*\bkafka-(?:consumer-groups|topics|get-offsets|run-class)(?:\.sh|\.bat)?[\"']?\s+-|```|~~~"
    # Stack traces.
    r"|\s+at [^\s(]+\(|\s*\.\.\. \d+ (?:more|common frames omitted)\b|\s*(?:Caused by|Suppressed): "
    r"|(?:[a-z]\w*\.)+[A-Z][\w$]*(?:Exception|Error)(?::|\s*$)"
)


def _notice(text: str) -> NoticeLine | None:
    for notice, pattern in ((Notice.NO_MEMBERS, _NO_MEMBERS), (Notice.REBALANCING, _REBALANCING)):
        named = pattern.fullmatch(text.rstrip())
        if named:
            return NoticeLine(notice, named[1])
    if _ERROR.match(text):
        return NoticeLine(Notice.ERROR, None)
    return NoticeLine(Notice.OTHER, None) if _OTHER.match(text) else None


# --- Files ---


def survey(lines: Iterable[str]) -> Survey:
    """Return the nature of a file."""
    found = Survey()
    for number, raw, text in undecorated(lines, _begins_output):
        if found.first is None:
            found.first = (number, raw)
        if not found.known or text.startswith(("Consumer group '", "Warning: ")):
            notice = _notice(text)
            if notice is not None and notice.group_id is not None:
                found.noticed_groups.add(notice.group_id)
            found.known = found.known or notice is not None or _is_output(text)
    return found


def _is_output(text: str) -> bool:
    table = group_table(text)
    if table is not None:
        return table.kind is not ToolOutput.UNKNOWN
    if _consumer_table(text) is not None:
        return True
    try:
        (_topic if _is_topic(text) else _end_offset)(text)
    except MalformedError:
        return False
    return True


def read_lines(lines: Iterable[str]) -> Iterator[Line]:
    """Read the non-blank lines of a file, each with its meaning or the reason why it has none."""
    table: GroupTable | _ConsumerTable | None = None
    for number, raw, text in undecorated(lines, _begins_output):
        header = group_table(text) or _consumer_table(text)
        if header is not None:
            table = header if header.kind is not ToolOutput.UNKNOWN else None
            yield Line(number, raw, _header(header))
        else:
            yield Line(number, raw, _content(text, table))


def _begins_output(text: str) -> bool:
    return text.startswith("Topic:") or group_table(text) is not None


def _header(header: GroupTable | _ConsumerTable) -> Content:
    if header.kind is ToolOutput.UNKNOWN:
        columns = " ".join(header.columns)
        return BadLine(ToolOutput.UNKNOWN, None, f"no supported tool prints the columns {quoted(columns)}")
    if isinstance(header, _ConsumerTable):
        try:
            _check_consumer_header(header)
        except MalformedError as problem:
            return BadLine(header.kind, None, str(problem))
    return HeaderLine(header.kind)


def _content(text: str, table: GroupTable | _ConsumerTable | None) -> Content:
    failed: list[BadLine] = []
    for reading in _readings(text, table):
        if not isinstance(reading, BadLine):
            return reading
        failed.append(reading)
    notice = _notice(text) or _notice(without_prefix(text))
    if notice is not None:
        return notice
    return failed[0] if failed else BadLine(ToolOutput.UNKNOWN, None, "no header precedes the line")


def _readings(text: str, table: GroupTable | _ConsumerTable | None) -> Iterator[Content]:
    """Read a line in every possible way, the likeliest first: a group may be called "Topic:"."""
    if _is_topic(text):
        yield _read_or_reject(text, ToolOutput.TOPICS)
    if table is not None:
        yield _row(text, table)
    if _LIKE_END_OFFSET.fullmatch(text.strip()):
        yield _read_or_reject(text, ToolOutput.END_OFFSETS)


def _is_topic(text: str) -> bool:
    return text.lstrip().startswith("Topic:")


def _row(text: str, table: GroupTable | _ConsumerTable) -> Content:
    try:
        return _READERS[table.kind](table.cells(text)) if isinstance(table, GroupTable) else table.read(text)
    except MalformedError as problem:
        return BadLine(table.kind, table.group(text), str(problem))


def _read_or_reject(text: str, kind: ToolOutput) -> Content:
    try:
        return _topic(text) if kind is ToolOutput.TOPICS else _end_offset(text)
    except MalformedError as problem:
        return BadLine(kind, None, str(problem))
