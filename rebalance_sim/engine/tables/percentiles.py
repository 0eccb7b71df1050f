"""Percentiles by nearest rank: the smallest of the values that at least this share of all values do not exceed.

A percentile is one of the values: exact, and never interpolated. The 99th of n values has ``n // 100`` values ranked
above it: of fewer than 100 values it is the maximum.
"""

from typing import TypeVar

import numpy as np
from pyspark.sql import Column
from pyspark.sql import functions as F

from rebalance_sim.kafka.runtime.strings import Ints

_Count = TypeVar("_Count", int, Ints)
QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}
"""Shares of the values by the names of their percentiles."""


def percentiles(value: str) -> Column:
    """Return the aggregate of an SQL expression: a struct with each of ``QUANTILES``. Nulls do not count."""
    shares = ", ".join(f"{share}D" for share in QUANTILES.values())
    found = F.expr(f"percentile_disc(array({shares})) WITHIN GROUP (ORDER BY {value})")
    return F.struct(*[found[place].alias(name) for place, name in enumerate(QUANTILES)])


def p99(value: str) -> Column:
    """Return the 99th percentile alone, as ``percentiles``."""
    return F.expr(f"percentile_disc({QUANTILES['p99']}D) WITHIN GROUP (ORDER BY {value})")


def p99_of_counted(counted: str, value: str, count: str, total: str) -> Column:
    """Return the 99th percentile of ``total`` values, of which an array has the highest with their counts.

    ``counted`` is the array, of structs with ``value`` before ``count``. All values that it does not have are 0.
    """
    reached = f"try_add(higher.values, entry.{count})"
    return F.expr(
        f"aggregate(sort_array({counted}, false), named_struct('values', 0L, 'found', CAST(NULL AS BIGINT)), "
        f"(higher, entry) -> named_struct('values', {reached}, "
        f"'found', coalesce(higher.found, IF({reached} > {total} DIV 100, entry.{value}, NULL))), "
        f"last -> IF({total} IS NULL, NULL, coalesce(last.found, 0L)))"
    )


def ranked_below(values: Ints, counts: Ints, above: int) -> int:
    """Return the highest value that so many others are ranked ``above``; 0 if there are not as many.

    ``values`` ascend; ``counts`` says how often each of them is there.

    >>> import numpy as np
    >>> [ranked_below(np.array([5, 7]), np.array([2, 1]), above) for above in range(4)]
    [7, 5, 5, 0]
    """
    reached = np.flatnonzero(np.cumsum(counts[::-1]) > above)
    return int(values[::-1][reached[0]]) if len(reached) else 0


def above_p99(counts: _Count) -> _Count:
    """Return how many of so many values are ranked above the 99th percentile.

    >>> import numpy as np
    >>> above_p99(np.array([1, 99, 100, 250])).tolist()
    [0, 0, 1, 2]
    """
    return counts // 100
