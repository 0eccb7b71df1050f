"""Generate random records of __consumer_offsets, of the types and versions that a release can write.

Fields have the names of Kafka's message definitions. Names contain characters that the console consumer's formatters do
not escape.
"""

import base64
import random
from collections.abc import Callable, Iterator

from rebalance_sim.kafka.wire.consumer_protocol import (
    Assignment,
    Subscription,
    TopicPartition,
    encode_assignment,
    encode_subscription,
)
from tests.oracle.random_cases import JsonObject

OFFSET_VERSIONS = {"1.0": (1,), "2.3": (1, 2, 3), "3.9": (0, 1, 2, 3, 4), "4.3": (0, 1, 2, 3, 4)}
GROUP_VERSIONS = {"1.0": (0, 1), "2.3": (0, 1, 2, 3), "3.9": (0, 1, 2, 3, 4), "4.3": (0, 1, 2, 3, 4)}
CONSUMER_GROUP_TYPES = {
    "ConsumerGroupMetadata": 3,
    "ConsumerGroupPartitionMetadata": 4,
    "ConsumerGroupMemberMetadata": 5,
    "ConsumerGroupTargetAssignmentMetadata": 6,
    "ConsumerGroupTargetAssignmentMember": 7,
    "ConsumerGroupCurrentMemberAssignment": 8,
}
REGULAR_EXPRESSION = "ConsumerGroupRegularExpression"
OTHER_TYPES = {"ShareGroupMetadata": 11, "StreamsGroupMetadata": 17}

_GROUPS = ("g", "größe", "a,b", "[x]::[y", "g::h", "注文", "\U0001f600", "a=b, c", "NULL", "x" * 130)
_TOPICS = ("t", "orders", "a.b-c_", "t" * 130)
_CLIENTS = ("c", "", "consumer-1", "a, b=c)", "größe", "x), memberId=y")
_HOSTS = ("/127.0.0.1", "/10.0.0.12", "/0:0:0:0:0:0:0:1")
_LONGEST, _MOST = 2**63 - 1, 2**31 - 1
_TOMBSTONES = 0.1


def offsets_topic_cases(version: str, seed: int, count: int) -> Iterator[JsonObject]:
    """Return cases of up to eight records each, some of them tombstones, which have no value."""
    rng = random.Random(f"{version} {seed}")
    types: list[Callable[[random.Random, str], JsonObject]] = [_offset, _group]
    if version in ("3.9", "4.3"):
        types += [_of_consumer_group, _of_consumer_group]
    if version == "4.3":
        types.append(_of_other_group)
    for i in range(count):
        steps = [rng.choice(types)(rng, version) for _ in range(rng.randint(1, 8))]
        for step in steps:
            if rng.random() < _TOMBSTONES:
                step.pop("value", None)
        yield {"rule": "offsets-topic", "id": f"o{seed}-{i}", "steps": steps}


def _offset(rng: random.Random, version: str) -> JsonObject:
    value_version = rng.choice(OFFSET_VERSIONS[version])
    # 1.0 and 2.3 always write their newest key; 4.3 writes old values with old keys only.
    old_key = value_version == 0 if version == "4.3" else version == "3.9" and rng.random() < 0.2
    return {
        "type": "OffsetCommit",
        "key_version": 0 if old_key else 1,
        "key": {"group": rng.choice(_GROUPS), "topic": rng.choice(_TOPICS), "partition": _number(rng)},
        "value_version": value_version,
        "value": {
            "offset": rng.choice((0, rng.randint(0, 10**6), _LONGEST)),
            "leaderEpoch": rng.choice((-1, 0, rng.randint(0, 50))),
            "metadata": rng.choice(("", "NO_METADATA", "a,b]", "größe, commitTimestamp=3", "x" * 130)),
            "commitTimestamp": rng.choice((0, 1_479_708_539_051, rng.randint(0, 10**13))),
            # 2.3 writes version 1 if the offset has an expiry time.
            "expireTimestamp": rng.choice((-1, 1_480_313_339_051)) if value_version == 1 else -1,
            "topicId": rng.choice((_uuid(rng), "AAAAAAAAAAAAAAAAAAAAAA")),
        },
    }


def _group(rng: random.Random, version: str) -> JsonObject:
    members = [_member(rng, i) for i in range(rng.choice((0, 1, 1, 2, 3, 6)))]
    protocol_type = rng.choice(("consumer", "consumer", "consumer", "connect"))
    return {
        "type": "GroupMetadata",
        "key_version": 2,
        "key": {"group": rng.choice(_GROUPS)},
        "value_version": rng.choice(GROUP_VERSIONS[version]),
        "value": {
            "protocolType": protocol_type if members else rng.choice(("", protocol_type)),
            "generation": _number(rng),
            "protocol": rng.choice(("range", "sticky", "größe")) if members else None,
            "leader": rng.choice(members)["memberId"] if members else None,
            "currentStateTimestamp": rng.choice((-1, 0, 1_672_913_436_699)),
            "members": members,
        },
    }


def _member(rng: random.Random, number: int) -> JsonObject:
    client_id = rng.choice(_CLIENTS)
    return {
        "memberId": f"{client_id}-{number}-{rng.randint(0, 999)}",
        "groupInstanceId": rng.choice((None, "", f"i{number}")),
        "clientId": client_id,
        "clientHost": rng.choice(_HOSTS),
        "rebalanceTimeout": rng.choice((-1, 300_000, _MOST)),
        "sessionTimeout": rng.choice((0, 10_000, 45_000)),
        "subscription": _base64(_subscription(rng)),
        "assignment": _base64(_assignment(rng)),
    }


