"""The folder in which compiled kernels are kept between runs."""

import hashlib
import os
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[2]


@cache
def cache_folder() -> Path:
    """Return the folder of the compiled code of exactly this source.

    The name contains a hash of all rules: numba recompiles a kernel when its own file changes, but not when a kernel
    that it calls, in another file, does.
    """
    digest = hashlib.sha256()
    for source in (PACKAGE / "releases.py", *sorted((PACKAGE / "kafka").rglob("*.py"))):
        digest.update(source.read_bytes())
    name = f"kernels-{digest.hexdigest()[:16]}"
    if "NUMBA_CACHE_DIR" in os.environ:
        return Path(os.environ["NUMBA_CACHE_DIR"]) / name
    beside = PACKAGE / "__pycache__" / name
    if beside.is_dir() or os.access(PACKAGE, os.W_OK):
        return beside
    return Path.home() / ".cache" / "rebalance_sim" / name


def is_compiled() -> bool:
    """Return whether all rules are compiled, or need not be; otherwise the first run compiles for a minute."""
    return os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0") or _complete().exists()


def number_compiled() -> int:
    """Return the number of compiled rules."""
    return sum(1 for _ in cache_folder().rglob("*.nbc"))


def mark_complete() -> None:
    """Record that all rules are compiled."""
    _complete().touch()


def _complete() -> Path:
    return cache_folder() / "complete"
