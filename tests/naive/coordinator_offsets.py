"""Offsets of a group and how long they are kept."""

from collections.abc import Mapping
from dataclasses import dataclass

from tests.naive.coordinator_group import EMPTY, STABLE, CoordinatedGroup
from tests.naive.coordinator_messages import CommitResponse, FetchResponse
from tests.naive.coordinator_rules import Rules
from tests.naive.model import Partition


@dataclass(frozen=True)
class Offset:
    """A committed offset; no client of today says how long it is to be kept."""

    offset: int
    committed_ms: int


def fetched(partitions: list[Partition], offsets: Mapping[Partition, Offset]) -> FetchResponse:
    """-1 for a partition without an offset."""
    return FetchResponse(
        "NONE", {partition: offsets[partition].offset if partition in offsets else -1 for partition in partitions}
    )


def commit_response(partitions: Mapping[Partition, int], error: str) -> CommitResponse:
    return dict.fromkeys(partitions, error)


def expired_offsets(
    rules: Rules, group: CoordinatedGroup, offsets: Mapping[Partition, Offset], now_ms: int
) -> set[Partition]:
    """Since 2.1 (KIP-211) offsets are kept as long as the group is in use."""
    if rules.expires_in_use:
        return {partition for partition, offset in offsets.items() if offset.committed_ms + rules.retention_ms < now_ms}
    topics = group.subscribed_topics if group.state == STABLE else set()
    since = {partition: offset.committed_ms for partition, offset in offsets.items()}
    if group.protocol_type is not None and group.state == EMPTY:
        if group.state_since_ms is not None:
            since = dict.fromkeys(offsets, group.state_since_ms)
    elif group.protocol_type is not None:
        if group.state != STABLE or topics is None or group.protocol_type != "consumer":
            return set()
        since = {partition: since_ms for partition, since_ms in since.items() if partition.topic not in topics}
    return {partition for partition, since_ms in since.items() if now_ms - since_ms >= rules.retention_ms}
