"""The console command ``rebalance-sim``: every job under its name."""

import logging
import re
import signal
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

from pyspark.errors import PySparkException

from rebalance_sim.commands import assign, check, elect, fleet, partition, report, simulate
from rebalance_sim.commands.configuration import read_options
from rebalance_sim.commands.custom_assignors import WHERE_MODULES_ARE
from rebalance_sim.commands.input_size import is_small
from rebalance_sim.commands.options import add_operation_options
from rebalance_sim.commands.plan import plan
from rebalance_sim.commands.summary import print_summary
from rebalance_sim.engine.runs.planned_runs import DryRun, PlanComplete
from rebalance_sim.engine.runs.progress import progress
from rebalance_sim.engine.runs.spark_failures import cause_of
from rebalance_sim.engine.spark.session import FOR_LARGE_INPUTS, FOR_SMALL_INPUTS, session
from rebalance_sim.errors import CheckError, UserError
from rebalance_sim.logs import LOGGER, logs_on_stderr

_LOG = logging.getLogger(LOGGER)
_JOBS = {
    "fleet": fleet,
    "elect": elect,
    "assign": assign,
    "partition": partition,
    "simulate": simulate,
    "check": check,
    "report": report,
}
_FAILED, USER_ERROR, CHECK_FAILED = 1, 2, 3
_EXIT_CODES: dict[type[Exception], int] = {UserError: USER_ERROR, CheckError: CHECK_FAILED}
"""Exit codes of errors that take one line, without a traceback; docs/operations.md lists all exit codes."""
_UNFINISHED = "an output without _run.json is not finished"


def parsers() -> tuple[ArgumentParser, dict[str, ArgumentParser]]:
    """Return the parser, and those of the jobs.

    Abbreviations are not allowed: each new option could change their meaning.
    """
    parser = ArgumentParser(
        prog="rebalance-sim",
        description="Predict what Kafka does with a fleet of consumer groups and with the records that producers send.",
        allow_abbrev=False,
    )
    of_jobs = parser.add_subparsers(dest="job", required=True, metavar="JOB")
    jobs = {}
    for name, module in _JOBS.items():
        summary = (module.__doc__ or "").partition("\n")[0].partition(": ")[2].strip()
        jobs[name] = of_jobs.add_parser(
            name, help=summary, description=summary[0].upper() + summary[1:], allow_abbrev=False
        )
        module.add_options(jobs[name])
        add_operation_options(jobs[name])
    return parser, jobs


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a job and return its exit code; anything but 0 comes with an error on stderr."""
    try:
        options = read_options(*parsers(), sys.argv[1:] if arguments is None else arguments)
    except UserError as mistake:
        print(f"rebalance-sim: {mistake}", file=sys.stderr)
        return USER_ERROR
    with logs_on_stderr(options.job, options.log_level, options.log_format):
        try:
            with _interrupted_by_sigterm():
                _run(options)
        except KeyboardInterrupt as interrupt:
            number = signal.SIGTERM if isinstance(interrupt, _Terminated) else signal.SIGINT
            _LOG.error("stopped by %s; %s", number.name, _UNFINISHED)
            return 128 + number
        except Exception as problem:
            return _log_failure(problem)
    return 0


def _run(options: Namespace) -> None:
    packages = fleet.packages(options) if options.job == "fleet" else ()
    settings = FOR_SMALL_INPUTS if is_small(options) else FOR_LARGE_INPUTS
    spark = session(f"rebalance-sim {options.job}", packages, settings)
    try:
        with progress(spark):
            _JOBS[options.job].run(spark, options)
    except PlanComplete as complete:
        if isinstance(complete.run, DryRun):
            print_summary(plan(complete.run, options))


class _Terminated(KeyboardInterrupt):
    """SIGTERM."""


@contextmanager
def _interrupted_by_sigterm() -> Iterator[None]:
    """End a job on SIGTERM, as schedulers send it, like on Ctrl-C.

    Python handles signals in the main thread only; elsewhere nothing changes.
    """

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise _Terminated

    try:
        usual = signal.signal(signal.SIGTERM, interrupt)
    except ValueError:
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, usual)


def _log_failure(problem: Exception) -> int:
    """Log an error and return its exit code."""
    for kind, code in _EXIT_CODES.items():
        if isinstance(problem, kind):
            _LOG.error("%s", problem)
            return code
    mistake = _user_error_in(problem) if isinstance(problem, PySparkException) else None
    if mistake:
        _LOG.error("%s", mistake)
        return USER_ERROR
    cause = cause_of(problem)
    # A known cause outside the program, such as a full disk, is clear without a traceback.
    shown = None if cause and not _LOG.isEnabledFor(logging.DEBUG) else problem
    _LOG.error("%s; %s", cause or f"failed with {type(problem).__name__}", _UNFINISHED, exc_info=shown)
    return _FAILED


def _user_error_in(failure: PySparkException) -> str | None:
    """Return the line for an unreadable input or a missing module that Spark only noticed while it ran."""
    text = str(failure)
    missing = re.search("^ModuleNotFoundError: No module named '(.*)'$", text, re.MULTILINE)
    if missing:
        return f"Spark's workers cannot import module {missing[1]!r}; {WHERE_MODULES_ARE}"
    for mark in ("FAILED_READ_FILE", "CANNOT_READ_FILE", "Unable to infer schema", "MALFORMED_RECORD"):
        if mark in text:
            return text.strip().partition("\n")[0]
    return None


if __name__ == "__main__":
    raise SystemExit(main())
