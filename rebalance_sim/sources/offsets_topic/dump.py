"""Read ``__consumer_offsets`` from a Parquet dump, from the console consumer's output, or from brokers."""

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from rebalance_sim.engine.runs.hadoop_files import HadoopFiles, hadoop_path
from rebalance_sim.engine.runs.input_formats import check_exists
from rebalance_sim.engine.tables.inputs import first_line, union
from rebalance_sim.errors import UserError
from rebalance_sim.sources.assumptions import NOTHING_STATED, MembersAsStated
from rebalance_sim.sources.live_cluster.librdkafka_properties import java_properties
from rebalance_sim.sources.live_cluster.topic_records import read_internal_topic
from rebalance_sim.sources.offsets_topic import KAFKA
from rebalance_sim.sources.offsets_topic.fleet import (
    OffsetsTopic,
    Stage,
    read_printed_offsets_topic,
    read_stored_records,
)
from rebalance_sim.sources.offsets_topic.text import BETWEEN_OBJECTS
from rebalance_sim.tables import DEFAULT_CLUSTER

TOPIC = "__consumer_offsets"
_PARQUET = ".parquet"
_SAMPLE_BYTES = 1 << 16
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")


def read_where(
    spark: SparkSession,
    where: str,
    *,
    properties: Mapping[str, str] | None = None,
    topics: DataFrame | None = None,
    as_stated: MembersAsStated = NOTHING_STATED,
    cluster: str = DEFAULT_CLUSTER,
    stage: Stage = DataFrame.persist,
) -> OffsetsTopic:
    """Read the topic from a path or, with the prefix ``kafka:``, from brokers.

    The path is a file, or a folder with all files below it: Parquet, or text, which may be compressed. Text files are
    read in the order of their names. ``properties`` are those of a Java client, ``as_stated`` is what a user says about
    members; the other parameters are those of ``read_offsets_topic``. Raises UserError if nothing can be read.
    """
    dump = open_dump(spark, where, properties)
    if dump.lines is not None:
        return read_printed_offsets_topic(dump.lines, as_stated, topics, cluster, stage)
    try:
        return replace(read_stored_records(dump.records, as_stated, topics, cluster, stage), given=dump.records)
    except (PySparkException, Py4JError, OSError) as problem:
        raise UserError(f"cannot read the dump {where!r}: {first_line(problem)}") from problem


class Dump(NamedTuple):
    """Records of the topic, or lines that a formatter printed."""

    records: DataFrame
    """``key``, ``value``, ``partition`` and ``offset``."""
    lines: DataFrame | None = None
    """Lines with ``text`` and their position ``file``, ``block`` and ``line``."""


def open_dump(spark: SparkSession, where: str, properties: Mapping[str, str] | None = None) -> Dump:
    """Find out what is in a path or, with the prefix ``kafka:``, at brokers; errors are those of ``read_where``."""
    if where.startswith(KAFKA):
        # Transactional offset commits must not count before the transaction is committed, or after it is aborted.
        configuration = {**java_properties(properties or {}), "isolation.level": "read_committed"}
        return Dump(read_internal_topic(spark, where.removeprefix(KAFKA), TOPIC, configuration))
    check_exists(HadoopFiles(spark), "the dump", where)
    try:
        files = _files(spark, where)
        if not files:
            raise UserError(f"{where!r} contains no files")
        if any(file.endswith(_PARQUET) for file in files):
            return Dump(spark.read.parquet(where))
        lines = _lines(spark, files)
        return Dump(lines, lines)
    except (PySparkException, Py4JError, OSError) as problem:
        raise UserError(f"cannot read the dump {where!r}: {first_line(problem)}") from problem


def _files(spark: SparkSession, where: str) -> list[str]:
    """Return the files below a path, without hidden ones, which belong to Spark or Hadoop."""
    file_system, path = hadoop_path(spark, where)
    found, files = file_system.listFiles(path, True), []
    while found.hasNext():
        file = found.next().getPath()
        if not file.getName().startswith(("_", ".")):
            files.append(file.toString())
    return sorted(files)


def _lines(spark: SparkSession, files: list[str]) -> DataFrame:
    """Read text with the position of each line; JSON objects on one line are split where one follows another."""
    by_end: dict[str, list[str]] = {}
    for file in files:
        by_end.setdefault(_line_end(spark, file), []).append(file)
    # The ids increase within a split of a file; the start of the split orders the splits.
    return union(
        [
            spark.read.text(of_end, lineSep=end).select(
                F.col("_metadata.file_path").alias("file"),
                F.col("_metadata.file_block_start").alias("block"),
                F.monotonically_increasing_id().alias("line"),
                F.col("value").alias("text"),
            )
            for end, of_end in by_end.items()
        ]
    )


def _line_end(spark: SparkSession, file: str) -> str:
    """Return the separator of a file's lines, from its first bytes."""
    sample = HadoopFiles(spark).first_bytes(file, _SAMPLE_BYTES)
    if sample.startswith(_UTF_16):
        raise UserError(f"{file}: is UTF-16; text must be UTF-8")
    return BETWEEN_OBJECTS if BETWEEN_OBJECTS.encode() in sample else "\n"
