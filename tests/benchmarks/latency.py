"""How long a person waits for each job on its example, from start to end, beside a trivial job of stock PySpark.

Cold: no rule is compiled and there is no archive of classes. Warm: the machine is prepared. Another checkout of this
project, such as the state before a change, is measured in the same rounds.
"""

import math
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from rebalance_sim.kafka.runtime.kernel import ALWAYS_COMPILES

ROOT = Path(__file__).parents[2]
_ORDERS = ROOT / "docs" / "examples" / "orders"
_FLEET = ("--topics", "fleet/topics", "--members", "fleet/members")
JOBS: Mapping[str, Sequence[str]] = {
    "--help": ["--help"],
    "--version": ["--version"],
    "fleet": ["fleet", "--kafka-tools", str(ROOT / "docs" / "examples" / "kafka-4.3.1"), "--out", "fleet"],
    "elect": ["elect", *_FLEET[2:], "--out", "elect"],
    "assign": ["assign", *_FLEET, "--out", "assign"],
    "partition": [
        *("partition", "--format", "json", "--topics", str(_ORDERS / "topics.json")),
        *("--records", str(_ORDERS / "clicks.json"), "--out", "partition"),
    ],
    "audit": ["audit", "--kafka-tools", str(ROOT / "docs" / "examples" / "kafka-4.3.1"), "--out", "audit"],
    "simulate": ["simulate", *_FLEET, "--scenario", "rolling-restart", "--out", "simulate"],
}
LIMITS = {"fleet": "0.7", "elect": "0.7", "assign": "0.8", "partition": "1.0", "audit": "1.0", "simulate": "1.0"}
LIMITS |= {"--help": "0.3 s", "--version": "0.3 s"}
"""Of a prepared machine, as multiples of the trivial job unless there is a unit."""
_TRIVIAL = """
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
print(spark.range(10).mapInPandas(lambda batches: batches, "id long").count())
"""


def bench_latency(rounds: int, before: Path | None) -> None:
    """Print a Markdown table of this checkout and, if it is given, of another one."""
    checkouts: Mapping[str, Path] = {"before": before, "now": ROOT} if before else {"now": ROOT}
    cold: dict[str, dict[str, float]] = {}
    warm: dict[str, list[dict[str, float]]] = {name: [] for name in checkouts}
    trivial: list[float] = []
    with TemporaryDirectory() as folder:
        for name, checkout in checkouts.items():
            cold[name] = _cold(checkout, Path(folder, "cold", name))
            _prepare(checkout, Path(folder, name))
        for _ in range(rounds + 1):
            trivial.append(_seconds(["-c", _TRIVIAL], ROOT, Path(folder), {}))
            for name, checkout in checkouts.items():
                warm[name].append(_each_job(checkout, Path(folder, name)))
    # The first round reads files from disk that the later ones find in memory.
    del trivial[0]
    medians = {name: {job: statistics.median(times[job] for times in warm[name][1:]) for job in JOBS} for name in warm}
    print(f"\na trivial job of stock PySpark: {statistics.median(trivial):.1f} s\n")
    headers = [f"{name}, {state} (s)" for name in checkouts for state in ("cold", "warm")]
    print(f"| job | {' | '.join(headers)} | x trivial | limit |")
    print(f"|---|{'---|' * (len(headers) + 2)}")
    for job in JOBS:
        cells = [f"{seconds:.1f}" for name in checkouts for seconds in (cold[name][job], medians[name][job])]
        ratios = [times[job] / unit for times, unit in zip(warm["now"][1:], trivial, strict=True)]
        print(f"| `{job}` | {' | '.join(cells)} | {statistics.median(ratios):.2f} | {LIMITS.get(job, '')} |")


def _cold(checkout: Path, folder: Path) -> dict[str, float]:
    """Return the seconds of each job where nothing is prepared."""
    seconds = {}
    for job, arguments in JOBS.items():
        seconds[job] = _seconds(["-m", "rebalance_sim.cli", *arguments], checkout, folder, _caches(folder))
        shutil.rmtree(folder / "caches", ignore_errors=True)
    return seconds


def _prepare(checkout: Path, folder: Path) -> None:
    if (checkout / "rebalance_sim" / "preparation.py").exists():
        _seconds(["-m", "rebalance_sim.preparation"], checkout, folder, _caches(folder))


def _each_job(checkout: Path, folder: Path) -> dict[str, float]:
    return {
        job: _seconds(["-m", "rebalance_sim.cli", *arguments], checkout, folder, _caches(folder))
        for job, arguments in JOBS.items()
    }


def _caches(folder: Path) -> dict[str, str]:
    """Return the environment in which compiled rules and archives are kept in a folder."""
    return {"NUMBA_CACHE_DIR": str(folder / "caches" / "numba"), "XDG_CACHE_HOME": str(folder / "caches")}


def _seconds(arguments: Sequence[str], checkout: Path, folder: Path, environment: Mapping[str, str]) -> float:
    """Run Python with the package of a checkout, and return the seconds until it ends; NaN for an unknown option."""
    folder.mkdir(parents=True, exist_ok=True)
    given = {**environment_of(checkout), **environment}
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=given, capture_output=True, text=True, check=False
    )
    seconds = time.perf_counter() - started
    if done.returncode == 2:
        return math.nan
    if done.returncode:
        raise RuntimeError(f"{' '.join(arguments)} failed:\n{done.stderr}")
    return seconds


def environment_of(checkout: Path) -> dict[str, str]:
    """Return the environment of a user in which Python finds the package of a checkout.

    That of the tests compiles each rule, however few the rows are.
    """
    inherited = {name: value for name, value in os.environ.items() if name != ALWAYS_COMPILES}
    return {**inherited, "PYTHONPATH": str(checkout), "PYSPARK_PYTHON": sys.executable}
