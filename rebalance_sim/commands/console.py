"""Lines and tables on the console: they fit a terminal, and are plain and complete in a pipe."""

import logging
import os
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from io import StringIO
from itertools import accumulate
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.table import Table as RichTable
from rich.text import Text

from rebalance_sim.logs import LOGGER
from rebalance_sim.wording import escaped

_LONGEST = 4096
"""Characters of a cell; keys and errors of other programs can be of any length."""
_UNLIMITED = 10**6
"""The width of a pipe."""
_IDS = ("cluster", "group", "member", "leader", "member with max", "topic")
"""Columns whose values are shortened where a terminal is too narrow; the text of others is wrapped."""
_BEFORE = 2
"""Spaces before each column."""
_SHORTEST_ID = len("(coordinator)")
_READABLE_ID = 24
_LONGEST_WORD = 24
"""Longer words of text that is wrapped are broken."""
_STYLES = {
    "assumptions about": "yellow",
    "warning:": "yellow",
    "failed:": "red",
    "passed:": "green",
    "  error:": "red",
    "  warning:": "yellow",
}
"""Styles of lines by how they begin."""


Cell = str | float | None
Cells = dict[str, str | Callable[[Any], Cell]]
"""What a row has below a heading: a column of another name than the heading, or a function of the row."""


@dataclass(frozen=True)
class Table:
    """A small table. Numbers are right-aligned; None is shown as ``-``."""

    header: Sequence[str]
    rows: Sequence[Sequence[Cell]]

    @classmethod
    def of_clusters(cls, header: Sequence[str], rows: Sequence[Sequence[Cell]], clusters: Sequence[str]) -> "Table":
        """Return a table whose first column has the cluster of each row if there are several."""
        if len(set(clusters)) < 2:
            return cls(header, rows)
        return cls(("cluster", *header), [(cluster, *row) for cluster, row in zip(clusters, rows, strict=True)])

    @classmethod
    def of_rows(cls, header: Sequence[str], rows: Sequence[Any], cells: Cells) -> "Table":
        """Return a table with a line for each row, and with their clusters if there are several.

        Below a heading that ``cells`` does not have is the column of that name, in which ``_`` is a space.
        """
        shown = [cells.get(heading, heading.replace(" ", "_")) for heading in header]
        body = [[row[of] if isinstance(of, str) else of(row) for of in shown] for row in rows]
        return cls.of_clusters(header, body, [row["cluster"] for row in rows if "cluster" in row])


Line = str | Table


def one_line(text: object) -> str:
    r"""Return any text as one line, with control characters escaped.

    >>> one_line("a\nb")
    'a\\nb'
    """
    shown = escaped(str(text))
    return shown if len(shown) <= _LONGEST else f"{shown[: _LONGEST - 1]}…"


def shown_seconds(milliseconds: float) -> str:
    """Format milliseconds as seconds.

    >>> shown_seconds(1234567)
    '1,234.6 s'
    """
    return f"{milliseconds / 1000:,.1f} s"


def shown_number(number: float | None) -> str:
    """Return a number with separators, and ``-`` for one that is unknown.

    >>> shown_number(1234), shown_number(0.5), shown_number(None)
    ('1,234', '0.50', '-')
    """
    return "-" if number is None else f"{number:,.2f}" if isinstance(number, float) else f"{number:,}"


def shortened(text: str, width: int) -> str:
    """Shorten an id in the middle: most ids differ at their ends. Wide characters take two cells.

    >>> shortened("consumer-orders-1-6f2c9a4e", 13), shortened("注文サービス", 8)
    ('consum…2c9a4e', '注…ビス')
    """
    if cell_len(text) <= width:
        return text
    end = width // 2
    return f"{_cut(text, width - 1 - end)}…{_cut(text[::-1], end)[::-1]}"


def _cut(text: str, cells: int) -> str:
    return "".join(c for c, end in zip(text, accumulate(map(cell_len, text)), strict=True) if end <= cells)


def text_of(lines: Iterable[Line], console: Console | None = None) -> str:
    """Return lines and tables as text for a console; by default plain and of unlimited width.

    >>> print(text_of([Table(("group", "members"), [("billing", 12), ("注文", 3)]), "output: out"]))
      group    members
      billing       12
      注文           3
    output: out
    """
    console = console or Console(file=StringIO(), width=_UNLIMITED, color_system=None)
    with console.capture() as captured:
        for line in lines:
            console.print(_renderable(line, console.width), crop=False)
    return "\n".join(line.rstrip() for line in captured.get().splitlines())


def print_summary(lines: Iterable[Line]) -> None:
    """Print to standard output, below all progress. A reader that stops early, such as ``head``, is no error."""
    for handler in logging.getLogger(LOGGER).handlers:
        handler.flush()
    try:
        print(text_of(lines, console_of_stdout()), flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def console_of_stdout() -> Console:
    """Return the console of standard output: as wide as the terminal, or unlimited in a pipe."""
    return Console(width=None if sys.stdout.isatty() else _UNLIMITED)


def _renderable(line: Line, width: int) -> RichTable | Padding | Text:
    if isinstance(line, Table):
        return _table(line, width)
    if not line:
        return Text()
    style = next((style for begin, style in _STYLES.items() if line.startswith(begin)), "")
    text = line.lstrip(" ")
    return Padding(Text(text, style), (0, 0, 0, len(line) - len(text)), expand=False)


def _table(table: Table, width: int) -> RichTable:
    cells = [[cell if isinstance(cell, str) else shown_number(cell) for cell in row] for row in table.rows]
    columns = [[one_line(cell) for cell in column] for column in zip(table.header, *cells, strict=True)]
    before = _BEFORE if sum(map(_least, columns)) + _BEFORE * len(columns) <= width else 1
    widths = _widths(columns, width - before * len(columns))
    # On a terminal that is too narrow even then, the lines are too long: no column is missing.
    needed = sum(widths) + before * len(widths)
    shown = RichTable(box=None, padding=(0, 0, 0, before), header_style="bold", width=max(needed, 1))
    for number, (name, limit) in enumerate(zip(table.header, widths, strict=True)):
        numbers = all(_is_number(row[number]) for row in table.rows)
        shown.add_column(Text(name), justify="right" if numbers else "left", width=limit, overflow="fold")
    for row in list(zip(*columns, strict=True))[1:]:
        shown.add_row(
            *(Text(shortened(cell, widths[i]) if table.header[i] in _IDS else cell) for i, cell in enumerate(row))
        )
    return shown


def _is_number(cell: Cell) -> bool:
    return not isinstance(cell, str) or re.fullmatch(r"-|[\d,.]+ (s|%)", cell) is not None


def _widths(columns: Sequence[Sequence[str]], width: int) -> list[int]:
    """Return the widths of columns; they are reduced until their sum fits, or no column can be narrower.

    The widest column comes first, but ids before text: a shortened id is easier to read than text in several lines.
    """
    widths = [max(map(cell_len, column)) for column in columns]
    least = [_least(column) for column in columns]
    while sum(widths) > width:
        wider = [i for i, column in enumerate(columns) if widths[i] > least[i]]
        if not wider:
            break
        widths[max(wider, key=lambda i: (columns[i][0] in _IDS and widths[i] > _READABLE_ID, widths[i]))] -= 1
    return widths


def _least(column: Sequence[str]) -> int:
    """Return the least width of a column: an id can be shortened, other text is wrapped between words."""
    if column[0] in _IDS:
        return min(_SHORTEST_ID, max(map(cell_len, column)))
    return min(_LONGEST_WORD, max(cell_len(word) for cell in column for word in cell.split(" ")))
