"""Charts of a few rows, as Vega-Lite specifications. Colours are placeholders (see ``colours``)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Concatenate, ParamSpec

from rebalance_sim.report.colours import PLACEHOLDERS
from rebalance_sim.report.text import unique

WIDE, NARROW = 1290, 340
"""Width in pixels of a page's column and of a phone."""
_BAR = 24
Rows = Sequence[Mapping[str, Any]]
Spec = dict[str, Any]
_Given = ParamSpec("_Given")

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


def both(draw: Callable[Concatenate[int, _Given], Spec], *given: _Given.args, **more: _Given.kwargs) -> dict[str, Spec]:
    """Return the specifications for a wide and for a narrow page; ``draw`` is called with the width first."""
    return {"wide": draw(WIDE, *given, **more), "narrow": draw(NARROW, *given, **more)}


def bars(width: int, rows: Rows, value_title: str, *, reference: float | None = None, ticks: str = "") -> Spec:
    """Draw horizontal bars in the order of the rows: ``label``, ``value``, ``text`` at the end, ``colour``.

    ``short``, if present, replaces the text on a narrow page. ``reference`` is a value to mark with a line,
    and ``ticks`` the number format of the axis.
    """
    named = unique(row["label"] for row in rows)
    rows = [{**row, "label": name} for name, row in zip(named, rows, strict=True)]
    texts = [row["short"] if width == NARROW and "short" in row else row["text"] for row in rows]
    data = _data({**row, "text": text} for row, text in zip(rows, texts, strict=True))
    most = max((row["value"] for row in rows), default=0) or 1
    longest = max(map(len, texts), default=0)
    # Leave space for the texts at the ends of the bars, about seven pixels per character.
    plot = max(width - min(_label_width(_labels(rows)), _label_limit(width)) * 6 // 5, 80)
    top = most * plot / max(plot - 7 * longest - 8, plot * 0.3)
    x = _number("value", title=value_title, scale={"domain": [0, top], "nice": False}, axis=_ticks(width, top, ticks))
    xy = {"x": x, "y": _categories(rows, width)}
    layers = [
        {"data": data, "mark": {"type": "bar"}, "encoding": {**xy, "color": _COLOUR}},
        {"data": data, "mark": {"type": "text", "align": "left", "dx": 5}, "encoding": {**xy, "text": _TEXT}},
    ]
    if reference is not None:
        rule = {"type": "rule", "strokeDash": [4, 3], "strokeWidth": 1.5, "color": _INK}
        x = _number("reference")
        layers.append({"data": _data([{"reference": reference}]), "mark": rule, "encoding": {"x": x}})
    return _fitted(layers, width, _labels(rows))


def stacked_bars(width: int, rows: Rows, colours: Mapping[str, str], value_title: str) -> Spec:
    """Draw horizontal stacked bars: ``label``, ``part``, ``value``. Parts are in the order of ``colours``."""
    order = list(colours)
    ordered = [{**row, "order": order.index(row["part"])} for row in rows]
    most = max((row["value"] for row in rows), default=0)
    legend = {"title": None, "columns": 1 if width == NARROW else 0}
    scale = {"domain": order, "range": list(colours.values())}
    encoding = {
        "x": _number("value", title=value_title, axis=_ticks(width, most)),
        "y": _categories(rows, width),
        "color": _name("part", scale=scale, legend=legend, sort=order),
        "order": _number("order"),
    }
    return _fitted([{"data": _data(ordered), "mark": {"type": "bar"}, "encoding": encoding}], width, _labels(rows))


def histograms(width: int, rows: Rows, x_title: str) -> Spec:
    """Draw histograms below each other, one per panel: ``panel``, ``bin``, ``value``, ``text``, ``colour``."""
    panels = list(dict.fromkeys(row["panel"] for row in rows))
    bins = list(dict.fromkeys(row["bin"] for row in rows))
    most = max((row["value"] for row in rows), default=0) or 1
    axis = {"labelAngle": 0, "labelOverlap": True, "labelFontSize": 11}
    # Leave space for the numbers above the bars: some bars are too small to see.
    heights = {"domain": [0, most * 1.45], "nice": False}
    xy = {
        "x": _name("bin", sort=bins, title=x_title, axis=axis),
        "y": _number("value", title=None, axis=None, scale=heights),
    }
    texts = {"type": "text", "baseline": "bottom", "dy": -2, "fontSize": 11 if width == WIDE else 9}
    layers = [
        {"mark": {"type": "bar"}, "encoding": {**xy, "color": _COLOUR}},
        {"mark": texts, "encoding": {**xy, "text": _TEXT}},
    ]
    header = {"labelOrient": "top", "labelAnchor": "start", "labelPadding": 2, "title": None}
    facet = {"row": _name("panel", sort=panels, header=header)}
    of_panel = {"layer": layers, "width": width - 24, "height": 60}
    return {"data": _data(rows), "facet": facet, "spacing": 10, "spec": of_panel, "config": _CONFIG}


QUANTILES = {"median": "p50", "p90": "p90", "p99": "p99", "max": "max"}
"""Quantiles in a chart's legend, and the values they are read from."""


def quantiles(width: int, rows: Rows, value_title: str) -> Spec:
    """Draw distributions as lines from median to maximum: ``label``, ``colour``, and one value per quantile."""
    points = [
        {"label": row["label"], "colour": row["colour"], "quantile": quantile, "value": row[name]}
        for row in rows
        for quantile, name in QUANTILES.items()
    ]
    most = max((point["value"] for point in points), default=0)
    middle = sorted(row["p90"] for row in rows)[len(rows) // 2] if rows else 0
    # A square root scale keeps small values apart if one is far larger.
    scale = {"type": "sqrt" if most > 8 * middle else "linear", "zero": True}
    shared = {"y": _categories(rows, width), "color": _COLOUR}
    shapes = {"domain": list(QUANTILES), "range": ["circle", "square", "triangle-up", "diamond"]}
    legend = {"title": None, "symbolFillColor": _MUTED, "symbolStrokeColor": _MUTED, "symbolOpacity": 1}
    legend["columns"] = 2 if width == NARROW else 4
    lines = {"x": _number("p50", title=value_title, scale=scale, axis=_ticks(width, most)), "x2": {"field": "max"}}
    marks = {
        "x": _number("value", title=value_title, scale=scale),
        "shape": _name("quantile", scale=shapes, sort=list(QUANTILES), legend=legend),
    }
    line = {"type": "rule", "strokeWidth": 3, "opacity": 0.45}
    mark = {"type": "point", "filled": True, "size": 70, "opacity": 1, "angle": 0}
    layers = [
        {"data": _data(rows), "mark": line, "encoding": {**lines, **shared}},
        {"data": _data(points), "mark": mark, "encoding": {**marks, **shared}},
    ]
    return _fitted(layers, width, _labels(rows), bar=30)


def _data(rows: Iterable[Mapping[str, Any]]) -> Spec:
    return {"values": [dict(row) for row in rows]}


def _number(field: str, **of: Any) -> Spec:
    return {"field": field, "type": "quantitative", **of}


def _name(field: str, **of: Any) -> Spec:
    return {"field": field, "type": "nominal", **of}


_COLOUR, _TEXT = _name("colour", scale=None), _name("text")


def _labels(rows: Rows) -> list[str]:
    return list(dict.fromkeys(row["label"] for row in rows))


def _label_width(labels: Sequence[str]) -> int:
    """Return the approximate width of the labels in pixels."""
    return 7 * max(map(len, labels), default=0)


def _label_limit(width: int) -> int:
    return width * 2 // 5


def _categories(rows: Rows, width: int) -> Spec:
    return _name("label", sort=_labels(rows), title=None, axis={"labelLimit": _label_limit(width)})


def _ticks(width: int, most: float, shown: str = "") -> Spec:
    axis = {"tickCount": 7 if width == WIDE else 4, "format": shown or ("~s" if most >= 100_000 else ",~f")}
    # On a narrow page, align the title with the end of the axis: there is space to its left, below the labels.
    return axis if width == WIDE else {**axis, "titleAnchor": "end"}


def _fitted(layers: Sequence[Spec], width: int, lanes: Sequence[str], bar: int = _BAR) -> Spec:
    """Return the specification of a chart that fits the width, labels and legends included."""
    # The reader's font may be wider than the one the labels are measured with.
    room = min(_label_width(lanes), _label_limit(width)) // 4
    return {
        "layer": layers,
        "width": width,
        "height": bar * max(len(lanes), 1),
        "autosize": {"type": "fit-x", "contains": "padding"},
        "padding": {"left": 2 + room, "right": 12, "top": 2, "bottom": 2},
        "config": _CONFIG,
    }
