"""The run of ``history`` whose tables an audit reads."""

from collections.abc import Callable

from pyspark.sql import DataFrame

from rebalance_sim.engine.runs.files import Files
from rebalance_sim.engine.runs.recorded_runs import RecordedRun, run_of_job
from rebalance_sim.engine.runs.session_runs import check_tables
from rebalance_sim.tables import BACKTEST, GENERATIONS, PREVENTION, Table

HISTORY = "history"
"""The job, and the option of an audit that names its output."""
READ = (GENERATIONS, BACKTEST, PREVENTION)
"""The tables that an audit reads."""


def past_run(files: Files, folder: str) -> RecordedRun:
    """Return a finished run of ``history``. Raises UserError for any other folder, naming the option."""
    return run_of_job(files, f"--{HISTORY}", folder, HISTORY)


def tables_of_history(files: Files, folder: str, read: Callable[[Table, str, str], DataFrame]) -> dict[str, DataFrame]:
    """Read the tables of a run of ``history``; none if no folder is given.

    Raises UserError as ``past_run`` does, and for a table without a column, which an earlier release has written.
    """
    if not folder:
        return {}
    run = past_run(files, folder)
    tables = {table.name: read(table, run.path(table.name), run.output_format) for table in READ}
    check_tables(f"--{HISTORY} {folder}", tables)
    return tables
