"""Applications of Kafka Streams in an audit: who has which tasks, what a stop restores, and how certain that is."""

from collections.abc import Sequence
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession

from rebalance_sim.api.audit import audit
from rebalance_sim.tables import STREAMS_MEMBERS, SUBTOPOLOGIES, TOPICS
from tests.support.audited_fleet import Rows
from tests.support.rows import members, table

pytestmark = pytest.mark.scale
Found = dict[tuple[str, str], Row]
"""Findings by group and kind."""
CLASSIC: dict[str, Any] = {"protocol": "classic"}


def threads(
    group: str, *tasks: Sequence[int], standby: Sequence[Sequence[int]] = (), processes: Sequence[int] = (), **more: Any
) -> Rows:
    """Return the threads of an application with their active and standby tasks, by default one per process."""
    return [
        {
            "group_id": group,
            "member_id": f"{group}-{number}",
            "join_order": number,
            "process_id": f"00000000-0000-4000-8000-{processes[number] if processes else number:012d}",
            "active": [{"subtopology": "0", "partition": task} for task in of_thread],
            "standby": [{"subtopology": "0", "partition": task} for task in (standby[number] if standby else ())],
        }
        | more
        for number, of_thread in enumerate(tasks)
    ]


FLEET: Rows = [
    *threads("classic", [0, 1], [2, 3], **CLASSIC),
    *threads("with-standbys", [0, 1], [2, 3], standby=[[2, 3], [0, 1]], **CLASSIC),
    *threads("stateless", [0, 1], [2, 3], **CLASSIC),
    *threads("one-process", [0, 1], [2, 3], processes=[1, 1], **CLASSIC),
    *threads("warms-up", [0, 1, 2, 3], [], **CLASSIC),
    *threads("without-topology", [0, 1, 2, 3], [], **CLASSIC),
    *threads("streams", [0, 1], [2, 3]),
    *threads("imbalanced", [0, 1, 2, 3], []),
    *threads("idle", [0, 1], [2, 3], [], [], [], processes=[1, 1, 2, 2, 3]),
]
STATELESS = ("stateless",)


@pytest.fixture(scope="module")
def found(spark: SparkSession) -> Found:
    names = dict.fromkeys(row["group_id"] for row in FLEET if row["group_id"] != "without-topology")
    parts = [
        {"group_id": name, "subtopology": "0", "topics": ["orders"], "stateful": name not in STATELESS}
        | {"standby_replicas": 1 if name == "with-standbys" else None}
        for name in names
    ]
    audited = audit(
        members(spark),
        table(spark, TOPICS, [{"topic": "orders", "partitions": 4}]),
        streams_members=table(spark, STREAMS_MEMBERS, FLEET),
        subtopologies=table(spark, SUBTOPOLOGIES, parts),
        kafka_version="4.3",
    )
    kinds = {row["group_id"]: row["group_kind"] for row in audited.verdicts.collect()}
    of_protocols = {row["group_id"]: "kafka-streams" if "protocol" in row else "streams" for row in FLEET}
    assert kinds == of_protocols
    return {(row["group_id"], row["kind"]): row for row in audited.findings.collect()}


def kinds_of(found: Found, group: str) -> set[str]:
    return {kind for name, kind in found if name == group}


@pytest.mark.parametrize(
    ("group", "setting"), [("classic", "num.standby.replicas"), ("streams", "streams.num.standby.replicas")]
)
def test_a_stop_restores_state_unless_there_are_standby_tasks(found: Found, group: str, setting: str) -> None:
    without = found[group, "no-standby-replicas"]
    assert (without["settings"], without["confidence"], without["members"]) == ({setting: "1"}, "assumed", 2)
    assert without["description"].endswith(
        "2 stateful tasks restore state from changelog topics on other processes: no task has a standby"
    )
    assert "no task restores state then" in without["recommendation"]
    assert without["saving"] == {"restored_saved": 2.0}
    assert found[group, "stop-of-process"]["figures"] == {"stopped_tasks": 2, "restored": 2, "standbys_started": 0}


@pytest.mark.parametrize("group", ["with-standbys", "stateless"])
def test_nothing_is_recommended_if_no_state_would_be_restored(found: Found, group: str) -> None:
    assert "no-standby-replicas" not in kinds_of(found, group)
    assert found[group, "stop-of-process"]["figures"]["restored"] == 0


def test_the_only_process_cannot_be_replaced(found: Found) -> None:
    assert kinds_of(found, "one-process") <= {"warm-ups-follow", "other-kind-of-group"}


def test_imbalanced_threads_and_what_the_next_rebalance_does(found: Found) -> None:
    spread, warms_up, unknown = (
        found[group, "tasks-imbalanced"] for group in ("imbalanced", "warms-up", "without-topology")
    )
    assert {row["description"] for row in (spread, warms_up, unknown)} == {
        "0 to 4 active tasks per thread, 2 if they were spread evenly"
    }
    assert {row["confidence"] for row in (spread, warms_up, unknown)} == {"certain"}
    assert spread["recommendation"] == (
        "The next rebalance, when a process starts or stops, leads to 2 tasks per thread: 2 tasks move, 2 restore "
        "their state."
    )
    assert "begins to warm tasks up on other processes" in warms_up["recommendation"]
    assert "warm-ups-follow" in kinds_of(found, "warms-up")
    assert unknown["recommendation"] is None


def test_an_application_without_a_topology_says_what_is_missing(found: Found) -> None:
    assert kinds_of(found, "without-topology") == {"tasks-imbalanced", "other-kind-of-group"}
    sentence = "no assignment is predicted: no topology: give --subtopologies"
    assert sentence in found["without-topology", "other-kind-of-group"]["description"]


def test_idle_threads_are_seen_only_if_there_are_fewer_tasks(found: Found) -> None:
    """Four tasks are enough for four of five threads."""
    assert found["idle", "tasks-imbalanced"]["description"] == (
        "0 to 2 active tasks per thread, 0 to 1 if they were spread evenly"
    )
