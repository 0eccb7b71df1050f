"""What simulations take from the past of a group in place of what they assume."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from rebalance_sim.engine.tables.arrow import arrow_type
from rebalance_sim.kafka.history.timings import Bound
from rebalance_sim.kafka.simulation.latencies import EVIDENCE, Evidence
from rebalance_sim.kafka.simulation.scenario import Scenario
from rebalance_sim.tables import LONG, STRING, struct

_GROUP = ("cluster", "group_id")
_ROW = struct(
    dict.fromkeys(_GROUP, STRING) | {name: LONG for each in EVIDENCE for name in (each.name, each.count_name)}
)
"""By the name of each evidence, its milliseconds and how often it was seen; null without it."""


@dataclass(frozen=True)
class GroupTimings:
    """What the past of groups shows: one row per group that has any evidence."""

    rows: pa.StructArray

    @classmethod
    def of(cls, timings: DataFrame, scenario: Scenario) -> "GroupTimings":
        """Take usable rows of ``timings``. A setting that the scenario was given stays as it is."""
        figures = [column for each in EVIDENCE for column in _figures(each, scenario)]
        found = timings.where("workload IS NULL").groupBy(*_GROUP).agg(*figures)
        known = found.where(F.coalesce(*(each.name for each in EVIDENCE)).isNotNull())
        return cls(pa.array(known.toArrow().to_pylist(), arrow_type(_ROW)))

    @property
    def schema(self) -> StructType:
        """The names and types of the columns."""
        return _ROW

    def of_groups(self, clusters: pa.Array, group_ids: pa.Array) -> pa.StructArray:
        """Return the rows of groups; null for those without evidence."""
        return self.rows.take(pc.index_in(_names(clusters, group_ids), self._names))

    def of_group(self, cluster: str, group_id: str) -> Mapping[str, int | None]:
        """Return the row of one group; nothing without evidence."""
        (row,) = self.of_groups(pa.array([cluster]), pa.array([group_id])).to_pylist()
        return row or {}

    @cached_property
    def _names(self) -> pa.Array:
        return _names(*(self.rows.field(name) for name in _GROUP))


def _names(clusters: pa.Array, group_ids: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise(clusters, group_ids, "\0")


def _figures(evidence: Evidence, scenario: Scenario) -> tuple[Column, Column]:
    """Return the milliseconds and the count, from the source that has seen most."""
    is_it = F.lit(evidence.setting not in scenario.given) & (F.col("timing") == evidence.timing.value)
    if evidence.bound is Bound.MEASURED:
        is_it &= F.col("bound") == evidence.bound.value
        milliseconds = F.greatest(F.col("median_ms") - evidence.included_ms(scenario), F.lit(0))
    else:
        milliseconds = F.col("max_ms")
    most = F.max(F.when(is_it, F.struct("count", (-milliseconds).alias("ms"))))
    return ((-most["ms"]).cast(LONG).alias(evidence.name), most["count"].cast(LONG).alias(evidence.count_name))
