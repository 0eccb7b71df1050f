"""Audits of share groups (KIP-932): what is found in them, and what cannot apply to them."""

from collections import defaultdict
from typing import Any

import pytest
from pyspark.sql import SparkSession

from rebalance_sim.api.audit import audit
from rebalance_sim.engine.audit.group import Group, TopicFacts
from rebalance_sim.engine.audit.judgement import FAMILIES
from rebalance_sim.engine.audit.thresholds import Thresholds
from rebalance_sim.engine.audit.topic_keys import KeyFacts
from rebalance_sim.kafka.brokers import Brokers
from rebalance_sim.kafka.group_kinds import GroupKind
from rebalance_sim.tables import BALANCE, COSTS, ELECTIONS, MEMBERS, OFFSETS, TOPIC_LAG, TOPICS
from tests.support.rows import member, table

COSTS_OF_ROLLOUT = {
    "partitions": 4,
    "events": 2,
    "rebalances": 4,
    "storms": 0,
    "stable": True,
    "unowned_ms": 8000,
    "moved": 6,
    "moved_back": 1,
    "failed": 0,
    "p99_unowned_ms": 3000,
    "max_unowned_ms": 3000,
    "finished": True,
    "failure": None,
    "error": None,
}
BALANCED = {
    "strategy": "share-simple",
    "members": 2,
    "partitions": 4,
    "min": 2,
    "max": 2,
    "idle_members": 0,
    "moved": 0,
    "unassigned": 0,
    "unconsumed": 0,
    "first_unconsumed": None,
    "whole_topics": None,
    "alternatives": None,
    "co_partitioned_topics": 0,
    "bounds": None,
    "error": None,
}


def sharing(
    release: str = "4.3",
    balance: dict[str, Any] | None = None,
    costs: dict[str, Any] | None = None,
    topics: TopicFacts | None = None,
    beside: dict[str, list[dict[str, Any]]] | None = None,
    subscriptions: tuple[list[str], ...] = (["jobs"], ["jobs"]),
) -> Group:
    """Return a share group of two members of topic jobs."""
    row = dict.fromkeys(MEMBERS.names) | {"protocol_type": "share", "protocols": ["share-simple"]}
    row |= {"instance_id": "same", "generation": 200, "earlier_generation": 1}
    elected = {"type": "share", "members": 2, "protocol": "share-simple", "leader_id": None, "refused": None}
    tables = {
        MEMBERS.name: [row | {"member_id": f"w{k}", "subscription": each} for k, each in enumerate(subscriptions, 1)],
        ELECTIONS.name: [elected],
        BALANCE.name: [BALANCED | (balance or {})],
        COSTS.name: [COSTS_OF_ROLLOUT | (costs or {})],
        **(beside or {}),
    }
    known = topics or TopicFacts(partitions={("c", "jobs"): 4, ("c", "mails"): 1})
    return Group("c", "workers", defaultdict(list, tables), Brokers(release), known)


def found(group: Group) -> dict[str, Any]:
    families = ("migration", "balance", "leaders", "risks", "keys", "rollouts", "tasks")
    return {each.kind.name: each for name in families for each in FAMILIES[name].findings(group, Thresholds())}


def test_a_rollout_of_a_share_group_has_its_own_words() -> None:
    cost = found(sharing())["rollout-cost"]
    assert cost.description == (
        "rolling restart: 4 epochs and 6 partition moves; time in which no member has a partition: mean 2.0 s, p99 "
        "3.0 s, max 3.0 s"
    )
    assert (cost.recommendation, cost.settings, cost.figures["epochs"]) == (None, {}, 4)
    assert "rebalances" not in cost.figures


def test_nothing_is_found_that_cannot_apply() -> None:
    """Neither static members with one id, nor offsets, nor keys whose order a share group does not keep."""
    lag: dict[str, Any] = {
        "topic": "jobs",
        "lag": 90_000,
        "max_partition_lag": 90_000,
        "max_lag_partition": 1,
        "lag_partitions": 1,
    }
    lag |= {"unknown_partitions": 0, "max_lag_committed_at_ms": None, "negative_partitions": 1, "max_negative": 4}
    lag |= {"max_negative_partition": 0}
    load = {"partition": 1, "records": 9000, "times": 5.0, "mean_records": 1800, "p99_records": 9000}
    keys = KeyFacts(
        shared={},
        conflicts={("c", "jobs"): {"keys": 9, "keys_conflicting": 4, "keys_split": 4}},
        clients={("c", "jobs"): ("java", "librdkafka")},
        moved={("c", "jobs"): {"keys": 9, "keys_moved": 3}},
        loads={("c", "jobs"): load},
        grown={("c", "jobs"): {"keys": 9, "keys_moved": 3, "partitions": 4, "partitions_after": 6}},
    )
    beside: dict[str, list[dict[str, Any]]] = {TOPIC_LAG.name: [lag], OFFSETS.name: [{}]}
    group = sharing(topics=TopicFacts(partitions={("c", "jobs"): 4}, keys=keys), beside=beside)
    assert found(group).keys() == {"other-kind-of-group", "rollout-cost", "hot-partition"}
    assert "key" in str(found(group)["hot-partition"].recommendation)


def test_more_members_than_partitions_are_no_fault() -> None:
    shown = found(sharing(balance={"members": 8, "partitions": 2, "min": 1, "max": 1})).keys()
    assert shown == {"other-kind-of-group", "rollout-cost"}


