"""Expected keys and values of __consumer_offsets, from the fields of the oracle's cases."""

import base64
from collections.abc import Callable
from typing import Any

from rebalance_sim.kafka.wire.offsets_topic import (
    ClassicMemberMetadata,
    ClassicProtocol,
    ConsumerGroupCurrentMemberAssignment,
    ConsumerGroupMemberMetadata,
    ConsumerGroupMetadata,
    ConsumerGroupPartitionMetadata,
    ConsumerGroupRegularExpression,
    ConsumerGroupTargetAssignmentMember,
    ConsumerGroupTargetAssignmentMetadata,
    GroupMember,
    GroupMetadata,
    Key,
    OffsetCommit,
    RecordType,
    TopicIdPartitions,
    TopicMetadata,
    Value,
)

JsonObject = dict[str, Any]
ZERO_UUID = "A" * 22


def expected_key(step: JsonObject) -> Key:
    """Return the expected key of a case's record."""
    key = step["key"]
    return Key(
        RecordType(step["key_version"]),
        key.get("group", key.get("groupId")),
        key.get("topic"),
        key.get("partition"),
        key.get("memberId"),
        key.get("regularExpression"),
    )


def expected_value(step: JsonObject, kafka: str) -> Value:
    """Return the expected value of a case's record: the fields that its version and the release have."""
    return _VALUES[step["type"]](step["value"], step["value_version"], kafka)


def in_any_order(value: Value) -> Value:
    """Return a value without the order of members, which is that of a hash map in Scala coordinators."""
    if isinstance(value, GroupMetadata):
        return value._replace(members=tuple(sorted(value.members, key=lambda member: member.member_id)))
    return value


def _offset_commit(value: JsonObject, version: int, kafka: str) -> OffsetCommit:
    topic_id = value["topicId"] if version >= 4 and kafka == "4.3" else ZERO_UUID
    return OffsetCommit(
        value["offset"],
        value["metadata"],
        value["commitTimestamp"],
        value["expireTimestamp"] if version == 1 and value["expireTimestamp"] != -1 else None,
        value["leaderEpoch"] if version >= 3 and value["leaderEpoch"] != -1 else None,
        None if topic_id == ZERO_UUID else topic_id,
    )


def _group(value: JsonObject, version: int, kafka: str) -> GroupMetadata:
    members = tuple(
        GroupMember(
            member["memberId"],
            member["groupInstanceId"] if version >= 3 else None,
            member["clientId"],
            member["clientHost"],
            member["rebalanceTimeout"]
            if version >= 1 and member["rebalanceTimeout"] != -1
            else member["sessionTimeout"],
            member["sessionTimeout"],
            base64.b64decode(member["subscription"]),
            base64.b64decode(member["assignment"]),
        )
        for member in value["members"]
    )
    timestamp_ms = value["currentStateTimestamp"] if version >= 2 and value["currentStateTimestamp"] != -1 else None
    names = (value["protocolType"], value["generation"], value["protocol"], value["leader"])
    return GroupMetadata(*names, members, timestamp_ms)


def _partition_metadata(value: JsonObject, version: int, kafka: str) -> ConsumerGroupPartitionMetadata:
    topics = value["topics"]
    return ConsumerGroupPartitionMetadata(
        tuple(TopicMetadata(topic["topicId"], topic["topicName"], topic["numPartitions"]) for topic in topics)
    )


def _member_metadata(value: JsonObject, version: int, kafka: str) -> ConsumerGroupMemberMetadata:
    classic = value["classicMemberMetadata"]
    classic_metadata = classic and ClassicMemberMetadata(
        classic["sessionTimeoutMs"],
        tuple(
            ClassicProtocol(protocol["name"], base64.b64decode(protocol["metadata"]))
            for protocol in classic["supportedProtocols"]
        ),
    )
    return ConsumerGroupMemberMetadata(
        value["instanceId"],
        value["rackId"],
        value["clientId"],
        value["clientHost"],
        tuple(value["subscribedTopicNames"]),
        value["subscribedTopicRegex"] or None,
        value["rebalanceTimeoutMs"],
        value["serverAssignor"],
        classic_metadata,
    )


def _current(value: JsonObject, version: int, kafka: str) -> ConsumerGroupCurrentMemberAssignment:
    return ConsumerGroupCurrentMemberAssignment(
        value["memberEpoch"],
        value["previousMemberEpoch"],
        value["state"],
        _partitions(value["assignedPartitions"]),
        _partitions(value["partitionsPendingRevocation"]),
    )


def _partitions(topics: list[JsonObject]) -> tuple[TopicIdPartitions, ...]:
    return tuple(TopicIdPartitions(topic["topicId"], tuple(topic["partitions"])) for topic in topics)


_VALUES: dict[str, Callable[[JsonObject, int, str], Value]] = {
    "OffsetCommit": _offset_commit,
    "GroupMetadata": _group,
    "ConsumerGroupMetadata": lambda value, *_: ConsumerGroupMetadata(value["epoch"]),
    "ConsumerGroupPartitionMetadata": _partition_metadata,
    "ConsumerGroupMemberMetadata": _member_metadata,
    "ConsumerGroupTargetAssignmentMetadata": lambda value, *_: ConsumerGroupTargetAssignmentMetadata(
        value["assignmentEpoch"]
    ),
    "ConsumerGroupTargetAssignmentMember": lambda value, *_: ConsumerGroupTargetAssignmentMember(
        _partitions(value["topicPartitions"])
    ),
    "ConsumerGroupCurrentMemberAssignment": _current,
    "ConsumerGroupRegularExpression": lambda value, *_: ConsumerGroupRegularExpression(
        tuple(value["topics"]), value["version"]
    ),
}
