"""The section about simulations: their costs by strategy, and what other settings would save."""

from collections.abc import Iterator, Sequence

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from rebalance_sim.engine.runs.finished_runs import FinishedRun
from rebalance_sim.engine.simulation.advice import saved_over_ranges
from rebalance_sim.engine.simulation.variations import WHY_MORE_DOWNTIME
from rebalance_sim.engine.tables.inputs import kind_of_reason
from rebalance_sim.engine.tables.percentiles import p99, percentiles
from rebalance_sim.kafka.simulation.latencies import LATENCIES, RANGES, Latency
from rebalance_sim.report.bins import bins_table, counted, filled
from rebalance_sim.report.charts import QUANTILES, bars, both, histograms, quantiles
from rebalance_sim.report.colours import StrategyColours
from rebalance_sim.report.groups import check_of, groups_table, highest, problems_by_kind, problems_table, shown_groups
from rebalance_sim.report.page import MANY_GROUPS, CellType, Chart, Check, Column, Level, RunResults, Table, columns
from rebalance_sim.report.text import count, cut, label, printable, seconds
from rebalance_sim.tables import ADVICE, BOUNCES, COSTS, LAG_COSTS, REBALANCES, VERDICTS
from rebalance_sim.wording import plural, plural_of

NAME, SAVINGS = "costs", "savings"
SHOWN_ROWS = 30
SHOWN_SETTINGS = 10
SETTING_CHARACTERS = 44
_PARTITION_SECONDS = ("partition-seconds", "unowned_ms")
_MOVES, _FAILED = ("partition moves", "moved"), ("failed consumers", "failed")
_UNOWNED_EACH = "try_divide(unowned_ms, partitions)"
"""The mean downtime per partition of a group, in milliseconds."""
_FAILS = "coalesce(failed > 0 OR NOT finished, false)"
"""Whether the rollout of a group fails: a consumer fails, or the rollout does not finish."""


def simulated(costs: DataFrame) -> DataFrame:
    """Return the groups that are affected by the scenario."""
    return costs.where("error IS NULL AND (events > 0 OR rebalances > 0 OR unowned_ms > 0)")


def by_strategy(costs: DataFrame) -> DataFrame:
    """Aggregate the costs of each strategy over the affected groups."""
    sums = ("rebalances", "unowned_ms", "moved", "moved_back", "evicted", "failed", "storms")
    return (
        costs.transform(simulated)
        .groupBy("strategy")
        .agg(
            F.count("*").alias("groups"),
            *[F.sum(name).alias(name) for name in sums],
            F.count_if(F.expr(_FAILS)).alias("failing"),
            F.count_if(~F.col("stable")).alias("unstable"),
            _quantiles(_UNOWNED_EACH).alias("unowned_each_ms"),
            _quantiles(f"IF({_FAILS}, NULL, stable_ms)").alias("stable_ms"),
        )
        .orderBy("strategy")
    )


def _quantiles(figure: str) -> SparkColumn:
    value = F.expr(figure)
    return percentiles(figure).withField("mean", F.avg(value)).withField("max", F.max(value).cast("double"))


def costliest(costs: DataFrame) -> DataFrame:
    """Rank the groups of each strategy by mean downtime per partition."""
    return highest(costs.transform(simulated).withColumn("unowned_each_ms", F.expr(_UNOWNED_EACH)), "unowned_each_ms")


def problems(costs: DataFrame) -> DataFrame:
    """Count groups that are not simulated, fail or do not become stable, by reason, each with its first group."""
    found = F.coalesce(
        F.concat(F.lit("not simulated: "), kind_of_reason("error")),
        F.concat(F.lit("failed: "), kind_of_reason("failure")),
        F.when(~F.col("stable"), F.lit("not stable")),
    )
    return problems_by_kind(costs.withColumn("kind", found).where("kind IS NOT NULL"), "strategy")


def reasons(rebalances: DataFrame) -> DataFrame:
    """Count rebalances by reason, with their duration."""
    return (
        rebalances.groupBy("strategy", "reason")
        .agg(
            F.count("*").alias("rebalances"),
            F.avg(F.col("to_ms") - F.col("from_ms")).alias("mean_ms"),
            p99("to_ms - from_ms").alias("p99_ms"),
            F.max(F.col("to_ms") - F.col("from_ms")).alias("longest_ms"),
            F.sum("unowned_ms").alias("unowned_ms"),
        )
        .orderBy("strategy", F.desc("rebalances"), "reason")
    )


