"""Run a job on Spark, and say why one failed. The command line imports this when a job runs, not for ``--help``."""

import re
from argparse import Namespace
from importlib import import_module

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from rebalance_sim.commands.console import print_summary
from rebalance_sim.commands.custom_assignors import WHERE_MODULES_ARE
from rebalance_sim.commands.plan import plan
from rebalance_sim.commands.progress_bar import shows_bar
from rebalance_sim.engine.runs.claims import claims_released
from rebalance_sim.engine.runs.planned_runs import DryRun, PlanComplete
from rebalance_sim.engine.runs.progress import progress
from rebalance_sim.engine.runs.spark_failures import spark_errors, unreadable_input

_BAR_SECONDS = 0.3


def run_job(spark: SparkSession, options: Namespace) -> None:
    """Run a job, or print its plan."""
    job = import_module(f"rebalance_sim.commands.{options.job}")
    errors, claims = spark_errors(spark, options.log_level == "debug"), claims_released()
    try:
        with errors, progress(spark, *([_BAR_SECONDS] if shows_bar(options) else [])), claims:
            job.run(spark, options)
    except PlanComplete as complete:
        if isinstance(complete.run, DryRun):
            print_summary(plan(complete.run, options))


def user_error_in(failure: BaseException) -> str | None:
    """Return the line for an unreadable input or a missing module that Spark only noticed while it ran."""
    if not isinstance(failure, PySparkException | Py4JJavaError):
        return None
    missing = re.search("^ModuleNotFoundError: No module named '(.*)'$", str(failure), re.MULTILINE)
    if missing:
        return f"Spark's workers cannot import module {missing[1]!r}; {WHERE_MODULES_ARE}"
    return unreadable_input(failure)
