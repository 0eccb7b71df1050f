"""Rollouts of streams groups in audits: what they cost, in the words of Streams, and what is said without one."""

from collections import defaultdict
from typing import Any

import pytest
from pyspark.sql import SparkSession

from rebalance_sim.api.audit import audit
from rebalance_sim.api.streams import simulate_streams
from rebalance_sim.commands.validation.simulate import with_settings
from rebalance_sim.engine.audit.group import Group, TopicFacts
from rebalance_sim.engine.audit.judgement import FAMILIES
from rebalance_sim.engine.audit.thresholds import Thresholds
from rebalance_sim.engine.simulation.streams_groups import WITHOUT_DELAY
from rebalance_sim.kafka.brokers import Brokers, Clusters
from rebalance_sim.report.audits.figures import saving_texts
from rebalance_sim.sources.scenarios import scenario_of
from rebalance_sim.tables import ADVICE, COSTS, STREAMS_BALANCE, STREAMS_MEMBERS, SUBTOPOLOGIES, TOPICS
from tests.engine.audit.test_streams_applications import CLASSIC, threads
from tests.support.rows import members, table

SCENARIO = "rolling-restart"
COSTS_OF_ROLLOUT: dict[str, Any] = {
    **dict.fromkeys(COSTS.names),
    "partitions": 4,
    "events": 2,
    "rebalances": 4,
    "storms": 0,
    "stable": True,
    "stable_ms": 41_000,
    "unowned_ms": 28_000,
    "moved": 6,
    "moved_back": 1,
    "failed": 0,
    "p99_unowned_ms": 9000,
    "max_unowned_ms": 9000,
    "finished": True,
}


ADVICE_OF_ROLLOUT: dict[str, Any] = {
    **dict.fromkeys(ADVICE.names),
    "setting": WITHOUT_DELAY[0],
    "value": WITHOUT_DELAY[1],
    "fails": False,
    "unowned_ms": 16_000,
    "unowned_ms_saved": 12_000,
    "rebalances_saved": 0,
    "moved_saved": -2,
}


def sharing(costs: dict[str, Any] | None = None, tasks_error: str | None = None, **more: Any) -> Group:
    """Return a group of two threads in two processes."""
    advice = more.pop("advice", [])
    rows = [
        dict.fromkeys(STREAMS_MEMBERS.names) | {"cluster": "c"} | row for row in threads("g", [0, 1], [2, 3], **more)
    ]
    balance = dict.fromkeys(STREAMS_BALANCE.names) | {"error": tasks_error}
    tables = {STREAMS_MEMBERS.name: rows, STREAMS_BALANCE.name: [balance]}
    tables[COSTS.name] = [COSTS_OF_ROLLOUT | costs] if costs is not None else []
    tables[ADVICE.name] = advice
    return Group("c", "g", defaultdict(list, tables), Brokers("4.3"), TopicFacts())


def found(group: Group, *families: str) -> dict[str, Any]:
    return {each.kind.name: each for name in families for each in FAMILIES[name].findings(group, Thresholds())}


def test_a_rollout_of_a_streams_group_has_its_own_words() -> None:
    (cost,) = found(sharing({}), "rollouts", "leaders").values()
    assert cost.description == (
        "rolling restart: 4 epochs and 6 task moves; time in which no thread has a task, not counting the time to "
        "restore state: mean 7.0 s, p99 9.0 s, max 9.0 s; stable 41.0 s after its first event"
    )
    assert (cost.kind.name, cost.confidence, cost.recommendation, cost.settings) == (
        *("rollout-cost", "assumed", None, {}),
    )
    assert (cost.figures["epochs"], cost.figures["stable_ms"]) == (4, 41_000)


@pytest.mark.parametrize(
    ("costs", "kind", "end"),
    [
        ({}, "rollout-unstable", "or tasks have no thread, at the end"),
        ({"finished": False, "failure": "it waits"}, "rollout-deadlock", "it waits"),
    ],
)
def test_a_rollout_that_does_not_succeed_is_an_error(costs: dict[str, Any], kind: str, end: str) -> None:
    of_rollout = found(sharing({"stable": False, "stable_ms": None} | costs), "rollouts")
    assert of_rollout.keys() == {"rollout-cost", kind}
    assert of_rollout[kind].description.endswith(end)
    assert of_rollout[kind].confidence == "assumed"
    assert not any(word in str(of_rollout[kind].recommendation) for word in ("max.poll", "partition"))
    assert "stable" not in of_rollout["rollout-cost"].description


