"""Read and validate the options of ``history``."""

from argparse import Namespace
from datetime import UTC, datetime

from rebalance_sim.commands.options import brokers_of, items
from rebalance_sim.commands.strategies import own_assignors
from rebalance_sim.commands.validation.fleet import stated_by
from rebalance_sim.commands.validation.known_files import KnownFiles
from rebalance_sim.engine.runs.files import LocalFiles
from rebalance_sim.errors import UserError
from rebalance_sim.sources.live_cluster.client_properties import read_client_properties
from rebalance_sim.sources.live_cluster.librdkafka_properties import java_properties
from rebalance_sim.sources.offsets_topic import KAFKA, separated
from rebalance_sim.sources.offsets_topic.copied_topic import has_copy
from rebalance_sim.sources.offsets_topic.reading import Reading


def validate(options: Namespace, known: KnownFiles) -> None:
    """Raise UserError for a mistake that shows without reading rows."""
    reading_of(options)
    own_assignors(options, brokers_of(options).rules())
    dumps = dumps_of(options)
    brokers = [where for where in dumps if where.startswith(KAFKA)]
    if options.command_config and not brokers:
        raise UserError(f"--command-config: only allowed with --offsets-topic {KAFKA}HOST:PORT")
    if options.command_config:
        java_properties(read_client_properties(options.command_config))
    if options.keep and not brokers:
        raise UserError(f"--keep: only allowed with --offsets-topic {KAFKA}HOST:PORT, whose new records it copies")
    if options.keep and known.knows(options.keep):
        has_copy(LocalFiles(), options.keep)
    for where in dumps:
        if where not in brokers:
            known.check_exists("the dump", where)
    for where in items(options.broker_logs) if options.broker_logs else ():
        known.check_exists("the broker log", where)
    known.check_out(options)
    known.check_tables(options, "topics", "clusters")


def dumps_of(options: Namespace) -> list[str]:
    """Return the dumps. Raises UserError if there are none."""
    dumps = separated(options.offsets_topic)
    if not dumps:
        raise UserError(f"--offsets-topic: {options.offsets_topic!r} names no dump")
    return dumps


def reading_of(options: Namespace) -> Reading:
    """Return how records are read. Raises UserError for a time that is none, and for times in the wrong order."""
    since_ms, until_ms = _time("--since", options.since), _time("--until", options.until)
    if since_ms is not None and until_ms is not None and since_ms > until_ms:
        raise UserError(f"--since: {options.since} is after --until {options.until}")
    return Reading(options.cluster, stated_by(options), since_ms=since_ms, until_ms=until_ms)


def _time(option: str, text: str) -> int | None:
    """Return a time in milliseconds; without a time zone it is UTC."""
    if not text:
        return None
    try:
        at = datetime.fromisoformat(text)
    except ValueError as problem:
        raise UserError(
            f"{option}: {text!r} is not a time; allowed: a date and time such as 2026-03-01T14:30 (UTC), or a date"
        ) from problem
    return round((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1000)
