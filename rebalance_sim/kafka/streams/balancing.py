"""Assign and unassign tasks, and balance them over the clients' threads (``balanceTasksOverThreads``)."""

from rebalance_sim.kafka.runtime.kernel import inner_kernel
from rebalance_sim.kafka.runtime.strings import Flags
from rebalance_sim.kafka.streams.applications import ACTIVE, NONE, STANDBY, Application


@inner_kernel
def set_state(app: Application, client: int, task: int, state: int) -> None:
    """Change what a client has of a task, and count it."""
    cell = client * len(app.stateful) + task
    before = app.states[cell]
    app.active[client] -= before == ACTIVE
    app.standby[client] -= before >= STANDBY
    app.active[client] += state == ACTIVE
    app.standby[client] += state >= STANDBY
    app.states[cell] = state


@inner_kernel
def balance(app: Application, state: int, allowed: Flags) -> None:
    """Move active or standby tasks from clients with more of all tasks per thread to clients with fewer.

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
