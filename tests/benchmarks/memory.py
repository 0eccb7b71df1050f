"""Watches the resident memory of processes (Linux)."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_WORKER = b"pyspark.daemon"
_INTERVAL_S = 0.05


@dataclass
class Peak:
    """The most so far, in bytes."""

    worker: int = 0
    """Of one Python worker of Spark's."""
    together: int = 0
    """Of the process and all that it started, at one time."""


@contextmanager
def peak_memory(pid: int | None = None) -> Iterator[Peak]:
    """Watch a process, by default this one, and all that it starts."""
    peak, done = Peak(), threading.Event()

    def watch() -> None:
        while not done.wait(_INTERVAL_S):
            resident = _resident(os.getpid() if pid is None else pid)
            peak.together = max(peak.together, sum(resident.values()))
            peak.worker = max(peak.worker, *(size for process, size in resident.items() if _is_worker(process)), 0)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield peak
    finally:
        done.set()
        watcher.join()


def _resident(root: int) -> dict[int, int]:
    """Return the bytes of a process and of those that it started, by process id."""
    parents, sizes = {}, {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:  # It has ended.
            continue
        process = int(stat.parent.name)
        parents[process], sizes[process] = int(fields[1]), int(fields[21]) * os.sysconf("SC_PAGE_SIZE")
    return {process: size for process, size in sizes.items() if root in _ancestry(process, parents)}


def _ancestry(process: int, parents: dict[int, int]) -> Iterator[int]:
    while process in parents:
        yield process
        process = parents[process]


def _is_worker(process: int) -> bool:
    try:
        return _WORKER in Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return False
