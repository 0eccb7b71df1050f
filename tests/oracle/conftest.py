"""What the live comparisons with Kafka's released classes begin with."""

import pytest

from tests.oracle import build


@pytest.fixture(scope="module", autouse=True)
def _built() -> None:
    build()
