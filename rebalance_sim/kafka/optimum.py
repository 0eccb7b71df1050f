"""The optimum: the most balanced loads that a group's subscriptions allow, reached with the fewest moves.

The load of a member is the number of its partitions. One multiset of loads is the best in every respect at once: least
maximum, greatest minimum, least deviation, least sum of differences (Harvey, Ladner, Lovász, Tamir: Semi-Matchings for
Bipartite Graphs and Load Balancing, 2003). Partitions of a topic differ in their owner only, so an assignment is the
number of partitions of each topic that each member gets; the member keeps the smaller of that and what it owns.

Loads are balanced by flows from members with many to members with few partitions. This splits members and topics into
layers (the canonical partition of Frank and Murota: Discrete Decreasing Minimization, 2018): in a layer every member
has ``peak`` or ``peak - 1`` partitions, which come from the topics of that layer. An assignment has the most balanced
loads if and only if it respects the layers. That leaves one minimum-cost flow, in which every partition that does not
stay with its owner costs 1.
"""

from typing import NamedTuple

import numpy as np

from rebalance_sim.kafka.balance import partition_owners
from rebalance_sim.kafka.groups import Assignments, Subscribers, TopicArrays
from rebalance_sim.kafka.runtime.kernel import kernel
from rebalance_sim.kafka.runtime.sorting import stable_order
from rebalance_sim.kafka.runtime.strings import Flags, Ints, Ints32

STEPS = 1 << 27
"""Steps (visits of a node or of an edge between a topic and a subscriber) allowed per group: one or two seconds.

No group of 30,000 of ``conf/fleets/default.yaml`` takes more than 2**12; all of them together take 0.05 s. 1,000
members that subscribe to half of 100 topics of 100 partitions take 2**19. The worst case is many layers: 1,000 members
with two topics each, and all loads different, took 2**27. Groups with equal subscriptions take none.
"""


class Optimum(NamedTuple):
    """Figures of each group, over all assignments of all its partitions to subscribers.

    They are named like the columns of the table ``optimum``. A figure that is not exact is a bound: ``min`` is at least
    the exact figure, all others are at most the exact one.
    """

    partitions: Ints32
    """Partitions of the topics that the group subscribes to."""
    min: Ints32
    """Fewest partitions of a member."""
    max: Ints32
    stddev: np.ndarray[tuple[int], np.dtype[np.float64]]
    """Standard deviation of the number of partitions per member."""
    score: Ints
    """Sum of the differences in load between all pairs of members (Kafka's ``getBalanceScore``)."""
    idle_members: Ints32
    """Fewest members without a partition."""
    moved: Ints32
    """Fewest partitions that change their owner, over the assignments with these loads."""
    balance_exact: Flags
    """Whether all figures except ``moved`` are exact."""
    moved_exact: Flags
    """Whether all figures are exact."""


@kernel
def optimum(
    groups: Ints32, topics: TopicArrays, by_topic: Subscribers, owned: Assignments, generations: Ints, steps: int
) -> Optimum:
    """Return the best loads of each group, and the fewest moves from ``owned`` to them.

    ``by_topic`` lists each subscriber of a topic once, in any order. The owner of a partition is the same as in
    ``balance``. ``steps`` bounds the work per group, as ``STEPS`` does.
    """
    n = len(groups) - 1
    out = Optimum(
        np.zeros(n, np.int32),
        np.zeros(n, np.int32),
        np.zeros(n, np.int32),
        np.zeros(n, np.float64),
        np.zeros(n, np.int64),
        np.diff(groups).astype(np.int32),
        np.zeros(n, np.int32),
        np.ones(n, np.bool_),
        np.ones(n, np.bool_),
    )
    scratch = _Scratch(np.full(len(topics.partitions), -1, np.int32), np.full(len(generations), -1, np.int32))
    for g in range(n):
        start, end = groups[g], groups[g + 1]
        demand = _demand(g, groups, topics, by_topic, owned, generations, scratch)
        out.partitions[g] = demand.supply.sum()
        if end > start and len(demand.supply) > 0:
            loads = np.zeros(end - start, np.int64)
            subscribed = _subscribed(demand, len(loads))
            if len(demand.topic) == len(demand.supply) * subscribed.sum():
                out.moved[g] = _share_alike(demand, subscribed, loads)
            else:
                out.moved[g], out.balance_exact[g], out.moved_exact[g] = _share(demand, subscribed, loads, steps)
            _measure(g, loads, out)
    return out


