"""What people paste: text without its alignment, indented, quoted, prefixed, cut, in other encodings, or merged."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from rebalance_sim.commands.job_options import MOST_REJECTED
from rebalance_sim.engine.runs.rejected_shares import rejected_shares
from rebalance_sim.sources.assumptions import NOTHING_STATED
from rebalance_sim.sources.kafka_tools.capture import NOT_CAPTURED, NOT_LISTED, ONE_MORE, CaptureTables
from rebalance_sim.sources.kafka_tools.lines import Lines
from rebalance_sim.sources.kafka_tools.text import read_lines
from rebalance_sim.tables import MEMBERS, OFFSETS, REJECTS, Table
from tests.sources.kafka_tools.test_layouts import kind_of
from tests.support.mutilated_captures import MUTILATED, Mutilated, Texts, capture

OF_OTHER_OUTPUTS = (NOT_CAPTURED, NOT_LISTED, ONE_MORE)
"""The reasons of rejected members that have no line of their own."""
UNALIGNED = """
GROUP  CONSUMER-ID  HOST  CLIENT-ID  #PARTITIONS  CURRENT-EPOCH  CURRENT-ASSIGNMENT  TARGET-EPOCH  TARGET-ASSIGNMENT
search  web@pod-1 (github.com/segmentio/kafka-go)-de9b5dec-5500-432f-9993-3bf7d3d10e24  /10.0.14.11  web@pod-1 \
(github.com/segmentio/kafka-go)  2  -  inventory:0,1  -  \n\
search  web@pod-2 (github.com/segmentio/kafka-go)-c3693486-d0e4-4843-abac-31fb962e3c84  /10.0.14.12  web@pod-2 \
(github.com/segmentio/kafka-go)  0  -  -  -

GROUP  COORDINATOR (ID)  ASSIGNMENT-STRATEGY  STATE  #MEMBERS
search  kafka-3.prod:9092  (3)  range  Stable  2
"""
MEMBERS_TXT = """\
GROUP  CONSUMER-ID                             HOST         CLIENT-ID  #PARTITIONS ASSIGNMENT
web    c1-11111111-f06c-4b40-a6e3-b2008a05ddd1 /192.0.2.9   c1         2           t50(0,1),t51(0)
web    c2-21111111-f06c-4b40-a6e3-b2008a05ddd1 /192.0.2.10  c2         1           t50(2)
""".replace("c1         2 ", "c1         3 ")
DESCRIBED = """
TOPIC                          PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG        \
CONSUMER-ID                                       HOST                           CLIENT-ID
-                              -          -               -               -          \
rdkafka-fbca5204-0000-4c7a-8bad-f03cb3606071      /192.0.2.44                    rdkafka
jobs                           1          13100           20100           7000       \
rdkafka-9b6c1ffb-0000-4c7a-8bad-f03cb3606072      /192.0.2.45                    rdkafka
jobs                           3          100             10100           10000      \
-                                                 -                              -
"""


def rows(table: Table, values: Iterable[tuple[object, ...]]) -> list[dict[str, Any]]:
    return [dict(zip(table.names, row, strict=True)) for row in values]


class Pasted:
    """The tables of pasted files."""

    def __init__(self, files: dict[str, bytes]) -> None:
        lines = Lines()
        for name, content in files.items():
            lines.add_file(name, content)
        tables = CaptureTables(lines, "default", NOTHING_STATED)
        self.members = {(row["group_id"], row["member_id"]): row for row in rows(MEMBERS, tables.members())}
        self.offsets = rows(OFFSETS, tables.offsets())
        self.rejects = rows(REJECTS, tables.rejects())
        self.assumptions = tables.assumptions()
        self.states = lines.states.keys()
        self.groups_without_members = tables.groups_without_members()
        self._by_offsets = {key for key, member in lines.members.items() if member.by_offsets}

    def is_by_offsets(self, row: dict[str, Any]) -> bool:
        """Return whether only rows of --offsets show a member."""
        return (row["group_id"], row["member_id"]) in self._by_offsets

    @property
    def unread_groups(self) -> list[str]:
        """Groups whose members were all rejected."""
        rejected = {row["group_id"] for row in self.rejects if row["table"] == "members" and row["group_id"]}
        return sorted(rejected - {group_id for group_id, _ in self.members})

    def owned(self, group_id: str) -> list[tuple[str, list[tuple[str, int]]]]:
        """Return the members of a group with their partitions."""
        return [
            (row["client_id"], [(each["topic"], each["partition"]) for each in row["owned"] or ()])
            for (of, _), row in self.members.items()
            if of == group_id
        ]


def test_rows_without_alignment_are_split_at_wide_gaps() -> None:
    pasted = Pasted({"capture.txt": UNALIGNED.encode()})
    names = [f"web@pod-{number} (github.com/segmentio/kafka-go)" for number in (1, 2)]
    assert pasted.owned("search") == [(names[0], [("inventory", 0), ("inventory", 1)]), (names[1], [])]
    assert [row["protocols"] for row in pasted.members.values()] == [("range", "roundrobin")] * 2
    assert pasted.rejects == []


def test_a_blank_cell_that_may_stand_in_several_places_is_no_guess() -> None:
    """Either the client id or the instance id is blank: nobody can tell which one "c1" is."""
    text = "GROUP  CONSUMER-ID  GROUP-INSTANCE-ID  CLIENT-ID  HOST  #PARTITIONS\nweb  c1-1  c1  /192.0.2.9  0\n"
    pasted = Pasted({"members.txt": text.encode()})
    assert (pasted.members, pasted.unread_groups) == ({}, ["web"])
    assert [row["reason"] for row in pasted.rejects] == [
        "the row is not aligned with the header, and more than one column could be the blank one"
    ]


def test_what_stands_behind_the_uuid_of_a_member_is_the_next_column() -> None:
    """One space is left between two columns, and wide gaps elsewhere."""
    text = f"""\
