"""``fleet``: creates the input tables from a specification, Kafka's tools, live brokers or __consumer_offsets."""

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession

from rebalance_sim.commands.offsets_topic import run_offsets_topic
from rebalance_sim.commands.options import add_output_options, check_at_least, items, new_run
from rebalance_sim.commands.rejects import write_rejects
from rebalance_sim.commands.summary import print_summary, summarise_run, summarise_written
from rebalance_sim.engine.runs.run import Run
from rebalance_sim.engine.tables.inputs import no_rejects
from rebalance_sim.errors import UserError, check_choice
from rebalance_sim.sources.kafka_tools.capture import Capture, read_capture
from rebalance_sim.sources.live_cluster.client_properties import read_client_properties
from rebalance_sim.sources.live_cluster.cluster import read_cluster
from rebalance_sim.sources.live_cluster.topic_records import PACKAGE, read_records
from rebalance_sim.sources.offsets_topic.dump import KAFKA
from rebalance_sim.sources.synthetic.fleet import synthetic_fleet
from rebalance_sim.sources.synthetic.fleet_spec import load
from rebalance_sim.sources.yaml_files import shipped_names
from rebalance_sim.tables import DEFAULT_CLUSTER, INPUTS, MEMBERS, OFFSETS, OUTPUTS, RECORDS, TOPICS


def add_options(parser: ArgumentParser) -> None:
    """Add the options of the job."""
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument(
        "--synthetic",
        metavar="FLEET",
        help=f"generate a synthetic fleet: one of {', '.join(shipped_names('fleets'))}, or a YAML file like those in "
        "conf/fleets",
    )
    source.add_argument("--kafka-tools", metavar="DIR", help="read the saved output of Kafka's command-line tools")
    source.add_argument("--bootstrap-servers", metavar="HOST:PORT,...", help="read a live cluster")
    source.add_argument(
        "--offsets-topic",
        metavar="WHERE",
        help="read __consumer_offsets from a dump (Parquet with key, value, partition and offset, or the output of the "
        f"console consumer) or from brokers, kafka:HOST:PORT,... (needs the Spark package {PACKAGE})",
    )
    parser.add_argument(
        "--groups", type=int, default=1000, metavar="N", help="number of groups of a synthetic fleet (default: 1000)"
    )
    parser.add_argument("--seed", type=int, default=0, help="random seed of a synthetic fleet (default: 0)")
    parser.add_argument(
        "--cluster", default=DEFAULT_CLUSTER, metavar="NAME", help="cluster name of the rows read (default: default)"
    )
    parser.add_argument(
        "--protocols",
        metavar="NAME,...",
        help="candidate protocols of members of a real cluster whose own are unknown (default: the elected protocol)",
    )
    parser.add_argument(
        "--command-config",
        metavar="FILE",
        help="client properties file for the brokers, as for Kafka's tools; with --bootstrap-servers also librdkafka's "
        "properties",
    )
    parser.add_argument(
        "--records-from",
        metavar="TOPIC,...",
        help=f"also read the records of these topics of a live cluster (needs the Spark package {PACKAGE}, which "
        "is fetched automatically except under spark-submit)",
    )
    parser.add_argument(
        "--topics",
        metavar="PATH",
        help="with --offsets-topic: topics table whose topic_id resolves the topics of consumer-protocol groups; its "
        "format follows from its file name, else Parquet",
    )
    add_output_options(parser)


def packages(options: Namespace) -> Sequence[str]:
    """Return the Spark packages that the options need."""
    return (PACKAGE,) if options.records_from or _reads_topic_from_brokers(options) else ()


def run(spark: SparkSession, options: Namespace) -> None:
    """Write topics and members; for a real cluster also offsets, and records if topics are named."""
    _check(options)
    run = new_run(spark, "fleet", options)
    if options.offsets_topic:
        run_offsets_topic(run, options, _properties(options))
        return
    rejects = no_rejects(spark)
    if options.synthetic:
        check_at_least("--groups", options.groups, 0)
        fleet = synthetic_fleet(spark, load(options.synthetic), options.groups, options.seed)
        tables: dict[str, DataFrame] = {TOPICS.name: fleet.topics, MEMBERS.name: fleet.members}
    else:
        capture, records = _read(run, options)
        tables = {TOPICS.name: capture.topics, MEMBERS.name: capture.members, OFFSETS.name: capture.offsets, **records}
        rejects, run.assumptions = capture.rejects, capture.assumptions
    run.begin([*INPUTS, *OUTPUTS])
    for name, rows in tables.items():
        run.write(name, rows)
    write_rejects(run, rejects, options.on_bad_input)
    run.finish()
    print_summary([summarise_written(run, tables), *summarise_run(run)])


def _check(options: Namespace) -> None:
    """Raise UserError for options that do not apply to the chosen source."""
    if options.records_from and options.bootstrap_servers is None:
        raise UserError("--records-from: only allowed with --bootstrap-servers")
    if options.command_config and options.bootstrap_servers is None and not _reads_topic_from_brokers(options):
        raise UserError(f"--command-config: only allowed with --bootstrap-servers and --offsets-topic {KAFKA}HOST:PORT")
    if options.topics and options.offsets_topic is None:
        raise UserError("--topics: only allowed with --offsets-topic")


def _reads_topic_from_brokers(options: Namespace) -> bool:
    return options.offsets_topic is not None and options.offsets_topic.startswith(KAFKA)


def _read(run: Run, options: Namespace) -> tuple[Capture, dict[str, DataFrame]]:
    """Read a real cluster, with records if they are asked for."""
    protocols = options.protocols.split(",") if options.protocols else None
    if options.kafka_tools:
        return read_capture(run.spark, options.kafka_tools, protocols=protocols, cluster=options.cluster), {}
    servers, properties = options.bootstrap_servers, _properties(options)
    capture = read_cluster(
        run.spark,
        servers,
        properties=properties,
        protocols=protocols,
        cluster=options.cluster,
        on_progress=run.report_progress,
    )
    if not options.records_from:
        return capture, {}
    wanted, existing = items(options.records_from), [row["topic"] for row in capture.topics.select("topic").collect()]
    for topic in wanted:
        check_choice("--records-from", topic, existing)
    records = read_records(run.spark, servers, wanted, properties=properties, cluster=options.cluster)
    return capture, {RECORDS.name: records}


def _properties(options: Namespace) -> dict[str, str]:
    return read_client_properties(options.command_config) if options.command_config else {}
