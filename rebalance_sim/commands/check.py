"""``check``: whether what runs have found stays within what is allowed; exit code 3 where it does not."""

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence

from pyspark.sql import SparkSession

from rebalance_sim.commands.options import items
from rebalance_sim.commands.summary import one_line, print_summary
from rebalance_sim.engine.checks import CHECKS, Found, find, has_table
from rebalance_sim.engine.finished_runs import FinishedRun, finished_run
from rebalance_sim.errors import CheckError, UserError

_SHARE = "rejected-share"
"""The check of what the records of runs tell; the others are of their tables."""
_SHOWN_CHARACTERS = 160


def add_options(parser: ArgumentParser) -> None:
    """Options of the job."""
    parser.add_argument("--runs", required=True, metavar="DIR,...", help="folders of finished runs")
    for check in CHECKS:
        tables = ", ".join(table.name for table in check.tables)
        parser.add_argument(f"--max-{check.name}", type=float, metavar="N", help=f"{check.told} ({tables})")
    parser.add_argument(
        f"--max-{_SHARE}", type=float, metavar="SHARE", help="of the rows of an input, those rejected: 0 to 1"
    )


def run(spark: SparkSession, options: Namespace) -> None:
    """Tell what is found and what is allowed; raise CheckError where more is found."""
    allowed = _allowed(options)
    runs = [finished_run(spark, "--runs", folder) for folder in items(options.runs)]
    asked = [check for check in CHECKS if check.name in allowed]
    for check in asked:
        if not any(has_table(run, table) for table in check.tables for run in runs):
            tables = " or ".join(table.name for table in check.tables)
            raise UserError(f"--max-{check.name}: no run of --runs has a table {tables}")
    found = find(runs, asked)
    if _SHARE in allowed:
        found[_SHARE] = _largest_rejected_share(runs)
    failed = {name: limit for name, limit in allowed.items() if found[name].amount > limit}
    lines = {name: _compared(name, found[name], limit) for name, limit in allowed.items()}
    print_summary(f"{'failed' if name in failed else 'passed'}: {line}" for name, line in lines.items())
    if failed:
        raise CheckError(f"{len(failed)} of {len(allowed)} checks failed; {lines[next(iter(failed))]}")


def _allowed(options: Namespace) -> dict[str, float]:
    """Return what is allowed, by the names of the checks that are asked for."""
    names = [*(check.name for check in CHECKS), _SHARE]
    given = {name: getattr(options, f"max_{name.replace('-', '_')}") for name in names}
    allowed = {name: limit for name, limit in given.items() if limit is not None}
    if not allowed:
        raise UserError(f"--max-...: nothing is to be checked; allowed: {', '.join(f'--max-{name}' for name in names)}")
    for name, limit in allowed.items():
        # Nothing is greater than NaN, either.
        if not 0 <= limit <= (1 if name == _SHARE else float("inf")):
            raise UserError(
                f"--max-{name}: {limit} is not allowed; allowed: 0 {'to 1' if name == _SHARE else 'and more'}"
            )
    return allowed


def _largest_rejected_share(runs: Sequence[FinishedRun]) -> Found:
    """Find the input with the largest share of rejected rows; jobs that read no tables count none."""
    shares = [Found(0, None)]
    for run in runs:
        rejected = run.record["rows"].get("rejected", {})
        for table, given in run.record["rows"].get("in", {}).items():
            if rejected.get(table):
                told = f"{rejected[table]:,} of {given:,} rows of {table}, in {run.folder}"
                shares.append(Found(rejected[table] / given, told))
    return max(shares, key=lambda found: found.amount)


def _compared(name: str, found: Found, limit: float) -> str:
    worst = f" ({one_line(found.worst, _SHOWN_CHARACTERS)})" if found.worst else ""
    return f"{name} {_shown(found.amount)}, allowed {_shown(limit)}{worst}"


def _shown(number: float) -> str:
    """Show a count or a share.

    >>> _shown(1234567.0), _shown(1 / 3)
    ('1,234,567', '0.333333')
    """
    return f"{round(number, 6):,.15g}"
