"""Tells how far Spark is, while it works."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

from py4j.protocol import Py4JError
from pyspark import StatusTracker
from pyspark.sql import SparkSession

_LOG = logging.getLogger(__name__)
_SECONDS = 10.0


@contextmanager
def progress(spark: SparkSession, seconds: float = _SECONDS) -> Iterator[None]:
    """Log every so many seconds how many tasks are done of the Spark jobs that have run since the last time."""
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
                _tell(tracker, job)
        except (Py4JError, OSError):
            # Spark has ended; what becomes of the work is told by whoever waits for it.
            return
        before = running


def _tell(tracker: StatusTracker, job: int) -> None:
    found = tracker.getJobInfo(job)
    # Stages whose output is there from before are not run again, and have no information.
    stages = [stage for stage in map(tracker.getStageInfo, found.stageIds if found else ()) if stage]
    done, tasks = sum(stage.numCompletedTasks for stage in stages), sum(stage.numTasks for stage in stages)
    fields = {"spark_job": job, "tasks_done": done, "tasks": tasks}
    _LOG.info("%d of %d tasks of Spark's job %d are done", done, tasks, job, extra={"fields": fields})
