"""On which assumed latencies the best setting of a rollout depends."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from rebalance_sim import audit
from rebalance_sim.engine.audit.changes import change_of
from rebalance_sim.engine.audit.turning_points import Choices, turns_in_words
from rebalance_sim.engine.simulation.pays import Pays
from rebalance_sim.kafka.clients.library import ASSIGNORS, INSTANCE_ID
from rebalance_sim.kafka.simulation.latencies import BY_SETTING

ASSUMED = {"revoke_ms": 0, "start_ms": 1000, "poll_interval_ms": 100, "network_ms": 1}
PAYS = Pays(1000, 0.2)
COSTS = {"unowned_ms": 40_000, "partitions": 10}
"""Each partition is unavailable for 4 s."""


def row(setting: str, value: str, saved_ms: int, **at_longest: tuple[int, int]) -> Mapping[str, Any]:
    """Return a row of ``advice``; ``at_longest`` has the downtime with the setting and what it saves, by latency."""
    ends = [
        {"latency": name, "longest_ms": BY_SETTING[name].longest_ms, "unowned_ms": unowned_ms}
        | {"unowned_ms_saved": saved, "fails": False}
        for name, (unowned_ms, saved) in at_longest.items()
    ]
    unowned_ms = COSTS["unowned_ms"] - saved_ms
    return {"setting": setting, "value": value, "unowned_ms": unowned_ms, "unowned_ms_saved": saved_ms,
            "fails": False, "at_longest": ends}  # fmt: skip


def words(rows: Sequence[Mapping[str, Any]]) -> tuple[str | None, str]:
    """Return the best setting, and where another one is better."""
    found = Choices(COSTS, rows, PAYS, ASSUMED)
    best = None if found.best is None else change_of(found.best)
    return best, turns_in_words(found.turning_points(), ASSUMED, found.best)


def test_a_setting_that_does_not_pay_as_assumed_pays_from_where_it_saves_enough() -> None:
    cooperative = row(ASSIGNORS, "cooperative-sticky", 0, revoke_ms=(160_000, 80_000))
    best, turns = words([cooperative])
    assert best is None
    # It saves 0 s of 40 s as assumed, and 80 s of 240 s at the end: 80 x >= 0.2 * (40 + 200 x) from x = 0.2 on.
    assert turns == "cooperative-sticky pays off if revoking partitions takes over about 400 ms (0 ms assumed)"


def test_the_best_setting_depends_on_the_start_of_processes() -> None:
    # Static members wait for their restart: they save 20 s as assumed, and cost 80 s if a process starts within 30 s.
    static = row(INSTANCE_ID, "one per consumer", 20_000, start_ms=(120_000, -80_000))
    cooperative = row(ASSIGNORS, "cooperative-sticky", 16_000, start_ms=(24_000, 16_000))
    best, turns = words([static, cooperative])
    assert best == "group.instance.id=one per consumer"
    # Static members save 1 s per partition up to 20 - 100 x = 10, at 1 s + 0.1 * 29 s.
    assert turns == "cooperative-sticky saves more if starting a process takes over about 3.9 s (1.0 s assumed)"


def test_a_choice_holds_if_another_setting_is_only_slightly_better() -> None:
    static = row(INSTANCE_ID, "one per consumer", 20_000, start_ms=(25_000, 15_000))
    cooperative = row(ASSIGNORS, "cooperative-sticky", 16_000, start_ms=(22_000, 18_000))
    best, turns = words([static, cooperative])
    assert (best, turns) == ("group.instance.id=one per consumer", "")


def test_a_setting_that_stops_paying_is_not_the_choice_there() -> None:
    static = row(INSTANCE_ID, "one per consumer", 20_000, start_ms=(39_000, 1_000))
    assert words([static])[1].startswith("no setting pays off if starting a process takes over about 16 s")


def test_heartbeats_at_other_times_have_no_threshold() -> None:
    cooperative = row(ASSIGNORS, "cooperative-sticky", 0, network_ms=(20_000, 20_000))
    found = Choices(COSTS, [cooperative], PAYS, ASSUMED)
    assert [point.at_ms for point in found.turning_points()] == [None]
    assert "requests take up to 20 ms, or heartbeats happen at other times" in words([cooperative])[1]


def test_settings_that_were_not_varied_have_no_turning_points() -> None:
    untried = {**row(ASSIGNORS, "cooperative-sticky", 20_000), "at_longest": None}
    found = Choices(COSTS, [untried], PAYS, ASSUMED)
    assert not found.ranges_tried
    assert found.turning_points() == []


GROUPS = 24


@pytest.fixture(scope="module")
def fleet(spark: SparkSession) -> tuple[DataFrame, DataFrame]:
    """Return the members and topics of groups of three consumers under range."""
    members = [(f"g{group}", f"c{member}", ["range"], ["t"], member) for group in range(GROUPS) for member in range(3)]
    schema = "group_id string, member_id string, protocols array<string>, subscription array<string>, join_order int"
    return spark.createDataFrame(members, schema), spark.createDataFrame([("t", 12)], "topic string, partitions int")


def chosen(members: DataFrame, topics: DataFrame) -> dict[str, tuple[str | None, Mapping[str, int] | None]]:
    rows = audit(members, topics).verdicts.select("group_id", "rollout_setting", "rollout_turns").collect()
    return {row["group_id"]: (row["rollout_setting"], row["rollout_turns"]) for row in rows}


def test_the_choice_turns_where_it_is_said_to(fleet: tuple[DataFrame, DataFrame]) -> None:
    members, topics = fleet
    turns = {group: found["revoke_ms"] for group, (_, found) in chosen(members, topics).items() if found}
    assert len(turns) == GROUPS
    threshold = F.create_map(*(F.lit(part) for each in turns.items() for part in each))[F.col("group_id")]
    for factor, pays in ((0.6, False), (1.5, True)):
        known = members.withColumn("revoke_ms", (threshold * factor).cast("long"))
        paying = [group for group, (setting, _) in chosen(known, topics).items() if setting is not None]
        # A simulated rollout depends on when heartbeats happen, and so does the threshold.
        assert (len(paying) >= 0.9 * GROUPS) if pays else (len(paying) <= 0.1 * GROUPS)


def test_what_the_members_table_has_is_not_varied(fleet: tuple[DataFrame, DataFrame]) -> None:
    members, topics = fleet
    known = members.withColumn("revoke_ms", F.lit(100).cast("long"))
    assert not any("revoke_ms" in (found or {}) for _, found in chosen(known, topics).values())
