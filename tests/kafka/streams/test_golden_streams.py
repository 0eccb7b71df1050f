"""The committed answers of Kafka Streams' released classes to applications."""

import pytest

from rebalance_sim.releases import kafka_version
from tests.oracle.oracle import KAFKA_STREAMS_RELEASES
from tests.support.cases import golden_sample
from tests.support.streams_applications import assigned_by_rules, expected, expected_of_leader, leader_answers

WITH_RACKS = tuple(release for release in KAFKA_STREAMS_RELEASES if release >= "3.6")


@pytest.mark.parametrize("release", KAFKA_STREAMS_RELEASES)
def test_tasks_are_those_of_kafka(release: str) -> None:
    theirs = list(map(expected, golden_sample(f"kafka-streams-{release}")))
    assert assigned_by_rules(golden_sample("cases-kafka-streams"), kafka_version(release).kafka_streams) == theirs


@pytest.mark.parametrize("release", WITH_RACKS)
def test_tasks_by_rack_are_those_of_kafka(release: str) -> None:
    theirs = list(map(expected, golden_sample(f"kafka-streams-racks-{release}")))
    cases = golden_sample(f"cases-kafka-streams-racks-{release}")
    assert assigned_by_rules(cases, kafka_version(release).kafka_streams) == theirs


@pytest.mark.parametrize("release", KAFKA_STREAMS_RELEASES)
def test_leaders_send_what_those_of_kafka_send(release: str) -> None:
    theirs = list(map(expected_of_leader, golden_sample(f"kafka-streams-leader-{release}")))
    assert leader_answers(golden_sample(f"cases-kafka-streams-leader-{release}"), kafka_version(release)) == theirs
