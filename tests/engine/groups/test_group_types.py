"""Consumer-protocol groups (KIP-848) and groups that migrate: elections and assignments."""

import json
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession

from rebalance_sim.api.groups import assign, compare, elect
from rebalance_sim.commands.console import text_of
from rebalance_sim.commands.summary import summarise_elections
from rebalance_sim.engine.groups.comparison import changes
from rebalance_sim.engine.groups.prediction import ELECTED, Prediction
from rebalance_sim.engine.simulation.simulations import Simulations
from rebalance_sim.engine.tables.inputs import fit, fit_topics, usable
from rebalance_sim.engine.tables.topic_metadata import TopicMetadata
from rebalance_sim.kafka.brokers import Brokers, Clusters
from rebalance_sim.kafka.simulation.scenario import Scenario, ScenarioStep, Selection
from rebalance_sim.tables import ASSIGNMENTS, BALANCE, COSTS, ELECTIONS, MEMBERS, REJECTS
from tests.support.rows import contents, member, members, topics

UNIFORM, RANGE = ["server-uniform"], ["server-range"]
OUTPUTS = (ELECTIONS.name, ASSIGNMENTS.name, BALANCE.name, REJECTS.name)


def owned(*partitions: int, topic: str = "t") -> list[dict[str, object]]:
    return [{"topic": topic, "partition": number} for number in partitions]


def predicted(given: DataFrame, known: DataFrame, version: str = "4.3") -> dict[str, list[Row]]:
    """Return the rows of each table, under each group's own protocol."""
    rule = Prediction(OUTPUTS, Clusters(Brokers(version)), (ELECTED,), TopicMetadata.of(usable(fit_topics(known))))
    rows = rule(usable(fit(given, MEMBERS))).collect()
    return {name: [row[name] for row in rows if row[name] is not None] for name in OUTPUTS}


def by_member(rows: list[Row]) -> dict[str, list[tuple[str, int]]]:
    return {row["member_id"]: [(p["topic"], p["partition"]) for p in row["partitions"]] for row in rows}


def shown(row: Row, *names: str) -> dict[str, Any]:
    return {name: row[name] for name in names}


FLEET = [
    member("a", UNIFORM, ["t"], owned=owned(0, 1, 4, 5), generation=3, group_id="stable"),
    member("b", UNIFORM, ["t"], owned=owned(2, 3), generation=3, group_id="stable"),
    member("c", ["roundrobin", "range"], ["t"], owned=owned(0, 1, 2), generation=3, group_id="migrates"),
    member("d", RANGE, ["t"], owned=owned(3, 4, 5), generation=3, group_id="migrates"),
    member("e", ["sticky"], ["t"], group_id="migrates"),
    member("f", ["range"], ["t"], group_id="migrates"),
    member("g", ["range"], ["t"], protocol_type="connect", group_id="migrates"),
    member("h", RANGE, ["t"], group_id="tie"),
    member("i", UNIFORM, ["t"], group_id="tie"),
    member("j", ["range"], ["t"], group_id="classic"),
]


def test_the_coordinator_assigns_consumer_protocol_groups(spark: SparkSession) -> None:
    """There is no leader. Classic members get partitions, and have no say in the assignor."""
    tables = predicted(members(spark, *FLEET), topics(spark, t=6))
    elections = {row["group_id"]: row for row in tables[ELECTIONS.name]}
    names = ("type", "members", "protocol", "candidates", "votes", "tie", "leader_id", "error")
    assert {group: tuple(shown(row, *names).values()) for group, row in elections.items()} == {
        "stable": ("consumer", 2, "server-uniform", UNIFORM, {"server-uniform": 2}, False, None, None),
        "migrates": ("consumer", 3, "server-range", RANGE, {"server-range": 1}, False, None, None),
        "tie": (
            *("consumer", 2, "server-uniform", [*UNIFORM, *RANGE]),
            *({"server-uniform": 1, "server-range": 1}, True, None, None),
        ),
        "classic": ("classic", 1, "range", ["range"], {"range": 1}, False, "j", None),
    }
    refused = [each.asDict() for each in elections["migrates"]["refused"]]
    assert refused == [{"member_id": name, "error": "INCONSISTENT_GROUP_PROTOCOL"} for name in ("e", "g")]
    assert sorted(json.loads(row["row"])["member_id"] for row in tables[REJECTS.name]) == ["e", "g"]

    assigned = by_member(tables[ASSIGNMENTS.name])
    found = {name: assigned[name] for name in "cdf"}
    assert found == {"c": [("t", 0), ("t", 1)], "d": [("t", 2), ("t", 3)], "f": [("t", 4), ("t", 5)]}
    assert {name: len(assigned[name]) for name in "ab"} == {"a": 3, "b": 3}
    assert set(assigned["b"]) > {("t", 2), ("t", 3)}
    balances = {row["group_id"]: row for row in tables[BALANCE.name]}
    assert shown(balances["stable"], "strategy", "moved", "kept", "revoked", "rebalances", "error") == {
        "strategy": "server-uniform",
        "moved": 1,
        "kept": 5,
        "revoked": 1,
        "rebalances": 1,
        "error": None,
    }


