"""``report``: write a page about finished runs, and its charts as pictures."""

from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from pyspark.sql import SparkSession

from rebalance_sim.api.audit import Audit
from rebalance_sim.commands.audited_inputs import audit_of_run
from rebalance_sim.commands.console import one_line, print_summary
from rebalance_sim.commands.options import items, on_record
from rebalance_sim.commands.plan import plan_lines
from rebalance_sim.engine.runs.finished_runs import FinishedRun, finished_run
from rebalance_sim.engine.runs.planned_runs import DryRun
from rebalance_sim.engine.runs.run import Run

if TYPE_CHECKING:
    from rebalance_sim.report.page import Check
    from rebalance_sim.report.rendering import Rendered

PAGE, CHARTS = "report.html", "charts"


def run(spark: SparkSession, options: Namespace) -> None:
    """Read the tables of the runs, check and summarize them, draw charts, write the page and the pictures."""
    runs = [finished_run(spark, "--runs", folder) for folder in items(options.runs)]
    from rebalance_sim.report.contents import find_groups  # noqa: PLC0415 (needs optional dependencies)

    groups = find_groups(runs, options.groups, items(options.groups)) if options.groups else []
    kind = DryRun if options.dry_run else Run
    run = kind(spark, "report", options.out, on_record(options))
    run.begin([PAGE, CHARTS])
    if isinstance(run, DryRun):
        print_summary(plan_lines(run, options, map(_input, runs), [PAGE, CHARTS]))
        return
    verdict, checks = write_page(run, runs, options.title, audit_of_run, groups)
    run.assumptions = list(dict.fromkeys(sentence for each in runs for sentence in each.record["assumptions"]))
    run.finish()
    print_summary([verdict, *_problems(checks), "", f"output: {options.out}/{PAGE}"])


def write_page(
    run: Run,
    runs: Sequence[FinishedRun],
    title: str,
    find_audit: Callable[[FinishedRun], Audit | None],
    groups: Sequence[str] = (),
) -> tuple[str, Sequence["Check"]]:
    """Write a page about the tables of ``runs`` into the folder of ``run``; return its verdict and its checks.

    ``find_audit`` returns the audit of a run, for what the page shows of some groups beside the tables.
    """
    from rebalance_sim.report.contents import page  # noqa: PLC0415 (needs optional dependencies)
    from rebalance_sim.report.rendering import render  # noqa: PLC0415

    contents = page(runs, title, groups, run.report_progress, find_audit)
    run.report_progress("drawing charts")
    rendered = render(contents)
    _write(run, rendered)
    return rendered.verdict, contents.checks


def plan_page(run: Run) -> None:
    """Add the page and its charts to the outputs of a run that writes nothing."""
    for name in (PAGE, CHARTS):
        run.write_file(name, b"")


def _input(run: FinishedRun) -> str:
    """Return the tables that are read from a run."""
    return f"  {', '.join(run.record['rows'].get('out', {}))}: {run.folder} ({run.job})"


def _problems(checks: Sequence["Check"]) -> Iterator[str]:
    """Yield the errors and warnings, errors first."""
    for check in checks:
        if check.level.value != "ok":
            where = ", ".join([check.run, " / ".join(map(one_line, check.where))] if check.where else [check.run])
            yield f"  {check.level.value}: {check.number} {check.what} ({where})"


def _write(run: Run, rendered: "Rendered") -> None:
    run.report_progress(f"writing {PAGE}")
    run.write_file(PAGE, rendered.html.encode())
    for drawn in rendered.charts:
        run.write_file(f"{CHARTS}/{drawn.chart.name}.svg", drawn.svg_file.encode())
        run.write_file(f"{CHARTS}/{drawn.chart.name}.png", drawn.png_file)
