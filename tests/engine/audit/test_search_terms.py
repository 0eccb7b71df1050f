"""What a group can be found by: distinct terms in order, and how many are left out."""

from typing import Any

import pyarrow as pa

from rebalance_sim.engine.audit.search_terms import MOST_CLIENTS, MOST_TOPICS, search_terms

MEMBER = pa.struct(
    {
        "subscription": pa.list_(pa.string()),
        **dict.fromkeys(("client_id", "host", "client_library", "client_version"), pa.string()),
    }
)


def member(*subscription: str, **columns: Any) -> dict[str, Any]:
    return dict.fromkeys(MEMBER.names) | {"subscription": list(subscription) or None, **columns}


def found(members: list[Any], offsets: list[Any] | None = None) -> list[dict[str, Any]]:
    """Return the terms of groups that have any."""
    nested = None if offsets is None else pa.array(offsets, pa.list_(pa.struct({"topic": pa.string()})))
    rows = search_terms(pa.array(members, pa.list_(MEMBER)), nested).to_pylist()
    return [{name: value for name, value in row.items() if value} for row in rows]


def test_terms_are_distinct_and_in_alphabetical_order() -> None:
    members = [
        member("b", "a", client_id="two", host="10.0.0.2", client_library="librdkafka", client_version="2.12.0"),
        member("a", client_id="one", host="10.0.0.1", client_library="sarama"),
        member(client_id="one", host=""),
    ]
    terms = {
        "topics": ["a", "b"],
        "client_ids": ["one", "two"],
        "addresses": ["10.0.0.1", "10.0.0.2"],
        "client_libraries": ["java (assumed)", "librdkafka 2.12.0", "sarama"],
    }
    assert found([[], members, None]) == [{}, terms, {}]


def test_topics_without_a_subscriber_are_apart() -> None:
    """Groups without members, or whose members have left a topic, still have offsets for it."""
    members = [[member("a", client_library="java")], None]
    offsets = [[{"topic": "z"}, {"topic": "a"}, {"topic": "z"}], [{"topic": "a"}]]
    assert found(members, offsets) == [
        {"topics": ["a"], "offsets_topics": ["z"], "client_libraries": ["java"]},
        {"offsets_topics": ["a"]},
    ]


def test_terms_of_wide_groups_are_left_out() -> None:
    topics = [f"topic-{number:04}" for number in range(MOST_TOPICS + 7)]
    members = [member(*topics, client_id=f"client-{number:03}", client_library="java") for number in range(105)]
    first, second = found([members, members[:1]])
    assert first["topics"] == topics[:MOST_TOPICS]
    assert len(first["client_ids"]) == MOST_CLIENTS
    assert (first["topics_left_out"], first["clients_left_out"]) == (7, 105 - MOST_CLIENTS)
    assert (second["topics_left_out"], "clients_left_out" in second) == (7, False)
