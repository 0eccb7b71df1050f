"""Simulates Connect clusters in Spark's workers, and returns the rows of the output tables."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import mmh3
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rebalance_sim.engine.connect.mirror_tasks import SourceClusters
from rebalance_sim.engine.groups.whole_groups import KEYS, collected, join_key
from rebalance_sim.engine.spark.driver_rows import map_batches
from rebalance_sim.engine.tables.arrow import arrow_type, as_outcome
from rebalance_sim.engine.tables.inputs import usable
from rebalance_sim.errors import UserError
from rebalance_sim.kafka.brokers import Brokers, Clusters
from rebalance_sim.kafka.connect.leader import DEFAULT_MAX_DELAY_MS
from rebalance_sim.kafka.connect.simulation import (
    SESSION_TIMEOUT_MS,
    ClusterEvent,
    ClusterSettings,
    ConnectCluster,
    WorkerRow,
)
from rebalance_sim.kafka.simulation.scenario import CONFIGURE, Scenario
from rebalance_sim.kafka.wire.connect_protocol import EAGER, ConnectorTaskId
from rebalance_sim.releases import ConnectRules, MirrorRules
from rebalance_sim.tables import (
    CONNECT_ADVICE,
    CONNECT_COSTS,
    CONNECT_REBALANCES,
    CONNECTORS,
    MIRROR_TASKS,
    TASK_ASSIGNMENTS,
    WORKERS,
    struct,
)

Rows = list[dict[str, Any]]
MAX_DELAYS_MS = (0, 10_000, 30_000, 60_000, 120_000, 300_000, 600_000)
"""Values of ``scheduled.rebalance.max.delay.ms`` that are tried."""
_TABLES = (CONNECT_COSTS, CONNECT_REBALANCES, TASK_ASSIGNMENTS, MIRROR_TASKS, CONNECT_ADVICE)
_SCHEMA = struct({table.name: table.schema for table in _TABLES})
_NO_WORKERS = "the cluster has connectors and no workers"


@dataclass(frozen=True)
class ConnectPlan:
    """What is played in every Connect cluster."""

    scenario: Scenario | None
    """None: one rebalance, which begins at once, and those that follow from it."""
    clusters: Clusters
    advice: bool
    seed: int
    source: SourceClusters | None = None
    """From which MirrorMaker 2 replicates; None: the tasks of its connectors are not predicted."""

    def rows(self, workers: DataFrame, connectors: DataFrame) -> DataFrame:
        """Return the rows of all tables, from fitted inputs."""
        return map_batches(_by_cluster(usable(workers), usable(connectors)), self._play_all, _SCHEMA)

    def _play_all(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            rows: dict[str, Rows] = {table.name: [] for table in _TABLES}
            for cluster in batch.to_pylist():
                for name, of_cluster in self._play(cluster).items():
                    rows[name] += [{key: cluster[key] for key in KEYS} | row for row in of_cluster]
            for table in _TABLES:
                if rows[table.name]:
                    yield as_outcome(table.name, pa.array(rows[table.name], arrow_type(table.schema)), _SCHEMA)

    def _play(self, row: dict[str, Any]) -> dict[str, Rows]:
        """Return the rows of a cluster by table, without its name."""
        if not row["workers"]:
            return {CONNECT_COSTS.name: [{"workers": 0, "error": _NO_WORKERS}]}
        try:
            setup = Setup.of(row, self.clusters.of(row["cluster"]))
        except UserError as problem:
            return {CONNECT_COSTS.name: [{"workers": len(row["workers"]), "error": str(problem)}]}
        played = setup.played(self.scenario, self._seed_of(row))
        tables = {
            CONNECT_COSTS.name: [_cost_row(setup, played)],
            CONNECT_REBALANCES.name: _rebalance_rows(played),
            TASK_ASSIGNMENTS.name: _assignment_rows(setup, played),
        }
        if self.source is not None:
            tables[MIRROR_TASKS.name] = self.source.task_rows(row["connectors"], played, setup.mirror)
        if self.advice:
            tables[CONNECT_ADVICE.name] = self._advice_rows(setup, self._seed_of(row))
        return tables

    def _seed_of(self, row: dict[str, Any]) -> int:
        return int(mmh3.hash(f"{row['cluster']}\0{row['group_id']}", self.seed & 0xFFFFFFFF, signed=False))

    def _advice_rows(self, setup: "Setup", seed: int) -> Rows:
        current = setup.settings.max_delay_ms
        rows = []
        for max_delay_ms in sorted({*MAX_DELAYS_MS, current}):
            played = setup.with_delay(max_delay_ms).played(self.scenario, seed)
            row = {"max_delay_ms": max_delay_ms, "current": max_delay_ms == current, **_downtime(played)}
            rows.append(row | {"unassigned": len(played.downtimes.down)})
        best = best_delay(rows)
        now = next(row["downtime_ms"] for row in rows if row["current"])
        start_ms = longest_start_ms(best, rows)
        return [
            row
            | {"saved_downtime_ms": now - row["downtime_ms"], "best": row is best}
            | {"best_up_to_start_ms": start_ms if row is best else None}
            for row in rows
        ]


def best_delay(rows: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return the row of ``connect_advice`` with the least downtime, if nothing is left unassigned."""
    return min(
        rows,
        key=lambda row: (
            row["unassigned"],
            row["downtime_ms"],
            row["started"],
            not row["current"],
            -row["max_delay_ms"],
        ),
    )


