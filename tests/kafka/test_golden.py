"""The committed answers of Kafka's released classes to elections, range and roundrobin."""

from collections import Counter
from collections.abc import Iterable
from functools import cache

import pytest

from rebalance_sim.releases import kafka_version
from tests.support.batches import Batch, elect_all, in_map_order
from tests.support.cases import JsonObject, assignment_of, golden, group_of, joiners_of
from tests.support.java import java_hash
from tests.support.model import VERSIONS, Joiner

pytestmark = [pytest.mark.filterwarnings("error::RuntimeWarning"), pytest.mark.parametrize("version", VERSIONS)]

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


def test_elections_are_kafkas(version: str) -> None:
    ours: list[JsonObject] = []
    for joiners, election in zip(elections(), elect_all(version, elections()), strict=True):
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
    answers = [facts(answer, *fields) for answer in golden(f"election-{version}")]
    assert differences(answers, ours) == []


def test_the_order_of_members_is_kafkas(version: str) -> None:
    rule = kafka_version(version).coordinator_map
    for joiners, answer in zip(elections(), golden(f"election-{version}"), strict=True):
        if "error" not in answer:
            ids = [joiner.member_id for joiner in joiners if joiner.member_id not in answer["inadmissible"]]
            assert in_map_order(ids, rule) == answer["member_order"]


@pytest.mark.parametrize("strategy", ["range", "roundrobin"])
def test_assignments_are_kafkas(version: str, strategy: str) -> None:
    """The same partitions in the same order, member by member."""
    answers = [assignment_of(answer) for answer in golden(f"{strategy}-{version}")]
    ours = batch().assign(version, strategy)
    assert [pair for pair in zip(answers, ours, strict=True) if pair[0] != pair[1]] == []
