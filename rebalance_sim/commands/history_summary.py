"""What ``history`` prints: how many generations there were, and which groups rebalance most and why."""

from collections.abc import Iterator, Mapping, Sequence

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from rebalance_sim.commands.console import Cells, Line, Table, one_line
from rebalance_sim.engine.history.stories import AT, commit_sums, in_words, stories, within
from rebalance_sim.engine.spark.driver_rows import where_in
from rebalance_sim.tables import EPISODES, GENERATION_MEMBERS, GENERATIONS, TIMINGS
from rebalance_sim.wording import plural, utc_time

_SHOWN = 10
"""Groups that are printed."""
_GROUP = ("cluster", "group_id")


def summarise_history(tables: Mapping[str, DataFrame]) -> list[Line]:
    """Return the number of generations, and the groups that have most of them, each with its most frequent cause."""
    generations = tables[GENERATIONS.name]
    groups = generations.groupBy(*_GROUP).agg(
        F.count("*").alias("generations"),
        F.min(F.expr(AT)).alias("first_ms"),
        F.max(F.expr(AT)).alias("last_ms"),
        F.max("episode").alias("episode"),
        F.sum("moved").alias("moved"),
        F.sum("moved_back").alias("moved_back"),
        F.count_if(~F.col("complete") | F.col("complete").isNull()).alias("incomplete"),
        *commit_sums(),
    )
    total = groups.agg(F.sum("generations"), F.count("*"), F.min("first_ms"), F.max("last_ms")).collect()[0]
    number, of_groups, first_ms, last_ms = total
    lines: list[Line] = [
        f"{plural(number or 0, 'generation')} of {plural(of_groups, 'group')}{within(first_ms, last_ms)}, "
        f"in {plural(tables[EPISODES.name].count(), 'episode')}"
    ]
    shown = groups.orderBy(F.desc("generations"), *_GROUP).limit(_SHOWN).collect()
    if not shown:
        return lines
    found = stories(where_in(generations, "group_id", {row["group_id"] for row in shown})).collect()
    sentences = {(row["cluster"], row["group_id"]): in_words(row) for row in found}
    lines += ["", *(f"  group {one_line(f'{name}: {sentences[cluster, name]}')}" for cluster, name, *_ in shown)]
    header = ("group", "generations", "first", "last", "moves", "moved back", "incomplete")
    cells: Cells = {
        "group": "group_id",
        "first": lambda row: utc_time(row["first_ms"]),
        "last": lambda row: utc_time(row["last_ms"]),
        "moves": "moved",
    }
    return [*lines, "", Table.of_rows(header, shown, cells), *_commits(shown)]


def _commits(groups: Sequence[Row]) -> list[Line]:
    """Return what the commits before and after generations show; nothing if none were compared."""
    compared = [row for row in groups if row["compared"]]
    if not compared:
        return []
    header = (
        *("group", "generations compared", "offsets went back after", "by records"),
        *("downtime, partition-seconds", "estimated for"),
    )
    cells: Cells = {
        "group": "group_id",
        "generations compared": "compared",
        "offsets went back after": "rewinding",
        "by records": "rewound_records",
        "downtime, partition-seconds": lambda row: row["downtime_ms"] / 1000 if row["estimated"] else None,
        "estimated for": "estimated",
    }
    table = Table.of_rows(header, compared, cells)
    return ["", "commits before and after generations; downtime is estimated where commits are regular enough:", table]


def summarise_timings(timings: DataFrame) -> list[Line]:
    """Return the times that the history shows, over all groups."""
    rows = (
        timings.where("workload IS NULL")
        .groupBy("timing", "bound", "source")
        .agg(F.count("*"), F.sum("count"), F.min("min_ms"), F.max("max_ms"))
        .orderBy("timing", "bound", "source")
        .collect()
    )
    if not rows:
        return []
    header = ("timing", "bound", "source", "groups", "times", "shortest, ms", "longest, ms")
    return ["", f"how long members and leaders took ({TIMINGS.name} has each group):", Table(header, rows)]


def assumptions(tables: Mapping[str, DataFrame]) -> list[str]:
    """Return what the tables assume, and what they lack."""
    return [*_about_generations(tables[GENERATIONS.name]), *_about_members(tables[GENERATION_MEMBERS.name])]


def _about_generations(generations: DataFrame) -> Iterator[str]:
    counted = generations.agg(
        F.expr(f"count_if({AT} IS NULL) AS timeless"),
        F.count_if(~F.col("complete")).alias("incomplete"),
        F.count_if(F.col("complete").isNull()).alias("unknown"),
    ).collect()[0]
    timeless, incomplete, unknown = counted
    if timeless:
        yield f"the time of {plural(timeless, 'generation')} is unknown: neither the record nor the dump has it"
    if incomplete:
        yield f"records before {plural(incomplete, 'generation')} may be missing (see incomplete_reason)"
    if unknown:
        yield f"whether records before {plural(unknown, 'generation')} are missing is unknown: offsets are not printed"


def _about_members(members: DataFrame) -> Iterator[str]:
    counted = members.groupBy("protocols_assumed").count().orderBy("protocols_assumed").collect()
    for row in counted:
        if row["protocols_assumed"] is not None:
            rows = plural(row["count"], "row")
            yield f"the protocols of {rows} of generation_members are assumed: {row['protocols_assumed']}"
