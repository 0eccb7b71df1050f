"""Audits batches of whole groups: each is predicted, simulated and judged while a worker holds its rows."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from rebalance_sim.engine.audit.facts import FACTS, beside_members
from rebalance_sim.engine.audit.group import OWNED_NOW, TOPIC_OWNERS
from rebalance_sim.engine.audit.judgement import Judgement
from rebalance_sim.engine.audit.rollouts import OF_ADVICE, OF_COSTS
from rebalance_sim.engine.audit.search_terms import SEARCH_TERMS, search_terms
from rebalance_sim.engine.audit.topic_owners import topics_by_member, topics_on_one_host
from rebalance_sim.engine.groups.group_plan import GroupPlan
from rebalance_sim.engine.groups.lag_rows import lag_of_batch
from rebalance_sim.engine.groups.prediction import Prediction
from rebalance_sim.engine.groups.whole_groups import REJECT_REASON, names_of_groups
from rebalance_sim.engine.simulation.lag_costs import LAGS, partitions_with_lag
from rebalance_sim.engine.simulation.simulations import Simulations
from rebalance_sim.engine.tables.arrow import as_outcome, list_offsets, lists
from rebalance_sim.tables import (
    ADVICE,
    BALANCE,
    COMPARISON,
    COSTS,
    DEFAULT_PROTOCOL_TYPE,
    ELECTIONS,
    FINDINGS,
    LAG_BALANCE,
    LAG_COSTS,
    LAST_ASSIGNMENTS,
    MEMBER_LAG,
    MEMBERS,
    MIGRATION_COSTS,
    OFFSETS,
    OUTPUTS,
    REJECTS,
    VERDICTS,
    struct,
)

_MEMBER = (
    # Of repeated members, predictions use the first by these columns, in this order.
    *("join_order", "member_id", "protocol_type", "protocols", "client_library", "client_version", "instance_id"),
    *("rack", "subscription", "session_timeout_ms", "group_state", "generation", "generation_at_ms", "client_id"),
    *("earlier_generation", "earlier_generation_at_ms", "subscribed_regex", "rebalance_timeout_ms", "host"),
    *("protocols_assumed", "team", "weight"),
)
"""Columns of members that findings are about."""
_COMPUTED = {
    ELECTIONS.name: (
        *("type", "members", "protocol", "candidates", "votes", "tie", "leader_id", "refused", "error"),
        "other_builds",
    ),
    BALANCE.name: (
        *("strategy", "members", "partitions", "min", "max", "idle_members", "moved", "unassigned", "unconsumed"),
        *("first_unconsumed", "whole_topics", "co_partitioned_topics", "alternatives", "bounds", "error"),
    ),
    COMPARISON.name: ("partitions", "optimum", "strategies"),
    LAG_BALANCE.name: ("strategy", "members", "lag", "max_lag", "max_partition_lag", "excess_lag"),
    LAG_COSTS.name: ("unowned_lag", "delay_ms"),
    COSTS.name: OF_COSTS,
    MIGRATION_COSTS.name: OF_COSTS,
    ADVICE.name: OF_ADVICE,
}
"""Columns of the computed tables that findings are about."""
_Rows = defaultdict[str, list[dict[str, Any]]]


@dataclass(frozen=True)
class GroupAudit:
    """What is predicted and simulated of every group, and how it is judged."""

    now: Prediction
    """The present state; with offsets also the last assignments, for lag."""
    others: Prediction
    """Under other assignors."""
    rolled_out: Simulations
    """A rollout and a migration."""
    judgement: Judgement

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the tables that are computed."""
        predicted = (*self.now.outputs, *self.others.outputs)
        lag = [MEMBER_LAG.name, LAG_BALANCE.name] if LAST_ASSIGNMENTS.name in predicted else []
        found = (*predicted, *self.rolled_out.outputs, *lag, FINDINGS.name, VERDICTS.name)
        return tuple(name for name in dict.fromkeys(found) if name != LAST_ASSIGNMENTS.name)

    @property
    def schema(self) -> StructType:
        """One struct column per table, of which each row sets exactly one."""
        return struct({name: OUTPUTS[name].schema for name in self.outputs})

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of the members table that are needed."""
        runs = (self.now.columns, self.others.columns, self.rolled_out.columns)
        return tuple(dict.fromkeys([*_MEMBER, "owned", *(name for columns in runs for name in columns)]))

    def plan(self, members: DataFrame, facts: Mapping[str, DataFrame]) -> GroupPlan:
        """Return the plan for the groups of a fitted members table, and of ``facts.group_facts``."""
        plan = GroupPlan.of_members(members, self.columns, self.batches, self.schema)
        return beside_members(plan, members, facts) if facts else plan

    def batches(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Audit batches of groups, with their members and facts nested; return batches of ``schema``."""
        for batch in batches:
            for name, rows in self._outcomes(batch):
                if len(rows):
                    yield as_outcome(name, rows, self.schema)

    def _outcomes(self, batch: pa.RecordBatch) -> Iterator[tuple[str, pa.StructArray]]:
        """Yield rows of the output tables, each with the name of its table."""
        found: dict[str, list[pa.StructArray]] = defaultdict(list)
        for name, rows in self._computed(batch):
            found[name].append(rows)
            if name in self.outputs:
                yield name, rows
        yield from self.judgement.rows(_rows_by_group(batch, found))

    def _computed(self, batch: pa.RecordBatch) -> Iterator[tuple[str, pa.StructArray]]:
        """Yield what is predicted and simulated; the rejects are those of the present state."""
        assigned: dict[bool, list[pa.StructArray]] = {True: [], False: []}
        for run in (self.now, self.others):
            for name, rows in run.tables([_with_columns(batch, run.columns)]):
                if name == LAST_ASSIGNMENTS.name:
                    assigned[run is self.now].append(rows)
                elif name in run.outputs:
                    yield name, rows
        if OFFSETS.name in batch.schema.names:
            yield from lag_of_batch(batch, _all_assignments(assigned[True], assigned[False]))
        simulated = _with_columns(batch, self.rolled_out.columns)
        if OFFSETS.name in batch.schema.names:
            simulated = simulated.append_column(LAGS, partitions_with_lag(batch.column(OFFSETS.name)))
        for name, rows in self.rolled_out.tables([simulated]):
            if name in self.rolled_out.outputs:
                yield name, rows


