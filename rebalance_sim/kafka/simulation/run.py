"""Run a simulation of a batch of groups."""

from collections.abc import Iterator
from typing import NamedTuple

from rebalance_sim.kafka.runtime.strings import Flags, Ints
from rebalance_sim.kafka.simulation.batch import NO_LIMIT, Batch, simulate
from rebalance_sim.kafka.simulation.batch_state import BatchResult, broker_of
from rebalance_sim.kafka.simulation.leaders import Leaders
from rebalance_sim.kafka.simulation.prepared import PreparedGroups
from rebalance_sim.kafka.simulation.start import start_groups


class SimulatedBatch(NamedTuple):
    """A batch of groups, and how far its simulation has come."""

    errors: list[str | None]
    """Why a group cannot be simulated, or why its simulation ended early."""
    simulated: BatchResult


def simulate_groups(
    prepared: PreparedGroups, seeds: Ints, followed: Flags, events: int = NO_LIMIT
) -> Iterator[SimulatedBatch]:
    """Simulate groups; yield their state whenever some have processed this many events or wait, and at the end."""
    start = start_groups(prepared)
    fleet = prepared.fleet(start, seeds, followed)
    leaders = Leaders(prepared, fleet)
    version, settings = prepared.conditions.assignors.version, prepared.conditions.scenario.settings
    topics, _ = prepared.groups.topic_variants
    broker = broker_of(settings, version)
    batch = Batch(fleet, topics, settings, broker, leaders.assign)
    for simulated in simulate(batch, ~start.failed, events):
        failures = [leaders.failures.texts[n] if n else None for n in simulated.assignor_failures.tolist()]
        yield SimulatedBatch([a or b for a, b in zip(start.errors, failures, strict=True)], simulated)
