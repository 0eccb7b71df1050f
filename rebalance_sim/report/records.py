"""What a page says of the runs themselves: what was asked for, which rows were used, rejected and assumed."""

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rebalance_sim.engine.finished_runs import FinishedRun
from rebalance_sim.engine.inputs import kind_of_reason
from rebalance_sim.report.page import Block, Cell, Check, Column, Findings, Kind, Level, Table, counts
from rebalance_sim.report.text import count, plural_of, share
from rebalance_sim.tables import REJECTS

RUNS, REJECTED, ASSUMED = "runs", "rejects", "assumptions"
_RUN = Column("run", Kind.NAME)
_ROWS = {"rows given": "in", "used": "used", "rejected": "rejected", "written": "out"}
"""Columns of counts, and where a record has them."""
SHOWN_KINDS = 60
SHOWN_CHARACTERS = 400
"""Of an example's row."""


def reject_kinds(rejects: DataFrame) -> DataFrame:
    """Count rejects by table and kind of reason, each with the first as an example, whose row may be cut."""
    example = F.struct("cluster", "group_id", "reason", F.substring("row", 1, SHOWN_CHARACTERS).alias("row"))
    return (
        rejects.groupBy("table", kind_of_reason("reason").alias("kind"))
        .agg(F.count("*").alias("rows"), F.min(example).alias("example"))
        .orderBy(F.desc("rows"), "table", "kind")
    )


def what_was_run(runs: Sequence[FinishedRun], labels: Sequence[str]) -> tuple[Block, ...]:
    """Tell options, versions and rows of all runs."""
    named = list(zip(labels, runs, strict=True))
    totals = list(_ROWS)[:3]
    head = (_RUN, Column("job"), Column("folder", Kind.NAME), *counts(*totals), Column("seconds", Kind.DECIMAL))
    overview = tuple(
        (
            name,
            run.job,
            run.folder,
            *(sum(run.record["rows"].get(_ROWS[total], {}).values()) for total in totals),
            run.record.get("seconds"),
        )
        for name, run in named
    )
    by_table = tuple((name, *row) for name, run in named for row in _rows(run.record["rows"]))
    asked = tuple(
        (name, f"--{option.replace('_', '-')}", str(value))
        for name, run in named
        for option, value in run.record["options"].items()
        if value not in (None, "", False)
    )
    versions = tuple((name, of, str(told)) for name, run in named for of, told in run.record["versions"].items())
    return (
        Table("The runs", head, overview),
        Table("Rows by table", (_RUN, Column("table", Kind.NAME), *counts(*_ROWS)), by_table, folded=True),
        Table("Options", (_RUN, Column("option", Kind.NAME), Column("value")), asked, folded=True),
        Table("Versions", (_RUN, Column("of", Kind.NAME), Column("version", Kind.NAME)), versions, folded=True),
    )


def _rows(rows: Mapping[str, Mapping[str, int]]) -> list[tuple[Cell, ...]]:
    tables = dict.fromkeys(name for kind in _ROWS.values() for name in rows.get(kind, {}))
    return [(name, *(rows.get(kind, {}).get(name) for kind in _ROWS.values())) for name in tables]


def what_was_rejected(run: FinishedRun) -> Findings:
    """Tell the rejected rows by table and kind of reason."""
    rejected = run.rows(REJECTS)
    given = sum(run.record["rows"].get("in", {}).values())
    told = plural_of(rejected, "row is", "rows are") + " rejected"
    if rejected and given:
        told += f", {share(rejected, given)} of those given" if rejected <= given else ""
    if not rejected:
        return Findings(checks=(Check(Level.FINE, count(0), told, REJECTED),))
    found = run.table(REJECTS).transform(reject_kinds).limit(SHOWN_KINDS).collect()
    head = (
        Column("table", Kind.NAME),
        Column("kind of reason"),
        *counts("rows"),
        Column("an example's reason", Kind.NAME),
        Column("its row", Kind.NAME),
    )
    shown = tuple(
        (row["table"], row["kind"], row["rows"], row["example"]["reason"], row["example"]["row"]) for row in found
    )
    first = found[0]["example"]
    where = tuple(name for name in (first["cluster"], first["group_id"]) if name is not None)
    return Findings(
        (Table("Rejected rows", head, shown),),
        (Check(Level.LOOK, count(rejected), told, REJECTED, where, many=rejected > 1),),
    )


def what_was_assumed(run: FinishedRun) -> Findings:
    """Tell what the run assumed."""
    assumed = tuple((str(sentence),) for sentence in run.record["assumptions"])
    return Findings((Table("Assumed", (Column("what"),), assumed),) if assumed else ())