def results(run: FinishedRun, colours: StrategyColours) -> RunResults:
    """Return the blocks and checks of one run."""
    if not run.rows(COSTS):
        return RunResults()
    costs = run.table(COSTS)
    strategies = by_strategy(costs).collect()
    found = problems(costs).limit(SHOWN_ROWS).collect()
    blocks: list[Chart | Table] = []
    if strategies:
        blocks.append(_strategies_table(strategies))
    if max((row["groups"] for row in strategies), default=0) >= MANY_GROUPS:
        counted_rebalances = counted(costs.transform(simulated), "strategy", F.col("rebalances"))
        rebalances = filled(counted_rebalances, colours)
        blocks += [_unowned_chart(strategies, colours), _stable_chart(strategies, colours)]
        blocks.append(_rebalances_chart(strategies, rebalances))
    blocks += _groups(costs, found)
    if run.rows(REBALANCES):
        rows = reasons(run.table(REBALANCES)).limit(SHOWN_ROWS).collect()
        durations = (("mean s", "mean_ms"), ("p99 s", "p99_ms"), ("max s", "longest_ms"))
        head = columns("strategy", "reason", "rebalances", *durations, _PARTITION_SECONDS)
        note = "Durations are from the start until the group is stable. Partition-seconds are those without an owner."
        blocks.append(Table.of("Rebalances by reason", head, rows, note))
    if run.rows(BOUNCES):
        blocks += _bounces(run.table(BOUNCES))
    if run.rows(LAG_COSTS):
        blocks.append(_lag_table(run.table(LAG_COSTS)))
    return RunResults(tuple(blocks), tuple(_checks(strategies, found)))


def savings(run: FinishedRun, colours: StrategyColours) -> RunResults:
    """Return what other settings would save over all groups."""
    if not run.rows(ADVICE):
        return RunResults()
    totals = run.table(ADVICE).transform(saved_over_ranges)
    rows = totals.orderBy(F.desc("saved"), "strategy", "setting", "value").limit(SHOWN_ROWS).collect()
    return RunResults((_advice(rows, colours), *(_turning_points(run) if run.rows(VERDICTS) else ())))


def _distributed(strategies: Sequence[Row], figure: str, colours: StrategyColours) -> list[dict[str, object]]:
    return [
        {"label": label(row["strategy"]), "colour": colours[row["strategy"]]}
        | {name: row[figure][name] / 1000 for name in QUANTILES.values()}
        for row in strategies
        if row[figure]["p50"] is not None
    ]


def _quantile_table(caption: str, strategies: Sequence[Row], figure: str) -> Table:
    fields = {"mean": "mean"} | QUANTILES
    head = columns("strategy", *((f"{title} s", f"{figure}.{name}") for title, name in fields.items()))
    return Table.of(caption, head, strategies)


def _downtime_ms(row: Row) -> float:
    return row["unowned_each_ms"]["mean"] or 0


def _unowned_chart(strategies: Sequence[Row], colours: StrategyColours) -> Chart:
    least, most = (of(strategies, key=lambda row: (_downtime_ms(row), row["strategy"])) for of in (min, max))
    title = f"Mean downtime per partition: {seconds(_downtime_ms(least))} s with {label(least['strategy'])}"
    if len(strategies) > 1:
        title += f", {seconds(_downtime_ms(most))} s with {label(most['strategy'])}"
    return Chart(
        "costs-unowned",
        title,
        "Mean time a partition of a group is without an owner: from the median group to the worst.",
        **both(quantiles, _distributed(strategies, "unowned_each_ms", colours), "mean downtime per partition, seconds"),
        data=_quantile_table("Mean downtime per partition, over the groups", strategies, "unowned_each_ms"),
    )


def _stable_chart(strategies: Sequence[Row], colours: StrategyColours) -> Chart:
    medians = [row["stable_ms"]["p50"] for row in strategies if row["stable_ms"]["p50"] is not None]
    title = f"Median time to stable: {seconds(min(medians))} s" if medians else "No group becomes stable"
    if medians and max(medians) > min(medians):
        title += f" to {seconds(max(medians))} s, depending on the strategy"
    return Chart(
        "costs-stable",
        title,
        "Time from the first event until a group is and stays stable, and every partition has an owner. It includes "
        "the time between events.",
        **both(quantiles, _distributed(strategies, "stable_ms", colours), "time to stable, seconds"),
        data=_quantile_table("Time to stable, over the groups", strategies, "stable_ms"),
    )


