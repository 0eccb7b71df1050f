"""Libraries whose consumers a group refuses with their default configuration."""

from collections.abc import Collection

from rebalance_sim.kafka.clients import LIBRARIES


def refused_by_default(candidates: Collection[str]) -> list[str]:
    """Return the libraries whose newest release a coordinator refuses with the default configuration.

    ``candidates`` are the protocols that all members of a classic group offer: a consumer that offers none of them gets
    INCONSISTENT_GROUP_PROTOCOL (``ClassicGroup.supportsProtocols``).

    >>> refused_by_default(["range", "sticky"])
    ['franz-go', 'kafkajs', 'platformatic-kafka', 'aiokafka', 'kafka-node', 'ruby-kafka', 'brod']
    """
    return [name for name, library in LIBRARIES.items() if not set(candidates) & set(library.protocols_of())]
