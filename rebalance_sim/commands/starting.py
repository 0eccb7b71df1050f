"""Start Spark for a job, by the size of its inputs, while the job itself is imported."""

from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from importlib import import_module
from typing import Any

from pyspark.sql import SparkSession

from rebalance_sim.commands.input_size import SHORT_HISTORY, are_read_by_workers, are_small
from rebalance_sim.engine.spark.session import (
    FOR_LARGE_INPUTS,
    FOR_PYTHON_WORKERS,
    FOR_SMALL_INPUTS,
    LocalSettings,
    session,
)
from rebalance_sim.sources.offsets_topic import KAFKA, separated


def start(options: Namespace, jobs: Sequence[Namespace]) -> SparkSession:
    """Return the session of a job, which has the settings and packages for all ``jobs`` that run in it.

    Both the JVM and the imports take seconds: they start together.
    """
    importer = ThreadPoolExecutor(1)
    imported = importer.submit(import_module, f"rebalance_sim.commands.{options.job}")
    for later in _NEEDED_LATER.get(options.job, ()):
        importer.submit(later)
    importer.shutdown(wait=False)
    spark = session(f"rebalance-sim {options.job}", _packages(jobs), settings_of(jobs))
    imported.result()
    return spark


def _rules() -> None:
    from rebalance_sim.kafka.runtime.kernel import get_ready  # noqa: PLC0415 (it is imported while Spark starts)

    get_ready()


def _page() -> None:
    # Without a library that only pages need, the job says so when it gets there.
    with suppress(ImportError):
        import_module("rebalance_sim.report.contents")
        import_module("rebalance_sim.report.rendering")


_NEEDED_LATER: Mapping[str, Sequence[Callable[[], None]]] = {"audit": (_rules, _page), "simulate": (_rules,)}
"""What a job will surely need, beside its own module."""


def settings_of(jobs: Sequence[Namespace]) -> LocalSettings:
    """Return how Spark runs jobs on this machine, by the size of what they read."""
    if are_small(jobs):
        return FOR_SMALL_INPUTS
    is_short_history = all(options.job == "history" for options in jobs) and are_small(jobs, SHORT_HISTORY)
    return FOR_PYTHON_WORKERS if is_short_history or are_read_by_workers(jobs) else FOR_LARGE_INPUTS


def _packages(jobs: Sequence[Namespace]) -> Sequence[str]:
    """Return the Spark packages that jobs need to read from brokers."""
    if not any(_reads_from_brokers(vars(options)) for options in jobs):
        return ()
    from rebalance_sim.sources.live_cluster.topic_records import PACKAGE  # noqa: PLC0415 (only few jobs need it)

    return (PACKAGE,)


def _reads_from_brokers(given: Mapping[str, Any]) -> bool:
    topic = given.get("offsets_topic") or ""
    return bool(given.get("records_from")) or any(where.startswith(KAFKA) for where in separated(topic))
