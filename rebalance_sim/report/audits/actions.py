"""What to do, ranked: each kind of error and warning with its groups, figures and expected savings."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from pyspark.sql import Row

from rebalance_sim.engine.audit.finding import Confidence, Harm, Severity
from rebalance_sim.engine.audit.ranking import NAMED_GROUPS, RankedKind, ranked_kinds
from rebalance_sim.report.audits.audited_run import AuditedRun, GroupKey
from rebalance_sim.report.audits.figures import Savings, savings_of
from rebalance_sim.report.page import Check, Level
from rebalance_sim.report.text import count
from rebalance_sim.tables import FINDINGS
from rebalance_sim.wording import plural_of

TO_DO = "what-to-do"
"""Name of the section."""


@dataclass(frozen=True)
class AffectedGroup:
    """A group that an action is about."""

    key: GroupKey
    members: int | None
    """None if they are unknown."""
    description: str
    advice: str
    """What to do about this group; empty if the action says it."""
    savings: Savings
    is_assumed: bool
    """Whether the finding depends on inputs that are missing."""
    settings: Mapping[str, str] = field(default_factory=dict)
    also: tuple[tuple["Action", "AffectedGroup"], ...] = ()
    """Other actions that the same change of settings makes superfluous, with what they say of the group."""


@dataclass(frozen=True)
class Action:
    """Something to do about all groups with one kind of finding."""

    severity: str
    harm: str | None
    kind: str
    scenario: str | None
    groups: int
    advice: str
    """What to do about all groups; empty if it differs."""
    named: tuple[AffectedGroup, ...]

    @property
    def title(self) -> str:
        """The kind in words.

        >>> Action("warning", "uneven", "idle-members", None, 1, "", ()).title
        'Idle members'
        """
        return self.kind.replace("-", " ").capitalize()

    @property
    def waits(self) -> bool:
        """Whether it is about the next rollout, migration or growth."""
        return self.harm == Harm.NEXT_CHANGE or self.scenario is not None


@dataclass(frozen=True)
class Findings:
    """The findings of an audit: their numbers by severity, and what to do about errors and warnings."""

    numbers: Mapping[str, int]
    kinds: tuple[Action, ...]
    """An action for each kind of error and warning."""
    notes: tuple[Action, ...]

    @cached_property
    def actions(self) -> tuple[Action, ...]:
        """What to do about errors and warnings: each change once."""
        return _each_change_once(self.kinds)

    @property
    def now(self) -> list[Action]:
        """Actions about what is wrong today."""
        return [action for action in self.actions if not action.waits and action.harm != Harm.HABIT]

    @property
    def before_next_change(self) -> list[Action]:
        """Actions that avoid what the next rollout, migration or growth would cost."""
        return [action for action in self.actions if action.waits]

    @property
    def habits(self) -> list[Action]:
        """Actions that can be taken whenever it is convenient."""
        return [action for action in self.actions if action.harm == Harm.HABIT]


def findings_of(audited: AuditedRun) -> Findings:
    """Return the findings of an audit, ranked as on the console."""
    kinds = ranked_kinds(audited.run.table(FINDINGS), NAMED_GROUPS) if audited.run.rows(FINDINGS) else []
    numbers = {str(severity): sum(kind.groups for kind in kinds if kind.severity is severity) for severity in Severity}
    is_note: Callable[[RankedKind], bool] = lambda kind: kind.severity is Severity.NOTE  # noqa: E731
    return Findings(
        numbers,
        tuple(_action(kind) for kind in kinds if not is_note(kind)),
        tuple(_action(kind) for kind in kinds if is_note(kind)),
    )


def checks(findings: Findings) -> Iterator[Check]:
    """Yield a check for each kind of error and warning, which stands for all its findings."""
    for action in findings.kinds:
        scenario = f", in a simulated {action.scenario.replace('-', ' ')}" if action.scenario else ""
        what = f"{plural_of(action.groups, 'group')} with {action.kind}{scenario}"
        first = action.named[0].key
        level = Level(action.severity)
        yield Check(level, count(action.groups), what, TO_DO, first, action.groups > 1, findings=action.groups)


def _action(kind: RankedKind) -> Action:
    advice = {row["recommendation"] or "" for row in kind.first}
    shared = advice.pop() if len(advice) == 1 else ""
    named = tuple(_affected(kind.first, shared))
    return Action(str(kind.severity), kind.harm, kind.kind, kind.scenario, kind.groups, shared, named)


def _each_change_once(kinds: Sequence[Action]) -> tuple[Action, ...]:
    """Leave out actions whose groups all have the same change, of settings, in an action before: it names them too."""
    kept: list[Action] = []
    for action in kinds:
        before = {(group.key, _entries(group)): place for place, each in enumerate(kept) for group in each.named}
        places = [before.get((group.key, _entries(group))) for group in action.named if group.settings]
        if None in places or len(places) < action.groups:
            kept.append(action)
            continue
        for place, group in zip(places, action.named, strict=True):
            kept[place or 0] = _with(kept[place or 0], group, action)
    return tuple(kept)


def _entries(group: AffectedGroup) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(group.settings.items()))


def _with(action: Action, group: AffectedGroup, other: Action) -> Action:
    """Add what another action says of a group to the group's row."""
    also = (other, group)
    named = (replace(each, also=(*each.also, also)) if each.key == group.key else each for each in action.named)
    return replace(action, named=tuple(named))


def _affected(rows: Sequence[Row], shared: str) -> list[AffectedGroup]:
    return [
        AffectedGroup(
            (row["cluster"], row["group_id"]),
            row["members"],
            row["description"],
            "" if shared else row["recommendation"] or "",
            savings_of(row),
            row["confidence"] == Confidence.ASSUMED,
            dict(row["settings"] or {}),
        )
        for row in rows
    ]