def _rebalances_chart(strategies: Sequence[Row], rows: list[dict[str, object]]) -> Chart:
    least, most = (of(strategies, key=lambda row: (row["rebalances"], row["strategy"])) for of in (min, max))
    title = f"{plural(least['rebalances'], 'rebalance')} with {label(least['strategy'])}"
    if most["rebalances"] > least["rebalances"]:
        title += f", {count(most['rebalances'])} with {label(most['strategy'])}"
    return Chart(
        "costs-rebalances",
        title,
        "Groups by number of rebalances.",
        **both(histograms, rows, "rebalances per group"),
        data=bins_table("Groups by rebalances", "rebalances", "groups", rows),
    )


def _strategies_table(strategies: Sequence[Row]) -> Table:
    head = columns(
        *("strategy", "groups", ("mean downtime per partition s", "unowned_each_ms.mean")),
        *(("median time to stable s", "stable_ms.p50"), _PARTITION_SECONDS, "rebalances", _MOVES),
        *(("moves back", "moved_back"), ("evicted members", "evicted"), _FAILED, ("failed rollouts", "failing")),
        *("storms", ("unstable groups", "unstable")),
    )
    return Table.of("Costs by strategy", head, strategies, "Partition-seconds are those without an owner.")


def _groups(costs: DataFrame, found: Sequence[Row]) -> Iterator[Table]:
    worst = shown_groups(costliest(costs))
    if worst:
        times = (("downtime per partition s", "unowned_each_ms"), ("time to stable s", "stable_ms"))
        figures = ("consumers", "partitions", "rebalances", *times)
        yield groups_table("Groups with the longest downtime per partition", worst, *figures)
    if found:
        caption = "Groups that fail, do not become stable or are not simulated"
        yield problems_table(caption, ("problem", "groups"), found, "strategy")


def bounces(rows: DataFrame) -> DataFrame:
    """Aggregate the costs of each bounce over the groups."""
    return (
        rows.groupBy("strategy", "bounce")
        .agg(
            F.count("*").alias("groups"),
            *[F.sum(name).alias(name) for name in ("rebalances", "unowned_ms", "moved", "failed")],
            F.count_if(F.col("to_ms").isNull()).alias("unfinished"),
        )
        .orderBy("strategy", "bounce")
    )


def _bounces(rows: DataFrame) -> Iterator[Table]:
    """Yield the costs of each bounce if there are several."""
    found = bounces(rows).limit(SHOWN_ROWS).collect()
    if any(row["bounce"] > 1 for row in found):
        sums = ("rebalances", _MOVES, _FAILED, ("not over", "unfinished"))
        head = columns("strategy", "bounce", "groups", _PARTITION_SECONDS, *sums)
        note = "A bounce begins when the one before is over. Partition-seconds are those without an owner."
        yield Table.of("Costs by bounce", head, found, note)


def _advice(rows: Sequence[Row], colours: StrategyColours) -> Chart | Table:
    """Return a chart of what other settings would save, or only a table if none saves anything."""
    of = {
        "partition-seconds saved": "saved",
        "worst case over the ranges": "least",
        "best case over the ranges": "most",
    }
    saved = columns(*of.items(), of=CellType.SECONDS)
    others = (("rebalances saved", "rebalances"), ("best for groups", "best"))
    head = columns("strategy", "setting", "value", *saved, *others)
    losing = dict.fromkeys(row["setting"] for row in rows if (row["saved"] or 0) < 0)
    note = " ".join(["A negative number is a loss.", *(WHY_MORE_DOWNTIME[setting] for setting in losing)])
    data = Table.of("What other settings would save", head, rows, note)
    saving = [row for row in rows if (row["saved"] or 0) > 0][:SHOWN_SETTINGS]
    if not saving:
        return data
    settings = [cut(printable(f"{row['setting']}={row['value']}"), SETTING_CHARACTERS) for row in saving]
    several = len({row["strategy"] for row in saving}) > 1
    strategies = [f" with {label(row['strategy'])}" if several else "" for row in saving]
    drawn = [
        {
            "label": setting,
            "value": row["saved"] / 1000,
            "text": f"{seconds(row['saved'])}{strategy}",
            "short": seconds(row["saved"]),
            "colour": colours[row["strategy"]],
        }
        for setting, strategy, row in zip(settings, strategies, saving, strict=True)
    ]
    return Chart(
        "costs-advice",
        f"{settings[0]} would save {seconds(saving[0]['saved'])} partition-seconds{strategies[0]}",
        "Partition-seconds of downtime that other settings would save in the same scenario, if they save any.",
        **both(bars, drawn, "partition-seconds saved"),
        data=data,
    )


