"""Strategies compared with the optimum: in each group, over the fleet, and where a change would matter most."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from rebalance_sim import changes, compare, distributions, optimum, strategies_long
from rebalance_sim.commands.comparison import summarise_comparison
from rebalance_sim.commands.console import text_of
from rebalance_sim.engine.groups.prediction import ELECTED, Prediction
from rebalance_sim.engine.tables.inputs import fit, fit_topics, usable
from rebalance_sim.engine.tables.topic_metadata import TopicMetadata
from rebalance_sim.kafka.brokers import Brokers, Clusters
from rebalance_sim.sources.synthetic.fleet import synthetic_fleet
from rebalance_sim.sources.synthetic.fleet_spec import load
from rebalance_sim.tables import BALANCE, CHANGES, COMPARISON, DISTRIBUTIONS, MEMBERS
from tests.support.rows import contents, member, members, topics
from tests.support.spark_settings import set_for_a_while

SMALL_FLEET = Path(__file__).parents[3] / "conf" / "fleets" / "small.yaml"
STRATEGIES = ["range", "roundrobin", "sticky", "server-uniform"]


def owned(*names: str) -> list[dict[str, Any]]:
    """Return owned partitions by name: ``t-0`` is partition 0 of topic t."""
    return [{"topic": name.split("-")[0], "partition": int(name.split("-")[1])} for name in names]


def group(group_id: str, protocol: str, **subscriptions: list[str]) -> list[dict[str, Any]]:
    return [member(name, [protocol], wants, group_id=group_id) for name, wants in subscriptions.items()]


def remaining_members() -> list[dict[str, Any]]:
    """Return the members that remain after C1 has left (see ``docs/compare.md``)."""
    every = ["t0", "t1", "t2", "t3"]
    same = group("same", "roundrobin", C0=every, C2=every)
    own = group("own", "range", C0=["u1", "u2"], C2=["u1", "u2", "u3"])
    had = [owned("t0-0", "t1-1", "t3-0"), owned("t1-0", "t2-1"), owned("u1-0"), owned("u2-1", "u3-1")]
    return [row | {"owned": partitions, "generation": 1} for row, partitions in zip(same + own, had, strict=True)]


def special_groups() -> list[dict[str, Any]]:
    throws = group("throws", "range", a=["t0"], b=["t0", "u1"])
    throws[0] |= {"owned": owned("t0-9")}
    shrank = group("shrank", "sticky", a=["u2"], b=["u2"])
    shrank[0] |= {"owned": owned("u2-7"), "generation": 1}
    return [
        *throws,
        *shrank,
        *group("fresh", "range", a=["t0", "t1"], b=["t0", "t1"], c=["t0", "t1"], d=["t0", "t1"]),
        *group("connect", "mine", a=["t0"]),
        member("a", [], ["t0"], group_id="silent"),
        *group("split", "range", a=["t0"]),
        *group("split", "sticky", b=["t0"]),
    ]


@pytest.fixture(scope="module")
def given(spark: SparkSession) -> tuple[DataFrame, DataFrame]:
    metadata = topics(spark, t0=2, t1=2, t2=2, t3=2, u1=1, u2=2, u3=3)
    return metadata, members(spark, *remaining_members(), *special_groups())


@pytest.fixture(scope="module")
def comparison(given: tuple[DataFrame, DataFrame]) -> Iterator[DataFrame]:
    metadata, rows = given
    compared = rows.transform(compare(metadata, STRATEGIES)).cache()
    yield compared
    compared.unpersist()


@pytest.fixture(scope="module")
def distributed(comparison: DataFrame) -> DataFrame:
    return comparison.transform(distributions).cache()


@pytest.fixture(scope="module")
def by_group(comparison: DataFrame) -> dict[str, dict[str, Any]]:
    return {row["group_id"]: row.asDict(recursive=True) for row in comparison.collect()}


def figures(row: dict[str, Any], *names: str) -> dict[str, list[Any]]:
    return {strategy: [found[name] for name in names] for strategy, found in row["strategies"].items()}


EXCESS = ("excess_max", "excess_stddev", "excess_moved")


def test_columns_are_those_of_the_tables(comparison: DataFrame, distributed: DataFrame) -> None:
    found = [comparison, distributed, comparison.transform(changes())]
    for rows, table in zip(found, (COMPARISON, DISTRIBUTIONS, CHANGES), strict=True):
        assert [(column.name, column.type.simpleString()) for column in table.columns] == rows.dtypes


def test_roundrobin_moves_partitions_that_the_others_keep(by_group: dict[str, dict[str, Any]]) -> None:
    row = by_group["same"]
    assert (row["members"], row["partitions"], row["elected"]) == (2, 8, "roundrobin")
    assert row["optimum"] == {
        "min": 4,
        "max": 4,
        "stddev": 0.0,
        "idle_members": 0,
        "moved": 0,
        "balance_exact": True,
        "moved_exact": True,
    }
    assert figures(row, *EXCESS) == {
        "range": [0, 0.0, 2],
        "roundrobin": [0, 0.0, 2],
        "server-uniform": [0, 0.0, 0],
        "sticky": [0, 0.0, 0],
    }


def test_a_less_balanced_assignment_may_move_less(by_group: dict[str, dict[str, Any]]) -> None:
    row = by_group["own"]
    assert row["optimum"]["moved"] == 1
    assert figures(row, *EXCESS) == {
        "range": [1, 1.0, -1],
        "roundrobin": [1, 1.0, 0],
        "server-uniform": [0, 0.0, 0],
        "sticky": [0, 0.0, 0],
    }


def test_nothing_moves_without_previous_owners(by_group: dict[str, dict[str, Any]]) -> None:
    row = by_group["fresh"]
    assert (row["optimum"]["stddev"], row["optimum"]["moved"]) == (0.0, 0)
    assert figures(row, "idle_members", *EXCESS)["range"] == [2, 1, 1.0, 0]
    assert figures(row, "idle_members", *EXCESS)["sticky"] == [0, 0, 0.0, 0]


def test_a_failing_assignor_is_reported_beside_the_others(by_group: dict[str, dict[str, Any]]) -> None:
    found = by_group["throws"]["strategies"]
    assert found["server-uniform"]["error"].endswith(" throws ArrayIndexOutOfBoundsException")
    assert found["server-uniform"]["stddev"] is None
    assert figures(by_group["throws"], *EXCESS)["server-uniform"] == [None] * 3
    assert figures(by_group["throws"], *EXCESS)["range"] == [0, 0.0, 0]


def test_nonexistent_partitions_prevent_a_comparison(by_group: dict[str, dict[str, Any]]) -> None:
    """Kafka's sticky assignor keeps a partition that the topic no longer has."""
    assert figures(by_group["shrank"], "nonexistent", *EXCESS)["sticky"] == [1, None, None, None]


