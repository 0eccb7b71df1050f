"""What ``history`` predicts of the past: how often that was right, and what would have prevented rebalances."""

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rebalance_sim.api.history import REPLAY, past_predictions, prevention, score
from rebalance_sim.commands.console import Cells, Line, Table, one_line
from rebalance_sim.commands.simulate import simulation_assumptions
from rebalance_sim.engine.history.backtest import AS_JOINED, DIFFERS, PREDICTED_FROM, by_basis
from rebalance_sim.engine.history.misses import MISS_TABLES
from rebalance_sim.engine.history.past_predictions import BASES, PastPredictions
from rebalance_sim.engine.history.prevention import SAVES
from rebalance_sim.engine.runs.recorded_runs import RecordedRun
from rebalance_sim.engine.runs.run import Run
from rebalance_sim.engine.simulation.variations import WHY_MORE_DOWNTIME
from rebalance_sim.engine.spark.driver_rows import no_rows
from rebalance_sim.engine.tables.inputs import union
from rebalance_sim.kafka.assignors.consumer_partition_assignor import ConsumerPartitionAssignor
from rebalance_sim.kafka.brokers import Clusters
from rebalance_sim.kafka.clients import JAVA
from rebalance_sim.report.audits.reproduction import miss_command
from rebalance_sim.tables import BACKTEST, GENERATION_MEMBERS, GENERATIONS, PREVENTION, SCORE
from rebalance_sim.wording import plural

_BASIS: Cells = {"predicted from": lambda row: PREDICTED_FROM[row["basis"]]}
_MISSES = 5
"""Generations that are printed of those that were predicted wrongly; all are in ``backtest``."""
_RELEASE = "that of --client-version, --clusters or the brokers is assumed"
_TIMES = (
    "past rebalances are simulated as if members had left with LeaveGroup when the first generation without them was "
    "complete, and started again just before the generation that has them back"
)


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
    predictions = past_predictions(topics, clusters, assignors)(members)
    tested = run.write(BACKTEST.name, union([predictions.backtest(basis) for basis in BASES]))
    scored = run.write(SCORE.name, tested.transform(score))
    _write_misses(run, predictions, tested)
    run.report_progress("simulating the past under other settings")
    prevented = run.write(PREVENTION.name, members.transform(prevention(tables[GENERATIONS.name], clusters)))
    return {BACKTEST.name: tested, SCORE.name: scored, PREVENTION.name: prevented}


def _write_misses(run: Run, predictions: PastPredictions, tested: DataFrame) -> None:
    """Write the tables of the predictions that were wrong, which are few or none."""
    if tested.where(F.col("result") == DIFFERS).isEmpty():
        found = {table.name: no_rows(run.spark, table.schema) for table in MISS_TABLES}
    else:
        found = dict(predictions.misses(tested).staged(lambda rows: run.stage(rows, "misses")))
    for name, rows in found.items():
        run.write(name, rows)


def summarise_predictions(run: Run, tables: Mapping[str, DataFrame]) -> list[Line]:
    """Return how often predictions were right, the first that were wrong, and what would have prevented rebalances."""
    return [*_scores(tables[SCORE.name]), *_misses(run, tables[BACKTEST.name]), *_prevented(tables[PREVENTION.name])]


def prediction_assumptions(tables: Mapping[str, DataFrame]) -> list[str]:
    """Return what the predictions of the past assume, and their simulations."""
    tested = tables[BACKTEST.name].where(F.col("basis") == AS_JOINED)
    is_java = F.col("client_library").startswith(JAVA)
    unknown, release = tested.agg(
        F.count_if(F.col("client_library").isNull()),
        F.count_if((is_java | F.col("client_library").isNull()) & F.col("client_version").isNull()),
    ).collect()[0]
    replayed = not tables[PREVENTION.name].isEmpty()
    return [
        *(
            [f"the client library of the leader is unknown in {plural(unknown, 'generation')}; Java is assumed"]
            * (unknown > 0)
        ),
        *(
            [f"the release of the leader's client is unknown in {plural(release, 'generation')}; {_RELEASE}"]
            * (release > 0)
        ),
        *([*simulation_assumptions(REPLAY), _TIMES] if replayed else []),
    ]


def _scores(scored: DataFrame) -> list[Line]:
    """Return a row for each basis."""
    rows = {row["basis"]: row for row in by_basis(scored).collect()}
    found = [rows[basis] for basis in PREDICTED_FROM if basis in rows]
    if not found:
        return []
    header = (
        *("predicted from", "generations", "equal", "different", "not predictable", "outside bounds"),
        *("inputs incomplete", "equal by known counts"),
    )
    cells = _BASIS | {"different": "differs", "equal by known counts": "known"}
    return [
        "",
        "predictions of past generations, compared with their assignments:",
        Table.of_rows(header, found, cells),
    ]


def _misses(run: Run, tested: DataFrame) -> list[Line]:
    """Return the first predictions that were wrong, and the command that makes the first of them again."""
    order = ("basis", "cluster", "group_id", "recreated", "generation")
    rows = tested.where(F.col("result") == DIFFERS).orderBy(*order).limit(_MISSES).collect()
    if not rows:
        return []
    header = ("group", "generation", "predicted from", "rules", "members", "partitions", "differing")
    cells = _BASIS | {"group": lambda row: one_line(row["group_id"]), "rules": "strategy"}
    first = rows[0]["first_differing"]
    partition = one_line(f"{first['topic']}-{first['partition']}")
    owners = [one_line(first[name] or "no member") for name in ("assigned_to", "predicted")]
    return [
        "",
        "assigned differently from the prediction:",
        Table.of_rows(header, rows, cells),
        f"In the first of them, {partition} was assigned to {owners[0]} and is predicted for {owners[1]}. See why:",
        f"  {miss_command(rows[0], RecordedRun(run.out, run.record()))}",
    ]


def _prevented(prevented: DataFrame) -> list[Line]:
    """Return the sums over the groups that can make a change and would have had fewer rebalances."""
    saves = prevented.where(SAVES)
    sums = [F.sum(name).alias(name) for name in ("rebalances_saved", "rebalances", "unowned_ms_saved")]
    rows = saves.groupBy("setting", "value").agg(F.count("*").alias("groups"), *sums)
    order = (F.desc("rebalances_saved"), "setting", "value")
    found = rows.orderBy(*order).collect()
    if not found:
        return []
    header = ("setting", "groups", "rebalances saved", "of", "downtime saved, partition-seconds")
    cells: Cells = {
        "setting": lambda row: f"{row['setting']}={row['value']}",
        "of": "rebalances",
        "downtime saved, partition-seconds": lambda row: round(row["unowned_ms_saved"] / 1000),
    }
    more = dict.fromkeys(row["setting"] for row in found if row["unowned_ms_saved"] < 0)
    return [
        "",
        "settings that would have prevented rebalances, simulated:",
        Table.of_rows(header, found, cells),
        *(
            f"more downtime with {setting}: {WHY_MORE_DOWNTIME[setting]}"
            for setting in more
            if setting in WHY_MORE_DOWNTIME
        ),
    ]
