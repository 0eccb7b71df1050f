"""Send requests to a live cluster, a limited number at a time, and retry those that fail temporarily."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar

MOST_IN_FLIGHT = 100
"""Concurrent requests: enough to hide the latency to the brokers, too few to load them."""
REQUEST_SECONDS = 60
"""As the ``default.api.timeout.ms`` of Kafka's Admin client: a busy broker takes more than 30 s to create and load the
partitions of __consumer_offsets."""
_TRIES = 5
_PAUSE_SECONDS = 1.0
# Errors while a coordinator moves or loads its partition of __consumer_offsets; Kafka's clients retry them, too.
RETRIABLE = {"NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE", "COORDINATOR_LOAD_IN_PROGRESS"}

Key = TypeVar("Key")


@dataclass(frozen=True)
class RequestFailure:
    """A failed request: the name of Kafka's or librdkafka's error, and its message."""

    name: str
    message: str

    def __str__(self) -> str:
        return f"{self.name}: {self.message}" if self.message else self.name

    @staticmethod
    def of(problem: Exception) -> "RequestFailure":
        """Return the failure in an exception of confluent-kafka."""
        error = problem.args[0]
        return RequestFailure(error.name(), " ".join(error.str().split()).strip(": "))


def batches(keys: Sequence[Key], size: int) -> Iterator[list[Key]]:
    """Split a list.

    >>> list(batches("abcde", 2))
    [['a', 'b'], ['c', 'd'], ['e']]
    """
    remaining = iter(keys)
    while batch := list(islice(remaining, size)):
        yield batch


def answers(
    ask: Callable[[list[Key]], Mapping[Any, "Future[Any]"]], keys: Sequence[Key], progress: Callable[[int], None]
) -> Iterator[tuple[Key, Any]]:
    """Request an answer for each key, and return each key with its answer or its ``RequestFailure``.

    ``ask`` receives a batch of keys and returns a future for each; ``progress`` receives the number of finished keys.
    Requests that fail temporarily are retried after all others.
    """
    again, done = list(keys), 0
    for tries in range(1, _TRIES + 1):
        asked, again = again, []
        for batch in batches(asked, MOST_IN_FLIGHT):
            for key, answer in _answers(ask, batch):
                if isinstance(answer, RequestFailure) and answer.name in RETRIABLE and tries < _TRIES:
                    again.append(key)
                else:
                    done += 1
                    yield key, answer
            progress(done)
        if not again:
            return
        time.sleep(_PAUSE_SECONDS)


def _answers(ask: Callable[[list[Key]], Mapping[Any, "Future[Any]"]], batch: list[Key]) -> Iterator[tuple[Key, Any]]:
    from confluent_kafka import KafkaException  # noqa: PLC0415 (an optional dependency)

    futures = ask(batch)
    for key in batch:
        try:
            yield key, futures[key].result()
        except KafkaException as problem:
            yield key, RequestFailure.of(problem)
