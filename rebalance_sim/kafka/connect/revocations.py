"""Which connectors and tasks a Connect worker has to stop, since Kafka 3.4 (KAFKA-12495)."""

import math

import numpy as np

from rebalance_sim.kafka.connect.clusters import Cluster, Leader
from rebalance_sim.kafka.connect.shares import Shares, added_by_worker, drop
from rebalance_sim.kafka.runtime.kernel import inner_kernel, kernel
from rebalance_sim.kafka.runtime.strings import Flags

_BACKOFF_MULTIPLIER = 40


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
