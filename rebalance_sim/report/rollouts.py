"""What a page says of simulations: what they cost by strategy, and what other settings would save."""

from collections.abc import Iterator, Sequence

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, Row, Window
from pyspark.sql import functions as F

from rebalance_sim.engine.finished_runs import FinishedRun
from rebalance_sim.engine.inputs import kind_of_reason
from rebalance_sim.report.bins import counted, filled
from rebalance_sim.report.charts import bars, both, histograms, quantiles
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
from rebalance_sim.report.text import count, cut, label, plural_of, printable, seconds, unique
from rebalance_sim.tables import ADVICE, COSTS, LAG_COSTS, REBALANCES

NAME = "costs"
SHOWN_GROUPS = 5
"""Of each strategy."""
SHOWN_ROWS = 30
SHOWN_SETTINGS = 10
SETTING_CHARACTERS = 44
_QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "max": 1.0}


def simulated(costs: DataFrame) -> DataFrame:
    """Return the groups that something happens to."""
    return costs.where("error IS NULL AND (events > 0 OR rebalances > 0 OR paused_ms > 0)")


def paused_each() -> SparkColumn:
    """Return how long a partition of a group stands still, in the mean, in milliseconds."""
    return F.try_divide("paused_ms", "partitions")


def by_strategy(costs: DataFrame) -> DataFrame:
    """Sum up what each strategy costs, over the groups that something happens to."""
    sums = ("rebalances", "paused_ms", "moved", "moved_back", "evicted", "failed", "storms")
    return (
        costs.transform(simulated)
        .groupBy("strategy")
        .agg(
            F.count("*").alias("groups"),
            *[F.sum(name).alias(name) for name in sums],
            F.count_if(~F.col("settled")).alias("unsettled"),
            _quantiles(paused_each()).alias("paused"),
            _quantiles(F.col("settle_ms")).alias("settle"),
        )
        .orderBy("strategy")
    )


def _quantiles(figure: SparkColumn) -> SparkColumn:
    wanted = F.percentile(figure, list(_QUANTILES.values()))
    return F.struct(F.avg(figure).alias("mean"), *[wanted[place].alias(name) for place, name in enumerate(_QUANTILES)])


def costliest(costs: DataFrame) -> DataFrame:
    """Rank the groups of each strategy whose partitions stand still longest."""
    order = Window.partitionBy("strategy").orderBy(F.desc("paused_each"), "cluster", "group_id")
    ranked = costs.transform(simulated).withColumn("paused_each", paused_each())
    return ranked.withColumn("rank", F.row_number().over(order)).where(F.col("rank") <= SHOWN_GROUPS)


def problems(costs: DataFrame) -> DataFrame:
    """Count by kind what went wrong: groups that are not simulated, fail or do not settle; with the first of each."""
    found = F.coalesce(
        F.concat(F.lit("is not simulated: "), kind_of_reason("error")),
        F.concat(F.lit("fails: "), kind_of_reason("failure")),
        F.when(~F.col("settled"), F.lit("does not settle")),
    )
    return (
        costs.withColumn("kind", found)
        .where("kind IS NOT NULL")
        .groupBy("strategy", "kind")
        .agg(F.count("*").alias("groups"), F.min(F.struct("cluster", "group_id")).alias("first"))
        .orderBy(F.desc("groups"), "strategy", "kind")
    )


def reasons(rebalances: DataFrame) -> DataFrame:
    """Count rebalances by why they began, and say how long they take."""
    return (
        rebalances.groupBy("strategy", "reason")
        .agg(
            F.count("*").alias("rebalances"),
            F.avg(F.col("to_ms") - F.col("from_ms")).alias("mean_ms"),
            F.max(F.col("to_ms") - F.col("from_ms")).alias("longest_ms"),
            F.sum("paused_ms").alias("paused_ms"),
        )
        .orderBy("strategy", F.desc("rebalances"), "reason")
    )


def saved(advice: DataFrame) -> DataFrame:
    """Sum up what other settings would save."""
    return (
        advice.groupBy("strategy", "setting", "value")
        .agg(
            F.sum("paused_ms_saved").alias("paused_ms"),
            F.sum("rebalances_saved").alias("rebalances"),
            F.count_if("best").alias("best"),
        )
        .orderBy(F.desc("paused_ms"), "strategy", "setting", "value")
    )


