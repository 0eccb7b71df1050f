"""Fresh random elections and cases of consumers' assignors, answered by Kafka's released classes and by the rules."""

import random
from collections.abc import Sequence

import numpy as np
import pytest

from rebalance_sim.kafka.election import offsets_partition
from rebalance_sim.releases import kafka_version
from tests.oracle import answers
from tests.oracle.oracle import CLIENT_RULES, VERSIONS
from tests.oracle.random_cases import (
    assignor_cases,
    crowded_assignor_cases,
    crowded_election_cases,
    election_cases,
    partition_for_cases,
    sticky_cases,
)
from tests.reference.rebalances import rebalances
from tests.support.arrays import hashes, in_map_order
from tests.support.batches import Batch, elect_all
from tests.support.cases import STICKY_RULES, Answer, JsonObject, answer_of, assignment_of, group_of, joiners_of
from tests.support.comparison import different
from tests.support.model import Group
from tests.support.shares import Draws

pytestmark = pytest.mark.oracle
every_version = pytest.mark.parametrize("version", VERSIONS)

CASES, CROWDED = 3000, 300


@every_version
def test_elections(version: str, seed: int, draws: Draws) -> None:
    """The protocol, the leader, and the order of the members in the coordinator's map."""
    cases = [*election_cases(seed, draws(CASES)), *crowded_election_cases(seed, draws(CROWDED))]
    ours = elect_all(version, [joiners_of(case) for case in cases])
    rule = kafka_version(version).coordinator_map
    found = []
    for case, answer, election in zip(cases, answers(version, cases), ours, strict=True):
        theirs = answer.get("protocol"), answer.get("member_order", [])
        leads = not election.admitted or answer["leader"] == election.admitted[0]
        if not leads or theirs != (election.protocol, in_map_order(election.admitted, rule)):
            found.append((case, answer, election))
    assert found == [], f"seed {seed}"


@every_version
def test_coordinators_of_groups(version: str, seed: int, draws: Draws) -> None:
    cases = list(partition_for_cases(seed, draws(CASES)))
    ours = [offsets_partition(hashes([case["group_id"]]), case["offsets_partitions"])[0] for case in cases]
    assert [answer["partition"] for answer in answers(version, cases)] == ours, f"seed {seed}"


@every_version
@pytest.mark.parametrize("strategy", ["range", "roundrobin"])
def test_assignments(version: str, strategy: str, seed: int, draws: Draws) -> None:
    cases = [*assignor_cases(seed, draws(CASES)), *crowded_assignor_cases(seed, draws(CROWDED))]
    ours = Batch([group_of(case) for case in cases]).assign(version, strategy)
    theirs = [assignment_of(answer) for answer in answers(version, (case | {"rule": strategy} for case in cases))]
    assert different(cases, theirs, ours) == [], f"seed {seed}"


@pytest.mark.parametrize(("strategy", "version"), STICKY_RULES)
def test_sticky(strategy: str, version: str, seed: int, draws: Draws) -> None:
    cases = [*sticky_cases(seed, draws(CASES)), *crowded_assignor_cases(seed, draws(CROWDED))]
    theirs = [answer_of(answer) for answer in answers(version, (case | {"rule": strategy} for case in cases))]
    ours = Batch([group_of(case) for case in cases]).answers(version, strategy)
    assert different(cases, theirs, ours) == [], f"seed {seed}"


@pytest.mark.parametrize("strategy", CLIENT_RULES)
def test_consumers_of_other_releases(strategy: str, seed: int, draws: Draws) -> None:
    """One release of those at which the rules change: another one with most seeds."""
    release = random.Random(seed).choice(CLIENT_RULES[strategy])
    cases = list(sticky_cases(seed, draws(CASES // 10)))
    theirs = [answer_of(answer) for answer in answers(release, (case | {"rule": strategy} for case in cases))]
    ours = Batch([group_of(case) for case in cases]).answers(release, strategy)
    assert different(cases, theirs, ours) == [], f"seed {seed}, Kafka {release}"


@pytest.mark.parametrize("version", ["3.9", "4.3"])
@pytest.mark.parametrize("share_of_eager", [0.0, 0.1])
def test_cooperative_rebalances(version: str, share_of_eager: float, seed: int, draws: Draws) -> None:
    """Kafka's class is asked again as long as a consumer that follows ``ConsumerCoordinator`` would join again."""
    cases = list(sticky_cases(seed, draws(CASES // 3)))
    rng = random.Random(seed)
    groups = [group_of(case) for case in cases]
    eager = [{member.member_id for member in group.members if rng.random() < share_of_eager} for group in groups]
    batch = Batch(groups)
    flags = [member.member_id in names for group, names in zip(groups, eager, strict=True) for member in group.members]
    ours = batch.by_group(batch.play(version, "cooperative-sticky", np.array(flags, np.bool_)))

    def assign(going: Sequence[int], seen: Sequence[Group]) -> list[Answer]:
        asked = (_as_joined(cases[g], group) for g, group in zip(going, seen, strict=True))
        return [answer_of(answer) for answer in answers(version, asked)]

    theirs = rebalances(groups, eager, assign)
    assert different(cases, theirs, ours) == [], f"seed {seed}"


def _as_joined(case: JsonObject, group: Group) -> JsonObject:
    """A case of cooperative-sticky whose members own what those of a group do."""
    members = [
        given | {"owned": [[*partition] for partition in member.owned], "generation": member.generation}
        for given, member in zip(case["members"], group.members, strict=True)
    ]
    return case | {"rule": "cooperative-sticky", "members": members}
