"""A batch of past generations, each a group with its members nested, and what they were assigned."""

from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rebalance_sim.engine.groups.prediction import asks_topic_ids
from rebalance_sim.engine.groups.whole_groups import REJECT_REASON
from rebalance_sim.engine.tables.arrow import codes, list_offsets, lists, numbers
from rebalance_sim.kafka.runtime.strings import Flags, Ints, Ints32
from rebalance_sim.tables import DEFAULT_PROTOCOL_TYPE
from rebalance_sim.wording import duration, plural

_RACKS = "the racks of the replicas of topic {!r} are"
_LONGEST_ASSIGNING_MS = 10_000
_PERHAPS_REWRITTEN = (
    "the record was written {} after the members had joined: perhaps again, for a static member that was back, with "
    "what that sent then"
)


class Entries(NamedTuple):
    """Assigned partitions, by the number of their member in a batch."""

    members: Ints
    topics: pa.Array
    partitions: Ints


class Generations:
    """A batch of generations. The members of generation g are ``members[offsets[g]:offsets[g + 1]]``, at least one."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        """Take groups as ``whole_groups`` nests them; each is a generation."""
        self._batch = batch
        nested = batch.column("members")
        self.members: pa.StructArray = nested.flatten()
        self.offsets = list_offsets(nested)
        self.clusters: pa.Array = batch.column("cluster")
        self.of_members: Ints = np.repeat(np.arange(len(batch)), np.diff(self.offsets))

    def __len__(self) -> int:
        """Return the number of generations."""
        return len(self._batch)

    def column(self, name: str) -> pa.Array:
        """Return a column that all members of a generation share."""
        return self.members.field(name).take(pa.array(self.offsets[:-1]))

    def of_leaders(self, name: str) -> pa.Array:
        """Return a column of the leaders; null for a generation without a known leader."""
        leaders = self._leaders()
        return self.members.field(name).take(pa.array(leaders, mask=leaders < 0))

    def assigned(self) -> Entries:
        """Return what the members were assigned."""
        return entries(np.arange(len(self.members)), self.members.field("assigned"))

    def unreadable(self) -> dict[int, str]:
        """Return what cannot be read of a generation, or that it has no consumers, by its number."""
        reasons: dict[int, str] = {}
        is_classic = numbers(pc.invert(pc.match_substring(self.column("protocol").fill_null(""), "server-")))
        for generation in np.flatnonzero(is_classic.astype(np.bool_) & (self._leaders() < 0)).tolist():
            reasons[generation] = "the leader is unknown"
        for name, what in (("assigned", "assignment"), ("subscription", "subscription")):
            unread = self.of_members[numbers(self.members.field(name).is_null()).astype(np.bool_)]
            for generation, count in zip(*np.unique(unread, return_counts=True), strict=True):
                reasons[int(generation)] = f"the {what} of {plural(int(count), 'member')} cannot be read"
        types = self.column("protocol_type").fill_null(DEFAULT_PROTOCOL_TYPE)
        for generation in np.flatnonzero(numbers(pc.not_equal(types, DEFAULT_PROTOCOL_TYPE))).tolist():
            reasons[generation] = f"protocol type {types[generation].as_py()!r} is not that of consumers"
        return reasons

    def perhaps_rewritten(self) -> dict[int, str]:
        """Return which records may have what a static member sent later, when it was back, by number of the generation.

        The coordinator writes the record again then, with the time of the generation (``currentStateTimestamp``), and
        compaction leaves the last one. A leader assigns in far less than ``_LONGEST_ASSIGNING_MS``.
        """
        static = np.zeros(len(self), np.bool_)
        static[self.of_members[numbers(self.members.field("instance_id").is_valid()).astype(np.bool_)]] = True
        after_ms = pc.subtract(self.column("recorded_at_ms"), self.column("completed_at_ms"))
        late = numbers(pc.greater(after_ms, _LONGEST_ASSIGNING_MS).fill_null(False)).astype(np.bool_)
        return {
            generation: _PERHAPS_REWRITTEN.format(duration(after_ms[generation].as_py()))
            for generation in np.flatnonzero(static & late).tolist()
        }

    def undescribed(self, groups: Ints, topics: pa.Table) -> dict[int, str]:
        """Return what the topics table does not say of topics on which the assignment depends.

        ``groups`` are the numbers of the generations of the rows of ``topics``.
        """
        racks = pc.greater(pc.binary_length(self.members.field("rack")), 0).fill_null(False)
        in_racks = np.zeros(len(self), np.bool_)
        in_racks[self.of_members[numbers(racks).astype(np.bool_)]] = True
        of_protocols, protocols = codes(self.column("protocol"))
        asks = np.array([asks_topic_ids((name,)) for name in protocols.to_pylist()] + [False])[of_protocols]
        reasons: dict[int, str] = {}
        for name, what, needed in (("topic_id", "the id of topic {!r} is", asks), ("racks", _RACKS, in_racks)):
            lacks = numbers(topics[name].combine_chunks().is_null()).astype(np.bool_) & needed[groups]
            for place in np.flatnonzero(lacks)[::-1].tolist():
                reasons[int(groups[place])] = f"{what.format(topics['topic'][place].as_py())} unknown"
        return reasons

    def numbered(self, columns: Sequence[str], skipped: Container[int]) -> pa.RecordBatch:
        """Return generations as groups to be predicted, each in a cluster of its own: its number."""
        kept = pa.array([generation not in skipped for generation in range(len(self))], pa.bool_())
        chosen = pa.StructArray.from_arrays([self.members.field(name) for name in columns], names=list(columns))
        names = numbered_names(np.arange(len(self)))
        return pa.RecordBatch.from_arrays(
            [
                *(names, names, lists(self.offsets, chosen)),
                *(pa.array(np.zeros(len(self), np.int32)), pa.nulls(len(self), pa.string())),
            ],
            names=["cluster", "group_id", "members", "rejected_members", REJECT_REASON],
        ).filter(kept)

    def places(self, clusters: pa.Array, member_ids: pa.Array) -> Ints:
        """Return the numbers of members, by the numbers of their generations as text, and their ids."""
        own = pc.binary_join_element_wise(numbered_names(self.of_members), self.members.field("member_id"), "\0")
        return numbers(pc.index_in(pc.binary_join_element_wise(clusters, member_ids, "\0"), own)).astype(np.int64)

    def _leaders(self) -> Ints:
        """Return the number of each generation's leader; -1 if it is unknown."""
        leaders = np.full(len(self), -1)
        first = np.flatnonzero(numbers(pc.equal(self.members.field("join_order"), 0).fill_null(False)))
        leaders[self.of_members[first]] = first
        return leaders


