"""Simulates producers in Spark's Python workers: the partition of each record, and the batches that are sent."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import mmh3
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_type

from rebalance_sim.engine.records.record_partitions import NUMBERED_TOPIC, TOPIC_NUMBER
from rebalance_sim.engine.spark.driver_rows import with_column
from rebalance_sim.engine.spark.sql_text import literal
from rebalance_sim.engine.tables.arrow import codes, numbers
from rebalance_sim.kafka.partitioners.clients import CLIENTS
from rebalance_sim.kafka.partitioners.partitioner import Client
from rebalance_sim.kafka.partitioners.producers import ProducerTopics, RecordsToSend, send
from rebalance_sim.kafka.partitioners.record_accumulator import NONE, ProducerSettings, SendResults
from rebalance_sim.kafka.runtime.strings import Ints
from rebalance_sim.tables import BATCHES, INT, LONG, RECORD_PARTITIONS, struct

_PRODUCER = ("cluster", "producer_id")
_PRODUCER_NUMBER = "_producer_number"
_BATCH = struct({"records": INT, "bytes": INT, "opened_ms": LONG, "closed_ms": LONG})
_SENT = struct({"partition": INT, "batch": _BATCH})
_BATCH_TYPE, _SENT_TYPE = to_arrow_type(_BATCH), to_arrow_type(_SENT)


def send_records(
    topics: DataFrame, settings: ProducerSettings, seed: int, clients: Sequence[Client] = tuple(CLIENTS.values())
) -> "SendRecords":
    """Return the transformation that sends records of these clients; it collects the topics on the driver."""
    wanted = topics.selectExpr(NUMBERED_TOPIC, "partitions", "unavailable").toArrow().combine_chunks()
    if len(pc.unique(wanted[TOPIC_NUMBER])) < len(wanted):
        raise RuntimeError("two topics have the same hash of 64 bits")
    return SendRecords(wanted, settings, seed, tuple(clients))


def batches(sent: DataFrame) -> DataFrame:
    """Transform the result of ``SendRecords`` to batches."""
    values = {name: f"batch.{name}" for name in _BATCH.names} | {"waited_ms": "batch.closed_ms - batch.opened_ms"}
    opened = sent.where("batch IS NOT NULL")
    return opened.selectExpr(*[f"{values.get(name, name)} AS {name}" for name in BATCHES.names])


@dataclass(frozen=True)
class SendRecords:
    """Transforms usable records, with ``partition`` or null, to record_partitions with ``batch``.

    ``batch`` has the records, bytes, opened_ms and closed_ms of the batch that the record opens; it is null for other
    records. A worker holds the records of a producer, as numbers, all at once. Producers are distinguished by a 64-bit
    hash of their names.
    """

    topics: pa.Table
    """topic_number, partitions, unavailable."""
    settings: ProducerSettings
    seed: int
    """The random numbers of a producer follow from this and its name."""
    clients: tuple[Client, ...]

    def __call__(self, records: DataFrame) -> DataFrame:
        """Send all records, each producer in its own order."""
        number = f"xxhash64({', '.join(_PRODUCER)}) AS {_PRODUCER_NUMBER}"
        needed = records.selectExpr(*RECORD_PARTITIONS.names, TOPIC_NUMBER, number).repartition(_PRODUCER_NUMBER)
        sent = with_column(needed, "_sent", self.send_batches, self._arguments(), _SENT)
        answers = {"partition": "_sent.partition"}
        return sent.selectExpr(*[answers.get(name, name) for name in RECORD_PARTITIONS.names], "_sent.batch")

    def _arguments(self) -> list[str]:
        """Return the columns that workers need: few, and numbers only, because they are copied to the workers."""
        needed = [
            _PRODUCER_NUMBER,
            TOPIC_NUMBER,
            "seq",
            "timestamp_ms",
            "xxhash64(key, explicit_partition)",
            f"coalesce(partition, {NONE})",
            f"coalesce(octet_length(key), {NONE})",
            f"coalesce(value_bytes, {NONE})",
        ]
        if len(self.clients) == 1:
            return needed
        names = ", ".join(literal(client.name) for client in self.clients)
        return [*needed, f"CAST(array_position(array({names}), client) - 1 AS INT)"]

    def send_batches(self, batches: Iterator[tuple[pa.Array, ...]]) -> Iterator[pa.Array]:
        """Send all records of some producers, given in any order; this runs in a worker."""
        given = list(batches)
        if not given:
            return
        sent = self._send([pa.concat_arrays(column) for column in zip(*given, strict=True)])
        start = 0
        for columns in given:
            yield sent.slice(start, len(columns[0]))
            start += len(columns[0])

    def _send(self, columns: list[pa.Array]) -> pa.StructArray:
        producers, topic_numbers, seq, timestamps, contents, *sizes = columns
        clients = sizes.pop() if len(self.clients) > 1 else pa.repeat(pa.scalar(0, pa.int32()), len(seq))
        sender_of, (clients_of, producers_of) = _distinct(clients, producers)
        sending, (senders, topics_sent) = _distinct(pa.array(sender_of), topic_numbers)
        seeds = [_seed(self.seed, producer) for producer in producers_of.to_pylist()]
        # Copied, because Arrow's arrays may or may not be read-only, and numba would compile for both.
        values = [numbers(column).astype(np.int64) for column in (*sizes, timestamps.fill_null(0))]
        order = _in_order(seq, timestamps, [numbers(topic_numbers), numbers(contents), *values])
        sent = send(
            self.settings,
            np.array(seeds, np.int64),
            self._topics(numbers(senders), numbers(clients_of), pc.index_in(topics_sent, self._column(TOPIC_NUMBER))),
            RecordsToSend(order, sending, *values),
        )
        return _as_structs(sent)

    def _topics(self, senders: Ints, clients: Ints, topics: pa.Array) -> ProducerTopics:
        """Return the topics of producers, given the producers, their clients, and the rows of the topics."""
        partitions = numbers(self._column("partitions").take(topics)).astype(np.int64)
        leaders = [
            _leaders(count, without)
            for count, without in zip(partitions, self._column("unavailable").take(topics).to_pylist(), strict=True)
        ]
        rules = np.array([int(client.unkeyed) for client in self.clients])
        return ProducerTopics(senders, rules[clients[senders]], partitions, np.concatenate(leaders))

    def _column(self, name: str) -> pa.Array:
        return self.topics[name].combine_chunks()


def _seed(seed: int, producer: int) -> int:
    """Return the seed of a producer: 64 bits of MurmurHash3 over the run's seed and the producer's number."""
    return int(mmh3.hash64(f"{seed}\0{producer}".encode())[0])


def _leaders(partitions: int, unavailable: list[int | None] | None) -> Ints:
    """Return 1 for each partition with a leader, else 0; ``unavailable`` may name partitions out of range."""
    leaders = np.ones(partitions, np.int64)
    leaders[[n for n in unavailable or () if n is not None and 0 <= n < partitions]] = 0
    return leaders


def _in_order(seq: pa.Array, timestamps: pa.Array, rest: Sequence[Ints]) -> Ints:
    """Return the order by ``seq``, or else by time; ties are broken by the records' contents, never by row order."""
    places = numbers(pc.coalesce(seq, timestamps, pa.scalar(0, pa.int64())))
    order = np.argsort(places, kind="stable")
    in_order = places[order]
    if (in_order[1:] != in_order[:-1]).all():
        return order
    return np.lexsort((numbers(timestamps.is_null()), numbers(seq.is_null()), *rest, places))


def _distinct(*columns: pa.Array) -> tuple[Ints, list[pa.Array]]:
    """Number the distinct rows of some columns; return the number of each row and the columns of distinct rows."""
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


def _as_structs(sent: SendResults) -> pa.StructArray:
    partitions, *of_batches = sent
    columns = [
        pa.array(values, field.type, mask=values == NONE if field.name == "closed_ms" else None)
        for values, field in zip(of_batches, _BATCH_TYPE, strict=True)
    ]
    opens_none = pa.array(sent.batch_records == 0)
    batches = pa.StructArray.from_arrays(columns, fields=list(_BATCH_TYPE), mask=opens_none)
    return pa.StructArray.from_arrays([pa.array(partitions), batches], fields=list(_SENT_TYPE))
