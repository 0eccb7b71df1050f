"""What is to be told of a failure that is neither a mistake of the user's nor a fault of the program."""

import re

from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError

_CAUSES = {
    "No space left on device|Disk quota exceeded": "no space is left on a disk that Spark writes to (the folder of "
    "--out, or spark.local.dir)",
    "java.lang.OutOfMemoryError": "Spark is out of memory (spark.driver.memory, spark.executor.memory)",
    r"ExecutorLostFailure .*?Reason: (.*)": "Spark lost an executor: {}",
    r"Python worker (?:exited unexpectedly|failed to connect back)": "a Python worker of Spark has ended; mostly the "
    "system ends it where memory is short",
    "SparkContext (?:was shut down|is stopping|has been shutdown)|stopped SparkContext": "Spark was stopped",
    "Answer from Java side is empty": "Spark has ended",
}
"""What Spark and the system say, and what it means; the first that is found counts."""


def cause_of(failure: BaseException) -> str | None:
    """Say in a line why Spark could not go on; None where the failure tells of nothing that is known.

    >>> cause_of(OSError(28, "No space left on device"))
    'no space is left on a disk that Spark writes to (the folder of --out, or spark.local.dir)'
    """
    text = str(failure)
    for pattern, told in _CAUSES.items():
        found = re.search(pattern, text)
        if found:
            return told.format(*found.groups())
    return "Spark has ended" if _is_of_the_connection(failure) else None


def _is_of_the_connection(failure: BaseException) -> bool:
    """Tell whether Spark's JVM does not answer."""
    if isinstance(failure, Py4JError):
        return isinstance(failure, Py4JNetworkError) and not isinstance(failure, Py4JJavaError)
    return isinstance(failure, ConnectionError)
