"""What changed from one generation of a group to the next, from what the coordinator stored of each.

The generations of a group come one after the other. What is kept of earlier ones is bounded: the members of the last
one, the owners of each partition, and members that left a short time ago.
"""

import re
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from rebalance_sim.kafka.wire.consumer_protocol import TopicPartition

_LONGEST_MS = 2**63 - 1
_UUID = r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_MADE_AT_START = re.compile(rf"consumer-(.+-)?\d+|.+-{_UUID}(-StreamThread-\d+-consumer)?")
"""Client ids that may be others after a restart: Java's consumers without one are numbered by process, and processes of
Kafka Streams have random ids."""
MOST_DEPARTED = 10_000
"""How many members that left are remembered."""


class Kind(StrEnum):
    """The type of a group, as Kafka's command-line tools print it."""

    CLASSIC = "classic"
    CONSUMER = "consumer"


class Participant(NamedTuple):
    """A member of a generation."""

    member_id: str
    instance_id: str | None
    client_id: str
    host: str
    session_timeout_ms: int | None
    rebalance_timeout_ms: int | None
    topics: tuple[str, ...] | None = None
    """None if its subscription could not be read."""
    library: tuple[str | None, str | None] = (None, None)
    """The client library and its release."""
    sent: bytes | None = None
    """The bytes of its subscription."""
    owned: tuple[TopicPartition, ...] = ()
    """Partitions that it owned while it rejoined, which only members of a cooperative group do."""
    assigned: tuple[TopicPartition, ...] | None = None
    """None if its assignment could not be read."""

    @property
    def name(self) -> str:
        """The name by which its owner knows it: group.instance.id, or else client.id."""
        return self.instance_id or self.client_id or self.member_id


class Generation(NamedTuple):
    """A generation of a classic group, or an epoch of a consumer-protocol group."""

    number: int
    members: tuple[Participant, ...]
    leader: str | None = None
    at_ms: int | None = None
    """When its members had joined, or else when its record was written; None if neither is known."""
    partitions: Mapping[str, int] | None = None
    """Numbers of partitions by topic, where the coordinator stored them."""

    @property
    def sizes(self) -> dict[str, int]:
        """Numbers of partitions by topic: as the coordinator stored them, or else as its members show them."""
        if self.partitions is not None:
            return dict(self.partitions)
        shown: dict[str, int] = {}
        for topic, partition in _all_partitions(self):
            shown[topic] = max(shown.get(topic, 0), partition + 1)
        return shown


class GrownTopic(NamedTuple):
    """A topic with more partitions than before."""

    topic: str
    before: int
    partitions: int


class Change(NamedTuple):
    """The difference between two generations. Members are in the order of their ids."""

    before: Generation | None
    """The generation before; None for the first one."""
    now: Generation
    is_rewritten: bool = False
    """Whether the record repeats its generation: the coordinator stored the new id of a static member."""
    since_ms: int | None = None
    """Time since the generation before; None if it is unknown, if clocks ran backwards, or for a rewritten record."""
    skipped: int = 0
    """Generations between the two."""
    joined: tuple[Participant, ...] = ()
    perhaps_back: tuple[Participant, ...] = ()
    """Those of them that may be one that left before: their client ids are made when they start."""
    left: tuple[Participant, ...] = ()
    replaced: tuple[Participant, ...] = ()
    """Static members whose member id was replaced with a new one."""
    restarted: tuple[Participant, ...] = ()
    """New members with the client id and host, or the group.instance.id, of a member that left."""
    returned: tuple[str, ...] = ()
    """For each replaced or restarted member what stays the same: its first member id, or its group.instance.id."""
    changed_subscription: tuple[Participant, ...] = ()
    changed_library: tuple[Participant, ...] = ()
    sent_other_bytes: tuple[Participant, ...] = ()
    """Members whose subscription has the same topics and other bytes, such as owned partitions or user data."""
    topics_added: tuple[str, ...] = ()
    topics_removed: tuple[str, ...] = ()
    topics_grown: tuple[GrownTopic, ...] = ()
    revoked_before: int = 0
    """Partitions that members had to revoke after the generation before, so that they rejoined."""
    assigned: int | None = None
    """Partitions assigned; None if no assignment could be read."""
    moved: int = 0
    """Partitions assigned to another member than the last time. A replaced or restarted member is the same member."""
    moved_back: int = 0
    """Those of them whose new owner is the one before the last."""


