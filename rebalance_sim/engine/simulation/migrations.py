"""Groups that migrate to the consumer protocol in a simulation, each to the assignor that comes closest to its own."""

from dataclasses import replace

import numpy as np
import pyarrow as pa

from rebalance_sim.engine.groups.batch_arrays import elect_protocols, groups_where
from rebalance_sim.engine.simulation.simulation_batch import SimulationBatch
from rebalance_sim.kafka.coordinator.classic.classic_group import NONE
from rebalance_sim.kafka.migration import COUNTERPARTS
from rebalance_sim.kafka.runtime.strings import Ints32
from rebalance_sim.kafka.simulation.group_events import GroupEvents
from rebalance_sim.kafka.simulation.scenario import Scenario
from rebalance_sim.kafka.simulation.scenario_events import expand_scenario
from rebalance_sim.releases import CoordinatorRules, KafkaVersion

_CHANGE = "protocols"
"""The event that changes what a consumer offers."""


def of_own_protocols(migration: Scenario) -> Scenario:
    """Return the scenario without its override of protocols: consumers begin with their own."""
    return replace(migration, consumers=replace(migration.consumers, protocols=None))


def migrating(batch: SimulationBatch, migration: Scenario, version: KafkaVersion) -> SimulationBatch:
    """Return the groups that can migrate, with the events of a scenario in which their consumers migrate.

    Consumers change to the coordinator's equivalent of the assignor that their group elects, whatever assignor the
    scenario names. Groups whose assignor has no equivalent are left out, and all groups if the brokers cannot convert a
    classic group.
    """
    elected, (_, names) = elect_protocols(batch.batch, version), batch.batch.preferences
    winners = elected.elections.winner
    protocols = names.take(pa.array(winners, mask=winners == NONE)).to_pylist()
    targets = np.array([COUNTERPARTS.get(protocol, "") for protocol in protocols], np.str_)
    if version.coordinator < CoordinatorRules.JAVA:
        targets[:] = ""
    kept = (targets != "") & ~elected.of_consumers
    groups, targets = groups_where(batch.batch, kept), targets[kept]
    sizes = np.diff(groups.offsets)
    events = [_events(migration, str(name), np.where(targets == name, sizes, 0)) for name in np.unique(targets)]
    return SimulationBatch(groups, (), GroupEvents.joined(events), batch.index)


def _events(migration: Scenario, assignor: str, sizes: Ints32) -> GroupEvents:
    steps = [replace(step, protocols=(assignor,)) if step.event == _CHANGE else step for step in migration.steps]
    _, events = expand_scenario(replace(migration, steps=tuple(steps)), sizes, lambda group, place: {})
    return events
