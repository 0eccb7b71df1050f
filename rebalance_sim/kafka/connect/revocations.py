"""Which connectors and tasks a Connect worker has to stop: since Kafka 3.4 (KAFKA-12495), and before.

Before 3.4 workers stop resources for others only if a worker is idle, and not in two rebalances in a row.
"""

import math

import numpy as np

from rebalance_sim.kafka.connect.clusters import Cluster, Leader
from rebalance_sim.kafka.connect.shares import Shares, added_by_worker, drop, drop_deleted
from rebalance_sim.kafka.runtime.kernel import inner_kernel, kernel
from rebalance_sim.kafka.runtime.strings import Flags
from rebalance_sim.releases import ConnectRules

_BACKOFF_MULTIPLIER = 40
_GENERATIONS = int(ConnectRules.GENERATIONS)
_SEVERAL_CANDIDATES = int(ConnectRules.SEVERAL_CANDIDATES)
_COUNTS_COPIES = int(ConnectRules.COUNTS_COPIES)

# ---- Since 3.4


@inner_kernel
def revoke_deleted_and_duplicated(shares: Shares) -> None:
    """Revoke what is no longer configured, and what several workers run from all of them."""
    for worker in range(len(shares.loads)):
        for entry in range(shares.held_from[worker], shares.held_from[worker + 1]):
            resource = shares.held[entry]
            if shares.deleted[resource] or shares.holders[resource] > 1:
                shares.is_revoked[entry] = True
                drop(shares, worker, entry)


@kernel
def balance(cluster: Cluster, connectors: Shares, tasks: Shares, configured: tuple[int, int], leader: Leader) -> None:
    """Revoke what workers run beyond their share of the configured resources, unless a rebalance is delayed.

    If the rebalance before has done so, too, this leader waits longer from time to time before it does so again.
    """
    if leader.delay_ms != 0:
        leader.revoked_before = False
        return
    from_connectors, added_connectors = _beyond_share(cluster, connectors, configured[0])
    from_tasks, added_tasks = _beyond_share(cluster, tasks, configured[1])
    is_idle = not (np.any(connectors.loads > 0) or np.any(tasks.loads > 0))
    revokes = np.any(from_connectors) or np.any(added_connectors) or np.any(from_tasks) or np.any(added_tasks)
    if is_idle or configured[0] + configured[1] == 0 or not revokes:
        if leader.revoked_before:
            leader.revoked_before = False
            leader.revocations_in_a_row = 0
        return
    if leader.revoked_before:
        leader.revocations_in_a_row += 1
        leader.delay_ms = backoff_ms(leader.revocations_in_a_row, leader.max_delay_ms)
        if leader.delay_ms != 0:
            leader.scheduled_ms = leader.now_ms + leader.delay_ms
            return
    leader.revoked_before = True
    _revoke(connectors, from_connectors, added_connectors)
    _revoke(tasks, from_tasks, added_tasks)


@kernel
def backoff_ms(attempts: int, max_delay_ms: int) -> int:
    """Return the delay after so many rebalances in a row that revoke (``ExponentialBackoff`` without jitter).

    >>> [backoff_ms(attempts, 300_000) for attempts in (1, 2, 3, 4, 5)]
    [40, 1600, 64000, 300000, 300000]
    """
    if max_delay_ms <= 1:
        return max_delay_ms
    longest = math.log(float(max_delay_ms)) / math.log(float(_BACKOFF_MULTIPLIER))
    return min(int(math.pow(float(_BACKOFF_MULTIPLIER), min(float(attempts), longest))), max_delay_ms)


@kernel
def _beyond_share(cluster: Cluster, shares: Shares, configured: int) -> tuple[Flags, Flags]:
    """Return which entries of ``held``, and which added resources, are beyond their workers' shares.

    ``loadBalancingRevocations``: the first workers in the order of the map may run one more than the others.
    """
    entries, added = np.zeros(len(shares.held), np.bool_), np.zeros(len(shares.owners), np.bool_)
    workers = len(shares.loads)
    fewest, extra = configured // workers, configured % workers
    with_extra = np.sum(shares.loads == fewest + 1)
    if with_extra == extra and np.sum(shares.loads == fewest) + with_extra == workers:
        return entries, added
    added_from, added_to_worker = added_by_worker(shares, False)
    extras = 0
    for worker in cluster.order:
        surplus = shares.loads[worker] - fewest
        if surplus <= 0:
            continue
        if extras < extra:
            extras += 1
            surplus -= 1
        for entry in range(shares.held_from[worker], shares.held_from[worker + 1]):
            if shares.stays[entry] and surplus > 0:
                entries[entry] = True
                surplus -= 1
        for resource in added_to_worker[added_from[worker] : added_from[worker + 1]]:
            if surplus > 0:
                added[resource] = True
                surplus -= 1
    return entries, added


@inner_kernel
def _revoke(shares: Shares, entries: Flags, added: Flags) -> None:
    for worker in range(len(shares.loads)):
        for entry in range(shares.held_from[worker], shares.held_from[worker + 1]):
            if entries[entry]:
                shares.is_revoked[entry] = True
                drop(shares, worker, entry)
    for resource in range(len(added)):
        if added[resource]:
            shares.taken_back[resource] = True
            shares.loads[shares.owners[resource]] -= 1


