"""The rows of predictions: elections, assignments, rebalances and balance of batches of groups."""

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rebalance_sim.engine.groups.batch_arrays import as_groups, find_topics
from rebalance_sim.engine.groups.group_batches import GroupBatch, RejectedRow
from rebalance_sim.engine.tables.arrow import lists, rows_of, strings, topic_partitions
from rebalance_sim.engine.tables.topic_metadata import BatchTopics, TopicIndex
from rebalance_sim.kafka.balance import Balance, SharedBalance, balance, shared_balance
from rebalance_sim.kafka.balance_bounds import balance_bounds
from rebalance_sim.kafka.coordinator.classic.classic_group import NONE
from rebalance_sim.kafka.coordinator.group_types import GroupProtocols, leaders, refusal_errors
from rebalance_sim.kafka.election import offsets_partition
from rebalance_sim.kafka.group_kinds import SHARE_TYPE
from rebalance_sim.kafka.groups import (
    AssignmentFailure,
    Assignments,
    Groups,
    Subscribers,
    TopicArrays,
    map_order,
    subscribers,
)
from rebalance_sim.kafka.guarantees import Guarantee
from rebalance_sim.kafka.optimum import STEPS, optimum
from rebalance_sim.kafka.rebalances import GOES_ON, Rebalance, RebalanceSummary
from rebalance_sim.kafka.runtime.lists import list_offsets
from rebalance_sim.kafka.runtime.strings import Flags, Ints32, java_hashes
from rebalance_sim.kafka.topic_balance import (
    NOBODY,
    Unconsumed,
    co_partitioned_topics,
    owners_of_whole_topics,
    unconsumed_partitions,
)
from rebalance_sim.tables import (
    ASSIGNMENTS,
    BALANCE,
    BOUNDS,
    CLASSIC,
    CONSUMER,
    COOPERATIVE_REBALANCES,
    ELECTIONS,
    MEMBERS,
    NAMED,
    OPTIMUM,
    REJECTS,
    Table,
    struct,
)

NOBODY_ADMITTED = "the coordinator refuses all members"


class Strategy(NamedTuple):
    """The assignor of groups."""

    name: str
    alternatives: pa.ListArray | None = None
    """By group, the names of others that the leader may run and that assign differently; None if there are none."""


class Measured(NamedTuple):
    """How balanced assignments are."""

    balance: Balance
    unconsumed: Unconsumed
    """The first partitions of each group without a consumer."""
    whole_topics: "WholeTopics"
    co_partitioned: Ints32
    """By group, how many topics are co-partitioned."""
    sharing: SharedBalance | None
    """Of share groups, how many members share a partition."""


class WholeTopics(NamedTuple):
    """Topics that lie on one of several subscribers, those of which it has most above its share first, by group."""

    offsets: Ints32
    topics: Ints32
    subscribers: Ints32
    members: Ints32


def balance_of(groups: Groups, assignments: Assignments, topics: BatchTopics, shared: bool) -> Measured:
    """Return how balanced assignments are, and what moves; ``shared``: whether several members have a partition."""
    by_topic, members, of_topics = _by_topic(groups, topics), groups.members, topics.topics
    figures = balance(members, of_topics, by_topic, assignments, groups.owned, groups.generations)
    sharing = shared_balance(members, of_topics, by_topic, assignments, groups.owned) if shared else None
    if sharing is not None:
        figures = figures._replace(
            kept=sharing.kept,
            moved=sharing.moved,
            topic_spread=sharing.topic_spread,
            assigned_twice=np.zeros_like(figures.assigned_twice),
        )
    named = np.minimum(figures.unconsumed, NAMED)
    return Measured(
        figures,
        unconsumed_partitions(members, of_topics, by_topic, assignments, named),
        _whole_topics(of_topics, by_topic, owners_of_whole_topics(members, of_topics, by_topic, assignments)),
        co_partitioned_topics(members, of_topics, by_topic, assignments),
        sharing,
    )


