"""Rows that stay in the driver are those that Spark would return."""

import os
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import ArrayType, MapType

from rebalance_sim.engine.groups.whole_groups import by_group, nested_groups
from rebalance_sim.engine.spark.driver_rows import (
    KEEPS_ROWS,
    DriverRows,
    collected,
    in_driver,
    map_batches,
    once,
    where_in,
    where_null,
)
from rebalance_sim.engine.tables.inputs import fit, rejected, usable
from rebalance_sim.engine.tables.outcomes import outcome
from rebalance_sim.tables import LONG, MEMBERS, STRING, struct
from tests.support.rows import arrow_rows, given_rows, table
from tests.support.spark_settings import set_for_a_while

SCHEMA = struct(
    {
        "name": STRING,
        "votes": MapType(STRING, LONG),
        "owned": ArrayType(struct({"topic": STRING})),
        "cost": struct({"ms": LONG}),
    }
)
ROWS = [
    ("b", {"sticky": 2, "range": 1}, [{"topic": "t"}], {"ms": 3}),
    (None, None, None, None),
    ("a", {}, [], {"ms": None}),
]


def both(spark: SparkSession, rows: Sequence[tuple[object, ...]]) -> tuple[DriverRows, DataFrame]:
    """Return rows in the driver, and in Spark."""
    return DriverRows(spark, arrow_rows(rows, SCHEMA), SCHEMA), given_rows(spark, rows, SCHEMA)


@pytest.mark.parametrize("rows", [ROWS, []], ids=["rows", "none"])
@pytest.mark.parametrize(
    "change",
    [
        lambda rows: rows,
        lambda rows: rows.select("votes", "name"),
        lambda rows: rows.select(["name"]),
        lambda rows: rows.drop("owned", "cost"),
        lambda rows: where_null(rows, "name"),
        lambda rows: where_in(rows, "name", {"a", "c"}),
        lambda rows: where_in(rows, "name", []),
        lambda rows: where_in(rows, "name", ["a", *map(str, range(200))]),
        outcome("cost"),
        lambda rows: rows.where("name > 'a'").selectExpr("upper(name) AS upper", "votes"),
        lambda rows: rows.unionByName(rows),
    ],
    ids=["same", "select", "list", "drop", "null", "in", "in none", "in many", "field", "expression", "union"],
)
def test_each_operation_returns_what_spark_does(spark: SparkSession, rows: list, change) -> None:  # type: ignore[no-untyped-def,type-arg]
    driver, usual = map(change, both(spark, rows))
    assert driver.schema == usual.schema
    assert driver.collect() == usual.collect()
    assert driver.count() == usual.count()
    assert driver.toArrow().to_pylist() == usual.toArrow().to_pylist()


def test_maps_keep_the_order_in_which_they_were_written(spark: SparkSession) -> None:
    votes = {name: place for place, name in enumerate(["members", "min today", "max today", "moved", "delay", "p99"])}
    for rows in both(spark, [("a", votes, [], None)]):
        assert list(collected(rows)[0]["votes"].items()) == list(votes.items())


def test_any_session_applies_functions_to_rows_in_the_driver_there(spark: SparkSession) -> None:
    def of_this_process(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield pa.RecordBatch.from_arrays([pa.array([os.getpid()] * len(batch))], ["pid"])

    usual = spark.range(3)
    processes = [
        {row.pid for row in map_batches(rows, of_this_process, struct({"pid": LONG})).collect()}
        for rows in (in_driver(usual), usual)
    ]
    assert processes[0] == {os.getpid()} != processes[1]


def test_a_function_of_rows_in_the_driver_is_computed_once(spark: SparkSession) -> None:
    calls = []

    @once
    def upper(rows: DataFrame, name: str) -> DataFrame:
        calls.append(name)
        return rows.selectExpr(f"upper({name}) AS upper")

    driver, usual = both(spark, ROWS)
    with set_for_a_while(spark, {KEEPS_ROWS: "true"}):
        assert upper(driver, "name") is upper(driver, "name")
        assert isinstance(upper(driver, "name"), DriverRows)
    assert calls == ["name"]
    assert upper(usual, "name").collect() == upper(driver, "name").collect()


def test_members_are_brought_together_by_group_as_spark_does(spark: SparkSession) -> None:
    rows = [
        {"group_id": group, "member_id": member, "subscription": ["t"], "protocols": ["range"]}
        for group, member in [("b", "1"), ("a", "1"), ("b", None), ("", "1"), (None, "1"), ("b", "2"), ("c", "")]
    ]
    given = table(spark, MEMBERS, rows)
    with set_for_a_while(spark, {KEEPS_ROWS: "true"}):
        driver = fit(DriverRows(spark, given.toArrow(), MEMBERS.schema), MEMBERS)
    assert isinstance(driver, DriverRows)
    groups = []
    for members in (driver, fit(given, MEMBERS)):
        batches = by_group(members, ["member_id", "subscription"]).toArrow().to_batches()
        nested = nested_groups(batches, ["member_id", "subscription"])
        groups.append(sorted(pa.Table.from_batches(nested).to_pylist(), key=lambda group: group["group_id"]))
    assert groups[0] == groups[1]
    assert [(group["group_id"], len(group["members"]), group["rejected_members"]) for group in groups[0]] == [
        ("a", 1, 0), ("b", 2, 1), ("c", 0, 1)
    ]  # fmt: skip


def test_rows_that_can_and_cannot_be_used_are_those_of_spark(spark: SparkSession) -> None:
    for ids in (["1"], ["1", ""]):
        given = table(spark, MEMBERS, [{"group_id": "g", "member_id": each} for each in ids])
        with set_for_a_while(spark, {KEEPS_ROWS: "true"}):
            driver = fit(DriverRows(spark, given.toArrow(), MEMBERS.schema), MEMBERS)
            assert isinstance(rejected(driver, MEMBERS), DriverRows)
        assert usable(driver).collect() == usable(fit(given, MEMBERS)).collect()
        assert rejected(driver, MEMBERS).collect() == rejected(fit(given, MEMBERS), MEMBERS).collect()
