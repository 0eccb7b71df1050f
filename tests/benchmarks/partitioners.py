"""Partitioners at scale: keys against a JVM UDF, the whole job, and unkeyed records with their batches."""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import pyspark
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.utils import is_remote

from rebalance_sim.engine.records.key_partitions import partition_of_key, spread_keys
from rebalance_sim.engine.records.producers import send_records
from rebalance_sim.engine.records.record_partitions import fit_records, fixed_partitions, sent_by
from rebalance_sim.engine.tables.inputs import fit_topics, usable
from rebalance_sim.kafka.partitioners.clients import CLIENTS
from rebalance_sim.kafka.partitioners.record_accumulator import ProducerSettings
from tests.benchmarks.memory import peak_memory
from tests.benchmarks.rounds import seconds
from tests.oracle import build, jars
from tests.support.spark_settings import set_for_a_while
from tests.support.unavailable import Unavailable

KEYS = ((20_000_000, 16), (5_000_000, 100))
RECORDS = 100_000_000
UNKEYED = 20_000_000
PRODUCERS = 1_000
PARTITIONS = 24
# What docs/partitions.md says of records that travel to Python's workers.
FOR_WORKERS = {
    "spark.sql.execution.arrow.pythonUDF.columnarInput.enabled": "false",
    "spark.sql.execution.arrow.maxBytesPerBatch": str(2**31 - 1),
}
_UDF_SOURCE = Path(__file__).parent / "java" / "MurmurPartition.java"


def bench_keys(spark: SparkSession, folder: Path, rounds: int) -> None:
    """Keys into the noop sink; what they cost is compared after the partitions are."""
    try:
        add_jvm_udf(spark)
    except Unavailable as reason:
        print(f"\nkeys: the JVM UDF needs Kafka's jar: {reason}")
        return
    for count, length in KEYS:
        keys = spark.read.parquet(made_keys(spark, folder, count, length)).withColumn("partitions", F.lit(PARTITIONS))
        java, crc32 = (partition_of_key([CLIENTS[name]]) for name in ("java-3.3", "librdkafka"))
        udf = F.call_function("murmur_partition", "key", "partitions")
        assert keys.where((java != udf) | (crc32 != F.crc32("key") % PARTITIONS)).isEmpty()
        actions = {
            "JVM UDF": partial(keys.select, udf),
            "java-3.3": partial(keys.transform, spread_keys(CLIENTS["java-3.3"], PARTITIONS)),
            "as a column": partial(keys.select, java),
            "Spark's crc32": partial(keys.select, F.crc32("key")),
            "librdkafka": partial(keys.transform, spread_keys(CLIENTS["librdkafka"], PARTITIONS)),
        }
        times = seconds(actions, rounds)
        print(f"\n{count:,} keys of {length} bytes, {'Spark Connect' if is_remote() else 'a classic session'}")
        report(count, times, "java-3.3", "JVM UDF", 3 if is_remote() else 1.2)
        report(count, times, "as a column", "JVM UDF", 3 if is_remote() else 1.2)
        report(count, times, "librdkafka", "Spark's crc32", 1.2)


def report(count: int, times: dict[str, list[float]], name: str, base: str, limit: float) -> None:
    """Print the median of the rounds' ratios."""
    ratios = [mine / theirs for mine, theirs in zip(times[name], times[base], strict=True)]
    median = statistics.median(times[name])
    print(
        f"  {name:12} {median:6.2f} s, {count / median:13,.0f} keys/s, {statistics.median(ratios):5.2f} x {base} "
        f"({min(ratios):.2f} to {max(ratios):.2f}; limit {limit})"
    )


def add_jvm_udf(spark: SparkSession) -> None:
    """Compile the UDF against Spark's and Kafka's jars, and make it known as ``murmur_partition``."""
    build()
    kafka = [jar for jar in jars("4.3") if "kafka-clients" in jar]
    spark_jars = str(Path(pyspark.__file__).parent / "jars" / "*")
    with tempfile.TemporaryDirectory() as classes:
        command = ["javac", "-cp", ":".join([*kafka, spark_jars]), "-d", classes, str(_UDF_SOURCE)]
        subprocess.run(command, check=True)
        jar = Path(tempfile.mkdtemp()) / "murmur-partition.jar"
        subprocess.run(["jar", "cf", str(jar), "-C", classes, "."], check=True)
    for path in [*kafka, str(jar)]:
        if is_remote():
            spark.addArtifacts(path)
        else:
            spark.sql(f"ADD JAR '{path}'")
    spark.udf.registerJavaFunction("murmur_partition", _UDF_SOURCE.stem, "int")


