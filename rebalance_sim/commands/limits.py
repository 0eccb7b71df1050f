"""Compare the figures of finished runs with limits."""

from argparse import Namespace
from collections.abc import Sequence

from rebalance_sim.commands.console import one_line, print_summary
from rebalance_sim.commands.job_options import REJECTED_SHARE
from rebalance_sim.commands.validation.check import checks_of, limits_of
from rebalance_sim.engine.runs.checks import Apply, CheckedFigure, find
from rebalance_sim.engine.runs.recorded_runs import RecordedRun
from rebalance_sim.engine.runs.rejected_shares import rejected_shares
from rebalance_sim.errors import CheckError
from rebalance_sim.wording import plural


def compare_with_limits(options: Namespace, runs: Sequence[RecordedRun], apply: Apply) -> None:
    """Print every figure of runs with its limit. Raises CheckError if a limit is exceeded."""
    allowed = limits_of(options, runs)
    found = find(runs, checks_of(allowed, runs), apply)
    if REJECTED_SHARE in allowed:
        found[REJECTED_SHARE] = _largest_rejected_share(runs)
    failed = {name: limit for name, limit in allowed.items() if found[name].amount > limit}
    lines = {name: _line(name, found[name], limit) for name, limit in allowed.items()}
    print_summary(f"{'failed' if name in failed else 'passed'}: {line}" for name, line in lines.items())
    if failed:
        raise CheckError(f"{len(failed)} of {plural(len(allowed), 'check')} failed: {lines[next(iter(failed))]}")


def _largest_rejected_share(runs: Sequence[RecordedRun]) -> CheckedFigure:
    """Return the largest share of rejected rows of an input."""
    shares = [
        CheckedFigure(share.share, f"{share}, in {run.folder}")
        for run in runs
        for share in rejected_shares(run.record["rows"])
    ]
    return max(shares, key=lambda largest: largest.amount, default=CheckedFigure(0, None))


def _line(name: str, checked: CheckedFigure, limit: float) -> str:
    worst = f" ({one_line(checked.worst)})" if checked.worst else ""
    return f"{name} = {_shown(checked.amount)}, limit {_shown(limit)}{worst}"


def _shown(number: float) -> str:
    """Return a count or a share with separators.

    >>> _shown(1234567.0), _shown(1 / 3)
    ('1,234,567', '0.333333')
    """
    return f"{round(number, 6):,.15g}"
