"""Where producers send records, and what follows from that: transformations for ``DataFrame.transform``.

``rebalance_sim.tables`` describes the tables. Rows that cannot be used are left out; ``rejected_records`` returns them.
``PlacedRecords`` derives several tables from one set of records.
"""

from collections.abc import Sequence
from functools import cached_property

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rebalance_sim.engine.records import client_agreement as agreement
from rebalance_sim.engine.records import key_findings as findings
from rebalance_sim.engine.records import key_partitions as keys
from rebalance_sim.engine.records import partition_growth as growth
from rebalance_sim.engine.records import partition_load as load
from rebalance_sim.engine.records.producers import send_records
from rebalance_sim.engine.records.record_keys import record_keys
from rebalance_sim.engine.records.record_partitions import (
    clients_of,
    fit_records,
    fixed_partitions,
    sent_by,
    without_partition_or_key,
)
from rebalance_sim.engine.spark.driver_rows import no_rows
from rebalance_sim.engine.tables.inputs import fit_topics, rejected, usable
from rebalance_sim.engine.tables.outcomes import Transformation
from rebalance_sim.errors import UserError
from rebalance_sim.explanations.explanation import check_partitions
from rebalance_sim.kafka.partitioners.clients import client_named
from rebalance_sim.kafka.partitioners.partitioner import Client
from rebalance_sim.kafka.partitioners.record_accumulator import ProducerSettings
from rebalance_sim.releases import NEWEST, kafka_version
from rebalance_sim.tables import DEFAULT_CLIENT, RECORD_PARTITIONS, RECORDS, TOPICS, TOPICS_AFTER, TOPICS_AT_RISK

DEFAULT_SETTINGS = ProducerSettings(linger_ms=kafka_version(NEWEST).linger_ms)
"""The configuration of a Java producer with nothing but defaults."""


def _as_given(rows: DataFrame) -> DataFrame:
    return rows


class PlacedRecords:
    """Records beside the topics they are sent to, and every table that follows.

    Without ``clients`` each record follows the rules of its own client, in the column ``client``; with more than one,
    each record counts once for each. Raises UserError for an unknown client, and for topics or records without a
    required column.

    >>> placed = PlacedRecords(topics, records, ["java-3.3", "sarama"])
    >>> placed.needs_batches()
    False
    >>> growth = placed.growth(placed.key_counts(placed.record_partitions(), after=4), after=4)
    >>> [(row["client"], row["keys_moved"]) for row in growth.orderBy("client").collect()]
    [('java-3.3', 1), ('sarama', 1)]
    """

    def __init__(
        self, topics: DataFrame, records: DataFrame, clients: Sequence[str] = (), keep: Transformation = _as_given
    ) -> None:
        """Fit the tables; ``keep`` may compute what several tables read."""
        self._fitted_topics = keep(fit_topics(topics))
        self.topics = usable(self._fitted_topics)
        """The usable topics."""
        self._fitted = keep(fit_records(records, self.topics))
        self._names_clients = "client" in records.columns
        self._asked = _named(clients)

    @property
    def by_own_client(self) -> bool:
        """Whether each record follows the rules of its own client."""
        return not self._asked

    @cached_property
    def clients(self) -> tuple[Client, ...]:
        """The clients whose rules apply; this may read the records' column ``client``."""
        return self._asked or (clients_of(self._fitted) if self._names_clients else _named([DEFAULT_CLIENT]))

    @property
    def rejected_topics(self) -> DataFrame:
        """The topics that cannot be used, each with a reason."""
        return rejected(self._fitted_topics, TOPICS)

    @property
    def rejected_records(self) -> DataFrame:
        """The records that cannot be sent to these topics, each with a reason."""
        return rejected(self._fitted, RECORDS)

    def needs_batches(self) -> bool:
        """Return whether the partition of any record depends on its producer's batches; this reads the records."""
        return not self._sent().where(without_partition_or_key(self.clients)).isEmpty()

    def record_partitions(self) -> DataFrame:
        """Return record_partitions; the partition is null for records that have neither partition nor usable key."""
        return self._fixed().select(*RECORD_PARTITIONS.names)

    def sent(self, settings: ProducerSettings, seed: int) -> DataFrame:
        """Return record_partitions with ``batch``, as ``sent_records`` does."""
        return self._fixed().transform(send_records(self.topics, settings, seed, self.clients))

    def load(self, record_partitions: DataFrame, exact: bool) -> DataFrame:
        """Return partition_load."""
        return record_partitions.transform(load.partition_load(self.topics, exact))

    def key_findings(self, record_partitions: DataFrame, partition_load: DataFrame) -> DataFrame:
        """Return key_findings."""
        return record_partitions.transform(findings.key_findings(partition_load))

    def topics_at_risk(self, record_partitions: DataFrame) -> DataFrame:
        """Return topics_at_risk; a single client is never at risk, so the records are not read then."""
        if len(self.clients) < 2:
            return no_rows(record_partitions.sparkSession, TOPICS_AT_RISK.schema)
        return record_partitions.transform(agreement.topics_at_risk(self.topics, self.clients))

    def key_counts(self, record_partitions: DataFrame, after: DataFrame | int | None) -> DataFrame:
        """Return the records of each key, and its partitions before and after topics grow, if they do."""
        counts = record_partitions.transform(record_keys)
        if after is None:
            return counts
        return counts.transform(growth.grown_keys(growth.grown_topics(self.topics, after), self.clients))

    def growth(self, key_counts: DataFrame, after: DataFrame | int) -> DataFrame:
        """Return partition_growth."""
        return key_counts.transform(growth.partition_growth(growth.grown_topics(self.topics, after)))

    def moved_keys(self, key_counts: DataFrame) -> DataFrame:
        """Return moved_keys."""
        return key_counts.transform(growth.moved_keys)

    def load_after(self, key_counts: DataFrame, after: DataFrame | int) -> DataFrame:
        """Return partition_load_after."""
        return key_counts.transform(growth.partition_load_after(growth.grown_topics(self.topics, after)))

    def agreement(self, key_counts: DataFrame, clients: Sequence[str]) -> DataFrame:
        """Return client_agreement."""
        return self._counted_once(key_counts).transform(agreement.client_agreement(self.topics, _named(clients)))

    def conflicting_keys(self, key_counts: DataFrame, clients: Sequence[str]) -> DataFrame:
        """Return conflicting_keys."""
        return self._counted_once(key_counts).transform(agreement.conflicting_keys(self.topics, _named(clients)))

    def _counted_once(self, key_counts: DataFrame) -> DataFrame:
        """Return the keys to compare: if records count once for each client, only those of the first."""
        return key_counts if self.by_own_client else key_counts.where(F.col("client") == self.clients[0].name)

    def _sent(self) -> DataFrame:
        return usable(self._fitted).transform(sent_by(self._asked))

    def _fixed(self) -> DataFrame:
        return self._sent().transform(fixed_partitions(self.clients))


