"""``explain`` without Spark: keys in a topic whose number of partitions is known."""

from argparse import Namespace

from rebalance_sim.commands.console import print_summary
from rebalance_sim.commands.explained_keys import EXPLAINED


def run(options: Namespace) -> None:
    """Print the explanations."""
    for explained in EXPLAINED[options.what](options, options.partitions):
        print_summary(repr(explained).splitlines())
