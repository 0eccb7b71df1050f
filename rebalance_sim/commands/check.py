"""``check``: compare the figures of finished runs with limits; exit code 3 if one is exceeded."""

from argparse import Namespace
from functools import partial

from pyspark.sql import SparkSession

from rebalance_sim.commands.limits import compare_with_limits
from rebalance_sim.commands.options import items
from rebalance_sim.engine.runs.finished_runs import apply_with_spark
from rebalance_sim.engine.runs.hadoop_files import HadoopFiles
from rebalance_sim.engine.runs.recorded_runs import recorded_run, with_fleets


def run(spark: SparkSession, options: Namespace) -> None:
    """Read the tables with Spark. Raises CheckError if a limit is exceeded."""
    files = HadoopFiles(spark)
    runs = with_fleets(files, [recorded_run(files, "--runs", folder) for folder in items(options.runs)])
    compare_with_limits(options, runs, partial(apply_with_spark, spark))