def _all_assignments(now: Sequence[pa.StructArray], others: Sequence[pa.StructArray]) -> list[pa.StructArray]:
    """Return the assignments of the present state and of other strategies, each strategy of a group once."""
    if not others:
        return list(now)
    compared = pa.concat_arrays([_strategies(rows) for rows in others])
    return [*others, *(rows.filter(pc.invert(pc.is_in(_strategies(rows), value_set=compared))) for rows in now)]


def _strategies(rows: pa.StructArray) -> pa.StringArray:
    return pc.binary_join_element_wise(names_of_groups(rows.field), rows.field("strategy"), "\0")


def _with_columns(batch: pa.RecordBatch, columns: Sequence[str]) -> pa.RecordBatch:
    """Return groups with these columns of their members alone."""
    nested = batch.column("members")
    members = _chosen(nested.flatten(), columns)
    names = ("cluster", "group_id", "rejected_members")
    return pa.RecordBatch.from_arrays(
        [*map(batch.column, names), lists(list_offsets(nested), members)], names=[*names, "members"]
    )


def _chosen(rows: pa.StructArray, columns: Sequence[str]) -> pa.StructArray:
    return pa.StructArray.from_arrays([rows.field(name) for name in columns], names=list(columns))


def _rows_by_group(
    batch: pa.RecordBatch, found: Mapping[str, Sequence[pa.StructArray]]
) -> dict[tuple[str, str], _Rows]:
    """Return the rows about each group, by cluster and id, and by table."""
    keys = list(zip(batch.column("cluster").to_pylist(), batch.column("group_id").to_pylist(), strict=True))
    nested = {
        name: batch.column(name).to_pylist() for name in FACTS if name in batch.schema.names and name != OFFSETS.name
    }
    nested[MEMBERS.name] = _members(batch.column("members"))
    if OFFSETS.name in batch.schema.names:
        counts = pc.list_value_length(batch.column(OFFSETS.name)).to_pylist()
        nested[OFFSETS.name] = [[{"partitions": count}] if count else [] for count in counts]
    groups: dict[tuple[str, str], _Rows] = {
        key: defaultdict(list, {name: rows[place] or [] for name, rows in nested.items()})
        for place, key in enumerate(keys)
    }
    for row in topics_on_one_host(batch.column("members")).to_pylist():
        groups[keys[row["group"]]][TOPIC_OWNERS].append(row)
    offsets = batch.column(OFFSETS.name) if OFFSETS.name in batch.schema.names else None
    for key, row in zip(keys, search_terms(batch.column("members"), offsets).to_pylist(), strict=True):
        groups[key][SEARCH_TERMS].append(row)
    for name, columns in _COMPUTED.items():
        for rows in found.get(name, ()):
            for key, row in zip(_keys(rows), _chosen(rows, columns).to_pylist(), strict=True):
                groups[key][name].append(row)
    _add_owned(groups, batch)
    _add_rejects(groups, batch, found.get(REJECTS.name, ()))
    return groups


