"""The state that processes have of stateful tasks, while their threads restore it from changelog topics."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from rebalance_sim.defaults import ACCEPTABLE_RECOVERY_LAG, PROBING_INTERVAL_MS, WARMUP_REPLICAS
from rebalance_sim.engine.streams.application import Application, Member, Move, Restored, Task
from rebalance_sim.kafka.streams.restoration import finish_after, restored_after
from rebalance_sim.kafka.wire.streams_protocol import LATEST_OFFSET

ASSUMED_OF_RESTORATION = (
    "every thread restores as many records per second as --restore-rate, first those of its active tasks, in equal "
    "shares; changelog topics do not grow meanwhile, and have a record at every offset (compaction leaves fewer); and "
    "rebalances take no time"
)
_MS = 1000


@dataclass(frozen=True)
class RestoreSettings:
    """How fast threads restore state, and the settings that decide when classic applications move tasks."""

    rate: int | None = None
    """Records per second and thread; None if it is unknown."""
    warmup_replicas: int = WARMUP_REPLICAS
    acceptable_lag: int = ACCEPTABLE_RECOVERY_LAG
    probing_interval_ms: int = PROBING_INTERVAL_MS


class _Place(NamedTuple):
    """A task of a process."""

    process_id: str
    task: Task


class _Beginning(NamedTuple):
    """When a process got a task, and how many records were left to restore then."""

    at_ms: int
    records: int


class Restoration:
    """What is left to restore of each stateful task on each process, by a clock that begins with the first rebalance.

    The state of a task that a process no longer has stays on its disk.
    """

    def __init__(self, ends: Mapping[Task, int], rate: int | None) -> None:
        self.now_ms = 0
        self._ends = ends
        self._rate = rate
        self._left: dict[_Place, int] = {}
        """By place with state, or with a task that restores: the records that are left to restore."""
        self._begun: dict[_Place, _Beginning] = {}
        self._finished: dict[_Place, int] = {}

    def read_state(self, members: Sequence[Member]) -> None:
        """Take over the state that members have: all of their tasks, if they did not send offsets."""
        for member in members:
            has = {task for task in (*member.active, *member.standby) if task in self._ends}
            offsets = dict.fromkeys(has, LATEST_OFFSET) if member.offsets is None else dict.fromkeys(has, 0)
            for task, offset in {**offsets, **(member.offsets or {})}.items():
                if task in self._ends:
                    place = _Place(member.process_id, task)
                    self._left[place] = min(self._left.get(place, self._ends[task]), self._lag(task, offset))

    def _lag(self, task: Task, offset: int) -> int:
        """Return what is left to restore; an offset beyond the end is of another topic, and counts as no state."""
        end = self._ends[task]
        return 0 if offset == LATEST_OFFSET else end - offset if 0 <= offset <= end else end

    def left(self, process_id: str, task: Task) -> int:
        """Return how many records a process would have to restore."""
        return self._left.get(_Place(process_id, task), self._ends[task])

    def tasks_with_state(self, process_id: str) -> Iterator[Task]:
        """Yield the tasks of which a process has some state on its disk."""
        return (
            of.task for of, left in self._left.items() if of.process_id == process_id and left < self._ends[of.task]
        )

    def begin(self, members: Sequence[Member]) -> None:
        """Let members have their tasks after a rebalance."""
        for member in members:
            for task in chain(member.active, member.standby):
                if task in self._ends:
                    place, left = _Place(member.process_id, task), self.left(member.process_id, task)
                    self._left[place] = left
                    self._begun.setdefault(place, _Beginning(self.now_ms, left))
                    if not left:
                        self._finished.setdefault(place, self.now_ms)

    def run(self, members: Sequence[Member], until_ms: int | None = None) -> None:
        """Let the threads restore until a time, or until they have restored everything."""
        assert self._rate is not None
        for member in members:
            active, standby = (
                [_Place(member.process_id, task) for task in tasks if task in self._ends]
                for tasks in (member.active, member.standby)
            )
            amounts = [self._left[place] for place in active], [self._left[place] for place in standby]
            read = sum(map(sum, amounts)) if until_ms is None else (until_ms - self.now_ms) * self._rate // _MS
            finish, restored = chain(*finish_after(*amounts)), chain(*restored_after(*amounts, read))
            for place, after, amount in zip([*active, *standby], finish, restored, strict=True):
                self._left[place] -= amount
                if not self._left[place]:
                    self._finished.setdefault(place, self.now_ms - (-after * _MS // self._rate))
        if until_ms is not None:
            self.now_ms = until_ms

    def restored(self) -> dict[tuple[str, Task], Restored]:
        """Return the state of all tasks on the processes that got them."""
        return {
            place: Restored(begun.records, begun.at_ms, self._finished.get(place) if self._rate else None)
            for place, begun in self._begun.items()
        }


def moves(before: Mapping[Task, str], members: Sequence[Member], at_ms: int) -> Iterator[Move]:
    """Yield the tasks that move to another process, from the process of each active stateful task before."""
    for member in members:
        for task in member.active:
            if before.get(task, member.process_id) != member.process_id:
                yield Move(task, before[task], member.process_id, member.member_id, at_ms)


def active_stateful(group: Application, members: Sequence[Member]) -> dict[Task, str]:
    """Return the process of each active stateful task."""
    return {task: member.process_id for member in members for task in member.active if group.is_stateful(task)}
