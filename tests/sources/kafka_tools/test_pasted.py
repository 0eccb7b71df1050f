"""What people paste: text without its alignment, indented, quoted, prefixed, cut, in other encodings, or merged."""

import random
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from rebalance_sim.sources.assumptions import NOTHING_GIVEN
from rebalance_sim.sources.kafka_tools.capture import CaptureTables
from rebalance_sim.sources.kafka_tools.lines import Lines
from rebalance_sim.tables import MEMBERS, OFFSETS, REJECTS, Table

CAPTURE = Path(__file__).parents[3] / "docs" / "examples" / "kafka-4.3.1"
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
        tables = CaptureTables(lines, "default", NOTHING_GIVEN)
        self.members = {(row["group_id"], row["member_id"]): row for row in rows(MEMBERS, tables.members())}
        self.offsets = rows(OFFSETS, tables.offsets())
        self.rejects = rows(REJECTS, tables.rejects())
        self.assumptions = tables.assumptions()
        self.groups_without_members = tables.groups_without_members()

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
    assert (
        "characters that are not valid UTF-8 or UTF-16 are replaced by \ufffd, first in members.txt line 2"
        in pasted.assumptions
    )


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


def capture() -> dict[str, str]:
    return {file.name: file.read_text() for file in sorted(CAPTURE.glob("*.txt"))}


def shifted(text: str, rng: random.Random) -> str:
    """Every run of spaces has another length, but no column is glued to the next."""
    return re.sub(r"(?<=\S) {2,}(?=\S)", lambda _: " " * rng.randint(2, 9), text)


def cut(text: str, rng: random.Random) -> str:
    """One line in four ends early."""
    return "\n".join(line[: rng.randint(0, len(line))] if rng.random() < 0.25 else line for line in text.split("\n"))


def lost(text: str, rng: random.Random) -> str:
    return "\n".join(line for line in text.split("\n") if rng.random() > 0.2)


def single_spaced(text: str, _: random.Random) -> str:
    return re.sub(" {2,}", " ", text)


def headless(text: str, rng: random.Random) -> str:
    return "\n".join(line for line in text.split("\n") if not line.startswith("GROUP") or rng.random() < 0.5)


def merged(text: str, rng: random.Random) -> str:
    """The tables of a file are pasted in another order, some of them twice."""
    blocks = text.split("\n\n")
    return "\n\n".join(rng.sample(blocks, len(blocks)) + rng.sample(blocks, len(blocks) // 3))


def wrapped(text: str, _: random.Random) -> str:
    """A terminal of 100 columns has broken the lines."""
    return "\n".join(part for line in text.split("\n") for part in (re.findall(".{1,100}", line) or [""]))


MUTILATIONS = (shifted, cut, lost, single_spaced, headless, merged, wrapped)
ENCODINGS = ("utf-8", "utf-8-sig", "utf-16")
MUTILATED = [(change, seed, ENCODINGS[seed % 3]) for change in MUTILATIONS for seed in range(8)]


@pytest.mark.parametrize(("change", "seed", "encoding"), MUTILATED)
def test_no_group_of_a_mutilated_capture_is_lost_silently(
    change: Callable[[str, random.Random], str], seed: int, encoding: str
) -> None:
    """Whatever is read is right; a group with a member that is not read is rejected, unread, or has no line left."""
    rng, original = random.Random(seed), capture()
    whole = Pasted({name: text.encode() for name, text in original.items()})
    texts = {name: change(text, rng) for name, text in original.items()}
    pasted = Pasted({name: text.encode(encoding) for name, text in texts.items()})
    for key, row in pasted.members.items():
        assert key in whole.members
        # The end of a line that was cut off may be the end of a client id.
        assert whole.members[key]["client_id"].startswith(row["client_id"])
        assert row["host"] == whole.members[key]["host"]
    assert not set(pasted.unread_groups) & set(pasted.groups_without_members)
    noticed = {row["group_id"] for row in pasted.rejects} | set(pasted.unread_groups)
    unattributed = any(row["group_id"] is None for row in pasted.rejects)
    remaining = "\n".join(texts.values())
    for group_id, member_id in whole.members.keys() - pasted.members.keys():
        # Where nothing but single spaces is left, the first word of an id is all that can be told from the next column.
        is_noticed = any(name and f"{group_id} ".startswith(f"{name} ") for name in noticed)
        assert is_noticed or unattributed or member_id not in remaining


def test_a_capture_with_a_missing_file_says_so() -> None:
    for missing in (name for name in capture() if "member" in name):
        pasted = Pasted({name: text.encode() for name, text in capture().items() if name != missing})
        assert pasted.members or pasted.unread_groups
