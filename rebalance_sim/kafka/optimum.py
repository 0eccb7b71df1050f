"""The best that any assignor could do: the most even loads that a group's subscriptions allow, in the fewest moves.

Loads are the numbers of partitions a member. Sorted, the loads of one kind of assignment are the best in every respect
at once: least highest load, greatest lowest load, least deviation, least sum of differences (Harvey, Ladner, Lovász,
Tamir: Semi-Matchings for Bipartite Graphs and Load Balancing, 2003). Partitions of a topic are alike but for their
owner, so that what matters is how many of each topic a member gets: it keeps the smaller of that and what it owns.

Loads are evened out by flows from members with many to members with few partitions. That splits members and topics
into layers (the canonical partition of Frank and Murota: Discrete Decreasing Minimization, 2018): in a layer every
member has ``peak`` or ``peak - 1`` partitions, which come from the topics of that layer. An assignment is one of the
most even ones if and only if it keeps to the layers, which leaves one flow of least cost, where every partition that
is not kept costs 1.
"""

from typing import NamedTuple

import numpy as np

from rebalance_sim.kafka.balance import partition_owners
from rebalance_sim.kafka.groups import Assignments, Subscribers, Topics
from rebalance_sim.kafka.kernel import kernel
from rebalance_sim.kafka.strings import Flags, Ints, Ints32

STEPS = 1 << 27
"""Looks at a node or at an edge between a topic and a subscriber that a group may take: one or two seconds.

Of 30,000 groups of ``conf/fleets/default.yaml`` none takes more than 2**12, and all together a twentieth of a second.
1,000 members that want half of 100 topics with 100 partitions each take 2**19. Worst are many layers: 1,000 members
that want two topics each, with all loads different, took 2**27. Groups whose members all want the same take none.
"""


class Optimum(NamedTuple):
    """Figures of each group, over all assignments of all its partitions to subscribers.

    What is not exact is a bound that no assignment passes: ``max``, ``stddev``, ``score``, ``idle`` and ``moved`` are
    not greater, ``min`` is not less than the exact figure.
    """

    partitions: Ints32
    """Partitions of the topics that the group subscribes to."""
    min: Ints32
    """Fewest partitions that a member has."""
    max: Ints32
    stddev: np.ndarray[tuple[int], np.dtype[np.float64]]
    """Standard deviation of the partitions a member, over the whole group."""
    score: Ints
    """Sum of the differences of any two members' partitions (Kafka's ``getBalanceScore``)."""
    idle: Ints32
    """Fewest members without a partition."""
    moved: Ints32
    """Fewest partitions that another member owned before, of the assignments with the loads above."""
    balance_exact: Flags
    """Whether all figures but ``moved`` are exact."""
    exact: Flags
    """Whether all figures are exact."""


@kernel
def optimum(
    groups: Ints32,
    topics: Topics,
    by_topic: Subscribers,
    owned: Assignments,
    generations: Ints,
    steps: int = STEPS,
) -> Optimum:
    """Find the best loads of each group, and the fewest moves from ``owned`` to them.

    Of each topic's subscribers, in any order, every one stands once in ``by_topic``. Who owned a partition is decided
    as in ``balance``. ``steps`` bounds the work a group.
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
    base = np.full(len(topics.partitions), -1, np.int32)
    edge_of = np.full(len(generations), -1, np.int32)
    for g in range(n):
        start, end = groups[g], groups[g + 1]
        demand = _demand(g, start, end, topics, by_topic, owned, generations, base, edge_of)
        out.partitions[g] = demand.supply.sum()
        if end > start and len(demand.supply) > 0:
            loads = np.zeros(end - start, np.int64)
            subscribed = _subscribed(demand, len(loads))
            if len(demand.topic) == len(demand.supply) * subscribed.sum():
                out.moved[g] = _share_alike(demand, subscribed, loads)
            else:
                out.moved[g], out.balance_exact[g], out.exact[g] = _share(demand, subscribed, loads, steps)
            _measure(g, loads, out)
    return out


@kernel
def _measure(g: int, loads: Ints, out: Optimum) -> None:
    members = len(loads)
    ascending = np.sort(loads)
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
    out.idle[g] = idle


# ---- what a group wants


class _Demand(NamedTuple):
    """Topics that have partitions, numbered from 0, and their subscribers: an edge for each topic and subscriber."""

    supply: Ints
    """Partitions of each topic."""
    topic: Ints32
    """Topic of each edge."""
    member: Ints32
    """Member of each edge, numbered from 0."""
    keep: Ints
    """Partitions of the edge's topic that its member owned."""
    claimed: int
    """Partitions that any member owned, also one that does not subscribe to the topic."""


@kernel
def _demand(
    g: int,
    start: int,
    end: int,
    topics: Topics,
    by_topic: Subscribers,
    owned: Assignments,
    generations: Ints,
    base: Ints32,
    edge_of: Ints32,
) -> _Demand:
    """Number what group g wants; ``base`` (by topic) and ``edge_of`` (by member) are all -1 and are left so."""
    first, last = by_topic.group_topics[g], by_topic.group_topics[g + 1]
    room, n_topics, n_edges = 0, 0, 0
    for entry in range(first, last):
        partitions = topics.partitions[by_topic.topics[entry]]
        if partitions > 0:
            base[by_topic.topics[entry]] = room
            room += partitions
            n_topics += 1
            n_edges += by_topic.offsets[entry + 1] - by_topic.offsets[entry]
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
        subscribers = by_topic.members[by_topic.offsets[entry] : by_topic.offsets[entry + 1]]
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
    """Tell which members may get anything."""
    subscribed = np.zeros(n_members, np.bool_)
    for m in demand.member:
        subscribed[m] = True
    return subscribed


