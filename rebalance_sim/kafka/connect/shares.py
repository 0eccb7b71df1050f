"""What each worker of a Connect cluster has of a kind of resource during a rebalance: connectors, or tasks."""

from typing import NamedTuple

import numpy as np

from rebalance_sim.kafka.connect.clusters import Moves, Resources
from rebalance_sim.kafka.runtime.kernel import inner_kernel, kernel
from rebalance_sim.kafka.runtime.sorting import stable_order
from rebalance_sim.kafka.runtime.strings import Flags, Ints32

NOBODY = -1


class Shares(NamedTuple):
    """The resources of a cluster, its workers' shares of them, and what the rebalance changes."""

    held_from: Ints32
    """By worker, from 0."""
    held: Ints32
    holders: Ints32
    """By resource: the number of workers that run it."""
    deleted: Flags
    """By resource: whether it was assigned before, and is not configured any longer."""
    lost: Ints32
    """Resources that were assigned before, are configured, and that no worker runs."""
    created: Ints32
    """Resources that are configured, were not assigned before, and that no worker runs."""
    stays: Flags
    """By entry of ``held``: whether the worker keeps it."""
    loads: Ints32
    """By worker: the number of resources that it keeps or gets."""
    is_revoked: Flags
    """By entry of ``held``."""
    owners: Ints32
    """By resource: the worker that gets it, or NOBODY."""
    added: Ints32
    """Resources in the order in which workers get them: the first ``added_count[0]`` entries."""
    added_count: Ints32
    taken_back: Flags
    """By resource: whether it is revoked by the same rebalance that assigns it."""


@kernel
def holders_of(resources: Resources, c: int, first_worker: int, end_worker: int) -> Ints32:
    """Return how many workers of a cluster run each resource."""
    holders = np.zeros(resources.offsets[c + 1] - resources.offsets[c], np.int32)
    for resource in resources.held[resources.held_from[first_worker] : resources.held_from[end_worker]]:
        holders[resource] += 1
    return holders


@kernel
def shares_of(resources: Resources, c: int, first_worker: int, end_worker: int, holders: Ints32) -> Shares:
    """Return the shares of a cluster's workers before its rebalance, and what has changed since the last one."""
    low, high = resources.offsets[c], resources.offsets[c + 1]
    start, count = resources.held_from[first_worker], high - low
    held_from = resources.held_from[first_worker : end_worker + 1] - start
    held = resources.held[start : resources.held_from[end_worker]]
    configured, previous = resources.configured[low:high], resources.previous[low:high]
    lost, created = np.empty(count, np.int32), np.empty(count, np.int32)
    lost_count, created_count = 0, 0
    for resource in range(count):
        if not configured[resource] or holders[resource] > 0:
            continue
        if previous[resource]:
            lost[lost_count] = resource
            lost_count += 1
        else:
            created[created_count] = resource
            created_count += 1
    deleted, lost, created = previous & ~configured, lost[:lost_count], created[:created_count]
    stays, loads = np.ones(len(held), np.bool_), held_from[1:] - held_from[:-1]
    revoked, owners = np.zeros(len(held), np.bool_), np.full(count, NOBODY, np.int32)
    added, added_count, taken_back = np.empty(count, np.int32), np.zeros(1, np.int32), np.zeros(count, np.bool_)
    return Shares(
        held_from, held, holders, deleted, lost, created, stays, loads, revoked, owners, added, added_count, taken_back
    )


@inner_kernel
def drop(shares: Shares, worker: int, entry: int) -> None:
    """Take an entry of ``held`` from what its worker keeps."""
    if shares.stays[entry]:
        shares.stays[entry] = False
        shares.loads[worker] -= 1


@inner_kernel
def drop_deleted(shares: Shares) -> None:
    """Take the deleted resources from what workers keep."""
    for worker in range(len(shares.loads)):
        for entry in range(shares.held_from[worker], shares.held_from[worker + 1]):
            if shares.deleted[shares.held[entry]]:
                drop(shares, worker, entry)


