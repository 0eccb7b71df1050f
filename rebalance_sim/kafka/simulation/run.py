"""Run simulations of a batch of groups, under one scenario or under several side by side."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from rebalance_sim.kafka.runtime.strings import Flags, Ints, Strings
from rebalance_sim.kafka.simulation.batch import NO_LIMIT, Batch, simulate
from rebalance_sim.kafka.simulation.batch_state import BatchResult, Broker, broker_of, result_of_condition
from rebalance_sim.kafka.simulation.fleet import side_by_side
from rebalance_sim.kafka.simulation.leaders import Leaders
from rebalance_sim.kafka.simulation.prepared import PreparedGroups, StartingState
from rebalance_sim.kafka.simulation.start import start_groups


class SimulatedBatch(NamedTuple):
    """A batch of groups, and how far its simulation has come."""

    errors: list[str | None]
    """Why a group cannot be simulated, or why its simulation ended early."""
    simulated: BatchResult


class Run(NamedTuple):
    """A batch of groups that is simulated under some conditions."""

    prepared: PreparedGroups
    seeds: Ints
    """Those of the groups' random numbers."""
    followed: Flags
    """The groups of which a timeline is recorded."""


def simulate_to_end(runs: Sequence[Run]) -> list[SimulatedBatch]:
    """Simulate the same groups under several conditions, and return the result of each."""
    of_brokers: dict[Broker, list[int]] = defaultdict(list)
    for number, run in enumerate(runs):
        of_brokers[_broker(run.prepared)].append(number)
    found: dict[int, SimulatedBatch] = {}
    for numbers in of_brokers.values():
        *_, results = simulate_groups([runs[number] for number in numbers])
        found |= zip(numbers, results, strict=True)
    return [found[number] for number in range(len(runs))]


def simulate_groups(runs: Sequence[Run], events: int = NO_LIMIT) -> Iterator[list[SimulatedBatch]]:
    """Simulate the same groups under several conditions, which differ in the rules of consumers alone.

    Yields their state under each, whenever some have processed this many events or wait, and at the end.
    """
    prepared = [run.prepared for run in runs]
    names = list(dict.fromkeys(name for of in prepared for name in of.protocols.names))
    numbers = [np.array([names.index(name) for name in of.protocols.names], np.int32) for of in prepared]
    starts = _starts(prepared)
    fleets = [run.prepared.fleet(start, run.seeds, run.followed) for run, start in zip(runs, starts, strict=True)]
    fleet = side_by_side(fleets, numbers, Strings.of(names))
    leaders = Leaders(prepared, names, fleet)
    settings = [of.conditions.scenario.settings for of in prepared]
    topics, _ = prepared[0].groups.topic_variants
    batch = Batch(fleet, topics, settings, _broker(prepared[0]), leaders.assign)
    for simulated in simulate(batch, np.concatenate([~start.failed for start in starts]), events):
        parts = [result_of_condition(simulated, fleet, number) for number in range(len(runs))]
        yield [_with_errors(start, part, leaders) for start, part in zip(starts, parts, strict=True)]


def _broker(prepared: PreparedGroups) -> Broker:
    return broker_of(prepared.conditions.scenario.settings, prepared.conditions.assignors.version)


def _starts(prepared: Sequence[PreparedGroups]) -> list[StartingState]:
    """Return the state in which the groups begin under each condition; it depends on their protocols alone."""
    found: dict[object, StartingState] = {}
    for of in prepared:
        if of.offer not in found:
            found[of.offer] = start_groups(of)
    return [found[of.offer] for of in prepared]


def _with_errors(start: StartingState, simulated: BatchResult, leaders: Leaders) -> SimulatedBatch:
    failures = [leaders.failures.texts[n] if n else None for n in simulated.assignor_failures.tolist()]
    return SimulatedBatch([a or b for a, b in zip(start.errors, failures, strict=True)], simulated)
