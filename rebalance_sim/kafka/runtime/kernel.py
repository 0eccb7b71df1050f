"""Compile the rules with numba.

``@kernel`` and its variants are ``numba.njit`` with a faster compilation and faster calls between kernels. That needs
numba's internals, which are all in ``numba_internals.py`` and may change with any release of numba. With
``REBALANCE_SIM_PLAIN_NUMBA=1`` the kernels use numba's documented options only: every result is the same, but the first
run compiles much longer and a simulation runs slower. ``NUMBA_DISABLE_JIT=1`` runs the same functions as plain Python.
"""

import os
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import numba
import numpy as np
from numba.extending import is_jitted, overload, typeof_impl

from rebalance_sim.kafka.runtime.compiled_code import cache_folder
from rebalance_sim.kafka.runtime.records import Rows, reference, rows

_P = ParamSpec("_P")
_R = TypeVar("_R")
PLAIN_NUMBA = os.environ.get("REBALANCE_SIM_PLAIN_NUMBA", "0") not in ("", "0")
"""Whether kernels use numba's documented options only."""

if PLAIN_NUMBA:
    # The same folder for the same rules, as without this switch, or a kernel would call an outdated one.
    numba.config.CACHE_DIR = str(cache_folder())

    @typeof_impl.register(Rows)  # type: ignore[untyped-decorator]
    def _typeof_rows(value: Rows, context: Any) -> Any:
        return numba.typeof(np.asarray(value))

    @overload(rows, strict=False)  # type: ignore[untyped-decorator]
    def _overload_rows(array: Any) -> Any:
        return lambda array: array

    @overload(reference, strict=False)  # type: ignore[untyped-decorator]
    def _overload_reference(of: Any) -> Any:
        return lambda of: of

else:
    try:
        from rebalance_sim.kafka.runtime import numba_internals
    except (ImportError, AttributeError) as missing:
        raise ImportError(
            f"numba {numba.__version__} lacks internals that rebalance_sim uses ({missing}). Install a version that "
            "rebalance_sim requires, or set REBALANCE_SIM_PLAIN_NUMBA=1 to compile without them, which is slower"
        ) from missing


def kernel(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Compile a function over arrays and keep the compiled code for later runs."""
    return _compiled(function)


def inner_kernel(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Compile a function that creates no array.

    numba counts references to an array at every call and at every access to an array in a tuple; simulations, which
    take many small steps over many arrays, spent nine tenths of their time on that. A function that creates no array
    needs no counts, and numba refuses to compile any other function without them.
    """
    return _compiled(function, _nrt=False)


def kernel_in_place(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Compile a function that creates no array into the kernels that call it."""
    return _compiled(function, forceinline=True, _nrt=False)


def kernel_written_out(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Copy a function into the source of the kernels that call it.

    So it may return records, as compiled functions cannot.
    """
    return _njit(function, inline="always")


def _compiled(function: Callable[_P, _R], **options: bool) -> Callable[_P, _R]:
    if PLAIN_NUMBA:
        return _njit(function)
    called = _njit(function, **options)
    return numba_internals.link_into_callers(function, called, **options) if is_jitted(called) else called


def _njit(function: Callable[_P, _R], **options: bool | str) -> Callable[_P, _R]:
    if PLAIN_NUMBA:
        return numba.njit(nogil=True, cache=True, **options)(function)
    called = numba.njit(nogil=True, pipeline_class=numba_internals.KernelCompiler, **options)(function)
    return numba_internals.keep_compiled_code(function, called) if is_jitted(called) else called
