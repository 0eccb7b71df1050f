"""Whether groups can migrate to the consumer protocol."""

from typing import Any

import pytest

from rebalance_sim.errors import UserError
from rebalance_sim.kafka.assignors.by_library import Leader
from rebalance_sim.kafka.brokers import Brokers
from rebalance_sim.kafka.clients import LIBRARIES
from rebalance_sim.kafka.group_kinds import GroupKind
from rebalance_sim.kafka.migration import COUNTERPARTS, MigratingGroup, Migration, Obstacle, Verdict, migration

JAVA_4, UNKNOWN = Leader("java", "4.1.0"), Leader("", "")


POLICIES = [("bidirectional", Verdict.ONLINE), ("upgrade", Verdict.ONLINE)]
POLICIES += [("downgrade", Verdict.OFFLINE), ("disabled", Verdict.OFFLINE)]


def found(*clients: Leader, protocol: str | None = "range", brokers: str = "4.3", **more: Any) -> Migration:
    group = MigratingGroup(GroupKind.CONSUMERS, protocol, clients or (JAVA_4, JAVA_4), 0)
    return migration(group._replace(**more), Brokers(brokers))


@pytest.mark.parametrize(("protocol", "assignor"), COUNTERPARTS.items())
def test_assignors_with_a_counterpart_migrate_online(protocol: str, assignor: str) -> None:
    assert found(protocol=protocol)[:4] == (Verdict.ONLINE, "one rolling restart", None, assignor)


@pytest.mark.parametrize(
    ("clients", "protocol", "verdict", "assumes", "otherwise"),
    [
        # An unknown client may be of any library that has the elected protocol.
        ([UNKNOWN], "RoundRobinAssigner", Verdict.ONLINE, "java", "; no with kafkajs"),
        ([UNKNOWN, JAVA_4], "sticky", Verdict.ONLINE, "java", "; no with aiokafka, kafka-python or sarama"),
        # No other library has it.
        ([UNKNOWN], "rack-affinity", Verdict.NO, "", None),
        # The verdict is the same for both.
        ([Leader("java;franz-go", "")], "range", Verdict.ONLINE, "", None),
        ([Leader("kafka-go;sarama", "")], "range", Verdict.NO, "", None),
        ([Leader("kafkajs;java", "")], "range", Verdict.NO, "kafkajs", "; online with java"),
        # It does not depend on them.
        ([UNKNOWN, Leader("sarama", "")], "range", Verdict.NO, "", None),
    ],
)
def test_the_verdict_is_given_under_each_possible_library(
    clients: list[Leader], protocol: str, verdict: Verdict, assumes: str, otherwise: str | None
) -> None:
    result = found(*clients, protocol=protocol)
    assert (result.verdict, result.assumes) == (verdict, assumes)
    assert result.reason.endswith(otherwise) if otherwise else "uncertain" not in result.reason


def test_an_assumed_protocol_says_nothing_of_the_library() -> None:
    assert "kafkajs" not in found(UNKNOWN, protocol="cooperative-sticky").reason
    assert "kafkajs" in found(UNKNOWN, protocol="cooperative-sticky", is_protocol_assumed=True).reason


@pytest.mark.parametrize(
    ("result", "obstacle", "reason"),
    [
        (found(kind=GroupKind.CONNECT), Obstacle.KIND, "a Connect cluster"),
        (found(kind=GroupKind.STREAMS), Obstacle.KIND, "streams groups (KIP-1071)"),
        (found(protocol="by-lag"), Obstacle.CUSTOM_ASSIGNOR, "no equivalent of assignor 'by-lag'"),
        (found(protocol=None), Obstacle.REFUSED, "refuses all members"),
        (found(brokers="3.9"), Obstacle.BROKERS, "the brokers run Kafka 3.9; the consumer protocol needs 4.0"),
        (
            found(JAVA_4, Leader("sarama", "1.43.0"), Leader("kafkajs", "2.2.4")),
            Obstacle.LIBRARY,
            "sarama, kafkajs do not have the consumer protocol (2 members)",
        ),
        (found(Leader("unheard-of", "")), Obstacle.LIBRARY, "unheard-of does not have"),
    ],
)
def test_a_group_with_an_obstacle_cannot_migrate(result: Migration, obstacle: Obstacle, reason: str) -> None:
    assert (result.verdict, result.obstacle, result.assignor) == (Verdict.NO, obstacle, None)
    assert reason in result.reason


