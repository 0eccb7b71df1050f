"""Parses the output of Kafka's command-line tools, line by line.

The tools print for people: columns are padded to the longest value, each group has its own header, warnings appear in
between, and layouts differ by release. Pasted output may have lost its alignment, or gained an indentation or the
prefix of another program. The supported layouts are those of Kafka 0.9 to 4.4 of

- ``kafka-topics.sh --describe``
- ``kafka-consumer-groups.sh --describe`` with ``--offsets``, ``--state`` or ``--members``, with and without
  ``--verbose``, and ``--list --type``
- ``kafka-groups.sh --list``, which since 4.0 names groups of all types, and ``kafka-share-groups.sh`` and
  ``kafka-streams-groups.sh``, which describe those of other types
- ``kafka-get-offsets.sh``

and ``consumers.csv``, in which a user supplies what no tool prints.
"""

import csv
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from rebalance_sim.engine.tables.inputs import LIST_SEPARATOR
from rebalance_sim.sources.kafka_tools.columns import NAME, NUMBER, TASKS, CommaTable, GroupTable, group_table
from rebalance_sim.sources.kafka_tools.contents import (
    BadLine,
    ConsumerLine,
    Content,
    EndOffsetLine,
    HeaderLine,
    Line,
    MalformedError,
    MemberLine,
    Notice,
    NoticeLine,
    OffsetLine,
    PartitionLine,
    StateLine,
    StreamsMemberLine,
    Tasks,
    TasksByRole,
    ToolOutput,
    TopicLine,
    TopicPartition,
    quoted,
)
from rebalance_sim.sources.kafka_tools.decorations import undecorated, without_prefix
from rebalance_sim.sources.kafka_tools.json_fields import MAX_INT, MAX_LONG
from rebalance_sim.sources.kafka_tools.listed_groups import SHARE, STREAMS, GroupLine
from rebalance_sim.tables import MAX_PARTITIONS


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


def number_of(name: str, text: str, largest: int) -> int | None:
    """Read a non-negative number; None for ``-``, and for ``unknown`` of 0.9 to 0.10.1."""
    if text in ("-", "unknown"):
        return None
    if text.startswith("-"):
        raise MalformedError(f"{name} is {quoted(text)}, negative")
    # Python refuses to read numbers of thousands of digits.
    digits = text.lstrip("0") or "0"
    if len(digits) > len(str(largest)) or int(digits) > largest:
        raise MalformedError(f"{name} is {quoted(text)}; the largest allowed value is {largest}")
    return int(digits)


def _count(name: str, text: str, largest: int) -> int:
    number = number_of(name, text, largest)
    if number is None:
        raise MalformedError(f"{name} is '-', not a number")
    return number


def _partition(name: str, text: str) -> int:
    return _count(name, text, MAX_PARTITIONS - 1)


def _offset_row(cells: dict[str, str]) -> OffsetLine:
    if "OWNER" in cells:
        return OffsetLine(cells["GROUP"], _topic_partition(cells), *_offsets(cells), None, owner=cells["OWNER"])
    if "HOST" not in cells and "  " in cells["CONSUMER-ID"]:
        raise MalformedError(f"CONSUMER-ID is {quoted(cells['CONSUMER-ID'])}, more than one column")
    # In 1.0 a member without partitions has a line of its own, with "-" for topic, partition and offsets.
    idle = cells["TOPIC"] == "-" and cells["PARTITION"] == "-"
    return OffsetLine(
        cells.get("GROUP"),
        None if idle else _topic_partition(cells),
        *_offsets(cells),
        None if cells["CONSUMER-ID"] == "-" else cells["CONSUMER-ID"],
        *(("", "") if cells["CONSUMER-ID"] == "-" else (_host(cells), cells.get("CLIENT-ID", ""))),
    )


def _topic_partition(cells: dict[str, str]) -> TopicPartition:
    return cells["TOPIC"], _partition("PARTITION", cells["PARTITION"])


def _offsets(cells: dict[str, str]) -> tuple[int | None, int | None]:
    # -1 means no offset: the tools compute no lag from it either.
    committed = "-" if cells["CURRENT-OFFSET"] == "-1" else cells["CURRENT-OFFSET"]
    end = number_of("LOG-END-OFFSET", cells["LOG-END-OFFSET"], MAX_LONG)
    return number_of("CURRENT-OFFSET", committed, MAX_LONG), end


