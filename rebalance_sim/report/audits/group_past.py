"""The past rebalances of some groups of an audit."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, Row, Window
from pyspark.sql import functions as F

from rebalance_sim.engine.history.prevention import SAVES
from rebalance_sim.engine.history.stories import AT, COMPARED, commit_sums, commits_in_words, in_words, stories
from rebalance_sim.engine.spark.driver_rows import where_in
from rebalance_sim.report.audits.audited_run import GroupKey, by_group
from rebalance_sim.report.lanes import UNITS
from rebalance_sim.report.page import Column, Lane, LaneTable, Table, columns
from rebalance_sim.report.text import count
from rebalance_sim.tables import GENERATIONS, PREVENTION
from rebalance_sim.wording import plural, utc_time

SHOWN_GENERATIONS = 500
"""Generations of a group that are drawn: the last."""
LISTED_GENERATIONS = 8
"""Of these, generations that are listed with their evidence."""
_PLACES = 100
"""Places for marks in a lane: generations that are closer together share one, so that a lane stays small."""
_DAY_MS = 86_400_000
_KEYS = ["cluster", "group_id"]
_CHANGES = ("joined", "back", "left", "moved")
_OF_GENERATION = ("generation", "members", "cause", "joined", "left", "moved", "moved_back", "complete")


@dataclass(frozen=True)
class GroupPast:
    """The past rebalances of a group."""

    sentence: str
    strip: LaneTable | None
    """None if no time is known."""
    last: Table
    prevented: Table | None
    """Settings that would have prevented some; None if there are none."""


def past_of_groups(history: Mapping[str, DataFrame], groups: Collection[GroupKey]) -> dict[GroupKey, GroupPast]:
    """Return the past of groups, of those that have one."""
    if not history or not groups:
        return {}
    names = {group_id for _, group_id in groups}
    generations = where_in(history[GENERATIONS.name], "group_id", names)
    by_key = {(row["cluster"], row["group_id"]): row for row in generations.transform(stories).collect()}
    sums = generations.groupBy(*_KEYS).agg(*commit_sums()).collect() if COMPARED in generations.columns else []
    committed = {(row["cluster"], row["group_id"]): commits_in_words(row) for row in sums}
    saves = [history[PREVENTION.name].where(SAVES)] if PREVENTION.name in history else []
    prevented = by_group(row for rows in saves for row in where_in(rows, "group_id", names).collect())
    in_order = Window.partitionBy(*_KEYS).orderBy(F.desc("recreated"), F.desc("generation"), "rewritten")
    back = (F.col("restarted") + F.col("replaced")).alias("back")
    placed = generations.withColumn("place", F.row_number().over(in_order)).where(F.col("place") <= SHOWN_GENERATIONS)
    evidence = F.when(F.col("place") <= LISTED_GENERATIONS, F.col("evidence")).alias("evidence")
    shown: list[SparkColumn | str] = [*_KEYS, "place", F.expr(AT).alias("at_ms"), *_OF_GENERATION, back, evidence]
    rows = placed.select(*shown).orderBy(*_KEYS, F.desc("place")).collect()
    return {
        key: _group_past(by_key[key], committed.get(key, ""), of, prevented[key])
        for key, of in by_group(rows).items()
        if key in groups
    }


def _group_past(story: Row, committed: str, rows: Sequence[Row], prevented: Sequence[Row]) -> GroupPast:
    last = [row.asDict() | {"at": utc_time(row["at_ms"])} for row in rows[-LISTED_GENERATIONS:]]
    head = columns(Column("time, UTC", field="at"), "generation", "members", "cause", "evidence")
    caption = f"The last {plural(len(last), 'generation')}" if len(last) > 1 else "The last generation"
    return GroupPast(
        f"{in_words(story)}. {committed}".strip(),
        _strip(story, rows),
        Table.of(caption, head, last),
        _prevented(prevented),
    )


def _strip(story: Row, rows: Sequence[Row]) -> LaneTable | None:
    """Return what happened in the generations of a group, a lane for each kind of change."""
    timed = [row for row in rows if utc_time(row["at_ms"]) is not None]
    if not timed:
        return None
    first, last = (choose(row["at_ms"] for row in timed) for choose in (min, max))
    sums = {name: sum(row[name] or 0 for row in timed) for name in (*_CHANGES, "moved_back")}
    moves = f"{count(sums['moved'])}, {count(sums['moved_back'])} of them back"
    lanes = [
        _lane("rebalances", "rebalances", timed, count(len(timed)), first, last),
        *(
            _lane(title, style, [row for row in timed if row[name]], text, first, last)
            for name, title, style, text in (
                ("joined", "members joined", "joined", count(sums["joined"])),
                ("back", "members restarted", "back-again", count(sums["back"])),
                ("left", "members left", "gone", count(sums["left"])),
                ("moved", "partitions moved", "moved", moves),
            )
            if sums[name]
        ),
    ]
    return LaneTable(
        f"Rebalances from {utc_time(first)} to {utc_time(last)} UTC",
        ("change", "time", "how many"),
        _ticks(first, last),
        tuple(lanes),
        " ".join(_left_out(story, rows, timed)),
    )


def _left_out(story: Row, rows: Sequence[Row], timed: Sequence[Row]) -> Iterator[str]:
    earlier, timeless = story["generations"] - len(rows), len(rows) - len(timed)
    incomplete = sum(not row["complete"] for row in timed)
    if earlier:
        are_not = plural(earlier, "earlier generation is not", "earlier generations are not")
        yield f"{are_not} drawn: the table generations has all."
    if timeless:
        yield f"{plural(timeless, 'generation without a time is', 'generations without a time are')} not drawn."
    if incomplete:
        yield f"Records before {count(incomplete)} of them may be missing."


def _lane(name: str, style: str, rows: Sequence[Row], text: str, first: int, last: int) -> Lane:
    """Return a lane with a mark for each generation; marks that are close together are one."""
    width = UNITS // _PLACES
    marks: list[tuple[int, int]] = []
    for place in sorted({(_PLACES - 1) * (row["at_ms"] - first) // max(last - first, 1) for row in rows}):
        begin = marks.pop()[0] if marks and marks[-1][1] == place else place
        marks.append((begin, place + 1))
    drawn = "".join(f"M{width * begin} 0h{width * (end - begin)}v10H{width * begin}z" for begin, end in marks)
    return Lane(name, ((style, drawn),), text)


def _ticks(first: int, last: int) -> tuple[tuple[float, str], ...]:
    """Return the times at the ends and in the middle: of a day or less the hour, else the date."""
    times = {0.0: first, 50.0: (first + last) // 2, 100.0: last} if last > first else {0.0: first}
    start, end = (4, 16) if last - first > _DAY_MS else (11, 19)
    return tuple((place, (utc_time(at_ms) or "")[start:end].lstrip("-")) for place, at_ms in times.items())


def _prevented(rows: Sequence[Row]) -> Table | None:
    """Return the settings that would have prevented rebalances, those that prevent most first."""
    if not rows:
        return None
    order = sorted(rows, key=lambda row: (-row["rebalances_saved"], row["setting"], row["value"]))
    saved = ("rebalances saved", ("of", "rebalances"), ("downtime saved, partition-seconds", "unowned_ms_saved"))
    note = (
        "Simulated with assumed latencies: the members joined, left and restarted at the times of the history, as far "
        "as generations show them."
    )
    head = columns("setting", "value", *saved)
    return Table.of("Settings that would have prevented rebalances", head, order, note)
