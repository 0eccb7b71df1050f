"""All partition assignors, by name.

``java`` and ``sticky`` have the Java client's, ``server`` the coordinator's (KIP-848), and every other client library
has a folder of its own; rules that several of them follow are in ``steps``. To add an assignor of another library, add
a folder with its rules and a line to ``CLIENTS_ASSIGNORS``.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rebalance_sim.errors import UserError, check_choice
from rebalance_sim.kafka.assignors.aiokafka import range as aiokafka_range
from rebalance_sim.kafka.assignors.aiokafka import roundrobin as aiokafka_roundrobin
from rebalance_sim.kafka.assignors.franz_go import before_1_21_4 as franz_go_before_1_21_4
from rebalance_sim.kafka.assignors.franz_go import cooperative_sticky as franz_go_cooperative_sticky
from rebalance_sim.kafka.assignors.franz_go import range as franz_go_range
from rebalance_sim.kafka.assignors.franz_go import roundrobin as franz_go_roundrobin
from rebalance_sim.kafka.assignors.franz_go import sticky as franz_go_sticky
from rebalance_sim.kafka.assignors.java import range, roundrobin
from rebalance_sim.kafka.assignors.kafka_go import range as kafka_go_range
from rebalance_sim.kafka.assignors.kafka_go import roundrobin as kafka_go_roundrobin
from rebalance_sim.kafka.assignors.kafka_python import range as kafka_python_range
from rebalance_sim.kafka.assignors.kafka_python import roundrobin as kafka_python_roundrobin
from rebalance_sim.kafka.assignors.kafkajs import roundrobin as kafkajs_roundrobin
from rebalance_sim.kafka.assignors.kafkajs import roundrobin_before_1_13 as kafkajs_roundrobin_before_1_13
from rebalance_sim.kafka.assignors.librdkafka import cooperative_sticky as librdkafka_cooperative_sticky
from rebalance_sim.kafka.assignors.librdkafka import range as librdkafka_range
from rebalance_sim.kafka.assignors.librdkafka import range_before_2_2 as librdkafka_range_before_2_2
from rebalance_sim.kafka.assignors.librdkafka import roundrobin as librdkafka_roundrobin
from rebalance_sim.kafka.assignors.librdkafka import roundrobin_before_1_5_3 as librdkafka_roundrobin_before_1_5_3
from rebalance_sim.kafka.assignors.platformatic_kafka import roundrobin as platformatic_kafka_roundrobin
from rebalance_sim.kafka.assignors.sarama import hash_order
from rebalance_sim.kafka.assignors.sarama import range as sarama_range
from rebalance_sim.kafka.assignors.sarama import roundrobin as sarama_roundrobin
from rebalance_sim.kafka.assignors.server import range as server_range
from rebalance_sim.kafka.assignors.server import uniform as server_uniform
from rebalance_sim.kafka.assignors.sticky import cooperative_sticky, sticky
from rebalance_sim.kafka.groups import AssignmentOutcome, Groups, TopicArrays
from rebalance_sim.kafka.rebalances import RebalanceProtocol
from rebalance_sim.releases import KafkaVersion


def _never(_: KafkaVersion) -> bool:
    return False


def _always(_: KafkaVersion) -> bool:
    return True


@dataclass(frozen=True)
class Assignor:
    """An assignor of Kafka or of another client library."""

    assign: Callable[[Groups, TopicArrays, KafkaVersion], AssignmentOutcome]
    """Assigns the partitions of every group of a batch."""
    remembers: Callable[[KafkaVersion], bool] = _never
    """Returns whether the result depends on the partitions that members own, by release."""
    asks_topic_ids: bool = False
    """Whether the result depends on the topic ids."""
    protocol: RebalanceProtocol = RebalanceProtocol.EAGER
    """How members hand over partitions that change their owner."""


ASSIGNORS = {
    "range": Assignor(range.assign),
    "roundrobin": Assignor(roundrobin.assign),
    "sticky": Assignor(sticky.assign, remembers=_always),
    "cooperative-sticky": Assignor(
        cooperative_sticky.assign, remembers=_always, protocol=RebalanceProtocol.COOPERATIVE
    ),
    "server-range": Assignor(
        server_range.assign, remembers=server_range.remembers, protocol=RebalanceProtocol.RECONCILIATION
    ),
    "server-uniform": Assignor(
        server_uniform.assign, remembers=_always, asks_topic_ids=True, protocol=RebalanceProtocol.RECONCILIATION
    ),
}

CLIENTS_ASSIGNORS = {
    "librdkafka-range": Assignor(librdkafka_range.assign),
    "librdkafka-roundrobin": Assignor(librdkafka_roundrobin.assign),
    "librdkafka-cooperative-sticky": Assignor(
        librdkafka_cooperative_sticky.assign, remembers=_always, protocol=RebalanceProtocol.COOPERATIVE
    ),
    "librdkafka-2.1-range": Assignor(librdkafka_range_before_2_2.assign_2_1),
    "librdkafka-1.2-range": Assignor(librdkafka_range_before_2_2.assign_1_2),
    "librdkafka-1.5.2-roundrobin": Assignor(librdkafka_roundrobin_before_1_5_3.assign_1_5_2),
    "librdkafka-1.5.0-roundrobin": Assignor(librdkafka_roundrobin_before_1_5_3.assign_1_5_0),
    "librdkafka-1.4-roundrobin": Assignor(librdkafka_roundrobin_before_1_5_3.assign_1_4),
    "librdkafka-1.2-roundrobin": Assignor(librdkafka_roundrobin_before_1_5_3.assign_1_2),
    "kafka-python-range": Assignor(kafka_python_range.assign),
    "kafka-python-roundrobin": Assignor(kafka_python_roundrobin.assign),
    # aiokafka's are copies of kafka-python's before 2.3, which knew no static members.
    "kafka-python-2.2-range": Assignor(aiokafka_range.assign),
    "kafka-python-2.2-roundrobin": Assignor(aiokafka_roundrobin.assign),
    "aiokafka-range": Assignor(aiokafka_range.assign),
    "aiokafka-roundrobin": Assignor(aiokafka_roundrobin.assign),
    "franz-go-range": Assignor(franz_go_range.assign),
    "franz-go-roundrobin": Assignor(franz_go_roundrobin.assign),
    "franz-go-sticky": Assignor(franz_go_sticky.assign, remembers=_always),
    "franz-go-cooperative-sticky": Assignor(
        franz_go_cooperative_sticky.assign, remembers=_always, protocol=RebalanceProtocol.COOPERATIVE
    ),
    "franz-go-1.21.3-sticky": Assignor(franz_go_before_1_21_4.assign_sticky, remembers=_always),
    "franz-go-1.21.3-cooperative-sticky": Assignor(
        franz_go_before_1_21_4.assign_cooperative_sticky, remembers=_always, protocol=RebalanceProtocol.COOPERATIVE
    ),
    "kafka-go-range": Assignor(kafka_go_range.assign),
    "kafka-go-roundrobin": Assignor(kafka_go_roundrobin.assign),
    "kafkajs-roundrobin": Assignor(kafkajs_roundrobin.assign),
    "kafkajs-1.12-roundrobin": Assignor(kafkajs_roundrobin_before_1_13.assign),
    "platformatic-kafka-roundrobin": Assignor(platformatic_kafka_roundrobin.assign),
    "sarama-range": Assignor(sarama_range.assign),
    "sarama-roundrobin": Assignor(sarama_roundrobin.assign),
    "sarama-1.27-range": Assignor(hash_order.assign_range),
    "sarama-1.27-roundrobin": Assignor(hash_order.assign_roundrobin),
}
"""Assignors of other client libraries: what a leader of that library computes.

