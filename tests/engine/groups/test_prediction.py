"""Elections and assignments of whole tables."""

import json
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from rebalance_sim import compare
from rebalance_sim.engine.groups.prediction import ELECTED, Prediction
from rebalance_sim.engine.tables.inputs import fit, fit_topics, rejected, usable
from rebalance_sim.engine.tables.outcomes import outcome
from rebalance_sim.engine.tables.topic_metadata import TopicMetadata
from rebalance_sim.kafka.assignors import ASSIGNORS
from rebalance_sim.kafka.brokers import Brokers, Clusters
from rebalance_sim.kafka.wire.consumer_protocol import (
    StickyUserData,
    TopicPartition,
    encode_cooperative_user_data,
    encode_sticky_user_data,
)
from rebalance_sim.sources.synthetic.fleet import synthetic_fleet
from rebalance_sim.sources.synthetic.fleet_spec import load
from rebalance_sim.tables import ASSIGNMENTS, BALANCE, COOPERATIVE_REBALANCES, ELECTIONS, MEMBERS, REJECTS
from tests.support.layout import shuffled_into
from tests.support.rows import contents, member, members, topics

SMALL_FLEET = Path(__file__).parents[3] / "conf" / "fleets" / "small.yaml"

KAFKA_4_3 = Clusters(Brokers("4.3"))
USER_DATA = encode_sticky_user_data(StickyUserData((TopicPartition("a", 2), TopicPartition("b", 0)), generation=4))


def elections(given: DataFrame, version: str = "4.3") -> dict[str, dict[str, object]]:
    predicted = Prediction((ELECTIONS.name,), Clusters(Brokers(version)))(usable(fit(given, MEMBERS)))
    return {row["group_id"]: row.asDict(recursive=True) for row in predicted.collect()}


def assignments(
    given: DataFrame, metadata: DataFrame, strategy: str, clusters: Clusters = KAFKA_4_3
) -> dict[str, list[tuple[str, int]]]:
    known = TopicMetadata.of(usable(fit_topics(metadata)))
    rule = Prediction((ASSIGNMENTS.name,), clusters, (strategy,), known)
    rows = rule(usable(fit(given, MEMBERS))).collect()
    return {row["member_id"]: [(p["topic"], p["partition"]) for p in row["partitions"]] for row in rows}


def test_worked_example_of_an_election(spark: SparkSession) -> None:
    given = members(
        spark,
        member("c1", ["range", "roundrobin", "custom"], ["t"]),
        member("c2", ["range", "roundrobin", "sticky"], ["t"]),
        member("c3", ["roundrobin", "range", "sticky"], ["t"]),
    )
    assert elections(given)["g"] == {
        "cluster": "default",
        "group_id": "g",
        "type": "classic",
        "members": 3,
        "protocol": "range",
        "candidates": ["range", "roundrobin"],
        "votes": {"range": 2, "roundrobin": 1},
        "tie": False,
        "leader_id": "c1",
        "coordinator_partition": ord("g") % 50,
        "refused": [],
        "rejected_members": 0,
        "error": None,
        "other_builds": None,
    }


@pytest.mark.parametrize(("version", "winner"), [("1.0", "range"), ("2.3", "range"), ("4.3", "sticky")])
def test_a_tie_is_decided_by_the_version(spark: SparkSession, version: str, winner: str) -> None:
    given = members(spark, member("a", ["range", "sticky"], ["t"]), member("b", ["sticky", "range"], ["t"]))
    election = elections(given, version)["g"]
    assert (election["protocol"], election["tie"]) == (winner, True)


