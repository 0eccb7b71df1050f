"""``StickyTaskAssignor`` (``LegacyStickyTaskAssignor`` since 3.8) and ``FallbackPriorTaskAssignor``.

Tasks go to clients that had them, unless other clients have fewer tasks per thread; of those, to clients that do not
have the same pairs of tasks yet. The fallback is used if end offsets could not be fetched: active tasks then stay where
they were in any case, and a probing rebalance follows.
"""

from typing import NamedTuple

import numpy as np

from rebalance_sim.kafka.runtime.hash_order import java_copy_size, java_map_is_crowded, java_order, java_table_size
from rebalance_sim.kafka.runtime.kernel import inner_kernel, kernel
from rebalance_sim.kafka.runtime.strings import Flags, Ints, Ints32
from rebalance_sim.kafka.streams.applications import (
    ACTIVE,
    NONE,
    STANDBY,
    Application,
    Applications,
    States,
    TaskAssignments,
    application,
    set_state,
    task_hashes,
)
from rebalance_sim.kafka.streams.racks import optimize_active_tasks, optimize_standby_tasks, rack_costs

_NOBODY = -1
_TRAFFIC_COST, _NON_OVERLAP_COST = 1, 10
"""Default costs of stateful tasks."""


class _Sticky(NamedTuple):
    """What an application's clients had, and which tasks have been together on a client."""

    active: Ints32
    """By task: the client that had it as an active task, or -1."""
    standby: Flags
    """By client and task, flat: whether the client had it as a standby task."""
    order: Ints32
    """Clients in the order of the map that the assignor receives."""
    pairs: Flags
    """By task and task, flat: whether a client got both."""
    counts: Ints
    """The number of such pairs, and the number of all pairs."""
    candidates: Ints32
    """Scratch space: the clients to choose from."""


@kernel
def assign_sticky(batch: Applications, preserves: bool, rules: int) -> TaskAssignments:
    """Assign the tasks of all applications; ``preserves``: whether active tasks stay where they were in any case."""
    n = len(batch.clients) - 1
    states, probing, uncertain = np.zeros(batch.cells[n], np.uint8), np.full(n, preserves), np.zeros(n, np.bool_)
    for a in range(n):
        app = application(batch, a, states)
        first, end = batch.tasks[a], batch.tasks[a + 1]
        hashes = task_hashes(batch, a, rules)
        previous = batch.previous_states[batch.cells[a] : batch.cells[a + 1]]
        order = batch.client_order[batch.clients[a] : batch.clients[a + 1]]
        sticky, had = _previous_tasks(app, previous, order)
        uncertain[a] = java_map_is_crowded(hashes, had)
        uncertain[a] = uncertain[a] or java_map_is_crowded(hashes, np.arange(end - first).astype(np.int32))
        # Tasks that no longer exist are in the map as well.
        had = java_order(hashes, had, java_table_size(len(had) + batch.unknown_previous[a]))
        copied = java_order(hashes, batch.task_order[first:end], java_copy_size(end - first))
        _assign_active_tasks(app, sticky, had, copied, preserves)
        costs = rack_costs(batch, a, _TRAFFIC_COST, _NON_OVERLAP_COST, False, rules)
        if not preserves:
            optimize_active_tasks(app, costs, True)
            optimize_active_tasks(app, costs, False)
        n_stateful = app.stateful.sum()
        replicas = batch.settings.num_standby_replicas[a]
        for task in batch.stateful_order[first : first + n_stateful]:
            _assign_standby_tasks(app, sticky, task, replicas)
        if not preserves and replicas > 0:
            optimize_standby_tasks(app, costs)
    return TaskAssignments(states, probing, uncertain)


@kernel
def _previous_tasks(app: Application, previous: States, order: Ints32) -> tuple[_Sticky, Ints32]:
    """Find out who had which task, and return the active tasks in the order in which they are put into a map."""
    n_clients, n_tasks = len(app.capacities), len(app.stateful)
    counts = np.zeros(2, np.int64)
    counts[1] = n_tasks * (n_tasks - 1) // 2
    active, pairs = np.full(n_tasks, _NOBODY, np.int32), np.zeros(n_tasks * n_tasks, np.bool_)
    sticky = _Sticky(active, previous == STANDBY, order, pairs, counts, np.empty(n_clients, np.int32))
    had = np.empty(n_tasks, np.int32)
    count = 0
    for client in order:
        for task in range(n_tasks):
            if previous[client * n_tasks + task] == ACTIVE:
                if sticky.active[task] == _NOBODY:
                    had[count] = task
                    count += 1
                sticky.active[task] = client
    return sticky, had[:count]


@kernel
def _assign_active_tasks(app: Application, sticky: _Sticky, had: Ints32, copied: Ints32, preserves: bool) -> None:
    """Assign active tasks to clients that had them, then to those that had them as standby tasks, then the others.

    ``had`` and ``copied`` are the tasks with a previous client, and all tasks, in the orders of their hash tables.
    """
    n_tasks = len(app.stateful)
    quota = n_tasks // app.capacities.sum()
    assigned = np.zeros(n_tasks, np.bool_)
    for task in had:
        client = sticky.active[task]
        if preserves or app.active[client] < app.capacities[client] * quota:
            _give(app, sticky, client, task, ACTIVE)
            assigned[task] = True
    for task in copied:
        if assigned[task]:
            continue
        for client in _in_set_order(app, sticky, _had_standby(sticky, task), False):
            if app.active[client] < app.capacities[client] * quota:
                _give(app, sticky, client, task, ACTIVE)
                assigned[task] = True
                break
    for task in range(n_tasks):
        if not assigned[task]:
            _give(app, sticky, _find_client(app, sticky, task, sticky.order), task, ACTIVE)


