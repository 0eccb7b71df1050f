"""How much the tests try: less if the rules run as plain Python, which is a hundred times slower.

The same code answers either way. Plain Python alone shows numpy's warnings of overflows, writes to arrays that are
read-only, and where numba takes code otherwise than Python does; a few cases of each rule are enough for that.
"""

from collections.abc import Sequence
from typing import TypeVar

import numba
from hypothesis import HealthCheck, settings

_T = TypeVar("_T")
COMPILED = not numba.config.DISABLE_JIT
_ONE_IN = 8


def scaled(count: int) -> int:
    """Return a smaller number if the rules are not compiled."""
    return count if COMPILED else max(count // _ONE_IN, 1)


def some(cases: Sequence[_T]) -> Sequence[_T]:
    """Return all elements, or some of them with the last."""
    return cases if COMPILED else cases[(len(cases) - 1) % _ONE_IN :: _ONE_IN]


def examples(count: int) -> settings:
    """Return hypothesis settings without a deadline: a busy machine is no failure."""
    return settings(
        max_examples=scaled(count),
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.large_base_example],
    )
