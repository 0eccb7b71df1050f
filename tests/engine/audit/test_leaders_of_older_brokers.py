"""Groups whose assignment depends on the order in which brokers before 4.3 list partitions, and how they are judged."""

from typing import Any

import pytest
from pyspark.sql import SparkSession

from rebalance_sim import audit
from rebalance_sim.tables import MEMBERS, TOPICS
from tests.support.rows import table


def members(group: str, *subscriptions: list[str]) -> list[dict[str, Any]]:
    usual = {"group_id": group, "client_library": "kafkajs", "protocols": ["RoundRobinAssigner"]}
    return [
        {**usual, "member_id": f"m{place}", "join_order": place, "subscription": topics}
        for place, topics in enumerate(subscriptions)
    ]


@pytest.mark.scale
@pytest.mark.parametrize("release", ["2.3", "3.9", "4.3"])
def test_kafkajs_leaves_the_same_number_of_partitions_in_every_order(spark: SparkSession, release: str) -> None:
    """The leader of ``deploys`` leaves out nine partitions; that of ``differs`` also gives two to the third member."""
    rows = [
        *members("healthy", ["six"], ["six"]),
        *members("deploys", ["six"], ["six", "nine"], ["six", "nine"]),
        *members("differs", ["six"], ["six"], ["nine"]),
    ]
    topics = table(spark, TOPICS, [{"topic": "six", "partitions": 6}, {"topic": "nine", "partitions": 9}])
    found = audit(table(spark, MEMBERS, rows), topics, kafka_version=release).findings.collect()
    severe = {(row["group_id"], row["severity"], row["kind"]) for row in found if row["severity"] == "error"}
    assert severe == {(group, "error", "partitions-not-consumed") for group in ("deploys", "differs")}
    lost = {row["group_id"]: row["description"] for row in found if row["kind"] == "partitions-not-consumed"}
    assert lost["deploys"].startswith("9 of 15 partitions are not consumed: ")
    assert lost["differs"].startswith("11 of 15 partitions are not consumed: ")
    assert ("in which the brokers list partitions" in lost["differs"]) == (release != "4.3")
    assert not [row for row in found if row["group_id"] == "healthy" and row["severity"] != "note"]
