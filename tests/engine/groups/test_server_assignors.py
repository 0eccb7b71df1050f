"""The coordinator's assignors on Spark, and the topic ids that they need."""

import base64
import random
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from rebalance_sim.api.groups import assign
from rebalance_sim.engine.groups.prediction import ELECTED, Prediction, asks_topic_ids
from rebalance_sim.engine.tables.inputs import fit, fit_topics, usable
from rebalance_sim.engine.tables.topic_ids import topic_ids
from rebalance_sim.engine.tables.topic_metadata import TopicMetadata
from rebalance_sim.errors import UserError
from rebalance_sim.kafka.assignors import ASSIGNORS, assignors_of, find_assignor
from rebalance_sim.kafka.brokers import Brokers, Clusters
from rebalance_sim.kafka.runtime.strings import Ints
from rebalance_sim.releases import SHARE_ASSIGNORS, kafka_version
from rebalance_sim.tables import BALANCE, MEMBERS, TOPICS
from tests.support.batches import Batch
from tests.support.cases import JsonObject, golden
from tests.support.layout import shuffled_into
from tests.support.model import Cluster, Group, Member, Partition
from tests.support.rows import contents, member, members, table, topics


def rows_of(case: JsonObject) -> list[dict[str, object]]:
    return [
        member(
            m["member_id"],
            ["consumer"],
            m["topics"],
            cluster=case["id"],
            instance_id=m["instance_id"],
            join_order=i,
            rack=m["rack"],
            owned=[{"topic": topic, "partition": number} for topic, number in m["owned"]],
        )
        for i, m in enumerate(case["members"])
    ]


def tables_of(spark: SparkSession, cases: list[JsonObject]) -> tuple[DataFrame, DataFrame]:
    known = [
        {
            "cluster": case["id"],
            "topic": topic,
            "partitions": count,
            "topic_id": case["topic_ids"][topic],
            "racks": case.get("racks", {}).get(topic),
        }
        for case in cases
        for topic, count in case["topics"].items()
    ]
    return table(spark, TOPICS, known), table(spark, MEMBERS, [row for case in cases for row in rows_of(case)])


@pytest.mark.parametrize(
    ("version", "strategy", "cases", "answers"),
    [
        ("3.7.2", "server-range", "server-releases", "3.7.0"),
        ("3.7.2", "server-uniform", "server-releases", "3.7.0"),
        ("3.9", "server-uniform", "server-releases", "3.8.0"),
        ("4.0", "server-uniform", "server", "4.0"),
        ("4.0.1", "server-uniform", "server", "4.3"),
        ("4.3", "server-uniform", "server", "4.3"),
    ],
)
def test_tables_give_kafkas_answers(spark: SparkSession, version: str, strategy: str, cases: str, answers: str) -> None:
    """Several clusters have topics of the same names with different ids."""
    pairs = list(zip(golden(f"cases-{cases}"), golden(f"{strategy}-{answers}"), strict=True))[:150]
    pairs = [(case, answer) for case, answer in pairs if "error" not in answer]
    given_topics, given_members = tables_of(spark, [case for case, _ in pairs])
    rows = given_members.transform(assign(strategy, given_topics, version)).collect()
    ours = {(r["cluster"], r["member_id"]): [[p["topic"], p["partition"]] for p in r["partitions"]] for r in rows}
    assert ours == {(c["id"], m): lists for c, answer in pairs for m, lists in answer["assignment"].items()}


def test_an_exception_of_kafka_is_the_groups_error(spark: SparkSession) -> None:
    owned = [{"topic": "t", "partition": 9}]
    given = members(spark, member("a", ["x"], ["t"], owned=owned), member("b", ["x"], ["t", "u"]))
    metadata = TopicMetadata.of(usable(fit_topics(topics(spark, t=2, u=1))))
    rule = Prediction((BALANCE.name,), Clusters(Brokers("4.3")), ("server-uniform",), metadata)
    (row,) = rule(usable(fit(given, MEMBERS))).collect()
    assert row["error"].endswith(" throws ArrayIndexOutOfBoundsException")


def test_partitioning_changes_nothing(spark: SparkSession) -> None:
    given_topics, given_members = tables_of(spark, golden("cases-server")[:100])
    expected = contents(given_members.transform(assign("server-uniform", given_topics)))
    with shuffled_into(spark, 7):
        again = given_members.repartition(3).transform(assign("server-uniform", given_topics.repartition(2)))
        assert contents(again) == expected


