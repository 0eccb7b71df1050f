"""What a page is made of, summed up from small tables."""

from typing import Any

import pytest
from pyspark.sql import Row, SparkSession

from rebalance_sim.report import balance, elections, keys, moves, records, rollouts
from rebalance_sim.report.bins import counted, filled
from rebalance_sim.report.colours import PLACEHOLDERS, StrategyColours
from rebalance_sim.report.page import Chart, Part, Section, Table, numbered, same_told_once
from rebalance_sim.report.timelines import CONSUMES, DOWN, REBALANCES, STABLE, WAITS, course
from rebalance_sim.tables import (
    ASSIGNMENTS,
    BALANCE,
    COOPERATIVE_REBALANCES,
    COSTS,
    ELECTIONS,
    PARTITION_LOAD,
    REJECTS,
)
from tests.engine.rows import table


def test_elections(spark: SparkSession) -> None:
    rows = [
        {"group_id": "a", "members": 3, "protocol": "range", "tie": True},
        {"group_id": "b", "members": 5, "protocol": "range", "tie": True, "inadmissible": [("m", "BAD"), ("n", "BAD")]},
        {"group_id": "c", "members": 1, "protocol": "sticky", "tie": False},
        {"group_id": "d", "members": 0, "error": "group 'd' has 0 members", "tie": False},
        {"group_id": "e", "members": 0, "error": "group 'e' has 0 members", "tie": False},
    ]
    told = table(spark, ELECTIONS, rows)
    by_protocol = {row["protocol"]: (row["groups"], row["ties"]) for row in elections.by_protocol(told).collect()}
    assert by_protocol == {"range": (2, 2), "sticky": (1, 0), None: (2, 0)}
    assert [(row["kind"], row["times"], row["first"]["group_id"]) for row in elections.errors(told).collect()] == [
        ("a member: BAD", 2, "b"),
        ("group … has … members", 2, "d"),
    ]
    assert [row["group_id"] for row in elections.ties(told).collect()] == ["b", "a"]


def test_balance_and_moves(spark: SparkSession) -> None:
    usual = {"strategy": "range", "idle_members": 0, "unassigned": 0, "assigned_twice": 0, "not_subscribed": 0,
             "nonexistent": 0, "moved": 1, "kept": 2, "revoked": 3, "rebalances": 1}  # fmt: skip
    rows = [
        usual | {"group_id": "even", "min": 1, "max": 2},
        usual | {"group_id": "odd", "min": 0, "max": 6, "idle_members": 2, "assigned_twice": 1, "rebalances": 2},
        usual | {"group_id": "fails", "moved": None, "kept": None, "error": "assignor 'x' threw"},
        usual | {"group_id": "other", "strategy": "sticky", "min": 3, "max": 3},
    ]  # fmt: skip
    told = table(spark, BALANCE, rows)
    ranges, sticky = balance.by_strategy(told).collect()
    assert (ranges["groups"], ranges["even"], ranges["failed"], ranges["odd"], ranges["idle"]) == (2, 1, 1, 1, 2)
    assert (ranges["worst"]["group_id"], ranges["worst"]["spread"], ranges["mean_spread"]) == ("odd", 6, 3.5)
    assert (sticky["groups"], sticky["worst"]["spread"]) == (1, 0)
    assert [row["group_id"] for row in balance.worst_groups(told).collect()] == ["odd"]
    assert [row["kind"] for row in balance.failures(told).collect()] == ["assignor … threw"]
    assert [tuple(row) for row in moves.by_strategy(told).collect()] == [("range", 4, 2, 6, 1), ("sticky", 2, 1, 3, 0)]


