"""A simulated migration takes each group from its own protocols to the assignor that comes closest."""

from collections.abc import Mapping
from itertools import product
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession

from rebalance_sim import simulate
from rebalance_sim.kafka.simulation.scenario import Scenario, ScenarioStep
from rebalance_sim.tables import COSTS, EVENTS, MEMBERS, MIGRATION_COSTS
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


def test_the_order_of_members_matters_only_under_range(spark: SparkSession) -> None:
    """Under range, the order of member ids moves the fewest partitions. The leader's place makes no difference."""
    ids = [f"app-{(number * 7 + 4) % 10}" for number in range(10)]
    orders = {
        "leader first": ids,
        "leader last": [*ids[1:], ids[0]],
        "by id": sorted(ids),
        "reversed": sorted(ids)[::-1],
    }
    assignors = {"range": "server-range", "cooperative-sticky": "server-uniform"}
    rows, events = list[dict[str, Any]](), list[dict[str, Any]]()
    for (assignor, target), (order, turns), number in product(assignors.items(), orders.items(), range(10)):
        group = {"group_id": f"{assignor}|{order}|{number}"}
        usual = group | {"protocols": [assignor], "subscription": ["t", "u"]}
        rows += [usual | {"member_id": name, "join_order": place} for place, name in enumerate(ids)]
        events += [group | {"event": "protocols", "at_ms": 0, "member_id": name, "protocols": [target]} for name in ids]
        restart = group | {"event": "restart", "down_ms": 5_000}
        events += [restart | {"member_id": name, "at_ms": 10_000 + 30_000 * turn} for turn, name in enumerate(turns)]
    given = table(spark, MEMBERS, rows), topics(spark, t=12, u=30), Scenario("")
    found = simulate(*given, events=table(spark, EVENTS, events), tables=[COSTS.name]).costs.collect()
    moved = dict.fromkeys(product(assignors, orders), 0)
    for row in found:
        assignor, order, _ = row["group_id"].split("|")
        moved[assignor, order] += row["moved"]
        assert row["rebalances"] == 20
    assert moved["range", "by id"] < 0.95 * moved["range", "leader first"] < 0.9 * moved["range", "reversed"]
    for assignor in assignors:
        assert moved[assignor, "leader last"] == pytest.approx(moved[assignor, "leader first"], rel=0.08)
    assert moved["cooperative-sticky", "reversed"] == pytest.approx(moved["cooperative-sticky", "by id"], rel=0.08)


def test_brokers_before_4_0_convert_no_group(spark: SparkSession) -> None:
    run = simulate(
        members(spark, ["range"]),
        topics(spark, t=7, u=3),
        "rolling-restart",
        tables=[COSTS.name, MIGRATION_COSTS.name],
        kafka_version="3.9",
    )
    assert (run.costs.count(), run[MIGRATION_COSTS.name].count()) == (1, 0)
