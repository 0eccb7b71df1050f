"""How long a person waits for each job on its example, from start to end, beside a trivial job of stock PySpark.

Cold: no rule is compiled and there is no archive of classes. Warm: the machine is prepared. Another checkout of this
project, such as the state before a change, is measured in the same rounds.
"""

import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[2]
_ORDERS = ROOT / "docs" / "examples" / "orders"
_FLEET = ("--topics", "fleet/topics", "--members", "fleet/members")
JOBS: Mapping[str, Sequence[str]] = {
    "--help": ["--help"],
    "fleet": ["fleet", "--kafka-tools", str(ROOT / "docs" / "examples" / "kafka-4.3.1"), "--out", "fleet"],
    "elect": ["elect", *_FLEET[2:], "--out", "elect"],
    "assign": ["assign", *_FLEET, "--out", "assign"],
    "partition": [
        *("partition", "--format", "json", "--topics", str(_ORDERS / "topics.json")),
        *("--records", str(_ORDERS / "clicks.json"), "--out", "partition"),
    ],
    "simulate": ["simulate", *_FLEET, "--scenario", "rolling-restart", "--out", "simulate"],
}
LIMITS = {"fleet": 0.7, "elect": 0.7, "assign": 0.8, "partition": 1.0, "simulate": 1.0}
"""Of a prepared machine, as multiples of the trivial job."""
_TRIVIAL = """
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
print(spark.range(10).mapInPandas(lambda batches: batches, "id long").count())
"""
_PREPARE = ["-m", "rebalance_sim.preparation"]


def bench_latency(rounds: int, before: Path | None) -> None:
    """Print a Markdown table of this checkout and, if it is given, of another one."""
    checkouts = {"before": before, "now": ROOT} if before else {"now": ROOT}
    with TemporaryDirectory() as folder:
        times = {name: _measured(checkout, Path(folder) / name, rounds) for name, checkout in checkouts.items()}
        trivial = statistics.median(_seconds(["-c", _TRIVIAL], ROOT, Path(folder), {}) for _ in range(rounds))
    states = [(name, state) for name in times for state in ("cold", "warm")]
    print(f"\na trivial job of stock PySpark: {trivial:.1f} s\n")
    print(f"| job | {' | '.join(f'{name}, {state} (s)' for name, state in states)} | x trivial | limit |")
    print(f"|---|{'---|' * (len(states) + 2)}")
    for job in JOBS:
        cells = [f"{times[name][state][job]:.1f}" for name, state in states]
        ratio = f"{times['now']['warm'][job] / trivial:.2f}"
        print(f"| `{job}` | {' | '.join(cells)} | {ratio} | {LIMITS.get(job, '')} |")


def _measured(checkout: Path, folder: Path, rounds: int) -> dict[str, dict[str, float]]:
    """Return the seconds of each job: the first ones without anything prepared, and the median of prepared ones."""
    cold, warm = {}, {}
    for job in JOBS:
        with _empty_caches(folder) as caches:
            cold[job] = _seconds(["-m", "rebalance_sim.cli", *JOBS[job]], checkout, folder, caches)
    with _empty_caches(folder) as caches:
        if (checkout / "rebalance_sim" / "preparation.py").exists():
            _seconds(_PREPARE, checkout, folder, caches)
        all_rounds = [
            {job: _seconds(["-m", "rebalance_sim.cli", *JOBS[job]], checkout, folder, caches) for job in JOBS}
            for _ in range(rounds + 1)
        ]
    for job in JOBS:
        warm[job] = statistics.median(times[job] for times in all_rounds[1:])
    return {"cold": cold, "warm": warm}


@contextmanager
def _empty_caches(folder: Path) -> Iterator[dict[str, str]]:
    caches = folder / "caches"
    yield {"NUMBA_CACHE_DIR": str(caches / "numba"), "XDG_CACHE_HOME": str(caches)}
    shutil.rmtree(caches, ignore_errors=True)


def _seconds(arguments: Sequence[str], checkout: Path, folder: Path, environment: Mapping[str, str]) -> float:
    """Run Python with the package of a checkout, and return the seconds until it ends."""
    folder.mkdir(parents=True, exist_ok=True)
    given = {**environment_of(checkout), **environment}
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=given, capture_output=True, text=True, check=False
    )
    seconds = time.perf_counter() - started
    if done.returncode:
        raise RuntimeError(f"{' '.join(arguments)} failed:\n{done.stderr}")
    return seconds


def environment_of(checkout: Path) -> dict[str, str]:
    """Return the environment in which Python finds the package of a checkout."""
    return {**os.environ, "PYTHONPATH": str(checkout), "PYSPARK_PYTHON": sys.executable}
