"""Real brokers, and the environment for executors."""

import fcntl
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from tests.support.cluster.broker import Broker, running
from tests.support.interruptions import start
from tests.support.shares import share_of

VERSIONS = ("4.3.1", "3.9.2", "2.3.1")
RACK = "rack-a"
ALICE = {"alice": "alices-s3cret"}
"""A user with no permissions until ACLs grant them."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of a share, keep the broker of 4.x and one of those before: with other seeds the other one."""
    kept = {VERSIONS[0], VERSIONS[1 + config.getoption("--seed") % 2], None}
    left_out = [item for item in items if share_of(config, item.path) > 1 and _version_of(item) not in kept]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if item not in left_out]


def _version_of(item: pytest.Item) -> str | None:
    """Return the release of the shared broker that a test asks."""
    parameters = getattr(item, "callspec", None)
    return parameters.params.get("live_broker") if parameters else None


@pytest.fixture(scope="session")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pack the environment for executors, as ``make package`` does; all test processes use the same archive."""
    of_this_process = tmp_path_factory.getbasetemp()
    folder = (of_this_process.parent if "PYTEST_XDIST_WORKER" in os.environ else of_this_process) / "package"
    folder.mkdir(exist_ok=True)
    packed, log = folder / "e.tar.gz", folder / "log"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not packed.exists():
            packing = start([sys.executable, "-m", "rebalance_sim.environment", str(packed)], log)
            assert packing.wait() == 0, log.read_text()
            assert {path.name for path in folder.iterdir()} == {"lock", "log", "e.tar.gz"}
    return packed


@pytest.fixture(scope="session", params=VERSIONS)
def live_broker(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """Start a broker of each version, one after the other."""
    directory = tmp_path_factory.mktemp(f"kafka-{request.param}")
    with running(request.param, directory, users=ALICE, settings={"broker.rack": RACK}) as started:
        yield started


def allow(admin: AdminClient, kind: ResourceType, name: str, operation: AclOperation = AclOperation.DESCRIBE) -> None:
    """Grant Alice a permission."""
    of = (kind, name, ResourcePatternType.LITERAL, "User:alice", "*", operation, AclPermissionType.ALLOW)
    for created in admin.create_acls([AclBinding(*of)]).values():
        created.result()


def alices_properties(directory: Path, password: str = ALICE["alice"]) -> str:
    """Write her client configuration in the format of Kafka's own tools."""
    file = directory / "alice.properties"
    file.write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n"
        "sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required \\\n"
        f'    username="alice" password="{password}";\n'
    )
    return str(file)
