"""Runs producers over their records, in Spark's workers: where each record goes, and the batches that are sent."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.pandas.types import to_arrow_type
from pyspark.sql.types import IntegerType, LongType, StructField, StructType

from rebalance_sim.engine.arrow import codes, numbers
from rebalance_sim.kafka.partitioners.clients import CLIENTS
from rebalance_sim.kafka.partitioners.producers import NONE, ProducerTopics, Records, Sent, Settings, send
from rebalance_sim.kafka.strings import Ints
from rebalance_sim.tables import BATCHES, RECORD_PARTITIONS

_PRODUCER = ("client", "cluster", "producer_id")
_CONTENT = ("topic", "timestamp_ms", "key", "explicit_partition", "value_bytes")
"""What orders records of one producer that have the same place: records that are equal in it may change places."""
_SENT = StructType(
    [
        StructField("partition", IntegerType()),
        StructField("records", IntegerType()),
        StructField("bytes", IntegerType()),
        StructField("opened_ms", LongType()),
        StructField("closed_ms", LongType()),
    ]
)
_SENT_TYPE = to_arrow_type(_SENT)


def send_records(topics: DataFrame, settings: Settings, seed: int) -> "SendRecords":
    """Make the transformation that sends records to these topics, which it brings to the driver."""
    wanted = topics.select(_topic_number().alias("number"), "partitions", "unavailable").toArrow()
    if len(pc.unique(wanted["number"])) < len(wanted):
        raise RuntimeError("two topics have the same hash of 64 bits")
    return SendRecords(wanted, settings, seed)


def batches(sent: DataFrame) -> DataFrame:
    """From what ``SendRecords`` returns to batches."""
    waited = (F.col("closed_ms") - F.col("opened_ms")).alias("waited_ms")
    told = sent.where("batch IS NOT NULL").select(*_PRODUCER, "topic", "partition", "batch.*")
    return told.select("*", waited).select(*BATCHES.names)


@dataclass(frozen=True)
class SendRecords:
    """From usable records with ``partition``, null where there is neither partition nor key, to all that is sent.

    To the columns of record_partitions comes ``batch``: records, bytes, opened_ms and closed_ms of the batch that the
    record opens, null where it opens none. A worker holds a producer's records, without names and keys, all at once.
    """

    topics: pa.Table
    """number, partitions, unavailable."""
    settings: Settings
    seed: int
    """With the producer's name it decides what the producer draws."""

    def __call__(self, records: DataFrame) -> DataFrame:
        """Send all records, each producer its own in its own order."""
        run = cast(Any, arrow_udf)(self.send_batches, _SENT.simpleString()).asNondeterministic()
        sent = records.repartition(*_PRODUCER).withColumn("_sent", run(*self._arguments()))
        batch = F.struct(*[F.col(f"_sent.{field.name}") for field in _SENT.fields[1:]])
        columns = {name: F.col(name) for name in RECORD_PARTITIONS.names}
        columns["partition"] = F.col("_sent.partition")
        columns["batch"] = F.when(F.col("_sent.records") > 0, batch)
        return sent.select(*[column.alias(name) for name, column in columns.items()])

    def _arguments(self) -> list[Column]:
        """Return what a worker needs of each record: numbers, but for the producer's name."""
        client = F.array_position(F.array(*[F.lit(name) for name in CLIENTS]), F.col("client")) - 1
        return [
            F.col("producer_id"),
            F.xxhash64(F.lit(self.seed), "cluster", "producer_id"),
            client,
            _topic_number(),
            F.coalesce("seq", "timestamp_ms", F.lit(0)),
            F.xxhash64(*_CONTENT),
            F.coalesce("partition", F.lit(NONE)),
            F.coalesce(F.octet_length("key"), F.lit(NONE)),
            F.coalesce("value_bytes", F.lit(NONE)),
            F.coalesce("timestamp_ms", F.lit(0)),
        ]

    def send_batches(self, batches: Iterator[tuple[pa.Array, ...]]) -> Iterator[pa.Array]:
        """Do a worker's part: all records of some producers, in any order."""
        given = list(batches)
        if not given:
            return
        sent = self._send([pa.concat_arrays(column) for column in zip(*given, strict=True)])
        start = 0
        for columns in given:
            yield sent.slice(start, len(columns[0]))
            start += len(columns[0])

    def _send(self, columns: list[pa.Array]) -> pa.StructArray:
        names, seeds, clients, topics, places, contents, *of_records = columns
        order = _in_order(numbers(places), numbers(contents))
        producers, (clients_of, seeds_of, _) = _distinct(clients, seeds, names)
        sending, (senders, topics_sent) = _distinct(pa.array(producers), topics)
        values = [sending, *(numbers(column).astype(np.int64) for column in of_records)]
        sent = send(
            self.settings,
            numbers(seeds_of),
            self._topics(numbers(senders), numbers(clients_of), topics_sent),
            Records(*(value[order] for value in values)),
        )
        return _in_given_order(sent, order)

    def _topics(self, senders: Ints, clients: Ints, topics: pa.Array) -> ProducerTopics:
        """Describe topics of producers, from the producers, their clients, and the topics."""
        places = pc.index_in(topics, self.topics["number"].combine_chunks())
        partitions = numbers(self.topics["partitions"].combine_chunks().take(places)).astype(np.int64)
        leaders = [
            _leaders(count, without)
            for count, without in zip(partitions, self.topics["unavailable"].take(places).to_pylist(), strict=True)
        ]
        rules = np.array([int(client.unkeyed) for client in CLIENTS.values()])
        return ProducerTopics(senders, rules[clients[senders]], partitions, np.concatenate(leaders))


def _topic_number() -> Column:
    """Return what stands for a topic on the way to a worker."""
    return F.xxhash64("cluster", "topic")


def _leaders(partitions: int, unavailable: list[int | None] | None) -> Ints:
    """Return 1 for each partition that has a leader; partitions that the topic does not have do not count."""
    leaders = np.ones(partitions, np.int64)
    leaders[[n for n in unavailable or () if n is not None and 0 <= n < partitions]] = 0
    return leaders


def _in_order(places: Ints, contents: Ints) -> Ints:
    """Sort records by place; the content decides only where places are equal."""
    order = np.argsort(places, kind="stable")
    in_order = places[order]
    if len(places) and (in_order[1:] == in_order[:-1]).any():
        return np.lexsort((contents, places))
    return order


def _distinct(*columns: pa.Array) -> tuple[Ints, list[pa.Array]]:
    """Number the distinct rows of some columns: the number of each row, and the distinct rows, column by column."""
    combined = np.zeros(len(columns[0]), np.int64)
    encoded = [codes(column) for column in columns]
    for column_codes, values in encoded:
        combined = combined * len(values) + column_codes
    which, distinct = codes(pa.array(combined))
    rest, rows = numbers(distinct), []
    for _, values in reversed(encoded):
        rest, places = np.divmod(rest, len(values))
        rows.append(values.take(pa.array(places)))
    return which.astype(np.int64), rows[::-1]


def _in_given_order(sent: Sent, order: Ints) -> pa.StructArray:
    """Put results in the order in which the records were given."""
    arrays = []
    for values, field in zip(sent, _SENT_TYPE, strict=True):
        given = np.empty(len(order), field.type.to_pandas_dtype())
        given[order] = values
        arrays.append(pa.array(given, field.type, mask=given == NONE if field.name == "closed_ms" else None))
    return pa.StructArray.from_arrays(arrays, fields=list(_SENT_TYPE))
