"""The figures of finished runs that ``check`` compares with limits, from Arrow batches of their tables."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa
from pyarrow import compute, parquet
from pyspark.sql.pandas.types import to_arrow_schema

from rebalance_sim.engine.runs.figures import Check
from rebalance_sim.engine.runs.files import LocalFiles, on_this_machine, read_by_spark
from rebalance_sim.engine.runs.recorded_runs import RecordedRun
from rebalance_sim.errors import UserError
from rebalance_sim.tables import DOUBLE, OUTPUTS, STRING, Table, struct

_IDENTIFYING = ("table", "cluster", "group_id", "strategy", "client", "topic", "partition", "kind", "error", "reason")
"""Columns that identify a row and its problem."""
FIGURES = struct({"check": STRING, "folder": STRING, "sum": DOUBLE, "figure": DOUBLE, "row": STRING})
"""The figure of a check in some rows of a table: its sum, its largest value, and the row that has it."""


class CheckedFigure(NamedTuple):
    """The result of a check: the figure, and the row with the largest value; None if no row has a figure above 0."""

    amount: float
    worst: str | None


@dataclass(frozen=True)
class CheckedTable:
    """A table of a run, with the checks that need it."""

    run: RecordedRun
    table: Table
    checks: tuple[Check, ...]

    @property
    def columns(self) -> list[str]:
        """The columns that the checks need."""
        identifying = [name for name in _IDENTIFYING if name in self.table.names]
        return list(dict.fromkeys([*identifying, *(name for check in self.checks for name in check.columns)]))

    def figures(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Return the figures of the checks in batches of the columns: rows of ``FIGURES``."""
        folder = self.run.path(self.table.name)
        found = [
            {"check": check.name, "folder": folder, **most}
            for batch in batches
            for check in self.checks
            if (most := _most(check, batch)) is not None
        ]
        yield pa.RecordBatch.from_pylist(found, to_arrow_schema(FIGURES))


Apply = Callable[[Sequence[CheckedTable]], pa.Table]
"""Returns the figures of tables, which it reads."""


def find(runs: Sequence[RecordedRun], checks: Sequence[Check], apply: Apply) -> dict[str, CheckedFigure]:
    """Return, by name of the check, its largest figure over all tables of the runs; each table is read once."""
    names = dict.fromkeys(table for check in checks for table in check.tables)
    by_folder = {run.folder.rstrip("/"): run for run in runs}
    tables = [
        CheckedTable(run, OUTPUTS[name], tuple(check for check in checks if name in check.tables))
        for run in by_folder.values()
        for name in names
        if name in run.written
    ]
    sums: dict[tuple[str, str], float] = {}
    most: dict[tuple[str, str], tuple[float, str]] = {}
    for row in apply(tables).to_pylist() if tables else []:
        place = (row["check"], row["folder"])
        sums[place] = sums.get(place, 0) + row["sum"]
        most[place] = max(most.get(place, (0, "")), (row["figure"], row["row"]))
    checked = {check.name: CheckedFigure(0, None) for check in checks}
    adding_up = {check.name for check in checks if check.adds_up}
    for (name, folder), (figure, identified) in most.items():
        amount = sums[name, folder] if name in adding_up else figure
        checked[name] = max(checked[name], CheckedFigure(amount, f"{identified}, in {folder}"))
    return checked


def apply_here(tables: Sequence[CheckedTable]) -> pa.Table:
    """Return the figures of tables in Parquet files of this machine. Raises UserError for one that cannot be read."""
    figures = [batch for table in tables for batch in table.figures(_batches(table))]
    return pa.Table.from_batches(figures, to_arrow_schema(FIGURES))


def _batches(of: CheckedTable) -> Iterator[pa.RecordBatch]:
    """Read columns of a table as Spark does: a column that a file does not have is null."""
    path = of.run.path(of.table.name)
    schema = to_arrow_schema(struct({name: of.table.schema[name].dataType for name in of.columns}))
    try:
        for file, _ in read_by_spark(LocalFiles(), path):
            with parquet.ParquetFile(on_this_machine(file)) as opened:
                for batch in opened.iter_batches(columns=schema.names):
                    given = {name: batch[name] for name in batch.schema.names}
                    arrays = [
                        given.get(wanted.name, pa.nulls(len(batch), wanted.type)).cast(wanted.type) for wanted in schema
                    ]
                    yield pa.RecordBatch.from_arrays(arrays, schema=schema)
    except (OSError, pa.ArrowException) as problem:
        why = str(getattr(problem, "strerror", None) or problem).partition("\n")[0]
        raise UserError(f"{of.table.name}: cannot read {path!r} as parquet: {why}") from problem


def _most(check: Check, batch: pa.RecordBatch) -> dict[str, float | str] | None:
    """Return the sum of a figure and the row with the largest one; None if no row has one above 0."""
    figures = check.figure(*(batch[name] for name in check.columns)).cast(pa.float64())
    positive = compute.fill_null(compute.greater(figures, 0), False)
    if not compute.any(positive).as_py():
        return None
    figures, rows = figures.filter(positive), batch.filter(positive)
    largest = compute.max(figures)
    identified = _identified(rows.filter(compute.equal(figures, largest)))
    return {"sum": compute.sum(figures).as_py(), "figure": largest.as_py(), "row": compute.max(identified).as_py()}


def _identified(rows: pa.RecordBatch) -> pa.Array:
    """Return the values of each row that identify it, with their names."""
    parts = [
        compute.binary_join_element_wise(name, rows[name].cast(pa.string()), " ")
        for name in _IDENTIFYING
        if name in rows.schema.names
    ]
    return compute.binary_join_element_wise(*parts, ", ", null_handling="skip")
