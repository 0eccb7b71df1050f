"""Where producers send records, and what follows from it, as transformations, each for ``DataFrame.transform``.

The tables and their columns are those of ``rebalance_sim.tables``. Rows that cannot be used are left out;
``rejected_records`` returns them.
"""

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rebalance_sim.engine import client_agreement as agreement
from rebalance_sim.engine import key_findings as findings
from rebalance_sim.engine import key_partitions as keys
from rebalance_sim.engine import partition_growth as growth
from rebalance_sim.engine import partition_load as load
from rebalance_sim.engine.inputs import fit_topics, rejected, usable
from rebalance_sim.engine.producers import send_records
from rebalance_sim.engine.record_keys import record_keys
from rebalance_sim.engine.record_partitions import clients_of, fit_records, fixed_partitions, sent_by
from rebalance_sim.errors import UserError
from rebalance_sim.kafka.partitioners.clients import Client, client_named
from rebalance_sim.kafka.partitioners.record_accumulator import Settings
from rebalance_sim.tables import DEFAULT_CLIENT, RECORD_PARTITIONS, RECORDS, TOPICS_AFTER
from rebalance_sim.transformations import Transformation
from rebalance_sim.versions import NEWEST, kafka_version

DEFAULT_SETTINGS = Settings(linger_ms=kafka_version(NEWEST).linger_ms)
"""As Java's producer has them where nothing is configured."""


def partition(topics: DataFrame, clients: Sequence[str] = ()) -> Transformation:
    """From records to record_partitions: where each record goes that asks for a partition or has a key.

    The others' partition is null: see ``sent_records``.

    Without ``clients`` each record goes by the rules of its own client, in the column ``client``. With more than one,
    each record is there once for each.

    Raises UserError for a client that is not known, and for topics or records without a required column.

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
    known, asked = usable(fit_topics(topics)), _named(clients)
    return lambda records: records.transform(_placed(known, asked)).select(*RECORD_PARTITIONS.names)


def spread_keys(partitions: int, client: str = DEFAULT_CLIENT) -> Transformation:
    """From rows with a ``key`` to ``partition`` alone, as a client would place keys in a topic of so many partitions.

    It needs no topics table, and no other column travels: the cheapest way to look at many keys. The partition is null
    where the client does not go by the key.

    Raises UserError for a client that is not known, a number below one, and rows without ``key``.

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
    if partitions < 1:
        raise UserError(f"partitions is {partitions}; allowed: at least 1")

    def transform(rows: DataFrame) -> DataFrame:
        if "key" not in rows.columns:
            raise UserError(f"records: column 'key' is missing; there are: {', '.join(rows.columns)}")
        return rows.select(F.col("key").cast("binary")).transform(keys.spread_keys(placing, partitions))

    return transform


def sent_records(
    topics: DataFrame, clients: Sequence[str] = (), settings: Settings = DEFAULT_SETTINGS, seed: int = 0
) -> Transformation:
    """From records to record_partitions with ``batch``: where all records go, those without a key as well.

    Each producer sends its own, in its own order: by ``seq``, or else by ``timestamp_ms``. What it draws comes from the
    seed and its name. ``batch`` has records, bytes, opened_ms and closed_ms of the batch that a record opens, and is
    null with the others: see ``batches``. Clients and errors are those of ``partition``.

    >>> from rebalance_sim import ProducerSettings, batches, produce_requests
    >>> sent = records.transform(sent_records(topics, ["java-2.4"], ProducerSettings(linger_ms=5)))
    >>> sent.transform(batches).transform(produce_requests).select("records", "batches", "records_a_batch").show()
    +-------+-------+---------------+
    |records|batches|records_a_batch|
    +-------+-------+---------------+
    |      4|      2|            2.0|
    +-------+-------+---------------+
    <BLANKLINE>
    """
    known, asked = usable(fit_topics(topics)), _named(clients)
    send = send_records(known, settings, seed)
    return lambda records: records.transform(_placed(known, asked)).transform(send)


def rejected_records(topics: DataFrame) -> Transformation:
    """From records to the rows that cannot be sent to these topics, each with a reason.

    >>> records.transform(rejected_records(topics.where("topic <> 'orders'"))).first()["reason"]
    "topic 'orders' is not in the topics table"
    """
    known = usable(fit_topics(topics))
    return lambda records: rejected(fit_records(records, known), RECORDS)


