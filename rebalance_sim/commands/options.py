"""Options that the jobs share."""

from argparse import ArgumentParser, Namespace, _ActionsContainer
from typing import Any

from pyspark.sql import SparkSession

from rebalance_sim.commands.configuration import CONFIG
from rebalance_sim.engine.planned_runs import DryRun, ExplainedRun
from rebalance_sim.engine.prediction import OFFSETS_PARTITIONS
from rebalance_sim.engine.runs import Run
from rebalance_sim.errors import UserError
from rebalance_sim.kafka.partitioners.clients import Client, client_named
from rebalance_sim.logs import FORMATS, LEVELS
from rebalance_sim.tables import Table
from rebalance_sim.versions import NEWEST

_HOW_TO_RUN = ("job", "sources", "dry_run", "explain")
"""What is no option of what is computed."""


def add_operation_options(parser: ArgumentParser) -> None:
    """Options of every job: how it runs."""
    parser.add_argument(CONFIG, metavar="FILE", help="options from a file, as conf/rebalance-sim.yaml is one")
    parser.add_argument("--log-level", choices=LEVELS, default="info", help="of what is told on stderr (default: info)")
    parser.add_argument(
        "--log-format", choices=FORMATS, default="text", help="lines of text, or of one JSON object (default: text)"
    )


def add_output_options(parser: ArgumentParser) -> None:
    """Options of every job that writes."""
    parser.add_argument("--out", required=True, metavar="DIR", help="folder for the outputs; replaced if it is there")
    parser.add_argument(
        "--output-format", default="parquet", metavar="FORMAT", help="any Spark sink (default: parquet)"
    )
    parser.add_argument(
        "--on-bad-input",
        choices=["quarantine", "fail"],
        default="quarantine",
        help="rows that cannot be used: put them into rejects and go on, or stop (default: quarantine)",
    )
    planned = parser.add_mutually_exclusive_group()
    add_dry_run_option(planned)
    planned.add_argument("--explain", action="store_true", help="print Spark's plan of each output, and write nothing")


def add_dry_run_option(parser: _ActionsContainer) -> None:
    """Option of every job that writes."""
    parser.add_argument(
        "--dry-run", action="store_true", help="check options and inputs, tell what would be done, and write nothing"
    )


def add_input_options(parser: ArgumentParser, *tables: Table) -> None:
    """Options of the jobs that read these tables."""
    for table in tables:
        parser.add_argument(f"--{table.name}", required=True, metavar="PATH", help=f"{table.name} table")
    parser.add_argument("--format", default="parquet", metavar="FORMAT", help="of the inputs: parquet, json, csv, ...")
    parser.add_argument(
        "--seed",
        type=int,
        default=0,
        help="of random draws: producers and simulations make some, elections and assignors none",
    )


def add_assignors_option(parser: ArgumentParser) -> None:
    """Option of the jobs that assign."""
    parser.add_argument(
        "--assignors",
        default="",
        metavar="MODULE:CLASS,...",
        help="assignors of your own, which groups may elect and --strategy may name",
    )


def add_election_options(parser: ArgumentParser) -> None:
    """Options of the jobs that elect."""
    parser.add_argument(
        "--kafka-version",
        default=NEWEST,
        metavar="VERSION",
        help=f"whose rules to follow (default: {NEWEST})",
    )
    parser.add_argument(
        "--offsets-partitions",
        type=int,
        default=OFFSETS_PARTITIONS,
        metavar="N",
        help=f"the brokers' offsets.topic.num.partitions (default: {OFFSETS_PARTITIONS})",
    )


def items(listed: str) -> list[str]:
    """Read a list with commas; what stands there twice counts once.

    >>> items("range, sticky,range")
    ['range', 'sticky']
    """
    return list(dict.fromkeys(item.strip() for item in listed.split(",")))


def named_clients(option: str, asked: str) -> tuple[Client, ...]:
    """Read an option that names clients; none for an empty one. Raises UserError for a client that is not known.

    >>> [client.name for client in named_clients("--client", "sarama, java-3.3,sarama")]
    ['sarama', 'java-3.3']
    """
    return tuple(client_named(option, name) for name in items(asked)) if asked else ()


def on_record(options: Namespace) -> dict[str, Any]:
    """Return what was asked for, without what changes nothing about the outputs."""
    return {name: value for name, value in vars(options).items() if name not in _HOW_TO_RUN}


def new_run(spark: SparkSession, job: str, options: Namespace) -> Run:
    """Make a run, or a plan of one, with what was asked for on record; its folder stays as it is until it begins."""
    kind = DryRun if options.dry_run else ExplainedRun if options.explain else Run
    return kind(spark, job, options.out, on_record(options), options.output_format)


def check_at_least(option: str, value: int, least: int) -> None:
    """Raise UserError for a number that is too small."""
    if value < least:
        raise UserError(f"{option}: {value} is not allowed; allowed: {least} and more")


def check_between(option: str, value: int, least: int, most: int) -> None:
    """Raise UserError for a number that is too small or too large."""
    if not least <= value <= most:
        raise UserError(f"{option}: {value} is not allowed; allowed: {least} to {most}")
