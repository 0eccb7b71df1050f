"""Read and validate the options of ``partition``."""

from argparse import Namespace

from rebalance_sim.commands.job_options import COMPARE, PARTITIONS_AFTER
from rebalance_sim.commands.options import check_between, items, named_clients
from rebalance_sim.commands.validation.known_files import KnownFiles
from rebalance_sim.engine.runs.input_formats import TEXT
from rebalance_sim.errors import UserError
from rebalance_sim.releases import kafka_version
from rebalance_sim.tables import MAX_PARTITIONS, TOPICS_AFTER

LARGEST = 2**30
"""The partitioner compares with twice the batch size, which would overflow a Java int beyond this."""


def validate(options: Namespace, known: KnownFiles) -> None:
    """Raise UserError for a mistake that shows without reading rows."""
    clients_of(options.client)
    batches_of(options)
    compared_clients(options)
    after = partitions_after(options)
    known.check_out(options)
    if isinstance(after, str):
        known.check_table(TOPICS_AFTER.name, after, options.format)
    known.check_tables(options, "topics", "records")
    known.check_table("keys", options.keys, format_of_keys(options))


def clients_of(option: str) -> tuple[dict[str, str], list[str]]:
    """Return the clients of the topics that the option names, or those that place all records.

    Raises UserError for an unknown client, and if only some of the clients have a topic.

    >>> clients_of("orders=sarama,clicks=librdkafka"), clients_of("sarama,java-3.3")
    (({'orders': 'sarama', 'clicks': 'librdkafka'}, []), ({}, ['sarama', 'java-3.3']))
    """
    parts = [item.rpartition("=") for item in items(option)] if option else []
    found = [client.name for client in named_clients("--client", ",".join(name for _, _, name in parts))]
    if not any(equals for _, equals, _ in parts):
        return {}, found
    if not all(topic for topic, _, _ in parts):
        raise UserError(
            f"--client: {option!r} names a topic for some clients only; allowed: NAME,... or TOPIC=NAME,..."
        )
    return {topic: name for topic, _, name in parts}, []


def batches_of(options: Namespace) -> tuple[int, int]:
    """Return batch.size and linger.ms. Raises UserError for values out of range."""
    linger_ms = kafka_version(options.kafka_version).linger_ms if options.linger_ms is None else options.linger_ms
    check_between("--batch-size", options.batch_size, 0, LARGEST)
    check_between("--linger-ms", linger_ms, 0, LARGEST)
    return options.batch_size, linger_ms


def compared_clients(options: Namespace) -> tuple[str, ...]:
    """Return the names of the clients that are compared. Raises UserError for an unknown one, and for only one."""
    compared = tuple(client.name for client in named_clients(COMPARE, options.compare))
    if len(compared) == 1:
        raise UserError(f"{COMPARE}: {options.compare!r} is one client; at least two are needed")
    return compared


def partitions_after(options: Namespace) -> int | str | None:
    """Return the partitions that all topics get, or the path of a table with them; None without the option."""
    asked: str = options.partitions_after
    if not asked.lstrip("+-").isdecimal():
        return asked or None
    check_between(PARTITIONS_AFTER, int(asked), 1, MAX_PARTITIONS)
    return int(asked)


def format_of_keys(options: Namespace) -> str:
    """Return the format of the keys: lines of a text file, or that of a table."""
    return TEXT if ".txt" in options.keys.rpartition("/")[2].lower() else str(options.format)