def partition_load(topics: DataFrame, exact: bool = False) -> Transformation:
    """From record_partitions to what each partition of their topics gets, and its heaviest keys.

    These are found among the keys of the 32 heaviest of 4,096 buckets of each partition; with ``exact`` among all.

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
    return load.partition_load(usable(fit_topics(topics)), exact)


def partition_growth(topics: DataFrame, after: DataFrame | int) -> Transformation:
    """From record_partitions to what would move if topics had other numbers of partitions.

    ``after`` is a number for all topics, or a topics table; a topic that it does not name keeps its number. Records
    that ask for a partition stay there; those that no key places do not take part.

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
    moved = growth.moved_keys(grown)
    return lambda placed: placed.transform(record_keys).transform(moved).transform(growth.partition_growth(grown))


def partition_load_after(topics: DataFrame, after: DataFrame | int) -> Transformation:
    """From record_partitions to what each partition would get then; parameters are those of ``partition_growth``.

    >>> placed = records.transform(partition(topics, ["java-3.3"]))
    >>> loads = placed.transform(partition_load_after(topics, 4)).orderBy("partition")
    >>> [row["records"] for row in loads.collect()]
    [0, 0, 4, 0]
    """
    grown = _grown(topics, after)
    moved = growth.moved_keys(grown)
    return lambda placed: placed.transform(record_keys).transform(moved).transform(growth.partition_load_after(grown))


def client_agreement(topics: DataFrame, clients: Sequence[str]) -> Transformation:
    """From records to how many keys each two of these clients would send to the same partition.

    Raises UserError for a client that is not known.

    >>> agreed = records.transform(client_agreement(topics, ["java-3.3", "librdkafka"]))
    >>> agreed.select("client", "other_client", "keys", "keys_agreed", "records_agreed_share").show()
    +--------+------------+----+-----------+--------------------+
    |  client|other_client|keys|keys_agreed|records_agreed_share|
    +--------+------------+----+-----------+--------------------+
    |java-3.3|  librdkafka|   2|          0|                 0.0|
    +--------+------------+----+-----------+--------------------+
    <BLANKLINE>
    """
    known = usable(fit_topics(topics))
    agree = agreement.client_agreement(known, _named(clients))
    return lambda records: usable(fit_records(records, known)).transform(record_keys).transform(agree)


def topics_at_risk(topics: DataFrame) -> Transformation:
    """From records, each of its own client, to topics whose clients would place some of their keys differently.

    >>> risky = records.transform(topics_at_risk(topics))
    >>> risky.select("topic", "clients", "keys_shared", "keys_parted", "records_parted").show(truncate=False)
    +------+----------------------+-----------+-----------+--------------+
    |topic |clients               |keys_shared|keys_parted|records_parted|
    +------+----------------------+-----------+-----------+--------------+
    |orders|[java-3.3, librdkafka]|1          |1          |3             |
    +------+----------------------+-----------+-----------+--------------+
    <BLANKLINE>
    """
    known = usable(fit_topics(topics))
    return lambda records: usable(fit_records(records, known)).transform(agreement.topics_at_risk(known))


def key_findings(topics: DataFrame) -> Transformation:
    """From record_partitions to what is odd about the keys.

    >>> placed = records.transform(partition(topics, ["java-3.3"]))
    >>> placed.transform(key_findings(topics)).orderBy("finding").select("finding", "told").show(truncate=False)
    +---------------+---------------------------------------------------------+
    |finding        |told                                                     |
    +---------------+---------------------------------------------------------+
    |dominant_key   |one key has 3 of the 3 records in partition 1            |
    |idle_partitions|2 different keys leave 1 of 3 partitions without a record|
    +---------------+---------------------------------------------------------+
    <BLANKLINE>
    """
    loads = partition_load(topics)
    return lambda placed: placed.transform(findings.key_findings(placed.transform(loads)))


def _placed(topics: DataFrame, asked: tuple[Client, ...]) -> Transformation:
    """From records to those that can be sent to usable topics, with ``partition`` where it is fixed."""

    def transform(records: DataFrame) -> DataFrame:
        fitted = fit_records(records, topics)
        sending = asked or (clients_of(fitted) if "client" in records.columns else _named([DEFAULT_CLIENT]))
        return usable(fitted).transform(sent_by(asked)).transform(fixed_partitions(sending))

    return transform


def _named(clients: Sequence[str]) -> tuple[Client, ...]:
    return tuple(client_named("clients", name) for name in dict.fromkeys(clients))


def _grown(topics: DataFrame, after: DataFrame | int) -> DataFrame:
    known = usable(fit_topics(topics))
    return growth.grown_topics(known, after if isinstance(after, int) else usable(fit_topics(after, TOPICS_AFTER)))
