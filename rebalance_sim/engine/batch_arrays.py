"""A batch of groups as the arrays that the rules take."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rebalance_sim.engine.arrow import codes, list_offsets, numbers, strings
from rebalance_sim.engine.group_batches import GroupBatch
from rebalance_sim.engine.topic_metadata import BatchTopics, TopicIndex
from rebalance_sim.kafka.coordinator.classic_group import NONE
from rebalance_sim.kafka.coordinator.consumer_group import SERVER_ASSIGNORS
from rebalance_sim.kafka.election import INCONSISTENT_GROUP_PROTOCOL
from rebalance_sim.kafka.group_types import UNSUPPORTED_VERSION, GroupProtocols, group_protocols
from rebalance_sim.kafka.groups import NO_GENERATION, Assignments, Groups
from rebalance_sim.kafka.strings import Flags, Ints, Ints32
from rebalance_sim.tables import DEFAULT_PROTOCOL_TYPE
from rebalance_sim.versions import SERVER_SIDE, KafkaVersion

_SERVER_ASSIGNORS = pa.array(SERVER_ASSIGNORS, pa.string())
_REASONS = {
    INCONSISTENT_GROUP_PROTOCOL: "other protocol type than the group, or no protocol that all members have",
    UNSUPPORTED_VERSION: "the coordinator does not know group.protocol=consumer, which Kafka 4.0 brought (KIP-848)",
}


def elect_protocols(batch: GroupBatch, version: KafkaVersion) -> GroupProtocols:
    """Tell what every group goes by: the protocol that it elects, or the assignor that its coordinator runs."""
    given = batch.column("protocol_type")
    types, consumer_type = np.zeros(len(given), np.int32), 0
    if given.null_count < len(given):
        types, names_of_types = codes(given.fill_null(DEFAULT_PROTOCOL_TYPE))
        consumer_type = pc.index(names_of_types, DEFAULT_PROTOCOL_TYPE).as_py()
    preferences, names = batch.preferences
    return group_protocols(
        batch.offsets,
        strings(batch.column("member_id")),
        types,
        consumer_type,
        preferences,
        numbers(pc.index_in(names, _SERVER_ASSIGNORS).fill_null(NONE)).astype(np.int32),
        set(SERVER_SIDE) <= set(version.assignors),
        int(version.coordinator_map),
    )


def refusals(protocols: GroupProtocols) -> dict[int, str]:
    """Say why the coordinator refuses members, by their index."""
    refused = np.flatnonzero(~protocols.elections.admitted).tolist()
    return {member: f"{answer}: {_REASONS[answer]}" for member, answer in zip(refused, answers(protocols), strict=True)}


def answers(protocols: GroupProtocols) -> list[str]:
    """Return what the coordinator answers to the members that it refuses."""
    classic = protocols.classic[~protocols.elections.admitted].tolist()
    return [INCONSISTENT_GROUP_PROTOCOL if each else UNSUPPORTED_VERSION for each in classic]


def of_both_protocols(batch: GroupBatch, found: GroupProtocols) -> Flags:
    """Tell which groups have members of the classic protocol and of that of KIP-848."""
    with_classic = np.bincount(batch.group_of_member()[found.classic], minlength=len(batch.group_ids)) > 0
    return found.of_consumers & with_classic


def groups_where(batch: GroupBatch, chosen: Flags) -> GroupBatch:
    """Take some of the groups."""
    if chosen.all():
        return batch
    kept = batch.keep(np.repeat(chosen, np.diff(batch.offsets)))
    mask = pa.array(chosen)
    sizes = np.diff(batch.offsets)[chosen]
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    return GroupBatch(batch.clusters.filter(mask), batch.group_ids.filter(mask), offsets, kept.members)


def find_topics(batch: GroupBatch, index: TopicIndex, ids: bool) -> BatchTopics:
    """Number the topics of all subscriptions and, where they are there, of all owned partitions.

    ``ids``: whether their Uuids are asked for.
    """
    named = [batch.column("subscription")]
    names = [named[0].flatten()]
    if batch.has("owned"):
        named.append(batch.column("owned"))
        names.append(named[1].flatten().field("topic"))
    group_of_member = batch.group_of_member()
    group_of_name = [np.repeat(group_of_member, np.diff(list_offsets(lists_))) for lists_ in named]
    if len(names) == 1:
        return index.find(batch.clusters, group_of_name[0], names[0], ids)
    return index.find(batch.clusters, np.concatenate(group_of_name), pa.concat_arrays(names), ids)


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
