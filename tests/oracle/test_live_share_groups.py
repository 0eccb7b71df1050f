"""Fresh random conversations with share groups (KIP-932): Kafka's coordinator and the rules agree."""

import pytest

from tests.oracle.oracle import SHARE_GROUP_RELEASES, coordinator_answers
from tests.oracle.share_group_cases import share_group_cases
from tests.support.comparison import conversation_of, different
from tests.support.conversations.heartbeat_players import share_group_answer
from tests.support.shares import Draws

pytestmark = pytest.mark.oracle

CASES = 300


@pytest.mark.parametrize("release", SHARE_GROUP_RELEASES)
def test_share_groups_are_answered_as_by_kafka(release: str, seed: int, draws: Draws) -> None:
    cases = list(share_group_cases(seed, draws(CASES)))
    theirs = map(conversation_of, coordinator_answers(release, cases))
    ours = [share_group_answer(case, release) for case in cases]
    assert different(cases, theirs, ours) == [], f"seed {seed}"
