"""Run elections and assignors over batches of groups, in Spark's workers."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql.types import StructField, StructType

from rebalance_sim.defaults import STRATEGY
from rebalance_sim.engine.groups.alternatives import Answer, differing_groups
from rebalance_sim.engine.groups.batch_arrays import (
    as_groups,
    elect_protocols,
    find_topics,
    groups_where,
    refusals,
    with_generations_in_user_data,
)
from rebalance_sim.engine.groups.by_brokers import by_brokers
from rebalance_sim.engine.groups.client_libraries import (
    CLIENT_COLUMNS,
    Candidates,
    possible_leaders,
    readable_for_java,
    shared_clients,
    silent_members,
)
from rebalance_sim.engine.groups.comparison_rows import COMPARED, comparison_rows
from rebalance_sim.engine.groups.custom_assignors import client_data
from rebalance_sim.engine.groups.group_batches import GroupBatch
from rebalance_sim.engine.groups.group_plan import GroupPlan
from rebalance_sim.engine.groups.prediction_rows import (
    Strategy,
    assignment_rows,
    balance_columns,
    balance_of,
    balance_rows,
    bounds_of,
    elected_protocols,
    election_rows,
    failed_balance_rows,
    failure_texts,
    last_assignment_rows,
    optimum_rows,
    rebalance_rows,
    reject_rows,
)
from rebalance_sim.engine.tables.arrow import arrow_type, as_outcome, codes, numbers
from rebalance_sim.engine.tables.topic_metadata import BatchTopics, TopicIndex, TopicMetadata
from rebalance_sim.errors import UserError
from rebalance_sim.kafka.assignors import KNOWN_ASSIGNORS
from rebalance_sim.kafka.assignors.by_library import Leader, predictable_protocols
from rebalance_sim.kafka.assignors.consumer_partition_assignor import ConsumerPartitionAssignor
from rebalance_sim.kafka.assignors.custom_batch import FailureTexts, LeaderView
from rebalance_sim.kafka.assignors.resolved import Assignors, ResolvedAssignor
from rebalance_sim.kafka.assignors.steps.join_response import as_leader_sees, response_order
from rebalance_sim.kafka.brokers import Brokers, Clusters
from rebalance_sim.kafka.clients import JAVA
from rebalance_sim.kafka.coordinator.classic.classic_group import NONE
from rebalance_sim.kafka.coordinator.group_types import GroupProtocols
from rebalance_sim.kafka.groups import AssignmentFailure, Groups
from rebalance_sim.kafka.rebalances import Rebalance, RebalanceProtocol, eager_members, rebalances, summarize_rebalances
from rebalance_sim.kafka.runtime.strings import Flags, Ints, Ints32
from rebalance_sim.releases import SHARE_ASSIGNORS, MapRule
from rebalance_sim.tables import (
    ASSIGNMENTS,
    BALANCE,
    BOUNDS,
    COMPARISON,
    COOPERATIVE_REBALANCES,
    ELECTIONS,
    LAST_ASSIGNMENTS,
    OPTIMUM,
    OUTPUTS,
    REJECTS,
    struct,
)

ELECTED = STRATEGY
"""The strategy under which every group uses the protocol that it elects."""

OF_LIBRARY = "of-library"
"""Stands for all predictable assignors of each group's client library, in groups whose members share a library other
than Java's. Each assignor is evaluated by the library's own rules."""

_OF_SHARE_GROUPS = f"a share group (KIP-932) is assigned by {SHARE_ASSIGNORS[0]}"
_ELECTION_COLUMNS = ("join_order", "member_id", "protocol_type", "protocols")
_ASSIGNMENT_COLUMNS = ("join_order", "member_id", "protocol_type", "instance_id", "rack", "subscription")
_OWNED_COLUMNS = ("owned", "generation")


@dataclass(frozen=True)
class Prediction:
    """What to predict for every group."""

    outputs: tuple[str, ...]
    """Names of the output tables to fill."""
    clusters: Clusters
    strategies: tuple[str, ...] = ()
    """Assignors, or ELECTED; beside others, ELECTED applies to the groups that elect none of those."""
    metadata: TopicMetadata | None = None
    assignors: tuple[ConsumerPartitionAssignor, ...] = ()
    """The user's own assignors: strategies may name them and groups may elect them."""

    @property
    def schema(self) -> StructType:
        """The requested table; for several, one struct column per table, of which each row sets exactly one."""
        if len(self.outputs) == 1:
            return OUTPUTS[self.outputs[0]].schema
        return StructType([StructField(name, OUTPUTS[name].schema) for name in self.outputs])

    @property
    def computed(self) -> tuple[str, ...]:
        """Names of the tables that are computed: those to fill, and those that a comparison needs."""
        return (*self.outputs, *COMPARED) if COMPARISON.name in self.outputs else self.outputs

    @property
    def elects(self) -> bool:
        """Whether elections are needed."""
        return ELECTIONS.name in self.computed or ELECTED in self.strategies

    @property
    def refuses(self) -> bool:
        """Whether members that the coordinator refuses are left out: named strategies are for all members."""
        return self.elects and (ELECTED in self.strategies or not self.strategies)

    @property
    def columns(self) -> list[str]:
        """Columns of the members table that are needed."""
        wanted = list(_ELECTION_COLUMNS) if self.elects else []
        wanted += () if {ELECTED, OF_LIBRARY}.isdisjoint(self.strategies) else CLIENT_COLUMNS
        wanted += _ASSIGNMENT_COLUMNS if self.strategies or OPTIMUM.name in self.computed else ()
        if {BALANCE.name, OPTIMUM.name} & set(self.computed) or any(
            Assignors.of(brokers, self.assignors).resolve(strategy).reads_owned
            for brokers in self.clusters.kinds
            for strategy in self.strategies
        ):
            wanted += _OWNED_COLUMNS
        if not all(brokers.rules().subscription_generation for brokers in self.clusters.kinds):
            wanted.append("user_data")
        if self.assignors and not {ELECTED, *(own.name for own in self.assignors)}.isdisjoint(self.strategies):
            wanted.append("user_data")
        return list(dict.fromkeys(wanted))

    def __call__(self, members: DataFrame) -> DataFrame:
        """Predict for all groups of a fitted members table: rows of ``schema``."""
        return self.plan(members).rows()

    def plan(self, members: DataFrame) -> GroupPlan:
        """Return the plan for the groups of a fitted members table."""
        return GroupPlan.of_members(members, self.columns, self.predict_batches, self.schema)

    def predict_batches(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Predict for batches of groups of members; return batches of ``schema``."""
        for name, rows in self.tables(batches):
            if name in self.outputs and len(rows):
                yield self._as_outcome(name, rows)

    def tables(self, batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[str, pa.StructArray]]:
        """Predict for batches of groups of members; yield rows of tables, also of some that are not asked for."""
        index = self.metadata.index() if self.metadata else None
        for brokers, groups in by_brokers(batches, self.clusters):
            yield from _OfBrokers(self, brokers, index).outcomes(GroupBatch.of(groups))

    def _as_outcome(self, name: str, rows: pa.StructArray) -> pa.RecordBatch:
        if len(self.outputs) == 1:
            return pa.RecordBatch.from_struct_array(rows)
        return as_outcome(name, rows, self.schema)


class _LeadersAssignors(NamedTuple):
    """The assignor that leaders run, and those that they may run instead."""

    protocol: str
    """The elected protocol."""
    assignor: ResolvedAssignor
    """The elected protocol as the leader's library and release implement it."""
    alternatives: tuple[ResolvedAssignor, ...]
    """The elected protocol as the other libraries implement it that the leader may use."""


class _Way(NamedTuple):
    """An assignor, and what its members send to it."""

    assignor: ResolvedAssignor
    silent: Flags
    """The members that do not send the leader the partitions they own."""


class _Leaders(NamedTuple):
    """What the leaders of groups run."""

    of_groups: Ints
    """By group, the index among ``runs``; NONE for a group that is not assigned by the protocol it elects."""
    runs: list[_LeadersAssignors]


@dataclass(frozen=True)
class _OfBrokers:
    """The prediction for the groups of all clusters whose brokers follow the same rules."""

    asked: Prediction
    brokers: Brokers
    index: TopicIndex | None

    @cached_property
    def _assignors(self) -> Assignors:
        """The assignors that protocol names stand for, unless the leader's library or release is known."""
        return Assignors.of(self.brokers, self.asked.assignors)

    def outcomes(self, groups: GroupBatch) -> Iterator[tuple[str, pa.StructArray]]:
        """Yield rows of output tables, each with the name of its table."""
        compared: dict[str, list[pa.StructArray]] = {name: [] for name in COMPARED}
        for name, rows in self._predicted(groups):
            if name in compared:
                compared[name].append(rows)
            yield name, rows
        if COMPARISON.name in self.asked.outputs:
            (optimum,), (elections,) = compared[OPTIMUM.name], compared[ELECTIONS.name]
            yield COMPARISON.name, comparison_rows(optimum, elections, compared[BALANCE.name])

    def _predicted(self, groups: GroupBatch) -> Iterator[tuple[str, pa.StructArray]]:
        asked, index, computed = self.asked, self.index, self.asked.computed
        batch, rejected = groups.without_unusable_members(asked.refuses)
        runs: _Leaders | None = None
        if asked.elects:
            voters = batch if asked.refuses else batch.voters()
            protocols = elect_protocols(voters, self.brokers.rules())
            runs = self._leaders(voters, protocols) if ELECTED in asked.strategies else None
            if asked.refuses:
                batch, refused = batch.reject(refusals(protocols))
                rejected += refused
            if ELECTIONS.name in computed:
                other_builds = self._other_builds(voters, protocols)
                partitions = self.brokers.offsets_partitions
                yield ELECTIONS.name, election_rows(voters, protocols, partitions, batch.rejected_members, other_builds)
        if rejected:
            yield REJECTS.name, reject_rows(batch, rejected)
        if OPTIMUM.name in computed:
            assert index is not None
            # The optimum is one of assignments that give each partition to one member.
            yield OPTIMUM.name, optimum_rows(groups_where(batch, ~batch.of_shares), index)
        for strategy in asked.strategies:
            if strategy == ELECTED:
                assert runs is not None
                yield from self._assign_elected(batch, runs)
            elif strategy == OF_LIBRARY:
                yield from self._assign_by_library(batch)
            else:
                yield from self._assign_all(batch, strategy)

    def _other_builds(self, voters: GroupBatch, protocols: GroupProtocols) -> pa.MapArray:
        """Return, by group, what other Scala builds of the brokers would elect; null if all elect the same."""
        differing: dict[int, list[tuple[str, str]]] = {}
        tied = protocols.elections.tie & ~protocols.of_consumers
        if self.brokers.other_builds and tied.any():
            groups, numbers_of_tied = groups_where(voters, tied), np.flatnonzero(tied)
            elected = elected_protocols(voters, protocols).take(pa.array(numbers_of_tied))
            for scala, rules in self.brokers.other_builds.items():
                elected_by_build = elected_protocols(groups, elect_protocols(groups, rules))
                for place in np.flatnonzero(numbers(pc.not_equal(elected_by_build, elected))):
                    differing.setdefault(int(numbers_of_tied[place]), []).append(
                        (scala, elected_by_build[place].as_py())
                    )
        of_builds = pa.map_(pa.string(), pa.string())
        if not differing:
            return pa.nulls(len(voters.group_ids), of_builds)
        return pa.array(map(differing.get, range(len(voters.group_ids))), of_builds)

    def _leaders(self, voters: GroupBatch, protocols: GroupProtocols) -> _Leaders:
        """Return what each leader runs; groups that elect one of the requested strategies are left out."""
        elected = elected_protocols(voters, protocols)
        named = pa.array([name for name in self.asked.strategies if name != ELECTED], pa.string())
        of_groups, names = codes(pc.if_else(pc.is_in(elected, value_set=named), None, elected))
        candidates, of_leaders = possible_leaders(voters, protocols)
        # A case is a protocol, the candidates for the leader, and whether Java can read all subscriptions.
        cases = (of_groups.astype(np.int64) * len(candidates) + of_leaders) * 2 + readable_for_java(voters)
        distinct, of_groups_in_distinct = np.unique(np.where(of_groups == NONE, NONE, cases), return_inverse=True)
        runs: dict[_LeadersAssignors, int] = {}
        numbers_of_runs = np.full(len(distinct), NONE)
        for number, case in enumerate(distinct.tolist()):
            if case != NONE:
                (protocol, leaders), readable = divmod(case // 2, len(candidates)), bool(case % 2)
                run = self._run(names[protocol].as_py(), candidates[leaders], readable)
                numbers_of_runs[number] = runs.setdefault(run, len(runs))
        return _Leaders(numbers_of_runs[of_groups_in_distinct], list(runs))

    def _run(self, protocol: str, candidates: Candidates, readable: bool) -> _LeadersAssignors:
        """Return what the leader runs if a group elects a protocol."""
        first, *alternatives = dict.fromkeys(self._of_leader(protocol, leader, readable) for leader in candidates)
        return _LeadersAssignors(protocol, first, tuple(alternatives))

    def _of_leader(self, protocol: str, leader: Leader, readable: bool) -> ResolvedAssignor:
        clients = leader.release if leader.library in ("", JAVA) else ""
        try:
            assignors = Assignors.of(self.brokers, self.asked.assignors, clients or None)
        except UserError as problem:
            return replace(self._assignors.resolve(protocol), problem=f"client_version: {problem}")
        return assignors.of_leader(protocol, leader, readable)

    def _assign_elected(self, batch: GroupBatch, leaders: _Leaders) -> Iterator[tuple[str, pa.StructArray]]:
        for number, run in enumerate(leaders.runs):
            chosen = groups_where(batch, leaders.of_groups == number)
            cooperative = self._assignors.resolve(run.protocol).protocol is RebalanceProtocol.COOPERATIVE
            silent, otherwise = [self._eager(chosen)] * 2 if cooperative else silent_members(chosen, run.protocol)
            alternatives = [_Way(assignor, silent) for assignor in run.alternatives]
            if run.assignor.error is None and (otherwise != silent).any():
                alternatives.append(_Way(run.assignor, otherwise))
            yield from self._assign_by(chosen, _Way(run.assignor, silent), alternatives)

    def _assign_all(self, batch: GroupBatch, strategy: str) -> Iterator[tuple[str, pa.StructArray]]:
        """Yield the rows of all groups under a named strategy; share groups have an assignor of their own."""
        if strategy not in SHARE_ASSIGNORS and batch.of_shares.any():
            by, shared = Strategy(strategy), groups_where(batch, batch.of_shares)
            yield BALANCE.name, failed_balance_rows(shared, by, _OF_SHARE_GROUPS, None)
            batch = groups_where(batch, ~batch.of_shares)
        if len(batch.group_ids):
            yield from self._assign_by(batch, _Way(self._assignors.resolve(strategy), _nobody(batch)))

    def _assign_by_library(self, batch: GroupBatch) -> Iterator[tuple[str, pa.StructArray]]:
        clients, of_groups = shared_clients(batch)
        for number in np.unique(of_groups[of_groups != NONE]).tolist():
            chosen, client = groups_where(batch, of_groups == number), clients[number]
            for protocol in predictable_protocols(client.library):
                assignor = self._assignors.of_leader(protocol, client, readable=True)
                if assignor.error is None:
                    yield from self._assign_by(chosen, _Way(assignor, _nobody(chosen)))

    def _assign_by(
        self, batch: GroupBatch, way: _Way, alternatives: Sequence[_Way] = ()
    ) -> Iterator[tuple[str, pa.StructArray]]:
        """Yield the rows of assigned groups; ``alternatives`` are further ways in which they may be assigned."""
        outputs, assignor = self.asked.computed, way.assignor
        if assignor.error is not None:
            names = [alternative.assignor.name for alternative in alternatives]
            by = Strategy(assignor.name, pa.array([names] * len(batch.group_ids)) if names else None)
            bounds = self._bounds(batch, way) if BALANCE.name in outputs else None
            yield BALANCE.name, failed_balance_rows(batch, by, assignor.error, bounds)
            return
        assigning = self._assigning(batch, way)
        batch, groups, topics, protocol = assigning.batch, assigning.groups, assigning.topics, assignor.protocol
        first = next(assigning.rebalances)
        by = Strategy(assignor.name, self._alternatives(assigning, first, alternatives) if alternatives else None)
        yield ASSIGNMENTS.name, assignment_rows(batch, by, first, topics)
        if not {COOPERATIVE_REBALANCES.name, LAST_ASSIGNMENTS.name, BALANCE.name} & set(outputs):
            return
        all_rebalances = [first, *assigning.rebalances]
        if COOPERATIVE_REBALANCES.name in outputs and protocol is RebalanceProtocol.COOPERATIVE:
            for number, rebalance in enumerate(all_rebalances, 1):
                yield COOPERATIVE_REBALANCES.name, rebalance_rows(batch, by, number, rebalance, topics)
        if not {LAST_ASSIGNMENTS.name, BALANCE.name} & set(outputs):
            return
        end = summarize_rebalances(protocol, groups, topics.topics.ranks, all_rebalances)
        if LAST_ASSIGNMENTS.name in outputs:
            yield LAST_ASSIGNMENTS.name, last_assignment_rows(batch, by, end, topics)
        if BALANCE.name in outputs:
            figures = balance_of(groups, end.assignments, topics, assignor.name in SHARE_ASSIGNORS)
            measured = balance_columns(batch, figures, end, topics)
            errors = failure_texts(end, assigning.failures.texts)
            bounds = self._bounds(batch, way, end.errors == AssignmentFailure.UNDETERMINED)
            yield BALANCE.name, balance_rows(batch, by, measured, errors, bounds)

    def _bounds(self, batch: GroupBatch, way: _Way, chosen: Flags | None = None) -> pa.Array:
        """Return the bounds that the assignor guarantees for the chosen groups, by default all.

        Null for other groups, and for an assignor that guarantees nothing. Members of an eager assignor send the
        partitions they own in user data, which another library may not read.
        """
        assignor, silent = way
        if chosen is None:
            chosen = np.ones(len(batch.group_ids), np.bool_)
        if assignor.guarantee is None or not chosen.any():
            return pa.nulls(len(chosen), arrow_type(struct(BOUNDS)))
        assert self.index is not None
        silent = silent | assignor.eager
        of_chosen = silent[chosen[batch.group_of_member]]
        bounds = bounds_of(groups_where(batch, chosen), self.index, assignor.guarantee, of_chosen)
        return bounds.take(pa.array(np.cumsum(chosen) - 1, mask=~chosen))

    def _assigning(self, in_join_order: GroupBatch, way: _Way) -> "_Assigning":
        """Return the rebalances of groups."""
        assert self.index is not None
        assignor, silent = way
        order = _order_in_response(in_join_order, assignor)
        batch = in_join_order if order is None else in_join_order.with_members_in(order)
        topics = find_topics(batch, self.index, asks_topic_ids((assignor.name,)))
        groups = as_leader_sees(as_groups(batch, topics, self.index), assignor.version)
        if assignor.reads_generations_in_user_data and batch.has("user_data"):
            groups = with_generations_in_user_data(groups, batch)
        view = LeaderView(
            topics.topics,
            topics.names.to_pylist,
            lambda members: client_data(batch.members.take(pa.array(members))),
            silent if order is None else silent[order],
            FailureTexts(),
        )
        to_come = rebalances(
            assignor.protocol,
            groups,
            topics.topics.ranks,
            view.eager,
            lambda joined, members: assignor.assign(joined, members, view),
        )
        return _Assigning(in_join_order, batch, order, groups, topics, view.failures, to_come)

    def _alternatives(self, assigning: "_Assigning", first: Rebalance, alternatives: Sequence[_Way]) -> pa.ListArray:
        """Return, by group, the names of assignors that assign differently; null if none does."""
        groups, answer = assigning.in_join_order, assigning.answer(first)
        differing: list[list[str]] = [[] for _ in groups.group_ids]
        for alternative in alternatives:
            differs = np.ones(len(differing), np.bool_)
            if alternative.assignor.error is None:
                tried = self._assigning(groups, alternative)
                differs = differing_groups(groups.group_of_member, answer, tried.answer(next(tried.rebalances)))
            for group in np.flatnonzero(differs):
                differing[group].append(alternative.assignor.name)
        return pa.array([names or None for names in differing], pa.list_(pa.string()))

    def _eager(self, batch: GroupBatch) -> Flags:
        """Return which members follow the eager protocol: those that offer at least one eager assignor."""
        preferences, names = batch.preferences
        cooperative = [not self._assignors.resolve(name).eager for name in names.to_pylist()]
        return eager_members(preferences, np.array(cooperative, np.bool_))[batch.offered]


class _Assigning(NamedTuple):
    """Groups that are being assigned."""

    in_join_order: GroupBatch
    """The groups with their members in join order."""
    batch: GroupBatch
    """The groups with their members in the order that the assignor depends on (``_order_in_response``)."""
    order: Ints32 | None
    """The members of ``in_join_order`` in the order of ``batch``; None if both are in join order."""
    groups: Groups
    topics: BatchTopics
    failures: FailureTexts
    rebalances: Iterator[Rebalance]

    def answer(self, first: Rebalance) -> Answer:
        """Return what the assignor returns in the first rebalance."""
        joined = np.arange(len(self.in_join_order.members), dtype=np.int32)
        order = joined if self.order is None else self.order
        return Answer(first.outcome, order, self.topics)


def _order_in_response(batch: GroupBatch, assignor: ResolvedAssignor) -> Ints32 | None:
    """Return the members in the order of the JoinGroup response; None where join order gives the same assignment.

    Java's leader puts the members into a ``HashMap`` in the order of the response, so that this order decides between
    members in the same bucket. A coordinator that keeps them in a ``HashMap`` itself lists those in join order.
    """
    version = assignor.version
    if version.coordinator_map == MapRule.JAVA or not assignor.fills_a_map:
        return None
    return response_order(batch.offsets, batch.member_ids, version.coordinator_map, version.member_list)


def asks_topic_ids(strategies: Iterable[str]) -> bool:
    """Return whether a strategy depends on the topics' Uuids; elected assignors may."""
    return any(
        strategy == ELECTED or (strategy in KNOWN_ASSIGNORS and KNOWN_ASSIGNORS[strategy].asks_topic_ids)
        for strategy in strategies
    )


def _nobody(batch: GroupBatch) -> Flags:
    return np.zeros(len(batch.members), np.bool_)
