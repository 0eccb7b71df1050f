"""Kafka's murmur2 inside the JVM: moving keys to Python is most of the cost of a hash.

Apache Commons Codec, whose jar is part of Spark, has the same function: ``MurmurHash2.hash32(byte[], int)`` uses the
seed of Kafka's ``Utils.murmur2``. It is called through a private expression of Spark and the gateway of a classic
session. Other sessions hash in Python (``rebalance_sim.engine.records.key_partitions``).
"""

from typing import Any, cast

from py4j.protocol import Py4JError
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.utils import is_remote

_CLASS = "org.apache.commons.codec.digest.MurmurHash2"


def murmur2(key: Column) -> Column | None:
    """Return the signed hash of a binary column, in which null stays null; None if this session cannot call the JVM."""
    if is_remote():
        return None
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
        # Another release of Spark has another constructor.
        return None
