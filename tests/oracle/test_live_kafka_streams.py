"""Fresh random applications of Kafka Streams, whose tasks are assigned by released classes and by the rules."""

from collections.abc import Sequence
from typing import Any

import pytest

from rebalance_sim.releases import kafka_version
from tests.oracle.kafka_streams_cases import (
    application_cases,
    leader_cases,
    strategies_of,
    topologies,
    with_subtopologies,
)
from tests.oracle.kafka_streams_wire_cases import newest_version, streams_read_cases, streams_write_cases
from tests.oracle.oracle import KAFKA_STREAMS_RELEASES, kafka_streams_answers
from tests.support.comparison import different
from tests.support.shares import Draws
from tests.support.streams_applications import assigned_by_rules, expected, expected_of_leader, leader_answers
from tests.support.streams_wire import read, read_by_kafka, written

pytestmark = pytest.mark.oracle

CASES, RACK_CASES, LEADERS, TOPOLOGIES, BYTES = 1500, 300, 500, 40, 600
BETWEEN = ("2.8.2", "3.0.2", "3.1.2", "3.3.2", "3.5.2", "3.7.2")
"""Releases at which a rule changes between those of ``KAFKA_STREAMS_RELEASES``."""
WITH_TAGS = tuple(release for release in KAFKA_STREAMS_RELEASES if release >= "3.2")
WITH_RACKS = tuple(release for release in KAFKA_STREAMS_RELEASES if release >= "3.6")


@pytest.mark.parametrize("release", KAFKA_STREAMS_RELEASES)
def test_tasks_of_processes_and_threads(release: str, seed: int, draws: Draws) -> None:
    assert _different(release, list(application_cases(seed, draws(CASES)))) == [], f"seed {seed}"


@pytest.mark.parametrize("release", BETWEEN)
def test_releases_between(release: str, seed: int, draws: Draws) -> None:
    assert _different(release, list(application_cases(seed, draws(RACK_CASES)))) == [], f"seed {seed}"


@pytest.mark.parametrize("release", WITH_TAGS)
def test_standby_tasks_on_other_tags(release: str, seed: int, draws: Draws) -> None:
    assert _different(release, list(application_cases(seed, draws(CASES), tags=True))) == [], f"seed {seed}"


@pytest.mark.parametrize("release", WITH_RACKS)
def test_tasks_by_rack(release: str, seed: int, draws: Draws) -> None:
    cases = list(application_cases(seed, draws(RACK_CASES), tags=True, strategies=strategies_of(release)))
    assert _different(release, cases) == [], f"seed {seed}"


@pytest.mark.parametrize("release", KAFKA_STREAMS_RELEASES)
def test_answers_of_leaders(release: str, seed: int, draws: Draws) -> None:
    described = topologies(seed, TOPOLOGIES)
    asked = [{"rule": "kafka-streams-topology", "id": str(k), "config": each} for k, each in enumerate(described)]
    known = list(map(with_subtopologies, described, kafka_streams_answers(release, asked)))
    cases = list(leader_cases(seed, draws(LEADERS), known, newest_version(release), strategies_of(release)))
    theirs = list(map(expected_of_leader, kafka_streams_answers(release, cases)))
    ours = leader_answers(cases, kafka_version(release))
    assert different(cases, theirs, ours) == [], f"seed {seed}"


@pytest.mark.parametrize("release", KAFKA_STREAMS_RELEASES)
def test_user_data(release: str, seed: int, draws: Draws) -> None:
    newest = newest_version(release)
    cases = list(streams_write_cases(seed, draws(BYTES), newest))
    theirs = kafka_streams_answers(release, cases)
    ours = [{"id": case["id"], "bytes": written(case).hex()} for case in cases]
    sent = [*streams_read_cases(seed, zip(cases, theirs, strict=True), newest)]
    sent += [*streams_read_cases(seed, zip(cases, ours, strict=True), newest)]
    read_by_them = list(map(read_by_kafka, kafka_streams_answers(release, sent)))
    read_by_us = [read(case, newest) for case in sent]
    assert different(sent, read_by_them, read_by_us) == []


def _different(release: str, cases: Sequence[dict[str, Any]]) -> Sequence[object]:
    theirs = list(map(expected, kafka_streams_answers(release, cases)))
    ours = assigned_by_rules(cases, kafka_version(release).kafka_streams)
    return different(cases, theirs, ours)
