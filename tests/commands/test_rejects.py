"""What jobs print about rows that cannot be used."""

from pyspark.sql import SparkSession

from rebalance_sim.commands.rejects import SHOWN_KINDS, rejects_summary
from rebalance_sim.tables import REJECTS
from tests.support.rows import table


def test_every_kind_of_reject_is_printed_with_its_values(spark: SparkSession) -> None:
    """A name is printed as it is, but for invisible characters."""
    twice = {"table": "members", "group_id": "g", "reason": "member_id 'a\n' is given 2 times"}
    rows = [
        *(twice | {"cluster": cluster} for cluster in ("one", "two")),
        twice | {"group_id": "", "reason": "member_id 'b' is given 3 times"},
        {"table": "topics", "reason": "partitions is -2; allowed: 0 to 1000000"},
        {"table": "topics", "reason": f"topic_id '{'x' * 500}' is not a Uuid"},
    ]
    lines = rejects_summary(table(spark, REJECTS, rows))
    assert lines[:2] == [
        r"  members: member_id 'a\n' is given 2 times (3 rows like this)",
        "  topics: partitions is -2; allowed: 0 to 1000000 (1 row)",
    ]
    assert lines[2].startswith("  topics: topic_id 'xxx")
    assert lines[2].endswith("xxx… (1 row)")
    assert len(lines[2]) < 250
    assert lines[3:] == ["  2 groups have rejected members, which predictions leave out"]


def test_more_kinds_are_counted(spark: SparkSession) -> None:
    names = "abcdefghijklm"
    rows = [{"table": "topics", "reason": f"{name} is null"} for name in names for _ in range(2)]
    lines = rejects_summary(table(spark, REJECTS, rows))
    assert lines[0] == "  topics: a is null (2 rows)"
    assert len(lines) == SHOWN_KINDS + 1
    assert lines[-1] == "  and 3 more reasons (6 rows; see rejects)"
