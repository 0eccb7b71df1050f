"""The section about balance: how balanced assignments are, and how far from the optimum."""

from collections.abc import Iterator, Sequence

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from rebalance_sim.engine.groups.comparison import BEST
from rebalance_sim.engine.groups.comparison_rows import QUIRKS
from rebalance_sim.engine.groups.prediction import ELECTED
from rebalance_sim.engine.runs.finished_runs import FinishedRun
from rebalance_sim.engine.tables.inputs import kind_of_reason
from rebalance_sim.engine.tables.percentiles import p99
from rebalance_sim.report.bins import bins_table, counted, filled
from rebalance_sim.report.charts import bars, both, histograms
from rebalance_sim.report.colours import StrategyColours
from rebalance_sim.report.groups import (
    SHOWN_GROUPS,
    check_of,
    group_of,
    groups_table,
    highest,
    problems_by_kind,
    problems_table,
    shown_groups,
)
from rebalance_sim.report.page import GROUP, MANY_GROUPS, CellType, Chart, Check, Level, RunResults, Table, columns
from rebalance_sim.report.text import count, label, share
from rebalance_sim.tables import (
    ASSIGNMENTS,
    BALANCE,
    CHANGES,
    COOPERATIVE_REBALANCES,
    DISTRIBUTIONS,
    ELECTIONS,
    LAG_BALANCE,
)
from rebalance_sim.wording import plural, plural_of

NAME = "balance"
SHOWN_ERRORS = 20


def spread() -> SparkColumn:
    """Return the difference between the member with the most partitions and the one with the fewest."""
    return F.col("max") - F.col("min")


def by_strategy(balance: DataFrame) -> DataFrame:
    """Aggregate the balance of each strategy, with its most imbalanced group."""
    assigned = F.col("error").isNull()
    worst = F.max(F.when(assigned, F.struct(spread().alias("spread"), "cluster", "group_id", "min", "max")))
    idlest = F.max(F.struct("idle_members", "cluster", "group_id", "members", "partitions"))
    with_idle = F.count_if(F.col("idle_members") > 0).alias("groups_with_idle")
    return (
        balance.groupBy("strategy")
        .agg(
            F.count_if(assigned).alias("groups"),
            F.count_if(assigned & (spread() <= 1)).alias("balanced"),
            F.avg(F.when(assigned, spread())).alias("mean_spread"),
            p99("IF(error IS NULL, max - min, NULL)").cast("int").alias("p99_spread"),
            worst.alias("worst"),
            F.sum("idle_members").alias("idle"),
            idlest.alias("idlest"),
            with_idle,
            F.sum("unassigned").alias("unassigned"),
            F.count_if(sum((F.col(name) for name in QUIRKS), F.lit(0)) > 0).alias("odd"),
            F.count("error").alias("failed"),
        )
        .orderBy("strategy")
    )


def present(run: FinishedRun, balance: DataFrame) -> DataFrame:
    """Keep the groups' rows under the protocol that they elect; the others are hypothetical."""
    if run.record["options"].get("strategy") == ELECTED or not run.rows(ELECTIONS):
        return balance
    elected = run.table(ELECTIONS).select("cluster", "group_id", F.col("protocol").alias("strategy"))
    return balance.join(elected, ["cluster", "group_id", "strategy"], "left_semi")


def worst_groups(balance: DataFrame) -> DataFrame:
    """Rank the most imbalanced groups of each strategy."""
    return highest(balance.where("error IS NULL").withColumn("spread", spread()).where("spread > 1"), "spread")


def failures(balance: DataFrame) -> DataFrame:
    """Count the reasons why groups have no assignment, each with its first group."""
    failed = balance.where("error IS NOT NULL").withColumn("kind", kind_of_reason("error"))
    return problems_by_kind(failed, "strategy")


def partitions_per_member(assignments: DataFrame, cooperative_rebalances: DataFrame) -> DataFrame:
    """Return the number of partitions of each member after the last rebalance: ``strategy`` and ``partitions``.

    For cooperative assignors the last rebalance is in the second table, for the others in the first.
    """
    last = cooperative_rebalances.where("last").select("strategy", F.size("partitions").alias("partitions"))
    cooperative = cooperative_rebalances.select("strategy").distinct()
    others = assignments.join(F.broadcast(cooperative), "strategy", "left_anti")
    return last.unionByName(others.select("strategy", F.size("partitions").alias("partitions")))


