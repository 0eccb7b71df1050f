"""The folder in which compiled kernels are kept between runs."""

import hashlib
import os
from functools import cache
from pathlib import Path

import numba

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
    if numba.config.CACHE_DIR:
        return Path(numba.config.CACHE_DIR) / name
    beside = PACKAGE / "__pycache__" / name
    if beside.is_dir() or os.access(PACKAGE, os.W_OK):
        return beside
    return Path.home() / ".cache" / "rebalance_sim" / name


def is_compiled() -> bool:
    """Return whether compiled kernels are available or not needed; otherwise the first run compiles for minutes."""
    return bool(numba.config.DISABLE_JIT) or any(cache_folder().rglob("*.nbc"))
