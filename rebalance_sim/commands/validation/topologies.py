"""Validate the options about the topologies of Kafka Streams."""

from argparse import Namespace

from rebalance_sim.commands.options import items
from rebalance_sim.errors import UserError
from rebalance_sim.sources.streams.topology_description import read_topologies
from rebalance_sim.tables import SUBTOPOLOGIES


def check_topology(options: Namespace) -> None:
    """Raise UserError for files with topologies that cannot be read, or that a table is given beside."""
    if options.subtopologies and options.topology:
        raise UserError("--subtopologies and --topology: give one of them")
    read_topologies(items(options.topology) if options.topology else ())


def check_topologies(options: Namespace) -> None:
    """Raise UserError for topologies without the members that have their tasks, which a source may have."""
    for name in (SUBTOPOLOGIES.name, "topology"):
        if getattr(options, name) and not options.streams_members:
            raise UserError(
                f"--{name}: needs members, which have their tasks: give --streams-members, or a source that has "
                "applications of Kafka Streams"
            )