def test_partitions_a_member_are_those_after_the_last_rebalance(spark: SparkSession) -> None:
    one, two = [("t", 0)], [("t", 0), ("t", 1)]
    first: list[dict[str, Any]] = [
        {"group_id": "g", "strategy": "range", "member_id": "a", "partitions": two},
        {"group_id": "g", "strategy": "cooperative-sticky", "member_id": "a", "partitions": []},
    ]
    usual = {"group_id": "g", "strategy": "cooperative-sticky", "member_id": "a"}
    again: list[dict[str, Any]] = [
        usual | {"rebalance": 1, "last": False, "partitions": []},
        usual | {"rebalance": 2, "last": True, "partitions": one},
    ]
    found = balance.partitions_a_member(table(spark, ASSIGNMENTS, first), table(spark, COOPERATIVE_REBALANCES, again))
    assert sorted(map(tuple, found.collect())) == [("cooperative-sticky", 1), ("range", 2)]


def test_histograms_have_the_bins_that_nothing_is_in(spark: SparkSession) -> None:
    numbers = spark.createDataFrame([("a", 0), ("a", 9), ("a", 16), ("b", 3), ("b", None)], "panel string, n int")
    rows = filled(counted(numbers, "panel", numbers["n"]), StrategyColours(["a", "b"]))
    by_panel = {name: [(row["bin"], row["value"]) for row in rows if row["panel"] == name] for name in "ab"}
    assert by_panel["a"] == [("0", 1), ("1", 0), ("2", 0), ("3–4", 0), ("5–8", 0), ("9–16", 2)]
    assert by_panel["b"] == [("0", 0), ("1", 0), ("2", 0), ("3–4", 1), ("5–8", 0), ("9–16", 0)]
    assert {row["text"] for row in rows} == {"1", "2", ""}


def test_hot_partitions(spark: SparkSession) -> None:
    def load(topic: str, partition: int, imbalance: float, heaviest: int) -> dict[str, object]:
        return {"client": "c", "topic": topic, "partition": partition, "records": 9, "imbalance": imbalance,
                "heaviest_keys": [(b"k", heaviest, 1)] if heaviest else []}  # fmt: skip

    told = table(spark, PARTITION_LOAD, [load("t", 0, 1.2, 3), load("t", 1, 0.8, 0), load("u", 0, 4.0, 9)])
    hottest = keys.hottest(told).collect()
    assert [(row["topic"], row["partition"], row["partitions"]) for row in hottest] == [("u", 0, 1), ("t", 0, 2)]
    assert bytes(hottest[1]["key"]["key"]) == b"k"
    of = keys.partitions_of(told, hottest[1]).collect()
    assert [(row["partition"], row["of_the_key"]) for row in of] == [(0, 3), (1, 0)]


def test_costs(spark: SparkSession) -> None:
    usual = {"strategy": "range", "partitions": 4, "events": 1, "rebalances": 2, "settled": True, "moved": 1,
             "moved_back": 0, "evicted": 0, "failed": 0, "storms": 0}  # fmt: skip
    rows = [
        usual | {"group_id": "a", "paused_ms": 4_000, "settle_ms": 10_000},
        usual | {"group_id": "b", "paused_ms": 12_000, "settle_ms": None, "settled": False},
        usual | {"group_id": "untouched", "events": 0, "rebalances": 0, "paused_ms": 0},
        usual | {"group_id": "none", "paused_ms": None, "error": "no assignor 'x'", "settled": None},
        usual | {"group_id": "c", "paused_ms": 0, "failed": 1, "failure": "m1 failed at 7 ms"},
    ]  # fmt: skip
    told = table(spark, COSTS, rows)
    row = rollouts.by_strategy(told).first()
    assert row is not None
    assert (row["groups"], row["rebalances"], row["unsettled"], row["failed"]) == (3, 6, 1, 1)
    assert row["paused"].asDict() == {"mean": 4_000 / 3, "p50": 1_000.0, "p90": 2_600.0, "p99": 2_960.0, "max": 3_000.0}
    assert (row["settle"]["p50"], row["settle"]["max"]) == (10_000.0, 10_000.0)
    assert [row["group_id"] for row in rollouts.costliest(told).orderBy("rank").collect()] == ["b", "a", "c"]
    assert sorted(row["kind"] for row in rollouts.problems(told).collect()) == [
        "does not settle", "fails: m1 failed at … ms", "is not simulated: no assignor …",
    ]  # fmt: skip


