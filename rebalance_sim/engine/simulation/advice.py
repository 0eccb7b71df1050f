"""Judge what other settings would save each group: the scenario is simulated again under each of them.

A setting is the best for a group if it saves most partition downtime without making the rollout fail.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rebalance_sim.engine.simulation.pays import Pays
from rebalance_sim.engine.simulation.variations import Variation
from rebalance_sim.engine.tables.arrow import numbers, rows_of
from rebalance_sim.kafka.runtime.strings import Flags, Ints
from rebalance_sim.tables import ADVICE

_KEYS = ("cluster", "group_id", "strategy")
_SAVED = ("rebalances", "unowned_ms", "p99_unowned_ms", "max_unowned_ms", "stable_ms", "moved")
_LAG_SAVED = ("unowned_lag", "delay_ms")
_OF_SETTING = ("saved", "rebalances", "best", "failing")


@dataclass(frozen=True)
class RolloutCosts:
    """What a rollout costs each group of a batch."""

    rows: pa.StructArray
    """Rows of ``costs``, one per group."""
    lag: pa.StructArray | None
    """Rows of ``lag_costs``, one per group; None without offsets."""

    def replaced(self, chosen: Flags, others: "RolloutCosts") -> "RolloutCosts":
        """Return the same costs, but for the chosen groups those of ``others``, which has these groups alone."""
        places = np.where(chosen, len(chosen) + np.cumsum(chosen) - 1, np.arange(len(chosen)))

        def with_others(rows: pa.StructArray, of_chosen: pa.StructArray) -> pa.StructArray:
            return pa.concat_arrays([rows, of_chosen]).take(pa.array(places))

        lag = None if self.lag is None or others.lag is None else with_others(self.lag, others.lag)
        return RolloutCosts(with_others(self.rows, others.rows), lag)


def advice_rows(
    usual: RolloutCosts, others: Sequence[tuple[Variation, RolloutCosts]], at_longest: Mapping[Variation, pa.ListArray]
) -> pa.StructArray:
    """Return what each variation saves each group that can be simulated with it and without it."""
    rows = [_saved(usual, variation, costs) for variation, costs in others]
    # A setting with which the rollout fails is never the best, whatever it saves.
    gains = np.array([np.where(of["fails"], 0, numbers(of["unowned_ms_saved"].fill_null(0))) for of in rows])
    best = (gains > 0) & (np.arange(len(rows))[:, np.newaxis] == gains.argmax(axis=0))
    advice = []
    for of, is_best, (variation, costs) in zip(rows, best, others, strict=True):
        if variation in at_longest:
            of["at_longest"] = at_longest[variation]
        simulated = pc.and_(usual.rows.field("error").is_null(), costs.rows.field("error").is_null())
        advice.append(rows_of(ADVICE.schema, of | {"best": pa.array(is_best)}).filter(simulated))
    return pa.concat_arrays(advice)


def may_pay(usual: RolloutCosts, others: Sequence[tuple[Variation, RolloutCosts]], pays: Pays) -> Flags:
    """Return the groups of which a variation that is tried over ranges saves enough, as assumed."""

    def figures(costs: RolloutCosts, name: str) -> Ints:
        return numbers(costs.rows.field(name).fill_null(0))

    unowned_ms, partitions = figures(usual, "unowned_ms"), figures(usual, "partitions")
    found = np.zeros(len(unowned_ms), np.bool_)
    for variation, costs in others:
        if variation.has_ranges:
            simulated = numbers(costs.rows.field("error").is_null()).astype(np.bool_)
            found |= simulated & pays.by(unowned_ms - figures(costs, "unowned_ms"), unowned_ms, partitions)
    return found


def _saved(usual: RolloutCosts, variation: Variation, other: RolloutCosts) -> dict[str, pa.Array]:
    """Return the columns of ``advice`` for all groups, without ``best``."""
    costs, count = other.rows, len(other.rows)
    fails = pc.or_(pc.greater(costs.field("failed"), 0), pc.invert(costs.field("finished")))
    columns = {name: costs.field(name) for name in (*_KEYS, "rebalances", "unowned_ms")}
    columns |= {"setting": pa.repeat(variation.setting, count), "value": pa.repeat(variation.value, count)}
    columns["fails"] = fails.fill_null(False)
    columns |= {f"{name}_saved": pc.subtract(usual.rows.field(name), costs.field(name)) for name in _SAVED}
    if usual.lag is not None and other.lag is not None:
        lag, less = usual.lag, other.lag
        columns |= {f"{name}_saved": pc.subtract(lag.field(name), less.field(name)) for name in _LAG_SAVED}
    return columns


def saved_over_ranges(advice: DataFrame) -> DataFrame:
    """Add up what each setting saves all groups: as assumed, and at the ends of the ranges of assumed latencies.

    Columns ``strategy``, ``setting``, ``value``, ``saved`` (partition-milliseconds), ``rebalances``, ``best`` and
    ``failing`` (groups), and the smallest and largest saving, ``least`` and ``most``; null if a group has no ranges.
    """
    keys = ("strategy", "setting", "value")
    as_assumed = F.struct(F.lit(None).cast("string").alias("latency"), F.lit(0).cast("long").alias("more"))
    # A group in which a latency has no range saves as much at its end.
    at_ends = F.transform(
        F.coalesce("at_longest", F.array()),
        lambda end: F.struct(end["latency"], (end["unowned_ms_saved"] - F.col("unowned_ms_saved")).alias("more")),
    )
    by_latency = (
        advice.select("*", F.inline(F.concat(F.array(as_assumed), at_ends)))
        .groupBy(*keys, "latency")
        .agg(
            F.sum("unowned_ms_saved").alias("saved"),
            F.sum("rebalances_saved").alias("rebalances"),
            F.count_if("best").alias("best"),
            F.count_if("fails").alias("failing"),
            F.count_if(F.col("at_longest").isNull()).alias("without"),
            F.sum("more").alias("more"),
        )
    )
    is_as_assumed = F.col("latency").isNull()
    summed = by_latency.groupBy(*keys).agg(
        *(F.max(F.when(is_as_assumed, F.col(name))).alias(name) for name in (*_OF_SETTING, "without")),
        F.min(F.when(~is_as_assumed, F.col("more"))).alias("least_more"),
        F.max(F.when(~is_as_assumed, F.col("more"))).alias("most_more"),
    )
    complete, least, most = F.col("without") == 0, F.expr("saved + least_more"), F.expr("saved + most_more")
    return summed.select(
        *keys,
        *_OF_SETTING,
        F.when(complete, F.least("saved", least)).alias("least"),
        F.when(complete, F.greatest("saved", most)).alias("most"),
    )
