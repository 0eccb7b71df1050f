"""Splits the rows of kafka-consumer-groups into cells, by the position of the header or where rows fit it otherwise."""

import itertools
import re
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rebalance_sim.sources.kafka_tools.contents import MalformedError, ToolOutput, quoted
from rebalance_sim.sources.kafka_tools.decorations import LIKE_PREFIX, PREFIX

_MAX_SPACES = 20
"""Most spaces accepted in a value that is wider than its column; each is another way to read the line."""


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
NUMBER = _shape(r"-?[0-9]+|-", "not a number")
# Up to 0.10.1 "unknown" rather than "-".
_OFFSET = _shape(rf"{NUMBER.pattern.pattern}|unknown", "not a number")
NAME = re.compile(r"[a-zA-Z0-9._-]{1,249}")
"""The characters that Kafka allows in topic names and group.instance.id."""
TASKS = re.compile(r"((?:TARGET-)?(?:ACTIVE|STANDBY|WARMUP)): ((?:[^\s:]+:\[[0-9,]*\]; ?)+)")
"""The tasks of a role, by subtopology."""

_SHAPES = {
    "GROUP": _ANYTHING,
    "TOPIC": _shape(NAME.pattern, "not a topic name"),
    "PARTITION": NUMBER,
    "LEADER-EPOCH": NUMBER,
    "CURRENT-OFFSET": _OFFSET,
    "LOG-END-OFFSET": _OFFSET,
    "LAG": _OFFSET,
    "OWNER": _ANYTHING,
    "CONSUMER-ID": _ANYTHING,
    # Since 2.6, if any member is static; blank for those that are not.
    "GROUP-INSTANCE-ID": _shape(rf"(?:{NAME.pattern})?", "not a group.instance.id", may_be_blank=True),
    "HOST": _shape(r"\S*/\S+|-", "expected an address such as /127.0.0.1"),
    "CLIENT-ID": _shape(r".*", "expected a client.id", may_be_blank=True),
    "#PARTITIONS": NUMBER,
    # Blank for a share member without partitions.
    "ASSIGNMENT": _shape(r"(?:.*[^ ].*)?", "expected a value", may_be_blank=True),
    "CURRENT-EPOCH": NUMBER,
    "CURRENT-ASSIGNMENT": _WORD,
    "TARGET-EPOCH": NUMBER,
    "TARGET-ASSIGNMENT": _WORD,
    "UPGRADED": _shape(r"true|false|-", "expected true, false or -"),
    "COORDINATOR (ID)": _shape(r"\S*:-?[0-9]+ +\([^()]*\)", "expected host:port (id)"),
    # Blank up to 3.9 if no protocol has been elected.
    "ASSIGNMENT-STRATEGY": _shape(r"\S*", "expected one word", may_be_blank=True),
    "STATE": _shape(r"[A-Za-z]+", "not a state of a group"),
    "GROUP-EPOCH": NUMBER,
    "TARGET-ASSIGNMENT-EPOCH": NUMBER,
    "#MEMBERS": NUMBER,
    # Blank if the brokers are older than types.
    "TYPE": _shape(r"[A-Za-z]*", "not a type of group", may_be_blank=True),
    "PROTOCOL": _shape(r"\S*", "expected one word", may_be_blank=True),
    # Tables of share groups.
    "START-OFFSET": NUMBER,
    "MEMBER-EPOCH": NUMBER,
    "ASSIGNMENT-EPOCH": NUMBER,
    # Tables of streams groups. A member id is, or ends in, a Uuid. The assignor since 4.4, blank if brokers are older.
    "ASSIGNOR": _shape(r"\S*", "expected one word", may_be_blank=True),
    "OFFSET-LAG": NUMBER,
    "MEMBER": _shape(r"\S*[A-Za-z0-9_-]{22}", "not a member id"),
    "MEMBER-PROTOCOL": _WORD,
    "TOPOLOGY-EPOCH": NUMBER,
    "PROCESS": _WORD,
    "ASSIGNMENTS": _shape(rf"(?:{TASKS.pattern})*", "expected tasks, such as 'ACTIVE: 0:[1,3];'", may_be_blank=True),
}

