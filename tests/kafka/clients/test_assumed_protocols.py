"""Default protocols are assumed only if they agree with the election."""

import pytest

from rebalance_sim.kafka.assignors.by_library import Leader
from rebalance_sim.kafka.clients.assumed_protocols import Basis, Offer, Offered, offered_protocols

LIBRDKAFKA, SARAMA, KAFKAJS = (Offer(Leader(name, "")) for name in ("librdkafka", "sarama", "kafkajs"))
AIOKAFKA, FRANZ_GO = Offer(Leader("aiokafka", "0.12.0")), Offer(Leader("franz-go", ""))
UNKNOWN, JAVA = Offer(Leader("", "")), Offer(Leader("java", ""))
BOTH = ("range", "roundrobin")
NEWEST_OF_JAVA = Offered(("range", "cooperative-sticky"), Basis.DEFAULT)


def default(*protocols: str) -> Offered:
    return Offered(protocols, Basis.DEFAULT)


def agreeing(*protocols: str) -> Offered:
    return Offered(protocols, Basis.AGREEING_DEFAULT)


def elected(protocol: str) -> Offered:
    return Offered((protocol,), Basis.ELECTED)


REVERSED = LIBRDKAFKA._replace(configured=("roundrobin", "range"))
KNOWN = Offered(REVERSED.configured)


@pytest.mark.parametrize(
    ("offers", "protocol", "expected"),
    [
        ([LIBRDKAFKA, SARAMA, FRANZ_GO], None, [default(*BOTH), default("range"), default("cooperative-sticky")]),
        ([LIBRDKAFKA, LIBRDKAFKA], "range", [agreeing(*BOTH)] * 2),
        # Not among the defaults, or not what these would elect: they are configured otherwise.
        ([LIBRDKAFKA], "cooperative-sticky", [elected("cooperative-sticky")]),
        ([LIBRDKAFKA, LIBRDKAFKA], "roundrobin", [elected("roundrobin")] * 2),
        ([LIBRDKAFKA, AIOKAFKA], "roundrobin", [agreeing(*BOTH), agreeing("roundrobin")]),
        ([KAFKAJS], "RoundRobinAssigner", [agreeing("RoundRobinAssigner")]),
        # Unknown members and Java's offer the elected protocol at least.
        ([LIBRDKAFKA, UNKNOWN, JAVA], "roundrobin", [agreeing(*BOTH), elected("roundrobin"), elected("roundrobin")]),
        ([UNKNOWN, JAVA], None, [NEWEST_OF_JAVA] * 2),
        ([REVERSED], "roundrobin", [KNOWN]),
        # One vote each: hash order decides.
        ([LIBRDKAFKA, REVERSED], "roundrobin", [agreeing(*BOTH), KNOWN]),
        ([LIBRDKAFKA, LIBRDKAFKA, REVERSED], "roundrobin", [elected("roundrobin"), elected("roundrobin"), KNOWN]),
        # Members that would not be together in a group.
        ([SARAMA, LIBRDKAFKA._replace(configured=("sticky",))], "range", [elected("range"), Offered(("sticky",))]),
        ([Offer(Leader("kafka-go;platformatic-kafka", ""))], "roundrobin", [elected("roundrobin")]),
        ([Offer(Leader("kafka-go;platformatic-kafka", ""))], "range", [agreeing(*BOTH)]),
        # Values of consumers.csv that later runs reject.
        ([Offer(Leader("Sarama", "")), Offer(Leader("sarama", "latest"))], None, [NEWEST_OF_JAVA] * 2),
        ([], "range", []),
    ],
)
def test_default_protocols_agree_with_the_election(
    offers: list[Offer], protocol: str | None, expected: list[Offered]
) -> None:
    assert offered_protocols(offers, protocol) == expected


def test_what_a_user_says_of_all_members_comes_before_defaults() -> None:
    found = offered_protocols([LIBRDKAFKA, REVERSED], "range", ("sticky",))
    assert found == [Offered(("sticky",), Basis.OPTION), KNOWN]
