"""Measures the downtime of rolling restarts on a broker, on both sides of the turning points that are predicted.

A turning point is the value of a latency from which on a setting pays, or no longer does.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from rebalance_sim import simulate
from rebalance_sim.engine.audit.turning_points import Choices
from rebalance_sim.engine.simulation.pays import Pays
from rebalance_sim.kafka.clients.library import ASSIGNORS, INSTANCE_ID
from rebalance_sim.kafka.simulation.latencies import assumed_latencies
from rebalance_sim.kafka.simulation.scenario import Scenario, ScenarioStep
from rebalance_sim.kafka.simulation.settings import SimulationSettings
from tests.support.cluster.broker import running
from tests.support.cluster.clients import JavaConsumers
from tests.support.cluster.fleet import COOPERATIVE, RANGE, Client
from tests.support.cluster.timed_groups import TimedGroup, now_ms, to_each, wait_until_balanced

KAFKA_VERSION = "4.3.1"
TOPIC, PARTITIONS, MEMBERS = "orders", 12, 3
GROUPS, SIMULATED_GROUPS = 3, 20
"""Groups of each kind on each side, and those of which a threshold is the median."""
SESSION_TIMEOUT_MS, HEARTBEAT_MS = 45_000, 3000
EVERY_MS, START_MS, CLOSE_MS = 20_000, 300, 100
"""From one restart to the next; what starting and closing a consumer takes in a running process."""
PAYS = Pays(downtime_ms=500, share=0.2)
BELOW, ABOVE = 0.3, 2.5
"""Multiples of a threshold, far enough from it for the heartbeats of a few groups."""


@dataclass(frozen=True)
class Case:
    """A setting whose worth depends on a latency."""

    latency: str
    setting: str
    value: str
    down_ms: int
    """From the end of a close to the start of the process."""


CASES = (Case("revoke_ms", ASSIGNORS, COOPERATIVE, 2000), Case("start_ms", INSTANCE_ID, "one per consumer", 0))


def threshold_ms(spark: SparkSession, case: Case) -> int:
    """Return the latency from which on the setting pays, or no longer pays, as an audit finds it: the median."""
    settings = SimulationSettings(
        heartbeat_interval_ms=HEARTBEAT_MS, poll_interval_ms=1, start_ms=START_MS, enable_auto_commit=False
    )
    restart = ScenarioStep("restart", at_ms=EVERY_MS, every_ms=EVERY_MS, down_ms=CLOSE_MS + case.down_ms)
    scenario = Scenario("rolling restart", steps=(restart,), settings=settings)
    names = ("group_id", "member_id", "protocols", "subscription", "session_timeout_ms")
    rows = [
        (f"g{group}", f"c{place}", [RANGE], [TOPIC], SESSION_TIMEOUT_MS)
        for group in range(SIMULATED_GROUPS)
        for place in range(MEMBERS)
    ]
    topics = spark.createDataFrame([(TOPIC, PARTITIONS)], "topic string, partitions int")
    found = simulate(spark.createDataFrame(rows, names), topics, scenario, advice=True)
    costs = {row["group_id"]: row.asDict() for row in found.costs.collect()}
    thresholds = [
        point.at_ms
        for row in found.advice.collect()
        if (row["setting"], row["value"]) == (case.setting, case.value)
        for point in Choices(
            costs[row["group_id"]], [row.asDict(recursive=True)], PAYS, assumed_latencies(scenario)
        ).turning_points()
        if point.latency.setting == case.latency and point.at_ms is not None
    ]
    assert len(thresholds) > SIMULATED_GROUPS / 2
    return round(statistics.median(thresholds))


@dataclass
class _Measured:
    """Groups of one kind on one side of a threshold."""

    case: Case
    latency_ms: int
    changed: bool
    """Whether they have the setting."""
    groups: Sequence[TimedGroup]

    @property
    def down_ms(self) -> int:
        """From the end of a close to the start of the consumer."""
        return self.case.down_ms + (max(self.latency_ms - START_MS, 0) if self.case.latency == "start_ms" else 0)


def measure(directory: Path, thresholds: Mapping[Case, int]) -> dict[tuple[Case, float, bool], float]:
    """Restart all consumers of groups with and without each setting, on both sides of its threshold.

    Returns the mean downtime of a group in partition-milliseconds by case, multiple of the threshold, and whether the
    group has the setting.
    """
    with ExitStack() as stack:
        started = stack.enter_context(running(KAFKA_VERSION, directory, settings={}))
        servers = started.bootstrap_servers
        consumers = stack.enter_context(JavaConsumers(KAFKA_VERSION, servers, directory / "consumers.log"))
        started.create_topics({TOPIC: PARTITIONS})
        kinds = {
            (case, side, changed): _kind(case, round(side * at_ms), changed, consumers)
            for case, at_ms in thresholds.items()
            for side in (BELOW, ABOVE)
            for changed in (False, True)
        }
        down_ms = {group.group_id: kind.down_ms for kind in kinds.values() for group in kind.groups}
        groups = [group for kind in kinds.values() for group in kind.groups]
        to_each(groups, TimedGroup.start_all)
        wait_until_balanced(groups)
        began_ms = now_ms()
        to_each(groups, lambda group: group.restart_all(down_ms[group.group_id], EVERY_MS), HEARTBEAT_MS)
        wait_until_balanced(groups)
        return {
            key: statistics.mean(group.unowned_ms(began_ms) for group in kind.groups) for key, kind in kinds.items()
        }


def _kind(case: Case, latency_ms: int, changed: bool, consumers: JavaConsumers) -> _Measured:
    static = changed and case.setting == INSTANCE_ID
    protocol = case.value if changed and case.setting == ASSIGNORS else RANGE
    settings = {"session.timeout.ms": str(SESSION_TIMEOUT_MS), "heartbeat.interval.ms": str(HEARTBEAT_MS)}
    if case.latency == "revoke_ms":
        settings["revoke.ms"] = str(latency_ms)
    groups = []
    for number in range(GROUPS):
        group = f"{case.latency}-{latency_ms}-{'changed' if changed else 'usual'}-{number}"
        clients = [
            Client(group, f"{group}-{place}", (protocol,), (TOPIC,), instance_id=f"{group}-{place}" if static else "",
                   commit="never")
            for place in range(MEMBERS)
        ]  # fmt: skip
        groups.append(TimedGroup(clients, settings, PARTITIONS, MEMBERS, consumers, consumers))
    return _Measured(case, latency_ms, changed, groups)
