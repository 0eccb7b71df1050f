"""``fleet``: creates the input tables from a specification, Kafka's tools, live brokers or __consumer_offsets."""

from argparse import Namespace
from collections.abc import Callable

from pyspark.sql import DataFrame, SparkSession

from rebalance_sim.commands.console import Line, print_summary
from rebalance_sim.commands.new_runs import new_run
from rebalance_sim.commands.offsets_topic import write_offsets_topic
from rebalance_sim.commands.options import items
from rebalance_sim.commands.rejects import write_rejects
from rebalance_sim.commands.summary import summarise_run, summarise_written
from rebalance_sim.commands.validation.fleet import properties_of, stated_by
from rebalance_sim.engine.runs.run import Run
from rebalance_sim.engine.tables.inputs import no_rejects
from rebalance_sim.errors import check_choice
from rebalance_sim.sources.clients_file import unused_entries
from rebalance_sim.sources.kafka_tools.capture import Capture, read_capture
from rebalance_sim.sources.live_cluster.cluster import read_cluster
from rebalance_sim.sources.live_cluster.topic_records import read_records
from rebalance_sim.sources.synthetic.fleet import synthetic_fleet
from rebalance_sim.sources.synthetic.fleet_spec import load
from rebalance_sim.tables import (
    CLUSTERS,
    INPUTS,
    LISTED_GROUPS,
    MEMBERS,
    OFFSETS,
    OUTPUTS,
    RECORDS,
    STREAMS_MEMBERS,
    SUBTOPOLOGIES,
    TOPICS,
)


def run(spark: SparkSession, options: Namespace) -> None:
    """Write topics and members; for a real cluster also offsets, and records if topics are named."""
    run = new_run(spark, "fleet", options)
    about = write_fleet(run, options, run.begin)
    print_summary([summarise_written(run), *about, *summarise_run(run)])


def write_fleet(run: Run, options: Namespace, begin: Callable[[list[str]], None]) -> list[Line]:
    """Read a fleet from its source and write its tables; return what there is to print about the source.

    ``begin`` is called with the tables that are replaced once the source has been found to be readable.
    """
    replaced = [*INPUTS, *OUTPUTS]
    if options.offsets_topic:
        about = write_offsets_topic(run, options, properties_of(options), lambda: begin(replaced))
    else:
        tables, rejects = _tables(run, options)
        begin(replaced)
        for name, rows in tables.items():
            run.write(name, rows)
        rejected = write_rejects(run, rejects, options.on_bad_input)
        if rejected:
            run.counts["rejected"] = dict(rejected)
        about = []
    run.finish()
    return about


def _tables(run: Run, options: Namespace) -> tuple[dict[str, DataFrame], DataFrame]:
    """Return the tables of a synthetic fleet or of a real cluster, and the rejects."""
    if options.synthetic:
        fleet = synthetic_fleet(run.spark, load(options.synthetic), options.groups, options.seed)
        return {TOPICS.name: fleet.topics, MEMBERS.name: fleet.members}, no_rejects(run.spark)
    capture, records = _read(run, options)
    run.assumptions = [*capture.assumptions, *unused_entries(stated_by(options).clients, capture.members)]
    tables = {TOPICS.name: capture.topics, MEMBERS.name: capture.members, OFFSETS.name: capture.offsets, **records}
    further = (LISTED_GROUPS, CLUSTERS, STREAMS_MEMBERS, SUBTOPOLOGIES)
    tables |= {of.name: rows for of in further if (rows := getattr(capture, of.name)) is not None}
    return tables, capture.rejects


def _read(run: Run, options: Namespace) -> tuple[Capture, dict[str, DataFrame]]:
    """Read a real cluster, with records if they are asked for."""
    as_stated = stated_by(options)
    about = {"protocols": as_stated.protocols or None, "clients": as_stated.clients.entries, "cluster": options.cluster}
    if options.kafka_tools:
        return read_capture(run.spark, options.kafka_tools, **about), {}
    servers, properties = options.bootstrap_servers, properties_of(options)
    capture = read_cluster(run.spark, servers, properties=properties, on_progress=run.report_progress, **about)
    if not options.records_from:
        return capture, {}
    wanted, existing = items(options.records_from), [row["topic"] for row in capture.topics.select("topic").collect()]
    for topic in wanted:
        check_choice("--records-from", topic, existing)
    records = read_records(run.spark, servers, wanted, properties=properties, cluster=options.cluster)
    return capture, {RECORDS.name: records}
