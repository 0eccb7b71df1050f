"""Check and use options that the jobs share; ``job_options`` declares them. Nothing here imports Spark."""

from argparse import Namespace
from typing import Any

from rebalance_sim.errors import UserError
from rebalance_sim.kafka.brokers import Brokers
from rebalance_sim.kafka.partitioners.clients import client_named
from rebalance_sim.kafka.partitioners.partitioner import Client

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


def check_at_least(option: str, value: int, least: int) -> None:
    """Raise UserError for a value below the smallest allowed."""
    if value < least:
        raise UserError(f"{option}: {value} is not allowed; allowed: {least} or more")


def check_between(option: str, value: int, least: int, most: int) -> None:
    """Raise UserError for a value outside the allowed range."""
    if not least <= value <= most:
        raise UserError(f"{option}: {value} is not allowed; allowed: {least} to {most}")


def check_share(option: str, value: float) -> None:
    """Raise UserError for a value that is no share; every comparison with NaN is false."""
    if not 0 <= value <= 1:
        raise UserError(f"{option}: {value} is not allowed; allowed: 0 to 1")


def brokers_of(options: Namespace) -> Brokers:
    """Return the brokers of clusters that no table describes. Raises UserError for options that are not allowed."""
    offsets_partitions = {"offsets_partitions": options.offsets_partitions} if "offsets_partitions" in options else {}
    for value in offsets_partitions.values():
        check_at_least("--offsets-partitions", value, 1)
    return Brokers(options.kafka_version, options.scala_version, options.client_version, **offsets_partitions)
