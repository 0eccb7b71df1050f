"""How the rules are compiled."""

from collections.abc import Callable
from typing import ParamSpec, TypeVar

import numba

_P = ParamSpec("_P")
_R = TypeVar("_R")


def kernel(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Compile a function over arrays, once a machine: the code is kept in ``__pycache__``.

    ``NUMBA_DISABLE_JIT=1`` runs the same function as plain Python; the tests do both.
    """
    compiled: Callable[_P, _R] = numba.njit(cache=True, nogil=True)(function)
    return compiled