@kernel
def _measure(g: int, loads: Ints, out: Optimum) -> None:
    members = len(loads)
    ascending = loads[stable_order(loads)]
    total, squares, score, idle = 0, 0, 0, 0
    for i in range(members):
        load = int(ascending[i])
        total += load
        squares += load * load
        score += (2 * i + 1 - members) * load
        idle += load == 0
    out.min[g], out.max[g] = ascending[0], ascending[-1]
    out.stddev[g] = np.sqrt(members * squares - total * total) / members
    out.score[g] = score
    out.idle_members[g] = idle


# ---- the demand of a group


class _Demand(NamedTuple):
    """Topics with partitions, numbered from 0, and an edge for each topic and subscriber."""

    supply: Ints
    """Partitions of each topic."""
    topic: Ints32
    """Topic of each edge."""
    member: Ints32
    """Member of each edge, numbered from 0."""
    keep: Ints
    """Partitions of the edge's topic that its member owned."""
    claimed: int
    """Partitions that any member owned, including members that do not subscribe to the topic."""


class _Scratch(NamedTuple):
    """Arrays that are all -1 before and after a group."""

    base: Ints32
    """By topic: the place of its partition 0."""
    edge_of: Ints32
    """By member: its edge of the current topic."""


@kernel
def _demand(
    g: int,
    groups: Ints32,
    topics: TopicArrays,
    by_topic: Subscribers,
    owned: Assignments,
    generations: Ints,
    scratch: _Scratch,
) -> _Demand:
    """Return the demand of group g."""
    start, end, base, edge_of = groups[g], groups[g + 1], scratch.base, scratch.edge_of
    first, last = by_topic.group_topics[g], by_topic.group_topics[g + 1]
    room, n_topics, n_edges = 0, 0, 0
    for entry in range(first, last):
        partitions = topics.partitions[by_topic.topics[entry]]
        if partitions > 0:
            base[by_topic.topics[entry]] = room
            room += partitions
            n_topics += 1
            n_edges += by_topic.end[entry] - by_topic.first[entry]
    before = partition_owners(start, end, owned, generations, topics, base, room)
    supply = np.empty(n_topics, np.int64)
    topic_of, member_of = np.empty(n_edges, np.int32), np.empty(n_edges, np.int32)
    keep = np.zeros(n_edges, np.int64)
    claimed, t, edge = 0, 0, 0
    for entry in range(first, last):
        place = base[by_topic.topics[entry]]
        if place < 0:
            continue
        base[by_topic.topics[entry]] = -1
        supply[t] = topics.partitions[by_topic.topics[entry]]
        subscribers = by_topic.members[by_topic.first[entry] : by_topic.end[entry]]
        for m in subscribers:
            topic_of[edge], member_of[edge] = t, m - start
            edge_of[m] = edge
            edge += 1
        for owner in before[place : place + supply[t]]:
            if owner >= 0:
                claimed += 1
                if edge_of[owner] >= 0:
                    keep[edge_of[owner]] += 1
        for m in subscribers:
            edge_of[m] = -1
        t += 1
    return _Demand(supply, topic_of, member_of, keep, claimed)


@kernel
def _subscribed(demand: _Demand, n_members: int) -> Flags:
    """Return, by member, whether it may get a partition."""
    subscribed = np.zeros(n_members, np.bool_)
    for m in demand.member:
        subscribed[m] = True
    return subscribed


@kernel
def _share_alike(demand: _Demand, subscribed: Flags, loads: Ints) -> int:
    """Set ``loads`` for members that all subscribe to the same topics, and return the fewest moves.

    Members that own more than the share get the remaining partitions first.
    """
    owning = np.zeros(len(loads), np.int64)
    for edge in range(len(demand.keep)):
        owning[demand.member[edge]] += demand.keep[edge]
    share, extra = divmod(demand.supply.sum(), subscribed.sum())
    kept, unused = 0, extra
    for m in range(len(loads)):
        if subscribed[m]:
            loads[m] = share
            kept += min(owning[m], share)
            if owning[m] > share and unused > 0:
                loads[m] += 1
                kept += 1
                unused -= 1
    for m in range(len(loads)):
        if unused > 0 and subscribed[m] and loads[m] == share:
            loads[m] += 1
            unused -= 1
    return demand.claimed - kept


# ---- flows


