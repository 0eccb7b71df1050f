"""``HighAvailabilityTaskAssignor`` (KIP-441, since 2.6): the default task assignor of Kafka Streams.

It plans a balanced assignment first, and then leaves tasks where their state is until the planned clients have restored
it: as long as a movement is needed, a probing rebalance follows.
"""

import numpy as np

from rebalance_sim.kafka.runtime.hash_order import java_map_is_crowded
from rebalance_sim.kafka.runtime.kernel import inner_kernel, kernel
from rebalance_sim.kafka.runtime.strings import Flags
from rebalance_sim.kafka.streams.applications import (
    ACTIVE,
    NONE,
    STANDBY,
    Application,
    Applications,
    TaskAssignments,
    application,
    set_state,
    task_hashes,
)
from rebalance_sim.kafka.streams.client_queue import ANY, client_queue, offer_all, offer_client, poll_client
from rebalance_sim.kafka.streams.racks import Costs, optimize_active_tasks, optimize_standby_tasks, rack_costs
from rebalance_sim.kafka.streams.standby_tasks import allowed_movements, assign_standbys, assign_standbys_by_tag
from rebalance_sim.kafka.streams.task_movement import move_active_tasks, move_standby_tasks, movements

_TRAFFIC_COST, _NON_OVERLAP_COST = 10, 1
"""Default costs of stateful tasks."""


@kernel
def assign_highly_available(batch: Applications, rules: int) -> TaskAssignments:
    """Assign the tasks of all applications."""
    n = len(batch.clients) - 1
    states, probing, uncertain = np.zeros(batch.cells[n], np.uint8), np.zeros(n, np.bool_), np.zeros(n, np.bool_)
    for a in range(n):
        app = application(batch, a, states)
        costs = rack_costs(batch, a, _TRAFFIC_COST, _NON_OVERLAP_COST, True, rules)
        _plan_active_tasks(app)
        optimize_active_tasks(app, costs, True)
        _plan_standby_tasks(batch, a, app, costs)
        settings = batch.settings
        plan = movements(app, settings.acceptable_recovery_lag[a], settings.max_warmup_replicas[a], rules)
        count = move_active_tasks(app, plan) + move_standby_tasks(app, plan)
        _assign_stateless_tasks(app)
        optimize_active_tasks(app, costs, False)
        probing[a] = count > 0
        if batch.tags.aware[a]:
            stateful = np.flatnonzero(app.stateful).astype(np.int32)
            uncertain[a] = java_map_is_crowded(task_hashes(batch, a, rules), stateful)
    return TaskAssignments(states, probing, uncertain)


@kernel
def _plan_active_tasks(app: Application) -> None:
    """Assign stateful tasks in turn, as if every client had restored all of them (``assignActiveStatefulTasks``)."""
    n_clients, client = len(app.capacities), 0
    for task in range(len(app.stateful)):
        if app.stateful[task]:
            set_state(app, client, task, ACTIVE)
            client = (client + 1) % n_clients
    _balance(app, ACTIVE, np.ones(n_clients * n_clients, np.bool_))


@kernel
def _plan_standby_tasks(batch: Applications, a: int, app: Application, costs: Costs) -> None:
    """Likewise, assign standby tasks (``assignStandbyReplicaTasks``)."""
    replicas = batch.settings.num_standby_replicas[a]
    if replicas == 0:
        return
    first, end = batch.tags.keys[a], batch.tags.keys[a + 1]
    n_clients, place = len(app.capacities), batch.tags.places[a]
    values = batch.tags.values[place : place + n_clients * (end - first)]
    if batch.tags.aware[a]:
        configured, hashes = batch.tags.configured[first:end], task_hashes(batch, a, costs.rules)
        assign_standbys_by_tag(app, values, configured, replicas, hashes)
    else:
        assign_standbys(app, replicas)
    _balance(app, STANDBY, allowed_movements(n_clients, values, batch.tags.aware[a]))
    optimize_standby_tasks(app, costs)


@kernel
def _assign_stateless_tasks(app: Application) -> None:
    """Assign each stateless task to the client with the fewest active tasks per thread."""
    n_clients = len(app.capacities)
    queue, all_clients = client_queue(n_clients, True), np.ones(n_clients, np.bool_)
    offer_all(app, queue)
    for task in range(len(app.stateful)):
        if not app.stateful[task]:
            client = poll_client(app, queue, task, ANY, all_clients)
            set_state(app, client, task, ACTIVE)
            offer_client(app, queue, client)


@inner_kernel
def _balance(app: Application, state: int, allowed: Flags) -> None:
    """Move active or standby tasks from clients with more of all tasks per thread to clients with fewer.

    ``balanceTasksOverThreads``.
    ``allowed``: whether tasks may move from one client to another, in a row per source.
    """
    n_clients = len(app.capacities)
    moved = True
    while moved:
        moved = False
        for source in range(n_clients):
            for destination in range(n_clients):
                if source != destination and allowed[source * n_clients + destination]:
                    moved = _move_tasks(app, source, destination, state) or moved


@inner_kernel
def _move_tasks(app: Application, source: int, destination: int, state: int) -> bool:
    """Move tasks, in their order, as long as it reduces the skew; return whether any moved."""
    n_tasks, moved, task = len(app.stateful), False, 0
    while task < n_tasks and _should_move(app, source, destination):
        has = app.states[source * n_tasks + task] == state
        if has and app.states[destination * n_tasks + task] == NONE:
            set_state(app, source, task, NONE)
            set_state(app, destination, task, state)
            moved = True
        task += 1
    return moved


@inner_kernel
def _should_move(app: Application, source: int, destination: int) -> bool:
    """Return whether a task less at the source brings the loads closer (``shouldMoveATask``)."""
    at_source = app.active[source] + app.standby[source]
    at_destination = app.active[destination] + app.standby[destination]
    skew = at_source / app.capacities[source] - at_destination / app.capacities[destination]
    if skew <= 0:
        return False
    destination_load = (at_destination + 1.0) / app.capacities[destination]
    proposed = (at_source - 1.0) / app.capacities[source] - destination_load
    return 0 <= proposed < skew