@dataclass
class GroupHistory:
    """Compares each generation of a group with the one before.

    >>> history = GroupHistory()
    >>> member = Participant("c-1", None, "c", "/h", 45_000, 300_000)
    >>> history.next(Generation(1, (member,))).before is None
    True
    >>> change = history.next(Generation(2, (member._replace(member_id="c-2"),)))
    >>> [each.member_id for each in change.restarted], change.joined, change.left
    (['c-2'], (), ())
    """

    last: Generation | None = None
    _same: dict[str, str] = field(default_factory=dict)
    _departed: dict[tuple[str | None, str], deque[tuple[Participant, str]]] = field(
        default_factory=lambda: defaultdict(deque)
    )
    """Members that left, by client id and host, with what ``_same`` had of them."""
    _departures: int = 0
    _unrecognizable: Counter[str] = field(default_factory=Counter)
    """How many of them would have other client ids, by host."""
    _owners: dict[TopicPartition, str] = field(default_factory=dict)
    _owners_before: dict[TopicPartition, str] = field(default_factory=dict)
    _partitions: dict[str, int] = field(default_factory=dict)
    """The most partitions seen of each topic."""

    @property
    def consumers(self) -> Mapping[str, str]:
        """For each member of the last generation, the first member id that it had, or its group.instance.id."""
        return self._same

    def forget_departed(self) -> None:
        """Forget members that left: later ones with their client id and host are new."""
        self._departed.clear()
        self._unrecognizable.clear()
        self._departures = 0

    def next(self, now: Generation) -> Change:
        """Return what has changed since the generation before, and take this one for the last."""
        before, self.last = self.last, now
        old = {} if before is None else {member.member_id: member for member in before.members}
        new = {member.member_id: member for member in now.members}
        came = sorted((new[name] for name in new.keys() - old.keys()), key=_id)
        gone = sorted((old[name] for name in old.keys() - new.keys()), key=_id)
        self._depart(gone)
        returned = {member.member_id: earlier for member in came if (earlier := self._earlier(member))}
        back_now = {earlier.member_id for earlier, _ in returned.values()}
        replaced = {name for name, (earlier, _) in returned.items() if earlier.instance_id and earlier.member_id in old}
        same = {name: self._same[name] if name in old else new[name].instance_id or name for name in new}
        same |= {name: identity for name, (_, identity) in returned.items()}
        pairs = [(old[name], new[name]) for name in sorted(new.keys() & old.keys())]
        pairs += [(earlier, new[name]) for name, (earlier, _) in returned.items()]
        self._same = same
        had, has = set() if before is None else _topics(before), _topics(now)
        grown = self._grown(now)
        revoked = _revoked(before) if before is not None else 0
        moved, moved_back, assigned = self._moves(now)
        joined = tuple(each for each in came if before is not None and each.member_id not in returned)
        return Change(
            before,
            now,
            is_rewritten=before is not None and now.number == before.number,
            since_ms=_since(before, now),
            skipped=0 if before is None else max(now.number - before.number - 1, 0),
            joined=joined,
            perhaps_back=tuple(each for each in joined if _is_made_at_start(each) and self._unrecognizable[each.host]),
            left=tuple(member for member in gone if member.member_id not in back_now),
            replaced=tuple(member for member in came if member.member_id in replaced),
            restarted=tuple(each for each in came if each.member_id in returned and each.member_id not in replaced),
            returned=tuple(sorted(identity for _, identity in returned.values())),
            changed_subscription=_which(pairs, lambda a, b: a.topics is not None and _differ(a.topics, b.topics)),
            changed_library=_which(pairs, lambda a, b: a.library != b.library),
            sent_other_bytes=_which(pairs, lambda a, b: not _differ(a.topics, b.topics) and a.sent != b.sent),
            topics_added=() if before is None else tuple(sorted(has - had)),
            topics_removed=tuple(sorted(had - has)),
            topics_grown=grown,
            revoked_before=revoked,
            assigned=assigned,
            moved=moved,
            moved_back=moved_back,
        )

    def _depart(self, gone: Iterable[Participant]) -> None:
        if self._departures > MOST_DEPARTED:
            self.forget_departed()
        for member in gone:
            self._departed[_identity(member)].append((member, self._same[member.member_id]))
            self._departures += 1
            self._unrecognizable[member.host] += _is_made_at_start(member)

    def _earlier(self, member: Participant) -> tuple[Participant, str] | None:
        """Return the member that left and is back under a new member id, if there is one."""
        departed = self._departed.get(_identity(member))
        if not departed:
            return None
        self._departures -= 1
        self._unrecognizable[member.host] -= _is_made_at_start(departed[0][0])
        return departed.popleft()

    def _grown(self, now: Generation) -> tuple[GrownTopic, ...]:
        sizes, known = now.sizes, self._partitions
        grown = [GrownTopic(topic, known[topic], n) for topic, n in sizes.items() if n > known.get(topic, n)]
        known |= {topic: max(n, known.get(topic, 0)) for topic, n in sizes.items()}
        return tuple(sorted(grown))

    def _moves(self, now: Generation) -> tuple[int, int, int | None]:
        """Return how many partitions moved, moved back, and are assigned."""
        moved = back = assigned = 0
        for member in now.members:
            owner = self._same[member.member_id]
            for partition in member.assigned or ():
                assigned += 1
                last = self._owners.get(partition, owner)
                if last != owner:
                    moved += 1
                    back += self._owners_before.get(partition) == owner
                    self._owners_before[partition] = last
                self._owners[partition] = owner
        is_known = all(member.assigned is not None for member in now.members)
        return moved, back, assigned if is_known else None


