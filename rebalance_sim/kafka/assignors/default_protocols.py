"""The protocols that consumers of each library offer unless they are configured otherwise."""

from collections.abc import Collection

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


def refused_by_default(candidates: Collection[str]) -> list[str]:
    """Return the libraries whose consumers a coordinator refuses in their newest release, unless they are configured.

    ``candidates`` are the protocols that all members of a classic group offer: a consumer that offers none of them gets
    INCONSISTENT_GROUP_PROTOCOL (``ClassicGroup.supportsProtocols``).

    >>> refused_by_default(["range", "sticky"])
    ['franz-go', 'kafkajs', 'platformatic-kafka', 'aiokafka']
    """
    newest = {library: lists[-1][1] for library, lists in DEFAULT_PROTOCOLS.items()}
    return [library for library, protocols in newest.items() if not set(candidates) & set(protocols)]
