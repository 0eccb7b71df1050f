"""A user's own assignor on Spark: elected, named, failing for some groups, and defined in a shell."""

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from rebalance_sim import ConsumerPartitionAssignor, RebalanceProtocol, Subscription, TopicPartition, UserError
from rebalance_sim.api.groups import assign, balance
from rebalance_sim.engine.groups.prediction import ELECTED, Prediction
from rebalance_sim.engine.tables.inputs import fit, fit_topics, usable
from rebalance_sim.engine.tables.outcomes import outcome
from rebalance_sim.engine.tables.topic_metadata import TopicMetadata
from rebalance_sim.kafka.brokers import Brokers, Clusters
from rebalance_sim.sources.synthetic.fleet import synthetic_fleet
from rebalance_sim.sources.synthetic.fleet_spec import load
from rebalance_sim.tables import ASSIGNMENTS, BALANCE, COOPERATIVE_REBALANCES, ELECTIONS, MEMBERS, REJECTS
from tests.engine.groups.test_prediction import SMALL_FLEET
from tests.support.rows import contents, member, members, topics
from tests.support.spark_settings import set_for_a_while

V4 = Clusters(Brokers("4.3"))


class Weighted(ConsumerPartitionAssignor):
    """Gives each partition to the member with the fewest partitions for its weight, which is in its user data."""

    name = "weighted"

    def assign(
        self, partitions: Mapping[str, int], subscriptions: Mapping[str, Subscription]
    ) -> Mapping[str, Sequence[TopicPartition]]:
        assignment: dict[str, list[TopicPartition]] = {member_id: [] for member_id in subscriptions}
        for topic in sorted(partitions):
            for number in range(partitions[topic]):
                wanted_by = [m for m, results in subscriptions.items() if topic in results.topics]
                least = min(wanted_by, key=lambda m: (len(assignment[m]) / int(subscriptions[m].user_data or 1), m))
                assignment[least].append(TopicPartition(topic, number))
        return assignment


class Hasty(Weighted):
    """Moves all partitions at once, although members of its protocol keep theirs while they rebalance."""

    name = "hasty"
    supported_protocols = (RebalanceProtocol.COOPERATIVE,)

    def assign(
        self, partitions: Mapping[str, int], subscriptions: Mapping[str, Subscription]
    ) -> Mapping[str, Sequence[TopicPartition]]:
        first, *others = sorted(subscriptions, key=lambda m: len(subscriptions[m].owned or ()))
        everything = [TopicPartition(topic, n) for topic, count in partitions.items() for n in range(count)]
        return {first: everything} | {m: [] for m in others}


class Patient(Weighted):
    """Reassigns a partition only after its owner has revoked it."""

    name = "patient"
    supported_protocols = (RebalanceProtocol.COOPERATIVE,)

    def assign(
        self, partitions: Mapping[str, int], subscriptions: Mapping[str, Subscription]
    ) -> Mapping[str, Sequence[TopicPartition]]:
        owner = {partition: m for m, results in subscriptions.items() for partition in results.owned or ()}
        wanted = super().assign(partitions, subscriptions)
        return {m: [one for one in given if owner.get(one, m) == m] for m, given in wanted.items()}


class Tired(Patient):
    """Fails when members rejoin with a later generation."""

    name = "tired"

    def assign(
        self, partitions: Mapping[str, int], subscriptions: Mapping[str, Subscription]
    ) -> Mapping[str, Sequence[TopicPartition]]:
        if any(results.generation != 4 for results in subscriptions.values()):
            raise RuntimeError("enough")
        return super().assign(partitions, subscriptions)


def predict(
    given: DataFrame, metadata: DataFrame, strategies: tuple[str, ...], *assignors: ConsumerPartitionAssignor
) -> dict[str, list[dict[str, Any]]]:
    outputs = (ELECTIONS.name, ASSIGNMENTS.name, COOPERATIVE_REBALANCES.name, BALANCE.name, REJECTS.name)
    rule = Prediction(outputs, V4, strategies, TopicMetadata.of(usable(fit_topics(metadata))), assignors=assignors)
    predicted = rule(usable(fit(given, MEMBERS))).cache()
    return {
        name: [row.asDict(recursive=True) for row in predicted.transform(outcome(name)).collect()] for name in outputs
    }


def numbers(rows: list[dict[str, Any]], group_id: str = "g") -> dict[str, list[tuple[str, int]]]:
    return {
        row["member_id"]: [(p["topic"], p["partition"]) for p in row["partitions"]]
        for row in rows
        if row["group_id"] == group_id
    }


