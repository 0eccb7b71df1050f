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
from rebalance_sim.commands.options import add_operation_options
from rebalance_sim.commands.plan import plan
from rebalance_sim.commands.summary import print_summary
from rebalance_sim.engine.failures import cause_of
from rebalance_sim.engine.planned_runs import DryRun, Planned
from rebalance_sim.engine.progress import progress
from rebalance_sim.engine.session import session
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
"""Of what is told in a line and is no failure of the program; docs/operations.md lists them all."""
_UNFINISHED = "an output without _run.json is not finished"


def parsers() -> tuple[ArgumentParser, dict[str, ArgumentParser]]:
    """Make the parser, and those of the jobs. Abbreviations would change their meaning with each option added."""
    parser = ArgumentParser(
        prog="rebalance-sim",
        description="Predict what Kafka will do with a fleet of groups, and where producers send records.",
        allow_abbrev=False,
    )
    of_jobs = parser.add_subparsers(dest="job", required=True, metavar="JOB")
    jobs = {}
    for name, module in _JOBS.items():
        told = (module.__doc__ or "").partition(": ")[2].strip()
        jobs[name] = of_jobs.add_parser(name, help=told, description=told, allow_abbrev=False)
        module.add_options(jobs[name])
        add_operation_options(jobs[name])
    return parser, jobs


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a job; return the exit code: 0 where it is done, else what went wrong is told in a line."""
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
            return _told(problem)
    return 0


def _run(options: Namespace) -> None:
    packages = fleet.packages(options) if options.job == "fleet" else ()
    spark = session(f"rebalance-sim {options.job}", packages)
    try:
        with progress(spark):
            _JOBS[options.job].run(spark, options)
    except Planned as planned:
        if isinstance(planned.run, DryRun):
            print_summary(plan(planned.run, options))


class _Terminated(KeyboardInterrupt):
    """SIGTERM."""


@contextmanager
def _interrupted_by_sigterm() -> Iterator[None]:
    """Let a scheduler's SIGTERM end the work as Ctrl-C does. Only where signals can be handled: in the main thread."""

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


def _told(problem: Exception) -> int:
    """Log what went wrong, and return the exit code."""
    for kind, code in _EXIT_CODES.items():
        if isinstance(problem, kind):
            _LOG.error("%s", problem)
            return code
    mistake = _user_error_in(problem) if isinstance(problem, PySparkException) else None
    if mistake:
        _LOG.error("%s", mistake)
        return USER_ERROR
    cause = cause_of(problem)
    # What is known to come from the surroundings needs no traceback.
    told = None if cause and not _LOG.isEnabledFor(logging.DEBUG) else problem
    _LOG.error("%s; %s", cause or f"failed by {type(problem).__name__}", _UNFINISHED, exc_info=told)
    return _FAILED


def _user_error_in(failure: PySparkException) -> str | None:
    """Return a line that tells of an unreadable input, or a module, that Spark missed only while it ran."""
    text = str(failure)
    missing = re.search("^ModuleNotFoundError: No module named '(.*)'$", text, re.MULTILINE)
    if missing:
        return f"Spark's workers have no module {missing[1]!r}; {WHERE_MODULES_ARE}"
    for mark in ("FAILED_READ_FILE", "CANNOT_READ_FILE", "Unable to infer schema", "MALFORMED_RECORD"):
        if mark in text:
            return text.strip().partition("\n")[0]
    return None


if __name__ == "__main__":
    raise SystemExit(main())