class _Network(NamedTuple):
    """A flow network: partitions flow from topics to members along edges. Nodes are the topics, then the members.

    Flow along an edge gives the member more partitions of the topic; flow back gives it fewer. A partition that does
    not stay with its owner costs 1, expressed as a cost of -1 for each of the first ``keep`` partitions of an edge and
    of 0 for the others.
    """

    n_topics: int
    first: Ints32
    """Edges of node v: ``first[v]`` to ``first[v + 1]`` of ``edges``."""
    edges: Ints32
    topic: Ints32
    """Node of each edge's topic."""
    member: Ints32
    """Node of each edge's member."""
    capacity: Ints
    keep: Ints
    flow: Ints
    """Partitions of the edge's topic that its member gets."""
    excess: Ints
    """Partitions that a node has too many, or if negative, too few."""
    distance: Ints
    """Potential of each node. The reduced cost from v to w, the cost plus ``distance[v] - distance[w]``, is never
    negative."""
    level: Ints32
    """Number of open edges (of reduced cost 0) from the nearest node with an excess; -1 if none can be reached."""
    queue: Ints32
    path: Ints32
    following: Ints32
    """By node: the place in ``edges`` where the search continues."""
    steps: Ints
    """Steps left, as an array of one."""


@kernel
def _network(
    n_topics: int, n_members: int, topic: Ints32, member: Ints32, capacity: Ints, keep: Ints, steps: Ints
) -> _Network:
    """Return a network without flow; ``member`` numbers the members from 0."""
    n_nodes, n_edges = n_topics + n_members, len(topic)
    member_nodes = member + np.int32(n_topics)
    first = np.zeros(n_nodes + 1, np.int32)
    for edge in range(n_edges):
        first[topic[edge] + 1] += 1
        first[member_nodes[edge] + 1] += 1
    for v in range(n_nodes):
        first[v + 1] += first[v]
    edges = np.empty(2 * n_edges, np.int32)
    following = first[:-1].copy()
    for edge in range(n_edges):
        for v in (topic[edge], member_nodes[edge]):
            edges[following[v]] = edge
            following[v] += 1
    return _Network(
        n_topics,
        first,
        edges,
        topic,
        member_nodes,
        capacity,
        keep,
        np.zeros(n_edges, np.int64),
        np.zeros(n_nodes, np.int64),
        np.zeros(n_nodes, np.int64),
        np.empty(n_nodes, np.int32),
        np.empty(n_nodes, np.int32),
        np.empty(n_nodes, np.int32),
        following,
        steps,
    )


@kernel
def _other_end(net: _Network, v: int, edge: int) -> int:
    return int(net.member[edge] if v < net.n_topics else net.topic[edge])


@kernel
def _residual(net: _Network, v: int, edge: int) -> tuple[int, int]:
    """Return how many partitions can flow from node v over an edge at the same cost, and their reduced cost."""
    flow, keep = int(net.flow[edge]), int(net.keep[edge])
    if v < net.n_topics:
        rise = int(net.distance[v] - net.distance[net.member[edge]])
        return (keep - flow, rise - 1) if flow < keep else (int(net.capacity[edge]) - flow, rise)
    rise = int(net.distance[v] - net.distance[net.topic[edge]])
    return (flow - keep, rise) if flow > keep else (flow, rise + 1)


@kernel
def _is_open(net: _Network, v: int, edge: int) -> bool:
    room, cost = _residual(net, v, edge)
    return room > 0 and cost == 0


@kernel
def _push(net: _Network) -> bool:
    """Send as much as possible from nodes with an excess to nodes with a deficit, over open edges (Dinic's algorithm).

    Afterwards ``level`` marks the nodes that the remaining excess can reach. Returns False if the steps ran out.
    """
    while net.steps[0] > 0:
        if not _find_levels(net):
            return True
        net.following[:] = net.first[:-1]
        for v in range(len(net.excess)):
            while net.excess[v] > 0 and _send(net, v):
                pass
    return False


@kernel
def _find_levels(net: _Network) -> bool:
    """Set ``level`` up to the nearest node with a deficit; return whether one can be reached."""
    net.steps[0] -= len(net.excess)
    end = 0
    for v in range(len(net.excess)):
        net.level[v] = -1
        if net.excess[v] > 0:
            net.level[v] = 0
            net.queue[end] = v
            end += 1
    k, last_level = 0, len(net.excess)
    while k < end and net.level[net.queue[k]] < last_level:
        v = net.queue[k]
        k += 1
        net.steps[0] -= net.first[v + 1] - net.first[v]
        for edge in net.edges[net.first[v] : net.first[v + 1]]:
            w = _other_end(net, v, edge)
            if net.level[w] < 0 and _is_open(net, v, edge):
                net.level[w] = net.level[v] + 1
                net.queue[end] = w
                end += 1
                if net.excess[w] < 0:
                    last_level = net.level[w]
    return last_level < len(net.excess)