def results(run: FinishedRun, colours: StrategyColours) -> RunResults:
    """Return the blocks and checks of one run."""
    if not run.rows(BALANCE):
        return RunResults()
    balance = run.table(BALANCE)
    strategies = by_strategy(balance).collect()
    now = by_strategy(present(run, balance)).collect()
    worst = shown_groups(worst_groups(balance))
    failed = failures(balance).limit(SHOWN_ERRORS).collect()

    blocks: list[Chart | Table] = []
    spreads = filled(counted(balance.where("error IS NULL"), "strategy", spread()), colours)
    is_large = max((row["groups"] for row in strategies), default=0) >= MANY_GROUPS
    if spreads and is_large:
        blocks.append(_spread_chart(spreads, strategies))
    if run.rows(ASSIGNMENTS) and is_large:
        members = partitions_per_member(run.table(ASSIGNMENTS), run.table(COOPERATIVE_REBALANCES))
        blocks.append(_members_chart(filled(counted(members, "strategy", F.col("partitions")), colours)))
    blocks.append(_strategies_table(strategies))
    if worst:
        figures = ("members", "partitions", "min", "max", "idle members")
        blocks.append(groups_table("Most imbalanced groups", worst, *figures))
    if failed:
        blocks.append(problems_table("Groups without an assignment", ("reason", "groups"), failed, "strategy"))
    blocks += _against_the_optimum(run, colours)
    blocks += _lag(run)
    return RunResults(tuple(blocks), tuple(_checks(strategies, now, failed)))


def _spread_chart(rows: list[dict[str, object]], strategies: Sequence[Row]) -> Chart:
    groups = sum(row["groups"] for row in strategies)
    balanced = sum(row["balanced"] for row in strategies)
    return Chart(
        "balance-spread",
        f"{share(balanced, groups)} of the assignments are balanced to within one partition per member",
        "Groups by the difference between the most and the fewest partitions of a member.",
        **both(histograms, rows, "most minus fewest partitions per member"),
        data=bins_table("Groups by max − min", "max − min", "groups", rows),
    )


def _members_chart(rows: list[dict[str, object]]) -> Chart:
    return Chart(
        "balance-members",
        "Partitions per member",
        "Members by number of partitions after the last rebalance. Members with 0 are idle.",
        **both(histograms, rows, "partitions per member"),
        data=bins_table("Members by partitions", "partitions", "members", rows),
    )


def _strategies_table(strategies: Sequence[Row]) -> Table:
    worst = {"max max − min": "spread", "most imbalanced group": "group_id", "its min": "min", "its max": "max"}
    head = columns(
        *("strategy", "groups", ("balanced to one", "balanced")),
        *columns(("mean max − min", "mean_spread"), of=CellType.DECIMAL),
        ("p99 max − min", "p99_spread"),
        *((title, f"worst.{field}") for title, field in worst.items()),
        *(("idle members", "idle"), ("unassigned partitions", "unassigned")),
        *(("groups with assignor bugs", "odd"), ("failed groups", "failed")),
    )
    note = (
        "Bugs of Kafka's assignors are reproduced: partitions assigned twice, to members not subscribed to the topic, "
        "or although they do not exist."
    )
    return Table.of("Balance by strategy", head, strategies, note if any(row["odd"] for row in strategies) else "")


