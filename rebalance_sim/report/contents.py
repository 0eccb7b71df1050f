"""Builds the page of finished runs: its sections, and what each run adds to them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from pyspark.sql import functions as F

from rebalance_sim.engine.runs.finished_runs import FinishedRun
from rebalance_sim.errors import UserError
from rebalance_sim.report import audit, balance, elections, keys, moves, records, rollouts, timelines
from rebalance_sim.report.colours import StrategyColours
from rebalance_sim.report.page import Check, Level, Page, Part, RunResults, Section, merge_equal_parts, number_charts
from rebalance_sim.tables import BALANCE, COSTS, ELECTIONS, TIMELINE

BUSIEST_GROUPS = 3
"""Groups of a run whose timeline is drawn by default."""
_NEAREST = 3
_OF_AUDITS = (audit.TO_DO, audit.SCENARIOS, audit.MIGRATION)
"""Sections that come before the one about the runs."""


@dataclass(frozen=True)
class _Topic:
    """A section and the function that returns what a run adds to it."""

    name: str
    title: str
    about: str
    results: Callable[[FinishedRun], RunResults]


def page(
    runs: Sequence[FinishedRun], title: str, groups: Sequence[str], report_progress: Callable[[str], None]
) -> Page:
    """Build the page with the timelines of ``groups`` or, if there are none, of those that change most often."""
    colours = StrategyColours(_strategies(runs))
    labels = run_labels([run.folder for run in runs])
    overview = Part((), records.runs_blocks(runs, labels))
    about = "The jobs, and the rows they read, used and rejected."
    runs_section = Section(records.RUNS, "Runs", about, (overview,))
    sections: list[Section] = []
    checks: list[Check] = []
    for topic in _topics(colours, groups):
        report_progress(f"summarizing {topic.title.lower()}")
        found = [(label, topic.results(run)) for label, run in zip(labels, runs, strict=True)]
        parts = merge_equal_parts([Part((label,), each.blocks) for label, each in found if each.blocks])
        if parts:
            sections.append(Section(topic.name, topic.title, topic.about, parts))
        checks += [replace(check, run=label) for label, each in found for check in each.checks]
    sections.insert(sum(section.name in _OF_AUDITS for section in sections), runs_section)
    return Page(title, number_charts(sections), tuple(_linked(_once(checks), sections)))


def run_labels(folders: Sequence[str]) -> list[str]:
    """Name runs by their folders, without the common beginning.

    >>> run_labels(["out/a/assign", "out/b"]), run_labels(["out/a/"])
    (['a/assign', 'b'], ['a'])
    """
    paths = [PurePosixPath(folder).parts for folder in folders]
    common = next((n for n, names in enumerate(zip(*paths)) if len(set(names)) > 1), min(map(len, paths)))  # noqa: B905
    common = min(common, *(len(path) - 1 for path in paths))
    return [str(PurePosixPath(*path[common:])) for path in paths]


def check_groups(runs: Sequence[FinishedRun], groups: Sequence[str]) -> None:
    """Raise UserError for a group without a timeline in any run, with similar names."""
    timelines_of = [run.table(TIMELINE).select("group_id") for run in runs if run.rows(TIMELINE)]
    found = {
        row[0] for table in timelines_of for row in table.where(F.col("group_id").isin(*groups)).distinct().collect()
    }
    for group in groups:
        if group in found:
            continue
        distance = F.levenshtein(F.col("group_id"), F.lit(group))
        near = {
            (row["distance"], row["group_id"])
            for table in timelines_of
            for row in table.distinct().withColumn("distance", distance).orderBy("distance", "group_id").take(_NEAREST)
        }
        nearest = ", ".join(repr(name) for _, name in sorted(near)[:_NEAREST])
        raise UserError(f"--groups: no run has a timeline of {group!r}; nearest: {nearest or 'none'}")


def _topics(colours: StrategyColours, groups: Sequence[str]) -> Iterator[_Topic]:
    """Yield the topics in their order; what is about audits comes first."""
    yield _Topic(
        audit.TO_DO,
        "What to do",
        "Findings about the present state, the worst first, with recommendations.",
        audit.to_do,
    )
    yield _Topic(
        audit.SCENARIOS,
        "What would happen",
        "Results of hypothetical scenarios: a rolling restart, or a migration. They are not about the present state.",
        audit.scenarios,
    )
    yield _Topic(
        audit.MIGRATION,
        "Migration to the consumer protocol",
        "Whether the groups can migrate (KIP-848): online (in a rolling restart), offline (all members stop first) or "
        "not.",
        audit.migrations,
    )
    yield from map(_without_checks_of_audits, _topics_of_tables(colours, groups))
    yield _Topic(
        records.REJECTED, "Rejected rows", "Input rows that cannot be used, by reason.", records.rejects_results
    )
    yield _Topic(
        records.ASSUMED,
        "Assumptions",
        "What the runs assume because the inputs do not contain it.",
        records.assumptions_results,
    )


def _without_checks_of_audits(topic: _Topic) -> _Topic:
    """Return a topic without checks of audits: their findings have them, apart for each scenario."""

    def results(run: FinishedRun) -> RunResults:
        found = topic.results(run)
        return replace(found, checks=()) if audit.is_audited(run) else found

    return replace(topic, results=results)


def _topics_of_tables(colours: StrategyColours, groups: Sequence[str]) -> Iterator[_Topic]:
    yield _Topic(
        elections.NAME,
        "Elections",
        "Elected protocols, ties that hash order decides, and groups that elect nothing.",
        lambda run: elections.results(run, colours),
    )
    yield _Topic(
        balance.NAME,
        "Balance",
        "How balanced partitions are after the last rebalance, by strategy.",
        lambda run: balance.results(run, colours),
    )
    yield _Topic(
        moves.NAME,
        "Partition moves",
        "Previously owned partitions that stay with their owner or change owner, by strategy.",
        lambda run: moves.results(run, colours),
    )
    yield _Topic(
        keys.SKEW,
        "Skew and hot keys",
        "Partitions that receive more than their share of the records, and the keys that cause it.",
        keys.skew,
    )
    yield _Topic(
        keys.GROWTH,
        "Keys that move when topics grow",
        "Keys that another number of partitions would move. Existing records are not moved.",
        keys.growth,
    )
    yield _Topic(
        timelines.NAME,
        "Timelines",
        "What happens to selected groups, and to each of their members, in a simulation.",
        lambda run: timelines.results(run, groups, BUSIEST_GROUPS),
    )
    yield _Topic(
        rollouts.NAME,
        "Costs of a rollout",
        "Rebalances, downtime of partitions and time to stable in a simulation.",
        lambda run: rollouts.results(run, colours),
    )


def _strategies(runs: Sequence[FinishedRun]) -> set[str]:
    """Return the names of all strategies and protocols, of which a fleet has few."""
    found: set[str] = set()
    for run in runs:
        for table, column in ((ELECTIONS, "protocol"), (BALANCE, "strategy"), (COSTS, "strategy")):
            if run.rows(table):
                names = run.table(table).where(F.col(column).isNotNull()).select(column).distinct().limit(100)
                found |= {row[0] for row in names.collect()}
    return found


def _once(checks: Sequence[Check]) -> list[Check]:
    """Keep equal checks of several runs once, for the first run; sort errors first."""
    found: dict[Check, Check] = {}
    for check in checks:
        found.setdefault(replace(check, run=""), check)
    return sorted(found.values(), key=lambda check: list(Level).index(check.level))


def _linked(checks: Sequence[Check], sections: Sequence[Section]) -> Iterator[Check]:
    """Link checks without a section of their own, because it has no blocks, to the section about the runs."""
    present = {section.name for section in sections}
    for check in checks:
        yield check if check.section in present else replace(check, section=records.RUNS)
