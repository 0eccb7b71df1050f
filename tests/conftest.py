"""The Spark session that all tests share, and the options for random cases."""

import sys
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest
from pyspark import SparkContext
from pyspark.sql import SparkSession

from rebalance_sim.engine.spark.driver_rows import KEEPS_ROWS
from rebalance_sim.engine.spark.java_runtime import java_home
from rebalance_sim.engine.spark.session import FOR_FEW_ROWS, find_classes_once
from tests.support.shares import Draws, add_options, share_of
from tests.support.spark_settings import FOR_A_SHORT_LIFE, set_for_a_while, with_archive
from tests.support.unavailable import Unavailable

# Fixed cases, unless a seed is given: see RANDOM in the Makefile. `make hunt` draws more.
hypothesis.settings.load_profile("ci")
hypothesis.settings.register_profile("fresh", hypothesis.settings.get_profile("ci"), derandomize=False)

LONGEST = (
    "real/airflow/test_dag.py",
    "real/test_preparation.py",
    "real/test_spark_cluster.py",
    "real/test_fresh_clone.py",
    "real/test_interrupted_runs.py",
    "real/test_live_cluster.py",
    "real/test_recognized_clients.py",
    "real/test_yarn.py",
    "oracle/test_live.py",
    "real/test_browser.py",
    "sources/offsets_topic/test_fleet.py",
    "real/test_offsets_topic.py",
    "real/test_client_assignors.py",
    "test_documentation.py",
    "real/test_spark_connect.py",
    "oracle/test_live_coordinator.py",
    "real/test_wheel.py",
    "real/test_flights.py",
    "commands/test_mutilated_captures.py",
    "commands/test_small_runs.py",
    "engine/runs/test_local_run.py",
    "engine/audit/test_audits.py",
    "report/test_audit.py",
    "commands/test_jobs.py",
    "commands/test_partition.py",
    "commands/test_audit.py",
    "commands/test_simulate.py",
    "engine/simulation/test_simulation.py",
    "commands/test_operations.py",
    "kafka/coordinator/test_coordinator.py",
    "kafka/test_golden.py",
    "kafka/assignors/test_sticky.py",
    "kafka/coordinator/test_consumer_group.py",
    "kafka/test_groups.py",
    "kafka/simulation/test_simulation.py",
    "kafka/partitioners/test_key_hashes.py",
    "kafka/coordinator/test_mixed_group.py",
)
"""The files that take longest, in this order: started last, one would run while other processes have ended."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the seed of random cases, and how many of them live comparisons draw."""
    parser.addoption("--seed", type=int, default=1, help="seed of random cases in live comparisons and invariants")
    add_options(parser)


def pytest_report_header(config: pytest.Config) -> str:
    """Print the seed, with which a failure can be repeated."""
    return f"seed of random cases: {config.getoption('--seed')}"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the longest files first."""
    places = {Path(__file__).parent / name: place for place, name in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.path, len(places)))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup() -> Iterator[None]:
    """Skip a test whose fixtures need what this machine lacks."""
    yield from _skipped_if_unavailable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Iterator[None]:
    """Skip a test that needs what this machine lacks."""
    yield from _skipped_if_unavailable()


def _skipped_if_unavailable() -> Iterator[None]:
    try:
        yield
    except Unavailable as reason:
        pytest.skip(str(reason))


@pytest.fixture(scope="session")
def seed(request: pytest.FixtureRequest) -> int:
    """Return what random cases are drawn from."""
    return int(request.config.getoption("--seed"))


@pytest.fixture(scope="module")
def draws(request: pytest.FixtureRequest) -> Draws:
    """Return how many random cases to draw where a full comparison draws a number of them."""
    share = share_of(request.config, request.path)
    return lambda count: max(count // share, 1)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Yield a local session on two cores that shuffles into one partition."""
    home, settings = java_home(), with_archive(FOR_A_SHORT_LIFE | FOR_FEW_ROWS | {KEEPS_ROWS: "false"})
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("PYSPARK_PYTHON", sys.executable)
        environment.setenv("JAVA_HOME", str(home))
        session = SparkSession.builder.master("local[2]").appName("tests").config(map={**settings}).getOrCreate()
        find_classes_once(SparkContext._jvm)
        yield session
        session.stop()


@pytest.fixture(autouse=True)
def _only_own_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the rules that other tests compile meanwhile out of the logs of jobs."""
    monkeypatch.setattr("rebalance_sim.engine.runs.progress.being_compiled", list)


@pytest.fixture(scope="module")
def small_runs(spark: SparkSession) -> Iterator[None]:
    """Keep the rows of a file's runs in the driver, as a session that a run on so few rows starts does.

    They take two thirds of the time; ``test_small_runs`` and ``test_local_run`` compare their tables with others.
    """
    with set_for_a_while(spark, {KEEPS_ROWS: "true"}):
        yield
