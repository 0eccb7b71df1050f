"""How values are shown: numbers, and names that may be any text at all."""

from collections import Counter
from collections.abc import Iterable
from unicodedata import bidirectional

from rebalance_sim.report.page import Cell, Kind

NOTHING = "–"
SHOWN_CHARACTERS = {Kind.NAME: 48, Kind.TEXT: 240}
"""A longer text is cut, and stands in full at the end of the page."""
LABEL_CHARACTERS = 26
"""Of a name in a chart."""


def printable(text: str) -> str:
    r"""Show what cannot be seen, or would turn the text around it, as escapes; blanks alone in quotes.

    >>> printable("a\nb\u202ec"), printable(" ")
    ('a\\nb\\u202ec', "' '")
    """
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return shown if shown.strip() else f"'{shown}'"


def cut(text: str, characters: int) -> str:
    """Cut a text in its middle, since names often differ at their ends only.

    >>> cut("payments-of-the-north-1", 12)
    'payme…orth-1'
    """
    if len(text) <= characters:
        return text
    end = characters // 2
    return f"{text[: characters - end - 1]}…{text[-end:]}"


def label(*names: str) -> str:
    """Name something in a chart.

    >>> label("orders", "5")
    'orders / 5'
    """
    return " / ".join(_isolated(cut(printable(name), LABEL_CHARACTERS)) for name in names)


def _isolated(name: str) -> str:
    """Keep a name that is written from right to left from turning what stands beside it."""
    if any(bidirectional(c) in ("R", "AL", "AN") for c in name):
        return f"\N{FIRST STRONG ISOLATE}{name}\N{POP DIRECTIONAL ISOLATE}"
    return name


def unique(labels: Iterable[str]) -> list[str]:
    """Number labels that are there already, as cut names may be.

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
    """Show a count.

    >>> count(12345)
    '12,345'
    """
    return f"{number:,.0f}"


def compact(number: int) -> str:
    """Show a count in little room.

    >>> compact(999), compact(12345), compact(1_960_000)
    ('999', '12k', '2.0M')
    """
    for unit, name in ((1_000_000, "M"), (1_000, "k")):
        if number >= unit:
            return f"{number / unit:.{0 if number >= 10 * unit else 1}f}{name}"
    return str(number)


def share(part: float, of: float = 1) -> str:
    r"""Show a share in per cent; where it is neither nothing nor all, it does not look so.

    >>> share(1, 3), share(9999, 10000), share(0, 0)
    ('33.3\xa0%', '>99.9\xa0%', '0.0\xa0%')
    """
    told = f"{100 * part / of if of else 0:.1f}"
    if 0 < part < of and told in ("0.0", "100.0"):
        told = "<0.1" if told == "0.0" else ">99.9"
    # What is in a line with the sign stays there.
    return f"{told}\N{NO-BREAK SPACE}%"


def seconds(milliseconds: float) -> str:
    """Show milliseconds in seconds.

    >>> seconds(1234567), seconds(17)
    ('1,234.6', '0.017')
    """
    return f"{milliseconds / 1000:,.1f}" if milliseconds == 0 or milliseconds >= 100 else f"{milliseconds / 1000:.3f}"


def plural_of(number: int, one: str, several: str) -> str:
    """Choose the words for a number that stands elsewhere."""
    return one if number == 1 else several


def plural(number: int, one: str, several: str = "") -> str:
    """Count something.

    >>> plural(1, "group"), plural(2, "group"), plural(1200, "topic is", "topics are")
    ('1 group', '2 groups', '1,200 topics are')
    """
    return f"{number:,} {plural_of(number, one, several or f'{one}s')}"


def shown(value: Cell, kind: Kind) -> str:
    r"""Show a value of a column; names are shown by the page itself.

    >>> shown(0.5, Kind.SHARE), shown(None, Kind.COUNT), shown(1.5, Kind.DECIMAL)
    ('50.0\xa0%', '–', '1.50')
    """
    if value is None:
        return NOTHING
    match kind:
        case Kind.COUNT:
            return count(value)
        case Kind.DECIMAL:
            return f"{value:,.2f}"
        case Kind.SHARE:
            return share(value)
        case Kind.SECONDS:
            return seconds(value)
    return printable(str(value))
