"""Rollouts of Kubernetes, simulated: when pods start and stop, and what happens to their consumers."""

from typing import Any

import pytest
from pyspark.sql import SparkSession

from rebalance_sim.engine.groups.prediction import ELECTED
from rebalance_sim.engine.simulation.simulations import Simulations
from rebalance_sim.engine.tables.topic_metadata import TopicMetadata
from rebalance_sim.kafka.brokers import Clusters
from rebalance_sim.kafka.simulation.kubernetes import Deployment, Drain, PodTimes, Rollout, StatefulSet
from rebalance_sim.kafka.simulation.rollout_events import ROLLOUT_AT_MS
from rebalance_sim.kafka.simulation.scenario import Scenario
from rebalance_sim.kafka.simulation.settings import SimulationSettings
from rebalance_sim.tables import COSTS, OWNED_PARTITIONS, TIMELINE
from tests.support.rows import member, members, topics

Row = dict[str, Any]
OUTPUTS = (TIMELINE.name, COSTS.name, OWNED_PARTITIONS.name)
READY_MS = 20_000
IN_TIME = PodTimes(start_ms=3000)


def rolled_out(
    spark: SparkSession, rollout: Rollout, consumers: int, protocol: str = "range", partitions: int = 8, **settings: Any
) -> dict[str, list[Row]]:
    """Simulate a rollout of a group; return the rows of each table in order."""
    names = [f"c{place}" for place in range(consumers)]
    rows = members(spark, *[member(name, [protocol], ["t"]) for name in names])
    scenario = Scenario("s", settings=SimulationSettings(**{"ready_ms": READY_MS} | settings), rollout=rollout)
    metadata = TopicMetadata.of(topics(spark, t=partitions))
    simulations = Simulations(OUTPUTS, Clusters(), (ELECTED,), metadata, scenario, 1, None)
    found = [row.asDict(recursive=True) for row in simulations(rows).collect()]
    tables = {name: [row[name] for row in found if row[name]] for name in OUTPUTS}
    tables[TIMELINE.name].sort(key=lambda row: row["number"])
    return tables


def times(found: dict[str, list[Row]], event: str) -> list[tuple[str, int]]:
    """Return the consumers of an event, with the time from the beginning of the rollout."""
    rows = [row for row in found["timeline"] if (row["kind"], row["detail"]) == ("EVENT", event)]
    return [(row["member_id"], row["at_ms"] - ROLLOUT_AT_MS) for row in rows]


def test_a_rolling_update_goes_on_when_new_pods_are_available(spark: SparkSession) -> None:
    """4 replicas, one more and one fewer: 2 pods start at once, 2 when these are available, and so on."""
    found = rolled_out(spark, Rollout(Deployment(), IN_TIME), 4)
    wave_ms = IN_TIME.start_ms + READY_MS
    assert times(found, "join") == [
        ("new-1", 3000), ("new-2", 3000), ("new-3", wave_ms + 3000), ("new-4", wave_ms + 3000),
    ]  # fmt: skip
    assert times(found, "leave") == [("c0", 0), ("c1", wave_ms), ("c2", wave_ms), ("c3", 2 * wave_ms)]
    (costs,) = found["costs"]
    assert (costs["consumers"], costs["events"], costs["failed"], costs["finished"]) == (8, 8, 0, True)
    assert (costs["stable"], costs["failure"]) == (True, None)
    owned = {row["member_id"]: len(row["partitions"]) for row in found["owned_partitions"]}
    assert owned == dict.fromkeys(("new-1", "new-2", "new-3", "new-4"), 2)


def test_pods_of_several_consumers(spark: SparkSession) -> None:
    """4 consumers in 2 pods: a pod's consumers start and stop together."""
    found = rolled_out(spark, Rollout(Deployment(1, 0), IN_TIME, replicas=2), 4)
    wave_ms = IN_TIME.start_ms + READY_MS
    assert [at_ms for _, at_ms in times(found, "join")] == [3000, 3000, wave_ms + 3000, wave_ms + 3000]
    assert times(found, "leave") == [("c0", wave_ms), ("c1", wave_ms), ("c2", 2 * wave_ms), ("c3", 2 * wave_ms)]


def test_an_application_that_shuts_down_too_slowly_is_killed(spark: SparkSession) -> None:
    """Without LeaveGroup, the coordinator notices only when the session times out."""
    slow = PodTimes(start_ms=3000, shutdown_ms=40_000, grace_ms=30_000)
    found = rolled_out(spark, Rollout(Drain(1), slow), 2)
    assert (times(found, "leave"), times(found, "crash")) == ([], [("c0", 30_000)])
    (costs,) = found["costs"]
    assert (costs["evicted"], costs["finished"]) == (1, True)


def test_a_stateful_set_keeps_its_consumers(spark: SparkSession) -> None:
    found = rolled_out(spark, Rollout(StatefulSet(), IN_TIME), 3)
    wave_ms = IN_TIME.start_ms + READY_MS
    # A consumer closes in some milliseconds, before its pod is down.
    assert [name for name, _ in times(found, "restart")] == ["c2", "c1", "c0"]
    expected_ms = [wave * wave_ms for wave in range(3)]
    assert [at_ms for _, at_ms in times(found, "restart")] == pytest.approx(expected_ms, abs=50)
    assert {row["member_id"] for row in found["owned_partitions"]} == {"c0", "c1", "c2"}
    assert (found["costs"][0]["finished"], found["costs"][0]["failed"]) == (True, 0)


@pytest.mark.parametrize(("partitions", "finishes"), [(4, False), (8, True)])
def test_a_pod_that_is_ready_only_with_partitions_may_never_be(
    spark: SparkSession, partitions: int, finishes: bool
) -> None:
    """With as many members as partitions, the surge pod gets none until an old pod stops, which waits for the surge."""
    deployment = Rollout(Deployment(1, 0), IN_TIME)
    found = rolled_out(spark, deployment, 4, "cooperative-sticky", partitions, ready_when_assigned=True)
    (costs,) = found["costs"]
    assert (costs["finished"], costs["failed"], costs["stable"]) == (finishes, 0, True)
    if not finishes:
        why = "0 of 4 new consumers are available; 1 consumer is not ready, because it has no partitions"
        assert costs["failure"] == f"the rollout does not finish: {why}"
        assert times(found, "leave") == []


def test_a_budget_that_allows_no_disruption_blocks_a_drain(spark: SparkSession) -> None:
    (costs,) = rolled_out(spark, Rollout(Drain(2, min_available=3), IN_TIME), 3)["costs"]
    assert (costs["rebalances"], costs["finished"]) == (0, False)
    assert costs["failure"] == "the rollout does not finish: 0 of 2 new consumers are available"
