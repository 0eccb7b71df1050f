"""Simulated streams groups (KIP-1071) as rows of the output tables."""

from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from rebalance_sim.api.simulation import RunOptions, simulate
from rebalance_sim.api.streams import simulate_streams
from rebalance_sim.commands.validation.simulate import with_settings
from rebalance_sim.errors import UserError
from rebalance_sim.kafka.simulation.scenario import Overrides, Scenario, ScenarioStep, Selection
from rebalance_sim.sources.scenarios import scenario_of
from rebalance_sim.tables import STREAMS_MEMBERS, SUBTOPOLOGIES, TOPICS
from tests.support.rows import member, table
from tests.support.rows import members as members_table

ONE = Selection(first=1)
GROUP = "pricing"


def thread(name: str, process: str, *partitions: int, **more: object) -> dict[str, object]:
    active = [{"subtopology": "0", "partition": number} for number in partitions]
    return {"group_id": GROUP, "member_id": name, "process_id": process, "active": active} | more


def part(name: str, topic: str, *, stateful: bool = False) -> dict[str, object]:
    return {"group_id": GROUP, "subtopology": name, "topics": [topic], "stateful": stateful}


THREADS = (thread("a1", "pod-a", 0), thread("a2", "pod-a", 1), thread("b1", "pod-b", 2), thread("b2", "pod-b", 3))


def simulated(spark: SparkSession, *steps: ScenarioStep, **options: Any) -> Any:
    rows: dict[str, Any] = {"members": THREADS, "parts": [part("0", "orders")]} | options.pop("rows", {})
    topics = table(spark, TOPICS, [{"topic": "orders", "partitions": 4}])
    members, parts = table(spark, STREAMS_MEMBERS, [*rows["members"]]), table(spark, SUBTOPOLOGIES, [*rows["parts"]])
    return simulate_streams(members, parts, topics, Scenario("test", steps=steps), **options)


def of(rows: DataFrame) -> list[dict[str, Any]]:
    return [row.asDict(recursive=True) for row in rows.collect()]


LEAVE = ScenarioStep("leave", at_ms=10_000, members=ONE)


def test_a_process_leaves_with_all_its_threads(spark: SparkSession) -> None:
    found = simulated(spark, LEAVE)
    (costs,) = of(found.costs)
    assert (costs["error"], costs["consumers"], costs["partitions"], costs["events"]) == (None, 4, 4, 1)
    assert (costs["rebalances"], costs["stable"], costs["moved"], costs["rejected_members"]) == (2, True, 2, 0)
    assert 0 < costs["max_unowned_ms"] <= 5000 + 200
    epochs = sorted(of(found.rebalances), key=lambda epoch: epoch["rebalance"])
    shown = ("reason", "member_id", "generation", "protocol")
    seen = [tuple(epoch[name] for name in shown) for epoch in epochs]
    assert seen == [("MEMBER_LEFT", "a1", 2, "streams-sticky"), ("MEMBER_LEFT", "a2", 3, "streams-sticky")]
    owned = {
        row["member_id"]: sorted(task["partition"] for task in row["partitions"]) for row in of(found.owned_partitions)
    }
    assert sorted(owned) == ["b1", "b2"]
    assert sorted(owned["b1"] + owned["b2"]) == [0, 1, 2, 3]
    assert {(row["topic"], row["partition"]) for row in of(found.partition_costs)} == {("0", 0), ("0", 1)}
    states = {row["state"] for row in of(found.timeline)}
    assert states == {"Stable", "Assigning", "Reconciling"}


def test_a_new_process_has_as_many_threads_as_the_first(spark: SparkSession) -> None:
    found = simulated(spark, ScenarioStep("join", at_ms=10_000))
    owned = {row["member_id"]: len(row["partitions"]) for row in of(found.owned_partitions)}
    assert {"new-1-1", "new-1-2"} <= owned.keys()
    assert (of(found.costs)[0]["consumers"], sum(owned.values())) == (6, 4)


def test_rejected_members_are_counted(spark: SparkSession) -> None:
    bad = thread("c1", "pod-c") | {"process_id": None}
    found = simulated(spark, LEAVE, rows={"members": [*THREADS, bad]})
    assert of(found.costs)[0]["rejected_members"] == 1
    assert found.rejects.count() == 1


@pytest.mark.parametrize(
    ("rows", "options", "error"),
    [
        ({"members": [thread("a1", "pod-a", protocol="classic")]}, {}, "classic protocol is not simulated"),
        ({}, {"kafka_version": "4.1.0"}, "brokers since Kafka 4.2"),
        ({"parts": [part("0", "missing")]}, {}, "topic 'missing' is missing"),
        ({"parts": [part("0", "orders") | {"group_id": "other"}]}, {}, "its subtopologies are unknown"),
    ],
)
def test_a_group_that_cannot_be_simulated_has_an_error(
    spark: SparkSession, rows: dict[str, Any], options: dict[str, Any], error: str
) -> None:
    found = simulated(spark, LEAVE, rows=rows, **options)
    (costs,) = of(found.costs)
    assert error in costs["error"]
    assert costs["rebalances"] is None
    assert found.rebalances.isEmpty()