def test_groups_without_a_known_protocol_are_compared(by_group: dict[str, dict[str, Any]]) -> None:
    for name, elected in (("connect", "mine"), ("silent", None), ("split", "range")):
        assert by_group[name]["elected"] == elected
        assert sorted(by_group[name]["strategies"]) == sorted(STRATEGIES)


def test_named_strategies_are_for_all_members(by_group: dict[str, dict[str, Any]]) -> None:
    assert by_group["split"]["members"] == 2


def test_elected_adds_protocols_that_are_not_named(given: tuple[DataFrame, DataFrame]) -> None:
    metadata, rows = given
    known = TopicMetadata.of(usable(fit_topics(metadata)))
    predict = Prediction((BALANCE.name,), Clusters(Brokers("4.3")), (ELECTED, "range"), known)
    found = predict(usable(fit(rows, MEMBERS))).collect()
    strategies: dict[str, list[str]] = {}
    for row in found:
        strategies.setdefault(row["group_id"], []).append(row["strategy"])
    assert {name: sorted(names) for name, names in strategies.items()} == {
        "same": ["range", "roundrobin"],
        "own": ["range"],
        "throws": ["range"],
        "shrank": ["range", "sticky"],
        "fresh": ["range"],
        "connect": ["mine", "range"],
        "split": ["range"],
    }
    assert {row["group_id"]: row["members"] for row in found}["split"] == 1


def test_the_optimum_alone_equals_that_of_a_comparison(
    given: tuple[DataFrame, DataFrame], comparison: DataFrame
) -> None:
    metadata, rows = given
    keys = ["cluster", "group_id", "members", "partitions"]
    assert contents(rows.transform(optimum(metadata))) == contents(comparison.select(*keys, "optimum.*"))


