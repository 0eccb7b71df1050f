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
import itertools
import re
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from rebalance_sim.engine.tables.inputs import LIST_SEPARATOR
from rebalance_sim.tables import MAX_PARTITIONS

TopicPartition = tuple[str, int]

_LONGEST_QUOTE = 80
_MAX_INT = 2**31 - 1
_MAX_LONG = 2**63 - 1
_MAX_SPACES = 20
"""Most spaces accepted in a value that is wider than its column; each is another way to read the line."""


class ToolOutput(StrEnum):
    """The output that a line belongs to."""

    TOPICS = "topics"
    OFFSETS = "offsets"
    STATE = "state"
    MEMBERS = "members"
    GROUPS = "groups"
    END_OFFSETS = "end_offsets"
    CONSUMERS = "consumers"
    UNKNOWN = "capture"


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
    """A group of ``--list --type``."""

    group_id: str
    is_kip848: bool | None
    """None for other types of groups, such as share groups."""


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


class _MalformedError(ValueError):
    """The reason why a line cannot be used."""


# --- Columns of kafka-consumer-groups ---


@dataclass(frozen=True)
class _Shape:
    """The form of the cells of a column."""

    pattern: re.Pattern[str]
    expected: str
    may_be_blank: bool = False


def _shape(pattern: str, expected: str, *, may_be_blank: bool = False) -> _Shape:
    return _Shape(re.compile(pattern, re.DOTALL), expected, may_be_blank)


_ANYTHING = _shape(r".*[^ ].*", "expected a value")
_WORD = _shape(r"\S+", "expected one word")
_NUMBER = _shape(r"-?[0-9]+|-", "not a number")
_NAME = re.compile(r"[a-zA-Z0-9._-]{1,249}")
"""The characters that Kafka allows in topic names and group.instance.id."""

_SHAPES = {
    "GROUP": _ANYTHING,
    "TOPIC": _shape(_NAME.pattern, "not a topic name"),
    "PARTITION": _NUMBER,
    "LEADER-EPOCH": _NUMBER,
    "CURRENT-OFFSET": _NUMBER,
    "LOG-END-OFFSET": _NUMBER,
    "LAG": _NUMBER,
    "CONSUMER-ID": _ANYTHING,
    # Since 2.6, if any member is static; blank for those that are not.
    "GROUP-INSTANCE-ID": _shape(rf"(?:{_NAME.pattern})?", "not a group.instance.id", may_be_blank=True),
    "HOST": _shape(r"\S*/\S+|-", "expected an address such as /127.0.0.1"),
    "CLIENT-ID": _shape(r".*", "expected a client.id", may_be_blank=True),
    "#PARTITIONS": _NUMBER,
    "ASSIGNMENT": _ANYTHING,
    "CURRENT-EPOCH": _NUMBER,
    "CURRENT-ASSIGNMENT": _WORD,
    "TARGET-EPOCH": _NUMBER,
    "TARGET-ASSIGNMENT": _WORD,
    "UPGRADED": _shape(r"true|false|-", "expected true, false or -"),
    "COORDINATOR (ID)": _shape(r"\S*:-?[0-9]+ +\([^()]*\)", "expected host:port (id)"),
    # Blank up to 3.9 if no protocol has been elected.
    "ASSIGNMENT-STRATEGY": _shape(r"\S*", "expected one word", may_be_blank=True),
    "STATE": _shape(r"[A-Za-z]+", "not a state of a group"),
    "GROUP-EPOCH": _NUMBER,
    "TARGET-ASSIGNMENT-EPOCH": _NUMBER,
    "#MEMBERS": _NUMBER,
    "TYPE": _shape(r"[A-Za-z]+", "not a type of group"),
    "PROTOCOL": _shape(r"\S*", "expected one word", may_be_blank=True),
}

