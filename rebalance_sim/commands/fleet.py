"""``fleet``: makes the input tables: a synthetic fleet, or a capture of Kafka's command-line tools."""

from argparse import ArgumentParser, Namespace

from pyspark.sql import DataFrame, SparkSession

from rebalance_sim.commands.options import add_output_options, begin_run, check_at_least
from rebalance_sim.commands.rejects import write_rejects
from rebalance_sim.commands.summary import print_summary, summarise_run
from rebalance_sim.engine.inputs import no_rejects
from rebalance_sim.sources.fleet_spec import load
from rebalance_sim.sources.kafka_tools import read_capture
from rebalance_sim.sources.synthetic import synthetic_fleet
from rebalance_sim.tables import DEFAULT_CLUSTER, INPUTS, MEMBERS, OFFSETS, OUTPUTS, TOPICS


def add_options(parser: ArgumentParser) -> None:
    """Options of the job."""
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--synthetic", metavar="FILE", help="make up a fleet as conf/fleets/*.yaml describe one")
    source.add_argument("--kafka-tools", metavar="DIR", help="read what Kafka's command-line tools printed")
    parser.add_argument("--groups", type=int, default=1000, metavar="N", help="of a synthetic fleet (default: 1000)")
    parser.add_argument("--seed", type=int, default=0, help="of a synthetic fleet (default: 0)")
    parser.add_argument("--cluster", default=DEFAULT_CLUSTER, metavar="NAME", help="of a capture (default: default)")
    parser.add_argument(
        "--protocols", metavar="NAME,...", help="what members of a capture offer, where nothing else tells it"
    )
    add_output_options(parser)


def run(spark: SparkSession, options: Namespace) -> None:
    """Make topics, members and, from a capture, offsets."""
    rejects, assumptions = no_rejects(spark), list[str]()
    if options.synthetic:
        check_at_least("--groups", options.groups, 0)
        made = synthetic_fleet(spark, load(options.synthetic), options.groups, options.seed)
        tables: dict[str, DataFrame] = {TOPICS.name: made.topics, MEMBERS.name: made.members}
    else:
        protocols = options.protocols.split(",") if options.protocols else None
        capture = read_capture(spark, options.kafka_tools, protocols=protocols, cluster=options.cluster)
        tables = {TOPICS.name: capture.topics, MEMBERS.name: capture.members, OFFSETS.name: capture.offsets}
        rejects, assumptions = capture.rejects, capture.assumptions
    run = begin_run(spark, "fleet", options, [*INPUTS, *OUTPUTS])
    run.assumptions = assumptions
    for name, rows in tables.items():
        run.tell(f"writing {name}")
        run.write(name, rows)
    write_rejects(run, rejects, options.on_bad_input)
    run.finish()
    written = ", ".join(f"{run.counts['out'][name]:,} {name}" for name in tables)
    print_summary([f"made {written}", *summarise_run(run)])
