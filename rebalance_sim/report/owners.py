"""Who owns what under each strategy: a table for each of a few groups, with a row per member."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import reduce

from pyspark.sql import DataFrame, Row, Window
from pyspark.sql import functions as F

from rebalance_sim.engine.runs.finished_runs import FinishedRun
from rebalance_sim.report.audits.ownership import ranges
from rebalance_sim.report.page import Block, CellType, Column, RunResults, Table
from rebalance_sim.report.text import label
from rebalance_sim.tables import ASSIGNMENTS
from rebalance_sim.wording import plural

NAME = "assignments"
SHOWN_GROUPS = 12
SHOWN_MEMBERS = 50
SHOWN_PARTITIONS = 400
_GROUP = ("cluster", "group_id")


def results(run: FinishedRun) -> RunResults:
    """Return who owns what in the first groups."""
    if not run.rows(ASSIGNMENTS):
        return RunResults()
    assignments = run.table(ASSIGNMENTS)
    groups = assignments.select(*_GROUP).distinct().orderBy(*_GROUP).limit(SHOWN_GROUPS + 1).collect()
    return RunResults(tuple(_blocks(assignments, groups)))


def _blocks(assignments: DataFrame, groups: Sequence[Row]) -> Iterator[Block]:
    if len(groups) > SHOWN_GROUPS:
        yield f"The first {SHOWN_GROUPS} groups. To see another one, name it."
    shown = groups[:SHOWN_GROUPS]
    chosen = [
        F.col("cluster").eqNullSafe(F.lit(group["cluster"])) & (F.col("group_id") == group["group_id"])
        for group in shown
    ]
    by_member = Window.partitionBy(*_GROUP, "strategy").orderBy("member_id")
    rows = (
        assignments.where(reduce(lambda one, other: one | other, chosen))
        .withColumn("place", F.row_number().over(by_member))
        .withColumn("members", F.count("*").over(Window.partitionBy(*_GROUP, "strategy")))
        .where(F.col("place") <= SHOWN_MEMBERS)
        .select(
            *(*_GROUP, "strategy", "member_id", "members", F.size("partitions").alias("number")),
            F.slice("partitions", 1, SHOWN_PARTITIONS).alias("partitions"),
        )
        .orderBy(*_GROUP, "member_id", "strategy")
        .collect()
    )
    of_groups: defaultdict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows:
        of_groups[row["cluster"], row["group_id"]].append(row)
    for (_, group), of_group in of_groups.items():
        yield _table(group, of_group)


def _table(group: str, rows: Sequence[Row]) -> Table:
    strategies = sorted({row["strategy"] for row in rows})
    owned: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for row in rows:
        owned[row["member_id"]][row["strategy"]] = _owned(row)
    left_out = max(row["members"] for row in rows) - SHOWN_MEMBERS
    head = (Column("member", CellType.NAME), *(Column(strategy) for strategy in strategies))
    cells = tuple((member, *(of.get(strategy) for strategy in strategies)) for member, of in owned.items())
    return Table(f"Group {label(group)}", head, cells, plural(left_out, "more member") if left_out > 0 else "")


def _owned(row: Row) -> str:
    """Return the partitions of a member in a short form.

    >>> partition = Row("topic", "partition")
    >>> _owned(Row(number=3, partitions=[partition("t", 0), partition("t", 1), partition("u", 5)]))
    '3: t 0–1; u 5'
    """
    topics: defaultdict[str, list[int]] = defaultdict(list)
    for each in row["partitions"] or ():
        topics[each["topic"]].append(each["partition"])
    if not topics:
        return "idle"
    more = "; …" if row["number"] > SHOWN_PARTITIONS else ""
    return f"{row['number']:,}: " + "; ".join(f"{topic} {ranges(numbers)}" for topic, numbers in topics.items()) + more
