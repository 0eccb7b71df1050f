"""The aggregates that a page shows, computed from small tables."""

from typing import Any

import pytest
from pyspark.sql import Row, SparkSession

from rebalance_sim.report import balance, elections, keys, moves, records, rollouts
from rebalance_sim.report.bins import counted, filled
from rebalance_sim.report.colours import PLACEHOLDERS, StrategyColours
from rebalance_sim.report.lanes import DOWN, IDLE, OWNS, REBALANCES, STABLE
from rebalance_sim.report.page import Chart, Part, Section, Table, merge_equal_parts, number_charts
from rebalance_sim.report.timelines import Played, group_timeline, rollout
from rebalance_sim.tables import (
    ASSIGNMENTS,
    BALANCE,
    BOUNCES,
    COOPERATIVE_REBALANCES,
    COSTS,
    ELECTIONS,
    PARTITION_LOAD,
    REJECTS,
)
from tests.support.rows import given_rows, table


def test_elections_are_counted_by_protocol_and_by_reason(spark: SparkSession) -> None:
    rows = [
        {"group_id": "a", "members": 3, "protocol": "range", "tie": True},
        {"group_id": "b", "members": 5, "protocol": "range", "tie": True, "refused": [("m", "BAD"), ("n", "BAD")]},
        {"group_id": "c", "members": 1, "protocol": "sticky", "tie": False},
        {"group_id": "d", "members": 0, "error": "group 'd' has 0 members", "tie": False},
        {"group_id": "e", "members": 0, "error": "group 'e' has 0 members", "tie": False},
    ]
    rows_of = table(spark, ELECTIONS, rows)
    by_protocol = {row["protocol"]: (row["groups"], row["ties"]) for row in elections.by_protocol(rows_of).collect()}
    assert by_protocol == {"range": (2, 2), "sticky": (1, 0), None: (2, 0)}
    assert [(row["kind"], row["times"], row["group_id"]) for row in elections.errors(rows_of).collect()] == [
        ("a member: BAD", 2, "b"),
        ("group … has … members", 2, "d"),
    ]
    assert [row["group_id"] for row in elections.ties(rows_of).collect()] == ["b", "a"]


def test_balance_and_moves_are_aggregated_by_strategy(spark: SparkSession) -> None:
    usual = {"strategy": "range", "idle_members": 0, "unassigned": 0, "assigned_twice": 0, "not_subscribed": 0,
             "nonexistent": 0, "moved": 1, "kept": 2, "revoked": 3, "rebalances": 1}  # fmt: skip
    rows = [
        usual | {"group_id": "balanced", "min": 1, "max": 2},
        usual | {"group_id": "odd", "min": 0, "max": 6, "idle_members": 2, "assigned_twice": 1, "rebalances": 2},
        usual | {"group_id": "fails", "moved": None, "kept": None, "error": "assignor 'x' threw"},
        usual | {"group_id": "other", "strategy": "sticky", "min": 3, "max": 3},
    ]  # fmt: skip
    rows_of = table(spark, BALANCE, rows)
    ranges, sticky = balance.by_strategy(rows_of).collect()
    assert (ranges["groups"], ranges["balanced"], ranges["failed"], ranges["odd"], ranges["idle"]) == (2, 1, 1, 1, 2)
    assert (ranges["worst"]["group_id"], ranges["worst"]["spread"], ranges["mean_spread"]) == ("odd", 6, 3.5)
    assert (sticky["groups"], sticky["worst"]["spread"]) == (1, 0)
    assert [row["group_id"] for row in balance.worst_groups(rows_of).collect()] == ["odd"]
    assert [row["kind"] for row in balance.failures(rows_of).collect()] == ["assignor … threw"]
    assert [tuple(row) for row in moves.by_strategy(rows_of).collect()] == [
        ("range", 4, 2, 6, 1),
        ("sticky", 2, 1, 3, 0),
    ]
    of_share_group = usual | {"group_id": "share", "strategy": "share-simple", "min_sharing": 1, "max_sharing": 2}
    assert moves.by_strategy(table(spark, BALANCE, [of_share_group])).isEmpty()


