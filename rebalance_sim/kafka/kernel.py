"""How the rules are compiled."""

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import ParamSpec, TypeVar

import numba
from numba.core import config

_P = ParamSpec("_P")
_R = TypeVar("_R")
_PACKAGE = Path(__file__).parents[1]


@cache
def _cache_folder() -> str:
    """Where compiled code is kept: a folder for this very source of the rules.

    numba notices a change in the file of a kernel, but not in another file that the kernel calls into.
    """
    digest = hashlib.sha256()
    for source in (_PACKAGE / "versions.py", *sorted((_PACKAGE / "kafka").rglob("*.py"))):
        digest.update(source.read_bytes())
    base = Path(config.CACHE_DIR) if config.CACHE_DIR else _PACKAGE / "__pycache__"
    return str(base / f"kernels-{digest.hexdigest()[:16]}")


def kernel(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Compile a function over arrays, once a machine.

    ``NUMBA_DISABLE_JIT=1`` runs the same function as plain Python; the tests do both.
    """
    return _compiled(function)


def kernel_in_place(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Compile a function that makes no array, into those that call it.

    numba counts who uses an array, at every call and at every access to an array in a tuple. Many small steps over
    many arrays spent nine tenths of their time on that. What makes no array needs no count; numba refuses to compile
    the rest so.
    """
    return _compiled(function, forceinline=True, _nrt=False)


def _compiled(function: Callable[_P, _R], **options: bool) -> Callable[_P, _R]:
    folder, usual = _cache_folder(), config.CACHE_DIR
    config.CACHE_DIR = folder
    try:
        compiled: Callable[_P, _R] = numba.njit(cache=True, nogil=True, **options)(function)
    finally:
        config.CACHE_DIR = usual
    return compiled
