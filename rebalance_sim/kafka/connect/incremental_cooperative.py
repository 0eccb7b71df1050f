"""Connect's incremental cooperative rebalancing (KIP-415, ``IncrementalCooperativeAssignor``).

A worker keeps what it runs until the leader revokes it. What a departed worker ran is *lost*: the leader leaves it
unassigned for ``scheduled.rebalance.max.delay.ms``, so that a worker that only restarts gets it back. To balance, the
leader revokes first, and assigns what it revoked in the next rebalance, which the workers that had to stop something
request at once. So the answer depends on what the leader remembers, and on the time.

The order of a hash map of member ids decides which workers have to stop resources first.
"""

import numpy as np

from rebalance_sim.kafka.connect.clusters import NO_CANDIDATE, Cluster, Leader, Moves, Resources, Workers
from rebalance_sim.kafka.connect.revocations import (
    balance,
    planned_for_idle_workers,
    revoke_deleted,
    revoke_deleted_and_duplicated,
    revoke_planned,
)
from rebalance_sim.kafka.connect.shares import Shares, add, distribute, holders_of, moves_of, remember, shares_of
from rebalance_sim.kafka.runtime.hash_order import java_order, java_table_size
from rebalance_sim.kafka.runtime.kernel import inner_kernel, kernel
from rebalance_sim.kafka.runtime.records import Records
from rebalance_sim.kafka.runtime.sorting import stable_order
from rebalance_sim.kafka.runtime.strings import Flags, Ints, Ints32
from rebalance_sim.releases import ConnectRules

_RESETS_DELAY = int(ConnectRules.RESETS_DELAY)
_GENERATIONS = int(ConnectRules.GENERATIONS)
_SEVERAL_CANDIDATES = int(ConnectRules.SEVERAL_CANDIDATES)
_BALANCED = int(ConnectRules.BALANCED)
_WITHOUT_DELAY = int(ConnectRules.WITHOUT_DELAY)


@kernel
def rebalance(
    workers: Workers, connectors: Resources, tasks: Resources, leaders: Records[Leader], rules: int
) -> tuple[Moves, Moves]:
    """Let the leader of every cluster assign; return the moves of connectors and of tasks, by worker of the batch."""
    count = len(workers.hashes)
    of_connectors, of_tasks = _room_for_moves(connectors, count), _room_for_moves(tasks, count)
    for c in range(len(workers.offsets) - 1):
        first, end = workers.offsets[c], workers.offsets[c + 1]
        if first == end:
            continue
        cluster = _cluster(workers, first, end)
        run_by = holders_of(connectors, c, first, end), holders_of(tasks, c, first, end)
        _check_memory(connectors, tasks, run_by, c, leaders[c], rules)
        shares = shares_of(connectors, c, first, end, run_by[0]), shares_of(tasks, c, first, end, run_by[1])
        connector_moves, task_moves = _rebalance_cluster(cluster, c, connectors, tasks, shares, leaders[c], rules)
        _append(of_connectors, connector_moves, first)
        _append(of_tasks, task_moves, first)
    return of_connectors, of_tasks


@kernel
def _rebalance_cluster(
    cluster: Cluster,
    c: int,
    connectors: Resources,
    tasks: Resources,
    shares: tuple[Shares, Shares],
    leader: Leader,
    rules: int,
) -> tuple[Moves, Moves]:
    of_connectors, of_tasks = shares
    if rules >= _BALANCED:
        revoke_deleted_and_duplicated(of_connectors)
        revoke_deleted_and_duplicated(of_tasks)
        as_new = _reassign_or_delay(cluster, of_connectors, of_tasks, leader, rules)
        balance(cluster, of_connectors, of_tasks, (_configured(connectors, c), _configured(tasks, c)), leader)
    else:
        revoke_deleted(cluster, of_connectors, of_tasks, (_revoked(connectors, c), _revoked(tasks, c)), rules)
        planned = planned_for_idle_workers(cluster, of_connectors, of_tasks, rules)
        as_new = _reassign_or_delay(cluster, of_connectors, of_tasks, leader, rules)
        revoke_planned(of_connectors, of_tasks, planned, leader)
    _distribute_new(of_connectors, as_new, cluster.ranks)
    _distribute_new(of_tasks, as_new, cluster.ranks)
    remember(of_connectors, connectors, connectors.offsets[c])
    remember(of_tasks, tasks, tasks.offsets[c])
    return moves_of(of_connectors), moves_of(of_tasks)


@kernel
def _cluster(workers: Workers, first: int, end: int) -> Cluster:
    hashes = workers.hashes[first:end]
    order = java_order(hashes, np.arange(end - first).astype(np.int32), java_table_size(end - first))
    return Cluster(hashes, workers.ranks[first:end], workers.candidates[first:end], order)


@kernel
def _check_memory(
    connectors: Resources, tasks: Resources, run_by: tuple[Ints32, Ints32], c: int, leader: Leader, rules: int
) -> None:
    """Correct what the leader remembers by the generation, and by what workers run that it had revoked."""
    if rules >= _GENERATIONS and not leader.is_continued:
        # Another leader assigned since, or workers never got the last assignment (KAFKA-9848).
        _previous(connectors, c)[:] = False
        _previous(tasks, c)[:] = False
    still_run = np.any(_revoked(connectors, c) & (run_by[0] > 0))
    if still_run or np.any(_revoked(tasks, c) & (run_by[1] > 0)):
        _previous(connectors, c)[:] = run_by[0] > 0
        _previous(tasks, c)[:] = run_by[1] > 0
        leader.may_revoke = True
    _revoked(connectors, c)[:] = False
    _revoked(tasks, c)[:] = False


