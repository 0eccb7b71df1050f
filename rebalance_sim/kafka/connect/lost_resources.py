"""What the leader of a Connect cluster does with the connectors and tasks of workers that are gone.

``IncrementalCooperativeAssignor.handleLostAssignments``. Candidates are workers that were idle while a rebalance was
delayed: a worker that returns has nothing, and is likely to be the one whose resources were lost.
"""

import numpy as np

from rebalance_sim.kafka.connect.clusters import NO_CANDIDATE, Cluster, Leader
from rebalance_sim.kafka.connect.shares import Shares, add
from rebalance_sim.kafka.runtime.hash_order import java_order, java_table_size
from rebalance_sim.kafka.runtime.kernel import inner_kernel, kernel
from rebalance_sim.kafka.runtime.sorting import stable_order
from rebalance_sim.kafka.runtime.strings import Ints
from rebalance_sim.releases import ConnectRules

_RESETS_DELAY = int(ConnectRules.RESETS_DELAY)
_GENERATIONS = int(ConnectRules.GENERATIONS)
_SEVERAL_CANDIDATES = int(ConnectRules.SEVERAL_CANDIDATES)
_BALANCED = int(ConnectRules.BALANCED)
_WITHOUT_DELAY = int(ConnectRules.WITHOUT_DELAY)


@kernel
def reassign_or_delay(cluster: Cluster, connectors: Shares, tasks: Shares, leader: Leader, rules: int) -> bool:
    """Assign lost resources to candidates, or delay; return whether to assign them as if they were new."""
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
