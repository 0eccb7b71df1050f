"""Charts of small rows, as Vega-Lite specifications. Colours are placeholders (see ``colours``)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

import altair as alt

from rebalance_sim.report.colours import PLACEHOLDERS

WIDE, NARROW = 700, 340
"""Pixels: a column of a page, and a phone."""
_BAR = 24
Rows = Sequence[Mapping[str, Any]]
Draw = Callable[[int], dict[str, Any]]
_Chart = alt.LayerChart | alt.FacetChart

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
    # The whole chart has a text alternative; parts of it are not read out one by one.
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
    """Make the specifications for a wide and for a narrow page."""
    return {"wide": draw(WIDE), "narrow": draw(NARROW)}


def bars(rows: Rows, value_title: str, *, even: float | None = None, ticks: str = "") -> Draw:
    """Horizontal bars in the order of the rows: ``label``, ``value``, ``text`` at the end, ``colour``.

    ``short`` is the text where there is little room, if it is another. ``even`` is a value to hold them against, and
    ``ticks`` how the numbers of the axis are shown.
    """

    def draw(width: int) -> dict[str, Any]:
        told = [row["short"] if width == NARROW and "short" in row else row["text"] for row in rows]
        base = alt.Chart(_data({**row, "text": text} for row, text in zip(rows, told, strict=True)))
        most = max((row["value"] for row in rows), default=0) or 1
        longest = max(map(len, told), default=0)
        # Room for the texts at the ends of the bars, at about seven pixels a character.
        plot = max(width - min(_label_width(_labels(rows)), _label_limit(width)) * 6 // 5, 80)
        top = most * plot / max(plot - 7 * longest - 8, plot * 0.3)
        x = alt.X(
            "value:Q", title=value_title, scale=alt.Scale(domain=[0, top], nice=False), axis=_ticks(width, top, ticks)
        )
        y = _categories(rows, width)
        drawn = base.mark_bar().encode(x=x, y=y, color=alt.Color("colour:N", scale=None))
        texts = base.mark_text(align="left", dx=5).encode(x=x, y=y, text="text:N")
        layers = [drawn, texts]
        if even is not None:
            rule = alt.Chart(_data([{"even": even}])).mark_rule(strokeDash=[4, 3], strokeWidth=1.5, color=_INK)
            layers.append(rule.encode(x=alt.X("even:Q")))
        return _fitted(alt.layer(*layers), width, _labels(rows))

    return draw


def stacked_bars(rows: Rows, colours: Mapping[str, str], value_title: str, *, even: float | None = None) -> Draw:
    """Horizontal bars of parts: ``label``, ``part``, ``value``. The parts stand in the order of ``colours``."""
    order = list(colours)
    numbered = [{**row, "order": order.index(row["part"])} for row in rows]
    most = max((row["value"] for row in rows), default=0)

    def draw(width: int) -> dict[str, Any]:
        legend = alt.Legend(title=None, columns=1 if width == NARROW else 0)
        scale = alt.Scale(domain=order, range=list(colours.values()))
        drawn = (
            alt.Chart(_data(numbered))
            .mark_bar()
            .encode(
                x=alt.X("value:Q", title=value_title, axis=_ticks(width, most)),
                y=_categories(rows, width),
                color=alt.Color("part:N", scale=scale, legend=legend, sort=order),
                order=alt.Order("order:Q"),
            )
        )
        layers: list[Any] = [drawn]
        if even is not None:
            rule = alt.Chart(_data([{"even": even}])).mark_rule(strokeDash=[4, 3], strokeWidth=1.5, color=_INK)
            layers.append(rule.encode(x=alt.X("even:Q")))
        return _fitted(alt.layer(*layers), width, _labels(rows))

    return draw


def histograms(rows: Rows, x_title: str) -> Draw:
    """Histograms below one another, a panel each: ``panel``, ``bin``, ``value``, ``text``, ``colour``."""
    panels = list(dict.fromkeys(row["panel"] for row in rows))
    bins = list(dict.fromkeys(row["bin"] for row in rows))

    def draw(width: int) -> dict[str, Any]:
        most = max((row["value"] for row in rows), default=0) or 1
        # Room for the numbers above the bars, which tell of those that are too small to be seen.
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


QUANTILES = {"median": "p50", "90 %": "p90", "99 %": "p99", "most": "max"}
"""Of a distribution, as a chart calls them."""


def quantiles(rows: Rows, value_title: str) -> Draw:
    """Draw distributions as lines from the median to the greatest: ``label``, ``colour``, and a value a quantile."""
    points = [
        {"label": row["label"], "colour": row["colour"], "quantile": told, "value": row[name]}
        for row in rows
        for told, name in QUANTILES.items()
    ]
    most = max((point["value"] for point in points), default=0)
    middle = sorted(row["p90"] for row in rows)[len(rows) // 2] if rows else 0
    # A root leaves room for the small values where one is far above them.
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


def gantt(
    spans: Rows, moments: Rows, lanes: Sequence[str], colours: Mapping[str, str], shapes: Mapping[str, str]
) -> Draw:
    """Draw lanes over time: spans with ``lane``, ``from``, ``to``, ``state``; moments with ``lane``, ``at``, ``event``.

    Times are in seconds.
    """

    def draw(width: int) -> dict[str, Any]:
        y = alt.Y(
            "lane:N",
            sort=list(lanes),
            title=None,
            scale=alt.Scale(domain=list(lanes), paddingInner=0.25),
            axis=_category_axis(width),
        )
        first, last = min(span["from"] for span in spans), max(span["to"] for span in spans)
        times = alt.Scale(domain=[first, last], nice=False, zero=False)
        time = alt.X("from:Q", title="seconds since the beginning", axis=_ticks(width, last), scale=times)
        scale = alt.Scale(domain=list(colours), range=list(colours.values()))
        legend = alt.Legend(title=None, columns=1 if width == NARROW else 3, symbolType="square", symbolOpacity=1)
        bands = (
            alt.Chart(_data(spans))
            .mark_bar()
            .encode(x=time, x2="to:Q", y=y, color=alt.Color("state:N", scale=scale, sort=list(colours), legend=legend))
        )
        layers = [bands]
        if moments:
            marks = alt.Scale(domain=list(shapes), range=list(shapes.values()))
            layers.append(
                alt.Chart(_data(moments))
                .mark_point(filled=True, size=60, opacity=1, color=_INK, stroke=PLACEHOLDERS["paper"], strokeWidth=1)
                .encode(
                    x=alt.X("at:Q"),
                    y=y,
                    shape=alt.Shape(
                        "event:N", scale=marks, sort=list(shapes), legend=_shapes_legend(width, _INK, "bottom")
                    ),
                )
            )
        return _fitted(alt.layer(*layers), width, lanes, bar=22)

    return draw


def _data(rows: Iterable[Mapping[str, Any]]) -> alt.InlineData:
    return alt.InlineData(values=[dict(row) for row in rows])


def _labels(rows: Rows) -> list[str]:
    return list(dict.fromkeys(row["label"] for row in rows))


def _label_width(labels: Sequence[str]) -> int:
    """Pixels that the labels take, about."""
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
    # A title that ends where the axis ends has room on its left, under the labels.
    return alt.Axis(tickCount=4, format=shown, titleAnchor="end")


def _shapes_legend(width: int, colour: str = _MUTED, orient: Literal["top", "bottom"] = "top") -> alt.Legend:
    return alt.Legend(
        title=None,
        symbolFillColor=colour,
        symbolStrokeColor=colour,
        symbolOpacity=1,
        orient=orient,
        columns=2 if width == NARROW else 4,
    )


def _fitted(
    chart: alt.LayerChart | alt.FacetChart, width: int, lanes: Sequence[str], bar: int = _BAR
) -> dict[str, Any]:
    """Let labels, legends and all take no more than the width."""
    # The reader's letters may be wider than those that the labels were measured with.
    room = min(_label_width(lanes), _label_limit(width)) // 4
    padding = {"left": 2 + room, "right": 12, "top": 2, "bottom": 2}
    fit = alt.AutoSizeParams(type="fit-x", contains="padding")
    return _spec(chart.properties(width=width, height=bar * max(len(lanes), 1), autosize=fit, padding=padding))


def _spec(chart: _Chart) -> dict[str, Any]:
    spec: dict[str, Any] = chart.to_dict()
    return spec | {"config": _CONFIG}
