"""The files beside the tables in a run's folder: they say whether the tables are complete."""

import json
from contextlib import closing
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from py4j.java_gateway import get_java_class
from py4j.protocol import Py4JJavaError
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.utils import is_remote

from rebalance_sim.errors import UserError

RECORD = "_run.json"
"""Written last: job, options, versions, row counts and assumptions."""
BEGUN = "_begun.json"
"""Exists while a run is working: the tables that it replaces, and its process."""


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
    """Read a file that a run writes about itself; None if there is none. Raises UserError if it is no JSON object."""
    try:
        file_system, file = hadoop_path(spark, path)
        if not file_system.exists(file):
            return None
        # Not with Spark's readers, which skip files whose names begin with an underscore.
        stream, jvm = file_system.open(file), cast(Any, spark.sparkContext._jvm)
    except (Py4JJavaError, PySparkException):
        # Not a path of a file, such as the name of a catalog table: Hadoop has no file system for it.
        return None
    try:
        content = json.loads(jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
    except ValueError as problem:
        raise UserError(f"{path}: is not JSON, so no run wrote it: {problem}") from problem
    finally:
        stream.close()
    if not isinstance(content, dict):
        raise UserError(f"{path}: is not a JSON object, so no run wrote it")
    return content


def first_bytes(spark: SparkSession, path: str, count: int) -> bytes:
    """Return the beginning of a file, decompressed if its name has the extension of a compression."""
    jvm: Any = spark.sparkContext._jvm
    file_system, file = hadoop_path(spark, path)
    codec = jvm.org.apache.hadoop.io.compress.CompressionCodecFactory(file_system.getConf()).getCodec(file)
    with closing(file_system.open(file)) as opened:
        stream = opened if codec is None else codec.createInputStream(opened)
        bounded = jvm.org.apache.commons.io.input.BoundedInputStream(stream, count)
        return bytes(jvm.org.apache.commons.io.IOUtils.toByteArray(bounded))


def names_in(spark: SparkSession, folder: str) -> set[str]:
    """Return the names of the files and folders in a folder."""
    file_system, path = hadoop_path(spark, folder)
    return {status.getPath().getName() for status in file_system.listStatus(path)}


def hadoop_path(spark: SparkSession, path: str) -> tuple[Any, Any]:
    """Return Hadoop's file system and path object for a path. Raises UserError on Spark Connect, which has neither."""
    if is_remote():
        raise UserError(f"{path}: Spark Connect has no access to Hadoop's file systems; allowed: a classic session")
    context = spark.sparkContext
    path_class, local_files = _classes(context)
    hadoop = path_class(path)
    file_system = hadoop.getFileSystem(context._jsc.hadoopConfiguration())
    if local_files.isInstance(file_system):
        # It would write a hidden file with checksums beside each file.
        return file_system.getRawFileSystem(), hadoop
    return file_system, hadoop


def local_path(spark: SparkSession, path: str) -> Path | None:
    """Return a path of this machine; None for one on another file system."""
    file_system, hadoop = hadoop_path(spark, path)
    is_local = file_system.getUri().getScheme() == "file"
    return Path(file_system.makeQualified(hadoop).toUri().getPath()) if is_local else None


@lru_cache(maxsize=1)
def _classes(context: SparkContext) -> tuple[Any, Any]:
    """Return the class of paths, and the ``Class`` of local file systems: finding each takes several calls of Java."""
    jvm: Any = context._jvm
    return jvm.org.apache.hadoop.fs.Path, get_java_class(jvm.org.apache.hadoop.fs.LocalFileSystem)
