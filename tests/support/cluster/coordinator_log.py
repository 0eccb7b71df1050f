"""What group coordinators logged: the members that came and went, and why each generation began.

The lines are those of Kafka 4.x (``GroupMetadataManager``) and of the coordinator before it (``GroupCoordinator``).
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple


class Logged(StrEnum):
    """What a line says."""

    CREATED = "a member id was created, with which the member joins"
    JOINED = "joined"
    REPLACED = "a static member was replaced"
    LEFT = "left"
    LEFT_BEFORE = "left, possibly before the lines above: so coordinators before 4.0 log it"
    FAILED = "timed out"
    PREPARING = "a rebalance began"
    STABILIZED = "all members joined"
    ASSIGNED = "the leader assigned"
    EMPTY = "no members"
    LOADED = "a coordinator loaded the group"
    EPOCH = "the epoch of a consumer-protocol group was bumped"
    SUBSCRIBED = "a member of a consumer-protocol group subscribes to other topics"
    OF_CONSUMERS_REPLACED = "a static member of a consumer-protocol group was replaced"
    OF_CONSUMERS_JOINED = "a consumer-protocol member joined"
    OF_CONSUMERS_LEFT = "a consumer-protocol member left"


class Event(NamedTuple):
    """A line of a group."""

    at_ms: int
    logged: Logged
    group: str
    generation: int | None = None
    member: str = ""
    """A member id, or for a replaced static member its group.instance.id."""
    members: int | None = None
    reason: str = ""
    """Of a replaced member, the state of the group."""
    broker: str = ""


_UNKNOWN = r"[Dd]ynamic [Mm]ember with unknown member id joins group (?P<group>.+?) in (?:\w+ state|state \w+)"
_STATIC = "Static member with groupInstanceId"
_ID = r"(?P<member>\S+?)"
_GROUP = r"(?P<group>.+?)"
_LINES = {
    Logged.CREATED: (rf"{_UNKNOWN}\.? Created a new member id {_ID} and request",),
    Logged.JOINED: (
        rf"{_UNKNOWN}\.? Created a new member id {_ID} (?:and add|for this)",
        rf"Pending dynamic member with id {_ID} joins group {_GROUP} in \w+ state",
        rf"{_STATIC}=\S+ and unknown member id joins group {_GROUP} in \w+ state\. Created a new member id {_ID} ",
    ),
    Logged.REPLACED: (
        rf"{_STATIC}={_ID} and unknown member id (?:re)?joins group {_GROUP} in (?P<reason>\w+) state\. Replacing prev",
    ),
    Logged.LEFT: (rf"\[Group {_GROUP}\] Member {_ID} has left group through explicit `LeaveGroup`(?: request)?",),
    Logged.LEFT_BEFORE: (
        rf"Member MemberMetadata\(memberId={_ID}, .*\) has left group {_GROUP} through explicit `LeaveGroup`",
    ),
    Logged.FAILED: (rf"Member {_ID} in group {_GROUP} has failed, removing it from the group",),
    Logged.PREPARING: (
        rf"Preparing to rebalance group {_GROUP} in state \w+ with old generation (?P<generation>\d+) .*?"
        r"\(reason: (?P<reason>.*)\)",
    ),
    Logged.STABILIZED: (
        rf"Stabilized group {_GROUP} generation (?P<generation>\d+) \(?.*with (?P<members>\d+) members",
    ),
    Logged.ASSIGNED: (
        rf"Assignment received from leader {_ID} for group {_GROUP} for generation (?P<generation>\d+)\.",
    ),
    Logged.EMPTY: (rf"Group {_GROUP} with generation (?P<generation>\d+) is now empty",),
    Logged.LOADED: (rf"Loaded classic group {_GROUP} with", rf"Loading group metadata for {_GROUP} with"),
    Logged.EPOCH: (rf"\[GroupId {_GROUP}\] Bumped group epoch to (?P<generation>\d+)",),
    Logged.SUBSCRIBED: (rf"\[GroupId {_GROUP}\] Member {_ID} updated its subscribed topics",),
    Logged.OF_CONSUMERS_REPLACED: (
        rf"\[GroupId {_GROUP}\] Static member with instance id {_ID} re-joins the consumer group",
    ),
    Logged.OF_CONSUMERS_JOINED: (
        rf"\[GroupId {_GROUP}\] Member {_ID} joins the consumer group using",
        rf"\[GroupId {_GROUP}\] Static member {_ID} with instance id \S+ joins the consumer group",
    ),
    Logged.OF_CONSUMERS_LEFT: (
        rf"\[GroupId {_GROUP}\] Member {_ID} (?P<reason>left|fenced from)",
        rf"\[GroupId {_GROUP}\] Static member {_ID} with instance id \S+ (?P<reason>left|fenced from)",
    ),
}
_PATTERNS = [(logged, re.compile(each)) for logged, several in _LINES.items() for each in several]
_BEGINNING = re.compile(
    r"^(\d{4}-\d\d-\d\dT\S+) \[[^\]]*\] INFO \S*(?:GroupMetadataManager|GroupCoordinator)\S* - (.*)$"
)
_BROKER = re.compile(r"\[GroupCoordinator (?:id=)?(\d+)")
_REMOVED = re.compile(r"[Gg]roup (?P<group>\S+) removed (?:dynamic )?members who haven't joined: (?P<members>.*?)\.?$")
_IN_SET = re.compile(r"[^\s,()\[\]{}]+-[0-9a-f]{8}-[0-9a-f-]{27}")


def _broker(text: str) -> str:
    """Return the id of the broker that logged a line."""
    by = _BROKER.match(text)
    return by[1] if by else ""


def pack(logs: Iterable[Path], out: Path) -> None:
    """Write the lines of several brokers' logs that say something of groups."""
    with gzip.open(out, "wt", encoding="utf-8") as packed:
        packed.writelines(line for log in logs for line in log.open(errors="replace") if any(_events(line)))


def events(packed: Path) -> list[Event]:
    """Return the events of all groups, in order of time."""
    with gzip.open(packed, "rt", encoding="utf-8") as lines:
        found = [event for line in lines for event in _events(line)]
    return sorted(found, key=lambda event: event.at_ms)


def _events(line: str) -> Iterator[Event]:
    beginning = _BEGINNING.match(line.rstrip("\n"))
    if beginning is None:
        return
    at_ms, text = round(datetime.fromisoformat(beginning[1]).timestamp() * 1000), beginning[2]
    if removed := _REMOVED.search(text):
        for member in _IN_SET.findall(removed["members"]):
            yield Event(at_ms, Logged.FAILED, removed["group"], member=member, broker=_broker(text))
        return
    for logged, pattern in _PATTERNS:
        if match := pattern.search(text):
            parts = match.groupdict()
            generation = parts.get("generation")
            yield Event(
                at_ms,
                logged,
                parts["group"],
                None if generation is None else int(generation),
                parts.get("member") or "",
                None if parts.get("members") is None else int(parts["members"]),
                parts.get("reason") or "",
                _broker(text),
            )
            return
