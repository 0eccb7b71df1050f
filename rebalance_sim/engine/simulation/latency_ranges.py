"""What a rollout costs at the ends of the ranges of what it assumes, as it is and under other settings."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from rebalance_sim.engine.simulation.rows import SimulationResult, finished
from rebalance_sim.engine.tables.arrow import lists, rows_of
from rebalance_sim.kafka.coordinator.classic.classic_group import NONE
from rebalance_sim.kafka.runtime.lists import list_offsets
from rebalance_sim.kafka.runtime.strings import Flags, Ints
from rebalance_sim.kafka.simulation.batch_state import field
from rebalance_sim.kafka.simulation.latencies import Latency
from rebalance_sim.tables import AT_LONGEST, struct


@dataclass(frozen=True)
class Downtime:
    """The downtime of a rollout in each group of a batch."""

    unowned_ms: Ints
    fails: Flags
    """Whether the rollout fails, or cannot be simulated."""

    @classmethod
    def of(cls, result: SimulationResult) -> "Downtime":
        """Return the downtime in each simulated group."""
        progress = result.simulated.progress
        fails = ~result.succeeded | (field(progress, "failed") > 0) | ~finished(result)
        return cls(field(progress, "unowned_ms"), fails)


def at_longest(
    latencies: Sequence[Latency],
    ends: Sequence[Ints],
    downtimes: tuple[Sequence[Downtime], Sequence[Downtime]],
    chosen: Flags,
) -> pa.ListArray:
    """Return the column ``at_longest`` of ``advice`` for one setting.

    For each chosen group it has a value for each latency with a range: ``ends`` are NONE where there is none.
    ``downtimes`` are those without the setting and with it.
    """
    rows = pa.concat_arrays([_at_end(*each) for each in zip(latencies, ends, *downtimes, strict=True)])
    has_range = np.array(ends) != NONE
    by_group = np.arange(has_range.size).reshape(has_range.shape).T[has_range.T]
    nested = lists(list_offsets(has_range.sum(axis=0)), rows.take(pa.array(by_group)))
    return nested.take(pa.array(np.cumsum(chosen) - 1, mask=~chosen))


def _at_end(latency: Latency, longest_ms: Ints, usual: Downtime, varied: Downtime) -> pa.StructArray:
    count = len(usual.unowned_ms)
    columns = {
        "latency": pa.repeat(latency.setting, count),
        "longest_ms": pa.array(longest_ms),
        "unowned_ms": pa.array(varied.unowned_ms),
        "unowned_ms_saved": pa.array(usual.unowned_ms - varied.unowned_ms),
        "fails": pa.array(varied.fails),
    }
    return rows_of(struct(AT_LONGEST), columns)