def test_groups_elect_it(spark: SparkSession) -> None:
    """User data may be text, as in a JSON file."""
    given = members(
        spark,
        member("a", ["weighted", "range"], ["t"], user_data=b"3"),
        member("b", ["range", "weighted"], ["t"], user_data=b"1"),
        member("c", ["weighted", "range"], ["t"]),
        member("d", ["range", "weighted"], ["t"], group_id="h"),
        member("e", ["someone-elses"], ["t"], group_id="i"),
    ).withColumn("user_data", F.col("user_data").cast("string"))
    results = predict(given, topics(spark, t=10), (ELECTED,), Weighted())
    found = {row["group_id"]: row["protocol"] for row in results["elections"]}
    assert found == {"g": "weighted", "h": "range", "i": "someone-elses"}
    assert numbers(results["assignments"]) == {
        "a": [("t", n) for n in (0, 3, 4, 5, 8, 9)],
        "b": [("t", n) for n in (1, 6)],
        "c": [("t", n) for n in (2, 7)],
    }
    assert [len(partitions) for partitions in numbers(results["assignments"], "h").values()] == [10]
    errors = {row["group_id"]: (row["strategy"], row["error"]) for row in results["balance"]}
    assert errors == {
        "g": ("weighted", None),
        "h": ("range", None),
        "i": ("someone-elses", "no assignor for protocol 'someone-elses'"),
    }


def test_cooperative_members_join_again(spark: SparkSession) -> None:
    """As with cooperative-sticky: the second rebalance gives out what was given up in the first."""
    owned = [{"topic": "t", "partition": n} for n in range(4)]
    given = members(
        spark, member("a", ["patient"], ["t"], owned=owned, generation=4), member("b", ["patient"], ["t"], generation=4)
    )
    results = predict(given, topics(spark, t=4), ("patient", "tired"), Patient(), Tired())
    by_rebalance = {
        (row["rebalance"], row["member_id"]): [p["partition"] for p in row["partitions"]]
        for row in results["cooperative_rebalances"]
        if row["strategy"] == "patient"
    }
    assert by_rebalance == {(1, "a"): [0, 2], (1, "b"): [], (2, "a"): [0, 2], (2, "b"): [1, 3]}
    figures = {row["strategy"]: row for row in results["balance"]}
    assert [figures["patient"][name] for name in ("rebalances", "revoked", "moved", "unassigned")] == [2, 2, 2, 0]
    assert figures["tired"]["error"] == "assignor 'tired' raised RuntimeError: enough, in a later rebalance"


def test_beside_kafkas_own(spark: SparkSession) -> None:
    """Two clusters have a topic of one name; what moves is measured as for Kafka's."""
    owned = [{"topic": "t", "partition": 0}, {"topic": "t", "partition": 1}]
    given = members(
        spark,
        member("a", ["x"], ["u", "t", "nowhere"], owned=owned, generation=1),
        member("b", ["x"], ["t"]),
        member("c", ["x"], ["t"], cluster="east"),
        member("d", ["x"], [], group_id="idle"),
    )
    east = topics(spark, t=2).withColumn("cluster", F.lit("east"))
    results = predict(given, topics(spark, t=4, u=1, v=9).unionByName(east), ("range", "weighted"), Weighted())
    ours = {
        (row["cluster"], row["member_id"]): [(p["topic"], p["partition"]) for p in row["partitions"]]
        for row in results["assignments"]
        if row["strategy"] == "weighted"
    }
    assert ours == {
        ("default", "a"): [("t", 0), ("t", 2), ("u", 0)],
        ("default", "b"): [("t", 1), ("t", 3)],
        ("east", "c"): [("t", 0), ("t", 1)],
        ("default", "d"): [],
    }
    figures = {(r["cluster"], r["group_id"], r["strategy"]): r for r in results["balance"]}
    assert len(figures) == len(results["balance"]) == 6
    row = figures["default", "g", "weighted"]
    assert (row["kept"], row["moved"], row["unassigned"], row["min"], row["max"]) == (1, 1, 0, 2, 3)


