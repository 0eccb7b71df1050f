"""``CoordinatorRuntime`` of Kafka 4.x: operations, their records, and the log on which their responses wait."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from tests.naive.coordinator_group import CoordinatedGroup
from tests.naive.coordinator_messages import NONE, NOT_COORDINATOR, KafkaError
from tests.naive.coordinator_offsets import Offset
from tests.naive.coordinator_records import Record
from tests.naive.model import Partition


@dataclass
class Result:
    """What an operation wants written, and who is told of the write's end, before the response."""

    records: list[Record] = field(default_factory=list)
    is_replayed: bool = True
    ended: Callable[[str], None] | None = None
    response: Any = None


Complete = Callable[[str, Any], None]
"""Takes the error, or NONE and the response."""
State = tuple[CoordinatedGroup | None, dict[Partition, Offset]]


class StateMachine(ABC):
    """What the records of the log make."""

    @abstractmethod
    def replay(self, record: Record) -> None: ...

    @abstractmethod
    def snapshot(self) -> State: ...

    @abstractmethod
    def revert(self, state: State) -> None: ...


class Runtime:
    """A write that the log does not take reverts the state to that after the last one that it took.

    Responses wait until all that is written is replicated, those without records too. What waits can fail without
    being reverted, as it does when it takes too long.
    """

    def __init__(self, machine: StateMachine) -> None:
        self.log: list[Record] = []
        self.is_active = True
        self.held = False
        self.error = NONE
        self._machine = machine
        self._waiting: list[Callable[[str], None]] = []
        self._replicated = 0
        self._written = self.replicated_state = machine.snapshot()

    def write(self, operation: Callable[[], Result], complete: Complete) -> None:
        if not self.is_active:
            complete(NOT_COORDINATOR, None)
            return
        try:
            result = operation()
        except KafkaError as error:
            complete(error.error, None)
            return

        def ended(error: str) -> None:
            if result.ended is not None:
                # An exception stays in the future that it completes.
                with suppress(KafkaError):
                    result.ended(error)
            complete(error, result.response)

        if result.records:
            self._append(result, ended)
        elif self._is_behind():
            self._waiting.append(ended)
        else:
            ended(NONE)

    def _is_behind(self) -> bool:
        return self._replicated < len(self.log)

    def _append(self, result: Result, ended: Callable[[str], None]) -> None:
        if result.is_replayed:
            for record in result.records:
                self._machine.replay(record)
        waits = self.held or self._is_behind()
        if not waits and self.error != NONE and any(record.is_of_group for record in result.records):
            self._machine.revert(self._written)
            ended(self.error)
            return
        self.log += result.records
        self._written = self._machine.snapshot()
        self._waiting.append(ended)
        if not waits:
            self._replicate(NONE)

    def finish(self) -> None:
        """All that waits ends; the log keeps it even if it ends with an error."""
        if self._is_behind():
            self._replicate(self.error)

    def _replicate(self, error: str) -> None:
        self._replicated = len(self.log)
        self.replicated_state = self._written
        self._complete_waiting(error)

    def _complete_waiting(self, error: str) -> None:
        waiting, self._waiting = self._waiting, []
        for ended in waiting:
            ended(error)

    def unload(self) -> None:
        self.is_active = False
        self._complete_waiting(NOT_COORDINATOR)

    def load(self) -> None:
        for record in self.log:
            self._machine.replay(record)
        self._replicated = len(self.log)
        self._written = self.replicated_state = self._machine.snapshot()
        self.is_active = True
