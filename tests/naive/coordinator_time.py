"""The clock of a coordinator's case and the tasks that wait for their time."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(eq=False)
class Task:
    deadline_ms: int
    run: Callable[[], None]
    cancelled: bool = False


class Timer:
    """A clock that stands still until it is moved; tasks are due in the order of their deadlines, then of their coming.

    A task without delay is not run at once: it is due when the clock is looked at next.
    """

    def __init__(self) -> None:
        self.now_ms = 0
        self._waiting: list[Task] = []

    def add(self, delay_ms: int, run: Callable[[], None]) -> Task:
        task = Task(self.now_ms + delay_ms, run)
        self._waiting.append(task)
        return task

    def move_to(self, at_ms: int) -> None:
        """Runs what is due up to a time, each task at its own."""
        while task := self._next(at_ms):
            self._waiting.remove(task)
            self.now_ms = max(self.now_ms, task.deadline_ms)
            task.run()
        self.now_ms = max(self.now_ms, at_ms)

    def _next(self, at_ms: int) -> Task | None:
        self._waiting = [task for task in self._waiting if not task.cancelled]
        due = [task for task in self._waiting if task.deadline_ms <= at_ms]
        return min(due, key=lambda task: task.deadline_ms, default=None)
