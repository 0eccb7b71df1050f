"""Batches of groups, divided by the brokers of their clusters."""

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa

from rebalance_sim.engine.tables.arrow import codes
from rebalance_sim.kafka.brokers import Brokers, Clusters

_ENOUGH_BYTES = 32 << 20
"""Each part of a batch costs as much as a hundred groups: batches are joined, as far as a worker's memory allows."""


def by_brokers(batches: Iterable[pa.RecordBatch], clusters: Clusters) -> Iterator[tuple[Brokers, pa.RecordBatch]]:
    """Divide rows with a column ``cluster`` by the brokers of their clusters, unless their rules are equal."""
    if not clusters.named:
        yield from ((clusters.others, batch) for batch in batches)
        return
    for batch in _joined(batches):
        of_rows, names = codes(batch.column("cluster"))
        brokers = [clusters.of(name) for name in names.to_pylist()]
        rules = [each.all_rules for each in brokers]
        for each, first in dict(zip(reversed(rules), reversed(brokers), strict=True)).items():
            chosen = np.array([other == each for other in rules])[of_rows]
            yield first, batch if chosen.all() else batch.filter(pa.array(chosen))


def _joined(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(each.nbytes for each in waiting) >= _ENOUGH_BYTES:
            yield pa.concat_batches(waiting)
            waiting = []
    if waiting:
        yield pa.concat_batches(waiting)
