"""``RackAwareTaskAssignor`` (KIP-925, since 3.6): clients exchange tasks, to read from brokers in their own rack.

Every client keeps its number of tasks. A task costs ``traffic_cost`` for each partition without a replica in the
client's rack, and ``non_overlap_cost`` if it was not planned for the client. ``MinTrafficGraphConstructor`` minimizes
the sum; ``BalanceSubtopologyGraphConstructor`` (since 3.7) also spreads the tasks of each subtopology.
"""

from typing import NamedTuple

import numpy as np

from rebalance_sim.kafka.runtime.kernel import inner_kernel, kernel
from rebalance_sim.kafka.runtime.strings import Ints32
from rebalance_sim.kafka.streams.applications import ABSENT, ACTIVE, NONE, STANDBY, Application, Applications, set_state
from rebalance_sim.kafka.streams.min_cost_flow import (
    Edges,
    Network,
    add_edge,
    maximize_flow,
    minimize_cost,
    network,
    new_edges,
)

STRATEGIES = ("none", "min_traffic", "balance_subtopology")
"""Values of ``rack.aware.assignment.strategy``."""
_BALANCE_SUBTOPOLOGY = STRATEGIES.index("balance_subtopology")
_STATELESS_TRAFFIC_COST = 1
_MOST_ROUNDS = 4
"""How often standby tasks are exchanged between all pairs of clients (``STANDBY_OPTIMIZER_MAX_ITERATION``)."""


class Costs(NamedTuple):
    """What decides about the racks of an application."""

    enabled: bool
    strategy: int
    misses: Ints32
    """By client and task, flat: the source partitions without a replica in the client's rack."""
    changelog_misses: Ints32
    """The same for changelog partitions."""
    racks: Ints32
    """By client: the number of its rack."""
    subtopologies: Ints32
    """By task."""
    tags: Ints32
    """By client, a row of its tags' values, if standby tasks go to other tags; else empty."""
    traffic: int
    non_overlap: int
    rules: int


@kernel
def rack_costs(batch: Applications, a: int, traffic: int, non_overlap: int, by_tags: bool, rules: int) -> Costs:
    """Return the costs of application ``a``, with the assignor's default costs of stateful tasks.

    ``by_tags`` is whether the assignor takes tags into account.
    """
    settings, racks = batch.settings, batch.racks
    n_cells = batch.cells[a + 1] - batch.cells[a] if racks.enabled[a] else 0
    cells = slice(racks.places[a], racks.places[a] + n_cells)
    n_keys = batch.tags.keys[a + 1] - batch.tags.keys[a]
    n_tags = (batch.clients[a + 1] - batch.clients[a]) * n_keys if by_tags and batch.tags.aware[a] else 0
    traffic = traffic if settings.traffic_cost[a] == ABSENT else settings.traffic_cost[a]
    non_overlap = non_overlap if settings.non_overlap_cost[a] == ABSENT else settings.non_overlap_cost[a]
    enabled, strategy = racks.enabled[a], settings.rack_strategy[a]
    misses, changelog_misses = racks.misses[cells], racks.changelog_misses[cells]
    of_clients = racks.of_clients[batch.clients[a] : batch.clients[a + 1]]
    subtopologies = batch.subtopologies[batch.tasks[a] : batch.tasks[a + 1]]
    tags = batch.tags.values[batch.tags.places[a] : batch.tags.places[a] + n_tags]
    return Costs(
        enabled, strategy, misses, changelog_misses, of_clients, subtopologies, tags, traffic, non_overlap, rules
    )


@kernel
def optimize_active_tasks(app: Application, costs: Costs, stateful: bool) -> None:
    """Exchange the stateful, or the stateless, active tasks between clients (``optimizeActiveTasks``)."""
    tasks = np.flatnonzero(app.stateful == stateful).astype(np.int32)
    if not costs.enabled or len(tasks) == 0:
        return
    clients = np.arange(len(app.capacities)).astype(np.int32)
    edges = new_edges(2 * len(tasks) * (len(clients) + 1) + len(clients) * (len(tasks) + 2))
    if costs.strategy == _BALANCE_SUBTOPOLOGY:
        sink = _balanced_graph(app, costs, tasks, stateful, edges)
        graph = network(edges, sink + 1)
        maximize_flow(graph, sink)
        for k in range(edges.size[0]):
            edges.flows[k] = graph.flows[graph.arc_of[k]]
    else:
        sink = _graph(app, costs, tasks, clients, ACTIVE if stateful else NONE, edges)
    graph = network(edges, sink + 1)
    minimize_cost(graph, costs.rules)
    _exchange(app, tasks, edges, graph, clients, ACTIVE)


@kernel
def optimize_standby_tasks(app: Application, costs: Costs) -> None:
    """Exchange standby tasks between each two clients, as long as any moves (``optimizeStandbyTasks``)."""
    n_clients = len(app.capacities)
    moved, rounds = costs.enabled, 0
    clients = np.empty(2, np.int32)
    while moved and rounds < _MOST_ROUNDS:
        moved = False
        rounds += 1
        for first in range(n_clients):
            for second in range(first + 1, n_clients):
                if costs.racks[first] != costs.racks[second]:
                    clients[0], clients[1] = first, second
                    moved = _exchange_standby_tasks(app, costs, clients) or moved


