"""What a page says of balance: how even assignments are, and how far from the best that any could do."""

from collections.abc import Iterator, Sequence

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, Row, Window
from pyspark.sql import functions as F

from rebalance_sim.engine.comparison import BEST, QUIRKS
from rebalance_sim.engine.finished_runs import FinishedRun
from rebalance_sim.engine.inputs import kind_of_reason
from rebalance_sim.report.bins import counted, filled
from rebalance_sim.report.charts import bars, both, histograms
from rebalance_sim.report.colours import StrategyColours
from rebalance_sim.report.page import (
    CLUSTER,
    GROUP,
    STRATEGY,
    Block,
    Chart,
    Check,
    Column,
    Findings,
    Kind,
    Level,
    Table,
    counts,
)
from rebalance_sim.report.text import count, label, plural, plural_of, share
from rebalance_sim.tables import (
    ASSIGNMENTS,
    BALANCE,
    CHANGES,
    COOPERATIVE_REBALANCES,
    DISTRIBUTIONS,
    LAG_BALANCE,
)

NAME = "balance"
SHOWN_GROUPS = 5
"""Of each strategy."""
SHOWN_ERRORS = 20


def spread() -> SparkColumn:
    """Return the difference between the member with the most partitions and the one with the fewest."""
    return F.col("max") - F.col("min")


def by_strategy(balance: DataFrame) -> DataFrame:
    """Sum up how even the assignments of each strategy are, and name the group that is least so."""
    assigned = F.col("error").isNull()
    worst = F.max(F.when(assigned, F.struct(spread().alias("spread"), "cluster", "group_id", "min", "max")))
    return (
        balance.groupBy("strategy")
        .agg(
            F.count_if(assigned).alias("groups"),
            F.count_if(assigned & (spread() <= 1)).alias("even"),
            F.avg(F.when(assigned, spread())).alias("mean_spread"),
            worst.alias("worst"),
            F.sum("idle_members").alias("idle"),
            F.sum("unassigned").alias("unassigned"),
            F.count_if(sum((F.col(name) for name in QUIRKS), F.lit(0)) > 0).alias("odd"),
            F.count("error").alias("failed"),
        )
        .orderBy("strategy")
    )


def worst_groups(balance: DataFrame) -> DataFrame:
    """Rank the least even groups of each strategy."""
    order = Window.partitionBy("strategy").orderBy(F.desc("spread"), "cluster", "group_id")
    ranked = balance.where("error IS NULL").withColumn("spread", spread()).where("spread > 1")
    return ranked.withColumn("rank", F.row_number().over(order)).where(F.col("rank") <= SHOWN_GROUPS)


def failures(balance: DataFrame) -> DataFrame:
    """Count by kind why groups have no assignment, each with the first group of its kind."""
    return (
        balance.where("error IS NOT NULL")
        .groupBy("strategy", kind_of_reason("error").alias("kind"))
        .agg(F.count("*").alias("groups"), F.min(F.struct("cluster", "group_id")).alias("first"))
        .orderBy(F.desc("groups"), "strategy", "kind")
    )


def partitions_a_member(assignments: DataFrame, cooperative_rebalances: DataFrame) -> DataFrame:
    """Return how many partitions members have after the last rebalance: ``strategy`` and ``partitions``.

    Assignors that are cooperative have all their rebalances in the second table, the others none.
    """
    last = cooperative_rebalances.where("last").select("strategy", F.size("partitions").alias("partitions"))
    cooperative = cooperative_rebalances.select("strategy").distinct()
    others = assignments.join(F.broadcast(cooperative), "strategy", "left_anti")
    return last.unionByName(others.select("strategy", F.size("partitions").alias("partitions")))


