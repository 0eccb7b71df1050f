"""Batches of groups as a simulation reads them from Arrow: members and events, without rows that cannot be used."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa

from rebalance_sim.engine.groups.batch_arrays import as_groups, groups_where
from rebalance_sim.engine.groups.group_batches import GroupBatch
from rebalance_sim.engine.tables.arrow import list_offsets, numbers, strings
from rebalance_sim.engine.tables.topic_metadata import BatchTopics, TopicIndex
from rebalance_sim.kafka.coordinator.classic.classic_group import NONE
from rebalance_sim.kafka.runtime.lists import gather, take_lists
from rebalance_sim.kafka.runtime.strings import Flags, Ints, Ints32
from rebalance_sim.kafka.simulation.fleet import Lists
from rebalance_sim.kafka.simulation.group_events import GroupEvents, JoiningConsumer
from rebalance_sim.kafka.simulation.inputs import OptionalStrings, SimulatedGroups
from rebalance_sim.kafka.simulation.latencies import Latency, assumed_latencies, longest
from rebalance_sim.kafka.simulation.model import ScenarioKind
from rebalance_sim.kafka.simulation.protocols import Offers
from rebalance_sim.kafka.simulation.scenario import Scenario

_NO_LAG = pa.array([], pa.struct({"topic": pa.string(), "partition": pa.int32(), "lag": pa.int64()}))


@dataclass(frozen=True)
class SimulationBatch:
    """A batch of groups with all events that happen to them."""

    batch: GroupBatch
    """The members when the simulation begins."""
    joining: Sequence[JoiningConsumer]
    """The consumers that join during the simulation."""
    events: GroupEvents
    index: TopicIndex
    rejects: Sequence[pa.StructArray] = ()
    lags: pa.ListArray | None = None
    """The partitions with lag of each group, as ``collect_lag`` nests them; None without offsets."""
    timings: pa.StructArray | None = None
    """What the past of each group shows, as ``GroupTimings`` returns it; None without timings."""

    def without_empty_groups(self) -> "SimulationBatch":
        """Leave out the groups without members that no consumer joins."""
        kept = np.diff(self.batch.offsets) > 0
        kept[[consumer.group for consumer in self.joining]] = True
        return self.of_groups(kept)

    def of_groups(self, kept: Flags) -> "SimulationBatch":
        """Leave out groups."""
        if kept.all():
            return self
        numbers_of_kept = np.cumsum(kept) - 1
        return replace(
            self,
            batch=groups_where(self.batch, kept),
            joining=[
                replace(each, group=int(numbers_of_kept[each.group])) for each in self.joining if kept[each.group]
            ],
            events=self.events.of_groups(kept, numbers_of_kept),
            lags=None if self.lags is None else self.lags.filter(pa.array(kept)),
            timings=None if self.timings is None else self.timings.filter(pa.array(kept)),
        )

    @cached_property
    def consumers(self) -> GroupBatch:
        """All consumers: the members of each group, then those that join later."""
        batch = self.batch
        if not self.joining:
            return batch
        present = batch.with_lists_written_out().members
        rows = [{name: each.row.get(name) for name in present.type.names} for each in self.joining]
        joining_groups = np.array([each.group for each in self.joining], np.int32)
        groups = np.concatenate([batch.group_of_member, joining_groups])
        order = np.argsort(groups, kind="stable")
        offsets = np.searchsorted(groups[order], np.arange(len(batch.group_ids) + 1)).astype(np.int32)
        members = pa.concat_arrays([present, pa.array(rows, present.type)]).take(pa.array(order))
        return replace(batch, offsets=offsets, members=members)

    @cached_property
    def topics(self) -> BatchTopics:
        """The topics of all subscriptions, of the consumers and then of the events, of what members own, and of lag."""
        subscriptions, owned = self._subscriptions, self.batch.column("owned")
        later = [event.group for _, event in self.events.of_kind(ScenarioKind.SUBSCRIBE)]
        groups = np.concatenate([self.consumers.group_of_member, np.array(later, np.int32)])
        of_names = np.concatenate(
            [
                np.repeat(groups, np.diff(list_offsets(subscriptions))),
                np.repeat(self.batch.group_of_member, np.diff(list_offsets(owned))),
                self.group_of_lag,
            ]
        )
        lagging = self.partitions_with_lag.field("topic")
        names = pa.concat_arrays([subscriptions.flatten(), owned.flatten().field("topic"), lagging])
        return self.index.find(self.batch.clusters, of_names.astype(np.int32), names)

    @cached_property
    def partitions_with_lag(self) -> pa.StructArray:
        """The partitions with lag, by group; none without offsets."""
        return _NO_LAG if self.lags is None else self.lags.flatten()

    @cached_property
    def group_of_lag(self) -> Ints:
        """The group of each partition with lag."""
        lengths = np.zeros(0, np.int32) if self.lags is None else np.diff(list_offsets(self.lags))
        return np.repeat(np.arange(len(lengths)), lengths)

    @property
    def topics_of_lag(self) -> Ints32:
        """The number of the topic of each partition with lag."""
        return self.topics.numbers[len(self.topics.numbers) - len(self.group_of_lag) :]

    @cached_property
    def _subscriptions(self) -> pa.ListArray:
        later = [list(event.names) for _, event in self.events.of_kind(ScenarioKind.SUBSCRIBE)]
        column = self.consumers.column("subscription").cast(pa.list_(pa.string()))
        return pa.concat_arrays([column, pa.array(later, pa.list_(pa.string()))])

    @cached_property
    def groups(self) -> SimulatedGroups:
        """The groups as arrays and lists."""
        consumers, topics = self.consumers, self.topics
        offsets = list_offsets(self._subscriptions)
        _, first_members = gather(consumers.offsets[:-1], np.diff(self.batch.offsets))
        _, subscribed = take_lists(offsets, first_members)
        owned = topics.numbers[offsets[-1] : len(topics.numbers) - len(self.group_of_lag)]
        of_members = replace(topics, numbers=np.append(topics.numbers[subscribed], owned))
        read_by_own = ("user_data", "rack") if consumers.has("user_data") else ()
        return SimulatedGroups(
            as_groups(self.batch.with_lists_written_out(), of_members, self.index),
            consumers.offsets.astype(np.int32),
            strings(consumers.column("member_id")),
            _optional_strings(consumers.column("client_id")),
            _optional_strings(consumers.column("instance_id")),
            self.index.racks(consumers.column("rack")),
            self._times("session_timeout_ms"),
            self._times("rebalance_timeout_ms"),
            self._times("start_ms"),
            self._own_or_seen("revoke_ms"),
            self._seen("assignor_ms"),
            self._seen(longest("start_ms")),
            self._seen(longest("revoke_ms")),
            self._offers,
            self.events,
            topics.topics,
            topics.names.to_pylist,
            Lists(offsets, topics.numbers[: offsets[-1]]),
            *(consumers.column(name).to_pylist() for name in read_by_own),
        )

    def _times(self, column: str) -> Ints:
        """Return a column of times of the consumers, NONE where it is null."""
        return numbers(self.consumers.column(column).fill_null(NONE))

    def _own_or_seen(self, column: str) -> Ints:
        """Return a time of each consumer: its own or, where that is null, what its group's past shows."""
        own = self._times(column)
        return np.where(own == NONE, self._seen(column), own)

    def range_ends(self, latency: Latency, scenario: Scenario) -> Ints:
        """Return the end of the range of a latency that the scenario assumes, NONE for groups in which it has none.

        It has none if it was measured, or if what is assumed is the longest that was seen.
        """
        assumed_ms = assumed_latencies(scenario)[latency.setting]
        seen_ms = self.seen_of_groups(longest(latency.setting))
        ends = np.where(seen_ms == NONE, latency.longest_ms, np.minimum(seen_ms, latency.longest_ms))
        has_range = (self.seen_of_groups(latency.setting) == NONE) & (ends > assumed_ms)
        return np.where(has_range, ends, NONE)

    def seen_of_groups(self, name: str) -> Ints:
        """Return a time in the past of each group, NONE where there is none."""
        if self.timings is None or name not in self.timings.type.names:
            return np.full(len(self.batch.group_ids), NONE)
        return numbers(self.timings.field(name).fill_null(NONE))

    def _seen(self, name: str) -> Ints:
        """Return a time in the past of each consumer's group."""
        return self.seen_of_groups(name)[self.consumers.group_of_member]

    def _offers(self) -> Offers:
        of_consumers, lists = self.consumers.lists("protocols")
        return Offers(of_consumers, lists.to_pylist())


def _optional_strings(array: pa.Array) -> OptionalStrings:
    return OptionalStrings(strings(array), numbers(array.is_valid()).astype(np.bool_))
