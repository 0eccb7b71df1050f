"""Fresh random cases of the coordinator's assignors, answered by Kafka's released classes and by the rules."""

import pytest

from rebalance_sim.releases import kafka_version
from tests.oracle import answers
from tests.oracle.oracle import SERVER_RULES, SERVER_VERSIONS, SHARE_RELEASES
from tests.oracle.server_cases import early_server_cases, server_cases, share_cases
from tests.support.batches import Batch
from tests.support.cases import answer_of, group_of
from tests.support.comparison import different
from tests.support.share_groups import share_answers
from tests.support.shares import Draws

pytestmark = pytest.mark.oracle

CASES = 3000


@pytest.mark.parametrize("version", SERVER_VERSIONS)
@pytest.mark.parametrize("strategy", SERVER_RULES)
def test_server_assignments(version: str, strategy: str, seed: int, draws: Draws) -> None:
    cases = [case | {"rule": strategy} for case in server_cases(seed, draws(CASES))]
    ours = Batch([group_of(case) for case in cases]).answers(version, strategy)
    theirs = [answer_of(answer) for answer in answers(version, cases)]
    assert different(cases, theirs, ours) == [], f"seed {seed}"


@pytest.mark.parametrize("strategy", SERVER_RULES)
def test_coordinators_of_other_releases(strategy: str, seed: int, draws: Draws) -> None:
    """Every release at which the rules change; at each change, hundreds of these cases get another answer."""
    cases = [case | {"rule": strategy} for case in early_server_cases(seed, draws(CASES))]
    batch = Batch([group_of(case) for case in cases])
    for release in SERVER_RULES[strategy]:
        theirs = [answer_of(answer) for answer in answers(release, cases)]
        assert different(cases, theirs, batch.answers(release, strategy)) == [], f"seed {seed}, Kafka {release}"


@pytest.mark.parametrize("release", SHARE_RELEASES)
def test_share_groups(release: str, seed: int, draws: Draws) -> None:
    """Of the releases with the same rules, each is asked: the classes were moved and rewritten without a change."""
    cases = [case | {"rule": "share-simple"} for case in share_cases(seed, draws(CASES))]
    theirs = [answer_of(answer) for answer in answers(release, cases)]
    ours = share_answers(cases, kafka_version(release).share)
    assert different(cases, theirs, ours) == [], f"seed {seed}"