Members list them under the same names as Java's assignors, which may behave differently. So they are never elected by
these names: they are strategies for groups whose leader's library is known."""

KNOWN_ASSIGNORS = {**ASSIGNORS, **CLIENTS_ASSIGNORS}

FORGETFUL = tuple(
    name
    for name, assignor in KNOWN_ASSIGNORS.items()
    if assignor.protocol is RebalanceProtocol.EAGER and assignor.remembers is _never
)
"""Assignors whose members do not send their last assignment when they rejoin."""


def assignors_of(version: KafkaVersion) -> tuple[str, ...]:
    """Return the names of the assignors of a Kafka release."""
    return tuple(name for name in ASSIGNORS if name in version.assignors)


def find_assignor(name: str, version: KafkaVersion) -> Assignor | None:
    """Return an assignor of a Kafka release, or one of another client library, which works with every release."""
    return KNOWN_ASSIGNORS[name] if name in (*version.assignors, *CLIENTS_ASSIGNORS) else None


def check_strategy(what: str, name: str, version: KafkaVersion, others: Sequence[str]) -> None:
    """Raise UserError for a name that is neither an assignor of the release nor one of ``others``."""
    check_choice(what, name, [*KNOWN_ASSIGNORS, *others])
    allowed = [*assignors_of(version), *CLIENTS_ASSIGNORS, *others]
    if name not in allowed:
        raise UserError(f"{what}: Kafka {version.name} has no {name!r}; allowed: {', '.join(allowed)}")
