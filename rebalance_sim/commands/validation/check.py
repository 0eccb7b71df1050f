"""Read and validate the options of ``check``."""

from argparse import Namespace
from collections.abc import Mapping, Sequence

from rebalance_sim.commands.job_options import MOST_REJECTED, REJECTED_SHARE
from rebalance_sim.commands.options import check_share, items
from rebalance_sim.commands.validation.known_files import KnownFiles
from rebalance_sim.engine.runs.figures import CHECKS, FINDING_CHECKS, FINDINGS, Check
from rebalance_sim.engine.runs.recorded_runs import RecordedRun
from rebalance_sim.errors import UserError, check_choice


def validate(options: Namespace, known: KnownFiles) -> None:
    """Raise UserError for a mistake that shows without reading tables."""
    _given_limits(options)
    runs = known.runs("--runs", options.runs)
    if len(runs) == len(items(options.runs)):
        checks_of(limits_of(options, runs), runs)


def checks_of(limits: Mapping[str, float], runs: Sequence[RecordedRun]) -> list[Check]:
    """Return the checks of tables that have a limit. Raises UserError for one without a table in any run."""
    asked = [check for check in (*CHECKS, *FINDING_CHECKS.values()) if check.name in limits]
    for check in asked:
        if not any(table in run.written for table in check.tables for run in runs):
            tables = " or ".join(check.tables)
            option = FINDINGS if FINDINGS in check.tables else check.name
            raise UserError(f"--max-{option}: no run of --runs has a table {tables}")
    return asked


def limits_of(options: Namespace, runs: Sequence[RecordedRun]) -> dict[str, float]:
    """Return the limits by the names of their checks; if none is given, those by which a run of Airflow's DAG fails."""
    return _given_limits(options) or default_limits(any(FINDINGS in run.written for run in runs))


def default_limits(of_audits: bool) -> dict[str, float]:
    """Return the limits of runs if none is given; those of an audit have findings.

    >>> default_limits(of_audits=True)
    {'rejected-share': 0.01, 'findings error': 0.0}
    """
    return {REJECTED_SHARE: MOST_REJECTED} | ({FINDING_CHECKS["error"].name: 0.0} if of_audits else {})


def _given_limits(options: Namespace) -> dict[str, float]:
    """Return the limits that the options name. Raises UserError for one that is not allowed."""
    names = [*(check.name for check in CHECKS), REJECTED_SHARE]
    given = {name: getattr(options, f"max_{name.replace('-', '_')}") for name in names}
    allowed = {name: limit for name, limit in given.items() if limit is not None} | _of_findings(options.max_findings)
    for name, limit in allowed.items():
        if name == REJECTED_SHARE:
            check_share(f"--max-{name}", limit)
        # Every comparison with NaN is false, so it would pass any check.
        elif not limit >= 0:
            raise UserError(f"--max-{name}: {limit} is not allowed; allowed: 0 or more")
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
