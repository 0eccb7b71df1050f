"""How many rebalances of the past another setting would have prevented, found by simulating them again."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from rebalance_sim.engine.groups.by_brokers import by_brokers
from rebalance_sim.engine.history.replayed_parts import OF_MEMBER, ReplayedParts
from rebalance_sim.engine.simulation.rows import SimulationResult
from rebalance_sim.engine.simulation.simulations import Simulations
from rebalance_sim.engine.simulation.variations import LONG_SESSION_MS, ONE_PER_CONSUMER, Variation
from rebalance_sim.engine.spark.driver_rows import map_batches
from rebalance_sim.engine.tables.arrow import numbers, rows_of
from rebalance_sim.kafka.brokers import Brokers, Clusters
from rebalance_sim.kafka.clients.library import INSTANCE_ID, PROTOCOL, SESSION_TIMEOUT
from rebalance_sim.kafka.history.causes import Cause
from rebalance_sim.kafka.runtime.strings import Flags
from rebalance_sim.tables import ADVICE, BOOLEAN, COSTS, INT, LONG, PREVENTION, STRING, struct

_AT_ONCE = 100
"""Generations of an episode that are simulated together; a longer one is replayed in parts."""
_GROUP = ("cluster", "group_id", "recreated")
_COUNTED = ("generations", "rebalances", "unowned_ms")
_SAVED = ("rebalances_saved", "unowned_ms_saved", "failing")
_OF_PART = struct(
    {"cluster": STRING, "group_id": STRING, "episode": INT, "setting": STRING, "value": STRING}
    | dict.fromkeys((*_COUNTED, *_SAVED), LONG)
    | {"possible": BOOLEAN}
)
_NOT_SENT = ("owned", "generation")
SAVES = "possible AND rebalances_saved > 0 AND failing = 0"
"""The condition of rows of ``prevention`` about settings that would have prevented rebalances."""
_TRIED = ((INSTANCE_ID, ONE_PER_CONSUMER), (PROTOCOL, "consumer"), (SESSION_TIMEOUT, str(LONG_SESSION_MS)))
"""Changes of clients that can prevent a rebalance.

