"""The committed answers of Kafka's released classes to elections, range and roundrobin."""

from functools import cache

import pytest

from rebalance_sim.releases import kafka_version
from tests.oracle.oracle import SCALA_2_12_BUILDS
from tests.support.arrays import in_map_order
from tests.support.batches import Batch, elect_all
from tests.support.cases import JsonObject, assignment_of, golden_sample, group_of, joiners_of
from tests.support.model import VERSIONS, Joiner

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")

BUILDS: list[tuple[str, str, str | None]] = [(version, version, None) for version in VERSIONS]
BUILDS += [(f"2.12-{release}", release, "2.12") for release in SCALA_2_12_BUILDS]
"""The files of answers to elections, with the release and the Scala version; without one, the recommended build."""

EMPTY_GROUP = "IllegalStateException: Cannot select protocol for empty group"


@cache
def elections() -> list[tuple[Joiner, ...]]:
    return [joiners_of(case) for case in golden_sample("cases-election")]


@cache
def batch() -> Batch:
    return Batch([group_of(case) for case in golden_sample("cases-assignors")])


def differences(answers: list[JsonObject], ours: list[JsonObject]) -> list[tuple[JsonObject, JsonObject]]:
    return [pair for pair in zip(answers, ours, strict=True) if pair[0] != pair[1]]


def facts(answer: JsonObject, *names: str) -> JsonObject:
    """Return some of the fields of an answer; for a group without members its error."""
    return {"error": EMPTY_GROUP} if "error" in answer else {name: answer[name] for name in names}


@pytest.mark.parametrize(("build", "version", "scala"), BUILDS)
def test_elections_are_kafkas(build: str, version: str, scala: str | None) -> None:
    ours: list[JsonObject] = []
    for joiners, election in zip(elections(), elect_all(version, elections(), scala), strict=True):
        if election.protocol is None:
            ours.append({"error": EMPTY_GROUP})
            continue
        refused = [joiner.member_id for joiner in joiners if joiner.member_id not in election.admitted]
        ours.append(
            {
                "protocol": election.protocol,
                "leader": election.admitted[0],
                "inadmissible": refused,
                "candidates": sorted(election.votes),
            }
        )
    fields = ("protocol", "leader", "inadmissible", "candidates")
    answers = [facts(answer, *fields) for answer in golden_sample(f"election-{build}")]
    assert differences(answers, ours) == []


@pytest.mark.parametrize(("build", "version", "scala"), BUILDS)
def test_the_order_of_members_is_kafkas(build: str, version: str, scala: str | None) -> None:
    rule = kafka_version(version, scala).coordinator_map
    for joiners, answer in zip(elections(), golden_sample(f"election-{build}"), strict=True):
        if "error" not in answer:
            ids = [joiner.member_id for joiner in joiners if joiner.member_id not in answer["inadmissible"]]
            assert in_map_order(ids, rule) == answer["member_order"]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("strategy", ["range", "roundrobin"])
def test_assignments_are_kafkas(version: str, strategy: str) -> None:
    """The same partitions in the same order, member by member."""
    answers = [assignment_of(answer) for answer in golden_sample(f"{strategy}-{version}")]
    ours = batch().assign(version, strategy)
    assert [pair for pair in zip(answers, ours, strict=True) if pair[0] != pair[1]] == []
