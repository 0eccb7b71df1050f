"""The public functions return the same rows on Spark Connect as in a classic session."""

import inspect
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import rebalance_sim
from rebalance_sim.cli import main
from tests.support import public_functions
from tests.support.public_functions import CASES, Given
from tests.support.submitted_jobs import ROOT, environment


def test_every_public_function_has_a_case() -> None:
    functions = {name for name in rebalance_sim.__all__ if inspect.isfunction(getattr(rebalance_sim, name))}
    assert functions == {case.partition(",")[0] for case in CASES}


def test_jobs_report_that_they_do_not_run_on_spark_connect(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SPARK_REMOTE", "sc://127.0.0.1")
    assert main(["elect", "--members", "members", "--out", str(tmp_path)]) == 2
    assert "rebalance-sim elect: jobs do not run on Spark Connect; unset SPARK_REMOTE" in capsys.readouterr().err


@pytest.fixture(scope="module")
def given(spark: SparkSession) -> Given:
    return Given.on(spark)


@pytest.fixture(scope="module")
def on_connect() -> dict[str, Any]:
    """Return the results of all cases in a session of Spark Connect."""
    pytest.importorskip("grpc", reason="Spark Connect needs grpcio")
    command, variables = [sys.executable, "-m", public_functions.__name__], os.environ | environment()
    done = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, check=False)
    printed = [line for line in done.stdout.splitlines() if line.startswith("{")]
    assert printed, done.stderr[-2000:]
    answers: dict[str, Any] = json.loads(printed[-1])
    return answers


@pytest.mark.clients
@pytest.mark.parametrize("case", CASES)
def test_the_rows_are_those_of_a_classic_session(case: str, given: Given, on_connect: dict[str, Any]) -> None:
    found = on_connect[case]
    assert found == public_functions.answer(case, given)
    assert found
