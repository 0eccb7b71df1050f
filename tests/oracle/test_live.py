"""Fresh random cases, answered by Kafka's released classes and by the rules."""

import random

import pytest

from tests.kafka.batches import Batch, elect_all
from tests.kafka.cases import STICKY_TWINS, assignment_of, group_of, joiners_of, outcome_of, twins_outcome
from tests.oracle import OracleUnavailable, answers, build
from tests.oracle.oracle import SERVER_VERSIONS, VERSIONS
from tests.oracle.random_cases import assignor_cases, election_cases, sticky_cases
from tests.oracle.server_cases import SERVER_RULES, server_cases

pytestmark = pytest.mark.oracle
every_version = pytest.mark.parametrize("version", VERSIONS)

CASES = 3000


@pytest.fixture(scope="module", autouse=True)
def _built() -> None:
    try:
        build()
    except OracleUnavailable as reason:
        pytest.skip(str(reason))


@pytest.fixture(scope="module")
def seed() -> int:
    """Return another seed every time; pytest shows it where a comparison fails."""
    return random.SystemRandom().getrandbits(32)


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
    for strategy in [name for name, of_version in STICKY_TWINS if of_version == version]:
        groups = [group_of(case) for case in cases]
        theirs = [outcome_of(answer) for answer in answers(version, (case | {"rule": strategy} for case in cases))]
        ours = Batch(groups).answers(version, strategy)
        assert [trio for trio in zip(cases, theirs, ours, strict=True) if trio[1] != trio[2]] == [], f"seed {seed}"
        twins = [twins_outcome(strategy, version, group) for group in groups]
        assert [trio for trio in zip(cases, theirs, twins, strict=True) if trio[1] != trio[2]] == [], f"seed {seed}"


@pytest.mark.parametrize("version", SERVER_VERSIONS)
@pytest.mark.parametrize("strategy", SERVER_RULES)
def test_server_assignments(version: str, strategy: str, seed: int) -> None:
    cases = [case | {"rule": strategy} for case in server_cases(seed, CASES)]
    ours = Batch([group_of(case) for case in cases]).answers(version, strategy)
    theirs = [outcome_of(answer) for answer in answers(version, cases)]
    different = [trio for trio in zip(cases, theirs, ours, strict=True) if trio[1] != trio[2]]
    assert different == [], f"seed {seed}"
