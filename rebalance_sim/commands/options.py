"""Check and use options that the jobs share; ``job_options`` declares them."""

from argparse import Namespace
from typing import Any

from pyspark.sql import SparkSession

from rebalance_sim.engine.runs.local_run import LocalRun, runs_here
from rebalance_sim.engine.runs.planned_runs import DryRun, ExplainedRun
from rebalance_sim.engine.runs.run import Run
from rebalance_sim.engine.runs.small_run import SmallRun
from rebalance_sim.engine.spark.driver_rows import keeps_rows
from rebalance_sim.errors import UserError
from rebalance_sim.kafka.partitioners.clients import Client, client_named

_HOW_TO_RUN = ("job", "sources", "dry_run", "explain")
"""Options that do not change the outputs."""


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
    kind = DryRun if options.dry_run else ExplainedRun if options.explain else _usual_run(spark, options)
    run = kind(spark, job, options.out, on_record(options), options.output_format)
    # Before the rules run, as they do at once on a small input.
    run.check_out()
    return run


def _usual_run(spark: SparkSession, options: Namespace) -> type[Run]:
    if keeps_rows(spark):
        return SmallRun
    return LocalRun if runs_here(spark, options.out, options.output_format) else Run


def check_at_least(option: str, value: int, least: int) -> None:
    """Raise UserError for a value below the smallest allowed."""
    if value < least:
        raise UserError(f"{option}: {value} is not allowed; allowed: {least} or more")


def check_between(option: str, value: int, least: int, most: int) -> None:
    """Raise UserError for a value outside the allowed range."""
    if not least <= value <= most:
        raise UserError(f"{option}: {value} is not allowed; allowed: {least} to {most}")