def _whole_topics(topics: TopicArrays, by_topic: Subscribers, owners: Ints32) -> WholeTopics:
    """Return the first topics of each group that have an owner."""
    entries = np.flatnonzero(owners != NOBODY)
    subscribers = (by_topic.end - by_topic.first)[entries]
    of_entries = by_topic.topics[entries]
    share = -(-topics.partitions[of_entries] // np.maximum(subscribers, 1))
    groups = np.repeat(np.arange(len(by_topic.group_topics) - 1), np.diff(by_topic.group_topics))[entries]
    order = np.lexsort((topics.ranks[of_entries], share - topics.partitions[of_entries], groups))
    places = np.arange(len(order)) - np.searchsorted(groups, groups)
    named = order[places < NAMED]
    offsets = np.searchsorted(groups[named], np.arange(len(by_topic.group_topics))).astype(np.int32)
    return WholeTopics(offsets, of_entries[named], subscribers[named], owners[entries[named]])


def _by_topic(groups: Groups, topics: BatchTopics) -> Subscribers:
    in_map_order = map_order(groups)
    return subscribers(groups, in_map_order, in_map_order, len(topics.names), count_repeats=False)


def elected_protocols(batch: GroupBatch, protocols: GroupProtocols) -> pa.Array:
    """Return the name of the protocol of each group; null for an empty group."""
    _, names = batch.preferences
    winner = protocols.elections.winner
    return names.take(pa.array(winner, mask=winner < 0))


def election_rows(
    batch: GroupBatch,
    protocols: GroupProtocols,
    offsets_partitions: int,
    rejected_members: Ints32,
    other_builds: pa.MapArray,
) -> pa.StructArray:
    """Return the rows of ``elections``."""
    elections, (_, names) = protocols.elections, batch.preferences
    offsets, admitted = elections.candidate_offsets, elections.admitted
    candidates = names.take(pa.array(elections.candidates))
    voted = elections.votes > 0
    votes_offsets = list_offsets(voted)[offsets]
    refused = np.flatnonzero(~admitted)
    refused_before = list_offsets(~admitted)[batch.offsets]
    members = np.diff(batch.offsets - refused_before)
    leader = leaders(batch.offsets, protocols)
    return _with_members(
        batch,
        ELECTIONS,
        {
            "type": pa.array([CLASSIC, CONSUMER, SHARE_TYPE]).take(
                pa.array(np.where(protocols.of_shares, 2, protocols.of_consumers).astype(np.int32))
            ),
            "members": pa.array(members),
            "protocol": elected_protocols(batch, protocols),
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
                    [
                        batch.column("member_id").take(pa.array(refused)),
                        pa.array(refusal_errors(protocols), pa.string()),
                    ],
                    names=["member_id", "error"],
                ),
            ),
            "rejected_members": pa.array(rejected_members),
            "error": pa.array([NOBODY_ADMITTED] * len(members), mask=members > 0),
            "other_builds": other_builds,
        },
    )


def reject_rows(batch: GroupBatch, rejected: list[RejectedRow], table: Table = MEMBERS) -> pa.StructArray:
    """Return rejected rows of an input table as rows of the rejects table."""
    groups = pa.array([reject.group for reject in rejected], pa.int32())
    return rows_of(
        REJECTS.schema,
        {
            "table": pa.repeat(table.name, len(rejected)),
            "cluster": batch.clusters.take(groups),
            "group_id": batch.group_ids.take(groups),
            "row": pa.array([reject.row for reject in rejected], pa.string()),
            "reason": pa.array([reject.reason for reject in rejected], pa.string()),
        },
    )


def assignment_rows(batch: GroupBatch, by: Strategy, first: Rebalance, topics: BatchTopics) -> pa.StructArray:
    """Return the rows of ``assignments``."""
    rows = _all_assignment_rows(batch, by, first.outcome.assignments, topics)
    return _answered(rows, first, pa.array(batch.group_of_member))


