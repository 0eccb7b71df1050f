"""A page that is made once."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from rebalance_sim.cli import main
from tests.report.runs import SCRIPT, hostile_run


@pytest.fixture(scope="session")
def hostile_page(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make the page of a run in which no name is friendly, by its own job; return its folder."""
    folder = tmp_path_factory.mktemp("hostile")
    run = hostile_run(spark, folder / "run <&'\"")
    out = folder / "page"
    assert main(["report", "--runs", run, "--title", f"All of it {SCRIPT}", "--out", str(out)]) == 0
    return out
