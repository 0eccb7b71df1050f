"""The partition of a key as a column: what Spark's expressions and the workers say, on both kinds of sessions."""

import json
import os
import random
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from rebalance_sim.api.records import spread_keys
from rebalance_sim.engine.records.key_partitions import partition_of_key
from rebalance_sim.engine.records.record_partitions import fixed_partitions, sent_by
from rebalance_sim.engine.spark.java_runtime import java_home
from rebalance_sim.errors import UserError
from rebalance_sim.kafka.partitioners.clients import CLIENTS
from rebalance_sim.kafka.partitioners.keyed import UNKEYED, key_partitions
from rebalance_sim.kafka.runtime.strings import Strings

PARTITIONS = 23
ON_CONNECT = """
import json
from pyspark.sql import SparkSession
from tests.engine.records.test_key_partitions import by_client, in_order, random_keys, rows

spark = SparkSession.builder.remote("local[1]").getOrCreate()
keys = rows(spark, random_keys())
print("answer", json.dumps(by_client(keys)))
print("alone", json.dumps(in_order(keys)))
spark.stop()
"""


def random_keys() -> list[bytes | None]:
    rng = random.Random(23)
    return [None, b"", *(rng.randbytes(rng.randint(0, 40)) for _ in range(300)), rng.randbytes(2**20)]


def rows(spark: SparkSession, keys: list[bytes | None]) -> DataFrame:
    """Make rows of the columns that the partition depends on, in partitions of their own."""
    numbered = [(number, None if key is None else bytearray(key)) for number, key in enumerate(keys)]
    frame = spark.createDataFrame(numbered, "number int, key binary")
    return frame.withColumn("partitions", F.lit(PARTITIONS)).repartition(3)


def by_client(keys: DataFrame) -> dict[str, list[int | None]]:
    """Ask for every client on its own."""
    columns = [partition_of_key([client]).alias(name) for name, client in CLIENTS.items()]
    answer = keys.select("number", *columns).collect()
    in_order = sorted(answer, key=lambda row: row["number"])
    return {name: [row[name] for row in in_order] for name in CLIENTS}


def in_order(keys: DataFrame, names: Iterable[str] = CLIENTS) -> dict[str, list[int | None]]:
    """Ask for the partitions alone, which come in the order of the rows."""
    ordered = keys.coalesce(1).sortWithinPartitions("number")
    asked = {name: ordered.transform(spread_keys(PARTITIONS, name)) for name in names}
    return {name: [row["partition"] for row in answer.collect()] for name, answer in asked.items()}


def expected(keys: list[bytes | None]) -> dict[str, list[int | None]]:
    offsets = np.cumsum([0, *(len(key or b"") for key in keys)]).astype(np.int32)
    laid_out = Strings.over(offsets, np.frombuffer(b"".join(key or b"" for key in keys), np.uint8))
    given, partitions = np.array([key is not None for key in keys]), np.full(len(keys), PARTITIONS, np.int32)
    found = {name: key_partitions(client, laid_out, given, partitions).tolist() for name, client in CLIENTS.items()}
    return {name: [None if n == UNKEYED else n for n in of_client] for name, of_client in found.items()}


@pytest.mark.scale
def test_every_client_alone(spark: SparkSession) -> None:
    keys = random_keys()
    assert by_client(rows(spark, keys)) == expected(keys)


def test_partitions_alone(spark: SparkSession) -> None:
    keys, names = random_keys(), ("java-3.3", "sarama", "librdkafka", "kafka-go")
    wanted = expected(keys)
    assert in_order(rows(spark, keys), names) == {name: wanted[name] for name in names}


def test_what_spread_keys_refuses(spark: SparkSession) -> None:
    with pytest.raises(UserError, match="partitions is 0; allowed: at least 1"):
        spread_keys(0)
    with pytest.raises(UserError, match="client: 'java-9' is not known"):
        spread_keys(3, "java-9")
    with pytest.raises(UserError, match="column 'key' is missing; there are: id"):
        spark.range(1).transform(spread_keys(3))


@pytest.mark.parametrize("names", [list(CLIENTS), ["librdkafka", "kafka-go", "sarama"]])
def test_clients_together(spark: SparkSession, names: list[str]) -> None:
    """An explicit partition comes first, whatever the client."""
    keys = random_keys()[:50]
    clients = [CLIENTS[name] for name in names]
    explicit = F.when(F.col("number") == 7, F.lit(5))
    asked = rows(spark, keys).withColumn("explicit_partition", explicit).transform(sent_by(clients))
    answer = asked.transform(fixed_partitions(clients)).collect()
    wanted = expected(keys)
    assert len(answer) == len(keys) * len(clients)
    for row in answer:
        assert row["partition"] == (5 if row["number"] == 7 else wanted[row["client"]][row["number"]]), row["client"]


@pytest.mark.clients
def test_spark_connect() -> None:
    """There no expression reaches Java's murmur2, and the workers are asked."""
    pytest.importorskip("grpc", reason="Spark Connect needs grpcio")
    root = str(Path(__file__).parents[3])
    environment = os.environ | {
        "PYTHONPATH": root,
        "PYSPARK_PYTHON": sys.executable,
        "JAVA_HOME": str(java_home()),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    done = subprocess.run(
        [sys.executable, "-c", ON_CONNECT], cwd=root, env=environment, capture_output=True, text=True, check=False
    )
    answer = dict(line.split(" ", 1) for line in done.stdout.splitlines() if line.startswith(("answer ", "alone ")))
    assert set(answer) == {"answer", "alone"}, done.stderr[-2000:]
    assert json.loads(answer["answer"]) == json.loads(answer["alone"]) == expected(random_keys())
