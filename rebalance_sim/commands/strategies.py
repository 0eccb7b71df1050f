"""The assignors that options name: Kafka's, those of other client libraries, and the user's own."""

from argparse import Namespace
from collections.abc import Mapping
from typing import TYPE_CHECKING

from rebalance_sim.commands.job_options import ALL
from rebalance_sim.commands.options import items
from rebalance_sim.defaults import STRATEGY
from rebalance_sim.releases import KafkaVersion

if TYPE_CHECKING:
    from rebalance_sim.kafka.assignors.consumer_partition_assignor import ConsumerPartitionAssignor


def own_assignors(options: Namespace, version: KafkaVersion) -> "dict[str, ConsumerPartitionAssignor]":
    """Return the user's assignors by MODULE:CLASS. Raises UserError for one that cannot be used."""
    strategy = getattr(options, "strategy", "")
    if not options.assignors and ":" not in strategy:
        return {}
    from rebalance_sim.commands.custom_assignors import load_assignors  # noqa: PLC0415 (imports Kafka's rules)

    return load_assignors(options.assignors, strategy, version)


def strategies(
    asked: str, version: KafkaVersion, own: "Mapping[str, ConsumerPartitionAssignor] | None" = None
) -> tuple[str, ...]:
    """Return the strategies of the option, each once; ``own`` are the user's assignors by MODULE:CLASS.

    >>> from rebalance_sim.releases import kafka_version
    >>> strategies("roundrobin,range", kafka_version("4.3"))
    ('roundrobin', 'range')
    """
    if asked == STRATEGY:
        return (asked,)
    from rebalance_sim.kafka.assignors import assignors_of, check_strategy  # noqa: PLC0415 (likewise)

    name_of = {item: assignor.name for item, assignor in (own or {}).items()}
    names: list[str] = []
    for name in (name_of.get(item, item) for item in items(asked)):
        check_strategy("--strategy", name, version, [*name_of.values(), STRATEGY, ALL])
        names += [*assignors_of(version), *name_of.values()] if name == ALL else [name]
    return tuple(dict.fromkeys(names))
