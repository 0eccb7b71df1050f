"""Turns past generations of a group into events of a scenario: who came, left, restarted, and when.

The records show when a generation was complete, not when a member left or a process stopped. A member that left is
taken to leave at the time of the generation that lacks it, and a process to start again early enough to be in the
generation that has it. A simulation of these events under the group's own settings shows how much that changes.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from rebalance_sim.kafka.history.changes import Change, Generation, GroupHistory

_FIRST_MS = 10_000
"""Simulated time of the second generation: before, the group is stable, however long."""


class StepKind(StrEnum):
    """Events, by their names in the events table."""

    JOIN = "join"
    LEAVE = "leave"
    RESTART = "restart"
    SUBSCRIBE = "subscribe"
    GROW = "grow"


@dataclass(frozen=True)
class Step:
    """An event of a replay."""

    at_ms: int
    """From the start of the simulation."""
    kind: StepKind
    consumer: str | None = None
    """The consumer's first member id; None for a topic."""
    down_ms: int = 0
    """For a restart: until the process starts again."""
    member_id: str | None = None
    """Of the member that joins, or that subscribes to other topics."""
    topic: str = ""
    partitions: int = 0
    """Of a topic that grows."""


@dataclass
class Replay:
    """What happened in consecutive generations of a group, of which the first is where it begins.

    >>> from rebalance_sim.kafka.history.changes import Participant
    >>> before = Participant("c-1", None, "c", "/h", 45_000, 300_000)
    >>> after = before._replace(member_id="c-2")
    >>> times = {1: ((before,), 0), 2: ((), 60_000), 3: ((after,), 75_000)}
    >>> generations = [Generation(number, members, at_ms=at_ms) for number, (members, at_ms) in times.items()]
    >>> replay = Replay.of(generations, start_ms=1_000)
    >>> [(step.at_ms, step.kind.value, step.consumer, step.down_ms) for step in replay.steps]
    [(10000, 'restart', 'c-1', 14000)]
    """

    start_ms: int
    """How long a process is taken to need from its start to its first poll."""
    steps: list[Step] = field(default_factory=list)
    partitions: dict[str, int] = field(default_factory=dict)
    """Numbers of partitions by topic, as first seen."""
    _names: dict[str, str] = field(default_factory=dict)
    """The consumer of each member id."""
    _left: dict[str, int] = field(default_factory=dict)
    """When a consumer left that is not back."""

    @classmethod
    def of(cls, generations: Sequence[Generation], start_ms: int) -> "Replay | None":
        """Return the replay; None if the time of a generation is unknown, or if clocks ran backwards."""
        known = [generation.at_ms for generation in generations if generation.at_ms is not None]
        if len(known) < len(generations) or known != sorted(known):
            return None
        replay, history = cls(start_ms), GroupHistory()
        for generation, time in zip(generations, known, strict=True):
            replay._add(history.next(generation), history.consumers, _FIRST_MS + time - known[1])
        replay.steps += [Step(at_ms, StepKind.LEAVE, name) for name, at_ms in replay._left.items()]
        replay.steps.sort(key=lambda step: step.at_ms)
        return replay

    def _add(self, change: Change, consumers: Mapping[str, str], at_ms: int) -> None:
        """Add what happened before a generation; ``consumers`` has the first member id of each member."""
        for topic, partitions in change.now.sizes.items():
            self.partitions.setdefault(topic, partitions)
        if change.before is not None:
            self._add_members(change, consumers, at_ms)
            self.steps += [
                Step(at_ms, StepKind.GROW, topic=each.topic, partitions=each.partitions) for each in change.topics_grown
            ]
        self._names = dict(consumers)

    def _add_members(self, change: Change, consumers: Mapping[str, str], at_ms: int) -> None:
        for member in change.left:
            self._left[self._names[member.member_id]] = at_ms
        for member in (*change.restarted, *change.replaced):
            name = consumers[member.member_id]
            since_ms = self._left.pop(name, at_ms)
            down_ms = max(at_ms - since_ms - self.start_ms, 0)
            self.steps.append(Step(since_ms, StepKind.RESTART, name, down_ms))
        for member in change.joined:
            at = max(at_ms - self.start_ms, 0)
            self.steps.append(Step(at, StepKind.JOIN, consumers[member.member_id], member_id=member.member_id))
        for member in change.changed_subscription:
            self.steps.append(Step(at_ms, StepKind.SUBSCRIBE, consumers[member.member_id], member_id=member.member_id))