def test_a_setting_that_pays_is_recommended_for_the_group() -> None:
    group = sharing({}, advice=[ADVICE_OF_ROLLOUT])
    downtime = found(group, "rollouts")["rollout-downtime"]
    assert downtime.description == (
        "rolling restart: each task is without a thread for 7.0 s on average (p99 9.0 s, max 9.0 s), not counting the "
        "time to restore state; streams.initial.rebalance.delay.ms=0 saves 43 %"
    )
    assert (downtime.settings, downtime.confidence) == ({"streams.initial.rebalance.delay.ms": "0"}, "assumed")
    assert str(downtime.recommendation).startswith(
        "Set streams.initial.rebalance.delay.ms=0 for the group (kafka-configs.sh). The first thread"
    )
    assert saving_texts(downtime.saving, of_tasks=True) == (
        ("12.0 s less downtime of tasks (43 %)", "3.0 s less mean downtime per task"),
        ("2 more task moves",),
    )
    little = ADVICE_OF_ROLLOUT | {"unowned_ms_saved": 3000}
    assert found(sharing({}, advice=[little]), "rollouts").keys() == {"rollout-cost"}


@pytest.mark.parametrize(
    ("group", "end"),
    [
        (sharing({}, **CLASSIC), "but not its rollout: an application over the classic protocol is not simulated"),
        (sharing({"error": "too old"}), "its assignment is predicted, but not its rollout: too old"),
        (sharing({"error": "too old"}, tasks_error="no topology"), "no assignment is predicted: no topology"),
    ],
)
def test_the_note_says_what_is_not_simulated(group: Group, end: str) -> None:
    assert found(group, "leaders")["other-kind-of-group"].description.endswith(end)
    assert "rollout-cost" not in found(group, "rollouts") or group.is_classic_application


FLEET = [
    *threads("two-processes", [0, 1], [2, 3]),
    *threads("two-threads-each", [0], [1], [2], [3], processes=[1, 1, 2, 2]),
    *threads("standbys", [0, 1], [2, 3], standby=[[2, 3], [0, 1]]),
    *threads("one-thread", [0, 1, 2, 3]),
    *(row | {"cluster": "old"} for row in threads("old-brokers", [0, 1], [2, 3])),
    *threads("without-topology", [0, 1], [2, 3]),
    *threads("classic", [0, 1], [2, 3], **CLASSIC),
]
CLUSTERS = Clusters(Brokers("4.3"), {"old": Brokers("4.1.0")})
NOT_SIMULATED = {
    "old-brokers": "streams groups are simulated by the rules of brokers since Kafka 4.2",
    "without-topology": "its subtopologies are unknown",
}


@pytest.fixture(scope="module")
def tables(spark: SparkSession) -> dict[str, Any]:
    """Return the inputs of an audit, without consumers."""
    names = dict.fromkeys((row.get("cluster", "default"), row["group_id"]) for row in FLEET)
    parts = [
        {"cluster": cluster, "group_id": name, "subtopology": "0", "topics": ["orders"], "stateful": True}
        | {"standby_replicas": 1 if name == "standbys" else None}
        for cluster, name in names
        if name != "without-topology"
    ]
    topics = [{"cluster": cluster, "topic": "orders", "partitions": 4} for cluster in ("default", "old")]
    return {
        "members": table(spark, STREAMS_MEMBERS, FLEET),
        "subtopologies": table(spark, SUBTOPOLOGIES, parts),
        "topics": table(spark, TOPICS, topics),
    }


