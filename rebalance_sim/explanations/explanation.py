"""The text form of explanations in a shell or a notebook."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from html import escape

from rebalance_sim.errors import UserError
from rebalance_sim.wording import escaped

MOST_SHOWN = 20
"""Members that are listed one by one."""


class Explanation(ABC):
    """The facts behind a prediction: attributes that print as a few lines."""

    @abstractmethod
    def lines(self) -> Sequence[str]:
        """Return the facts, one per line."""

    def __repr__(self) -> str:
        return "\n".join(map(escaped, self.lines()))

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"


def listed(things: Iterable[object], most: int = MOST_SHOWN) -> str:
    """List things, but not thousands of them.

    >>> listed(["c1", "c2", "c3"]), listed(["c1", "c2", "c3"], most=2), listed([])
    ('c1, c2, c3', 'c1, c2 and 1 more', 'none')
    """
    named = [str(thing) for thing in things]
    more = len(named) - most
    return ", ".join(named[:most]) + (f" and {more:,} more" if more > 0 else "") if named else "none"


def first_lines(lines: Sequence[str]) -> list[str]:
    """Return the first lines, and the number of those left out."""
    more = len(lines) - MOST_SHOWN
    return [*lines[:MOST_SHOWN], *([f"    and {more:,} more"] if more > 0 else [])]


def check_partitions(partitions: int) -> None:
    """Raise UserError for a number of partitions that no topic has."""
    if partitions < 1:
        raise UserError(f"partitions is {partitions}; allowed: at least 1")
