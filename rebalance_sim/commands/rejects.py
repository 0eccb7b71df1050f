"""Rows that cannot be used: every job writes them to ``rejects``, or stops."""

from collections import Counter

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rebalance_sim.engine.runs.run import Run
from rebalance_sim.engine.tables.inputs import kind_of_reason
from rebalance_sim.errors import UserError
from rebalance_sim.tables import REJECTS


def write_rejects(run: Run, rejects: DataFrame, on_bad_input: str) -> Counter[str]:
    """Write the rejects table and return the number of its rows by input table.

    Raises UserError if there are any and ``on_bad_input`` is ``fail``.
    """
    written = run.write(REJECTS.name, rejects)
    by_table: Counter[str] = Counter()
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


def rejects_summary(written: DataFrame) -> list[str]:
    """Return the number of rejected rows by table and kind of reason, the largest first."""
    rows = (
        written.groupBy("table", kind_of_reason("reason").alias("kind"))
        .count()
        .orderBy(F.desc("count"), "table", "kind")
        .limit(5)
    )
    return [f"  {row['table']}: {row['kind']} (rows: {row['count']:,})" for row in rows.collect()]
