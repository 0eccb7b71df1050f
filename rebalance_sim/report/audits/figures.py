"""The figures of findings in words: evidence and expected savings, with their units."""

from collections.abc import Mapping
from typing import NamedTuple

from rebalance_sim.report.text import count, seconds
from rebalance_sim.wording import plural_of

_SAVED = "_saved"
_NOUNS = {
    "delay": ("mean delay per record", "mean delay per record"),
    "idle_members": ("idle member", "idle members"),
    "max": ("partition on the member with the most", "partitions on the member with the most"),
    "max_unowned": ("downtime in the worst partition", "downtime in the worst partition"),
    "max_lag": ("record of lag on one member", "records of lag on one member"),
    "mean": ("mean downtime per partition", "mean downtime per partition"),
    "moved": ("partition move", "partition moves"),
    "p99_unowned": ("downtime at p99", "downtime at p99"),
    "rebalances": ("rebalance", "rebalances"),
    "unowned_lag": ("record that waits for an owner", "records that wait for an owner"),
    "unowned": ("partition downtime", "partition downtime"),
}
"""By figure, the noun of what is saved; other figures are shown by their names."""


class Savings(NamedTuple):
    """What a recommendation saves and costs, in words."""

    gains: tuple[str, ...] = ()
    costs: tuple[str, ...] = ()


def saving_texts(saving: Mapping[str, float] | None) -> Savings:
    r"""Return what a recommendation saves, and what it costs.

    >>> saving_texts({"unowned_ms_saved": 1500.0, "moved_saved": -2.0, "share": 0.5, "rebalances_saved": 0.0})
    Savings(gains=('1.5 s less partition downtime (50 %)',), costs=('2 more partition moves',))
    """
    given = dict(saving or {})
    share = given.pop("share", None)
    gains = [_saved(name, value) for name, value in given.items() if value > 0]
    if gains and share:
        gains[0] += f" ({100 * share:.0f} %)"
    return Savings(tuple(gains), tuple(_saved(name, value) for name, value in given.items() if value < 0))


def figure_texts(figures: Mapping[str, float] | None) -> tuple[tuple[str, str], ...]:
    """Return figures by name as texts, with units.

    >>> figure_texts({"mean_ms": 1500.0, "moved_after": 7.0, "share": 0.25})
    (('mean', '1.5 s'), ('moved after', '7'), ('share', '25 %'))
    """
    return tuple((_name(name), _value(name, value)) for name, value in (figures or {}).items())


def _saved(name: str, value: float) -> str:
    figure = name.removesuffix(_SAVED)
    amount = _value(figure, abs(value))
    is_time = figure.endswith("_ms")
    one, several = _NOUNS.get(figure.removesuffix("_ms"), (_name(figure), _name(figure)))
    change = ("less" if value > 0 else "more") if is_time else ("fewer" if value > 0 else "more")
    return f"{amount} {change} {plural_of(int(abs(value)), one, several)}"


def _name(name: str) -> str:
    return name.removesuffix("_ms").replace("_", " ")


def _value(name: str, value: float) -> str:
    if name.endswith("_ms"):
        return f"{seconds(value)} s"
    if name == "share":
        return f"{100 * value:.0f} %"
    return count(value) if float(value).is_integer() else f"{value:,.2f}"
