"""Groups that ``rpk group describe`` prints, as its releases of 2023 to 2025 do."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sources.kafka_tools.test_pasted import Pasted

TILL, KGO = "till-1-6a6e5c2c-0d3f-4c39-9a63-6d5b52e0f5a1", "kgo-0c0e4f6e-3b1c-4f4e-8f65-9d4f9a1c2b3d"
# Aligned by Go's text/tabwriter with rpk's settings.
SUMMARY = """\
GROUP                  orders
COORDINATOR-NODE       1
COORDINATOR-PARTITION  __consumer_offsets/3
STATE                  Stable
BALANCER               range
MEMBERS                2
TOTAL-LAG              33
"""
TABLE = f"""
TOPIC   PARTITION  CURRENT-OFFSET  LOG-START-OFFSET  LOG-END-OFFSET  LAG   MEMBER-ID                                 \
   INSTANCE-ID  CLIENT-ID  HOST
events  0          120             0                 150             30    {TILL}  till-1       my app     /10.0.0.7
events  1          -               0                 0               -     {KGO}                  kgö🚀       /10.0.0.8
events  2          7               0                 10              3                                               \
                           \n"""
EMPTY = """
GROUP             nightly
COORDINATOR-NODE  1
STATE             Empty
BALANCER          \nMEMBERS           0
TOTAL-LAG         5

TOPIC  PARTITION  CURRENT-OFFSET  LOG-START-OFFSET  LOG-END-OFFSET  LAG   MEMBER-ID  CLIENT-ID  HOST  ERROR
jobs   0          5               0                 10              5                                 \n\
gone   0          5               0                 0               -                                 missing from list\
 offsets
"""
TEXT = SUMMARY + TABLE + EMPTY
# Of 2023.
OLD = f"""\
GROUP        orders
COORDINATOR  1
STATE        Stable
BALANCER     cooperative-sticky
MEMBERS      1
TOTAL-LAG    0

