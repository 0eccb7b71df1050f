"""One progress bar on a terminal, instead of a line for each step."""

import logging
import os
import sys
from argparse import Namespace

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Column
from rich.text import Text


def shows_bar(options: Namespace) -> bool:
    """Return whether the progress of a job is a bar: on a terminal, where nothing is printed between the steps."""
    prints_lines = options.log_format != "text" or options.log_level not in ("info", "debug")
    if prints_lines or getattr(options, "explain", False):
        return False
    return sys.stderr.isatty() and os.environ.get("TERM") not in ("dumb", "unknown")


class ProgressBar(logging.Handler):
    """Shows the current step, and how many tasks of its Spark job are done; other records are lines above it."""

    def __init__(self) -> None:
        super().__init__()
        self._progress = Progress(
            TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True, overflow="ellipsis")),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[done]}"),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            transient=True,
            refresh_per_second=4,
            # Results go to standard output, which may be a file.
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._task = self._progress.add_task("", total=None, done="")

    def emit(self, record: logging.LogRecord) -> None:
        """Show a step, or the tasks of its Spark job."""
        fields = getattr(record, "fields", {})
        if record.levelno != logging.INFO:
            style = "red" if record.levelno >= logging.ERROR else ""
            self._progress.console.print(Text(self.format(record), style), soft_wrap=True)
        elif "tasks" in fields:
            done, tasks = fields["tasks_done"], fields["tasks"]
            shown = f"{done:,} of {tasks:,} tasks"
            step = fields["step"]
            self._progress.update(self._task, description=step, completed=done, total=tasks, done=shown, refresh=True)
        else:
            self._progress.update(self._task, completed=0, description=record.getMessage(), done="")
            # Unknown until the step starts a Spark job; update() cannot set it.
            self._progress.tasks[0].total = None
            self._progress.start()

    def flush(self) -> None:
        """Remove the bar until the next step, so that results can be printed."""
        self._progress.stop()

    def close(self) -> None:
        """Remove the bar."""
        self.flush()
        super().close()
