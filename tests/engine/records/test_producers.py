"""Producers over a table of records: who draws what, batches, and that the lie of the rows changes nothing."""

from typing import Any

import pytest
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from rebalance_sim.engine.records.produce_requests import produce_requests
from rebalance_sim.engine.records.producers import batches, send_records
from rebalance_sim.engine.records.record_partitions import fit_records, fixed_partitions, sent_by
from rebalance_sim.engine.tables.inputs import fit_topics, usable
from rebalance_sim.kafka.partitioners.clients import CLIENTS
from rebalance_sim.kafka.partitioners.record_accumulator import ProducerSettings
from rebalance_sim.tables import BATCHES, PRODUCE_REQUESTS, RECORD_PARTITIONS, RECORDS
from tests.support.layout import shuffled_into
from tests.support.rows import given_rows, table

TOPICS = "topic string, partitions int, unavailable array<int>"
LINGER = ProducerSettings(linger_ms=5)


def topics(spark: SparkSession) -> DataFrame:
    return usable(fit_topics(given_rows(spark, [("t", 6, [1]), ("u", 3, None), ("none", 2, [0, 1, 7])], TOPICS)))


def record(topic: str, at_ms: int | None, **more: Any) -> dict[str, Any]:
    return {"topic": topic, "timestamp_ms": at_ms, "value_bytes": 100} | more


def sent(
    spark: SparkSession, *records: dict[str, Any], clients: tuple[str, ...] = ("java-3.3",), seed: int = 1
) -> DataFrame:
    rows = [[given.get(name) for name in RECORDS.names] for given in records]
    chosen = [CLIENTS[name] for name in clients]
    fitted = fit_records(given_rows(spark, rows, RECORDS.schema), topics(spark))
    usable_ones = usable(fitted).transform(sent_by(chosen)).transform(fixed_partitions(chosen))
    return usable_ones.transform(send_records(topics(spark), LINGER, seed)).cache()


def contents(rows: DataFrame) -> list[str]:
    return sorted(str(row.asDict(recursive=True)) for row in rows.collect())


def test_a_producer_with_a_single_record(spark: SparkSession) -> None:
    sent_rows = sent(spark, record("u", 1000, key=b"k", producer_id="p"))
    (placed,) = sent_rows.drop("batch").collect()
    assert sent_rows.drop("batch").columns == RECORD_PARTITIONS.names
    assert (placed["partition"], placed["producer_id"], placed["client"]) == (2, "p", "java-3.3")
    (batch,) = sent_rows.transform(batches).collect()
    assert batch.asDict() == {
        "client": "java-3.3",
        "cluster": "default",
        "producer_id": "p",
        "topic": "u",
        "partition": 2,
        "records": 1,
        "bytes": 171,  # 61 of the batch, 2 of the length, 3 of deltas and attributes, 2 + 1, 2 + 100, 1 for no headers.
        "opened_ms": 1000,
        "closed_ms": 1005,
        "waited_ms": 5,
    }
    assert sent_rows.transform(batches).schema.names == BATCHES.names


def test_order_is_seq_then_time(spark: SparkSession) -> None:
    """Records of one place go by what is sent; round robin shows in which order they went."""
    rows = sent(
        spark,
        record("u", 5, seq=2, value_bytes=1),
        record("u", 9, seq=1, value_bytes=2),
        record("u", 0, seq=3, value_bytes=3),
        record("u", 7, producer_id="by time", value_bytes=4),
        record("u", 3, producer_id="by time", value_bytes=5),
        clients=("kafka-go",),
    ).collect()
    assert {row["value_bytes"]: row["partition"] for row in rows} == {2: 0, 1: 1, 3: 2, 5: 0, 4: 1}


@pytest.mark.scale
def test_partitions_without_a_leader(spark: SparkSession) -> None:
    """A record that must go there waits for ever; one without key goes elsewhere, if there is an elsewhere."""
    given = [record("t", n, explicit_partition=1) for n in range(3)]
    given += [record("t", n) for n in range(200)] + [record("none", 0), record("none", 1)]
    sent_rows = sent(spark, *given)
    unkeyed = sent_rows.where("topic = 't' AND explicit_partition IS NULL")
    assert {row["partition"] for row in unkeyed.collect()} <= {0, 2, 3, 4, 5}
    unsent = sent_rows.transform(batches).where("closed_ms IS NULL").orderBy("topic").collect()
    assert [(row["topic"], row["records"], row["waited_ms"]) for row in unsent][-1] == ("t", 3, None)
    assert sum(row["records"] for row in unsent) == 5
    (requests,) = sent_rows.transform(batches).transform(produce_requests).collect()
    assert (requests["records"], requests["unsent"], requests["producers"]) == (205, 5, 1)


