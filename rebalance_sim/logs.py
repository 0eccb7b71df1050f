"""What the console command tells of its work, on standard error: lines for people, or objects for programs."""

import json
import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

LOGGER = "rebalance_sim"
LEVELS = ("debug", "info", "warning", "error")
FORMATS = ("text", "json")


class _OfJob(logging.Formatter):
    """Knows the job, and when it started."""

    def __init__(self, job: str) -> None:
        super().__init__()
        self._job, self._started = job, time.time()


class _Text(_OfJob):
    """What goes on with the seconds since the start; what went wrong with the name of the job."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 (logging's name)
        """Put what stands before a message."""
        if record.levelno >= logging.ERROR:
            return f"rebalance-sim {self._job}: {record.message}"
        return f"[{record.created - self._started:6.1f} s] {record.message}"


class _Json(_OfJob):
    """One object a line."""

    def format(self, record: logging.LogRecord) -> str:
        """Write the object."""
        told = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "job": self._job,
            "message": record.getMessage(),
            "seconds": round(record.created - self._started, 3),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            told["traceback"] = self.formatException(record.exc_info)
        return json.dumps(told, ensure_ascii=False, default=str)


@contextmanager
def logs_on_stderr(job: str, level: str, log_format: str) -> Iterator[None]:
    """Tell on standard error what the package logs, while a job runs."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Json(job) if log_format == "json" else _Text(job))
    logger, root, silent = logging.getLogger(LOGGER), logging.getLogger(), logging.NullHandler()
    usual = logger.level
    logger.addHandler(handler)
    logger.setLevel(level.upper())
    # Py4J tells the root logger of an interrupt, with its traceback, and a root without handlers gets one by that.
    root.addHandler(silent)
    try:
        yield
    finally:
        root.removeHandler(silent)
        logger.removeHandler(handler)
        logger.setLevel(usual)