def longest_start_ms(best: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> int | None:
    """Return how long a start may take until a delay with fewer starts has less downtime; None if none can."""
    turning_points = [
        (row["downtime_ms"] - best["downtime_ms"]) // (best["started"] - row["started"])
        for row in rows
        if row["started"] < best["started"] and row["unassigned"] <= best["unassigned"]
    ]
    return min(turning_points, default=None)


@dataclass(frozen=True)
class Setup:
    """A cluster before the scenario."""

    workers: Sequence[WorkerRow]
    connectors: dict[str, int]
    settings: ClusterSettings
    mirror: MirrorRules

    @classmethod
    def of(cls, row: dict[str, Any], brokers: Brokers) -> "Setup":
        """Return the cluster of a row; the worker that joined first leads."""
        listed = sorted(row["workers"], key=join_key)
        first = listed[0]
        version = brokers.rules(first["client_version"])
        if version.connect is ConnectRules.EAGER and first["protocol"] != EAGER:
            raise UserError(
                f"protocol {first['protocol']!r} exists since Kafka 2.3; the workers are of an older release"
            )
        settings = ClusterSettings(
            version.connect,
            first["protocol"],
            version.coordinator_map,
            DEFAULT_MAX_DELAY_MS if first["max_delay_ms"] is None else first["max_delay_ms"],
            max((worker["pending_delay_ms"] or 0 for worker in listed), default=0),
        )
        connectors = {c["connector"]: c["tasks"] for c in row["connectors"]}
        return cls([_worker_of(worker) for worker in listed], connectors, settings, version.mirror)

    def with_delay(self, max_delay_ms: int) -> "Setup":
        """Return the same cluster with another ``scheduled.rebalance.max.delay.ms``."""
        return replace(self, settings=replace(self.settings, max_delay_ms=max_delay_ms))

    def played(self, scenario: Scenario | None, seed: int) -> ConnectCluster:
        """Return the cluster after a scenario."""
        if scenario is None:
            cluster = ConnectCluster(self.workers, self.connectors, self.settings, seed)
            cluster.play((), rebalance_first=True)
            return cluster
        times = scenario.settings
        settings = replace(self.settings, rejoin_ms=times.heartbeat_interval_ms, start_ms=times.start_ms)
        cluster = ConnectCluster(self.workers, self.connectors, settings, seed)
        cluster.play(_events(scenario, len(self.workers)))
        return cluster


def _by_cluster(workers: DataFrame, connectors: DataFrame) -> DataFrame:
    """Bring the workers and the connectors of each cluster together."""
    # Spark does not sort maps.
    with_entries = connectors.withColumn("config", F.map_entries("config"))
    return (
        collected(workers, WORKERS.names, "workers")
        .join(collected(with_entries, CONNECTORS.names, "connectors"), [*KEYS], "full")
        .select(*KEYS, *(F.coalesce(name, F.array()).alias(name) for name in ("workers", "connectors")))
    )


def _worker_of(row: dict[str, Any]) -> WorkerRow:
    tasks = tuple(ConnectorTaskId(task["connector"], task["task"]) for task in row["tasks"] or ())
    name = row["worker"] or row["member_id"]
    session_timeout_ms = row["session_timeout_ms"] or SESSION_TIMEOUT_MS
    return WorkerRow(row["member_id"], name, tuple(row["connectors"] or ()), tasks, session_timeout_ms)


def _events(scenario: Scenario, workers: int) -> Iterator[ClusterEvent]:
    """Return the events of a scenario in a cluster with so many workers."""
    joined = workers
    for step in scenario.steps:
        if step.event == CONFIGURE:
            yield ClusterEvent(step.at_ms, step.event, connector=step.connector, tasks=step.tasks)
            continue
        if step.event == "join":
            for number in range(step.count):
                yield ClusterEvent(step.at_ms + number * step.every_ms, step.event, joined)
                joined += 1
            continue
        for again in range(step.times):
            for number, place in enumerate(step.members.of(workers)):
                at_ms = step.at_ms + again * step.again_after_ms + number * step.every_ms
                yield ClusterEvent(at_ms, step.event, place, step.down_ms)


def _downtime(played: ConnectCluster) -> dict[str, int]:
    downtimes = played.downtimes
    return {
        "downtime_ms": downtimes.total_ms.total(),
        "longest_downtime_ms": downtimes.longest_ms,
        "started": downtimes.starts,
    }


def _cost_row(setup: Setup, played: ConnectCluster) -> dict[str, Any]:
    tasks = [len(process.worker.tasks) for process in played.members.values()]
    before, after = _owners(setup.workers), played.owners()
    return {
        "workers": len(setup.workers),
        "connectors": len(played.connectors),
        "tasks": sum(played.connectors.values()),
        "protocol": setup.settings.protocol,
        "max_delay_ms": setup.settings.max_delay_ms,
        "rebalances": len(played.rebalances),
        **_downtime(played),
        "moved": sum(before.get(resource, owner) != owner for resource, owner in after.items()),
        "unassigned": len(played.downtimes.down),
        "stable": played.is_stable,
        "stable_ms": played.rebalances[-1].at_ms if played.rebalances else 0,
        "min_tasks": min(tasks, default=None),
        "max_tasks": max(tasks, default=None),
        "max_tasks_before": max(len(worker.tasks) for worker in setup.workers),
    }


def _rebalance_rows(played: ConnectCluster) -> Rows:
    return [
        {"rebalance": number, **{name: value for name, value in vars(row).items() if name != "generation"}}
        for number, row in enumerate(played.rebalances, 1)
    ]


def _assignment_rows(setup: Setup, played: ConnectCluster) -> Rows:
    before, after = _owners(setup.workers), played.owners()
    return [
        {
            "connector": resource if isinstance(resource, str) else resource.connector,
            "task": None if isinstance(resource, str) else resource.task,
            "worker": after.get(resource),
            "previous_worker": before.get(resource),
            "downtime_ms": played.downtimes.total_ms[resource],
        }
        for resource in sorted(played.configured(), key=_resource_key)
    ]


def _resource_key(resource: str | ConnectorTaskId) -> tuple[str, int]:
    return (resource, -1) if isinstance(resource, str) else (resource.connector, resource.task)


def _owners(workers: Sequence[WorkerRow]) -> dict[str | ConnectorTaskId, str]:
    owners: dict[str | ConnectorTaskId, str] = {}
    for worker in workers:
        owners |= dict.fromkeys(worker.connectors, worker.name) | dict.fromkeys(worker.tasks, worker.name)
    return owners
