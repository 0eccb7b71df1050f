"""The Spark session of a job."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession
from pyspark.sql.utils import is_remote

from rebalance_sim.engine.java_runtime import java_home
from rebalance_sim.errors import UserError

DEFAULTS = {
    # A row is a whole group: batches by bytes keep a giant group from filling a worker's memory.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "10000",
    # lz4 was seen to hang with nested columns; none and zstd are fine.
    "spark.sql.execution.arrow.compression.codec": "none",
    "spark.sql.session.timeZone": "UTC",
}
SUBMITTED_DEFAULTS = DEFAULTS | {"spark.log.level": "ERROR"}
"""Where nothing else was submitted; conf/spark-defaults.conf says the same."""
_LOG4J = Path(__file__).with_name("log4j2.properties")
_LOCAL_DEFAULTS = {
    # From its first line on; the level alone counts only when Spark has begun.
    "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={_LOG4J.as_uri()}",
    "spark.ui.enabled": "false",
    # Enough to be even, and for memory; Spark's 200 are for a cluster, and files for that many cost time here.
    "spark.sql.shuffle.partitions": str(16 * (os.cpu_count() or 1)),
}
_SHARE_OF_MEMORY = 3
"""Locally the JVM takes a third of the machine's memory at most: the Python workers and the system need some too."""


def _driver_memory() -> str:
    megabytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2**20
    return f"{max(megabytes // _SHARE_OF_MEMORY, 1024)}m"


def session(app_name: str, packages: Sequence[str] = ()) -> SparkSession:
    """Return the running session, or start one.

    Under spark-submit what was submitted counts, and ``SUBMITTED_DEFAULTS`` for the rest. Started from Python it runs
    on all cores of this machine, with these ``packages``, which are fetched from a Maven repository. Raises UserError
    where they cannot be, and on Spark Connect.
    """
    if is_remote() or "SPARK_REMOTE" in os.environ:
        # A run keeps its record beside its tables by Hadoop's file systems, which only a classic session reaches.
        raise UserError(
            "jobs do not run on Spark Connect; unset SPARK_REMOTE and submit the job to the cluster, "
            "or call the functions of rebalance_sim, which do"
        )
    running = SparkSession.getActiveSession()
    if running is not None:
        return running
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName(app_name)
    if "PYSPARK_GATEWAY_PORT" in os.environ:
        settings = _not_submitted()
    else:
        os.environ["JAVA_HOME"] = str(java_home())
        on_terminal = str(sys.stderr.isatty()).lower()
        settings = DEFAULTS | _LOCAL_DEFAULTS
        settings |= {"spark.driver.memory": _driver_memory(), "spark.ui.showConsoleProgress": on_terminal}
        if packages:
            settings |= {"spark.jars.packages": ",".join(packages)}
        builder = builder.master(os.environ.get("MASTER", "local[*]"))
    for name, value in settings.items():
        builder = builder.config(name, value)
    try:
        return builder.getOrCreate()
    except PySparkRuntimeError as problem:
        if not packages or problem.getCondition() != "JAVA_GATEWAY_EXITED":
            raise
        raise UserError(
            f"Spark does not start with {', '.join(packages)}, which it fetches from a Maven repository: see above"
        ) from problem


def _not_submitted() -> dict[str, str]:
    """Return the defaults for what was not submitted. A Log4j configuration of the user's is left alone."""
    SparkContext._ensure_initialized()
    submitted = SparkConf()
    settings = {name: value for name, value in SUBMITTED_DEFAULTS.items() if not submitted.contains(name)}
    jvm: Any = SparkContext._jvm
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    if loader.getResource("log4j2.properties") or jvm.java.lang.System.getProperty("log4j2.configurationFile"):
        settings.pop("spark.log.level", None)
    return settings