def test_what_fails_is_the_error_of_its_group(spark: SparkSession) -> None:
    given = members(
        spark,
        member("a", ["weighted"], ["t"], user_data=b"no number"),
        member("b", ["weighted"], ["t"], group_id="h"),
        member("c", ["hasty"], ["t"], group_id="i", owned=[{"topic": "t", "partition": 1}]),
        member("d", ["hasty"], ["t"], group_id="i"),
        member("e", ["hasty"], ["t"], group_id="j"),
    )
    results = predict(given, topics(spark, t=2), (ELECTED,), Weighted(), Hasty())
    assert {row["group_id"]: row["error"] for row in results["balance"]} == {
        "g": "assignor 'weighted' raised ValueError: invalid literal for int() with base 10: b'no number'",
        "h": None,
        "i": "assignor 'hasty' assigned partition t-1 to 'd' while 'c' owns it: with COOPERATIVE Kafka's leader throws "
        "IllegalStateException",
        "j": None,
    }
    failed = [row for row in results["balance"] if row["error"]]
    assert {(row["members"], row["partitions"], row["min"]) for row in failed} == {(1, None, None), (2, None, None)}
    assert {row["group_id"] for row in results["assignments"]} == {"h", "j"}


def test_only_an_own_assignor_costs_its_columns() -> None:
    def columns(*strategies: str) -> list[str]:
        return Prediction((ASSIGNMENTS.name,), V4, strategies, assignors=(Weighted(),)).columns

    assert {"user_data", "owned", "generation"} <= set(columns("range", "weighted"))
    assert "user_data" in columns(ELECTED)
    assert not {"user_data", "owned"} & set(columns("range"))
    assert "user_data" not in Prediction((ASSIGNMENTS.name,), V4, (ELECTED,)).columns


def test_user_data_in_rejects_is_as_in_sparks_json(spark: SparkSession) -> None:
    given = members(spark, member("a", ["weighted"], ["t", ""], user_data=b"\xff\x00"))
    (reject,) = predict(given, topics(spark, t=2), ("weighted",), Weighted())["rejects"]
    assert json.loads(reject["row"])["user_data"] == "/wA="


DEFINED_IN_A_SHELL = """
from rebalance_sim import ConsumerPartitionAssignor, TopicPartition

FIRST = min

class ToOne(ConsumerPartitionAssignor):
    name = "to-one"

    def __init__(self, topic):
        self.topic = topic

    def assign(self, partitions, subscriptions):
        one = FIRST(subscriptions)
        everything = [TopicPartition(self.topic, number) for number in range(partitions[self.topic])]
        return dict.fromkeys(subscriptions, ()) | {one: everything}
"""


def test_a_class_of_the_shell_travels_to_the_workers(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    shell = sys.modules["__main__"]
    for name in ("ConsumerPartitionAssignor", "TopicPartition", "FIRST", "ToOne"):
        monkeypatch.setattr(shell, name, None, raising=False)
    exec(DEFINED_IN_A_SHELL, vars(shell))
    to_one = vars(shell)["ToOne"]("t")
    assert type(to_one).__module__ == "__main__"
    given = members(spark, member("a", ["to-one"], ["t"]), member("b", ["to-one"], ["t"]))
    for strategy in ("to-one", ELECTED):
        rows = given.transform(assign(strategy, topics(spark, t=3), assignors=[to_one])).collect()
        assert {row["member_id"]: len(row["partitions"]) for row in rows} == {"a": 3, "b": 0}


def test_the_transformations_check_it(spark: SparkSession) -> None:
    given = topics(spark, t=1)
    with pytest.raises(UserError, match=r"^assignors: Weighted is a class; expected an object of it: Weighted\(\)$"):
        assign("weighted", given, assignors=[Weighted])  # type: ignore[list-item]
    with pytest.raises(UserError, match=r"^assignors: 'weighted' is the name of more than one assignor: "):
        balance("weighted", given, assignors=[Weighted(), Weighted()])
    with pytest.raises(UserError, match=r"^strategy: 'wieghted' is not known \(did you mean 'weighted'\?\); "):
        balance("wieghted", given, assignors=[Weighted()])


@pytest.mark.scale
def test_partitioning_and_row_order_change_nothing(spark: SparkSession) -> None:
    fleet = synthetic_fleet(spark, load(str(SMALL_FLEET)), 60, seed=8)
    weight = F.when(F.hash("member_id") % 3 == 0, None).otherwise((F.abs(F.hash("member_id")) % 5).cast("string"))
    given = fleet.members.withColumn("user_data", weight.cast("binary"))

    def figures(rows: DataFrame) -> list[str]:
        return contents(rows.transform(balance("weighted", fleet.topics, assignors=[Weighted()])))

    expected = figures(given)
    assert 5 < sum("ZeroDivisionError" in row for row in expected) < len(expected) - 5
    with set_for_a_while(spark, {"spark.sql.shuffle.partitions": "7"}):
        assert figures(given.orderBy(F.rand(1)).repartition(3)) == expected
