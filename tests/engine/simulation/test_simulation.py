"""Simulations of tables: rejected rows, output rows, and what must not change them."""

from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from rebalance_sim.api import simulate as simulate_all
from rebalance_sim.engine.groups.group_batches import collect_members
from rebalance_sim.engine.groups.prediction import ELECTED
from rebalance_sim.engine.simulation import simulations as of_simulations
from rebalance_sim.engine.simulation.rows import FirstSteps
from rebalance_sim.engine.simulation.simulations import Simulations
from rebalance_sim.engine.simulation.variations import variations
from rebalance_sim.engine.tables.inputs import REASON, fit, rejected, usable
from rebalance_sim.engine.tables.outcomes import Outcomes, outcome
from rebalance_sim.engine.tables.topic_metadata import TopicMetadata
from rebalance_sim.errors import UserError
from rebalance_sim.kafka.brokers import Clusters
from rebalance_sim.kafka.simulation.scenario import Scenario, ScenarioStep, Selection
from rebalance_sim.releases import kafka_version
from rebalance_sim.sources.scenarios import read_scenario
from rebalance_sim.sources.synthetic.fleet import synthetic_fleet
from rebalance_sim.sources.synthetic.fleet_spec import load
from rebalance_sim.tables import (
    ADVICE,
    BOUNCES,
    COSTS,
    EVENTS,
    LAG_COSTS,
    OWNED_PARTITIONS,
    PARTITION_COSTS,
    REBALANCES,
    REJECTS,
    TIMELINE,
)
from tests.support.layout import shuffled_into
from tests.support.rows import member, members, table, topics

SMALL_FLEET = Path(__file__).parents[3] / "conf" / "fleets" / "small.yaml"
TABLES = (TIMELINE, REBALANCES, OWNED_PARTITIONS, PARTITION_COSTS, COSTS, BOUNCES, REJECTS)
OUTPUTS = tuple(of.name for of in TABLES)
NEWEST = kafka_version("4.3")
ROLLING, _ = read_scenario("rolling-restart")
Row = dict[str, Any]


def event(event: str, at_ms: int, member_id: str | None = None, **more: Any) -> Row:
    """An event of group ``g`` by default."""
    return {"group_id": "g", "event": event, "at_ms": at_ms, "member_id": member_id} | more


def events(spark: SparkSession, *rows: Row) -> DataFrame:
    return table(spark, EVENTS, list(rows))


def simulations(metadata: DataFrame, scenario: Scenario, *strategies: str, **more: Any) -> Simulations:
    known = TopicMetadata.of(metadata)
    return Simulations(OUTPUTS, Clusters(), strategies or (ELECTED,), known, scenario, 1, None, **more)


def results(found: DataFrame) -> dict[str, list[Row]]:
    """All tables' rows in an order of their own."""
    rows = [row.asDict(recursive=True) for row in found.collect()]
    return {name: sorted((row[name] for row in rows if row[name]), key=str) for name in OUTPUTS}


def key(row: Any) -> tuple[str, str]:
    return row["cluster"], row["group_id"]


def parts(topic: str, *numbers: int) -> list[Row]:
    return [{"topic": topic, "partition": number} for number in numbers]


def of_group(rows: list[Row], group_id: str) -> list[Row]:
    return [row for row in rows if row["group_id"] == group_id]


# ---- Events