def test_partitions_per_member_are_those_after_the_last_rebalance(spark: SparkSession) -> None:
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
    found = balance.partitions_per_member(table(spark, ASSIGNMENTS, first), table(spark, COOPERATIVE_REBALANCES, again))
    assert sorted(map(tuple, found.collect())) == [("cooperative-sticky", 1), ("range", 2)]


def test_histograms_have_empty_bins(spark: SparkSession) -> None:
    numbers = given_rows(spark, [("a", 0), ("a", 9), ("a", 16), ("b", 3), ("b", None)], "panel string, n int")
    rows = filled(counted(numbers, "panel", numbers["n"]), StrategyColours(["a", "b"]))
    by_panel = {name: [(row["bin"], row["value"]) for row in rows if row["panel"] == name] for name in "ab"}
    assert by_panel["a"] == [("0", 1), ("1", 0), ("2", 0), ("3–4", 0), ("5–8", 0), ("9–16", 2)]
    assert by_panel["b"] == [("0", 0), ("1", 0), ("2", 0), ("3–4", 1), ("5–8", 0), ("9–16", 0)]
    assert {row["text"] for row in rows} == {"1", "2", ""}


def test_the_hottest_partition_of_each_topic_comes_with_its_heaviest_key(spark: SparkSession) -> None:
    def load(topic: str, partition: int, imbalance: float, heaviest: int) -> dict[str, object]:
        return {"client": "c", "topic": topic, "partition": partition, "records": 9, "imbalance": imbalance,
                "heaviest_keys": [(b"k", heaviest, 1)] if heaviest else []}  # fmt: skip

    rows_of = table(spark, PARTITION_LOAD, [load("t", 0, 1.2, 3), load("t", 1, 0.8, 0), load("u", 0, 4.0, 9)])
    hottest = keys.hottest(rows_of).collect()
    assert [(row["topic"], row["partition"], row["partitions"]) for row in hottest] == [("u", 0, 1), ("t", 0, 2)]
    assert bytes(hottest[1]["key"]["key"]) == b"k"
    of = keys.partitions_of(rows_of, hottest[1]).collect()
    assert [(row["partition"], row["of_the_key"]) for row in of] == [(0, 3), (1, 0)]


def test_costs_are_aggregated_over_affected_groups(spark: SparkSession) -> None:
    usual = {"strategy": "range", "partitions": 4, "events": 1, "rebalances": 2, "stable": True, "moved": 1,
             "moved_back": 0, "evicted": 0, "failed": 0, "storms": 0}  # fmt: skip
    rows = [
        usual | {"group_id": "a", "unowned_ms": 4_000, "stable_ms": 10_000},
        usual | {"group_id": "b", "unowned_ms": 12_000, "stable_ms": None, "stable": False},
        usual | {"group_id": "unaffected", "events": 0, "rebalances": 0, "unowned_ms": 0},
        usual | {"group_id": "none", "unowned_ms": None, "error": "no assignor 'x'", "stable": None},
        usual | {"group_id": "c", "unowned_ms": 0, "failed": 1, "failure": "m1 failed at 7 ms", "stable_ms": 90_000},
    ]  # fmt: skip
    rows_of = table(spark, COSTS, rows)
    row = rollouts.by_strategy(rows_of).first()
    assert row is not None
    assert (row["groups"], row["rebalances"], row["unstable"], row["failed"], row["failing"]) == (3, 6, 1, 1, 1)
    assert row["unowned_each_ms"].asDict() == {
        "mean": 4_000 / 3,
        "p50": 1_000.0,
        "p90": 3_000.0,
        "p99": 3_000.0,
        "max": 3_000.0,
    }
    assert (row["stable_ms"]["p50"], row["stable_ms"]["max"]) == (10_000.0, 10_000.0)
    assert [row["group_id"] for row in rollouts.costliest(rows_of).orderBy("rank").collect()] == ["b", "a", "c"]
    assert sorted(row["kind"] for row in rollouts.problems(rows_of).collect()) == [
        "failed: m1 failed at … ms", "not simulated: no assignor …", "not stable",
    ]  # fmt: skip


