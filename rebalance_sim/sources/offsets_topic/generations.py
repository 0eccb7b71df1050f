"""The generations of groups, from all records of ``__consumer_offsets`` that are about their members.

Records of a group come one after the other, in the order in which its coordinator wrote them. A classic group has one
record per generation: its coordinator writes it when the leader has sent the assignment, when the group becomes empty,
and again when a static member is replaced in a stable group (``GroupCoordinator.doSyncGroup``, ``onCompleteJoin`` and
``updateStaticMemberAndRebalance``; Java's coordinator also when it creates a group). It contains the time at which the
group last changed its state: for a generation with members, when they had joined. A consumer-protocol group has records
of its members and of their target assignments; each change of members is followed by a record with the new group epoch,
each computed target by one with the epoch that it is for.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple

import pyarrow as pa

from rebalance_sim.engine.tables.arrow import arrow_type
from rebalance_sim.kafka.clients.recognition import Signs
from rebalance_sim.kafka.history.causes import explain
from rebalance_sim.kafka.history.changes import Generation, GroupHistory, Kind, Participant
from rebalance_sim.kafka.history.episodes import Episode, is_close
from rebalance_sim.kafka.wire.consumer_protocol import decode_assignment, decode_sent_subscription, member_data
from rebalance_sim.kafka.wire.offsets_topic import (
    GroupMember,
    GroupMetadata,
    Key,
    RecordType,
    Value,
    decode_key,
    decode_value,
)
from rebalance_sim.kafka.wire.readable import INT16, SchemaError
from rebalance_sim.sources.client_columns import client_columns
from rebalance_sim.sources.offsets_topic.commits import OF_EPOCHS
from rebalance_sim.sources.offsets_topic.consumer_epochs import ConsumerGroup, Epoch
from rebalance_sim.sources.offsets_topic.fleet import ASSIGNED, RECORD
from rebalance_sim.sources.offsets_topic.gaps import Position
from rebalance_sim.sources.offsets_topic.generation_rows import Rows, Values, episode_columns, generation_columns
from rebalance_sim.sources.offsets_topic.reading import Reading
from rebalance_sim.sources.offsets_topic.stored_members import (
    LONGEST_SAMPLE,
    as_json,
    in_hex,
    set_protocols,
    stored_columns,
)
from rebalance_sim.sources.offsets_topic.text import BadText, NotPrinted, Printed, read_printed
from rebalance_sim.sources.sent_subscriptions import columns_of_sent
from rebalance_sim.tables import DEFAULT_PROTOCOL_TYPE, INT, LONG, MEMBERS, STRING, struct

PRINTED = struct(
    {"file": STRING, "block": LONG, "line": LONG, "nth": INT, "text": STRING, "type": INT, "group_id": STRING}
)
"""A printed record: its place, the text of its line, its type and its group."""
_NOWHERE = Position(None, None)
_ASSIGNMENT = GroupMember._fields.index("assignment")
"""The last field of a member, which changes most often."""
_FIRST_GENERATION = 1
"""The first generation with members; Java's coordinator also writes 0, when it creates a group."""


class Stored(NamedTuple):
    """What the coordinator stored of a generation."""

    kind: Kind
    generation: Generation
    members: list[Values]
    """Rows of ``generation_members`` without the columns of the group."""
    columns: Values
    """Columns of ``generations``."""
    rejects: list[Values]


