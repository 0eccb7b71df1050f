"""Connect clusters in an audit: what runs where, what a restart does, and how certain that is."""

from typing import Any

import pytest
from pyspark.sql import Row, SparkSession

from rebalance_sim.api.audit import AuditOptions, audit
from rebalance_sim.tables import CONNECTORS, REJECTS, TOPICS, WORKERS
from tests.support.audited_fleet import Rows
from tests.support.rows import members, table

pytestmark = pytest.mark.scale
Found = dict[tuple[str, str], Row]
"""Findings by group and kind."""
KNOWN = {"client_version": "4.1.0", "max_delay_ms": 0, "session_timeout_ms": 10_000}


def workers(cluster: str, *tasks: list[int], **more: Any) -> Rows:
    """Return the workers of a cluster, of which everything is known, with their tasks; the first runs the connector."""
    return [
        {
            "group_id": cluster,
            "member_id": f"w{number}",
            "join_order": number,
            "connectors": ["c"] if number == 0 else [],
            "tasks": [{"connector": "c", "task": task} for task in of_worker],
        }
        | KNOWN
        | more
        for number, of_worker in enumerate(tasks)
    ]


FLEET: Rows = [
    *workers("balanced", [0, 1], [2, 3]),
    *workers("gap", [0], [2]),
    *workers("old", [0, 1], [2, 3], [], client_version="3.3"),
    *workers("new", [0, 1, 2, 3], []),
    *workers("eager", [0, 1, 2, 3], [], protocol="default"),
    *workers("nearly", [0, 1], [2, 3], []),
    *workers("spare", [0], [1], []),
    *workers("delayed", [0, 1], [2, 3], [4, 5], max_delay_ms=300_000),
    *workers("unknown", [0, 1], [2, 3], [4, 5], max_delay_ms=None, client_version=None),
    *workers("keeps-lost", [0, 1], [2, 3], [4, 5], client_version="3.5", max_delay_ms=300_000),
    *workers("unread", [0], [2]),
    *workers("waits", [0], [1], pending_delay_ms=60_000),
]
TASKS = {"delayed": 6, "unknown": 6, "keeps-lost": 6, "gap": 3, "unread": 3, "spare": 2, "without-workers": 1}


def found(spark: SparkSession, rows: Rows, configured: bool, **options: Any) -> Found:
    """Audit Connect clusters; return the findings by group and kind."""
    given: AuditOptions = {"workers": table(spark, WORKERS, rows), **options}  # type: ignore[typeddict-item]
    if configured:
        names = [*dict.fromkeys(row["group_id"] for row in rows), "without-workers"]
        of = [{"group_id": name, "connector": "c", "tasks": TASKS.get(name, 4)} for name in names]
        given["connectors"] = table(spark, CONNECTORS, of)
    audited = audit(members(spark), table(spark, TOPICS, [{"topic": "t", "partitions": 1}]), **given)
    assert {row["group_kind"] for row in audited.verdicts.collect()} == {"connect"}
    return {(row["group_id"], row["kind"]): row for row in audited.findings.collect()}


@pytest.fixture(scope="module")
def found_now(spark: SparkSession) -> Found:
    reject = {"table": WORKERS.name, "group_id": "unread", "row": "{}", "reason": "version: 2 bytes expected"}
    return found(spark, FLEET, configured=True, kafka_version="4.3", rejects=table(spark, REJECTS, [reject]))


@pytest.fixture(scope="module")
def running(spark: SparkSession) -> Found:
    """Audit the same without a table of connectors."""
    return found(spark, FLEET, configured=False, kafka_version="4.3", scenario="deployment")


def test_a_balanced_cluster_has_only_the_cost_of_restarts(found_now: Found) -> None:
    assert {kind for group, kind in found_now if group == "balanced"} == {"restart-of-workers"}
    cost = found_now["balanced", "restart-of-workers"]
    assert (cost["confidence"], cost["scenario"], cost["members"]) == ("simulated", "worker-restart", 2)
    assert cost["description"] == (
        "if each worker but the leader restarts, and is away for 6.0 s: 0 of 5 connectors and tasks end on another "
        "worker, 4 starts, and each is without a worker for 2.4 s on average, at most 3.0 s at a time, with "
        "scheduled.rebalance.max.delay.ms=0"
    )