def _turning_points(run: FinishedRun) -> Iterator[Table]:
    """Yield how many groups have each best setting, and for how many that depends on an assumed latency."""
    turns = {latency.setting: F.col("rollout_turns").getItem(latency.setting) for latency in LATENCIES}
    contains = {name: F.map_contains_key("rollout_turns", name) for name in turns}
    rows = (
        run.table(VERDICTS)
        .where("rollout_turns IS NOT NULL")
        .groupBy("rollout_setting")
        .agg(
            F.count("*").alias("groups"),
            F.count_if(F.size("rollout_turns") == 0).alias("holds"),
            *(F.count_if(contains[name]).alias(name) for name in turns),
            *(F.median(at_ms).cast("long").alias(f"{name}_median") for name, at_ms in turns.items()),
        )
        .orderBy(F.desc("groups"), "rollout_setting")
        .collect()
    )
    if not rows:
        return
    best, holds = ("best with the assumed latencies", "rollout_setting"), ("holds over each range", "holds")
    head = columns(best, "groups", holds, *(column for latency in LATENCIES for column in _of_latency(latency)))
    shorter = ", or as long as --timings show" if run.record["options"].get("timings") else ""
    note = f"One latency at a time is longer: {RANGES} ms{shorter}. The findings of a group name what is best then."
    named = [row.asDict() | {"rollout_setting": row["rollout_setting"] or "keep the settings"} for row in rows]
    yield Table.of("Best settings, and the latencies on which they depend", head, named, note)


def _of_latency(latency: Latency) -> Iterator[Column]:
    yield Column(f"depend on {latency.setting}", CellType.COUNT, latency.setting)
    if not latency.other_phase:
        yield Column(f"turning point of {latency.setting}, median s", CellType.SECONDS, f"{latency.setting}_median")


def _lag_table(lag_costs: DataFrame) -> Table:
    delays = (("mean delay s", "delay_ms"), ("p99 delay s", "p99_delay_ms"), ("max delay s", "max_unowned_ms"))
    figures = ("lag", "unowned lag", "moved lag", *delays)
    return groups_table("Groups whose records are delayed most", shown_groups(lag_costs), *figures)


def _checks(strategies: Sequence[Row], found: Sequence[Row]) -> Iterator[Check]:
    unstable = max((row["unstable"] for row in strategies), default=0)
    first = next((row for row in found if not row["kind"].startswith("not simulated")), None)
    what = plural_of(unstable, "group does", "groups do") + " not become stable"
    yield check_of(Level.ERROR, unstable, what, NAME, first if unstable else None)
    for name, one, several in (
        ("failing", "group whose rollout fails", "groups whose rollout fails"),
        ("failed", "consumer stops with an error", "consumers stop with an error"),
        ("storms", "rebalance storm", "rebalance storms"),
        ("evicted", "evicted member", "evicted members"),
    ):
        most = max(strategies, key=lambda row: row[name], default=None)
        if most is not None and most[name]:
            level = Level.ERROR if name in ("failed", "failing") else Level.WARNING
            what = f"{plural_of(most[name], one, several)} ({label(most['strategy'])})"
            yield Check(level, count(most[name]), what, NAME)
    left_out = sum(row["times"] for row in found if row["kind"].startswith("not simulated"))
    if left_out:
        yield Check(Level.WARNING, count(left_out), plural_of(left_out, "group") + " not simulated", NAME)
    if strategies:
        most = max(strategies, key=lambda row: (_downtime_ms(row), row["strategy"]))
        what = f"mean downtime per partition ({label(most['strategy'])})"
        yield Check(Level.OK, f"{seconds(_downtime_ms(most))} s", what, NAME)