_OUTPUTS = (
    (ToolOutput.OFFSETS, {"TOPIC", "PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "CONSUMER-ID"}),
    (ToolOutput.OFFSETS, {"TOPIC", "PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "OWNER"}),
    (ToolOutput.MEMBERS, {"CONSUMER-ID", "HOST", "CLIENT-ID", "#PARTITIONS"}),
    (ToolOutput.STATE, {"ASSIGNMENT-STRATEGY", "STATE", "#MEMBERS"}),
    *(
        (ToolOutput.GROUPS, {"GROUP", *columns})
        for columns in (("TYPE",), ("STATE",), ("START-OFFSET",), ("OFFSET-LAG",))
    ),
    (ToolOutput.STREAMS_MEMBERS, {"GROUP", "MEMBER", "PROCESS", "CLIENT-ID", "ASSIGNMENTS"}),
)
"""The output of a table, by its columns."""

_COORDINATOR = "COORDINATOR (ID)"
_CUT_OFF = {"ASSIGNMENT", "TARGET-ASSIGNMENT"}
"""Last columns, whose ``-`` is often lost with the spaces at the end of a line."""
_GAP = re.compile(" {2,}")
_SPACES = re.compile(" +")
_BEHIND_UUID = re.compile(r"-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12} ")
"""The end of a member id that a coordinator generated; any text after it belongs to the next column."""
_GROWING = {"GROUP", "TOPIC", "CONSUMER-ID", "GROUP-INSTANCE-ID", "HOST", "CLIENT-ID"}
"""Columns that are as wide as their longest value, in each output of --offsets and --members since 2.3."""
_GROWING_OUTPUTS = (ToolOutput.OFFSETS, ToolOutput.MEMBERS)
_LONGEST_PREFIX = 60
_FIRST_COLUMN = re.compile(r"(?:GROUP|TOPIC|CONSUMER-ID|COORDINATOR \(ID\))\s")
_HEADING = re.compile(r"COORDINATOR \(ID\)|#?[A-Z][A-Z-]*")
# 1.0 prints "%-50s" and at once "%-30s": a member id of 50 characters leaves no space before HOST.
_GLUED_TO_HOST = re.compile(r"-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}(?=[^\s/]*/)")


@dataclass(frozen=True)
class GroupTable:
    """A table of kafka-consumer-groups, from its header line."""

    kind: ToolOutput
    columns: tuple[str, ...]
    starts: tuple[int, ...]

    def cells(self, text: str) -> dict[str, str]:
        """Split a row. Raises MalformedError."""
        cells = self._by_position(text) or self._by_words(text)
        if cells is None:
            raise MalformedError(self._what_is_wrong(text))
        return cells

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

        Raises MalformedError if the prefix may be the beginning of the first value.
        """
        if not self._has_growing_columns:
            return None
        for length in range(1, min(_LONGEST_PREFIX, len(line))):
            row = line[length:]
            if not self._is_aligned(row):
                continue
            cells = self._cells_below_header(row)
            if self._fit(cells):
                if PREFIX.fullmatch(line, 0, length):
                    return cells
                before = repr(line[:length])
                raise MalformedError(
                    f"the row is aligned with the header only without {before}, which may be part of {self.columns[0]}"
                )
        return None

    @property
    def _has_growing_columns(self) -> bool:
        is_owner_layout = "OWNER" in self.columns
        return self.columns[0] == "GROUP" and self.kind in _GROWING_OUTPUTS and not is_owner_layout

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
        """Split a row without alignment at two spaces or more, at any space, or at any white space; None if none fits.

        Raises MalformedError if it fits in several ways: a cell that may be blank leaves no trace.
        """
        stripped = line.strip(" ")
        # An id may have other white space, such as a no-break space, beside the spaces that Kafka pads with.
        for parts in (_GAP.split(stripped), _SPACES.split(stripped), line.split()):
            ways = list(itertools.islice(self._ways(tuple(parts), 0), 2))
            if len(ways) > 1:
                raise MalformedError(
                    "the row is not aligned with the header, and more than one column could be the blank one"
                )
            if ways and LIKE_PREFIX.match(ways[0][0]):
                raise MalformedError(
                    f"{self.columns[0]} is {quoted(ways[0][0])}, which may start with a prefix that is not part of it"
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
                return f"{column} is {quoted(cell)}, {_SHAPES[column].expected}"
        return "the row is not aligned with the header"

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


@dataclass(frozen=True)
class CommaTable:
    """The table of kafka-consumer-groups of 0.9, whose columns are separated by a comma and a space."""

    kind = ToolOutput.OFFSETS
    columns = ("GROUP", "TOPIC", "PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "OWNER")

    def cells(self, text: str) -> dict[str, str]:
        """Split a row. Raises MalformedError."""
        ways = {match.groups() for row in _COMMA_ROWS if (match := row.fullmatch(text.rstrip(" ")))}
        if len(ways) != 1:
            problem = "can be split at its commas in several ways" if ways else "does not fit the header"
            raise MalformedError(f"the row {problem}: {', '.join(self.columns)}")
        return dict(zip(self.columns, ways.pop(), strict=True))

    def group(self, text: str) -> str | None:
        """Return the likely group of a row that cannot be read."""
        return text.partition(", ")[0] or None


_COMMA_HEADER = "GROUP, TOPIC, PARTITION, CURRENT OFFSET, LOG END OFFSET, LAG, OWNER"
_COMMA_ROWS = [
    re.compile(f"({group}), ({NAME.pattern}), ([0-9]+)" + ", (-?[0-9]+|unknown)" * 3 + ", (.+)")
    for group in (".+", ".+?")
]
"""A row, whose group is as long and as short as possible: ids may contain commas."""


def group_table(text: str) -> GroupTable | CommaTable | None:
    """Read a header line; None if the line is not one."""
    if text.rstrip() == _COMMA_HEADER:
        return CommaTable()
    if not _FIRST_COLUMN.match(text):
        return None
    headings = list(_HEADING.finditer(text))
    if "".join(heading.group() for heading in headings).replace(" ", "") != "".join(text.split()):
        return None
    columns = tuple(heading.group() for heading in headings)
    present = set(columns)
    known = len(present) == len(columns) and present <= _SHAPES.keys()
    kind = next((kind for kind, needed in _OUTPUTS if known and needed <= present), ToolOutput.UNKNOWN)
    return GroupTable(kind, columns, tuple(heading.start() for heading in headings))
