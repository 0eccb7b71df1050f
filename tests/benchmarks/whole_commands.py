"""Commands as processes of their own: how long they take, and how much memory."""

import subprocess
import sys
import time
from collections.abc import Sequence

from tests.benchmarks.memory import peak_memory


def print_command(arguments: Sequence[str], size: str, count: int, unit: str) -> None:
    """Run a command of the program, and print its time, speed, processor time and peak of memory beside its size."""
    started = time.perf_counter()
    running = subprocess.Popen([sys.executable, "-m", "rebalance_sim.cli", *arguments], stdout=subprocess.DEVNULL)
    with peak_memory(running.pid) as peak:
        if running.wait():
            raise RuntimeError(f"rebalance-sim {' '.join(arguments)} failed")
    seconds = time.perf_counter() - started
    print(
        f"  {size}  {count:13,} {unit}  {seconds:8.1f} s  {count / seconds:9,.0f} {unit}/s  "
        f"{peak.processor_s:8.1f} s of processor time  "
        f"{peak.together / 2**30:5.2f} GiB, {peak.worker / 2**30:.2f} in the largest worker",
        flush=True,
    )
