"""The sections about the runs themselves: options, versions, rows, rejects and assumptions."""

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rebalance_sim.engine.runs.assumed import assumptions_by_topic, in_one
from rebalance_sim.engine.runs.finished_runs import FinishedRun
from rebalance_sim.engine.runs.hadoop_files import HadoopFiles
from rebalance_sim.engine.runs.recorded_runs import fleet_of
from rebalance_sim.engine.runs.run_files import RECORD, read_beside
from rebalance_sim.engine.runs.session_runs import SessionRun
from rebalance_sim.engine.tables.inputs import groups_with_rejected_members, kind_of_reason, union
from rebalance_sim.report.groups import check_of
from rebalance_sim.report.page import Block, Cell, CellType, Check, Column, Level, RunResults, Table, columns, names
from rebalance_sim.report.text import count, share
from rebalance_sim.tables import INPUTS, REJECTS
from rebalance_sim.wording import plural_of

RUNS, REJECTED, ASSUMED = "runs", "rejects", "assumptions"
_ROWS = {"rows read": "in", "used": "used", "rejected": "rejected", "written": "out"}
"""Columns of counts, and their keys in a run's record."""
SHOWN_KINDS = 60
SHOWN_CHARACTERS = 400
"""Length of an example row."""


def reject_kinds(rejects: DataFrame) -> DataFrame:
    """Count rejects by table and kind of reason, each with an example, whose row may be cut."""
    example = F.struct("cluster", "group_id", "reason", F.substring("row", 1, SHOWN_CHARACTERS).alias("row"))
    return (
        rejects.groupBy("table", kind_of_reason("reason").alias("kind"))
        .agg(F.count("*").alias("rows"), F.min(example).alias("example"))
        .orderBy(F.desc("rows"), "table", "kind")
    )


def runs_blocks(runs: Sequence[FinishedRun], labels: Sequence[str]) -> tuple[Block, ...]:
    """Return tables of the rows, options and versions of all runs."""
    named = list(zip(labels, runs, strict=True))
    totals = list(_ROWS)[:3]
    head = (*names("run"), Column("job"), *names("folder"), *columns(*totals), Column("seconds", CellType.DECIMAL))
    overview = tuple(
        (
            name,
            run.job,
            run.folder,
            *(sum(run.record["rows"].get(_ROWS[total], {}).values()) for total in totals),
            run.record.get("seconds"),
        )
        for name, run in named
        if not isinstance(run, SessionRun)
    )
    by_table = tuple((name, *row) for name, run in named for row in _rows(run.record["rows"]))
    options = tuple(
        (name, f"--{option.replace('_', '-')}", str(value))
        for name, run in named
        for option, value in run.record["options"].items()
        if value not in (None, "", False)
    )
    versions = tuple(
        (name, component, str(release)) for name, run in named for component, release in run.record["versions"].items()
    )
    tables = (
        Table("Runs", head, overview),
        Table("Rows by table", columns(*names("run"), "table", *_ROWS), by_table, folded=True),
        Table("Options", columns(*names("run", "option"), "value"), options, folded=True),
        Table("Versions", names("run", "component", "version"), versions, folded=True),
    )
    return tuple(table for table in tables if table.rows)


def _rows(rows: Mapping[str, Mapping[str, int]]) -> list[tuple[Cell, ...]]:
    tables = dict.fromkeys(name for kind in _ROWS.values() for name in rows.get(kind, {}))
    return [(name, *(rows.get(kind, {}).get(name) for kind in _ROWS.values())) for name in tables]


def rejects_results(run: FinishedRun) -> RunResults:
    """Return the rejected rows of a run, and of the run that read its fleet, by table and kind of reason."""
    rejected, earlier = run.rows(REJECTS), _rejected_earlier(run)
    fleet = fleet_of(HadoopFiles(run.spark), run)
    of_fleet = [] if fleet is None else [FinishedRun(fleet.folder, fleet.record, run.spark)]
    checks = []
    if earlier:
        what = plural_of(earlier, "row") + " rejected by the runs that wrote the inputs"
        checks.append(Check(Level.ERROR, count(earlier), what, REJECTED))
    given = sum(run.record["rows"].get("in", {}).values())
    what = plural_of(rejected, "row") + " rejected"
    if rejected and given:
        what += f", {share(rejected, given)} of the rows read" if rejected <= given else ""
    if not rejected and not earlier:
        return RunResults(checks=(Check(Level.OK, count(0), what, REJECTED),))
    written = [each.table(REJECTS) for each in (run, *of_fleet) if each.rows(REJECTS)]
    if not written:
        return RunResults(checks=tuple(checks))
    found = union(written).transform(reject_kinds).limit(SHOWN_KINDS).collect()
    example = names(("example", "example.reason"), ("row of the example", "example.row"))
    table = Table.of("Rejected rows", columns("table", ("reason", "kind"), "rows", *example), found)
    if not rejected:
        return RunResults((table,), tuple(checks))
    first = found[0]["example"]
    where = tuple(name for name in (first["cluster"], first["group_id"]) if name is not None)
    checks.append(Check(Level.ERROR, count(rejected), what, REJECTED, where, many=rejected > 1))
    groups = run.table(REJECTS).transform(groups_with_rejected_members)
    marked, *_ = groups.agg(
        F.count("*").alias("number"), F.min(F.struct("cluster", "group_id")).alias("first")
    ).collect()
    if marked["number"]:
        what = plural_of(marked["number"], "group") + " with rejected members, which the predictions leave out"
        checks.append(check_of(Level.ERROR, marked["number"], what, REJECTED, marked["first"]))
    return RunResults((table,), tuple(checks))


def _rejected_earlier(run: FinishedRun) -> int:
    """Return how many rows were rejected when the inputs were written, as far as their runs' records are there."""
    paths = [str(run.record["options"].get(name) or "") for name in INPUTS]
    one_by_folder = {path.rstrip("/").rpartition("/")[0]: path for path in paths if path}
    records = [read_beside(HadoopFiles(run.spark), path, RECORD) or {} for path in one_by_folder.values()]
    return sum(record.get("rows", {}).get("out", {}).get(REJECTS.name, 0) for record in records)


def assumptions_results(run: FinishedRun) -> RunResults:
    """Return the assumptions of a run, by what they are about."""
    by_topic = assumptions_by_topic(map(str, run.record["assumptions"]))
    rows = tuple((topic, in_one(sentences)) for topic, sentences in by_topic.items())
    return RunResults((Table("Assumptions", (Column("about"), Column("what is assumed")), rows),) if rows else ())
