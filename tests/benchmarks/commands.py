"""Whole commands over many groups, from Parquet to Parquet, beside another checkout of this project."""

import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tests.benchmarks.latency import ROOT, environment_of
from tests.benchmarks.memory import peak_memory

COMMANDS: Mapping[str, Sequence[str]] = {
    "assign range": ["assign", "--strategy", "range"],
    "assign sticky": ["assign", "--strategy", "sticky"],
    "elect": ["elect"],
    "simulate": ["simulate", "--scenario", "rolling-restart"],
}
_ALL = ["assign", "--strategy", "all"]
_LIMIT = 0.4
"""Of the seconds of the state before."""


def bench_commands(spark: SparkSession, fleets: Mapping[int, Path], before: Path | None) -> None:
    """Print the seconds of each command and, beside another checkout, their ratio; ``fleets`` are by groups."""
    few, many = min(fleets), max(fleets)
    with TemporaryDirectory() as folder:
        for name, command in COMMANDS.items():
            groups = few if command[0] == "simulate" else many
            outputs = {state: Path(folder, name, state) for state in ("now", "before")}
            seconds = _seconds(command, fleets[groups], outputs["now"], ROOT)
            print(f"\n{name}, {groups:,} groups: {seconds:.1f} s", flush=True)
            if before is None:
                continue
            # The rules of the other checkout may not be compiled yet.
            _seconds(command, fleets[few], outputs["before"], before)
            others = _seconds(command, fleets[groups], outputs["before"], before)
            _compare(spark, outputs["now"], outputs["before"])
            ratio = seconds / others
            print(f"  before {others:.1f} s: {ratio:.2f} x (limit {_LIMIT}), the tables are equal", flush=True)
        started = time.perf_counter()
        with _running(_ALL, fleets[few], Path(folder, "all"), ROOT) as process, peak_memory(process.pid) as peak:
            _wait(process)
        seconds, memory = time.perf_counter() - started, peak.together / 2**30
    print(f"\nassign --strategy all, {few:,} groups: {seconds:.1f} s, {memory:.1f} GiB in all processes at one time")


def _seconds(command: Sequence[str], fleet: Path, out: Path, checkout: Path) -> float:
    started = time.perf_counter()
    with _running(command, fleet, out, checkout) as process:
        _wait(process)
    return time.perf_counter() - started


def _wait(process: subprocess.Popen[str]) -> None:
    _, printed = process.communicate()
    if process.returncode:
        raise RuntimeError(f"{process.args!r} failed:\n{printed}")


def _running(command: Sequence[str], fleet: Path, out: Path, checkout: Path) -> subprocess.Popen[str]:
    topics = [] if command[0] == "elect" else ["--topics", str(fleet / "topics")]
    options = [*topics, "--members", str(fleet / "members"), "--out", str(out)]
    return subprocess.Popen(
        [sys.executable, "-m", "rebalance_sim.cli", *command, *options],
        cwd=checkout,  # Where Python looks for modules first.
        env=environment_of(checkout),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _compare(spark: SparkSession, now: Path, before: Path) -> None:
    """Raise RuntimeError if two runs wrote different tables; columns that only one of them has are not compared."""
    tables = sorted(path.name for path in before.iterdir() if path.is_dir())
    for name in tables:
        ours, theirs = (spark.read.parquet(f"{folder}/{name}") for folder in (now, before))
        columns = [column for column in theirs.columns if column in ours.columns]
        if _digest(ours, columns) != _digest(theirs, columns):
            raise RuntimeError(f"{name}: the rows differ")


def _digest(rows: DataFrame, columns: Sequence[str]) -> tuple[int, int]:
    """Return the number of rows, and a sum over their contents."""
    as_text = F.to_json(F.struct(*columns), {"ignoreNullFields": "false"})
    found = rows.agg(F.count("*"), F.sum(F.xxhash64(as_text).cast("decimal(38,0)"))).first()
    assert found is not None
    return found[0], found[1]
