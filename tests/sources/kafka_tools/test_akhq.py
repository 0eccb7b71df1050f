"""Groups as AKHQ's API has them."""

import json
from typing import Any

import pytest

from tests.sources.kafka_tools.test_pasted import Pasted
from tests.sources.kafka_tools.test_rpk import members, offsets, read

GROUP: dict[str, Any] = {
    "id": "orders",
    "simpleConsumerGroup": False,
    "partitionAssignor": "range",
    "state": "PREPARING_REBALANCE",
    "coordinator": {"id": 1, "host": "kafka-1", "port": 9092},
    "members": [
        {
            "id": "web-1-6a6e5c2c-0d3f-4c39-9a63-6d5b52e0f5a1",
            "clientId": "web-1",
            "host": "/10.0.0.7",
            "assignments": [{"topic": "events", "partition": 1}, {"topic": "events", "partition": 0}],
            "groupedAssignments": [{"topic": "events", "partitions": [0, 1]}],
        },
        # Micronaut leaves out empty lists.
        {"id": "web-2-0c0e4f6e-3b1c-4f4e-8f65-9d4f9a1c2b3d", "clientId": "web-2", "host": "/10.0.0.8"},
    ],
    "offsets": [
        {"topic": "events", "partition": 0, "offset": 120, "firstOffset": 0, "lastOffset": 150, "offsetLag": 30},
        {"topic": "events", "partition": 1},
    ],
    "activeTopics": ["events"],
    "topics": ["events"],
}


def test_group() -> None:
    pasted = read(json.dumps(GROUP))
    assert [row[1:] for row in members(pasted)] == [
        (GROUP["members"][0]["id"], None, "web-1", "10.0.0.7", "PreparingRebalance"),
        (GROUP["members"][1]["id"], None, "web-2", "10.0.0.8", "PreparingRebalance"),
    ]
    assert pasted.owned("orders") == [("web-1", [("events", 0), ("events", 1)]), ("web-2", [])]
    assert offsets(pasted) == [("orders", "events", 0, 120, 150), ("orders", "events", 1, None, None)]
    assert pasted.rejects == []
    assert any(each.startswith("group.instance.id of 2 members (1 group) is unknown") for each in pasted.assumptions)
    assert any("in the middle of a rebalance" in each for each in pasted.assumptions)


def test_groups_without_members() -> None:
    empty = {"id": "nightly", "simpleConsumerGroup": True, "partitionAssignor": "", "state": "EMPTY"}
    pasted = read(f"{json.dumps(GROUP)}\n{json.dumps(empty)}\n")
    assert (pasted.groups_without_members, pasted.rejects) == (["nightly"], [])


def test_a_dead_group_is_unread() -> None:
    pasted = read(json.dumps(GROUP | {"state": "DEAD", "members": []}))
    assert pasted.groups_without_members == []
    assert [row["reason"] for row in pasted.rejects] == [
        "the state is Dead: the group does not exist, or it is a consumer-protocol group, which the tool does not show"
    ]


@pytest.mark.parametrize(
    ("member", "reason"),
    [
        ({"clientId": "web-1"}, "id is missing"),
        ({"id": "web-1", "assignments": [{"topic": "a b"}]}, "topic is 'a b', not a topic name"),
        ({"id": "web-1", "assignments": 7}, "assignments is 7, not a list"),
    ],
)
def test_bad_members(member: dict[str, Any], reason: str) -> None:
    pasted: Pasted = read(json.dumps(GROUP | {"members": [member]}))
    assert (pasted.members, pasted.groups_without_members) == ({}, [])
    assert [(row["table"], row["group_id"], row["reason"]) for row in pasted.rejects] == [("members", "orders", reason)]