@pytest.fixture(scope="module")
def audited(spark: SparkSession, tables: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    given = {"streams_members": tables["members"], "subtopologies": tables["subtopologies"]}
    run = audit(members(spark), tables["topics"], kafka_version=CLUSTERS, scenario=SCENARIO, seed=3, **given)
    names = ("findings", "verdicts", "costs", "advice", "rejects")
    return {name: [row.asDict(recursive=True) for row in run[name].collect()] for name in names}


@pytest.mark.scale
def test_the_costs_are_those_of_the_job_streams(
    tables: dict[str, Any], audited: dict[str, list[dict[str, Any]]]
) -> None:
    run = simulate_streams(**tables, scenario=SCENARIO, seed=3, kafka_version=CLUSTERS)
    expected = {
        row["group_id"]: row.asDict(recursive=True) for row in run.costs.where("group_id != 'classic'").collect()
    }
    assert {row["group_id"]: row for row in audited["costs"]} == expected
    assert {name: row["error"] for name, row in expected.items() if row["error"]} == NOT_SIMULATED
    costs = expected["two-threads-each"]
    assert (costs["events"], costs["stable"], costs["finished"], costs["rebalances"]) == (2, True, True, 8)
    cost = next(
        row for row in audited["findings"] if row["group_id"] == costs["group_id"] and row["family"] == "rollouts"
    )
    assert cost["figures"]["unowned_ms"] == costs["unowned_ms"] > 0
    assert cost["figures"]["stable_ms"] == costs["stable_ms"]


@pytest.mark.scale
def test_a_process_that_is_alone_need_not_wait_for_others(
    spark: SparkSession, tables: dict[str, Any], audited: dict[str, list[dict[str, Any]]]
) -> None:
    """The advice is what the job saves under the setting, which makes no difference to groups that are never empty."""
    scenario = with_settings(scenario_of(SCENARIO), "group_streams_initial_rebalance_delay_ms=0")
    run = simulate_streams(**tables, scenario=scenario, seed=3, kafka_version=CLUSTERS)
    usual = {row["group_id"]: row["unowned_ms"] for row in audited["costs"]}
    without = {row["group_id"]: row["unowned_ms"] for row in run.costs.collect()}
    assert {name for name, unowned_ms in without.items() if unowned_ms != usual.get(name)} == {"one-thread"}
    (advice,) = audited["advice"]
    assert (advice["group_id"], advice["setting"], advice["value"]) == ("one-thread", *WITHOUT_DELAY)
    assert advice["unowned_ms"] == without["one-thread"]
    assert advice["unowned_ms_saved"] == usual["one-thread"] - without["one-thread"]
    (finding,) = [row for row in audited["findings"] if row["kind"] == "rollout-downtime"]
    assert (finding["group_id"], finding["saving"]["unowned_ms_saved"]) == ("one-thread", advice["unowned_ms_saved"])
    (verdict,) = [row for row in audited["verdicts"] if row["group_id"] == "one-thread"]
    assert (verdict["rollout_setting"], verdict["settings"]) == ("=".join(WITHOUT_DELAY), dict([WITHOUT_DELAY]))
    given = {"streams_members": tables["members"], "subtopologies": tables["subtopologies"]}
    followed = audit(members(spark), tables["topics"], kafka_version=CLUSTERS, scenario=scenario, seed=3, **given)
    assert followed.findings.where("kind = 'rollout-downtime'").isEmpty()


@pytest.mark.scale
def test_groups_that_are_not_simulated_keep_their_other_findings(audited: dict[str, list[dict[str, Any]]]) -> None:
    of_groups: defaultdict[str, dict[str, dict[str, Any]]] = defaultdict(dict)
    for row in audited["findings"]:
        of_groups[row["group_id"]][row["kind"]] = row
    simulated = {"rollout-cost"}
    assert of_groups["two-processes"].keys() == {"no-standby-replicas", "stop-of-process"} | simulated
    assert of_groups["standbys"].keys() == {"stop-of-process"} | simulated
    assert of_groups["old-brokers"].keys() == {"no-standby-replicas", "stop-of-process", "other-kind-of-group"}
    assert of_groups["classic"].keys() >= {"no-standby-replicas", "stop-of-process", "other-kind-of-group"}
    assert of_groups["without-topology"].keys() == {"other-kind-of-group"}
    assert of_groups["old-brokers"]["other-kind-of-group"]["description"].endswith(NOT_SIMULATED["old-brokers"])
    assert {row["confidence"] for row in audited["findings"] if row["family"] == "rollouts"} == {"assumed"}
    assert {row["scenario"] for row in audited["findings"] if row["family"] == "rollouts"} == {SCENARIO}
    assert audited["rejects"] == []
