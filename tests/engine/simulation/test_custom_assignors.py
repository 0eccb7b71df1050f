"""A user's own assignor in simulations: its inputs, the handling of its answers, and its failures."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from rebalance_sim import ConsumerPartitionAssignor, Subscription, TopicPartition, UserError, costs, follow
from rebalance_sim.engine.groups.prediction import ELECTED
from rebalance_sim.engine.simulation.simulations import Simulations
from rebalance_sim.engine.tables.topic_metadata import TopicMetadata
from rebalance_sim.kafka.brokers import Brokers, Clusters
from rebalance_sim.kafka.simulation.scenario import Scenario, ScenarioStep, Selection
from rebalance_sim.kafka.simulation.settings import SimulationSettings
from rebalance_sim.tables import COSTS, REBALANCES, REJECTS, TIMELINE
from tests.engine.groups.test_custom_assignors import Hasty, Patient
from tests.support.rows import member, members, topics

OUTPUTS = (TIMELINE.name, REBALANCES.name, COSTS.name, REJECTS.name)
Given = Mapping[str, Subscription]
Answer = Mapping[str, Sequence[TopicPartition]]


class ByRange(ConsumerPartitionAssignor):
    """Assigns as Kafka's range does where there are no racks."""

    name = "by-range"

    def assign(self, partitions: Mapping[str, int], subscriptions: Given) -> Answer:
        assignment: dict[str, list[TopicPartition]] = {member_id: [] for member_id in subscriptions}

        def place(member_id: str) -> tuple[bool, str]:
            instance_id = subscriptions[member_id].group_instance_id
            return instance_id is None, instance_id or member_id

        for topic, count in partitions.items():
            wanted_by = sorted((m for m, results in subscriptions.items() if topic in results.topics), key=place)
            share, more = divmod(count, len(wanted_by))
            start = 0
            for number, member_id in enumerate(wanted_by):
                end = start + share + (number < more)
                assignment[member_id] += [TopicPartition(topic, n) for n in range(start, end)]
                start = end
        return assignment


class Keeping(ConsumerPartitionAssignor):
    """Lets members keep what their user data lists, and gives the rest to the member with the fewest partitions."""

    name = "keeping"

    def subscription_user_data(self, subscription: Subscription) -> bytes:
        return json.dumps(subscription.owned or []).encode()

    def assign(self, partitions: Mapping[str, int], subscriptions: Given) -> Answer:
        if any(results.owned for results in subscriptions.values()):
            raise RuntimeError("an eager member owns something")
        rest = [TopicPartition(topic, n) for topic, count in partitions.items() for n in range(count)]
        assignment: dict[str, list[TopicPartition]] = {member_id: [] for member_id in subscriptions}
        for member_id, results in subscriptions.items():
            for had in json.loads(results.user_data or b"[]"):
                if TopicPartition(*had) in rest:
                    rest.remove(TopicPartition(*had))
                    assignment[member_id].append(TopicPartition(*had))
        for partition in rest:
            assignment[min(assignment, key=lambda m: (len(assignment[m]), m))].append(partition)
        return assignment


class Curious(ByRange):
    """Fails if a member's rack or user data is not that of its row."""

    name = "curious"

    def assign(self, partitions: Mapping[str, int], subscriptions: Given) -> Answer:
        results = sorted(
            (of.group_instance_id or "", of.rack or "", of.user_data or b"") for of in subscriptions.values()
        )
        if results not in (_ROWS, sorted([*_ROWS, ("i-a-new-1", "here", b"")])):
            raise RuntimeError(str(results))
        return super().assign(partitions, subscriptions)


