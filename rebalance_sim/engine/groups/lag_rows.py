"""The rows of lag tables, from Arrow batches with all rows of some groups.

A row is a partition with offsets (the only rows with a ``topic``), a member of an assignment, or a member that has
joined (the only rows with a ``join_order``), whose ``partitions`` are those it owned.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rebalance_sim.engine.groups.lag_figures import (
    NOBODY,
    UNKNOWN,
    Entries,
    Holders,
    Partitions,
    assigned_partitions,
    group_lag,
    lag_balance,
    member_lag,
    owners,
    pairs,
    split,
)
from rebalance_sim.engine.groups.whole_groups import HASH, KEYS, in_groups, names_of_groups, whole_runs
from rebalance_sim.engine.tables.arrow import arrow_type, as_outcome, codes, list_of_items, numbers, rows_of
from rebalance_sim.kafka.runtime.strings import Flags, Ints
from rebalance_sim.tables import BOOLEAN, LAG_BALANCE, LAST_ASSIGNMENTS, LONG, MEMBER_LAG, OFFSETS, STRING, struct

LAST = 2**63 - 1
"""Stands for the join order of a member whose own is unknown."""
GROUP_LAG = "group_lag"
TABLES = {
    MEMBER_LAG.name: MEMBER_LAG.schema,
    LAG_BALANCE.name: LAG_BALANCE.schema,
    GROUP_LAG: struct({"cluster": STRING, "group_id": STRING, "offsets": LONG, "lag": LONG, "is_assigned": BOOLEAN}),
}
"""The tables and their columns, of which ``rank`` is null; ``group_lag`` also has the groups without lag."""

_CONTENT = ("join_order", "subscription", "partitions", "generation")
_FIGURES = ("max_partition_lag", "max_lag", "min_lag", "p99_lag", "max_lag_bound")
"""Columns of ``lag_balance`` that are figures of ``LagBalance``."""


def lag_rows(batches: Iterable[pa.RecordBatch], tables: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Return the rows of some tables, as ``outcome`` takes them, of groups whose rows follow each other."""
    schema = struct({name: TABLES[name] for name in tables})
    for rows in whole_runs(batches, HASH):
        ordered, starts = in_groups(rows)
        lag = _Lag(ordered, starts, {key: ordered[key].take(pa.array(starts)) for key in KEYS})
        for name in tables:
            yield as_outcome(name, getattr(lag, name)(), schema)


def lag_of_batch(groups: pa.RecordBatch, assignments: Sequence[pa.StructArray]) -> Iterator[tuple[str, pa.StructArray]]:
    """Yield the rows of ``member_lag`` and ``lag_balance`` of groups with their members and offsets nested.

    ``assignments`` are rows of their assignments. Each of ``offsets`` is as ``lag.partition_lag`` has it.
    """
    rows = _rows_of_batch(groups, assignments)
    if len(rows):
        of_groups, starts = np.unique(numbers(rows["group"]), return_index=True)
        (batch,) = rows.to_batches()
        lag = _Lag(batch, starts, {key: groups.column(key).take(pa.array(of_groups)) for key in KEYS})
        yield MEMBER_LAG.name, lag.member_lag()
        yield LAG_BALANCE.name, lag.lag_balance()


def _rows_of_batch(groups: pa.RecordBatch, assignments: Sequence[pa.StructArray]) -> pa.Table:
    """Return the rows that ``_kinds`` divides, sorted by group, with its number."""
    offsets, joined, keys = groups.column(OFFSETS.name), groups.column("members"), names_of_groups(groups.column)
    members, none = joined.flatten(), pa.array([], arrow_type(LAST_ASSIGNMENTS.schema))
    assigned = pa.concat_arrays([none, *assignments])
    of_offsets = {name: offsets.flatten().field(name) for name in ("topic", "partition", "lag", "negative")}
    of_members = {name: members.field(name) for name in ("member_id", "subscription", "generation")}
    of_members |= {"partitions": members.field("owned"), "join_order": members.field("join_order").fill_null(LAST)}
    of_assigned = {name: assigned.field(name) for name in ("strategy", "member_id", "partitions")}
    places = pc.index_in(names_of_groups(assigned.field), value_set=keys).cast(pa.int64())
    groups_of = (list_of_items(offsets), list_of_items(joined), places)
    parts = zip((of_offsets, of_members, of_assigned), groups_of, strict=True)
    tables = [pa.table(columns | {"group": of}) for columns, of in parts]
    return pa.concat_tables(tables, promote_options="default").sort_by("group").combine_chunks()


