"""Predictions that were wrong, as the tables from which the same prediction is made again."""

from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from rebalance_sim import Brokers, Clusters, backtest, explain_assignment, misses, read_clusters
from rebalance_sim.engine.history.backtest import AS_JOINED, DIFFERS, GENERATION_BEFORE
from rebalance_sim.engine.tables.outcomes import Outcomes
from rebalance_sim.releases import NEWEST
from rebalance_sim.tables import MISS_CLUSTERS, MISS_MEMBERS, MISS_TOPICS, TOPICS
from tests.engine.history.test_backtest import generation, history
from tests.support.rows import table

SWAPPED = {"a": ["t-2", "t-1"], "b": ["t-0"]}
"""Of three partitions, range assigns 0 and 1 to the first member."""


def found_misses(
    members: DataFrame, topics: DataFrame | None = None, basis: str = AS_JOINED, clusters: str | Clusters = NEWEST
) -> tuple[DataFrame, Outcomes]:
    tested = members.transform(backtest(topics, clusters, basis=basis))
    return tested, misses(tested, topics, clusters)(members)


def test_a_miss_is_explained_from_its_tables_as_the_back_test_predicted(spark: SparkSession) -> None:
    """Each has its own number of partitions and brokers; a member's timeouts and a topic's later racks are kept out."""
    whole = {"a": ["t-0", "t-1"], "b": ["t-2", "t-3"]}
    more: dict[str, Any] = {"rack": "r", "user_data": b"\1", "client_version": "3.9"}
    members = history(
        spark,
        generation(2, SWAPPED, **more),
        generation(3, whole, **more),
        generation(2, SWAPPED, cluster="a/b", group_id="c/d", client_version=None),
    )
    racks = [["r"]] * 4
    topics = table(spark, TOPICS, [{"topic": "t", "partitions": 4, "racks": racks}])
    clusters = Clusters(Brokers("2.8", "2.12"), {"a/b": Brokers("3.6.1", clients="3.1")})
    tested, found = found_misses(members, topics, clusters=clusters)
    rows = {row["miss"]: row for row in tested.where(f"result = '{DIFFERS}'").collect()}
    assert {*rows} == {"default/g/0/2/as joined", "a%2Fb/c/d/0/2/as joined"}
    assert {name: found[name].columns for name in found} == {
        of.name: of.names for of in (MISS_TOPICS, MISS_MEMBERS, MISS_CLUSTERS)
    }
    sizes = {row["cluster"]: (row["partitions"], row["racks"]) for row in found.miss_topics.collect()}
    assert sizes == {"default/g/0/2/as joined": (3, [["r"]] * 3), "a%2Fb/c/d/0/2/as joined": (3, None)}
    brokers = read_clusters(found.miss_clusters)
    assert brokers.named == {miss: clusters.of(rows[miss]["cluster"]) for miss in rows}
    for miss, row in rows.items():
        own = found.miss_members.where(F.col("cluster") == miss)
        assert {(each["group_id"], each["user_data"] is None) for each in own.collect()} == {
            (row["group_id"], row["cluster"] == "a/b")
        }
        first = row["first_differing"]
        assert (first["topic"], first["partition"], first["assigned_to"], first["predicted"]) == ("t", 0, "b", "a")
        given = {each["member_id"]: each["assigned"] for each in own.collect()}
        assert [(each["topic"], each["partition"]) for each in given["a"]] == [("t", 2), ("t", 1)]
        explained = explain_assignment(own, found.miss_topics, ("t", 0), kafka_version=brokers)
        assert explained.member_ids == ("a",)
        assert explained.kafka_version == clusters.of(row["cluster"]).version


def test_a_miss_of_the_generation_before_has_what_the_members_had_then(spark: SparkSession) -> None:
    before = generation(1, {"a": ["t-0", "t-1"], "b": ["t-2", "t-3"]}, protocol="sticky")
    turned = generation(3, {"a": ["t-2"], "b": ["t-0", "t-1"], "c": ["t-3"]}, protocol="sticky")
    tested, found = found_misses(history(spark, before, turned), basis=GENERATION_BEFORE)
    assert [row["miss"] for row in tested.where("result = 'differs'").collect()] == ["default/g/0/3/generation before"]
    owned = {row["member_id"]: (row["owned"], row["generation"]) for row in found.miss_members.collect()}
    had = {name: [tuple(each) for each in partitions_] for name, (partitions_, _) in owned.items()}
    assert had == {"a": [("t", 0), ("t", 1)], "b": [("t", 2), ("t", 3)], "c": []}
    assert {name: number for name, (_, number) in owned.items()} == {"a": 1, "b": 1, "c": None}


def test_a_right_prediction_is_no_miss(spark: SparkSession) -> None:
    tested, found = found_misses(history(spark, generation(2, {"a": ["t-0", "t-1"], "b": ["t-2"]})))
    assert [(row["first_differing"], row["miss"]) for row in tested.collect()] == [(None, None)]
    assert {name: found[name].count() for name in found} == dict.fromkeys(found, 0)


def test_the_first_difference_is_the_first_by_topic_and_number(spark: SparkSession) -> None:
    """Also of partitions that nobody was assigned, in whatever order the topics are listed."""
    members = generation(2, {"a": ["z-0", "b-1"], "b": ["b-2"]}, subscription=["z", "b"])
    topics = table(spark, TOPICS, [{"topic": "z", "partitions": 1}, {"topic": "b", "partitions": 3}])
    (row,) = history(spark, members).transform(backtest(topics)).collect()
    first = {"topic": "b", "partition": 0, "assigned_to": None, "predicted": "a"}
    assert (row["result"], row["differing"], row["first_differing"].asDict()) == (DIFFERS, 1, first)


def test_racks_of_a_topic_that_has_fewer_partitions_than_then_are_those_of_another(spark: SparkSession) -> None:
    members = history(spark, generation(2, {"a": ["t-0", "t-1"], "b": ["t-2"]}, rack="r"))
    topics = table(spark, TOPICS, [{"topic": "t", "partitions": 1, "racks": [["r"]]}])
    (row,) = members.transform(backtest(topics)).collect()
    assert row["reason"] == "the racks of the replicas of topic 't' are unknown"
