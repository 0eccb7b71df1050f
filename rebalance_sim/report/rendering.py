"""Renders the page as HTML: one file that loads nothing and shows every name as text."""

import base64
import hashlib
from dataclasses import dataclass, field
from importlib.metadata import version

import jinja2

from rebalance_sim.report.colours import DARK, LIGHT, PLACEHOLDERS
from rebalance_sim.report.drawing import Drawn, draw
from rebalance_sim.report.page import CellType, Chart, Check, Level, Page
from rebalance_sim.report.text import SHOWN_CHARACTERS, cut, printable, shown
from rebalance_sim.wording import plural

LONGEST = 32_767
"""Longest text kept, in characters: the most bytes a string of Kafka's protocol can have."""
FILTERED_FROM = 8
"""Number of rows from which on a table can be filtered."""


@dataclass(frozen=True)
class ShownText:
    """A text as shown and, if it is cut, the anchor of the full text."""

    shown: str
    anchor: str = ""


@dataclass
class WholeTexts:
    """The full texts of what is cut on the page, each once."""

    kept: dict[str, str] = field(default_factory=dict)
    _anchors: dict[str, str] = field(default_factory=dict)

    def text(self, value: object, cell_type: CellType) -> ShownText:
        """Cut a text that is too long for its type, and keep the full text."""
        whole = printable(str(value))
        limit = SHOWN_CHARACTERS[cell_type]
        if len(whole) <= limit:
            return ShownText(whole)
        anchor = self._anchors.setdefault(whole, f"text-{len(self._anchors) + 1}")
        more = len(whole) - LONGEST
        self.kept[anchor] = whole if more <= 0 else f"{whole[:LONGEST]}… and {more:,} more characters"
        return ShownText(cut(whole, limit), anchor)


@dataclass(frozen=True)
class Rendered:
    """The page and its charts as files."""

    html: str
    verdict: str
    charts: tuple[Drawn, ...]


def render(page: Page) -> Rendered:
    """Draw the charts of a page and render it as HTML."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("rebalance_sim.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"shown": shown, "printable": printable, "csp_hash": csp_hash}
    template = environment.get_template("chart.svg.j2")
    charts = {
        block.name: draw(block, lambda **values: template.render(colours=PLACEHOLDERS, **values))
        for section in page.sections
        for part in section.parts
        for block in part.blocks
        if isinstance(block, Chart)
    }
    levels = [(level, [check for check in page.checks if check.level is level]) for level in Level]
    html = environment.get_template("report.html.j2").render(
        page=page,
        charts=charts,
        levels=levels,
        verdict=verdict(page.checks),
        whole=WholeTexts(),
        cell_types=CellType,
        filtered_from=FILTERED_FROM,
        style=environment.get_template("report.css.j2").render(light=LIGHT, dark=DARK),
        script=environment.get_template("report.js").render(),
        version=version("rebalance-sim"),
    )
    return Rendered(html, verdict(page.checks), tuple(charts.values()))


def verdict(checks: tuple[Check, ...]) -> str:
    """Return the number of errors and warnings in words.

    >>> verdict((Check(Level.ERROR, "1", "group fails", "balance"), Check(Level.WARNING, "2", "ties", "elections")))
    '1 error, 1 warning'
    """
    errors, warnings = (sum(check.level is level for check in checks) for level in (Level.ERROR, Level.WARNING))
    found = [plural(number, name) for number, name in ((errors, "error"), (warnings, "warning")) if number]
    return ", ".join(found) or "no problems found"


def csp_hash(text: str) -> str:
    """Return the source expression of an inline style or script in a Content-Security-Policy.

    >>> csp_hash("")
    'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='
    """
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
