"""Spark SQL expressions as text: each is one call of the JVM, however many parts it has.

Built of ``pyspark.sql.functions``, every column, operator and literal is several calls of its own, which takes longer
than the rules do on a small input.
"""

import re
from collections.abc import Iterable
from string import Formatter


def literal(text: str) -> str:
    r"""Return text as a literal, or as its bytes where settings of the session would decide what a literal means.

    >>> literal("it is"), literal(r"\d")
    ("'it is'", "CAST(X'5c64' AS STRING)")
    """
    return f"CAST(X'{text.encode().hex()}' AS STRING)" if re.search(r"[\\']", text) else f"'{text}'"


def message(template: str) -> str:
    """Return an expression that fills columns in; it is null if one of them is. ``:,`` separates thousands.

    >>> message("{topic} has {records:,} records")
    "concat(CAST(topic AS STRING), ' has ', format_number(records, 0), ' records')"
    """
    parts = []
    for text, column, form, _ in Formatter().parse(template):
        parts += [literal(text)] if text else []
        if column:
            parts.append(f"format_number({column}, 0)" if form else f"CAST({column} AS STRING)")
    return f"concat({', '.join(parts)})"


def when(condition: str, value: str) -> str:
    """Return an expression that is null where the condition does not hold.

    >>> when("partitions = 0", "'no partitions'")
    "CASE WHEN partitions = 0 THEN 'no partitions' END"
    """
    return f"CASE WHEN {condition} THEN {value} END"


def one_of(column: str, values: Iterable[str]) -> str:
    """Return whether a column has one of these values.

    >>> one_of("event", ["join", "leave"])
    "event IN ('join', 'leave')"
    """
    return f"{column} IN ({', '.join(map(literal, values))})"
