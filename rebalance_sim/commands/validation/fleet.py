"""Read and validate the options of ``fleet``, and those of the same names that ``audit`` has."""

from argparse import Namespace

from rebalance_sim.commands.options import check_at_least
from rebalance_sim.commands.validation.known_files import KnownFiles
from rebalance_sim.defaults import AUTO
from rebalance_sim.errors import UserError
from rebalance_sim.sources.assumptions import MembersAsStated, checked_protocols
from rebalance_sim.sources.clients_file import read_clients
from rebalance_sim.sources.live_cluster.client_properties import read_client_properties
from rebalance_sim.sources.live_cluster.librdkafka_properties import (
    check_installed,
    java_properties,
    librdkafka_properties,
)
from rebalance_sim.sources.offsets_topic import KAFKA
from rebalance_sim.sources.synthetic.fleet_spec import check_size, load


def validate(options: Namespace, known: KnownFiles) -> None:
    """Raise UserError for a mistake that shows without reading rows."""
    if options.records_from and options.bootstrap_servers is None:
        raise UserError("--records-from: only allowed with --bootstrap-servers")
    if options.topics and options.offsets_topic is None:
        raise UserError("--topics: only allowed with --offsets-topic")
    if options.records_from:
        java_properties(properties_of(options))
    validate_source(options, known)
    known.check_out(options)
    known.check_table("topics", options.topics, AUTO)


def validate_source(options: Namespace, known: KnownFiles) -> None:
    """Raise UserError for options that do not apply to the source of a fleet, and for a source that does not exist."""
    properties = properties_of(options)
    if options.clients and options.synthetic:
        raise UserError("--clients: not allowed with --synthetic, whose file says what its clients are")
    stated_by(options)
    if options.synthetic:
        check_at_least("--groups", options.groups, 0)
        load(options.synthetic)
        check_size(options.groups, options.seed)
    elif options.bootstrap_servers:
        check_installed()
        librdkafka_properties(properties)
    elif _reads_topic_from_brokers(options):
        java_properties(properties)
    elif options.offsets_topic:
        known.check_exists("the dump", options.offsets_topic)
    else:
        known.check_exists("the capture", options.kafka_tools)


def has_source(options: Namespace) -> bool:
    """Return whether the options name a source of a fleet."""
    return any((options.synthetic, options.kafka_tools, options.bootstrap_servers, options.offsets_topic))


def properties_of(options: Namespace) -> dict[str, str]:
    """Read the properties of clients. Raises UserError if they are not for the chosen source, or cannot be read."""
    if not options.command_config:
        return {}
    if options.bootstrap_servers is None and not _reads_topic_from_brokers(options):
        raise UserError(f"--command-config: only allowed with --bootstrap-servers and --offsets-topic {KAFKA}HOST:PORT")
    return read_client_properties(options.command_config)


def stated_by(options: Namespace) -> MembersAsStated:
    """Return what the options say about members of a real cluster. Raises UserError for a mistake in them."""
    protocols = options.protocols.split(",") if options.protocols else None
    return MembersAsStated(checked_protocols(protocols), read_clients(options.clients))


def _reads_topic_from_brokers(options: Namespace) -> bool:
    return options.offsets_topic is not None and options.offsets_topic.startswith(KAFKA)