@pytest.mark.parametrize(
    ("release", "least", "most", "is_found"),
    [("4.1", 1, 4, True), ("4.1", 1, 3, False), ("4.2", 1, 4, False), ("4.3", 1, 9, False)],
)
def test_an_imbalance_is_found_where_an_upgrade_of_the_brokers_ends_it(
    release: str, least: int, most: int, is_found: bool
) -> None:
    group = sharing(release, balance={"min": least, "max": most})
    imbalance = found(group).get("imbalance")
    assert (imbalance is not None) is is_found
    if imbalance is not None:
        assert imbalance.description == (
            "1 to 4 partitions per member under share-simple, although all subscribe to the same topics"
        )
        assert str(imbalance.recommendation).startswith("Upgrade the brokers to Kafka 4.2")
    others = sharing(release, balance={"min": least, "max": most}, subscriptions=(["jobs", "mails"], ["jobs"]))
    assert "imbalance" not in found(others)


def test_an_assignor_that_fails_and_partitions_without_a_subscriber_are_errors() -> None:
    message = "Kafka's assignor throws PartitionAssignorException"
    fails = found(sharing("4.1", balance={"error": message}, costs={"error": message}))
    assert fails.keys() == {"assignment-fails", "other-kind-of-group"}
    assert fails["assignment-fails"].description.endswith(f"no new target assignment: {message}")
    lost = [{"topic": "jobs", "partition": 2, "member_id": "w1"}]
    nobody = found(sharing("4.1", balance={"unconsumed": 1, "first_unconsumed": lost}))["partitions-not-consumed"]
    assert nobody.description == (
        "1 of 4 partitions have no member that subscribes to their topic: 1 (jobs-2 to w1) is assigned to members "
        "without a subscription to the topic"
    )


def test_the_note_says_what_is_not_predicted() -> None:
    note = found(sharing())["other-kind-of-group"]
    assert note.description.endswith("its assignment and its rollout are predicted, but not its lag")
    note = found(sharing(costs={"error": "event fail-store is not simulated"}))["other-kind-of-group"]
    assert note.description.endswith("neither its lag nor its rollouts: event fail-store is not simulated")
    assert "rollout-cost" not in found(sharing(costs={"error": "x"}))


@pytest.mark.parametrize(
    ("costs", "kind", "end"),
    [
        ({"failed": 1, "failure": "GROUP_MAX_SIZE_REACHED: w9, at 7 ms"}, "rollout-fails", "w9, at 7 ms"),
        ({"stable": False}, "rollout-unstable", "or partitions have no member, at the end"),
        ({"finished": False, "failure": "the rollout does not finish"}, "rollout-deadlock", "does not finish"),
    ],
)
def test_a_rollout_that_does_not_succeed_is_an_error(costs: dict[str, Any], kind: str, end: str) -> None:
    finding = found(sharing(costs=costs))[kind]
    assert finding.description.endswith(end)
    assert not any(name in str(finding.recommendation) for name in ("max.poll", "group.instance.id", "session"))


def test_a_topic_that_does_not_exist_is_found() -> None:
    missing = found(sharing(topics=TopicFacts(partitions={("c", "mails"): 4})))["topic-not-found"]
    assert missing.description.startswith("2 members subscribe to jobs")


@pytest.fixture(scope="module")
def audited(spark: SparkSession) -> dict[str, list[dict[str, Any]]]:
    owned = {"w1": (0, 3), "w2": (1, 2)}
    rows = [
        member(name, ["share-simple"], ["jobs"], group_id="workers", protocol_type="share", generation=7,
               owned=[{"topic": "jobs", "partition": number} for number in numbers])
        for name, numbers in owned.items()
    ]  # fmt: skip
    rows += [member(f"c{number}", ["range"], ["jobs"], group_id="consumers") for number in range(2)]
    topics = table(spark, TOPICS, [{"topic": "jobs", "partitions": 4, "topic_id": "AAAAAAAAAAAAAAAAAAAAAQ"}])
    outcomes = audit(table(spark, MEMBERS, rows), topics, kafka_version="4.3")
    names = ("findings", "verdicts", "costs", "advice", "rejects")
    return {name: [row.asDict(recursive=True) for row in outcomes[name].collect()] for name in names}


@pytest.mark.scale
def test_an_audit_simulates_the_rollout_of_share_groups_beside_those_of_consumers(
    audited: dict[str, list[dict[str, Any]]],
) -> None:
    costs = {row["group_id"]: row for row in audited["costs"]}
    assert {name: row["error"] for name, row in costs.items()} == {"workers": None, "consumers": None}
    assert (costs["workers"]["events"], costs["workers"]["stable"], costs["workers"]["finished"]) == (2, True, True)
    assert costs["workers"]["rebalances"] == 4
    assert 0 < costs["workers"]["max_unowned_ms"] <= 10_000
    of_workers = [row for row in audited["findings"] if row["group_id"] == "workers"]
    shown = {(row["kind"], row["family"], row["confidence"]) for row in of_workers}
    assert shown == {("other-kind-of-group", "leaders", "certain"), ("rollout-cost", "rollouts", "simulated")}
    assert all(row["settings"] is None and row["recommendation"] is None for row in of_workers)
    assert {row["group_id"] for row in audited["advice"]} == {"consumers"}
    (verdict,) = [row for row in audited["verdicts"] if row["group_id"] == "workers"]
    assert (verdict["group_kind"], verdict["migration"]) == (GroupKind.SHARE, "no")
    assert (verdict["settings"], verdict["rollout_setting"], verdict["rollout_turns"]) == (None, None, None)
    assert audited["rejects"] == []