@kernel
def _send(net: _Network, source: int) -> bool:
    """Send from a node to one with a deficit, level by level; return whether there was a path."""
    v, length = source, 0
    while net.excess[v] >= 0:
        if net.following[v] == net.first[v + 1]:
            if length == 0:
                return False
            length -= 1
            v = _other_end(net, v, net.path[length])
            net.following[v] += 1
            continue
        net.steps[0] -= 1
        edge = net.edges[net.following[v]]
        w = _other_end(net, v, edge)
        if net.level[w] == net.level[v] + 1 and _is_open(net, v, edge):
            net.path[length] = edge
            length += 1
            v = w
        else:
            net.following[v] += 1
    net.steps[0] -= 2 * length
    amount = min(net.excess[source], -net.excess[v])
    w = v
    for k in range(length - 1, -1, -1):
        w = _other_end(net, w, net.path[k])
        amount = min(amount, _residual(net, w, net.path[k])[0])
    net.excess[source] -= amount
    net.excess[v] += amount
    for k in range(length):
        net.flow[net.path[k]] += amount if w < net.n_topics else -amount
        w = _other_end(net, w, net.path[k])
    return True


# ---- the most balanced loads


@kernel
def _share(demand: _Demand, subscribed: Flags, loads: Ints, steps: int) -> tuple[int, bool, bool]:
    """Set ``loads`` for members with different subscriptions.

    Returns the fewest moves, whether the loads are exact, and whether the moves are exact.
    """
    n_topics, n_members = len(demand.supply), len(loads)
    left = np.full(1, steps, np.int64)
    no_costs = np.zeros(len(demand.keep), np.int64)
    net = _network(n_topics, n_members, demand.topic, demand.member, demand.supply[demand.topic], no_costs, left)
    _fill_up(net, demand.supply, loads)
    layer = np.full(n_topics + n_members, -1, np.int32)
    peaks = _even_out(net, loads, subscribed, layer)
    rest = subscribed & (layer[n_topics:] < 0)
    if (loads[rest] > 0).any():
        moved = _moves_at_least(demand, loads)
        _spread_evenly(loads, rest)
        return moved, False, False
    moved, exact = _fewest_moves(demand, loads, layer, peaks, left)
    return moved, True, exact


@kernel
def _fill_up(net: _Network, supply: Ints, loads: Ints) -> None:
    """Assign each topic's partitions to the subscribers with the lowest loads, topics with few subscribers first.

    Loads rise like the level of water. The result is often optimal, or nearly.
    """
    for t in stable_order(np.diff(net.first[: net.n_topics + 1])):
        edges = net.edges[net.first[t] : net.first[t + 1]]
        heights = loads[net.member[edges] - net.n_topics]
        heights = heights[stable_order(heights)]
        left, wet = supply[t], 1
        while wet < len(heights) and (heights[wet] - heights[wet - 1]) * wet <= left:
            left -= (heights[wet] - heights[wet - 1]) * wet
            wet += 1
        water, extra = heights[wet - 1] + left // wet, left % wet
        for edge in edges:
            m = net.member[edge] - net.n_topics
            if loads[m] <= water:
                net.flow[edge] = water - loads[m]
                if extra > 0:
                    net.flow[edge] += 1
                    extra -= 1
                loads[m] += net.flow[edge]


