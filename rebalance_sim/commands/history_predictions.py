"""What ``history`` predicts of the past: how often that was right, and what would have prevented rebalances."""

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rebalance_sim.api.history import BASES, backtest, prevention, score
from rebalance_sim.commands.console import Line, Table, one_line
from rebalance_sim.engine.history.backtest import AS_JOINED, DIFFERS, GENERATION_BEFORE, KNOWN
from rebalance_sim.engine.runs.run import Run
from rebalance_sim.engine.simulation.variations import WHY_MORE_DOWNTIME
from rebalance_sim.engine.tables.inputs import union
from rebalance_sim.kafka.assignors.consumer_partition_assignor import ConsumerPartitionAssignor
from rebalance_sim.kafka.brokers import Clusters
from rebalance_sim.tables import BACKTEST, GENERATION_MEMBERS, GENERATIONS, PREVENTION, SCORE

_MISSES = 5
"""Generations that are printed of those that were predicted wrongly; all are in ``backtest``."""
_FROM = {AS_JOINED: "what the members sent", GENERATION_BEFORE: "the generation before"}
_COUNTS = ("generations", "equal", "differs", "not_predictable", "outside_bounds", "inputs_incomplete")


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


def _scores(scored: DataFrame) -> list[Line]:
    """Return a row for each basis; ``known`` are equal ones of which other generations show all partition counts."""
    sums = [F.sum(name).alias(name) for name in _COUNTS]
    known = F.sum(F.when(F.col("partition_counts") == KNOWN, F.col("equal")).otherwise(0)).alias("known")
    rows = {row["basis"]: row for row in scored.groupBy("basis").agg(*sums, known).collect()}
    names = (*_COUNTS, "known")
    cells = [(text, *(rows[basis][name] for name in names)) for basis, text in _FROM.items() if basis in rows]
    if not cells:
        return []
    header = (
        *("predicted from", "generations", "as assigned", "otherwise", "not predictable", "outside bounds"),
        *("incomplete", "counts known"),
    )
    return ["", "what would have been predicted:", Table(header, cells)]


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
    found = rows.orderBy(*order).collect()
    cells = [
        (
            f"{row['setting']}={row['value']}",
            row["groups"],
            row["rebalances_saved"],
            row["rebalances"],
            round(row["unowned_ms_saved"] / 1000),
        )
        for row in found
    ]
    if not cells:
        return []
    header = ("setting", "groups", "rebalances saved", "of", "downtime saved, partition-seconds")
    more = dict.fromkeys(row["setting"] for row in found if row["unowned_ms_saved"] < 0)
    return [
        "",
        "what would have prevented rebalances, simulated with the members that came and went:",
        Table(header, cells),
        *(
            f"{setting} costs downtime: {WHY_MORE_DOWNTIME[setting]}"
            for setting in more
            if setting in WHY_MORE_DOWNTIME
        ),
    ]
