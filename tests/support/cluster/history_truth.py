"""The true causes of generations, from what was done to groups and what their coordinators logged."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

from rebalance_sim.kafka.history.causes import Cause
from tests.support.cluster.coordinator_log import Event, Logged, events

DONE, LOG = "done.jsonl.gz", "coordinators.log.gz"
"""What was done to groups, and what their coordinators logged."""
SUFFIX = len("-00000000-0000-0000-0000-000000000000")
"""What the coordinator appends to a client id or group.instance.id."""
_NOTICED_MS = 20_000
"""Within this time of a change of topics, members have rejoined because of it."""
_REVOKED_MS = 2_000
"""Within this time cooperative members have revoked partitions and rejoin."""
_LATE_MS = 500
"""Within this time the coordinator before 4.0 logs that a member left after the rebalance that this completes."""
_ADDED = re.compile(r"Adding new member (\S+) with")
_NEW_PARTITIONS = "noticed some topics have new partitions"
_METADATA = "cached metadata has changed"
"""Java's leader has noticed that a topic has other partitions, which may be minutes after it grew."""
_SUBSCRIBED = "subscription has changed"
_NOT_STORED = "when storing group assignment"
_REVOKING = ("need to revoke partitions", "after revoking what we lost")


class Verdict(StrEnum):
    """How a cause compares with the truth."""

    RIGHT = "right"
    UNKNOWN = "unknown"
    WRONG = "wrong"


class TrueGeneration(NamedTuple):
    """A generation that a coordinator logged."""

    number: int
    stable_ms: int
    """When its members had joined."""
    assigned_ms: int
    began_ms: int | None
    """When the rebalance began."""
    causes: frozenset[Cause]
    """What brought it about; each of them is true."""
    evidence: str
    timed_out: frozenset[str] = frozenset()
    """Members that timed out, and did not leave."""


class Done(NamedTuple):
    """Something that was done to a group."""

    at_ms: int
    did: str
    group: str


