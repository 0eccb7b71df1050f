"""The one Spark session of the tests, and what draws their random cases."""

import sys
from collections.abc import Iterator

import hypothesis
import pytest
from pyspark.sql import SparkSession

from rebalance_sim.engine.java_runtime import java_home
from rebalance_sim.engine.session import DEFAULTS

_FOR_A_SHORT_LIFE = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC"
"""Without the second of Java's compilers: it took a quarter of all processor time for code that runs a few times."""

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
        settings = DEFAULTS | {
            "spark.sql.shuffle.partitions": "4",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            "spark.driver.memory": "2g",
            "spark.driver.extraJavaOptions": _FOR_A_SHORT_LIFE,
            "spark.log.level": "ERROR",
            # Plans run once, over a few rows: to compile code for each took longer. Jobs run as users run them in
            # the tests of what the pages say.
            "spark.sql.codegen.wholeStage": "false",
            "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        }
        for name, value in settings.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        yield session
        session.stop()
