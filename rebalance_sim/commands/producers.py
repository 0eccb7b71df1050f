"""What the job ``partition`` does where the producers' batches count."""

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence

from pyspark.sql import DataFrame

from rebalance_sim.commands.options import check_between
from rebalance_sim.engine.produce_requests import produce_requests
from rebalance_sim.engine.producers import batches, send_records
from rebalance_sim.engine.record_partitions import fixed_partitions, without_partition_or_key
from rebalance_sim.engine.runs import Run
from rebalance_sim.kafka.partitioners.clients import Client
from rebalance_sim.kafka.partitioners.record_accumulator import BATCH_SIZE, Settings
from rebalance_sim.tables import BATCHES, PRODUCE_REQUESTS, RECORD_PARTITIONS
from rebalance_sim.versions import NEWEST, kafka_version

LARGEST = 2**30
"""Above half of a Java int, batch sizes cannot be doubled any more."""
_ONE_BROKER_EACH = "every broker is ready, and answers at once: batches wait for their records only"


def add_producer_options(parser: ArgumentParser) -> None:
    """Options of how producers are configured."""
    parser.add_argument(
        "--batches",
        action="store_true",
        help="tell the batches in any case (default: where a record has neither a partition nor a key, since its place "
        "depends on them)",
    )
    parser.add_argument(
        "--batch-size", type=int, default=BATCH_SIZE, metavar="BYTES", help=f"batch.size (default: {BATCH_SIZE})"
    )
    parser.add_argument(
        "--linger-ms", type=int, metavar="MS", help="linger.ms (default: Java's own in that Kafka version)"
    )
    parser.add_argument(
        "--kafka-version", default=NEWEST, metavar="VERSION", help=f"whose linger.ms counts (default: {NEWEST})"
    )
    parser.add_argument(
        "--not-adaptive",
        action="store_true",
        help="partitioner.adaptive.partitioning.enable=false: the length of a queue does not count",
    )


def producer_settings(options: Namespace) -> Settings:
    """Read the options; raise UserError for what is not allowed."""
    linger_ms = kafka_version(options.kafka_version).linger_ms if options.linger_ms is None else options.linger_ms
    check_between("--batch-size", options.batch_size, 0, LARGEST)
    check_between("--linger-ms", linger_ms, 0, LARGEST)
    return Settings(options.batch_size, linger_ms, not options.not_adaptive)


def write_record_partitions(
    run: Run, records: DataFrame, topics: DataFrame, clients: Sequence[Client], settings: Settings, options: Namespace
) -> dict[str, DataFrame]:
    """Find the partitions of usable records, and write them, with the batches where those count or are asked for."""
    placed = records.transform(fixed_partitions(clients))
    may_do_without = not options.batches and run.looks_at_rows
    if may_do_without and records.where(without_partition_or_key(clients)).isEmpty():
        return {RECORD_PARTITIONS.name: run.write(RECORD_PARTITIONS.name, placed.select(*RECORD_PARTITIONS.names))}
    run.tell("sending records, producer by producer")
    run.assumptions.append(_ONE_BROKER_EACH)
    sent = run.stage(placed.transform(send_records(topics, settings, options.seed, clients)))
    record_partitions = run.write(RECORD_PARTITIONS.name, sent.drop("batch"))
    opened = run.write(BATCHES.name, sent.transform(batches))
    requests = run.write(PRODUCE_REQUESTS.name, opened.transform(produce_requests))
    return {RECORD_PARTITIONS.name: record_partitions, BATCHES.name: opened, PRODUCE_REQUESTS.name: requests}
