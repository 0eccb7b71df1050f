"""Simulated share groups (KIP-932) as rows of the output tables."""

from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from rebalance_sim.api.simulation import simulate
from rebalance_sim.kafka.simulation.scenario import Scenario, ScenarioStep, Selection
from rebalance_sim.tables import EVENTS, MEMBERS, TOPICS
from tests.support.rows import member, table

CONSUMERS, WORKERS = "consumers", "workers"
ONE = Selection(first=1)


def worker(name: str, *owned: int, **more: object) -> dict[str, object]:
    has = [{"topic": "jobs", "partition": number} for number in owned]
    given = {"protocol_type": "share", "owned": has, "generation": 7} | more
    return member(name, ["share-simple"], ["jobs"], group_id=WORKERS, **given)


FLEET = (
    worker("w1", 0, 3),
    worker("w2", 1, 2),
    member("c1", ["range"], ["jobs"], group_id=CONSUMERS),
    member("c2", ["range"], ["jobs"], group_id=CONSUMERS),
)


@pytest.fixture(scope="module")
def topics(spark: SparkSession) -> DataFrame:
    return table(spark, TOPICS, [{"topic": "jobs", "partitions": 4, "topic_id": "AAAAAAAAAAAAAAAAAAAAAQ"}])


def run(spark: SparkSession, topics: DataFrame, *steps: ScenarioStep, **options: Any) -> Any:
    scenario = Scenario("test", steps=steps)
    return simulate(table(spark, MEMBERS, list(FLEET)), topics, scenario, followed=[WORKERS], **options)


def of(rows: DataFrame, group: str = WORKERS) -> list[dict[str, Any]]:
    return [row.asDict(recursive=True) for row in rows.where(f"group_id = '{group}'").collect()]


def test_a_share_group_has_rows_beside_those_of_consumers(spark: SparkSession, topics: DataFrame) -> None:
    """A member leaves; the other one gets its partitions in its next heartbeat, at most 5 s later."""
    found = run(spark, topics, ScenarioStep("leave", at_ms=10_000, members=ONE))
    (costs,), (consumers,) = of(found.costs), of(found.costs, CONSUMERS)
    assert consumers["error"] is None
    assert (costs["error"], costs["consumers"], costs["partitions"], costs["events"]) == (None, 2, 4, 1)
    assert (costs["rebalances"], costs["completed"], costs["stable"], costs["moved"]) == (1, 1, True, 2)
    assert 0 < costs["max_unowned_ms"] <= 5000 + 20
    assert costs["downtimes"] == [{"unowned_ms": costs["max_unowned_ms"], "partitions": 2}]
    assert costs["unowned_ms"] == 2 * costs["max_unowned_ms"]
    (epoch,) = of(found.rebalances)
    shown = ("reason", "member_id", "generation", "protocol", "joined", "revoked", "moved")
    assert [epoch[name] for name in shown] == ["MEMBER_LEFT", "w1", 8, "share-simple", 1, 0, 2]
    assert 10_000 < epoch["from_ms"] <= epoch["joined_ms"] < epoch["to_ms"] == epoch["all_owned_ms"]
    assert costs["stable_ms"] == epoch["to_ms"] - 10_000
    (left,) = of(found.owned_partitions)
    assert (left["member_id"], [each["partition"] for each in left["partitions"]]) == ("w2", [0, 1, 2, 3])
    assert {row["partition"]: row["member_id"] for row in of(found.partition_costs)} == {0: "w2", 3: "w2"}
    kinds = [row["kind"] for row in of(found.timeline) if row["kind"] not in ("REQUEST", "ANSWER")]
    assert kinds == [*["ASSIGNED"] * 2, "EVENT", "LOST", "STOPPED", "STATE", "ASSIGNED", "STATE"]
    assert found.rejects.isEmpty()


def test_a_crashed_member_keeps_its_partitions_until_its_session_ends(spark: SparkSession, topics: DataFrame) -> None:
    found = run(spark, topics, ScenarioStep("crash", at_ms=10_000, members=ONE))
    (costs,), (epoch,) = of(found.costs), of(found.rebalances)
    assert (epoch["reason"], epoch["member_id"], epoch["evicted"], costs["evicted"]) == ("SESSION_EXPIRED", "w1", 1, 1)
    assert 40_000 <= costs["max_unowned_ms"] <= 50_100


def test_partitions_with_several_members_stay_available(spark: SparkSession, topics: DataFrame) -> None:
    """Eight consumers share four partitions in pairs: when one crashes, each partition still has a member."""
    rows = [worker(f"w{number}", number % 4) for number in range(8)]
    crash = Scenario("test", steps=(ScenarioStep("crash", at_ms=10_000, members=ONE),))
    found = simulate(table(spark, MEMBERS, rows), topics, crash)
    (costs,) = of(found.costs)
    assert (costs["rebalances"], costs["unowned_ms"], costs["downtimes"]) == (1, 0, [])


