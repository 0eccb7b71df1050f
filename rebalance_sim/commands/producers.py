"""The options of ``partition`` that configure producers, and the tables of their batches."""

from argparse import Namespace

from pyspark.sql import DataFrame

from rebalance_sim.api import batches, produce_requests
from rebalance_sim.api.records import PlacedRecords
from rebalance_sim.commands.validation.partition import batches_of
from rebalance_sim.engine.runs.run import Run
from rebalance_sim.kafka.partitioners.record_accumulator import ProducerSettings
from rebalance_sim.tables import BATCHES, PRODUCE_REQUESTS, RECORD_PARTITIONS

_BROKERS_READY = "every broker is ready and answers at once; batches wait for further records only"


def producer_settings(options: Namespace) -> ProducerSettings:
    """Return the configured settings."""
    return ProducerSettings(*batches_of(options), not options.not_adaptive)


def write_record_partitions(
    run: Run, placed: PlacedRecords, settings: ProducerSettings, options: Namespace
) -> DataFrame:
    """Write and return the partition of each record; write the batches too if they decide it or are asked for."""
    if not options.batches and run.reads_rows and not placed.needs_batches():
        return run.write(RECORD_PARTITIONS.name, placed.record_partitions())
    run.report_progress("simulating producers")
    run.assumptions.append(_BROKERS_READY)
    sent = run.stage(placed.sent(settings, options.seed))
    record_partitions = run.write(RECORD_PARTITIONS.name, sent.drop("batch"))
    opened = run.write(BATCHES.name, sent.transform(batches))
    run.write(PRODUCE_REQUESTS.name, opened.transform(produce_requests))
    return record_partitions