def test_members_that_the_coordinator_refuses(spark: SparkSession) -> None:
    given = members(
        spark,
        member("a", ["range", "sticky"], ["t"]),
        member("b", ["roundrobin"], ["t"]),
        member("c", ["sticky"], ["t"], protocol_type="connect"),
        member("d", ["sticky"], ["t"]),
        member("e", ["range"], ["t"]),
    )
    predict = Prediction((ELECTIONS.name, REJECTS.name), KAFKA_4_3)
    predicted = predict(usable(fit(given, MEMBERS))).cache()
    election = predicted.transform(outcome(ELECTIONS.name)).collect()[0]
    refused = [row["member_id"] for row in election["refused"]]
    assert (refused, election["members"], election["protocol"]) == (["b", "c", "e"], 2, "sticky")
    assert election["rejected_members"] == 3
    rejects = predicted.transform(outcome(REJECTS.name)).collect()
    assert sorted(json.loads(row["row"])["member_id"] for row in rejects) == ["b", "c", "e"]
    assert all(row["reason"].startswith("INCONSISTENT_GROUP_PROTOCOL: ") for row in rejects)


def test_join_order_decides_the_leader(spark: SparkSession) -> None:
    given = members(
        spark,
        member("a", ["range"], ["t"], join_order=None),
        member("b", ["range"], ["t"], join_order=7),
        member("c", ["range"], ["t"], join_order=7),
    )
    assert elections(given)["g"]["leader_id"] == "b"
    assert elections(given.drop("join_order"))["g"]["leader_id"] == "a"


def test_optional_columns_may_be_missing(spark: SparkSession) -> None:
    given = members(spark, member("a", ["range"], ["t"])).select("group_id", "member_id", "protocols", "subscription")
    assert elections(given)["g"]["cluster"] == "default"
    assert assignments(given, topics(spark, t=2).select("topic", "partitions"), "range") == {"a": [("t", 0), ("t", 1)]}


def test_range_and_roundrobin_differ(spark: SparkSession) -> None:
    given = members(spark, member("a", ["range"], ["t", "u"]), member("b", ["range"], ["u", "t"]))
    metadata = topics(spark, t=3, u=3, unread=9)
    found = {m: sorted(p) for m, p in assignments(given, metadata, "range").items()}
    assert found == {"a": [("t", 0), ("t", 1), ("u", 0), ("u", 1)], "b": [("t", 2), ("u", 2)]}
    shown = assignments(given, metadata, "roundrobin")
    assert shown == {"a": [("t", 0), ("t", 2), ("u", 1)], "b": [("t", 1), ("u", 0), ("u", 2)]}


@pytest.mark.parametrize("strategy", ["range", "roundrobin"])
def test_nothing_to_assign(spark: SparkSession, strategy: str) -> None:
    given = members(spark, member("a", ["range"], []), member("b", ["range"], ["missing", "empty"]))
    assert assignments(given, topics(spark, empty=0, unread=3), strategy) == {"a": [], "b": []}


def test_topics_belong_to_a_cluster(spark: SparkSession) -> None:
    given = members(
        spark, member("a", ["range"], ["t"], cluster="east"), member("b", ["range"], ["t"], cluster="nowhere")
    )
    metadata = topics(spark, t=1).withColumn("cluster", F.lit("east"))
    assert assignments(given, metadata, "range") == {"a": [("t", 0)], "b": []}


def test_balance_counts_what_moves(spark: SparkSession) -> None:
    owned = [{"topic": "t", "partition": p} for p in range(4)]
    given = members(
        spark,
        member("a", ["range"], ["t"], owned=owned, generation=3),
        member("b", ["range"], ["t"]),
        member("c", ["range"], ["u"]),
    )
    rule = Prediction(
        (BALANCE.name,), KAFKA_4_3, (ELECTED,), TopicMetadata.of(usable(fit_topics(topics(spark, t=5, u=0))))
    )
    row = rule(usable(fit(given, MEMBERS))).collect()[0].asDict()
    assert row["stddev"] == pytest.approx((14 / 9) ** 0.5)
    assert {name: row[name] for name in row if name not in ("cluster", "group_id", "stddev", "error")} == {
        "strategy": "range",
        "members": 3,
        "partitions": 5,
        "min": 0,
        "max": 3,
        "topic_spread": 1,
        "idle_members": 1,
        "moved": 1,
        "kept": 3,
        "unassigned": 0,
        "assigned_twice": 0,
        "not_subscribed": 0,
        "nonexistent": 0,
        "min_sharing": None,
        "max_sharing": None,
        "unconsumed": 0,
        "first_unconsumed": None,
        "whole_topics": None,
        "co_partitioned_topics": 0,
        "rebalances": 1,
        "revoked": 4,
        "rejected_members": 0,
        "alternatives": None,
        "bounds": None,
    }


