"""What Java prints is in the log, and a job's first line comes before everything that takes time."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

START = """
import logging, os
from pyspark import SparkConf
from rebalance_sim.engine.spark.java_output import start_java
from rebalance_sim.engine.spark.java_runtime import java_home
os.environ["JAVA_HOME"] = str(java_home())
logging.basicConfig(format="%(levelname)s %(message)s")
logging.getLogger("rebalance_sim").setLevel("DEBUG")
start_java(SparkConf())
"""


def printed_by(code: str, **environment: str) -> list[str]:
    command, variables = [sys.executable, "-c", code], {**os.environ, **environment}
    return subprocess.run(command, env=variables, capture_output=True, text=True, check=False).stderr.splitlines()


@pytest.mark.scale
def test_javas_messages_are_logged_at_level_debug() -> None:
    noisy = {"JDK_JAVA_OPTIONS": "-Dx=y"}  # Java prints that it picks them up.
    printed = printed_by(START, **noisy)
    assert any(line.startswith("DEBUG NOTE: Picked up") for line in printed)
    assert [line for line in printed if not line.startswith("DEBUG ")] == []


def test_java_that_does_not_start_says_why() -> None:
    printed = printed_by(START, PYSPARK_SUBMIT_ARGS="--driver-memory 1x pyspark-shell")
    assert "ERROR Invalid maximum heap size: -Xmx1x" in printed


def test_the_first_line_comes_before_spark_starts(tmp_path: Path) -> None:
    start = "from rebalance_sim.commands import starting\nstarting.start = lambda *_: 1 / 0\n"
    job = f"main(['fleet', '--synthetic', 'small', '--out', '{tmp_path}/out'])"
    printed = printed_by(f"{start}from rebalance_sim.cli import main\n{job}")
    assert printed[0].endswith("starting Spark")
    assert "ZeroDivisionError: division by zero" in printed
