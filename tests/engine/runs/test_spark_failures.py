"""Mistakes in inputs that Spark notices: its stack traces are not printed."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from rebalance_sim.cli import main
from tests.support.rows import member, members

ROOT = Path(__file__).parents[3]
IN_A_SESSION_OF_ITS_OWN = """
import sys
from rebalance_sim.cli import main

for options in sys.argv[1:]:
    print("exit code", main(options.split()), file=sys.stderr)
"""


@pytest.fixture
def damaged(spark: SparkSession, tmp_path: Path) -> Path:
    """Write members of which Spark can read the columns only."""
    folder = tmp_path / "damaged"
    members(spark, *(member(f"m{n}", ["range"], ["t"]) for n in range(100))).coalesce(1).write.parquet(str(folder))
    (file,) = folder.glob("part*")
    content = bytearray(file.read_bytes())
    content[8 : len(content) // 4] = bytes(len(content) // 4 - 8)
    file.write_bytes(content)
    for checksums in folder.glob(".*.crc"):
        checksums.unlink()
    return folder


def test_a_damaged_file_takes_one_line(damaged: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Spark finds it while the job is running."""
    assert main(["elect", "--members", str(damaged), "--out", f"{tmp_path}/out", "--log-level", "error"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("rebalance-sim elect: an input cannot be read: [FAILED_READ_FILE")
    assert "/damaged/part-" in line


@pytest.mark.setup
def test_spark_prints_no_stack_traces(damaged: Path, tmp_path: Path) -> None:
    """Unless the job logs at level debug."""
    (tmp_path / "cut.parquet").write_bytes(b"PAR1 and no more")
    (tmp_path / "numbers.csv").write_text("group_id,member_id,protocols,subscription,owned\ng,a,range,t,5\n")
    mistakes = [
        f"elect --log-level {level} --out {tmp_path}/out --members {file}"
        for level in ("error", "debug")
        for file in (damaged, tmp_path / "cut.parquet", tmp_path / "numbers.csv")
    ]
    command = [sys.executable, "-c", IN_A_SESSION_OF_ITS_OWN, *mistakes]
    printed = subprocess.run(command, stderr=subprocess.PIPE, text=True, check=True, cwd=ROOT).stderr
    # PySpark logs its own in JSON.
    traces = [re.search(r"\tat |\\tat ", part) is not None for part in printed.split("exit code 2\n")]
    assert traces == [*[False] * 3, *[True] * 3, False]
