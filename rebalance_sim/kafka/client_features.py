"""Which features the client libraries have, and since which release."""

from rebalance_sim.kafka.assignors.by_library import JAVA

CONSUMER_PROTOCOL: dict[str, tuple[int, ...] | None] = {
    # Early access in 3.7 to 3.9.
    JAVA: (4, 0),
    # Early access since 2.4.
    "librdkafka": (2, 12),
    # Only if the client's context opts in, and only with range and the sticky balancers.
    "franz-go": (1, 19),
    # The oldest release that was tried.
    "platformatic-kafka": (1, 35),
    # ConsumerGroupDescribe only, for administration.
    "sarama": None,
    "kafka-go": None,
    "kafkajs": None,
    "kafka-python": None,
    "aiokafka": None,
}
"""By library, the first release whose consumers can use ``group.protocol=consumer`` in production; None: no release."""

ASSIGNOR_SETTINGS: dict[str, str] = {
    JAVA: "partition.assignment.strategy",
    "librdkafka": "partition.assignment.strategy",
    "sarama": "Consumer.Group.Rebalance.GroupStrategies",
    "franz-go": "kgo.Balancers",
    "kafka-go": "GroupBalancers",
    "kafkajs": "partitionAssigners",
    "platformatic-kafka": "protocols",
    # Both take classes, such as RoundRobinPartitionAssignor, instead of names.
    "kafka-python": "partition_assignment_strategy",
    "aiokafka": "partition_assignment_strategy",
}
"""By library, the consumer's setting, option or field that lists its assignors, the most preferred first."""

_ONE_KIND_OF_ASSIGNORS = {"librdkafka"}


def mixes_assignors(library: str) -> bool:
    """Return whether a consumer of a library can list eager and cooperative assignors together.

    librdkafka refuses such a list ("online migration between assignors with different protocol types is not
    supported"), so that a group cannot change from one kind to the other in rolling restarts.

    >>> mixes_assignors("java"), mixes_assignors("librdkafka")
    (True, False)
    """
    return library not in _ONE_KIND_OF_ASSIGNORS


_WITHOUT_STATIC_MEMBERS = {"kafkajs", "kafka-go"}


def has_static_members(library: str) -> bool:
    """Return whether consumers of a library can have a group.instance.id (KIP-345).

    >>> has_static_members("librdkafka"), has_static_members("kafkajs")
    (True, False)
    """
    return library not in _WITHOUT_STATIC_MEMBERS
