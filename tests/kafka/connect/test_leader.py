"""Connect's leaders: golden sequences of Kafka's classes, and what each change of a rule means for a small cluster."""

import pytest

from tests.oracle.oracle import CONNECT_RELEASES
from tests.support.cases import golden
from tests.support.connect_clusters import played, told_by_kafka
from tests.support.examples import some


@pytest.mark.parametrize("release", CONNECT_RELEASES)
def test_leaders_answer_as_kafkas(release: str) -> None:
    cases, answers = some(golden("cases-connect")), some(golden(f"connect-{release}"))
    assert played(cases, release) == [told_by_kafka(answer) for answer in answers]
