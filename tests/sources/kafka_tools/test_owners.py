"""Kafka 0.9 to 0.10.1: ``--describe`` prints an OWNER, which is the client id and host of a member, but not its id."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from rebalance_sim.sources.kafka_tools.capture import read_capture
from rebalance_sim.sources.kafka_tools.contents import BadLine, Content, HeaderLine, NoticeLine, OffsetLine, ToolOutput
from rebalance_sim.sources.kafka_tools.text import read_lines
from tests.sources.kafka_tools.test_pasted import Pasted

# The format of ConsumerGroupCommand of 0.10.0 and 0.10.1.
FORMAT = "%-30s %-30s %-10s %-15s %-15s %-15s %s\n"
PADDED = "".join(
    FORMAT % cells
    for cells in (
        ("GROUP", "TOPIC", "PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "OWNER"),
        ("orders", "events", "0", "120", "150", "30", "consumer-1_/10.0.0.7"),
        ("orders", "events", "1", "unknown", "150", "unknown", "consumer-1_/10.0.0.7"),
        ("orders", "events", "2", "7", "7", "0", "my app_web-1/10.0.0.8"),
        ("a-group-whose-name-is-longer-than-its-column", "events", "0", "120", "150", "30", "consumer-1_/10.0.0.7"),
    )
)
# 0.9.0.
SEPARATED = """\
GROUP, TOPIC, PARTITION, CURRENT OFFSET, LOG END OFFSET, LAG, OWNER
orders, events, 0, 120, 150, 30, consumer-1_/10.0.0.7
orders, events, 1, unknown, 150, unknown, consumer-1_/10.0.0.7
orders, events, 2, 7, 7, 0, my app_web-1/10.0.0.8
"""
ROWS: list[Content] = [
    OffsetLine("orders", ("events", 0), 120, 150, None, owner="consumer-1_/10.0.0.7"),
    OffsetLine("orders", ("events", 1), None, 150, None, owner="consumer-1_/10.0.0.7"),
    OffsetLine("orders", ("events", 2), 7, 7, None, owner="my app_web-1/10.0.0.8"),
]
LONG = OffsetLine(
    "a-group-whose-name-is-longer-than-its-column", ("events", 0), 120, 150, None, owner="consumer-1_/10.0.0.7"
)


def contents(text: str) -> list[Content]:
    return [line.content for line in read_lines(text.split("\n"))]


@pytest.mark.parametrize(("text", "expected"), [(PADDED, [*ROWS, LONG]), (SEPARATED, ROWS)], ids=["0.10", "0.9"])
def test_rows(text: str, expected: list[Content]) -> None:
    assert contents(text) == [HeaderLine(ToolOutput.OFFSETS), *expected]


@pytest.mark.parametrize("text", [PADDED, SEPARATED], ids=["0.10", "0.9"])
def test_offsets_are_read_and_the_group_is_unread(text: str) -> None:
    """consumer-1 is the default client id of the first consumer in each process, also of two processes on one host."""
    pasted = Pasted({"groups.txt": text.encode()})
    offsets = [(row["topic"], row["partition"], row["committed"], row["end"]) for row in pasted.offsets]
    assert offsets[:3] == [("events", 0, 120, 150), ("events", 1, None, 150), ("events", 2, 7, 7)]
    assert (pasted.members, pasted.groups_without_members) == ({}, [])
    rejects = [(row["table"], row["reason"]) for row in pasted.rejects if row["group_id"] == "orders"]
    assert rejects == [
        (
            "members",
            f"OWNER is '{owner}', the client id and host of a member, but not its member id: members that share both "
            "cannot be distinguished, and members without partitions are missing; "
            "use --bootstrap-server and kafka-consumer-groups of Kafka 0.10.2 or later",
        )
        for owner in ("consumer-1_/10.0.0.7", "my app_web-1/10.0.0.8")
    ]


def test_a_capture_of_only_this_layout(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "groups.txt").write_text(SEPARATED)
    capture = read_capture(spark, str(tmp_path))
    assert [row["group_id"] for row in capture.rejects.collect()] == ["orders", "orders"]
    assert capture.offsets.count() == 3


def test_members_of_another_output_are_used() -> None:
    members = """
GROUP  CONSUMER-ID  HOST        CLIENT-ID   #PARTITIONS  ASSIGNMENT
orders c-1          /10.0.0.7   consumer-1  2            events(0,1)
"""
    pasted = Pasted({"members.txt": members.encode(), "old.txt": SEPARATED.encode()})
    assert list(pasted.members) == [("orders", "c-1")]
    assert pasted.rejects == []


@pytest.mark.parametrize("owner", ["none", "orders_web-1-1468000000000-2f4d1f8a-0"])
def test_consumers_by_zookeeper_are_no_members(owner: str) -> None:
    text = SEPARATED.replace("consumer-1_/10.0.0.7", owner).replace("my app_web-1/10.0.0.8", owner)
    pasted = Pasted({"groups.txt": text.encode()})
    assert (pasted.members, pasted.groups_without_members) == ({}, [])
    assert [row["reason"] for row in pasted.rejects] == [
        f"OWNER is '{owner}', from the output of --zookeeper, which does not show the members that brokers know; "
        "use --bootstrap-server and kafka-consumer-groups of Kafka 0.10.2 or later"
    ]


def test_ids_with_commas() -> None:
    header = SEPARATED.split("\n", maxsplit=1)[0]
    assert contents(f"{header}\nweb, eu, events, 0, 1, 2, 1, a, b_/10.0.0.7") == [
        HeaderLine(ToolOutput.OFFSETS),
        OffsetLine("web, eu", ("events", 0), 1, 2, None, owner="a, b_/10.0.0.7"),
    ]
    columns = "GROUP, TOPIC, PARTITION, CURRENT-OFFSET, LOG-END-OFFSET, LAG, OWNER"
    assert contents(f"{header}\nweb, events, 0, 1, 2, 1, events, 0, 1, 2, 1, a_/10.0.0.7\nweb, events") == [
        HeaderLine(ToolOutput.OFFSETS),
        BadLine(ToolOutput.OFFSETS, "web", f"the row can be split at its commas in several ways: {columns}"),
        BadLine(ToolOutput.OFFSETS, "web", f"the row does not fit the header: {columns}"),
    ]


@pytest.mark.parametrize("message", ["does not exist or is rebalancing", "is rebalancing"])
def test_a_group_that_was_rebalancing_is_unread(message: str) -> None:
    """0.9 and 0.10.0 do not tell the two apart; neither prints members."""
    pasted = Pasted({"groups.txt": f"{SEPARATED}Consumer group `pay` {message}.\n".encode()})
    assert pasted.groups_without_members == []
    assert [(row["table"], row["reason"]) for row in pasted.rejects if row["group_id"] == "pay"] == [
        ("members", "the group was rebalancing or did not exist, so the tool printed no members; run it again")
    ]


@pytest.mark.parametrize(
    "message",
    [
        "Consumer group `pay` does not exist.",
        "No topic available for consumer group provided",
        "Could not fetch offset from zookeeper for group pay partition [events,0] due to missing offset data in "
        "zookeeper.",
    ],
)
def test_errors(message: str) -> None:
    assert [type(content) for content in contents(message)] == [NoticeLine]
    pasted = Pasted({"groups.txt": f"{SEPARATED}{message}\n".encode()})
    assert any("the tools printed 1 error" in each for each in pasted.assumptions)