def made_keys(spark: SparkSession, folder: Path, count: int, length: int) -> str:
    """Return the path of random binary keys, made on first use."""
    path = folder / f"keys-{count}-{length}"
    if not (path / "_SUCCESS").exists():
        digests = F.concat(
            *[F.sha2(F.concat(F.col("id").cast("string"), F.lit(n)), 512) for n in range(length // 64 + 1)]
        )
        keys = spark.range(count).select(F.substring(F.unhex(digests), 1, length).alias("key"))
        keys.write.mode("overwrite").parquet(str(path))
    return str(path)


def made_records(spark: SparkSession, folder: Path, count: int, keyed: bool) -> str:
    """Return the folder with topics and records of a thousand producers, made on first use."""
    path = folder / f"{'keyed' if keyed else 'unkeyed'}-records-{count}"
    if not (path / "records" / "_SUCCESS").exists():
        number = F.col("id")
        # A key is drawn as by Zipf: the logarithm of its rank is even.
        rank = F.floor(F.exp(F.rand(7) * F.log(F.lit(10_000_000.0))))
        key = F.encode(F.concat(F.lit("customer-"), rank.cast("string")), "UTF-8")
        records = spark.range(count).select(
            F.concat(F.lit("topic-"), F.pmod(F.xxhash64("id"), F.lit(8)).cast("string")).alias("topic"),
            (key if keyed else F.lit(None).cast("binary")).alias("key"),
            (F.lit(100) + F.pmod(F.hash("id"), F.lit(300))).alias("value_bytes"),
            F.concat(F.lit("producer-"), F.pmod(F.hash("id"), F.lit(PRODUCERS)).cast("string")).alias("producer_id"),
            F.floor(number / 1000).alias("timestamp_ms"),
            number.alias("seq"),
        )
        records.write.mode("overwrite").parquet(str(path / "records"))
        topics = spark.range(8).select(
            F.concat(F.lit("topic-"), "id").alias("topic"), F.lit(PARTITIONS).alias("partitions")
        )
        topics.write.mode("overwrite").parquet(str(path / "topics"))
    return str(path)


def bench_unkeyed(spark: SparkSession, folder: Path, rounds: int, count: int = UNKEYED) -> None:
    """Unkeyed records of a thousand producers with their batches, into the noop sink."""
    path = made_records(spark, folder, count, keyed=False)
    topics = usable(fit_topics(spark.read.parquet(f"{path}/topics")))
    print(f"\n{count:,} unkeyed records of {PRODUCERS:,} producers, with batches")
    for name in ("java-2.3", "java-2.4", "java-3.3"):
        clients = [CLIENTS[name]]
        fitted = usable(fit_records(spark.read.parquet(f"{path}/records"), topics))
        records = fitted.transform(sent_by(clients)).transform(fixed_partitions(clients))
        sent = records.transform(send_records(topics, ProducerSettings(linger_ms=5), seed=1))
        with set_for_a_while(spark, FOR_WORKERS):
            median = statistics.median(seconds({name: partial(sent.select, "*")}, rounds)[name])
        print(f"  {name:12} {median:6.2f} s, {count / median:13,.0f} records/s (limit 1,000,000)")


def bench_job(spark: SparkSession, folder: Path, most: int = RECORDS) -> None:
    """The job, from Parquet to Parquet, in a process of its own: time, rate, memory, and ten times the records."""
    print("\nrebalance-sim partition, keyed records, record_partitions and partition_load")
    taken = {}
    for count in (most // 10, most):
        path = made_records(spark, folder, count, keyed=True)
        arguments = ["--topics", f"{path}/topics", "--records", f"{path}/records", "--client", "java-3.3"]
        command = [sys.executable, "-m", "rebalance_sim.cli", "partition", *arguments, "--out", f"{path}/out"]
        started = time.perf_counter()
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as job, peak_memory(job.pid) as peak:
            if job.wait():
                raise RuntimeError(f"{command} ended with {job.returncode}")
        wall = time.perf_counter() - started
        taken[count] = json.loads((Path(path) / "out" / "_run.json").read_text())["seconds"]
        print(
            f"  {count:13,} records {taken[count]:8.1f} s ({wall:.1f} with the start), "
            f"{count / taken[count]:11,.0f} records/s, at most {peak.together / 2**30:.1f} GiB of memory, "
            f"{peak.worker / 2**30:.1f} in one Python worker"
        )
    print(f"  ten times the records: {taken[most] / taken[most // 10]:.1f} x the time (limit 11)")


def bench_keys_on_connect(folder: Path, rounds: int) -> None:
    """Do ``bench_keys`` in a session of Spark Connect, which needs a process of its own."""
    command = [sys.executable, "-m", "tests.benchmarks.partitioners", str(folder), str(rounds)]
    arguments = "--driver-memory 4g --conf spark.ui.enabled=false --conf spark.log.level=ERROR pyspark-shell"
    environment = {"PYSPARK_PYTHON": sys.executable, "PYSPARK_SUBMIT_ARGS": arguments}
    subprocess.run(command, check=True, env=os.environ | environment)


def main() -> None:
    """Start a session of Spark Connect."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("rounds", type=int)
    options = parser.parse_args()
    spark = SparkSession.builder.remote("local[*]").getOrCreate()
    with set_for_a_while(spark, FOR_WORKERS):
        bench_keys(spark, options.folder, options.rounds)
    spark.stop()


if __name__ == "__main__":
    main()
