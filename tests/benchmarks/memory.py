"""Watches the resident memory and the processor time of processes (Linux)."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

_WORKER = b"pyspark.daemon"
_INTERVAL_S = 0.05


@dataclass
class Peak:
    """The most so far, in bytes."""

    worker: int = 0
    """Of one Python worker of Spark's."""
    together: int = 0
    """Of the process and all that it started, at one time."""
    processor_s: float = 0
    """Processor time of all of them, in seconds."""


@contextmanager
def peak_memory(pid: int | None = None) -> Iterator[Peak]:
    """Watch a process, by default this one, and all that it starts."""
    peak, done, processor_s = Peak(), threading.Event(), dict[int, float]()

    def watch() -> None:
        while not done.wait(_INTERVAL_S):
            used = _used(os.getpid() if pid is None else pid)
            resident = {process: of_process.resident for process, of_process in used.items()}
            processor_s.update((process, of_process.processor_s) for process, of_process in used.items())
            peak.processor_s = sum(processor_s.values())
            peak.together = max(peak.together, sum(resident.values()))
            peak.worker = max(peak.worker, *(size for process, size in resident.items() if _is_worker(process)), 0)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield peak
    finally:
        done.set()
        watcher.join()


class _Used(NamedTuple):
    """What a process uses: bytes of memory, and seconds of a processor so far."""

    resident: int
    processor_s: float


def _used(root: int) -> dict[int, _Used]:
    """Return what a process uses and those that it started, by process id."""
    parents, used = {}, {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:  # It has ended.
            continue
        process = int(stat.parent.name)
        ticks = int(fields[11]) + int(fields[12])
        resident = int(fields[21]) * os.sysconf("SC_PAGE_SIZE")
        parents[process], used[process] = int(fields[1]), _Used(resident, ticks / os.sysconf("SC_CLK_TCK"))
    return {process: each for process, each in used.items() if root in _ancestry(process, parents)}


def _ancestry(process: int, parents: dict[int, int]) -> Iterator[int]:
    while process in parents:
        yield process
        process = parents[process]


def _is_worker(process: int) -> bool:
    try:
        return _WORKER in Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return False