def _host(cells: dict[str, str]) -> str:
    return cells.get("HOST", "").removeprefix("/")


def _state_row(cells: dict[str, str]) -> StateLine:
    strategy = cells["ASSIGNMENT-STRATEGY"]
    return StateLine(
        cells.get("GROUP"),
        None if strategy in ("", "-") else strategy,
        cells["STATE"],
        _count("#MEMBERS", cells["#MEMBERS"], MAX_INT),
        # Only the KIP-848 state machine has these two states; the epoch is shown by 4.x with --verbose.
        True if cells["STATE"] in ("Assigning", "Reconciling") else _has(cells, "GROUP-EPOCH"),
    )


def _member_row(cells: dict[str, str]) -> MemberLine:
    # kafka-share-groups has the columns of kafka-consumer-groups up to 3.9, which prints parentheses.
    is_share = "MEMBER-EPOCH" in cells or _AFTER_COLON.match(cells.get("ASSIGNMENT", "")) is not None
    partitions = _count("#PARTITIONS", cells["#PARTITIONS"], MAX_INT)
    text = cells.get("CURRENT-ASSIGNMENT", cells.get("ASSIGNMENT"))
    assignment, names_lost = (None, False) if text is None else _assignment(text, partitions)
    # UPGRADED: only in a KIP-848 group that still has classic members (KIP-1099).
    is_kip848 = _has(cells, "UPGRADED") or _has(cells, "CURRENT-EPOCH")
    return MemberLine(
        _required_group(cells) if is_share else cells.get("GROUP"),
        cells["CONSUMER-ID"],
        cells.get("GROUP-INSTANCE-ID") or None,
        cells["CLIENT-ID"],
        _host(cells),
        partitions,
        assignment,
        names_lost,
        is_kip848,
        {"true": True, "false": False}.get(cells.get("UPGRADED", "-")),
        group_type=SHARE if is_share else None,
        epoch=_optional("MEMBER-EPOCH", cells),
    )


def _group_row(cells: dict[str, str]) -> GroupLine | OffsetLine:
    """Read a row of a list of groups, or of kafka-share-groups or kafka-streams-groups, by its columns."""
    if "CURRENT-OFFSET" in cells:
        return OffsetLine(cells["GROUP"], _topic_partition(cells), *_offsets(cells), None, group_type=STREAMS)
    return GroupLine(
        cells["GROUP"],
        _group_type(cells),
        cells.get("PROTOCOL"),
        cells.get("STATE"),
        _count("#MEMBERS", cells["#MEMBERS"], MAX_INT) if "#MEMBERS" in cells else None,
        topic=cells.get("TOPIC"),
        assignment_epoch=_optional("ASSIGNMENT-EPOCH", cells),
    )


def _streams_member_row(cells: dict[str, str]) -> StreamsMemberLine:
    """Read a member of a streams group; only ``--verbose`` prints what it is to have, beside its epoch."""
    found: dict[str, Tasks] = {role: _tasks(listed) for role, listed in TASKS.findall(cells["ASSIGNMENTS"])}
    current, target = (
        # Warm-up tasks restore like standby tasks; no release assigns them yet.
        TasksByRole(found.get(f"{of}ACTIVE", ()), (*found.get(f"{of}STANDBY", ()), *found.get(f"{of}WARMUP", ())))
        for of in ("", "TARGET-")
    )
    is_verbose = "TARGET-ASSIGNMENT-EPOCH" in cells
    ids = (cells["GROUP"], cells["MEMBER"], cells["PROCESS"], cells["CLIENT-ID"])
    return StreamsMemberLine(*ids, current, target if is_verbose else None)


def _tasks(listed: str) -> Tasks:
    return tuple(
        (subtopology, _partition("a partition in the tasks", digits))
        for subtopology, numbers in _OF_SUBTOPOLOGY.findall(listed)
        for digits in filter(None, numbers.split(","))
    )


_OF_SUBTOPOLOGY = re.compile(r"([^\s:]+):\[([0-9,]*)\];")


def _optional(column: str, cells: dict[str, str]) -> int | None:
    return number_of(column, cells[column], MAX_INT) if column in cells else None


