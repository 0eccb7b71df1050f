"""Batches of groups, divided by the brokers of their clusters."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from rebalance_sim.engine.tables.arrow import codes
from rebalance_sim.kafka.brokers import Brokers, Clusters


def by_brokers(batch: pa.RecordBatch, clusters: Clusters) -> Iterator[tuple[Brokers, pa.RecordBatch]]:
    """Divide rows with a column ``cluster`` by the brokers of their clusters."""
    if not clusters.named:
        yield clusters.others, batch
        return
    of_rows, names = codes(batch.column("cluster"))
    brokers = [clusters.of(name) for name in names.to_pylist()]
    for each in dict.fromkeys(brokers):
        chosen = np.array([other == each for other in brokers])[of_rows]
        yield each, batch if chosen.all() else batch.filter(pa.array(chosen))