def test_rows_that_are_no_events(spark: SparkSession) -> None:
    """Whatever is wrong with a row by itself is found before anything is simulated."""
    bad = [
        (event("explode", 1, "a"), "event 'explode' is not known; allowed: join, leave, crash, "),
        (event("leave", -1, "a"), "at_ms is -1; allowed: 0 or more"),
        (event("restart", 1, "a", down_ms=-5), "down_ms is -5; allowed: 0 or more"),
        (event("stall", 1, "a", for_ms=-5), "for_ms is -5; allowed: 0 or more"),
        (event("grow", 1, topic="t", partitions=-5), "partitions is -5; allowed: 0 or more"),
        (event("leave", 1), "leave: member_id is missing"),
        (event("crash", 1, ""), "crash: member_id is missing"),
        (event("restart", 1, "a"), "restart: down_ms is missing"),
        (event("stall", 1, "a"), "stall: for_ms is missing"),
        (event("join", 1, "a", subscription=["t"]), "join: protocols is missing"),
        (event("join", 1, "a", protocols=["range"], subscription=["t", None]), "join: subscription is missing"),
        (event("subscribe", 1, "a", subscription=[]), "subscribe: subscription is missing"),
        (event("protocols", 1, "a", protocols=[""]), "protocols: protocols is missing"),
        (event("grow", 1, partitions=5), "grow: topic is missing"),
        (event("grow", 1, topic="t"), "grow: partitions is missing"),
        (event("move-coordinator", 1), "move-coordinator: down_ms is missing"),
        (event("fail-store", 1), "fail-store: error is missing"),
        (event("fail-store", 1, error="BROKEN"), "error 'BROKEN' is not an error of Kafka that a group can get"),
        (event("leave", 1, "a") | {"at_ms": None}, "at_ms is null"),
        (event("leave", 1, "a") | {"group_id": ""}, "group_id is null or empty"),
    ]
    good = [event("leave", 0, "a"), event("move-coordinator", 1, down_ms=0), event("fail-store", 2, error="NONE")]
    fitted = fit(events(spark, *[row for row, _ in bad], *good).coalesce(1), EVENTS).cache()
    reasons = [row[REASON] for row in fitted.collect()]
    for reason, (_, expected) in zip(reasons[: len(bad)], bad, strict=True):
        assert reason is not None
        assert reason.startswith(expected)
    assert reasons[len(bad) :] == [None] * len(good)
    assert (usable(fitted).count(), rejected(fitted, EVENTS).count()) == (len(good), len(bad))


def test_a_table_without_a_column_of_every_event(spark: SparkSession) -> None:
    given = spark.createDataFrame([("g", 1)], "group_id string, at_ms long")
    with pytest.raises(UserError, match="events: column 'event' is missing; available: group_id, at_ms"):
        fit(given, EVENTS)


IMPOSSIBLE = [
    (event("leave", 5, "nobody"), "leave: consumer 'nobody' has not joined by 5 ms"),
    (event("restart", 6, "c", down_ms=1), "restart: consumer 'c' has not joined by 6 ms"),
    (event("leave", 15_000, "a"), "leave: consumer 'a' has been stopped since 10000 ms"),
    (event("crash", 16_000, "a"), "crash: consumer 'a' has been stopped since 10000 ms"),
    (event("stall", 17_000, "a", for_ms=1), "stall: consumer 'a' has been stopped since 10000 ms"),
    (event("join", 18_000, "b", protocols=["range"], subscription=["t"]), "join: consumer 'b' exists already; "),
    (event("grow", 19_000, topic="t", partitions=6), "grow: topic 't' already has 6 partitions; "),
    (event("grow", 19_000, topic="u", partitions=1), "grow: topic 'u' already has 2 partitions; "),
    (event("grow", 19_000, topic="typo", partitions=1), "grow: topic 'typo' does not exist"),
    (event("stall", 20_000, "new-1", for_ms=1), "stall: consumer 'new-1' has not joined by 20000 ms"),
    (event("grow", 70_000, topic="u", partitions=5), "grow: topic 'u' already has 5 partitions; "),
    (
        event("protocols", 0, "a", protocols=["server-range", "range"]),
        "protocols: protocols ['server-range', 'range'] ",
    ),
]
POSSIBLE = [
    event("leave", 10_000, "a"),
    event("grow", 12_000, topic="t", partitions=6),
    event("join", 14_000, "c", protocols=["range"], subscription=["t", "u"]),
    event("crash", 62_000, "new-1"),
    event("join", 0, "n", protocols=["range"], subscription=["u"], group_id="founded", client_id="x"),
    event("join", 0, "n", protocols=["range"], subscription=["typo"], group_id="without topics"),
    event("protocols", 0, "a", protocols=["mine"], group_id="changes"),
    event("restart", 10_000, "a", down_ms=1, group_id="changes"),
]
JOINS_LATER = Scenario("later", steps=(ScenarioStep("join", 60_000), ScenarioStep("grow", 65_000, topic="u", add=3)))


@pytest.fixture(scope="module")
def eventful(spark: SparkSession) -> dict[str, list[Row]]:
    """A scenario together with events, of groups with members, without, and with assignors that fail."""
    rows = [
        member("a", ["range"], ["t", "u"]),
        member("b", ["range"], ["t", "u"]),
        member("a", ["mine"], ["t"], group_id="unknown"),
        member("a", ["range"], ["t"], group_id="changes"),
        member("", ["range"], ["t"], group_id="calm"),
        member("a", ["range"], ["t"], group_id="calm"),
    ]
    given = events(spark, *[row for row, _ in IMPOSSIBLE], *POSSIBLE)
    simulate = simulations(topics(spark, t=4, u=2), JOINS_LATER)
    return results(simulate(members(spark, *rows), given))


