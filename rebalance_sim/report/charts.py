"""Charts of a few rows, as Vega-Lite specifications. Colours are placeholders (see ``colours``)."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.util import LazyLoader, find_spec, module_from_spec
from typing import TYPE_CHECKING, Any

from rebalance_sim.report.colours import PLACEHOLDERS
from rebalance_sim.report.text import unique

if TYPE_CHECKING:
    import altair as alt
else:
    # A page without charts does not need it, and it takes a second to import.
    _FOUND = find_spec("altair")
    if _FOUND is None:
        raise ModuleNotFoundError("No module named 'altair'", name="altair")
    alt = sys.modules["altair"] = module_from_spec(_FOUND)
    LazyLoader(_FOUND.loader).exec_module(alt)

WIDE, NARROW = 1290, 340
"""Width in pixels of a page's column and of a phone."""
_BAR = 24
Rows = Sequence[Mapping[str, Any]]
Draw = Callable[[int], dict[str, Any]]

_INK, _MUTED, _GRID, _LINE = (PLACEHOLDERS[name] for name in ("ink", "muted", "grid", "line"))
_AXIS = {
    "labelColor": _INK,
    "titleColor": _MUTED,
    "gridColor": _GRID,
    "domainColor": _LINE,
    "tickColor": _LINE,
    "labelFontSize": 12,
    "titleFontSize": 12,
    "titleFontWeight": "normal",
    "labelLimit": 260,
}
_CONFIG: dict[str, Any] = {
    "background": PLACEHOLDERS["paper"],
    "font": "sans-serif",
    # The chart has a text alternative as a whole, so screen readers must not read its parts.
    "aria": False,
    "view": {"stroke": None},
    "axis": _AXIS,
    "axisY": {"domain": False, "ticks": False},
    "legend": {
        "labelColor": _INK,
        "titleColor": _MUTED,
        "labelFontSize": 12,
        "orient": "top",
        "labelLimit": 300,
        "columnPadding": 22,
    },
    "header": {"labelColor": _INK, "labelFontSize": 12, "labelFontWeight": "bold"},
    "text": {"color": _INK, "fontSize": 12},
}


def both(draw: Draw) -> dict[str, dict[str, Any]]:
    """Return the specifications for a wide and for a narrow page."""
    return {"wide": draw(WIDE), "narrow": draw(NARROW)}