_ROWS = [("i-a", "here", b"8"), ("i-b", "", b"9")]
EVERYTHING = Scenario(
    "everything",
    steps=(
        ScenarioStep("restart", 5000, every_ms=10_000, down_ms=3000),
        ScenarioStep("join", 40_000, count=2, every_ms=500),
        ScenarioStep("grow", 50_000, topic="t", add=3),
        ScenarioStep("subscribe", 75_000, Selection(first=1), subscription=("t",)),
        ScenarioStep("crash", 85_000, Selection(first=1)),
        ScenarioStep("leave", 140_000, Selection(places=(1,))),
    ),
    settings=SimulationSettings(metadata_max_age_ms=10_000),
)
LEAVE = Scenario("leave", steps=(ScenarioStep("leave", 10_000, Selection(first=1)),))


def simulate(
    spark: SparkSession,
    given: DataFrame,
    scenario: Scenario,
    strategies: tuple[str, ...],
    *assignors: ConsumerPartitionAssignor,
    version: str = "4.3",
) -> dict[str, list[dict[str, Any]]]:
    known = TopicMetadata.of(topics(spark, t=7, u=4))
    clusters = Clusters(Brokers(version))
    found = Simulations(OUTPUTS, clusters, strategies, known, scenario, 1, None, assignors=assignors)(given)
    rows = [row.asDict(recursive=True) for row in found.collect()]
    return {name: sorted((row[name] for row in rows if row[name]), key=str) for name in OUTPUTS}


def of_strategy(results: dict[str, list[dict[str, Any]]], strategy: str) -> dict[str, list[dict[str, Any]]]:
    """Rows of a strategy, its name taken out."""
    plain = {"strategy": "", "protocol": None}
    return {
        name: [
            {key: plain.get(key, value) for key, value in row.items()} for row in rows if row["strategy"] == strategy
        ]
        for name, rows in results.items()
        if name != REJECTS.name
    }


@pytest.mark.parametrize("version", ["2.3", "4.3"])
def test_what_assigns_as_range_fares_as_range(spark: SparkSession, version: str) -> None:
    """Whatever happens: consumers come and go, topics grow, subscriptions change."""
    given = members(
        spark,
        member("a", ["range"], ["t", "u"]),
        member("b", ["range"], ["u", "t", "nowhere"]),
        member("c", ["range"], ["t"]),
        member("z", ["range"], ["t"], group_id="static", instance_id="i-2"),
        member("y", ["range"], ["t", "u"], group_id="static", instance_id="i-1"),
    )
    results = simulate(spark, given, EVERYTHING, ("range", "by-range"), ByRange(), version=version)
    ours, kafkas = of_strategy(results, "by-range"), of_strategy(results, "range")
    assert ours == kafkas
    assert [row["error"] for row in ours["costs"]] == [None, None]
    assert {row["reason"] for row in ours["rebalances"]} >= {"NEW_MEMBER", "MEMBER_LEFT", "MEMBER_CHANGED"}
    assert any(row["kind"] == "EVENT" and row["detail"] == "grow" and row["value"] == 10 for row in ours["timeline"])


def test_it_is_elected_and_asked_for_user_data(spark: SparkSession) -> None:
    """An assignor that reads owned partitions moves only those of the departed member."""
    owned = [[{"topic": "u", "partition": n} for n in places] for places in ([0], [2, 3], [1])]
    rows = [member(f"{n}", ["keeping"], ["u"], owned=had, generation=4) for n, had in enumerate(owned)]
    results = simulate(spark, members(spark, *rows), LEAVE, (ELECTED,), Keeping())
    (cost,) = results["costs"]
    assert (cost["error"], cost["stable"], cost["moved"], cost["partitions"]) == (None, True, 1, 4)
    assert {row["protocol"] for row in results["rebalances"]} == {"keeping"}


def test_it_sees_rows_of_members_and_none_of_those_to_come(spark: SparkSession) -> None:
    """A consumer that a scenario adds is as the first member, but for its names and its user data."""
    rows = [
        member("a", ["curious"], ["t"], instance_id="i-a", rack="here", user_data=b"8"),
        member("b", ["curious"], ["t"], instance_id="i-b", user_data=b"9"),
    ]
    join = Scenario("join", steps=(ScenarioStep("join", 10_000),))
    results = simulate(spark, members(spark, *rows), join, (ELECTED,), Curious())
    assert [(row["error"], row["consumers"], row["rebalances"]) for row in results["costs"]] == [(None, 3, 1)]


