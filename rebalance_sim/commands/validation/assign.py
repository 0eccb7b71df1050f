"""Validate the options of ``assign``."""

from argparse import Namespace

from rebalance_sim.commands.options import brokers_of
from rebalance_sim.commands.strategies import own_assignors, strategies
from rebalance_sim.commands.validation.known_files import KnownFiles


def validate(options: Namespace, known: KnownFiles) -> None:
    """Raise UserError for a mistake that shows without reading rows."""
    version = brokers_of(options).rules()
    strategies(options.strategy, version, own_assignors(options, version))
    known.check_out(options)
    known.check_tables(options, "topics", "members", "offsets", "clusters")
