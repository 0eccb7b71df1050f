"""Findings and their kinds."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from rebalance_sim.wording import duration, plural


class Severity(StrEnum):
    """How bad a finding is, the worst first."""

    ERROR = "error"
    """Records are not consumed, or will not be."""
    WARNING = "warning"
    """Something to change."""
    NOTE = "note"
    """Something to know: it cannot be avoided, or need not be."""


class Harm(StrEnum):
    """What a finding means for the group's records, the worst first: console, page and tables rank by it."""

    UNKNOWN = "unknown"
    """Nothing is known of the group's members: it may be healthy or broken."""
    STOPPED = "stopped"
    """Records are not consumed: no member owns their partitions, or the group cannot form or keeps rebalancing."""
    BEHIND = "behind"
    """Records wait a long time, or committed offsets are about to expire or are not in the log."""
    UNEVEN = "uneven"
    """Members are imbalanced, records of a key are not in one partition in order, or some rows could not be read."""
    NEXT_CHANGE = "next-change"
    """The next restart, rollout, migration or growth fails, or costs more than necessary."""
    HABIT = "habit"
    """No harm is known; change it when convenient."""


class Confidence(StrEnum):
    """What a finding rests on."""

    CERTAIN = "certain"
    """The inputs, and Kafka's rules."""
    SIMULATED = "simulated"
    """A simulation, whose times depend on assumptions about network and applications."""
    ASSUMED = "assumed"
    """Inputs that are incomplete: an unknown library, release or protocol list of a client, or rejected rows."""


@dataclass(frozen=True)
class Kind:
    """A kind of finding, and its wording."""

    name: str
    severity: Severity
    harm: Harm
    description: str
    """A template: ``{figure:noun}`` is a count with its noun, ``{figure:s}`` milliseconds as seconds, ``{figure:t}``
    milliseconds in their usual unit."""
    recommendation: str = ""
    """A template like the description; empty if there is nothing to do."""
    scenario: str | None = None
    """The hypothetical scenario of which it is a result; None for the present state."""
    confidence: Confidence = Confidence.CERTAIN
    decisive: str = ""
    """The figure that decides whether a finding is worse or better than one of an earlier audit; empty without."""
    matter: str = ""
    """What it is about, of kinds of which a group has one at a time: another one is worse or better, not new."""
    needs: str = ""
    """The input beside topics and members without which it is never found; empty if there is none."""
    is_news: bool = True
    """Whether a change of it is worth a line: not if rebalances bring it and take it away, or if every group has it."""


@dataclass(frozen=True)
class Finding:
    """A finding about one group."""

    kind: Kind
    figures: Mapping[str, float] = field(default_factory=dict)
    """The evidence, also for the templates."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Further texts for the templates."""
    settings: Mapping[str, str] = field(default_factory=dict)
    """The client's settings that are recommended."""
    saving: Mapping[str, float] = field(default_factory=dict)
    confidence: Confidence | None = None
    """None for that of the kind."""
    simulated: str | None = None
    """The scenario that was simulated; None for that of the kind."""

    @property
    def scenario(self) -> str | None:
        """The hypothetical scenario of which it is a result; None for the present state."""
        return self.simulated or self.kind.scenario

    @property
    def description(self) -> str:
        """The finding as a sentence."""
        return self._filled(self.kind.description)

    @property
    def recommendation(self) -> str | None:
        """What to do; None if there is nothing to do."""
        return self._filled(self.kind.recommendation) or None

    def _filled(self, template: str) -> str:
        return filled(template, {**self.figures, **self.saving}, self.names)


def filled(template: str, figures: Mapping[str, float], names: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return a template, as those of a kind, with its figures and further texts."""
    values: dict[str, Any] = {name: _Figure(value) for name, value in figures.items()}
    return template.format_map(values | dict(names))


class _Figure(float):
    """A figure in a template.

    >>> "{a:member}, {a}, {b:s}, {b:t}, {c}".format(a=_Figure(1), b=_Figure(1500), c=_Figure(0.25))
    '1 member, 1, 1.5 s, 2 s, 0.25'
    """

    def __format__(self, spec: str) -> str:
        if spec == "s":
            return f"{self / 1000:,.1f} s"
        if spec == "t":
            return duration(self)
        if spec == "%":
            return f"{100 * self:.0f} %"
        if spec:
            return plural(int(self), *spec.split("|"))
        return f"{int(self):,}" if self.is_integer() else f"{float(self):,.2f}"