def bars(rows: Rows, value_title: str, *, reference: float | None = None, ticks: str = "") -> Draw:
    """Draw horizontal bars in the order of the rows: ``label``, ``value``, ``text`` at the end, ``colour``.

    ``short``, if present, replaces the text on a narrow page. ``reference`` is a value to mark with a line,
    and ``ticks`` the number format of the axis.
    """
    named = unique(row["label"] for row in rows)
    rows = [{**row, "label": name} for name, row in zip(named, rows, strict=True)]

    def draw(width: int) -> dict[str, Any]:
        texts = [row["short"] if width == NARROW and "short" in row else row["text"] for row in rows]
        base = alt.Chart(_data({**row, "text": text} for row, text in zip(rows, texts, strict=True)))
        most = max((row["value"] for row in rows), default=0) or 1
        longest = max(map(len, texts), default=0)
        # Leave space for the texts at the ends of the bars, about seven pixels per character.
        plot = max(width - min(_label_width(_labels(rows)), _label_limit(width)) * 6 // 5, 80)
        top = most * plot / max(plot - 7 * longest - 8, plot * 0.3)
        x = alt.X(
            "value:Q", title=value_title, scale=alt.Scale(domain=[0, top], nice=False), axis=_ticks(width, top, ticks)
        )
        y = _categories(rows, width)
        drawn = base.mark_bar().encode(x=x, y=y, color=alt.Color("colour:N", scale=None))
        labels = base.mark_text(align="left", dx=5).encode(x=x, y=y, text="text:N")
        layers = [drawn, labels]
        if reference is not None:
            rule = alt.Chart(_data([{"reference": reference}])).mark_rule(
                strokeDash=[4, 3], strokeWidth=1.5, color=_INK
            )
            layers.append(rule.encode(x=alt.X("reference:Q")))
        return _fitted(alt.layer(*layers), width, _labels(rows))

    return draw


def stacked_bars(rows: Rows, colours: Mapping[str, str], value_title: str) -> Draw:
    """Draw horizontal stacked bars: ``label``, ``part``, ``value``. Parts are in the order of ``colours``."""
    order = list(colours)
    ordered = [{**row, "order": order.index(row["part"])} for row in rows]
    most = max((row["value"] for row in rows), default=0)

    def draw(width: int) -> dict[str, Any]:
        legend = alt.Legend(title=None, columns=1 if width == NARROW else 0)
        scale = alt.Scale(domain=order, range=list(colours.values()))
        drawn = (
            alt.Chart(_data(ordered))
            .mark_bar()
            .encode(
                x=alt.X("value:Q", title=value_title, axis=_ticks(width, most)),
                y=_categories(rows, width),
                color=alt.Color("part:N", scale=scale, legend=legend, sort=order),
                order=alt.Order("order:Q"),
            )
        )
        return _fitted(alt.layer(drawn), width, _labels(rows))

    return draw


def histograms(rows: Rows, x_title: str) -> Draw:
    """Draw histograms below each other, one per panel: ``panel``, ``bin``, ``value``, ``text``, ``colour``."""
    panels = list(dict.fromkeys(row["panel"] for row in rows))
    bins = list(dict.fromkeys(row["bin"] for row in rows))

    def draw(width: int) -> dict[str, Any]:
        most = max((row["value"] for row in rows), default=0) or 1
        # Leave space for the numbers above the bars: some bars are too small to see.
        heights = alt.Scale(domain=[0, most * 1.45], nice=False)
        x = alt.X("bin:N", sort=bins, title=x_title, axis=alt.Axis(labelAngle=0, labelOverlap=True, labelFontSize=11))
        y = alt.Y("value:Q", title=None, axis=None, scale=heights)
        base = alt.Chart(width=width - 24, height=60)
        drawn = base.mark_bar().encode(x=x, y=y, color=alt.Color("colour:N", scale=None))
        size = 11 if width == WIDE else 9
        texts = base.mark_text(baseline="bottom", dy=-2, fontSize=size).encode(x=x, y=y, text="text:N")
        header = alt.Header(labelOrient="top", labelAnchor="start", labelPadding=2, title=None)
        row = alt.Row("panel:N", sort=panels, header=header)
        return _spec(alt.layer(drawn, texts, data=_data(rows)).facet(row=row, spacing=10))

    return draw


QUANTILES = {"median": "p50", "p90": "p90", "p99": "p99", "max": "max"}
"""Quantiles in a chart's legend, and the values they are read from."""


def quantiles(rows: Rows, value_title: str) -> Draw:
    """Draw distributions as lines from median to maximum: ``label``, ``colour``, and one value per quantile."""
    points = [
        {"label": row["label"], "colour": row["colour"], "quantile": quantile, "value": row[name]}
        for row in rows
        for quantile, name in QUANTILES.items()
    ]
    most = max((point["value"] for point in points), default=0)
    middle = sorted(row["p90"] for row in rows)[len(rows) // 2] if rows else 0
    # A square root scale keeps small values apart if one is far larger.
    scale = alt.Scale(type="sqrt" if most > 8 * middle else "linear", zero=True)

    def draw(width: int) -> dict[str, Any]:
        y = _categories(rows, width)
        shapes = alt.Scale(domain=list(QUANTILES), range=["circle", "square", "triangle-up", "diamond"])
        lines = (
            alt.Chart(_data(rows))
            .mark_rule(strokeWidth=3, opacity=0.45)
            .encode(
                x=alt.X("p50:Q", title=value_title, scale=scale, axis=_ticks(width, most)),
                x2="max:Q",
                y=y,
                color=alt.Color("colour:N", scale=None),
            )
        )
        marks = (
            alt.Chart(_data(points))
            .mark_point(filled=True, size=70, opacity=1, angle=0)
            .encode(
                x=alt.X("value:Q", title=value_title, scale=scale),
                y=y,
                color=alt.Color("colour:N", scale=None),
                shape=alt.Shape("quantile:N", scale=shapes, sort=list(QUANTILES), legend=_shapes_legend(width)),
            )
        )
        return _fitted(alt.layer(lines, marks), width, _labels(rows), bar=30)

    return draw


def _data(rows: Iterable[Mapping[str, Any]]) -> alt.InlineData:
    return alt.InlineData(values=[dict(row) for row in rows])


def _labels(rows: Rows) -> list[str]:
    return list(dict.fromkeys(row["label"] for row in rows))


def _label_width(labels: Sequence[str]) -> int:
    """Return the approximate width of the labels in pixels."""
    return 7 * max(map(len, labels), default=0)


def _label_limit(width: int) -> int:
    return width * 2 // 5


def _category_axis(width: int) -> alt.Axis:
    return alt.Axis(labelLimit=_label_limit(width))


def _categories(rows: Rows, width: int) -> alt.Y:
    return alt.Y("label:N", sort=_labels(rows), title=None, axis=_category_axis(width))


def _ticks(width: int, most: float, shown: str = "") -> alt.Axis:
    shown = shown or ("~s" if most >= 100_000 else ",~f")
    if width == WIDE:
        return alt.Axis(tickCount=7, format=shown)
    # Align the title with the end of the axis: there is space to its left, below the labels.
    return alt.Axis(tickCount=4, format=shown, titleAnchor="end")


def _shapes_legend(width: int) -> alt.Legend:
    return alt.Legend(
        title=None,
        symbolFillColor=_MUTED,
        symbolStrokeColor=_MUTED,
        symbolOpacity=1,
        columns=2 if width == NARROW else 4,
    )


def _fitted(
    chart: alt.LayerChart | alt.FacetChart, width: int, lanes: Sequence[str], bar: int = _BAR
) -> dict[str, Any]:
    """Return the specification of a chart that fits the width, labels and legends included."""
    # The reader's font may be wider than the one the labels are measured with.
    room = min(_label_width(lanes), _label_limit(width)) // 4
    padding = {"left": 2 + room, "right": 12, "top": 2, "bottom": 2}
    fit = alt.AutoSizeParams(type="fit-x", contains="padding")
    return _spec(chart.properties(width=width, height=bar * max(len(lanes), 1), autosize=fit, padding=padding))


def _spec(chart: alt.LayerChart | alt.FacetChart) -> dict[str, Any]:
    spec: dict[str, Any] = chart.to_dict()
    return spec | {"config": _CONFIG}
