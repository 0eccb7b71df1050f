"""Draws chart specifications: as SVG for the page, and as SVG and PNG files for a wiki."""

import re
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import vl_convert

from rebalance_sim.report.colours import as_light, as_variables
from rebalance_sim.report.page import Chart

_ROOT = re.compile(r"<svg [^>]*?width=\"([\d.]+)\" height=\"([\d.]+)\" viewBox=\"[\d. ]+\">")
_ROLES = re.compile(r' (?:role|aria-[a-z]+)="[^"]*"')
_IDS = re.compile(r'\b(id="|url\(#|href="#)')
_VERSION = "6.4"
"""Version of Vega-Lite that the specifications are written for."""
_PNG_SCALE = 2
_TITLE_CHARACTERS = 78


@dataclass(frozen=True)
class Drawing:
    """The content of an SVG element and its size in pixels."""

    content: str
    width: float
    height: float


@dataclass(frozen=True)
class Drawn:
    """A chart drawn for a wide and a narrow page, with the page's colours, and as files in light colours."""

    chart: Chart
    wide: Drawing
    narrow: Drawing
    svg_file: str

    @property
    def png_file(self) -> bytes:
        """The chart as a PNG file, which takes longer than all else."""
        return vl_convert.svg_to_png(self.svg_file, scale=_PNG_SCALE)


def draw(chart: Chart, render: Callable[..., str]) -> Drawn:
    """Draw a chart. ``render`` renders the template ``chart.svg.j2``."""
    wide, narrow = _drawing(chart.wide, f"{chart.name}-"), _drawing(chart.narrow, f"{chart.name}-narrow-")
    lines = textwrap.wrap(chart.title, _TITLE_CHARACTERS)
    svg = as_light(render(title=chart.title, lines=lines, description=chart.description, drawing=wide))
    return Drawn(chart, _in_page_colours(wide), _in_page_colours(narrow), svg)


def _drawing(spec: Mapping[str, Any], prefix: str) -> Drawing:
    # The data are in the specification, so no address has to be fetched.
    svg = vl_convert.vegalite_to_svg(dict(spec), vl_version=_VERSION, allowed_base_urls=[])
    root = _ROOT.match(svg)
    if root is None:
        raise RuntimeError(f"unexpected SVG: {svg[:200]}")
    content = svg[root.end() :].removesuffix("</svg>").replace(' font-family="sans-serif"', "")
    # The chart has a text alternative as a whole.
    content = _ROLES.sub("", content)
    # Several charts share a page, so the ids that they refer to need a prefix.
    return Drawing(_IDS.sub(rf"\1{prefix}", content), float(root[1]), float(root[2]))


def _in_page_colours(drawing: Drawing) -> Drawing:
    return Drawing(as_variables(drawing.content), drawing.width, drawing.height)
