"""Features of client libraries."""

from rebalance_sim.kafka.assignors.by_library import ASSIGN_LEADERS_TOPICS, predictable_protocols
from rebalance_sim.kafka.assignors.default_protocols import DEFAULT_PROTOCOLS
from rebalance_sim.kafka.client_features import ASSIGNOR_SETTINGS, CONSUMER_PROTOCOL


def test_every_library_has_its_features_and_the_setting_of_its_assignors() -> None:
    assert ASSIGNOR_SETTINGS.keys() == CONSUMER_PROTOCOL.keys() == DEFAULT_PROTOCOLS.keys()
    assert DEFAULT_PROTOCOLS.keys() > ASSIGN_LEADERS_TOPICS


def test_names_of_protocols_are_those_that_members_offer() -> None:
    """Not those of assignors of earlier releases."""
    assert predictable_protocols("kafka-go") == ["range", "roundrobin"]
    assert predictable_protocols("platformatic-kafka") == ["roundrobin"]
    assert predictable_protocols("franz-go") == ["range", "roundrobin", "sticky", "cooperative-sticky"]