def last_assignment_rows(batch: GroupBatch, by: Strategy, end: RebalanceSummary, topics: BatchTopics) -> pa.StructArray:
    """Return the rows of ``last_assignments``."""
    rows = _all_assignment_rows(batch, by, end.assignments, topics)
    return rows if end.ended.all() else rows.filter(pa.array(end.ended[batch.group_of_member]))


def _all_assignment_rows(
    batch: GroupBatch, by: Strategy, assignments: Assignments, topics: BatchTopics
) -> pa.StructArray:
    of_members = pa.array(batch.group_of_member)
    columns = _member_columns(batch, by, of_members)
    columns |= {"member_id": batch.column("member_id"), "partitions": _partition_lists(assignments, topics)}
    return rows_of(ASSIGNMENTS.schema, columns)


def _member_columns(batch: GroupBatch, by: Strategy, of_members: pa.Array) -> dict[str, pa.Array]:
    """Return the columns that are the same for the members of a group; ``of_members`` are the groups of the rows."""
    alternatives = {} if by.alternatives is None else {"alternatives": by.alternatives.take(of_members)}
    return alternatives | {
        "cluster": batch.clusters.take(of_members),
        "group_id": batch.group_ids.take(of_members),
        "strategy": pa.repeat(by.name, len(of_members)),
        "rejected_members": pa.array(batch.rejected_members).take(of_members),
    }


