"""The log of the console command: lines of text for people, or JSON objects for programs."""

import json
import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

LOGGER = "rebalance_sim"
LEVELS = ("debug", "info", "warning", "error")
FORMATS = ("text", "json")


class _OfJob(logging.Formatter):
    """A formatter with the name of the job and its start."""

    def __init__(self, job: str) -> None:
        super().__init__()
        self._job, self._started = job, time.time()


class _Text(_OfJob):
    """Progress after the seconds since the start; errors after the name of the job."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 (logging's name)
        """Return a message with its prefix."""
        if record.levelno >= logging.ERROR:
            return f"rebalance-sim {self._job}: {record.message}"
        return f"[{record.created - self._started:6.1f} s] {record.message}"


class _Json(_OfJob):
    """One JSON object per line."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the object as text."""
        fields = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "job": self._job,
            "message": record.getMessage(),
            "seconds": round(record.created - self._started, 3),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            fields["traceback"] = self.formatException(record.exc_info)
        return json.dumps(fields, ensure_ascii=False, default=str)


@contextmanager
def logged_by(handler: logging.Handler, job: str, level: str, log_format: str) -> Iterator[None]:
    """Write the package's log to a handler while a job runs."""
    handler.setFormatter(_Json(job) if log_format == "json" else _Text(job))
    logger, root, silent = logging.getLogger(LOGGER), logging.getLogger(), logging.NullHandler()
    usual = logger.level
    logger.addHandler(handler)
    logger.setLevel(level.upper())
    # Py4J logs an interrupt with a traceback to the root logger; without a handler, logging would print it.
    root.addHandler(silent)
    try:
        yield
    finally:
        root.removeHandler(silent)
        logger.removeHandler(handler)
        logger.setLevel(usual)
        handler.close()
