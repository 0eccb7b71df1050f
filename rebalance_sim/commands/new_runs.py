"""New runs of the jobs that write tables."""

from argparse import Namespace

from pyspark.sql import SparkSession

from rebalance_sim.commands.options import on_record
from rebalance_sim.engine.runs.local_run import LocalRun, runs_here
from rebalance_sim.engine.runs.planned_runs import DryRun, ExplainedRun
from rebalance_sim.engine.runs.run import Run
from rebalance_sim.engine.runs.small_run import SmallRun
from rebalance_sim.engine.spark.driver_rows import keeps_rows


def new_run(spark: SparkSession, job: str, options: Namespace) -> Run:
    """Return a run, or a plan of one, that records its options. Nothing is written before it begins."""
    kind = DryRun if options.dry_run else ExplainedRun if options.explain else _usual_run(spark, options)
    run = kind(spark, job, options.out, on_record(options), options.output_format)
    # Before the rules run, as they do at once on a small input.
    run.check_out()
    return run


def _usual_run(spark: SparkSession, options: Namespace) -> type[Run]:
    if keeps_rows(spark):
        return SmallRun
    return LocalRun if runs_here(spark, options.out, options.output_format) else Run
