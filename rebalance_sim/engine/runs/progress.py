"""Progress lines while Spark works."""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event, Thread
from typing import Any

from py4j.protocol import Py4JError
from pyspark import StatusTracker
from pyspark.sql import SparkSession

from rebalance_sim.kafka.runtime.compiled_code import being_compiled

_LOG = logging.getLogger(__name__)
_SECONDS, _COMPILING_SECONDS = 10.0, 0.3


@dataclass
class _Step:
    name: str = "starting"
    compiling: str = ""
    """The rule that it waits for, if one is being compiled."""


_CURRENT = _Step()
"""Shared with the thread that logs the lines."""


def report_step(name: str, **fields: Any) -> None:
    """Log the beginning of a step, which the progress lines name from now on."""
    _CURRENT.name = name
    _LOG.info("%s", name, extra={"fields": fields})


@contextmanager
def progress(spark: SparkSession, seconds: float = _SECONDS) -> Iterator[None]:
    """Log at an interval the finished tasks of each Spark job that was already running at the last one.

    A rule that a process of this machine starts to compile is logged at once.
    """
    ended = Event()
    tracker = spark.sparkContext.statusTracker()
    Thread(target=_watch, args=(tracker, ended, seconds), name="progress", daemon=True).start()
    try:
        yield
    finally:
        ended.set()


def _watch(tracker: StatusTracker, ended: Event, seconds: float) -> None:
    before: set[int] = set()
    due = time.monotonic() + seconds
    while not ended.wait(min(seconds, _COMPILING_SECONDS)):
        _log_compiling()
        if time.monotonic() < due:
            continue
        due = time.monotonic() + seconds
        try:
            running = set(tracker.getActiveJobsIds())
            for job in sorted(running & before):
                _log_job(tracker, job)
        except (Py4JError, OSError):
            # Spark has stopped; the thread that waits for the result reports the failure.
            return
        before = running


def _log_compiling() -> None:
    """Log the rule that is being compiled, if it is another than before, and the step again when it is done."""
    rules = being_compiled()
    compiling = rules[0] if rules else ""
    if compiling == _CURRENT.compiling:
        return
    _CURRENT.compiling = compiling
    if compiling:
        _LOG.info("compiling a rule, once on this machine: %s", compiling.removeprefix("rebalance_sim."))
    else:
        _LOG.info("%s", _CURRENT.name)


def _log_job(tracker: StatusTracker, job: int) -> None:
    info = tracker.getJobInfo(job)
    # Stages whose output already exists are skipped, and have no information.
    stages = [stage for stage in map(tracker.getStageInfo, info.stageIds if info else ()) if stage]
    done, tasks = sum(stage.numCompletedTasks for stage in stages), sum(stage.numTasks for stage in stages)
    step = _CURRENT.name
    fields = {"step": step, "spark_job": job, "tasks_done": done, "tasks": tasks}
    _LOG.info("%s: %d of %d tasks done (Spark job %d)", step, done, tasks, job, extra={"fields": fields})