def test_quirks_of_kafka_are_told(spark: SparkSession) -> None:
    """What sticky gives to a member without topics that stands first, and of a topic that was made again, smaller."""
    owned = [{"topic": "t", "partition": p} for p in (0, 5)]
    given = members(
        spark,
        member("0", ["sticky"], []),
        member("a", ["sticky"], ["t"]),
        member("b", ["sticky"], ["t"], owned=owned, generation=1, group_id="h"),
        member("c", ["sticky"], ["t", "u"], generation=1, group_id="h"),
    )
    known = TopicMetadata.of(usable(fit_topics(topics(spark, t=2, u=2))))
    rows = Prediction((BALANCE.name,), KAFKA_4_3, ("sticky",), known)(usable(fit(given, MEMBERS))).collect()
    results = {row["group_id"]: (row["assigned_twice"], row["not_subscribed"], row["nonexistent"]) for row in rows}
    assert results == {"g": (0, 1, 0), "h": (0, 0, 1)}


def test_strategies_of_other_clients(spark: SparkSession) -> None:
    """Static z has an id that begins with its instance id: librdkafka sorts it behind a, Java before."""
    given = members(
        spark,
        member("a-1", ["range"], ["t"]),
        member("z-2", ["range"], ["t", "u"], instance_id="z"),
        member("b", ["range"], ["t"], group_id="h"),
    )
    metadata = topics(spark, t=2, u=3)
    assert assignments(given, metadata, "range")["a-1"] == [("t", 1)]
    assert assignments(given, metadata, "librdkafka-range")["a-1"] == [("t", 0)]
    known = TopicMetadata.of(usable(fit_topics(metadata)))
    rule = Prediction((BALANCE.name,), KAFKA_4_3, ("kafka-python-roundrobin",), known)
    errors = {row["group_id"]: row["error"] for row in rule(usable(fit(given, MEMBERS))).collect()}
    assert errors == {"g": "kafka-python's assignor raises KeyError", "h": None}


def test_leaders_that_fail_on_a_topic_that_does_not_exist(spark: SparkSession) -> None:
    given = members(
        spark,
        member("a", ["roundrobin_v2"], ["t"], client_library="brod"),
        member("b", ["roundrobin_v2"], ["t", "gone"], client_library="brod"),
        member("c", ["roundrobin_v2"], ["t"], group_id="h", client_library="brod"),
    )
    known = TopicMetadata.of(usable(fit_topics(topics(spark, t=2))))
    rule = Prediction((BALANCE.name,), KAFKA_4_3, ("elected",), known)
    rows = {row["group_id"]: row for row in rule(usable(fit(given, MEMBERS))).collect()}
    assert {name: (row["strategy"], row["error"]) for name, row in rows.items()} == {
        "g": ("brod-roundrobin", "a topic that the leader has to assign does not exist, and its library fails"),
        "h": ("brod-roundrobin", None),
    }
    assert rows["g"]["bounds"] is None


def test_an_unknown_protocol_is_the_error_of_its_group_only(spark: SparkSession) -> None:
    given = members(spark, member("a", ["mine"], ["t"]), member("b", ["range"], ["t"], group_id="h"))
    rule = Prediction((BALANCE.name,), KAFKA_4_3, (ELECTED,), TopicMetadata.of(usable(fit_topics(topics(spark, t=1)))))
    errors = {row["group_id"]: row["error"] for row in rule(usable(fit(given, MEMBERS))).collect()}
    assert errors == {"g": "no assignor for protocol 'mine'", "h": None}


