"""Fresh random cases about bytes, answered by Kafka's released classes and by the program."""

import pytest

from tests.oracle import answers
from tests.oracle.oracle import VERSIONS
from tests.oracle.protocol_cases import read_cases, write_cases
from tests.support.protocol_bytes import read, same_reading, written
from tests.support.shares import Draws

pytestmark = pytest.mark.oracle

WRITTEN, TO_READ = 2000, 10_000


@pytest.mark.parametrize("version", VERSIONS)
def test_writing(version: str, seed: int, draws: Draws) -> None:
    cases = list(write_cases(seed, draws(WRITTEN)))
    theirs = [answer["members"] for answer in answers(version, cases)]
    ours = [[written(version, member) for member in case["members"]] for case in cases]
    assert [case for case, a, b in zip(cases, theirs, ours, strict=True) if a != b] == [], f"seed {seed}"


@pytest.mark.parametrize("version", ["3.9", "4.3"])
def test_reading(version: str, seed: int, draws: Draws) -> None:
    cases = list(read_cases(seed, answers(version, write_cases(seed, draws(200))), draws(TO_READ)))
    different = [
        (case, answer)
        for case, answer in zip(cases, answers(version, cases), strict=True)
        if not same_reading(answer, read(case))
    ]
    assert different == [], f"seed {seed}"
