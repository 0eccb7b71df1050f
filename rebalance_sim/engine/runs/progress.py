"""Progress lines while Spark works."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event, Thread
from typing import Any

from py4j.protocol import Py4JError
from pyspark import StatusTracker
from pyspark.sql import SparkSession

_LOG = logging.getLogger(__name__)
_SECONDS = 10.0


@dataclass
class _Step:
    name: str = "starting"
    preparation: str = ""
    """What must happen before its first task can finish."""


_CURRENT = _Step()
"""Shared with the thread that logs the lines."""


def report_step(name: str, **fields: Any) -> None:
    """Log the beginning of a step, which the progress lines name from now on."""
    _CURRENT.name, _CURRENT.preparation = name, ""
    _LOG.info("%s", name, extra={"fields": fields})


def report_preparation(name: str) -> None:
    """Log what the current step needs first; the progress lines name it until one of the step's tasks is done."""
    _CURRENT.preparation = name
    _LOG.info("%s", name)


@contextmanager
def progress(spark: SparkSession, seconds: float = _SECONDS) -> Iterator[None]:
    """Log at an interval the finished tasks of each Spark job that was already running at the last one."""
    ended = Event()
    tracker = spark.sparkContext.statusTracker()
    Thread(target=_watch, args=(tracker, ended, seconds), name="progress", daemon=True).start()
    try:
        yield
    finally:
        ended.set()


def _watch(tracker: StatusTracker, ended: Event, seconds: float) -> None:
    before: set[int] = set()
    while not ended.wait(seconds):
        try:
            running = set(tracker.getActiveJobsIds())
            for job in sorted(running & before):
                _log_job(tracker, job)
        except (Py4JError, OSError):
            # Spark has stopped; the thread that waits for the result reports the failure.
            return
        before = running


def _log_job(tracker: StatusTracker, job: int) -> None:
    found = tracker.getJobInfo(job)
    # Stages whose output already exists are skipped, and have no information.
    stages = [stage for stage in map(tracker.getStageInfo, found.stageIds if found else ()) if stage]
    done, tasks = sum(stage.numCompletedTasks for stage in stages), sum(stage.numTasks for stage in stages)
    step = _CURRENT.name if done else _CURRENT.preparation or _CURRENT.name
    fields = {"step": step, "spark_job": job, "tasks_done": done, "tasks": tasks}
    _LOG.info("%s: %d of %d tasks done (Spark job %d)", step, done, tasks, job, extra={"fields": fields})
