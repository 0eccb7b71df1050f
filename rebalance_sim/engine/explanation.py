"""What a shell or a notebook shows of an explanation."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from html import escape

MOST_SHOWN = 20
"""Members that are named one by one."""


class Explanation(ABC):
    """Facts with names of their own, which show as a few lines to read."""

    @abstractmethod
    def lines(self) -> Sequence[str]:
        """Tell the facts, a line each."""

    def __repr__(self) -> str:
        return "\n".join(line if line.isprintable() else _printable(line) for line in self.lines())

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def shown(things: Iterable[object], most: int = MOST_SHOWN) -> str:
    """Name things, but not thousands of them.

    >>> shown(["c1", "c2", "c3"]), shown(["c1", "c2", "c3"], most=2), shown([])
    ('c1, c2, c3', 'c1, c2 and 1 more', 'nobody')
    """
    named = [str(thing) for thing in things]
    if not named:
        return "nobody"
    more = len(named) - most
    return ", ".join(named[:most]) + (f" and {more:,} more" if more > 0 else "")


def first_lines(lines: Sequence[str]) -> list[str]:
    """Leave out what nobody would read: the lines of a group of thousands."""
    more = len(lines) - MOST_SHOWN
    return [*lines[:MOST_SHOWN], *([f"    and {more:,} more"] if more > 0 else [])]
