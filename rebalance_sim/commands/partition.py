"""``partition``: the partition of every record, and the load of every partition."""

from argparse import Namespace

from pyspark.sql import SparkSession

from rebalance_sim.api.records import PlacedRecords
from rebalance_sim.commands.job_options import EXACT
from rebalance_sim.commands.options import named_clients, new_run
from rebalance_sim.commands.partition_summary import summarise_partitions
from rebalance_sim.commands.partition_what_ifs import WhatIfs
from rebalance_sim.commands.producers import producer_settings, write_record_partitions
from rebalance_sim.commands.rejects import write_rejects
from rebalance_sim.commands.summary import print_summary, summarise_run
from rebalance_sim.engine.runs.run import earlier_assumptions
from rebalance_sim.engine.tables.inputs import union
from rebalance_sim.tables import KEY_FINDINGS, PARTITION_LOAD, RECORD_PARTITIONS, RECORDS, TOPICS, TOPICS_AFTER


def run(spark: SparkSession, options: Namespace) -> None:
    """Read topics and records, place the records, and write all tables that follow."""
    asked = [client.name for client in named_clients("--client", options.client)]
    settings = producer_settings(options)
    run = new_run(spark, "partition", options)
    what_ifs = WhatIfs.read(run, options)
    topics = run.read(TOPICS, options.topics, options.format)
    records = run.read(RECORDS, options.records, options.format)
    placed = PlacedRecords(topics, records, asked, run.kept)
    run.begin()

    tables = write_record_partitions(run, placed, settings, options)
    record_partitions = tables[RECORD_PARTITIONS.name]
    loads = placed.load(record_partitions, exact=options.heaviest_keys == EXACT)
    tables[PARTITION_LOAD.name] = run.write(PARTITION_LOAD.name, loads)
    findings = placed.key_findings(record_partitions, tables[PARTITION_LOAD.name])
    tables[KEY_FINDINGS.name] = run.write(KEY_FINDINGS.name, findings)
    tables |= what_ifs.write(run, placed, record_partitions)

    used, given = run.counts["out"][RECORD_PARTITIONS.name] // max(len(asked), 1), run.number_of(records)
    # Another pass over all records only if some were rejected.
    bad_records = placed.rejected_records if used < given else placed.rejected_records.limit(0)
    bad = write_rejects(run, union([placed.rejected_topics, what_ifs.rejects, bad_records]), options.on_bad_input)
    run.count_rows(TOPICS.name, run.number_of(topics), run.number_of(placed.topics), bad[TOPICS.name])
    what_ifs.count(run, bad[TOPICS_AFTER.name])
    run.count_rows(RECORDS.name, given, used, bad[RECORDS.name])
    run.assumptions += earlier_assumptions(spark, options.topics)
    run.finish()
    print_summary(summarise_partitions(tables) + summarise_run(run))
