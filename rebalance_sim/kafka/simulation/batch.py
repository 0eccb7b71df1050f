"""Simulates many groups, each on its own clock, with the elections and assignments of all of them in common.

Every group advances until it needs a decision or more capacity. Then all elections are held and all assignors run, over
the whole batch at once, and the groups go on.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from rebalance_sim.kafka.coordinator.classic.classic_group import AwaitedElection
from rebalance_sim.kafka.groups import TopicArrays
from rebalance_sim.kafka.runtime.kernel import kernel
from rebalance_sim.kafka.runtime.strings import Flags, Ints32
from rebalance_sim.kafka.simulation.batch_state import (
    BatchResult,
    BatchState,
    Broker,
    field,
    make_room,
    new_state,
    one_simulation,
    result_so_far,
    store_decisions,
)
from rebalance_sim.kafka.simulation.beginning import begin_all
from rebalance_sim.kafka.simulation.elections import Assign, elected_protocols, hold_elections, revoke_unsubscribed
from rebalance_sim.kafka.simulation.fleet import SimulatedFleet, protocols_in_groups
from rebalance_sim.kafka.simulation.group_simulation import advance
from rebalance_sim.kafka.simulation.pauses import Pause
from rebalance_sim.kafka.simulation.settings import SimulationSettings
from rebalance_sim.kafka.simulation.targets import make_targets

NO_LIMIT = 2**62
"""More events than any simulation has."""


class Batch:
    """Groups that are simulated together; ``assign`` runs the assignor of a protocol.

    ``settings`` are those of each of the fleet's ``conditions``.
    """

    def __init__(
        self,
        fleet: SimulatedFleet,
        topics: TopicArrays,
        settings: Sequence[SimulationSettings],
        broker: Broker,
        assign: Assign,
    ) -> None:
        self.fleet = fleet
        self.broker = broker
        self.assign = assign
        self.failures = np.zeros(len(fleet.members), np.int32)
        self.state = new_state(fleet, settings, topics)
        groups = np.arange(len(fleet.members), dtype=np.int32)
        begin_all(self.state, fleet, broker, protocols_in_groups(fleet, groups, fleet.protocols))

    def advance(self, active: Ints32, events: int) -> Ints32:
        """Advance groups until each of them pauses, and return why they did."""
        return _advance_all(self.state, self.fleet, self.broker, active, events)

    def make_room(self, active: Ints32, pauses: Ints32) -> None:
        """Grow the arrays that groups have run out of."""
        self.state = make_room(self.state, self.fleet, active, pauses)

    def decide(self, active: Ints32, pauses: Ints32) -> None:
        """Make the decisions that groups paused for."""
        self._hold_elections(active[pauses == Pause.ELECTION])
        revoking = active[pauses == Pause.REVOCATION]
        if len(revoking):
            self.state = revoke_unsubscribed(self.state, self.fleet, revoking)
        targets = active[pauses == Pause.TARGET]
        if len(targets):
            make_targets(self.state, self.fleet, self.assign, targets, self.failures)

    def _hold_elections(self, due: Ints32) -> None:
        """Elect the protocol of groups, and let their leaders assign.

        A group that becomes a classic group again keeps its target assignment and needs the protocol alone.
        """
        downgrades = field(self.state.groups, "election")[due] == AwaitedElection.OF_DOWNGRADE
        converted, others = due[downgrades], due[~downgrades]
        if len(converted):
            protocols = elected_protocols(self.state, self.fleet, converted, self.broker.map_rule)
            store_decisions(self.state, converted, protocols_in_groups(self.fleet, converted, protocols), 0, False)
        if len(others):
            self.state = hold_elections(self.state, self.fleet, self.broker, self.assign, others, self.failures)


def simulate(batch: Batch, chosen: Flags, events: int = NO_LIMIT) -> Iterator[BatchResult]:
    """Simulate groups to their end.

    With a limit, yield the present state whenever every group has handled this many events or paused, and at the end.
    """
    active = np.flatnonzero(chosen).astype(np.int32)
    rounds = 0
    while len(active):
        rounds += 1
        pauses = batch.advance(active, events)
        batch.make_room(active, pauses)
        batch.decide(active, pauses)
        active = active[pauses != Pause.ENDED]
        if events < NO_LIMIT:
            yield result_so_far(batch.state, batch.fleet, batch.failures, rounds)
    yield result_so_far(batch.state, batch.fleet, batch.failures, rounds)


@kernel
def _advance_all(state: BatchState, fleet: SimulatedFleet, broker: Broker, active: Ints32, events: int) -> Ints32:
    pauses = np.empty(len(active), np.int32)
    for k in range(len(active)):
        pauses[k] = advance(one_simulation(state, fleet, broker, active[k]), events)
    return pauses