def test_a_subscription_that_the_coordinator_cannot_read_has_to_be_gone_first() -> None:
    """The one of @platformatic/kafka, whose consumers have the new protocol."""
    result = found(Leader("platformatic-kafka", "1.35.0"), protocol="roundrobin")
    shown = (result.verdict, result.obstacle, result.assignor)
    assert shown == (Verdict.OFFLINE, Obstacle.UNREADABLE, "server-uniform")
    assert result.reason.endswith("cannot read the subscription of 1 member (platformatic-kafka)")


@pytest.mark.parametrize(("policy", "verdict"), POLICIES)
def test_the_brokers_may_forbid_upgrades(policy: str, verdict: Verdict) -> None:
    group = MigratingGroup(GroupKind.CONSUMERS, "range", [JAVA_4], 0)
    result = migration(group, Brokers("4.3", migration_policy=policy))
    assert result.verdict is verdict
    assert (result.obstacle is Obstacle.POLICY) == (verdict is Verdict.OFFLINE)


def test_an_unknown_policy_is_refused() -> None:
    with pytest.raises(UserError) as refused:
        Brokers(migration_policy="upgrad")
    assert str(refused.value).startswith("migration policy: 'upgrad' is not known (did you mean 'upgrade'?); allowed: ")


@pytest.mark.parametrize(
    ("library", "protocol", "verdict"),
    [
        ("librdkafka", "cooperative-sticky", Verdict.OFFLINE),
        ("librdkafka", "roundrobin", Verdict.ONLINE),
        ("java", "cooperative-sticky", Verdict.ONLINE),
        ("", "sticky", Verdict.ONLINE),
    ],
)
def test_assignments_with_user_data_of_the_leader_cannot_be_converted(
    library: str, protocol: str, verdict: Verdict
) -> None:
    """As on brokers of Kafka 4.3 (tests/real/test_migrations.py); another member's assignor does not matter."""
    leader, other = Leader(library, ""), Leader("librdkafka", "")
    result = found(other, leader, protocol=protocol, leader=leader)
    assert result.verdict is verdict
    assert (result.obstacle is Obstacle.USER_DATA) == (verdict is Verdict.OFFLINE)
    assert ("user data" in result.reason) == (verdict is Verdict.OFFLINE)


@pytest.mark.parametrize(
    ("library", "release", "outdated"),
    [
        ("", "3.9.1", 1),
        ("java", "4.0.0", 0),
        ("", "", 0),
        ("librdkafka", "2.11.1", 1),
        ("librdkafka", "2.12.0", 0),
        ("librdkafka", "", 0),
        ("franz-go", "v1.18.0", 1),
    ],
)
def test_clients_without_the_protocol_are_upgraded_first(library: str, release: str, outdated: int) -> None:
    result = found(JAVA_4, Leader(library, release))
    assert (result.verdict, result.outdated) == (Verdict.ONLINE, outdated)
    assert result.reason.startswith("after an upgrade of ") == (outdated > 0)


def test_java_clients_without_a_release_have_that_of_the_brokers() -> None:
    group = MigratingGroup(GroupKind.CONSUMERS, "range", [Leader("", "")], 0)
    assert migration(group, Brokers("4.3", clients="3.6")).outdated == 1


def test_a_group_in_the_middle_of_a_migration_goes_on() -> None:
    mixed = found(protocol="server-range", modern=2)
    assert mixed[:4] == (Verdict.ONLINE, "under way: 2 members use the classic protocol", None, "server-range")
    assert found(classic=(), modern=2).verdict is Verdict.DONE
    assert found(classic=()).obstacle is Obstacle.NO_MEMBERS


def test_libraries_without_static_members() -> None:
    assert [name for name, record in LIBRARIES.items() if not record.has_static_members] == [
        *("kafka-go", "kafkajs", "kafka-node", "ruby-kafka")
    ]
