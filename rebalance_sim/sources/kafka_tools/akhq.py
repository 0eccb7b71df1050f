"""Reads consumer groups as AKHQ's API has them: ``/api/CLUSTER/group/GROUP`` (its class ``ConsumerGroup``)."""

from collections.abc import Iterator
from functools import partial

from rebalance_sim.sources.kafka_tools.contents import (
    Content,
    HeaderLine,
    MemberLine,
    OffsetLine,
    StateLine,
    ToolOutput,
)
from rebalance_sim.sources.kafka_tools.json_fields import Fields, Item, items
from rebalance_sim.sources.kafka_tools.unseen_groups import rejected_if_unseen


def read_group(document: Fields) -> Iterator[Item]:
    """Return the state, members and offsets of a group. Raises MalformedError."""
    group_id, members = document.name("id"), document.objects("members")
    # The name of the constant: PREPARING_REBALANCE for PreparingRebalance.
    state = "".join(word.capitalize() for word in document.text("state").split("_"))
    for kind in (ToolOutput.MEMBERS, ToolOutput.OFFSETS):
        yield Item(document.value, HeaderLine(kind))
    rejected = rejected_if_unseen(group_id, state)
    if rejected:
        yield Item(document.value, rejected)
        return
    strategy = document.text("partitionAssignor") or None
    yield Item(document.value, StateLine(group_id, strategy, state, len(members), None))
    yield from items(members, ToolOutput.MEMBERS, group_id, partial(_member, group_id))
    yield from items(document.objects("offsets"), ToolOutput.OFFSETS, group_id, partial(_offset, group_id))


def _member(group_id: str, member: Fields) -> Content:
    owned = tuple(sorted({each.topic_partition() for each in member.objects("assignments")}))
    return MemberLine(
        group_id,
        member.name("id"),
        None,
        member.text("clientId"),
        member.text("host").removeprefix("/"),
        len(owned),
        owned,
        instance_id_known=False,
    )


def _offset(group_id: str, partition: Fields) -> Content:
    topic_partition = partition.topic_partition()
    return OffsetLine(group_id, topic_partition, partition.offset("offset"), partition.offset("lastOffset"), None)
