"""What lies beside the tables of a run's folder, and tells whether they can be relied on."""

import json
from typing import Any, cast

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession
from pyspark.sql.utils import is_remote

from rebalance_sim.errors import UserError

RECORD = "_run.json"
"""Written last: what was run, and how it went."""
BEGUN = "_begun.json"
"""There from the beginning to the end of a run: which tables it replaces."""


def begun_text(job: str, replaced: list[str]) -> str:
    """Write what ``BEGUN`` holds."""
    return json.dumps({"job": job, "replaces": replaced}) + "\n"


def unfinished_job(spark: SparkSession, table_path: str) -> str | None:
    """Return the job that began to write a table, if it has not finished.

    Tables that are not of a run lie beside no such file, or are not among those that it names.
    """
    begun = beside(spark, table_path, BEGUN)
    if begun is None or beside(spark, table_path, RECORD) is not None:
        return None
    return begun["job"] if table_path.rstrip("/").rpartition("/")[2] in begun["replaces"] else None


def beside(spark: SparkSession, table_path: str, name: str) -> dict[str, Any] | None:
    """Read the file of that name beside a table; None where there is none.

    Raises UserError where it is not what a run writes.
    """
    folder, slash, _ = table_path.rstrip("/").rpartition("/")
    return told_in(spark, f"{folder}{slash}{name}")


def told_in(spark: SparkSession, path: str) -> dict[str, Any] | None:
    """Read a file that a run writes about itself; None where there is none. Raises UserError where it is another."""
    try:
        file_system, file = hadoop_path(spark, path)
        if not file_system.exists(file):
            return None
        # Not by Spark, which passes over files whose names begin with an underscore.
        stream, jvm = file_system.open(file), cast(Any, spark.sparkContext._jvm)
    except Py4JJavaError:
        # The path of another kind of source: Hadoop knows no file system for it.
        return None
    try:
        told: dict[str, Any] = json.loads(jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
    except ValueError as problem:
        raise UserError(f"{path}: is not the record of a run: {problem}") from problem
    finally:
        stream.close()
    return told


def hadoop_path(spark: SparkSession, path: str) -> tuple[Any, Any]:
    """Return Hadoop's file system and path object for a path. Raises UserError on Spark Connect, which has neither."""
    if is_remote():
        raise UserError(f"{path}: Spark Connect does not reach Hadoop's file systems; allowed: a classic session")
    jvm: Any = spark.sparkContext._jvm
    hadoop = jvm.org.apache.hadoop.fs.Path(path)
    return hadoop.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration()), hadoop