def _against_the_optimum(run: FinishedRun, colours: StrategyColours) -> Iterator[Chart | Table]:
    if not run.rows(DISTRIBUTIONS):
        return
    figures = {(row["strategy"], row["figure"]): row for row in run.table(DISTRIBUTIONS).collect()}
    found = [
        row.asDict() | {"share": row["zero"] / max(row["groups"], 1), "moves": figures[strategy, "excess_moved"]}
        for (strategy, figure), row in figures.items()
        if strategy != BEST and figure == "excess_stddev"
    ]
    found.sort(key=lambda row: (-row["share"], row["strategy"]))
    rows = [
        {
            "label": label(row["strategy"]),
            "value": row["share"],
            "text": share(row["zero"], row["groups"]),
            "colour": colours[row["strategy"]],
        }
        for row in found
    ]
    head = columns(
        *("strategy", ("groups compared", "groups"), ("as balanced as the optimum", "zero"), "share"),
        *columns(*((f"{name} excess stddev", name) for name in ("mean", "p99", "max")), of=CellType.DECIMAL),
        ("mean excess moves", "moves.mean"),
        *columns(*((f"{name} excess moves", f"moves.{name}") for name in ("p99", "max")), of=CellType.COUNT),
    )
    best = found[0]
    yield Chart(
        "balance-optimum",
        f"{label(best['strategy'])} is as balanced as the optimum in {share(best['zero'], best['groups'])} of groups",
        "Share of the groups in which a strategy is as balanced as the most balanced assignment that exists.",
        **both(bars, rows, "share of groups as balanced as the optimum", ticks="%"),
        data=Table.of("Compared with the optimum", head, found, "Excess is the difference from the optimum."),
    )
    changes = shown_groups(run.table(CHANGES), "change")
    if changes:
        group = ("cluster", GROUP, "elected", "elected stddev", "stddev", "elected moved", "moved")
        head = columns("strategy", "change", *group)
        caption = f"Groups that gain or lose most by another strategy (up to {SHOWN_GROUPS} of each)"
        yield Table.of(caption, head, changes)


def _lag(run: FinishedRun) -> Iterator[Table]:
    if not run.rows(LAG_BALANCE):
        return
    figures = ("members", "lag", "max lag", ("lower bound", "max_lag_bound"), ("excess", "excess_lag"))
    note = "Max lag is that of the member with the most. No assignment can reduce it below the lower bound."
    rows = shown_groups(run.table(LAG_BALANCE))
    yield groups_table("Groups with the most imbalanced lag", rows, *figures, note=note)


def _checks(strategies: Sequence[Row], now: Sequence[Row], failed: Sequence[Row]) -> Iterator[Check]:
    """Yield the checks: of idle members and of balance in the present state only, ``now``."""
    without = sum(row["failed"] for row in strategies)
    what = plural_of(without, "group") + " without an assignment"
    if failed:
        what += f", most with {label(failed[0]['strategy'])}"
    yield check_of(Level.ERROR, without, what, NAME, failed[0] if failed else None)
    unassigned = max(strategies, key=lambda row: row["unassigned"] or 0)
    if unassigned["unassigned"]:
        what = plural_of(unassigned["unassigned"], "unassigned partition")
        what += f" with {label(unassigned['strategy'])}"
        yield Check(Level.WARNING, count(unassigned["unassigned"]), what, NAME)
    odd = max(strategies, key=lambda row: row["odd"])
    if odd["odd"]:
        what = plural_of(odd["odd"], "group") + " with partitions assigned twice, unsubscribed or nonexistent"
        yield Check(Level.ERROR, count(odd["odd"]), f"{what} ({label(odd['strategy'])})", NAME)
    assigned = [row for row in now if row["worst"]]
    if assigned:
        most = max(assigned, key=lambda row: row["worst"]["spread"])
        worst = most["worst"]
        level = Level.WARNING if worst["spread"] > 1 else Level.OK
        what = f"partitions per member in the most imbalanced group ({label(most['strategy'])})"
        yield Check(level, f"{worst['min']:,} to {worst['max']:,}", what, NAME, group_of(worst))
        yield _idle_check(max(now, key=lambda row: row["idle"] or 0))


def _idle_check(strategy: Row) -> Check:
    idle, group = strategy["idle"] or 0, strategy["idlest"]
    what = plural_of(idle, "idle member")
    if not idle:
        return Check(Level.OK, count(idle), what, NAME)
    if group["idle_members"] == idle:
        sizes = f"{plural(group['members'], 'member')}, {plural(group['partitions'], 'partition')}"
        what += f" in group {label(group['group_id'])} ({label(strategy['strategy'])}, {sizes})"
    else:
        what += f" in {plural(strategy['groups_with_idle'], 'group')} ({label(strategy['strategy'])})"
    return Check(Level.WARNING, count(idle), what, NAME, group_of(group), many=group["idle_members"] < idle)