@kernel
def _assign_standby_tasks(app: Application, sticky: _Sticky, task: int, replicas: int) -> None:
    n_tasks = len(app.stateful)
    for _ in range(replicas):
        count = 0
        for client in sticky.order:
            if app.states[client * n_tasks + task] == NONE:
                sticky.candidates[count] = client
                count += 1
        if count == 0:
            return
        within = java_order(app.hashes, sticky.candidates[:count], java_table_size(count))
        _give(app, sticky, _find_client(app, sticky, task, within), task, STANDBY)


@kernel
def _find_client(app: Application, sticky: _Sticky, task: int, within: Ints32) -> int:
    """Return the client among some that gets a task (``findClient``)."""
    if len(within) == 1:
        return int(within[0])
    previous = sticky.active[task]
    if previous == _NOBODY or not (within == previous).any():
        previous = _least_loaded_with_standby(app, sticky, task, within)
    if previous == _NOBODY:
        return _least_loaded(app, sticky, task, within)
    if not _should_balance(app, previous):
        return int(previous)
    standby = _least_loaded_with_standby(app, sticky, task, within)
    if standby == _NOBODY or _should_balance(app, standby):
        return _least_loaded(app, sticky, task, within)
    return standby


@kernel
def _least_loaded_with_standby(app: Application, sticky: _Sticky, task: int, within: Ints32) -> int:
    """Return the client with the least load among those that had the task as a standby task, or -1."""
    had = _in_set_order(app, sticky, _had_standby(sticky, task), True)
    count = 0
    for client in had:
        if (within == client).any():
            had[count] = client
            count += 1
    return _least_loaded(app, sticky, task, had[:count])


@kernel
def _in_set_order(app: Application, sticky: _Sticky, clients: Ints32, copied: bool) -> Ints32:
    """Return clients in the order of the ``HashSet`` to which they were added, or of a copy of it."""
    order = java_order(app.hashes, clients, java_table_size(len(clients)))
    return java_order(app.hashes, order, java_copy_size(len(clients))) if copied else order


@kernel
def _had_standby(sticky: _Sticky, task: int) -> Ints32:
    """Return the clients that had a task as a standby task, in the order of the map of clients."""
    n_tasks, count = len(sticky.active), 0
    clients = np.empty(len(sticky.order), np.int32)
    for client in sticky.order:
        if sticky.standby[client * n_tasks + task]:
            clients[count] = client
            count += 1
    return clients[:count]


@inner_kernel
def _least_loaded(app: Application, sticky: _Sticky, task: int, clients: Ints32) -> int:
    """Return the client with the least load that makes a new pair of tasks, else that with the least load, or -1."""
    client = _first_least_loaded(app, sticky, task, clients, True)
    return client if client != _NOBODY else _first_least_loaded(app, sticky, task, clients, False)


@inner_kernel
def _first_least_loaded(app: Application, sticky: _Sticky, task: int, clients: Ints32, new_pair: bool) -> int:
    best = _NOBODY
    for client in clients:
        if app.active[client] + app.standby[client] == 0:
            return int(client)
        has_more = best == _NOBODY or _has_more_capacity(app, client, best)
        if has_more and (not new_pair or _makes_new_pair(app, sticky, task, client)):
            best = client
    return best


@inner_kernel
def _has_more_capacity(app: Application, a: int, b: int) -> bool:
    """Return whether a client has less load than another, or more threads (``hasMoreAvailableCapacityThan``)."""
    a_load = (app.active[a] + app.standby[a]) / app.capacities[a]
    b_load = (app.active[b] + app.standby[b]) / app.capacities[b]
    return app.capacities[a] > app.capacities[b] if a_load == b_load else a_load < b_load


@inner_kernel
def _should_balance(app: Application, client: int) -> bool:
    """Return whether a client has a task per thread, and another has more capacity (``shouldBalanceLoad``)."""
    if app.active[client] + app.standby[client] < app.capacities[client]:
        return False
    for rival in range(len(app.capacities)):
        if _has_more_capacity(app, rival, client):
            return True
    return False


@inner_kernel
def _makes_new_pair(app: Application, sticky: _Sticky, task: int, client: int) -> bool:
    """Return whether a client has a task that has not been on a client together with this one (``hasNewPair``)."""
    n_tasks = len(app.stateful)
    if sticky.counts[0] == sticky.counts[1]:
        return False
    for owned in range(n_tasks):
        if app.states[client * n_tasks + owned] != NONE and not sticky.pairs[task * n_tasks + owned]:
            return True
    return False


@inner_kernel
def _give(app: Application, sticky: _Sticky, client: int, task: int, state: int) -> None:
    """Assign a task, and remember its pairs (``addPairs``)."""
    n_tasks = len(app.stateful)
    for owned in range(n_tasks):
        if app.states[client * n_tasks + owned] != NONE and not sticky.pairs[task * n_tasks + owned]:
            sticky.pairs[task * n_tasks + owned] = True
            sticky.pairs[owned * n_tasks + task] = True
            sticky.counts[0] += 1
    set_state(app, client, task, state)
