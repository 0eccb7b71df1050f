"""``check``: compare the figures of finished runs with limits; exit code 3 if one is exceeded."""

from argparse import Namespace
from collections.abc import Sequence

from pyspark.sql import SparkSession

from rebalance_sim.commands.console import one_line
from rebalance_sim.commands.job_options import REJECTED_SHARE
from rebalance_sim.commands.options import items
from rebalance_sim.commands.summary import print_summary
from rebalance_sim.engine.runs.checks import Found, find, has_table
from rebalance_sim.engine.runs.figures import CHECKS, FINDING_CHECKS, FINDINGS
from rebalance_sim.engine.runs.finished_runs import FinishedRun, finished_run
from rebalance_sim.errors import CheckError, UserError, check_choice
from rebalance_sim.wording import plural


def run(spark: SparkSession, options: Namespace) -> None:
    """Print every figure with its limit. Raises CheckError if a limit is exceeded."""
    allowed = _allowed(options)
    runs = [finished_run(spark, "--runs", folder) for folder in items(options.runs)]
    asked = [check for check in (*CHECKS, *FINDING_CHECKS.values()) if check.name in allowed]
    for check in asked:
        if not any(has_table(run, table) for table in check.tables for run in runs):
            tables = " or ".join(check.tables)
            option = FINDINGS if FINDINGS in check.tables else check.name
            raise UserError(f"--max-{option}: no run of --runs has a table {tables}")
    found = find(runs, asked)
    if REJECTED_SHARE in allowed:
        found[REJECTED_SHARE] = _largest_rejected_share(runs)
    failed = {name: limit for name, limit in allowed.items() if found[name].amount > limit}
    lines = {name: _line(name, found[name], limit) for name, limit in allowed.items()}
    print_summary(f"{'failed' if name in failed else 'passed'}: {line}" for name, line in lines.items())
    if failed:
        raise CheckError(f"{len(failed)} of {plural(len(allowed), 'check')} failed: {lines[next(iter(failed))]}")


def _allowed(options: Namespace) -> dict[str, float]:
    """Return the limits by the names of their checks."""
    names = [*(check.name for check in CHECKS), REJECTED_SHARE]
    given = {name: getattr(options, f"max_{name.replace('-', '_')}") for name in names}
    allowed = {name: limit for name, limit in given.items() if limit is not None} | _of_findings(options.max_findings)
    if not allowed:
        raise UserError(f"no limit is given; allowed: {', '.join(f'--max-{name}' for name in (*names, FINDINGS))}")
    for name, limit in allowed.items():
        # Every comparison with NaN is false, so it would pass any check.
        if not 0 <= limit <= (1 if name == REJECTED_SHARE else float("inf")):
            raise UserError(
                f"--max-{name}: {limit} is not allowed; allowed: 0 {'to 1' if name == REJECTED_SHARE else 'or more'}"
            )
    return allowed


def _of_findings(given: str) -> dict[str, float]:
    """Return the limits of an audit's findings, given as SEVERITY=N."""
    limits: dict[str, float] = {}
    for item in items(given) if given else ():
        severity, _, limit = item.partition("=")
        check_choice("--max-findings", severity, list(FINDING_CHECKS))
        if not limit.isdecimal():
            raise UserError(f"--max-findings: {item!r} is not allowed; allowed: {severity}=N with a whole number")
        limits[FINDING_CHECKS[severity].name] = float(limit)
    return limits


def _largest_rejected_share(runs: Sequence[FinishedRun]) -> Found:
    """Return the largest share of rejected rows of an input; jobs without input tables have none."""
    shares = [Found(0, None)]
    for run in runs:
        rejected = run.record["rows"].get("rejected", {})
        for table, given in run.record["rows"].get("in", {}).items():
            if rejected.get(table):
                worst = f"{rejected[table]:,} of {given:,} rows of {table}, in {run.folder}"
                shares.append(Found(rejected[table] / given, worst))
    return max(shares, key=lambda found: found.amount)


def _line(name: str, found: Found, limit: float) -> str:
    worst = f" ({one_line(found.worst)})" if found.worst else ""
    return f"{name} = {_shown(found.amount)}, limit {_shown(limit)}{worst}"


def _shown(number: float) -> str:
    """Return a count or a share with separators.

    >>> _shown(1234567.0), _shown(1 / 3)
    ('1,234,567', '0.333333')
    """
    return f"{round(number, 6):,.15g}"
