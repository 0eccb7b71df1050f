"""The page of a run full of hostile names, for the tests of the file and of the browser."""

from pathlib import Path

from pyspark.sql import SparkSession

from rebalance_sim.cli import main
from tests.support.finished_runs import SCRIPT, hostile_run


def write_hostile_page(spark: SparkSession, folder: Path) -> Path:
    """Make the page with the job ``report``; return its folder."""
    run = hostile_run(spark, folder / "run <&'\"")
    out = folder / "page"
    assert main(["report", "--runs", run, "--title", f"All of it {SCRIPT}", "--out", str(out)]) == 0
    return out
