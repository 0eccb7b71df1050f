"""``partition``: to which partition every record goes, and what each partition gets."""

from argparse import ArgumentParser, Namespace

from pyspark.sql import SparkSession

from rebalance_sim.commands.options import add_input_options, add_output_options, named_clients, new_run
from rebalance_sim.commands.partition_summary import summarise_partitions
from rebalance_sim.commands.partition_what_ifs import WhatIfs, add_what_if_options
from rebalance_sim.commands.producers import add_producer_options, producer_settings, write_record_partitions
from rebalance_sim.commands.rejects import write_rejects
from rebalance_sim.commands.summary import print_summary, summarise_run
from rebalance_sim.engine.inputs import fit_topics, rejected, union, usable
from rebalance_sim.engine.key_findings import key_findings
from rebalance_sim.engine.partition_load import partition_load
from rebalance_sim.engine.record_partitions import clients_of, fit_records, sent_by
from rebalance_sim.engine.runs import earlier_assumptions
from rebalance_sim.kafka.partitioners.clients import CLIENTS
from rebalance_sim.tables import (
    DEFAULT_CLIENT,
    KEY_FINDINGS,
    PARTITION_LOAD,
    RECORD_PARTITIONS,
    RECORDS,
    TOPICS,
    TOPICS_AFTER,
)

EXACT = "exact"


def add_options(parser: ArgumentParser) -> None:
    """Options of the job."""
    add_input_options(parser, TOPICS, RECORDS)
    parser.add_argument(
        "--client",
        default="",
        metavar="NAME,...",
        help="client libraries whose rules to follow, each for all records (default: each record's own, in its column "
        f"`client`, and {DEFAULT_CLIENT} without); some of: {', '.join(CLIENTS)}",
    )
    parser.add_argument(
        "--heaviest-keys",
        choices=["sketch", EXACT],
        default="sketch",
        help="find the heaviest keys of a partition among those of its heaviest 32 of 4,096 buckets, or among all "
        "(default: sketch)",
    )
    add_producer_options(parser)
    add_what_if_options(parser)
    add_output_options(parser)


def run(spark: SparkSession, options: Namespace) -> None:
    """Read topics and records, find the partitions; write them, what follows from them, and rejects."""
    asked = named_clients("--client", options.client)
    settings = producer_settings(options)
    run = new_run(spark, "partition", options)
    what_ifs = WhatIfs.read(run, options)
    given_topics = run.read(TOPICS, options.topics, options.format)
    given_records = run.read(RECORDS, options.records, options.format)
    fitted_topics = fit_topics(given_topics)
    topics = usable(fitted_topics)
    records = fit_records(given_records, topics)
    run.begin()

    clients = asked or clients_of(records)
    sent = usable(records).transform(sent_by(asked))
    tables = write_record_partitions(run, sent, topics, clients, settings, options)
    record_partitions = tables[RECORD_PARTITIONS.name]
    loads = partition_load(topics, exact=options.heaviest_keys == EXACT)
    tables[PARTITION_LOAD.name] = run.write(PARTITION_LOAD.name, record_partitions.transform(loads))
    findings = record_partitions.transform(key_findings(tables[PARTITION_LOAD.name]))
    tables[KEY_FINDINGS.name] = run.write(KEY_FINDINGS.name, findings)
    tables |= what_ifs.write(run, record_partitions, topics, clients, own=not asked)

    used, given = run.counts["out"][RECORD_PARTITIONS.name] // max(len(asked), 1), given_records.count()
    bad_records = rejected(records, RECORDS)
    # Only where rows are left over is there another look at all of them.
    bad_records = bad_records if used < given else bad_records.limit(0)
    rejects = union([rejected(fitted_topics, TOPICS), what_ifs.rejects, bad_records])
    bad = write_rejects(run, rejects, options.on_bad_input)
    run.count_rows(TOPICS.name, given_topics.count(), topics.count(), bad[TOPICS.name])
    what_ifs.count(run, bad[TOPICS_AFTER.name])
    run.count_rows(RECORDS.name, given, used, bad[RECORDS.name])
    run.assumptions += earlier_assumptions(spark, options.topics)
    run.finish()
    print_summary(summarise_partitions(tables) + summarise_run(run))