def findings(run: FinishedRun, colours: StrategyColours) -> Findings:
    """Say what a run tells of costs."""
    if not run.rows(COSTS):
        return Findings()
    costs = run.table(COSTS)
    strategies = by_strategy(costs).collect()
    wrong = problems(costs).limit(SHOWN_ROWS).collect()
    blocks: list[Block] = []
    if strategies:
        counted_rebalances = counted(costs.transform(simulated), "strategy", F.col("rebalances"))
        rebalances = filled(counted_rebalances, colours)
        blocks += [_paused_chart(strategies, colours), _settle_chart(strategies, colours)]
        blocks += [_rebalances_chart(strategies, rebalances), _strategies_table(strategies)]
    blocks += _groups(costs, wrong)
    if run.rows(REBALANCES):
        rows = reasons(run.table(REBALANCES)).limit(SHOWN_ROWS).collect()
        spans = (Column("mean seconds", Kind.SECONDS), Column("longest", Kind.SECONDS))
        head = (STRATEGY, Column("why"), *counts("rebalances"), *spans, Column("partition-seconds", Kind.SECONDS))
        note = "From the beginning until the group is stable; partition-seconds are those that nobody consumed."
        blocks.append(Table("Why groups rebalance", head, tuple(tuple(row) for row in rows), note))
    if run.rows(ADVICE):
        blocks.append(_advice(saved(run.table(ADVICE)).limit(SHOWN_ROWS).collect(), colours))
    if run.rows(LAG_COSTS):
        blocks.append(_lag_table(run.table(LAG_COSTS)))
    return Findings(tuple(blocks), tuple(_checks(strategies, wrong)))


def _distributed(strategies: Sequence[Row], figure: str, colours: StrategyColours) -> list[dict[str, object]]:
    return [
        {"label": label(row["strategy"]), "colour": colours[row["strategy"]]}
        | {name: row[figure][name] / 1000 for name in _QUANTILES}
        for row in strategies
        if row[figure]["p50"] is not None
    ]


def _quantile_table(caption: str, strategies: Sequence[Row], figure: str) -> Table:
    titles = ("mean", "median", "90 %", "99 %", "most")
    head = (STRATEGY, *(Column(f"{title} s", Kind.SECONDS) for title in titles))
    shown = tuple((row["strategy"], *(row[figure][name] for name in ("mean", *_QUANTILES))) for row in strategies)
    return Table(caption, head, shown)


def _paused_chart(strategies: Sequence[Row], colours: StrategyColours) -> Chart:
    least = min(strategies, key=lambda row: (row["paused"]["mean"] or 0, row["strategy"]))
    title = f"A partition stands still for {seconds(least['paused']['mean'] or 0)} s by {label(least['strategy'])}"
    if len(strategies) > 1:
        most = max(strategies, key=lambda row: (row["paused"]["mean"] or 0, row["strategy"]))
        title += f", for {seconds(most['paused']['mean'] or 0)} s by {label(most['strategy'])}"
    return Chart(
        "costs-paused",
        f"{title}, in the mean",
        "How long a partition stands still, in the mean of its group: from the median group to the one that it costs "
        "most.",
        **both(quantiles(_distributed(strategies, "paused", colours), "seconds a partition stands still")),
        data=_quantile_table("Seconds a partition stands still, over the groups", strategies, "paused"),
    )


def _settle_chart(strategies: Sequence[Row], colours: StrategyColours) -> Chart:
    told = [row["settle"]["p50"] for row in strategies if row["settle"]["p50"] is not None]
    within = f"Half of the groups are settled within {seconds(min(told))} s" if told else "No group settles"
    if told and max(told) > min(told):
        within += f" to {seconds(max(told))} s, by strategy"
    return Chart(
        "costs-settle",
        within,
        "Time from the first event until a group is stable and every partition has an owner, for the last time. The "
        "time between the events counts, too.",
        **both(quantiles(_distributed(strategies, "settle", colours), "seconds until a group is settled")),
        data=_quantile_table("Seconds until a group is settled", strategies, "settle"),
    )


def _rebalances_chart(strategies: Sequence[Row], rows: list[dict[str, object]]) -> Chart:
    least, most = (of(strategies, key=lambda row: (row["rebalances"], row["strategy"])) for of in (min, max))
    title = f"{count(least['rebalances'])} rebalances by {label(least['strategy'])}"
    if most["rebalances"] > least["rebalances"]:
        title += f", {count(most['rebalances'])} by {label(most['strategy'])}"
    shown = tuple((row["panel"], row["bin"], row["value"]) for row in rows)
    return Chart(
        "costs-rebalances",
        title,
        "Groups by the number of their rebalances.",
        **both(histograms(rows, "rebalances of a group")),
        data=Table("Groups by rebalances", (STRATEGY, Column("rebalances"), *counts("groups")), shown),
    )


def _strategies_table(strategies: Sequence[Row]) -> Table:
    sums = ("rebalances", "moved", "moved_back", "evicted", "failed", "storms", "unsettled")
    titles = ("rebalances", "partitions moved", "of these back", "evicted members", "failed consumers", "storms")
    head = (
        STRATEGY,
        *counts("groups"),
        Column("partition-seconds", Kind.SECONDS),
        *counts(*titles, "groups not settled"),
    )
    shown = tuple(
        (row["strategy"], row["groups"], row["paused_ms"], *(row[name] for name in sums)) for row in strategies
    )
    return Table("Costs by strategy", head, shown, "Partition-seconds are those that nobody consumed.")


