"""``Graph``: the flow of the least cost, by cancelling negative cycles, which rack-aware assignors solve (KIP-925).

Several flows may have the same cost. The order of nodes and edges decides between them, so each step is the same as in
Kafka's class: edges are visited by start, then by end. Since 3.7 the search for a cycle starts from a node that is
connected with all nodes; in 3.6 it starts from each node in turn.
"""

from typing import NamedTuple

import numpy as np

from rebalance_sim.kafka.runtime.kernel import inner_kernel, kernel
from rebalance_sim.kafka.runtime.sorting import stable_order
from rebalance_sim.kafka.runtime.strings import Flags, Ints, Ints32
from rebalance_sim.releases import KafkaStreamsRules

_SUBTOPOLOGIES = int(KafkaStreamsRules.SUBTOPOLOGIES)
_FAR = 2**31 - 1
"""The distance of nodes that were not reached in 3.6 (``Integer.MAX_VALUE``)."""
_NONE = -1


class Edges(NamedTuple):
    """The edges of a graph while it is built. Nodes are numbered from 0, the source."""

    starts: Ints32
    ends: Ints32
    capacities: Ints32
    costs: Ints32
    flows: Ints32
    size: Ints
    """As an array of one."""


class Network(NamedTuple):
    """A residual graph: an arc for each edge and one in the other direction, sorted by start, then by end."""

    first: Ints32
    """Arcs of node n: ``first[n]`` to ``first[n + 1]``."""
    starts: Ints32
    ends: Ints32
    costs: Ints32
    residual: Ints32
    flows: Ints32
    counter: Ints32
    """The arc in the other direction."""
    is_edge: Flags
    arc_of: Ints32
    """By edge: its arc."""
    n_nodes: int
    """How many nodes have an arc."""


class _Search(NamedTuple):
    """Scratch space of the search for a negative cycle, by node."""

    distances: Ints
    parents: Ints32
    """The arc by which a node is reached, or -1."""
    visited: Flags


@kernel
def new_edges(room: int) -> Edges:
    """Return room for so many edges."""
    starts, ends, capacities = np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room, np.int32)
    costs, flows = np.empty(room, np.int32), np.empty(room, np.int32)
    return Edges(starts, ends, capacities, costs, flows, np.zeros(1, np.int64))


@inner_kernel
def add_edge(edges: Edges, start: int, end: int, capacity: int, cost: int, flow: int) -> None:
    """Add an edge to the graph."""
    k = edges.size[0]
    edges.starts[k], edges.ends[k], edges.capacities[k] = start, end, capacity
    edges.costs[k], edges.flows[k] = cost, flow
    edges.size[0] += 1


@kernel
def network(edges: Edges, n_numbers: int) -> Network:
    """Return the residual graph; the numbers of nodes are below ``n_numbers`` (``residualGraph``)."""
    n = edges.size[0]
    keys = np.empty(2 * n, np.int64)
    for k in range(n):
        keys[k] = edges.starts[k] * n_numbers + edges.ends[k]
        keys[n + k] = edges.ends[k] * n_numbers + edges.starts[k]
    order = stable_order(keys)
    arc_of = np.empty(2 * n, np.int32)
    for arc in range(2 * n):
        arc_of[order[arc]] = arc
    first = np.zeros(n_numbers + 1, np.int32)
    n_nodes = np.unique(edges.starts[:n]).size + _count_sinks(edges, n_numbers)
    starts, ends, costs = np.empty(2 * n, np.int32), np.empty(2 * n, np.int32), np.empty(2 * n, np.int32)
    residual, counter = np.empty(2 * n, np.int32), np.empty(2 * n, np.int32)
    flows, is_edge, arc_of_edge = np.zeros(2 * n, np.int32), np.zeros(2 * n, np.bool_), arc_of[:n].copy()
    graph = Network(first, starts, ends, costs, residual, flows, counter, is_edge, arc_of_edge, n_nodes)
    for k in range(n):
        forward, backward = arc_of[k], arc_of[n + k]
        _write_arc(graph, forward, edges.starts[k], edges.ends[k], edges.costs[k])
        _write_arc(graph, backward, edges.ends[k], edges.starts[k], -edges.costs[k])
        graph.residual[forward], graph.residual[backward] = edges.capacities[k] - edges.flows[k], edges.flows[k]
        graph.flows[forward], graph.is_edge[forward] = edges.flows[k], True
        graph.counter[forward], graph.counter[backward] = backward, forward
        graph.first[edges.starts[k] + 1] += 1
        graph.first[edges.ends[k] + 1] += 1
    for node in range(n_numbers):
        graph.first[node + 1] += graph.first[node]
    return graph