def test_elected_equals_the_named_assignor(spark: SparkSession) -> None:
    given = members(spark, *[row for row in FLEET if row["group_id"] == "stable"])
    known = topics(spark, t=6)
    assert contents(given.transform(assign("elected", known))) == contents(
        given.transform(assign("server-uniform", known))
    )


@pytest.mark.parametrize("version", ["1.0", "2.3", "3.6"])
def test_older_coordinators_refuse_the_consumer_protocol(spark: SparkSession, version: str) -> None:
    """Classic members elect a protocol; a group without any has no members."""
    given = members(
        spark, member("a", UNIFORM, ["t"]), member("b", ["range"], ["t"]), member("c", UNIFORM, ["t"], group_id="h")
    )
    tables = predicted(given, topics(spark, t=2), version)
    elections = {row["group_id"]: row for row in tables[ELECTIONS.name]}
    assert shown(elections["g"], "type", "members", "protocol", "leader_id", "error") == {
        "type": "classic",
        "members": 1,
        "protocol": "range",
        "leader_id": "b",
        "error": None,
    }
    assert [tuple(each) for each in elections["g"]["refused"]] == [("a", "UNSUPPORTED_VERSION")]
    found = shown(elections["h"], "members", "protocol", "leader_id", "error")
    assert found == {"members": 0, "protocol": None, "leader_id": None, "error": "the coordinator refuses all members"}
    assert [row["group_id"] for row in tables[BALANCE.name]] == ["g"]
    compared = given.transform(compare(topics(spark, t=2), ["elected", "roundrobin"], version)).collect()
    assert [(row["group_id"], row["elected"], sorted(row["strategies"])) for row in compared] == [
        ("g", "range", ["range", "roundrobin"])
    ]
    reason = "UNSUPPORTED_VERSION: the coordinator does not support group.protocol=consumer (KIP-848), new in Kafka 3.7"
    seen = {(json.loads(row["row"])["member_id"], row["reason"]) for row in tables[REJECTS.name]}
    assert seen == {("a", reason), ("c", reason)}


def test_members_that_mix_assignors_are_rejected(spark: SparkSession) -> None:
    given = members(spark, member("a", ["range", "server-range"], ["t"]), member("b", RANGE, ["t"]))
    tables = predicted(given, topics(spark, t=2))
    (reject,) = tables[REJECTS.name]
    assert json.loads(reject["row"])["member_id"] == "a"
    assert reject["reason"] == "protocols is not server-uniform or server-range alone, or assignors of the consumer"
    assert by_member(tables[ASSIGNMENTS.name]) == {"b": [("t", 0), ("t", 1)]}


def test_simulated_groups_start_with_one_protocol(spark: SparkSession) -> None:
    simulate = Simulations(
        (COSTS.name, REJECTS.name),
        Clusters(),
        (ELECTED,),
        TopicMetadata.of(usable(fit_topics(topics(spark, t=6)))),
        Scenario("", steps=(ScenarioStep("leave", 1000, members=Selection(first=1)),)),
    )
    rows = simulate(usable(fit(members(spark, *FLEET), MEMBERS))).collect()
    costs = {row[COSTS.name]["group_id"]: row[COSTS.name] for row in rows if row[COSTS.name] is not None}
    mixed = "before the simulation begins: members of both protocols; a simulated group begins with those of one"
    found = {group: row["error"] for group, row in costs.items()}
    assert found == {"stable": None, "tie": None, "classic": None, "migrates": mixed}
    assert costs["stable"]["rebalances"] == 1
    rejects = [json.loads(row[REJECTS.name]["row"])["member_id"] for row in rows if row[REJECTS.name] is not None]
    assert sorted(rejects) == ["e", "g"]


def test_strategies_are_compared_with_the_coordinators_assignor(spark: SparkSession) -> None:
    given = members(
        spark,
        member("a", RANGE, ["t", "u"], owned=[*owned(0, 1), *owned(0, 1, topic="u")], generation=3),
        member("b", RANGE, ["t", "u"], owned=[*owned(2), *owned(2, topic="u")], generation=3),
    )
    compared = given.transform(compare(topics(spark, t=3, u=3), ["server-range", "server-uniform"]))
    (row,) = compared.collect()
    assert (row["elected"], row["strategies"]["server-range"]["moved"]) == ("server-range", 0)
    (change,) = compared.transform(changes()).collect()
    assert shown(change, "strategy", "change", "elected", "elected_moved", "moved") == {
        "strategy": "server-uniform",
        "change": "gain",
        "elected": "server-range",
        "elected_moved": 0,
        "moved": 1,
    }


def test_the_summary_lists_elections_of_both_group_types(spark: SparkSession) -> None:
    given = members(
        spark, member("a", UNIFORM, ["t"], group_id="server"), member("b", ["range"], ["t"], group_id="led")
    )
    assert text_of(summarise_elections(given.transform(elect()))).splitlines() == [
        "elections: 1 group, 0 ties decided by hash order",
        "assignor of the coordinator (KIP-848): 1 group",
        "  group   members  protocol        votes               leader",
        "  led           1  range           range 1             b",
        "  server        1  server-uniform  server-uniform 1    (coordinator)",
    ]
    lines = text_of(summarise_elections(given.transform(elect("3.6")))).splitlines()
    assert lines[1:] == [
        "all members refused: 1 group",
        "  group   members  protocol  votes      leader",
        "  led           1  range     range 1    b",
        "  server        0  -                    -",
    ]