def _add_owned(groups: Mapping[tuple[str, str], _Rows], batch: pa.RecordBatch) -> None:
    """Add what members own now, of the groups whose assignment is not predicted."""
    rows_of_groups = list(groups.values())
    places = [place for place, rows in enumerate(rows_of_groups) if any(row["error"] for row in rows[BALANCE.name])]
    if not places:
        return
    for row in topics_by_member(batch.column("members").take(pa.array(places))).to_pylist():
        rows_of_groups[places[row["group"]]][OWNED_NOW].append(row)


def _members(nested: pa.ListArray) -> list[list[dict[str, Any]]]:
    """Return the members of each group with the columns of findings."""
    members = _chosen(nested.flatten(), _MEMBER)
    types = members.field("protocol_type").fill_null(DEFAULT_PROTOCOL_TYPE)
    columns = [types if name == "protocol_type" else members.field(name) for name in _MEMBER]
    members = pa.StructArray.from_arrays(columns, names=list(_MEMBER))
    found: list[list[dict[str, Any]]] = lists(list_offsets(nested), members).to_pylist()
    return found


def _add_rejects(
    groups: Mapping[tuple[str, str], _Rows], batch: pa.RecordBatch, predicted: Iterable[pa.StructArray]
) -> None:
    """Add the rejected members of each group to its rejects, which have a row for each table."""
    reasons = defaultdict(list)
    for rows in predicted:
        for key, reason in zip(_keys(rows), rows.field("reason").to_pylist(), strict=True):
            reasons[key].append(reason)
    before = (batch.column(name).to_pylist() for name in ("rejected_members", REJECT_REASON))
    for (key, rows), count, reason in zip(groups.items(), *before, strict=True):
        found = [*reasons[key], *([reason] if reason else [])]
        if found:
            row = {"table": MEMBERS.name, "rows": len(reasons[key]) + (count or 0), "reason": min(found)}
            _merge(rows[REJECTS.name], row)


def _merge(rejects: list[dict[str, Any]], row: dict[str, Any]) -> None:
    """Add a row of rejects to that of the same table, if there is one."""
    same = next((other for other in rejects if other["table"] == row["table"]), None)
    if same is None:
        rejects.append(row)
        return
    same["rows"] += row["rows"]
    same["reason"] = min(same["reason"], row["reason"])


def _keys(rows: pa.StructArray) -> Iterator[tuple[str, str]]:
    return zip(rows.field("cluster").to_pylist(), rows.field("group_id").to_pylist(), strict=True)
