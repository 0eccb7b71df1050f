"""Renders the page as HTML: one file that loads nothing and shows every name as text."""

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.metadata import version

import jinja2

from rebalance_sim.report.audits.actions import TO_DO
from rebalance_sim.report.audits.search_terms import shown_term
from rebalance_sim.report.colours import DARK, LIGHT, PLACEHOLDERS
from rebalance_sim.report.contents import Page
from rebalance_sim.report.drawing import Drawn, draw
from rebalance_sim.report.lanes import LEGEND
from rebalance_sim.report.page import CellType, Chart, Check, Level, Rollout, Table
from rebalance_sim.report.text import SHOWN_CHARACTERS, cut, printable, shown
from rebalance_sim.wording import plural

PAGE, SCRIPT = "report.html.j2", "report.js"
LONGEST = 32_767
"""Longest text kept, in characters: the most bytes a string of Kafka's protocol can have."""
GROUP_COLUMNS = (
    ("group", False, "consumer group; its name leads to its details"),
    ("finding", False, "the finding with the most harm, and how many more kinds of findings there are"),
    ("members", True, "members that the coordinator accepts; none is shown if they are unknown"),
    ("partitions", True, "partitions of the topics that the group subscribes to"),
    ("assignor", False, "the elected protocol; with the consumer protocol, the coordinator's assignor"),
    ("per member", True, "fewest to most partitions of a member after the next rebalance; sorted by the difference"),
    ("lag", True, "records between committed offsets and log ends"),
    ("rebalances", True, "rebalances in the next rollout with the group's own settings, simulated"),
    ("downtime", True, "mean time that a partition has no owner in the next rollout, simulated"),
    ("migration", False, "how the group can migrate to the consumer protocol (KIP-848): online (in a rolling restart), "
     "offline (all members stop first), no, done, or unknown if its members could not be read; groups that can migrate "
     "online have their place in the order of migrations, from 1"),
)  # fmt: skip
"""Columns of the table of all groups: title, whether the values are numbers, and what they mean."""
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


def render(page: Page, template: str = PAGE, scripts: Sequence[str] = (SCRIPT,)) -> Rendered:
    """Draw the charts of a page and render it as HTML; a template for a frame adds its script."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("rebalance_sim.report"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"shown": shown, "printable": printable, "csp_hash": csp_hash, "term": shown_term}
    chart = environment.get_template("chart.svg.j2")
    charts = {
        block.name: draw(block, lambda **values: chart.render(colours=PLACEHOLDERS, **values))
        for section in page.sections
        for part in section.parts
        for block in part.blocks
        if isinstance(block, Chart)
    }
    # The checks of an audit are in the list of what to do.
    shown_checks = [check for check in page.checks if page.audit is None or check.section != TO_DO]
    levels = [(level, [check for check in shown_checks if check.level is level]) for level in Level]
    html = environment.get_template(template).render(
        page=page,
        charts=charts,
        levels=levels,
        audit=page.audit,
        legend=LEGEND,
        group_columns=GROUP_COLUMNS,
        is_table=lambda block: isinstance(block, Table),
        is_rollout=lambda block: isinstance(block, Rollout),
        verdict=verdict(page.checks),
        whole=WholeTexts(),
        cell_types=CellType,
        filtered_from=FILTERED_FROM,
        style=environment.get_template("report.css.j2").render(light=LIGHT, dark=DARK),
        script="".join(environment.get_template(name).render() for name in scripts),
        version=version("rebalance-sim"),
    )
    return Rendered(html, verdict(page.checks), tuple(charts.values()))


def verdict(checks: tuple[Check, ...]) -> str:
    """Return the number of errors and warnings in words.

    >>> verdict((Check(Level.ERROR, "1", "group fails", "balance"), Check(Level.WARNING, "2", "ties", "elections")))
    '1 error, 1 warning'
    """
    errors, warnings = (
        sum(check.findings for check in checks if check.level is level) for level in (Level.ERROR, Level.WARNING)
    )
    found = [plural(number, name) for number, name in ((errors, "error"), (warnings, "warning")) if number]
    return ", ".join(found) or "no problems found"


def csp_hash(text: str) -> str:
    """Return the source expression of an inline style or script in a Content-Security-Policy.

    >>> csp_hash("")
    'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='
    """
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