@kernel
def _count_sinks(edges: Edges, n_numbers: int) -> int:
    """Return how many nodes end an edge but start none."""
    starts, ends = np.zeros(n_numbers, np.bool_), np.zeros(n_numbers, np.bool_)
    for k in range(edges.size[0]):
        starts[edges.starts[k]], ends[edges.ends[k]] = True, True
    return int((ends & ~starts).sum())


@inner_kernel
def _write_arc(graph: Network, arc: int, start: int, end: int, cost: int) -> None:
    graph.starts[arc], graph.ends[arc], graph.costs[arc] = start, end, cost


@kernel
def maximize_flow(graph: Network, sink: int) -> None:
    """Find the largest flow from node 0 to the sink, by the shortest paths (``fordFulkson``)."""
    n = len(graph.first) - 1
    queue, parents = np.empty(n, np.int32), np.empty(n, np.int32)
    while _reach(graph, sink, queue, parents):
        possible, node = _FAR, sink
        while node != 0:
            possible = min(possible, graph.residual[parents[node]])
            node = graph.starts[parents[node]]
        node = sink
        while node != 0:
            _push(graph, parents[node], possible)
            node = graph.starts[parents[node]]


@inner_kernel
def _reach(graph: Network, sink: int, queue: Ints32, parents: Ints32) -> bool:
    """Return whether a path with capacity leads to the sink; ``parents`` are the arcs of the paths."""
    parents[:] = _NONE
    queue[0] = 0
    size, place = 1, 0
    while place < size:
        node = queue[place]
        place += 1
        for arc in range(graph.first[node], graph.first[node + 1]):
            end = graph.ends[arc]
            if end == 0 or parents[end] != _NONE or graph.residual[arc] <= 0:
                continue
            parents[end] = arc
            if end == sink:
                return True
            queue[size] = end
            size += 1
    return False


@kernel
def minimize_cost(graph: Network, rules: int) -> None:
    """Cancel negative cycles until there are none (``cancelNegativeCycles``)."""
    n = len(graph.first) - 1
    search = _Search(np.empty(n, np.int64), np.empty(n, np.int32), np.empty(n, np.bool_))
    canceled = True
    while canceled:
        canceled = False
        if rules >= _SUBTOPOLOGIES:
            canceled = _cancel(graph, search, _cycle_from(graph, search, _NONE))
            continue
        for source in range(n):
            canceled = _cancel(graph, search, _cycle_from(graph, search, source)) or canceled


@inner_kernel
def _cycle_from(graph: Network, search: _Search, source: int) -> int:
    """Return a node that a negative cycle leads to, or -1 (``detectNegativeCycles``).

    Since 3.7 the source is -1, a node that is connected with all nodes; only then the arc to the node is its parent.
    """
    from_all = source == _NONE
    search.parents[:] = _NONE
    search.distances[:] = 0 if from_all else _FAR
    if not from_all:
        search.distances[source] = 0
    for _ in range(graph.n_nodes if from_all else graph.n_nodes - 1):
        if not _relax(graph, search):
            return _NONE
    for arc in range(len(graph.starts)):
        end, distance = graph.ends[arc], search.distances[graph.starts[arc]] + graph.costs[arc]
        if graph.residual[arc] != 0 and search.distances[end] > distance:
            if from_all:
                search.parents[end] = arc
            return int(end)
    return _NONE


@inner_kernel
def _relax(graph: Network, search: _Search) -> bool:
    """Shorten distances by each arc, and return whether any was shortened."""
    shortened = False
    for arc in range(len(graph.starts)):
        if graph.residual[arc] != 0:
            distance, end = search.distances[graph.starts[arc]] + graph.costs[arc], graph.ends[arc]
            if search.distances[end] > distance:
                search.distances[end], search.parents[end] = distance, arc
                shortened = True
    return shortened


@inner_kernel
def _cancel(graph: Network, search: _Search, node: int) -> bool:
    """Send as much as possible along the cycle that leads to a node, if there is any."""
    if node == _NONE:
        return False
    search.visited[:] = False
    while not search.visited[node]:
        search.visited[node] = True
        node = graph.starts[search.parents[node]]
    possible, at = graph.residual[search.parents[node]], graph.starts[search.parents[node]]
    while at != node:
        possible = min(possible, graph.residual[search.parents[at]])
        at = graph.starts[search.parents[at]]
    _push(graph, search.parents[node], possible)
    at = graph.starts[search.parents[node]]
    while at != node:
        _push(graph, search.parents[at], possible)
        at = graph.starts[search.parents[at]]
    return True


@inner_kernel
def _push(graph: Network, arc: int, flow: int) -> None:
    counter = graph.counter[arc]
    graph.residual[arc] -= flow
    graph.residual[counter] += flow
    if graph.is_edge[arc]:
        graph.flows[arc] += flow
    if graph.is_edge[counter] and graph.flows[counter] >= flow:
        graph.flows[counter] -= flow