class _Part(NamedTuple):
    """Rows of one kind, or the entries of their lists."""

    groups: Ints
    rows: pa.RecordBatch

    def numbers(self, column: str) -> Ints:
        """Return a column of numbers, in which null is -1."""
        return numbers(self.rows[column].fill_null(-1)).astype(np.int64, copy=False)

    def where(self, chosen: pa.BooleanArray) -> "_Part":
        """Choose rows."""
        return _Part(self.groups[_flags(chosen)], self.rows.filter(chosen))

    def take(self, chosen: Ints) -> "_Part":
        """Return rows in another order."""
        return _Part(self.groups[chosen], self.rows.take(pa.array(chosen)))

    def entries(self, column: str) -> tuple[Ints, "_Part"]:
        """Return the row that each entry of a column of lists is in, and the entries without nulls."""
        lists = self.rows[column]
        of, entries = list_of_items(lists), lists.flatten()
        columns = entries.flatten() if pa.types.is_struct(entries.type) else [entries]
        names = entries.type.names if pa.types.is_struct(entries.type) else ["topic"]
        rows = pa.RecordBatch.from_arrays(columns, names=names)
        if any(column.null_count for column in columns):
            complete = np.all([_flags(column.is_valid()) for column in columns], axis=0)
            of, rows = of[complete], rows.filter(pa.array(complete))
        return of, _Part(self.groups[of], rows)


