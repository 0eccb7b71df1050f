"""Pages, and parts of them, that a notebook shows inline: drawn from DataFrames, each in a frame of its own."""

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from html import escape

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rebalance_sim.api.audit import Audit, AuditOutcomes
from rebalance_sim.defaults import AUDIT_TITLE, TITLE
from rebalance_sim.engine.groups.comparison import changes, distributions, strategies_long
from rebalance_sim.engine.runs.assumed import LIBRARY, RELEASE
from rebalance_sim.engine.runs.session_runs import SessionRun, check_tables, of_groups
from rebalance_sim.engine.spark.caching import caching
from rebalance_sim.engine.tables.inputs import fit, usable
from rebalance_sim.engine.tables.outcomes import Outcomes
from rebalance_sim.errors import UserError
from rebalance_sim.releases import untested
from rebalance_sim.report.contents import Page, group_page, nearest, page, tables_page
from rebalance_sim.report.page import Block, Chart, Rollout, Table
from rebalance_sim.report.rendering import SCRIPT, render
from rebalance_sim.report.text import printable
from rebalance_sim.tables import (
    BALANCE,
    CHANGES,
    CLUSTERS,
    COMPARISON,
    DISTRIBUTIONS,
    FINDINGS,
    MEMBERS,
    MISS_CLUSTERS,
    MISS_TOPICS,
    OUTPUTS,
    TOPICS,
    VERDICTS,
)
from rebalance_sim.wording import plural

Run = Mapping[str, DataFrame]
"""The output tables of one run, by name."""
_TEMPLATE, _SCRIPTS = "frame.html.j2", (SCRIPT, "frame.js")
_PAGE_HEIGHT, _MOST_HEIGHT = 820, 900
"""Heights of frames, in pixels."""
_TITLE_HEIGHT, _CHART_HEIGHT, _ROW_HEIGHT, _LANE_HEIGHT = 130, 420, 36, 24
_STYLE = "display:block;width:100%;height:{}px;border:1px solid #8886;border-radius:6px"


class Html(str):
    """HTML that a notebook shows: as the last line of a cell of Jupyter or VS Code, in Databricks by ``displayHTML``.

    It is one frame that loads nothing. Its styles and scripts do not reach the notebook, nor the notebook's the frame.
    """

    __slots__ = ()

    def _repr_html_(self) -> str:
        """Return the frame, as notebooks ask for it."""
        return str(self)

    def __repr__(self) -> str:
        return f"<{len(self):,} characters of HTML, which a notebook shows>"


def whole_page(runs: Mapping[str, Run], groups: Sequence[str], title: str) -> Html:
    """Draw the page of runs, by name."""
    for run in runs.values():
        _check("report", run)
    rules = {name: _rules(run) for name, run in runs.items()}
    is_audit = any(FINDINGS.name in run for run in runs.values())
    with caching(rows for run in runs.values() for rows in _uncached(run)):
        _check_groups("report", [rows for run in runs.values() for rows in run.values()], groups)
        of_session = [_session_run(name, run, rules[name]) for name, run in runs.items()]
        named = title or (AUDIT_TITLE if is_audit else TITLE)
        drawn = page(of_session, named, groups, lambda _: None, lambda run: rules[run.folder])
        return _framed(drawn, _PAGE_HEIGHT)


def part(given: DataFrame | Run, groups: Sequence[str]) -> Html:
    """Draw the details of groups of an audit, or the sections about other tables."""
    run = {_table_of(given): given} if isinstance(given, DataFrame) else given
    _check("show", run)
    if FINDINGS.name in run and not groups:
        raise UserError("show: name a group of the audit, such as show(audited, 'billing'), or draw all with report")
    name, rules = ", ".join(groups) or ", ".join(run), _rules(run)
    with caching(_uncached(run)):
        _check_groups("show", list(run.values()), groups)
        of_session = _session_run(name, of_groups(run, groups) if groups else _with_derived(run), rules, groups)
        if FINDINGS.name in run:
            return _framed(group_page(of_session, name, groups, lambda _: rules), _MOST_HEIGHT)
        drawn = tables_page(of_session, name, groups)
        if not drawn.sections:
            rows = ", ".join(f"{table} has {plural(number, 'row')}" for table, number in of_session.written.items())
            raise UserError(f"show: there is nothing to draw: {rows}")
        return _framed(drawn, _height(drawn))