def test_members_join_restart_and_topics_grow(spark: SparkSession, topics: DataFrame) -> None:
    steps = (
        ScenarioStep("join", at_ms=10_000),
        ScenarioStep("restart", at_ms=30_000, members=ONE, down_ms=2000),
        ScenarioStep("grow", at_ms=60_000, add=2),
        ScenarioStep("subscribe", at_ms=90_000, members=ONE, subscription=("none",)),
    )
    found = run(spark, topics, *steps)
    reasons = [row["reason"] for row in of(found.rebalances)]
    grown = ["TOPICS_CHANGED", "TOPICS_CHANGED"]
    assert reasons == ["NEW_MEMBER", "MEMBER_LEFT", "NEW_MEMBER", *grown, "MEMBER_CHANGED"]
    owned = {row["member_id"]: len(row["partitions"]) for row in of(found.owned_partitions)}
    assert owned == {"w1": 0, "w2": 3, "new-1": 3}
    (costs,) = of(found.costs)
    assert (costs["consumers"], costs["partitions"], costs["stable"], costs["finished"]) == (3, 6, True, True)


def test_events_of_the_table_happen(spark: SparkSession, topics: DataFrame) -> None:
    events = table(
        spark,
        EVENTS,
        [{"group_id": WORKERS, "at_ms": 5000, "event": "leave", "member_id": name} for name in ("w2", "x")],
    )
    found = run(spark, topics, events=events)
    assert [row["member_id"] for row in of(found.rebalances)] == ["w2"]
    assert [row["table"] for row in of(found.rejects)] == ["events"]


@pytest.mark.parametrize(
    ("step", "options", "error"),
    [
        (ScenarioStep("move-coordinator", down_ms=1), {}, "event move-coordinator is not simulated for share groups"),
        (ScenarioStep("leave"), {"kafka_version": "3.9"}, "brokers before Kafka 4.0 have no share groups (KIP-932)"),
        (ScenarioStep("leave"), {"strategies": ["range"]}, "a share group (KIP-932) is assigned by share-simple"),
    ],
)
def test_what_is_not_simulated_is_an_error(
    spark: SparkSession, topics: DataFrame, step: ScenarioStep, options: dict[str, Any], error: str
) -> None:
    (costs,) = of(run(spark, topics, step, **options).costs)
    assert costs["error"].startswith(error)
    assert (costs["rebalances"], costs["stable"], costs["finished"]) == (None, None, None)


@pytest.mark.parametrize(("release", "epochs"), [("4.0", 1), ("4.1", 2), ("4.2", 2), ("4.3", 1)])
def test_share_groups_follow_the_rules_of_their_brokers(
    spark: SparkSession, topics: DataFrame, release: str, epochs: int
) -> None:
    """In 4.0 the other member has all partitions already; 4.1 and 4.2 raise the epoch once more."""
    found = run(spark, topics, ScenarioStep("leave", at_ms=10_000, members=ONE), kafka_version=release)
    (costs,) = of(found.costs)
    assert (costs["error"], costs["stable"], costs["rebalances"]) == (None, True, epochs)
    assert (costs["unowned_ms"] == 0) is (release == "4.0")


def test_the_same_seed_gives_the_same_rows(spark: SparkSession, topics: DataFrame) -> None:
    step = ScenarioStep("restart", at_ms=10_000, down_ms=500)
    first, again, other = (of(run(spark, topics, step, seed=seed).timeline) for seed in (1, 1, 2))
    assert first == again != other


@pytest.mark.parametrize(("scenario", "leaves"), [("deployment", True), ("stateful-set", False)])
def test_a_rollout_waits_for_new_pods(spark: SparkSession, topics: DataFrame, scenario: str, leaves: bool) -> None:
    rows = [worker(f"w{number}", number) for number in range(4)]
    found = simulate(table(spark, MEMBERS, rows), topics, scenario)
    (costs,) = of(found.costs)
    assert (costs["error"], costs["finished"], costs["failure"], costs["stable"]) == (None, True, None, True)
    epochs = of(found.rebalances)
    reasons = {row["reason"] for row in epochs}
    assert reasons == {"NEW_MEMBER", "MEMBER_LEFT"}
    waits = [row["at_ms"] for row in of(found.timeline) if row["detail"] == "pods-available"]
    assert len(waits) >= 2
    assert 10_000 <= waits[0] <= waits[-1]
    owners = {row["member_id"] for row in of(found.owned_partitions) if row["partitions"]}
    assert owners == ({f"new-{number}" for number in range(1, 5)} if leaves else {f"w{number}" for number in range(4)})


def test_a_bounce_waits_until_the_one_before_is_over(spark: SparkSession, topics: DataFrame) -> None:
    steps = (
        ScenarioStep("restart", at_ms=10_000, members=ONE, down_ms=3000),
        ScenarioStep("next-bounce"),
        ScenarioStep("restart", at_ms=1000, members=ONE, down_ms=3000),
    )
    found = run(spark, topics, *steps)
    (costs,) = of(found.costs)
    assert (costs["events"], costs["finished"], costs["stable"], costs["rebalances"]) == (2, True, True, 4)
    over, again = (
        [row["at_ms"] for row in of(found.timeline) if row["detail"] == detail] for detail in ("next-bounce", "restart")
    )
    second = of(found.rebalances)[1]
    assert [max(second["to_ms"], second["all_owned_ms"])] == over
    assert again == [10_000, over[0] + 1000]