def test_distributions_are_exact(distributed: DataFrame) -> None:
    found = {(row["strategy"], row["figure"]): row.asDict() for row in distributed.collect()}
    # stddev of range: own 1, throws 0.5, fresh 1; all others 0.
    row = found["range", "stddev"]
    assert row == {
        "strategy": "range",
        "figure": "stddev",
        "groups": 8,
        "missing": 0,
        "zero": 5,
        "total": 2.5,
        "mean": 0.3125,
        "min": 0.0,
        "p50": 0.0,
        "p90": 1.0,
        "p99": 1.0,
        "max": 1.0,
    }
    moves = found["range", "excess_moved"]
    assert (moves["min"], moves["total"], moves["max"]) == (-1.0, 1.0, 2.0)
    failing = found["server-uniform", "excess_stddev"]
    assert (failing["groups"], failing["missing"], failing["zero"]) == (6, 2, 6)
    assert {figure for strategy, figure in found if strategy == "optimum"} == {"stddev", "idle_members", "moved"}


def test_changes_are_against_the_elected_protocol(comparison: DataFrame) -> None:
    """Groups that elect a protocol which is not compared have no changes."""
    rows = comparison.transform(changes()).orderBy("strategy", "change", "rank").collect()
    figures = ("group_id", "elected_stddev", "stddev", "elected_moved", "moved")
    even_gains = [(1, "fresh", 1.0, 0.0, 0, 0), (2, "own", 1.0, 0.0, 0, 1), (3, "same", 0.0, 0.0, 2, 0)]
    assert [(r["strategy"], r["change"], r["rank"], *(r[name] for name in figures)) for r in rows] == [
        ("roundrobin", "gain", 1, "fresh", 1.0, 0.0, 0, 0),
        ("roundrobin", "loss", 1, "own", 1.0, 1.0, 0, 1),
        *(("server-uniform", "gain", *row) for row in even_gains),
        *(("sticky", "gain", *row) for row in even_gains),
    ]


def test_changes_are_the_largest(comparison: DataFrame) -> None:
    everything = comparison.transform(changes()).where("rank = 1").collect()
    assert contents(comparison.transform(changes(1))) == sorted(str(row.asDict()) for row in everything)
    assert len(everything) == 4


@pytest.fixture(scope="module")
def fleet(spark: SparkSession) -> tuple[DataFrame, DataFrame]:
    made = synthetic_fleet(spark, load(str(SMALL_FLEET)), 100, seed=8)
    return made.topics.cache(), made.members.cache()


@pytest.fixture(scope="module")
def compared_fleet(fleet: tuple[DataFrame, DataFrame]) -> DataFrame:
    metadata, rows = fleet
    return rows.transform(compare(metadata)).cache()


@pytest.mark.scale
def test_no_strategy_is_better_than_the_optimum(compared_fleet: DataFrame) -> None:
    rows = compared_fleet.transform(strategies_long).where("excess_stddev IS NOT NULL").collect()
    assert all(row["excess_stddev"] >= 0 and row["excess_max"] >= 0 for row in rows)
    assert all(row["idle_members"] >= row["optimum"]["idle_members"] for row in rows)
    even = [row for row in rows if row["excess_stddev"] == 0]
    assert all(row["excess_moved"] >= 0 for row in even)
    assert 0 < sum(row["excess_moved"] == 0 for row in even) < len(even) < len(rows)


def lines_of(compared: DataFrame) -> list[list[str]]:
    return [contents(compared.transform(table)) for table in (strategies_long, distributions, changes())]


@pytest.mark.scale
def test_partitioning_and_row_order_change_nothing(
    spark: SparkSession, fleet: tuple[DataFrame, DataFrame], compared_fleet: DataFrame
) -> None:
    metadata, rows = fleet
    expected = lines_of(compared_fleet)
    with set_for_a_while(spark, {"spark.sql.shuffle.partitions": "7"}):
        shuffled = rows.orderBy(F.rand(2)).repartition(3)
        assert lines_of(shuffled.transform(compare(metadata.orderBy(F.rand(1)))).cache()) == expected


@pytest.mark.scale
def test_bounds_are_marked(comparison: DataFrame, distributed: DataFrame) -> None:
    """The summary says where the optimum is not exact."""
    unsure = comparison.where("group_id = 'own'").withColumn(
        "optimum", F.col("optimum").withField("balance_exact", F.lit(False)).withField("moved_exact", F.lit(False))
    )
    tables = {COMPARISON.name: unsure, DISTRIBUTIONS.name: distributed, CHANGES.name: unsure.transform(changes())}
    lines = text_of(summarise_comparison(tables)).splitlines()
    assert "comparison with the optimum (exact in 0 of 1 group, a proven bound elsewhere)" in lines
    assert any("own    range    ≥0.00 ≥1" in line for line in lines)


def test_a_fleet_without_groups_has_no_summary(comparison: DataFrame) -> None:
    assert summarise_comparison({COMPARISON.name: comparison.where("false")}) == []
