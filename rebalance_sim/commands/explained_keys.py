"""What ``explain`` says about keys. Nothing here imports Spark."""

from argparse import Namespace
from collections.abc import Callable, Iterator
from itertools import combinations

from rebalance_sim.commands.job_options import AGREEMENT, KEY
from rebalance_sim.commands.options import items
from rebalance_sim.commands.validation.explain import key_of
from rebalance_sim.explanations.agreement import explain_agreement
from rebalance_sim.explanations.explanation import Explanation
from rebalance_sim.explanations.key import explain_key


def _key(options: Namespace, partitions: int) -> Iterator[Explanation]:
    for client in items(options.client):
        yield explain_key(key_of(options), partitions, client)


def _agreement(options: Namespace, partitions: int) -> Iterator[Explanation]:
    for pair in combinations(items(options.client), 2):
        yield explain_agreement(pair, partitions)


EXPLAINED: dict[str, Callable[[Namespace, int], Iterator[Explanation]]] = {KEY: _key, AGREEMENT: _agreement}
"""By what is explained: the explanations for a topic with a number of partitions."""
