"""Fresh random cases, answered by Kafka's released classes and by the rules."""

import random

import numpy as np
import pytest

from rebalance_sim.kafka.rebalances import MOST_REBALANCES
from tests.oracle import answers
from tests.oracle.oracle import SERVER_VERSIONS, VERSIONS
from tests.oracle.random_cases import assignor_cases, election_cases, sticky_cases
from tests.oracle.server_cases import SERVER_RULES, server_cases
from tests.reference.model import Group
from tests.reference.rebalances import Rebalance, answered, joined
from tests.support.batches import Batch, elect_all
from tests.support.cases import (
    STICKY_REFERENCES,
    JsonObject,
    answer_of,
    assignment_of,
    group_of,
    joiners_of,
    reference_answer,
)

pytestmark = pytest.mark.oracle
every_version = pytest.mark.parametrize("version", VERSIONS)

CASES = 3000


@every_version
def test_elections(version: str, seed: int) -> None:
    cases = list(election_cases(seed, CASES))
    ours = elect_all(version, [joiners_of(case) for case in cases])
    different = []
    for case, answer, election in zip(cases, answers(version, cases), ours, strict=True):
        protocol, leader = answer.get("protocol"), answer.get("leader")
        if (protocol, leader) != (election.protocol, election.admitted[0] if election.admitted else None):
            different.append((case, answer, election))
    assert different == [], f"seed {seed}"


@every_version
@pytest.mark.parametrize("strategy", ["range", "roundrobin"])
def test_assignments(version: str, strategy: str, seed: int) -> None:
    cases = [case | {"rule": strategy} for case in assignor_cases(seed, CASES)]
    ours = Batch([group_of(case) for case in cases]).assign(version, strategy)
    theirs = [assignment_of(answer) for answer in answers(version, cases)]
    different = [trio for trio in zip(cases, theirs, ours, strict=True) if trio[1] != trio[2]]
    assert different == [], f"seed {seed}"


@every_version
def test_sticky(version: str, seed: int) -> None:
    cases = list(sticky_cases(seed, CASES))
    for strategy in [name for name, of_version in STICKY_REFERENCES if of_version == version]:
        groups = [group_of(case) for case in cases]
        theirs = [answer_of(answer) for answer in answers(version, (case | {"rule": strategy} for case in cases))]
        ours = Batch(groups).answers(version, strategy)
        assert [trio for trio in zip(cases, theirs, ours, strict=True) if trio[1] != trio[2]] == [], f"seed {seed}"
        twins = [reference_answer(strategy, version, group) for group in groups]
        assert [trio for trio in zip(cases, theirs, twins, strict=True) if trio[1] != trio[2]] == [], f"seed {seed}"


@pytest.mark.parametrize("version", ["3.9", "4.3"])
@pytest.mark.parametrize("share_of_eager", [0.0, 0.1])
def test_cooperative_rebalances(version: str, share_of_eager: float, seed: int) -> None:
    """Kafka's class is asked again as long as a consumer that follows ``ConsumerCoordinator`` would join again."""
    cases = list(sticky_cases(seed, CASES // 3))
    rng = random.Random(seed)
    groups = [group_of(case) for case in cases]
    eager = [{member.member_id for member in group.members if rng.random() < share_of_eager} for group in groups]
    batch = Batch(groups)
    flags = [member.member_id in names for group, names in zip(groups, eager, strict=True) for member in group.members]
    ours = batch.by_group(batch.play(version, "cooperative-sticky", np.array(flags, np.bool_)))
    theirs: list[list[Rebalance]] = [[] for _ in cases]
    for _ in range(MOST_REBALANCES):
        going = [g for g, some in enumerate(theirs) if not some or some[-1].joins_again]
        seen = [joined(groups[g], eager[g]) for g in going]
        asked = (_as_joined(cases[g], group) for g, group in zip(going, seen, strict=True))
        for g, group, answer in zip(going, seen, list(answers(version, asked)), strict=True):
            rebalance, groups[g] = answered(groups[g], group, answer_of(answer))
            theirs[g].append(rebalance)
    assert [trio for trio in zip(cases, theirs, ours, strict=True) if trio[1] != trio[2]] == [], f"seed {seed}"


def _as_joined(case: JsonObject, group: Group) -> JsonObject:
    """A case of cooperative-sticky whose members own what those of a group do."""
    members = [
        told | {"owned": [[*partition] for partition in member.owned], "generation": member.generation}
        for told, member in zip(case["members"], group.members, strict=True)
    ]
    return case | {"rule": "cooperative-sticky", "members": members}


@pytest.mark.parametrize("version", SERVER_VERSIONS)
@pytest.mark.parametrize("strategy", SERVER_RULES)
def test_server_assignments(version: str, strategy: str, seed: int) -> None:
    cases = [case | {"rule": strategy} for case in server_cases(seed, CASES)]
    ours = Batch([group_of(case) for case in cases]).answers(version, strategy)
    theirs = [answer_of(answer) for answer in answers(version, cases)]
    different = [trio for trio in zip(cases, theirs, ours, strict=True) if trio[1] != trio[2]]
    assert different == [], f"seed {seed}"
