"""Whether two clients place keys alike, compared with the partitions of single keys."""

import pytest

from rebalance_sim import explain_agreement
from rebalance_sim.explanations.agreement import SAMPLE
from tests.support.keys import partition_of


@pytest.mark.parametrize(
    "other", ["librdkafka", "sarama", "sarama-reference", "aiokafka", "platformatic-kafka", "kafka-go"]
)
def test_the_sample_is_placed_by_the_rules_of_both_clients(other: str) -> None:
    keys = [f"key-{number}".encode() for number in range(SAMPLE)]
    agreed = sum(partition_of("java-3.3", key, 12) == partition_of(other, key, 12) for key in keys)
    assert explain_agreement(("java-3.3", other), 12).sample_agreed == agreed


@pytest.mark.parametrize(
    ("clients", "same", "alternatives"),
    [
        (("java-3.3", "librdkafka"), False, ("librdkafka-murmur2", "librdkafka-murmur2-random")),
        (("java-3.3", "sarama"), False, ("sarama-murmur2",)),
        (("java-3.3", "kafkajs-legacy"), False, ("kafkajs",)),
        (("java-3.3", "kafka-python"), True, ()),
        (("librdkafka", "ruby-kafka"), True, ()),
        (("java-3.3", "kafka-go"), False, ("kafka-go-murmur2", "kafka-go-murmur2-consistent")),
        (("kafka-go", "librdkafka-random"), False, ()),
        (("java-3.3", "platformatic-kafka"), False, ()),
    ],
)
def test_clients_agree_if_their_rules_are_the_same(
    clients: tuple[str, str], same: bool, alternatives: tuple[str, ...]
) -> None:
    """Clients with the same rule agree on the whole sample."""
    found = explain_agreement(clients, 12)
    assert (found.same_rule, found.sample_agreed == SAMPLE, found.alternatives) == (same, same, alternatives)


def test_an_empty_key_that_one_client_does_not_hash_is_mentioned() -> None:
    assert repr(explain_agreement(("librdkafka", "ruby-kafka"), 7)).splitlines() == [
        "librdkafka and ruby-kafka send every key to the same partition, except an empty key",
        "  librdkafka: CRC-32, as an unsigned number, modulo 7; an empty key counts as no key",
        "  ruby-kafka: CRC-32, as an unsigned number, modulo 7",
        "  sample keys in the same partition of 7: 10,000 of 10,000 (100.0 %)",
    ]
