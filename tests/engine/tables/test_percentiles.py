"""The 99th percentile of values, of arrays and of counted values is the one that a sorted list has at its rank."""

from math import ceil

import numpy as np
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from rebalance_sim.engine.tables.percentiles import above_p99, p99, p99_of_counted, percentiles
from tests.support.rows import given_rows


def at_rank(values: list[int], percent: int) -> int:
    return sorted(values)[ceil(percent * len(values) / 100) - 1]


@pytest.mark.parametrize("count", [1, 2, 99, 100, 101, 199, 200, 701])
def test_the_value_at_its_rank(spark: SparkSession, count: int) -> None:
    values = [n * n % 997 for n in range(count)]
    rows = given_rows(spark, [(value,) for value in values], "value INT")
    (row,) = rows.agg(p99("value").alias("p99"), percentiles("value").alias("all"), F.collect_list("value")).collect()
    assert row["p99"] == at_rank(values, 99)
    assert row["all"].asDict() == {f"p{percent}": at_rank(values, percent) for percent in (50, 90, 99)}
    assert sorted(values, reverse=True)[above_p99(np.array([count]))[0]] == at_rank(values, 99)


@pytest.mark.parametrize("zeros", [0, 50, 800, 100_000])
def test_counted_values_are_the_highest_of_all(spark: SparkSession, zeros: int) -> None:
    counts = {7: 1, 5: 4, 9: 3}
    values = [value for value, times in counts.items() for _ in range(times)] + [0] * zeros
    rows = given_rows(spark, [(list(counts.items()), len(values))], "counts ARRAY<STRUCT<v: INT, n: INT>>, of INT")
    assert rows.select(p99_of_counted("counts", "v", "n", "of")).collect() == [(at_rank(values, 99),)]


def test_nulls_do_not_count_and_nothing_has_no_percentile(spark: SparkSession) -> None:
    rows = given_rows(spark, [(1,), (None,)], "value INT")
    assert rows.agg(p99("value")).collect() == [(1.0,)]
    assert rows.where("value IS NULL").agg(p99("value")).collect() == [(None,)]
    empty = given_rows(spark, [([], None), ([], 8)], "counts ARRAY<STRUCT<v: INT, n: INT>>, of INT")
    assert empty.select(p99_of_counted("counts", "v", "n", "of")).collect() == [(None,), (0,)]
