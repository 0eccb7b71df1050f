"""Builds the page of finished runs: the audit, its sections, and what each run adds to them."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import PurePosixPath

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rebalance_sim.engine.runs.finished_runs import FinishedRun
from rebalance_sim.errors import UserError
from rebalance_sim.report import (
    assignors,
    balance,
    comparisons,
    elections,
    keys,
    moves,
    owners,
    records,
    rollouts,
    timelines,
)
from rebalance_sim.report.audits import actions, migrations
from rebalance_sim.report.audits.audited_run import AuditedRun, FindAudit, is_audit
from rebalance_sim.report.audits.view import AuditView, audit_view
from rebalance_sim.report.colours import StrategyColours
from rebalance_sim.report.page import (
    MANY_GROUPS,
    Block,
    Check,
    Level,
    Part,
    RunResults,
    Section,
    merge_equal_parts,
    number_charts,
)
from rebalance_sim.tables import BALANCE, COSTS, ELECTIONS, TIMELINE, VERDICTS

BUSIEST_GROUPS = 3
"""Groups of a run whose timeline is drawn by default."""
_NEAREST = 3


@dataclass(frozen=True)
class Page:
    """The whole page."""

    title: str
    audit: AuditView | None
    """The last audit of the runs; None if there is none."""
    sections: tuple[Section, ...]
    checks: tuple[Check, ...] = ()
    runs: int = 1
    is_part: bool = False
    """Whether it shows a part: some groups, or some tables, without verdict and contents."""


@dataclass(frozen=True)
class _Topic:
    """A section and the function that returns what a run adds to it."""

    name: str
    results: Callable[[FinishedRun], RunResults]
    hypothetical: bool = False
    of_large_audits: bool = False
    """Of an audit, shown only if its groups are many: few are in the table of all groups."""
    checks_audits: bool = False
    """Whether its checks of audits count: the findings of an audit have others, apart for each scenario."""


_SECTIONS = {
    timelines.NAME: (
        "Timelines",
        "What happens to selected groups, and to each of their members, in a simulation: the strategies of a group "
        "share one time axis.",
    ),
    rollouts.NAME: (
        "Costs of a rollout",
        "Rebalances, downtime of partitions and time to stable in a simulation, over all groups.",
    ),
    rollouts.SAVINGS: ("What other settings would save", "The same rollout under other settings, over all groups."),
    migrations.NAME: (
        "Migration to the consumer protocol",
        "Whether the groups can migrate to the consumer protocol (KIP-848).",
    ),
    keys.GROWTH: (
        "Keys that move when topics grow",
        "Keys that another number of partitions would move. Existing records are not moved.",
    ),
    comparisons.NAME: ("Runs compared", "The same groups in several runs: one column for each run and strategy."),
    owners.NAME: ("Assignments", "The partitions of each member."),
    assignors.NAME: ("Assignors", "The same members under each assignor."),
    elections.NAME: ("Elections", "Elected protocols, ties that hash order decides, and groups that elect nothing."),
    balance.NAME: ("Balance", "How balanced partitions are after the last rebalance, by strategy."),
    moves.NAME: (
        "Partition moves",
        "Previously owned partitions that stay with their owner or change owner, by strategy.",
    ),
    keys.SKEW: (
        "Skew and hot keys",
        "Partitions that receive more than their share of the records, and the keys that cause it.",
    ),
    records.REJECTED: ("Rejected rows", "Input rows that cannot be used, by reason."),
    records.ASSUMED: ("Assumptions", "What the runs assume because the inputs do not contain it."),
    records.RUNS: ("Runs", "The jobs, their options, and the rows they read, used and rejected."),
}
"""The title of each section, and what it is about."""


def page(
    runs: Sequence[FinishedRun],
    title: str,
    groups: Sequence[str],
    report_progress: Callable[[str], None],
    find_audit: FindAudit,
) -> Page:
    """Build the page with the details and timelines of ``groups`` or, if there are none, of those that matter most."""
    labels = run_labels([run.folder for run in runs])
    audits = [AuditedRun(run, label, find_audit) for run, label in zip(runs, labels, strict=True) if is_audit(run)]
    # While the rules run in Python, for the groups that are shown in detail, Spark does what the sections need.
    with ThreadPoolExecutor(1) as beside:
        if audits:
            report_progress("summarizing the audit")
        viewed = beside.submit(audit_view, audits[-1], groups) if audits else None
        sections, checks = _sections(runs, labels, groups, report_progress)
        sections.append(_section(records.RUNS, records.runs_blocks(runs, labels)))
        view = viewed.result() if viewed else None
    if view is not None:
        checks = [*(replace(check, run=audits[-1].label) for check in actions.checks(view.findings)), *checks]
    return Page(title, view, number_charts(sections), tuple(_linked(_once(checks, sections), sections)), len(runs))


def group_page(run: FinishedRun, title: str, groups: Sequence[str], find_audit: FindAudit) -> Page:
    """Build a part of a page: the details of groups of an audit."""
    view = audit_view(AuditedRun(run, run_labels([run.folder])[0], find_audit), groups)
    return Page(title, view, (), is_part=True)


def tables_page(run: FinishedRun, title: str, groups: Sequence[str]) -> Page:
    """Build a part of a page: the sections about the tables of a run; timelines of ``groups`` or, if none, of some."""
    more = {section.NAME: section.results(run).blocks for section in (owners, assignors)}
    own = [_section(name, blocks) for name, blocks in more.items() if blocks]
    sections, _ = _sections([run], run_labels([run.folder]), groups, lambda _: None)
    return Page(title, None, number_charts([*own, *sections]), is_part=True)


def _sections(
    runs: Sequence[FinishedRun], labels: Sequence[str], groups: Sequence[str], report_progress: Callable[[str], None]
) -> tuple[list[Section], list[Check]]:
    """Return the sections of the page, and their checks."""
    sections: list[Section] = []
    checks: list[Check] = []
    colours = StrategyColours(_strategies([run for run in runs if not _is_small_audit(run)]))
    for topic in _topics(colours, groups):
        title, about = _SECTIONS[topic.name]
        report_progress(f"summarizing {title.lower()}")
        found = [
            (label, run, topic.results(run))
            for label, run in zip(labels, runs, strict=True)
            if not (topic.of_large_audits and _is_small_audit(run))
        ]
        parts = merge_equal_parts([Part((label,), each.blocks) for label, _, each in found if each.blocks])
        if parts:
            sections.append(Section(topic.name, title, about, parts, topic.hypothetical))
        counting = [(label, each) for label, run, each in found if topic.checks_audits or not is_audit(run)]
        checks += [replace(check, run=label) for label, each in counting for check in each.checks]
    compared = comparisons.comparison(runs, labels) if len(runs) > 1 else RunResults()
    if compared.blocks:
        place = sum(section.hypothetical for section in sections)
        sections.insert(place, _section(comparisons.NAME, compared.blocks))
    return sections, checks


def _section(name: str, blocks: tuple[Block, ...]) -> Section:
    """Return a section about all runs together."""
    return Section(name, *_SECTIONS[name], (Part((), blocks),))


def run_labels(folders: Sequence[str]) -> list[str]:
    """Name runs by their folders, without the common beginning.

    >>> run_labels(["out/a/assign", "out/b"]), run_labels(["out/a/"])
    (['a/assign', 'b'], ['a'])
    """
    paths = [PurePosixPath(folder).parts for folder in folders]
    common = next((n for n, names in enumerate(zip(*paths)) if len(set(names)) > 1), min(map(len, paths)))  # noqa: B905
    common = min(common, *(len(path) - 1 for path in paths))
    return [str(PurePosixPath(*path[common:])) for path in paths]


def find_groups(runs: Sequence[FinishedRun], whole: str, listed: Sequence[str]) -> Sequence[str]:
    """Return the group with the id ``whole`` or, if there is none, those of the list that was split from it.

    Raises UserError for a group that no audit has and that has no timeline in any run, with similar names.
    """
    named = [run.table(table).select("group_id") for run in runs for table in (VERDICTS, TIMELINE) if run.rows(table)]
    is_asked = F.col("group_id").isin(whole, *listed)
    found = {row[0] for table in named for row in table.where(is_asked).distinct().collect()}
    if whole in found:
        return [whole]
    for group in listed:
        if group in found:
            continue
        raise UserError(f"--groups: no run has an audit or a timeline of {group!r}; nearest: {nearest(named, group)}")
    return listed


def nearest(named: Sequence[DataFrame], group: str) -> str:
    """Return the groups in tables whose names are most like a name, to be shown in an error."""
    distance = F.levenshtein(F.col("group_id"), F.lit(group))
    near = {
        (row["distance"], row["group_id"])
        for table in named
        for row in table.distinct().withColumn("distance", distance).orderBy("distance", "group_id").take(_NEAREST)
    }
    return ", ".join(repr(name) for _, name in sorted(near)[:_NEAREST]) or "none"


def _is_small_audit(run: FinishedRun) -> bool:
    return is_audit(run) and run.rows(VERDICTS) < MANY_GROUPS


def _topics(colours: StrategyColours, groups: Sequence[str]) -> Iterator[_Topic]:
    """Yield the topics in their order: hypothetical results, then the present state, then what the runs rest on."""
    yield _Topic(timelines.NAME, lambda run: timelines.results(run, groups, BUSIEST_GROUPS), hypothetical=True)
    of_costs = partial(rollouts.results, colours=colours)
    yield _Topic(rollouts.NAME, of_costs, hypothetical=True, of_large_audits=True)
    yield _Topic(rollouts.SAVINGS, partial(rollouts.savings, colours=colours), hypothetical=True)
    yield _Topic(migrations.NAME, migrations.results, hypothetical=True)
    yield _Topic(keys.GROWTH, keys.growth, hypothetical=True)
    for section in (elections, balance, moves):
        yield _Topic(section.NAME, partial(section.results, colours=colours), of_large_audits=True)
    yield _Topic(keys.SKEW, keys.skew)
    yield _Topic(records.REJECTED, records.rejects_results, checks_audits=True)
    yield _Topic(records.ASSUMED, records.assumptions_results)


def _strategies(runs: Sequence[FinishedRun]) -> set[str]:
    """Return the names of all strategies and protocols, of which a fleet has few."""
    found: set[str] = set()
    for run in runs:
        for table, column in ((ELECTIONS, "protocol"), (BALANCE, "strategy"), (COSTS, "strategy")):
            if run.rows(table):
                found |= run.distinct(table, column)
    return found


def _once(checks: Sequence[Check], sections: Sequence[Section]) -> list[Check]:
    """Keep equal checks of several runs once, for the first run; sort errors first, and the present state first.

    Those of an audit come before all others, ranked as on its page.
    """
    found: dict[Check, Check] = {}
    for check in checks:
        found.setdefault(replace(check, run=""), check)
    hypothetical = {section.name for section in sections if section.hypothetical}
    of_audit = [check for check in found.values() if check.section == actions.TO_DO]
    others = [check for check in found.values() if check.section != actions.TO_DO]
    return [
        *of_audit,
        *sorted(others, key=lambda check: (list(Level).index(check.level), check.section in hypothetical)),
    ]


def _linked(checks: Sequence[Check], sections: Sequence[Section]) -> Iterator[Check]:
    """Link checks without a section of their own, because it has no blocks, to the section about the runs."""
    present = {section.name for section in sections} | {actions.TO_DO}
    for check in checks:
        yield check if check.section in present else replace(check, section=records.RUNS)