def test_a_restart_within_the_delay_moves_nothing_and_takes_as_long_as_the_delay(found_now: Found) -> None:
    cost = found_now["delayed", "restart-of-workers"]["figures"]
    assert (cost["moved_tasks"], cost["started"], cost["max_down_ms"]) == (0, 4, 303_000)


def test_what_runs_nowhere(found_now: Found, running: Found) -> None:
    """Without the connectors' configurations, a task below one that runs is only assumed to be configured."""
    gap = found_now["gap", "tasks-not-running"]
    assert gap["description"] == "1 of 4 connectors and tasks run on no worker: c-1"
    assert gap["confidence"] == "certain"
    assert running["gap", "tasks-not-running"]["confidence"] == "assumed"
    alone = found_now["without-workers", "tasks-not-running"]
    assert (alone["members"], alone["recommendation"]) == (0, "Start a worker of the cluster.")


def test_nothing_is_said_of_what_an_unread_worker_may_run(found_now: Found) -> None:
    assert {kind for group, kind in found_now if group == "unread"} == {"rejected-rows", "restart-of-workers"}
    assert found_now["unread", "restart-of-workers"]["confidence"] == "assumed"


def test_imbalance_and_which_releases_remove_it(found_now: Found) -> None:
    spread, unspread = (found_now[group, "tasks-imbalanced"]["recommendation"] for group in ("new", "old"))
    assert spread.startswith("The next rebalance leads to 2 tasks per worker, and 2 connectors and tasks move: start")
    assert unspread == (
        "The next rebalance leaves it so. Workers of Kafka 3.4 and newer are balanced by it (KAFKA-12495)."
    )
    assert "eager" in {group for group, kind in found_now if kind == "tasks-imbalanced"}
    assert found_now["nearly", "tasks-imbalanced"]["description"] == (
        "0 to 2 tasks per worker, 1 to 2 if they were spread evenly"
    )
    spare = found_now["spare", "more-members-than-tasks"]
    assert spare["description"] == "1 worker runs no connector and no task: 3 workers for 2 tasks"
    assert ("spare", "tasks-imbalanced") not in found_now


def test_a_pending_delay_explains_what_does_not_run(found_now: Found, running: Found) -> None:
    waits = found_now["waits", "tasks-wait-for-delay"]
    assert waits["description"] == (
        "the last rebalance has scheduled another one within 60 s: 2 connectors and tasks run on no worker, and wait "
        "for it: c-2, c-3"
    )
    assert ("waits", "tasks-not-running") not in found_now
    assert running["waits", "tasks-wait-for-delay"]["description"].endswith(
        "what a departed worker ran may wait for it"
    )


def test_the_delay_with_the_least_downtime_and_what_it_depends_on(found_now: Found) -> None:
    delay = found_now["delayed", "delay-of-lost-tasks"]
    assert delay["settings"] == {"scheduled.rebalance.max.delay.ms": "0"}
    assert delay["confidence"] == "simulated"
    assert delay["recommendation"] == (
        "Set scheduled.rebalance.max.delay.ms=0 on all workers, and restart them one after the other. It costs 4 more "
        "starts of connectors and tasks. This holds if a connector or task starts within 7 s (0 s assumed); if it "
        "takes longer, 10000 is best."
    )
    assert delay["saving"]["share"] > 0.9


@pytest.mark.parametrize("group", ["unknown", "keeps-lost"])
def test_no_delay_is_not_recommended_to_workers_that_may_leave_tasks_unassigned(found_now: Found, group: str) -> None:
    """Before 3.5.2 a delay of 0 leaves them so (KAFKA-15693)."""
    delay = found_now[group, "delay-of-lost-tasks"]
    assert delay["settings"] == {"scheduled.rebalance.max.delay.ms": "10000"}
    assert delay["recommendation"].endswith("of 3.6.0, then leave lost tasks unassigned (KAFKA-15693).")
    assert (delay["confidence"] == "assumed") == (group == "unknown")
    assert ("(the default, 300000, is assumed)" in delay["description"]) == (group == "unknown")


def test_the_members_of_restarted_workers_do_not_decide(spark: SparkSession, found_now: Found) -> None:
    """They are random; the leader, which would be followed by a random one, does not restart."""
    others = found(spark, FLEET, configured=True, kafka_version="4.3", seed=7)
    kinds = {key for key in found_now if key[1] == "delay-of-lost-tasks"}
    assert kinds == {key for key in others if key[1] == "delay-of-lost-tasks"}
    assert [found_now[key]["settings"] for key in kinds] == [others[key]["settings"] for key in kinds]
