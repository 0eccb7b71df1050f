"""Settings of the tests' sessions, and temporary ones."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pyspark.sql import SparkSession

from rebalance_sim.engine.spark.session import DEFAULTS

JAVA_OPTIONS = "spark.driver.extraJavaOptions"
FOR_A_SHORT_LIFE = DEFAULTS | {
    "spark.sql.shuffle.partitions": "4",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "2g",
    # Without the C2 compiler, which took a quarter of all processor time for code that runs a few times.
    JAVA_OPTIONS: "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC",
    "spark.log.level": "ERROR",
    # Plans run once, over a few rows: generating code for each took longer. The tests of the docs pages run jobs with
    # the settings that users have.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


@contextmanager
def set_for_a_while(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Apply settings, and restore the previous values, which must exist, at the end."""
    before = {name: spark.conf.get(name) for name in settings}
    try:
        for name, value in settings.items():
            spark.conf.set(name, value)
        yield
    finally:
        for name, old in before.items():
            assert old is not None
            spark.conf.set(name, old)
