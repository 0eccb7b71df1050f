"""Parts of episodes as groups to simulate: with the members of their first generation, and what happened then."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rebalance_sim.engine.audit.changes import is_possible
from rebalance_sim.engine.audit.group import Group, TopicFacts
from rebalance_sim.engine.audit.thresholds import Thresholds
from rebalance_sim.engine.groups.whole_groups import REJECT_REASON
from rebalance_sim.engine.tables.arrow import arrow_type, list_offsets, lists, numbers
from rebalance_sim.engine.tables.topic_metadata import TopicMetadata
from rebalance_sim.kafka.brokers import Brokers
from rebalance_sim.kafka.clients.library import PROTOCOL
from rebalance_sim.kafka.history.changes import Generation, Participant
from rebalance_sim.kafka.history.replay import Replay
from rebalance_sim.kafka.runtime.lists import gather
from rebalance_sim.kafka.runtime.strings import Flags
from rebalance_sim.tables import CLASSIC, DEFAULT_PROTOCOL_TYPE, ELECTIONS, EVENTS, MEMBERS, TOPICS

Change = tuple[str, str]
"""A setting and its value."""
_OF_PARTICIPANT = ("member_id", "instance_id", "client_id", "host", "session_timeout_ms", "rebalance_timeout_ms")
_OF_CLIENT = ("protocol", "protocols", "protocols_assumed", "client_id", "client_library", "client_version")
"""Columns that decide which settings a group can change, beside which members are static and which one leads."""
OF_MEMBER = (*_OF_PARTICIPANT, *_OF_CLIENT, "subscription", "join_order", "assigned")
"""Columns of members that are read, beside those of simulations."""
_OF_EVENT = (
    "subscription", "protocols", "instance_id", "client_id", "rack", "session_timeout_ms", "rebalance_timeout_ms"
)  # fmt: skip
"""Columns that members have in the events in which they join, or subscribe to other topics."""


class ReplayedParts:
    """Parts of episodes that can be replayed: all times are known, and the topics of all members."""

    def __init__(self, batch: pa.RecordBatch, start_ms: int) -> None:
        """Take parts as ``prevention`` nests them."""
        self._generations = batch.column("generations").flatten()
        self._first_member = list_offsets(self._generations.field("members"))
        self._members: pa.StructArray = self._generations.field("members").flatten()
        first_generation = list_offsets(batch.column("generations")).tolist()
        all_parts = [range(*ends) for ends in pairwise(first_generation)]
        past = self._past()
        found = [
            (place, Replay.of([past[number] for number in part], start_ms)) for place, part in enumerate(all_parts)
        ]
        replayed = [(place, replay) for place, replay in found if replay is not None]
        self._parts = [all_parts[place] for place, _ in replayed]
        self._replays = [replay for _, replay in replayed]
        self.rows = batch.take(pa.array([place for place, _ in replayed], pa.int32()))

    @cached_property
    def names(self) -> pa.Array:
        """The name of each part: the cluster in which it is simulated, which has its topics.

        Random numbers are functions of it.
        """
        first = self._generations.field("generation").take(pa.array([part.start for part in self._parts], pa.int32()))
        of = [self.rows.column(name).cast(pa.string()) for name in ("cluster", "group_id", "recreated", "episode")]
        return pc.binary_join_element_wise(*of, first.cast(pa.string()), "\0")

    @property
    def generations(self) -> pa.Array:
        """How many generations each part has, without the one that it begins with."""
        return pa.array([len(part) - 1 for part in self._parts], pa.int64())

    @property
    def topics(self) -> TopicMetadata:
        """The topics of each part as a table of topics."""
        rows = [
            {"cluster": name, "topic": topic, "partitions": partitions}
            for name, replay in zip(self.names.to_pylist(), self._replays, strict=True)
            for topic, partitions in replay.partitions.items()
        ]
        return TopicMetadata(pa.Table.from_pylist(rows, pa.schema(list(arrow_type(TOPICS.schema)))))

    def nested(self, columns: Sequence[str]) -> pa.RecordBatch:
        """Return the parts as groups, as ``collect_members`` and ``collect_events`` nest their members and events."""
        arrays = {
            "cluster": self.names,
            "group_id": self.rows.column("group_id"),
            "members": self._first_members(columns),
            "rejected_members": pa.array(np.zeros(len(self._parts), np.int32)),
            REJECT_REASON: pa.nulls(len(self._parts), pa.string()),
            "events": self._events(),
        }
        return pa.RecordBatch.from_arrays([*arrays.values()], names=[*arrays])

    def possible(self, brokers: Brokers, changes: tuple[Change, ...]) -> Flags:
        """Return, by part and change, whether the clients can make the change, as an audit would see them.

        These are the members of the last generation that has any. Where their library is uncertain, all that it may be
        must have the setting.
        """
        columns = {name: self._members.field(name).to_pylist() for name in _OF_CLIENT}
        columns["protocols"] = [tuple(names or ()) for names in columns["protocols"]]
        leads = numbers(pc.equal(self._members.field("join_order"), 0).fill_null(False))
        clients = [*zip(*columns.values(), self._is_static.tolist(), leads.tolist(), strict=True)]
        ends, group_ids = self._first_member.tolist(), self.rows.column("group_id").to_pylist()
        found = np.zeros((len(self._parts), len(changes)), np.bool_)
        for place, part in enumerate(self._parts):
            last = next((number for number in reversed(part) if ends[number] < ends[number + 1]), None)
            if last is not None:
                members = tuple(clients[ends[last] : ends[last + 1]])
                found[place] = _possible(group_ids[place], brokers, members, changes)
        return found

    def have_members(self, static: bool) -> Flags:
        """Return whether parts have any static member, or any other."""
        before = np.concatenate([[0], np.cumsum(self._is_static == static)])[self._first_member]
        return np.array([before[part.stop] > before[part.start] for part in self._parts], np.bool_)

    @cached_property
    def _is_static(self) -> Flags:
        return numbers(_are_static(self._members)).astype(np.bool_)

    # ---- what happened

    def _past(self) -> list[Generation]:
        """Return all generations; without a time if the topics of a member are unknown, so that none is replayed."""
        columns = {name: self._members.field(name) for name in _OF_PARTICIPANT}
        columns |= {name: columns[name].fill_null("") for name in ("client_id", "host")}
        topics = [None if names is None else tuple(names) for names in self._members.field("subscription").to_pylist()]
        participants = [*map(Participant, *(column.to_pylist() for column in columns.values()), topics)]
        sizes, ends = self._sizes(), self._first_member.tolist()
        numbers_and_times = (self._generations.field(name).to_pylist() for name in ("generation", "completed_at_ms"))
        past = []
        for place, (number, at_ms) in enumerate(zip(*numbers_and_times, strict=True)):
            members = tuple(participants[ends[place] : ends[place + 1]])
            known = all(member.topics is not None for member in members)
            past.append(Generation(number, members, at_ms=at_ms if known else None, partitions=sizes[place]))
        return past

    def _sizes(self) -> list[dict[str, int]]:
        """Return the numbers of partitions by topic, as the assignments of each generation show them."""
        assigned = self._members.field("assigned")
        flat = assigned.flatten()
        generation_of_member = np.repeat(np.arange(len(self._generations)), np.diff(self._first_member))
        places = np.repeat(generation_of_member, np.diff(list_offsets(assigned)))
        partitions = pa.table({"place": places, "topic": flat.field("topic"), "partition": flat.field("partition")})
        last = partitions.group_by(["place", "topic"], use_threads=False).aggregate([("partition", "max")])
        sizes: list[dict[str, int]] = [{} for _ in range(len(self._generations))]
        for place, topic, partition in zip(
            *(last[name].to_pylist() for name in ("place", "topic", "partition_max")), strict=True
        ):
            sizes[place][topic] = partition + 1
        return sizes

    # ---- groups

    def _first_members(self, columns: Sequence[str]) -> pa.ListArray:
        """Return the members with which each part begins; they own what they were assigned."""
        firsts = np.array([part.start for part in self._parts], np.int64)
        sizes = np.diff(self._first_member)[firsts]
        offsets, chosen = gather(self._first_member[firsts], sizes)
        members = self._members.take(pa.array(chosen))
        of_first = self._generations.field("generation").take(pa.array(np.repeat(firsts, sizes)))
        own = {"member_id": _consumers(members), "owned": members.field("assigned"), "generation": of_first}
        fields = [field for field in arrow_type(MEMBERS.schema) if field.name in columns]
        arrays = [own.get(field.name, _column(members, field.name)).cast(field.type) for field in fields]
        return lists(offsets.astype(np.int32), pa.StructArray.from_arrays(arrays, fields=fields))

    def _events(self) -> pa.ListArray:
        """Return the events of each part; ``row`` names no row of an events table."""
        steps = [step for replay in self._replays for step in replay.steps]
        offsets = np.cumsum([0, *(len(replay.steps) for replay in self._replays)]).astype(np.int32)
        described = self._members.take(pa.array([*self._described()], pa.int32()))
        own: dict[str, list[Any]] = {
            "at_ms": [step.at_ms for step in steps],
            "event": [step.kind.value for step in steps],
            "member_id": [step.consumer for step in steps],
            "down_ms": [step.down_ms for step in steps],
            "topic": [step.topic or None for step in steps],
            "partitions": [step.partitions or None for step in steps],
            "row": [""] * len(steps),
        }
        fields = {field.name: field.type for field in arrow_type(EVENTS.schema)} | {"row": pa.string()}
        columns = {name: pa.array(values, fields[name]) for name, values in own.items()}
        columns |= {name: described.field(name).cast(fields[name]) for name in _OF_EVENT}
        arrays = [columns.get(name, pa.nulls(len(steps), of)) for name, of in fields.items()]
        return lists(offsets, pa.StructArray.from_arrays(arrays, names=[*fields]))

    def _described(self) -> Iterator[int | None]:
        """Yield, by step, the last of the rows of the member that joins or subscribes to other topics; None without."""
        ids = self._members.field("member_id").to_pylist()
        for part, replay in zip(self._parts, self._replays, strict=True):
            place_of: dict[str, int] = {}
            if any(step.member_id for step in replay.steps):
                places = range(self._first_member[part.start], self._first_member[part.stop])
                place_of = {ids[place]: place for place in places}
            yield from (None if step.member_id is None else place_of[step.member_id] for step in replay.steps)


def _column(members: pa.StructArray, name: str) -> pa.Array:
    return members.field(name) if members.type.get_field_index(name) >= 0 else pa.nulls(len(members))


def _consumers(members: pa.StructArray) -> pa.Array:
    """Return the names of members in a replay: their instance ids, or else their member ids."""
    return pc.if_else(_are_static(members), members.field("instance_id"), members.field("member_id"))


def _are_static(members: pa.StructArray) -> pa.Array:
    return pc.greater(pc.binary_length(members.field("instance_id")), 0).fill_null(False)


@lru_cache(maxsize=4096)
def _possible(
    group_id: str, brokers: Brokers, clients: tuple[tuple[Any, ...], ...], changes: tuple[Change, ...]
) -> list[bool]:
    """Return whether clients can make changes; most parts of a group have the same clients."""
    rows: dict[str, list[dict[str, Any]]] = defaultdict(list)
    usual = dict.fromkeys(MEMBERS.names) | {"protocol_type": DEFAULT_PROTOCOL_TYPE}
    for place, (*values, is_static, _) in enumerate(clients):
        ids = {"member_id": str(place), "instance_id": str(place) if is_static else None}
        rows[MEMBERS.name].append(usual | dict(zip(_OF_CLIENT, values, strict=True)) | ids)
    leader = next((str(place) for place, (*_, leads) in enumerate(clients) if leads), None)
    election = {"type": CLASSIC, "protocol": clients[0][0], "leader_id": leader, "members": len(clients), "refused": []}
    rows[ELECTIONS.name] = [dict.fromkeys(ELECTIONS.names) | election]
    group = Group("", group_id, rows, brokers, TopicFacts())
    return [
        is_possible(group, setting, value, Thresholds()) and not (setting == PROTOCOL and group.migration.assumes)
        for setting, value in changes
    ]