def _groups(costs: DataFrame, wrong: Sequence[Row]) -> Iterator[Table]:
    worst = costliest(costs).orderBy("strategy", "rank").collect()
    columns = ("strategy", "cluster", "group_id", "consumers", "partitions", "rebalances", "paused_each", "settle_ms")
    head = (
        STRATEGY,
        CLUSTER,
        GROUP,
        *counts("consumers", "partitions", "rebalances"),
        Column("seconds a partition", Kind.SECONDS),
        Column("settled after s", Kind.SECONDS),
    )
    if worst:
        caption = f"Groups whose partitions stand still longest, at most {SHOWN_GROUPS} of each strategy"
        yield Table(caption, head, tuple(tuple(row[name] for name in columns) for row in worst))
    if wrong:
        head = (STRATEGY, Column("what"), *counts("groups"), CLUSTER, Column("first group", Kind.NAME))
        shown = tuple((row["strategy"], row["kind"], row["groups"], *row["first"]) for row in wrong)
        yield Table("Groups that fail, do not settle or are not simulated", head, shown)


def _advice(rows: Sequence[Row], colours: StrategyColours) -> Chart | Table:
    """Draw what other settings would save; only tell it where none saves anything."""
    seconds_saved = Column("partition-seconds saved", Kind.SECONDS)
    head = (STRATEGY, Column("setting"), Column("value"), seconds_saved, *counts("rebalances saved", "best for groups"))
    note = "A negative number is what it would cost."
    data = Table("What other settings would save", head, tuple(tuple(row) for row in rows), note)
    saving = [row for row in rows if (row["paused_ms"] or 0) > 0][:SHOWN_SETTINGS]
    if not saving:
        return data
    settings = unique(cut(printable(f"{row['setting']}={row['value']}"), SETTING_CHARACTERS) for row in saving)
    drawn = [
        {
            "label": setting,
            "value": row["paused_ms"] / 1000,
            "text": f"{seconds(row['paused_ms'])} by {label(row['strategy'])}",
            "short": seconds(row["paused_ms"]),
            "colour": colours[row["strategy"]],
        }
        for setting, row in zip(settings, saving, strict=True)
    ]
    best = saving[0]
    return Chart(
        "costs-advice",
        f"{settings[0]} would save {seconds(best['paused_ms'])} partition-seconds by {label(best['strategy'])}",
        "Partition-seconds of standing still that another setting would save in the same scenario, where it saves any.",
        **both(bars(drawn, "partition-seconds saved")),
        data=data,
    )


def _lag_table(lag_costs: DataFrame) -> Table:
    columns = ("strategy", "cluster", "group_id", "lag", "paused_lag", "moved_lag", "max_paused_ms", "delay_ms")
    rows = lag_costs.where(F.col("rank") <= SHOWN_GROUPS).orderBy("strategy", "rank").collect()
    head = (
        STRATEGY,
        CLUSTER,
        GROUP,
        *counts("lag", "stands still", "moves"),
        Column("at the longest s", Kind.SECONDS),
        Column("later in the mean s", Kind.SECONDS),
    )
    caption = f"Where records wait longest, at most {SHOWN_GROUPS} groups of each strategy"
    return Table(caption, head, tuple(tuple(row[name] for name in columns) for row in rows))


def _checks(strategies: Sequence[Row], wrong: Sequence[Row]) -> Iterator[Check]:
    unsettled = max((row["unsettled"] for row in strategies), default=0)
    first = next((row for row in wrong if not row["kind"].startswith("is not simulated")), None)
    where = tuple(first["first"]) if first and unsettled else ()
    told = plural_of(unsettled, "group does", "groups do") + " not settle"
    yield Check(
        Level.WRONG if unsettled else Level.FINE,
        count(unsettled),
        told,
        NAME,
        where if unsettled else (),
        many=unsettled > 1,
    )
    for name, one, several in (
        ("failed", "consumer ends by an error", "consumers end by an error"),
        ("storms", "storm of rebalances", "storms of rebalances"),
        ("evicted", "member is evicted", "members are evicted"),
    ):
        most = max(strategies, key=lambda row: row[name], default=None)
        if most is not None and most[name]:
            level = Level.WRONG if name == "failed" else Level.LOOK
            told = f"{plural_of(most[name], one, several)}, by {label(most['strategy'])}"
            yield Check(level, count(most[name]), told, NAME)
    left_out = sum(row["groups"] for row in wrong if row["kind"].startswith("is not simulated"))
    if left_out:
        told = plural_of(left_out, "group is", "groups are") + " not simulated"
        yield Check(Level.LOOK, count(left_out), told, NAME)
    if strategies:
        most = max(strategies, key=lambda row: (row["paused"]["mean"] or 0, row["strategy"]))
        told = f"a partition stands still in the mean, by {label(most['strategy'])}"
        yield Check(Level.FINE, f"{seconds(most['paused']['mean'] or 0)} s", told, NAME)
