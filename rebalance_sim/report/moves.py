"""What a page says of moves: which partitions stay with their owner, and which go to another member."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rebalance_sim.engine.comparison import BEST
from rebalance_sim.engine.finished_runs import FinishedRun
from rebalance_sim.report.charts import both, stacked_bars
from rebalance_sim.report.colours import PLACEHOLDERS, StrategyColours
from rebalance_sim.report.page import STRATEGY, Chart, Check, Column, Findings, Kind, Level, Table, counts
from rebalance_sim.report.text import count, label, plural, share
from rebalance_sim.tables import BALANCE, DISTRIBUTIONS

NAME = "moves"
_PARTS = {"kept": PLACEHOLDERS["rest"], "moved": PLACEHOLDERS["second"]}


def by_strategy(balance: DataFrame) -> DataFrame:
    """Sum up what each strategy moves, keeps and revokes."""
    sums = [F.sum(name).alias(name) for name in ("kept", "moved", "revoked")]
    again = F.count_if(F.col("rebalances") > 1).alias("again")
    return balance.where("error IS NULL").groupBy("strategy").agg(*sums, again).orderBy("strategy")


def findings(run: FinishedRun, colours: StrategyColours) -> Findings:
    """Say what a run tells of moves; nothing where nobody owned a partition before."""
    if not run.rows(BALANCE):
        return Findings()
    rows = [row for row in by_strategy(run.table(BALANCE)).collect() if row["kept"] + row["moved"]]
    if not rows:
        return Findings()
    fewest = None
    if run.rows(DISTRIBUTIONS):
        best = run.table(DISTRIBUTIONS).where((F.col("strategy") == BEST) & (F.col("figure") == "moved")).first()
        fewest = best["total"] if best else None
    least, most = (of(rows, key=lambda row: (row["moved"], row["strategy"])) for of in (min, max))
    title = f"{label(least['strategy'])} moves {count(least['moved'])} partitions"
    if most["moved"] > least["moved"]:
        title += f", {label(most['strategy'])} {count(most['moved'])}"
    parts = [{"label": label(row["strategy"]), "part": part, "value": row[part]} for row in rows for part in _PARTS]
    head = (
        STRATEGY,
        *counts("kept", "moved"),
        Column("share moved", Kind.SHARE),
        *counts("revoked on the way", "groups with 2 and more rebalances"),
    )
    shown = tuple(
        (row["strategy"], row["kept"], row["moved"], row["moved"] / (row["kept"] + row["moved"]), row["revoked"],
         row["again"])
        for row in rows
    )  # fmt: skip
    note = f"The most even assignments with the fewest moves take {count(fewest)}." if fewest is not None else ""
    table = Table("What moves, by strategy", head, shown)
    told = "Partitions that somebody owned before: those that stay with their owner and those that another member gets."
    chart = Chart("moves", title, told, **both(stacked_bars(parts, _PARTS, "partitions")), data=table)
    moved = share(most["moved"], most["kept"] + most["moved"])
    check = Check(
        Level.LOOK if most["moved"] else Level.FINE,
        count(most["moved"]),
        f"of {plural(most['kept'] + most['moved'], 'owned partition')} ({moved}) move by {label(most['strategy'])}",
        NAME,
    )
    return Findings((chart, note) if note else (chart,), (check,))
