"""Kafka's murmur2 as a column: inside the JVM where it can be had, since the way to Python costs more than the hash.

Apache Commons Codec, whose jar comes with Spark, has the very function: ``MurmurHash2.hash32(byte[], int)`` begins with
the seed of Kafka's ``Utils.murmur2``. Spark reaches it by an expression that it keeps to itself, and by a gateway that
only a classic session has. Elsewhere Python's workers are asked.
"""

from typing import Any, cast

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.utils import is_remote

from rebalance_sim.engine.arrow import numbers, strings
from rebalance_sim.kafka.key_hashes import murmur2_of_all

_CLASS = "org.apache.commons.codec.digest.MurmurHash2"


def murmur2(key: Column) -> Column:
    """Return the signed hash of a binary column, null where that is null."""
    in_jvm = None if is_remote() else _in_jvm(key)
    return cast(Column, cast(Any, arrow_udf)(hashes, "int")(key)) if in_jvm is None else in_jvm


def hashes(keys: pa.Array) -> pa.Array:
    """Return the signed hash of binary keys, null where they are null.

    >>> hashes(pa.array([b"abc", None, b""], pa.binary())).to_pylist()
    [479470107, None, 275646681]
    """
    found = murmur2_of_all(strings(keys))
    return pa.array(found, mask=numbers(keys.is_null()) if keys.null_count else None)


def _in_jvm(key: Column) -> Column | None:
    """Return the hash as the JVM's own expression; None if this Spark has another constructor for it."""
    from pyspark.sql.classic.column import Column as ClassicColumn  # noqa: PLC0415 - needs a JVM

    jvm = cast(Any, SparkSession.active())._jvm
    try:
        expressions = jvm.org.apache.spark.sql.classic.ExpressionUtils
        sequence = jvm.org.apache.spark.api.python.PythonUtils.toSeq
        arguments = [expressions.expression(cast(Any, column)._jc) for column in (key, F.octet_length(key))]
        call = jvm.org.apache.spark.sql.catalyst.expressions.objects.StaticInvoke(
            jvm.java.lang.Class.forName(_CLASS),
            jvm.org.apache.spark.sql.types.DataTypes.IntegerType,
            "hash32",
            sequence(arguments),
            sequence([]),
            True,  # Null for null.
            True,
            True,
            jvm.scala.Option.empty(),
        )
        return cast(Column, ClassicColumn(expressions.column(call)))
    except (Py4JError, TypeError):
        return None
