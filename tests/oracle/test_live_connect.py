"""Fresh random sequences of rebalances of Connect clusters, answered by Kafka's released classes and by the rules."""

import pytest

from tests.oracle.connect_cases import connect_cases
from tests.oracle.oracle import CONNECT_RELEASES, connect_answers
from tests.support.comparison import different
from tests.support.connect_clusters import played, told_by_kafka
from tests.support.shares import Draws

pytestmark = pytest.mark.oracle

CASES = 2000


@pytest.mark.parametrize("release", CONNECT_RELEASES)
def test_connect_clusters(release: str, seed: int, draws: Draws) -> None:
    cases = list(connect_cases(seed, draws(CASES)))
    theirs = [told_by_kafka(answer) for answer in connect_answers(release, cases)]
    assert different(cases, theirs, played(cases, release)) == [], f"seed {seed}"