GROUP  CONSUMER-ID  GROUP-INSTANCE-ID HOST  CLIENT-ID  #PARTITIONS  ASSIGNMENT
tills  till-10-{"1" * 8}-f06c-4b40-a6e3-b2008a05ddd1 till-10  /127.0.0.1  tills  1  t(0)
"""
    pasted = Pasted({"members.txt": text.encode()})
    assert [(row["instance_id"], row["client_id"]) for row in pasted.members.values()] == [("till-10", "tills")]


DECORATIONS: dict[str, Callable[[str], str]] = {
    "indented": lambda text: re.sub("(?m)^", "  ", text),
    "in a list": lambda text: "1. Members\n\n" + re.sub("(?m)^", "\t", text),
    "quoted": lambda text: re.sub("(?m)^", "> ", text),
    "docker compose": lambda text: re.sub("(?m)^", "broker-1  | ", text),
    "kubectl": lambda text: re.sub("(?m)^", "[pod/kafka-0/kafka] ", text),
    "fenced": lambda text: f"```\n{text}```\n",
    "with its command": lambda text: (
        "me@host:~$ kafka-consumer-groups.sh --bootstrap-server b:9092 --describe --all-groups --members\n" + text
    ),
    "with warnings": lambda text: text.replace("\nweb    c2", "\n[2026-11-27 10:00:00,000] WARN x (y)\nweb    c2"),
    "quoted twice": lambda text: re.sub("(?m)^", "> > ", text),
    "indented in a quotation": lambda text: re.sub("(?m)^", ">    ", text),
    "docker compose, indented": lambda text: re.sub("(?m)^", "  broker-1  | ", text),
    "docker compose in color": lambda text: re.sub("(?m)^", "\x1b[36mbroker-1  | \x1b[0m", text),
    "with timestamps": lambda text: re.sub("(?m)^", "2026-11-27T10:00:00.000000000Z ", text),
    "kubectl with timestamps": lambda text: re.sub(
        "(?m)^", "[pod/kafka-0/kafka] 2026-11-27T10:00:00.000000000+01:00 ", text
    ),
    "with a mark of a web page": lambda text: "\u200b" + text,
    "joined files with byte order marks": lambda text: "orders:0:1\n\ufeff" + text,
    "with CR": lambda text: text.replace("\n", "\r"),
    "with CRLF": lambda text: text.replace("\n", "\r\n"),
}


@pytest.mark.parametrize("decorate", DECORATIONS.values(), ids=DECORATIONS)
def test_decorated_text_is_read(decorate: Callable[[str], str]) -> None:
    pasted = Pasted({"members.txt": decorate(MEMBERS_TXT).encode()})
    assert pasted.owned("web") == [("c1", [("t50", 0), ("t50", 1), ("t51", 0)]), ("c2", [("t50", 2)])]
    assert {row["table"] for row in pasted.rejects} <= {"capture"}


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_encodings(encoding: str) -> None:
    text = MEMBERS_TXT.replace("c1 ", "ö1 ")
    pasted = Pasted({"members.txt": text.encode(encoding)})
    assert [client for client, _ in pasted.owned("web")] == ["ö1", "c2"]
    assert pasted.rejects == []


def test_characters_of_another_encoding_are_assumed_aloud() -> None:
    pasted = Pasted({"members.txt": MEMBERS_TXT.replace("c1 ", "ö1 ").encode("latin-1")})
    assert [client for client, _ in pasted.owned("web")] == ["\ufffd1", "c2"]
    sentence = "characters that are not valid UTF-8 or UTF-16 are replaced by \ufffd, first in members.txt line 2"
    assert sentence in pasted.assumptions


def behind(prefix: str) -> str:
    """Return the real members with a prefix before each row, but not before the headers."""
    lines = capture()["members.txt"].split("\n")
    return "\n".join(prefix + line if line.strip() and not line.startswith("GROUP") else line for line in lines)


@pytest.mark.parametrize("prefix", ["broker-1  | ", "> ", "> > ", "[pod/kafka-0/kafka] ", "  ", "    "])
def test_rows_behind_the_prefix_of_a_program_are_read_if_the_header_has_none(prefix: str) -> None:
    """Who selects text with a mouse often begins behind the first prefix."""
    whole = Pasted({"members.txt": capture()["members.txt"].encode()})
    pasted = Pasted({"members.txt": behind(prefix).encode()})
    assert pasted.members == whole.members
    assert pasted.rejects == []


@pytest.mark.parametrize("prefix", ["12: ", "- ", "+ ", "| ", "x ", "#"])
def test_rows_behind_anything_else_are_rejected(prefix: str) -> None:
    pasted = Pasted({"members.txt": re.sub("(?m)^.*Consumer group .*$", "", behind(prefix)).encode()})
    assert pasted.members == {}
    (reason,) = {row["reason"] for row in pasted.rejects}
    assert reason == f"the row is aligned with the header only without {prefix!r}, which may be part of GROUP"


@pytest.mark.parametrize("prefix", ["12: ", "- ", "> ", "broker-1 | "])
def test_rows_without_alignment_behind_a_prefix_are_rejected(prefix: str) -> None:
    """The prefix may be the beginning of the group's id."""
    pasted = Pasted({"members.txt": UNALIGNED.replace("\nsearch", f"\n{prefix}search").encode()})
    assert pasted.members == {}
    assert {"GROUP is '" + prefix + "search', which may start with a prefix that is not part of it"} == {
        row["reason"] for row in pasted.rejects if row["table"] in ("members", "state")
    }


