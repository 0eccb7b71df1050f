"""Whatever a tool of whatever version prints is read back as it was, and no text at all breaks the reading."""

import json
from collections import Counter
from dataclasses import dataclass, replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rebalance_sim.sources.assumptions import NOTHING_STATED
from rebalance_sim.sources.kafka_tools.capture import NOT_CAPTURED, NOT_LISTED, ONE_MORE, CaptureTables, arrow_table
from rebalance_sim.sources.kafka_tools.contents import (
    BadLine,
    HeaderLine,
    Line,
    MemberLine,
    NoticeLine,
    OffsetLine,
    StateLine,
    ToolOutput,
    TopicPartition,
)
from rebalance_sim.sources.kafka_tools.lines import Lines
from rebalance_sim.sources.kafka_tools.text import read_lines
from rebalance_sim.tables import MEMBERS, OFFSETS, REJECTS, TOPICS


@dataclass(frozen=True)
class Column:
    """A column as the tools print it: padded to a width that is fixed, or grows with the values."""

    name: str
    width: int
    grows: bool = False
    gap: str = " "


def fixed(name: str, width: int) -> Column:
    return Column(name, width)


def growing(name: str, width: int = 15) -> Column:
    return Column(name, width, grows=True)


def padded(text: str, width: int) -> str:
    """What Java's %-15s does: it counts UTF-16 units."""
    return text + " " * (width - len(text.encode("utf-16-le")) // 2)


def printed(columns: list[Column], rows: list[dict[str, str]]) -> str:
    lines = [{column.name: column.name for column in columns}, *rows]
    text = "\n"
    for line in lines:
        for column in columns:
            cells = [each[column.name] for each in lines]
            longest = max(len(cell.encode("utf-16-le")) // 2 for cell in cells)
            width = max(column.width, longest) if column.grows else column.width
            text += padded(line[column.name], width) + column.gap
        text = text.removesuffix(" ") + "\n"
    return text


GROUP = growing("GROUP")
OFFSET_NUMBERS = [fixed("CURRENT-OFFSET", 15), fixed("LOG-END-OFFSET", 15), fixed("LAG", 15)]
CLIENT = [growing("CONSUMER-ID"), growing("HOST"), Column("CLIENT-ID", 0)]
OFFSET_LAYOUTS = {
    "1.0": [
        *[fixed("TOPIC", 30), fixed("PARTITION", 10), fixed("CURRENT-OFFSET", 15), fixed("LOG-END-OFFSET", 15)],
        *[fixed("LAG", 10), Column("CONSUMER-ID", 50, gap=""), fixed("HOST", 30), Column("CLIENT-ID", 0)],
    ],
    "1.1": [growing("TOPIC"), fixed("PARTITION", 10), *OFFSET_NUMBERS, *CLIENT],
    "2.3": [GROUP, growing("TOPIC"), fixed("PARTITION", 10), *OFFSET_NUMBERS, *CLIENT],
    "4.0 --verbose": [
        *[GROUP, growing("TOPIC"), fixed("PARTITION", 10), fixed("LEADER-EPOCH", 15)],
        *[*OFFSET_NUMBERS, *CLIENT],
    ],
}
STATE_LAYOUTS = {
    "1.1": [
        *[growing("COORDINATOR (ID)", 25), fixed("ASSIGNMENT-STRATEGY", 25), fixed("STATE", 20)],
        Column("#MEMBERS", 0),
    ],
    "2.3": [
        *[fixed("GROUP", 30), fixed("COORDINATOR (ID)", 25), fixed("ASSIGNMENT-STRATEGY", 20), fixed("STATE", 15)],
        Column("#MEMBERS", 0),
    ],
    "4.0": [
        *[GROUP, growing("COORDINATOR (ID)", 25), fixed("ASSIGNMENT-STRATEGY", 20), fixed("STATE", 20)],
        Column("#MEMBERS", 0),
    ],
    "4.0 --verbose": [
        *[GROUP, growing("COORDINATOR (ID)", 25), fixed("ASSIGNMENT-STRATEGY", 20), fixed("STATE", 20)],
        *[fixed("GROUP-EPOCH", 15), fixed("TARGET-ASSIGNMENT-EPOCH", 25), Column("#MEMBERS", 0)],
    ],
}
MEMBER_COLUMNS = [growing("CONSUMER-ID"), growing("HOST"), growing("CLIENT-ID"), fixed("#PARTITIONS", 15)]
INSTANCE_COLUMNS = [MEMBER_COLUMNS[0], growing("GROUP-INSTANCE-ID", 17), *MEMBER_COLUMNS[1:]]
EPOCHS = [fixed("CURRENT-EPOCH", 15), growing("CURRENT-ASSIGNMENT", 20)]
EPOCHS += [fixed("TARGET-EPOCH", 15), growing("TARGET-ASSIGNMENT", 20)]
MEMBER_LAYOUTS = {
    "1.1": MEMBER_COLUMNS,
    "1.1 --verbose": [*MEMBER_COLUMNS, Column("ASSIGNMENT", 0)],
    "2.3 --verbose": [GROUP, *MEMBER_COLUMNS, Column("ASSIGNMENT", 0)],
    "2.6": [GROUP, *INSTANCE_COLUMNS],
    "2.6 --verbose": [GROUP, *INSTANCE_COLUMNS, Column("ASSIGNMENT", 0)],
    "3.8 --verbose": [GROUP, *INSTANCE_COLUMNS, Column("ASSIGNMENT", 0)],
    "4.0 --verbose": [GROUP, *INSTANCE_COLUMNS, *EPOCHS],
    "4.0 --verbose, two protocols": [GROUP, *INSTANCE_COLUMNS, *EPOCHS, Column("UPGRADED", 0)],
}

# Ids chosen by users may contain anything except line ends; leading and trailing spaces look like padding.
ids = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=60).map(
    lambda text: text.strip(" ") or "x"
)
names = st.from_regex(r"[a-zA-Z0-9._-]{1,60}", fullmatch=True).filter(lambda name: name != "-")
uuids = st.uuids().map(str)
hosts = st.sampled_from(["/127.0.0.1", "/10.200.100.255", "/fe80:0:0:0:903a:1c1a:e802:11e4%eth0", "shop-1/10.0.0.1"])
numbers = st.none() | st.integers(0, 2**63 - 1)
partitions = st.integers(0, 999_999)


def cell(value: object) -> str:
    return "-" if value is None else str(value)


@st.composite
def offset_lines(draw: st.DrawFn, group_id: str) -> tuple[OffsetLine, dict[str, str]]:
    client = draw(st.none() | ids)
    member_id = None if client is None else f"{client}-{draw(uuids)}"
    host = "" if client is None else draw(hosts)
    line = OffsetLine(
        *(group_id, (draw(names), draw(partitions)), draw(numbers), draw(numbers), member_id),
        *(host.removeprefix("/"), client or ""),
    )
    assert line.topic_partition is not None
    cells = {
        "GROUP": group_id,
        "TOPIC": line.topic_partition[0],
        "PARTITION": cell(line.topic_partition[1]),
        "LEADER-EPOCH": cell(draw(st.none() | st.integers(0, 9))),
        "CURRENT-OFFSET": cell(line.committed),
        "LOG-END-OFFSET": cell(line.end),
        "LAG": cell(draw(st.none() | st.integers(-5, 2**63))),
        "CONSUMER-ID": cell(member_id),
        "HOST": host or "-",
        "CLIENT-ID": cell(client),
    }
    return line, cells


@settings(deadline=None, max_examples=60)
@given(st.sampled_from(sorted(OFFSET_LAYOUTS)), st.data())
def test_offsets_are_read_back(layout: str, data: st.DataObject) -> None:
    columns = OFFSET_LAYOUTS[layout]
    group_id = data.draw(ids)
    lines = data.draw(st.lists(offset_lines(group_id), min_size=1, max_size=4))
    expected = [line if GROUP in columns else replace_group(line) for line, _ in lines]
    assert data_of(printed(columns, [cells for _, cells in lines])) == expected


def test_a_client_may_be_named_by_a_no_break_space() -> None:
    """Beside a host that is wider than its column, so that the row is not aligned."""
    uuid, host = "e3e70682-c209-4cac-629f-6fbed82c07cd", "fe80:0:0:0:903a:1c1a:e802:11e4%eth0"
    cells = dict.fromkeys(("CURRENT-OFFSET", "LOG-END-OFFSET", "LAG"), "-") | {"TOPIC": "t", "PARTITION": "0"}
    cells |= {"CONSUMER-ID": f"\xa0-{uuid}", "HOST": f"/{host}", "CLIENT-ID": "\xa0"}
    expected = OffsetLine(None, ("t", 0), None, None, f"\xa0-{uuid}", host, "\xa0")
    assert data_of(printed(OFFSET_LAYOUTS["1.0"], [cells])) == [expected]


def replace_group(line: OffsetLine) -> OffsetLine:
    return replace(line, group_id=None)


@settings(deadline=None, max_examples=60)
@given(st.sampled_from(sorted(STATE_LAYOUTS)), st.data())
def test_states_are_read_back(layout: str, data: st.DataObject) -> None:
    columns = STATE_LAYOUTS[layout]
    has_group, is_verbose = columns[0].name == "GROUP", layout.endswith("--verbose")
    group_id, members = data.draw(ids), data.draw(st.integers(0, 2000))
    strategy = data.draw(st.none() | st.sampled_from(["range", "cooperative-sticky", "com.example.Assignor"]))
    state = data.draw(st.sampled_from(["Stable", "Empty", "PreparingRebalance", "CompletingRebalance"]))
    epoch = data.draw(st.none() | st.integers(0, 2**31 - 1)) if is_verbose else None
    host = data.draw(st.sampled_from(["10.0.0.1", "kafka-12.eu-west-1.compute.internal.example.com"]))
    cells = {
        "GROUP": group_id,
        "COORDINATOR (ID)": f"{host}:9092{' ' if layout == '1.1' else '  '}({members})",
        "ASSIGNMENT-STRATEGY": strategy or ("-" if layout.startswith("4") else ""),
        "STATE": state,
        "GROUP-EPOCH": cell(epoch),
        "TARGET-ASSIGNMENT-EPOCH": cell(epoch),
        "#MEMBERS": cell(members),
    }
    is_kip848 = epoch is not None if is_verbose else None
    expected = StateLine(group_id if has_group else None, strategy, state, members, is_kip848)
    assert data_of(printed(columns, [cells])) == [expected]


owned_partitions = st.lists(st.tuples(names, partitions), max_size=6, unique=True).map(sorted)


def as_assignment(owned: list[TopicPartition], layout: str) -> str:
    by_topic: dict[str, list[str]] = {}
    for topic, partition in owned:
        by_topic.setdefault(topic, []).append(str(partition))
    if layout.startswith("4"):
        text = ";".join(f"{topic}:{','.join(each)}" for topic, each in by_topic.items())
    elif layout.startswith("3.8"):
        text = ", ".join(sorted(f"({','.join(sorted(each))})" for each in by_topic.values()))
    else:
        text = ", ".join(f"{topic}({','.join(each)})" for topic, each in by_topic.items())
    return text or "-"


@st.composite
def member_lines(draw: st.DrawFn, layout: str, group_id: str) -> tuple[MemberLine, dict[str, str]]:
    columns = {column.name for column in MEMBER_LAYOUTS[layout]}
    owned = draw(owned_partitions)
    client, host = draw(st.just("") | ids), draw(hosts)
    instance = draw(st.none() | names) if "GROUP-INSTANCE-ID" in columns else None
    epoch = draw(st.none() | st.integers(0, 2**31 - 1))
    upgraded = draw(st.booleans())
    names_lost = layout.startswith("3.8") and bool(owned)
    line = MemberLine(
        group_id if "GROUP" in columns else None,
        f"{instance or client}-{draw(uuids)}",
        instance,
        client,
        host.removeprefix("/"),
        len(owned),
        None if names_lost or not layout.count("--verbose") else tuple(owned),
        names_lost,
        (epoch is not None or "UPGRADED" in columns) if "CURRENT-EPOCH" in columns else None,
        upgraded if "UPGRADED" in columns else None,
    )
    cells = {
        "GROUP": group_id,
        "CONSUMER-ID": line.member_id,
        "GROUP-INSTANCE-ID": instance or "",
        "HOST": host,
        "CLIENT-ID": client,
        "#PARTITIONS": str(len(owned)),
        "ASSIGNMENT": as_assignment(owned, layout),
        "CURRENT-EPOCH": cell(epoch),
        "CURRENT-ASSIGNMENT": as_assignment(owned, layout),
        "TARGET-EPOCH": cell(epoch),
        "TARGET-ASSIGNMENT": as_assignment(draw(owned_partitions), layout),
        "UPGRADED": str(upgraded).lower(),
    }
    return line, cells


@pytest.mark.scale
@settings(deadline=None, max_examples=120, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(sorted(MEMBER_LAYOUTS)), st.data())
def test_members_are_read_back(layout: str, data: st.DataObject) -> None:
    group_id = data.draw(ids)
    lines = data.draw(st.lists(member_lines(layout, group_id), min_size=1, max_size=4))
    assert data_of(printed(MEMBER_LAYOUTS[layout], [cells for _, cells in lines])) == [line for line, _ in lines]


def data_of(text: str) -> list[object]:
    contents = [line.content for line in read(text)]
    assert isinstance(contents[0], HeaderLine)
    return list(contents[1:])


def read(text: str) -> list[Line]:
    return list(read_lines(text.split("\n")))


# --- any text ---

SAMPLE = (
    "Topic: orders\tTopicId: cM6v_SyUQWuk9A324MZPIg\tPartitionCount: 2\tReplicationFactor: 1\tConfigs: \n"
    "\tTopic: orders\tPartition: 0\tLeader: 1\tReplicas: 1\tIsr: 1\n"
    "\tTopic: orders\tPartition: 1\tLeader: none\tReplicas: 1\tIsr: \n"
    "Consumer group 'backfill' has no active members.\n"
    "\nGROUP           TOPIC           PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG             CONSUMER-ID     "
    "HOST            CLIENT-ID\n"
    "web shop        orders          0          2               42              40              app-1           "
    "/127.0.0.1      app\n"
    "web shop        orders          1          2               -               -               -               "
    "-               -\n"
    "\nGROUP           CONSUMER-ID     GROUP-INSTANCE-ID HOST            CLIENT-ID       #PARTITIONS     "
    "CURRENT-EPOCH   CURRENT-ASSIGNMENT   TARGET-EPOCH    TARGET-ASSIGNMENT   \n"
    "web shop        app-1           till-1            /127.0.0.1      app             1               "
    "-               orders:0             -               -                   \n"
    "web shop        app-2                             /127.0.0.1      app             2               "
    "7               orders:0,1           -               -                   \n"
    "\nGROUP           CONSUMER-ID     HOST            CLIENT-ID       #PARTITIONS     ASSIGNMENT\n"
    "billing         bill-1          /127.0.0.1      bill            2               orders(0), returns(1)\n"
    "payments        pay-1           /127.0.0.1      pay             2               (0), (1)\n"
    "\nGROUP                     COORDINATOR (ID)          ASSIGNMENT-STRATEGY  STATE           #MEMBERS\n"
    "web shop                  127.0.0.1:9092  (0)       range                Stable          2\n"
    "orders:0:42\norders:1:\n"
    "group_id,client_id,protocols,subscription,rack,instance_id\n"
    'web shop,app,range;sticky,orders,a,till-1\nbilling,"bill",,,,\n'
)
pieces = st.sampled_from(
    ["", " ", "    ", "\n", "-", ",", ";", ":", "(", "0", "9" * 30, "'", '"', "\x00", "🚀", "Topic:"]
)
places = st.integers(0, len(SAMPLE))


@st.composite
def damaged(draw: st.DrawFn) -> str:
    """A capture from which pieces are missing and in which others stand."""
    text = SAMPLE
    for _ in range(draw(st.integers(1, 8))):
        start = draw(places)
        end = min(len(text), start + draw(st.integers(0, 40)))
        piece = draw(pieces | st.text(max_size=5) | st.just(text[start:end] * 2))
        text = text[:start] + piece + text[end:]
    return text


def joined(name: str, content: bytes) -> tuple[Lines, dict[str, list[tuple[object, ...]]], list[str]]:
    lines = Lines()
    lines.add_file(name, content)
    tables = CaptureTables(lines, "default", NOTHING_STATED)
    rows = {"topics": list(tables.topics()), "members": list(tables.members()), "offsets": list(tables.offsets())}
    rows["rejects"] = list(tables.rejects())
    for table in (TOPICS, MEMBERS, OFFSETS, REJECTS):
        arrow_table(table, rows[table.name]).validate(full=True)
    assert not set(tables.groups_without_members()) & {str(row[1]) for row in rows["members"]}
    return lines, rows, tables.assumptions()


@settings(deadline=None, max_examples=400)
@given(damaged() | st.text() | st.text(alphabet="GROUPTIC :-,;()0'\n"))
def test_every_line_is_a_row_or_a_reject_or_no_data(text: str) -> None:
    found = list(read_lines(text.split("\n")))
    not_blank = [number for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    assert [line.number for line in found] == not_blank
    lines, rows, _ = joined("capture.txt", text.encode(errors="surrogatepass"))
    rejected = Counter(row[0] for row in rows["rejects"])
    if rejected[ToolOutput.FILE]:
        return  # A file of no known kind is one reject.
    kinds = Counter(kind_of(line) for line in found)
    elsewhere = sum(row[4] in (NOT_CAPTURED, NOT_LISTED, ONE_MORE) for row in rows["rejects"])
    by_offsets = sum(member.by_offsets for member in lines.members.values())
    assert kinds["members"] == len(rows["members"]) + rejected["members"] - by_offsets - elsewhere
    assert kinds["offsets"] == len(rows["offsets"]) + rejected["offsets"]
    for row in rows["rejects"]:
        place = json.loads(str(row[3]))
        assert place["text"] == text.split("\n")[place["line"] - 1].rstrip("\r")


def kind_of(line: Line) -> str | None:
    """The table that a line is for."""
    match line.content:
        case MemberLine():
            return "members"
        case OffsetLine(topic_partition=topic_partition):
            return "offsets" if topic_partition else None
        case BadLine(kind=kind):
            return kind.value
        case HeaderLine() | NoticeLine():
            return None
    return "other"


@settings(deadline=None, max_examples=100)
@given(st.binary() | damaged().map(lambda text: text.encode("utf-16")) | st.just(b"\xff\xfe\x00"))
def test_any_bytes_can_be_read(content: bytes) -> None:
    joined("capture.txt", content)


def test_a_very_long_line_does_not_take_very_long() -> None:
    header = SAMPLE[SAMPLE.index("\nGROUP") :].split("\n")[1]
    for filling in (" x", "x ", " ", "0 ", "(", "a(0), ", "\tTopic: "):
        assert len(read(header + "\n" + filling * 50_000)) <= 2
