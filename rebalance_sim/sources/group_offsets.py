"""The committed offsets of groups, asked for in a process of its own.

librdkafka ends its process (a segmentation fault, librdkafka issue 5040) where a broker answers an admin client's
OffsetFetch with NOT_COORDINATOR: each time that a group's coordinator is just moving.
"""

import multiprocessing
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

from rebalance_sim.sources.kafka_requests import MOST_IN_FLIGHT, REQUEST_SECONDS, Failure, batches

_GROUPS_AT_ONCE = 500
_TRIES = 5
_PAUSE_SECONDS = 1.0
_NOT_COORDINATOR = Failure("NOT_COORDINATOR", "the group's coordinator is moving")


@dataclass
class CommittedOffsets:
    """What a group has committed."""

    partitions: list[tuple[str, int, int | None, str | None]] = field(default_factory=list)
    """Topic, partition, offset (None: none) and metadata."""
    failures: list[tuple[str, int, Failure]] = field(default_factory=list)
    """Topic and partition whose offset the coordinator does not tell."""


Answer = CommittedOffsets | Failure
_client: Any = None
"""Of the process that asks."""


class OffsetReader:
    """Asks for the offsets of groups, for as long as a ``with`` lasts."""

    def __init__(self, configuration: Mapping[str, str]) -> None:
        self._configuration = dict(configuration)
        self._process: ProcessPoolExecutor | None = None

    def __enter__(self) -> "OffsetReader":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def read(self, group_ids: Sequence[str]) -> Iterator[tuple[str, Answer]]:
        """Return each group with its offsets, or with why the coordinator does not tell them."""
        for batch in batches(group_ids, _GROUPS_AT_ONCE):
            yield from zip(batch, self._ask(batch, tries=1), strict=True)

    def _ask(self, group_ids: list[str], tries: int) -> list[Answer]:
        """Ask again after a crash; one group alone after some, so that the others are answered."""
        try:
            return self._asking().submit(_committed_offsets, group_ids).result()
        except BrokenProcessPool:
            self._end()
        if tries == _TRIES:
            return [_NOT_COORDINATOR] * len(group_ids)
        time.sleep(_PAUSE_SECONDS)
        if len(group_ids) == 1 or tries < 2:
            return self._ask(group_ids, tries + 1)
        half = len(group_ids) // 2
        return [*self._ask(group_ids[:half], tries), *self._ask(group_ids[half:], tries)]

    def _asking(self) -> ProcessPoolExecutor:
        if self._process is None:
            # Not forked: this process has threads of librdkafka's and of Spark's.
            context = multiprocessing.get_context("spawn")
            self._process = ProcessPoolExecutor(1, context, _connect, (self._configuration,))
        return self._process

    def _end(self) -> None:
        if self._process is not None:
            self._process.shutdown()
            self._process = None


def _connect(configuration: dict[str, str]) -> None:
    from confluent_kafka.admin import AdminClient  # noqa: PLC0415 (an optional dependency)

    global _client  # noqa: PLW0603 (a process has one)
    _client = AdminClient(configuration)


def _committed_offsets(group_ids: list[str]) -> list[Answer]:
    return [answer for batch in batches(group_ids, MOST_IN_FLIGHT) for answer in _answers(batch)]


def _answers(group_ids: list[str]) -> list[Answer]:
    from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException  # noqa: PLC0415

    # A request takes one group.
    requests = [[ConsumerGroupTopicPartitions(group_id)] for group_id in group_ids]
    asked = [_client.list_consumer_group_offsets(each, request_timeout=REQUEST_SECONDS) for each in requests]
    answers: list[Answer] = []
    for group_id, futures in zip(group_ids, asked, strict=True):
        try:
            answers.append(_offsets_in(futures[group_id].result().topic_partitions))
        except KafkaException as problem:
            answers.append(Failure.of(problem))
    return answers


def _offsets_in(partitions: Sequence[Any]) -> CommittedOffsets:
    found = CommittedOffsets()
    for each in partitions:
        if each.error is not None:
            found.failures.append((each.topic, each.partition, Failure(each.error.name(), each.error.str())))
        else:
            committed = each.offset if each.offset >= 0 else None
            found.partitions.append((each.topic, each.partition, committed, each.metadata or None))
    return found
