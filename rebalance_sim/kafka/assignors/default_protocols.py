"""The protocols that consumers of each library offer unless they are configured otherwise."""

from rebalance_sim.errors import check_choice

DEFAULT_PROTOCOLS: dict[str, tuple[tuple[tuple[int, ...], tuple[str, ...]], ...]] = {
    # KAFKA-12477, KIP-726: a group can move to cooperative-sticky in one rolling restart.
    "java": (((0,), ("range",)), ((3, 0), ("range", "cooperative-sticky"))),
    "librdkafka": (((0,), ("range", "roundrobin")),),
    "sarama": (((0,), ("range",)),),
    "franz-go": (((0,), ("cooperative-sticky",)),),
    "kafka-go": (((0,), ("range", "roundrobin")),),
    "kafkajs": (((0,), ("RoundRobinAssigner",)),),
    "platformatic-kafka": (((0,), ("roundrobin",)),),
    "kafka-python": (((0,), ("range", "roundrobin")),),
    "aiokafka": (((0,), ("roundrobin",)),),
}
"""By library, the first release of each list, in ascending order, and the protocols, most preferred first."""


def default_protocols(library: str, release: tuple[int, ...]) -> tuple[str, ...]:
    """Return the protocols that a release of a library offers by default, most preferred first.

    Raises UserError for an unknown library.

    >>> default_protocols("java", (2, 8, 1)), default_protocols("java", (3, 0))
    (('range',), ('range', 'cooperative-sticky'))
    """
    check_choice("client_library", library, list(DEFAULT_PROTOCOLS))
    return [protocols for since, protocols in DEFAULT_PROTOCOLS[library] if since <= release][-1]
