"""Kafka's murmur2 inside the JVM, where keys need not travel to Python: that is most of the cost of a hash.

Apache Commons Codec, whose jar comes with Spark, has the very function: ``MurmurHash2.hash32(byte[], int)`` begins with
the seed of Kafka's ``Utils.murmur2``. Spark reaches it by an expression that it keeps to itself, and by a gateway that
only a classic session has: elsewhere there is another way (``rebalance_sim.engine.key_partitions``).
"""

from typing import Any, cast

from py4j.protocol import Py4JError
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.utils import is_remote

_CLASS = "org.apache.commons.codec.digest.MurmurHash2"


def murmur2(key: Column) -> Column | None:
    """Return the signed hash of a binary column, null where that is null; None where this session cannot have it."""
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
        # Another Spark has another constructor.
        return None
