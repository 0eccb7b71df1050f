"""Run elections and assignors over batches of groups, in Spark's workers."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql.types import StructField, StructType

from rebalance_sim.defaults import STRATEGY
from rebalance_sim.engine.groups.batch_arrays import as_groups, elect_protocols, find_topics, groups_where, refusals
from rebalance_sim.engine.groups.custom_assignors import client_data
from rebalance_sim.engine.groups.group_batches import GroupBatch, RejectedMember
from rebalance_sim.engine.groups.group_plan import GroupPlan
from rebalance_sim.engine.tables.arrow import arrow_type, codes, lists, rows_of, strings, topic_partitions
from rebalance_sim.engine.tables.topic_metadata import BatchTopics, TopicIndex, TopicMetadata
from rebalance_sim.kafka.assignors import KNOWN_ASSIGNORS
from rebalance_sim.kafka.assignors.consumer_partition_assignor import ConsumerPartitionAssignor
from rebalance_sim.kafka.assignors.custom_batch import FailureTexts, LeaderView
from rebalance_sim.kafka.assignors.resolved import Assignors
from rebalance_sim.kafka.balance import Balance, balance
from rebalance_sim.kafka.coordinator.classic.group import NONE
from rebalance_sim.kafka.coordinator.group_types import GroupProtocols, leaders, refusal_errors
from rebalance_sim.kafka.election import offsets_partition
from rebalance_sim.kafka.groups import AssignmentFailure, Assignments, Groups, Subscribers, map_order, subscribers
from rebalance_sim.kafka.optimum import optimum
from rebalance_sim.kafka.rebalances import (
    GOES_ON,
    Rebalance,
    RebalanceProtocol,
    RebalanceSummary,
    eager_members,
    rebalances,
    summarize_rebalances,
)
from rebalance_sim.kafka.runtime.lists import list_offsets
from rebalance_sim.kafka.runtime.strings import Flags, Ints32, java_hashes
from rebalance_sim.releases import OFFSETS_PARTITIONS, KafkaVersion
from rebalance_sim.tables import (
    ASSIGNMENTS,
    BALANCE,
    CLASSIC,
    CONSUMER,
    COOPERATIVE_REBALANCES,
    ELECTIONS,
    LAST_ASSIGNMENTS,
    MEMBERS,
    OPTIMUM,
    OUTPUTS,
    REJECTS,
    Table,
)

ELECTED = STRATEGY
"""The strategy under which every group uses the protocol that it elects."""

NOBODY_ADMITTED = "the coordinator refuses all members"

_ELECTION_COLUMNS = ("join_order", "member_id", "protocol_type", "protocols")
_ASSIGNMENT_COLUMNS = ("join_order", "member_id", "instance_id", "rack", "subscription")
_OWNED_COLUMNS = ("owned", "generation")


@dataclass(frozen=True)
class Prediction:
    """What to predict for every group."""

    outputs: tuple[str, ...]
    """Names of the output tables to fill."""
    version: KafkaVersion
    strategies: tuple[str, ...] = ()
    """Assignors, or ELECTED; beside others, ELECTED applies to the groups that elect none of those."""
    metadata: TopicMetadata | None = None
    offsets_partitions: int = OFFSETS_PARTITIONS
    assignors: tuple[ConsumerPartitionAssignor, ...] = ()
    """The user's own assignors: strategies may name them and groups may elect them."""

    @property
    def schema(self) -> StructType:
        """The requested table; for several, one struct column per table, of which each row sets exactly one."""
        if len(self.outputs) == 1:
            return OUTPUTS[self.outputs[0]].schema
        return StructType([StructField(name, OUTPUTS[name].schema) for name in self.outputs])

    @property
    def elects(self) -> bool:
        """Whether elections are needed."""
        return ELECTIONS.name in self.outputs or ELECTED in self.strategies

    @property
    def refuses(self) -> bool:
        """Whether members that the coordinator refuses are left out: named strategies are for all members."""
        return self.elects and (ELECTED in self.strategies or not self.strategies)

    @property
    def columns(self) -> list[str]:
        """Columns of the members table that are needed."""
        wanted = list(_ELECTION_COLUMNS) if self.elects else []
        wanted += _ASSIGNMENT_COLUMNS if self.strategies or OPTIMUM.name in self.outputs else ()
        if {BALANCE.name, OPTIMUM.name} & set(self.outputs) or any(
            self.resolved.resolve(strategy).reads_owned for strategy in self.strategies
        ):
            wanted += _OWNED_COLUMNS
        if self.assignors and not {ELECTED, *(own.name for own in self.assignors)}.isdisjoint(self.strategies):
            wanted.append("user_data")
        return list(dict.fromkeys(wanted))

    @cached_property
    def resolved(self) -> Assignors:
        """The assignors that protocol names stand for."""
        return Assignors(self.version, self.assignors)

    def __call__(self, members: DataFrame) -> DataFrame:
        """Predict for all groups of a fitted members table: rows of ``schema``."""
        return self.plan(members).rows()

    def plan(self, members: DataFrame) -> GroupPlan:
        """Return what is to be computed of the groups of a fitted members table."""
        return GroupPlan.of_members(members, self.columns, self.predict_batches, self.schema)

    def predict_batches(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Predict for batches of groups of members; return batches of ``schema``."""
        index = self.metadata.index() if self.metadata else None
        for batch in batches:
            for name, rows in self._outcomes(GroupBatch.of(batch), index):
                if name in self.outputs and len(rows):
                    yield self._as_outcome(name, rows)

    def _as_outcome(self, name: str, rows: pa.StructArray) -> pa.RecordBatch:
        if len(self.outputs) == 1:
            return pa.RecordBatch.from_struct_array(rows)
        columns = [
            rows if output == name else pa.nulls(len(rows), arrow_type(OUTPUTS[output].schema))
            for output in self.outputs
        ]
        return pa.RecordBatch.from_arrays(columns, names=list(self.outputs))

    def _outcomes(self, given: GroupBatch, index: TopicIndex | None) -> Iterator[tuple[str, pa.StructArray]]:
        batch, rejected = given.without_unusable_members(self.refuses)
        protocols: pa.Array | None = None
        if self.elects:
            voters = batch if self.refuses else batch.voters()
            found = elect_protocols(voters, self.version)
            protocols = _elected(voters, found)
            if self.refuses:
                batch, refused = batch.reject(refusals(found))
                rejected += refused
            yield ELECTIONS.name, _election_rows(voters, found, self.offsets_partitions, batch.rejected_members)
        if rejected:
            yield REJECTS.name, reject_rows(batch, rejected)
        if OPTIMUM.name in self.outputs:
            assert index is not None
            yield OPTIMUM.name, _optimum_rows(batch, index)
        for strategy in self.strategies:
            assert index is not None
            yield from self._assign(batch, strategy, protocols, index)

    def _assign(
        self, batch: GroupBatch, strategy: str, protocols: pa.Array | None, index: TopicIndex
    ) -> Iterator[tuple[str, pa.StructArray]]:
        if strategy != ELECTED:
            yield from self._assign_by(batch, strategy, _nobody(batch), index)
            return
        assert protocols is not None
        named = pa.array([name for name in self.strategies if name != ELECTED], pa.string())
        protocol_codes, names = codes(pc.if_else(pc.is_in(protocols, value_set=named), None, protocols))
        for code, name in enumerate(names.to_pylist()):
            chosen = groups_where(batch, protocol_codes == code)
            cooperative = self.resolved.resolve(name).protocol is RebalanceProtocol.COOPERATIVE
            eager = self._eager(chosen) if cooperative else _nobody(chosen)
            yield from self._assign_by(chosen, name, eager, index)

    def _assign_by(
        self, batch: GroupBatch, strategy: str, eager: Flags, index: TopicIndex
    ) -> Iterator[tuple[str, pa.StructArray]]:
        assignor = self.resolved.resolve(strategy)
        if assignor.error is not None:
            yield BALANCE.name, _failed_balance_rows(batch, strategy, assignor.error)
            return
        topics = find_topics(batch, index, asks_topic_ids((strategy,)))
        groups = as_groups(batch, topics, index)
        view = LeaderView(
            topics.topics,
            topics.names.to_pylist,
            lambda members: client_data(batch.members.take(pa.array(members))),
            eager,
            FailureTexts(),
        )
        protocol, ranks = assignor.protocol, topics.topics.ranks
        to_come = rebalances(
            protocol, groups, ranks, eager, lambda joined, members: assignor.assign(joined, members, view)
        )
        first = next(to_come)
        yield ASSIGNMENTS.name, _assignment_rows(batch, strategy, first, topics)
        if not {COOPERATIVE_REBALANCES.name, LAST_ASSIGNMENTS.name, BALANCE.name} & set(self.outputs):
            return
        found = [first, *to_come]
        if COOPERATIVE_REBALANCES.name in self.outputs and protocol is RebalanceProtocol.COOPERATIVE:
            for number, rebalance in enumerate(found, 1):
                yield COOPERATIVE_REBALANCES.name, _rebalance_rows(batch, strategy, number, rebalance, topics)
        if not {LAST_ASSIGNMENTS.name, BALANCE.name} & set(self.outputs):
            return
        end = summarize_rebalances(protocol, groups, ranks, found)
        if LAST_ASSIGNMENTS.name in self.outputs:
            yield LAST_ASSIGNMENTS.name, _last_assignment_rows(batch, strategy, end, topics)
        if BALANCE.name in self.outputs:
            figures = _balance(groups, end.assignments, topics)
            yield BALANCE.name, _balance_rows(batch, strategy, figures, end, _failed(end, view.failures.texts))

    def _eager(self, batch: GroupBatch) -> Flags:
        """Return which members follow the eager protocol: those that offer at least one eager assignor."""
        preferences, names = batch.preferences
        cooperative = [not self.resolved.resolve(name).eager for name in names.to_pylist()]
        return eager_members(preferences, np.array(cooperative, np.bool_))[batch.offered]


def asks_topic_ids(strategies: Iterable[str]) -> bool:
    """Return whether a strategy depends on the topics' Uuids; what groups elect may."""
    return any(
        strategy == ELECTED or (strategy in KNOWN_ASSIGNORS and KNOWN_ASSIGNORS[strategy].asks_topic_ids)
        for strategy in strategies
    )


def _nobody(batch: GroupBatch) -> Flags:
    return np.zeros(len(batch.members), np.bool_)


def _balance(groups: Groups, assignments: Assignments, topics: BatchTopics) -> Balance:
    by_topic = _by_topic(groups, topics)
    return balance(groups.members, topics.topics, by_topic, assignments, groups.owned, groups.generations)


def _by_topic(groups: Groups, topics: BatchTopics) -> Subscribers:
    in_map_order = map_order(groups)
    return subscribers(groups, in_map_order, in_map_order, len(topics.names), count_repeats=False)


def _elected(batch: GroupBatch, found: GroupProtocols) -> pa.Array:
    """Return the name of the protocol of each group; null for an empty group."""
    _, names = batch.preferences
    winner = found.elections.winner
    return names.take(pa.array(winner, mask=winner < 0))


def _election_rows(
    batch: GroupBatch, found: GroupProtocols, offsets_partitions: int, rejected_members: Ints32
) -> pa.StructArray:
    elections, (_, names) = found.elections, batch.preferences
    offsets, admitted = elections.candidate_offsets, elections.admitted
    candidates = names.take(pa.array(elections.candidates))
    voted = elections.votes > 0
    votes_offsets = list_offsets(voted)[offsets]
    refused = np.flatnonzero(~admitted)
    refused_before = list_offsets(~admitted)[batch.offsets]
    members = np.diff(batch.offsets - refused_before)
    leader = leaders(batch.offsets, found)
    return _with_members(
        batch,
        ELECTIONS,
        {
            "type": pa.array([CLASSIC, CONSUMER]).take(pa.array(found.of_consumers.astype(np.int32))),
            "members": pa.array(members),
            "protocol": _elected(batch, found),
            "candidates": lists(offsets, candidates),
            "votes": pa.MapArray.from_arrays(
                pa.array(votes_offsets), candidates.filter(pa.array(voted)), pa.array(elections.votes[voted])
            ),
            "tie": pa.array(elections.tie),
            "leader_id": batch.column("member_id").take(pa.array(leader, mask=leader == NONE)),
            "coordinator_partition": pa.array(
                offsets_partition(java_hashes(strings(batch.group_ids)), offsets_partitions)
            ),
            "refused": lists(
                refused_before,
                pa.StructArray.from_arrays(
                    [batch.column("member_id").take(pa.array(refused)), pa.array(refusal_errors(found), pa.string())],
                    names=["member_id", "error"],
                ),
            ),
            "rejected_members": pa.array(rejected_members),
            "error": pa.array([NOBODY_ADMITTED] * len(members), mask=members > 0),
        },
    )


def reject_rows(batch: GroupBatch, rejected: list[RejectedMember]) -> pa.StructArray:
    """Return rejected members as rows of the rejects table."""
    groups = pa.array([reject.group for reject in rejected], pa.int32())
    return rows_of(
        REJECTS.schema,
        {
            "table": pa.array([MEMBERS.name] * len(rejected)),
            "cluster": batch.clusters.take(groups),
            "group_id": batch.group_ids.take(groups),
            "row": pa.array([reject.row for reject in rejected]),
            "reason": pa.array([reject.reason for reject in rejected]),
        },
    )


def _assignment_rows(batch: GroupBatch, strategy: str, first: Rebalance, topics: BatchTopics) -> pa.StructArray:
    rows = _all_assignment_rows(batch, strategy, first.outcome.assignments, topics)
    return _answered(rows, first, pa.array(batch.group_of_member))


def _last_assignment_rows(
    batch: GroupBatch, strategy: str, end: RebalanceSummary, topics: BatchTopics
) -> pa.StructArray:
    rows = _all_assignment_rows(batch, strategy, end.assignments, topics)
    return rows if end.ended.all() else rows.filter(pa.array(end.ended[batch.group_of_member]))


def _all_assignment_rows(
    batch: GroupBatch, strategy: str, assignments: Assignments, topics: BatchTopics
) -> pa.StructArray:
    columns = _member_columns(batch, strategy, pa.array(batch.group_of_member))
    columns |= {"member_id": batch.column("member_id"), "partitions": _partition_lists(assignments, topics)}
    return rows_of(ASSIGNMENTS.schema, columns)


def _member_columns(batch: GroupBatch, strategy: str, of_members: pa.Array) -> dict[str, pa.Array]:
    """Return the columns that are the same for the members of a group; ``of_members`` are the groups of the rows."""
    return {
        "cluster": batch.clusters.take(of_members),
        "group_id": batch.group_ids.take(of_members),
        "strategy": pa.repeat(strategy, len(of_members)),
        "rejected_members": pa.array(batch.rejected_members).take(of_members),
    }


def _rebalance_rows(
    batch: GroupBatch, strategy: str, number: int, rebalance: Rebalance, topics: BatchTopics
) -> pa.StructArray:
    assert rebalance.revoked is not None
    assert rebalance.added is not None
    members = pa.array(rebalance.members)
    of_members = pa.array(batch.group_of_member).take(members)
    last = np.zeros(len(batch.group_ids), np.bool_)
    last[rebalance.groups] = rebalance.last
    rows = rows_of(
        COOPERATIVE_REBALANCES.schema,
        _member_columns(batch, strategy, of_members)
        | {
            "rebalance": pa.repeat(number, len(members)),
            "last": pa.array(last).take(of_members),
            "member_id": batch.column("member_id").take(members),
            "partitions": _partition_lists(rebalance.outcome.assignments, topics),
            "revoked": _partition_lists(rebalance.revoked, topics),
            "added": _partition_lists(rebalance.added, topics),
        },
    )
    return _answered(rows, rebalance, of_members)


def _answered(rows: pa.StructArray, rebalance: Rebalance, of_members: pa.Array) -> pa.StructArray:
    """Leave out the members of groups whose assignor fails; ``of_members`` are the groups of the rows."""
    errors = rebalance.outcome.errors
    if not errors.any():
        return rows
    failed = rebalance.groups[errors != AssignmentFailure.NONE]
    return rows.filter(pc.invert(pc.is_in(of_members, value_set=pa.array(failed))))


def _partition_lists(assignments: Assignments, topics: BatchTopics) -> pa.ListArray:
    return lists(assignments.offsets, topic_partitions(topics.names, assignments.topics, assignments.partitions))


def _balance_rows(
    batch: GroupBatch, strategy: str, figures: Balance, end: RebalanceSummary, errors: pa.Array
) -> pa.StructArray:
    of_groups = figures._asdict() | {"rebalances": end.rebalances, "revoked": end.revoked}
    columns = {name: pa.array(figure, mask=~end.ended) for name, figure in of_groups.items()}
    strategies = pa.repeat(strategy, len(errors))
    return _with_members(batch, BALANCE, columns | {"strategy": strategies, "error": errors})


def _failed(end: RebalanceSummary, failures: list[str]) -> pa.Array:
    """Return why a group has no balance; null where its rebalances end."""
    if end.ended.all():
        return pa.nulls(len(end.ended), pa.string())
    texts = [*failures, *(f"{failure}, in a later rebalance" for failure in failures), GOES_ON]
    in_later = end.rebalances > 1
    which = np.where(end.errors == AssignmentFailure.NONE, len(texts) - 1, end.errors + in_later * len(failures))
    return pa.array(texts).take(pa.array(which, mask=end.ended))


def _optimum_rows(batch: GroupBatch, index: TopicIndex) -> pa.StructArray:
    topics = find_topics(batch, index, ids=False)
    groups = as_groups(batch, topics, index)
    best = optimum(groups.members, topics.topics, _by_topic(groups, topics), groups.owned, groups.generations)
    return _with_members(batch, OPTIMUM, {name: pa.array(figure) for name, figure in best._asdict().items()})


def _failed_balance_rows(batch: GroupBatch, strategy: str, error: str) -> pa.StructArray:
    texts = {name: pa.repeat(text, len(batch.group_ids)) for name, text in (("strategy", strategy), ("error", error))}
    return _with_members(batch, BALANCE, texts)


def _group_columns(batch: GroupBatch) -> dict[str, pa.Array]:
    counts = {"members": np.diff(batch.offsets), "rejected_members": batch.rejected_members}
    names = {"cluster": batch.clusters, "group_id": batch.group_ids}
    return names | {name: pa.array(count) for name, count in counts.items()}


def _with_members(batch: GroupBatch, table: Table, figures: dict[str, pa.Array]) -> pa.StructArray:
    """Return a row for each group that has members."""
    rows, has_members = rows_of(table.schema, _group_columns(batch) | figures), np.diff(batch.offsets) > 0
    return rows if has_members.all() else rows.filter(pa.array(has_members))