@kernel
def _previous(resources: Resources, c: int) -> Flags:
    return resources.previous[resources.offsets[c] : resources.offsets[c + 1]]


@kernel
def _revoked(resources: Resources, c: int) -> Flags:
    return resources.revoked[resources.offsets[c] : resources.offsets[c + 1]]


@kernel
def _configured(resources: Resources, c: int) -> int:
    return int(np.sum(resources.configured[resources.offsets[c] : resources.offsets[c + 1]]))


@kernel
def _reassign_or_delay(cluster: Cluster, connectors: Shares, tasks: Shares, leader: Leader, rules: int) -> bool:
    """Assign lost resources to candidates, or delay; return whether to assign them as if they were new.

    ``handleLostAssignments``. Candidates are workers that were idle while a rebalance was delayed: a worker that
    returns has nothing, and is likely to be the one whose resources were lost.
    """
    is_balancing = rules >= _BALANCED and leader.revoked_before
    if len(connectors.lost) == 0 and len(tasks.lost) == 0 and not is_balancing:
        # In 2.3 the delay stays what it was, although nothing is lost any longer.
        if rules >= _RESETS_DELAY:
            _reset_delay(cluster, leader)
        return False
    if rules >= _GENERATIONS and leader.scheduled_ms <= 0 and not leader.lost_worker:
        # Nobody left: some worker did not get its assignment of the last rebalance (KAFKA-9848).
        return True
    if rules >= _WITHOUT_DELAY and leader.max_delay_ms == 0:
        return True
    if leader.scheduled_ms <= 0 or leader.now_ms < leader.scheduled_ms:
        _add_candidates(cluster, connectors, tasks, leader)
        remaining = leader.scheduled_ms - leader.now_ms
        leader.delay_ms = min(remaining, leader.max_delay_ms) if remaining > 0 else leader.max_delay_ms
        leader.scheduled_ms = leader.now_ms + leader.delay_ms
        return False
    candidates = _candidates(cluster)
    if rules < _SEVERAL_CANDIDATES:
        candidates = candidates[:1]
    _assign_in_turn(connectors, candidates)
    _assign_in_turn(tasks, candidates)
    _reset_delay(cluster, leader)
    leader.revoked_before = False
    return len(candidates) == 0


@inner_kernel
def _reset_delay(cluster: Cluster, leader: Leader) -> None:
    leader.scheduled_ms, leader.delay_ms, leader.candidates = 0, 0, 0
    for worker in range(len(cluster.candidates)):
        cluster.candidates[worker] = NO_CANDIDATE


@kernel
def _add_candidates(cluster: Cluster, connectors: Shares, tasks: Shares, leader: Leader) -> None:
    """Append the idle workers, in the order of the set in which Kafka collects them."""
    idle, count = np.empty(len(cluster.order), np.int32), 0
    for worker in cluster.order:
        if connectors.loads[worker] == 0 and tasks.loads[worker] == 0:
            idle[count] = worker
            count += 1
    for worker in java_order(cluster.hashes, idle[:count], java_table_size(count)):
        if cluster.candidates[worker] == NO_CANDIDATE:
            cluster.candidates[worker] = leader.candidates
            leader.candidates += 1


@kernel
def _candidates(cluster: Cluster) -> Ints:
    """Return the candidates that are in the cluster, the earliest first."""
    order = stable_order(cluster.candidates)
    first = 0
    while first < len(order) and cluster.candidates[order[first]] == NO_CANDIDATE:
        first += 1
    return order[first:]


@kernel
def _assign_in_turn(shares: Shares, candidates: Ints) -> None:
    if len(candidates) == 0:
        return
    for k in range(len(shares.lost)):
        add(shares, int(candidates[k % len(candidates)]), int(shares.lost[k]))


@kernel
def _distribute_new(shares: Shares, as_new: bool, ranks: Ints32) -> None:
    """Assign what was created, and then what was lost if it counts as new."""
    distribute(shares, np.concatenate((shares.created, shares.lost)) if as_new else shares.created, ranks)


@kernel
def _room_for_moves(resources: Resources, workers: int) -> Moves:
    count = len(resources.configured)
    assigned_from, revoked_from = np.zeros(workers + 1, np.int32), np.zeros(workers + 1, np.int32)
    assigned, revoked = np.empty(count, np.int32), np.empty(len(resources.held) + count, np.int32)
    return Moves(assigned_from, assigned, revoked_from, revoked)


@kernel
def _append(moves: Moves, of_cluster: Moves, first_worker: int) -> None:
    """Write the moves of a cluster after those of the clusters before it."""
    _append_lists(moves.assigned_from, moves.assigned, of_cluster.assigned_from, of_cluster.assigned, first_worker)
    _append_lists(moves.revoked_from, moves.revoked, of_cluster.revoked_from, of_cluster.revoked, first_worker)


@kernel
def _append_lists(offsets: Ints32, listed: Ints32, more_from: Ints32, more: Ints32, first_worker: int) -> None:
    filled = offsets[first_worker]
    listed[filled : filled + len(more)] = more
    offsets[first_worker : first_worker + len(more_from)] = more_from + filled
