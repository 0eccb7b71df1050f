"""Real brokers for the tests."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
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

from tests.cluster.broker import Broker, broker
from tests.cluster.jars import ClusterUnavailable

VERSIONS = ("4.3.1", "3.9.2", "2.3.1")
RACK = "rack-a"
ALICE = {"alice": "alices-s3cret"}
"""A user who may do nothing until ACLs allow it."""


@contextmanager
def running(version: str, directory: Path, **settings: Mapping[str, str]) -> Iterator[Broker]:
    """A broker, where this machine can run one."""
    with ExitStack() as stack:
        try:
            started = stack.enter_context(broker(version, directory, **settings))
        except ClusterUnavailable as reason:
            pytest.skip(f"no broker of Kafka {version}: {reason}")
        yield started


@pytest.fixture(scope="session", params=VERSIONS)
def live_broker(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A broker of each version, one after the other."""
    directory = tmp_path_factory.mktemp(f"kafka-{request.param}")
    with running(request.param, directory, users=ALICE, settings={"broker.rack": RACK}) as started:
        yield started


def allow(admin: AdminClient, kind: ResourceType, name: str, operation: AclOperation = AclOperation.DESCRIBE) -> None:
    """Let Alice do something."""
    of = (kind, name, ResourcePatternType.LITERAL, "User:alice", "*", operation, AclPermissionType.ALLOW)
    for created in admin.create_acls([AclBinding(*of)]).values():
        created.result()


def alices_properties(directory: Path, password: str = ALICE["alice"]) -> str:
    """Write her configuration as Kafka's own tools take it."""
    file = directory / "alice.properties"
    file.write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n"
        "sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required \\\n"
        f'    username="alice" password="{password}";\n'
    )
    return str(file)
