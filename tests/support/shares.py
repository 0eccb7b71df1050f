"""How many of their random cases the live comparisons draw."""

from collections.abc import Callable
from pathlib import Path

import pytest

Draws = Callable[[int], int]
"""Returns how many cases to draw where a full comparison draws a number of them."""

_SHARE, _IN_FULL = "--share", "--in-full"


def add_options(parser: pytest.Parser) -> None:
    """Add the options that ``.ci/run`` sets."""
    parser.addoption(_SHARE, type=int, default=1, help="live comparisons draw one in so many of their random cases")
    parser.addoption(_IN_FULL, action="append", default=[], metavar="FILE", help="a test file without a share")


def share_of(config: pytest.Config, file: Path) -> int:
    """Return the number by which the random cases of a test file are divided."""
    whole = {config.rootpath / name for name in config.getoption(_IN_FULL)}
    return 1 if file in whole else int(config.getoption(_SHARE))