def test_impossible_events_are_rejected(eventful: dict[str, list[Row]]) -> None:
    refused = [row for row in eventful["rejects"] if row["table"] == "events"]
    assert {row["group_id"] for row in refused} == {"g"}
    reasons = sorted(row["reason"] for row in refused)
    assert len(reasons) == len(IMPOSSIBLE)
    for reason, expected in zip(reasons, sorted(expected for _, expected in IMPOSSIBLE), strict=True):
        assert reason.startswith(expected)
    assert '"event":"leave"' in next(row["row"] for row in refused if "nobody" in row["reason"])


def test_what_is_possible_happens(eventful: dict[str, list[Row]]) -> None:
    happened = [
        (row["at_ms"], row["detail"], row["member_id"])
        for row in sorted(of_group(eventful["timeline"], "g"), key=lambda row: row["number"])
        if row["kind"] == "EVENT"
    ]
    assert happened == [
        (10_000, "leave", "a"),
        (12_000, "grow", None),
        (14_000, "join", "c"),
        (60_000, "join", "new-1"),
        (62_000, "crash", "new-1"),
        (65_000, "grow", None),
    ]
    (cost,) = of_group(eventful["costs"], "g")
    assert (cost["consumers"], cost["partitions"], cost["stable"], cost["evicted"]) == (4, 11, True, 1)


@pytest.mark.parametrize("protocol", ["range", "cooperative-sticky", "server-uniform"])
def test_the_times_of_members_are_used_instead_of_those_of_the_scenario(spark: SparkSession, protocol: str) -> None:
    """A group whose members have the times is simulated as one of a scenario that has them, and others as before."""
    times = {"start_ms": 7000, "revoke_ms": 1500}
    names = {"timed": times, "g": {}}
    rows = [member(f"m{i}", [protocol], ["t"], group_id=name, **more) for name, more in names.items() for i in range(3)]
    slow = replace(ROLLING, settings=replace(ROLLING.settings, start_ms=7000, revoke_ms=1500))
    known = topics(spark, t=6)
    of_members = results(simulations(known, ROLLING)(members(spark, *rows), None))["costs"]
    of_scenario = results(simulations(known, slow)(members(spark, *rows), None))["costs"]
    assert of_group(of_members, "timed") == of_group(of_scenario, "timed")
    assert of_group(of_members, "g") != of_group(of_scenario, "g")


def test_who_has_what_in_the_end(eventful: dict[str, list[Row]]) -> None:
    """Range sorts by member id; a departed or crashed consumer has no row, nor has a group that is not simulated."""
    owned = {(row["group_id"], row["member_id"]): row["partitions"] for row in eventful["owned_partitions"]}
    of_calm = {("calm", ""), ("calm", "a"), ("calm", "new-1")}
    assert set(owned) == {("g", "b"), ("g", "c"), ("founded", "n"), ("without topics", "n")} | of_calm
    assert owned["g", "b"] == [*parts("t", 0, 1, 2), *parts("u", 0, 1, 2)]
    assert owned["g", "c"] == [*parts("t", 3, 4, 5), *parts("u", 3, 4)]
    assert owned["without topics", "n"] == []


def test_what_partitions_cost(eventful: dict[str, list[Row]]) -> None:
    costs = {(row["topic"], row["partition"]): row for row in of_group(eventful["partition_costs"], "g")}
    (group,) = of_group(eventful["costs"], "g")
    for figure in ("unowned_ms", "moved"):
        assert sum(row[figure] for row in costs.values()) == group[figure] > 0
    longest_first = sorted((row["unowned_ms"] for row in costs.values() if row["unowned_ms"]), reverse=True)
    listed = [row["unowned_ms"] for row in group["downtimes"] for _ in range(row["partitions"])]
    assert longest_first == listed
    assert (group["p99_unowned_ms"], group["max_unowned_ms"]) == (listed[0], listed[0])
    # The first partition of the departed member moves to the remaining one, unowned until that has rejoined.
    assert (costs["t", 0]["moved"], costs["t", 0]["member_id"]) == (1, "b")
    assert costs["t", 0]["unowned_ms"] > 0
    # New partitions are unowned until the leader refreshes its metadata.
    assert costs["t", 5]["unowned_ms"] > costs["t", 0]["unowned_ms"]
    assert {row["unowned_ms"] > 0 or row["moved"] > 0 for row in eventful["partition_costs"]} == {True}


