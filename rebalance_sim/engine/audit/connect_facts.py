"""What an audit plays in Connect clusters: a rebalance now, and restarts of workers under several delays."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rebalance_sim.engine.connect.clusters import ConnectPlan
from rebalance_sim.engine.tables.inputs import usable
from rebalance_sim.engine.tables.outcomes import outcome
from rebalance_sim.kafka.brokers import Clusters
from rebalance_sim.kafka.simulation.latencies import with_range
from rebalance_sim.kafka.simulation.scenario import Scenario, ScenarioStep, Selection
from rebalance_sim.tables import (
    CONNECT_ADVICE,
    CONNECT_COSTS,
    CONNECT_REBALANCES,
    CONNECTORS,
    TASK_ASSIGNMENTS,
    WORKERS,
)

AFTER_REBALANCE = "connect_after_rebalance"
"""The rows of ``connect_costs`` if the workers rebalance now, and nothing else happens."""
AT_LONGEST = "connect_advice_at_longest"
"""The rows of ``connect_advice`` if workers take as long to start as they may; none if the scenario has no range."""
PLAYED = (CONNECT_COSTS.name, CONNECT_REBALANCES.name, TASK_ASSIGNMENTS.name, CONNECT_ADVICE.name)
"""Tables of the restarts, which an audit writes."""
FACTS_OF_CONNECT = {
    WORKERS.name: (
        *("member_id", "worker", "connectors", "tasks", "client_version", "max_delay_ms", "session_timeout_ms"),
        *("pending_delay_ms", "protocol"),
    ),
    CONNECTORS.name: ("connector", "tasks", "configured"),
    CONNECT_COSTS.name: (
        *("workers", "connectors", "tasks", "max_delay_ms", "rebalances", "downtime_ms", "longest_downtime_ms"),
        *("started", "moved", "unassigned", "error", "away_ms"),
    ),
    CONNECT_ADVICE.name: (*("max_delay_ms", "current", "downtime_ms", "longest_downtime_ms", "started", "unassigned"),),
    AFTER_REBALANCE: ("moved", "unassigned", "min_tasks", "max_tasks", "error"),
    AT_LONGEST: ("max_delay_ms", "current", "downtime_ms", "unassigned", "start_ms"),
}
"""Columns of the rows about Connect clusters that findings are about."""
_MOST_WORKERS = 2_000
WORKER_RESTART = "worker-restart"
"""The name of the scenario."""
_RESTARTS = Scenario(
    WORKER_RESTART,
    "Every worker but the leader is restarted, each long after the one before: the longest delay has ended then.",
    (ScenarioStep("restart", 10_000, Selection(places=tuple(range(1, _MOST_WORKERS))), 700_000, down_ms=5_000),),
)
"""Without the leader, because which worker leads after it is random, and remembers nothing of what is lost."""
_START = "start_ms"
Stage = Callable[[DataFrame, str], DataFrame]


@dataclass(frozen=True)
class ConnectInputs:
    """Workers and connectors of Connect clusters, fitted."""

    workers: DataFrame
    connectors: DataFrame
    are_configured: bool
    """Whether the connectors are those that are configured; otherwise they are those that run."""

    def played(self, restarts: Scenario, clusters: Clusters, seed: int, stage: Stage) -> dict[str, DataFrame]:
        """Return what is played, by name; ``stage`` keeps what is read several times."""
        given = (self.workers, self.connectors)
        of_restarts = stage(ConnectPlan(restarts, clusters, advice=True, seed=seed).rows(*given), "connect")
        rebalanced = ConnectPlan(None, clusters, advice=False, seed=seed).rows(*given)
        found = {name: of_restarts.transform(outcome(name)) for name in PLAYED}
        found[AFTER_REBALANCE] = rebalanced.transform(outcome(CONNECT_COSTS.name))
        longest_ms = next((of.longest_ms for of in with_range(restarts) if of.setting == _START), None)
        if longest_ms is not None:
            slow = replace(restarts, settings=replace(restarts.settings, start_ms=longest_ms))
            rows = ConnectPlan(slow, clusters, advice=True, seed=seed).rows(*given)
            found[AT_LONGEST] = rows.transform(outcome(CONNECT_ADVICE.name)).withColumn(_START, F.lit(longest_ms))
        return found

    def facts(self, played: Mapping[str, DataFrame], restarts: Scenario) -> dict[str, DataFrame]:
        """Return the rows with the columns of ``FACTS_OF_CONNECT``, and more."""
        away_ms = max(step.down_ms for step in restarts.steps) + restarts.settings.start_ms
        configured = usable(self.connectors).withColumn("configured", F.lit(self.are_configured))
        costs = played[CONNECT_COSTS.name].withColumn("away_ms", F.lit(away_ms))
        return {
            **{name: rows for name, rows in played.items() if name in FACTS_OF_CONNECT},
            WORKERS.name: usable(self.workers),
            CONNECTORS.name: configured,
            CONNECT_COSTS.name: costs,
        }


def restarts_of_workers(scenario: Scenario) -> Scenario:
    """Return the restarts that are played, with the settings of the scenario of groups of consumers."""
    return replace(_RESTARTS, settings=scenario.settings, given=scenario.given)
