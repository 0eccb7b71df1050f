"""What every job does with rows that cannot be used."""

from collections import Counter

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rebalance_sim.engine.inputs import kind_of_reason
from rebalance_sim.engine.runs import Run
from rebalance_sim.errors import UserError
from rebalance_sim.tables import REJECTS


def write_rejects(run: Run, rejects: DataFrame, on_bad_input: str) -> Counter[str]:
    """Write the rejects table; return the rows by table. Raises UserError if there are any and they are to stop it."""
    written = run.write(REJECTS.name, rejects)
    by_table: Counter[str] = Counter()
    for row in written.groupBy("table").count().collect():
        by_table[row["table"]] = row["count"]
    if by_table and on_bad_input == "fail":
        first = written.orderBy("table", "cluster", "group_id", "reason", "row").first()
        assert first is not None
        raise UserError(
            f"{first['table']}: {first['reason']}: {first['row'][:200]} "
            f"(one of {by_table.total()} rejected rows; see {run.out}/{REJECTS.name})"
        )
    return by_table


def rejects_summary(written: DataFrame) -> list[str]:
    """Count the rejected rows by table and by kind of reason, most first."""
    rows = (
        written.groupBy("table", kind_of_reason("reason").alias("kind"))
        .count()
        .orderBy(F.desc("count"), "table", "kind")
        .limit(5)
    )
    return [f"  {row['count']:>9,} {row['table']}: {row['kind']}" for row in rows.collect()]
