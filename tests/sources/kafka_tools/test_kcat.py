"""Topics that ``kcat -L -J`` prints."""

import json
from typing import Any

import pytest

from rebalance_sim.sources.assumptions import NOTHING_STATED
from rebalance_sim.sources.kafka_tools.capture import CaptureTables
from rebalance_sim.sources.kafka_tools.lines import Lines
from rebalance_sim.tables import REJECTS, TOPICS
from tests.sources.kafka_tools.test_pasted import rows

# kcat 1.7.1 with a broker of Kafka 4.3.1.
METADATA = (
    '{"originating_broker":{"id":1,"name":"127.0.0.1:52273/1"},"query":{"topic":"*"},"controllerid":1,'
    '"brokers":[{"id":1,"name":"127.0.0.1:52273"}],"topics":[{"topic":"orders","partitions":[{"partition":0,"leader":1,'
    '"replicas":[{"id":1}],"isrs":[{"id":1}]},{"partition":1,"leader":1,"replicas":[{"id":1}],"isrs":[{"id":1}]}]},'
    '{"topic":"web.events","partitions":[{"partition":0,"leader":1,"replicas":[{"id":1}],"isrs":[{"id":1}]}]}]}'
)
UNKNOWN_TOPIC = (
    '{"originating_broker":{"id":1,"name":"127.0.0.1:52273/1"},"query":{"topic":"nope"},"controllerid":1,'
    '"brokers":[{"id":1,"name":"127.0.0.1:52273"}],'
    '"topics":[{"topic":"nope","error":"Broker: Unknown topic or partition","partitions":[]}]}'
)


def read(text: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the rows of topics and of rejects."""
    lines = Lines()
    lines.add_file("topics.json", text.encode())
    tables = CaptureTables(lines, "default", NOTHING_STATED)
    return rows(TOPICS, tables.topics()), rows(REJECTS, tables.rejects())


@pytest.mark.parametrize(
    "text",
    [
        METADATA,
        json.dumps(json.loads(METADATA), indent=2),
        f"$ kcat -b host:9092 -L -J\n{METADATA}\n",
        f"{METADATA}{METADATA.replace('orders', 'clicks').replace('web.events', 'web.clicks')}",
    ],
    ids=["as printed", "by jq", "with its command", "two documents"],
)
def test_topics(text: str) -> None:
    topics, rejects = read(text)
    found = [(row["topic"], row["partitions"], row["unavailable"]) for row in topics[:2]]
    assert found == [("orders", 2, []), ("web.events", 1, [])]
    assert rejects == []


def test_partitions_without_a_leader_are_unavailable() -> None:
    topics, _ = read(METADATA.replace('"partition":1,"leader":1', '"partition":1,"leader":-1'))
    assert topics[0]["unavailable"] == [1]


def test_a_topic_that_the_broker_did_not_describe_is_rejected() -> None:
    topics, rejects = read(UNKNOWN_TOPIC)
    assert topics == []
    assert [(row["table"], row["reason"]) for row in rejects] == [
        ("topics", "the broker did not describe topic 'nope': Broker: Unknown topic or partition")
    ]


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('"topic":"orders"', '"topic":"or ders"', "topic is 'or ders', not a topic name"),
        ('"partition":1', '"partition":"1"', 'partition is "1", not a number'),
        ('"partition":1', '"partition":2', "partition 2 is out of range: topic 'orders' has PartitionCount 2"),
        ('{"partition":1,', '7,{"partition":1,', "7 is not an object"),
    ],
)
def test_bad_fields(old: str, new: str, reason: str) -> None:
    _, rejects = read(METADATA.replace(old, new))
    assert [(row["table"], row["reason"]) for row in rejects] == [("topics", reason)]