def test_a_group_without_members_is_founded_by_who_joins(eventful: dict[str, list[Row]]) -> None:
    """Steps of a scenario are for members: there is none."""
    (cost,) = of_group(eventful["costs"], "founded")
    assert (cost["consumers"], cost["partitions"], cost["stable"], cost["error"]) == (1, 5, True, None)
    (first, *_) = sorted(of_group(eventful["rebalances"], "founded"), key=lambda row: row["rebalance"])
    assert (first["reason"], first["member_id"], first["generation"], first["leader"]) == ("NEW_MEMBER", "n", 1, "n")
    assert first["joined_ms"] - first["from_ms"] == 3000
    (cost,) = of_group(eventful["costs"], "without topics")
    assert (cost["partitions"], cost["stable"], cost["rebalances"]) == (0, True, 1)


def test_groups_whose_assignor_fails_have_an_error(eventful: dict[str, list[Row]]) -> None:
    no_mine = "no assignor for protocol 'mine'"
    for group_id in ("unknown", "changes"):
        (cost,) = of_group(eventful["costs"], group_id)
        assert no_mine in cost["error"]
        assert (cost["rebalances"], cost["unowned_ms"], cost["stable"]) == (None, None, None)
    assert [row["error"] for row in of_group(eventful["costs"], "calm")] == [None]
    assert {row["group_id"] for row in eventful["costs"]} == {
        "g", "founded", "without topics", "unknown", "changes", "calm",
    }  # fmt: skip


def test_groups_with_other_libraries_are_marked(spark: SparkSession) -> None:
    """A new consumer of the scenario uses the library of the member whose configuration it copies."""

    def group(group_id: str, *libraries: str | None) -> list[Row]:
        return [
            member(f"m{place}", ["range"], ["t"], group_id=group_id, client_library=library)
            for place, library in enumerate(libraries)
        ]

    given = members(
        spark,
        *group("java", None, "java", ""),
        *group("sarama", None, "sarama", "sarama"),
        *group("mixed", "sarama;java", "kafka-go"),
    )
    scenario = Scenario("scale-out", steps=(ScenarioStep("join", 1000, count=1),))
    found = results(simulations(topics(spark, t=4), scenario, ELECTED, "roundrobin")(given))
    marked = {(row["group_id"], row["strategy"]): row["other_libraries"] for row in found["costs"]}
    expected = {"java": None, "sarama": ["sarama"], "mixed": ["kafka-go", "sarama"]}
    assert marked == {(name, of): libraries for name, libraries in expected.items() for of in (ELECTED, "roundrobin")}


def test_events_of_groups_that_nobody_has_joined(spark: SparkSession) -> None:
    """Every row is played or rejected; a group that never has a member has no costs."""
    nobody = [
        event("leave", 5, "a", group_id="ghost"),
        event("grow", 6, topic="t", partitions=9, group_id="ghost"),
        event("move-coordinator", 7, down_ms=1, group_id="ghost"),
        event("fail-store", 8, error="NONE", group_id="ghost"),
        event("leave", 5, "a", cluster="elsewhere"),
        event("grow", 9, topic="t", partitions=9, group_id="founded"),
        event("leave", 9, "a", group_id="unusable"),
    ]
    joined = {"protocols": ["range"], "subscription": ["t"], "group_id": "founded"}
    founds = [event("join", 10, "n", **joined), event("grow", 10, topic="t", partitions=9, group_id="founded")]
    given = members(spark, member("a", ["range"], ["t"], group_id="g"), member("a", [], ["t"], group_id="unusable"))
    scenario = Scenario("", steps=(ScenarioStep("move-coordinator", 20_000, down_ms=1), ScenarioStep("join", 30_000)))
    found = results(simulations(topics(spark, t=4), scenario)(given, events(spark, *nobody, *founds)))
    rejects = [row for row in found["rejects"] if row["table"] == "events"]
    assert sorted((row["group_id"], row["reason"]) for row in rejects) == sorted(
        (row["group_id"], f"{row['event']}: group '{row['group_id']}' has no members at {row['at_ms']} ms")
        for row in nobody
    )
    costs = {row["group_id"]: row for row in found["costs"]}
    assert {row["group_id"] for name in OUTPUTS[:3] for row in found[name]} == costs.keys() == {"g", "founded"}
    assert (costs["founded"]["consumers"], costs["founded"]["partitions"], costs["founded"]["events"]) == (1, 9, 3)
    assert (costs["g"]["cluster"], costs["g"]["consumers"], costs["g"]["events"]) == ("default", 2, 2)