TOPIC   PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG   MEMBER-ID                                 CLIENT-ID  HOST
events  0          120             120             0     {KGO}  kgo        10.0.0.8
"""


def described(**changes: Any) -> dict[str, Any]:
    """Return a group of ``--format json``."""
    partition = {"partition": 0, "log_start_offset": 0, "topic": "events"}
    group = {
        "group_name": "orders",
        "coordinator_partition": "__consumer_offsets/3",
        "state": "Stable",
        "balancer": "range",
        "members": 2,
        "coordinator_node": 1,
        "total_lag": 30,
        "partitions": [
            {
                **partition,
                "current_offset": 120,
                "log_end_offset": 150,
                "lag": 30,
                "member_id": TILL,
                "client_id": "my app",
                "host": "/10.0.0.7",
            },
            {
                **partition,
                "partition": 1,
                "current_offset": -1,
                "log_end_offset": 0,
                "lag": -1,
                "member_id": "",
                "client_id": "",
                "host": "",
            },
        ],
        "members_details": [
            {"member_id": TILL, "client_id": "my app", "host": "/10.0.0.7", "topic_partitions": []},
            {"member_id": KGO, "client_id": "kgo", "host": "/10.0.0.8", "topic_partitions": []},
        ],
    }
    return group | changes


def read(text: str) -> Pasted:
    return Pasted({"groups.txt": text.encode()})


def members(pasted: Pasted) -> list[tuple[Any, ...]]:
    columns = ("group_id", "member_id", "instance_id", "client_id", "host", "group_state")
    return [tuple(row[name] for name in columns) for row in pasted.members.values()]


def offsets(pasted: Pasted) -> list[tuple[Any, ...]]:
    columns = ("group_id", "topic", "partition", "committed", "end")
    return [tuple(row[name] for name in columns) for row in pasted.offsets]


@pytest.mark.parametrize("prefix", ["", "$ rpk group describe -r '*'\n", "Warning: x\n\n"])
def test_text(prefix: str) -> None:
    pasted = read(prefix + TEXT)
    assert members(pasted) == [
        ("orders", TILL, "till-1", "my app", "10.0.0.7", "Stable"),
        ("orders", KGO, None, "kgö🚀", "10.0.0.8", "Stable"),
    ]
    assert pasted.owned("orders") == [("my app", [("events", 0)]), ("kgö🚀", [("events", 1)])]
    assert offsets(pasted) == [
        *(("orders", "events", 0, 120, 150), ("orders", "events", 1, None, 0), ("orders", "events", 2, 7, 10)),
        *(("nightly", "jobs", 0, 5, 10), ("nightly", "gone", 0, 5, None)),
    ]
    assert pasted.groups_without_members == ["nightly"]
    assert pasted.rejects == []
    assert all("range" in row["protocols"] for row in pasted.members.values())


@pytest.mark.parametrize("decoration", ["  ", "> "])
def test_decorated_text(decoration: str) -> None:
    decorated = "".join(f"{decoration}{line}\n" for line in TEXT.split("\n"))
    assert members(read(decorated)) == members(read(TEXT))


def test_text_of_2023() -> None:
    pasted = read(OLD)
    assert members(pasted) == [("orders", KGO, None, "kgo", "10.0.0.8", "Stable")]
    assert pasted.rejects == []


def test_a_topic_called_group() -> None:
    pasted = read(TEXT.replace("\nevents  1 ", "\nGROUP   1 "))
    assert pasted.owned("orders") == [("my app", [("events", 0)]), ("kgö🚀", [("GROUP", 1)])]
    assert pasted.rejects == []


def test_members_without_partitions_are_missing_from_the_text() -> None:
    pasted = read(TEXT.replace("MEMBERS                2", "MEMBERS                3"))
    assert len(pasted.members) == 2
    assert [(row["table"], row["group_id"], row["reason"]) for row in pasted.rejects] == [
        (
            "members",
            "orders",
            "MEMBERS is 3, but the rows show 2 members: rpk prints no row for a member without partitions, except with "
            "--format json",
        )
    ]


def test_the_summary_alone_is_no_group_without_members() -> None:
    pasted = read(SUMMARY)
    assert (pasted.members, pasted.groups_without_members) == ({}, [])
    assert [row["group_id"] for row in pasted.rejects] == ["orders"]


@pytest.mark.parametrize(
    ("old", "new", "table", "reason"),
    [
        ("events  0    ", "events 0    ", "members", "the row is not aligned with the header"),
        ("events  2  ", "events  x  ", "members", "PARTITION is 'x', not a number"),
        ("MEMBERS                2", "MEMBERS                two", "members", "MEMBERS is 'two', not a number"),
        ("BALANCER               range\n", "", "members", "the group has no line BALANCER"),
        (SUMMARY, "", "offsets", "no line names the group; run rpk group describe without --print-commits"),
    ],
)
def test_rejected_lines(old: str, new: str, table: str, reason: str) -> None:
    assert old in SUMMARY + TABLE
    pasted = read((SUMMARY + TABLE).replace(old, new))
    assert (table, reason) in {(row["table"], row["reason"]) for row in pasted.rejects}
    assert pasted.groups_without_members == []


@pytest.mark.parametrize("state", ["Dead", ""])
@pytest.mark.parametrize("as_json", [False, True])
def test_groups_that_are_not_described_are_unread(state: str, *, as_json: bool) -> None:
    """Kafka 4 answers DescribeGroups with Dead for a consumer-protocol group, and rpk asks nothing else."""
    text = SUMMARY.replace("Stable", state).replace("MEMBERS                2", "MEMBERS                0")
    group = described(state=state, members=0, members_details=[], partitions=[])
    pasted = read(json.dumps([group]) if as_json else text)
    assert (pasted.members, pasted.groups_without_members) == ({}, [])
    assert [(row["table"], row["group_id"]) for row in pasted.rejects] == [("members", "orders")]


@pytest.mark.parametrize("indent", [None, 2])
def test_json(indent: int | None) -> None:
    pasted = read(json.dumps([described()], indent=indent, ensure_ascii=False))
    assert members(pasted) == [
        ("orders", TILL, None, "my app", "10.0.0.7", "Stable"),
        ("orders", KGO, None, "kgo", "10.0.0.8", "Stable"),
    ]
    assert pasted.owned("orders") == [("my app", [("events", 0)]), ("kgo", [])]
    assert offsets(pasted) == [("orders", "events", 0, 120, 150), ("orders", "events", 1, None, None)]
    assert pasted.rejects == []
    assert (
        "group.instance.id of 2 members (1 group) is unknown, because the tool does not print it; "
        "they are read as dynamic members"
    ) in pasted.assumptions


def test_json_without_members() -> None:
    group = described(state="Empty", balancer="", members=0, members_details=[])
    pasted = read(json.dumps([group]))
    assert (pasted.members, pasted.rejects, pasted.groups_without_members) == ({}, [], ["orders"])


def test_bad_fields_of_json() -> None:
    details = described()["members_details"]
    pasted = read(json.dumps([described(members_details=[details[0], {"member_id": 7}])]))
    assert [(row["table"], row["group_id"], row["reason"]) for row in pasted.rejects] == [
        ("members", "orders", "member_id is 7, not a text")
    ]
    assert list(pasted.members) == [("orders", TILL)]


def test_bad_partitions_of_json_may_be_those_of_members() -> None:
    partitions = described()["partitions"]
    pasted = read(json.dumps([described(partitions=[{**partitions[0], "partition": None}, partitions[1]])]))
    assert [(row["table"], row["group_id"], row["reason"]) for row in pasted.rejects] == [
        ("members", "orders", "partition is null, not a number")
    ]


@settings(deadline=None, max_examples=200)
@given(st.data())
def test_no_member_of_a_damaged_text_is_lost_silently(data: st.DataObject) -> None:
    """A row is cut off, repeated or another one: a group with fewer members than before has a reject."""
    lines = (SUMMARY + TABLE).split("\n")
    nth = data.draw(st.integers(0, len(lines) - 1))
    at = data.draw(st.integers(0, len(lines[nth])))
    lines[nth] = lines[nth][:at] + data.draw(st.sampled_from(["", " ", "x", "  ", "\n", "GROUP  a"]))
    pasted = read("\n".join(lines))
    assert len(pasted.members) == 2 or pasted.rejects
    assert pasted.groups_without_members == []