Under a cooperative assignor a group rebalances as often, and a shorter session timeout evicts members sooner.
"""
_RETURNS = (Cause.RESTARTED, Cause.REPLACED)


@dataclass(frozen=True)
class Prevention:
    """How past generations are simulated again."""

    simulations: Simulations
    """With variations, and without a scenario: the events are those of the past."""

    def __call__(self, generations: DataFrame, generation_members: DataFrame) -> DataFrame:
        """Return the rows of ``prevention``."""
        wanted = dict.fromkeys((*self.simulations.columns, *OF_MEMBER))
        member = F.struct(*(name for name in wanted if name not in _NOT_SENT)).alias("member")
        parts = _parts(generations, generation_members.select(*_GROUP, "generation", member))
        rows = map_batches(parts, self._batches, _OF_PART)
        possible = F.every("possible")
        return (
            rows.groupBy(*PREVENTION.names[:4])
            .agg(
                F.count_distinct("episode").cast("int").alias("episodes"),
                *(F.sum(name).alias(name) for name in _COUNTED),
                *(F.when(possible, F.sum(name)).alias(name) for name in _SAVED),
                possible.alias("possible"),
            )
            .select(*PREVENTION.names)
        )

    def _batches(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        start_ms = self.simulations.scenario.settings.start_ms
        for brokers, batch in by_brokers(batches, self.simulations.clusters):
            parts = ReplayedParts(batch, start_ms)
            if len(parts.names):
                yield pa.RecordBatch.from_struct_array(self._saved(brokers, parts))

    def _saved(self, brokers: Brokers, parts: ReplayedParts) -> pa.StructArray:
        """Simulate parts and return rows of ``_OF_PART``."""
        possible = parts.possible(brokers, _TRIED)
        simulations = self._simulations(brokers, parts, possible)
        tables: dict[str, list[pa.StructArray]] = defaultdict(list)
        for name, rows in simulations.tables([parts.nested(simulations.columns)]):
            tables[name].append(rows)
        if ADVICE.name not in tables:
            return rows_of(_OF_PART, {"cluster": pa.array([], pa.string())})
        advice, costs = (pa.concat_arrays(tables[name]) for name in (ADVICE.name, COSTS.name))
        usual = costs.take(pc.index_in(advice.field("cluster"), costs.field("cluster")))
        places = pc.index_in(advice.field("cluster"), parts.names)
        changes = pc.index_in(advice.field("setting"), pa.array([setting for setting, _ in _TRIED]))
        columns = {name: parts.rows.column(name).take(places) for name in ("cluster", "group_id", "episode")}
        columns |= {name: usual.field(name) for name in ("rebalances", "unowned_ms")}
        columns |= {name: advice.field(name) for name in ("setting", "value", "rebalances_saved", "unowned_ms_saved")}
        columns["generations"] = parts.generations.take(places)
        columns["failing"] = advice.field("fails").cast(pa.int8())
        columns["possible"] = pa.array(possible[numbers(places), numbers(changes)])
        return rows_of(_OF_PART, columns)

    def _simulations(self, brokers: Brokers, parts: ReplayedParts, possible: Flags) -> Simulations:
        """Return the simulations of parts, in which a change is tried where it is possible and may matter."""
        matters = {
            # A group of static members stays one.
            INSTANCE_ID: parts.have_members(static=False),
            # A dynamic member leaves the group when it stops, so that its session never expires.
            SESSION_TIMEOUT: parts.have_members(static=True),
        }
        variations = {(each.setting, each.value): each for each in self.simulations.variations}
        tried = [
            _only_of(variations[change], parts.names.filter(pa.array(where & matters.get(change[0], True))))
            for change, where in zip(_TRIED, possible.T, strict=True)
            if change in variations
        ]
        return replace(self.simulations, clusters=Clusters(brokers), metadata=parts.topics, variations=tuple(tried))


def _only_of(variation: Variation, parts: pa.Array) -> Variation:
    """Return a variation that is simulated for parts with these names alone, and as assumed only."""

    def changes(usual: SimulationResult) -> Flags:
        is_chosen = numbers(pc.is_in(usual.batch.batch.clusters, value_set=parts)).astype(np.bool_)
        return is_chosen if variation.changes is None else is_chosen & variation.changes(usual)

    return replace(variation, changes=changes, has_ranges=False)


def _parts(generations: DataFrame, members: DataFrame) -> DataFrame:
    """Return one row per part of an episode, with its generations and the one before it.

    The members of an emptied group have no rows, so that generations decide which there are. Groups are left out in
    which nothing can be prevented: every episode is one generation, for which no member came back.
    """
    classic = generations.where("type = 'classic' AND NOT rewritten")
    in_group = Window.partitionBy(*_GROUP).orderBy("generation")
    in_episode = Window.partitionBy(*_GROUP, "episode").orderBy("generation")
    part = F.struct("episode", ((F.row_number().over(in_episode) - 1) / _AT_ONCE).cast("int").alias("nth"))
    # The first generation that is seen is where the replay begins.
    follows = (F.lag("episode").over(in_group) == F.col("episode")) & (F.row_number().over(in_group) > 2)
    may_save = follows | F.col("cause").isin(*_RETURNS)
    placed = classic.select(
        *_GROUP, "generation", "completed_at_ms", part.alias("part"), may_save.alias("may_save")
    ).withColumn("may_save", F.max("may_save").over(Window.partitionBy(*_GROUP)))
    parts = F.array_distinct(F.array_compact(F.array("part", F.lead("part").over(in_group))))
    nested = members.groupBy(*_GROUP, "generation").agg(F.collect_list("member").alias("members"))
    of_parts = placed.withColumn("part", parts).where("may_save").join(nested, [*_GROUP, "generation"], "left")
    generation = F.struct("generation", "completed_at_ms", "members")
    return (
        of_parts.select(*_GROUP, "generation", "completed_at_ms", "members", F.explode("part").alias("part"))
        .groupBy(*_GROUP, "part")
        .agg(F.sort_array(F.collect_list(generation)).alias("generations"))
        .where(F.size("generations") > 1)
        .select(*_GROUP, "part.episode", "generations")
    )
