"""Joins the lines of a capture's files: duplicates are rejected."""

import json
import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TypeVar

from rebalance_sim.kafka.group_kinds import OF_GROUP_TYPES
from rebalance_sim.sources.kafka_tools.contents import (
    BadLine,
    ConsumerLine,
    Content,
    EndOffsetLine,
    HeaderLine,
    MemberLine,
    Notice,
    NoticeLine,
    OffsetLine,
    PartitionLine,
    StateLine,
    StreamsMemberLine,
    ToolOutput,
    TopicLine,
    TopicPartition,
    quoted,
)
from rebalance_sim.sources.kafka_tools.file_formats import read_file
from rebalance_sim.sources.kafka_tools.listed_groups import SHARE, STREAMS, GroupLine, ListedGroup
from rebalance_sim.wording import plural

LONGEST_SAMPLE = 200
_USE_NEWER_TOOL = "use --bootstrap-server and kafka-consumer-groups of Kafka 0.10.2 or later"
_CLIENT_AND_HOST = re.compile(r".*_[^\s/]*/\S+", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Location:
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
class CapturedTopic:
    """A topic, with the leaders of the partitions that have a line."""

    place: Location
    topic_id: str | None
    partitions: int
    has_leader: dict[int, bool] = field(default_factory=dict)


@dataclass(slots=True)
class Offset:
    """A partition of a group."""

    committed: int | None
    end: int | None
    member_id: str | None


@dataclass(frozen=True, slots=True)
class Owner:
    """A member in the rows of offsets."""

    place: Location
    line: OffsetLine
    """Its first one."""


@dataclass(frozen=True, slots=True)
class CapturedMember:
    """A member of a group."""

    place: Location
    group_id: str
    line: MemberLine
    by_offsets: bool = False
    """Whether only the rows of offsets show it."""

    @property
    def shown(self) -> tuple[bool, ...]:
        """How much the line shows of it, in an order."""
        return self.line.assignment is not None, self.line.epoch is not None


@dataclass(frozen=True, slots=True)
class CapturedStreamsMember:
    """A member of a streams group."""

    place: Location
    line: StreamsMemberLine

    @property
    def shown(self) -> tuple[bool, ...]:
        """How much the line shows of it, in an order."""
        return (self.line.target is not None,)


@dataclass(frozen=True, slots=True)
class Reject:
    """A line that cannot be used."""

    kind: ToolOutput
    group_id: str | None
    """As far as the line shows it."""
    place: Location
    reason: str


@dataclass(slots=True)
class Consumer:
    """A row of consumers.csv."""

    place: Location
    line: ConsumerLine
    used: bool = False


_ConsumerKey = tuple[str, str, str | None]
_GroupLine = OffsetLine | StateLine | MemberLine
_Member = TypeVar("_Member", CapturedMember, CapturedStreamsMember)


class Lines:
    """The lines of all files; duplicates are rejected."""

    def __init__(self) -> None:
        self.has_members = False
        self.has_offsets = False
        self.topics: dict[str, CapturedTopic] = {}
        self.members: dict[tuple[str, str], CapturedMember] = {}
        self.streams_members: dict[tuple[str, str], CapturedStreamsMember] = {}
        self.offsets: dict[tuple[str, str, int], Offset] = {}
        self.owners: dict[tuple[str, str], Owner] = {}
        """The members in the rows of offsets, by group and id."""
        self.owners_without_id: dict[tuple[str, str], Location] = {}
        """The cells of OWNER, by group, with the first row that has it."""
        self.states: dict[str, StateLine] = {}
        self.places_of_states: dict[str, Location] = {}
        self.listed: defaultdict[str, ListedGroup] = defaultdict(ListedGroup)
        """What lists of groups show of them, and the tools for groups that have no consumers."""
        self.ends: dict[TopicPartition, int | None] = {}
        self.consumers: dict[_ConsumerKey, Consumer] = {}
        self.noticed: defaultdict[Notice, set[str]] = defaultdict(set)
        self.errors: list[Location] = []
        self.empty_files: list[str] = []
        self.hidden_files: list[str] = []
        self.undecodable: dict[str, int] = {}
        """The first line, by file, that is not in the encoding of the file."""
        self.groups_by_file: dict[str, str] = {}
        self.rejects: list[Reject] = []
        self._names: dict[str, str] = {}

    def add_file(self, file: str, content: bytes) -> None:
        """Add the lines of a file."""
        read = read_file(file, content)
        if read.is_empty:
            self.empty_files.append(file)
        if read.unknown is not None:
            number, text = read.unknown
            place = Location(file, number, text[:LONGEST_SAMPLE])
            self.reject(place, ToolOutput.FILE, None, "the file is not the output of a supported tool")
        if read.undecodable is not None:
            self.undecodable[file] = read.undecodable
        for line in read.lines:
            self._add(Location(file, line.number, line.text), line.content, read.group_id)

    def reject(self, place: Location, kind: ToolOutput, group_id: str | None, reason: str) -> None:
        """Reject a line with a reason."""
        self.rejects.append(Reject(kind, group_id, place, reason))

    def _add(self, place: Location, content: Content, file_group: str | None) -> None:
        match content:
            case BadLine():
                self.reject(place, content.kind, content.group_id, content.reason)
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
                self._add_listed(place, content)
            case ConsumerLine():
                self._add_consumer(place, content)
            case OffsetLine():
                self._add_offset(place, content, file_group)
            case StateLine():
                self._add_state(place, content, file_group)
            case MemberLine():
                self._add_member(place, content, file_group)
            case StreamsMemberLine():
                self._add_streams_member(place, content)

    def _add_listed(self, place: Location, line: GroupLine) -> None:
        group_id = self._one_name(line.group_id)
        self.listed[group_id].add(line)
        if line.members is not None:
            self.places_of_states.setdefault(group_id, place)

    def _add_notice(self, place: Location, notice: NoticeLine) -> None:
        if notice.group_id is not None:
            self.noticed[notice.notice].add(notice.group_id)
            if notice.group_type is not None:
                self.listed[notice.group_id].add(GroupLine(notice.group_id, notice.group_type))
        elif notice.notice is Notice.ERROR:
            self.errors.append(place)

    def _add_topic(self, place: Location, line: TopicLine) -> None:
        first = self.topics.get(line.topic)
        if first is not None:
            reason = f"topic {line.topic!r} is listed more than once; {first.place} is used"
            self.reject(place, ToolOutput.TOPICS, None, reason)
        else:
            self.topics[line.topic] = CapturedTopic(place, line.topic_id, line.partitions)

    def _add_partition(self, place: Location, line: PartitionLine) -> None:
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

    def _add_end(self, place: Location, line: EndOffsetLine) -> None:
        key = (self._one_name(line.topic), line.partition)
        if key in self.ends:
            reason = f"partition {line.partition} of topic {line.topic!r} is listed more than once; the first is used"
            self.reject(place, ToolOutput.END_OFFSETS, None, reason)
        else:
            self.ends[key] = line.end

    def _add_consumer(self, place: Location, line: ConsumerLine) -> None:
        first = self.consumers.setdefault((line.group_id, line.client_id, line.instance_id), Consumer(place, line))
        # Clients on several hosts often share client.id and configuration; identical rows are no conflict.
        if first.line != line:
            reason = f"this client has another row in {first.place}, which is used"
            self.reject(place, ToolOutput.CONSUMERS, line.group_id, reason)

    def _group_id(self, place: Location, kind: ToolOutput, line: _GroupLine, file_group: str | None) -> str | None:
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

    def _add_offset(self, place: Location, line: OffsetLine, file_group: str | None) -> None:
        group_id = self._group_id(place, ToolOutput.OFFSETS, line, file_group)
        if group_id is None:
            return
        # Without a host, the line of a consumer by ZooKeeper, or one that is cut off within the member id.
        if line.member_id is not None and line.host:
            self.owners.setdefault((group_id, line.member_id), Owner(place, line))
        if line.group_type is not None:
            self.listed[group_id].add(GroupLine(group_id, line.group_type))
        if line.owner is not None:
            self.owners_without_id.setdefault((group_id, line.owner), place)
        if line.topic_partition is None:
            return
        topic, partition = line.topic_partition
        key = (group_id, self._one_name(topic), partition)
        if key in self.offsets:
            reason = f"partition {partition} of topic {topic!r} is listed more than once; the first is used"
            self.reject(place, ToolOutput.OFFSETS, group_id, reason)
        else:
            member_id = None if line.member_id is None else self._one_name(line.member_id)
            self.offsets[key] = Offset(line.committed, line.end, member_id)

    def _add_state(self, place: Location, line: StateLine, file_group: str | None) -> None:
        group_id = self._group_id(place, ToolOutput.STATE, line, file_group)
        if group_id is None:
            return
        if group_id in self.states:
            self.reject(place, ToolOutput.STATE, group_id, "the group is listed more than once; the first is used")
        else:
            self.states[group_id] = line
            self.places_of_states[group_id] = place

    def _add_member(self, place: Location, line: MemberLine, file_group: str | None) -> None:
        group_id = self._group_id(place, ToolOutput.MEMBERS, line, file_group)
        if group_id is None:
            return
        if line.group_type is not None:
            self.listed[group_id].add(GroupLine(group_id, line.group_type, member_id=line.member_id))
        self._keep(self.members, (group_id, line.member_id), CapturedMember(place, group_id, line), ToolOutput.MEMBERS)

    def _add_streams_member(self, place: Location, line: StreamsMemberLine) -> None:
        group_id = self._one_name(line.group_id)
        self.listed[group_id].add(GroupLine(group_id, STREAMS, member_id=line.member_id))
        member = CapturedStreamsMember(place, line)
        self._keep(self.streams_members, (group_id, line.member_id), member, ToolOutput.STREAMS_MEMBERS)

    def _keep(
        self, known: dict[tuple[str, str], _Member], key: tuple[str, str], used: _Member, kind: ToolOutput
    ) -> None:
        """Keep a member; of two lines, as of --members and --members --verbose, use the one that shows more."""
        duplicate = known.get(key)
        if duplicate is not None:
            if duplicate.shown >= used.shown:
                used, duplicate = duplicate, used
            reason = f"the member is listed more than once; {used.place} is used"
            self.reject(duplicate.place, kind, key[0], reason)
        known[key] = used

    def add_members_of_offsets(self) -> None:
        """Add the members that the rows of offsets show, of groups for which there is no usable line of --members.

        ``--describe`` without ``--members``, which is new in 1.1, lists members with their partitions, and those
        without partitions in rows of their own.
        """
        listed = {group_id for group_id, _ in self.members}
        owned = partitions_by_owner(self)
        for (group_id, member_id), owner in self.owners.items():
            if group_id not in listed:
                partitions = tuple(sorted(owned.get((group_id, member_id), ())))
                client_id, host = owner.line.client_id, owner.line.host
                line = MemberLine(group_id, member_id, None, client_id, host, len(partitions), partitions)
                self.members[group_id, member_id] = CapturedMember(owner.place, group_id, line, by_offsets=True)
        with_members = {group_id for group_id, _ in self.members}
        for (group_id, owner_cell), place in self.owners_without_id.items():
            if group_id not in with_members:
                self.reject(place, ToolOutput.MEMBERS, group_id, _why_no_member(owner_cell))

    def other_groups(self) -> set[str]:
        """Return the groups whose members are not consumers."""
        return {group_id for group_id, listed in self.listed.items() if listed.group_type in OF_GROUP_TYPES}

    def share_groups(self) -> set[str]:
        """Return the share groups (KIP-932)."""
        return {group_id for group_id, listed in self.listed.items() if listed.group_type == SHARE}

    def separate_other_groups(self) -> None:
        """Count the members of share groups, also those whose lines do not show it, and remove those of streams groups.

        The line of a share member without partitions is also one of a consumer.
        """
        other, share = self.other_groups(), self.share_groups()
        for group_id, member_id in [key for key in self.members if key[0] in other]:
            self.listed[group_id].add(GroupLine(group_id, None, member_id=member_id))
            if group_id not in share:
                del self.members[group_id, member_id]

    def first_problem(self) -> str | None:
        """Return the first error that the tools printed, or else how many lines were rejected and why the first was."""
        if self.errors:
            return f"{self.errors[0]}: {self.errors[0].text.strip()[:LONGEST_SAMPLE]}"
        if not self.rejects:
            return None
        number, first = len(self.rejects), self.rejects[0]
        return f"{plural(number, 'line')} could not be used, the first in {first.place}: {first.reason}"

    def _one_name(self, name: str) -> str:
        """Return the shared copy of a name that is repeated in very many lines."""
        return self._names.setdefault(name, name)


def _why_no_member(owner: str) -> str:
    """Return why a cell of OWNER is not read as a member."""
    # ConsumerGroupCommand of 0.9 to 0.10.1 prints client id, "_" and host, which contains "/", and with --zookeeper the
    # owner that a consumer has written there, or "none".
    if _CLIENT_AND_HOST.fullmatch(owner):
        return (
            f"OWNER is {quoted(owner)}, the client id and host of a member, but not its member id: members that share "
            f"both cannot be distinguished, and members without partitions are missing; {_USE_NEWER_TOOL}"
        )
    return (
        f"OWNER is {quoted(owner)}, from the output of --zookeeper, which does not show the members that brokers know; "
        f"{_USE_NEWER_TOOL}"
    )


def partitions_by_owner(lines: Lines) -> dict[tuple[str, str], list[TopicPartition]]:
    """Return the partitions of each member, by group and id, that the rows of offsets show."""
    owned: defaultdict[tuple[str, str], list[TopicPartition]] = defaultdict(list)
    for (group_id, topic, partition), offset in lines.offsets.items():
        if offset.member_id is not None:
            owned[group_id, offset.member_id].append((topic, partition))
    return dict(owned)
