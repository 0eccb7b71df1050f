"""Fits input tables to their schemas and finds the rows that cannot be used."""

from collections.abc import Sequence
from difflib import get_close_matches
from functools import reduce

from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, DecimalType, FractionalType, IntegralType, StringType, StructType

from rebalance_sim.engine.spark.driver_rows import no_rows
from rebalance_sim.engine.tables.topic_ids import UUID_PATTERN
from rebalance_sim.errors import UserError
from rebalance_sim.kafka.coordinator.errors import Errors
from rebalance_sim.kafka.partitioners.clients import CLIENTS
from rebalance_sim.tables import (
    EVENTS,
    INPUTS,
    MAX_PARTITIONS,
    MEMBERS,
    OFFSETS,
    OUTPUTS,
    RECORDS,
    REJECTS,
    TOPICS,
    TOPICS_AFTER,
    Table,
)
from rebalance_sim.tables import Column as TableColumn

LIST_SEPARATOR = ";"
"""Between the items of a list in a text column, as in CSV."""
_NO_LIST_OF_NAMES = r"""[,\[\]{}"']"""
"""Characters of text that has another separator, or is JSON or Python; no topic has them, and no assignor."""
REASON = "_reason"
"""Column of a fitted row: why it cannot be used; null if it can."""
_NO_UUID = "is not a Uuid; allowed: 22 characters of A to Z, a to z, 0 to 9, - and _"


def first_line(problem: Exception) -> str:
    """Return the line of an error that a user needs."""
    message = problem.java_exception.getMessage() if isinstance(problem, Py4JJavaError) else problem
    return str(message).strip().partition("\n")[0]


def fit(rows: DataFrame, table: Table) -> DataFrame:
    """Cast rows to a table's columns, add missing columns, and add a reason to rows that cannot be used.

    The reason is in the extra column ``REASON``, the original row as JSON in ``_row``; ``usable`` and ``rejected``
    select the two kinds. Raises UserError for a column that is missing or whose type cannot be cast.
    """
    _check_columns(rows.columns, table)
    values = {column.name: _cast(rows, column, table) for column in table.columns}
    types = {field.name: field.dataType for field in rows.schema}
    cast = [column for column in table.columns if types.get(column.name, column.type) != column.type]
    reasons = [_cast_reason(rows, column, values[column.name]) for column in cast]
    reasons += [_null_reason(column, values[column.name]) for column in table.columns if column.required]
    reasons += _CHECKS.get(table.name, lambda _: [])(values)
    return rows.select(
        *[value.alias(name) for name, value in values.items()],
        F.coalesce(*reasons).alias(REASON),
        F.to_json(F.struct(*[F.col(f"`{name}`") for name in rows.columns])).alias("_row"),
    )


def _check_columns(given: Sequence[str], table: Table) -> None:
    """Raise UserError for a missing column, with a similar one, or with the table that the columns are of."""
    missing = next((column.name for column in table.columns if column.required and column.name not in given), None)
    if missing is None:
        return
    available = ", ".join(given) or "none"
    for other in (INPUTS | OUTPUTS).values():
        required = {column.name for column in other.columns if column.required or other.name in OUTPUTS}
        if required <= set(given) <= set(other.names):
            raise UserError(
                f"{table.name}: column {missing!r} is missing; available: {available}. This looks like the table "
                f"{other.name}"
            )
    similar = get_close_matches(missing, [name for name in given if name not in table.names], n=1)
    hint = f" (did you mean {similar[0]!r}?)" if similar else ""
    raise UserError(f"{table.name}: column {missing!r} is missing{hint}; available: {available}")


def usable(fitted: DataFrame) -> DataFrame:
    """Select the rows that can be used."""
    return fitted.where(F.col(REASON).isNull()).drop(REASON, "_row")


def rejected(fitted: DataFrame, table: Table) -> DataFrame:
    """Select the rows that cannot be used, as rejects."""
    group = F.col("group_id") if "group_id" in table.names else F.lit(None).cast("string")
    return fitted.where(F.col(REASON).isNotNull()).select(
        F.lit(table.name).alias("table"),
        "cluster",
        group.alias("group_id"),
        F.col("_row").alias("row"),
        F.col(REASON).alias("reason"),
    )


def fit_topics(rows: DataFrame, table: Table = TOPICS) -> DataFrame:
    """Fit a topics table. Of a repeated topic, the first row by content is used."""
    again = F.concat(F.lit("topic '"), F.col("topic"), F.lit("' is given more than once; one row is used"))
    return _used_once(fit(rows, table), ["cluster", "topic"], again)


