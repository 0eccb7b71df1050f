"""Mutilated captures from the files to the exit codes: read as they were, or an audit and a check that fail."""

import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from rebalance_sim.cli import main
from tests.support.mutilated_captures import MUTILATED, Mutilated, Texts, small_capture

pytestmark = [pytest.mark.usefixtures("small_runs"), pytest.mark.scale]
UNUSABLE, LIMIT_EXCEEDED, INCOMPLETE = 2, 3, 4
"""Exit codes."""


def audited(folder: Path, texts: Texts, encoding: str) -> int:
    """Audit files in the folder ``capture`` with the default limits, and return the exit code."""
    (folder / "capture").mkdir(parents=True)
    for name, text in texts.items():
        (folder / "capture" / name).write_bytes(text.encode(encoding))
    return main(["audit", "--kafka-tools", f"{folder}/capture", "--out", f"{folder}/out"])


def members(spark: SparkSession, folder: Path) -> set[tuple[str, str]]:
    """Return the members that an audit has read."""
    rows = spark.read.parquet(f"{folder}/out/fleet/members").select("group_id", "member_id").collect()
    return {(row["group_id"], row["member_id"]) for row in rows}


@pytest.fixture(scope="module")
def whole(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> set[tuple[str, str]]:
    """Return the members of the capture as it was."""
    folder = tmp_path_factory.mktemp("whole")
    assert audited(folder, small_capture(), "utf-8") == 0
    assert main(["check", "--runs", f"{folder}/out"]) == 0
    return members(spark, folder)


@pytest.mark.parametrize("mutilated", MUTILATED, ids=str)
def test_no_mutilated_capture_ends_in_an_all_clear(
    spark: SparkSession,
    whole: set[tuple[str, str]],
    mutilated: Mutilated,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    exit_code = audited(tmp_path, mutilated.of(small_capture()), mutilated.encoding)
    printed = capfd.readouterr()
    assert "Traceback" not in printed.out + printed.err
    if exit_code == 0:
        assert members(spark, tmp_path) == whole
        return
    if exit_code == UNUSABLE:
        assert re.search(r"no members of groups \([1-9][0-9]* lines could not be used, the first in ", printed.err)
        assert not (tmp_path / "out").exists()
        return
    assert exit_code == INCOMPLETE
    assert re.match(".*could not be (used|read)", printed.out)
    assert main(["check", "--runs", f"{tmp_path}/out"]) == LIMIT_EXCEEDED
    assert "failed: " in capfd.readouterr().out
