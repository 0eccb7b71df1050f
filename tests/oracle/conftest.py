"""What the live comparisons with Kafka's released classes begin with."""

import pytest

from tests.oracle import OracleUnavailable, build


@pytest.fixture(scope="module", autouse=True)
def _built() -> None:
    try:
        build()
    except OracleUnavailable as reason:
        pytest.skip(str(reason))


@pytest.fixture(scope="module")
def seed(request: pytest.FixtureRequest) -> int:
    """Return what the cases are drawn from; pytest shows it where a comparison fails."""
    return int(request.config.getoption("--seed"))
