"""Fresh random connectors of MirrorMaker 2, answered by Kafka's released classes and by the rules."""

import pytest

from tests.oracle.mirror_cases import mirror_cases
from tests.oracle.oracle import MIRROR_RELEASES, mirror_answers
from tests.support.mirror_tasks import compared, is_valid
from tests.support.shares import Draws

pytestmark = pytest.mark.oracle

CASES = 2000


@pytest.mark.parametrize("release", MIRROR_RELEASES)
def test_tasks_of_mirror_maker(release: str, seed: int, draws: Draws) -> None:
    cases = [case for case in mirror_cases(seed, draws(CASES)) if is_valid(case, release)]
    different = [
        (case, answer, found.different)
        for case, answer in zip(cases, mirror_answers(release, cases), strict=True)
        if (found := compared(case, answer, release)).different
    ]
    assert different == [], f"seed {seed}"