def entries(members: Ints, partitions: pa.ListArray) -> Entries:
    """Return the partitions of lists; ``members`` are the numbers of the lists' members."""
    flat = partitions.flatten()
    of_entries = np.repeat(members, np.diff(list_offsets(partitions)))
    return Entries(of_entries, flat.field("topic"), numbers(flat.field("partition")).astype(np.int64))


@dataclass(frozen=True)
class Differences:
    """Partitions that are not assigned to the members for which they are predicted."""

    generations: Generations
    actual: Entries
    predicted: Entries
    of: Ints
    """The generation of each partition that differs: in ascending order, and within a generation by topic."""
    topics: pa.Array
    numbers: Ints

    @property
    def partitions(self) -> Ints:
        """How many partitions differ, by generation."""
        return np.bincount(self.of, minlength=len(self.generations))

    def first(self, chosen: Flags) -> list[dict[str, object] | None]:
        """Return the first partition that differs in each of the chosen generations, and None for the others."""
        found: list[dict[str, object] | None] = [None] * len(chosen)
        of, places = np.unique(self.of, return_index=True)
        firsts = places[chosen[of]]
        keys = self._keys(self.of[firsts], self.topics.take(pa.array(firsts)), self.numbers[firsts])
        owners = [self._owners(keys, side) for side in (self.actual, self.predicted)] if len(firsts) else [[], []]
        for place, assigned_to, predicted in zip(firsts.tolist(), *owners, strict=True):
            found[self.of[place]] = {
                "topic": self.topics[place].as_py(),
                "partition": int(self.numbers[place]),
                "assigned_to": assigned_to,
                "predicted": predicted,
            }
        return found

    def _owners(self, keys: pa.Array, side: Entries) -> list[str | None]:
        places = pc.index_in(keys, self._keys(self.generations.of_members[side.members], side.topics, side.partitions))
        owners = self.generations.members.field("member_id").take(pa.array(side.members).take(places))
        names: list[str | None] = owners.to_pylist()
        return names

    @staticmethod
    def _keys(of: Ints, topics: pa.Array, partitions: Ints) -> pa.Array:
        return pc.binary_join_element_wise(numbered_names(of), topics, numbered_names(partitions), "\0")


def differences(generations: Generations, actual: Entries, predicted: Entries) -> Differences:
    """Compare what was assigned with what is predicted."""
    of_topics, names = codes(pa.concat_arrays([actual.topics, predicted.topics]))
    order = pc.sort_indices(names)
    by_name = np.argsort(numbers(order)).astype(np.int32)[of_topics]
    size = max(len(names), 1)
    most = 1 + int(max(part.partitions.max(initial=0) for part in (actual, predicted)))

    def key(part: Entries, codes_of_topics: Ints32) -> Ints:
        return (part.members * size + codes_of_topics) * most + part.partitions

    cut = len(actual.topics)
    changed = np.setxor1d(key(actual, by_name[:cut]), key(predicted, by_name[cut:]))
    members, partitions = np.divmod(changed, size * most)
    differ = np.unique(generations.of_members[members] * (size * most) + partitions)
    of, places = np.divmod(differ, size * most)
    of_names, partition_numbers = np.divmod(places, most)
    return Differences(
        generations, actual, predicted, of, names.take(order).take(pa.array(of_names)), partition_numbers
    )


def numbered_names(of: Ints) -> pa.Array:
    """Return numbers as text."""
    return pa.array(of).cast(pa.string())