def test_rejects_are_counted_by_kind(spark: SparkSession) -> None:
    rows = [
        {"table": "members", "row": "x" * 9_000, "reason": "member_id 'a' is given 2 times"},
        {"table": "members", "row": "y", "reason": "member_id 'b' is given 3 times"},
        {"table": "topics", "row": "z", "reason": "partitions is null"},
    ]
    found = records.reject_kinds(table(spark, REJECTS, rows)).collect()
    assert [(row["table"], row["kind"], row["rows"]) for row in found] == [
        ("members", "member_id … is given … times", 2),
        ("topics", "partitions is null", 1),
    ]
    assert found[0]["example"]["row"] == "x" * records.SHOWN_CHARACTERS


STEP = Row("at_ms", "what", "member_id", "detail", "state", "partitions")


def test_a_course() -> None:
    """A member that gives up all it has waits; one that keeps some does not; what is lost while it is down is lost."""
    rows = [
        STEP(0, "ASSIGNED", "a", None, "Empty", 3),
        STEP(0, "ASSIGNED", "b", None, "Empty", 3),
        STEP(10, "EVENT", "b", "crash", "Stable", None),
        STEP(10, "STOPPED", "b", None, "Stable", None),
        STEP(20, "STATE", None, "x", "PreparingRebalance", None),
        STEP(20, "LOST", "b", None, "PreparingRebalance", 3),
        STEP(21, "REVOKED", "a", None, "PreparingRebalance", 1),
        STEP(22, "REVOKED", "a", None, "PreparingRebalance", 2),
        STEP(25, "STATE", None, "x", "CompletingRebalance", None),
        STEP(30, "STATE", None, "x", "Stable", None),
        STEP(31, "ASSIGNED", "a", None, "Stable", 6),
    ]
    told = course(rows, 40)
    assert told.spans == [
        (None, 0, 20, STABLE),
        (None, 20, 30, REBALANCES),
        (None, 30, 40, STABLE),
        ("a", 0, 22, CONSUMES),
        ("a", 22, 31, WAITS),
        ("a", 31, 40, CONSUMES),
        ("b", 0, 10, CONSUMES),
        ("b", 10, 40, DOWN),
    ]
    assert told.moments == [("b", 10, "crash")]
    assert told.rebalances == 1


def test_colours_are_those_of_a_strategy_wherever_it_stands() -> None:
    some, more = StrategyColours(["range", "mine"]), StrategyColours(["range", "mine", "sticky"])
    assert some["mine"] == more["mine"]
    assert some["range"] == more["range"] == PLACEHOLDERS["range"]
    assert len({more[name] for name in ("range", "mine", "sticky")}) == 3


def test_no_placeholder_is_the_beginning_of_another() -> None:
    assert len(set(PLACEHOLDERS.values())) == len(PLACEHOLDERS)
    assert {len(value) for value in PLACEHOLDERS.values()} == {7}


@pytest.fixture
def chart() -> Chart:
    return Chart("c", "title", "told", {}, {}, Table("data", (), ()))


def test_what_runs_say_alike_is_told_once(chart: Chart) -> None:
    parts = same_told_once([Part(("a",), (chart,)), Part(("b",), ("else",)), Part(("c",), (chart,))])
    assert [part.runs for part in parts] == [("a", "c"), ("b",)]


def test_charts_are_numbered(chart: Chart) -> None:
    (section,) = numbered([Section("s", "S", "", (Part(("a",), (chart, "text")), Part(("b",), (chart,))))])
    names = [block.name for part in section.parts for block in part.blocks if isinstance(block, Chart)]
    assert names == ["c", "c-2"]
