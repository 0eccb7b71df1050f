"""Compiles rules with numba's documented options only, for ``REBALANCE_SIM_PLAIN_NUMBA=1``: see ``kernel.py``."""

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from numba.extending import overload, typeof_impl

from rebalance_sim.kafka.runtime.compiled_code import cache_folder
from rebalance_sim.kafka.runtime.kernel import WRITTEN_OUT
from rebalance_sim.kafka.runtime.records import Rows, reference, rows
from rebalance_sim.kafka.runtime.rule_keys import sources_digest

# numba looks at the file of a kernel only: of these sources, or a kernel would call an outdated one.
numba.config.CACHE_DIR = str(cache_folder() / f"plain-numba-{sources_digest()}")


@typeof_impl.register(Rows)  # type: ignore[untyped-decorator]
def _typeof_rows(value: Rows, context: Any) -> Any:
    return numba.typeof(np.asarray(value))


@overload(rows, strict=False)  # type: ignore[untyped-decorator]
def _overload_rows(array: Any, first: Any = 0) -> Any:
    return lambda array, first=0: array[first:]


@overload(reference, strict=False)  # type: ignore[untyped-decorator]
def _overload_reference(of: Any) -> Any:
    return lambda of: of


def compiled(function: Callable[..., Any], kind: str) -> Any:
    """Return a function that numba compiles at its first call."""
    return numba.njit(nogil=True, cache=True, inline="always" if kind == WRITTEN_OUT else "never")(function)