class _Lag:
    """The lag of some groups, with a method for each table."""

    def __init__(self, rows: pa.RecordBatch, starts: Ints, keys: dict[str, pa.Array]) -> None:
        """Number what the rows name, and sum up; ``starts`` has the first row of each group, ``keys`` its name."""
        offsets, assigned, joined = _kinds(rows, starts)
        (holding, held_topics), (claiming, owned) = assigned.entries("partitions"), joined.entries("partitions")
        subscribing, subscribed = joined.entries("subscription")
        (*topics, subscribed_topics), group_of_topic, self._topics = _number_names(
            "topic", offsets, held_topics, owned, subscribed
        )
        parts = (offsets, held_topics, owned)
        numbered = (pairs(of, part.numbers("partition")) for of, part in zip(topics, parts, strict=True))
        self._partitions, (with_offsets, held, claimed) = _number(*numbered)
        of_topics, _ = split(self._partitions)
        n = len(of_topics)
        lags, have_offsets, are_negative = np.full(n, UNKNOWN), np.zeros(n, np.bool_), np.zeros(n, np.bool_)
        lags[with_offsets], have_offsets[with_offsets] = offsets.numbers("lag"), True
        are_negative[with_offsets] = _flags(offsets.rows["negative"])
        before = owners(Entries(claiming, claimed), _precedence(joined), n)

        self._keys = keys
        self._all = Partitions(group_of_topic[of_topics], of_topics, lags, have_offsets, are_negative, before)
        self._subscribed = Entries(subscribing, subscribed_topics)
        self._names, self._holders = _holders(assigned, joined, Entries(holding, held))
        self._first = np.flatnonzero(np.diff(self._holders.assignments, prepend=-1))
        self._assigned = assigned_partitions(self._all, self._holders)
        without_offsets = self._assigned.assignments[~have_offsets[self._assigned.partitions]]
        self._without_offsets = np.bincount(without_offsets, minlength=len(self._first))
        self._of_members = member_lag(self._all, self._holders)
        self._of_groups = group_lag(self._all, len(starts), joined.groups)

    @property
    def _has_lag(self) -> Flags:
        """Whether each assignment is of a group that is not known to have no lag."""
        of, groups = self._names.groups[self._first], self._of_groups
        return (groups.lag_partitions[of] > 0) | (groups.unknown_partitions[of] + self._without_offsets > 0)

    def member_lag(self) -> pa.StructArray:
        """Return the rows of ``member_lag``."""
        held, of = self._of_members, self._names.groups
        of_group = self._of_groups.lag[of]
        of_topics, partitions = split(np.append(self._partitions, 0)[held.largest])
        largest, has_none = np.append(self._all.lags, UNKNOWN)[held.largest], held.largest == UNKNOWN
        columns = {
            **self._named(np.arange(len(of))),
            "member_id": self._names.rows["member_id"],
            **{name: pa.array(getattr(held, name)) for name in ("partitions", "lag_partitions", "unknown_partitions")},
            "lag": _known(held.lag),
            "share": pa.array(held.lag / np.maximum(of_group, 1), mask=(held.lag == UNKNOWN) | (of_group <= 0)),
            "max_partition_lag": _known(largest),
            "max_lag_partition": pa.StructArray.from_arrays(
                [self._topics.take(pa.array(of_topics, mask=has_none)), pa.array(partitions.astype(np.int32))],
                names=["topic", "partition"],
                mask=pa.array(has_none),
            ),
        }
        return rows_of(MEMBER_LAG.schema, columns).filter(pa.array(self._has_lag[self._holders.assignments]))

    def lag_balance(self) -> pa.StructArray:
        """Return the rows of ``lag_balance`` without ranks."""
        balance = lag_balance(self._all, self._holders, self._assigned, self._of_members.lag, self._subscribed)
        of, groups = self._names.groups[self._first], self._of_groups
        lag, owned_max_lag, is_known = groups.lag[of], groups.owned_max_lag[of], balance.max_lag != UNKNOWN
        mean_lag = balance.held_lag / balance.members
        member_ids = self._names.rows["member_id"]
        columns = {
            **self._named(self._first),
            "members": pa.array(balance.members),
            "partitions": pa.array(groups.partitions[of] + self._without_offsets),
            "lag_partitions": pa.array(groups.lag_partitions[of]),
            "unknown_partitions": pa.array(groups.unknown_partitions[of] + self._without_offsets),
            "negative_partitions": pa.array(groups.negative_partitions[of]),
            "lag": _known(lag),
            "unassigned_lag": pa.array(lag - np.maximum(balance.assigned_lag, 0), mask=lag == UNKNOWN),
            **{name: _known(getattr(balance, name)) for name in _FIGURES},
            "max_lag_member_id": member_ids.take(_known(balance.most_lagging)),
            "mean_lag": pa.array(mean_lag, mask=balance.held_lag == UNKNOWN),
            "imbalance": pa.array(balance.max_lag / np.where(mean_lag > 0, mean_lag, 1), mask=mean_lag <= 0),
            "excess_lag": pa.array(balance.max_lag - balance.max_lag_bound, mask=~is_known),
            "moved_lag": pa.array(np.maximum(balance.moved_lag, 0), mask=owned_max_lag == UNKNOWN),
            "owned_max_lag": _known(owned_max_lag),
        }
        return rows_of(LAG_BALANCE.schema, columns).filter(pa.array(self._has_lag))

    def group_lag(self) -> pa.StructArray:
        """Return the lag of all groups, and whether they have assignments."""
        is_assigned = np.zeros(len(self._of_groups.lag), np.bool_)
        is_assigned[self._names.groups] = True
        columns = {"offsets": pa.array(self._of_groups.partitions), "lag": _known(self._of_groups.lag)}
        return rows_of(TABLES[GROUP_LAG], self._keys | columns | {"is_assigned": pa.array(is_assigned)})

    def _named(self, holders: Ints) -> dict[str, pa.Array]:
        """Return the columns that name the assignments of some holders."""
        chosen = self._names.take(holders)
        keys = {name: names.take(pa.array(chosen.groups)) for name, names in self._keys.items()}
        return keys | {"strategy": chosen.rows["strategy"]}


