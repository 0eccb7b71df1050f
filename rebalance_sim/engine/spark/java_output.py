"""Java's standard error: messages of Spark and of the Java runtime go to the log, at level debug."""

import logging
import os
from collections import deque
from threading import Thread

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway

_LOG = logging.getLogger(__name__)
_LAST_LINES = 20
"""Shown of a start that fails, without the lines of stack traces."""


def start_java(conf: SparkConf) -> None:
    """Start Java, unless it runs already. If it does not start, its last messages are logged as errors."""
    if SparkContext._gateway is not None:
        return
    reading, writing = os.pipe()
    last: deque[str] = deque(maxlen=_LAST_LINES)
    reader = Thread(target=_log_lines, args=(reading, last), name="java-output", daemon=True)
    reader.start()
    try:
        gateway = launch_gateway(conf, {"stderr": writing})  # type: ignore[no-untyped-call]
        SparkContext._ensure_initialized(gateway=gateway)
    except Exception:
        os.close(writing)
        reader.join()
        for line in last:
            _LOG.error("%s", line)
        raise
    os.close(writing)


def _log_lines(reading: int, last: deque[str]) -> None:
    with open(reading, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            _LOG.debug("%s", line.rstrip())
            if line.strip() and not line.lstrip().startswith("at "):
                last.append(line.rstrip())
