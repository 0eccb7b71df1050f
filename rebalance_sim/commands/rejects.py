"""Rows that cannot be used: every job writes them to ``rejects``, or stops."""

from collections import Counter
from collections.abc import Mapping

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from rebalance_sim.engine.runs.run import Run
from rebalance_sim.engine.tables.inputs import groups_with_rejected_members, kind_of_reason
from rebalance_sim.errors import UserError
from rebalance_sim.tables import REJECTS, Table
from rebalance_sim.wording import escaped, plural

SHOWN_KINDS = 10
_SHOWN_CHARACTERS = 200
_NONE: Counter[str] = Counter()


def write_rejects(run: Run, rejects: DataFrame, on_bad_input: str) -> Counter[str]:
    """Write the rejects table and return the number of its rows by input table.

    Raises UserError if there are any and ``on_bad_input`` is ``fail``.
    """
    written = run.write(REJECTS.name, rejects)
    by_table: Counter[str] = Counter()
    if run.reads_rows and not run.counts["out"][REJECTS.name]:
        return by_table
    for row in written.groupBy("table").count().collect():
        by_table[row["table"]] = row["count"]
    if by_table and on_bad_input == "fail":
        first = written.orderBy("table", "cluster", "group_id", "reason", "row").first()
        assert first is not None
        raise UserError(
            f"{first['table']}: {first['reason']}: {first['row'][:200]} "
            f"(rejected rows: {by_table.total():,}; see {run.out}/{REJECTS.name})"
        )
    return by_table


def count_given(
    run: Run, given: Mapping[Table, DataFrame | None], rejected: Mapping[str, int], unread: Mapping[str, int] = _NONE
) -> None:
    """Record the rows of the input tables that are given: all that are not rejected are used.

    ``unread`` are the numbers of further rows, which could not be read; they are among the ``rejected``.
    """
    for table, rows in given.items():
        if rows is not None:
            count = run.number_of(rows) + unread[table.name]
            run.count_rows(table.name, count, count - rejected[table.name], rejected[table.name])


def rejects_summary(written: DataFrame) -> list[str]:
    """Return the kinds of rejected rows, the most frequent first, each with a reason; and the groups of members."""
    kinds = (
        written.groupBy("table", kind_of_reason("reason").alias("kind"))
        .agg(F.count("*").alias("rows"), F.min("reason").alias("reason"), F.max("reason").alias("last"))
        .orderBy(F.desc("rows"), "table", "kind")
        .collect()
    )
    more = kinds[SHOWN_KINDS:]
    rows = plural(sum(kind["rows"] for kind in more), "row")
    groups = written.transform(groups_with_rejected_members).count()
    return [
        *map(_kind_line, kinds[:SHOWN_KINDS]),
        *([f"  and {plural(len(more), 'more reason')} ({rows}; see {REJECTS.name})"] if more else []),
        *(
            [f"  {plural(groups, 'group has', 'groups have')} rejected members, which predictions leave out"]
            * (groups > 0)
        ),
    ]


def _kind_line(kind: Row) -> str:
    """Return a kind of reason by its first example, with the values of that row."""
    example = escaped(f"{kind['table']}: {kind['reason']}")
    if len(example) > _SHOWN_CHARACTERS:
        example = example[: _SHOWN_CHARACTERS - 1] + "…"
    rows = f"{kind['rows']:,} rows like this" if kind["reason"] != kind["last"] else plural(kind["rows"], "row")
    return f"  {example} ({rows})"
