"""What ``simulate`` prints at the end of a run."""

from collections.abc import Iterable, Mapping
from typing import Any

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from rebalance_sim.commands.console import Cells, Line, Table, shown_number, shown_seconds
from rebalance_sim.engine.groups.prediction import ELECTED
from rebalance_sim.engine.simulation.advice import saved_over_ranges
from rebalance_sim.engine.simulation.cost_totals import costs_in
from rebalance_sim.engine.simulation.variations import WHY_MORE_DOWNTIME
from rebalance_sim.engine.tables.percentiles import p99, p99_of_counted
from rebalance_sim.kafka.simulation.latencies import RANGES
from rebalance_sim.tables import LAG_COSTS
from rebalance_sim.wording import plural

SHOWN_LATE_GROUPS = 3
"""Groups of each strategy that are printed, those with the longest delays first."""
_NAMES = {"group.instance.id": "static membership", "group.protocol": "consumer protocol (KIP-848)"}
"""Settings of the advice whose values are not worth printing."""
_WIDTH = len("partition downtime") + 4
_DOWNTIME_MS = "try_divide(unowned_ms, partitions)"


def summarise_costs(totals: DataFrame) -> list[Line]:
    """Return the costs of each strategy from rows of ``TOTALS``; groups that no event affects are only counted."""
    rows = costs_in(totals)
    named = _named(row["strategy"] for row in rows)
    return [line for row in rows for line in _lines_of(row, f"{row['strategy']}: " if named else "")]


def _delays(costs: DataFrame) -> DataFrame:
    """Return, by strategy, how many records have each delay: the sums of what the groups' lists have."""
    return (
        costs.select("strategy", F.inline("delays"))
        .groupBy("strategy", "unowned_ms")
        .agg(F.try_sum("records").alias("records"))
        .groupBy("strategy")
        .agg(F.collect_list(F.struct("unowned_ms", "records")).alias("delays"))
    )


def _named(strategies: Iterable[str]) -> bool:
    """Return whether lines name their strategy: it goes without saying where groups use the assignors they elect."""
    return set(strategies) != {ELECTED}


def _lines_of(row: Mapping[str, Any], prefix: str) -> list[str]:
    groups = plural(row["groups"], "group")
    if not row["affected"]:
        them = "it" if row["groups"] == 1 else "them"
        return [f"{prefix}no event affects {groups}; the figures do not include {them}"]
    lines = [f"{prefix}{groups}, {_rebalances(row)}"]
    if row["not_simulated"] < row["groups"]:
        back = f", {row['moved_back']:,} of them back to the previous owner" if row["moved_back"] else ""
        lines += [
            _labelled("partition downtime", "   ".join(_spread(row))),
            _labelled("time to stable", _time_to_stable(row)),
            _labelled("partition moves", f"{row['moved'] or 0:,}{back}"),
        ]
    for name, label in (("evicted", "evicted members"), ("storms", "rebalance storms")):
        lines += [_labelled(label, f"{row[name]:,}")] if row[name] else []
    if row["failing"]:
        first = row["first_failing"]
        consumers = f" ({plural(row['failed'], 'failed consumer')})" if row["failed"] else ""
        lines.append(
            f"  error: the rollout fails in {plural(row['failing'], 'group')}{consumers}, "
            f"first in group {first['group_id']}: {first['failure']}"
        )
    if row["not_simulated"]:
        count = row["not_simulated"]
        lines.append(f"  {plural(count, 'group')} cannot be simulated (see column error of costs)")
    return lines


def _rebalances(row: Row | Mapping[str, Any]) -> str:
    """Return the number of rebalances, and that of the epochs of share groups and streams groups, which are none.

    >>> _rebalances({"rebalances": 5, "epochs": 2}), _rebalances({"rebalances": 0, "epochs": 0})
    ('3 rebalances, 2 epochs of share or streams groups', '0 epochs')
    >>> _rebalances({"rebalances": 0, "epochs": None})
    '0 rebalances'
    """
    epochs, rebalances = row["epochs"], row["rebalances"] or 0
    if epochs is None:
        return plural(rebalances, "rebalance")
    others = rebalances - epochs
    counted = plural(epochs, "epoch")
    return f"{plural(others, 'rebalance')}, {counted} of share or streams groups" if others else counted


def _labelled(label: str, figures: str) -> str:
    return f"  {label:{_WIDTH}}{figures}"


def _spread(row: Row | Mapping[str, Any]) -> list[str]:
    return [f"{name} {shown_seconds(row[f'{name}_ms'] or 0)}" for name in ("mean", "p99", "max")]


def _time_to_stable(row: Mapping[str, Any]) -> str:
    simulated, unstable, failing = row["groups"] - row["not_simulated"], row["unstable"], row["failing"]
    if unstable == simulated:
        return "no group becomes stable"
    if failing == simulated:
        return "the rollout fails" if simulated == 1 else f"the rollout fails in all {simulated:,} groups"
    median = "" if row["stable_ms"] is None else f"median {shown_seconds(row['stable_ms'])}, "
    if unstable or failing:
        other = plural(simulated, "group")
        parts = [f"{unstable:,} of {other} do not become stable"] if unstable else []
        parts += [f"the rollout fails in {failing:,} of {other}"] if failing else []
        return median + ", ".join(parts)
    return median + ("the group becomes stable" if simulated == 1 else f"all {simulated:,} groups become stable")