@pytest.mark.scale
def test_events_of_one_time_have_an_order(spark: SparkSession) -> None:
    """What the scenario says, then by kind, by member, and what is smaller first: not as the rows happen to lie."""
    rows = [
        event("fail-store", 9000, error="NOT_ENOUGH_REPLICAS"),
        event("grow", 9000, topic="t", partitions=10),
        event("grow", 9000, topic="t", partitions=9),
        event("stall", 9000, "c", for_ms=30),
        event("stall", 9000, "b", for_ms=400),
        event("crash", 9000, "a"),
        event("join", 9000, "c", protocols=["range"], subscription=["t"]),
        event("restart", 8000, "b", down_ms=0),
    ]
    given = members(spark, *[member(name, ["range"], ["t"]) for name in ("a", "b")])
    scenario = Scenario("", steps=(ScenarioStep("move-coordinator", 9000, down_ms=70),))
    found = results(simulations(topics(spark, t=4), scenario)(given, events(spark, *rows)))
    assert found["rejects"] == []
    happened = sorted((row["number"], row) for row in found["timeline"] if row["kind"] == "EVENT")
    columns = ("at_ms", "detail", "member_id", "value", "error", "partitions")
    assert [tuple(row[name] for name in columns) for _, row in happened] == [
        (8000, "restart", "b", 0, None, None),
        (9000, "move-coordinator", None, 70, None, None),
        (9000, "join", "c", None, None, None),
        (9000, "crash", "a", None, None, None),
        (9000, "stall", "b", 400, None, None),
        (9000, "stall", "c", 30, None, None),
        (9000, "grow", None, 9, None, None),
        (9000, "grow", None, 10, None, None),
        (9000, "fail-store", None, None, "NOT_ENOUGH_REPLICAS", None),
    ]


def test_sticky_remembers_what_it_assigned_itself(spark: SparkSession) -> None:
    """As seen on a broker: it knows nothing of what range has assigned, and still has what it did before that."""
    by_range = [member(name, ["range", "sticky"], ["t", "u"], group_id="turns") for name in ("a", "b")]
    by_sticky = [member(name, ["sticky", "range"], ["t", "u"], group_id="turns back") for name in ("b", "c")]
    rows = [
        event("join", 9000, "c", group_id="turns", protocols=["sticky"], subscription=["t", "u"]),
        event("join", 9000, "a", group_id="turns back", protocols=["range"], subscription=["t", "u"]),
        event("leave", 60_000, "a", group_id="turns back"),
    ]
    given = members(spark, *by_range, *by_sticky)
    found = results(simulations(topics(spark, t=7, u=6), Scenario(""))(given, events(spark, *rows)))
    elected = {(row["group_id"], row["rebalance"]): row["protocol"] for row in found["rebalances"]}
    assert elected == {("turns", 1): "sticky", ("turns back", 1): "range", ("turns back", 2): "sticky"}
    (_, range_moved), (_, moved_back) = sorted(
        (row["rebalance"], row["moved"]) for row in of_group(found["rebalances"], "turns back")
    )
    assert range_moved > 0
    assert moved_back == range_moved
    owned = {row["member_id"]: row["partitions"] for row in of_group(found["owned_partitions"], "turns")}
    assert owned == {
        "a": parts("t", 0, 3, 6) + parts("u", 2, 5),
        "b": parts("t", 1, 4) + parts("u", 0, 3),
        "c": parts("t", 2, 5) + parts("u", 1, 4),
    }


def test_groups_without_events_have_no_time_to_stable(spark: SparkSession) -> None:
    """Nor do events count that change nothing: growth of a topic of others, protocols where all offer the strategy."""
    given = members(
        spark,
        *[member(name, ["roundrobin"], ["t"]) for name in ("a", "b", "c")],
        member("a", ["range"], ["t"], group_id="small"),
        member("a", ["range"], ["u"], group_id="grows"),
    )
    steps = (ScenarioStep("leave", 5000, Selection(places=(2,))), ScenarioStep("grow", 9000, topic="u", add=1))
    protocols = ScenarioStep("protocols", 1000, Selection(first=1), protocols=("range",))
    found = results(simulations(topics(spark, t=4, u=2), Scenario("", steps=(*steps, protocols)), "range")(given))
    costs = {row["group_id"]: (row["events"], row["stable"], row["stable_ms"] is None) for row in found["costs"]}
    assert costs == {"g": (1, True, False), "small": (0, True, True), "grows": (1, True, False)}
    (stable_ms,) = (row["stable_ms"] for row in found["costs"] if row["group_id"] == "g")
    assert 0 < stable_ms < 5000