def partition(topics: DataFrame, clients: Sequence[str] = ()) -> Transformation:
    """Transform records to record_partitions: the partition of each record with a key or an explicit partition.

    The partition of other records is null: it depends on batches, see ``sent_records``.

    Without ``clients`` each record follows the rules of its own client, in the column ``client``. With more than one,
    the result has each record once for each.

    Raises UserError for an unknown client, and for topics or records without a required column.

    >>> placed = records.transform(partition(topics, ["java-3.3", "sarama"]))
    >>> placed.select("client", "key", "partition").distinct().orderBy("client", "partition").show()
    +--------+-------------------+---------+
    |  client|                key|partition|
    +--------+-------------------+---------+
    |java-3.3|[54 54 30 31 32 34]|        1|
    |java-3.3|            [41 35]|        2|
    |  sarama|            [41 35]|        1|
    |  sarama|[54 54 30 31 32 34]|        2|
    +--------+-------------------+---------+
    <BLANKLINE>
    """
    _check(topics, clients)
    return lambda records: PlacedRecords(topics, records, clients).record_partitions()


def spread_keys(partitions: int, client: str = DEFAULT_CLIENT) -> Transformation:
    """Transform rows with a ``key`` to ``partition`` alone: the client's choice in a topic of that many partitions.

    This is the cheapest way to examine many keys: it needs no topics table and moves no other column. The partition is
    null where the client ignores the key.

    Raises UserError for an unknown client, a number below one, and rows without ``key``.

    >>> records.transform(spread_keys(3)).groupBy("partition").count().orderBy("partition").show()
    +---------+-----+
    |partition|count|
    +---------+-----+
    |        1|    3|
    |        2|    1|
    +---------+-----+
    <BLANKLINE>
    """
    placing = client_named("client", client)
    check_partitions(partitions)

    def transform(rows: DataFrame) -> DataFrame:
        if "key" not in rows.columns:
            raise UserError(f"records: column 'key' is missing; there are: {', '.join(rows.columns)}")
        return rows.select(F.col("key").cast("binary")).transform(keys.spread_keys(placing, partitions))

    return transform


