"""The section about moves: partitions that stay with their owner, and partitions that change owner."""

from collections.abc import Iterator

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rebalance_sim.engine.groups.comparison import BEST
from rebalance_sim.engine.runs.finished_runs import FinishedRun
from rebalance_sim.releases import SHARE_ASSIGNORS
from rebalance_sim.report.balance import present
from rebalance_sim.report.charts import both, stacked_bars
from rebalance_sim.report.colours import PLACEHOLDERS, StrategyColours
from rebalance_sim.report.page import Chart, Check, Level, RunResults, Table, columns
from rebalance_sim.report.text import count, label, share
from rebalance_sim.tables import BALANCE, DISTRIBUTIONS
from rebalance_sim.wording import plural

NAME = "moves"
_PARTS = {"kept": PLACEHOLDERS["rest"], "moved": PLACEHOLDERS["second"]}


def by_strategy(balance: DataFrame) -> DataFrame:
    """Aggregate what each strategy moves, keeps and revokes; in a share group no partition has one owner."""
    sums = [F.sum(name).alias(name) for name in ("kept", "moved", "revoked")]
    again = F.count_if(F.col("rebalances") > 1).alias("again")
    owned = balance.where(F.col("error").isNull() & ~F.col("strategy").isin(*SHARE_ASSIGNORS))
    return owned.groupBy("strategy").agg(*sums, again).orderBy("strategy")


def results(run: FinishedRun, colours: StrategyColours) -> RunResults:
    """Return the blocks and checks of one run; nothing if no partition had an owner before."""
    if not run.rows(BALANCE):
        return RunResults()
    rows = [row for row in by_strategy(run.table(BALANCE)).collect() if row["kept"] + row["moved"]]
    if not rows:
        return RunResults()
    fewest = None
    if run.rows(DISTRIBUTIONS):
        best = run.table(DISTRIBUTIONS).where((F.col("strategy") == BEST) & (F.col("figure") == "moved")).first()
        fewest = best["total"] if best else None
    least, most = (of(rows, key=lambda row: (row["moved"], row["strategy"])) for of in (min, max))
    title = f"{label(least['strategy'])} moves {count(least['moved'])} partitions"
    if most["moved"] > least["moved"]:
        title += f", {label(most['strategy'])} {count(most['moved'])}"
    parts = [{"label": label(row["strategy"]), "part": part, "value": row[part]} for row in rows for part in _PARTS]
    several = ("groups with several rebalances", "again")
    head = columns("strategy", "kept", "moved", ("share moved", "moved_share"), "revoked", several)
    shown = [row.asDict() | {"moved_share": row["moved"] / (row["kept"] + row["moved"])} for row in rows]
    note = f"The most balanced assignments take at least {plural(int(fewest), 'move')}." if fewest is not None else ""
    table = Table.of("Moves by strategy", head, shown)
    description = "Previously owned partitions: those that stay with their owner and those that change owner."
    chart = Chart("moves", title, description, **both(stacked_bars, parts, _PARTS, "partitions"), data=table)
    return RunResults((chart, note) if note else (chart,), tuple(_checks(run)))


def _checks(run: FinishedRun) -> Iterator[Check]:
    """Yield the check of the present state: of what each group elects."""
    now = by_strategy(present(run, run.table(BALANCE))).agg(F.sum("kept").alias("kept"), F.sum("moved").alias("moved"))
    row = now.first()
    if row is None or row["kept"] is None:
        return
    partitions = row["kept"] + row["moved"]
    what = (
        f"of {plural(partitions, 'partition')} ({share(row['moved'], partitions)}) change owner in the next rebalance"
    )
    yield Check(Level.WARNING if row["moved"] else Level.OK, count(row["moved"]), what, NAME)
