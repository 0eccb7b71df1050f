"""The page of finished runs: which sections it has, and what each run adds to them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from pyspark.sql import functions as F

from rebalance_sim.engine.finished_runs import FinishedRun
from rebalance_sim.errors import UserError
from rebalance_sim.report import balance, elections, keys, moves, records, rollouts, timelines
from rebalance_sim.report.colours import StrategyColours
from rebalance_sim.report.page import Check, Findings, Level, Page, Part, Section, numbered, same_told_once
from rebalance_sim.tables import BALANCE, COSTS, ELECTIONS, TIMELINE

BUSIEST_GROUPS = 3
"""Groups of a run whose course is drawn where none are asked for."""
_NEAREST = 3


@dataclass(frozen=True)
class _Topic:
    """A section to be: its name, its title, what it is about, and what a run adds."""

    name: str
    title: str
    about: str
    findings: Callable[[FinishedRun], Findings]


def page(runs: Sequence[FinishedRun], title: str, groups: Sequence[str], tell: Callable[[str], None]) -> Page:
    """Make the page. ``groups`` are those whose course is drawn: if none, those that change most."""
    colours = StrategyColours(_strategies(runs))
    labels = run_labels([run.folder for run in runs])
    told = Part((), records.what_was_run(runs, labels))
    about = "The jobs, and the rows that they were given, used and rejected."
    sections = [Section(records.RUNS, "What was run", about, (told,))]
    checks: list[Check] = []
    for topic in _topics(colours, groups):
        tell(f"reading what is told of {topic.title.lower()}")
        found = [(label, topic.findings(run)) for label, run in zip(labels, runs, strict=True)]
        parts = same_told_once([Part((label,), each.blocks) for label, each in found if each.blocks])
        if parts:
            sections.append(Section(topic.name, topic.title, topic.about, parts))
        checks += [replace(check, run=label) for label, each in found for check in each.checks]
    return Page(title, numbered(sections), tuple(_led_somewhere(_once(checks), sections)))


def run_labels(folders: Sequence[str]) -> list[str]:
    """Name runs by where their folders part.

    >>> run_labels(["out/a/assign", "out/b"]), run_labels(["out/a/"])
    (['a/assign', 'b'], ['a'])
    """
    paths = [PurePosixPath(folder).parts for folder in folders]
    alike = next((n for n, names in enumerate(zip(*paths)) if len(set(names)) > 1), min(map(len, paths)))  # noqa: B905
    alike = min(alike, *(len(path) - 1 for path in paths))
    return [str(PurePosixPath(*path[alike:])) for path in paths]


def check_groups(runs: Sequence[FinishedRun], groups: Sequence[str]) -> None:
    """Raise UserError for a group that no run has a timeline of, with the nearest that there are."""
    told = [run.table(TIMELINE).select("group_id") for run in runs if run.rows(TIMELINE)]
    found = {row[0] for table in told for row in table.where(F.col("group_id").isin(*groups)).distinct().collect()}
    for group in groups:
        if group in found:
            continue
        distance = F.levenshtein(F.col("group_id"), F.lit(group))
        near = {
            (row["distance"], row["group_id"])
            for table in told
            for row in table.distinct().withColumn("distance", distance).orderBy("distance", "group_id").take(_NEAREST)
        }
        nearest = ", ".join(repr(name) for _, name in sorted(near)[:_NEAREST])
        raise UserError(f"--groups: no run has a timeline of {group!r}; the nearest: {nearest or 'there is none'}")


def _topics(colours: StrategyColours, groups: Sequence[str]) -> Iterator[_Topic]:
    yield _Topic(
        elections.NAME,
        "Elections",
        "Which protocol every group elects, where hash order decides, and where nothing is elected.",
        lambda run: elections.findings(run, colours),
    )
    yield _Topic(
        balance.NAME,
        "Balance",
        "How evenly partitions lie with members after the last rebalance, by strategy.",
        lambda run: balance.findings(run, colours),
    )
    yield _Topic(
        moves.NAME,
        "Moved and kept partitions",
        "Partitions that somebody owned before, and who has them afterwards.",
        lambda run: moves.findings(run, colours),
    )
    yield _Topic(
        keys.SKEW,
        "Skew and hot keys",
        "Where producers' records go, which partitions get more than their share, and by which keys.",
        keys.skew,
    )
    yield _Topic(
        keys.GROWTH,
        "Keys that move when topics grow",
        "What another number of partitions would move. Records that are there already stay where they are.",
        keys.growth,
    )
    yield _Topic(
        timelines.NAME,
        "Courses of groups",
        "What happened to chosen groups in a simulation, and to each of their members.",
        lambda run: timelines.findings(run, groups, BUSIEST_GROUPS),
    )
    yield _Topic(
        rollouts.NAME,
        "Costs of a rollout",
        "How often groups rebalance in a simulation, how long partitions stand still, and when all is settled.",
        lambda run: rollouts.findings(run, colours),
    )
    yield _Topic(
        records.REJECTED,
        "Rejected rows",
        "Rows of the inputs that could not be used, by kind of reason.",
        records.what_was_rejected,
    )
    yield _Topic(
        records.ASSUMED,
        "What was assumed",
        "What the inputs do not tell and the runs took for granted.",
        records.what_was_assumed,
    )


def _strategies(runs: Sequence[FinishedRun]) -> set[str]:
    """Return the names of all strategies and protocols: those of a fleet are few."""
    found: set[str] = set()
    for run in runs:
        for table, column in ((ELECTIONS, "protocol"), (BALANCE, "strategy"), (COSTS, "strategy")):
            if run.rows(table):
                names = run.table(table).where(F.col(column).isNotNull()).select(column).distinct().limit(100)
                found |= {row[0] for row in names.collect()}
    return found


def _once(checks: Sequence[Check]) -> list[Check]:
    """Let what several runs have found alike stand once, with the first of them; the worst first."""
    found: dict[Check, Check] = {}
    for check in checks:
        found.setdefault(replace(check, run=""), check)
    return sorted(found.values(), key=lambda check: list(Level).index(check.level))


def _led_somewhere(checks: Sequence[Check], sections: Sequence[Section]) -> Iterator[Check]:
    """Lead checks of sections that are not there, since nothing was found, to the runs."""
    there = {section.name for section in sections}
    for check in checks:
        yield check if check.section in there else replace(check, section=records.RUNS)
