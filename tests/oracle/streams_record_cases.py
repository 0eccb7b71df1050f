"""Random records of streams groups (KIP-1071) in __consumer_offsets, with the fields of the newest release."""

import random

from tests.oracle.random_cases import JsonObject, drawn

TYPES = {
    "StreamsGroupMetadata": 17,
    "StreamsGroupMemberMetadata": 19,
    "StreamsGroupTargetAssignmentMetadata": 20,
    "StreamsGroupTargetAssignmentMember": 21,
    "StreamsGroupCurrentMemberAssignment": 22,
    "StreamsGroupTopology": 23,
}
_NAMES = ("t", "orders", "größe", "注文", "", "x" * 130)
_MOST, _MOST_16 = 2**31 - 1, 2**15 - 1
_TOMBSTONES = 0.1


@drawn("r")
def streams_record_cases(rng: random.Random, case_id: str) -> JsonObject:
    """Up to eight records, some of them tombstones, which have no value."""
    steps = [_record(rng) for _ in range(rng.randint(1, 8))]
    return {"rule": "offsets-topic", "id": case_id, "steps": steps}


def _record(rng: random.Random) -> JsonObject:
    kind = rng.choice(list(TYPES))
    key = {"groupId": rng.choice(_NAMES)}
    if "Member" in kind:
        key["memberId"] = f"{rng.getrandbits(128):x}"
    step: JsonObject = {"type": kind, "key_version": TYPES[kind], "key": key}
    if rng.random() >= _TOMBSTONES:
        step |= {"value_version": 0, "value": _VALUES[kind](rng)}
    return step


def _metadata(rng: random.Random) -> JsonObject:
    return {
        "epoch": _number(rng),
        "metadataHash": rng.randint(-(2**63), 2**63 - 1),
        "validatedTopologyEpoch": rng.choice((-1, _number(rng))),
        "lastAssignmentConfigs": rng.choice((None, _pairs(rng))),
        "storedDescriptionTopologyEpoch": rng.choice((-2, -1, _number(rng))),
        "failedDescriptionTopologyEpoch": rng.choice((-1, _number(rng))),
    }


def _member_metadata(rng: random.Random) -> JsonObject:
    return {
        "instanceId": rng.choice((None, *_NAMES)),
        "rackId": rng.choice((None, *_NAMES)),
        "clientId": rng.choice(_NAMES),
        "clientHost": rng.choice(("/127.0.0.1", "/0:0:0:0:0:0:0:1")),
        "rebalanceTimeoutMs": rng.choice((-1, 300_000)),
        "topologyEpoch": _number(rng),
        "processId": f"{rng.getrandbits(128):x}",
        "userEndpoint": rng.choice((None, {"host": rng.choice(_NAMES), "port": rng.choice((0, 9092, 65_535))})),
        "clientTags": _pairs(rng),
    }


def _target_metadata(rng: random.Random) -> JsonObject:
    return {"assignmentEpoch": _number(rng), "assignmentTimestamp": rng.choice((0, 1_672_913_436_699))}


def _target_member(rng: random.Random) -> JsonObject:
    return {name: _tasks(rng, None) for name in ("activeTasks", "standbyTasks", "warmupTasks")}


def _current_assignment(rng: random.Random) -> JsonObject:
    names = [f"{kind}Tasks{of}" for of in ("", "PendingRevocation") for kind in ("active", "standby", "warmup")]
    return {
        "memberEpoch": rng.choice((-2, -1, _number(rng))),
        "previousMemberEpoch": _number(rng),
        "state": rng.choice((0, 1, 2, 3, 127)),
    } | {name: _tasks(rng, rng.choice((None, [], [7]))) for name in names}


def _topology(rng: random.Random) -> JsonObject:
    return {"epoch": _number(rng), "subtopologies": [_subtopology(rng) for _ in range(rng.randint(0, 3))]}


def _subtopology(rng: random.Random) -> JsonObject:
    groups = [
        {name: _places(rng) for name in ("sourceTopics", "sourceTopicRegex", "repartitionSourceTopics")}
        for _ in range(rng.randint(0, 2))
    ]
    return {
        "subtopologyId": rng.choice(_NAMES),
        "sourceTopics": _some(rng),
        "sourceTopicRegex": _some(rng),
        "stateChangelogTopics": _topics(rng),
        "repartitionSinkTopics": _some(rng),
        "repartitionSourceTopics": _topics(rng),
        "copartitionGroups": groups,
    }


_VALUES = {
    "StreamsGroupMetadata": _metadata,
    "StreamsGroupMemberMetadata": _member_metadata,
    "StreamsGroupTargetAssignmentMetadata": _target_metadata,
    "StreamsGroupTargetAssignmentMember": _target_member,
    "StreamsGroupCurrentMemberAssignment": _current_assignment,
    "StreamsGroupTopology": _topology,
}


def _tasks(rng: random.Random, epochs: list[int] | None) -> list[JsonObject]:
    """Return tasks; ``epochs`` is [7] for some of each partition."""
    tasks: list[JsonObject] = []
    for _ in range(rng.randint(0, 3)):
        partitions = rng.sample(range(300), rng.choice((0, 1, 3, 200)))
        of_each = [_number(rng) for _ in partitions] if epochs else epochs
        tasks.append({"subtopologyId": rng.choice(_NAMES), "partitions": partitions, "assignmentEpochs": of_each})
    return tasks


def _topics(rng: random.Random) -> list[JsonObject]:
    return [
        {
            "name": rng.choice(_NAMES),
            "partitions": _number(rng),
            "replicationFactor": rng.choice((0, 3, _MOST_16)),
            "topicConfigs": _pairs(rng),
        }
        for _ in range(rng.randint(0, 2))
    ]


def _pairs(rng: random.Random) -> list[JsonObject]:
    return [{"key": rng.choice(_NAMES), "value": rng.choice(_NAMES)} for _ in range(rng.randint(0, 2))]


def _some(rng: random.Random) -> list[str]:
    return rng.sample(_NAMES, rng.randint(0, 2))


def _places(rng: random.Random) -> list[int]:
    return [rng.choice((0, 1, _MOST_16)) for _ in range(rng.randint(0, 3))]


def _number(rng: random.Random) -> int:
    return rng.choice((0, 1, rng.randint(0, 300), _MOST))
