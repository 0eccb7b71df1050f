"""What ``history`` predicts of the past: how often that was right, and what would have prevented rebalances."""

from collections.abc import Iterator, Mapping, Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rebalance_sim.api.history import BASES, backtest, prevention, score
from rebalance_sim.commands.console import Line, Table, one_line
from rebalance_sim.engine.history.backtest import AS_JOINED, DIFFERS, GENERATION_BEFORE, KNOWN
from rebalance_sim.engine.runs.run import Run
from rebalance_sim.engine.tables.inputs import union
from rebalance_sim.kafka.assignors.consumer_partition_assignor import ConsumerPartitionAssignor
from rebalance_sim.kafka.brokers import Clusters
from rebalance_sim.tables import BACKTEST, GENERATION_MEMBERS, GENERATIONS, PREVENTION, SCORE
from rebalance_sim.wording import plural

_MISSES = 5
"""Generations that are printed of those that were predicted wrongly; all are in ``backtest``."""
_FROM = {AS_JOINED: "predicted from what members sent", GENERATION_BEFORE: "predicted from the generation before"}
_COUNTS = ("generations", "equal", "differs", "not_predictable", "within_bounds", "outside_bounds", "inputs_incomplete")


def write_predictions(
    run: Run,
    tables: Mapping[str, DataFrame],
    topics: DataFrame | None,
    clusters: Clusters,
    assignors: Sequence[ConsumerPartitionAssignor],
) -> dict[str, DataFrame]:
    """Write and return ``backtest``, ``score`` and ``prevention``, from the generations that the run has written."""
    members = tables[GENERATION_MEMBERS.name]
    run.report_progress("predicting past generations")
    tested = run.write(
        BACKTEST.name, union([members.transform(backtest(topics, clusters, assignors, basis)) for basis in BASES])
    )
    scored = run.write(SCORE.name, tested.transform(score))
    run.report_progress("simulating the past under other settings")
    prevented = run.write(PREVENTION.name, members.transform(prevention(tables[GENERATIONS.name], clusters)))
    return {BACKTEST.name: tested, SCORE.name: scored, PREVENTION.name: prevented}


def summarise_predictions(tables: Mapping[str, DataFrame]) -> list[Line]:
    """Return how often predictions were right, the first that were wrong, and what would have prevented rebalances."""
    return [*_scores(tables[SCORE.name]), *_misses(tables[BACKTEST.name]), *_prevented(tables[PREVENTION.name])]


def _scores(scored: DataFrame) -> Iterator[Line]:
    sums = [F.sum(name).alias(name) for name in _COUNTS]
    known = F.sum(F.when(F.col("partition_counts") == KNOWN, F.col("equal")).otherwise(0)).alias("known")
    rows = {row["basis"]: row for row in scored.groupBy("basis").agg(*sums, known).collect()}
    for basis, text in _FROM.items():
        if basis not in rows:
            continue
        row = rows[basis]
        predicted = row["equal"] + row["differs"]
        yield (
            f"{text}: {row['equal']:,} of {plural(predicted, 'generation')} as assigned, {row['differs']:,} otherwise; "
            f"{row['known']:,} of the equal ones without a look at the answer"
        )
        if row["not_predictable"]:
            bounds = f"{row['within_bounds']:,} within bounds, {row['outside_bounds']:,} outside"
            yield f"  {row['not_predictable']:,} cannot be predicted ({bounds})"
        if row["inputs_incomplete"]:
            yield f"  {row['inputs_incomplete']:,} lack an input that decides (see reason in backtest)"


def _misses(tested: DataFrame) -> list[Line]:
    wrong = tested.where((F.col("result") == DIFFERS) & (F.col("basis") == AS_JOINED))
    order = ("cluster", "group_id", "recreated", "generation")
    rows = wrong.orderBy(*order).limit(_MISSES).collect()
    if not rows:
        return []
    header = ("group", "generation", "rules", "members", "partitions", "differing")
    cells = [
        (one_line(row["group_id"]), row["generation"], row["strategy"], *(row[name] for name in header[3:]))
        for row in rows
    ]
    return [
        "",
        "assigned otherwise than predicted:",
        Table.of_clusters(header, cells, [row["cluster"] for row in rows]),
    ]


def _prevented(prevented: DataFrame) -> list[Line]:
    """Return the sums over the groups that can make each change, and that it would have saved rebalances."""
    saves = prevented.where("possible AND rebalances_saved > 0 AND failing = 0")
    sums = [F.sum(name).alias(name) for name in ("rebalances_saved", "rebalances", "unowned_ms_saved")]
    rows = saves.groupBy("setting", "value").agg(F.count("*").alias("groups"), *sums)
    order = (F.desc("rebalances_saved"), "setting", "value")
    cells = [
        (
            f"{row['setting']}={row['value']}",
            row["groups"],
            row["rebalances_saved"],
            row["rebalances"],
            round(row["unowned_ms_saved"] / 1000),
        )
        for row in rows.orderBy(*order).collect()
    ]
    if not cells:
        return []
    header = ("setting", "groups", "rebalances saved", "of", "downtime saved, partition-seconds")
    return [
        "",
        "what would have prevented rebalances, simulated with the members that came and went:",
        Table(header, cells),
    ]
