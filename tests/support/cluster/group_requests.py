"""Requests about groups whose coordinators may not answer yet: they load, or ``__consumer_offsets`` is created."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, ConsumerGroupDescription

_ANSWER_SECONDS = 5
"""While there is no coordinator, librdkafka retries for a minute."""


def described(admin: AdminClient, group_ids: Iterable[str]) -> dict[str, ConsumerGroupDescription | None]:
    """Return the descriptions of groups; None for those that no coordinator describes yet."""
    found: dict[str, ConsumerGroupDescription | None] = {}
    for name, future in admin.describe_consumer_groups(list(group_ids), request_timeout=_ANSWER_SECONDS).items():
        try:
            found[name] = future.result()
        except KafkaException:
            found[name] = None
    return found


def commit(admin: AdminClient, group_id: str, topic: str, offsets: Mapping[int, int]) -> bool:
    """Commit offsets of a group without joining it, like a program that assigns itself partitions.

    Returns whether they are committed.
    """
    partitions = [TopicPartition(topic, number, offset) for number, offset in offsets.items()]
    request = [ConsumerGroupTopicPartitions(group_id, partitions)]
    try:
        done = admin.alter_consumer_group_offsets(request, request_timeout=_ANSWER_SECONDS)[group_id].result()
    except KafkaException:
        return False
    return not any(partition.error for partition in done.topic_partitions)
