"""Where the compiled code of rules is kept between runs, and what is being compiled."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[2]
NAME = "rebalance-sim-rules"
"""Name of the folder of compiled code, wherever it is."""
_LOCKS = "being-compiled"


@cache
def cache_folder() -> Path:
    """Return the folder of compiled code, which several versions of this package may share."""
    if "NUMBA_CACHE_DIR" in os.environ:
        return Path(os.environ["NUMBA_CACHE_DIR"]) / NAME
    beside = PACKAGE / "__pycache__" / NAME
    if beside.is_dir() or os.access(PACKAGE, os.W_OK):
        return beside
    return Path(os.path.expanduser("~/.cache")) / "rebalance_sim" / NAME


def number_compiled() -> int:
    """Return the number of compiled rules."""
    return sum(1 for _ in cache_folder().glob("*.nbc"))


@contextmanager
def compiling(rule: str) -> Iterator[None]:
    """Mark a rule as being compiled until the end; if another process compiles it, wait for that first.

    Where the folder cannot be written, nothing is marked.
    """
    try:
        (cache_folder() / _LOCKS).mkdir(parents=True, exist_ok=True)
        lock = os.open(cache_folder() / _LOCKS / rule, os.O_CREAT | os.O_RDWR)
    except OSError:
        yield
        return
    try:
        # The system releases it if the process is killed.
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def being_compiled() -> list[str]:
    """Return the rules that a process of this machine is compiling."""
    folder = cache_folder() / _LOCKS
    return sorted(file.name for file in folder.iterdir() if _is_locked(file)) if folder.is_dir() else []


def _is_locked(file: Path) -> bool:
    try:
        lock = os.open(file, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(lock)
    return False