def findings(run: FinishedRun, colours: StrategyColours) -> Findings:
    """Say what a run tells of balance."""
    if not run.rows(BALANCE):
        return Findings()
    balance = run.table(BALANCE)
    strategies = by_strategy(balance).collect()
    worst = worst_groups(balance).orderBy("strategy", "rank").collect()
    failed = failures(balance).limit(SHOWN_ERRORS).collect()

    blocks: list[Block] = []
    spreads = filled(counted(balance.where("error IS NULL"), "strategy", spread()), colours)
    if spreads:
        blocks.append(_spread_chart(spreads, strategies))
    if run.rows(ASSIGNMENTS):
        members = partitions_a_member(run.table(ASSIGNMENTS), run.table(COOPERATIVE_REBALANCES))
        blocks.append(_members_chart(filled(counted(members, "strategy", F.col("partitions")), colours)))
    blocks.append(_strategies_table(strategies))
    if worst:
        rows = tuple(
            (row["strategy"], row["cluster"], row["group_id"], row["members"], row["partitions"], row["min"],
             row["max"], row["idle_members"])
            for row in worst
        )  # fmt: skip
        head = (STRATEGY, CLUSTER, GROUP, *counts("members", "partitions", "fewest", "most", "idle members"))
        blocks.append(Table(f"The least even groups, at most {SHOWN_GROUPS} of each strategy", head, rows))
    if failed:
        shown = tuple((row["strategy"], row["kind"], row["groups"], *row["first"]) for row in failed)
        head = (STRATEGY, Column("why"), *counts("groups"), CLUSTER, Column("first group", Kind.NAME))
        blocks.append(Table("Groups without an assignment", head, shown))
    blocks += _against_the_optimum(run, colours)
    blocks += _lag(run)
    return Findings(tuple(blocks), tuple(_checks(strategies, failed)))


def _spread_chart(rows: list[dict[str, object]], strategies: Sequence[Row]) -> Chart:
    groups = sum(row["groups"] for row in strategies)
    even = sum(row["even"] for row in strategies)
    return Chart(
        "balance-spread",
        f"In {share(even, groups)} of the assignments nobody has two partitions more than another",
        "Groups by the difference between the member with the most partitions and the one with the fewest.",
        **both(histograms(rows, "difference of most and fewest partitions")),
        data=_histogram_table("Groups by max − min", "max − min", "groups", rows),
    )


def _members_chart(rows: list[dict[str, object]]) -> Chart:
    return Chart(
        "balance-members",
        "How many partitions members have",
        "Members by the number of their partitions after the last rebalance; those at 0 are idle.",
        **both(histograms(rows, "partitions of a member")),
        data=_histogram_table("Members by partitions", "partitions", "members", rows),
    )


def _histogram_table(caption: str, bins: str, of: str, rows: list[dict[str, object]]) -> Table:
    shown = tuple((row["panel"], row["bin"], row["value"]) for row in rows)
    return Table(caption, (STRATEGY, Column(bins), *counts(of)), shown)


def _strategies_table(strategies: Sequence[Row]) -> Table:
    head = (
        STRATEGY,
        *counts("groups", "even to one"),
        Column("mean max − min", Kind.DECIMAL),
        Column("least even group", Kind.NAME),
        *counts(
            "its fewest", "its most", "idle members", "unassigned partitions", "groups with quirks", "failed groups"
        ),
    )
    rows = tuple(
        (row["strategy"], row["groups"], row["even"], row["mean_spread"],
         *((worst["group_id"], worst["min"], worst["max"]) if (worst := row["worst"]) else (None, None, None)),
         row["idle"], row["unassigned"], row["odd"], row["failed"])
        for row in strategies
    )  # fmt: skip
    note = (
        "Quirks of Kafka's assignors are partitions that are given twice, to members that do not subscribe to them, or "
        "though they do not exist."
    )
    return Table("Balance by strategy", head, rows, note if any(row["odd"] for row in strategies) else "")


