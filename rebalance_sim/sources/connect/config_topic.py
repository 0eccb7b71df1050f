"""Read the config topics of Connect clusters, which have what is configured: from brokers, a dump, or printed records.

Printed are keys and values by ``kafka-console-consumer.sh --property print.key=true``, a tab between them.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from rebalance_sim.engine.runs.hadoop_files import HadoopFiles
from rebalance_sim.engine.runs.input_formats import check_exists
from rebalance_sim.engine.tables.inputs import first_line
from rebalance_sim.errors import UserError
from rebalance_sim.kafka.connect.config_topic import configured_connectors
from rebalance_sim.sources.connect.rest_output import used_settings
from rebalance_sim.sources.live_cluster.librdkafka_properties import java_properties
from rebalance_sim.sources.live_cluster.topic_records import read_internal_topic
from rebalance_sim.sources.offsets_topic import KAFKA

_OPTION = "--config-topic"
_EXPECTED = (
    "what kafka-console-consumer.sh prints with --property print.key=true, or Parquet with key, value and offset"
)
_NO_VALUE = "null"
Record = tuple[str, str | bytes | None]


def named_config_topics(listed: Iterable[str], offsets_topic: str = "") -> dict[str, str]:
    """Return where the config topic of each named group is: in a file or, with the prefix ``kafka:``, at brokers.

    These are those of ``offsets_topic``. Raises UserError for an item without a group, and for brokers without an
    address.

    >>> named_config_topics(["copy=connect-configs.txt"])
    {'copy': 'connect-configs.txt'}
    """
    found = {}
    for item in filter(None, listed):
        group, separator, where = item.partition("=")
        if not (group and separator and where):
            raise UserError(f"{_OPTION}: {item!r} is not GROUP=WHERE")
        if where.startswith(KAFKA) and not offsets_topic.startswith(KAFKA):
            raise UserError(f"{_OPTION}: {KAFKA}TOPIC is only allowed with --offsets-topic {KAFKA}HOST:PORT")
        found[group] = where
    return found


def read_config_topic(
    spark: SparkSession, where: str, offsets_topic: str, properties: Mapping[str, str] | None
) -> list[dict[str, Any]]:
    """Return the columns ``connector``, ``tasks`` and ``config`` of the connectors that a config topic has.

    ``where`` and ``offsets_topic`` are as in ``named_config_topics``; ``properties`` are those of a Java client. Raises
    UserError if the topic cannot be read, or has something else.
    """
    if where.startswith(KAFKA):
        brokers, topic = offsets_topic.removeprefix(KAFKA), where.removeprefix(KAFKA)
        records = _in_order(read_internal_topic(spark, brokers, topic, java_properties(properties or {})))
    elif Path(where).is_file() and not where.endswith(".parquet"):
        records = list(printed_records(where))
    else:
        records = _dumped(spark, where)
    try:
        found = configured_connectors(records)
    except ValueError as problem:
        raise UserError(f"{_OPTION}: {where!r}: {problem}") from problem
    if not found:
        raise UserError(f"{_OPTION}: {where!r} has no connector: it is not {_EXPECTED}")
    return [
        {"connector": name, "tasks": of.tasks, "config": used_settings(of.config or {})}
        for name, of in sorted(found.items())
    ]


def printed_records(path: str) -> Iterator[Record]:
    """Yield the keys and values of printed records. Raises UserError for a file that cannot be read."""
    try:
        text = Path(path).read_text()
    except (OSError, UnicodeDecodeError) as problem:
        raise UserError(f"{_OPTION}: cannot read {path!r}: {problem}") from problem
    for line in text.splitlines():
        key, _, value = line.partition("\t")
        yield key, None if value == _NO_VALUE else value


def _dumped(spark: SparkSession, where: str) -> list[Record]:
    check_exists(HadoopFiles(spark), "the config topic", where)
    try:
        return _in_order(spark.read.parquet(where))
    except PySparkException as problem:
        raise UserError(f"{_OPTION}: cannot read {where!r}: {first_line(problem)}") from problem


def _in_order(records: DataFrame) -> list[Record]:
    """Return the keys and values of the topic's only partition."""
    rows = records.where("key IS NOT NULL").orderBy("offset").selectExpr("CAST(key AS STRING)", "value").collect()
    return [(row["key"], None if row["value"] is None else bytes(row["value"])) for row in rows]