def read_batches(reading: Reading, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Turn records, sorted by group and position, into rows of ``generation_rows.ROW``."""
    reader = _Reader(reading)
    for batch in batches:
        columns = [batch.column(name).to_pylist() for name in ("key", "value", "partition", "offset", "recorded_at_ms")]
        for key, value, *position in zip(*columns, strict=True):
            reader.read(key, value, Position(*position))
            if reader.rows.are_many:
                yield reader.rows.taken()
    reader.end()
    yield reader.rows.taken()


def place_batches(groups: frozenset[str], batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Find the records in printed lines; those that the history needs keep their text."""
    fields = arrow_type(PRINTED)
    for batch in batches:
        columns = [batch.column(name).to_pylist() for name in ("file", "block", "line", "text")]
        rows = []
        for *place, text in zip(*columns, strict=True):
            for nth, record in enumerate(read_printed(text or "")):
                group_id, number, is_needed = _about(record, groups)
                rows.append((*place, nth, text if is_needed else None, number, group_id))
        values = zip(*rows, strict=True) if rows else ((),) * len(PRINTED)
        arrays = [pa.array(column, of.type) for column, of in zip(values, fields, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, names=PRINTED.names)


def _about(record: Printed | NotPrinted | BadText, groups: frozenset[str]) -> tuple[str | None, int | None, bool]:
    """Return the group and type of a printed record, and whether the history needs it."""
    match record:
        case Printed():
            is_wanted = not groups or record.key.group_id in groups
            is_group = record.key.type is RecordType.GROUP_METADATA
            return record.key.group_id, record.key.type.value, is_group and is_wanted
        case NotPrinted():
            return None, record.type, False
        case BadText():
            return None, None, True


def read_printed_batches(reading: Reading, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Turn rows of ``place_batches``, sorted by group and place, into rows of ``generation_rows.ROW``."""
    reader = _Reader(reading)
    for batch in batches:
        columns = [batch.column(name).to_pylist() for name in ("file", "block", "line", "nth", "text")]
        for *place, nth, text in zip(*columns, strict=True):
            record = next(islice(read_printed(text), nth, None))
            reader.read_printed(record, dict(zip(("file", "block", "line"), place, strict=True)))
            if reader.rows.are_many:
                yield reader.rows.taken()
    reader.end()
    yield reader.rows.taken()


_key = lru_cache(maxsize=1)(decode_key)
"""The records of a classic group, which follow each other, have one key."""


class _Reader:
    """Reads one record after the other."""

    def __init__(self, reading: Reading) -> None:
        self.rows = Rows()
        self._reading = reading
        self._group: _Group | None = None
        self._last: tuple[object, ...] = ()

    def read(self, key: bytes | None, value: bytes | None, position: Position) -> None:
        """Read a record, unless it is the last one again, from another dump."""
        record = (key, value, position.partition, position.offset)
        if record == self._last and position.offset is not None:
            return
        self._last = record
        name: Key | None = None
        try:
            if key is None:
                raise SchemaError("record key: null")
            name = _key(key)
            decoded = None if value is None else decode_value(name.type, value)
        except SchemaError as problem:
            row = {
                "partition": position.partition,
                "offset": position.offset,
                "key": in_hex(key),
                "value": in_hex(value),
            }
            self._reject(key, None if name is None else name.group_id, as_json(row), str(problem))
            return
        self.add(name, decoded, position)

    def read_printed(self, record: Printed | NotPrinted | BadText, place: Values) -> None:
        """Read a record that was printed."""
        if isinstance(record, Printed):
            self.add(record.key, record.value, _NOWHERE)
        elif isinstance(record, BadText):
            self._reject(None, None, as_json({**place, "text": record.text[:LONGEST_SAMPLE]}), record.reason)

    def add(self, key: Key, value: Value | None, position: Position) -> None:
        """Add a decoded record."""
        if self._group is None or self._group.group_id != key.group_id:
            self.end()
            self._group = _Group(key.group_id, self._reading, self.rows)
        if key.type is RecordType.GROUP_METADATA:
            self._group.add_classic(value, position)
        else:
            self._group.add_of_consumers(key, value, position)

    def end(self) -> None:
        """End the group that was read last."""
        if self._group is not None:
            self._group.end()

    def _reject(self, key: bytes | None, group_id: str | None, row: str, reason: str) -> None:
        number = int.from_bytes(key[:2]) if key is not None and len(key) >= INT16.size else None
        cluster = self._reading.cluster
        rejected = {"table": RECORD, "cluster": cluster, "group_id": group_id, "row": row, "reason": reason}
        self.rows.add(type=number, rejects=[rejected])


class _Group:
    """The history of a group as far as it has been read."""

    def __init__(self, group_id: str, reading: Reading, rows: Rows) -> None:
        self.group_id = group_id
        self._reading = reading
        self._rows = rows
        self._kind: Kind | None = None
        self._history = GroupHistory()
        self._consumers = ConsumerGroup(group_id, reading)
        self._classic_members: dict[str, _Sent] = {}
        self._episode: Episode | None = None
        self._episodes = self._recreated = 0
        self._began = ""
        """Why there is nothing before the first generation, if that is known."""
        self._last: Position | None = None
        self._completed_at_ms: int | None = None
        self._names = {"cluster": reading.cluster, "group_id": group_id}

    def add_classic(self, value: Value | None, position: Position) -> None:
        """Add a record of a classic group."""
        if not isinstance(value, GroupMetadata):
            if self._kind is Kind.CLASSIC:
                self._begin_anew(None, "the group was deleted before")
            return
        if self._kind is Kind.CONSUMER:
            self._end_of_consumers()
        self._become(Kind.CLASSIC, value.generation)
        self._add(self._classic(value, position), position)

    def add_of_consumers(self, key: Key, value: Value | None, position: Position) -> None:
        """Add a record of a consumer-protocol group."""
        epoch = self._consumers.add(key, value, position)
        if epoch is not None:
            self._add_epoch(epoch)
        if key.type is RecordType.CONSUMER_GROUP_METADATA and value is None and self._kind is Kind.CONSUMER:
            self._end_of_consumers()
            self._begin_anew(None, "the group was deleted before")

    def end(self) -> None:
        """Write what waits for further records."""
        self._end_of_consumers()
        self._end_episode()

    # ---- groups

    def _become(self, kind: Kind, generation: int) -> None:
        """Begin anew if the group has another type, or if its generations do not continue."""
        last = self._history.last
        if self._kind is not None and self._kind is not kind:
            self._begin_anew(kind, f"the group used the {self._kind} protocol before")
        elif last is not None and generation < last.number:
            self._begin_anew(kind, f"its generations began anew after generation {last.number}: it was deleted between")
        self._kind = kind

    def _begin_anew(self, kind: Kind | None, why: str) -> None:
        self._end_episode()
        self._kind, self._began = kind, why
        self._history = GroupHistory()
        self._classic_members = {}
        self._last = None
        self._recreated += 1

    def _end_of_consumers(self) -> None:
        waiting = self._consumers.taken()
        if waiting is not None:
            self._add_epoch(waiting)

    def _add_epoch(self, epoch: Epoch) -> None:
        self._become(Kind.CONSUMER, epoch.number)
        members = tuple(each.participant for each in epoch.members)
        generation = Generation(epoch.number, members, None, epoch.position.recorded_at_ms, epoch.partitions)
        rejects = [
            {"table": ASSIGNED, **self._names, "row": as_json(row), "reason": reason} for row, reason in epoch.rejects
        ]
        columns = [each.columns for each in epoch.members]
        self._add(
            Stored(Kind.CONSUMER, generation, columns, {"converged_ms": epoch.converged_ms}, rejects), epoch.position
        )

    # ---- generations

    def _add(self, stored: Stored, position: Position) -> None:
        """Write a generation."""
        before, now = self._history.last, stored.generation
        if before is not None and before.number == now.number:
            # The record of a replaced static member has the time at which the group became stable.
            now = now._replace(at_ms=before.at_ms)
        else:
            self._completed_at_ms = stored.columns.get("completed_at_ms")
        episode = self._episode_of(before, now)
        missing = self._missing(position)
        self._last = position
        change = self._history.next(now)
        explained = explain(change, may_lack_records=missing != "", earlier=self._earlier(missing, now.number))
        episode.add(change, explained)
        if not self._reading.shows(now.at_ms, now.at_ms):
            return
        of_group = {
            **self._names,
            "recreated": self._recreated,
            "generation": now.number,
            "completed_at_ms": self._completed_at_ms,
            "protocol": stored.columns.get("protocol"),
            "record_partition": position.partition,
            "record_offset": position.offset,
            "recorded_at_ms": position.recorded_at_ms,
        }
        columns = {
            **stored.columns,
            **generation_columns(change, explained),
            **of_group,
            "type": stored.kind.value,
            "complete": None if missing is None else not missing,
            "incomplete_reason": missing or None,
            "episode": episode.number,
            "downtime_reason": None if change.is_rewritten else self._without_downtime(stored.kind),
        }
        members = [] if change.is_rewritten else [{**member, **of_group} for member in stored.members]
        self._rows.add(1 + len(members), generation=columns, members=members, rejects=stored.rejects)

    def _without_downtime(self, kind: Kind) -> str | None:
        """Return why commits do not show a downtime, if that is known before they are read."""
        return self._reading.without_commits or (OF_EPOCHS if kind is Kind.CONSUMER else None)

    def _missing(self, position: Position) -> str | None:
        """Return which records may be missing before a generation; empty if none, None if that is unknown."""
        if position.offset is None:
            return None
        if self._last is None and self._began:
            return ""
        return self._reading.gaps.between(self._last or Position(position.partition, -1), position)

    def _earlier(self, missing: str | None, generation: int) -> str:
        """Return why there is no generation before the first."""
        if self._began:
            return self._began
        if not missing:
            is_new = missing == "" or generation <= _FIRST_GENERATION
            return "the group is new" if is_new else "earlier generations are not in the dump"
        if generation <= _FIRST_GENERATION:
            return "the group is new, or was deleted before: earlier records may be missing"
        return "earlier generations are not in the dump"

    def _episode_of(self, before: Generation | None, now: Generation) -> Episode:
        """Return the episode of a generation, a new one unless it follows closely."""
        if self._episode is not None and is_close(before, now):
            return self._episode
        self._end_episode()
        self._history.forget_departed()
        self._episodes += 1
        self._episode = Episode(self._episodes, now.number, now.at_ms)
        return self._episode

    def _end_episode(self) -> None:
        episode, self._episode = self._episode, None
        if episode is not None and self._reading.shows(episode.started_ms, episode.ended_ms):
            self._rows.add(episode={**self._names, **episode_columns(episode)})

    # ---- members of classic groups

    def _classic(self, group: GroupMetadata, position: Position) -> Stored:
        sent = [self._sent(group, member) for member in group.members]
        self._classic_members = {each.participant.member_id: each for each in sent}
        members = [{**each.columns, **stored_columns(group, each.member, place)} for place, each in enumerate(sent)]
        set_protocols(members, self.group_id, group, self._reading.as_stated)
        at_ms = position.recorded_at_ms if group.state_timestamp_ms is None else group.state_timestamp_ms
        generation = Generation(group.generation, tuple(each.participant for each in sent), group.leader, at_ms)
        columns = {
            "protocol_type": group.protocol_type,
            "completed_at_ms": group.state_timestamp_ms,
            "protocol": group.protocol,
            "leader_id": group.leader,
        }
        rejects = [self._rejected_member(each.member, each.problem) for each in sent if each.problem is not None]
        return Stored(Kind.CLASSIC, generation, members, columns, rejects)

    def _sent(self, group: GroupMetadata, member: GroupMember) -> "_Sent":
        """Decode what a member sent and was assigned, unless it is what it was in the generation before."""
        context = (group.protocol, group.protocol_type)
        earlier = self._classic_members.get(member.member_id)
        if earlier is None or earlier.context != context or earlier.joined.stored != member[:_ASSIGNMENT]:
            return _with_assignment(self._joined(group, member), member, context)
        if earlier.member.assignment == member.assignment:
            return earlier
        return _with_assignment(earlier.joined, member, context)

    def _joined(self, group: GroupMetadata, member: GroupMember) -> "_Joined":
        """Decode what a member sent to the leader, and recognize its client."""
        elected = (group.protocol,) if group.protocol else ()
        ids = (self.group_id, member.member_id, member.client_id, member.group_instance_id)
        signs = Signs(*ids, elected, protocol_type=group.protocol_type)
        stated = self._reading.as_stated.clients.of(self.group_id, member.client_id)
        names = (member.member_id, member.group_instance_id, member.client_id, member.client_host)
        timeouts = (member.session_timeout_ms, member.rebalance_timeout_ms)
        participant = Participant(*names, *timeouts, sent=member.subscription)
        stored = member[:_ASSIGNMENT]
        if group.protocol_type != DEFAULT_PROTOCOL_TYPE:
            columns = {**client_columns(signs, stated), "subscription": []}
            return _Joined(stored, columns, participant._replace(topics=()))
        shown: Values = {}
        sent = problem = None
        try:
            if member.subscription is not None:
                sent = decode_sent_subscription(member.subscription)
                data = member_data(sent.content, group.protocol)
                owned = None if data.owned is None else [each._asdict() for each in data.owned]
                shown |= {"owned": owned, "owned_generation": data.generation}
                participant = participant._replace(topics=sent.content.topics, owned=sent.content.owned or ())
        except SchemaError as error:
            problem = str(error)
        columns = client_columns(signs, stated) if sent is None else columns_of_sent(signs, sent, stated)
        columns |= shown
        participant = participant._replace(library=(columns["client_library"], columns["client_version"]))
        return _Joined(stored, columns, participant, problem)

    def _rejected_member(self, member: GroupMember, reason: str) -> Values:
        row = {"member_id": member.member_id, "client_id": member.client_id, "host": member.client_host}
        return {"table": MEMBERS.name, **self._names, "row": as_json(row), "reason": reason}


class _Joined(NamedTuple):
    """A member of a classic group without its assignment, decoded."""

    stored: tuple[Any, ...]
    """The fields of the record, which are decoded again only if they change."""
    columns: Values
    participant: Participant
    problem: str | None = None
    """Why its bytes cannot be decoded."""


class _Sent(NamedTuple):
    """A member of a classic group, decoded."""

    member: GroupMember
    context: tuple[str | None, str]
    """The group's protocol and its type."""
    joined: _Joined
    columns: Values
    participant: Participant
    problem: str | None = None
    """Why its bytes cannot be decoded."""


def _with_assignment(joined: _Joined, member: GroupMember, context: tuple[str | None, str]) -> _Sent:
    """Decode the assignment of a member, unless its subscription could not be decoded."""
    sent = _Sent(member, context, joined, *joined[1:])
    _, protocol_type = context
    if joined.problem is not None or member.assignment is None or protocol_type != DEFAULT_PROTOCOL_TYPE:
        return sent
    try:
        # The assignment is empty if the leader left the member out.
        assigned = decode_assignment(member.assignment).partitions if member.assignment else ()
    except SchemaError as error:
        return sent._replace(problem=str(error))
    columns = joined.columns | {"assigned": [each._asdict() for each in assigned]}
    return sent._replace(columns=columns, participant=joined.participant._replace(assigned=assigned))