@dataclass
class _Group:
    """The events of a group since its last generation."""

    is_static: bool
    is_cooperative: bool
    names: Mapping[str, str]
    done: Sequence[Done]
    generations: list[TrueGeneration] = field(default_factory=list)
    members: dict[str, str] = field(default_factory=dict)
    """The names of members, by their ids, or by their names if they are static."""
    before: dict[str, str] = field(default_factory=dict)
    """Members of the last generation."""
    created: list[str] = field(default_factory=list)
    """Member ids with which their members have not joined yet."""
    coordinator: str = ""
    """The broker that coordinates the group."""
    named: set[str] = field(default_factory=set)
    """Member ids of which other lines say something: their members did join."""
    mismatches: int = 0
    """Generations of which another number of members was logged."""
    departed: Counter[str] = field(default_factory=Counter)
    replaced: set[str] = field(default_factory=set)
    passing: bool = False
    """Whether a member joined and was gone again."""
    failed: set[str] = field(default_factory=set)
    reasons: list[str] = field(default_factory=list)
    began_ms: int | None = None
    since_ms: int = 0
    stable: TrueGeneration | None = None
    undone: tuple[dict[str, str], Counter[str], set[str], list[str]] = field(
        default_factory=lambda: ({}, Counter(), set(), [])
    )
    """The state before the last generation."""

    def take_all(self, events: Sequence[Event]) -> None:
        """Take the events of the group in order, but those first that the coordinator logged too late."""
        waiting = deque(events)
        self.named = {each.member for each in events if each.logged != Logged.CREATED}
        while waiting:
            event = waiting.popleft()
            if event.logged == Logged.STABILIZED:
                # A member that leaves a stable group begins a rebalance, which is logged before it.
                for late in [*takewhile(lambda each: each.logged != Logged.PREPARING, waiting)]:
                    if late.logged == Logged.LEFT_BEFORE:
                        waiting.remove(late)
                        self.take(late)
                self._join_created(event.members)
                for late in [each for each in waiting if each.at_ms <= event.at_ms + _LATE_MS]:
                    if late.logged == Logged.LEFT_BEFORE and len(self.members) > (event.members or 0):
                        waiting.remove(late)
                        self.take(late)
                self.mismatches += len(self.members) != event.members
            self.take(event)

    def take(self, event: Event) -> None:
        match event.logged:
            case Logged.CREATED:
                self.created.append(event.member)
            case Logged.JOINED | Logged.OF_CONSUMERS_JOINED:
                self._join(event.member)
            case Logged.FAILED if event.broker != self.coordinator:
                # A coordinator that has moved still ends the rebalance that it knew of.
                pass
            case Logged.LEFT | Logged.LEFT_BEFORE | Logged.FAILED | Logged.OF_CONSUMERS_LEFT:
                self._lose(event)
            case Logged.REPLACED if event.reason == "Stable":
                # The record is written again, without a rebalance.
                self.members[event.member] = event.member
            case Logged.REPLACED | Logged.OF_CONSUMERS_REPLACED:
                self.members[event.member] = event.member
                self.replaced.add(event.member)
            case Logged.SUBSCRIBED:
                self.reasons.append("Updating metadata")
            case Logged.PREPARING:
                if _NOT_STORED in event.reason:
                    self._undo()
                self.reasons.append(event.reason)
                if event.generation == 0:
                    # The group was deleted, and with it all that was known of its members.
                    self.departed.clear()
                if (added := _ADDED.match(event.reason)) and added[1] in self.created:
                    self._join(added[1])
                self.began_ms = self.began_ms or event.at_ms
            case Logged.STABILIZED:
                self.coordinator = event.broker
                self.stable = self._generation(event, event.at_ms)
            case Logged.ASSIGNED if self.stable is not None and self.stable.number == event.generation:
                self._complete(self.stable._replace(assigned_ms=event.at_ms))
            case Logged.EPOCH | Logged.EMPTY:
                if event.logged == Logged.EMPTY:
                    self.members.clear()
                self._complete(self._generation(event, event.at_ms))
            case Logged.LOADED:
                # Members of a rebalance that was not complete are forgotten.
                self.coordinator = event.broker
                self.members = dict(self.before)
                self.created.clear()

    def _join(self, member: str) -> None:
        name = self._name(member)
        self.members[name if self.is_static else member] = name
        if member in self.created:
            self.created.remove(member)

    def _join_created(self, count: int | None) -> None:
        """Let members join that are needed for the logged number: brokers before 4.0 log only that they got an id."""
        assert count is not None
        while len(self.members) < count and self.created:
            self._join(min(self.created, key=lambda member: member not in self.named))

    def _name(self, member: str) -> str:
        return self.names.get(member) or member[:-SUFFIX]

    def _lose(self, event: Event) -> None:
        key = self._name(event.member) if self.is_static else event.member
        name = self.members.pop(key, None)
        if event.member in self.created:
            self.created.remove(event.member)
            self.passing = True
        if name is None:
            return
        if key not in self.before:
            self.passing = True
        if event.logged == Logged.FAILED or event.reason == "fenced from":
            self.failed.add(name)

    def _generation(self, event: Event, at_ms: int) -> TrueGeneration:
        assert event.generation is not None
        causes, evidence = self._causes(at_ms)
        return TrueGeneration(
            event.generation, at_ms, at_ms, self.began_ms, frozenset(causes), evidence, frozenset(self.failed)
        )

    def _causes(self, at_ms: int) -> tuple[set[Cause], str]:
        gone = [self.before[key] for key in self.before.keys() - self.members.keys()]
        departed = self.departed + Counter(gone)
        came: list[str] = []
        returned: list[str] = []
        for key in self.members.keys() - self.before.keys():
            name = self.members[key]
            (returned if departed[name] else came).append(name)
            departed[name] -= departed[name] > 0
        lasting = Counter(gone) - Counter(returned)
        evidence = f"came {came}, returned {returned}, gone {gone}, replaced {sorted(self.replaced)}"
        evidence += f", passing {self.passing}, reasons {self.reasons}"
        if not self.members:
            return {Cause.EMPTIED}, evidence
        if returned:
            return {Cause.RESTARTED}, evidence
        if came or lasting:
            return {Cause.JOINED_AND_LEFT if came and lasting else Cause.JOINED if came else Cause.LEFT}, evidence
        if self.replaced:
            return {Cause.REPLACED}, evidence
        return self._of_same_members(at_ms), evidence

    def _of_same_members(self, at_ms: int) -> set[Cause]:
        noticed = [each for each in self.done if min(self.since_ms, at_ms - _NOTICED_MS) <= each.at_ms <= at_ms]
        done = {each.did for each in noticed}
        causes = set()
        if any(reason in text for text in self.reasons for reason in _REVOKING) or self._rejoined_at_once():
            causes.add(Cause.REVOKED)
        if "subscribe" in done or any(_SUBSCRIBED in text for text in self.reasons):
            causes.add(Cause.SUBSCRIPTION)
        has_grown = any(each.did == "grow" and each.at_ms <= at_ms for each in self.done)
        has_noticed = has_grown and any(_METADATA in text for text in self.reasons)
        if "grow" in done or has_noticed or any(_NEW_PARTITIONS in text for text in self.reasons):
            causes.add(Cause.GREW)
        if any(text.startswith(("Leader ", "leader ")) for text in self.reasons) and not self.passing:
            # What was done before the last generation may have had its effect on that one.
            causes |= set() if causes and any(each.at_ms > self.since_ms for each in noticed) else {Cause.LEADER}
        return causes

    def _undo(self) -> None:
        """Take back the last generation, whose record was not written: its coordinator had moved."""
        if self.generations:
            self.generations.pop()
            self.before, self.departed, self.replaced, self.reasons = self.undone

    def _rejoined_at_once(self) -> bool:
        """Return whether members of a cooperative group, whose libraries give no reason, rejoined after a rebalance."""
        if not self.is_cooperative or self.began_ms is None or not self.generations:
            return False
        is_silent = all("client reason: not provided" in text for text in self.reasons)
        return is_silent and self.began_ms - self.generations[-1].assigned_ms < _REVOKED_MS

    def _complete(self, generation: TrueGeneration) -> None:
        self.generations.append(generation)
        self.undone = (dict(self.before), Counter(self.departed), set(self.replaced), list(self.reasons))
        gone = [self.before[key] for key in self.before.keys() - self.members.keys()]
        self.departed += Counter(gone)
        for key in self.members.keys() - self.before.keys():
            self.departed[self.members[key]] -= self.departed[self.members[key]] > 0
        self.before, self.since_ms = dict(self.members), generation.stable_ms
        self.replaced, self.failed, self.reasons = set(), set(), []
        self.passing, self.began_ms, self.stable = False, None, None


def done_lines(folder: Path) -> list[dict[str, Any]]:
    """Return what was done, in order."""
    with gzip.open(folder / DONE, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def true_generations(
    folder: Path, names: Mapping[str, str], static_groups: Iterable[str]
) -> dict[str, list[TrueGeneration]]:
    """Return the generations of each group, in order. ``names`` has the client ids of consumer-protocol members."""
    done: defaultdict[str, list[Done]] = defaultdict(list)
    for line in done_lines(folder):
        done[line["group"]].append(Done(line["at_ms"], line["did"], line["group"]))
    static, groups = set(static_groups), dict[str, _Group]()
    by_group: defaultdict[str, list[Event]] = defaultdict(list)
    for event in events(folder / LOG):
        by_group[event.group].append(event)
    for name, of_group in by_group.items():
        groups[name] = _Group(name in static, "cooperative" in name, names, done[name])
        groups[name].take_all(of_group)
    return {name: group.generations for name, group in groups.items()}
