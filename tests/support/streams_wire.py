"""Cases of Kafka Streams' user data, answered by ``streams_protocol``."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from rebalance_sim.kafka.wire.consumer_protocol import TopicPartition
from rebalance_sim.kafka.wire.readable import SchemaError
from rebalance_sim.kafka.wire.streams_protocol import (
    AssignmentInfo,
    Host,
    SubscriptionInfo,
    TaskId,
    decode_assignment_info,
    decode_subscription_info,
    encode_assignment_info,
    encode_subscription_info,
)

JsonObject = dict[str, Any]


def written(case: JsonObject) -> bytes:
    """Return the bytes of the fields of a case."""
    info = info_of(case["rule"], case["config"])
    return encode_subscription_info(info) if isinstance(info, SubscriptionInfo) else encode_assignment_info(info)


def info_of(rule: str, fields: JsonObject) -> SubscriptionInfo | AssignmentInfo:
    """Return the fields of a case."""
    if rule.endswith("subscription"):
        sums = {_task(text): offset for text, offset in fields["offset_sums"].items()}
        return SubscriptionInfo(**{**fields, "process": UUID(fields["process"]), "offset_sums": sums})
    return AssignmentInfo(
        fields["version"],
        fields["commonly_supported_version"],
        tuple(map(_task, fields["active_tasks"])),
        {_task(text): _partitions(pairs) for text, pairs in fields["standby_tasks"].items()},
        _hosts(fields["partitions_by_host"]),
        _hosts(fields["standby_partitions_by_host"]),
        fields["error_code"],
        fields["next_rebalance_ms"],
    )


def read(case: JsonObject, newest: int) -> JsonObject | None:
    """Return what is read from the bytes of a case, as the oracle prints it, or None if they are malformed."""
    data = bytes.fromhex(case["bytes"])
    try:
        if case["rule"].endswith("subscription"):
            return _subscription(decode_subscription_info(data, newest))
        return printed_assignment(decode_assignment_info(data, newest))
    except SchemaError:
        return None


def read_by_kafka(answer: JsonObject) -> JsonObject | None:
    """Return an answer of the oracle in the same form."""
    if "error" in answer:
        return None
    answered = {key: value for key, value in answer.items() if key not in ("id", "kafka")}
    return answered if "active_tasks" in answered else {"error_code": 0, "client_tags": {}} | answered


def _subscription(info: SubscriptionInfo) -> JsonObject:
    sums = {str(task): offset for task, offset in info.offset_sums.items()}
    return {**vars(info), "process": str(info.process), "offset_sums": sums, "client_tags": dict(info.client_tags)}


def printed_assignment(info: AssignmentInfo) -> JsonObject:
    """Return the fields of an assignment as the oracle prints them."""
    return {
        **vars(info),
        "active_tasks": list(map(str, info.active_tasks)),
        "standby_tasks": {str(task): _pairs(of) for task, of in info.standby_tasks.items()},
        "partitions_by_host": {_text(host): _pairs(of) for host, of in info.partitions_by_host.items()},
        "standby_partitions_by_host": {_text(host): _pairs(of) for host, of in info.standby_partitions_by_host.items()},
    }


def _text(host: Host) -> str:
    return f"{host.host}:{host.port}"


def _pairs(partitions: Iterable[TopicPartition]) -> list[list[Any]]:
    return [list(part) for part in sorted(partitions, key=lambda part: (_java_order(part.topic), part.partition))]


def _java_order(name: str) -> bytes:
    return name.encode("utf-16-be", "surrogatepass")


def _partitions(pairs: Iterable[tuple[str, int]]) -> frozenset[TopicPartition]:
    return frozenset(TopicPartition(*pair) for pair in pairs)


def _hosts(hosts: JsonObject) -> dict[Host, frozenset[TopicPartition]]:
    return {Host(text.rsplit(":", 1)[0], int(text.rsplit(":", 1)[1])): _partitions(of) for text, of in hosts.items()}


def _task(text: str) -> TaskId:
    topology, _, task = text.rpartition("__")
    subtopology, partition = map(int, task.split("_"))
    return TaskId(subtopology, partition, topology)
