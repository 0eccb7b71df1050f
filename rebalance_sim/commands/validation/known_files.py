"""The files of this machine that exist before a job starts, or do not."""

import os
from argparse import Namespace
from contextlib import suppress
from dataclasses import dataclass

from rebalance_sim.commands.options import items, on_record
from rebalance_sim.engine.runs.files import LocalFiles, is_local, on_this_machine
from rebalance_sim.engine.runs.input_formats import check_exists, input_format
from rebalance_sim.engine.runs.out_folders import OutFolder
from rebalance_sim.engine.runs.recorded_runs import RecordedRun, recorded_run

_FILES = LocalFiles()


@dataclass(frozen=True)
class KnownFiles:
    """What can be checked of inputs and outputs now. The rest is checked when Spark reads or writes it."""

    made: tuple[str, ...]
    """Output folders of jobs that run before."""

    def knows(self, path: str) -> bool:
        """Return whether the path is local, and no earlier job changes what is there."""
        return is_local(path) and not any(_overlap(path, folder) for folder in self.made)

    def check_out(self, options: Namespace) -> None:
        """Raise UserError for an output folder that the job may not replace."""
        if not options.out.strip() or self.knows(options.out):
            # What this user may not list is checked with Spark, which reports it.
            with suppress(OSError):
                OutFolder(_FILES, options.job, options.out).check(on_record(options))

    def check_tables(self, options: Namespace, *tables: str) -> None:
        """Raise UserError for an input table that does not exist, or is not in its format."""
        for table in tables:
            self.check_table(table, getattr(options, table), options.format)

    def check_table(self, table: str, path: str | None, asked: str) -> None:
        """Raise UserError if a table that is given does not exist, or is not in its format."""
        if path and self.knows(path):
            input_format(_FILES, table, path, asked)

    def check_exists(self, what: str, path: str) -> None:
        """Raise UserError for the path of another input that does not exist."""
        if self.knows(path):
            check_exists(_FILES, what, path)

    def runs(self, option: str, folders: str) -> list[RecordedRun]:
        """Return the known ones of several runs. Raises UserError for a folder without a finished run."""
        return [recorded_run(_FILES, option, folder) for folder in items(folders) if self.knows(folder)]


def _overlap(path: str, folder: str) -> bool:
    if not is_local(folder):
        return False
    one, other = (f"{os.path.realpath(on_this_machine(each))}/" for each in (path, folder))
    return one.startswith(other) or other.startswith(one)
