"""A batch of groups as the arrays that Kafka's rules take."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rebalance_sim.engine.groups.group_batches import GroupBatch
from rebalance_sim.engine.groups.name_lists import number_names
from rebalance_sim.engine.tables.arrow import codes, list_offsets, numbers, strings
from rebalance_sim.engine.tables.topic_metadata import BatchTopics, TopicIndex
from rebalance_sim.kafka.coordinator.classic.classic_group import NONE
from rebalance_sim.kafka.coordinator.group_types import (
    UNSUPPORTED_VERSION,
    ConsumerProtocol,
    GroupProtocols,
    group_protocols,
    refusal_errors,
)
from rebalance_sim.kafka.election import INCONSISTENT_GROUP_PROTOCOL
from rebalance_sim.kafka.group_kinds import SHARE_TYPE
from rebalance_sim.kafka.groups import NO_GENERATION, Assignments, Groups, Subscriptions
from rebalance_sim.kafka.runtime.strings import Flags, Ints, Ints32
from rebalance_sim.kafka.wire.readable import INT32
from rebalance_sim.releases import SERVER_ASSIGNORS, KafkaVersion
from rebalance_sim.tables import DEFAULT_PROTOCOL_TYPE

_SERVER_ASSIGNORS = pa.array(SERVER_ASSIGNORS, pa.string())
_REASONS = {
    INCONSISTENT_GROUP_PROTOCOL: "protocol type differs from the group's, or no protocol is common to all members",
    UNSUPPORTED_VERSION: "the coordinator does not support group.protocol=consumer (KIP-848), new in Kafka 3.7",
}


def elect_protocols(batch: GroupBatch, version: KafkaVersion) -> GroupProtocols:
    """Return the protocol that each group elects, or the assignor that its coordinator runs."""
    given = batch.column("protocol_type")
    # Null stands for "consumer", the type of nearly every group, which need not be shuffled as text.
    types, consumer_type, share_type = np.zeros(len(given), np.int32), 0, NONE
    if given.null_count < len(given):
        types, names_of_types = codes(given.fill_null(DEFAULT_PROTOCOL_TYPE))
        consumer_type, share_type = (pc.index(names_of_types, of).as_py() for of in (DEFAULT_PROTOCOL_TYPE, SHARE_TYPE))
    preferences, names = batch.preferences
    return group_protocols(
        batch.offsets,
        batch.member_ids,
        types,
        batch.offered,
        preferences,
        ConsumerProtocol(
            consumer_type,
            numbers(pc.index_in(names, _SERVER_ASSIGNORS).fill_null(NONE)).astype(np.int32),
            set(SERVER_ASSIGNORS) <= set(version.assignors),
            share_type,
        ),
        int(version.coordinator_map),
    )


def refusals(protocols: GroupProtocols) -> dict[int, str]:
    """Return the reasons why the coordinator refuses members, by their index."""
    refused = np.flatnonzero(~protocols.elections.admitted).tolist()
    errors = refusal_errors(protocols)
    return {member: f"{error}: {_REASONS[error]}" for member, error in zip(refused, errors, strict=True)}


def groups_where(batch: GroupBatch, chosen: Flags) -> GroupBatch:
    """Keep some of the groups."""
    if chosen.all():
        return batch
    kept = batch.keep(np.repeat(chosen, np.diff(batch.offsets)))
    mask = pa.array(chosen)
    sizes = np.diff(batch.offsets)[chosen]
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    names = batch.clusters.filter(mask), batch.group_ids.filter(mask)
    return GroupBatch(*names, offsets, kept.members, batch.rejected_members[chosen])


def find_topics(batch: GroupBatch, index: TopicIndex, ids: bool) -> BatchTopics:
    """Number the topics of all subscriptions and, if the members have any, of all owned partitions.

    ``ids``: whether their Uuids are needed.
    """
    group_of_member = batch.group_of_member
    of_members, lists = batch.lists("subscription")
    group_of_list = np.zeros(len(lists), np.int32)
    group_of_list[of_members] = group_of_member
    names, group_of_name = lists.flatten(), np.repeat(group_of_list, np.diff(list_offsets(lists)))
    if not batch.has("owned"):
        return index.find(batch.clusters, group_of_name, names, ids)
    # Members own partitions of few topics: each name is looked up once.
    owned = batch.column("owned")
    owned_names, offsets = owned.flatten().field("topic"), list_offsets(owned)
    places, firsts = number_names(owned_names, np.repeat(batch.cluster_of_member, np.diff(offsets)))
    group_of_first = group_of_member[np.searchsorted(offsets, firsts, side="right") - 1]
    all_names = pa.concat_arrays([names, owned_names.take(pa.array(firsts))])
    found = index.find(batch.clusters, np.concatenate([group_of_name, group_of_first]), all_names, ids)
    numbers_of_names = [found.numbers[: len(names)], found.numbers[len(names) :][places]]
    return replace(found, numbers=np.concatenate(numbers_of_names))


def as_groups(batch: GroupBatch, topics: BatchTopics, index: TopicIndex) -> Groups:
    """Return the groups as their leaders see them; ``topics`` are those of ``find_topics``."""
    instance_ids = batch.column("instance_id")
    # AbstractPartitionAssignor.MemberInfo.compareTo: static members by group.instance.id, the others by member id.
    sort_ids = batch.member_ids
    if instance_ids.null_count < len(instance_ids):
        sort_ids = strings(instance_ids.fill_null(batch.column("member_id")))
    of_members, lists = batch.lists("subscription")
    offsets = list_offsets(lists)
    return Groups(
        batch.offsets,
        batch.member_ids,
        numbers(instance_ids.is_null()).astype(np.int64),
        sort_ids,
        index.racks(batch.column("rack")),
        Subscriptions(of_members, offsets, topics.numbers[: offsets[-1]]),
        *_owned(batch, topics.numbers[offsets[-1] :]),
    )


def with_generations_in_user_data(groups: Groups, batch: GroupBatch) -> Groups:
    """Return groups with the generations with which the user data of their members begins.

    That of another library's assignor begins with something else, such as a number of topics, which Kafka's
    ``CooperativeStickyAssignor`` then takes for the generation.
    """
    first = pc.binary_slice(batch.column("user_data").cast(pa.binary()), 0, INT32.size)
    read = numbers(pc.fill_null(pc.equal(pc.binary_length(first), INT32.size), False))
    generations = groups.generations.copy()
    generations[read] = np.frombuffer(b"".join(first.filter(pa.array(read)).to_pylist()), ">i4")
    return groups._replace(generations=generations)


def _owned(batch: GroupBatch, topics: Ints32) -> tuple[Assignments, Ints]:
    """Return the owned partitions and their generations; ``topics`` are the numbers of the owned topics."""
    if not batch.has("owned"):
        n_members = len(batch.members)
        nothing = np.empty(0, np.int32)
        return Assignments(np.zeros(n_members + 1, np.int32), nothing, nothing), np.full(n_members, NO_GENERATION)
    owned = batch.column("owned")
    partitions = numbers(owned.flatten().field("partition")).astype(np.int32)
    generations = numbers(batch.column("generation").fill_null(NO_GENERATION)).astype(np.int64)
    return Assignments(list_offsets(owned), topics, partitions), generations
