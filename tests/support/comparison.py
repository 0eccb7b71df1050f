"""What differs between the answers of Kafka's classes and those of the rules."""

from collections.abc import Iterable
from typing import TypeVar

from tests.support.cases import JsonObject

T = TypeVar("T")


def different(cases: Iterable[JsonObject], theirs: Iterable[T], ours: Iterable[T]) -> list[tuple[JsonObject, T, T]]:
    """Return the cases with different answers, and both answers."""
    return [trio for trio in zip(cases, theirs, ours, strict=True) if trio[1] != trio[2]]


def conversation_of(answer: JsonObject) -> JsonObject:
    """Return what a coordinator's answer to a conversation is compared by."""
    return {name: answer[name] for name in ("id", "answers", "groups")}