def test_epochs_are_no_storms(spark: SparkSession) -> None:
    """Members of a consumer-protocol group keep consuming when the epoch rises, however often it does (KIP-848)."""
    rows = [member(f"c{place}", ["range"], ["t"]) for place in range(6)]
    scenario = Scenario("s", steps=(ScenarioStep("restart", 0, every_ms=5000, down_ms=2000),))
    found = results(simulations(topics(spark, t=12), scenario, "range", "server-uniform")(members(spark, *rows)))
    costs = {row["strategy"]: row for row in found["costs"]}
    assert all(row["rebalances"] >= 10 for row in costs.values())
    assert {name: row["storms"] > 0 for name, row in costs.items()} == {"range": True, "server-uniform": False}


def test_a_bounce_begins_when_the_one_before_is_over(spark: SparkSession) -> None:
    """24 consumers take 700 s, longer than any fixed time that a scenario may assume."""
    large = [member(f"c{place:02}", ["range"], ["t"]) for place in range(24)]
    small = [member(f"c{place:02}", ["range"], ["t"], group_id="h") for place in range(2)]
    two_bounces, _ = read_scenario("assignor-two-bounces")
    found = results(simulations(topics(spark, t=48), two_bounces)(members(spark, *large, *small)))
    assert {(row["failed"], row["finished"], row["failure"]) for row in found["costs"]} == {(0, True, None)}
    for costs in found["costs"]:
        bounces = [row for row in found["bounces"] if key(row) == key(costs)]
        bounces.sort(key=lambda row: row["bounce"])
        assert [row["bounce"] for row in bounces] == [1, 2]
        for name in ("rebalances", "moved", "moved_back", "unowned_ms"):
            assert sum(row[name] for row in bounces) == costs[name]
            assert all(row[name] > 0 for row in bounces)
        assert bounces[0]["from_ms"] == 0
        assert bounces[1]["from_ms"] == bounces[0]["to_ms"]
        assert bounces[1]["to_ms"] == costs["stable_ms"]
        # From the start to the last restart of a bounce: 30 s from one consumer to the next, and 5 s down.
        restarts_ms = 10_000 + 30_000 * (costs["consumers"] - 1) + 5000
        assert all(restarts_ms < row["to_ms"] - row["from_ms"] < restarts_ms + 12_000 for row in bounces)
        protocols = [row["protocol"] for row in found["rebalances"] if key(row) == key(costs)]
        assert {"range", "cooperative-sticky"} == set(protocols)


def test_a_bounce_that_a_consumer_fails_in_never_ends(spark: SparkSession) -> None:
    """The first restarted consumer shares no assignor with the others, so that the next bounce does not begin."""
    one_bounce, _ = read_scenario("assignor-one-bounce")
    again = ScenarioStep("restart", 1000, Selection(first=1), down_ms=0)
    scenario = replace(one_bounce, steps=(*one_bounce.steps, ScenarioStep("next-bounce"), again))
    rows = [member(f"c{place}", ["range"], ["t"]) for place in range(3)]
    found = results(simulations(topics(spark, t=6), scenario)(members(spark, *rows)))
    (costs,), (bounce,) = found["costs"], found["bounces"]
    assert (costs["failed"], costs["stable"], costs["finished"]) == (2, True, False)
    assert costs["failure"].startswith("INCONSISTENT_GROUP_PROTOCOL: c0, at ")
    assert (bounce["bounce"], bounce["to_ms"], bounce["failed"]) == (1, None, 2)
    assert len([row for row in found["timeline"] if row["detail"] == "restart"]) == 3


def test_a_table_of_events_for_nobody_else(spark: SparkSession) -> None:
    """No group has a member at first."""
    founds = events(spark, event("join", 0, "n", protocols=["range"], subscription=["t"]))
    found = results(simulations(topics(spark, t=4), Scenario(""))(members(spark), founds))
    assert [(row["stable"], row["error"]) for row in found["costs"]] == [(True, None)]
    assert found["rejects"] == []


# ---- The fleet


@pytest.fixture(scope="module")
def fleet(spark: SparkSession) -> tuple[DataFrame, DataFrame]:
    made = synthetic_fleet(spark, load(str(SMALL_FLEET)), 15, seed=8)
    return made.topics.cache(), made.members.cache()


@pytest.fixture(scope="module")
def simulate(fleet: tuple[DataFrame, DataFrame]) -> Simulations:
    return simulations(fleet[0], ROLLING, ELECTED, "range", "cooperative-sticky")