@pytest.mark.scale
def test_draws_depend_on_seed_and_producer_alone(spark: SparkSession) -> None:
    def partitions(sent_rows: DataFrame, producer: str) -> list[int]:
        return [row["partition"] for row in sent_rows.where(F.col("producer_id") == producer).orderBy("seq").collect()]

    given = [record("t", 20 * n, seq=n, producer_id=name) for n in range(30) for name in ("a", "b")]
    both = sent(spark, *given, clients=("sarama",))
    alone = sent(spark, *given[::2], clients=("sarama",))
    assert partitions(both, "a") == partitions(alone, "a")
    assert partitions(both, "a") != partitions(both, "b")
    assert partitions(sent(spark, *given, clients=("sarama",), seed=2), "a") != partitions(both, "a")


def test_requests(spark: SparkSession) -> None:
    """Two batches at one time may be one request."""
    given = [record("u", 0, explicit_partition=n) for n in (0, 0, 1)] + [record("u", 100, explicit_partition=2)]
    requests = sent(spark, *given).transform(batches).transform(produce_requests)
    assert requests.columns == PRODUCE_REQUESTS.names
    (row,) = requests.collect()
    assert (row["records"], row["batches"], row["records_per_batch"]) == (4, 3, 4 / 3)
    assert (row["min_requests"], row["max_requests"], row["waited_ms"]) == (2, 3, 5.0)


def test_the_slowest_and_largest_of_many_batches(spark: SparkSession) -> None:
    """Of 201 batches, two are ranked above the 99th percentile."""
    sizes = [*[1] * 198, 3, 5, 9]
    rows = [{"client": "c", "producer_id": "p", "records": n, "bytes": 10 * n, "opened_ms": 0, "closed_ms": n,
             "waited_ms": n} for n in sizes]  # fmt: skip
    (row,) = table(spark, BATCHES, rows).transform(produce_requests).collect()
    for name, times in (("records_per_batch", 1), ("bytes_per_batch", 10), ("waited_ms", 1)):
        assert (row[f"p99_{name}"], row[f"max_{name}"]) == (3 * times, 9 * times)
        assert row[name] == pytest.approx(times * sum(sizes) / 201)


@pytest.fixture(scope="module")
def fleet(spark: SparkSession) -> DataFrame:
    """Make records of forty producers, keyed, explicit and without either, many at the same time."""
    number = F.col("id")
    return (
        spark.range(1200)
        .select(
            F.element_at(F.array(F.lit("t"), F.lit("u"), F.lit("none")), (number % 3 + 1).cast("int")).alias("topic"),
            F.when(number % 4 == 0, F.encode((number % 50).cast("string"), "UTF-8")).alias("key"),
            F.when(number % 11 == 0, F.lit(1)).alias("explicit_partition"),
            (number % 2).cast("int").alias("value_bytes"),
            F.concat(F.lit("p"), (number % 40).cast("string")).alias("producer_id"),
            (number / 400).cast("long").alias("timestamp_ms"),
        )
        .cache()
    )


def sent_by_all(spark: SparkSession, records: DataFrame) -> list[str]:
    clients = list(CLIENTS.values())
    usable_ones = usable(fit_records(records, topics(spark)))
    sent_rows = usable_ones.transform(sent_by(clients)).transform(fixed_partitions(clients))
    return contents(sent_rows.transform(send_records(topics(spark), LINGER, 3)))


@pytest.fixture(scope="module")
def expected(spark: SparkSession, fleet: DataFrame) -> list[str]:
    rows = sent_by_all(spark, fleet)
    assert len(rows) == 1200 * len(CLIENTS)
    return rows


@pytest.mark.scale
def test_partitioning_and_row_order_change_nothing(spark: SparkSession, fleet: DataFrame, expected: list[str]) -> None:
    with shuffled_into(spark, 7):
        assert sent_by_all(spark, fleet.orderBy(F.rand(7)).repartition(3)) == expected


@pytest.mark.scale
def test_batches_add_up(spark: SparkSession, fleet: DataFrame) -> None:
    clients = [CLIENTS["java-3.3"], CLIENTS["sarama"]]
    usable_ones = usable(fit_records(fleet, topics(spark)))
    sent_rows = usable_ones.transform(sent_by(clients)).transform(fixed_partitions(clients))
    sent_rows = sent_rows.transform(send_records(topics(spark), LINGER, 3)).cache()
    keys = ("client", "cluster", "producer_id", "topic", "partition")

    def counts(rows: DataFrame, count: Column) -> dict[tuple[str, ...], int]:
        return {tuple(row[:-1]): row[-1] for row in rows.groupBy(*keys).agg(count).collect()}

    assert counts(sent_rows.transform(batches), F.sum("records")) == counts(sent_rows, F.count("*"))
    assert sent_rows.count() == 2400
