"""``ConstrainedPrioritySet``: a ``PriorityQueue`` of clients by load, from which the first client that fits is taken.

The loads change while clients are queued. Kafka removes and adds only the two clients of a movement, one after the
other, so that the heap may be out of order for a moment: its operations have to be the same, and in the same order.
"""

from typing import NamedTuple

import numpy as np

from rebalance_sim.kafka.runtime.hash_order import sort_in_java_order
from rebalance_sim.kafka.runtime.kernel import inner_kernel, kernel
from rebalance_sim.kafka.runtime.strings import Flags, Ints32
from rebalance_sim.kafka.streams.applications import NONE, STANDBY, Application

ANY, WITHOUT_TASK, WITH_STANDBY = 0, 1, 2
"""Which clients fit: all, those that have nothing of the task, or those that have it as a standby task."""


class ClientQueue(NamedTuple):
    """The queued clients of an application, and which clients are excluded."""

    clients: Ints32
    size: Ints32
    """As an array of one."""
    queued: Flags
    excluded: Flags
    """By client: whether a tag excludes it (``ClientTagAwareStandbyTaskAssignor``)."""
    rejected: Ints32
    """Scratch space: clients that were polled and do not fit."""
    by_active: bool
    """Whether the load is that of active tasks only."""


@kernel
def client_queue(n_clients: int, by_active: bool) -> ClientQueue:
    """Return an empty queue of clients."""
    clients, rejected = np.empty(n_clients, np.int32), np.empty(n_clients, np.int32)
    queued, excluded = np.zeros(n_clients, np.bool_), np.zeros(n_clients, np.bool_)
    return ClientQueue(clients, np.zeros(1, np.int32), queued, excluded, rejected, by_active)


@inner_kernel
def offer_all(app: Application, queue: ClientQueue) -> None:
    """Add all clients (``offerAll``)."""
    for client in range(len(queue.queued)):
        offer_client(app, queue, client)


@inner_kernel
def offer_client(app: Application, queue: ClientQueue, client: int) -> None:
    """Add a client, or give a queued one its place by its present load (``offer``)."""
    if queue.queued[client]:
        place = 0
        while queue.clients[place] != client:
            place += 1
        _remove_at(app, queue, place)
    queue.queued[client] = True
    place = queue.size[0]
    queue.size[0] += 1
    _sift_up(app, queue, place, client)


@kernel
def poll_client(app: Application, queue: ClientQueue, task: int, fitting: int, caught_up: Flags) -> int:
    """Remove and return the first client that fits and is among those flagged, or -1 (``poll``).

    Clients that do not fit are queued again in the order of a ``HashSet``.
    """
    n_tasks, n_rejected, polled = len(app.stateful), 0, -1
    while queue.size[0] > 0:
        client = queue.clients[0]
        _remove_at(app, queue, 0)
        queue.queued[client] = False
        state = app.states[client * n_tasks + task]
        fits = fitting == ANY or (fitting == WITHOUT_TASK and state == NONE)
        fits = fits or (fitting == WITH_STANDBY and state >= STANDBY)
        if fits and caught_up[client] and not queue.excluded[client]:
            polled = client
            break
        queue.rejected[n_rejected] = client
        n_rejected += 1
    if n_rejected > 1:
        sort_in_java_order(queue.rejected[:n_rejected], app.hashes)
    for client in queue.rejected[:n_rejected]:
        offer_client(app, queue, client)
    return int(polled)


@inner_kernel
def _comes_first(app: Application, queue: ClientQueue, a: int, b: int) -> bool:
    """Return whether a client has less load than another; ties go to the smaller process id."""
    if queue.by_active:
        a_load, b_load = app.active[a] / app.capacities[a], app.active[b] / app.capacities[b]
    else:
        a_load = (app.active[a] + app.standby[a]) / app.capacities[a]
        b_load = (app.active[b] + app.standby[b]) / app.capacities[b]
    return a < b if a_load == b_load else a_load < b_load


@inner_kernel
def _remove_at(app: Application, queue: ClientQueue, place: int) -> None:
    queue.size[0] -= 1
    last = queue.size[0]
    if place == last:
        return
    moved = queue.clients[last]
    _sift_down(app, queue, place, moved)
    if queue.clients[place] == moved:
        _sift_up(app, queue, place, moved)


@inner_kernel
def _sift_up(app: Application, queue: ClientQueue, place: int, client: int) -> None:
    while place > 0:
        parent = (place - 1) >> 1
        if not _comes_first(app, queue, client, queue.clients[parent]):
            break
        queue.clients[place] = queue.clients[parent]
        place = parent
    queue.clients[place] = client


@inner_kernel
def _sift_down(app: Application, queue: ClientQueue, place: int, client: int) -> None:
    size = queue.size[0]
    while place < size >> 1:
        child = 2 * place + 1
        if child + 1 < size and _comes_first(app, queue, queue.clients[child + 1], queue.clients[child]):
            child += 1
        if not _comes_first(app, queue, queue.clients[child], client):
            break
        queue.clients[place] = queue.clients[child]
        place = child
    queue.clients[place] = client