@kernel
def _even_out(net: _Network, loads: Ints, subscribed: Flags, layer: Ints32) -> Ints:
    """Balance ``loads`` and set the ``layer`` of each node, beginning with the highest loads.

    Returns the highest load of each layer. Members without partitions stay in layer -1, and so do those that are left
    when the steps run out.
    """
    peaks = np.empty(len(loads), np.int64)
    n_layers = 0
    while True:
        inside = subscribed & (layer[net.n_topics :] < 0)
        if not (loads[inside] > 0).any():
            return peaks[:n_layers]
        while True:
            peak = -(-loads[inside].sum() // inside.sum())
            if not _push_down_to(net, peak, inside, loads):
                return peaks[:n_layers]
            if not (loads[inside] > peak).any():
                break
            # The members that the remaining excess can reach have higher loads than the others on average.
            inside &= net.level[net.n_topics :] >= 0
        # Some member has the peak, since the average is above peak - 1. Members that these cannot reach have less.
        if not _push_down_to(net, peak - 1, inside, loads):
            return peaks[:n_layers]
        for v in range(len(layer)):
            if net.level[v] >= 0:
                layer[v] = n_layers
                # Lower layers must not send here: this closes the edges that lead to the layer.
                net.distance[v] = -1
        peaks[n_layers] = peak
        n_layers += 1


@kernel
def _push_down_to(net: _Network, limit: int, inside: Flags, loads: Ints) -> bool:
    """Send from the members inside with more than ``limit`` to those inside with less, and update ``loads``.

    Returns False if the steps ran out.
    """
    net.excess[:] = 0
    for m in range(len(loads)):
        if inside[m]:
            net.excess[net.n_topics + m] = loads[m] - limit
    done = _push(net)
    for m in range(len(loads)):
        if inside[m]:
            loads[m] = limit + net.excess[net.n_topics + m]
    return done


@kernel
def _spread_evenly(loads: Ints, rest: Flags) -> None:
    """Balance the loads of some members as if each could get any of their partitions: a bound for all loads."""
    share, extra = divmod(loads[rest].sum(), rest.sum())
    for m in range(len(loads)):
        if rest[m]:
            loads[m] = share
            if extra > 0:
                loads[m] += 1
                extra -= 1


@kernel
def _moves_at_least(demand: _Demand, loads: Ints) -> int:
    """Return a lower bound of the moves: in no optimal assignment a member has more than the highest load."""
    owning = np.zeros(len(loads), np.int64)
    for edge in range(len(demand.keep)):
        owning[demand.member[edge]] += demand.keep[edge]
    return demand.claimed - int(np.minimum(owning, loads.max()).sum())


# ---- the fewest moves


@kernel
def _fewest_moves(demand: _Demand, loads: Ints, layer: Ints32, peaks: Ints, steps: Ints) -> tuple[int, bool]:
    """Return the fewest moves to an assignment with the best loads, and whether that is exact or a lower bound.

    Every member gets as many partitions as the peak of its layer. An additional topic covers the difference: each
    member may get one of its partitions, which stand for no partition at all.
    """
    n_topics, n_members = len(demand.supply), len(loads)
    in_layer = layer[demand.topic] == layer[n_topics + demand.member]
    members = np.nonzero(layer[n_topics:] >= 0)[0].astype(np.int32)
    nothing = np.full(len(members), n_topics, np.int32)
    keep = np.concatenate((demand.keep[in_layer], np.zeros(len(members), np.int64)))
    net = _network(
        n_topics + 1,
        n_members,
        np.concatenate((demand.topic[in_layer], nothing)),
        np.concatenate((demand.member[in_layer], members)),
        np.concatenate((demand.supply[demand.topic[in_layer]], np.ones(len(members), np.int64))),
        keep,
        steps,
    )
    net.flow[:] = keep
    net.excess[:n_topics] = demand.supply
    for m in members:
        peak = peaks[layer[n_topics + m]]
        net.excess[n_topics] += peak - loads[m]
        net.excess[net.n_topics + m] = -peak
    for edge in range(len(keep)):
        net.excess[net.topic[edge]] -= keep[edge]
        net.excess[net.member[edge]] += keep[edge]
    cost, exact = _least_cost(net)
    return demand.claimed - int(keep.sum()) + cost, exact


@kernel
def _least_cost(net: _Network) -> tuple[int, bool]:
    """Send all excess and return the cost and True, or a lower bound and False if the steps run out.

    This is the primal-dual algorithm (Ford and Fulkerson 1957): it sends over edges of reduced cost 0; each partition
    that remains costs at least as much more as the cheapest edge that leaves the nodes in its reach.
    """
    cost = 0
    while _push(net):
        left = net.excess[net.excess > 0].sum()
        if left == 0:
            return cost, True
        rise = _cost_to_leave(net)
        net.distance[net.level >= 0] -= rise
        cost += rise * left
    return cost, False


@kernel
def _cost_to_leave(net: _Network) -> int:
    """Return the least reduced cost of an edge from a node that the excess can reach to one that it cannot."""
    least = np.iinfo(np.int64).max
    for v in range(len(net.level)):
        if net.level[v] >= 0:
            net.steps[0] -= net.first[v + 1] - net.first[v]
            for edge in net.edges[net.first[v] : net.first[v + 1]]:
                if net.level[_other_end(net, v, edge)] < 0:
                    room, cost = _residual(net, v, edge)
                    if room > 0:
                        least = min(least, cost)
    return least
