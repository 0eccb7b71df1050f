"""Batches of groups, and what will happen to them, as the arrays that the simulation takes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rebalance_sim.engine.arrow import codes, list_offsets, numbers, strings
from rebalance_sim.engine.group_batches import GroupBatch
from rebalance_sim.engine.topic_metadata import BatchTopics, TopicIndex
from rebalance_sim.kafka.assignors import FORGETFUL
from rebalance_sim.kafka.coordinator.classic_group import NONE
from rebalance_sim.kafka.coordinator.consumer_group import SERVER_ASSIGNORS
from rebalance_sim.kafka.coordinator.errors import Errors
from rebalance_sim.kafka.election import PreferenceLists
from rebalance_sim.kafka.groups import Assignments, Topics
from rebalance_sim.kafka.records import new_records
from rebalance_sim.kafka.simulation.fleet import Fleet, GroupTopics, Lists, Names
from rebalance_sim.kafka.simulation.model import Consumer, ScenarioEvent, ScenarioKind
from rebalance_sim.kafka.simulation.scenario import Scenario, Step
from rebalance_sim.kafka.strings import Flags, Ints, Ints32, java_hashes

KINDS = {kind.name.lower().replace("_", "-"): kind for kind in ScenarioKind}
"""Events by the names that scenarios and the events table have."""
_UUID = r"-[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$"
_SESSION_TIMEOUT_MS, _OLDER_SESSION_TIMEOUT_MS = 45_000, 10_000
"""session.timeout.ms of consumers since 3.0, and before."""
_MAX_POLL_INTERVAL_MS = 300_000


@dataclass(frozen=True)
class Happening:
    """An event that happens to one group."""

    group: int
    at_ms: int
    event: str
    consumer: int = NONE
    """Its place among the consumers of the group."""
    value: int = 0
    partitions: int = 0
    """Of grow: how many the topic has then; 0: ``value`` more than before."""
    names: tuple[str, ...] = ()
    """A subscription or protocols."""
    topic: str | None = None


@dataclass(frozen=True)
class Joiner:
    """A consumer that joins later."""

    group: int
    row: dict[str, Any]


def expand(scenario: Scenario, batch: GroupBatch) -> tuple[list[Joiner], list[Happening]]:
    """Tell what a scenario means for each group of a batch."""
    sizes = np.diff(batch.offsets)
    joiners: list[Joiner] = []
    happenings: list[Happening] = []
    places = sizes.copy()
    for step in scenario.steps:
        for group in range(len(sizes)):
            if step.event == "join":
                joiners += _join(step, batch, group, int(places[group]), happenings)
                places[group] += step.count if sizes[group] else 0
            else:
                happenings += _happen(step, group, int(sizes[group]))
    return joiners, happenings


def _join(step: Step, batch: GroupBatch, group: int, first: int, happenings: list[Happening]) -> list[Joiner]:
    """New consumers are as the first member, but for their names."""
    if batch.offsets[group] == batch.offsets[group + 1]:
        return []
    model = batch.members[int(batch.offsets[group])].as_py()
    known = first - int(batch.offsets[group + 1] - batch.offsets[group])
    joiners = []
    for number in range(step.count):
        row = dict(model) | {"member_id": f"new-{known + number + 1}", "client_id": f"new-{known + number + 1}"}
        row["instance_id"] = f"{row['instance_id']}-new-{known + number + 1}" if row["instance_id"] else None
        row |= {name: None for name in ("owned", "user_data") if name in row}
        row |= {"subscription": list(step.subscription)} if step.subscription else {}
        row |= {"protocols": list(step.protocols)} if step.protocols else {}
        joiners.append(Joiner(group, row))
        happenings.append(Happening(group, step.at_ms + number * step.every_ms, "join", first + number))
    return joiners


def _happen(step: Step, group: int, size: int) -> list[Happening]:
    happenings = []
    names = step.protocols or step.subscription
    for again in range(step.times):
        at_ms = step.at_ms + again * step.again_after_ms
        if step.event in ("grow", "move-coordinator", "fail-store"):
            value = {"grow": step.add, "fail-store": int(Errors[step.error])}.get(step.event, step.down_ms)
            happenings.append(Happening(group, at_ms, step.event, NONE, value, topic=step.topic))
            continue
        for turn, place in enumerate(step.members.of(size)):
            value = step.for_ms if step.event == "stall" else step.down_ms
            happenings.append(Happening(group, at_ms + turn * step.every_ms, step.event, place, value, names=names))
    return happenings


@dataclass(frozen=True)
class SimulatedGroups:
    """A batch of groups with all consumers that they will have, by group; members come first."""

    batch: GroupBatch
    """The members that there are at first."""
    consumers: GroupBatch
    happenings: Sequence[Happening]
    """In the order in which they are told; those of one time happen so."""
    index: TopicIndex
    eager: Sequence[str]
    """Protocols whose consumers give up everything before they join."""
    strategy: str | None
    """What all consumers offer; None: what they say."""
    older: bool
    """Whether consumers are older than 3.0."""
    scenario: Scenario
    forgetful: Sequence[str] = FORGETFUL
    """Protocols whose consumers do not tell, when they join again, what they were assigned last."""

    @classmethod
    def of(
        cls,
        batch: GroupBatch,
        joiners: Sequence[Joiner],
        happenings: Sequence[Happening],
        index: TopicIndex,
        eager: Sequence[str],
        strategy: str | None,
        older: bool,
        scenario: Scenario,
    ) -> "SimulatedGroups":
        """Put the consumers that join later behind the members of their groups."""
        return cls(batch, _with_joiners(batch, joiners), happenings, index, eager, strategy, older, scenario)

    @property
    def members(self) -> Ints32:
        """How many members each group has at first."""
        return np.diff(self.batch.offsets).astype(np.int32)

    @cached_property
    def played(self) -> list[Happening]:
        """The events that make a difference.

        Not a growth after which no topic of the group is larger, nor other protocols where all offer ``strategy``.
        """
        grown = {growth.happening for growth in self._growths}
        return [
            happening
            for number, happening in enumerate(self.happenings)
            if (happening.event != "grow" or number in grown)
            and (happening.event != "protocols" or self.strategy is None)
        ]

    @cached_property
    def is_member(self) -> Flags:
        """Whether a consumer is a member at first."""
        sizes = np.diff(self.consumers.offsets)
        place = np.arange(len(self.consumers.members)) - np.repeat(self.consumers.offsets[:-1], sizes)
        return place < np.repeat(self.members, sizes)

    @cached_property
    def _subscription_lists(self) -> tuple[Ints32, pa.Array, Ints32]:
        """Offsets and topics of all subscriptions: of the consumers, then of the events; and the group of each."""
        column = self.consumers.column("subscription")
        events = [happening for happening in self.happenings if happening.event == "subscribe"]
        lists = pa.concat_arrays(
            [
                column.cast(pa.list_(pa.string())),
                pa.array([list(event.names) for event in events], pa.list_(pa.string())),
            ]
        )
        groups = np.concatenate(
            [self.consumers.group_of_member(), np.array([event.group for event in events], np.int32)]
        )
        return list_offsets(lists), lists.flatten(), groups.astype(np.int32)

    @cached_property
    def found_topics(self) -> BatchTopics:
        """The topics of all subscriptions, and of what the members own, numbered."""
        offsets, names, groups = self._subscription_lists
        of_names = np.repeat(groups, np.diff(offsets))
        if self.batch.has("owned"):
            owned = self.batch.column("owned")
            names = pa.concat_arrays([names, owned.flatten().field("topic")])
            of_owned = np.repeat(self.batch.group_of_member(), np.diff(list_offsets(owned)))
            of_names = np.concatenate([of_names, of_owned])
        return self.index.find(self.batch.clusters, of_names.astype(np.int32), names)

    def topics_of_members(self, members: Ints32) -> BatchTopics:
        """Return the topics with the numbers of those that some members subscribe to, and then own."""
        offsets, _, _ = self._subscription_lists
        consumers = np.flatnonzero(self.is_member)[members]
        subscribed = _entries(offsets, consumers)
        given = [self.found_topics.numbers[subscribed]]
        if self.batch.has("owned"):
            owned = _entries(list_offsets(self.batch.column("owned")), members)
            given.append(self.found_topics.numbers[offsets[-1] + owned])
        return replace(self.found_topics, numbers=np.concatenate(given))

    def eager_members(self, members: Ints32) -> Flags:
        """Tell which of some members give up everything before they join."""
        lists, preferences = self._protocol_lists()
        eager = np.array([self._is_eager(names) for names in lists], np.bool_)
        return eager[preferences[np.flatnonzero(self.is_member)[members]]]

    @cached_property
    def subscriptions(self) -> Lists:
        """By number: those of the consumers, then those of the events."""
        offsets, _, _ = self._subscription_lists
        return Lists(offsets, self.found_topics.numbers[: offsets[-1]])

    @cached_property
    def protocol_names(self) -> list[str]:
        """All protocols that somebody offers, now or later."""
        if self.strategy is not None:
            return [self.strategy]
        _, names = codes(self._offered.flatten())
        later = [name for happening in self.happenings if happening.event == "protocols" for name in happening.names]
        return list(dict.fromkeys([*names.to_pylist(), *later]))

    @property
    def as_offered(self) -> GroupBatch:
        """The members that there are at first, with the protocols that they offer in this scenario."""
        if self.scenario.consumers.protocols is None:
            return self.batch
        members = self.batch.members
        names = members.type.names
        offered = self._offered.filter(pa.array(self.is_member))
        columns = [offered if name == "protocols" else members.field(name) for name in names]
        return replace(self.batch, members=pa.StructArray.from_arrays(columns, names=names))

    @property
    def _offered(self) -> pa.ListArray:
        """What each consumer offers at first."""
        column, instead = self.consumers.column("protocols"), self.scenario.consumers.protocols
        return column if instead is None else pa.array([list(instead)] * len(column), column.type)

    def _protocol_lists(self) -> tuple[list[tuple[int, ...]], Ints32]:
        """Distinct lists of protocols, by number, and which is each consumer's."""
        if self.strategy is not None:
            return [(0,)], np.zeros(len(self.consumers.members), np.int32)
        number_of = {name: number for number, name in enumerate(self.protocol_names)}
        given = self._offered.to_pylist()
        lists = [tuple(number_of[name] for name in names) for names in given]
        later = [
            tuple(number_of[name] for name in happening.names)
            for happening in self.happenings
            if happening.event == "protocols"
        ]
        distinct = {names: number for number, names in enumerate(dict.fromkeys([*lists, *later]))}
        return list(distinct), np.array([distinct[names] for names in lists], np.int32)

    @cached_property
    def group_topics(self) -> GroupTopics:
        """The topics of each group that there are, with the partitions that they have in the end."""
        offsets, _, groups = self._subscription_lists
        topics = self.found_topics.topics
        count = max(len(topics.partitions), 1)
        pairs = np.unique(np.repeat(groups, np.diff(offsets)).astype(np.int64) * count + self.subscriptions.topics)
        of_group, of_topic = pairs // count, (pairs % count).astype(np.int32)
        known = topics.partitions[of_topic] > 0
        of_group, of_topic = of_group[known], of_topic[known]
        partitions = topics.partitions[of_topic].copy()
        for growth in self._growths:
            partitions[(of_group == growth.group) & (of_topic == growth.topic)] = growth.after
        entries = np.searchsorted(of_group, np.arange(len(self.members) + 1)).astype(np.int32)
        before = np.concatenate([[0], np.cumsum(partitions)])
        first = before[:-1] - np.repeat(before[entries[:-1]], np.diff(entries))
        return GroupTopics(entries, of_topic, first.astype(np.int32), partitions.astype(np.int32))

    @cached_property
    def _growths(self) -> list["_Growth"]:
        """Every growth of a topic of a group, in the order of time; an event after which it is not larger is none."""
        if not any(happening.event == "grow" for happening in self.happenings):
            return []
        offsets, _, groups = self._subscription_lists
        of_names = np.repeat(groups, np.diff(offsets))
        names, topics = self.found_topics.names, self.found_topics.topics
        now: dict[tuple[int, int], int] = {}
        growths = []
        events = [(of.at_ms, number, of) for number, of in enumerate(self.happenings) if of.event == "grow"]
        for _, number, happening in sorted(events, key=lambda event: event[:2]):
            for topic in np.unique(self.subscriptions.topics[of_names == happening.group]).tolist():
                if topics.partitions[topic] <= 0 or happening.topic not in (None, names[topic].as_py()):
                    continue
                before = now.get((happening.group, topic), int(topics.partitions[topic]))
                after = happening.partitions or before + happening.value
                if after <= before:
                    continue
                now[happening.group, topic] = after
                growths.append(_Growth(number, happening.group, topic, before, after))
        return growths

    def topics(self) -> tuple[Topics, Ints32]:
        """All topics, those that have grown behind the others, and which each was."""
        given = self.found_topics.topics
        base = np.arange(len(given.partitions), dtype=np.int32)
        grown = np.array([growth.topic for growth in self._growths], np.int32)
        if not len(grown):
            return given, base
        after = np.array([growth.after for growth in self._growths], np.int32)
        # A topic that has grown has no known racks for what is new; that of its replicas before is repeated.
        firsts = [given.first_racks]
        offsets, racks = [given.rack_offsets], [given.racks]
        for topic in grown.tolist():
            low, high = given.first_racks[topic], given.first_racks[topic + 1]
            if low < high:
                places = given.rack_offsets[low : high + 1]
                offsets.append(places[1:] - places[0] + offsets[-1][-1])
                racks.append(given.racks[places[0] : places[-1]])
            firsts.append(firsts[-1][-1:] + high - low)
        topics = Topics(
            np.concatenate([given.partitions, after]),
            np.concatenate([given.hashes, given.hashes[grown]]),
            np.concatenate([given.ranks, given.ranks[grown]]),
            np.concatenate(firsts),
            np.concatenate(offsets),
            np.concatenate(racks),
            np.concatenate([given.ids, given.ids[grown]]),
        )
        return topics, np.concatenate([base, grown])

    def fleet(
        self, assignments: Assignments, generations: Ints, protocols: Ints32, seeds: Ints, followed: Flags
    ) -> Fleet:
        """Lay out all that is simulated; ``assignments`` are what the members have at first."""
        lists, preferences = self._protocol_lists()
        scenario, events = self._events(lists)
        member_ids = self.consumers.column("member_id")
        prefixes = self._id_prefixes()
        topics = self.group_topics
        _, base_topics = self.topics()
        partitions = np.zeros(len(self.members) + 1, np.int32)
        ends = np.concatenate([[0], np.cumsum(topics.partitions)])
        partitions[:] = ends[topics.offsets]
        names = pa.array(self.protocol_names, pa.string())
        offsets = np.concatenate([[0], np.cumsum([len(names) for names in lists])]).astype(np.int32)
        flat = np.array([number for names in lists for number in names], np.int32)
        return Fleet(
            self.consumers.offsets.astype(np.int32),
            self.members,
            self._consumers(lists, preferences),
            scenario,
            events,
            Names(strings(member_ids), strings(prefixes), strings(self._instance_ids().fill_null(""))),
            java_hashes(strings(pc.binary_join_element_wise(prefixes, "", "-"))),
            java_hashes(strings(member_ids)),
            self.index.racks(self.consumers.column("rack")),
            self.subscriptions,
            PreferenceLists(offsets, flat, java_hashes(strings(names))),
            np.array([name not in self.eager for name in self.protocol_names], np.bool_),
            np.array([name not in self.forgetful for name in self.protocol_names], np.bool_),
            np.array([_assignor_of(name) for name in self.protocol_names], np.int32),
            partitions,
            topics,
            base_topics,
            assignments,
            generations,
            protocols,
            np.zeros(len(self.members), np.int32),
            seeds,
            followed,
        )

    @cached_property
    def told_to_leaders(self) -> pa.StructArray:
        """What each consumer tells the leader's assignor beside its topics: user data, rack and instance id."""
        consumers = self.consumers
        told = {
            "user_data": consumers.column("user_data"),
            "rack": consumers.column("rack"),
            "instance_id": self._instance_ids(),
        }
        return pa.StructArray.from_arrays(list(told.values()), names=list(told))

    def _instance_ids(self) -> pa.Array:
        """Instance ids; where all consumers are to be static, the client's id stands for one that is missing."""
        given = self.consumers.column("instance_id")
        static = self.scenario.consumers.static
        if static is None:
            return given
        if not static:
            return pa.nulls(len(given), pa.string())
        return pc.coalesce(given, self.consumers.column("member_id"))

    def _id_prefixes(self) -> pa.Array:
        """Return what new ids begin with: the instance id, or the client id, which else the old id tells."""
        told = pc.replace_substring_regex(self.consumers.column("member_id"), _UUID, "")
        return pc.coalesce(self._instance_ids(), self.consumers.column("client_id"), told)

    def _consumers(self, lists: list[tuple[int, ...]], preferences: Ints32) -> Any:
        overrides = self.scenario.consumers
        records = new_records(Consumer, len(self.consumers.members))
        instances = self._instance_ids()
        given = cast(Any, records)
        groups = self.consumers.group_of_member()
        given["instance"] = _numbers_in_groups(groups, instances)
        given["protocol_type"] = 0
        bits = np.array([sum(1 << number for number in names) for names in lists], np.int64)
        given["preferences"], given["protocols"] = preferences, bits[preferences]
        eager = np.array([self._is_eager(names) for names in lists], np.bool_)
        given["eager"] = eager[preferences]
        given["assignor"] = np.array([self._assignor(names) for names in lists], np.int64)[preferences]
        given["subscription"] = np.arange(len(preferences))
        usual = _OLDER_SESSION_TIMEOUT_MS if self.older else _SESSION_TIMEOUT_MS
        session = numbers(self.consumers.column("session_timeout_ms").fill_null(usual))
        given["session_timeout_ms"] = overrides.session_timeout_ms or session
        longest = numbers(self.consumers.column("rebalance_timeout_ms").fill_null(_MAX_POLL_INTERVAL_MS))
        given["rebalance_timeout_ms"] = overrides.max_poll_interval_ms or longest
        return records

    def _is_eager(self, names: tuple[int, ...]) -> bool:
        """Tell whether who offers these protocols gives up everything: one that is eager is enough."""
        return any(self.protocol_names[number] in self.eager for number in names)

    def _assignor(self, names: tuple[int, ...]) -> int:
        """Return the number of the coordinator's assignor that stands first among some protocols, or NONE."""
        return _assignor_of(self.protocol_names[names[0]])

    def _events(self, lists: list[tuple[int, ...]]) -> tuple[Ints32, Any]:
        """Lay out the events of each group by time."""
        number_of = {names: number for number, names in enumerate(lists)}
        protocol_of = {name: number for number, name in enumerate(self.protocol_names)}
        growths: dict[int, list[tuple[int, _Growth]]] = {}
        for variant, growth in enumerate(self._growths, len(self.found_topics.topics.partitions)):
            growths.setdefault(growth.happening, []).append((variant, growth))
        subscription = len(self.consumers.members)
        rows: list[tuple[int, int, int, tuple[Any, ...]]] = []
        for number, happening in enumerate(self.happenings):
            head = (happening.group, happening.at_ms, number)
            kind, value, consumer = int(KINDS[happening.event]), happening.value, happening.consumer
            if happening.event == "subscribe":
                value, subscription = subscription, subscription + 1
            if happening.event == "grow":
                for variant, growth in growths.get(number, []):
                    rows.append(
                        (
                            *head,
                            (
                                happening.at_ms,
                                kind,
                                NONE,
                                growth.after,
                                growth.topic,
                                variant,
                                self._first_partition(growth),
                                growth.before,
                                0,
                                False,
                                NONE,
                            ),
                        )
                    )
                continue
            bits, eager, assignor = 0, False, NONE
            if happening.event == "protocols":
                if self.strategy is not None:
                    continue
                names = tuple(protocol_of[name] for name in happening.names)
                value, bits, eager = number_of[names], sum(1 << name for name in names), self._is_eager(names)
                assignor = self._assignor(names)
            rows.append((*head, (happening.at_ms, kind, consumer, value, 0, 0, 0, 0, bits, eager, assignor)))
        rows.sort(key=lambda row: row[:3])
        records = new_records(ScenarioEvent, len(rows))
        given = cast(Any, records)
        for place, name in enumerate(given.dtype.names):
            given[name] = [row[3][place] for row in rows]
        groups = np.array([row[0] for row in rows], np.int64)
        return np.searchsorted(groups, np.arange(len(self.members) + 1)).astype(np.int32), records

    def _first_partition(self, growth: "_Growth") -> int:
        topics = self.group_topics
        low, high = topics.offsets[growth.group], topics.offsets[growth.group + 1]
        return int(topics.first_partition[low + np.searchsorted(topics.topics[low:high], growth.topic)])


