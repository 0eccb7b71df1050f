"""The results of simulations for partitions, as rows: their owners at the end, and the costs of each partition."""

import numpy as np
import pyarrow as pa

from rebalance_sim.engine.simulation.rows import SimulationResult
from rebalance_sim.engine.tables.arrow import lists, rows_of, topic_partitions
from rebalance_sim.kafka.coordinator.classic.classic_group import NONE
from rebalance_sim.kafka.runtime.lists import gather
from rebalance_sim.kafka.simulation.batch_state import field
from rebalance_sim.kafka.simulation.model import Presence
from rebalance_sim.tables import OWNED_PARTITIONS, PARTITION_COSTS


def owned_partition_rows(result: SimulationResult, strategy: str) -> pa.StructArray:
    """Return the partitions that each running consumer owns in the end, by group and consumer."""
    simulated, consumers = result.simulated, result.batch.consumers
    groups = consumers.group_of_member
    running = (field(simulated.consumers, "presence") == Presence.RUNS) & result.succeeded[groups]
    rows = field(simulated.consumers, "owned")[running]
    none = rows == NONE
    starts = np.where(none, 0, simulated.first_listed[rows])
    offsets, entries = gather(starts, np.where(none, 0, simulated.first_listed[rows + 1] - starts))
    topics, partitions = simulated.listed_topics[entries], simulated.listed_partitions[entries]
    found = result.batch.topics
    order = np.lexsort((partitions, found.topics.ranks[topics], np.repeat(np.arange(len(rows)), np.diff(offsets))))
    owned = topic_partitions(found.names, topics[order], partitions[order])
    return rows_of(
        OWNED_PARTITIONS.schema,
        result.group_columns(groups[running], strategy)
        | {"member_id": consumers.column("member_id").filter(pa.array(running)), "partitions": lists(offsets, owned)},
    )


def partition_cost_rows(result: SimulationResult, strategy: str) -> pa.StructArray:
    """Return the partitions that were unowned for some time or moved, by group, topic and number."""
    topics, given = result.prepared.groups.group_topics, result.simulated.partitions
    of_entry = np.repeat(np.arange(len(result.errors)), np.diff(topics.offsets))
    entry = np.repeat(np.arange(len(topics.topics)), topics.partitions)
    paused, moved, owner = field(given, "unowned_ms"), field(given, "moved"), field(given, "owner")
    rows = np.flatnonzero(((paused > 0) | (moved > 0)) & result.succeeded[of_entry[entry]])
    groups = of_entry[entry[rows]]
    first = np.cumsum(topics.partitions) - topics.partitions
    return rows_of(
        PARTITION_COSTS.schema,
        result.group_columns(groups, strategy)
        | {
            "topic": result.batch.topics.names.take(pa.array(topics.topics[entry[rows]])),
            "partition": pa.array(rows - first[entry[rows]]),
            "unowned_ms": pa.array(paused[rows]),
            "moved": pa.array(moved[rows]),
            "member_id": result.consumer_names(groups, np.where(field(given, "owners") > 0, owner, NONE)[rows]),
        },
    )
