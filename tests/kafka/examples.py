"""How much the tests try: less where the rules run as plain Python, a hundred times as slow."""

from collections.abc import Sequence
from typing import TypeVar

import numba
from hypothesis import HealthCheck, settings

_T = TypeVar("_T")
COMPILED = not numba.config.DISABLE_JIT


def scaled(count: int) -> int:
    """Less of something where the rules are not compiled."""
    return count if COMPILED else max(count // 8, 1)


def some(cases: Sequence[_T]) -> Sequence[_T]:
    """All of them, or some."""
    return cases if COMPILED else cases[::8]


def examples(count: int) -> settings:
    """How often hypothesis tries; a machine that is busy with other things is no failure."""
    return settings(
        max_examples=scaled(count),
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.large_base_example],
    )
