"""Real brokers for the tests."""

from collections.abc import Iterator

import pytest

from tests.cluster.broker import Broker, broker
from tests.cluster.jars import ClusterUnavailable

VERSIONS = ("4.3.1", "3.9.2", "2.3.1")
ALICE = {"alice": "alices-s3cret"}
"""A user who may do nothing until ACLs allow it."""


@pytest.fixture(scope="session", params=VERSIONS)
def live_broker(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A broker of each version, one after the other."""
    version = request.param
    try:
        started = broker(version, tmp_path_factory.mktemp(f"kafka-{version}"), users=ALICE)
        started.__enter__()
    except ClusterUnavailable as reason:
        pytest.skip(f"no broker of Kafka {version}: {reason}")
    yield started
    started.stop()