def test_members_of_a_plain_describe_are_read() -> None:
    """Rows without a topic list members without partitions; Kafka 0.11 and 1.0 have no --members."""
    pasted = Pasted({"sync-worker.txt": DESCRIBED.encode()})
    assert pasted.owned("sync-worker") == [("rdkafka", []), ("rdkafka", [("jobs", 1)])]
    assert [row["host"] for row in pasted.members.values()] == ["192.0.2.44", "192.0.2.45"]
    assert len(pasted.offsets) == 2
    assert (
        "2 members (1 group) are missing from --members and read from --offsets, which does not show group.instance.id"
        in pasted.assumptions
    )


# --- Mutilated captures ---


def share_of_rejects(pasted: Pasted) -> float:
    """Return the largest share of the rows of a table that are rejected."""
    rejected = Counter(row["table"] for row in pasted.rejects)
    read = {MEMBERS.name: len(pasted.members), OFFSETS.name: len(pasted.offsets)}
    return max((each.share for each in rejected_shares({"out": read, "rejected": rejected})), default=0)


class WhatIsLeft:
    """What a mutilated capture still shows of members."""

    def __init__(self, original: Texts, left: Texts, pasted: Pasted) -> None:
        self.pasted = pasted
        self.left = "\n".join(left.values())
        self._lines = [line for texts in (original, left) for text in texts.values() for line in text.split("\n")]
        self._rejected = [json.loads(row["row"])["text"].strip() for row in pasted.rejects]

    def has_rejected(self, member_id: str) -> bool:
        """Return whether a rejected row is one of a member's lines, its beginning, or a long part of it."""
        lines = [line for line in self._lines if member_id in line]
        return any(
            text and (line.startswith(text) or (text in line and (len(text) > 20 or member_id in text)))
            for text in self._rejected
            for line in lines
        )

    def names(self, group_id: str, member_id: str) -> bool:
        """Return whether a member can be missed: its id is left, or the number of its group's members."""
        return member_id in self.left or group_id in self.pasted.states


