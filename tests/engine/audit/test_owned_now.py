"""The balance of groups that cannot be predicted, from what their members own."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from rebalance_sim import audit
from rebalance_sim.engine.audit.finding import Finding
from rebalance_sim.engine.audit.group import OWNED_NOW, Group, TopicFacts
from rebalance_sim.engine.audit.judgement import FAMILIES
from rebalance_sim.engine.audit.thresholds import Thresholds
from rebalance_sim.kafka.clients import LIBRARIES
from rebalance_sim.tables import BALANCE, COMPARISON, MEMBERS, TOPICS
from tests.engine.audit.test_audits import group_of
from tests.support.rows import table

FIGURES = {"idle_members": 0, "max": 3, "topic_spread": 1, "moved": 2, "unconsumed": 0, "excess_max": 0}
FIGURES |= {"co_partitioned_topics": 0}


def owning(counts: Sequence[int], bounds: dict[str, int] | None = None, **more: Any) -> Group:
    """Return a group of Sarama's sticky whose members own so many partitions of a topic."""
    optimum = {"idle_members": 0, "max": -(-sum(counts) // len(counts)), "balance_exact": True}
    rows: dict[str, Any] = {
        BALANCE.name: {"error": "sarama: sticky cannot be predicted", "bounds": bounds, "alternatives": ()},
        COMPARISON.name: {"optimum": optimum, "strategies": [("sarama-range", FIGURES)]},
    }
    group = group_of(**rows)
    columns = {"client_library": "sarama", "client_version": "1.61.1", "protocols": ["sticky"]} | more
    first = group.rows[MEMBERS.name][0]
    members = [{**first, **columns, "member_id": "abcdef"[place]} for place in range(len(counts))]
    owned = [
        {"member_id": row["member_id"], "topic": "t", "partitions": count}
        for row, count in zip(members, counts, strict=True)
        if count
    ]
    tables = {**group.rows, MEMBERS.name: members, OWNED_NOW: owned}
    return replace(group, rows=tables, topics=TopicFacts(partitions={("c", "t"): sum(counts)}))


def of(group: Group) -> dict[str, Finding]:
    return {each.kind.name: each for each in FAMILIES["balance"].findings(group, Thresholds())}


def test_members_without_partitions_are_found_without_a_prediction() -> None:
    found = of(owning([3, 3, 0]))["idle-members"]
    assert found.description == "1 member owns no partition now, although 6 partitions are enough for 3 members"
    assert (found.recommendation or "").startswith("Use range")
    assert found.settings == {"Consumer.Group.Rebalance.GroupStrategies": "sarama.NewBalanceStrategyRange()"}


def test_an_imbalance_is_found_without_a_prediction() -> None:
    found = of(owning([6, 1, 2]))
    assert (
        found["imbalance"].description == "the members own 1 to 6 partitions now, although no member needs more than 3"
    )
    assert "idle-members" not in found
    assert "imbalance" not in of(owning([4, 3, 2]))


def test_a_topic_on_one_member_is_found_without_a_prediction() -> None:
    found = of(owning([6, 0]))["topic-on-one-member"]
    assert found.description == (
        "one member owns all partitions of a topic now, although others subscribe to it: t (6 partitions on a)"
    )


def test_no_assignor_is_recommended_that_is_no_better() -> None:
    group = owning([6, 1, 2])
    (comparison,) = group.rows[COMPARISON.name]
    worse = {**comparison, "strategies": [("sarama-range", {**FIGURES, "max": 6})]}
    found = of(replace(group, rows={**group.rows, COMPARISON.name: [worse]}))["imbalance"]
    assert found.settings == {}
    assert found.recommendation == (
        "No assignor of sarama whose assignment can be predicted helps. The next rebalance may divide the partitions "
        "otherwise."
    )


@pytest.mark.parametrize("name", ["max", "idle_members_max"])
def test_what_the_next_rebalance_ends_is_not_found(name: str) -> None:
    bounds = {"max": 9, "idle_members_max": 9}
    kinds = {"max": "imbalance", "idle_members_max": "idle-members"}
    assert set(kinds.values()) <= of(owning([9, 0, 0], bounds)).keys()
    after = of(owning([9, 0, 0], bounds | {name: 3 if name == "max" else 0}))
    assert set(kinds.values()) - after.keys() == {kinds[name]}


def test_incomplete_or_passing_ownership_is_not_judged() -> None:
    group = owning([6, 0])
    half = [{"member_id": "a", "topic": "t", "partitions": 3}]
    assert not of(replace(group, rows={**group.rows, OWNED_NOW: half}))
    assert not of(replace(group, rows={**group.rows, OWNED_NOW: []}))
    assert not of(owning([6, 0], group_state="PreparingRebalance"))


UNPREDICTED = [
    (record.name, assignor.protocol)
    for record in LIBRARIES.values()
    for assignor in record.assignors
    if assignor.unpredictable
]
"""Libraries with the assignors that cannot be predicted; an unknown one of a user is not predicted either."""


def test_members_of_every_library_without_partitions_are_found(spark: SparkSession) -> None:
    """Unless the bounds of the group show that the next rebalance gives them some."""
    cases = [*UNPREDICTED, ("java", "my-own")]
    everything = [{"topic": "t", "partition": number} for number in range(6)]
    rows = [
        {"group_id": f"{library} {assignor}", "client_library": library, "member_id": name, "protocols": [assignor]}
        | {"subscription": ["t"], "join_order": place, "owned": owned, "generation": 1}
        for library, assignor in cases
        for place, (name, owned) in enumerate((("a", everything), ("b", [])))
    ]
    topics = table(spark, TOPICS, [{"topic": "t", "partitions": 6}])
    audited = audit(table(spark, MEMBERS, rows), topics)
    found = audited.findings.where("kind = 'idle-members' AND description LIKE '% now, %'").collect()
    bounds = {row["group_id"]: row["bounds"] for row in audited[BALANCE.name].where("error IS NOT NULL").collect()}
    assert bounds.keys() == {f"{library} {assignor}" for library, assignor in cases}
    lasting = {group for group, of in bounds.items() if of is None or of["idle_members_max"] > 0}
    assert {row["group_id"] for row in found} == lasting
    assert "java my-own" in lasting
