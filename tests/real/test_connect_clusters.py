"""A Connect cluster of a real broker: read from __consumer_offsets and the REST API, and predicted as it changes."""

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from rebalance_sim.api.connect import simulate_connect
from rebalance_sim.kafka.simulation.scenario import CONFIGURE, Scenario, ScenarioStep, Selection
from rebalance_sim.sources.connect.config_topic import read_config_topic
from rebalance_sim.sources.connect.rest_output import read_rest_output
from rebalance_sim.sources.connect.stored_workers import read_workers
from rebalance_sim.tables import CONNECTORS
from tests.real.conftest import VERSIONS
from tests.support.cluster.broker import Broker, running
from tests.support.cluster.capture import until
from tests.support.cluster.programs import ConnectWorker
from tests.support.cluster.topic_reader import OFFSETS_RECORD, read_rows
from tests.support.rows import table

pytestmark = pytest.mark.cluster

GROUP, TOPIC = "copy", "orders"
DELAY_MS = 60_000
"""Long enough for a worker's process to start on a busy machine."""
SETTINGS = {"scheduled.rebalance.max.delay.ms": str(DELAY_MS)}
_CONFIGURED = ("connector", "tasks", "config")
Placed = dict[tuple[str, int | None], str]
"""The worker of each connector, and of each task, by the address of its REST server."""


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    with running(VERSIONS[0], tmp_path_factory.mktemp("connect")) as started:
        started.create_topics({TOPIC: 4})
        yield started


class Cluster:
    """The workers of a cluster, and what the broker and the REST API show of it."""

    def __init__(self, spark: SparkSession, broker: Broker, folder: Path) -> None:
        self.spark, self.broker, self.folder = spark, broker, folder
        self.workers: list[ConnectWorker] = []

    def start(self, stack: ExitStack) -> None:
        """Start one more worker."""
        folder = self.folder / f"worker-{len(self.workers)}"
        folder.mkdir()
        self.workers.append(stack.enter_context(ConnectWorker(self.broker, GROUP, folder, SETTINGS)))

    def sink(self, name: str, tasks: int) -> None:
        """Create a connector with so many tasks, which write the records of the topic to a file."""
        file = str(self.folder / name)
        connector = {"connector.class": "FileStreamSink", "topics": TOPIC, "tasks.max": str(tasks), "file": file}
        self._answering.configure(name, connector)

    @property
    def _answering(self) -> ConnectWorker:
        return next(worker for worker in self.workers if worker.is_running)

    def placed(self) -> Placed:
        """Return where connectors and tasks run, as the REST API shows it."""
        placed: Placed = {}
        for name, expanded in json.loads(self._answering.connectors()).items():
            status = expanded["status"]
            for of in (status["connector"], *status["tasks"]):
                if of["state"] == "RUNNING":
                    placed[name, of.get("id")] = of["worker_id"]
        return placed

    def stored(self) -> tuple[DataFrame, DataFrame]:
        """Return the workers from the coordinator's record, and the connectors from the REST API."""
        records = read_rows(self.broker.bootstrap_servers)
        workers, rejects = read_workers(self.spark.createDataFrame(records, OFFSETS_RECORD), "default")
        assert rejects.isEmpty()
        saved = self.folder / "connectors.json"
        saved.write_bytes(self._answering.connectors())
        _, connectors = read_rest_output(str(saved), "default", GROUP)
        assert self.in_config_topic() == [{name: row[name] for name in _CONFIGURED} for row in connectors]
        return workers, table(self.spark, CONNECTORS, [row | {"config": dict(row["config"])} for row in connectors])

    def in_config_topic(self) -> list[dict[str, Any]]:
        """Return the connectors from the cluster's config topic."""
        records = read_rows(self.broker.bootstrap_servers, f"{GROUP}.config")
        dump = f"{self.folder}/config-topic-{len(records)}"
        self.spark.createDataFrame(records, OFFSETS_RECORD).write.mode("overwrite").parquet(dump)
        return read_config_topic(self.spark, dump, "", None)

    def in_order(self) -> list[str]:
        """Return the addresses of the workers, the leader first, in the order of their places."""
        rows = self.stored()[0].orderBy(F.asc_nulls_last("join_order"), "member_id").collect()
        return [_address(row["worker"]) for row in rows]

    def predicted(self, *steps: ScenarioStep) -> Placed:
        """Return where connectors and tasks run after what is to happen."""
        workers, connectors = self.stored()
        with_delay = workers.drop("max_delay_ms").selectExpr("*", f"{DELAY_MS} AS max_delay_ms")
        run = simulate_connect(with_delay, connectors, Scenario("", steps=steps), kafka_version=self.broker.version)
        assert [row["error"] for row in run.connect_costs.collect()] == [None]
        rows = run.task_assignments.collect()
        run.unpersist()
        return {(row["connector"], row["task"]): _address(row["worker"]) for row in rows}


def _address(url: str) -> str:
    return url.removeprefix("http://").removesuffix("/")


def _of(placed: Placed, renamed: dict[str, str]) -> Placed:
    return {resource: renamed.get(worker, worker) for resource, worker in placed.items()}


def _expect(cluster: Cluster, predicted: Placed, what: str) -> None:
    """Wait until connectors and tasks run where they were predicted to run."""
    seen: list[Placed] = []

    def is_reached() -> bool:
        seen.append(cluster.placed())
        return seen[-1] == predicted

    try:
        until(what, is_reached)
    except TimeoutError:
        assert seen[-1] == predicted, what


def _step(event: str, places: Sequence[int] = (), **values: Any) -> ScenarioStep:
    return ScenarioStep(event, members=Selection(places=tuple(places)), **values)


def test_a_cluster_runs_what_was_predicted(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    """Three workers have 20 tasks of two connectors; then workers and connectors come and go."""
    cluster = Cluster(spark, broker, tmp_path)
    with ExitStack() as stack:
        for _ in range(3):
            cluster.start(stack)
        cluster.sink("first", 10)
        cluster.sink("second", 10)
        until("all tasks run", lambda: len(cluster.placed()) == 22)
        workers, _ = cluster.stored()
        rows = workers.collect()
        assert {
            (name, task): _address(row["worker"])
            for row in rows
            for name, task in (*((name, None) for name in row["connectors"]), *map(tuple, row["tasks"]))
        } == cluster.placed()

        addresses = cluster.in_order()
        by_address = {worker.address: worker for worker in cluster.workers}
        predicted = cluster.predicted(_step("restart", [1], down_ms=10_000))
        by_address[addresses[1]].close()
        by_address[addresses[1]].__enter__()
        _expect(cluster, predicted, "a worker that returned within the delay has its tasks again")

        predicted = cluster.predicted(_step(CONFIGURE, connector="third", tasks=4))
        cluster.sink("third", 4)
        _expect(cluster, predicted, "a new connector and its tasks run")

        (killed,) = [place for place, address in enumerate(cluster.in_order()) if address == addresses[2]]
        predicted = cluster.predicted(_step("crash", [killed]))
        by_address[addresses[2]].kill()
        _expect(cluster, predicted, "the tasks of a killed worker run elsewhere")

        predicted = cluster.predicted(_step("join"))
        cluster.start(stack)
        _expect(cluster, _of(predicted, {"new-1": cluster.workers[-1].address}), "a new worker has its share")

        leader = cluster.in_order()[0]
        predicted = cluster.predicted(_step("leave", [0]))
        {worker.address: worker for worker in cluster.workers}[leader].close()
        _expect(cluster, predicted, "the tasks of a leader that left run elsewhere at once")