def summarise_bounces(bounces: DataFrame) -> list[str]:
    """Return the costs of each bounce, if the scenario has several."""
    if bounces.where("bounce > 1").isEmpty():
        return []
    rows = (
        bounces.groupBy("strategy", "bounce")
        .agg(
            F.expr("count(*) AS groups"),
            F.expr("sum(rebalances) AS rebalances"),
            F.expr("sum(epochs) AS epochs"),
            F.expr("sum(moved) AS moved"),
            F.expr(f"avg({_DOWNTIME_MS}) AS mean_ms"),
            p99(_DOWNTIME_MS).alias("p99_ms"),
            F.expr(f"max({_DOWNTIME_MS}) AS max_ms"),
            F.expr("count_if(to_ms IS NULL) AS unfinished"),
        )
        .orderBy("strategy", "bounce")
        .collect()
    )
    named = _named(row["strategy"] for row in rows)
    return ["", "bounces, one after the other", *(_bounce(row, named) for row in rows)]


def _bounce(row: Row, named: bool) -> str:
    unfinished = f"; not over in {plural(row['unfinished'], 'group')}" if row["unfinished"] else ""
    return (
        f"  {row['strategy'] + ', ' if named else ''}bounce {row['bounce']}: {plural(row['groups'], 'group')}, "
        f"{_rebalances(row)}, {plural(row['moved'] or 0, 'partition move')}, "
        f"downtime per partition of a group: {', '.join(_spread(row))}{unfinished}"
    )


def summarise_advice(advice: DataFrame, timed: bool = False) -> list[str]:
    """Return what other settings would change, those that save most downtime first.

    ``timed`` says whether the past of groups may have shortened the ranges of latencies.
    """
    totals = advice.transform(saved_over_ranges)
    rows = totals.orderBy("strategy", F.desc("saved"), "setting", "value").collect()
    if not rows:
        return []
    named = _named(row["strategy"] for row in rows)
    ends = f"{RANGES} ms{', or as long as --timings show' if timed else ''}"
    explained = f"  in parentheses: the least and the most if one assumed latency is longer ({ends})"
    ranges = [explained] if any(row["least"] is not None for row in rows) else []
    losing = dict.fromkeys(row["setting"] for row in rows if (row["saved"] or 0) < 0)
    return [
        "",
        "advice: the same scenario with one setting changed",
        *(f"  {_advice(row, named)}" for row in rows),
        *ranges,
        *(f"  {WHY_MORE_DOWNTIME[setting]}" for setting in losing),
    ]


def _advice(row: Row, named: bool) -> str:
    setting = _NAMES.get(row["setting"], f"{row['setting']}={row['value']}")
    fewer = row["rebalances"] or 0
    rebalances = f"{plural(abs(fewer), 'rebalance')}".replace(" ", " fewer " if fewer > 0 else " more ")
    over_range = "" if row["least"] is None else f" ({_saved(row['least'])} to {_saved(row['most'])})"
    return (
        f"{row['strategy'] + ', ' if named else ''}{setting}: {rebalances if fewer else 'as many rebalances'}, "
        f"{_saved(row['saved'] or 0)} partition downtime{over_range}; best choice for "
        f"{plural(row['best'] or 0, 'group')}"
        f"{'; error: the rollout fails in ' + plural(row['failing'], 'group') if row['failing'] else ''}"
    )


def _saved(milliseconds: int) -> str:
    """Return saved downtime, before the noun.

    >>> _saved(2000), _saved(-1500), _saved(0)
    ('2 s less', '2 s more', 'as much')
    """
    seconds = round(abs(milliseconds) / 1000)
    return f"{seconds:,} s {'less' if milliseconds > 0 else 'more'}" if seconds else "as much"


def summarise_lag_costs(costs: DataFrame) -> list[Line]:
    """Return how much lag waits in unowned partitions or moves, by strategy, and the groups with the longest delays."""
    figures = ("lag", "unowned_lag", "moved_lag", "unowned_record_ms")
    sums = [F.try_sum(name).alias(name) for name in figures]
    by_strategy = (
        costs.groupBy("strategy")
        .agg(F.count("*").alias("groups"), F.max("max_unowned_ms").alias("max_ms"), *sums)
        .join(costs.transform(_delays), "strategy", "left")
        .withColumn("p99_ms", p99_of_counted("delays", "unowned_ms", "records", "lag"))
        .orderBy("strategy")
        .collect()
    )
    if not by_strategy:
        return ["", "lag: no partition with lag becomes unowned or moves"]
    named = _named(row["strategy"] for row in by_strategy)
    lines = [
        f"lag{' (' + row['strategy'] + ')' if named else ''}: {shown_number(row['lag'])} records in "
        f"{plural(row['groups'], 'group')}; {shown_number(row['unowned_lag'])} in partitions that become unowned, "
        f"{shown_number(row['moved_lag'])} in partitions that move; "
        f"delay mean {_delay(row['unowned_record_ms'], row['lag'])}, p99 {_delay(row['p99_ms'], 1)}, "
        f"max {_delay(row['max_ms'], 1)}"
        for row in by_strategy
    ]
    worst = costs.where(F.col("rank") <= SHOWN_LATE_GROUPS).orderBy("strategy", "rank").collect()
    header = ("strategy", "group", "lag", "unowned lag", "moved lag", "mean delay", "p99 delay", "max delay")
    cells: Cells = {
        "group": "group_id",
        "mean delay": lambda row: _delay(row["unowned_record_ms"], row["lag"]),
        "p99 delay": lambda row: _delay(row["p99_delay_ms"], 1),
        "max delay": lambda row: _delay(row["max_unowned_ms"], 1),
    }
    table = Table.of_rows(header, worst, cells)
    return ["", *lines, f"groups with the longest delays (all groups in {LAG_COSTS.name})", table]


def _delay(milliseconds: int | None, records: int | None) -> str:
    return "-" if milliseconds is None or not records else shown_seconds(milliseconds / records)
