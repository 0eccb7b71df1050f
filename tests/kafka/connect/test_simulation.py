"""Simulated Connect clusters: what restarts, crashes, new workers and changed connectors cost, by release."""

import random

import pytest

from rebalance_sim.kafka.connect.simulation import ClusterEvent, ClusterSettings, ConnectCluster, WorkerRow
from rebalance_sim.kafka.wire.connect_protocol import EAGER, SESSIONED, ConnectorTaskId
from rebalance_sim.releases import ConnectRules

NEWEST = ConnectRules.WITHOUT_DELAY
RESTART = [ClusterEvent(10_000, "restart", 1, down_ms=20_000)]
"""Of a worker that does not lead."""


def _played(events: list[ClusterEvent], rules: ConnectRules = NEWEST, **settings: object) -> ConnectCluster:
    """Play events in a cluster of three workers, each with a connector and its four tasks."""
    names = ("a", "b", "c")
    rows = [WorkerRow(f"{n}-1", n, (n,), tuple(ConnectorTaskId(n, k) for k in range(4))) for n in names]
    of = ClusterSettings(rules, **{"protocol": SESSIONED, **settings})  # type: ignore[arg-type]
    cluster = ConnectCluster(rows, dict.fromkeys(names, 4), of)
    cluster.play(events)
    return cluster


def test_a_restarted_worker_gets_its_tasks_back_when_the_delay_ends() -> None:
    cluster = _played(RESTART)
    found = [(row.at_ms, row.unassigned, row.delay_ms) for row in cluster.rebalances]
    assert found == [(13_000, 5, 300_000), (34_000, 5, 279_000), (313_000, 0, 0)]
    assert cluster.is_stable
    assert cluster.downtimes.longest_ms == 303_000
    assert cluster.downtimes.starts == 5
    assert [len(process.worker.tasks) for process in cluster.members.values()] == [4, 4, 4]


def test_without_a_delay_the_tasks_move_and_move_back() -> None:
    cluster = _played(RESTART, max_delay_ms=0)
    assert [(row.started, row.stopped) for row in cluster.rebalances] == [(5, 0), (0, 5), (5, 0)]
    assert cluster.downtimes.longest_ms == 3_000


def test_before_3_5_2_a_delay_of_0_leaves_lost_tasks_unassigned_until_the_next_rebalance() -> None:
    cluster = _played([ClusterEvent(0, "leave", 1)], ConnectRules.BALANCED, max_delay_ms=0)
    assert [row.unassigned for row in cluster.rebalances] == [5]
    assert not cluster.is_stable


def test_a_new_leader_knows_of_no_lost_tasks() -> None:
    cluster = _played([ClusterEvent(0, "leave", 0)])
    (row,) = cluster.rebalances
    assert (row.started, row.delay_ms) == (5, 0)
    assert row.leader in ("b", "c")


def test_the_tasks_of_a_crashed_worker_wait_for_its_session_and_for_the_delay() -> None:
    cluster = _played([ClusterEvent(0, "crash", 1)])
    assert [row.at_ms for row in cluster.rebalances] == [13_000, 313_000]
    assert cluster.rebalances[0].reason == "worker b timed out"


def test_a_rebalance_waits_for_a_crashed_worker() -> None:
    cluster = _played([ClusterEvent(0, "crash", 1), ClusterEvent(1_000, "join", 3)])
    assert [row.at_ms for row in cluster.rebalances][:1] == [10_000]
    assert cluster.rebalances[0].workers == 3


def test_eager_workers_stop_everything() -> None:
    cluster = _played(RESTART, protocol=EAGER)
    assert [row.started for row in cluster.rebalances] == [15, 15]
    assert sum(cluster.downtimes.total_ms.values()) == 2 * 15 * 3_000


def test_a_new_connector_gets_its_tasks_once_it_runs() -> None:
    cluster = _played([ClusterEvent(0, "configure", connector="d", tasks=3)])
    found = [(row.reason, row.started) for row in cluster.rebalances]
    assert found == [("connector d was added", 1), ("connector d has its tasks", 3)]


def test_a_deleted_connector_is_stopped_with_its_tasks_and_the_rest_is_balanced() -> None:
    cluster = _played([ClusterEvent(0, "configure", connector="a"), ClusterEvent(60_000, "configure", connector="a")])
    found = [(row.reason, row.stopped, row.started) for row in cluster.rebalances]
    assert found == [("connector a was deleted", 5 + 2, 0), ("workers stopped what was revoked", 0, 2)]


@pytest.mark.parametrize("rules", [rules for rules in ConnectRules if rules is not ConnectRules.EAGER])
def test_every_configured_task_runs_once_in_the_end(rules: ConnectRules, seed: int) -> None:
    """With a delay, every cluster ends with one worker for each connector and task, whatever happens to it."""
    rng = random.Random(seed)
    for _ in range(20):
        kinds = ("restart", "leave", "crash", "join", "configure")
        events = [
            ClusterEvent(
                rng.randrange(10**6), kind, rng.randrange(1, 6), 20_000, rng.choice("abcdef"), rng.choice((1, 3, 9))
            )
            for kind in rng.choices(kinds, k=8)
        ]
        cluster = _played(events, rules, max_delay_ms=rng.choice((1_000, 300_000)))
        running = [
            resource
            for process in cluster.members.values()
            for resource in (*process.worker.connectors, *process.worker.tasks)
        ]
        tasks = [ConnectorTaskId(name, k) for name, total in cluster.connectors.items() for k in range(total)]
        assert sorted(map(str, running)) == sorted(map(str, [*cluster.connectors, *tasks]))
        assert cluster.is_stable
