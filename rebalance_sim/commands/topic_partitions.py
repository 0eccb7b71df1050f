"""The number of partitions of the topic that ``explain`` is asked about, where that needs no Spark."""

import csv
import io
import json
import re
from argparse import Namespace
from collections.abc import Iterator, Mapping
from typing import Any

from rebalance_sim.commands.input_size import is_small
from rebalance_sim.engine.runs.files import LocalFiles, is_local, on_this_machine, read_by_spark
from rebalance_sim.engine.runs.input_formats import input_format
from rebalance_sim.tables import DEFAULT_CLUSTER, MAX_PARTITIONS, TOPICS

_PRINTED_ID = re.compile(r"[A-Za-z0-9_-]{22}")
"""A topic id as Kafka prints it."""
_NUMBER = re.compile(r"[0-9]+")


def known_partitions(options: Namespace) -> int | None:
    """Return the partitions from the options, or from a row of a small local table; None if only Spark can tell.

    The row counts only if Spark is certain to read it alike, and to find it usable. Spark reports all mistakes.
    """
    if options.partitions is not None:
        return int(options.partitions)
    if not is_local(options.topics) or not is_small(options):
        return None
    try:
        source = input_format(LocalFiles(), TOPICS.name, options.topics, options.format)
        rows = [row for row in _rows(options.topics, source) if row["topic"] == options.topic]
        if options.cluster is not None:
            rows = [row for row in rows if _cluster_of(row) == options.cluster]
    except (OSError, ValueError, KeyError, TypeError, csv.Error):
        return None
    return _usable_partitions(rows[0]) if len(rows) == 1 else None


def _rows(path: str, source: str) -> Iterator[Mapping[str, Any]]:
    """Yield the rows of a table. Raises ValueError for those that Spark may read in another way."""
    for file, _ in read_by_spark(LocalFiles(), path):
        # Spark takes folders such as cluster=eu for the values of a column.
        if "=" in file.removeprefix(path):
            raise ValueError(file)
        if source == "parquet":
            from pyarrow.parquet import ParquetFile  # noqa: PLC0415 (other files do not need it)

            yield from ParquetFile(on_this_machine(file)).read().to_pylist()
            continue
        text = on_this_machine(file).read_text("utf-8")
        if source == "json":
            yield from map(json.loads, filter(str.strip, text.split("\n")))
        elif source == "csv" and not set(text) & set('"\\'):
            for row in csv.DictReader(io.StringIO(text)):
                number = _NUMBER.fullmatch(row["partitions"])
                # Spark reads an empty cell as null.
                given = {name: value or None for name, value in row.items()}
                yield given | {"partitions": int(number[0]) if number else None}
        else:
            raise ValueError(source)


def _cluster_of(row: Mapping[str, Any]) -> Any:
    given = row.get("cluster")
    return DEFAULT_CLUSTER if given is None else given


def _usable_partitions(row: Mapping[str, Any]) -> int | None:
    """Return the partitions of a topic, unless a value may be one that Spark rejects."""
    partitions, racks, topic_id = row.get("partitions"), row.get("racks"), row.get("topic_id")
    if type(partitions) is not int or not 0 <= partitions <= MAX_PARTITIONS:
        return None
    if racks is not None and not (isinstance(racks, list) and len(racks) == partitions):
        return None
    if topic_id is not None and not (isinstance(topic_id, str) and _PRINTED_ID.fullmatch(topic_id)):
        return None
    return partitions if isinstance(row.get("unavailable"), list | None) else None
