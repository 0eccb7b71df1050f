"""``explain`` without Spark: keys in a topic whose number of partitions is known."""

from argparse import Namespace

from rebalance_sim.commands.console import print_summary
from rebalance_sim.commands.explained_keys import EXPLAINED
from rebalance_sim.commands.topic_partitions import known_partitions


def run(options: Namespace) -> None:
    """Print the explanations."""
    partitions = known_partitions(options)
    assert partitions is not None
    for explained in EXPLAINED[options.what](options, partitions):
        print_summary(repr(explained).splitlines())
