"""All sources recognize the same member as the same client."""

from typing import Any

import pytest

from rebalance_sim.kafka.clients.stated import StatedClient, StatedClients
from rebalance_sim.kafka.wire.offsets_topic import GroupMetadata, decode_key, decode_value
from rebalance_sim.sources.assumptions import NOTHING_STATED, MembersAsStated
from rebalance_sim.sources.kafka_tools.capture import CaptureTables
from rebalance_sim.sources.kafka_tools.lines import Lines
from rebalance_sim.sources.live_cluster.cluster import (
    _ClusterContent,
    _ClusterTables,
    _DescribedGroup,
    _DescribedMember,
)
from rebalance_sim.sources.offsets_topic.fleet import _classic_members
from rebalance_sim.tables import MEMBERS
from tests.support.offsets_records import group, member

UUID = "626467ba-04a1-4547-b401-ba8570c1dca1"
COLUMNS = ("client_library", "client_version", "client_evidence")
NOT_SENT = b"\0\0\0\0"
"""Bytes that no library sends: what is left are the names."""


def by_the_tools(
    group_id: str, client_id: str, elected: str, as_stated: MembersAsStated = NOTHING_STATED
) -> dict[str, Any]:
    lines = Lines()
    member_id = f"{client_id}-{UUID}"
    header = f"{'GROUP':20} {'CONSUMER-ID':120} {'HOST':10} {'CLIENT-ID':80} #PARTITIONS ASSIGNMENT"
    line = f"{group_id:20} {member_id:120} {'/10.0.0.1':10} {client_id:80} 0           -"
    lines.add_file("members.txt", f"\n{header}\n{line}\n".encode())
    header = f"{'GROUP':20} COORDINATOR (ID)    ASSIGNMENT-STRATEGY STATE   #MEMBERS"
    line = f"{group_id:20} kafka-2:9092 (2)    {elected:19} Stable  1"
    lines.add_file("state.txt", f"\n{header}\n{line}\n".encode())
    (row,) = CaptureTables(lines, "c", as_stated).members()
    return dict(zip(MEMBERS.names, row, strict=True))


def by_a_live_cluster(
    group_id: str, client_id: str, elected: str, as_stated: MembersAsStated = NOTHING_STATED
) -> dict[str, Any]:
    content = _ClusterContent()
    content.groups[group_id] = _DescribedGroup(
        "STABLE", False, elected, (_DescribedMember(f"{client_id}-{UUID}", None, client_id, "/h", ()),)
    )
    (row,) = _ClusterTables(content, "c", as_stated).members()
    return dict(zip(MEMBERS.names, row, strict=True))


def by_the_offsets_topic(
    group_id: str, client_id: str, elected: str, as_stated: MembersAsStated = NOTHING_STATED
) -> dict[str, Any]:
    stored = member(f"{client_id}-{UUID}", subscription=NOT_SENT, client=(None, client_id))
    key, value = group(group_id, [stored], protocol=elected)
    assert value is not None
    decoded = decode_value(decode_key(key).type, value)
    assert isinstance(decoded, GroupMetadata)
    return _classic_members(group_id, decoded, as_stated)["members"][0]


def shown(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in COLUMNS)


@pytest.mark.parametrize(
    ("group_id", "client_id", "elected", "expected"),
    [
        ("order-service", "order-service-1", "range", (None, None, None)),
        ("pricing-go", "kgo", "cooperative-sticky", ("franz-go", None, "client id")),
        ("billing", "sarama", "range", ("sarama", None, "client id")),
        ("billing", "sarama-loader", "range", (None, None, None)),
        (
            "search-indexer",
            "search-indexer@search-indexer-7d9f1 (github.com/segmentio/kafka-go)",
            "range",
            ("kafka-go", None, "client id"),
        ),
        ("sessionizer", "rdkafka", "cooperative-sticky", ("librdkafka", None, "client id")),
        ("recommender-py", "aiokafka-0.12.0", "roundrobin", ("aiokafka", "0.12.0", "client id")),
        ("mailer", "mailer-1", "RoundRobinAssigner", ("kafkajs", None, "protocol RoundRobinAssigner")),
        ("fraud-app", "fraud-app-1", "stream", (None, None, None)),
        ("orders", "consumer-orders-1", "range", ("java", None, "client id")),
    ],
)
def test_sources_agree(group_id: str, client_id: str, elected: str, expected: tuple[Any, ...]) -> None:
    for source in (by_the_tools, by_a_live_cluster, by_the_offsets_topic):
        assert shown(source(group_id, client_id, elected)) == expected, source


def test_sources_agree_about_what_an_owner_says() -> None:
    """It comes before what ids show, and the option --protocols applies to the others."""
    entries = (
        StatedClient(client_id="sarama*", library="kafkajs", protocols=("RoundRobinAssigner", "range")),
        StatedClient(group="b*", team="red", start_ms=20_000, revoke_ms=0),
    )
    as_stated = MembersAsStated(("sticky",), StatedClients(entries))
    for source in (by_the_tools, by_a_live_cluster, by_the_offsets_topic):
        stated = source("billing", "sarama", "range", as_stated)
        assert shown(stated) == ("kafkajs", None, "clients file"), source
        assert [stated[name] for name in ("team", "start_ms", "revoke_ms")] == ["red", 20_000, 0], source
        assert (tuple(stated["protocols"]), stated["protocols_assumed"]) == (entries[0].protocols, None), source
        other = source("orders", "kgo", "range", as_stated)
        assert shown(other) == ("franz-go", None, "client id"), source
        assert (other["team"], tuple(other["protocols"])) == (None, ("sticky",)), source
        assert other["protocols_assumed"] == "option protocols", source
