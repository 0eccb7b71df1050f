"""The page as HTML: one file that fetches nothing, in which every name stands as text."""

import base64
import hashlib
from dataclasses import dataclass, field
from importlib.metadata import version

import jinja2

from rebalance_sim.report.colours import DARK, LIGHT, PLACEHOLDERS
from rebalance_sim.report.drawing import Drawn, draw
from rebalance_sim.report.page import Chart, Check, Kind, Level, Page
from rebalance_sim.report.text import SHOWN_CHARACTERS, cut, plural_of, printable, shown

LONGEST = 32_767
"""Characters of a text that are kept: no string of Kafka's protocol has more bytes."""
FILTERED_FROM = 8
"""A table of so many rows can be filtered."""


@dataclass(frozen=True)
class ShownText:
    """A text as it is shown, and where the page has the whole of it, if it is cut."""

    shown: str
    anchor: str = ""


@dataclass
class WholeTexts:
    """The texts that are cut on the page, each kept once in full."""

    kept: dict[str, str] = field(default_factory=dict)
    _anchors: dict[str, str] = field(default_factory=dict)

    def text(self, value: object, kind: Kind) -> ShownText:
        """Cut a text that is too long for its kind."""
        whole = printable(str(value))
        limit = SHOWN_CHARACTERS[kind]
        if len(whole) <= limit:
            return ShownText(whole)
        anchor = self._anchors.setdefault(whole, f"text-{len(self._anchors) + 1}")
        more = len(whole) - LONGEST
        self.kept[anchor] = whole if more <= 0 else f"{whole[:LONGEST]}… and {more:,} more characters"
        return ShownText(cut(whole, limit), anchor)


@dataclass(frozen=True)
class Rendered:
    """The page, and its charts as files."""

    html: str
    verdict: str
    charts: tuple[Drawn, ...]


def render(page: Page) -> Rendered:
    """Draw the charts of a page and write it as HTML."""
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
        block.name: draw(block, lambda **told: template.render(colours=PLACEHOLDERS, **told))
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
        kinds=Kind,
        filtered_from=FILTERED_FROM,
        style=environment.get_template("report.css.j2").render(light=LIGHT, dark=DARK),
        script=environment.get_template("report.js").render(),
        version=version("rebalance-sim"),
    )
    return Rendered(html, verdict(page.checks), tuple(charts.values()))


def verdict(checks: tuple[Check, ...]) -> str:
    """Say in a sentence whether anything is wrong.

    >>> verdict((Check(Level.WRONG, "1", "group fails", "balance"), Check(Level.LOOK, "2", "ties", "elections")))
    '1 thing is wrong, and 1 is worth a look.'
    """
    wrong, look = (sum(check.level is level for check in checks) for level in (Level.WRONG, Level.LOOK))
    worth = f"{look} {plural_of(look, 'is', 'are')} worth a look."
    if wrong:
        told = f"{wrong} {plural_of(wrong, 'thing is', 'things are')} wrong"
        return f"{told}, and {worth}" if look else f"{told}."
    return f"Nothing is wrong; {worth}" if look else "Nothing is wrong in what these runs looked at."


def csp_hash(text: str) -> str:
    """Return what a Content-Security-Policy calls an inline style or script by.

    >>> csp_hash("")
    'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='
    """
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
