"""Share groups (KIP-932): several members have a partition, and the coordinator assigns."""

import pytest
from pyspark.sql import DataFrame, Row, SparkSession

from rebalance_sim.api.explain import explain_assignment, explain_election
from rebalance_sim.api.groups import assign, balance, compare
from rebalance_sim.engine.groups.prediction import ELECTED, Prediction
from rebalance_sim.engine.tables.inputs import fit, fit_topics, usable
from rebalance_sim.engine.tables.topic_metadata import TopicMetadata
from rebalance_sim.errors import UserError
from rebalance_sim.kafka.brokers import Brokers, Clusters
from rebalance_sim.tables import ASSIGNMENTS, BALANCE, ELECTIONS, MEMBERS, REJECTS, TOPICS
from tests.support.rows import member, members, table

OUTPUTS = (ELECTIONS.name, ASSIGNMENTS.name, BALANCE.name, REJECTS.name)
IDS = {"orders": ("NxhHx-sV6kuDcICdZj1R4Q", 2), "clicks": ("HhJ-kjfmlUzvkAX4bw2qew", 3)}


def sharing(name: str, *owned: int, group_id: str = "share", **more: object) -> dict[str, object]:
    """Return a member of a share group that has partitions of topic orders."""
    has = [{"topic": "orders", "partition": number} for number in owned]
    given = {"protocol_type": "share", "owned": has, "generation": 4} | more
    return member(name, ["share-simple"], ["orders"], group_id=group_id, **given)


FLEET = [sharing("m1", 0), sharing("m2", 1), sharing("m3"), member("c1", ["range"], ["orders"], group_id="consumers")]


@pytest.fixture(scope="module")
def known(spark: SparkSession) -> DataFrame:
    return table(spark, TOPICS, [{"topic": t, "partitions": n, "topic_id": i} for t, (i, n) in IDS.items()])


def predicted(given: DataFrame, known: DataFrame, *strategies: str, version: str = "4.3") -> dict[str, list[Row]]:
    metadata = TopicMetadata.of(usable(fit_topics(known)))
    rule = Prediction(OUTPUTS, Clusters(Brokers(version)), strategies or (ELECTED,), metadata)
    rows = rule(usable(fit(given, MEMBERS))).collect()
    return {name: [row[name] for row in rows if row[name] is not None] for name in OUTPUTS}


def test_the_coordinator_assigns_a_partition_to_several_members(spark: SparkSession, known: DataFrame) -> None:
    """Two members share each of two partitions, so that three members have one or two; what they had they keep."""
    found = predicted(members(spark, *FLEET), known)
    (election,) = [row for row in found["elections"] if row["group_id"] == "share"]
    assert (election["type"], election["protocol"], election["leader_id"]) == ("share", "share-simple", None)
    has = {row["member_id"]: {p["partition"] for p in row["partitions"]} for row in found["assignments"]}
    assert has["m1"] >= {0}
    assert has["m2"] >= {1}
    assert sorted(len(has[name]) for name in ("m1", "m2", "m3")) == [1, 1, 2]
    (figures,) = [row for row in found["balance"] if row["group_id"] == "share"]
    assert (figures["min"], figures["max"], figures["idle_members"]) == (1, 2, 0)
    assert (figures["min_sharing"], figures["max_sharing"]) == (2, 2)
    assert (figures["kept"], figures["moved"], figures["unassigned"], figures["assigned_twice"]) == (2, 2, 0, 0)
    assert found["rejects"] == []


def test_every_member_has_all_partitions_in_4_0(spark: SparkSession, known: DataFrame) -> None:
    (figures,) = predicted(members(spark, *FLEET[:3]), known, version="4.0")["balance"]
    assert (figures["min"], figures["min_sharing"], figures["max_sharing"], figures["topic_spread"]) == (2, 3, 3, 0)
    assert (figures["kept"], figures["moved"]) == (2, 4)


def test_brokers_without_share_groups_assign_nothing(spark: SparkSession, known: DataFrame) -> None:
    (figures,) = predicted(members(spark, *FLEET[:3]), known, version="3.9")["balance"]
    assert figures["error"] == "no assignor for protocol 'share-simple'"


def test_consumers_figures_have_no_sharing(spark: SparkSession, known: DataFrame) -> None:
    (figures,) = predicted(members(spark, FLEET[3]), known)["balance"]
    assert (figures["min_sharing"], figures["max_sharing"]) == (None, None)


def test_other_assignors_do_not_assign_share_groups(spark: SparkSession, known: DataFrame) -> None:
    """Neither in a prediction nor in a comparison, which is of assignments to one member each."""
    given = members(spark, *FLEET)
    errors = {row["group_id"]: row["error"] for row in given.transform(balance("range", known)).collect()}
    assert errors == {"share": "a share group (KIP-932) is assigned by share-simple", "consumers": None}
    assert {row["group_id"] for row in given.transform(assign("range", known)).collect()} == {"consumers"}
    assert [row["group_id"] for row in given.transform(compare(known)).collect()] == ["consumers"]
    assert members(spark, *FLEET[:3]).transform(compare(known)).collect() == []


@pytest.mark.parametrize(
    "wrong",
    [
        sharing("x", protocol_type="consumer"),
        member("x", ["range"], ["orders"], group_id="share", protocol_type="share"),
        member("x", ["share-simple", "range"], ["orders"], group_id="share", protocol_type="share"),
    ],
    ids=["of another type", "with another assignor", "with two"],
)
def test_a_member_of_a_share_group_has_no_choice(
    spark: SparkSession, known: DataFrame, wrong: dict[str, object]
) -> None:
    (reject,) = predicted(members(spark, FLEET[0], wrong), known)["rejects"]
    assert reject["reason"] == "protocols has share-simple alone if protocol_type is share, and not otherwise"


def test_nothing_is_explained_of_a_share_group(spark: SparkSession, known: DataFrame) -> None:
    given = members(spark, *FLEET[:3])
    for explain in (lambda: explain_election(given), lambda: explain_assignment(given, known, ("orders", 0))):
        with pytest.raises(UserError, match="group 'share' is a share group"):
            explain()
