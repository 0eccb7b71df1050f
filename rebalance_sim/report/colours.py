"""Colours for light and dark mode. A chart is drawn with placeholders that stand for both.

The hues are those of Okabe and Ito, which colour-blind readers can distinguish, made darker or lighter until their
contrast with the background is at least 3 : 1.
"""

from collections.abc import Iterable

_MODES = {
    "paper": ("#ffffff", "#12171f"),
    "ink": ("#1c2430", "#e8ecf2"),
    "muted": ("#566170", "#a7b1bf"),
    "line": ("#c9d0d9", "#465162"),
    "grid": ("#e6eaef", "#2a3340"),
    "error": ("#b3261e", "#ff8a80"),
    "warning": ("#8a5a00", "#f0b43c"),
    "ok": ("#00704f", "#3ccb9e"),
    "link": ("#005a9c", "#7cc0f8"),
    "shade": ("#f4f6f9", "#1b222d"),
    "range": ("#0072b2", "#4fa3e3"),
    "roundrobin": ("#3a96d3", "#9ad1f5"),
    "sticky": ("#b58300", "#f0b43c"),
    "cooperative-sticky": ("#cf4f00", "#ff8a4c"),
    "server-range": ("#a8588f", "#e39fcb"),
    "server-uniform": ("#00815e", "#3ccb9e"),
    "elected": ("#5b6472", "#a9b2bf"),
    "optimum": ("#8a94a3", "#7d8899"),
    "own-1": ("#7a5a3a", "#c9a27a"),
    "own-2": ("#6b7a00", "#bccb4a"),
    "own-3": ("#3b3f8c", "#9aa0ff"),
    "own-4": ("#d0407a", "#ff86b3"),
    "plain": ("#4a6a94", "#8fb0dc"),
    "second": ("#a3195b", "#ff6fae"),
    "third": ("#9268c4", "#b79aec"),
    "rest": ("#8d98a8", "#6f7b8d"),
}
"""By name, the colour in light and in dark mode."""
LIGHT, DARK = ({name: colours[mode] for name, colours in _MODES.items()} for mode in (0, 1))
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
