"""Applications whose tasks are to be assigned, as arrays: a batch of many, or views of one of them.

A process of Kafka Streams is a client of the assignor, and its threads are the client's consumers. Clients are numbered
in the order of their process ids (``UUID.compareTo``), consumers in that of their member ids (``String.compareTo``),
and tasks in that of ``TaskId``: the orders of Kafka's tree maps, so that only hash orders have to be computed.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rebalance_sim.kafka.runtime.hash_order import java_order, java_table_size
from rebalance_sim.kafka.runtime.kernel import inner_kernel, kernel
from rebalance_sim.kafka.runtime.strings import Flags, Ints, Ints32
from rebalance_sim.releases import KafkaStreamsRules

NONE, ACTIVE, STANDBY, WARMUP = 0, 1, 2, 3
"""What a client has of a task. Kafka's classes count a warm-up replica as a standby task."""
LATEST_OFFSET = -2
"""The lag of a task that runs on the client (``Task.LATEST_OFFSET``)."""
UNKNOWN_OFFSET_SUM = -3
"""The lag of a task whose offsets on the client's disk are unknown (``SubscriptionInfo.UNKNOWN_OFFSET_SUM``)."""
UNBOUNDED_LAG = 2**63 - 1
"""The ``acceptable.recovery.lag`` by which each client counts as caught up."""
ABSENT = -1
"""The value of a tag that a client does not have, and a cost that is not configured."""

States = NDArray[np.uint8]
_TASK_ID_HASH = int(KafkaStreamsRules.TASK_ID_HASH)


class Settings(NamedTuple):
    """Settings of the application's leader, by application (``AssignmentConfigs``)."""

    acceptable_recovery_lag: Ints
    max_warmup_replicas: Ints32
    num_standby_replicas: Ints32
    rack_strategy: Ints32
    """The number of the ``rack.aware.assignment.strategy`` in ``racks.STRATEGIES``."""
    traffic_cost: Ints32
    """``rack.aware.assignment.traffic_cost``, or ABSENT for the default of the assignor."""
    non_overlap_cost: Ints32
    """The same for ``rack.aware.assignment.non_overlap_cost``."""


class Tags(NamedTuple):
    """Tags of clients (KIP-708), numbered in each application."""

    keys: Ints32
    """Tag keys of application a: ``keys[a]`` to ``keys[a + 1]``."""
    configured: Flags
    """By tag key: whether it is among ``rack.aware.assignment.tags``."""
    aware: Flags
    """By application: whether ``rack.aware.assignment.tags`` has any key."""
    places: Ints
    """The values of application a begin at ``places[a]``: a row per client with a column per tag key."""
    values: Ints32
    """Numbers of values, or ABSENT."""


class Racks(NamedTuple):
    """Racks of clients and partitions (KIP-925)."""

    enabled: Flags
    """By application: whether a strategy is configured, and all racks are known (``canEnableRackAwareAssignor``)."""
    of_clients: Ints32
    """By client: the number of its rack within the application."""
    places: Ints
    """The matrices of an enabled application a begin at ``places[a]``."""
    misses: Ints32
    """By client and task: the number of source partitions without a replica in the client's rack."""
    changelog_misses: Ints32
    """The same for changelog partitions."""


