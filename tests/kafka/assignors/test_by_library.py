"""Which rules a leader of another library follows, by its release."""

import pytest

from rebalance_sim.kafka.assignors import CLIENTS_ASSIGNORS
from rebalance_sim.kafka.assignors.by_library import GUARANTEES, Leader, leaders_assignor, predictable_protocols
from rebalance_sim.kafka.assignors.resolved import Assignors
from rebalance_sim.kafka.guarantees import Guarantee
from rebalance_sim.kafka.rebalances import RebalanceProtocol
from rebalance_sim.releases import kafka_version


@pytest.mark.parametrize(
    ("library", "protocol", "by_release"),
    [
        ("kafkajs", "RoundRobinAssigner", {"1.5.0": "kafkajs-1.12-roundrobin", "1.12.0": "kafkajs-1.12-roundrobin",
                                           "1.13.0": "kafkajs-roundrobin", "": "kafkajs-roundrobin"}),
        ("librdkafka", "range", {"1.2.2": "librdkafka-1.2-range", "1.3.0": "librdkafka-2.1-range",
                                 "2.1.1": "librdkafka-2.1-range", "2.2.0": "librdkafka-range"}),
        ("librdkafka", "roundrobin", {"0.11.6": "librdkafka-1.2-roundrobin", "1.4.4": "librdkafka-1.4-roundrobin",
                                      "1.5.0": "librdkafka-1.5.0-roundrobin", "1.5.2": "librdkafka-1.5.2-roundrobin",
                                      "1.5.3": "librdkafka-roundrobin", "2.16.0": "librdkafka-roundrobin"}),
        ("sarama", "range", {"1.34.0": "sarama-1.27-range", "v1.34.1": "sarama-range"}),
        ("sarama", "roundrobin", {"1.27.2": "sarama-1.27-roundrobin", "1.28": "sarama-roundrobin"}),
        ("kafka-python", "range", {"2.0.2": "kafka-python-2.2-range", "2.3.0": "kafka-python-range"}),
        ("kafka-python", "roundrobin", {"2.2.15": "kafka-python-2.2-roundrobin", "3.0": "kafka-python-roundrobin"}),
        ("franz-go", "sticky", {"1.21.3": "franz-go-1.21.3-sticky", "1.22.0": "franz-go-sticky"}),
        ("franz-go", "range", {"1.0.0": "franz-go-range"}),
        ("aiokafka", "range", {"0.5.0": "aiokafka-range"}),
        ("brod", "roundrobin_v2", {"3.3.3": "brod-3.7.0-roundrobin", "3.7.0": "brod-3.7.0-roundrobin",
                                   "3.7.1": "brod-roundrobin", "4.6.2": "brod-roundrobin"}),
        ("kafka-node", "roundrobin", {"1.0.0": "kafka-node-roundrobin"}),
        ("ruby-kafka", "roundrobin", {"1.0.0": "ruby-kafka-1.3-roundrobin", "1.3.0": "ruby-kafka-1.3-roundrobin",
                                      "1.4.0": "ruby-kafka-roundrobin", "": "ruby-kafka-roundrobin"}),
        ("kafka-go", "roundrobin", {"0.2.0": "kafka-go-roundrobin"}),
    ],
)  # fmt: skip
def test_older_releases_follow_their_own_rules(library: str, protocol: str, by_release: dict[str, str]) -> None:
    found = {release: leaders_assignor(protocol, Leader(library, release)) for release in by_release}
    assert {release: assignor.name for release, assignor in found.items()} == by_release
    assert {assignor.problem for assignor in found.values()} == {None}
    assert set(by_release.values()) <= set(CLIENTS_ASSIGNORS)


def test_kafkajs_offers_its_assignor_under_its_own_name() -> None:
    _, problem = leaders_assignor("roundrobin", Leader("kafkajs", ""))
    assert problem == "kafkajs: no assignor for protocol 'roundrobin'"


@pytest.mark.parametrize(
    ("library", "release", "protocol"),
    [
        ("librdkafka", "2.6.0", "cooperative-sticky"),
        ("kafkajs", "1.4.8", "RoundRobinAssigner"),
        ("platformatic-kafka", "1.6.0", "roundrobin"),
        ("franz-go", "0.11.1", "range"),
        ("ruby-kafka", "0.7.10", "roundrobin"),
        ("brod", "3.3.2", "roundrobin_v2"),
    ],
)
def test_releases_that_are_not_reproduced_are_not_answered_by_newer_rules(
    library: str, release: str, protocol: str
) -> None:
    name, problem = leaders_assignor(protocol, Leader(library, release))
    assert problem is not None
    assert problem.startswith(f"{library}: {protocol} before ")
    assert name == f"{library}-{release}-{protocol}"
    assert name not in {**CLIENTS_ASSIGNORS, **GUARANTEES}


def test_ruby_kafka_before_1_0_names_no_topics_that_count() -> None:
    name, problem = leaders_assignor("standard", Leader("ruby-kafka", ""))
    assert (name, name in GUARANTEES) == ("ruby-kafka-standard", False)
    assert problem == (
        "ruby-kafka: standard cannot be predicted: members send the topic test-messages instead of their own"
    )


def test_rules_of_earlier_releases_have_guarantees_of_their_own() -> None:
    """ruby-kafka 1.3 gives members partitions of topics to which they do not subscribe."""
    assert "ruby-kafka-1.3-roundrobin" not in GUARANTEES
    assert GUARANTEES["ruby-kafka-roundrobin"] is Guarantee.BALANCED_TOPICS
    assert GUARANTEES["franz-go-1.21.3-sticky"] is GUARANTEES["franz-go-sticky"]


def test_members_of_releases_that_are_not_reproduced_hand_over_partitions_as_they_do() -> None:
    resolved = Assignors(kafka_version("4.3")).of_leader("cooperative-sticky", Leader("librdkafka", "2.5.0"), True)
    assert resolved.protocol is RebalanceProtocol.COOPERATIVE
    assert resolved.error == (
        "librdkafka: cooperative-sticky before 2.6.1 cannot be predicted: "
        "earlier releases skip members while they balance"
    )


def test_names_of_protocols_are_those_that_members_offer() -> None:
    """Not those of assignors of earlier releases."""
    assert predictable_protocols("kafka-go") == ["range", "roundrobin"]
    assert predictable_protocols("platformatic-kafka") == ["roundrobin"]
    assert predictable_protocols("franz-go") == ["range", "roundrobin", "sticky", "cooperative-sticky"]