@inner_kernel
def add(shares: Shares, worker: int, resource: int) -> None:
    """Assign a resource to a worker."""
    shares.owners[resource] = worker
    shares.added[shares.added_count[0]] = resource
    shares.added_count[0] += 1
    shares.loads[worker] += 1


@kernel
def distribute(shares: Shares, resources: Ints32, ranks: Ints32) -> None:
    """Assign resources to the least loaded workers, in turn (``assignConnectors``, ``assignTasks``)."""
    count = len(ranks)
    order = stable_order(shares.loads.astype(np.int64) * count + ranks)
    level_end, next_resource = 0, 0
    while next_resource < len(resources):
        load = shares.loads[order[0]]
        while level_end < count and shares.loads[order[level_end]] <= load:
            level_end += 1
        for worker in order[:level_end]:
            add(shares, int(worker), int(resources[next_resource]))
            next_resource += 1
            if next_resource == len(resources):
                break


@kernel
def added_by_worker(shares: Shares, taken_back: bool) -> tuple[Ints32, Ints32]:
    """Return the resources that each worker gets and keeps, or that are taken back, as offsets and resources."""
    offsets = np.zeros(len(shares.loads) + 1, np.int32)
    for resource in shares.added[: shares.added_count[0]]:
        if shares.taken_back[resource] == taken_back:
            offsets[shares.owners[resource] + 1] += 1
    for worker in range(len(shares.loads)):
        offsets[worker + 1] += offsets[worker]
    cursor, listed = offsets[:-1].copy(), np.empty(offsets[-1], np.int32)
    for resource in shares.added[: shares.added_count[0]]:
        if shares.taken_back[resource] == taken_back:
            owner = shares.owners[resource]
            listed[cursor[owner]] = resource
            cursor[owner] += 1
    return offsets, listed


@kernel
def _revoked_by_worker(shares: Shares) -> tuple[Ints32, Ints32]:
    """Return the resources that each worker has to stop, as offsets and resources.

    A resource that is taken back is among them, although the worker never ran it.
    """
    offsets = np.zeros(len(shares.loads) + 1, np.int32)
    taken_from, taken = added_by_worker(shares, True)
    listed, count = np.empty(len(shares.held) + len(taken), np.int32), 0
    for worker in range(len(shares.loads)):
        for entry in range(shares.held_from[worker], shares.held_from[worker + 1]):
            if shares.is_revoked[entry]:
                listed[count] = shares.held[entry]
                count += 1
        for resource in taken[taken_from[worker] : taken_from[worker + 1]]:
            listed[count] = resource
            count += 1
        offsets[worker + 1] = count
    return offsets, listed[:count]


@inner_kernel
def remember(shares: Shares, resources: Resources, low: int) -> None:
    """Write what the leader will take for assigned and for revoked (``computePreviousAssignment``).

    ``low`` is the cluster's first resource. ``revoked`` may have resources already that nobody runs.
    """
    count = len(shares.holders)
    for resource in range(count):
        resources.previous[low + resource] = shares.owners[resource] != NOBODY and not shares.taken_back[resource]
        if shares.taken_back[resource]:
            resources.revoked[low + resource] = True
    for entry in range(len(shares.held)):
        if shares.stays[entry]:
            resources.previous[low + shares.held[entry]] = True
    for entry in range(len(shares.held)):
        if shares.is_revoked[entry]:
            resources.revoked[low + shares.held[entry]] = True
    for resource in range(count):
        if resources.revoked[low + resource]:
            resources.previous[low + resource] = False
    for resource in shares.lost:
        resources.previous[low + resource] = True


@kernel
def moves_of(shares: Shares) -> Moves:
    """Return what the workers of a cluster have to start and to stop."""
    assigned_from, assigned = added_by_worker(shares, False)
    revoked_from, revoked = _revoked_by_worker(shares)
    return Moves(assigned_from, assigned, revoked_from, revoked)
