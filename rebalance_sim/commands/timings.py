"""What simulations take from ``--timings`` in place of assumptions."""

from argparse import Namespace
from collections.abc import Sequence
from typing import NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rebalance_sim.engine.runs.run import Run
from rebalance_sim.engine.simulation.group_timings import GroupTimings
from rebalance_sim.engine.tables.inputs import fit, usable
from rebalance_sim.kafka.history.timings import Bound
from rebalance_sim.kafka.simulation.latencies import EVIDENCE, Evidence
from rebalance_sim.kafka.simulation.scenario import Scenario
from rebalance_sim.tables import TIMINGS
from rebalance_sim.wording import enumerated, plural


class Seen(NamedTuple):
    """What the past shows of some of the groups."""

    evidence: Evidence
    groups: int
    """Groups of which it is known."""
    others: int
    """Groups of which it is not."""
    times: int


def read_timings(run: Run, options: Namespace) -> DataFrame | None:
    """Return the table of ``--timings``; None without the option."""
    return run.read(TIMINGS, options.timings, options.format) if options.timings else None


def taken_from(timings: DataFrame, scenario: Scenario) -> GroupTimings:
    """Return what a simulation takes from the table."""
    return GroupTimings.of(usable(fit(timings, TIMINGS)), scenario)


def seen_in(groups: DataFrame, timings: GroupTimings) -> list[Seen]:
    """Return what is known of simulated groups, from rows with their clusters and ids."""
    names = ["cluster", "group_id"]
    rows = groups.sparkSession.createDataFrame(timings.rows.to_pylist(), timings.schema)
    sums = [
        column
        for each in EVIDENCE
        for column in (F.count(each.name).alias(each.name), F.sum(each.count_name).alias(each.count_name))
    ]
    found = (
        groups.select(*names).distinct().join(F.broadcast(rows), names, "left").agg(F.count("*"), *sums).collect()[0]
    )
    return [Seen(each, found[each.name], found[0] - found[each.name], found[each.count_name] or 0) for each in EVIDENCE]


def assumed_in_part(seen: Sequence[Seen]) -> dict[str, int]:
    """Return the settings that are measured in some groups, with the number of the others."""
    return {
        each.evidence.setting: each.others for each in seen if each.groups and each.evidence.bound is Bound.MEASURED
    }


def seen_in_words(seen: Sequence[Seen]) -> list[str]:
    """Return what simulations take from the past, as a sentence; none without timings."""
    if not seen:
        return []
    known = [each for each in seen if each.groups]
    if not known:
        return ["simulated with assumed times only: --timings has nothing about these groups that replaces one"]
    clauses = [
        f"{each.evidence.setting} {_HOW[each.evidence.bound]} in {each.groups:,} of "
        f"{plural(each.groups + each.others, 'group')} ({plural(each.times, 'time')})"
        for each in known
    ]
    return [f"simulated with {enumerated(clauses)} (--timings)"]


_HOW = {Bound.MEASURED: "as measured", Bound.UPPER: "capped at the longest seen"}
