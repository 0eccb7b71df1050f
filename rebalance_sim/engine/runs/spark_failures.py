"""Failures of Spark and its machines: neither mistakes of the user nor bugs of this program."""

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

_CAUSES = {
    "No space left on device|Disk quota exceeded": "no space left on a disk that Spark writes to (the folder of "
    "--out, or spark.local.dir)",
    "java.lang.OutOfMemoryError": "Spark is out of memory (spark.driver.memory, spark.executor.memory)",
    r"ExecutorLostFailure .*?Reason: (.*)": "Spark lost an executor: {}",
    r"Python worker (?:exited unexpectedly|failed to connect back)": "a Python worker of Spark died; most often "
    "the system killed it because memory was short",
    "SparkContext (?:was shut down|is stopping|has been shutdown)|stopped SparkContext": "Spark was stopped",
    "Answer from Java side is empty": "Spark's JVM died",
}
"""Patterns in errors of Spark and the system, and their meaning; the first match counts."""


_UNREADABLE = ("FAILED_READ_FILE", "CANNOT_READ_FILE", "Unable to infer schema", "MALFORMED_RECORD")
"""Parts of Spark's errors about input files."""


_QUERY_LOGGERS = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")
"""Loggers of PySpark for errors in queries; by default they write to stderr."""


@contextmanager
def spark_errors(spark: SparkSession, shown: bool) -> Iterator[None]:
    """Print Spark's own errors, with their stack traces, only if they are to be shown: the job prints a line for each.

    A log level of Spark that the user has configured stays, unless errors are to be shown.
    """
    if shown:
        spark.sparkContext.setLogLevel("ERROR")
    loggers = [PySparkLogger.getLogger(name) for name in _QUERY_LOGGERS]
    usual = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR if shown else logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(loggers, usual, strict=True):
            logger.setLevel(level)


def cause_of(failure: BaseException) -> str | None:
    """Return in one line why Spark failed, or None if the cause is unknown.

    >>> cause_of(OSError(28, "No space left on device"))
    'no space left on a disk that Spark writes to (the folder of --out, or spark.local.dir)'
    """
    text = str(failure)
    for pattern, cause in _CAUSES.items():
        match = re.search(pattern, text)
        if match:
            return cause.format(*match.groups())
    return "Spark's JVM died" if _is_lost_connection(failure) else None


def unreadable_input(failure: BaseException) -> str | None:
    r"""Return in one line which input Spark could not read, which it may notice only while it runs; None for others.

    >>> unreadable_input(RuntimeError("in stage 1: [FAILED_READ_FILE.NO_HINT] Error while reading f\n  at ..."))
    'an input cannot be read: [FAILED_READ_FILE.NO_HINT] Error while reading f'
    """
    match = re.search(rf"(\[[A-Z_.]*)?({'|'.join(_UNREADABLE)}).*", str(failure))
    return f"an input cannot be read: {match[0].strip()}" if match else None


def _is_lost_connection(failure: BaseException) -> bool:
    """Return whether Spark's JVM does not answer."""
    if isinstance(failure, Py4JError):
        return isinstance(failure, Py4JNetworkError) and not isinstance(failure, Py4JJavaError)
    return isinstance(failure, ConnectionError)
