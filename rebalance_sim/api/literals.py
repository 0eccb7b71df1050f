"""Tables from literals, to try one group in a shell."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkRuntimeError
from pyspark.sql import DataFrame, SparkSession

from rebalance_sim.engine.tables.arrow import arrow_type
from rebalance_sim.errors import UserError, check_choice
from rebalance_sim.sources.assumptions import JAVA_DEFAULT_PROTOCOLS
from rebalance_sim.tables import DEFAULT_CLUSTER, DEFAULT_PROTOCOL_TYPE, MEMBERS, TOPICS, Column, Table


def topics_table(topics: Mapping[str, int | Mapping[str, Any]]) -> DataFrame:
    """Return a topics table from topics with their number of partitions, or with their columns.

    Raises UserError for values that do not fit the table, and if no Spark session is running.

    >>> topics_table({"orders": 6, "refunds": {"partitions": 1, "racks": [["a", "b"]]}}).select(
    ...     "topic", "partitions", "racks"
    ... ).show()
    +-------+----------+--------+
    |  topic|partitions|   racks|
    +-------+----------+--------+
    | orders|         6|    NULL|
    |refunds|         1|[[a, b]]|
    +-------+----------+--------+
    <BLANKLINE>
    """
    rows = {name: given if isinstance(given, Mapping) else {"partitions": given} for name, given in topics.items()}
    return _table(TOPICS, "topic", rows, {"cluster": DEFAULT_CLUSTER})


def group(members: Mapping[str, Mapping[str, Any]], group_id: str = "group", **for_all: Any) -> DataFrame:
    """Return the members table of one group, from member ids with their columns.

    Members join in the given order. ``for_all`` has columns that are the same for all members. ``protocols`` are the
    Java client's default unless given. ``owned`` may be given by topic: ``{"orders": [0, 1]}``.

    Raises UserError for values that do not fit the table, for a member without a subscription, and if no Spark session
    is running.

    >>> c1 = {"protocols": ["sticky"], "owned": {"orders": [0, 1]}}
    >>> members = group({"c1": c1, "c2": {}}, subscription=["orders"])
    >>> members.select("group_id", "member_id", "protocols", "subscription", "owned").show(truncate=False)
    +--------+---------+---------------------------+------------+--------------------------+
    |group_id|member_id|protocols                  |subscription|owned                     |
    +--------+---------+---------------------------+------------+--------------------------+
    |group   |c1       |[sticky]                   |[orders]    |[{orders, 0}, {orders, 1}]|
    |group   |c2       |[range, cooperative-sticky]|[orders]    |NULL                      |
    +--------+---------+---------------------------+------------+--------------------------+
    <BLANKLINE>
    """
    usual = {"cluster": DEFAULT_CLUSTER, "protocol_type": DEFAULT_PROTOCOL_TYPE, "protocols": JAVA_DEFAULT_PROTOCOLS}
    rows = {
        member_id: usual | {"group_id": group_id, "join_order": place} | for_all | dict(given)
        for place, (member_id, given) in enumerate(members.items())
    }
    return _table(MEMBERS, "member_id", {member_id: _with_owned(row) for member_id, row in rows.items()}, {})


def _with_owned(row: dict[str, Any]) -> dict[str, Any]:
    """Return the row with ``owned`` as in the table, if it is given by topic."""
    owned = row.get("owned")
    if not isinstance(owned, Mapping):
        return row
    return row | {"owned": [{"topic": topic, "partition": n} for topic, numbers in owned.items() for n in numbers]}


def _table(table: Table, key: str, rows: Mapping[str, Mapping[str, Any]], usual: Mapping[str, Any]) -> DataFrame:
    for name, row in rows.items():
        for column in row:
            check_choice(f"{key} {name!r}: column", column, table.names)
        missing = [column.name for column in table.columns if column.required and column.name not in {key, *row}]
        if missing:
            raise UserError(f"{key} {name!r}: {missing[0]} is missing")
    full = [{**usual, key: name, **row} for name, row in rows.items()]
    types = [field.type for field in arrow_type(table.schema)]
    columns = [_values(column, kind, key, full) for column, kind in zip(table.columns, types, strict=True)]
    return _session().createDataFrame(pa.table(columns, names=table.names))


def _values(column: Column, kind: pa.DataType, key: str, rows: Sequence[Mapping[str, Any]]) -> pa.Array:
    values = [row.get(column.name) for row in rows]
    for row, value in zip(rows, values, strict=True):
        if not _holds(kind, value):
            expected = column.type.simpleString()
            raise UserError(f"{key} {row[key]!r}: {column.name} is {value!r}, expected {expected}")
    return pa.array(values, kind)


def _holds(kind: pa.DataType, value: object) -> bool:
    if isinstance(value, str) and pa.types.is_list(kind):
        return False  # Arrow would read it as a list of letters.
    try:
        pa.array([value], kind)
    except (pa.ArrowException, TypeError, OverflowError):
        return False
    return True


def _session() -> SparkSession:
    try:
        return SparkSession.active()
    except PySparkRuntimeError as problem:
        raise UserError("no Spark session is running; SparkSession.builder.getOrCreate() starts one") from problem
