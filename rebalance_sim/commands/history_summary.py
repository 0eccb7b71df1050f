"""What ``history`` prints: how many generations there were, and which groups rebalance most and why."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from rebalance_sim.commands.console import Line, Table, one_line
from rebalance_sim.engine.spark.driver_rows import where_in
from rebalance_sim.kafka.history.causes import Cause
from rebalance_sim.tables import EPISODES, GENERATION_MEMBERS, GENERATIONS, TIMINGS
from rebalance_sim.wording import plural

_SHOWN = 10
"""Groups that are printed."""
_GROUP = ("cluster", "group_id")
_AT = "coalesce(completed_at_ms, recorded_at_ms)"
_BECAUSE = {
    Cause.RESTARTED: "{} left and came back",
    Cause.REPLACED: "{} restarted as a static member",
    Cause.SUBSCRIPTION: "{} subscribed to other topics",
    Cause.GREW: "topics grew",
    Cause.REVOKED: "revoked partitions were reassigned",
    Cause.LEADER: "the leader rejoined",
    Cause.EMPTIED: "the last member left",
    Cause.LEFT: "{} left or timed out",
    Cause.JOINED_AND_LEFT: "members joined and left",
    Cause.JOINED: "{} joined",
    Cause.UNKNOWN: "something happened that the records do not show",
}
"""What happened, by cause; of causes with as many generations, the first one is printed."""
_ABSENT = (Cause.LEFT, Cause.EMPTIED)
"""Causes of a generation without a member that came back later."""
_UNITS = (("day", 86_400_000), ("hour", 3_600_000), ("minute", 60_000), ("second", 1000))


def summarise_history(tables: Mapping[str, DataFrame]) -> list[Line]:
    """Return the number of generations, and the groups that have most of them, each with its most frequent cause."""
    generations = tables[GENERATIONS.name]
    groups = generations.groupBy(*_GROUP).agg(
        F.count("*").alias("generations"),
        F.min(F.expr(_AT)).alias("first_ms"),
        F.max(F.expr(_AT)).alias("last_ms"),
        F.max("episode").alias("episode"),
        F.sum("moved").alias("moved"),
        F.sum("moved_back").alias("moved_back"),
        F.count_if(~F.col("complete") | F.col("complete").isNull()).alias("incomplete"),
    )
    total = groups.agg(F.sum("generations"), F.count("*"), F.min("first_ms"), F.max("last_ms")).collect()[0]
    number, of_groups, first_ms, last_ms = total
    lines: list[Line] = [
        f"{plural(number or 0, 'generation')} of {plural(of_groups, 'group')}{_within(first_ms, last_ms)}, "
        f"in {plural(tables[EPISODES.name].count(), 'episode')}"
    ]
    shown = groups.orderBy(F.desc("generations"), *_GROUP).limit(_SHOWN).collect()
    if not shown:
        return lines
    causes = _causes(generations, shown)
    lines += ["", *(f"  {_sentence(row, causes[row['cluster'], row['group_id']])}" for row in shown)]
    header = ("group", "generations", "first", "last", "moves", "moved back", "incomplete")
    cells = [
        (
            row["group_id"],
            row["generations"],
            _time(row["first_ms"]),
            _time(row["last_ms"]),
            row["moved"],
            row["moved_back"],
            row["incomplete"],
        )
        for row in shown
    ]
    return [*lines, "", Table.of_clusters(header, cells, [row["cluster"] for row in shown])]


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
        F.expr(f"count_if({_AT} IS NULL) AS timeless"),
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


def _causes(generations: DataFrame, shown: list[Row]) -> dict[tuple[str, str], str]:
    """Return the most frequent cause of each group, in words."""
    counted = where_in(generations, "group_id", {row["group_id"] for row in shown})
    by_group: dict[tuple[str, str], list[tuple[Cause, str | None, int]]] = {}
    for row in counted.groupBy(*_GROUP, "cause", "cause_member").count().collect():
        of_group = by_group.setdefault((row["cluster"], row["group_id"]), [])
        of_group.append((Cause(row["cause"]), row["cause_member"], row["count"]))
    return {group: _most_frequent(causes) for group, causes in by_group.items()}


def _most_frequent(causes: list[tuple[Cause, str | None, int]]) -> str:
    """Return how many generations have the most frequent cause, and what happened.

    A member that left and came back makes two generations.

    >>> _most_frequent([(Cause.JOINED, "a", 3), (Cause.LEFT, "b", 2), (Cause.RESTARTED, "b", 2)])
    ', 4 of them because member b left and came back'
    """
    by_cause: dict[Cause, Counter[str | None]] = defaultdict(Counter)
    back = {member for cause, member, _ in causes if cause is Cause.RESTARTED and member is not None}
    for cause, member, number in causes:
        by_cause[Cause.RESTARTED if cause in _ABSENT and member in back else cause][member] += number
    known = [cause for cause in _BECAUSE if cause in by_cause]
    if not known:
        return ""
    cause = max(known, key=lambda cause: by_cause[cause].total())
    members = by_cause[cause]
    first = members.most_common(1)[0][0]
    who = plural(len(members), "member")
    if None in members:
        who = "members"
    elif first is not None and len(members) == 1:
        who = f"member {one_line(first)}"
    return f", {members.total():,} of them because {_BECAUSE[cause].format(who)}"


def _sentence(row: Row, because: str) -> str:
    span = _within(row["first_ms"], row["last_ms"])
    return f"group {one_line(row['group_id'])}: {plural(row['generations'], 'generation')}{span}{because}"


def _within(first_ms: int | None, last_ms: int | None) -> str:
    """Return how long something took, in the largest unit that fits twice.

    >>> _within(0, 10_800_000), _within(0, 90_000), _within(None, 1)
    (' in 3 hours', ' in 90 seconds', '')
    """
    if first_ms is None or last_ms is None or last_ms - first_ms < 1000:
        return ""
    took = last_ms - first_ms
    unit, size = next(((unit, size) for unit, size in _UNITS if took >= 2 * size), _UNITS[-1])
    return f" in {plural(round(took / size), unit)}"


def _time(at_ms: int | None) -> str | None:
    """Return a time in UTC; None if it is unknown, or in no year of the calendar."""
    try:
        return None if at_ms is None else f"{datetime.fromtimestamp(at_ms // 1000, UTC):%Y-%m-%d %H:%M:%S}"
    except (ValueError, OverflowError, OSError):
        return None
