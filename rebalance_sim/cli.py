"""The console command ``rebalance-sim``: every job under its name."""

import os
import re
import sys
from argparse import ArgumentParser
from collections.abc import Sequence

from pyspark.errors import PySparkException

from rebalance_sim.commands import assign, check, elect, fleet, partition, simulate
from rebalance_sim.commands.custom_assignors import WHERE_MODULES_ARE
from rebalance_sim.engine.session import session
from rebalance_sim.errors import CheckError, UserError

USER_ERROR = 2
"""Exit code where an option or an input is at fault."""
CHECK_FAILED = 3
"""Exit code where a check finds more than is allowed."""
_JOBS = {
    "fleet": fleet,
    "elect": elect,
    "assign": assign,
    "partition": partition,
    "simulate": simulate,
    "check": check,
}


def _parser() -> ArgumentParser:
    parser = ArgumentParser(
        prog="rebalance-sim",
        description="Predict what Kafka will do with a fleet of groups, and where producers send records.",
    )
    jobs = parser.add_subparsers(dest="job", required=True, metavar="JOB")
    for name, module in _JOBS.items():
        told = (module.__doc__ or "").partition(": ")[2].strip()
        module.add_options(jobs.add_parser(name, help=told, description=told))
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a job; return the exit code: 0 done, 2 a mistake of the user's, 3 a failed check, both told in one line."""
    options = _parser().parse_args(arguments)
    try:
        packages = fleet.packages(options) if options.job == "fleet" else ()
        spark = session(f"rebalance-sim {options.job}", packages)
        _JOBS[options.job].run(spark, options)
    except UserError as mistake:
        print(f"rebalance-sim {options.job}: {mistake}", file=sys.stderr)
        return USER_ERROR
    except CheckError as failed:
        print(f"rebalance-sim {options.job}: {failed}", file=sys.stderr)
        return CHECK_FAILED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except PySparkException as failure:
        cause = _user_error_in(failure)
        if cause is None:
            raise
        print(f"rebalance-sim {options.job}: {cause}", file=sys.stderr)
        return USER_ERROR
    return 0


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
