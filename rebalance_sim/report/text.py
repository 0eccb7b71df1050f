"""Formats numbers, and names that may contain any characters."""

from collections import Counter
from collections.abc import Iterable
from unicodedata import bidirectional

from rebalance_sim.report.page import Cell, CellType
from rebalance_sim.wording import escaped

NOTHING = "–"
SHOWN_CHARACTERS = {CellType.NAME: 64, CellType.TEXT: 1_000}
"""A longer text is cut and listed in full at the end of the page."""
LABEL_CHARACTERS = 26
"""Length of a name in a chart."""


def printable(text: str) -> str:
    r"""Escape characters that are invisible or change the text direction; put quotes around blank text.

    >>> printable("a\nb\u202ec"), printable(" ")
    ('a\\nb\\u202ec', "' '")
    """
    shown = escaped(text)
    return shown if shown.strip() else f"'{shown}'"


def cut(text: str, characters: int) -> str:
    """Cut a text in the middle, because names often differ only at their ends.

    >>> cut("payments-of-the-north-1", 12)
    'payme…orth-1'
    """
    if len(text) <= characters:
        return text
    end = characters // 2
    return f"{text[: characters - end - 1]}…{text[-end:]}"


def label(*names: str) -> str:
    """Return a label for a chart.

    >>> label("orders", "5")
    'orders / 5'
    """
    return " / ".join(_isolated(cut(printable(name), LABEL_CHARACTERS)) for name in names)


def _isolated(name: str) -> str:
    """Isolate a right-to-left name, so that it does not reorder the text beside it."""
    if any(bidirectional(c) in ("R", "AL", "AN") for c in name):
        return f"\N{FIRST STRONG ISOLATE}{name}\N{POP DIRECTIONAL ISOLATE}"
    return name


def unique(labels: Iterable[str]) -> list[str]:
    """Number repeated labels: names may be equal after they are cut.

    >>> unique(["a", "b", "a"])
    ['a', 'b', 'a (2)']
    """
    seen: Counter[str] = Counter()
    found = []
    for each in labels:
        seen[each] += 1
        found.append(each if seen[each] == 1 else f"{each} ({seen[each]})")
    return found


def count(number: float) -> str:
    """Format a count.

    >>> count(12345)
    '12,345'
    """
    return f"{number:,.0f}"


def compact(number: int) -> str:
    """Format a count in little space.

    >>> compact(999), compact(12345), compact(1_960_000)
    ('999', '12k', '2.0M')
    """
    for unit, name in ((1_000_000, "M"), (1_000, "k")):
        if number >= unit:
            return f"{number / unit:.{0 if number >= 10 * unit else 1}f}{name}"
    return str(number)


def share(part: float, of: float = 1) -> str:
    r"""Format a share in per cent, so that only 0 and 1 are shown as 0 % and 100 %.

    >>> share(1, 3), share(9999, 10000), share(0, 0)
    ('33.3\xa0%', '>99.9\xa0%', '0.0\xa0%')
    """
    text = f"{100 * part / of if of else 0:.1f}"
    if 0 < part < of and text in ("0.0", "100.0"):
        text = "<0.1" if text == "0.0" else ">99.9"
    # A line must not break before the sign.
    return f"{text}\N{NO-BREAK SPACE}%"


def percent(part: float, of: float) -> str:
    """Format a share in per cent in a sentence, whose characters are all visible.

    >>> percent(1, 3)
    '33.3 %'
    """
    return share(part, of).replace("\N{NO-BREAK SPACE}", " ")


def seconds(milliseconds: float) -> str:
    """Format milliseconds as seconds.

    >>> seconds(1234567), seconds(17)
    ('1,234.6', '0.017')
    """
    is_short = 0 < abs(milliseconds) < 100
    return f"{milliseconds / 1000:.3f}" if is_short else f"{milliseconds / 1000:,.1f}"


def shown(value: Cell, cell_type: CellType) -> str:
    r"""Format a value of a column; the page itself formats names.

    >>> shown(0.5, CellType.SHARE), shown(None, CellType.COUNT), shown(1.5, CellType.DECIMAL)
    ('50.0\xa0%', '–', '1.50')
    """
    if value is None:
        return NOTHING
    match cell_type:
        case CellType.COUNT:
            return count(value)
        case CellType.DECIMAL:
            return f"{value:,.2f}"
        case CellType.SHARE:
            return share(value)
        case CellType.SECONDS:
            return seconds(value)
    return printable(str(value))
