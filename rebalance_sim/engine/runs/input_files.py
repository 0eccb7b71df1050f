"""Read input files, and say what is wrong with those that cannot be read."""

import logging
from difflib import get_close_matches

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from rebalance_sim.engine.runs.hadoop_files import HadoopFiles
from rebalance_sim.engine.runs.input_formats import input_format
from rebalance_sim.engine.tables.inputs import first_line
from rebalance_sim.errors import UserError
from rebalance_sim.tables import Table

_UNREADABLE_JSON = "_corrupt_record"
"""The column in which Spark puts lines that are not JSON."""
_SIMILAR = 0.8
"""Similarity from which on the name of a column is taken for a mistyped one (``difflib``)."""
_LOG = logging.getLogger(__name__)


def read_input(spark: SparkSession, table: Table, path: str, source: str) -> DataFrame:
    """Read an input table from a path, in any format that Spark can read, or ``AUTO``.

    Raises UserError, naming the table, if the path cannot be read or belongs to a run that has not finished.
    """
    found = input_format(HadoopFiles(spark), table.name, path, source)
    reader = spark.read.format(found)
    if found == "csv":
        reader = reader.option("header", True)
    try:
        rows = reader.load(path)
    except (PySparkException, Py4JJavaError) as problem:
        raise UserError(f"{table.name}: cannot read {path!r} as {found}: {first_line(problem)}") from problem
    if rows.columns == [_UNREADABLE_JSON]:
        raise UserError(f"{table.name}: cannot read {path!r} as json: no line of it is a JSON object")
    _warn_of_similar_names(rows, table)
    return rows


def _warn_of_similar_names(rows: DataFrame, table: Table) -> None:
    """Log the columns that are ignored although their names are like those of optional columns that are missing."""
    missing = [column.name for column in table.columns if not column.required and column.name not in rows.columns]
    for name in rows.columns:
        similar = [] if name in table.names else get_close_matches(name.lower(), missing, n=1, cutoff=_SIMILAR)
        if similar:
            _LOG.warning("%s: column %r is ignored; did you mean %r?", table.name, name, similar[0])