# ---- Before 3.4


@kernel
def revoke_deleted(
    cluster: Cluster, connectors: Shares, tasks: Shares, revoked: tuple[Flags, Flags], rules: int
) -> None:
    """Revoke what is no longer configured from a worker that runs it, and since 2.5.1 what several workers run.

    ``revoked``, by connector and by task: what the leader will take for revoked, whoever ran it.
    """
    duplicated = np.zeros(len(cluster.order), np.bool_)
    if rules >= _GENERATIONS:
        _mark_duplicated(connectors, duplicated)
        _mark_duplicated(tasks, duplicated)
    _revoke_deleted(cluster, connectors, duplicated, revoked[0])
    _revoke_deleted(cluster, tasks, duplicated, revoked[1])
    drop_deleted(connectors)
    drop_deleted(tasks)


@inner_kernel
def _mark_duplicated(shares: Shares, duplicated: Flags) -> None:
    """Revoke what several workers run, and mark these workers. They keep it until the next rebalance."""
    for worker in range(len(shares.loads)):
        for entry in range(shares.held_from[worker], shares.held_from[worker + 1]):
            if shares.holders[shares.held[entry]] > 1:
                shares.is_revoked[entry] = True
                duplicated[worker] = True


@kernel
def _revoke_deleted(cluster: Cluster, shares: Shares, duplicated: Flags, revoked: Flags) -> None:
    """Revoke deleted resources, each from the last worker of the map that runs it.

    Not from a worker that runs resources that others run, too: what it has to stop for that replaces the rest
    (``Map.putAll``).
    """
    pending = shares.deleted.copy()
    for k in range(len(cluster.order) - 1, -1, -1):
        worker = cluster.order[k]
        for entry in range(shares.held_from[worker], shares.held_from[worker + 1]):
            resource = shares.held[entry]
            if pending[resource]:
                pending[resource] = False
                if not duplicated[worker]:
                    shares.is_revoked[entry] = True
    for resource in range(len(pending)):
        if pending[resource]:
            revoked[resource] = True


@kernel
def planned_for_idle_workers(cluster: Cluster, connectors: Shares, tasks: Shares, rules: int) -> tuple[Flags, Flags]:
    """Return which entries of ``held`` would be revoked for workers that run nothing (``performTaskRevocation``)."""
    workers, idle = len(cluster.order), 0
    for worker in range(workers):
        if connectors.loads[worker] == 0 and tasks.loads[worker] == 0:
            idle += 1
    if idle in (0, workers):
        return np.zeros(len(connectors.held), np.bool_), np.zeros(len(tasks.held), np.bool_)
    if rules >= _SEVERAL_CANDIDATES:
        copies = rules >= _COUNTS_COPIES
        return _beyond_average(cluster, connectors, copies), _beyond_average(cluster, tasks, copies)
    return _average_of_first(cluster, connectors), _average_of_first(cluster, tasks)


@kernel
def _beyond_average(cluster: Cluster, shares: Shares, counts_copies: bool) -> Flags:
    """Return what each worker runs beyond the average, rounded up (since 2.6.2, KAFKA-10413)."""
    entries = np.zeros(len(shares.held), np.bool_)
    active = len(shares.held) if counts_copies else int(np.sum(shares.holders > 0))
    workers = len(cluster.order)
    highest = (active + workers - 1) // workers
    for worker in range(len(shares.loads)):
        _mark_first(shares, worker, shares.loads[worker] - highest, entries)
    return entries


@kernel
def _average_of_first(cluster: Cluster, shares: Shares) -> Flags:
    """Return as many resources as one worker runs on average, from the first workers that run more (before 2.6.2)."""
    entries = np.zeros(len(shares.held), np.bool_)
    average = int(np.sum(shares.holders > 0)) // len(cluster.order)
    left = average
    for worker in cluster.order:
        surplus = min(max(shares.loads[worker] - average, 0), left)
        _mark_first(shares, int(worker), surplus, entries)
        left -= surplus
    return entries


@inner_kernel
def _mark_first(shares: Shares, worker: int, count: int, entries: Flags) -> None:
    """Mark the first resources that a worker keeps."""
    for entry in range(shares.held_from[worker], shares.held_from[worker + 1]):
        if shares.stays[entry] and count > 0:
            entries[entry] = True
            count -= 1


@kernel
def revoke_planned(connectors: Shares, tasks: Shares, planned: tuple[Flags, Flags], leader: Leader) -> None:
    """Revoke what is planned, unless a rebalance is delayed or this leader did so in the last rebalance.

    The workers' loads stay: what is revoked is assigned in the next rebalance.
    """
    if leader.delay_ms != 0 or not leader.may_revoke:
        leader.may_revoke = leader.delay_ms == 0
        return
    for entry in range(len(planned[0])):
        connectors.is_revoked[entry] |= planned[0][entry]
    for entry in range(len(planned[1])):
        tasks.is_revoked[entry] |= planned[1][entry]
    leader.may_revoke = not (np.any(planned[0]) or np.any(planned[1]))
