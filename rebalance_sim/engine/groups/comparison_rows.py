"""The rows of ``comparison``: each group of a batch under every strategy, beside its optimum."""

from collections.abc import Sequence
from functools import reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rebalance_sim.engine.groups.whole_groups import names_of_groups
from rebalance_sim.engine.tables.arrow import numbers, rows_of
from rebalance_sim.kafka.runtime.strings import Ints
from rebalance_sim.tables import BALANCE, BEST_FIGURES, COMPARISON, ELECTIONS, FIGURES, OPTIMUM, struct

COMPARED = (BALANCE.name, OPTIMUM.name, ELECTIONS.name)
"""The tables from which a comparison is computed."""
QUIRKS = ("assigned_twice", "not_subscribed", "nonexistent")
"""Columns of the balance table that count assignments which no correct assignor makes."""
_ABOVE_OPTIMUM = ("max", "stddev", "moved")


def comparison_rows(
    optimum: pa.StructArray, elections: pa.StructArray, balances: Sequence[pa.StructArray]
) -> pa.StructArray:
    """Return a row for each group with an optimum; the strategies of a group are in the order of their names.

    A strategy has an excess over the optimum only if it assigns every partition to exactly one member subscribed to its
    topic: the optimum is the best of such assignments. Groups whose members are all refused, and share groups, are left
    out.
    """
    balance = pa.concat_arrays(balances) if balances else rows_of(BALANCE.schema, {"strategy": pa.nulls(0)})
    of_balance = _places(balance, optimum)
    # Share groups have no optimum.
    balance, of_balance = balance.filter(of_balance.is_valid()), of_balance.drop_null()
    keys = pa.table({"group": of_balance, "strategy": balance.field("strategy")})
    order = numbers(pc.sort_indices(keys, sort_keys=[(name, "ascending") for name in keys.schema.names]))
    balance, of_balance = balance.take(pa.array(order)), numbers(of_balance)[order]
    first = np.searchsorted(of_balance, np.arange(len(optimum) + 1)).astype(np.int32)
    strategies = pa.MapArray.from_arrays(
        pa.array(first), balance.field("strategy"), _figures(balance, optimum, of_balance)
    )
    elected = elections.take(_places(optimum, elections))
    return rows_of(
        COMPARISON.schema,
        {
            **{name: optimum.field(name) for name in ("cluster", "group_id", "members", "partitions")},
            "elected": elected.field("protocol"),
            "rejected_members": elected.field("rejected_members"),
            "optimum": rows_of(struct(BEST_FIGURES), {name: optimum.field(name) for name in BEST_FIGURES}),
            "strategies": strategies,
        },
    )


def _figures(balance: pa.StructArray, optimum: pa.StructArray, of_balance: Ints) -> pa.StructArray:
    """Return the figures of strategies; ``of_balance`` are the rows of ``optimum`` with the same groups."""
    assigns_once = [pc.equal(balance.field(name), 0) for name in ("unassigned", *QUIRKS)]
    is_complete = reduce(pc.and_kleene, assigns_once, balance.field("error").is_null()).fill_null(False)
    best = optimum.take(pa.array(of_balance))
    above = {name: pc.subtract(balance.field(name), best.field(name)) for name in _ABOVE_OPTIMUM}
    excess = {f"excess_{name}": pc.if_else(is_complete, each, None) for name, each in above.items()}
    columns = {name: balance.field(name) for name in FIGURES if name not in excess}
    return rows_of(struct(FIGURES), columns | excess)


def _places(rows: pa.StructArray, among: pa.StructArray) -> pa.Array:
    """Return where the group of each row is among others, of which each group has one; null if it is not there."""
    return pc.index_in(names_of_groups(rows.field), value_set=names_of_groups(among.field))