def _id(member: Participant) -> str:
    return member.member_id


def _is_made_at_start(member: Participant) -> bool:
    return member.instance_id is None and _MADE_AT_START.fullmatch(member.client_id) is not None


def _identity(member: Participant) -> tuple[str | None, str]:
    """Return what a member keeps when it gets a new member id."""
    return (None, member.instance_id) if member.instance_id is not None else (member.client_id, member.host)


def _differ(a: tuple[str, ...] | None, b: tuple[str, ...] | None) -> bool:
    return a is not None and b is not None and a != b and set(a) != set(b)


def _which(
    pairs: Sequence[tuple[Participant, Participant]], differ: Callable[[Participant, Participant], bool]
) -> tuple[Participant, ...]:
    found = [new for old, new in pairs if differ(old, new)]
    return tuple(sorted(found, key=_id)) if found else ()


def _since(before: Generation | None, now: Generation) -> int | None:
    if before is None or before.at_ms is None or now.at_ms is None:
        return None
    since_ms = now.at_ms - before.at_ms
    return since_ms if 0 <= since_ms <= _LONGEST_MS and now.number != before.number else None


def _topics(generation: Generation) -> set[str]:
    return {topic for member in generation.members for topic in member.topics or ()}


def _all_partitions(generation: Generation) -> Iterator[TopicPartition]:
    for member in generation.members:
        yield from member.owned
        yield from member.assigned or ()


def _revoked(generation: Generation) -> int:
    """Return the partitions that members owned while they joined, and that were not assigned to them again.

    A member that has to revoke some rejoins as soon as it has done so (``ConsumerCoordinator.onJoinComplete``).
    """
    return sum(
        len(set(member.owned) - set(member.assigned))
        for member in generation.members
        if member.owned and member.assigned is not None
    )
