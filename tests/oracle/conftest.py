"""What the live comparisons with Kafka's released classes begin with."""

import pytest

from tests.oracle import OracleUnavailable, build


@pytest.fixture(scope="module", autouse=True)
def _built() -> None:
    try:
        build()
    except OracleUnavailable as reason:
        pytest.skip(str(reason))
