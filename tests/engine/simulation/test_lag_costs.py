"""The lag that waits in unowned partitions or moves, beside the costs of each partition."""

from collections import defaultdict
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from rebalance_sim import simulate
from rebalance_sim.engine.tables.outcomes import Outcomes
from rebalance_sim.tables import LAG_COSTS, OFFSETS, PARTITION_COSTS, TOPICS
from tests.support.rows import member, members, table, topics

GROUPS = {f"g{number}": number for number in range(9)}
PARTITIONS = {"t": 30, "u": 5, "v": 3}
Row = dict[str, Any]


def lag_of(group: str, topic: str, partition: int) -> int:
    """A different lag for each partition, and none for every fourth."""
    return (GROUPS[group] + 1) * (7 * partition + 100 * len(PARTITIONS) * ord(topic)) % 331 * (partition % 4)


@pytest.fixture(scope="module")
def offsets(spark: SparkSession) -> DataFrame:
    """The lag of some partitions that exist, of one that does not, of another topic and of an unknown group."""
    rows = [
        {"group_id": group, "topic": topic, "partition": partition, "committed": 50, "end": 50 + lag}
        for group in GROUPS
        for topic, count in PARTITIONS.items()
        for partition in range(count)
        for lag in [lag_of(group, topic, partition)]
    ]
    partition: Row = {"partition": 1, "committed": 0, "end": 1000}
    rows += [partition | {"group_id": "g1", "topic": "w"}, partition | {"group_id": "unknown", "topic": "t"}]
    rows.append({"group_id": "g2", "topic": "v", "partition": 3, "committed": 0, "end": 77})
    # Twice 2 ** 62 records are more than a number of 64 bits can hold.
    rows += [{"group_id": "much", "topic": "t", "partition": n, "committed": 0, "end": 2**62} for n in (0, 1)]
    return table(spark, OFFSETS, rows).cache()


@pytest.fixture(scope="module")
def simulated(spark: SparkSession, offsets: DataFrame) -> Outcomes:
    """Members of all groups leave; the clusters have topics of the same names."""
    rows = [
        member(f"{group}-{number}", [protocol], ["t", "u", "v"][: 1 + place % 3], group_id=group, cluster=cluster)
        for place, group in enumerate([*GROUPS, "much"])
        for number in range(3)
        for protocol in [("range", "cooperative-sticky", "sticky")[place % 3]]
        for cluster in (("default", "other") if place < 2 else ("default",))
    ]
    other: Row = {"cluster": "other", "topic": "t", "partitions": 2}
    known = topics(spark, **PARTITIONS).union(table(spark, TOPICS, [other]))
    tables = (PARTITION_COSTS.name, LAG_COSTS.name)
    return simulate(members(spark, *rows), known, "leave", offsets=offsets, tables=tables)


def expected(offsets: list[Any], costs: list[Any]) -> dict[str, Row]:
    """The rows of ``lag_costs`` without ranks, partition by partition."""
    lags: dict[str, dict[tuple[str, int], int]] = defaultdict(dict)
    for row in offsets:
        if row["end"] > row["committed"]:
            lags[row["group_id"]][row["topic"], row["partition"]] = row["end"] - row["committed"]
    found: dict[str, Row] = {}
    for group in {row["group_id"] for row in costs if row["cluster"] == "default"}:
        of_group = [row for row in costs if (row["cluster"], row["group_id"]) == ("default", group)]
        with_lag = [(lags[group].get((row["topic"], row["partition"])), row) for row in of_group]
        affected = [(lag, row) for lag, row in with_lag if lag]
        waiting = [(lag, row["unowned_ms"], row) for lag, row in affected if row["unowned_ms"]]
        total = sum(lags[group].values())
        waits = sorted((ms for lag, ms, _ in waiting for _ in range(lag)), reverse=True) if total < 2**62 else []
        if affected:
            found[group] = {
                "lag_partitions": len(lags[group]),
                "lag": total,
                "unowned_lag_partitions": len(waiting),
                "unowned_lag": sum(lag for lag, _, _ in waiting),
                "moved_lag": sum(lag for lag, row in affected if row["moved"]),
                "max_unowned_ms": max((ms for _, ms, _ in waiting), default=0),
                "unowned_record_ms": sum(lag * ms for lag, ms, _ in waiting),
                "delay_ms": sum(lag * ms for lag, ms, _ in waiting) / total,
                "p99_delay_ms": waits[total // 100] if total // 100 < len(waits) else 0,
                "delays": sorted(((ms, lag) for lag, ms, _ in waiting), reverse=True),
                "worst": max((lag * ms, lag, ms) for lag, ms, _ in waiting) if waiting else None,
            }
    return found


def test_lag_costs_are_those_of_the_partitions(simulated: Outcomes, offsets: DataFrame) -> None:
    """Partitions without lag do not count, nor do those that stay owned and do not move."""
    costs = simulated.lag_costs
    assert costs.dtypes == [(column.name, column.type.simpleString()) for column in LAG_COSTS.columns]
    rows = {row["group_id"]: row.asDict(recursive=True) for row in costs.collect()}
    by_hand = expected(offsets.collect(), simulated.partition_costs.collect())
    assert set(rows) == set(by_hand) == {*GROUPS, "much"}
    assert any(row["unowned_lag"] < row["lag"] for row in by_hand.values())
    for group in GROUPS:
        found, wanted = rows[group], by_hand[group]
        worst = found["worst_partition"]
        lag = lag_of(group, worst["topic"], worst["partition"])
        found["worst"] = (lag * found["worst_unowned_ms"], found["worst_lag"], found["worst_unowned_ms"])
        found["delays"] = [(delay["unowned_ms"], delay["records"]) for delay in found["delays"]]
        assert {name: found[name] for name in wanted} == wanted


def test_sums_that_do_not_fit_are_unknown(simulated: Outcomes) -> None:
    """The group whose sum is too large to be known is the first."""
    (much,) = simulated.lag_costs.where("rank = 1").collect()
    assert (much["group_id"], much["lag_partitions"], much["unowned_lag_partitions"]) == ("much", 2, 2)
    too_large = ("lag", "unowned_lag", "unowned_record_ms", "delay_ms", "p99_delay_ms")
    assert [much[name] for name in too_large] == [None] * len(too_large)


def test_ranks_begin_with_the_most_record_milliseconds(simulated: Outcomes) -> None:
    rows = simulated.lag_costs.orderBy("rank").collect()[1:]
    assert [row["unowned_record_ms"] for row in rows] == sorted(
        (row["unowned_record_ms"] for row in rows), reverse=True
    )