@kernel
def _exchange_standby_tasks(app: Application, costs: Costs, clients: Ints32) -> bool:
    n_tasks, count, of_first = len(app.stateful), 0, 0
    tasks = np.empty(n_tasks, np.int32)
    for task in range(n_tasks):
        is_of_first = _may_move(app, costs, task, clients[0], clients[1])
        if is_of_first or _may_move(app, costs, task, clients[1], clients[0]):
            tasks[count] = task
            count += 1
            of_first += is_of_first
    if of_first == 0 or of_first == count:  # noqa: PLR1714 - membership in a tuple is slower
        return False
    edges = new_edges(3 * count + 2)
    sink = _graph(app, costs, tasks[:count], clients, STANDBY, edges)
    graph = network(edges, sink + 1)
    minimize_cost(graph, costs.rules)
    return _exchange(app, tasks[:count], edges, graph, clients, STANDBY)


@inner_kernel
def _may_move(app: Application, costs: Costs, task: int, source: int, destination: int) -> bool:
    """Return whether a standby task of one client may move to another that has none of it.

    If standby tasks go to other tags, the copies of the task must not be on fewer distinct tags afterwards.
    """
    n_tasks, n_clients = len(app.stateful), len(app.capacities)
    if app.states[source * n_tasks + task] < STANDBY or app.states[destination * n_tasks + task] != NONE:
        return False
    gained, n_keys = 0, len(costs.tags) // n_clients
    for key in range(n_keys):
        before, after = costs.tags[source * n_keys + key], costs.tags[destination * n_keys + key]
        if before == after:
            continue
        has_before, has_after = before == ABSENT, after == ABSENT
        for client in range(n_clients):
            is_new = client != source and client != destination  # noqa: PLR1714 - membership in a tuple is slower
            if is_new and app.states[client * n_tasks + task] != NONE:
                has_before = has_before or costs.tags[client * n_keys + key] == before
                has_after = has_after or costs.tags[client * n_keys + key] == after
        gained += (not has_after) - (not has_before)
    return gained >= 0


@inner_kernel
def _cost(costs: Costs, cell: int, state: int, has: bool) -> int:
    """Return the cost of a task on a client (``getCost``); NONE stands for a stateless active task."""
    if state == NONE:
        return int(costs.misses[cell]) * _STATELESS_TRAFFIC_COST
    misses = costs.changelog_misses[cell] if state == STANDBY else costs.misses[cell]
    return int(misses) * costs.traffic + (0 if has else costs.non_overlap)


@inner_kernel
def _has(app: Application, client: int, task: int, state: int) -> bool:
    present = app.states[client * len(app.stateful) + task]
    return present >= STANDBY if state == STANDBY else present == ACTIVE


@inner_kernel
def _graph(app: Application, costs: Costs, tasks: Ints32, clients: Ints32, state: int, edges: Edges) -> int:
    """Add the edges of ``MinTrafficGraphConstructor``, with the present assignment as the flow; return the sink."""
    n_tasks = len(tasks)
    sink = 1 + n_tasks + len(clients)
    for k in range(n_tasks):
        for c in range(len(clients)):
            has = _has(app, clients[c], tasks[k], state)
            cost = _cost(costs, clients[c] * len(app.stateful) + tasks[k], state, has)
            add_edge(edges, 1 + k, 1 + n_tasks + c, 1, cost, has)
        add_edge(edges, 0, 1 + k, 1, 0, 1)
    for c in range(len(clients)):
        count = _count(app, clients[c], tasks, state)
        add_edge(edges, 1 + n_tasks + c, sink, count, 0, count)
    return sink


@inner_kernel
def _count(app: Application, client: int, tasks: Ints32, state: int) -> int:
    count = 0
    for task in tasks:
        count += _has(app, client, task, state)
    return count


@kernel
def _balanced_graph(app: Application, costs: Costs, tasks: Ints32, stateful: bool, edges: Edges) -> int:
    """Add the edges of ``BalanceSubtopologyGraphConstructor``, without a flow; return the sink."""
    n_tasks, n_clients = len(tasks), len(app.capacities)
    state = ACTIVE if stateful else NONE
    numbers = np.unique(costs.subtopologies)
    second_stage = 1 + n_tasks + n_clients * len(numbers)
    sink = second_stage + n_clients
    counts = np.zeros(n_clients, np.int64)
    for client in range(n_clients):
        counts[client] = _count(app, client, tasks, state)
    for group in range(len(numbers)):
        for client in range(n_clients):
            node, in_group = 1 + n_tasks + n_clients * group + client, 0
            for k in range(n_tasks):
                if costs.subtopologies[tasks[k]] == numbers[group]:
                    in_group += 1
                    has = _has(app, client, tasks[k], state)
                    cost = _cost(costs, client * len(app.stateful) + tasks[k], state, has)
                    add_edge(edges, 1 + k, node, 1, cost, 0)
            if in_group > 0:
                capacity = int(np.ceil(counts[client] * 1.0 / n_tasks * in_group))
                add_edge(edges, node, second_stage + client, capacity, 0, 0)
    for k in range(n_tasks):
        add_edge(edges, 0, 1 + k, 1, 0, 0)
    for client in range(n_clients):
        add_edge(edges, second_stage + client, sink, counts[client], 0, 0)
    return sink


@inner_kernel
def _exchange(app: Application, tasks: Ints32, edges: Edges, graph: Network, clients: Ints32, state: int) -> bool:
    """Assign tasks by the flow, and return whether any moved (``assignTaskFromMinCostFlow``)."""
    moved, n_tasks = False, len(tasks)
    for k in range(edges.size[0]):
        start = edges.starts[k]
        if start == 0 or start > n_tasks or graph.flows[graph.arc_of[k]] == 0:
            continue
        task, client = tasks[start - 1], clients[(edges.ends[k] - 1 - n_tasks) % len(clients)]
        if _has(app, client, task, state):
            continue
        for owner in clients:
            if _has(app, owner, task, state):
                set_state(app, owner, task, NONE)
        set_state(app, client, task, state)
        moved = True
    return moved