def _against_the_optimum(run: FinishedRun, colours: StrategyColours) -> Iterator[Block]:
    if not run.rows(DISTRIBUTIONS):
        return
    figures = {(row["strategy"], row["figure"]): row for row in run.table(DISTRIBUTIONS).collect()}
    strategies = sorted({strategy for strategy, _ in figures if strategy != BEST})
    stddev = [figures[strategy, "excess_stddev"] for strategy in strategies]
    stddev = sorted(stddev, key=lambda row: (-row["zero"] / max(row["groups"], 1), row["strategy"]))
    rows = [
        {
            "label": label(row["strategy"]),
            "value": row["zero"] / max(row["groups"], 1),
            "text": share(row["zero"], row["groups"]),
            "colour": colours[row["strategy"]],
        }
        for row in stddev
    ]
    head = (
        STRATEGY,
        *counts("groups compared", "as even as can be"),
        Column("of these", Kind.SHARE),
        Column("mean stddev above", Kind.DECIMAL),
        Column("most above", Kind.DECIMAL),
        Column("mean moves above", Kind.DECIMAL),
        *counts("most moves above"),
    )
    shown = tuple(
        (row["strategy"], row["groups"], row["zero"], row["zero"] / max(row["groups"], 1), row["mean"], row["max"],
         figures[row["strategy"], "excess_moved"]["mean"], figures[row["strategy"], "excess_moved"]["max"])
        for row in stddev
    )  # fmt: skip
    best = stddev[0]
    yield Chart(
        "balance-optimum",
        f"{label(best['strategy'])} is as even as can be in {share(best['zero'], best['groups'])} of the groups",
        "Share of the groups in which a strategy is as even as the best assignment that there is.",
        **both(bars(rows, "share of groups that are as even as can be", ticks="%")),
        data=Table("Compared with the optimum", head, shown, "Above: more than the optimum has or moves."),
    )
    changes = run.table(CHANGES).where(F.col("rank") <= SHOWN_GROUPS).orderBy("strategy", "change", "rank").collect()
    if changes:
        columns = ("strategy", "change", "cluster", "group_id", "elected")
        measures = ("elected_stddev", "stddev", "elected_moved", "moved")
        head = (
            STRATEGY,
            Column("change"),
            CLUSTER,
            GROUP,
            Column("elected", Kind.NAME),
            Column("stddev now", Kind.DECIMAL),
            Column("stddev then", Kind.DECIMAL),
            *counts("moved now", "moved then"),
        )
        caption = f"Groups that gain or lose most by another strategy, at most {SHOWN_GROUPS} of each"
        yield Table(caption, head, tuple(tuple(row[name] for name in (*columns, *measures)) for row in changes))


def _lag(run: FinishedRun) -> Iterator[Table]:
    if not run.rows(LAG_BALANCE):
        return
    columns = ("strategy", "cluster", "group_id", "members", "lag", "max_lag", "max_lag_bound", "excess_lag")
    rows = run.table(LAG_BALANCE).where(F.col("rank") <= SHOWN_GROUPS).orderBy("strategy", "rank").collect()
    head = (STRATEGY, CLUSTER, GROUP, *counts("members", "lag", "most of a member", "at the least", "could be saved"))
    caption = f"Where lag lies least evenly, at most {SHOWN_GROUPS} groups of each strategy"
    note = "No assignment has less than “at the least” with one member."
    yield Table(caption, head, tuple(tuple(row[name] for name in columns) for row in rows), note)


def _checks(strategies: Sequence[Row], failed: Sequence[Row]) -> Iterator[Check]:
    without = sum(row["failed"] for row in strategies)
    told = plural_of(without, "group has", "groups have") + " no assignment"
    if failed:
        told += f", most by {label(failed[0]['strategy'])}"
    where = tuple(failed[0]["first"]) if failed else ()
    yield Check(Level.WRONG if without else Level.FINE, count(without), told, NAME, where, many=without > 1)
    unassigned = max(strategies, key=lambda row: row["unassigned"] or 0)
    if unassigned["unassigned"]:
        told = f"partitions that nobody gets by {label(unassigned['strategy'])}"
        yield Check(Level.LOOK, count(unassigned["unassigned"]), told, NAME)
    odd = max(strategies, key=lambda row: row["odd"])
    if odd["odd"]:
        told = f"{plural_of(odd['odd'], 'group', 'groups')} given partitions twice, unwanted or nonexistent by "
        yield Check(Level.WRONG, count(odd["odd"]), told + label(odd["strategy"]), NAME)
    assigned = [row for row in strategies if row["worst"]]
    if assigned:
        least = max(assigned, key=lambda row: row["worst"]["spread"])
        worst = least["worst"]
        level = Level.LOOK if worst["spread"] > 1 else Level.FINE
        told = f"partitions a member in the least even group, by {label(least['strategy'])}"
        where = (worst["cluster"], worst["group_id"])
        yield Check(level, f"{worst['min']:,} to {worst['max']:,}", told, NAME, where)
        idle = max(strategies, key=lambda row: row["idle"] or 0)
        told = f"idle by {label(idle['strategy'])}, in {plural(idle['groups'], 'group')}" if idle["idle"] else "idle"
        members = plural_of(idle["idle"] or 0, "member is", "members are")
        yield Check(Level.LOOK if idle["idle"] else Level.FINE, count(idle["idle"] or 0), f"{members} {told}", NAME)
