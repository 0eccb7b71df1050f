"""Judge what other settings would save each group: the scenario is simulated again under each of them.

A setting is the best for a group if it saves most partition downtime without making the rollout fail.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rebalance_sim.engine.simulation.variations import Variation
from rebalance_sim.engine.tables.arrow import numbers, rows_of
from rebalance_sim.kafka.runtime.strings import Flags
from rebalance_sim.tables import ADVICE

_KEYS = ("cluster", "group_id", "strategy")
_SAVED = ("rebalances", "unowned_ms", "p99_unowned_ms", "max_unowned_ms", "stable_ms", "moved")
_LAG_SAVED = ("unowned_lag", "delay_ms")


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


def advice_rows(usual: RolloutCosts, others: Sequence[tuple[Variation, RolloutCosts]]) -> pa.StructArray:
    """Return what each variation saves each group that can be simulated with it and without it."""
    rows = [_saved(usual, variation, costs) for variation, costs in others]
    # A setting with which the rollout fails is never the best, whatever it saves.
    gains = np.array([np.where(of["fails"], 0, numbers(of["unowned_ms_saved"].fill_null(0))) for of in rows])
    best = (gains > 0) & (np.arange(len(rows))[:, np.newaxis] == gains.argmax(axis=0))
    advice = []
    for of, is_best, (_, costs) in zip(rows, best, others, strict=True):
        simulated = pc.and_(usual.rows.field("error").is_null(), costs.rows.field("error").is_null())
        advice.append(rows_of(ADVICE.schema, of | {"best": pa.array(is_best)}).filter(simulated))
    return pa.concat_arrays(advice)


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
