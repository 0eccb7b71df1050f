"""How often groups rebalanced, and why most of the time, in words: for the console, findings and the page."""

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import Column, DataFrame, Row, Window
from pyspark.sql import functions as F

from rebalance_sim.kafka.history.causes import Cause
from rebalance_sim.wording import plural

AT = "coalesce(completed_at_ms, recorded_at_ms)"
"""The time of a generation, as an expression; null if it is unknown."""
COMPARED = "commits_compared"
"""The column with the number of partitions whose commits are compared; earlier histories do not have it."""
_GROUP = ("cluster", "group_id")
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
"""What happened, by cause; of causes with as many generations, the first one is named."""
_ABSENT = (Cause.LEFT, Cause.EMPTIED)
"""Causes of a generation without a member that came back later."""
_UNITS = (("day", 86_400_000), ("hour", 3_600_000), ("minute", 60_000), ("second", 1000))
_Fields = Mapping[str, Any] | Row


def stories(generations: DataFrame) -> DataFrame:
    """From generations to one row per group: ``generations``, ``first_ms``, ``last_ms``, and ``causes``.

    A member that left and came back makes two generations, which have the same cause here. Of each cause there is the
    number of its ``generations``, of the ``members`` that they are about, one ``member`` of these, and whether some
    generation is about several members, or none (``unnamed``).
    """
    came_back = F.max(F.col("cause") == Cause.RESTARTED).over(Window.partitionBy(*_GROUP, "cause_member"))
    is_absence = F.col("cause").isin(*_ABSENT) & F.col("cause_member").isNotNull() & came_back
    cause = F.when(is_absence, Cause.RESTARTED.value).otherwise(F.col("cause"))
    by_cause = (
        generations.select(*_GROUP, F.expr(AT).alias("at_ms"), cause.alias("cause"), "cause_member")
        .groupBy(*_GROUP, "cause")
        .agg(
            F.count("*").alias("generations"),
            F.count_distinct("cause_member").alias("members"),
            F.min("cause_member").alias("member"),
            F.max(F.col("cause_member").isNull()).alias("unnamed"),
            F.min("at_ms").alias("first_ms"),
            F.max("at_ms").alias("last_ms"),
        )
    )
    return by_cause.groupBy(*_GROUP).agg(
        F.sum("generations").alias("generations"),
        F.min("first_ms").alias("first_ms"),
        F.max("last_ms").alias("last_ms"),
        F.collect_list(F.struct("cause", "generations", "members", "member", "unnamed")).alias("causes"),
    )


def in_words(story: _Fields) -> str:
    """Return a row of ``stories`` as a sentence without its subject and full stop.

    >>> in_words({"generations": 2, "first_ms": 0, "last_ms": 90_000, "causes": []})
    '2 generations in 90 seconds'
    """
    span = within(story["first_ms"], story["last_ms"])
    return f"{plural(story['generations'], 'generation')}{span}{because(story['causes'])}"


def because(causes: Sequence[_Fields]) -> str:
    """Return how many generations have the most frequent cause, and what happened.

    >>> left = {"cause": "member left", "generations": 4, "members": 1, "member": "b", "unnamed": False}
    >>> because([left, left | {"cause": "member joined", "generations": 3}])
    ', 4 of them because member b left or timed out'
    """
    by_cause = {Cause(each["cause"]): each for each in causes}
    known = [cause for cause in _BECAUSE if cause in by_cause]
    if not known:
        return ""
    cause = max(known, key=lambda cause: by_cause[cause]["generations"])
    found = by_cause[cause]
    who = "members" if found["unnamed"] else plural(found["members"], "member")
    if not found["unnamed"] and found["members"] == 1:
        who = f"member {found['member']}"
    return f", {found['generations']:,} of them because {_BECAUSE[cause].format(who)}"


def commit_sums() -> list[Column]:
    """Return what commits show of generations, as aggregates: generations, partitions, records and milliseconds."""
    return [
        F.count_if(F.col(COMPARED) > 0).alias("compared"),
        F.count_if(F.col("rewound") > 0).alias("rewinding"),
        F.sum("rewound").alias("rewound"),
        F.sum("rewound_records").alias("rewound_records"),
        F.sum("downtime_ms").alias("downtime_ms"),
        F.count("downtime_ms").alias("estimated"),
    ]


def commits_in_words(sums: _Fields) -> str:
    """Return a row of ``commit_sums`` as a sentence; empty if no commits were compared.

    >>> sums = {"compared": 9, "rewinding": 2, "rewound": 3, "rewound_records": 120, "downtime_ms": 4_200}
    >>> sums |= {"estimated": 8}
    >>> what, went_back, downtime = commits_in_words(sums).replace("; ", ": ").split(": ")
    >>> what, went_back
    ('Commits before and after 9 generations', 'after 2, offsets of 3 partitions went back by 120 records')
    >>> downtime
    'partitions had no commit for 4.2 partition-seconds longer than usual around 8, an estimate of downtime.'
    """
    if not sums["compared"]:
        return ""
    went_back = (
        f"after {sums['rewinding']:,}, offsets of {plural(sums['rewound'], 'partition')} went back by "
        f"{plural(sums['rewound_records'], 'record')}"
        if sums["rewinding"]
        else "no offset went back"
    )
    downtime = (
        f"partitions had no commit for {sums['downtime_ms'] / 1000:,.1f} partition-seconds longer than usual around "
        f"{sums['estimated']:,}, an estimate of downtime"
        if sums["estimated"]
        else "they are too rare or too irregular to estimate downtime"
    )
    return f"Commits before and after {plural(sums['compared'], 'generation')}: {went_back}; {downtime}."


def within(first_ms: int | None, last_ms: int | None) -> str:
    """Return how long something took, in the largest unit that fits twice.

    >>> within(0, 10_800_000), within(0, 90_000), within(None, 1)
    (' in 3 hours', ' in 90 seconds', '')
    """
    if first_ms is None or last_ms is None or last_ms - first_ms < 1000:
        return ""
    took = last_ms - first_ms
    unit, size = next(((unit, size) for unit, size in _UNITS if took >= 2 * size), _UNITS[-1])
    return f" in {plural(round(took / size), unit)}"
