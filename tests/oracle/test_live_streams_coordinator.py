"""Fresh random conversations with streams groups (KIP-1071): Kafka's coordinator and the rules agree."""

import pytest

from tests.oracle.oracle import STREAMS_GROUP_RELEASES, coordinator_answers
from tests.oracle.streams_group_cases import streams_group_cases
from tests.support.comparison import conversation_of, different
from tests.support.conversations.heartbeat_players import streams_group_answer
from tests.support.shares import Draws

pytestmark = pytest.mark.oracle

CASES = 1000


@pytest.mark.parametrize("release", STREAMS_GROUP_RELEASES)
def test_streams_groups_are_answered_as_by_kafka(release: str, seed: int, draws: Draws) -> None:
    cases = list(streams_group_cases(seed, draws(CASES)))
    theirs = map(conversation_of, coordinator_answers(release, cases))
    ours = [streams_group_answer(case, release) for case in cases]
    assert different(cases, theirs, ours) == [], f"seed {seed}"
