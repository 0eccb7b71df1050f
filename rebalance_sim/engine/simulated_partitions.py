"""What simulations make of partitions, as rows of the output tables: who has them in the end, and what each costs."""

import numpy as np
import pyarrow as pa

from rebalance_sim.engine.arrow import lists, rows_of
from rebalance_sim.engine.simulation_rows import Told
from rebalance_sim.kafka.coordinator.classic_group import NONE
from rebalance_sim.kafka.lists import gather
from rebalance_sim.kafka.simulation.batch_state import field
from rebalance_sim.kafka.simulation.model import Presence
from rebalance_sim.tables import OWNED_PARTITIONS, PARTITION_COSTS


def owned_partition_rows(told: Told, strategy: str) -> pa.StructArray:
    """Build what the consumers that are there have in the end, by group and consumer."""
    simulated, consumers = told.simulated, told.groups.consumers
    groups = consumers.group_of_member()
    there = (field(simulated.consumers, "presence") == Presence.RUNS) & told.simulates[groups]
    rows = field(simulated.consumers, "owned")[there]
    none = rows == NONE
    starts = np.where(none, 0, simulated.first_listed[rows])
    offsets, entries = gather(starts, np.where(none, 0, simulated.first_listed[rows + 1] - starts))
    topics, partitions = simulated.listed_topics[entries], simulated.listed_partitions[entries]
    found = told.groups.found_topics
    order = np.lexsort((partitions, found.topics.ranks[topics], np.repeat(np.arange(len(rows)), np.diff(offsets))))
    owned = pa.StructArray.from_arrays(
        [found.names.take(pa.array(topics[order])), pa.array(partitions[order])], names=["topic", "partition"]
    )
    return rows_of(
        OWNED_PARTITIONS.schema,
        told.group_columns(groups[there], strategy)
        | {"member_id": consumers.column("member_id").filter(pa.array(there)), "partitions": lists(offsets, owned)},
    )


def partition_cost_rows(told: Told, strategy: str) -> pa.StructArray:
    """Build what the partitions cost that stand still or go to another consumer, by group, topic and number."""
    topics, given = told.groups.group_topics, told.simulated.partitions
    of_entry = np.repeat(np.arange(len(told.errors)), np.diff(topics.offsets))
    entry = np.repeat(np.arange(len(topics.topics)), topics.partitions)
    paused, moved, owner = field(given, "paused"), field(given, "moved"), field(given, "owner")
    rows = np.flatnonzero(((paused > 0) | (moved > 0)) & told.simulates[of_entry[entry]])
    groups = of_entry[entry[rows]]
    first = np.cumsum(topics.partitions) - topics.partitions
    return rows_of(
        PARTITION_COSTS.schema,
        told.group_columns(groups, strategy)
        | {
            "topic": told.groups.found_topics.names.take(pa.array(topics.topics[entry[rows]])),
            "partition": pa.array(rows - first[entry[rows]]),
            "paused_ms": pa.array(paused[rows]),
            "moved": pa.array(moved[rows]),
            "member_id": told.consumer_names(groups, np.where(field(given, "owners") > 0, owner, NONE)[rows]),
        },
    )