def rebalance_rows(
    batch: GroupBatch, by: Strategy, number: int, rebalance: Rebalance, topics: BatchTopics
) -> pa.StructArray:
    """Return the rows of ``cooperative_rebalances`` for one rebalance of each group."""
    assert rebalance.revoked is not None
    assert rebalance.added is not None
    members = pa.array(rebalance.members)
    of_members = pa.array(batch.group_of_member).take(members)
    last = np.zeros(len(batch.group_ids), np.bool_)
    last[rebalance.groups] = rebalance.last
    rows = rows_of(
        COOPERATIVE_REBALANCES.schema,
        _member_columns(batch, by, of_members)
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


def balance_rows(
    batch: GroupBatch, by: Strategy, measured: dict[str, pa.Array], errors: pa.Array, bounds: pa.Array
) -> pa.StructArray:
    """Return the rows of ``balance``; ``measured`` are the columns of ``balance_columns``."""
    return _with_members(batch, BALANCE, measured | _of_strategy(batch, by) | {"error": errors, "bounds": bounds})


def balance_columns(
    batch: GroupBatch, measured: Measured, end: RebalanceSummary, topics: BatchTopics
) -> dict[str, pa.Array]:
    """Return the columns of ``balance`` that are null for groups whose rebalances do not end."""
    of_groups = measured.balance._asdict() | {"rebalances": end.rebalances, "revoked": end.revoked}
    of_groups |= {"co_partitioned_topics": measured.co_partitioned}
    if measured.sharing is not None:
        of_groups |= {name: getattr(measured.sharing, name) for name in ("min_sharing", "max_sharing")}
    return {name: pa.array(figure, mask=~end.ended) for name, figure in of_groups.items()} | {
        "first_unconsumed": _unconsumed_lists(batch, measured.unconsumed, end, topics),
        "whole_topics": _whole_topic_lists(batch, measured.whole_topics, end, topics),
    }


def _unconsumed_lists(
    batch: GroupBatch, unconsumed: Unconsumed, end: RebalanceSummary, topics: BatchTopics
) -> pa.ListArray | pa.NullArray:
    """Return the first partitions of each group without a consumer; null if there are none."""
    members = batch.column("member_id").take(pa.array(unconsumed.members, mask=unconsumed.members == NOBODY))
    names = topics.names.take(pa.array(unconsumed.topics))
    columns = {"topic": names, "partition": pa.array(unconsumed.partitions), "member_id": members}
    return _lists_or_null(unconsumed.offsets, columns, end)


def _whole_topic_lists(
    batch: GroupBatch, whole_topics: WholeTopics, end: RebalanceSummary, topics: BatchTopics
) -> pa.ListArray | pa.NullArray:
    """Return the topics of each group that lie on one of several subscribers; null if there are none."""
    columns = {
        "topic": topics.names.take(pa.array(whole_topics.topics)),
        "partitions": pa.array(topics.topics.partitions[whole_topics.topics]),
        "subscribers": pa.array(whole_topics.subscribers),
        "member_id": batch.column("member_id").take(pa.array(whole_topics.members)),
    }
    return _lists_or_null(whole_topics.offsets, columns, end)


def _lists_or_null(offsets: Ints32, columns: dict[str, pa.Array], end: RebalanceSummary) -> pa.ListArray | pa.NullArray:
    """Return lists of rows by group; null for empty ones, and for groups whose rebalances do not end."""
    has_some = (np.diff(offsets) > 0) & end.ended
    if not has_some.any():
        return pa.nulls(len(has_some))
    rows = pa.StructArray.from_arrays(list(columns.values()), names=list(columns))
    return lists(offsets, rows).take(pa.array(np.arange(len(has_some)), mask=~has_some))


def bounds_of(batch: GroupBatch, index: TopicIndex, guarantee: Guarantee, silent: Flags) -> pa.StructArray:
    """Return column ``bounds`` of groups that cannot be predicted; ``silent`` members may not send owned partitions."""
    topics = find_topics(batch, index, ids=False)
    groups = as_groups(batch, topics, index)
    by_topic = _by_topic(groups, topics)
    best = optimum(groups.members, topics.topics, by_topic, groups.owned, groups.generations, STEPS)
    bounds = balance_bounds(groups, topics.topics, by_topic, best, guarantee, silent)
    return rows_of(struct(BOUNDS), {name: pa.array(bound) for name, bound in bounds._asdict().items()})


def failure_texts(end: RebalanceSummary, failures: list[str]) -> pa.Array:
    """Return why a group has no balance; null where its rebalances end."""
    if end.ended.all():
        return pa.nulls(len(end.ended), pa.string())
    texts = [*failures, *(f"{failure}, in a later rebalance" for failure in failures), GOES_ON]
    in_later = end.rebalances > 1
    which = np.where(end.errors == AssignmentFailure.NONE, len(texts) - 1, end.errors + in_later * len(failures))
    return pa.array(texts).take(pa.array(which, mask=end.ended))


def optimum_rows(batch: GroupBatch, index: TopicIndex) -> pa.StructArray:
    """Return the rows of ``optimum``."""
    topics = find_topics(batch, index, ids=False)
    groups = as_groups(batch, topics, index)
    by_topic = _by_topic(groups, topics)
    best = optimum(groups.members, topics.topics, by_topic, groups.owned, groups.generations, STEPS)
    return _with_members(batch, OPTIMUM, {name: pa.array(figure) for name, figure in best._asdict().items()})


def failed_balance_rows(batch: GroupBatch, by: Strategy, error: str, bounds: pa.Array | None) -> pa.StructArray:
    """Return the rows of ``balance`` for groups that have no assignment."""
    columns = _of_strategy(batch, by) | {"error": pa.repeat(error, len(batch.group_ids))}
    return _with_members(batch, BALANCE, columns if bounds is None else columns | {"bounds": bounds})


def _of_strategy(batch: GroupBatch, by: Strategy) -> dict[str, pa.Array]:
    alternatives = {} if by.alternatives is None else {"alternatives": by.alternatives}
    return {"strategy": pa.repeat(by.name, len(batch.group_ids))} | alternatives


def _group_columns(batch: GroupBatch) -> dict[str, pa.Array]:
    counts = {"members": np.diff(batch.offsets), "rejected_members": batch.rejected_members}
    names = {"cluster": batch.clusters, "group_id": batch.group_ids}
    return names | {name: pa.array(count) for name, count in counts.items()}


def _with_members(batch: GroupBatch, table: Table, figures: dict[str, pa.Array]) -> pa.StructArray:
    """Return a row for each group that has members."""
    rows, has_members = rows_of(table.schema, _group_columns(batch) | figures), np.diff(batch.offsets) > 0
    return rows if has_members.all() else rows.filter(pa.array(has_members))
