"""``check`` without Spark: runs in Parquet files of this machine."""

from argparse import Namespace

from rebalance_sim.commands.limits import compare_with_limits
from rebalance_sim.commands.options import items
from rebalance_sim.engine.runs.checks import apply_here
from rebalance_sim.engine.runs.files import LocalFiles
from rebalance_sim.engine.runs.recorded_runs import recorded_run, with_fleets


def run(options: Namespace) -> None:
    """Read the tables here. Raises CheckError if a limit is exceeded."""
    files = LocalFiles()
    runs = with_fleets(files, [recorded_run(files, "--runs", folder) for folder in items(options.runs)])
    compare_with_limits(options, runs, apply_here)