def sent_records(
    topics: DataFrame, clients: Sequence[str] = (), settings: ProducerSettings = DEFAULT_SETTINGS, seed: int = 0
) -> Transformation:
    """Transform records to record_partitions with ``batch``: the partition of every record, also without a key.

    Each producer sends its records in the order of ``seq``, or else of ``timestamp_ms``. Its random numbers follow from
    the seed and its name. ``batch`` is not null for a record that opens a batch: records, bytes, opened_ms and
    closed_ms of that batch (see ``batches``). Clients and errors are those of ``partition``.

    >>> from rebalance_sim import ProducerSettings, batches, produce_requests
    >>> sent = records.transform(sent_records(topics, ["java-2.4"], ProducerSettings(linger_ms=5)))
    >>> sent.transform(batches).transform(produce_requests).select("records", "batches", "records_per_batch").show()
    +-------+-------+-----------------+
    |records|batches|records_per_batch|
    +-------+-------+-----------------+
    |      4|      2|              2.0|
    +-------+-------+-----------------+
    <BLANKLINE>
    """
    _check(topics, clients)
    return lambda records: PlacedRecords(topics, records, clients).sent(settings, seed)


def rejected_records(topics: DataFrame) -> Transformation:
    """Transform records to rejects: the rows that cannot be sent to these topics, each with a reason.

    >>> records.transform(rejected_records(topics.where("topic <> 'orders'"))).first()["reason"]
    "topic 'orders' is not in the topics table"
    """
    return lambda records: PlacedRecords(topics, records).rejected_records


def partition_load(topics: DataFrame, exact: bool = False) -> Transformation:
    """Transform record_partitions to the load of each partition and its heaviest keys.

    These are searched in the 32 heaviest of 4,096 buckets of each partition, with ``exact`` among all keys.

    >>> placed = records.transform(partition(topics, ["java-3.3"]))
    >>> loads = placed.transform(partition_load(topics)).orderBy("partition")
    >>> loads.select("partition", "records", "bytes", "share").show()
    +---------+-------+-----+-----+
    |partition|records|bytes|share|
    +---------+-------+-----+-----+
    |        0|      0|    0|  0.0|
    |        1|      3|   48|  0.8|
    |        2|      1|   12|  0.2|
    +---------+-------+-----+-----+
    <BLANKLINE>
    """
    return load.partition_load(_usable(topics), exact)


def partition_growth(topics: DataFrame, after: DataFrame | int) -> Transformation:
    """Transform record_partitions to the keys, records and bytes that move when topics get more partitions.

    ``after`` is a number for all topics, or a topics table; topics missing from it keep their number. Records with an
    explicit partition stay there; records without a usable key are left out.

    >>> placed = records.transform(partition(topics, ["java-3.3"]))
    >>> moves = placed.transform(partition_growth(topics, 4))
    >>> moves.select("partitions_after", "keys", "keys_moved", "records_moved_share", "imbalance_after").show()
    +----------------+----+----------+-------------------+---------------+
    |partitions_after|keys|keys_moved|records_moved_share|imbalance_after|
    +----------------+----+----------+-------------------+---------------+
    |               4|   2|         1|               0.75|            4.0|
    +----------------+----+----------+-------------------+---------------+
    <BLANKLINE>
    """
    grown = _grown(topics, after)
    moved = growth.grown_keys(grown)
    return lambda placed: placed.transform(record_keys).transform(moved).transform(growth.partition_growth(grown))


def moved_keys(topics: DataFrame, after: DataFrame | int) -> Transformation:
    """Transform record_partitions to the keys that go to another partition after the growth of ``partition_growth``.

    >>> placed = records.transform(partition(topics, ["java-3.3"]))
    >>> moves = placed.transform(moved_keys(topics, 4))
    >>> moves.selectExpr("string(key)", "records", "partition", "partition_after").show()
    +------+-------+---------+---------------+
    |   key|records|partition|partition_after|
    +------+-------+---------+---------------+
    |TT0124|      3|        1|              2|
    +------+-------+---------+---------------+
    <BLANKLINE>
    """
    placed_after = growth.grown_keys(_grown(topics, after))
    return lambda placed: placed.transform(record_keys).transform(placed_after).transform(growth.moved_keys)


