"""MirrorMaker 2's tasks: golden answers of Kafka's classes, and what cannot be known."""

import pytest

from rebalance_sim.errors import UserError
from rebalance_sim.kafka.connect.mirror_connectors import MirrorConnector, MirrorKind
from rebalance_sim.kafka.connect.mirror_tasks import shares_of_groups, shares_of_topics
from rebalance_sim.kafka.runtime.hash_order import java_bucket
from rebalance_sim.releases import MirrorRules
from tests.oracle.oracle import MIRROR_RELEASES
from tests.support.cases import golden
from tests.support.examples import some
from tests.support.java import PREFIXES, java_hash
from tests.support.mirror_tasks import compared, is_valid

SOURCE = {"connector.class": "MirrorSource", "source.cluster.alias": "east", "tasks.max": "2"}
CHECKPOINT = SOURCE | {"connector.class": "MirrorCheckpointConnector"}
NEWEST = max(MirrorRules)


@pytest.mark.parametrize("release", MIRROR_RELEASES)
def test_tasks_are_kafkas(release: str) -> None:
    cases, answers = some(golden("cases-mirror")), some(golden(f"mirror-{release}"))
    pairs = zip(cases, answers, strict=True)
    found = [compared(case, answer, release) for case, answer in pairs if is_valid(case, release)]
    assert [each.different for each in found if each.different] == []
    # Open are the tasks of names with one hash code, or in one bucket if the order of brokers is unknown.
    assert sum(each.certain for each in found) > 0.7 * sum(each.shares for each in found)


def test_releases_whose_classes_are_not_published() -> None:
    """2.4 assigns ranges, and knows no ``.exclude``; 2.5 deals partitions in turn."""
    topics = {"orders": 5, "payments": 5}
    config = SOURCE | {"topics.exclude": "orders", "topics.blacklist": "payments"}
    names_and_tasks = {
        rules: [(share.name, share.task) for share in shares_of_topics(MirrorConnector(config, rules), topics, True)]
        for rules in (MirrorRules.RANGES, MirrorRules.IN_TURN, MirrorRules.EXCLUDED)
    }
    assert names_and_tasks == {
        MirrorRules.RANGES: [("orders", task) for task in (0, 0, 0, 1, 1)],
        MirrorRules.IN_TURN: [("orders", task) for task in (0, 1, 0, 1, 0)],
        MirrorRules.EXCLUDED: [("payments", task) for task in (0, 1, 0, 1, 0)],
    }
    disabled = CHECKPOINT | {"emit.checkpoints.enabled": "false"}
    tasks = [
        len(shares_of_groups(MirrorConnector(disabled, rules), {"a": {"orders"}}))
        for rules in (MirrorRules.RANGES, MirrorRules.IN_TURN)
    ]
    assert tasks == [1, 0]


def test_connectors_are_known_by_the_names_of_their_class() -> None:
    names = ("org.apache.kafka.connect.mirror.MirrorSourceConnector", "MirrorSourceConnector", "MirrorSource")
    kinds = [MirrorConnector({"connector.class": name}, NEWEST).kind for name in (*names, "MirrorHeartbeat", "Sink")]
    assert kinds == [MirrorKind.SOURCE, MirrorKind.SOURCE, MirrorKind.SOURCE, None, None]
    assert MirrorConnector({}, NEWEST).kind is None


@pytest.mark.parametrize(
    ("setting", "value", "message"),
    [
        ("topic.filter.class", "com.example.Own", "topic.filter.class 'com.example.Own' is not a class of Kafka"),
        ("replication.policy.class", "Own", "replication.policy.class 'Own' is not a class of Kafka"),
        ("topics", r"\p{Lower}+", "is read by Java alone"),
        ("topics", "[a-z&&[^x]]+", "is read by Java alone"),
        ("tasks.max", "many", "tasks.max 'many' is not a number"),
    ],
)
def test_what_is_not_kafkas_own_is_not_predicted(setting: str, value: str, message: str) -> None:
    with pytest.raises(UserError) as problem:
        shares_of_topics(MirrorConnector(SOURCE | {setting: value}, NEWEST), {"orders": 1}, known_order=True)
    assert message in str(problem.value)


def in_one_bucket(buckets: int) -> list[str]:
    """Return two names with different hash codes in one bucket."""
    names = [f"topic-{i}" for i in range(100)]
    wanted = java_bucket(java_hash(names[0]), buckets)
    return [name for name in names if java_bucket(java_hash(name), buckets) == wanted][:2]


def test_topics_in_one_bucket_are_certain_if_the_order_of_brokers_is() -> None:
    topics = dict.fromkeys([*in_one_bucket(16), "payments", "refunds"], 1)
    connector = MirrorConnector(SOURCE, NEWEST)
    assert all(share.is_certain for share in shares_of_topics(connector, topics, known_order=True))
    uncertain = {share.name for share in shares_of_topics(connector, topics, known_order=False) if not share.is_certain}
    assert uncertain == set(in_one_bucket(16))
    # All partitions are in one task.
    alone = MirrorConnector(SOURCE | {"tasks.max": "1"}, NEWEST)
    assert all(share.is_certain for share in shares_of_topics(alone, topics, known_order=False))


def test_topics_with_one_hash_code_are_never_certain() -> None:
    topics = dict.fromkeys(PREFIXES[:2], 1)
    shares = shares_of_topics(MirrorConnector(SOURCE, NEWEST), topics, known_order=True)
    assert [share.is_certain for share in shares] == [False, False]


def test_twelve_topics_of_many_depend_on_the_release_of_java() -> None:
    """Java 17 copies 12 entries into 32 buckets, Java 21 into 16; 11 or 13 go into as many in both."""
    connector = MirrorConnector(SOURCE | {"topics": "orders-.*"}, NEWEST)
    others = {f"topic-{i}": 1 for i in range(60)}
    certain = [
        all(share.is_certain for share in shares_of_topics(connector, of | others, known_order=True))
        for of in ({f"orders-{9 * i}": 1 for i in range(count)} for count in (11, 12, 13))
    ]
    assert certain == [True, False, True]


def test_groups_in_one_bucket_are_certain_in_one_task() -> None:
    first, second = in_one_bucket(16)
    connector = MirrorConnector(CHECKPOINT, NEWEST)
    shares = shares_of_groups(connector, {first: {"orders"}, second: {"orders"}})
    assert [share.is_certain for share in shares] == [False, False]
    consumed = {group: {"orders"} for group in (first, second, "g1", "g2", "g3")}
    shares = shares_of_groups(connector, consumed | {"without": {"__internal"}})
    assert len(shares) == 5
    tasks = {share.name: share.task for share in shares}
    assert all(share.is_certain for share in shares) == (tasks[first] == tasks[second])