class Applications(NamedTuple):
    """A batch of applications. Matrices have a row per client and a column per task."""

    clients: Ints32
    """Clients of application a: ``clients[a]`` to ``clients[a + 1]``."""
    client_hashes: Ints
    """The ``hashCode`` of the process ids, unsigned."""
    client_order: Ints32
    """By application, the numbers of its clients in the iteration order of the map that the assignor receives."""
    consumers: Ints32
    """Consumers of client c: ``consumers[c]`` to ``consumers[c + 1]``."""
    previous: Ints32
    """Stateful tasks that consumer k reports: ``previous[k]`` to ``previous[k + 1]`` of ``previous_tasks``."""
    previous_tasks: Ints32
    """Numbers of tasks within the application."""
    tasks: Ints32
    """Tasks of application a: ``tasks[a]`` to ``tasks[a + 1]``."""
    subtopologies: Ints32
    partitions: Ints32
    stateful: Flags
    task_order: Ints32
    """By application, the numbers of its tasks in the iteration order of the set of all tasks."""
    stateful_order: Ints32
    """Likewise, of the set of stateful tasks; the entries of the others are at the end and unused."""
    cells: Ints
    """The matrices of application a are ``cells[a]`` to ``cells[a + 1]`` of the arrays below."""
    lags: Ints
    previous_states: States
    """ACTIVE or STANDBY: what clients had of each task before the rebalance."""
    unknown_previous: Ints32
    """By application: active tasks of the past that no longer exist. They enlarge a hash map."""
    settings: Settings
    tags: Tags
    racks: Racks


class TaskAssignments(NamedTuple):
    """The tasks of a batch of applications."""

    states: States
    """By cell: NONE, ACTIVE, STANDBY or WARMUP."""
    probing: Flags
    """By application: whether a probing rebalance follows."""
    uncertain: Flags
    """By application: whether ties are broken by a hash table with trees, whose order is not modelled."""


class Application(NamedTuple):
    """Views of one application, and its assignment while it is made."""

    capacities: Ints32
    """By client: its number of consumers."""
    hashes: Ints
    """By client: the ``hashCode`` of its process id."""
    stateful: Flags
    lags: Ints
    """The matrix of lags, flat: client c and task t at ``c * n_tasks + t``."""
    states: States
    """The assignment, flat in the same way."""
    active: Ints32
    """By client: the number of its active tasks."""
    standby: Ints32
    """By client: the number of its standby tasks, with warm-up replicas."""


@kernel
def application(batch: Applications, a: int, states: States) -> Application:
    """Return views of application ``a``; ``states`` are those of the batch."""
    clients, tasks = slice(batch.clients[a], batch.clients[a + 1]), slice(batch.tasks[a], batch.tasks[a + 1])
    cells = slice(batch.cells[a], batch.cells[a + 1])
    n_clients = batch.clients[a + 1] - batch.clients[a]
    capacities = batch.consumers[batch.clients[a] + 1 : batch.clients[a + 1] + 1] - batch.consumers[clients]
    hashes, stateful = batch.client_hashes[clients], batch.stateful[tasks]
    active, standby = np.zeros(n_clients, np.int32), np.zeros(n_clients, np.int32)
    return Application(capacities, hashes, stateful, batch.lags[cells], states[cells], active, standby)


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


@kernel
def task_id_hash(subtopology: int, partition: int, rules: int) -> int:
    """Return ``TaskId.hashCode`` as an unsigned 32-bit number.

    ``Objects.hash(subtopology, partition, null)`` since 3.0; before, both numbers in 64 bits, modulo 2**32 - 1.
    """
    if rules >= _TASK_ID_HASH:
        return (31 * (31 * (31 + int(subtopology)) + int(partition))) & 0xFFFFFFFF
    return (int(subtopology) + int(partition)) % 0xFFFFFFFF


def hash_map_order(hashes: Iterable[int]) -> list[int]:
    """Return the places of keys in the order of a ``HashMap`` that they were put into, from their hash codes."""
    codes = np.array(list(hashes), np.int64)
    return java_order(codes, np.arange(len(codes), dtype=np.int32), java_table_size(len(codes))).tolist()


@kernel
def task_hashes(batch: Applications, a: int, rules: int) -> Ints:
    """Return the hash codes of the tasks of application ``a``."""
    first, end = batch.tasks[a], batch.tasks[a + 1]
    hashes = np.empty(end - first, np.int64)
    for t in range(first, end):
        hashes[t - first] = task_id_hash(batch.subtopologies[t], batch.partitions[t], rules)
    return hashes