def _group_type(cells: dict[str, str]) -> str | None:
    """Return the type of a group, by its row or else by its columns; --state has equal ones for share and streams."""
    listed = cells.get("TYPE", "").lower()
    if listed:
        # GroupType.UNKNOWN is a type that the tool is too old for.
        return None if listed == "unknown" else listed
    by_columns = ((SHARE, _OF_SHARE_GROUPS), (STREAMS, _OF_STREAMS_GROUPS))
    return next((group_type for group_type, columns in by_columns if not columns.isdisjoint(cells)), None)


_OF_SHARE_GROUPS = frozenset({"START-OFFSET", "ASSIGNMENT-EPOCH"})
_OF_STREAMS_GROUPS = frozenset({"OFFSET-LAG", "TARGET-ASSIGNMENT-EPOCH", "ASSIGNOR"})
"""Columns in the outputs of ``ToolOutput.GROUPS`` that no other type of group has."""


def _required_group(cells: dict[str, str]) -> str:
    if "GROUP" not in cells:
        raise MalformedError("no GROUP column, which kafka-share-groups prints")
    return cells["GROUP"]


def _has(cells: dict[str, str], column: str) -> bool | None:
    """Return whether a row has a value in a column; None if there is no such column."""
    return cells[column] != "-" if column in cells else None


