"""Files through Hadoop's file systems, so that a path means the same here as in Spark's readers and writers."""

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from py4j.java_gateway import get_java_class
from py4j.protocol import Py4JJavaError
from pyspark import SparkContext
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.utils import is_remote

from rebalance_sim.engine.tables.inputs import first_line
from rebalance_sim.errors import UserError


@dataclass(frozen=True)
class HadoopFiles:
    """The files that a session can read."""

    spark: SparkSession

    def exists(self, path: str) -> bool:
        """Return whether there is a file or a folder."""
        file_system, file = hadoop_path(self.spark, path)
        return bool(file_system.exists(file))

    def is_file(self, path: str) -> bool:
        """Return whether there is a file."""
        file_system, file = hadoop_path(self.spark, path)
        return bool(file_system.getFileStatus(file).isFile())

    def names_in(self, folder: str) -> set[str]:
        """Return the names of the files and folders in a folder."""
        file_system, path = hadoop_path(self.spark, folder)
        return {status.getPath().getName() for status in file_system.listStatus(path)}

    def text(self, path: str) -> str | None:
        """Return the content of a file; None if there is none, or if the path cannot be one."""
        try:
            file_system, file = hadoop_path(self.spark, path)
            if not file_system.exists(file):
                return None
            # Not with Spark's readers, which skip files whose names begin with an underscore.
            stream, jvm = file_system.open(file), cast(Any, self.spark.sparkContext._jvm)
        except (Py4JJavaError, PySparkException):
            # Such as the name of a catalog table: Hadoop has no file system for it.
            return None
        with closing(stream):
            return str(jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))

    def matching(self, path: str) -> list[str]:
        """Return the existing files and folders of a path, which may be a pattern."""
        with _as_os_error():
            file_system, pattern = hadoop_path(self.spark, path)
            return [status.getPath().toString() for status in file_system.globStatus(pattern) or ()]

    def below(self, path: str) -> Iterator[tuple[str, int]]:
        """Yield a file itself, or all files below a folder, with their sizes."""
        with _as_os_error():
            file_system, top = hadoop_path(self.spark, path)
            files = file_system.listFiles(top, True)
            while files.hasNext():
                file = files.next()
                yield str(file.getPath().toString()), int(file.getLen())

    def first_bytes(self, path: str, count: int) -> bytes:
        """Return the beginning of a file, decompressed by its extension."""
        jvm: Any = self.spark.sparkContext._jvm
        with _as_os_error():
            file_system, file = hadoop_path(self.spark, path)
            codec = jvm.org.apache.hadoop.io.compress.CompressionCodecFactory(file_system.getConf()).getCodec(file)
            with closing(file_system.open(file)) as opened:
                stream = opened if codec is None else codec.createInputStream(opened)
                bounded = jvm.org.apache.commons.io.input.BoundedInputStream(stream, count)
                return bytes(jvm.org.apache.commons.io.IOUtils.toByteArray(bounded))

    def full(self, path: str) -> str:
        """Return a path with its file system, and local links resolved."""
        file_system, given = hadoop_path(self.spark, path)
        found = file_system.makeQualified(given).toUri()
        if file_system.getUri().getScheme() == "file":
            return f"file:{os.path.realpath(found.getPath())}"
        return str(found.toString())


@contextmanager
def _as_os_error() -> Iterator[None]:
    """Convert Hadoop's errors to OSError, with a message of one line."""
    try:
        yield
    except (Py4JJavaError, PySparkException) as problem:
        raise OSError(first_line(problem)) from problem


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
