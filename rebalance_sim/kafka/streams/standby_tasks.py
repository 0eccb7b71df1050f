"""Standby tasks of ``HighAvailabilityTaskAssignor``: on the clients with the fewest tasks, and on other tags.

``DefaultStandbyTaskAssignor``, and ``ClientTagAwareStandbyTaskAssignor`` since 3.2 (KIP-708).
"""

from typing import NamedTuple

import numpy as np

from rebalance_sim.kafka.runtime.hash_order import java_order, java_table_size
from rebalance_sim.kafka.runtime.kernel import inner_kernel, kernel
from rebalance_sim.kafka.runtime.strings import Flags, Ints, Ints32
from rebalance_sim.kafka.streams.applications import ABSENT, ACTIVE, STANDBY, Application, set_state
from rebalance_sim.kafka.streams.client_queue import (
    WITHOUT_TASK,
    ClientQueue,
    client_queue,
    offer_all,
    offer_client,
    poll_client,
)


class ClientTags(NamedTuple):
    """The tags of an application's clients."""

    values: Ints32
    """The number of each value, flat: a row per client with a column per key."""
    configured: Flags
    """By key: whether it is among ``rack.aware.assignment.tags``."""
    counts: Ints32
    """By key: how many values the clients have."""
    used: Flags
    """Scratch space: by key and value, whether a copy of the task is on a client with it."""


@kernel
def _client_tags(values: Ints32, configured: Flags) -> ClientTags:
    """Return the tags with the number of values of each key."""
    n_keys = len(configured)
    counts = np.zeros(n_keys, np.int32)
    for cell in range(len(values)):
        counts[cell % n_keys] = max(counts[cell % n_keys], values[cell] + 1)
    return ClientTags(values, configured, counts, np.zeros(n_keys * (values.max() + 1 if len(values) else 0), np.bool_))


@kernel
def assign_standbys(app: Application, replicas: int) -> None:
    """Assign the standby tasks of each stateful task to the clients with the least load."""
    n_clients = len(app.capacities)
    queue, all_clients = client_queue(n_clients, False), np.ones(n_clients, np.bool_)
    offer_all(app, queue)
    for task in range(len(app.stateful)):
        if app.stateful[task]:
            _assign_to_least_loaded(app, queue, task, replicas, all_clients)


@kernel
def assign_standbys_by_tag(
    app: Application, values: Ints32, configured: Flags, replicas: int, task_hashes: Ints
) -> None:
    """Assign standby tasks to clients with other tags, and those that are left to the clients with the least load.

    ``task_hashes`` are those of all tasks: the tasks that are left are taken in the order of a ``HashMap``.
    """
    n_clients, n_tasks, tags = len(app.capacities), len(app.stateful), _client_tags(values, configured)
    queue, all_clients = client_queue(n_clients, False), np.ones(n_clients, np.bool_)
    left = np.zeros(n_tasks, np.int32)
    for task in range(n_tasks):
        for client in range(n_clients):
            if app.stateful[task] and app.states[client * n_tasks + task] == ACTIVE:
                left[task] = _assign_to_other_tags(app, tags, queue, task * n_clients + client, replicas)
    queue.excluded[:] = False
    offer_all(app, queue)
    stateful = np.flatnonzero(app.stateful).astype(np.int32)
    for task in java_order(task_hashes, stateful, java_table_size(len(stateful))):
        _assign_to_least_loaded(app, queue, task, left[task], all_clients)


@kernel
def allowed_movements(n_clients: int, values: Ints32, aware: bool) -> Flags:
    """Return, in a row per source, to which clients standby tasks may move: those that have all tags of the source."""
    allowed = np.ones(n_clients * n_clients, np.bool_)
    n_keys = len(values) // n_clients
    if aware:
        for cell in range(n_clients * n_clients):
            source, destination = cell // n_clients, cell % n_clients
            for key in range(n_keys):
                value, wanted = values[destination * n_keys + key], values[source * n_keys + key]
                if wanted != ABSENT:
                    allowed[cell] = allowed[cell] and value == wanted
    return allowed


@kernel
def _assign_to_least_loaded(app: Application, queue: ClientQueue, task: int, replicas: int, all_clients: Flags) -> None:
    for _ in range(replicas):
        client = poll_client(app, queue, task, WITHOUT_TASK, all_clients)
        if client < 0:
            return
        set_state(app, client, task, STANDBY)
        offer_client(app, queue, client)


@kernel
def _assign_to_other_tags(app: Application, tags: ClientTags, queue: ClientQueue, copy: int, replicas: int) -> int:
    """Assign standby tasks of an active task, and return how many could not be assigned.

    ``copy`` is ``task * n_clients + client`` (``assignStandbyTasksToClientsWithDifferentTags``).
    """
    n_clients = len(app.capacities)
    all_clients = np.ones(n_clients, np.bool_)
    task, last = copy // n_clients, copy % n_clients
    offer_all(app, queue)
    tags.used[:] = False
    used_clients = 1
    while replicas > 0:
        _exclude_tags_of(tags, queue, last, used_clients)
        last = poll_client(app, queue, task, WITHOUT_TASK, all_clients)
        if last < 0:
            break
        used_clients += 1
        replicas -= 1
        set_state(app, last, task, STANDBY)
    return replicas


@inner_kernel
def _exclude_tags_of(tags: ClientTags, queue: ClientQueue, used: int, used_clients: int) -> None:
    """Exclude the clients with a tag of a used client, unless all values of a key are used already."""
    n_keys = len(tags.configured)
    for key in range(n_keys):
        value = tags.values[used * n_keys + key]
        if value == ABSENT or not tags.configured[key]:
            continue
        if tags.counts[key] <= used_clients:
            for any_value in range(tags.counts[key]):
                tags.used[any_value * n_keys + key] = False
        else:
            tags.used[value * n_keys + key] = True
    for client in range(len(queue.excluded)):
        queue.excluded[client] = False
        for key in range(n_keys):
            value = tags.values[client * n_keys + key]
            if value != ABSENT and tags.used[value * n_keys + key]:
                queue.excluded[client] = True
