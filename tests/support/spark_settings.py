"""Settings of the tests' sessions, and temporary ones."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pyspark.sql import SparkSession

from rebalance_sim.engine.spark.class_archive import reading_archive
from rebalance_sim.engine.spark.java_runtime import java_home
from rebalance_sim.engine.spark.session import DEFAULTS
from tests.support.maven import SHORT_LIFE

JAVA_OPTIONS = "spark.driver.extraJavaOptions"
WITHOUT_C2 = " ".join([*SHORT_LIFE, "-XX:ReservedCodeCacheSize=240m"])
"""The C2 compiler took a quarter of all processor time, for code that runs a few times."""
FOR_A_SHORT_LIFE = DEFAULTS | {
    "spark.sql.shuffle.partitions": "4",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "2g",
    JAVA_OPTIONS: WITHOUT_C2,
    "spark.executor.extraJavaOptions": WITHOUT_C2,
    "spark.log.level": "ERROR",
    # Plans run once, over a few rows: generating code for each took longer. The tests of the docs pages run jobs with
    # the settings that users have.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


def with_archive(settings: Mapping[str, str]) -> dict[str, str]:
    """Add the archive of the JVM's classes for a driver that starts on this machine."""
    return {**settings, JAVA_OPTIONS: " ".join([settings[JAVA_OPTIONS], *reading_archive(java_home())])}


def as_java_options(settings: Mapping[str, str]) -> str:
    """Return settings as ``SPARK_SUBMIT_OPTS`` takes them.

    A folder with ``spark-defaults.conf`` would join the class path, and Java would not use the archive.
    """
    properties = [f'"-D{name}={value}"' for name, value in settings.items() if name != JAVA_OPTIONS]
    return " ".join([settings[JAVA_OPTIONS], *properties])


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
