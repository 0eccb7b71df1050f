"""Read the committed offsets of groups, in a separate process.

librdkafka crashes its process (a segmentation fault, librdkafka issue 5040) if a broker answers an admin client's
OffsetFetch with NOT_COORDINATOR, which brokers do while a group's coordinator moves.
"""

import multiprocessing
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

from rebalance_sim.sources.live_cluster.requests import MOST_IN_FLIGHT, REQUEST_SECONDS, RequestFailure, batches

_GROUPS_AT_ONCE = 500
_TRIES = 5
_PAUSE_SECONDS = 1.0
_NOT_COORDINATOR = RequestFailure("NOT_COORDINATOR", "the group's coordinator is moving")


@dataclass
class CommittedOffsets:
    """The committed offsets of a group."""

    partitions: list[tuple[str, int, int | None, str | None]] = field(default_factory=list)
    """Topic, partition, offset (None: not committed) and metadata."""
    failures: list[tuple[str, int, RequestFailure]] = field(default_factory=list)
    """Topics and partitions whose offset the coordinator did not return, and why."""


Answer = CommittedOffsets | RequestFailure
_client: Any = None
"""The admin client of the separate process."""


class OffsetReader:
    """Reads the committed offsets of groups in a process that ends with the ``with`` block."""

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
        """Return each group with its offsets, or with the error of the request."""
        for batch in batches(group_ids, _GROUPS_AT_ONCE):
            yield from zip(batch, self._ask(batch, tries=1), strict=True)

    def _ask(self, group_ids: list[str], tries: int) -> list[Answer]:
        """Retry after a crash, from the second one on in halves, so that one group does not fail the others."""
        try:
            return self._started().submit(_committed_offsets, group_ids).result()
        except BrokenProcessPool:
            self._end()
        if tries == _TRIES:
            return [_NOT_COORDINATOR] * len(group_ids)
        time.sleep(_PAUSE_SECONDS)
        if len(group_ids) == 1 or tries < 2:
            return self._ask(group_ids, tries + 1)
        half = len(group_ids) // 2
        return [*self._ask(group_ids[:half], tries), *self._ask(group_ids[half:], tries)]

    def _started(self) -> ProcessPoolExecutor:
        if self._process is None:
            # Spawned, not forked: this process has threads of librdkafka and of Py4J.
            context = multiprocessing.get_context("spawn")
            self._process = ProcessPoolExecutor(1, context, _connect, (self._configuration,))
        return self._process

    def _end(self) -> None:
        if self._process is not None:
            self._process.shutdown()
            self._process = None


def _connect(configuration: dict[str, str]) -> None:
    from confluent_kafka.admin import AdminClient  # noqa: PLC0415 (an optional dependency)

    global _client  # noqa: PLW0603 (one per process)
    _client = AdminClient(configuration)


def _committed_offsets(group_ids: list[str]) -> list[Answer]:
    return [answer for batch in batches(group_ids, MOST_IN_FLIGHT) for answer in _answers(batch)]


def _answers(group_ids: list[str]) -> list[Answer]:
    from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException  # noqa: PLC0415

    # librdkafka allows one group per request.
    requests = [[ConsumerGroupTopicPartitions(group_id)] for group_id in group_ids]
    asked = [_client.list_consumer_group_offsets(each, request_timeout=REQUEST_SECONDS) for each in requests]
    answers: list[Answer] = []
    for group_id, futures in zip(group_ids, asked, strict=True):
        try:
            answers.append(_offsets_in(futures[group_id].result().topic_partitions))
        except KafkaException as problem:
            answers.append(RequestFailure.of(problem))
    return answers


def _offsets_in(partitions: Sequence[Any]) -> CommittedOffsets:
    found = CommittedOffsets()
    for each in partitions:
        if each.error is not None:
            found.failures.append((each.topic, each.partition, RequestFailure(each.error.name(), each.error.str())))
        else:
            committed = each.offset if each.offset >= 0 else None
            found.partitions.append((each.topic, each.partition, committed, each.metadata or None))
    return found