def test_clusters_of_early_releases_have_owned_partitions(spark: SparkSession) -> None:
    """server-range reads them before 3.9, whatever the release of other clusters."""
    owned = [{"topic": "t", "partition": 0}]
    given = members(spark, member("a", ["x"], ["t"]), member("b", ["x"], ["t"], owned=owned))
    for early, expected in (("3.8", {"a": [1], "b": [0]}), ("3.9", {"a": [0], "b": [1]})):
        clusters = Clusters(Brokers("4.3"), {"default": Brokers(early)})
        rows = given.transform(assign("server-range", topics(spark, t=2), clusters)).collect()
        assert {r["member_id"]: [p["partition"] for p in r["partitions"]] for r in rows} == expected


# ---- ids


def halves(ids: list[str | None], names: list[str]) -> Ints:
    return topic_ids(pa.array(ids, pa.string()), pa.array(names, pa.string()))


def test_ids_are_decoded_as_in_kafka() -> None:
    rng = random.Random(1)
    raw = [rng.randbytes(16) for _ in range(200)] + [b"\xff" * 16, b"\x80" + 15 * b"\0", 15 * b"\0" + b"\x01"]
    texts: list[str | None] = [base64.urlsafe_b64encode(some).decode() for some in raw]
    expected = [[int.from_bytes(some[:8], signed=True), int.from_bytes(some[8:], signed=True)] for some in raw]
    names = [f"t{i}" for i in range(len(raw))]
    assert halves(texts, names).tolist() == expected
    assert halves([text and text.rstrip("=") for text in texts], names).tolist() == expected


def test_topics_without_an_id_get_one() -> None:
    zero = "AAAAAAAAAAAAAAAAAAAAAA"
    ids = halves([None, zero, None, zero + "=="], ["orders", "größe", "größe", "orders"])
    assert ids[0].tolist() == ids[3].tolist() != ids[1].tolist() == ids[2].tolist()
    assert ids[0].tolist() == [8731575331918922172, 5532020960634966065]
    assert np.array_equal(halves([], []), np.empty((0, 2), np.int64))


def test_generated_ids_do_not_depend_on_partitioning(spark: SparkSession) -> None:
    names = tuple(f"t{i}" for i in range(6))
    ids = {
        name: (int(high) % 2**64, int(low) % 2**64)
        for name, (high, low) in zip(names, halves([None] * 6, [*names]), strict=True)
    }
    group = Group(
        (Member("a", names), Member("b", names), Member("c", names)), Cluster(dict.fromkeys(names, 5), {}, ids)
    )
    given = members(spark, *[member(m.member_id, ["x"], list(m.topics)) for m in group.members])
    rows = given.transform(assign("server-uniform", topics(spark, **group.cluster.partitions))).collect()
    ours = {r["member_id"]: [Partition(p["topic"], p["partition"]) for p in r["partitions"]] for r in rows}
    assert Batch([group]).assign("4.3", "server-uniform") == [ours]
    other = replace(group, cluster=replace(group.cluster, ids=dict(zip(names, reversed(ids.values()), strict=True))))
    assert Batch([other]).assign("4.3", "server-uniform") != [ours]


# ---- versions


def test_each_version_has_its_assignors() -> None:
    for name in ("1.0", "2.3", "3.6"):
        assert not [known for known in assignors_of(kafka_version(name)) if known.startswith("server-")]
    for name in ("3.7", "4.0", "4.3.1"):
        assert assignors_of(kafka_version(name)) == tuple(known for known in ASSIGNORS if known not in SHARE_ASSIGNORS)
    assert find_assignor("share-simple", kafka_version("3.9")) is None
    assert find_assignor("share-simple", kafka_version("4.0")) is ASSIGNORS["share-simple"]
    assert not asks_topic_ids(("range", "server-range"))
    assert asks_topic_ids(("range", "server-uniform"))
    assert asks_topic_ids((ELECTED,))


def test_an_error_lists_the_assignors_of_the_version(spark: SparkSession) -> None:
    with pytest.raises(UserError, match=r"^strategy: Kafka 3\.6 has no 'server-range'; allowed: range, .*elected$"):
        assign("server-range", topics(spark, t=1), "3.6")