@pytest.mark.parametrize("mutilated", MUTILATED, ids=str)
def test_no_member_of_a_mutilated_capture_is_lost_silently(mutilated: Mutilated) -> None:
    """What is read is right; a member that is not read is rejected, unless nothing is left by which it is missed."""
    original = capture()
    texts = mutilated.of(original)
    whole = Pasted({name: text.encode() for name, text in original.items()})
    pasted = Pasted({name: text.encode(mutilated.encoding) for name, text in texts.items()})
    for key, row in pasted.members.items():
        assert key in whole.members
        # The end of a line that was cut off may be the end of a client id.
        assert whole.members[key]["client_id"].startswith(row["client_id"])
        assert row["host"] == whole.members[key]["host"]
    assert not set(pasted.unread_groups) & set(pasted.groups_without_members)
    left, lost = WhatIsLeft(original, texts, pasted), whole.members.keys() - pasted.members.keys()
    without_row = Counter(
        group_id
        for group_id, member_id in lost
        if left.names(group_id, member_id) and not left.has_rejected(member_id) and group_id not in pasted.unread_groups
    )
    missed = Counter(row["group_id"] for row in pasted.rejects if row["reason"] in OF_OTHER_OUTPUTS)
    assert without_row <= missed
    assert not lost or pasted.unread_groups or share_of_rejects(pasted) > MOST_REJECTED


@pytest.mark.parametrize("mutilated", MUTILATED, ids=str)
def test_every_row_of_a_mutilated_capture_is_used_or_rejected(mutilated: Mutilated) -> None:
    texts = mutilated.of(capture())
    pasted = Pasted({name: text.encode(mutilated.encoding) for name, text in texts.items()})
    given = Counter(kind_of(line) for text in texts.values() for line in read_lines(text.split("\n")))
    rejected = Counter(row["table"] for row in pasted.rejects if row["reason"] not in OF_OTHER_OUTPUTS)
    used = [row for row in pasted.members.values() if not pasted.is_by_offsets(row)]
    assert given["members"] == len(used) + rejected["members"]
    assert given["offsets"] == len(pasted.offsets) + rejected["offsets"]


def test_a_capture_with_a_missing_file_says_so() -> None:
    for missing in (name for name in capture() if "member" in name):
        pasted = Pasted({name: text.encode() for name, text in capture().items() if name != missing})
        assert pasted.members or pasted.unread_groups
