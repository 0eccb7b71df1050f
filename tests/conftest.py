"""The one Spark session of the tests, and what draws their random cases."""

import sys
from collections.abc import Iterator

import hypothesis
import pytest
from pyspark.sql import SparkSession

from rebalance_sim.engine.java_runtime import java_home
from tests.spark_settings import FOR_A_SHORT_LIFE

# The same commit gets the same verdict; `make hunt` draws other cases.
hypothesis.settings.load_profile("ci")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let the live comparisons with Kafka's classes be told what to draw their cases from."""
    parser.addoption("--seed", type=int, default=1, help="what the live comparisons draw their cases from")


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A local session on two cores with few shuffle partitions."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("PYSPARK_PYTHON", sys.executable)
        environment.setenv("JAVA_HOME", str(java_home()))
        builder = SparkSession.builder.master("local[2]").appName("tests")
        for name, value in FOR_A_SHORT_LIFE.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        yield session
        session.stop()
