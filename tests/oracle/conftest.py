"""What the live comparisons with Kafka's released classes begin with."""

import random

import pytest

from tests.oracle import OracleUnavailable, build


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