def fit_offsets(rows: DataFrame) -> DataFrame:
    """Fit an offsets table. Of a group's repeated partition, the first row by content is used."""
    partition = F.concat_ws("-", "topic", "partition")
    again = F.concat(F.lit("partition '"), partition, F.lit("' is given more than once in its group; one row is used"))
    return _used_once(fit(rows, OFFSETS), ["cluster", "group_id", "topic", "partition"], again)


def kind_of_reason(name: str) -> Column:
    r"""Return the kind of a reason or an error: without the names and numbers that differ from row to row.

    >>> rows = spark.createDataFrame([("topic 'a' has 3 partitions (KIP-848)",)], "reason string")
    >>> rows.select(kind_of_reason("reason").alias("kind")).first()["kind"]
    'topic … has … partitions (KIP-848)'
    """
    return F.regexp_replace(name, r"'[^']*'|(?<!KIP-)\b\d+", "…")


def groups_with_rejected_members(rejects: DataFrame) -> DataFrame:
    """Return the groups of which rejects have members: ``cluster, group_id``."""
    of_members = (F.col("table") == MEMBERS.name) & (F.col("group_id") != "")
    return rejects.where(of_members).select("cluster", "group_id").distinct()


def _used_once(fitted: DataFrame, keys: list[str], again: Column) -> DataFrame:
    """Use the first, by content, of the usable rows with the same keys; ``again`` is the reason for the others."""
    same = Window.partitionBy(*keys, F.col(REASON).isNull()).orderBy("_row")
    return (
        fitted.withColumn("_nth", F.row_number().over(same))
        .withColumn(REASON, F.coalesce(REASON, F.when(F.col("_nth") > 1, again)))
        .drop("_nth")
    )


def no_rejects(spark: SparkSession) -> DataFrame:
    """Return an empty rejects table."""
    return no_rows(spark, REJECTS.schema)


def _cast(rows: DataFrame, column: TableColumn, table: Table) -> Column:
    """Return the column in its declared type; values that do not fit become null."""
    if column.name not in rows.columns:
        return F.lit(column.default).cast(column.type)
    given = rows.schema[column.name].dataType
    value = F.col(f"`{column.name}`")
    if given != column.type:
        value = _converted(value, given, column.type)
        try:
            rows.select(value)
        except AnalysisException as problem:
            raise UserError(
                f"{table.name}: column {column.name!r} is {given.simpleString()}, expected {column.type.simpleString()}"
            ) from problem
    return value if column.default is None else F.coalesce(value, F.lit(column.default))


def _converted(value: Column, given: DataType, wanted: DataType) -> Column:
    if _is_list_as_text(given, wanted):
        items = F.split(F.trim(value), rf"\s*{LIST_SEPARATOR}\s*")
        return F.when(F.trim(value) == "", F.array().cast(wanted)).otherwise(items)
    names = _struct_names(wanted)
    if names and _struct_names(given):
        # Spark casts structs by position, and its JSON reader sorts their fields by name. So they are picked by name:
        # a missing field is then a type error, and an additional one is ignored.
        value = F.transform(value, lambda item: F.when(item.isNotNull(), F.struct(*[item[name] for name in names])))
    if isinstance(given, FractionalType | DecimalType) and isinstance(wanted, IntegralType):
        return F.when(value == F.floor(value), value.try_cast(wanted))
    return value.try_cast(wanted)


def _is_list_as_text(given: DataType, wanted: DataType) -> bool:
    """Return whether a list of names is given as text."""
    return (
        isinstance(given, StringType) and isinstance(wanted, ArrayType) and isinstance(wanted.elementType, StringType)
    )


def _struct_names(of: DataType) -> list[str]:
    """Return the field names of an array of structs; none for other types."""
    if isinstance(of, ArrayType) and isinstance(of.elementType, StructType):
        names: list[str] = of.elementType.names
        return names
    return []


def _cast_reason(rows: DataFrame, column: TableColumn, value: Column) -> Column:
    given = rows.schema[column.name].dataType
    original = F.col(f"`{column.name}`")
    if _is_list_as_text(given, column.type):
        no_list = F.lit(f" is not a list of names with {LIST_SEPARATOR!r} between them")
        return F.when(original.rlike(_NO_LIST_OF_NAMES), F.concat(F.lit(f"{column.name}: "), original, no_list))
    reason = F.concat(
        F.lit(f"{column.name}: "), original.cast("string"), F.lit(f" is not {column.type.simpleString()}")
    )
    return F.when(original.isNotNull() & value.isNull(), reason)


def _null_reason(column: TableColumn, value: Column) -> Column:
    if isinstance(column.type, StringType):
        return F.when(F.coalesce(value, F.lit("")) == "", F.lit(f"{column.name} is null or empty"))
    return F.when(value.isNull(), F.lit(f"{column.name} is null"))


