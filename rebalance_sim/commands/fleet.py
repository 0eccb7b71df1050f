"""``fleet``: makes the input tables: a synthetic fleet, or a real one by tools, brokers or __consumer_offsets."""

from argparse import ArgumentParser, Namespace
from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession

from rebalance_sim.commands.offsets_topic import run_offsets_topic
from rebalance_sim.commands.options import add_output_options, check_at_least, items, new_run
from rebalance_sim.commands.rejects import write_rejects
from rebalance_sim.commands.summary import print_summary, summarise_run
from rebalance_sim.engine.inputs import no_rejects
from rebalance_sim.engine.runs import Run
from rebalance_sim.errors import UserError, check_choice
from rebalance_sim.sources.client_properties import read_client_properties
from rebalance_sim.sources.fleet_spec import load
from rebalance_sim.sources.kafka_tools import Capture, read_capture
from rebalance_sim.sources.live_cluster import read_cluster
from rebalance_sim.sources.offsets_topic_dump import KAFKA
from rebalance_sim.sources.synthetic import synthetic_fleet
from rebalance_sim.sources.topic_records import PACKAGE, read_records
from rebalance_sim.tables import DEFAULT_CLUSTER, INPUTS, MEMBERS, OFFSETS, OUTPUTS, RECORDS, TOPICS


def add_options(parser: ArgumentParser) -> None:
    """Options of the job."""
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--synthetic", metavar="FILE", help="make up a fleet as conf/fleets/*.yaml describe one")
    source.add_argument("--kafka-tools", metavar="DIR", help="read what Kafka's command-line tools printed")
    source.add_argument("--bootstrap-servers", metavar="HOST:PORT,...", help="read a live cluster by these brokers")
    source.add_argument(
        "--offsets-topic",
        metavar="WHERE",
        help="read __consumer_offsets: a dump (Parquet with key, value, partition and offset, or what the console "
        f"consumer printed), or kafka:HOST:PORT,... (Spark needs {PACKAGE} for that)",
    )
    parser.add_argument("--groups", type=int, default=1000, metavar="N", help="of a synthetic fleet (default: 1000)")
    parser.add_argument("--seed", type=int, default=0, help="of a synthetic fleet (default: 0)")
    parser.add_argument("--cluster", default=DEFAULT_CLUSTER, metavar="NAME", help="of what is read (default: default)")
    parser.add_argument(
        "--protocols",
        metavar="NAME,...",
        help="what members of a real cluster offer, where nothing else tells it but what was elected",
    )
    parser.add_argument(
        "--command-config",
        metavar="FILE",
        help="client properties for brokers, as Kafka's tools take them; for --bootstrap-servers also librdkafka's",
    )
    parser.add_argument(
        "--records-from",
        metavar="TOPIC,...",
        help=f"also make records of what is in these topics of a live cluster; Spark needs {PACKAGE} for that, which a "
        "run that is not started by spark-submit fetches itself",
    )
    parser.add_argument(
        "--topics",
        metavar="PATH",
        help="with --offsets-topic: topics table, Parquet or by its ending; its topic_id names those of KIP-848 groups",
    )
    add_output_options(parser)


def packages(options: Namespace) -> Sequence[str]:
    """Packages that Spark needs for what is asked."""
    return (PACKAGE,) if options.records_from or _reads_topic_from_brokers(options) else ()


def run(spark: SparkSession, options: Namespace) -> None:
    """Make topics and members; from a real cluster offsets as well, and records where topics are named."""
    _check(options)
    run = new_run(spark, "fleet", options)
    if options.offsets_topic:
        run_offsets_topic(run, options, _properties(options))
        return
    rejects = no_rejects(spark)
    if options.synthetic:
        check_at_least("--groups", options.groups, 0)
        made = synthetic_fleet(spark, load(options.synthetic), options.groups, options.seed)
        tables: dict[str, DataFrame] = {TOPICS.name: made.topics, MEMBERS.name: made.members}
    else:
        capture, records = _read(run, options)
        tables = {TOPICS.name: capture.topics, MEMBERS.name: capture.members, OFFSETS.name: capture.offsets, **records}
        rejects, run.assumptions = capture.rejects, capture.assumptions
    run.begin([*INPUTS, *OUTPUTS])
    for name, rows in tables.items():
        run.write(name, rows)
    write_rejects(run, rejects, options.on_bad_input)
    run.finish()
    written = ", ".join(f"{run.counts['out'][name]:,} {name}" for name in tables)
    print_summary([f"made {written}", *summarise_run(run)])


def _check(options: Namespace) -> None:
    """Raise UserError for options that need what is not read."""
    if options.records_from and options.bootstrap_servers is None:
        raise UserError("--records-from: only allowed with --bootstrap-servers")
    if options.command_config and options.bootstrap_servers is None and not _reads_topic_from_brokers(options):
        raise UserError(f"--command-config: only allowed with --bootstrap-servers and --offsets-topic {KAFKA}HOST:PORT")
    if options.topics and options.offsets_topic is None:
        raise UserError("--topics: only allowed with --offsets-topic")


def _reads_topic_from_brokers(options: Namespace) -> bool:
    return options.offsets_topic is not None and options.offsets_topic.startswith(KAFKA)


def _read(run: Run, options: Namespace) -> tuple[Capture, dict[str, DataFrame]]:
    """Read a real cluster, and records where they are asked for."""
    protocols = options.protocols.split(",") if options.protocols else None
    if options.kafka_tools:
        return read_capture(run.spark, options.kafka_tools, protocols=protocols, cluster=options.cluster), {}
    servers, properties = options.bootstrap_servers, _properties(options)
    capture = read_cluster(
        run.spark, servers, properties=properties, protocols=protocols, cluster=options.cluster, tell=run.tell
    )
    if not options.records_from:
        return capture, {}
    wanted, there = items(options.records_from), [row["topic"] for row in capture.topics.select("topic").collect()]
    for topic in wanted:
        check_choice("--records-from", topic, there)
    records = read_records(run.spark, servers, wanted, properties=properties, cluster=options.cluster)
    return capture, {RECORDS.name: records}


def _properties(options: Namespace) -> dict[str, str]:
    return read_client_properties(options.command_config) if options.command_config else {}