_READERS: dict[ToolOutput, Callable[[dict[str, str]], Content]] = {
    ToolOutput.OFFSETS: _offset_row,
    ToolOutput.STATE: _state_row,
    ToolOutput.MEMBERS: _member_row,
    ToolOutput.GROUPS: _group_row,
    ToolOutput.STREAMS_MEMBERS: _streams_member_row,
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
    assigned: list[TopicPartition] = []
    names_lost = False
    for nth, item in enumerate([] if text in ("", "-") else items):
        match = pattern.fullmatch(item)
        if match is None:
            raise MalformedError(f"the assignment contains {quoted(item)}; expected partitions of a topic")
        if nth and names_lost != (match[1] is None):
            raise MalformedError("the assignment names the topics of only some partitions")
        names_lost = match[1] is None
        numbers = [_partition("a partition in the assignment", digits) for digits in match[2].split(",")]
        assigned += [(match[1] or "", number) for number in numbers]
    if len(assigned) != partitions:
        raise MalformedError(f"the assignment has {len(assigned)} partitions, but #PARTITIONS is {partitions}")
    if names_lost:
        return None, True
    if len(set(assigned)) != len(assigned):
        raise MalformedError("the assignment lists a partition twice")
    return tuple(sorted(assigned)), False


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
        _digits("Leader", partition[3], MAX_INT)
    number = _digits("Partition", partition[2], MAX_PARTITIONS - 1)
    return PartitionLine(_topic_name(partition[1]), number, has_leader)


def _end_offset(text: str) -> EndOffsetLine:
    match = _LIKE_END_OFFSET.fullmatch(text.strip())
    if match is None:
        raise MalformedError("expected topic:partition:offset")
    # Up to 1.1 several offsets with --offsets, the latest first; since 2.0 none if it is unknown.
    latest = match[3].partition(",")[0]
    end = _digits("the offset", latest, MAX_LONG) if latest else None
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


_Table = GroupTable | CommaTable | _ConsumerTable


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

# 0.9 to 0.10.1, which print nothing else of such a group.
_MEMBERS_NOT_SHOWN = re.compile(r"Consumer group `(.*)` (?:does not exist or )?is rebalancing\.")
# kafka-streams-groups prints it as an error.
_NO_MEMBERS = re.compile(r"(?:Error: )?(Consumer|Share|Streams) group '(.*)' has no active members\.")
_NO_OFFSETS = re.compile(r"(Share) group '(.*)' has no offset information\.")
_REBALANCING = re.compile(r"Warning: (Consumer) group '(.*)' is rebalancing\.")
_TYPES_IN_NOTICES = {"Share": SHARE, "Streams": STREAMS}
_NAMING = ((Notice.NO_MEMBERS, _NO_MEMBERS), (Notice.REBALANCING, _REBALANCING), (Notice.OTHER, _NO_OFFSETS))
"""Notices that name a group."""
_ERROR = re.compile(
    r"Error: |Error occurred: |Error while executing |Exception in thread "
    r"|Skip getting offsets for topic-partition "
    # 0.9 to 0.10.1.
    r"|Consumer group `.*` does not exist\.|No topic available for consumer group provided|No broker for partition "
    r"|Could not (?:fetch offset from (?:kafka|zookeeper)|parse broker info due to) "
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
    r"|.*\bkafka-(?:(?:consumer-|share-|streams-)?groups|topics|get-offsets|run-class)(?:\.sh|\.bat)?[\"']?\s+-"
    r"|.*\brpk group describe |```|~~~"
    # Stack traces.
    r"|\s+at [^\s(]+\(|\s*\.\.\. \d+ (?:more|common frames omitted)\b|\s*(?:Caused by|Suppressed): "
    r"|(?:[a-z]\w*\.)+[A-Z][\w$]*(?:Exception|Error)(?::|\s*$)"
)


def message_of(text: str) -> NoticeLine | BadLine | None:
    """Return the meaning of a line that is no data, such as a warning; None if it is unknown."""
    unseen = _MEMBERS_NOT_SHOWN.fullmatch(text.rstrip())
    if unseen:
        reason = "the group was rebalancing or did not exist, so the tool printed no members; run it again"
        return BadLine(ToolOutput.MEMBERS, unseen[1], reason)
    for notice, pattern in _NAMING:
        named = pattern.fullmatch(text.rstrip())
        if named:
            return NoticeLine(notice, named[2], _TYPES_IN_NOTICES.get(named[1]))
    if _ERROR.match(text):
        return NoticeLine(Notice.ERROR, None)
    return NoticeLine(Notice.OTHER, None) if _OTHER.match(text) else None


# --- Files ---


def survey(lines: Iterable[str]) -> Survey:
    """Return the nature of a file."""
    nature = Survey()
    for number, raw, text in undecorated(lines, _begins_output):
        if nature.first is None:
            nature.first = (number, raw)
        if not nature.known or text.startswith(("Consumer group '", "Warning: ")):
            notice = message_of(text)
            if notice is not None and notice.group_id is not None:
                nature.noticed_groups.add(notice.group_id)
            nature.known = nature.known or notice is not None or _is_output(text)
    return nature


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
    table: _Table | None = None
    for number, raw, text in undecorated(lines, _begins_output):
        header = group_table(text) or _consumer_table(text)
        if header is not None:
            table = header if header.kind is not ToolOutput.UNKNOWN else None
            yield Line(number, raw, _header(header))
        else:
            yield Line(number, raw, _content(text, table))


def _begins_output(text: str) -> bool:
    return text.startswith("Topic:") or group_table(text) is not None


def _header(header: _Table) -> Content:
    if header.kind is ToolOutput.UNKNOWN:
        columns = " ".join(header.columns)
        return BadLine(ToolOutput.UNKNOWN, None, f"no supported tool prints the columns {quoted(columns)}")
    if isinstance(header, _ConsumerTable):
        try:
            _check_consumer_header(header)
        except MalformedError as problem:
            return BadLine(header.kind, None, str(problem))
    return HeaderLine(header.kind)


def _content(text: str, table: _Table | None) -> Content:
    failed: list[BadLine] = []
    for reading in _readings(text, table):
        if not isinstance(reading, BadLine):
            return reading
        failed.append(reading)
    notice = message_of(text) or message_of(without_prefix(text))
    if notice is not None:
        return notice
    return failed[0] if failed else BadLine(ToolOutput.UNKNOWN, None, "no header precedes the line")


def _readings(text: str, table: _Table | None) -> Iterator[Content]:
    """Read a line in every possible way, the likeliest first: a group may be called "Topic:"."""
    if _is_topic(text):
        yield _read_or_reject(text, ToolOutput.TOPICS)
    if table is not None:
        yield _row(text, table)
    if _LIKE_END_OFFSET.fullmatch(text.strip()):
        yield _read_or_reject(text, ToolOutput.END_OFFSETS)


def _is_topic(text: str) -> bool:
    return text.lstrip().startswith("Topic:")


def _row(text: str, table: _Table) -> Content:
    try:
        return _READERS[table.kind](table.cells(text)) if not isinstance(table, _ConsumerTable) else table.read(text)
    except MalformedError as problem:
        return BadLine(table.kind, table.group(text), str(problem))


def _read_or_reject(text: str, kind: ToolOutput) -> Content:
    try:
        return _topic(text) if kind is ToolOutput.TOPICS else _end_offset(text)
    except MalformedError as problem:
        return BadLine(kind, None, str(problem))
