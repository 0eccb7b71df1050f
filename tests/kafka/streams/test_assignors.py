"""How the task assignors differ, on small applications, and what holds for every assignment."""

from uuid import UUID

import pytest

from rebalance_sim.kafka.streams.application_batch import AssignmentConfigs, Client, TaskAssignment, applications
from rebalance_sim.kafka.streams.applications import ACTIVE, LATEST_OFFSET, NONE, STANDBY, WARMUP, Applications
from rebalance_sim.kafka.streams.assignors import FALLBACK_PRIOR, HIGH_AVAILABILITY, STICKY, assign_tasks
from rebalance_sim.kafka.streams.threads import assign_threads
from rebalance_sim.kafka.wire.streams_protocol import TaskId
from rebalance_sim.releases import KafkaStreamsRules, kafka_version
from tests.oracle.kafka_streams_cases import application_cases
from tests.support.examples import scaled
from tests.support.streams_applications import task_assignment

NEWEST = kafka_version("4.3").kafka_streams
TASKS = [TaskId(0, partition) for partition in range(4)]
A, B = UUID(int=1), UUID(int=2)


def one_client_had_all(configs: AssignmentConfigs, lag: int) -> TaskAssignment:
    """Return an application to which a second process has been added."""
    old = Client(A, {"a": TASKS}, frozenset(TASKS), lags=dict.fromkeys(TASKS, LATEST_OFFSET))
    new = Client(B, {"b": []}, lags=dict.fromkeys(TASKS, lag))
    return TaskAssignment([old, new], TASKS, TASKS, configs)


def states(
    assignor: str, assignment: TaskAssignment, rules: KafkaStreamsRules = NEWEST
) -> tuple[list[list[int]], bool]:
    batch = applications([assignment], rules)
    tasks = assign_tasks(assignor, batch, rules)
    return tasks.states.reshape(2, len(TASKS)).tolist(), bool(tasks.probing[0])


def test_a_new_process_warms_up_before_it_gets_tasks() -> None:
    found, probing = states(HIGH_AVAILABILITY, one_client_had_all(AssignmentConfigs(max_warmup_replicas=1), 50_000))
    assert found == [[ACTIVE] * 4, [NONE, WARMUP, NONE, NONE]]
    assert probing


def test_a_caught_up_process_gets_tasks_at_once() -> None:
    found, probing = states(HIGH_AVAILABILITY, one_client_had_all(AssignmentConfigs(), 10_000))
    assert found == [[ACTIVE, NONE, ACTIVE, NONE], [NONE, ACTIVE, NONE, ACTIVE]]
    assert not probing


def test_sticky_moves_half_of_the_tasks_at_once() -> None:
    found, probing = states(STICKY, one_client_had_all(AssignmentConfigs(), 50_000))
    assert [row.count(ACTIVE) for row in found] == [2, 2]
    assert not probing


def test_the_fallback_moves_nothing() -> None:
    found, probing = states(FALLBACK_PRIOR, one_client_had_all(AssignmentConfigs(), 50_000))
    assert found == [[ACTIVE] * 4, [NONE] * 4]
    assert probing


def test_standby_tasks_go_to_the_other_zone() -> None:
    configs = AssignmentConfigs(num_standby_replicas=1, rack_aware_tags=("zone",))
    zones = ("x", "x", "y")
    clients = [
        Client(UUID(int=k), {f"c{k}": []}, lags={TASKS[0]: 0}, tags={"zone": zone}) for k, zone in enumerate(zones)
    ]
    assignment = TaskAssignment(clients, TASKS[:1], TASKS[:1], configs)
    for rules, row in ((NEWEST, [ACTIVE, NONE, STANDBY]), (KafkaStreamsRules.KIP_441, [ACTIVE, STANDBY, NONE])):
        assert assign_tasks(HIGH_AVAILABILITY, applications([assignment], rules), rules).states.tolist() == row


@pytest.mark.parametrize("release", ["2.6", "3.2", "3.9"])
def test_invariants(release: str, seed: int) -> None:
    """Each task is active once, standby tasks are within bounds, and threads get what their process got."""
    rules = kafka_version(release).kafka_streams
    cases = list(application_cases(seed, scaled(600), tags=True))
    for assignor in (HIGH_AVAILABILITY, STICKY, FALLBACK_PRIOR):
        own = [task_assignment(case) for case in cases if case["config"]["assignor"] == assignor]
        batch = applications(own, rules)
        tasks = assign_tasks(assignor, batch, rules)
        threads = assign_threads(batch, tasks.states, int(rules))
        assert ((threads.consumers >= 0) == (tasks.states != NONE)).all()
        for a in range(len(own)):
            assert_application_is_assigned(batch, a, tasks.states, own[a].configs)


def assert_application_is_assigned(batch: Applications, a: int, found: object, configs: AssignmentConfigs) -> None:
    n_clients = batch.clients[a + 1] - batch.clients[a]
    rows = found[batch.cells[a] : batch.cells[a + 1]].reshape(n_clients, -1)  # type: ignore[index]
    stateful = batch.stateful[batch.tasks[a] : batch.tasks[a + 1]]
    assert ((rows == ACTIVE).sum(axis=0) == 1).all()
    standby = (rows >= STANDBY).sum(axis=0)
    assert (standby[~stateful] == 0).all()
    assert (standby <= configs.num_standby_replicas + configs.max_warmup_replicas).all()
    assert (rows == WARMUP).sum() <= configs.max_warmup_replicas


@pytest.mark.parametrize(("partitions", "uncertain"), [(8, False), (9, True)])
def test_nine_tasks_in_a_bucket_are_uncertain(partitions: int, uncertain: bool) -> None:
    """Up to 2.8 the hash code of a task is the sum of its numbers."""
    tasks = [TaskId(subtopology, partition) for subtopology in range(9) for partition in range(partitions)]
    rules = KafkaStreamsRules.KIP_441
    batch = applications([TaskAssignment([Client(A, {"a": []})], tasks, [])], rules)
    found = assign_tasks(STICKY, batch, rules)
    assert found.uncertain.tolist() == [uncertain]
    assert assign_threads(batch, found.states, int(rules)).uncertain.tolist() == [uncertain]