def test_cooperative_members_keep_what_they_have(spark: SparkSession) -> None:
    """The first rebalance revokes partitions and the second assigns them; no member revokes what it keeps."""
    given = members(spark, member("a", ["patient"], ["u"]), member("b", ["patient"], ["u"]))
    join = Scenario("join", steps=(ScenarioStep("join", 10_000),))
    results = simulate(spark, given, join, (ELECTED, "range"), Patient())
    ours, eager = of_strategy(results, ELECTED), of_strategy(results, "range")
    assert [row["error"] for row in ours["costs"]] == [None]
    assert [(row["revoked"], row["moved"]) for row in ours["rebalances"]] == [(0, 0), (2, 2)]
    assert [row["revoked"] for row in eager["rebalances"]] == [4]


def test_how_it_fails_is_the_error_of_its_group(spark: SparkSession) -> None:
    """At once, or in a rebalance on the way; other groups go on."""
    owned = [{"topic": "u", "partition": 1}]
    given = members(
        spark,
        member("a", ["hasty"], ["u"], group_id="late"),
        member("b", ["hasty"], ["u"], group_id="late"),
        member("c", ["hasty"], ["u"], group_id="late"),
        member("a", ["hasty"], ["u"], group_id="early", owned=owned),
        member("b", ["hasty"], ["u"], group_id="early"),
        member("a", ["by-range"], ["u"], group_id="well"),
    )
    results = simulate(
        spark, given, Scenario("", steps=(ScenarioStep("join", 10_000),)), (ELECTED,), Hasty(), ByRange()
    )
    errors = {row["group_id"]: row["error"] for row in results["costs"]}
    throws = "with COOPERATIVE Kafka's leader throws IllegalStateException"
    assert errors.pop("well") is None
    assert errors.pop("early") == (
        f"before the simulation begins: assignor 'hasty' assigned partition u-1 to 'b' while 'a' owns it: {throws}"
    )
    assert errors.pop("late").startswith("assignor 'hasty' assigned partition u-0 to '")
    assert errors == {}
    rebalances = {row["group_id"] for row in results["rebalances"]}
    assert rebalances == {"late", "well"}


def test_what_offers_an_unknown_assignor_beside_a_cooperative_one_is_eager(spark: SparkSession) -> None:
    """As in ``assign``: an assignor is eager unless it says more."""
    given = members(
        spark,
        member("a", ["cooperative-sticky", "mine"], ["u"]),
        member("b", ["cooperative-sticky", "range"], ["u"], group_id="h"),
        member("c", ["cooperative-sticky"], ["u"], group_id="i"),
    )
    results = simulate(spark, given, Scenario("", steps=(ScenarioStep("join", 10_000),)), (ELECTED,))
    revoked = {row["group_id"]: row["revoked"] for row in results["rebalances"] if row["rebalance"] == 1}
    assert revoked == {"g": 4, "h": 4, "i": 0}


def test_the_transformations_take_it(spark: SparkSession) -> None:
    given, known = members(spark, member("a", ["by-range"], ["t"])), topics(spark, t=3)
    (row,) = given.transform(costs("leave", known, assignors=[ByRange()])).collect()
    assert (row["error"], row["consumers"]) == (None, 1)
    (row,) = given.transform(costs("scale-out", known, "by-range", assignors=[ByRange()])).collect()
    assert (row["error"], row["stable"]) == (None, True)
    log = "\n".join(follow(given, known, "scale-out", "by-range", assignors=[ByRange()]))
    assert "event: join\n" in log
    assert "new-1: is assigned 1 partition" in log
    with pytest.raises(UserError, match=r"^strategy: 'by-rnage' is not known \(did you mean 'by-range'\?\); "):
        costs("leave", known, "by-rnage", assignors=[ByRange()])