BAD_MEMBERS = [
    (member("a", [], ["t"]), "protocols is empty"),
    (member("a", ["range", "range"], ["t"]), "protocols names an assignor twice"),
    (member("a", ["range", ""], ["t"]), "protocols holds a name that is null or empty"),
    (member("a", ["range", None], ["t"]), "protocols holds a name that is null or empty"),  # type: ignore[list-item]
    (member("a", ["range"], ["t", ""]), "subscription holds a name that is null or empty"),
    (
        member("a", ["range"], ["t"], owned=[{"topic": "t", "partition": -1}]),
        "owned holds a partition without a topic or a number from 0",
    ),
    (
        member("a", ["range"], ["t"], owned=[{"topic": None, "partition": 1}]),
        "owned holds a partition without a topic or a number from 0",
    ),
]


def test_members_with_impossible_lists(spark: SparkSession) -> None:
    """Each in a group of its own, between two members that are used."""
    reasons = {f"g{number}": reason for number, (_, reason) in enumerate(BAD_MEMBERS)}
    usable_ones = member("z", ["range"], ["t"]), member("y", ["range"], ["t"])
    rows = [
        row | {"group_id": group_id}
        for group_id, (bad, _) in zip(reasons, BAD_MEMBERS, strict=True)
        for row in (usable_ones[0], bad, usable_ones[1])
    ]
    given = members(spark, *rows)
    rule = Prediction(
        (ASSIGNMENTS.name, BALANCE.name, REJECTS.name),
        KAFKA_4_3,
        (ELECTED,),
        TopicMetadata.of(usable(fit_topics(topics(spark, t=2)))),
    )
    predicted = rule(usable(fit(given, MEMBERS))).cache()
    rejects = predicted.transform(outcome(REJECTS.name)).collect()
    assert {json.loads(row["row"])["member_id"] for row in rejects} == {"a"}
    assert sorted((row["group_id"], row["reason"]) for row in rejects) == sorted(reasons.items())
    assigned = predicted.transform(outcome(ASSIGNMENTS.name)).collect()
    assert sorted((row["group_id"], row["member_id"]) for row in assigned) == [(g, m) for g in reasons for m in "yz"]


def test_a_group_of_bad_rows_only_is_no_group(spark: SparkSession) -> None:
    assert elections(members(spark, member("a", [], ["t"]))) == {}


@pytest.mark.parametrize("reverse", [False, True])
def test_a_repeated_member_is_used_once(spark: SparkSession, reverse: bool) -> None:
    rows = [
        member("a", ["range"], ["t"], join_order=5),
        member("a", ["sticky"], ["t"], join_order=5),
        member("a", ["range"], ["t"], join_order=5),
        member("b", ["range"], ["t"], join_order=1),
    ]
    given = members(spark, *(reversed(rows) if reverse else rows))
    predicted = Prediction((ELECTIONS.name, REJECTS.name), KAFKA_4_3)(usable(fit(given, MEMBERS))).cache()
    election = predicted.transform(outcome(ELECTIONS.name)).collect()[0]
    assert (election["members"], election["protocol"], election["leader_id"]) == (2, "range", "b")
    rejects = predicted.transform(outcome(REJECTS.name)).collect()
    assert sorted(json.loads(row["row"])["protocols"][0] for row in rejects) == ["range", "sticky"]
    assert {row["reason"] for row in rejects} == {"member_id 'a' is given 3 times in its group; one is used"}


@pytest.fixture(scope="module")
def small_fleet(spark: SparkSession) -> tuple[DataFrame, DataFrame]:
    """Make a fleet with all the variety of the synthetic source."""
    fleet = synthetic_fleet(spark, load(str(SMALL_FLEET)), 300, seed=5)
    return fleet.topics.cache(), fleet.members.cache()


@pytest.fixture(scope="module")
def expected(spark: SparkSession, small_fleet: tuple[DataFrame, DataFrame]) -> list[str]:
    rows = contents(predict_all(*small_fleet))
    assert sum("'rebalance': 2" in row for row in rows) > 20
    return rows


def predict_all(metadata: DataFrame, given: DataFrame) -> DataFrame:
    known = TopicMetadata.of(usable(fit_topics(metadata)))
    outputs = (ELECTIONS.name, ASSIGNMENTS.name, COOPERATIVE_REBALANCES.name, BALANCE.name, REJECTS.name)
    return Prediction(outputs, KAFKA_4_3, (ELECTED, *ASSIGNORS), known)(usable(fit(given, MEMBERS)))