def partition_load_after(topics: DataFrame, after: DataFrame | int) -> Transformation:
    """Transform record_partitions to the load of each partition after the growth of ``partition_growth``.

    >>> placed = records.transform(partition(topics, ["java-3.3"]))
    >>> loads = placed.transform(partition_load_after(topics, 4)).orderBy("partition")
    >>> [row["records"] for row in loads.collect()]
    [0, 0, 4, 0]
    """
    grown = _grown(topics, after)
    moved = growth.grown_keys(grown)
    return lambda placed: placed.transform(record_keys).transform(moved).transform(growth.partition_load_after(grown))


def client_agreement(topics: DataFrame, clients: Sequence[str]) -> Transformation:
    """Transform records to the number of keys that each two of these clients send to the same partition.

    Raises UserError for an unknown client.

    >>> agreed = records.transform(client_agreement(topics, ["java-3.3", "librdkafka"]))
    >>> agreed.select("client", "other_client", "keys", "keys_agreed", "records_agreed_share").show()
    +--------+------------+----+-----------+--------------------+
    |  client|other_client|keys|keys_agreed|records_agreed_share|
    +--------+------------+----+-----------+--------------------+
    |java-3.3|  librdkafka|   2|          0|                 0.0|
    +--------+------------+----+-----------+--------------------+
    <BLANKLINE>
    """
    known = _usable(topics)
    agree = agreement.client_agreement(known, _named(clients))
    return lambda records: usable(fit_records(records, known)).transform(record_keys).transform(agree)


def conflicting_keys(topics: DataFrame, clients: Sequence[str]) -> Transformation:
    """Transform records to the keys that two of these clients do not send to the same partition.

    Raises UserError for an unknown client.

    >>> conflicts = records.transform(conflicting_keys(topics, ["java-3.3", "librdkafka"])).orderBy("key")
    >>> conflicts.selectExpr("string(key)", "records", "partition", "other_partition").show()
    +------+-------+---------+---------------+
    |   key|records|partition|other_partition|
    +------+-------+---------+---------------+
    |    A5|      1|        2|              0|
    |TT0124|      3|        1|              0|
    +------+-------+---------+---------------+
    <BLANKLINE>
    """
    known = _usable(topics)
    conflicts = agreement.conflicting_keys(known, _named(clients))
    return lambda records: usable(fit_records(records, known)).transform(record_keys).transform(conflicts)


def topics_at_risk(topics: DataFrame) -> Transformation:
    """Transform records, each of its own client, to the topics whose clients place some of the keys differently.

    >>> risky = records.transform(topics_at_risk(topics))
    >>> risky.select("topic", "clients", "keys_shared", "keys_split", "records_split").show(truncate=False)
    +------+----------------------+-----------+----------+-------------+
    |topic |clients               |keys_shared|keys_split|records_split|
    +------+----------------------+-----------+----------+-------------+
    |orders|[java-3.3, librdkafka]|1          |1         |3            |
    +------+----------------------+-----------+----------+-------------+
    <BLANKLINE>
    """
    known = _usable(topics)
    return lambda records: usable(fit_records(records, known)).transform(agreement.topics_at_risk(known))


def key_findings(topics: DataFrame) -> Transformation:
    """Transform record_partitions to findings about the keys.

    >>> placed = records.transform(partition(topics, ["java-3.3"]))
    >>> found = placed.transform(key_findings(topics)).orderBy("finding")
    >>> found.select("finding", "description").show(truncate=False)
    +---------------+----------------------------------------------------------------+
    |finding        |description                                                     |
    +---------------+----------------------------------------------------------------+
    |dominant_key   |a single key has 3 of the 3 records in partition 1              |
    |idle_partitions|1 of 3 partitions gets no records; the topic has 2 distinct keys|
    +---------------+----------------------------------------------------------------+
    <BLANKLINE>
    """
    loads = partition_load(topics)
    return lambda placed: placed.transform(findings.key_findings(placed.transform(loads)))


def _named(clients: Sequence[str]) -> tuple[Client, ...]:
    return tuple(client_named("clients", name) for name in dict.fromkeys(clients))


def _grown(topics: DataFrame, after: DataFrame | int) -> DataFrame:
    known = _usable(topics)
    return growth.grown_topics(known, after if isinstance(after, int) else usable(fit_topics(after, TOPICS_AFTER)))


def _usable(topics: DataFrame) -> DataFrame:
    return usable(fit_topics(topics))


def _check(topics: DataFrame, clients: Sequence[str]) -> None:
    """Raise UserError for a wrong argument when a transformation is made, before it gets any records."""
    fit_topics(topics)
    _named(clients)