@pytest.fixture(scope="module")
def simulated(fleet: tuple[DataFrame, DataFrame], simulate: Simulations) -> dict[str, list[Row]]:
    return results(simulate(fleet[1]))


@pytest.mark.scale
def test_the_columns_are_those_of_the_tables(fleet: tuple[DataFrame, DataFrame], simulate: Simulations) -> None:
    found = simulate(fleet[1])
    for of in TABLES:
        expected = [(column.name, column.type.simpleString()) for column in of.columns]
        assert found.transform(outcome(of.name)).dtypes == expected


@pytest.mark.scale
def test_partitioning_and_row_order_change_nothing(
    spark: SparkSession, fleet: tuple[DataFrame, DataFrame], simulate: Simulations, simulated: dict[str, list[Row]]
) -> None:
    with shuffled_into(spark, 7):
        assert results(simulate(fleet[1].orderBy(F.rand(2)).repartition(3))) == simulated


@pytest.mark.scale
@pytest.mark.parametrize("members_at_a_time", [1, 20])
def test_groups_simulated_side_by_side_change_nothing(
    fleet: tuple[DataFrame, DataFrame],
    simulate: Simulations,
    simulated: dict[str, list[Row]],
    members_at_a_time: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(of_simulations, "_MEMBERS_AT_A_TIME", members_at_a_time)
    nested = collect_members(fleet[1], simulate.columns).toArrow().to_batches()
    rows = [row["costs"] for batch in simulate.simulate_batches(nested) for row in batch.to_pylist() if row["costs"]]
    assert sorted(rows, key=str) == simulated["costs"]


@pytest.mark.scale
@pytest.mark.parametrize("name", ["migration", "migration-back"])
def test_migrations(spark: SparkSession, fleet: tuple[DataFrame, DataFrame], name: str) -> None:
    """Groups migrate from one protocol to the other, with the same result in any layout of the fleet."""
    simulate = simulations(fleet[0], read_scenario(name)[0])
    few = fleet[1].where(F.hash("group_id") % 2 == 0)
    found = results(simulate(few))
    assert {(row["stable"], row["failed"], row["error"]) for row in found["costs"]} == {(True, 0, None)}
    protocols: dict[Any, list[str]] = {}
    for row in sorted(found["rebalances"], key=lambda row: row["rebalance"]):
        protocols.setdefault(key(row), []).append(row["protocol"])
    turns = [[one for one, _ in groupby(filter(None, of_group))] for of_group in protocols.values()]
    classic_and_modern = ["cooperative-sticky", "server-uniform"]
    assert classic_and_modern[:: 1 if name == "migration" else -1] in turns
    assert max(map(len, turns)) == 2
    assert {"Stable", "Reconciling", "PreparingRebalance"} <= {row["state"] for row in found["timeline"]}
    with shuffled_into(spark, 7):
        assert results(simulate(few.orderBy(F.rand(2)).repartition(3))) == found


@pytest.mark.scale
def test_a_group_alone_fares_as_in_the_fleet(
    fleet: tuple[DataFrame, DataFrame], simulate: Simulations, simulated: dict[str, list[Row]]
) -> None:
    largest = max(simulated["costs"], key=lambda row: row["consumers"])
    where = (F.col("cluster") == largest["cluster"]) & (F.col("group_id") == largest["group_id"])
    alone = results(simulate(fleet[1].where(where)))
    expected = {name: [row for row in rows if key(row) == key(largest)] for name, rows in simulated.items()}
    assert alone == expected
    assert len(alone["timeline"]) > 100


@pytest.mark.scale
def test_elected_is_what_the_group_elects(simulated: dict[str, list[Row]]) -> None:
    """What has elected range, and offers eager assignors alone, fares as if range were named."""
    rebalances: dict[Any, list[Row]] = {}
    for row in simulated["rebalances"]:
        rebalances.setdefault((key(row), row["strategy"]), []).append(row | {"strategy": ""})
    elected = {group: {row["protocol"] for row in rows} for (group, of), rows in rebalances.items() if of == ELECTED}
    assert {"range", "cooperative-sticky"} < set().union(*elected.values())
    named = [row["protocol"] for (_, of), rows in rebalances.items() if of == "range" for row in rows]
    assert set(named) <= {"range", None}
    of_range = [group for group, protocols in elected.items() if protocols == {"range"}]
    assert any(rebalances[group, ELECTED] == rebalances[group, "range"] for group in of_range)


@pytest.mark.scale
def test_figures_of_the_rolling_restart(simulated: dict[str, list[Row]]) -> None:
    """No consumer fails, all groups become stable, and each timeline is numbered in order of time."""
    assert {row["failed"] for row in simulated["costs"]} == {0}
    assert all(row["stable"] and row["stable_ms"] >= 0 for row in simulated["costs"])
    timelines: dict[Any, list[Row]] = {}
    for row in simulated["timeline"]:
        timelines.setdefault((key(row), row["strategy"]), []).append(row)
    for rows in timelines.values():
        rows.sort(key=lambda row: row["number"])
        assert [row["number"] for row in rows] == list(range(len(rows)))
        assert [row["at_ms"] for row in rows] == sorted(row["at_ms"] for row in rows)


@pytest.mark.scale
def test_first_steps_are_those_of_whole_timelines(
    fleet: tuple[DataFrame, DataFrame], simulate: Simulations, simulated: dict[str, list[Row]]
) -> None:
    wanted: dict[Any, list[Row]] = {}
    for row in sorted(simulated["timeline"], key=lambda row: row["number"]):
        if row["kind"] in ("EVENT", "REVOKED"):
            wanted.setdefault((key(row), row["strategy"]), []).append(row)
    first = sorted((row for rows in wanted.values() for row in rows[:5]), key=str)
    found = results(replace(simulate, first_steps=FirstSteps(("EVENT", "REVOKED"), 5))(fleet[1]))
    assert found == simulated | {"timeline": first}
    assert any(len(rows) > 5 for rows in wanted.values())


@pytest.mark.scale
def test_advice_is_what_the_setting_would_have_saved(fleet: tuple[DataFrame, DataFrame]) -> None:
    """Found by hand: the same scenario under each of the settings, one after the other."""
    metadata, rows = fleet
    few = rows.where(F.hash("group_id") % 2 == 0).cache()
    offsets = few.select("cluster", "group_id", F.explode(F.array_distinct("subscription")).alias("topic")).distinct()
    offsets = offsets.selectExpr("*", "inline(transform(sequence(0, 7), n -> named_struct('partition', n)))")
    given = offsets.withColumns({"committed": F.lit(0).cast("long"), "end": F.hash("topic", "partition") % 100})
    scenario = Scenario("s", steps=(ScenarioStep("restart", 10_000, Selection(first=2), 30_000, down_ms=5000),))
    compared = (COSTS.name, LAG_COSTS.name)

    def costs(of: DataFrame, tried: Scenario, strategy: str, **more: Any) -> Outcomes:
        return simulate_all(of, metadata, tried, (strategy,), seed=1, offsets=given, **more)

    found = costs(few, scenario, "range", advice=True, tables=(*compared, ADVICE.name))
    usual, lag = ({key(row): row for row in found[name].collect()} for name in compared)
    assert found.advice.dtypes == [(column.name, column.type.simpleString()) for column in ADVICE.columns]
    advised = {(row["setting"], row["value"], key(row)): row for row in found.advice.collect()}
    tried = variations(scenario, NEWEST)
    assert len(lag) > 5
    assert len(advised) == len(tried) * len(usual) == 6 * len(usual)
    for variation in tried:
        by_hand = costs(few, variation.scenario, variation.strategy or "range", tables=compared)
        lag_by_hand = {key(row): row for row in by_hand.lag_costs.collect()}
        for row in by_hand.costs.collect():
            advised_row = advised[variation.setting, variation.value, key(row)]
            assert (advised_row["rebalances"], advised_row["unowned_ms"]) == (row["rebalances"], row["unowned_ms"])
            for name in ("rebalances", "unowned_ms", "p99_unowned_ms", "max_unowned_ms", "stable_ms", "moved"):
                assert advised_row[f"{name}_saved"] == usual[key(row)][name] - row[name]
            for name in ("unowned_lag", "delay_ms"):
                now, then = (of[key(row)][name] if key(row) in of else 0 for of in (lag, lag_by_hand))
                assert (advised_row[f"{name}_saved"] or 0) == now - then
    for group in usual:
        of_one = [row for (_, _, whose), row in advised.items() if whose == group]
        most = max(row["unowned_ms_saved"] for row in of_one)
        assert [row["unowned_ms_saved"] for row in of_one if row["best"]] == ([most] if most > 0 else [])


def test_versions_without_static_members_are_advised_otherwise() -> None:
    settings = [variation.setting for variation in variations(ROLLING, kafka_version("1.0"))]
    assert settings == ["session.timeout.ms", "session.timeout.ms", "group.initial.rebalance.delay.ms"]
    assert variations(replace(ROLLING, name="x"), NEWEST)[0].scenario.consumers.static
