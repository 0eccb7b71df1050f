"""Short builders for the steps of a case."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Step = dict[str, Any]
MemberRef = int | str
"""A member by the number of its id in the order in which ids were made, or the text of an id."""
Protocols = Sequence[tuple[str, str]]

RANGE: Protocols = (("range", "one"),)
RANGE_CHANGED: Protocols = (("range", "two"),)
ROUND_ROBIN: Protocols = (("roundrobin", "one"),)
RANGE_THEN_ROUND_ROBIN: Protocols = (*RANGE, *ROUND_ROBIN)
ROUND_ROBIN_THEN_RANGE: Protocols = (*ROUND_ROBIN, *RANGE)

STRANGER = "nobody-has-this-id"
SLOW: Mapping[str, Any] = {"rebalance_timeout_ms": 8000, "session_timeout_ms": 200_000}
"""Timeouts of members whose deadline to rejoin passes long before their sessions end."""
FORMED_MS = 6000
"""When the first generation of ``joined`` and ``stable`` begins: two initial delays of 3000 ms."""


def join(at_ms: int, member: MemberRef = "", *, protocols: Protocols = RANGE, **fields: Any) -> Step:
    """A JoinGroup; what else the format knows is given by its name."""
    return {
        "at_ms": at_ms,
        "request": "join",
        "member": member,
        "protocols": [list(protocol) for protocol in protocols],
        **fields,
    }


def join_for_id(at_ms: int, **fields: Any) -> Step:
    """A first JoinGroup of version 4 or later (KIP-394): it only asks for a member id."""
    return join(at_ms, requires_known_member_id=True, **fields)


def sync(
    at_ms: int, member: MemberRef, generation: int, assignments: Mapping[int, str] | None = None, **fields: Any
) -> Step:
    """A SyncGroup, with assignments if it is the leader's."""
    return {
        "at_ms": at_ms,
        "request": "sync",
        "member": member,
        "generation": generation,
        "assignments": [list(pair) for pair in (assignments or {}).items()],
        **fields,
    }


def heartbeat(at_ms: int, member: MemberRef, generation: int, **fields: Any) -> Step:
    """A Heartbeat."""
    return {"at_ms": at_ms, "request": "heartbeat", "member": member, "generation": generation, **fields}


def leave(at_ms: int, *members: MemberRef) -> Step:
    """A LeaveGroup of dynamic members."""
    return {"at_ms": at_ms, "request": "leave", "members": [{"member": member} for member in members]}


def leave_static(at_ms: int, *members: tuple[MemberRef, str | None]) -> Step:
    """A LeaveGroup of members each with its instance id (KIP-345, version 3)."""
    identities = [{"member": member, "instance_id": instance_id} for member, instance_id in members]
    return {"at_ms": at_ms, "request": "leave", "members": identities}


def commit(at_ms: int, member: MemberRef, generation: int, offset: int = 5, **fields: Any) -> Step:
    """An OffsetCommit of partition t-0."""
    return {
        "at_ms": at_ms,
        "request": "commit",
        "member": member,
        "generation": generation,
        "offsets": [["t", 0, offset]],
        **fields,
    }


def fetch(at_ms: int, *partitions: int) -> Step:
    """An OffsetFetch of partitions of topic t, by default of t-0."""
    return {"at_ms": at_ms, "request": "fetch", "topics": [["t", partition] for partition in partitions or (0,)]}


def tick(at_ms: int) -> Step:
    """Time goes by."""
    return {"at_ms": at_ms, "request": "tick"}


def fail_store(at_ms: int, error: str) -> Step:
    """From now on writes to the log end so."""
    return {"at_ms": at_ms, "request": "fail_store", "error": error}


def hold_store(at_ms: int, *, held: bool = True) -> Step:
    """From now on writes to the log do not end by themselves, or do so again."""
    return {"at_ms": at_ms, "request": "hold_store", "held": held}


def finish_store(at_ms: int) -> Step:
    """The writes that were held end."""
    return {"at_ms": at_ms, "request": "finish_store"}


def unload(at_ms: int) -> Step:
    """The group's partition of the offsets topic moves away."""
    return {"at_ms": at_ms, "request": "unload"}


def load(at_ms: int) -> Step:
    """The group's partition of the offsets topic comes back."""
    return {"at_ms": at_ms, "request": "load"}


def check_offsets(at_ms: int) -> Step:
    """The periodic search for expired offsets."""
    return {"at_ms": at_ms, "request": "check_offsets"}


def joined(members: int, instances: Mapping[int, str] | None = None, **fields: Any) -> tuple[Step, ...]:
    """New members 0, 1, ... join at once and have their answers of generation 1 at ``FORMED_MS``."""
    joins = (join(0, **_instance(instances, number), **fields) for number in range(members))
    return (*joins, tick(FORMED_MS))


def stable(members: int, instances: Mapping[int, str] | None = None, **fields: Any) -> tuple[Step, ...]:
    """As ``joined``, and all of them have synced at ``FORMED_MS``: followers first, then the leader, 0."""
    return (*joined(members, instances, **fields), *syncs(FORMED_MS, 1, range(members), instances=instances))


def syncs(
    at_ms: int, generation: int, members: Iterable[int], leader: int = 0, instances: Mapping[int, str] | None = None
) -> tuple[Step, ...]:
    """All these members sync, the leader last; member 3 is given the text ``for 3``."""
    numbers = list(members)
    followers = (
        sync(at_ms, number, generation, **_instance(instances, number)) for number in numbers if number != leader
    )
    given = {number: f"for {number}" for number in numbers}
    return (*followers, sync(at_ms, leader, generation, given, **_instance(instances, leader)))


def _instance(instances: Mapping[int, str] | None, number: int) -> dict[str, Any]:
    return {"instance_id": instances[number]} if instances and number in instances else {}
