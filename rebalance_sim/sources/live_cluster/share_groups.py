"""Describe the share groups (KIP-932) and streams groups (KIP-1071) of a live cluster, which librdkafka only lists."""

import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

from rebalance_sim.kafka.wire.readable import SchemaError
from rebalance_sim.kafka.wire.share_group_describe import (
    FIND_COORDINATOR,
    FIND_COORDINATOR_VERSION,
    SHARE_GROUP_DESCRIBE,
    SHARE_GROUP_DESCRIBE_VERSION,
    ShareGroup,
    find_coordinator_request,
    find_coordinator_response,
    group_describe_request,
    share_group_describe_response,
)
from rebalance_sim.kafka.wire.streams_group_describe import (
    STREAMS_GROUP_DESCRIBE,
    STREAMS_GROUP_DESCRIBE_VERSION,
    DescribedStreamsGroup,
    streams_group_describe_response,
)
from rebalance_sim.sources.live_cluster.connection import Connection, NotConnectedError
from rebalance_sim.sources.live_cluster.requests import REQUEST_SECONDS, RETRIABLE, RequestFailure, batches

OF_ANOTHER_TYPE = "GROUP_ID_NOT_FOUND"
"""The error for a group of another type than that of the request."""
_FIRST_RELEASE = (4, 1)
"""Brokers of 4.0, where share groups are early access, have another version of their request, and no streams groups."""
_GROUPS_AT_ONCE = 100
_TRIES = 5
_PAUSE_SECONDS = 1.0
_ADDRESS = re.compile(r"(?:\w+://)?\[?([^\[\]]+?)\]?(?::(\d+))?")
_DEFAULT_PORT = 9092

_Address = tuple[str, int]
_Value = TypeVar("_Value")
_Group = ShareGroup | DescribedStreamsGroup
Answer = _Group | RequestFailure


class DescribeRequest(NamedTuple):
    """A request that describes groups of a type."""

    name: str
    key: int
    version: int
    decode: Callable[[bytes], Sequence[_Group]]


OF_SHARE = DescribeRequest(
    "ShareGroupDescribe", SHARE_GROUP_DESCRIBE, SHARE_GROUP_DESCRIBE_VERSION, share_group_describe_response
)
OF_STREAMS = DescribeRequest(
    "StreamsGroupDescribe", STREAMS_GROUP_DESCRIBE, STREAMS_GROUP_DESCRIBE_VERSION, streams_group_describe_response
)


def can_be_described(releases: Sequence[str]) -> bool:
    """Return whether all brokers describe share groups and streams groups.

    >>> can_be_described(["4.1", "4.3"]), can_be_described(["3.9", "4.3"]), can_be_described([])
    (True, False, False)
    """
    return bool(releases) and all(tuple(map(int, each.split("."))) >= _FIRST_RELEASE for each in releases)


def describe_groups(
    group_ids: Sequence[str], properties: Mapping[str, str], request: DescribeRequest
) -> Iterator[tuple[str, Answer]]:
    """Return each group with what its coordinator answers about it as a group of the request's type, or with the error.

    ``properties`` are those of librdkafka. Errors that go away, such as a coordinator that moves, are retried. Raises
    NotConnectedError if no broker can be asked.
    """
    for batch in batches(group_ids, _GROUPS_AT_ONCE):
        remaining = list(batch)
        for tries in range(1, _TRIES + 1):
            found = _described(remaining, properties, request)
            retried = {name for name, answer in found.items() if _goes_away(answer) and tries < _TRIES}
            yield from ((name, answer) for name, answer in found.items() if name not in retried)
            remaining = [name for name in remaining if name in retried]
            if not remaining:
                break
            time.sleep(_PAUSE_SECONDS)


def _goes_away(answer: Answer) -> bool:
    return isinstance(answer, RequestFailure) and answer.name in RETRIABLE


def _described(group_ids: Sequence[str], properties: Mapping[str, str], request: DescribeRequest) -> dict[str, Answer]:
    answers: dict[str, Answer] = {}
    by_coordinator: defaultdict[_Address, list[str]] = defaultdict(list)
    question = find_coordinator_request(group_ids)
    body = _first_answer(properties, lambda it: it.ask(FIND_COORDINATOR, FIND_COORDINATOR_VERSION, question))
    for found in _read(find_coordinator_response, body):
        if found.error:
            answers[found.group_id] = _failure(found.error, found.message)
        else:
            by_coordinator[found.host, found.port].append(found.group_id)
    for (host, port), coordinated in by_coordinator.items():
        with Connection(host, port, properties, REQUEST_SECONDS) as broker:
            body = broker.ask(request.key, request.version, group_describe_request(coordinated))
        for group in _read(request.decode, body):
            answers[group.group_id] = _failure(group.error, group.message) if group.error else group
    return answers


def _first_answer(properties: Mapping[str, str], ask: Callable[[Connection], bytes]) -> bytes:
    """Return the answer of the first of the bootstrap servers that answers."""
    problem = NotConnectedError("no bootstrap server")
    for host, port in addresses(properties["bootstrap.servers"]):
        try:
            with Connection(host, port, properties, REQUEST_SECONDS) as broker:
                return ask(broker)
        except NotConnectedError as failed:
            problem = failed
    raise problem


def addresses(servers: str) -> list[_Address]:
    """Return the hosts and ports of bootstrap servers.

    >>> addresses("SSL://kafka-1:9093, [::1]:9092,kafka-3")
    [('kafka-1', 9093), ('::1', 9092), ('kafka-3', 9092)]
    """
    matches = (_ADDRESS.fullmatch(each.strip()) for each in servers.split(","))
    return [(match[1], int(match[2] or _DEFAULT_PORT)) for match in matches if match]


def _read(decode: Callable[[bytes], _Value], body: bytes) -> _Value:
    try:
        return decode(body)
    except SchemaError as problem:
        raise NotConnectedError(str(problem)) from problem


def _failure(error: int, message: str) -> RequestFailure:
    from confluent_kafka import KafkaError  # noqa: PLC0415 (an optional dependency)

    return RequestFailure(KafkaError(error).name(), message)
