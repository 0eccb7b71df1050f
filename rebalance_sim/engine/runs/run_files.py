"""The files beside the tables in a run's folder: they say whether the tables are complete."""

import json
from typing import Any, cast

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession
from pyspark.sql.utils import is_remote

from rebalance_sim.errors import UserError

RECORD = "_run.json"
"""Written last: job, options, versions, row counts and assumptions."""
BEGUN = "_begun.json"
"""Exists while a run is working: the tables that it replaces."""


def begun_text(job: str, replaced: list[str]) -> str:
    """Return the content of ``BEGUN``."""
    return json.dumps({"job": job, "replaces": replaced}) + "\n"


def unfinished_job(spark: SparkSession, table_path: str) -> str | None:
    """Return the job that has begun to write a table and not finished, or None.

    Tables that no run wrote have no such file beside them, or are not named in it.
    """
    begun = read_beside(spark, table_path, BEGUN)
    if begun is None or read_beside(spark, table_path, RECORD) is not None:
        return None
    return begun["job"] if table_path.rstrip("/").rpartition("/")[2] in begun["replaces"] else None


def read_beside(spark: SparkSession, table_path: str, name: str) -> dict[str, Any] | None:
    """Read the file of this name beside a table; None if there is none.

    Raises UserError if a run did not write it.
    """
    folder, slash, _ = table_path.rstrip("/").rpartition("/")
    return read_json(spark, f"{folder}{slash}{name}")


def read_json(spark: SparkSession, path: str) -> dict[str, Any] | None:
    """Read a file that a run writes about itself; None if there is none. Raises UserError if it is not JSON."""
    try:
        file_system, file = hadoop_path(spark, path)
        if not file_system.exists(file):
            return None
        # Not with Spark's readers, which skip files whose names begin with an underscore.
        stream, jvm = file_system.open(file), cast(Any, spark.sparkContext._jvm)
    except Py4JJavaError:
        # Not a path of a file, such as the name of a catalog table: Hadoop has no file system for it.
        return None
    try:
        content: dict[str, Any] = json.loads(jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
    except ValueError as problem:
        raise UserError(f"{path}: is not JSON, so no run wrote it: {problem}") from problem
    finally:
        stream.close()
    return content


def hadoop_path(spark: SparkSession, path: str) -> tuple[Any, Any]:
    """Return Hadoop's file system and path object for a path. Raises UserError on Spark Connect, which has neither."""
    if is_remote():
        raise UserError(f"{path}: Spark Connect has no access to Hadoop's file systems; allowed: a classic session")
    jvm: Any = spark.sparkContext._jvm
    hadoop = jvm.org.apache.hadoop.fs.Path(path)
    return hadoop.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration()), hadoop