def test_bounces_are_aggregated_one_by_one(spark: SparkSession) -> None:
    usual = {"strategy": "range", "rebalances": 2, "unowned_ms": 3_000, "moved": 4, "failed": 0}
    rows = [
        usual | {"group_id": "a", "bounce": 1, "to_ms": 5_000},
        usual | {"group_id": "b", "bounce": 1, "to_ms": None, "failed": 1},
        usual | {"group_id": "a", "bounce": 2, "to_ms": 9_000},
    ]
    found = rollouts.bounces(table(spark, BOUNCES, rows)).collect()
    assert [tuple(row) for row in found] == [("range", 1, 2, 4, 6_000, 8, 1, 1), ("range", 2, 1, 2, 3_000, 4, 0, 0)]


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


STEP = Row("at_ms", "kind", "member_id", "detail", "state", "partitions")


def test_a_timeline_has_spans() -> None:
    """A member without partitions is idle, one that keeps some is not; losing partitions while down changes nothing."""
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
    timeline = group_timeline(rows, 40)
    assert {
        member: [(span.state, span.start, span.end) for span in spans] for member, spans in timeline.spans.items()
    } == {
        None: [(STABLE, 0, 20), (REBALANCES, 20, 30), (STABLE, 30, 40)],
        "a": [(OWNS, 0, 22), (IDLE, 22, 31), (OWNS, 31, 40)],
        "b": [(OWNS, 0, 10), (DOWN, 10, 40)],
    }


def test_settings_share_one_time_axis() -> None:
    """All lanes are drawn from the first event to the last step of any setting."""
    short = [STEP(1_000, "EVENT", "a", "restart", "Stable", None), STEP(1_000, "STOPPED", "a", None, "Stable", None)]
    long = [*short, STEP(9_000, "STARTED", "a", None, "Stable", None)]
    drawn = rollout("caption", "g", [Played("one", short, ""), Played("other", long, "")])
    assert [label for _, label in drawn.ticks] == ["2 s", "4 s", "6 s", "8 s"]
    down = [dict(lanes[1].paths)["down"] for lanes in (each.lanes for each in drawn.alternatives)]
    assert down == ["M24 0h976v10h-976z", "M24 0h952v10h-952z"]
    assert drawn.alternatives[1].lanes[1].text == "idle 0.2 s, down 8.0 s"


def test_a_strategy_has_the_same_colour_in_every_chart() -> None:
    some, more = StrategyColours(["range", "mine"]), StrategyColours(["range", "mine", "sticky"])
    assert some["mine"] == more["mine"]
    assert some["range"] == more["range"] == PLACEHOLDERS["range"]
    assert len({more[name] for name in ("range", "mine", "sticky")}) == 3


def test_no_placeholder_is_a_prefix_of_another() -> None:
    assert len(set(PLACEHOLDERS.values())) == len(PLACEHOLDERS)
    assert {len(value) for value in PLACEHOLDERS.values()} == {7}


@pytest.fixture
def chart() -> Chart:
    return Chart("c", "title", "description", {}, {}, Table("data", (), ()))


def test_equal_parts_of_several_runs_are_shown_once(chart: Chart) -> None:
    parts = merge_equal_parts([Part(("a",), (chart,)), Part(("b",), ("else",)), Part(("c",), (chart,))])
    assert [part.runs for part in parts] == [("a", "c"), ("b",)]


def test_charts_with_the_same_name_are_numbered(chart: Chart) -> None:
    (section,) = number_charts([Section("s", "S", "", (Part(("a",), (chart, "text")), Part(("b",), (chart,))))])
    names = [block.name for part in section.parts for block in part.blocks if isinstance(block, Chart)]
    assert names == ["c", "c-2"]
