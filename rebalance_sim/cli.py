"""The console command ``rebalance-sim``: every job under its name."""

import logging
import signal
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from types import FrameType

from rebalance_sim.commands.configuration import read_options
from rebalance_sim.commands.job_options import JOBS
from rebalance_sim.commands.parsers import parsers
from rebalance_sim.engine.runs.files import spark_runs
from rebalance_sim.errors import CheckError, IncompleteError, NewsError, UserError
from rebalance_sim.logs import LOGGER, logged_by

_LOG = logging.getLogger(LOGGER)
THEN = "then"
"""Separates jobs that run one after the other in one Spark session."""
_FAILED, USER_ERROR, CHECK_FAILED, INCOMPLETE, SOMETHING_NEW = 1, 2, 3, 4, 5
_EXIT_CODES: dict[type[Exception], int] = {
    UserError: USER_ERROR,
    CheckError: CHECK_FAILED,
    IncompleteError: INCOMPLETE,
    NewsError: SOMETHING_NEW,
}
"""Exit codes of errors that take one line, without a traceback; docs/operations.md lists all exit codes."""
_UNFINISHED = "an output without _run.json is not finished"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a job, or several in one Spark session, and return the exit code of the last one that runs.

    The word ``then`` separates jobs; the first that fails is the last. Any exit code but 0 comes with an error on
    stderr. All options are read before the first job starts.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        jobs = [read_options(*parsers(), job) for job in _separated(given)]
    except UserError as mistake:
        print(f"rebalance-sim: {mistake}", file=sys.stderr)
        return USER_ERROR
    # A mistake in any job is reported before the first starts.
    return next((code for step in (_validate, _run) for job in jobs if (code := _exit_code(step, job, jobs))), 0)


def _separated(arguments: Sequence[str]) -> Iterator[list[str]]:
    """Split the arguments at ``then``.

    >>> list(_separated(["fleet", "--out", "a", "then", "elect"]))
    [['fleet', '--out', 'a'], ['elect']]
    """
    job: list[str] = []
    for argument in arguments:
        if argument == THEN:
            yield job
            job = []
        else:
            job.append(argument)
    yield job


def _exit_code(
    step: Callable[[Namespace, Sequence[Namespace]], None], options: Namespace, jobs: Sequence[Namespace]
) -> int:
    """Validate or run one of the jobs that share a session, and return its exit code."""
    with logged_by(_handler(options), options.job, options.log_level, options.log_format):
        try:
            with _interrupted_by_sigterm():
                step(options, jobs)
        except (KeyboardInterrupt, Exception) as problem:
            return _log_failure(problem)
    return 0


def _handler(options: Namespace) -> logging.Handler:
    """Return what shows the log on stderr. The library that draws the bar is not imported for ``--help``."""
    from rebalance_sim.commands.progress_bar import ProgressBar, shows_bar  # noqa: PLC0415

    return ProgressBar() if shows_bar(options) else logging.StreamHandler(sys.stderr)


def _validate(options: Namespace, jobs: Sequence[Namespace]) -> None:
    from rebalance_sim.commands.validation import validate  # noqa: PLC0415 (--help needs none of these imports)

    validate(options, jobs)


def _run(options: Namespace, jobs: Sequence[Namespace]) -> None:
    if not JOBS[options.job].needs_spark(options):
        import_module(f"rebalance_sim.commands.without_spark.{options.job}").run(options)
        return
    if not spark_runs():
        _LOG.info("starting Spark")
    # Only now: these imports take seconds.
    from rebalance_sim.commands.starting import start  # noqa: PLC0415

    spark = start(options, jobs)
    from rebalance_sim.commands.running import run_job  # noqa: PLC0415

    run_job(spark, options)


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


def _log_failure(problem: BaseException) -> int:
    """Log an error and return its exit code."""
    interrupt = _interrupt_behind(problem)
    if interrupt is not None:
        number = signal.SIGTERM if isinstance(interrupt, _Terminated) else signal.SIGINT
        _LOG.error("stopped by %s; %s", number.name, _UNFINISHED)
        return 128 + number
    for kind, code in _EXIT_CODES.items():
        if isinstance(problem, kind):
            _LOG.error("%s", problem)
            return code
    from rebalance_sim.commands.running import user_error_in  # noqa: PLC0415
    from rebalance_sim.engine.runs.spark_failures import cause_of  # noqa: PLC0415

    mistake = user_error_in(problem)
    if mistake:
        _LOG.error("%s", mistake)
        return USER_ERROR
    cause = cause_of(problem)
    # A known cause outside the program, such as a full disk, is clear without a traceback.
    shown = None if cause and not _LOG.isEnabledFor(logging.DEBUG) else problem
    _LOG.error("%s; %s", cause or f"failed with {type(problem).__name__}", _UNFINISHED, exc_info=shown)
    return _FAILED


def _interrupt_behind(problem: BaseException | None) -> KeyboardInterrupt | None:
    """Return the signal that caused a failure, or None.

    py4j catches a signal that arrives while it sends a command, and may then fail to close its connection.
    """
    while problem is not None and not isinstance(problem, KeyboardInterrupt):
        problem = problem.__context__
    return problem


if __name__ == "__main__":
    raise SystemExit(main())
