"""``TaskMovement``: tasks whose planned client has to restore them first stay with a client that is caught up.

The planned client gets a warm-up replica meanwhile, if ``max.warmup.replicas`` allows another. Up to 3.1 only clients
within the acceptable lag count; since 3.2 (KAFKA-13600) a client that is more caught up than the planned client takes
its place. Up to 3.2 the movements are made in the order of the queue's iterator, and since 3.3 in that of the queue.
"""

from typing import NamedTuple

import numpy as np

from rebalance_sim.kafka.runtime.kernel import inner_kernel, kernel
from rebalance_sim.kafka.runtime.priority_queue import PriorityQueue, new_queue, offer, poll
from rebalance_sim.kafka.runtime.strings import Flags, Ints, Ints32
from rebalance_sim.kafka.streams.applications import (
    ACTIVE,
    LATEST_OFFSET,
    NONE,
    STANDBY,
    UNBOUNDED_LAG,
    WARMUP,
    Application,
    set_state,
)
from rebalance_sim.kafka.streams.client_queue import (
    ANY,
    WITH_STANDBY,
    WITHOUT_TASK,
    ClientQueue,
    client_queue,
    offer_client,
    poll_client,
)
from rebalance_sim.releases import KafkaStreamsRules

_MOST_CAUGHT_UP = int(KafkaStreamsRules.MOST_CAUGHT_UP)
_POLLED_MOVEMENTS = int(KafkaStreamsRules.POLLED_MOVEMENTS)


class Movements(NamedTuple):
    """What decides about the movements of an application."""

    caught_up: Flags
    """By task, then client: whether it may take over the task at once."""
    counts: Ints32
    """By task: the number of clients that are caught up."""
    left: Ints
    """The number of warm-up replicas that may still be assigned, as an array of one."""
    rules: int


@kernel
def movements(app: Application, acceptable_lag: int, max_warmups: int, rules: int) -> Movements:
    """Find out which clients are caught up on which stateful tasks (``tasksToCaughtUpClients``)."""
    n_clients, n_tasks = len(app.capacities), len(app.stateful)
    caught_up = np.zeros(n_tasks * n_clients, np.bool_)
    counts = np.zeros(n_tasks, np.int32)
    for client in range(n_clients):
        for task in range(n_tasks):
            lag = app.lags[client * n_tasks + task]
            if lag == LATEST_OFFSET or acceptable_lag == UNBOUNDED_LAG or 0 <= lag <= acceptable_lag:
                caught_up[task * n_clients + client] = True
                counts[task] += 1
    if rules < _MOST_CAUGHT_UP:
        # A task on which no client is caught up may go to each.
        for task in range(n_tasks):
            if counts[task] == 0:
                caught_up[task * n_clients : (task + 1) * n_clients] = True
    left = np.empty(1, np.int64)
    left[0] = max_warmups
    return Movements(caught_up, counts, left, rules)


@kernel
def move_active_tasks(app: Application, plan: Movements) -> int:
    """Keep active tasks where they are caught up; return the number of movements (``assignActiveTaskMovements``)."""
    n_clients = len(app.capacities)
    clients = client_queue(n_clients, False)
    queue = _queued(app, plan, clients, ACTIVE)
    count = queue.size[0]
    for place in range(count):
        movement = poll(queue) if plan.rules >= _POLLED_MOVEMENTS else queue.values[place]
        task, destination = movement // n_clients, movement % n_clients
        caught_up = plan.caught_up[task * n_clients : (task + 1) * n_clients]
        source = poll_client(app, clients, task, WITH_STANDBY, caught_up)
        if source < 0:
            source = poll_client(app, clients, task, ANY, caught_up)
        if source < 0:
            source = _most_caught_up(app, task, destination, ANY)
        _move_active(app, plan, task, source, destination)
        offer_client(app, clients, source)
        offer_client(app, clients, destination)
    return int(count)


@kernel
def move_standby_tasks(app: Application, plan: Movements) -> int:
    """Likewise for standby tasks, but not for warm-up replicas (``assignStandbyTaskMovements``)."""
    n_clients = len(app.capacities)
    clients = client_queue(n_clients, False)
    queue = _queued(app, plan, clients, STANDBY)
    count = 0
    for place in range(queue.size[0]):
        movement = poll(queue) if plan.rules >= _POLLED_MOVEMENTS else queue.values[place]
        task, destination = movement // n_clients, movement % n_clients
        caught_up = plan.caught_up[task * n_clients : (task + 1) * n_clients]
        source = poll_client(app, clients, task, WITHOUT_TASK, caught_up)
        if source < 0 and plan.rules >= _MOST_CAUGHT_UP:
            source = _most_caught_up(app, task, destination, WITHOUT_TASK)
        if source < 0:
            continue
        set_state(app, source, task, STANDBY)
        set_state(app, destination, task, WARMUP if plan.left[0] > 0 else NONE)
        plan.left[0] -= 1
        offer_client(app, clients, source)
        offer_client(app, clients, destination)
        count += 1
    return count


@kernel
def _queued(app: Application, plan: Movements, clients: ClientQueue, state: int) -> PriorityQueue:
    """Queue the clients, and the tasks that have to move: those with the fewest caught-up clients first."""
    n_clients, n_tasks = len(app.capacities), len(app.stateful)
    count = 0
    for cell in range(n_clients * n_tasks):
        count += app.states[cell] == state
    queue = new_queue(count)
    for client in range(n_clients):
        for task in range(n_tasks):
            if app.states[client * n_tasks + task] == state and _has_to_move(app, plan, task, client):
                offer(queue, plan.counts[task] * n_tasks + task, task * n_clients + client)
        offer_client(app, clients, client)
    return queue


@inner_kernel
def _has_to_move(app: Application, plan: Movements, task: int, client: int) -> bool:
    n_clients, n_tasks = len(app.capacities), len(app.stateful)
    if plan.caught_up[task * n_clients + client]:
        return False
    if plan.rules < _MOST_CAUGHT_UP:
        return True
    lag = app.lags[client * n_tasks + task]
    for other in range(n_clients):
        if app.lags[other * n_tasks + task] < lag:
            return True
    return False


@inner_kernel
def _most_caught_up(app: Application, task: int, destination: int, fitting: int) -> int:
    """Return the client with the smallest lag, if it is before the destination by lag and id, or -1.

    ``mostCaughtUpEligibleClient``; ``fitting`` is as in ``poll_client``.
    """
    n_tasks = len(app.stateful)
    best, limit = -1, app.lags[destination * n_tasks + task]
    for client in range(len(app.capacities)):
        lag = app.lags[client * n_tasks + task]
        is_before = lag < limit or (lag == limit and best < 0 and client < destination)
        if is_before and (fitting == ANY or app.states[client * n_tasks + task] == NONE):
            best, limit = client, lag
    return best


@inner_kernel
def _move_active(app: Application, plan: Movements, task: int, source: int, destination: int) -> None:
    """Make the source's copy active: it trades places with the destination, or the destination warms up."""
    n_tasks = len(app.stateful)
    if app.states[source * n_tasks + task] >= STANDBY:
        set_state(app, destination, task, STANDBY)
    else:
        set_state(app, destination, task, WARMUP if plan.left[0] > 0 else NONE)
        plan.left[0] -= 1
    set_state(app, source, task, ACTIVE)