@kernel
def _share_alike(demand: _Demand, subscribed: Flags, loads: Ints) -> int:
    """Share among members that all want the same topics: set ``loads``, return the fewest moves.

    Who owns more than the share gets one of the partitions that are left over, as long as there are any.
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
    """Topics hand partitions to members along edges. Topics and members are nodes, the topics first.

    A flow of partitions may follow an edge, so that the member gets more of the topic, and turn back on it, so that it
    gets fewer. A partition that its member does not keep costs 1, in the way that the first ``keep`` ones of an edge
    cost -1 each and the others nothing.
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
    """Partitions that the edge's member gets of its topic."""
    excess: Ints
    """Partitions that a node has too many; below 0: too few."""
    distance: Ints
    """Potential of each node. The reduced cost of going from v to w, ``distance[v] - distance[w]`` and the cost, is
    never below 0."""
    level: Ints32
    """Number of edges from the nearest node with too many, over edges of reduced cost 0; -1 out of reach."""
    queue: Ints32
    path: Ints32
    following: Ints32
    """Place in ``edges`` where the search goes on, by node."""
    steps: Ints
    """Looks at a node or an edge that are left, one number."""


@kernel
def _network(
    n_topics: int, n_members: int, topic: Ints32, member: Ints32, capacity: Ints, keep: Ints, steps: Ints
) -> _Network:
    """Lay out a network without a flow; ``member`` has numbers from 0."""
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
    """How many partitions can go from node v over an edge at the same cost, and the reduced cost of each."""
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
    """Let nodes with too many send to nodes with too few, over open edges, as much as can be (Dinic's algorithm).

    ``level`` tells then which nodes the excess that is left can reach. Returns False if the steps ran out before.
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
    """Set ``level`` up to the nearest node with too few; tell whether there is one in reach."""
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
    """Send from a node to one with too few, from level to level; tell whether there was a way."""
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


# ---- the most even loads


@kernel
def _share(demand: _Demand, subscribed: Flags, loads: Ints, steps: int) -> tuple[int, bool, bool]:
    """Share among members that want different topics.

    Sets ``loads``; returns the fewest moves, and whether the loads are exact, and the moves, too.
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
    """Give each topic's partitions to the subscribers that have fewest, like water; topics of few subscribers first.

    Often these are the most even loads, or nearly.
    """
    for t in np.argsort(np.diff(net.first[: net.n_topics + 1]), kind="mergesort"):
        edges = net.edges[net.first[t] : net.first[t + 1]]
        heights = np.sort(loads[net.member[edges] - net.n_topics])
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
    """Make ``loads`` as even as can be and set each node's ``layer``, from the one of the highest loads on.

    Returns the highest load of each layer. Members that get nothing stay in layer -1; and, when the steps run out,
    those that are not done with.
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
            # Who is in reach of the excess that is left has more than the others on average.
            inside &= net.level[net.n_topics :] >= 0
        # Somebody has the peak, since the average is above peak - 1. Who is out of reach of these has less.
        if not _push_down_to(net, peak - 1, inside, loads):
            return peaks[:n_layers]
        for v in range(len(layer)):
            if net.level[v] >= 0:
                layer[v] = n_layers
                # Lower layers have nothing to gain here: this closes the edges that lead here.
                net.distance[v] = -1
        peaks[n_layers] = peak
        n_layers += 1


@kernel
def _push_down_to(net: _Network, limit: int, inside: Flags, loads: Ints) -> bool:
    """Let members inside that have more than ``limit`` send to those inside that have less; update ``loads``.

    Returns False if the steps ran out before all was sent that can be.
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
    """Share what some members have as if each could get any of it: no loads are more even."""
    share, extra = divmod(loads[rest].sum(), rest.sum())
    for m in range(len(loads)):
        if rest[m]:
            loads[m] = share
            if extra > 0:
                loads[m] += 1
                extra -= 1


@kernel
def _moves_at_least(demand: _Demand, loads: Ints) -> int:
    """Bound the moves: no member has more in the most even assignment than the most loaded has in any other."""
    owning = np.zeros(len(loads), np.int64)
    for edge in range(len(demand.keep)):
        owning[demand.member[edge]] += demand.keep[edge]
    return demand.claimed - int(np.minimum(owning, loads.max()).sum())


# ---- the fewest moves


@kernel
def _fewest_moves(demand: _Demand, loads: Ints, layer: Ints32, peaks: Ints, steps: Ints) -> tuple[int, bool]:
    """Count the moves to the best of the most even assignments; with whether that is exact or a lower bound.

    Every member is to have the peak of its layer. For that there is a topic more: of its partitions, which stand for
    none, each member may get one. How many of them go to a layer follows from the partitions that stay in it.
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
    """Send all excess and return what it costs; or, with False, a lower bound, if the steps run out.

    This is the primal-dual algorithm (Ford and Fulkerson 1957). It sends over edges of reduced cost 0; what is left
    then can go on only at the least cost of an edge that leads out of its reach, each partition of it.
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
    """Return the least reduced cost of an edge from nodes in reach of the excess to others."""
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
