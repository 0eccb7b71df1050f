"""Read and validate the options of ``explain``."""

from argparse import Namespace

from rebalance_sim.commands.job_options import AGREEMENT, ASSIGNMENT, ELECTION, KEY
from rebalance_sim.commands.options import brokers_of, items
from rebalance_sim.commands.strategies import own_assignors, strategies
from rebalance_sim.commands.validation.known_files import KnownFiles
from rebalance_sim.errors import UserError
from rebalance_sim.explanations.explanation import check_partitions
from rebalance_sim.kafka.partitioners.clients import client_named

_NEEDED = {ELECTION: ("members",), ASSIGNMENT: ("topics", "topic", "partition", "members")}


def validate(options: Namespace, known: KnownFiles) -> None:
    """Raise UserError for a mistake that shows without reading rows."""
    if options.what in _NEEDED:
        _validate_groups(options, known)
    else:
        _validate_keys(options, known)


def _validate_groups(options: Namespace, known: KnownFiles) -> None:
    for name in _NEEDED[options.what]:
        if getattr(options, name) is None:
            raise UserError(f"explain {options.what} needs --{name}")
    version = brokers_of(options).rules()
    if options.what == ASSIGNMENT:
        strategies(options.strategy, version, own_assignors(options, version))
        known.check_tables(options, "topics")
    known.check_tables(options, "members", "clusters")


def _validate_keys(options: Namespace, known: KnownFiles) -> None:
    clients = items(options.client)
    if options.what == KEY:
        key_of(options)
    elif len(clients) < 2:
        raise UserError(f"--client: {options.client!r} is one client; explain {AGREEMENT} needs at least two")
    if options.partitions is None and (options.topics is None or options.topic is None):
        raise UserError("give --partitions, or --topics and --topic")
    for name in clients:
        client_named("client", name)
    if options.partitions is None:
        known.check_tables(options, "topics")
    else:
        check_partitions(options.partitions)


def key_of(options: Namespace) -> bytes | str:
    """Return the key. Raises UserError if there is none, or if it is not hexadecimal."""
    if options.key is not None:
        return str(options.key)
    if options.key_hex is None:
        raise UserError("give --key or --key-hex")
    try:
        return bytes.fromhex(options.key_hex.removeprefix("0x"))
    except ValueError as problem:
        raise UserError(f"--key-hex: {options.key_hex!r} is not hexadecimal") from problem
