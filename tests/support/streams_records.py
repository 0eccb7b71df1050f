"""Expected values of the records of streams groups, from the fields of the oracle's cases."""

from collections.abc import Callable
from typing import Any

from rebalance_sim.kafka.wire.streams_records import (
    CopartitionGroup,
    Endpoint,
    KeyValue,
    StreamsGroupCurrentMemberAssignment,
    StreamsGroupMemberMetadata,
    StreamsGroupMetadata,
    StreamsGroupTargetAssignmentMember,
    StreamsGroupTargetAssignmentMetadata,
    StreamsGroupTopology,
    StreamsGroupValue,
    Subtopology,
    TaskIds,
    TopicInfo,
)

JsonObject = dict[str, Any]


def expected_streams_value(step: JsonObject, release: str) -> StreamsGroupValue:
    """Return the expected value of a case's record: the fields that the release has."""
    return _VALUES[step["type"]](step["value"], not release.startswith("4.1"))


def _metadata(value: JsonObject, since_4_2: bool) -> StreamsGroupMetadata:
    validated = value["validatedTopologyEpoch"]
    if not since_4_2:
        return StreamsGroupMetadata(value["epoch"])
    configs = _pairs(value["lastAssignmentConfigs"] or [])
    return StreamsGroupMetadata(value["epoch"], None if validated == -1 else validated, configs)


def _member_metadata(value: JsonObject, since_4_2: bool) -> StreamsGroupMemberMetadata:
    endpoint = value["userEndpoint"]
    return StreamsGroupMemberMetadata(
        value["instanceId"],
        value["rackId"],
        value["clientId"],
        value["clientHost"],
        value["rebalanceTimeoutMs"],
        value["topologyEpoch"],
        value["processId"],
        endpoint and Endpoint(endpoint["host"], endpoint["port"]),
        _pairs(value["clientTags"]),
    )


def _target_metadata(value: JsonObject, since_4_2: bool) -> StreamsGroupTargetAssignmentMetadata:
    return StreamsGroupTargetAssignmentMetadata(value["assignmentEpoch"])


def _target_member(value: JsonObject, since_4_2: bool) -> StreamsGroupTargetAssignmentMember:
    names = ("activeTasks", "standbyTasks", "warmupTasks")
    return StreamsGroupTargetAssignmentMember(*(_tasks(value[name], False) for name in names))


def _current_assignment(value: JsonObject, since_4_2: bool) -> StreamsGroupCurrentMemberAssignment:
    names = [f"{kind}Tasks{of}" for of in ("", "PendingRevocation") for kind in ("active", "standby", "warmup")]
    return StreamsGroupCurrentMemberAssignment(
        value["memberEpoch"],
        value["previousMemberEpoch"],
        value["state"],
        *(_tasks(value[name], since_4_2) for name in names),
    )


def _topology(value: JsonObject, since_4_2: bool) -> StreamsGroupTopology:
    return StreamsGroupTopology(
        value["epoch"],
        tuple(
            Subtopology(
                one["subtopologyId"],
                tuple(one["sourceTopics"]),
                tuple(one["sourceTopicRegex"]),
                _topics(one["stateChangelogTopics"]),
                tuple(one["repartitionSinkTopics"]),
                _topics(one["repartitionSourceTopics"]),
                tuple(
                    CopartitionGroup(
                        tuple(group["sourceTopics"]),
                        tuple(group["sourceTopicRegex"]),
                        tuple(group["repartitionSourceTopics"]),
                    )
                    for group in one["copartitionGroups"]
                ),
            )
            for one in value["subtopologies"]
        ),
    )


_VALUES: dict[str, Callable[[JsonObject, bool], StreamsGroupValue]] = {
    "StreamsGroupMetadata": _metadata,
    "StreamsGroupMemberMetadata": _member_metadata,
    "StreamsGroupTargetAssignmentMetadata": _target_metadata,
    "StreamsGroupTargetAssignmentMember": _target_member,
    "StreamsGroupCurrentMemberAssignment": _current_assignment,
    "StreamsGroupTopology": _topology,
}


def _topics(topics: list[JsonObject]) -> tuple[TopicInfo, ...]:
    return tuple(
        TopicInfo(topic["name"], topic["partitions"], topic["replicationFactor"], _pairs(topic["topicConfigs"]))
        for topic in topics
    )


def _tasks(tasks: list[JsonObject], with_epochs: bool) -> tuple[TaskIds, ...]:
    return tuple(
        TaskIds(
            one["subtopologyId"], tuple(one["partitions"]), tuple(one["assignmentEpochs"] or ()) if with_epochs else ()
        )
        for one in tasks
    )


def _pairs(pairs: list[JsonObject]) -> tuple[KeyValue, ...]:
    return tuple(KeyValue(pair["key"], pair["value"]) for pair in pairs)
