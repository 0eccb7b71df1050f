"""Input files: their formats, from their names or first bytes, and what is wrong with those that cannot be read."""

import logging
from difflib import get_close_matches

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from rebalance_sim.defaults import AUTO
from rebalance_sim.engine.runs.run_files import first_bytes, hadoop_path, unfinished_job
from rebalance_sim.engine.tables.inputs import first_line
from rebalance_sim.errors import UserError
from rebalance_sim.tables import Table

_FORMATS = {"json": "json", "jsonl": "json", "ndjson": "json", "csv": "csv", "parquet": "parquet", "orc": "orc"}
"""By file extension; that of a compression may follow."""
_BINARY = {b"PAR1": "parquet", b"ORC": "orc"}
"""By the first bytes of a file."""
_SAMPLE_BYTES = 1024
_UNREADABLE_JSON = "_corrupt_record"
"""The column in which Spark puts lines that are not JSON."""
_SIMILAR = 0.8
"""Similarity from which on the name of a column is taken for a mistyped one (``difflib``)."""
_LOG = logging.getLogger(__name__)


def format_of(path: str, usual: str) -> str:
    """Return the format that a file name's extension implies, or else ``usual``.

    >>> format_of("plans/events.json.gz", "parquet"), format_of("out/events", "parquet")
    ('json', 'parquet')
    """
    names = path.rstrip("/").rpartition("/")[2].lower().split(".")[1:]
    return next((_FORMATS[name] for name in reversed(names) if name in _FORMATS), usual)


def input_format(spark: SparkSession, table: Table, path: str, asked: str) -> str:
    """Return the format of an input: that of its name or, where the name has none, the one that is asked for.

    With ``AUTO``, the first bytes decide where the name does not. Raises UserError for a path that does not exist, for
    files without content, and if the first bytes are neither of the format of the name nor of the one that is asked
    for, with the option that would be right.
    """
    if asked not in (AUTO, *_FORMATS.values()):
        return format_of(path, asked)
    try:
        file = _first_file(spark, path)
        start = first_bytes(spark, file, _SAMPLE_BYTES) if file else b""
    except (Py4JJavaError, PySparkException) as problem:
        raise UserError(f"{table.name}: cannot read {path!r}: {first_line(problem)}") from problem
    if file is None:
        raise UserError(f"{table.name}: cannot read {path!r}: it does not exist")
    if not start.strip():
        raise UserError(f"{table.name}: {path!r} is empty: it has no rows and no columns")
    named, found = format_of(file, AUTO), _format_of_content(start)
    if found in (named, asked) or named == asked == AUTO:
        return found
    raise UserError(
        f"{table.name}: {path!r} is not {named if asked == AUTO else asked}, it looks like {found}; "
        + (f"leave out --format, or use --format {found}" if named == AUTO else f"use --format {found}")
    )


def _first_file(spark: SparkSession, path: str) -> str | None:
    """Return the first file of a path that has content, else an empty name; None if nothing exists there."""
    file_system, pattern = hadoop_path(spark, path)
    matched = file_system.globStatus(pattern)
    if not matched:
        return None
    for each in matched:
        if each.isFile() and each.getLen():
            return str(each.getPath())
        files = file_system.listFiles(each.getPath(), True)
        while files.hasNext():
            file = files.next()
            # Spark's readers skip hidden files and folders as well.
            inner = str(file.getPath()).removeprefix(str(each.getPath()))
            if file.getLen() and not any(name.startswith(("_", ".")) for name in inner.split("/")):
                return str(file.getPath())
    return ""


def _format_of_content(start: bytes) -> str:
    r"""Return the format of a file that begins with these bytes.

    >>> _format_of_content(b"PAR1\x15"), _format_of_content(b' {"topic": "t"}'), _format_of_content(b"topic,partitions")
    ('parquet', 'json', 'csv')
    """
    for magic, name in _BINARY.items():
        if start.startswith(magic):
            return name
    return "json" if start.removeprefix(b"\xef\xbb\xbf").lstrip().startswith((b"{", b"[")) else "csv"


def read_input(spark: SparkSession, table: Table, path: str, source: str) -> DataFrame:
    """Read an input table from a path, in any format that Spark can read, or ``AUTO``.

    Raises UserError, naming the table, if the path cannot be read or belongs to a run that has not finished.
    """
    unfinished = unfinished_job(spark, path)
    if unfinished is not None:
        raise UserError(
            f"{table.name}: {path!r} belongs to a run of {unfinished} that has not finished; "
            "wait for that run or repeat it"
        )
    found = input_format(spark, table, path, source)
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
