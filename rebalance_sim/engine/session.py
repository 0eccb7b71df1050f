"""The Spark session of a job."""

import os
import sys
from collections.abc import Sequence

from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession
from pyspark.sql.utils import is_remote

from rebalance_sim.engine.java_runtime import java_home
from rebalance_sim.errors import UserError

DEFAULTS = {
    # A row is a whole group: batches by bytes keep a giant group from filling a worker's memory.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "10000",
    "spark.sql.session.timeZone": "UTC",
}
_LOCAL_DEFAULTS = {
    "spark.ui.enabled": "false",
    "spark.log.level": "ERROR",
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

    Under spark-submit the submitted configuration counts. Started from Python it runs on all cores of this machine,
    with these ``packages``, which are fetched from a Maven repository. Raises UserError where they cannot be, and on
    Spark Connect.
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
    settings = DEFAULTS
    if "PYSPARK_GATEWAY_PORT" not in os.environ:
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
