"""What is assumed of streams groups that are assigned or simulated."""

from pyspark.sql import DataFrame

from rebalance_sim.engine.simulation.streams_groups import ASSUMED_OF_ROLLOUTS
from rebalance_sim.engine.streams.application import STREAMS
from rebalance_sim.engine.tables.inputs import fit, usable
from rebalance_sim.sources.streams.stored_groups import ASSUMED
from rebalance_sim.tables import STREAMS_MEMBERS

_UNORDERED = f"join_order IS NULL AND coalesce(protocol, '{STREAMS}') = '{STREAMS}'"


def assumed_order(members: DataFrame) -> list[str]:
    """Return what is assumed of the order in which members of streams groups joined, if it is unknown of some."""
    return [] if usable(fit(members, STREAMS_MEMBERS)).where(_UNORDERED).isEmpty() else [ASSUMED]


def assumed_of_rollouts(costs: DataFrame, groups: DataFrame) -> list[str]:
    """Return what is assumed of the rollouts of streams groups, of which some rows are given, if one is simulated."""
    simulated = costs.where("error IS NULL").join(groups, ["cluster", "group_id"], "left_semi")
    return [] if simulated.isEmpty() else [ASSUMED_OF_ROLLOUTS]