@pytest.mark.scale
def test_partitioning_and_row_order_change_nothing(
    spark: SparkSession, small_fleet: tuple[DataFrame, DataFrame], expected: list[str]
) -> None:
    metadata, given = small_fleet
    with shuffled_into(spark, 7):
        shuffled = given.orderBy(F.rand(7)).repartition(3)
        assert contents(predict_all(metadata.orderBy(F.rand(1)), shuffled)) == expected


def test_a_list_in_one_name_is_no_assignor(spark: SparkSession) -> None:
    given = members(
        spark, member("a", ["range,roundrobin"], ["t"]), member("b", ["range"], ["t,u"]), member("c", ["range"], ["t"])
    )
    known = TopicMetadata.of(usable(fit_topics(topics(spark, t=2))))
    predict = Prediction((BALANCE.name, ELECTIONS.name, REJECTS.name), KAFKA_4_3, (ELECTED,), known)
    predicted = predict(fit(given, MEMBERS)).cache()
    rejects = predicted.transform(outcome(REJECTS.name)).collect()
    found = sorted(row["reason"] for row in rejects)
    assert found == ["protocols holds a name with a comma", "subscription holds a name with a comma"]
    (election,) = predicted.transform(outcome(ELECTIONS.name)).collect()
    assert (election["protocol"], election["members"], election["rejected_members"]) == ("range", 1, 2)


def test_every_rejected_member_marks_its_group(spark: SparkSession) -> None:
    """Whether it is found before the members are grouped, in the group, or by the coordinator."""
    given = members(
        spark,
        member("a", ["range"], ["t"]),
        member("", ["range"], ["t"]),
        member("a", ["range"], ["t"]),
        member("b", ["sticky"], ["t"]),
        member("c", ["range"], ["t"], group_id="whole"),
        member("", ["range"], ["t"], group_id="nothing is left"),
        member("d", ["range"], ["t"], group_id=""),
    )
    known = TopicMetadata.of(usable(fit_topics(topics(spark, t=2))))
    marked = (ELECTIONS.name, ASSIGNMENTS.name, BALANCE.name)
    fitted = fit(given, MEMBERS)
    for strategy, expected in ((ELECTED, 3), ("range", 2)):
        predict = Prediction((*marked, REJECTS.name), KAFKA_4_3, (strategy,), known)
        predicted = predict(fitted).cache()
        rejects = predicted.transform(outcome(REJECTS.name)).unionByName(rejected(fitted, MEMBERS))
        assert rejects.where("group_id = 'g'").count() == expected
        for name in marked:
            rows = predicted.transform(outcome(name)).select("group_id", "rejected_members").distinct().collect()
            assert dict(rows) == {"g": expected, "whole": 0}, name
        compared = given.transform(compare(topics(spark, t=2), [strategy, "range"]))
        assert dict(compared.select("group_id", "rejected_members").collect()) == {"g": expected, "whole": 0}


def test_leaders_before_3_4_take_generations_from_the_user_data_of_other_libraries(spark: SparkSession) -> None:
    """franz-go's begins with the number of its topics, which is older than the generation of Java's member."""
    a, b = [[(topic, number) for number in range(4)] for topic in "ab"]
    both = [("a", 0), ("a", 1)], [("a", 2), ("a", 3), *b]
    java, franz_go = (
        {**member(name, ["cooperative-sticky"], ["a", "b"], owned=owned), "generation": 4, "user_data": user_data}
        for name, owned, user_data in (("java", both[0], encode_cooperative_user_data(4)), ("go", both[1], USER_DATA))
    )
    given, metadata = members(spark, java, franz_go), topics(spark, a=4, b=4)
    older, newer = (
        assignments(given, metadata, "cooperative-sticky", Clusters(Brokers(release))) for release in ("3.3", "3.4")
    )
    assert set(newer["go"]) < set(both[1])
    assert set(newer["java"]) == set(both[0])
    # Partitions of a member whose claims are too old have no owner that has to revoke them first.
    assert sorted([*older["go"], *older["java"]]) == [*a, *b]
