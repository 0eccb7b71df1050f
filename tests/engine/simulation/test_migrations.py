"""A simulated migration takes each group from its own protocols to the assignor that comes closest."""

from collections.abc import Mapping
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession

from rebalance_sim import simulate
from rebalance_sim.kafka.simulation.scenario import Scenario, ScenarioStep
from rebalance_sim.tables import COSTS, MEMBERS, MIGRATION_COSTS
from tests.support.rows import table, topics

OFFERS: Mapping[str, tuple[list[str], str | None]] = {
    "range": (["range"], "server-range"),
    "defaults": (["range", "cooperative-sticky"], "server-range"),
    "roundrobin": (["roundrobin"], "server-uniform"),
    "cooperative": (["cooperative-sticky"], "server-uniform"),
    "own": (["mine"], None),
    "migrated": (["server-uniform"], None),
}
"""What the members of each group offer, and to which assignor it migrates."""


def members(spark: SparkSession, groups: list[str]) -> DataFrame:
    rows: list[dict[str, Any]] = [
        {"group_id": group, "member_id": f"m{number}", "protocols": OFFERS[group][0], "subscription": ["t", "u"],
         "join_order": number}
        for group in groups for number in range(3)
    ]  # fmt: skip
    return table(spark, MEMBERS, rows)


def by_group(rows: DataFrame) -> dict[str, dict[str, Any]]:
    def figures(row: Row) -> dict[str, Any]:
        return {name: value for name, value in row.asDict(recursive=True).items() if name != "strategy"}

    return {row["group_id"]: figures(row) for row in rows.collect()}


@pytest.fixture(scope="module")
def migrated(spark: SparkSession) -> dict[str, dict[str, Any]]:
    run = simulate(
        members(spark, list(OFFERS)), topics(spark, t=7, u=3), "rolling-restart", tables=[MIGRATION_COSTS.name]
    )
    return by_group(run[MIGRATION_COSTS.name])


def test_groups_migrate_from_their_own_protocols(spark: SparkSession, migrated: dict[str, dict[str, Any]]) -> None:
    expected: dict[str, dict[str, Any]] = {}
    for target in ("server-range", "server-uniform"):
        steps = (
            ScenarioStep("protocols", protocols=(target,)),
            ScenarioStep("restart", 10_000, every_ms=30_000, down_ms=5_000),
        )
        groups = members(spark, [group for group, (_, to) in OFFERS.items() if to == target])
        expected |= by_group(
            simulate(groups, topics(spark, t=7, u=3), Scenario("", steps=steps), tables=[COSTS.name]).costs
        )
    assert migrated == expected
    assert all(row["rebalances"] == 6 and row["stable"] and row["max_unowned_ms"] > 0 for row in migrated.values())


def test_brokers_before_4_0_convert_no_group(spark: SparkSession) -> None:
    run = simulate(
        members(spark, ["range"]),
        topics(spark, t=7, u=3),
        "rolling-restart",
        tables=[COSTS.name, MIGRATION_COSTS.name],
        kafka_version="3.9",
    )
    assert (run.costs.count(), run[MIGRATION_COSTS.name].count()) == (1, 0)
