"""The committed captures of real clusters: what is predicted from them is what the brokers did."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from rebalance_sim.api.groups import cooperative_rebalances
from rebalance_sim.engine.groups.prediction import ELECTED, Prediction
from rebalance_sim.engine.tables.inputs import fit, fit_topics, usable
from rebalance_sim.engine.tables.outcomes import outcome
from rebalance_sim.engine.tables.topic_metadata import TopicMetadata
from rebalance_sim.kafka.assignors import ASSIGNORS
from rebalance_sim.kafka.brokers import Brokers, Clusters
from rebalance_sim.releases import NEWEST, kafka_version
from rebalance_sim.sources.kafka_tools.capture import read_capture
from rebalance_sim.tables import ASSIGNMENTS, BALANCE, ELECTIONS, MEMBERS

EXAMPLES = Path(__file__).parents[3] / "docs" / "examples"

# librdkafka's own assignors are another implementation: its range walks the topics in another order, so that only
# the sets of partitions are the same where its client leads the group.
LED_BY_LIBRDKAFKA = {"rdkafka-eager", "rdkafka-cooperative", "mixed-rdkafka-leads"}

Capture = tuple[dict[str, Any], DataFrame]


@pytest.fixture(scope="module", params=["4.3.1", "3.9.2"])
def capture(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[Capture]:
    """Return what a cluster did, by group, and what is predicted for it."""
    folder = EXAMPLES / f"kafka-{request.param}"
    truth: dict[str, Any] = json.loads(folder.with_name(f"{folder.name}.truth.json").read_text())["groups"]
    captured = read_capture(spark, str(folder))
    # The tools do not show in which order members joined; the broker's own log does.
    joined = [(g, m, i) for g, group in truth.items() for i, m in enumerate(group.get("join_order", []))]
    order = spark.createDataFrame(joined, "group_id string, member_id string, join_order long")
    members = captured.members.drop("join_order").join(F.broadcast(order), ["group_id", "member_id"], "left")
    metadata = TopicMetadata.of(usable(fit_topics(captured.topics)))
    outputs = (ELECTIONS.name, ASSIGNMENTS.name, BALANCE.name)
    predict = Prediction(outputs, Clusters(Brokers(request.param)), (ELECTED,), metadata)
    predicted = predict(usable(fit(members, MEMBERS))).cache()
    yield {name: group for name, group in truth.items() if group["state"] == "Stable"}, predicted
    predicted.unpersist()


def test_elections(capture: Capture) -> None:
    truth, predicted = capture
    elections = {row["group_id"]: row for row in predicted.transform(outcome(ELECTIONS.name)).collect()}
    elected = {name: (elections[name]["protocol"], elections[name]["leader_id"]) for name in truth}
    assert elected == {name: (protocol_of(group), group.get("leader")) for name, group in truth.items()}
    assert {name: elections[name]["type"] for name in truth} == {name: group["type"] for name, group in truth.items()}
    assert sum(elections[name]["tie"] for name in truth) == 3
    assert len(truth) >= 20


def test_assignments(capture: Capture) -> None:
    truth, predicted = capture
    assigned: dict[str, dict[str, list[list[object]]]] = {}
    for row in predicted.transform(outcome(ASSIGNMENTS.name)).collect():
        assigned.setdefault(row["group_id"], {})[row["member_id"]] = pairs(row["partitions"])
    compared = 0
    for name, group in truth.items():
        if protocol_of(group) in ASSIGNORS:
            compared += 1
            got, want = assigned[name], group["assignments"]
            if name in LED_BY_LIBRDKAFKA or ASSIGNORS[protocol_of(group)].remembers(kafka_version(NEWEST)):
                # What a stable group would do again: nobody loses anything, but the order in a member's list comes
                # from a past that the tools do not show.
                got, want = ({m: sorted(p) for m, p in side.items()} for side in (got, want))
            assert in_wire_order(got) == in_wire_order(want), name
    assert compared >= 20


@pytest.mark.parametrize("version", ["4.3.1", "3.9.2"])
def test_rebalances_of_a_cooperative_group(spark: SparkSession, version: str) -> None:
    """A third member joins; both recorded rebalances are predicted from the first two members' partitions."""
    folder = EXAMPLES / f"kafka-{version}"
    truth = json.loads(folder.with_name(f"{folder.name}.truth.json").read_text())["groups"]["late-cooperative"]
    first, second = truth["earlier"][-1], truth
    captured = read_capture(spark, str(folder))
    had = [(m, p, first["owned_generation"][m]) for m, p in first["owned"].items()]
    owned = spark.createDataFrame(
        had, "member_id string, owned array<struct<topic string, partition int>>, generation int"
    )
    late = captured.members.where("group_id = 'late-cooperative'").drop("owned", "generation")
    rebalances = cooperative_rebalances("elected", captured.topics, version)
    rows = late.join(owned, "member_id", "left").transform(rebalances).collect()
    for number, recorded in enumerate((first, second), 1):
        listed = [row for row in rows if row["rebalance"] == number]
        got = {row["member_id"]: pairs(row["partitions"]) for row in listed}
        assert in_wire_order(got) == in_wire_order(recorded["assignments"])
        lost = {m: [p for p in has if p not in got[m]] for m, has in recorded["owned"].items()}
        assert {row["member_id"]: pairs(row["revoked"]) for row in listed if row["member_id"] in lost} == lost
        assert {row["last"] for row in listed} == {number == 2}
    assert len(rows) == 6
    assert second["generation"] == first["generation"] + 1


def protocol_of(group: dict[str, Any]) -> str:
    """Return the elected protocol; for consumer-protocol groups, whose records lack it, the default assignor."""
    return str(group["protocol"]) if group["type"] == "classic" else "server-uniform"


def pairs(partitions: list[Row]) -> list[list[object]]:
    return [[partition["topic"], partition["partition"]] for partition in partitions]


def in_wire_order(assignments: dict[str, list[list[object]]]) -> dict[str, list[list[object]]]:
    """Put a member's partitions topic by topic: the assignment's bytes keep no more of the order."""
    ordered = {}
    for member, partitions in assignments.items():
        topics = list(dict.fromkeys(str(topic) for topic, _ in partitions))
        ordered[member] = sorted(partitions, key=lambda partition: topics.index(str(partition[0])))
    return ordered