def test_events_of_subscriptions_are_not_simulated(spark: SparkSession) -> None:
    found = simulated(spark, ScenarioStep("subscribe", at_ms=10_000, members=ONE, subscription=("orders",)))
    assert of(found.costs)[0]["error"] == "event subscribe is not simulated for streams groups (KIP-1071)"


RESTART = ScenarioStep("restart", at_ms=10_000, members=ONE, down_ms=5000)
OLDER = "static members of streams groups exist since Kafka 4.4; the release of the brokers (--kafka-version) is older"
STATIC_THREADS = [each | {"instance_id": f"i-{each['member_id']}"} for each in THREADS]


@pytest.mark.parametrize(
    ("static", "members", "version", "expected"),
    [
        (None, STATIC_THREADS, "4.4.0", (None, 0)),
        (True, THREADS, "4.4.0", (None, 0)),
        (False, STATIC_THREADS, "4.4.0", (None, 4)),
        (None, THREADS, "4.4.0", (None, 4)),
        (True, THREADS, "4.3.0", (OLDER, None)),
    ],
)
def test_static_members_raise_no_epoch(
    spark: SparkSession,
    static: bool | None,
    members: list[dict[str, object]],
    version: str,
    expected: tuple[str | None, int | None],
) -> None:
    scenario = Scenario("test", steps=(RESTART,), consumers=Overrides(static=static))
    topics = table(spark, TOPICS, [{"topic": "orders", "partitions": 4}])
    inputs = (
        table(spark, STREAMS_MEMBERS, [*members]),
        table(spark, SUBTOPOLOGIES, [part("0", "orders", stateful=True)]),
    )
    (costs,) = of(simulate_streams(*inputs, topics, scenario, kafka_version=version).costs)
    assert (costs["error"], costs["rebalances"]) == expected


def test_the_static_rolling_restart_is_that_of_consumers(spark: SparkSession) -> None:
    topics = table(spark, TOPICS, [{"topic": "orders", "partitions": 4}])
    inputs = (
        table(spark, STREAMS_MEMBERS, [*THREADS]),
        table(spark, SUBTOPOLOGIES, [part("0", "orders", stateful=True)]),
    )
    (costs,) = of(simulate_streams(*inputs, topics, "rolling-restart-static", kafka_version="4.4.0").costs)
    assert (costs["error"], costs["events"], costs["rebalances"], costs["moved"]) == (None, 2, 0, 0)


def test_simulations_of_consumers_may_have_streams_groups_beside(spark: SparkSession) -> None:
    """Under their own assignor alone; classic applications are left out."""
    streams = [*THREADS, thread("x", "pod-x", 0, group_id="classic", protocol="classic")]
    topics = table(spark, TOPICS, [{"topic": "orders", "partitions": 4}])
    given: RunOptions = {
        "streams_members": table(spark, STREAMS_MEMBERS, streams),
        "subtopologies": table(spark, SUBTOPOLOGIES, [part("0", "orders")]),
        "seed": 4,
    }
    consumers = members_table(spark, member("c", ["range"], ["orders"]))
    strategies = ("elected", "roundrobin")
    found = simulate(consumers, topics, Scenario("test", steps=(LEAVE,)), strategies, **given)
    (expected,) = of(simulated(spark, LEAVE, seed=4).costs)
    costs = {(row["group_id"], row["strategy"]): row for row in of(found.costs)}
    assert costs.keys() == {("g", "elected"), ("g", "roundrobin"), (GROUP, "elected")}
    assert costs[GROUP, "elected"] == expected
    assert found.rejects.isEmpty()


def test_a_deployment_waits_forever_for_pods_without_tasks(spark: SparkSession) -> None:
    """A third process gets none of two tasks, and without any its pod is not ready, so that no old one stops."""
    members = [thread("a", "pod-a", 0), thread("b", "pod-b", 1)]
    topics = table(spark, TOPICS, [{"topic": "orders", "partitions": 2}])
    scenario = with_settings(scenario_of("deployment"), "ready_when_assigned=true")
    given = (table(spark, STREAMS_MEMBERS, members), table(spark, SUBTOPOLOGIES, [part("0", "orders")]), topics)
    (costs,) = of(simulate_streams(*given, scenario).costs)
    found = (costs["finished"], costs["failure"])
    assert found == (False, "the rollout does not finish: it waits for 1 available pod of processes with tasks")


def test_the_seed_alone_decides_the_times(spark: SparkSession) -> None:
    first, again, other = (of(simulated(spark, LEAVE, seed=seed).costs) for seed in (0, 0, 1))
    assert first == again != other


def test_an_unknown_scenario_is_named(spark: SparkSession) -> None:
    parts, topics = table(spark, SUBTOPOLOGIES, []), table(spark, TOPICS, [])
    with pytest.raises(UserError, match="no-such"):
        simulate_streams(table(spark, STREAMS_MEMBERS, []), parts, topics, "no-such")