@dataclass(frozen=True)
class _Growth:
    happening: int
    group: int
    topic: int
    before: int
    after: int


def _entries(offsets: Ints32, lists: Ints | Ints32) -> Ints:
    """Places of the entries of some lists."""
    lengths = offsets[lists + 1] - offsets[lists]
    ends = np.cumsum(lengths)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(offsets[lists] - ends + lengths, lengths)


def _with_joiners(batch: GroupBatch, joiners: Sequence[Joiner]) -> GroupBatch:
    if not joiners:
        return batch
    rows = pa.array(
        [{name: joiner.row.get(name) for name in batch.members.type.names} for joiner in joiners], batch.members.type
    )
    groups = np.concatenate([batch.group_of_member(), np.array([joiner.group for joiner in joiners], np.int32)])
    order = np.argsort(groups, kind="stable")
    offsets = np.searchsorted(groups[order], np.arange(len(batch.group_ids) + 1)).astype(np.int32)
    members = pa.concat_arrays([batch.members, rows]).take(pa.array(order))
    return replace(batch, offsets=offsets, members=members)


def _assignor_of(protocol: str) -> int:
    """Return the number of the coordinator's assignor that a protocol's name stands for; NONE if it is a client's."""
    return SERVER_ASSIGNORS.index(protocol) if protocol in SERVER_ASSIGNORS else NONE


def _numbers_in_groups(groups: Ints32, names: pa.Array) -> Ints:
    """Number names so that they are told apart; null is NONE."""
    found, _ = codes(names)
    return np.where(found < 0, NONE, found).astype(np.int64)
