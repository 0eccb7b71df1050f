"""Pages in notebooks: ``report`` draws the page of a run, ``show`` a part of it, from the DataFrames of any session.

They need the optional dependencies of the report page.
"""

from collections.abc import Mapping, Sequence
from typing import cast

from pyspark.sql import DataFrame

from rebalance_sim.errors import UserError


def report(
    run: Mapping[str, DataFrame] | Mapping[str, Mapping[str, DataFrame]], groups: Sequence[str] = (), title: str = ""
) -> str:
    """Draw the page of a run: of an audit, it begins with what to do and lists every group.

    ``run`` is what ``audit``, ``simulate`` or ``predict`` returns, or output tables by name, such as those that an
    earlier session saved; or several runs by name, which the page then compares. ``groups`` are those whose details and
    timelines are shown; by default, those that matter most. Only aggregates and these groups are collected.

    The result is HTML: the last line of a cell shows it in Jupyter and VS Code, ``displayHTML`` in Databricks.

    Raises UserError for a table that is no output table or lacks columns, for a group that no table has, and without
    the libraries that draw pages.

    >>> from rebalance_sim import audit
    >>> report(audit(members, topics)).startswith('<iframe title="Consumer groups: what to do"')
    True
    """
    try:
        from rebalance_sim.report import notebook  # noqa: PLC0415 (needs optional dependencies)
    except ImportError as missing:
        raise _needs("report", missing) from missing
    several = all(isinstance(each, Mapping) for each in run.values())
    runs = cast(Mapping[str, Mapping[str, DataFrame]], run if several and run else {"run": run})
    return notebook.whole_page(runs, tuple(groups), title)


def show(rows: DataFrame | Mapping[str, DataFrame], groups: str | Sequence[str] = ()) -> str:
    """Draw a part of the page: a timeline, a comparison of assignors, assignments, or the details of audited groups.

    ``rows`` is a table that ``timeline``, ``compare``, ``assign`` or another function returns, with all its columns, or
    what ``audit``, ``simulate`` or ``predict`` returns. ``groups`` names one or several groups; of an audit, at least
    one. The result and the errors are those of ``report``.

    >>> from rebalance_sim import audit, timeline
    >>> show(members.transform(timeline("leave", topics))).startswith('<iframe title="timeline"')
    True
    >>> show(audit(members, topics), "grup")
    Traceback (most recent call last):
    rebalance_sim.errors.UserError: show: no table has a group 'grup'; nearest: 'group'
    """
    try:
        from rebalance_sim.report import notebook  # noqa: PLC0415 (needs optional dependencies)
    except ImportError as missing:
        raise _needs("show", missing) from missing
    return notebook.part(rows, (groups,) if isinstance(groups, str) else tuple(groups))


def _needs(name: str, missing: ImportError) -> UserError:
    install = "pip install 'rebalance-sim[report]'"
    return UserError(f"{name}: needs vl-convert and Jinja2, and {missing.name} is missing: {install}")
