"""Stub."""
from typing import NamedTuple


class TaskId(NamedTuple):
    """A task: a partition of a subtopology."""

    subtopology: int
    partition: int

    def __str__(self) -> str:
        return f"{self.subtopology}_{self.partition}"
