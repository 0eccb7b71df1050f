"""The committed answers of Kafka's released classes to elections, range and roundrobin."""

from collections import Counter
from collections.abc import Iterable
from functools import cache

import pytest

from rebalance_sim.releases import kafka_version
from tests.oracle.oracle import SCALA_2_12_BUILDS
from tests.support.batches import Batch, elect_all, in_map_order
from tests.support.cases import JsonObject, assignment_of, golden, group_of, joiners_of
from tests.support.java import java_hash
from tests.support.model import VERSIONS, Joiner

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")

BUILDS: list[tuple[str, str, str | None]] = [(version, version, None) for version in VERSIONS]
BUILDS += [(f"2.12-{release}", release, "2.12") for release in SCALA_2_12_BUILDS]
"""The files of answers to elections, with the release and the Scala version; without one, the recommended build."""

ELECTIONS, ASSIGNMENTS = 2100, 1560
EMPTY_GROUP = "IllegalStateException: Cannot select protocol for empty group"


def fits_in_buckets(names: Iterable[str]) -> bool:
    """Return whether at most 8 names share a hash code: with nine, Java's map builds a tree (not modelled)."""
    return max(Counter(map(java_hash, names)).values(), default=0) <= 8


@cache
def elections() -> list[tuple[Joiner, ...]]:
    """Return all cases: the generator avoids those that would have to be left out."""
    cases = [joiners_of(case) for case in golden("cases-election")]
    names = [[joiner.member_id for joiner in case] for case in cases]
    names += [list({name for joiner in case for name in joiner.protocols}) for case in cases]
    assert len(cases) == ELECTIONS
    assert sum(not fits_in_buckets(some) for some in names) == 0
    return cases


@cache
def batch() -> Batch:
    """Return all assignor cases as one batch."""
    groups = [group_of(case) for case in golden("cases-assignors")]
    names = [[member.member_id for member in group.members] for group in groups]
    names += [list({topic for member in group.members for topic in member.topics}) for group in groups]
    assert len(groups) == ASSIGNMENTS
    assert sum(not fits_in_buckets(some) for some in names) == 0
    return Batch(groups)


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
    answers = [facts(answer, *fields) for answer in golden(f"election-{build}")]
    assert differences(answers, ours) == []


def test_builds_since_scala_2_12_13_elect_differently() -> None:
    """The golden cases have ties that only this build decides in its way; earlier builds with 2.12 elect like 2.11."""
    by_build = {build: [answer.get("protocol") for answer in golden(f"election-{build}")] for build, _, _ in BUILDS}
    assert by_build["2.12-2.3.1"] == by_build["2.3"]
    alone = [
        k for k, winner in enumerate(by_build["2.12-3.9.2"]) if winner not in {by_build[b][k] for b in ("2.3", "3.9")}
    ]
    assert len(alone) > 10


@pytest.mark.parametrize(("build", "version", "scala"), BUILDS)
def test_the_order_of_members_is_kafkas(build: str, version: str, scala: str | None) -> None:
    rule = kafka_version(version, scala).coordinator_map
    for joiners, answer in zip(elections(), golden(f"election-{build}"), strict=True):
        if "error" not in answer:
            ids = [joiner.member_id for joiner in joiners if joiner.member_id not in answer["inadmissible"]]
            assert in_map_order(ids, rule) == answer["member_order"]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("strategy", ["range", "roundrobin"])
def test_assignments_are_kafkas(version: str, strategy: str) -> None:
    """The same partitions in the same order, member by member."""
    answers = [assignment_of(answer) for answer in golden(f"{strategy}-{version}")]
    ours = batch().assign(version, strategy)
    assert [pair for pair in zip(answers, ours, strict=True) if pair[0] != pair[1]] == []