def _topic_reasons(values: dict[str, Column]) -> list[Column]:
    partitions, racks, topic_id = values["partitions"], values["racks"], values["topic_id"]
    out_of_range = F.concat(
        F.lit("partitions is "), partitions.cast("string"), F.lit(f"; allowed: 0 to {MAX_PARTITIONS}")
    )
    mismatch = F.concat(
        F.lit("racks has "),
        F.size(racks).cast("string"),
        F.lit(" lists for "),
        partitions.cast("string"),
        F.lit(" partitions"),
    )
    return [
        F.when((partitions < 0) | (partitions > MAX_PARTITIONS), out_of_range),
        F.when(racks.isNotNull() & (F.size(racks) != partitions), mismatch),
        F.when(~topic_id.rlike(UUID_PATTERN), F.concat(F.lit("topic_id '"), topic_id, F.lit(f"' {_NO_UUID}"))),
    ]


def _topic_after_reasons(values: dict[str, Column]) -> list[Column]:
    none = F.when(values["partitions"] == 0, F.lit(f"partitions is 0; allowed: 1 to {MAX_PARTITIONS}"))
    return [*_topic_reasons(values), none]


def _member_reasons(values: dict[str, Column]) -> list[Column]:
    return [F.when(values["protocol_type"] == "", F.lit("protocol_type is empty"))]


def _offset_reasons(values: dict[str, Column]) -> list[Column]:
    reasons = []
    # Kafka answers -1 for a partition without a committed offset (OffsetFetchResponse.INVALID_OFFSET).
    for name, least in (("partition", 0), ("committed", -1), ("end", 0)):
        too_small = F.concat(F.lit(f"{name} is "), values[name].cast("string"), F.lit(f"; allowed: {least} or more"))
        reasons.append(F.when(values[name] < least, too_small))
    return reasons


def _record_reasons(values: dict[str, Column]) -> list[Column]:
    client, value_bytes = values["client"], values["value_bytes"]
    unknown = F.concat(F.lit("client '"), client, F.lit(f"' is not known; allowed: {', '.join(CLIENTS)}"))
    negative = F.concat(F.lit("value_bytes is "), value_bytes.cast("string"), F.lit("; allowed: 0 or more"))
    return [F.when(~client.isin(*CLIENTS), unknown), F.when(value_bytes < 0, negative)]


_EVENT_COLUMNS = {
    "join": ("member_id", "subscription", "protocols"),
    "leave": ("member_id",),
    "crash": ("member_id",),
    "restart": ("member_id", "down_ms"),
    "stall": ("member_id", "for_ms"),
    "subscribe": ("member_id", "subscription"),
    "protocols": ("member_id", "protocols"),
    "grow": ("topic", "partitions"),
    "move-coordinator": ("down_ms",),
    "fail-store": ("error",),
}
"""The columns that each event requires."""


def _event_reasons(values: dict[str, Column]) -> list[Column]:
    event, error = values["event"], values["error"]
    unknown = F.concat(F.lit("event '"), event, F.lit(f"' is not known; allowed: {', '.join(_EVENT_COLUMNS)}"))
    reasons = [F.when(~event.isin(*_EVENT_COLUMNS), unknown)]
    for name, columns in _EVENT_COLUMNS.items():
        for of in columns:
            reasons.append(F.when((event == name) & _is_empty(of, values[of]), F.lit(f"{name}: {of} is missing")))
    for of in ("at_ms", "down_ms", "for_ms", "partitions"):
        negative = F.concat(F.lit(f"{of} is "), values[of].cast("string"), F.lit("; allowed: 0 or more"))
        reasons.append(F.when(values[of] < 0, negative))
    errors = [known.name for known in Errors]
    not_an_error = F.concat(F.lit("error '"), error, F.lit("' is not an error of Kafka that a group can get"))
    return [*reasons, F.when(~error.isin(*errors), not_an_error)]


def _is_empty(name: str, value: Column) -> Column:
    """Return whether an event's column is empty: null, an empty list, or a list with an empty name."""
    of = EVENTS.schema[name].dataType
    if isinstance(of, ArrayType):
        return F.coalesce(F.size(value) == 0, F.lit(True)) | F.exists(
            value, lambda item: F.coalesce(item, F.lit("")) == ""
        )
    return F.coalesce(value.cast("string"), F.lit("")) == ""


_CHECKS = {
    EVENTS.name: _event_reasons,
    TOPICS.name: _topic_reasons,
    TOPICS_AFTER.name: _topic_after_reasons,
    MEMBERS.name: _member_reasons,
    OFFSETS.name: _offset_reasons,
    RECORDS.name: _record_reasons,
}


def union(tables: list[DataFrame]) -> DataFrame:
    """Return the rows of several tables with the same columns."""
    return reduce(DataFrame.unionByName, tables)