def _of_consumer_group(rng: random.Random, version: str) -> JsonObject:
    types = list(CONSUMER_GROUP_TYPES) if version == "3.9" else [*CONSUMER_GROUP_TYPES, REGULAR_EXPRESSION]
    kind = rng.choice(types)
    key = {"groupId": rng.choice(_GROUPS)}
    if kind == REGULAR_EXPRESSION:
        key["regularExpression"] = rng.choice((".*", "größe-.+"))
    elif "Member" in kind:
        key["memberId"] = _uuid(rng)
    return {
        "type": kind,
        "key_version": CONSUMER_GROUP_TYPES.get(kind, 16),
        "key": key,
        "value_version": 0,
        "value": _VALUES[kind](rng),
    }


def _of_other_group(rng: random.Random, version: str) -> JsonObject:
    kind, number = rng.choice(list(OTHER_TYPES.items()))
    key = {"groupId": rng.choice(_GROUPS)}
    return {"type": kind, "key_version": number, "key": key}


def _metadata(rng: random.Random) -> JsonObject:
    return {"epoch": _number(rng), "metadataHash": rng.choice((0, rng.randint(-(2**63), _LONGEST)))}


def _partition_metadata(rng: random.Random) -> JsonObject:
    return {
        "topics": [
            {
                "topicId": _uuid(rng),
                "topicName": rng.choice(_TOPICS),
                "numPartitions": rng.randint(0, 20),
                "partitionMetadata": [
                    {"partition": partition, "racks": rng.choice(([], ["r1"], ["r1", "größe"]))}
                    for partition in range(rng.choice((0, 0, 2)))
                ],
            }
            for _ in range(rng.randint(0, 3))
        ]
    }


def _member_metadata(rng: random.Random) -> JsonObject:
    protocols = [
        {"name": rng.choice(("range", "cooperative-sticky")), "metadata": _base64(_subscription(rng))}
        for _ in range(rng.randint(0, 2))
    ]
    classic = {"sessionTimeoutMs": rng.choice((0, 45_000)), "supportedProtocols": protocols}
    return {
        "instanceId": rng.choice((None, "", "i1")),
        "rackId": rng.choice((None, "", "r1", "注文")),
        "clientId": rng.choice(_CLIENTS),
        "clientHost": rng.choice(_HOSTS),
        "subscribedTopicNames": rng.sample(_TOPICS, rng.randint(0, len(_TOPICS))),
        "subscribedTopicRegex": rng.choice((None, "", "orders.*")),
        "rebalanceTimeoutMs": rng.choice((-1, 300_000)),
        "serverAssignor": rng.choice((None, "uniform", "range")),
        "classicMemberMetadata": rng.choice((None, classic)),
    }


def _target_metadata(rng: random.Random) -> JsonObject:
    return {"assignmentEpoch": _number(rng), "assignmentTimestamp": rng.choice((0, 1_672_913_436_699))}


def _target_member(rng: random.Random) -> JsonObject:
    return {"topicPartitions": _topic_partitions(rng)}


def _current_assignment(rng: random.Random) -> JsonObject:
    assigned = _topic_partitions(rng)
    for topic in assigned:
        topic["assignmentEpochs"] = rng.choice((None, [_number(rng) for _ in topic["partitions"]]))
    return {
        "memberEpoch": rng.choice((-2, -1, _number(rng))),
        "previousMemberEpoch": _number(rng),
        "state": rng.choice((0, 1, 2, 3)),
        "assignedPartitions": assigned,
        "partitionsPendingRevocation": _topic_partitions(rng),
    }


def _regular_expression(rng: random.Random) -> JsonObject:
    return {
        "topics": rng.sample(_TOPICS, rng.randint(0, 2)),
        "version": rng.randint(0, _LONGEST),
        "timestamp": rng.randint(0, 10**13),
    }


_VALUES = {
    "ConsumerGroupMetadata": _metadata,
    "ConsumerGroupPartitionMetadata": _partition_metadata,
    "ConsumerGroupMemberMetadata": _member_metadata,
    "ConsumerGroupTargetAssignmentMetadata": _target_metadata,
    "ConsumerGroupTargetAssignmentMember": _target_member,
    "ConsumerGroupCurrentMemberAssignment": _current_assignment,
    REGULAR_EXPRESSION: _regular_expression,
}


def _topic_partitions(rng: random.Random) -> list[JsonObject]:
    return [
        {"topicId": _uuid(rng), "partitions": rng.sample(range(300), rng.choice((0, 1, 3, 200)))}
        for _ in range(rng.randint(0, 3))
    ]


def _subscription(rng: random.Random) -> bytes:
    topics = tuple(rng.sample(_TOPICS, rng.randint(0, len(_TOPICS))))
    owned = tuple(TopicPartition(topic, partition) for topic in topics for partition in range(rng.randint(0, 2)))
    subscription = Subscription(
        topics, rng.choice((None, b"user data")), owned, rng.choice((None, 4)), rng.choice((None, "r"))
    )
    return encode_subscription(subscription, rng.randint(0, 3))


def _assignment(rng: random.Random) -> bytes:
    topics = rng.sample(_TOPICS, rng.randint(0, len(_TOPICS)))
    owned = tuple(TopicPartition(topic, partition) for topic in topics for partition in range(rng.randint(0, 2)))
    return rng.choice((b"", encode_assignment(Assignment(owned), rng.randint(0, 3))))


def _number(rng: random.Random) -> int:
    return rng.choice((0, 1, rng.randint(0, 300), _MOST))


def _uuid(rng: random.Random) -> str:
    return base64.urlsafe_b64encode(rng.randbytes(16)).decode().rstrip("=")


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
