"""Reads the groups that ``rpk group describe`` prints, as text and with ``--format json``.

The text has a row for each partition, with the member that owns it, and none for a member without partitions. Columns
are aligned by Go's text/tabwriter, which counts characters, with two spaces between them.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

from rebalance_sim.sources.kafka_tools.columns import NAME, NUMBER
from rebalance_sim.sources.kafka_tools.contents import (
    BadLine,
    Content,
    HeaderLine,
    Line,
    MalformedError,
    MemberLine,
    Notice,
    NoticeLine,
    OffsetLine,
    StateLine,
    ToolOutput,
    TopicPartition,
    quoted,
)
from rebalance_sim.sources.kafka_tools.decorations import undecorated
from rebalance_sim.sources.kafka_tools.json_fields import MAX_INT, MAX_LONG, Fields, Item, items
from rebalance_sim.sources.kafka_tools.text import message_of, number_of
from rebalance_sim.sources.kafka_tools.unseen_groups import rejected_if_unseen
from rebalance_sim.tables import MAX_PARTITIONS
from rebalance_sim.wording import plural

# --- JSON ---


def read_group(document: Fields) -> Iterator[Item]:
    """Return the state, members and offsets of a group of ``--format json``. Raises MalformedError."""
    group_id, members = document.name("group_name"), document.objects("members_details")
    partitions, state = document.objects("partitions"), document.text("state")
    for kind in (ToolOutput.MEMBERS, ToolOutput.OFFSETS):
        yield Item(document.value, HeaderLine(kind))
    rejected = rejected_if_unseen(group_id, state)
    if rejected:
        yield Item(document.value, rejected)
        return
    strategy = document.text("balancer") or None
    yield Item(document.value, StateLine(group_id, strategy, state, document.number("members", MAX_INT), None))
    owned = _json_owned(partitions)
    yield from items(members, ToolOutput.MEMBERS, group_id, partial(_json_member, group_id, owned))
    yield from items(partitions, ToolOutput.MEMBERS, group_id, partial(_json_offset, group_id))


def _json_owned(partitions: list[Fields]) -> dict[str, list[TopicPartition]]:
    """Return the partitions by member id, from those that can be read: topic_partitions of a member is always empty."""
    owned: defaultdict[str, list[TopicPartition]] = defaultdict(list)
    for each in partitions:
        with suppress(MalformedError):
            owned[each.text("member_id")].append(each.topic_partition())
    return owned


def _json_member(group_id: str, owned: dict[str, list[TopicPartition]], member: Fields) -> Content:
    member_id = member.name("member_id")
    partitions = tuple(sorted(owned.get(member_id, ())))
    return MemberLine(
        group_id,
        member_id,
        None,
        member.text("client_id"),
        member.text("host").removeprefix("/"),
        len(partitions),
        partitions,
        instance_id_known=False,
    )


def _json_offset(group_id: str, partition: Fields) -> Content:
    topic_partition = partition.topic_partition()
    # With a lag of -1 the end of the log could not be read, and log_end_offset is 0.
    end = None if partition.value.get("lag") == -1 else partition.offset("log_end_offset")
    return OffsetLine(
        group_id, topic_partition, partition.offset("current_offset"), end, partition.text("member_id") or None
    )


# --- Text ---

_SUMMARY = re.compile(
    r"(?P<key>GROUP|COORDINATOR(?:-NODE|-PARTITION)?|STATE|BALANCER|MEMBERS|TOTAL-LAG|ERROR)(?: +(?P<value>.*?) *)?"
)
_HEADER = re.compile(
    r"TOPIC +PARTITION +CURRENT-OFFSET +(?:LOG-START-OFFSET +)?LOG-END-OFFSET +LAG +MEMBER-ID +(?:INSTANCE-ID +)?"
    r"CLIENT-ID +HOST(?: +ERROR)? *"
)
_NODE = re.compile(r"COORDINATOR(?:-NODE)? +-?\d+ *")
_HEADING = re.compile(r"[A-Z-]+")


def is_described(lines: Iterable[str]) -> bool:
    """Return whether a text is that of ``rpk group describe``.

    >>> is_described(["GROUP        orders", "COORDINATOR  1", "STATE        Stable"])
    True
    """
    before = ""
    for _, _, text in undecorated(lines, _begins_output):
        if _HEADER.fullmatch(text) or (before.startswith("GROUP ") and _NODE.fullmatch(text)):
            return True
        before = text
    return False


def read_described(lines: Iterable[str]) -> Iterator[Line]:
    """Read the non-blank lines of a text. A group follows its lines: its state, and its members."""
    group = _Group()
    for number, raw, text in undecorated(lines, _begins_output):
        place = (number, raw)
        if text.startswith("GROUP ") and not group.has_row(text):
            yield from group.contents()
            group = _Group()
        summary = None if group.table else _SUMMARY.fullmatch(text)
        if _HEADER.fullmatch(text):
            group.table = _Table.of(text)
            yield Line(*place, HeaderLine(ToolOutput.OFFSETS))
        elif summary:
            group.summary[summary["key"]] = (place, summary["value"] or "")
            notice = Notice.ERROR if summary["key"] == "ERROR" else Notice.OTHER
            yield Line(*place, NoticeLine(notice, None))
        else:
            yield Line(*place, group.read(place, text))
    yield from group.contents()


def _begins_output(text: str) -> bool:
    return text.startswith("GROUP ") or _HEADER.fullmatch(text) is not None


_Place = tuple[int, str]
"""Number and text of a line."""


@dataclass(frozen=True, slots=True)
class _Table:
    """The table of partitions, from its header line."""

    columns: tuple[str, ...]
    starts: tuple[int, ...]

    @classmethod
    def of(cls, header: str) -> "_Table":
        headings = list(_HEADING.finditer(header))
        return cls(tuple(each[0] for each in headings), tuple(each.start() for each in headings))

    def cells(self, text: str) -> dict[str, str]:
        """Split a row. Raises MalformedError."""
        if any(text[start - 2 : start].strip(" ") for start in self.starts[1:]):
            raise MalformedError("the row is not aligned with the header")
        ends: Sequence[int] = (*self.starts[1:], len(text))
        cells = (text[start:end].rstrip(" ") for start, end in zip(self.starts, ends, strict=True))
        return dict(zip(self.columns, cells, strict=True))


@dataclass(slots=True)
class _Group:
    """The lines of a group; its members are known once all lines are read."""

    summary: dict[str, tuple[_Place, str]] = field(default_factory=dict)
    table: _Table | None = None
    members: dict[str, tuple[_Place, dict[str, str]]] = field(default_factory=dict)
    """The first row of each member, by id."""
    owned: defaultdict[str, list[TopicPartition]] = field(default_factory=lambda: defaultdict(list))

    @property
    def group_id(self) -> str | None:
        return (self.summary["GROUP"][1] or None) if "GROUP" in self.summary else None

    def has_row(self, text: str) -> bool:
        """Return whether a line is a row of the group's table: a topic may be called GROUP."""
        try:
            return self.table is not None and bool(self.table.cells(text)["PARTITION"])
        except MalformedError:
            return False

    def read(self, place: _Place, text: str) -> Content:
        """Read a row of the table, or a message between the lines."""
        message = message_of(text)
        if self.table is None:
            return message or BadLine(ToolOutput.UNKNOWN, self.group_id, "no header precedes the line")
        if self.group_id is None:
            reason = "no line names the group; run rpk group describe without --print-commits"
            return message or BadLine(ToolOutput.OFFSETS, None, reason)
        try:
            return self._row(place, self.table.cells(text))
        except MalformedError as problem:
            # The row may be that of a member.
            return message or BadLine(ToolOutput.MEMBERS, self.group_id, str(problem))

    def _row(self, place: _Place, cells: dict[str, str]) -> OffsetLine:
        topic_partition = _topic_partition(cells)
        committed = _number("CURRENT-OFFSET", cells["CURRENT-OFFSET"], MAX_LONG)
        # With an error the end of the log may be unknown; it is then printed as 0.
        has_end = not cells.get("ERROR")
        end = _number("LOG-END-OFFSET", cells["LOG-END-OFFSET"], MAX_LONG) if has_end else None
        member_id = cells["MEMBER-ID"] or None
        if member_id is not None:
            self.members.setdefault(member_id, (place, cells))
            self.owned[member_id].append(topic_partition)
        return OffsetLine(self.group_id, topic_partition, committed, end, member_id)

    def contents(self) -> Iterator[Line]:
        """Return the state and the members of the group, or why it cannot be read."""
        if self.group_id is None:
            return
        group_place = self.summary["GROUP"][0]
        yield Line(*group_place, HeaderLine(ToolOutput.MEMBERS))
        try:
            shown = self._shown()
        except MalformedError as problem:
            yield Line(*group_place, BadLine(ToolOutput.MEMBERS, self.group_id, str(problem)))
            return
        state = self.summary["STATE"][1]
        unseen = rejected_if_unseen(self.group_id, state)
        if unseen:
            yield Line(*self.summary["STATE"][0], unseen)
            return
        strategy = self.summary["BALANCER"][1] or None
        yield Line(*self.summary["STATE"][0], StateLine(self.group_id, strategy, state, shown, None))
        if shown != len(self.members):
            yield Line(*self.summary["MEMBERS"][0], self._missing_members(shown))
        for member_id, (place, cells) in self.members.items():
            yield Line(*place, self._member(member_id, cells))

    def _shown(self) -> int:
        """Return the number of members. Raises MalformedError if the summary is incomplete."""
        for key in ("STATE", "BALANCER", "MEMBERS"):
            if key not in self.summary:
                raise MalformedError(f"the group has no line {key}")
        return _number("MEMBERS", self.summary["MEMBERS"][1], MAX_INT) or 0

    def _missing_members(self, shown: int) -> BadLine:
        reason = (
            f"MEMBERS is {shown}, but the rows show {plural(len(self.members), 'member')}: rpk prints no row for a "
            "member without partitions, except with --format json"
        )
        return BadLine(ToolOutput.MEMBERS, self.group_id, reason)

    def _member(self, member_id: str, cells: dict[str, str]) -> MemberLine:
        owned = tuple(sorted(set(self.owned[member_id])))
        return MemberLine(
            self.group_id,
            member_id,
            cells.get("INSTANCE-ID") or None,
            cells["CLIENT-ID"],
            cells["HOST"].removeprefix("/"),
            len(owned),
            owned,
        )


def _topic_partition(cells: dict[str, str]) -> TopicPartition:
    if not NAME.fullmatch(cells["TOPIC"]):
        raise MalformedError(f"TOPIC is {quoted(cells['TOPIC'])}, not a topic name")
    partition = _number("PARTITION", cells["PARTITION"], MAX_PARTITIONS - 1)
    if partition is None:
        raise MalformedError("PARTITION is '-', not a number")
    return cells["TOPIC"], partition


def _number(name: str, text: str, largest: int) -> int | None:
    if not NUMBER.pattern.fullmatch(text):
        raise MalformedError(f"{name} is {quoted(text)}, not a number")
    return number_of(name, text, largest)
