"""Validate the options of ``elect``."""

from argparse import Namespace

from rebalance_sim.commands.options import brokers_of
from rebalance_sim.commands.validation.known_files import KnownFiles


def validate(options: Namespace, known: KnownFiles) -> None:
    """Raise UserError for a mistake that shows without reading rows."""
    brokers_of(options)
    known.check_out(options)
    known.check_tables(options, "members", "clusters")
