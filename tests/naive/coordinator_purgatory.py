"""``DelayedOperationPurgatory``: operations that are done when something has come about, else when time is up."""

from collections import defaultdict
from collections.abc import Callable, Hashable
from contextlib import suppress
from dataclasses import dataclass

from tests.naive.coordinator_messages import KafkaError
from tests.naive.coordinator_time import Task, Timer


@dataclass(eq=False)
class DelayedOperation:
    delay_ms: int
    is_ready: Callable[[], bool]
    on_complete: Callable[[], None]
    """Done once, whether the operation became ready or its time was up."""
    on_expiration: Callable[[], None] = lambda: None
    """Done after it if the time was up."""
    is_completed: bool = False
    task: Task | None = None

    def try_complete(self) -> bool:
        return self.is_ready() and self.force_complete()

    def force_complete(self) -> bool:
        if self.is_completed:
            return False
        self.is_completed = True
        if self.task is not None:
            self.task.cancelled = True
        self.on_complete()
        return True

    def expire(self) -> None:
        """What is thrown ends in the timer's thread."""
        with suppress(KafkaError):
            if self.force_complete():
                self.on_expiration()


class Purgatory:
    def __init__(self, timer: Timer) -> None:
        self._timer = timer
        self._watched: dict[Hashable, list[DelayedOperation]] = defaultdict(list)

    def try_complete_else_watch(self, operation: DelayedOperation, key: Hashable) -> None:
        if operation.try_complete():
            return
        self._watched[key].append(operation)
        operation.task = self._timer.add(operation.delay_ms, operation.expire)

    def check_and_complete(self, key: Hashable) -> None:
        for operation in list(self._watched[key]):
            if not operation.is_completed:
                operation.try_complete()
        self._watched[key] = [operation for operation in self._watched[key] if not operation.is_completed]
