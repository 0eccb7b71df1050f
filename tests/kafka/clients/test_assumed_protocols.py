"""Default protocols are assumed only if they agree with the election."""

import pytest

from rebalance_sim.kafka.assignors.by_library import Leader
from rebalance_sim.kafka.clients.assumed_protocols import Offer, assumed_protocols

LIBRDKAFKA, SARAMA, KAFKAJS = (Offer(Leader(name, "")) for name in ("librdkafka", "sarama", "kafkajs"))
AIOKAFKA, FRANZ_GO = Offer(Leader("aiokafka", "0.12.0")), Offer(Leader("franz-go", ""))
UNKNOWN, JAVA = Offer(Leader("", "")), Offer(Leader("java", ""))
BOTH = ("range", "roundrobin")


@pytest.mark.parametrize(
    ("offers", "elected", "expected"),
    [
        ([LIBRDKAFKA, SARAMA, FRANZ_GO], None, [BOTH, ("range",), ("cooperative-sticky",)]),
        ([LIBRDKAFKA, LIBRDKAFKA], "range", [BOTH, BOTH]),
        # Not among the defaults, or not what these would elect: they are configured otherwise.
        ([LIBRDKAFKA], "cooperative-sticky", [()]),
        ([LIBRDKAFKA, LIBRDKAFKA], "roundrobin", [(), ()]),
        ([LIBRDKAFKA, AIOKAFKA], "roundrobin", [BOTH, ("roundrobin",)]),
        ([KAFKAJS], "RoundRobinAssigner", [("RoundRobinAssigner",)]),
        # Unknown members and Java's offer the elected protocol at least.
        ([LIBRDKAFKA, UNKNOWN, JAVA], "roundrobin", [BOTH, (), ()]),
        ([UNKNOWN, JAVA], None, [(), ()]),
        ([LIBRDKAFKA._replace(configured=("roundrobin", "range"))], "roundrobin", [()]),
        # One vote each: hash order decides.
        ([LIBRDKAFKA, LIBRDKAFKA._replace(configured=("roundrobin", "range"))], "roundrobin", [BOTH, ()]),
        ([LIBRDKAFKA, LIBRDKAFKA, LIBRDKAFKA._replace(configured=("roundrobin", "range"))], "roundrobin", [()] * 3),
        # Members that would not be together in a group.
        ([SARAMA, LIBRDKAFKA._replace(configured=("sticky",))], "range", [(), ()]),
        ([Offer(Leader("kafka-go;platformatic-kafka", ""))], "roundrobin", [()]),
        ([Offer(Leader("kafka-go;platformatic-kafka", ""))], "range", [BOTH]),
        # Values of consumers.csv that later runs reject.
        ([Offer(Leader("Sarama", "")), Offer(Leader("sarama", "latest"))], None, [(), ()]),
    ],
)
def test_default_protocols_agree_with_the_election(
    offers: list[Offer], elected: str | None, expected: list[tuple[str, ...]]
) -> None:
    assert assumed_protocols(offers, elected) == expected
