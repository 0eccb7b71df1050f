"""A batch of groups as the arrays that the rules take."""

import numpy as np
import pyarrow as pa

from rebalance_sim.engine.arrow import codes, list_offsets, numbers, strings
from rebalance_sim.engine.group_batches import GroupBatch
from rebalance_sim.engine.topic_metadata import BatchTopics, TopicIndex
from rebalance_sim.kafka.election import INCONSISTENT_GROUP_PROTOCOL, Elections, elect
from rebalance_sim.kafka.groups import NO_GENERATION, Assignments, Groups
from rebalance_sim.kafka.strings import Flags, Ints, Ints32
from rebalance_sim.tables import DEFAULT_PROTOCOL_TYPE
from rebalance_sim.versions import KafkaVersion


def elect_protocols(batch: GroupBatch, version: KafkaVersion) -> Elections:
    """Elect the protocol of every group."""
    given = batch.column("protocol_type")
    types = np.zeros(len(given), np.int32)
    if given.null_count < len(given):
        types, _ = codes(given.fill_null(DEFAULT_PROTOCOL_TYPE))
    preferences, _ = batch.preferences
    return elect(batch.offsets, strings(batch.column("member_id")), types, preferences, int(version.coordinator_map))


def refusals(elections: Elections) -> dict[int, str]:
    """Say why the coordinator refuses members, by their index."""
    reason = f"{INCONSISTENT_GROUP_PROTOCOL}: other protocol type than the group, or no protocol that all members have"
    return {int(member): reason for member in np.flatnonzero(~elections.admitted)}


def groups_where(batch: GroupBatch, chosen: Flags) -> GroupBatch:
    """Take some of the groups."""
    if chosen.all():
        return batch
    kept = batch.keep(np.repeat(chosen, np.diff(batch.offsets)))
    mask = pa.array(chosen)
    sizes = np.diff(batch.offsets)[chosen]
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    return GroupBatch(batch.clusters.filter(mask), batch.group_ids.filter(mask), offsets, kept.members)


def find_topics(batch: GroupBatch, index: TopicIndex) -> BatchTopics:
    """Number the topics of all subscriptions and, where they are there, of all owned partitions."""
    named = [batch.column("subscription")]
    names = [named[0].flatten()]
    if batch.has("owned"):
        named.append(batch.column("owned"))
        names.append(named[1].flatten().field("topic"))
    group_of_member = batch.group_of_member()
    group_of_name = [np.repeat(group_of_member, np.diff(list_offsets(lists_))) for lists_ in named]
    if len(names) == 1:
        return index.find(batch.clusters, group_of_name[0], names[0])
    return index.find(batch.clusters, np.concatenate(group_of_name), pa.concat_arrays(names))


def as_groups(batch: GroupBatch, topics: BatchTopics, index: TopicIndex) -> Groups:
    """Lay out groups as their leaders see them; ``topics`` are those that ``find_topics`` found."""
    member_ids = strings(batch.column("member_id"))
    instance_ids = batch.column("instance_id")
    sort_ids = member_ids
    if instance_ids.null_count < len(instance_ids):
        sort_ids = strings(instance_ids.fill_null(batch.column("member_id")))
    subscriptions = list_offsets(batch.column("subscription"))
    return Groups(
        batch.offsets,
        member_ids,
        batch.member_hashes,
        numbers(instance_ids.is_null()).astype(np.int64),
        sort_ids,
        index.racks(batch.column("rack")),
        subscriptions,
        topics.numbers[: subscriptions[-1]],
        *_owned(batch, topics.numbers[subscriptions[-1] :]),
    )


def _owned(batch: GroupBatch, topics: Ints32) -> tuple[Assignments, Ints]:
    """Return what members own and the generation of that; ``topics`` are the numbers of the owned topics."""
    if not batch.has("owned"):
        n_members = len(batch.members)
        nothing = np.empty(0, np.int32)
        return Assignments(np.zeros(n_members + 1, np.int32), nothing, nothing), np.full(n_members, NO_GENERATION)
    owned = batch.column("owned")
    partitions = numbers(owned.flatten().field("partition")).astype(np.int32)
    generations = numbers(batch.column("generation").fill_null(NO_GENERATION)).astype(np.int64)
    return Assignments(list_offsets(owned), topics, partitions), generations