_OUTPUTS = (
    (ToolOutput.OFFSETS, {"TOPIC", "PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "CONSUMER-ID"}),
    (ToolOutput.MEMBERS, {"CONSUMER-ID", "HOST", "CLIENT-ID", "#PARTITIONS"}),
    (ToolOutput.STATE, {"ASSIGNMENT-STRATEGY", "STATE", "#MEMBERS"}),
    (ToolOutput.GROUPS, {"GROUP", "TYPE"}),
)
"""The output of a table, by its columns."""

_COORDINATOR = "COORDINATOR (ID)"
_CUT_OFF = {"ASSIGNMENT", "TARGET-ASSIGNMENT"}
"""Last columns, whose ``-`` is often lost with the spaces at the end of a line."""
_GAP = re.compile(" {2,}")
_BEHIND_UUID = re.compile(r"-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12} ")
"""What stands behind the UUID with which a coordinator ends a member id is the next column."""
_GROWING = {"GROUP", "TOPIC", "CONSUMER-ID", "GROUP-INSTANCE-ID", "HOST", "CLIENT-ID"}
"""Columns that are as wide as their longest value, in each output of --offsets and --members with a GROUP column."""
_LONGEST_PREFIX = 60
_PREFIX = re.compile(r" +|(?:> ?)+|[\w.-]+ +\| ?|\[pod/[^\]]+\] ")
"""What is certainly no part of a row that is aligned with its header behind it."""
_LIKE_PREFIX = re.compile(r"(?:[>|+*$#-]|\d+[.:)]|\[pod/[^\]]+\]|[\w.-]+ +\|)\s")
"""The beginning of an id that is more likely put before the row by another program, an editor or a person."""
_FIRST_COLUMN = re.compile(r"(?:GROUP|TOPIC|CONSUMER-ID|COORDINATOR \(ID\))\s")
_HEADING = re.compile(r"COORDINATOR \(ID\)|#?[A-Z][A-Z-]*")
# 1.0 prints "%-50s" and at once "%-30s": a member id of 50 characters leaves no space before HOST.
_GLUED_TO_HOST = re.compile(r"-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(?=[^\s/]*/)")


@dataclass(frozen=True)
class _Table:
    """A table of kafka-consumer-groups, from its header line."""

    kind: ToolOutput
    columns: tuple[str, ...]
    starts: tuple[int, ...]

    def read(self, text: str) -> Content:
        """Read a row. Raises _MalformedError."""
        cells = self._by_position(text) or self._by_words(text)
        if cells is None:
            raise _MalformedError(self._what_is_wrong(text))
        return _READERS[self.kind](cells)

    def group(self, text: str) -> str | None:
        """Return the likely group of a row that cannot be read."""
        if self.columns[0] != "GROUP":
            return None
        end = self.starts[1] - 1
        below = text[:end].rstrip(" ")
        is_aligned = len(text) <= end or (text[end] == " " and not text.startswith(" ", end + 1))
        if is_aligned and "  " not in below:
            return below or None
        first, words = _GAP.split(text.strip(" "), maxsplit=1)[0], text.split()
        # A part with a space, or a row with more words than columns, may have ids with spaces.
        return words[0] if words[0] == first or len(words) <= len(self.columns) else None

    def _by_position(self, text: str) -> dict[str, str] | None:
        """Split a row at the positions of the header, at wide gaps, or later if a value is wider than its column."""
        line = _as_java_counts(text)
        cells: list[str] | None = self._cells_below_header(line)
        if any(line[start - 1 : start].strip() for start in self.starts[1:]) or not self._fit(cells or ()):
            cells = self._behind_prefix(line) or self._by_gaps(line) or self._cells_from(line, 0, 0, hopeless=set())
        return None if cells is None else dict(zip(self.columns, map(_from_java, cells), strict=True))

    def _behind_prefix(self, line: str) -> list[str] | None:
        """Split a row that is aligned with the header behind a prefix, which the header does not have.

        Raises _MalformedError if the prefix may be the beginning of the first value.
        """
        if not self._has_growing_columns:
            return None
        for length in range(1, min(_LONGEST_PREFIX, len(line))):
            row = line[length:]
            if not self._is_aligned(row):
                continue
            cells = self._cells_below_header(row)
            if self._fit(cells):
                if _PREFIX.fullmatch(line, 0, length):
                    return cells
                raise _MalformedError(f"the columns are at the positions of the header only behind {line[:length]!r}")
        return None

    @property
    def _has_growing_columns(self) -> bool:
        return self.columns[0] == "GROUP" and self.kind in (ToolOutput.OFFSETS, ToolOutput.MEMBERS)

    def _grows(self, column: str) -> bool:
        return column in _GROWING and self._has_growing_columns

    def _is_aligned(self, line: str) -> bool:
        """Return whether every value begins below its heading."""
        for column, start in zip(self.columns, self.starts, strict=True):
            if start and line[start - 1 : start] != " ":
                return False
            if line[start : start + 1] in ("", " ") and not _SHAPES[column].may_be_blank:
                return False
        return True

    def _by_gaps(self, line: str) -> list[str] | None:
        """Split a row that has lost its alignment at two spaces or more, or else at any; None if it fits neither way.

        Raises _MalformedError if it fits in several ways: a cell that may be blank leaves no trace.
        """
        for parts in (_GAP.split(line.strip(" ")), line.split()):
            ways = list(itertools.islice(self._ways(tuple(parts), 0), 2))
            if len(ways) > 1:
                raise _MalformedError(
                    "the columns are not at the positions of the header, and a blank one may be any of several"
                )
            if ways and _LIKE_PREFIX.match(ways[0][0]):
                raise _MalformedError(
                    f"{self.columns[0]} is {_quoted(ways[0][0])}, which may begin with something else than the value"
                )
            if ways:
                return ways[0]
        return None

    def _ways(self, parts: tuple[str, ...], nth: int) -> Iterator[list[str]]:
        """Return the ways to divide parts among the nth and all later columns."""
        if nth == len(self.columns):
            if not parts:
                yield []
            return
        column, left = self.columns[nth], len(self.columns) - nth - 1
        # kafka-consumer-groups prints two spaces within "host:9092  (1)".
        for count in (1, 2) if column == _COORDINATOR else (1,):
            cell = "  ".join(parts[:count])
            if (
                len(parts) >= count
                and _fits(column, cell)
                and not (column == "CONSUMER-ID" and _BEHIND_UUID.search(cell))
            ):
                yield from ([cell, *rest] for rest in self._ways(parts[count:], nth + 1))
        if len(parts) > left:
            return
        if _SHAPES[column].may_be_blank:
            yield from (["", *rest] for rest in self._ways(parts, nth + 1))
        elif not left and not parts and column in _CUT_OFF:
            yield ["-"]

    def _cells_from(self, line: str, nth: int, at: int, hopeless: set[tuple[int, int]]) -> list[str] | None:
        """Split off the nth and all later cells; None if no split gives every column a valid value."""
        column = self.columns[nth]
        if line[at : at + 1] == " " and line[at:].strip(" ") and not _SHAPES[column].may_be_blank:
            # Padding stands behind a value.
            return None
        if nth == len(self.columns) - 1:
            cell = line[at:].rstrip(" ")
            return [cell] if _fits(column, cell) else None
        if (nth, at) in hopeless:
            return None
        for end, following in self._ends(line, nth, at):
            cell = line[at:end].rstrip(" ")
            # Wide gaps within a value that is wider than its column are those between columns.
            is_value = following == self._header_end(nth, at) or "  " not in cell or not self._grows(column)
            if is_value and _fits(column, cell):
                rest = self._cells_from(line, nth + 1, following, hopeless)
                if rest is not None:
                    return [cell, *rest]
        hopeless.add((nth, at))
        return None

    def _header_end(self, nth: int, at: int) -> int:
        """Return the position of the next value if the nth one is as wide as its column."""
        return at + self.starts[nth + 1] - self.starts[nth]

    def _ends(self, line: str, nth: int, at: int) -> Iterator[tuple[int, int]]:
        """Return the positions at which a cell may end and the next begin, that of the header first."""
        end = self._header_end(nth, at) - 1
        if end >= len(line) or line[end] == " ":
            yield end, end + 1
        if self.columns[nth] == "CONSUMER-ID":
            glued = _GLUED_TO_HOST.search(line, at)
            if glued:
                yield glued.end(), glued.end()
        for _ in range(_MAX_SPACES):
            end = line.find(" ", end + 1)
            if end < 0:
                return
            if line[end - 1] != " ":
                yield end, end + 1

    def _by_words(self, text: str) -> dict[str, str] | None:
        """Split a row at white space, for text that has lost its padding."""
        words = [word.rstrip() for word in text.split(None, len(self.columns) - 1)]
        if len(words) != len(self.columns):
            return None
        return dict(zip(self.columns, words, strict=True)) if self._fit(words) else None

    def _fit(self, cells: Sequence[str]) -> bool:
        return all(map(_fits, self.columns, cells))

    def _what_is_wrong(self, text: str) -> str:
        words = text.split()
        least = sum(not _SHAPES[column].may_be_blank for column in self.columns)
        if len(words) < least:
            return f"{len(words)} columns, the header has {len(self.columns)}: {' '.join(self.columns)}"
        for column, cell in zip(self.columns, self._likely_cells(text, words), strict=True):
            if not _fits(column, cell):
                return f"{column} is {_quoted(cell)}, {_SHAPES[column].expected}"
        return "the columns are not at the positions of the header"

    def _likely_cells(self, text: str, words: list[str]) -> list[str]:
        return words if len(words) == len(self.columns) else self._cells_below_header(text)

    def _cells_below_header(self, line: str) -> list[str]:
        ends = [*(start - 1 for start in self.starts[1:]), len(line)]
        return [line[start:end].rstrip(" ") for start, end in zip(self.starts, ends, strict=True)]


def _fits(column: str, cell: str) -> bool:
    return _SHAPES[column].pattern.fullmatch(cell) is not None and not cell.startswith(" ")


def _as_java_counts(text: str) -> str:
    """Replace each character outside the BMP by its two UTF-16 units, in which Java counts padding."""
    if text.isascii() or max(text) <= "\uffff":
        return text
    units = text.encode("utf-16-le", "surrogatepass")
    return "".join(map(chr, struct.unpack(f"<{len(units) // 2}H", units)))


def _from_java(cell: str) -> str:
    if cell.isascii():
        return cell
    return cell.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _table(text: str) -> _Table | None:
    """Read a header line; None if the line is not one."""
    if not _FIRST_COLUMN.match(text):
        return None
    headings = list(_HEADING.finditer(text))
    if "".join(heading.group() for heading in headings).replace(" ", "") != "".join(text.split()):
        return None
    columns = tuple(heading.group() for heading in headings)
    present = set(columns)
    known = len(present) == len(columns) and present <= _SHAPES.keys()
    kind = next((kind for kind, needed in _OUTPUTS if known and needed <= present), ToolOutput.UNKNOWN)
    return _Table(kind, columns, tuple(heading.start() for heading in headings))


# --- Rows of kafka-consumer-groups ---


def _number(name: str, text: str, largest: int) -> int | None:
    """Read a non-negative number; None for the tools' ``-``."""
    if text == "-":
        return None
    if text.startswith("-"):
        raise _MalformedError(f"{name} is {_quoted(text)}, negative")
    # Python refuses to read numbers of thousands of digits.
    digits = text.lstrip("0") or "0"
    if len(digits) > len(str(largest)) or int(digits) > largest:
        raise _MalformedError(f"{name} is {_quoted(text)}; the largest allowed value is {largest}")
    return int(digits)


def _count(name: str, text: str, largest: int) -> int:
    number = _number(name, text, largest)
    if number is None:
        raise _MalformedError(f"{name} is '-', not a number")
    return number


def _partition(name: str, text: str) -> int:
    return _count(name, text, MAX_PARTITIONS - 1)


def _offset_row(cells: dict[str, str]) -> OffsetLine:
    if "HOST" not in cells and "  " in cells["CONSUMER-ID"]:
        raise _MalformedError(f"CONSUMER-ID is {_quoted(cells['CONSUMER-ID'])}, more than one column")
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
    return GroupLine(cells["GROUP"], {"consumer": True, "classic": False}.get(cells["TYPE"].lower()))


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
_IN_PARENTHESES = re.compile(rf"({_NAME.pattern})?\(({_NUMBERS})\)")
# From 4.0 on "orders:0,1;returns:2".
_AFTER_COLON = re.compile(rf"({_NAME.pattern}):({_NUMBERS})")


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
            raise _MalformedError(f"the assignment contains {_quoted(item)}; expected partitions of a topic")
        if nth and names_lost != (match[1] is None):
            raise _MalformedError("the assignment names the topics of only some partitions")
        names_lost = match[1] is None
        numbers = [_partition("a partition in the assignment", each) for each in match[2].split(",")]
        found += [(match[1] or "", number) for number in numbers]
    if len(found) != partitions:
        raise _MalformedError(f"the assignment has {len(found)} partitions, but #PARTITIONS is {partitions}")
    if names_lost:
        return None, True
    if len(set(found)) != len(found):
        raise _MalformedError("the assignment lists a partition twice")
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
        raise _MalformedError("neither a topic (PartitionCount) nor a partition (Partition, Leader)")
    has_leader = partition[3] not in _NO_LEADER
    if has_leader:
        _digits("Leader", partition[3], _MAX_INT)
    number = _digits("Partition", partition[2], MAX_PARTITIONS - 1)
    return PartitionLine(_topic_name(partition[1]), number, has_leader)


def _end_offset(text: str) -> EndOffsetLine:
    match = _LIKE_END_OFFSET.fullmatch(text.strip())
    if match is None:
        raise _MalformedError("expected topic:partition:offset")
    # Up to 1.1 several offsets with --offsets, the latest first; since 2.0 none if it is unknown.
    latest = match[3].partition(",")[0]
    end = _digits("the offset", latest, _MAX_LONG) if latest else None
    return EndOffsetLine(_topic_name(match[1]), _digits("the partition", match[2], MAX_PARTITIONS - 1), end)


def _topic_name(text: str) -> str:
    if not _NAME.fullmatch(text):
        raise _MalformedError(f"{_quoted(text)} is not a topic name")
    return text


def _digits(name: str, text: str, largest: int) -> int:
    if not _NUMBER.pattern.fullmatch(text):
        raise _MalformedError(f"{name} is {_quoted(text)}, not a number")
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
        """Read a row. Raises _MalformedError."""
        cells = _csv_cells(text)
        if len(cells) != len(self.columns):
            raise _MalformedError(f"{len(cells)} columns, the header has {len(self.columns)}")
        row = dict(zip(self.columns, cells, strict=True))
        if not row["group_id"]:
            raise _MalformedError("group_id is empty")
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
        raise _MalformedError(f"not a line of CSV: {problem}") from None


def _items(name: str, row: Mapping[str, str]) -> tuple[str, ...] | None:
    cell = row.get(name, "")
    if "," in cell:
        raise _MalformedError(f"{name} is {_quoted(cell)}; {LIST_SEPARATOR!r} separates names")
    return tuple(item.strip() for item in cell.split(LIST_SEPARATOR) if item.strip()) or None


def _consumer_table(text: str) -> _ConsumerTable | None:
    """Read the header line of consumers.csv; None if the line is not one."""
    if "group_id" not in text or "client_id" not in text:
        return None
    try:
        columns = tuple(cell.strip() for cell in _csv_cells(text))
    except _MalformedError:
        return None
    return _ConsumerTable(columns) if set(columns) >= _CONSUMER_KEY else None


def _check_consumer_header(table: _ConsumerTable) -> None:
    unknown = [column for column in table.columns if column not in _CONSUMER_COLUMNS]
    if unknown:
        raise _MalformedError(f"unknown column {_quoted(unknown[0])}; allowed: {', '.join(_CONSUMER_COLUMNS)}")
    if len(set(table.columns)) != len(table.columns):
        raise _MalformedError("duplicate column")


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


def _quoted(text: str) -> str:
    return repr(text if len(text) <= _LONGEST_QUOTE else text[: _LONGEST_QUOTE - 3] + "...")


# --- Files ---


def survey(lines: Iterable[str]) -> Survey:
    """Return the nature of a file."""
    found = Survey()
    for number, raw, text in _not_blank(lines):
        if found.first is None:
            found.first = (number, raw)
        if not found.known or text.startswith(("Consumer group '", "Warning: ")):
            notice = _notice(text)
            if notice is not None and notice.group_id is not None:
                found.noticed_groups.add(notice.group_id)
            found.known = found.known or notice is not None or _is_output(text)
    return found


def _is_output(text: str) -> bool:
    table = _table(text)
    if table is not None:
        return table.kind is not ToolOutput.UNKNOWN
    if _consumer_table(text) is not None:
        return True
    try:
        (_topic if _is_topic(text) else _end_offset)(text)
    except _MalformedError:
        return False
    return True


def read_lines(lines: Iterable[str]) -> Iterator[Line]:
    """Read the non-blank lines of a file, each with its meaning or the reason why it has none."""
    table: _Table | _ConsumerTable | None = None
    for number, raw, text in _not_blank(lines):
        header = _table(text) or _consumer_table(text)
        if header is not None:
            table = header if header.kind is not ToolOutput.UNKNOWN else None
            yield Line(number, raw, _header(header))
        else:
            yield Line(number, raw, _content(text, table))


_DECORATIONS = (
    # Indentation, a quotation in Markdown or a mail, and the prefixes of docker compose and of kubectl.
    r"[ \t]+",
    r"> ?",
    r"[\w.-]+ +\| ?",
    r"\[pod/[^\]]+\] ",
    # Of docker and kubectl with --timestamps.
    r"\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:\d\d) ",
)
"""What other programs put before each line of a tool's output."""
_MOST_DECORATIONS = 4
_COLORS = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_MARKS = "\ufeff\u200b\u2060"
"""Byte order marks of files that were joined, and marks without width of web pages; ids may contain them."""


def _not_blank(lines: Iterable[str]) -> Iterator[tuple[int, str, str]]:
    """Return numbers and texts of lines, also without the decoration that the last header or topic had."""
    decoration: re.Pattern[str] | None = None
    for number, line in enumerate(lines, 1):
        raw = line.rstrip("\r\n")
        if not raw or raw.isspace():
            continue
        text = _COLORS.sub("", raw)
        if text.startswith(tuple(_MARKS)) and _begins_output(text.lstrip(_MARKS)):
            text = text.lstrip(_MARKS)
        decoration = None if _begins_output(text) else _decoration(text) or decoration
        plain = text[_length(decoration, text) :]
        if plain and not plain.isspace():
            yield number, raw, plain


def _decoration(text: str) -> re.Pattern[str] | None:
    """Return the decoration of a line that begins an output without it; None if it has none."""
    return _decoration_from(text, "", _MOST_DECORATIONS)


def _decoration_from(text: str, before: str, most: int) -> re.Pattern[str] | None:
    for each in _DECORATIONS if most else ():
        found = re.match(each, text)
        if not found:
            continue
        # Rows are indented as far as their header.
        pattern = before + (re.escape(found[0]) if found[0].isspace() else each)
        rest = text[found.end() :]
        if _begins_output(rest):
            return re.compile(pattern)
        deeper = _decoration_from(rest, pattern, most - 1)
        if deeper:
            return deeper
    return None


def _length(decoration: re.Pattern[str] | None, text: str) -> int:
    found = decoration.match(text) if decoration else None
    return found.end() if found else 0


def _begins_output(text: str) -> bool:
    return text.startswith("Topic:") or bool(_FIRST_COLUMN.match(text) and _table(text))


def _header(header: _Table | _ConsumerTable) -> Content:
    if header.kind is ToolOutput.UNKNOWN:
        columns = " ".join(header.columns)
        return BadLine(ToolOutput.UNKNOWN, None, f"no supported tool prints the columns {_quoted(columns)}")
    if isinstance(header, _ConsumerTable):
        try:
            _check_consumer_header(header)
        except _MalformedError as problem:
            return BadLine(header.kind, None, str(problem))
    return HeaderLine(header.kind)


def _content(text: str, table: _Table | _ConsumerTable | None) -> Content:
    failed: list[BadLine] = []
    for reading in _readings(text, table):
        if not isinstance(reading, BadLine):
            return reading
        failed.append(reading)
    notice = _notice(text) or _notice(_behind_prefix(text))
    if notice is not None:
        return notice
    return failed[0] if failed else BadLine(ToolOutput.UNKNOWN, None, "no header precedes the line")


def _behind_prefix(text: str) -> str:
    prefix = _PREFIX.match(text)
    return text[prefix.end() :] if prefix else text


def _readings(text: str, table: _Table | _ConsumerTable | None) -> Iterator[Content]:
    """Read a line in every possible way, the likeliest first: a group may be called "Topic:"."""
    if _is_topic(text):
        yield _read_or_reject(text, ToolOutput.TOPICS)
    if table is not None:
        yield _row(text, table)
    if _LIKE_END_OFFSET.fullmatch(text.strip()):
        yield _read_or_reject(text, ToolOutput.END_OFFSETS)


def _is_topic(text: str) -> bool:
    return text.lstrip().startswith("Topic:")


def _row(text: str, table: _Table | _ConsumerTable) -> Content:
    try:
        return table.read(text)
    except _MalformedError as problem:
        return BadLine(table.kind, table.group(text), str(problem))


def _read_or_reject(text: str, kind: ToolOutput) -> Content:
    try:
        return _topic(text) if kind is ToolOutput.TOPICS else _end_offset(text)
    except _MalformedError as problem:
        return BadLine(kind, None, str(problem))
