"""Requests to a live cluster: how many at a time, and how they fail."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar

MOST_IN_FLIGHT = 100
"""Requests at a time: enough to hide the way to the brokers, too few to burden them."""
REQUEST_SECONDS = 30
_TRIES = 5
_PAUSE_SECONDS = 1.0
# While a coordinator moves or loads; clients ask again.
_PASSING = {"NOT_COORDINATOR", "COORDINATOR_NOT_AVAILABLE", "COORDINATOR_LOAD_IN_PROGRESS"}

Key = TypeVar("Key")


@dataclass(frozen=True)
class Failure:
    """Why a request was not answered: Kafka's name of the error, or librdkafka's, and what it says."""

    name: str
    told: str

    def __str__(self) -> str:
        return f"{self.name}: {self.told}" if self.told else self.name

    @staticmethod
    def of(problem: Exception) -> "Failure":
        """From an exception of confluent-kafka's."""
        error = problem.args[0]
        return Failure(error.name(), " ".join(error.str().split()).strip(": "))


def batches(keys: Sequence[Key], size: int) -> Iterator[list[Key]]:
    """Part a list.

    >>> list(batches("abcde", 2))
    [['a', 'b'], ['c', 'd'], ['e']]
    """
    remaining = iter(keys)
    while batch := list(islice(remaining, size)):
        yield batch


def answers(
    ask: Callable[[list[Key]], Mapping[Any, "Future[Any]"]], keys: Sequence[Key], progress: Callable[[int], None]
) -> Iterator[tuple[Key, Any]]:
    """Ask about keys, some at a time; return each with its answer or its ``Failure``.

    ``ask`` returns a future for each key that it is given; ``progress`` is told how many keys are done. What fails in
    passing is asked again at the end.
    """
    again, done = list(keys), 0
    for tries in range(1, _TRIES + 1):
        asked, again = again, []
        for batch in batches(asked, MOST_IN_FLIGHT):
            for key, answer in _answers(ask, batch):
                if isinstance(answer, Failure) and answer.name in _PASSING and tries < _TRIES:
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
            yield key, Failure.of(problem)
