"""Fits input tables to their schemas and finds the rows that cannot be used."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from functools import reduce

from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DecimalType,
    FractionalType,
    IntegralType,
    MapType,
    StringType,
    StructType,
)

from rebalance_sim.engine.spark.driver_rows import DriverRows, no_rows, once, where_null
from rebalance_sim.engine.spark.sql_text import literal, message, one_of, when
from rebalance_sim.engine.tables.topic_ids import UUID_PATTERN
from rebalance_sim.errors import UserError
from rebalance_sim.kafka.coordinator.errors import Errors
from rebalance_sim.kafka.history.timings import Bound, Timing
from rebalance_sim.kafka.partitioners.clients import CLIENTS
from rebalance_sim.kafka.wire.connect_protocol import CONNECT_PROTOCOLS
from rebalance_sim.tables import (
    CLUSTERS,
    CONNECTORS,
    EVENTS,
    INPUTS,
    KEYS,
    MAX_PARTITIONS,
    MEMBERS,
    OFFSETS,
    OUTPUTS,
    RECORDS,
    REJECTS,
    STREAMS_MEMBERS,
    SUBTOPOLOGIES,
    TIMINGS,
    TOPICS,
    TOPICS_AFTER,
    WORKERS,
    Table,
)
from rebalance_sim.tables import Column as TableColumn

LIST_SEPARATOR = ";"
"""Separates the items of a list in a text column, as in CSV."""
_BETWEEN_ITEMS = rf"\s*{LIST_SEPARATOR}\s*"
_NO_LIST_OF_NAMES = r"""[,\[\]{}"']"""
"""Characters of text that has another separator, or is JSON or Python; names of topics and assignors have none."""
REASON = "_reason"
"""Column of a fitted row: why it cannot be used; null if it can."""
_NO_UUID = "is not a Uuid; allowed: 22 characters of A to Z, a to z, 0 to 9, - and _"


def first_line(problem: Exception) -> str:
    """Return the line of an error that a user needs."""
    message = problem.java_exception.getMessage() if isinstance(problem, Py4JJavaError) else problem
    return str(message).strip().partition("\n")[0]


@once
def fit(rows: DataFrame, table: Table) -> DataFrame:
    """Cast rows to a table's columns, add missing columns, and add a reason to rows that cannot be used.

    The reason is in the extra column ``REASON``, the original row as JSON in ``_row``; ``usable`` and ``rejected``
    select the two kinds. Raises UserError for a column that is missing or whose type cannot be cast.
    """
    return _fitted(rows, table)


def _fitted(rows: DataFrame, table: Table) -> DataFrame:
    types = {field.name: field.dataType for field in rows.schema}
    _check_columns(list(types), table)
    converted = [column for column in table.columns if types.get(column.name, column.type) != column.type]
    values = {column.name: _value(column, types.get(column.name)) for column in table.columns}
    reasons = [_cast_reason(column, types[column.name], values[column.name]) for column in converted]
    try:
        cast = rows.selectExpr(
            *[f"{value} AS `{name}`" for name, value in values.items()],
            f"coalesce({', '.join([*reasons, 'CAST(NULL AS STRING)'])}) AS {REASON}",
            "to_json(struct(*)) AS _row",
        )
    except AnalysisException as problem:
        _check_types(rows, table, converted, problem)
        raise
    reasons = [REASON, *[_null_reason(column) for column in table.columns if column.required]]
    reasons += _CHECKS.get(table.name, ())
    return cast.withColumn(REASON, F.expr(f"coalesce({', '.join(reasons)})"))


def _check_types(rows: DataFrame, table: Table, converted: Iterable[TableColumn], problem: AnalysisException) -> None:
    """Raise UserError for the first of the converted columns whose type cannot be cast."""
    for column in converted:
        actual, expected = rows.schema[column.name].dataType, column.type.simpleString()
        try:
            rows.selectExpr(_value(column, actual))
        except AnalysisException:
            raise UserError(
                f"{table.name}: column {column.name!r} is {actual.simpleString()}, expected {expected}"
            ) from problem


def _check_columns(present: Sequence[str], table: Table) -> None:
    """Raise UserError for a missing column, naming a similar column, or the table that the rows seem to be of."""
    missing = next((column.name for column in table.columns if column.required and column.name not in present), None)
    if missing is None:
        return
    available = ", ".join(present) or "none"
    for lookalike in (INPUTS | OUTPUTS).values():
        required = {column.name for column in lookalike.columns if column.required or lookalike.name in OUTPUTS}
        if required <= set(present) <= set(lookalike.names):
            raise UserError(
                f"{table.name}: column {missing!r} is missing; available: {available}. This looks like the table "
                f"{lookalike.name}"
            )
    similar = get_close_matches(missing, [name for name in present if name not in table.names], n=1)
    hint = f" (did you mean {similar[0]!r}?)" if similar else ""
    raise UserError(f"{table.name}: column {missing!r} is missing{hint}; available: {available}")


@once
def usable(fitted: DataFrame) -> DataFrame:
    """Select the rows that can be used."""
    return where_null(fitted, REASON).drop(REASON, "_row")


@once
def rejected(fitted: DataFrame, table: Table) -> DataFrame:
    """Select the rows that cannot be used, as rejects."""
    if isinstance(fitted, DriverRows) and where_null(fitted, REASON).count() == fitted.count():
        return no_rejects(fitted.sparkSession)
    group = "group_id" if "group_id" in table.names else "CAST(NULL AS STRING)"
    return fitted.where(f"{REASON} IS NOT NULL").selectExpr(
        f"{literal(table.name)} AS `table`", "cluster", f"{group} AS group_id", "_row AS row", f"{REASON} AS reason"
    )


@once
def fit_topics(rows: DataFrame, table: Table = TOPICS) -> DataFrame:
    """Fit a topics table. If a topic is repeated, its first row by content is used."""
    again = message("topic '{topic}' is given more than once; one row is used")
    return _used_once(_fitted(rows, table), table, "cluster, topic", again)


@once
def fit_offsets(rows: DataFrame) -> DataFrame:
    """Fit an offsets table. If a group's partition is repeated, its first row by content is used."""
    again = message("partition '{topic}-{partition}' is given more than once in its group; one row is used")
    return _used_once(_fitted(rows, OFFSETS), OFFSETS, "cluster, group_id, topic, partition", again)


def kind_of_reason(name: str) -> Column:
    r"""Return the kind of a reason or an error: without the names and numbers that differ from row to row.

    >>> rows = spark.createDataFrame([("topic 'a' has 3 partitions (KIP-848)",)], "reason string")
    >>> rows.select(kind_of_reason("reason").alias("kind")).first()["kind"]
    'topic … has … partitions (KIP-848)'
    """
    return F.regexp_replace(name, r"'[^']*'|(?<!KIP-)\b\d+", "…")


def groups_with_rejected_members(rejects: DataFrame) -> DataFrame:
    """Return the groups with rejected members: ``cluster, group_id``."""
    of_members = (F.col("table") == MEMBERS.name) & (F.col("group_id") != "")
    return rejects.where(of_members).select("cluster", "group_id").distinct()


def _used_once(fitted: DataFrame, table: Table, keys: str, again: str) -> DataFrame:
    """Use the first, by content, of the usable rows with equal keys; the others are rejected with reason ``again``."""
    # Sorted by its columns, not by ``_row``, which would have to be written for every row.
    number = f"row_number() OVER (PARTITION BY {keys}, {REASON} IS NULL ORDER BY {', '.join(table.names)})"
    return fitted.withColumn(REASON, F.expr(f"coalesce({REASON}, {when(f'{number} > 1', again)})"))


def no_rejects(spark: SparkSession) -> DataFrame:
    """Return an empty rejects table."""
    return no_rows(spark, REJECTS.schema)


def _value(column: TableColumn, actual: DataType | None) -> str:
    """Return the column in its declared type; values that do not fit become null."""
    default = "NULL" if column.default is None else literal(column.default)
    if actual is None:
        return f"CAST({default} AS {column.type.simpleString()})"
    value = f"`{column.name}`" if actual == column.type else _converted(f"`{column.name}`", actual, column.type)
    return value if column.default is None else f"coalesce({value}, {default})"


def _converted(value: str, actual: DataType, wanted: DataType) -> str:
    kind = wanted.simpleString()
    if _is_list_as_text(actual, wanted):
        items = f"split(trim({value}), {literal(_BETWEEN_ITEMS)})"
        return f"CASE WHEN trim({value}) = '' THEN CAST(array() AS {kind}) ELSE {items} END"
    if isinstance(wanted, MapType) and isinstance(actual, StructType | StringType):
        # The objects of a JSON file are structs; in CSV, they are text.
        text = value if isinstance(actual, StringType) else f"to_json({value})"
        return f"from_json({text}, '{kind}')"
    names = _struct_names(wanted)
    if names and _struct_names(actual):
        # Spark casts structs by position, and its JSON reader sorts their fields by name. So they are picked by name:
        # a missing field is then a type error, and an additional one is ignored.
        fields = ", ".join(f"'{name}', item.`{name}`" for name in names)
        value = f"transform({value}, item -> {when('item IS NOT NULL', f'named_struct({fields})')})"
    cast = f"try_cast({value} AS {kind})"
    if isinstance(actual, FractionalType | DecimalType) and isinstance(wanted, IntegralType):
        return when(f"{value} = floor({value})", cast)
    return cast


def _is_list_as_text(actual: DataType, wanted: DataType) -> bool:
    """Return whether a column has text where a list of names is expected."""
    return (
        isinstance(actual, StringType) and isinstance(wanted, ArrayType) and isinstance(wanted.elementType, StringType)
    )


def _struct_names(of: DataType) -> list[str]:
    """Return the field names of an array of structs; none for other types."""
    if isinstance(of, ArrayType) and isinstance(of.elementType, StructType):
        names: list[str] = of.elementType.names
        return names
    return []


def _cast_reason(column: TableColumn, actual: DataType, value: str) -> str:
    name = column.name
    if _is_list_as_text(actual, column.type):
        no_list = message(f"{name}: {{{name}}} is not a list of names with {LIST_SEPARATOR!r} between them")
        return when(f"`{name}` RLIKE {literal(_NO_LIST_OF_NAMES)}", no_list)
    no_value = message(f"{name}: {{`{name}`}} is not {column.type.simpleString()}")
    return when(f"`{name}` IS NOT NULL AND {value} IS NULL", no_value)


def _null_reason(column: TableColumn) -> str:
    if isinstance(column.type, StringType):
        return when(f"coalesce({column.name}, '') = ''", f"'{column.name} is null or empty'")
    return when(f"`{column.name}` IS NULL", f"'{column.name} is null'")


def _below(least: int, *names: str) -> list[str]:
    return [when(f"`{name}` < {least}", message(f"{name} is {{`{name}`}}; allowed: {least} or more")) for name in names]


def _one_of(allowed: Iterable[str], name: str) -> list[str]:
    unknown = message(f"{name} '{{{name}}}' is not known; allowed: {', '.join(allowed)}")
    return [when(f"NOT {one_of(name, [*allowed])}", unknown)]


def _event_checks() -> list[str]:
    unknown = message(f"event '{{event}}' is not known; allowed: {', '.join(_EVENT_COLUMNS)}")
    missing = [
        when(f"event = '{event}' AND {_is_empty(name)}", f"'{event}: {name} is missing'")
        for event, names in _EVENT_COLUMNS.items()
        for name in names
    ]
    no_error = message("error '{error}' is not an error of Kafka that a group can get")
    return [
        when(f"NOT {one_of('event', _EVENT_COLUMNS)}", unknown),
        *missing,
        *_below(0, "at_ms", "down_ms", "for_ms", "partitions"),
        when(f"NOT {one_of('error', [known.name for known in Errors])}", no_error),
    ]


def _is_empty(name: str) -> str:
    """Return whether an event's column is empty: null, an empty list, or a list with an empty name."""
    if isinstance(EVENTS.schema[name].dataType, ArrayType):
        return f"(coalesce(size({name}) = 0, TRUE) OR exists({name}, item -> coalesce(item, '') = ''))"
    return f"coalesce(CAST({name} AS STRING), '') = ''"


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
_TOPIC_CHECKS = (
    when(
        f"partitions < 0 OR partitions > {MAX_PARTITIONS}",
        message(f"partitions is {{partitions}}; allowed: 0 to {MAX_PARTITIONS}"),
    ),
    when(
        "racks IS NOT NULL AND size(racks) != partitions",
        message("racks has {size(racks)} lists for {partitions} partitions"),
    ),
    when(f"NOT topic_id RLIKE {literal(UUID_PATTERN)}", message(f"topic_id '{{topic_id}}' {_NO_UUID}")),
)
_UNKNOWN_CLIENT = when(
    f"NOT {one_of('client', CLIENTS)}", message(f"client '{{client}}' is not known; allowed: {', '.join(CLIENTS)}")
)
_TOO_MANY_TASKS = when(f"tasks > {MAX_PARTITIONS}", message(f"tasks is {{tasks}}; allowed: 0 to {MAX_PARTITIONS}"))
_CHECKS = {
    EVENTS.name: _event_checks(),
    TOPICS.name: _TOPIC_CHECKS,
    TOPICS_AFTER.name: (*_TOPIC_CHECKS, when("partitions = 0", f"'partitions is 0; allowed: 1 to {MAX_PARTITIONS}'")),
    MEMBERS.name: (when("protocol_type = ''", "'protocol_type is empty'"),),
    CLUSTERS.name: _below(1, "offsets_partitions"),
    # Kafka answers -1 for a partition without a committed offset (OffsetFetchResponse.INVALID_OFFSET).
    OFFSETS.name: (*_below(0, "partition"), *_below(-1, "committed"), *_below(0, "end")),
    RECORDS.name: (_UNKNOWN_CLIENT, *_below(0, "value_bytes")),
    WORKERS.name: (
        *_one_of(CONNECT_PROTOCOLS, "protocol"),
        *_below(0, "max_delay_ms", "pending_delay_ms"),
        *_below(1, "session_timeout_ms"),
    ),
    STREAMS_MEMBERS.name: _one_of(("streams", "classic"), "protocol"),
    SUBTOPOLOGIES.name: _below(0, "standby_replicas"),
    CONNECTORS.name: (*_below(0, "tasks"), _TOO_MANY_TASKS),
    KEYS.name: (_UNKNOWN_CLIENT,),
    TIMINGS.name: (
        *_one_of(Timing, "timing"),
        *_one_of(Bound, "bound"),
        *_below(1, "count"),
        *_below(0, "min_ms", "median_ms", "max_ms"),
    ),
}
"""By table: expressions of the reasons why a row cannot be used, or null."""


def union(tables: list[DataFrame]) -> DataFrame:
    """Return the rows of several tables with the same columns."""
    kept = [rows for rows in tables if not isinstance(rows, DriverRows) or rows.count()]
    return reduce(DataFrame.unionByName, kept or tables[:1])