def _check(what: str, run: Run) -> None:
    """Raise UserError, naming the function ``what``, for tables that cannot be drawn."""
    check_tables(what, run)
    if FINDINGS.name in run and VERDICTS.name not in run:
        raise UserError(f"{what}: findings are drawn together with verdicts, which name every group: give both tables")


def _rules(run: Run) -> Audit | None:
    return run.rules if isinstance(run, AuditOutcomes) else None


def _uncached(run: Run) -> Iterable[DataFrame]:
    """Return the tables that Spark computes each time they are read; those of a run that was just computed are kept."""
    return () if isinstance(run, Outcomes) else run.values()


def _framed(drawn: Page, height: int) -> Html:
    html = escape(render(drawn, _TEMPLATE, _SCRIPTS).html)
    title, style = escape(printable(drawn.title)), _STYLE.format(height)
    fits = ' data-fits="1"' if drawn.is_part else ""
    return Html(f'<iframe title="{title}"{fits} style="{style}" srcdoc="{html}"></iframe>')


def _session_run(name: str, run: Run, rules: Audit | None, groups: Sequence[str] = ()) -> SessionRun:
    """Return tables as a run, with what is known of the audit that computed them."""
    tables = dict(run.items())
    if rules is None:
        return SessionRun.of(name, tables)
    release = rules.clusters.others.version
    members = usable(fit(rules.members, MEMBERS))
    if groups:
        members = members.where(F.col("group_id").isin(*groups))
    number, unknown = members.agg(F.count("*"), F.count_if(F.col("client_library").isNull())).collect()[0]
    options = {"kafka_version": release, "scenario": rules.scenario.name}
    if rules.clusters.named:
        options[CLUSTERS.name] = CLUSTERS.name
    assumptions = [
        *([] if rules.is_release_given else [RELEASE.format(release)]),
        *filter(None, (untested(brokers.version) for brokers in rules.clusters.kinds)),
        *([LIBRARY.format(plural(unknown, "member"))] if unknown else []),
    ]
    used = {MEMBERS.name: number}
    if isinstance(run, AuditOutcomes) and run.used_topics is not None:
        used[TOPICS.name] = run.used_topics
    return SessionRun.of(name, tables, options, used, assumptions)


def _with_derived(run: Run) -> Run:
    """Add to a comparison of assignors what the page shows of one."""
    if COMPARISON.name not in run or BALANCE.name in run:
        return run
    compared = run[COMPARISON.name]
    return {
        **run,
        BALANCE.name: strategies_long(compared),
        DISTRIBUTIONS.name: distributions(compared),
        CHANGES.name: changes()(compared),
    }


def _table_of(rows: DataFrame) -> str:
    """Return the name of the output table whose columns a DataFrame has; inputs that ``history`` writes are none."""
    fitting = [
        table
        for table in OUTPUTS.values()
        if set(table.names) <= set(rows.columns) and table.name not in (MISS_TOPICS.name, MISS_CLUSTERS.name)
    ]
    if not fitting:
        raise UserError(
            f"show: a DataFrame with the columns {', '.join(rows.columns)} is no output table; allowed: all columns of "
            "a table that timeline, compare, assign or another function returns"
        )
    return max(fitting, key=lambda table: len(table.names)).name


def _check_groups(what: str, tables: Sequence[DataFrame], groups: Sequence[str]) -> None:
    """Raise UserError for a group that no table has."""
    if not groups:
        return
    with_groups = [rows.select("group_id") for rows in tables if "group_id" in rows.columns]
    if not with_groups:
        raise UserError(f"{what}: the table is not about groups, so {groups[0]!r} selects nothing")
    named = reduce(DataFrame.unionAll, with_groups)
    found = {row[0] for row in named.where(F.col("group_id").isin(*groups)).distinct().collect()}
    for group in groups:
        if group not in found:
            raise UserError(f"{what}: no table has a group {group!r}; nearest: {nearest([named], group)}")


def _height(drawn: Page) -> int:
    """Return about the height that a part of a page needs, for browsers that do not let it choose its own."""
    blocks = [block for section in drawn.sections for part in section.parts for block in part.blocks]
    return min(_TITLE_HEIGHT * len(drawn.sections) + sum(map(_block_height, blocks)), _MOST_HEIGHT)


def _block_height(block: Block) -> int:
    match block:
        case Chart():
            return _CHART_HEIGHT
        case Table():
            return _ROW_HEIGHT * (len(block.rows) + 2)
        case Rollout():
            return _TITLE_HEIGHT + _LANE_HEIGHT * sum(len(each.lanes) + 2 for each in block.alternatives)
    return _ROW_HEIGHT
