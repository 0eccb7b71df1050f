"""Colours, each with a value for light and one for dark; in a chart a placeholder stands for both.

The tones are those of Okabe and Ito, which colour-blind people tell apart, made darker or lighter until they have three
times the luminance of what they lie on, or a third of it.
"""

from collections.abc import Iterable

LIGHT = {
    "paper": "#ffffff",
    "ink": "#1c2430",
    "muted": "#566170",
    "line": "#c9d0d9",
    "grid": "#e6eaef",
    "wrong": "#b3261e",
    "look": "#8a5a00",
    "fine": "#00704f",
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
    "wrong": "#ff8a80",
    "look": "#f0b43c",
    "fine": "#3ccb9e",
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
"""What stands for a colour while a chart is drawn."""


class StrategyColours:
    """A colour for each strategy, the same in all charts of a page; an assignor of a user's own gets one of a few.

    >>> StrategyColours(["range", "by-lag"])["by-lag"] == PLACEHOLDERS["own-1"]
    True
    """

    def __init__(self, strategies: Iterable[str]) -> None:
        own = sorted(set(strategies) - LIGHT.keys())
        self._names = {name: _OWN[place % len(_OWN)] for place, name in enumerate(own)}

    def __getitem__(self, strategy: str) -> str:
        return PLACEHOLDERS[self._names.get(strategy, strategy)]


def as_variables(svg: str) -> str:
    """Put the page's own colours, which follow light and dark, into a drawn chart."""
    for name, placeholder in PLACEHOLDERS.items():
        svg = svg.replace(placeholder, f"var(--{name})")
    return svg


def as_light(svg: str) -> str:
    """Put the light colours into a drawn chart."""
    for name, placeholder in PLACEHOLDERS.items():
        svg = svg.replace(placeholder, LIGHT[name])
    return svg
