"""Totals of the producers' batches and requests."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rebalance_sim.engine.tables.percentiles import p99
from rebalance_sim.tables import PRODUCE_REQUESTS

_FLEET = ("client", "cluster")
_SENT = "closed_ms IS NOT NULL"
_BATCHES_SENT = f"sum(if({_SENT}, batches, 0))"
_AT_ONCE = (
    "sum(records) AS records",
    f"sum(if({_SENT}, 0, records)) AS unsent",
    "sum(CAST(bytes AS BIGINT)) AS bytes",
    "count(*) AS batches",
    "sum(waited_ms) AS waited_ms",
)
_TOTALS = (
    "count(DISTINCT producer_id) AS producers",
    *(f"sum({name}) AS {name}" for name in ("records", "unsent", "bytes", "batches")),
    "sum(records) / sum(batches) AS records_per_batch",
    "sum(bytes) / sum(batches) AS bytes_per_batch",
    f"try_divide(sum(waited_ms), {_BATCHES_SENT}) AS waited_ms",
    f"count_if({_SENT}) AS min_requests",
    f"{_BATCHES_SENT} AS max_requests",
)


_OF_BATCHES = {"records_per_batch": "records", "bytes_per_batch": "bytes", "waited_ms": "waited_ms"}
"""Columns of batches by the names of their means."""


def produce_requests(batches: DataFrame) -> DataFrame:
    """Transform batches to produce_requests.

    A request contains the batches that a producer sends to one broker at one time. The leaders of partitions are
    unknown, so the number of requests is a range: from one per point in time (one broker leads all partitions) to one
    per batch.
    """
    at_once = batches.groupBy(*_FLEET, "producer_id", "closed_ms").agg(*map(F.expr, _AT_ONCE))
    spread = [p99(of).alias(f"p99_{name}") for name, of in _OF_BATCHES.items()]
    spread += [F.max(of).alias(f"max_{name}") for name, of in _OF_BATCHES.items()]
    return (
        at_once.groupBy(*_FLEET)
        .agg(*map(F.expr, _TOTALS))
        .join(batches.groupBy(*_FLEET).agg(*spread), [*_FLEET])
        .select(*[F.col(column.name).cast(column.type) for column in PRODUCE_REQUESTS.columns])
    )
