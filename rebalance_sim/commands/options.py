"""Options that the jobs share."""

from argparse import ArgumentParser, Namespace, _ActionsContainer
from typing import Any

from pyspark.sql import SparkSession

from rebalance_sim.commands.configuration import CONFIG
from rebalance_sim.engine.groups.prediction import OFFSETS_PARTITIONS
from rebalance_sim.engine.runs.planned_runs import DryRun, ExplainedRun
from rebalance_sim.engine.runs.run import Run
from rebalance_sim.engine.runs.small_run import SmallRun
from rebalance_sim.engine.spark.driver_rows import keeps_rows
from rebalance_sim.errors import UserError
from rebalance_sim.kafka.partitioners.clients import Client, client_named
from rebalance_sim.logs import FORMATS, LEVELS
from rebalance_sim.releases import NEWEST
from rebalance_sim.tables import Table

_HOW_TO_RUN = ("job", "sources", "dry_run", "explain")
"""Options that do not change the outputs."""


def add_operation_options(parser: ArgumentParser) -> None:
    """Add the options of every job: how it runs."""
    parser.add_argument(CONFIG, metavar="FILE", help="YAML file with options, such as conf/rebalance-sim.yaml")
    parser.add_argument(
        "--log-level", choices=LEVELS, default="info", help="level of the log on stderr (default: info)"
    )
    parser.add_argument(
        "--log-format",
        choices=FORMATS,
        default="text",
        help="format of the log: text, or one JSON object per line (default: text)",
    )


def add_output_options(parser: ArgumentParser) -> None:
    """Add the options of every job that writes tables."""
    parser.add_argument(
        "--out", required=True, metavar="DIR", help="folder for the outputs; those of an earlier run are replaced"
    )
    parser.add_argument(
        "--output-format",
        default="parquet",
        metavar="FORMAT",
        help="format of the outputs, any that Spark can write (default: parquet)",
    )
    parser.add_argument(
        "--on-bad-input",
        choices=["quarantine", "fail"],
        default="quarantine",
        help="rows that cannot be used: write them to rejects and continue, or fail (default: quarantine)",
    )
    planned = parser.add_mutually_exclusive_group()
    add_dry_run_option(planned)
    planned.add_argument("--explain", action="store_true", help="print Spark's plan of every output; write nothing")


def add_dry_run_option(parser: _ActionsContainer) -> None:
    """Add the option of every job that writes."""
    parser.add_argument(
        "--dry-run", action="store_true", help="check options and inputs and print what would be done; write nothing"
    )


def add_input_options(parser: ArgumentParser, *tables: Table) -> None:
    """Add the options of the jobs that read these tables."""
    for table in tables:
        parser.add_argument(f"--{table.name}", required=True, metavar="PATH", help=f"{table.name} table")
    parser.add_argument(
        "--format",
        default="parquet",
        metavar="FORMAT",
        help="format of the inputs, any that Spark can read (default: parquet)",
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=0,
        help="seed of random draws in simulations and producers; elections and assignments make none (default: 0)",
    )


def add_assignors_option(parser: ArgumentParser) -> None:
    """Add the option of the jobs that assign partitions."""
    parser.add_argument(
        "--assignors",
        default="",
        metavar="MODULE:CLASS,...",
        help="assignors of your own: groups may elect them, and --strategy may name them",
    )


def add_election_options(parser: ArgumentParser) -> None:
    """Add the options of the jobs that elect."""
    parser.add_argument(
        "--kafka-version",
        default=NEWEST,
        metavar="VERSION",
        help=f"Kafka release whose rules apply (default: {NEWEST})",
    )
    parser.add_argument(
        "--offsets-partitions",
        type=int,
        default=OFFSETS_PARTITIONS,
        metavar="N",
        help=f"offsets.topic.num.partitions of the brokers: decides each group's coordinator "
        f"(default: {OFFSETS_PARTITIONS})",
    )


def items(listed: str) -> list[str]:
    """Split a list at its commas, without repetitions.

    >>> items("range, sticky,range")
    ['range', 'sticky']
    """
    return list(dict.fromkeys(item.strip() for item in listed.split(",")))


def named_clients(option: str, asked: str) -> tuple[Client, ...]:
    """Return the clients that an option names. Raises UserError for an unknown one.

    >>> [client.name for client in named_clients("--client", "sarama, java-3.3,sarama")]
    ['sarama', 'java-3.3']
    """
    return tuple(client_named(option, name) for name in items(asked)) if asked else ()


def on_record(options: Namespace) -> dict[str, Any]:
    """Return the options for the record, without those that do not change the outputs."""
    return {name: value for name, value in vars(options).items() if name not in _HOW_TO_RUN}


def new_run(spark: SparkSession, job: str, options: Namespace) -> Run:
    """Return a run, or a plan of one, that records its options. Nothing is written before it begins."""
    usual = SmallRun if keeps_rows(spark) else Run
    kind = DryRun if options.dry_run else ExplainedRun if options.explain else usual
    return kind(spark, job, options.out, on_record(options), options.output_format)


def check_at_least(option: str, value: int, least: int) -> None:
    """Raise UserError for a value below the smallest allowed."""
    if value < least:
        raise UserError(f"{option}: {value} is not allowed; allowed: {least} or more")


def check_between(option: str, value: int, least: int, most: int) -> None:
    """Raise UserError for a value outside the allowed range."""
    if not least <= value <= most:
        raise UserError(f"{option}: {value} is not allowed; allowed: {least} to {most}")