def _kinds(rows: pa.RecordBatch, starts: Ints) -> tuple[_Part, _Part, _Part]:
    """Return the partitions with offsets, the members of assignments, and the members that have joined, each once."""
    every = _Part(np.repeat(np.arange(len(starts)), np.diff(starts, append=len(rows))), rows)
    has_topic, has_joined = rows["topic"].is_valid(), rows["join_order"].is_valid()
    assigned = every.where(pc.invert(pc.or_(has_topic, has_joined)))
    return every.where(has_topic), assigned, _each_once(every.where(has_joined))


def _each_once(joined: _Part) -> _Part:
    """Take the first of repeated members, as assignments do: by join order, then by content. Sorts by group and id."""
    (members,), _, _ = _number_names("member_id", joined)
    order, counts = np.argsort(members, kind="stable"), np.bincount(members)
    ends = np.cumsum(counts)
    kept = order[ends - counts]
    for member in np.flatnonzero(counts > 1):
        same = order[ends[member] - counts[member] : ends[member]]
        kept[member] = min(same, key=lambda row: [_content(joined.rows[name][int(row)].as_py()) for name in _CONTENT])
    return joined.take(kept)


def _content(value: Any) -> tuple[Any, ...]:
    """Return a value that is sorted as Spark sorts: null comes first."""
    if value is None:
        return ()
    if isinstance(value, dict):
        value = list(value.values())
    return (tuple(map(_content, value)) if isinstance(value, list) else value,)


def _precedence(joined: _Part) -> Ints:
    """Return the members, sorted by group and id, in the order in which their claims count.

    It is that of ``rebalance_sim.kafka.balance``: the later generation, then the first member.
    """
    return np.lexsort((joined.numbers("join_order"), -joined.numbers("generation")))


def _holders(assigned: _Part, joined: _Part, held: Entries) -> tuple[_Part, Holders]:
    """Return a row of each holder, and the holders. ``held`` are the partitions of each row."""
    strategies, _ = codes(assigned.rows["strategy"])
    _, (assignments,) = _number(pairs(assigned.groups, strategies.astype(np.int64) + 1))
    (members, joined_members), _, names = _number_names("member_id", assigned, joined)
    keys, (holder_of_row,) = _number(pairs(assignments, members))
    assignments, members = split(keys)
    places = np.full(len(names), NOBODY)
    places[joined_members] = np.arange(len(joined_members))
    first = np.empty(len(keys), np.int64)
    first[holder_of_row] = np.arange(len(holder_of_row))
    joined_as = places[members]
    return assigned.take(first), Holders(assignments, joined_as, Entries(holder_of_row[held.of], held.items))


def _number_names(column: str, *parts: _Part) -> tuple[list[Ints], Ints, pa.StringArray]:
    """Number names in the order of their groups, and of their bytes, as Spark sorts them.

    Returns the numbers of each part's names, and for each number its group and its name.
    """
    encoded = pa.concat_arrays([part.rows[column] for part in parts]).fill_null("").dictionary_encode()
    order = pc.sort_indices(encoded.dictionary)
    ranks = np.argsort(numbers(order))[numbers(encoded.indices)]
    keys, (places,) = _number(pairs(np.concatenate([part.groups for part in parts]), ranks))
    groups, of_names = split(keys)
    ends = np.cumsum([len(part.groups) for part in parts])[:-1]
    return np.split(places, ends), groups, encoded.dictionary.take(order).take(pa.array(of_names))


def _number(*keys: Ints) -> tuple[Ints, list[Ints]]:
    """Return the sorted distinct keys, and the place of each key among them."""
    distinct, places = np.unique(np.concatenate(keys), return_inverse=True)
    return distinct, np.split(places, np.cumsum([len(each) for each in keys])[:-1])


def _flags(array: pa.BooleanArray) -> Flags:
    return numbers(array).astype(np.bool_, copy=False)


def _known(values: Ints) -> pa.Array:
    """Return numbers as a column in which UNKNOWN is null."""
    return pa.array(values, mask=values == UNKNOWN)
