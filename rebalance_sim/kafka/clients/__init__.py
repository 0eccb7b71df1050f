"""One record per client library, from which everything else about the library derives.

To add a library, write a module with its record and list it in ``LIBRARIES``. Its assignors are in a folder of
``rebalance_sim.kafka.assignors``, or in ``steps`` there; these modules must not import a record.
"""

from collections.abc import Collection

from rebalance_sim.errors import check_choice
from rebalance_sim.kafka.clients import (
    aiokafka,
    brod,
    franz_go,
    java,
    kafka_go,
    kafka_node,
    kafka_python,
    kafkajs,
    librdkafka,
    platformatic_kafka,
    ruby_kafka,
    sarama,
)
from rebalance_sim.kafka.clients.library import ClientLibrary

LIBRARIES = {
    module.LIBRARY.name: module.LIBRARY
    for module in (
        *(java, librdkafka, sarama, franz_go, kafka_go),
        *(kafkajs, platformatic_kafka, kafka_python, aiokafka, kafka_node, ruby_kafka, brod),
    )
}
"""The records by name, the most likely library first."""
JAVA = java.LIBRARY.name


def library_named(name: str) -> ClientLibrary:
    """Return the record of a library. Raises UserError for an unknown name.

    >>> library_named("kafkajs").default_protocols
    (((0,), ('RoundRobinAssigner',)),)
    """
    check_choice("client_library", name, list(LIBRARIES))
    return LIBRARIES[name]


def refused_by_default(candidates: Collection[str]) -> list[str]:
    """Return the libraries whose newest release a coordinator refuses with the default configuration.

    ``candidates`` are the protocols that all members of a classic group offer: a consumer that offers none of them gets
    INCONSISTENT_GROUP_PROTOCOL (``ClassicGroup.supportsProtocols``).

    >>> refused_by_default(["range", "sticky"])
    ['franz-go', 'kafkajs', 'platformatic-kafka', 'aiokafka', 'kafka-node', 'ruby-kafka', 'brod']
    """
    return [name for name, library in LIBRARIES.items() if not set(candidates) & set(library.protocols_of())]
