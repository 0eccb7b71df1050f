"""Colours for light and dark mode. A chart is drawn with placeholders that stand for both.

The hues are those of Okabe and Ito, which colour-blind readers can distinguish, made darker or lighter until their
contrast with the background is at least 3 : 1.
"""

from collections.abc import Iterable

LIGHT = {
    "paper": "#ffffff",
    "ink": "#1c2430",
    "muted": "#566170",
    "line": "#c9d0d9",
    "grid": "#e6eaef",
    "error": "#b3261e",
    "warning": "#8a5a00",
    "ok": "#00704f",
    "link": "#005a9c",
    "shade": "#f4f6f9",
    "range": "#0072b2",
    "roundrobin": "#3a96d3",
    "sticky": "#b58300",
    "cooperative-sticky": "#cf4f00",
    "server-range": "#a8588f",
    "server-uniform": "#00815e",
    "elected": "#5b6472",
    "optimum": "#8a94a3",
    "own-1": "#7a5a3a",
    "own-2": "#6b7a00",
    "own-3": "#3b3f8c",
    "own-4": "#d0407a",
    "plain": "#4a6a94",
    "second": "#a3195b",
    "third": "#9268c4",
    "rest": "#8d98a8",
}
DARK = {
    "paper": "#12171f",
    "ink": "#e8ecf2",
    "muted": "#a7b1bf",
    "line": "#465162",
    "grid": "#2a3340",
    "error": "#ff8a80",
    "warning": "#f0b43c",
    "ok": "#3ccb9e",
    "link": "#7cc0f8",
    "shade": "#1b222d",
    "range": "#4fa3e3",
    "roundrobin": "#9ad1f5",
    "sticky": "#f0b43c",
    "cooperative-sticky": "#ff8a4c",
    "server-range": "#e39fcb",
    "server-uniform": "#3ccb9e",
    "elected": "#a9b2bf",
    "optimum": "#7d8899",
    "own-1": "#c9a27a",
    "own-2": "#bccb4a",
    "own-3": "#9aa0ff",
    "own-4": "#ff86b3",
    "plain": "#8fb0dc",
    "second": "#ff6fae",
    "third": "#b79aec",
    "rest": "#6f7b8d",
}
_OWN = [name for name in LIGHT if name.startswith("own-")]
PLACEHOLDERS = {name: f"#fa1e{place:02x}" for place, name in enumerate(LIGHT)}
"""Colours that charts are drawn with, to be replaced by those of the page."""


class StrategyColours:
    """A colour for each strategy, the same in all charts of a page. Custom assignors share four colours.

    >>> StrategyColours(["range", "by-lag"])["by-lag"] == PLACEHOLDERS["own-1"]
    True
    """

    def __init__(self, strategies: Iterable[str]) -> None:
        own = sorted(set(strategies) - LIGHT.keys())
        self._names = {name: _OWN[place % len(_OWN)] for place, name in enumerate(own)}

    def __getitem__(self, strategy: str) -> str:
        return PLACEHOLDERS[self._names.get(strategy, strategy)]


def as_variables(svg: str) -> str:
    """Replace the placeholders in a chart by the page's CSS variables, which follow light and dark mode."""
    for name, placeholder in PLACEHOLDERS.items():
        svg = svg.replace(placeholder, f"var(--{name})")
    return svg


def as_light(svg: str) -> str:
    """Replace the placeholders in a chart by the light colours."""
    for name, placeholder in PLACEHOLDERS.items():
        svg = svg.replace(placeholder, LIGHT[name])
    return svg
