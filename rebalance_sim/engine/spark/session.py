"""The Spark session of a job."""

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession
from pyspark.sql.utils import is_remote

from rebalance_sim.engine.spark.class_archive import reading_archive
from rebalance_sim.engine.spark.driver_rows import KEEPS_ROWS
from rebalance_sim.engine.spark.java_output import start_java
from rebalance_sim.engine.spark.java_runtime import java_home
from rebalance_sim.errors import UserError

DEFAULTS = {
    # A row may be a whole group: fewer rows per batch keep large groups from filling a worker's memory.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "10000",
    # Arrow batches with nested columns and lz4 have hung; no compression and zstd work.
    "spark.sql.execution.arrow.compression.codec": "none",
    "spark.sql.session.timeZone": "UTC",
}
SUBMITTED_DEFAULTS = DEFAULTS | {"spark.log.level": "FATAL"}
"""Under spark-submit, for properties that were not submitted; conf/spark-defaults.conf has the same values."""
_LOG4J = Path(__file__).with_name("log4j2.properties")


@dataclass(frozen=True)
class LocalSettings:
    """How Spark runs on this machine."""

    properties: Mapping[str, str]
    java_options: Sequence[str] = field(default=())


FOR_LARGE_INPUTS = LocalSettings(
    # Enough for balanced tasks and for memory; with Spark's 200, writing shuffle files would dominate.
    {"spark.sql.shuffle.partitions": str(16 * (os.cpu_count() or 1))}
)
FOR_FEW_ROWS = {
    "spark.sql.shuffle.partitions": "1",
    # Spark would spend more time on generating code and on better plans than on a few rows.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    # Every call on a column would record its line, for messages of which the program prints the first line only.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    "spark.sql.dataFrameQueryContext.enabled": "false",
    # Every plan would also be rendered for Spark's user interface, which is off.
    "spark.sql.ui.explainMode": "simple",
}
"""Properties of a session's queries, which can be set at any time."""
FOR_SMALL_INPUTS = LocalSettings(
    {
        **FOR_FEW_ROWS,
        KEEPS_ROWS: "true",
        # Each aggregation and sort of a task takes at least one page, by default of up to 64 MB, which the JVM clears.
        "spark.buffer.pageSize": "1m",
    },
    # The JVM ends before its second compiler and its parallel collector would pay off. With a small metaspace, it would
    # collect all garbage to make room for Spark's classes.
    ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:MetaspaceSize=256m"],
)
FOR_PYTHON_WORKERS = LocalSettings(FOR_LARGE_INPUTS.properties, FOR_SMALL_INPUTS.java_options)
"""For runs whose Python workers do most of the work: the JVM leaves the processors to them."""
# spark.log.level applies only after Spark has started, and would not silence its first lines.
_LOG_OPTION = f"-Dlog4j2.configurationFile={_LOG4J.as_uri()}"
_MEMORY = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
LIMITS_OF_MEMORY = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
"""Files with the limit of a container's memory in bytes: of cgroups v2 and v1."""
_OFTEN_CALLED = ("functions", "PythonUtils", "PythonSQLUtils")
_SHARE_OF_MEMORY = 3
"""Locally the JVM uses at most a third of the memory: Python workers and the system need the rest."""


def driver_memory() -> str:
    """Return how much memory the JVM of a local session may use, as Spark writes it."""
    megabytes = min([_MEMORY, *_limits()]) // 2**20
    return f"{max(megabytes // _SHARE_OF_MEMORY, 1024)}m"


def _limits() -> list[int]:
    """Return the limits of the container's memory in bytes, if it has any."""
    texts = [path.read_text().strip() for path in LIMITS_OF_MEMORY if path.exists()]
    return [int(text) for text in texts if text.isdigit()]


def session(app_name: str, packages: Sequence[str] = (), settings: LocalSettings = FOR_LARGE_INPUTS) -> SparkSession:
    """Return the running session, or start one.

    Under spark-submit, submitted properties take precedence over ``SUBMITTED_DEFAULTS``. Started from Python, the
    session runs on all cores of this machine, with these ``settings`` and with ``packages`` from a Maven repository.
    Raises UserError if they cannot be fetched, and on Spark Connect.
    """
    if is_remote() or "SPARK_REMOTE" in os.environ:
        # A run writes its record through Hadoop's file systems, to which only a classic session has access.
        raise UserError(
            "jobs do not run on Spark Connect; unset SPARK_REMOTE and submit the job to the cluster, "
            "or call the functions of rebalance_sim, which run there"
        )
    running = SparkSession.getActiveSession()
    if running is not None:
        return running
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    properties = _not_submitted() if submitted else _local_properties(settings, packages)
    builder = SparkSession.builder.appName(app_name)
    for name, value in properties.items():
        builder = builder.config(name, value)
    try:
        if not submitted:
            start_java(SparkConf().setAll(list(properties.items())))
        spark = builder.getOrCreate()
        find_classes_once(SparkContext._jvm)
        return spark
    except PySparkRuntimeError as problem:
        if not packages or problem.getCondition() != "JAVA_GATEWAY_EXITED":
            raise
        raise UserError(
            f"Spark cannot start with {', '.join(packages)} from a Maven repository; its own error is above"
        ) from problem


def find_classes_once(jvm: Any) -> None:
    """Keep the classes that PySpark names without their packages.

    At each call of such a function, Py4J would look for a class without a package in all jars, and then in each package
    that PySpark imports.
    """
    for name in _OFTEN_CALLED:
        setattr(jvm, name, getattr(jvm, name))


def _local_properties(settings: LocalSettings, packages: Sequence[str]) -> dict[str, str]:
    home = java_home()
    os.environ["JAVA_HOME"] = str(home)
    properties = {
        **DEFAULTS,
        **settings.properties,
        "spark.driver.extraJavaOptions": " ".join([_LOG_OPTION, *reading_archive(home), *settings.java_options]),
        "spark.driver.memory": driver_memory(),
        "spark.ui.enabled": "false",
        # The console has a bar of its own.
        "spark.ui.showConsoleProgress": "false",
        "spark.master": os.environ.get("MASTER", "local[*]"),
    }
    return properties | ({"spark.jars.packages": ",".join(packages)} if packages else {})


def _not_submitted() -> dict[str, str]:
    """Return the defaults for properties that were not submitted, without the log level if Log4j is configured."""
    SparkContext._ensure_initialized()
    submitted = SparkConf()
    settings = {name: value for name, value in SUBMITTED_DEFAULTS.items() if not submitted.contains(name)}
    jvm: Any = SparkContext._jvm
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    if loader.getResource("log4j2.properties") or jvm.java.lang.System.getProperty("log4j2.configurationFile"):
        settings.pop("spark.log.level", None)
    return settings
