"""Batches of groups as the workers receive them: a row per group, with its members nested."""

import base64
import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from rebalance_sim.engine.groups.name_lists import store_once
from rebalance_sim.engine.spark.driver_rows import without_null
from rebalance_sim.engine.tables.arrow import codes, list_offsets, numbers, strings
from rebalance_sim.engine.tables.inputs import REASON
from rebalance_sim.errors import UserError
from rebalance_sim.kafka.coordinator.group_types import mixes_protocols
from rebalance_sim.kafka.election import PreferenceLists, repeats_a_protocol
from rebalance_sim.kafka.group_kinds import SHARE_TYPE
from rebalance_sim.kafka.groups import groups_with_repeated_members
from rebalance_sim.kafka.runtime.strings import Flags, Ints, Ints32, Strings, java_hashes, sort_sections
from rebalance_sim.kafka.simulation.scenario import OFFERS
from rebalance_sim.releases import SERVER_ASSIGNORS, SHARE_ASSIGNORS
from rebalance_sim.tables import DEFAULT_PROTOCOL_TYPE, MEMBERS

_LAST = np.iinfo(np.int64).max


def _base64(data: bytes) -> str:
    """Encode bytes as Spark does in JSON."""
    return base64.b64encode(data).decode()


def collect_members(members: DataFrame, columns: Iterable[str]) -> DataFrame:
    """Nest the members of each group: ``cluster, group_id, members array<struct<...>>, rejected_members`` and
    ``reject_reason``.

    Only the given columns go into the structs, so the others are not shuffled. Rows with a ``REASON`` are counted in
    ``rejected_members`` instead, unless they name no group; ``reject_reason`` is the first of their reasons.
    """
    reason = F.col(REASON) if REASON in members.columns else F.lit(None)
    return (
        members.where("group_id <> ''")
        .groupBy("cluster", "group_id")
        # collect_list leaves out nulls.
        .agg(
            F.collect_list(F.when(reason.isNull(), F.struct(*map(sent, columns)))).alias("members"),
            F.count(reason).cast("int").alias("rejected_members"),
            F.min(reason.cast("string")).alias("reject_reason"),
        )
    )


def sent(name: str) -> Column:
    """Return a column as it is sent to Arrow: values that nearly all members have are replaced by faster ones."""
    if name == "protocol_type":
        return F.nullif(name, F.lit(DEFAULT_PROTOCOL_TYPE)).alias(name)
    if name == "owned":
        return without_null(name, MEMBERS.schema[name].dataType)
    return F.col(name)


def collect_group(members: DataFrame, columns: Iterable[str]) -> pa.RecordBatch:
    """Bring the members of one group to the driver, as ``collect_members`` nests them.

    Raises UserError if the members are of several groups, or of none.
    """
    collected = collect_members(members, columns).toArrow().combine_chunks().to_batches()
    count = sum(len(batch) for batch in collected)
    if count != 1:
        raise UserError(f"members: they are of {count} groups; allowed: members of one group")
    return collected[0]


@dataclass(frozen=True)
class RejectedRow:
    """A row of an input table that could not be used."""

    group: int
    """Index of its group in the batch."""
    row: str
    """The row as JSON."""
    reason: str


@dataclass(frozen=True)
class GroupBatch:
    """Some groups. The members of group g, in join order, are ``members[offsets[g]:offsets[g + 1]]``.

    Lists of names may be stored once, in dictionaries (``store_once``).
    """

    clusters: pa.StringArray
    group_ids: pa.StringArray
    offsets: Ints32
    members: pa.StructArray
    rejected_members: Ints32
    """Rows of each group in the members table that are not used."""

    @classmethod
    def of(cls, batch: pa.RecordBatch) -> "GroupBatch":
        """Take the rows of ``collect_members`` and sort each group's members by join order.

        ``collect_list`` returns any order. Members without a join order come last; ties are sorted by member id.
        """
        nested = batch.column("members")
        offsets = list_offsets(nested)
        members = _with_lists_stored_once(nested.flatten(), batch.column("cluster"), offsets)
        rejected = numbers(batch.column("rejected_members").fill_null(0)).astype(np.int32)
        groups = cls(batch.column("cluster"), batch.column("group_id"), offsets, members, rejected)
        if _rises_in_sections(groups.join_order, offsets):
            return groups
        order = np.arange(len(members), dtype=np.int32)
        sort_sections(order, offsets, groups.join_order, groups.member_ids)
        return groups.with_members_in(order)

    def with_members_in(self, order: Ints32) -> "GroupBatch":
        """Return the same groups with their members in another order, without moving columns that no member has."""
        taken = pa.array(order)
        columns = [each if each.null_count == len(each) else each.take(taken) for each in self.members.flatten()]
        return replace(self, members=pa.StructArray.from_arrays(columns, names=self.members.type.names))

    def column(self, name: str) -> pa.Array:
        """Return a column of the members."""
        column = self.members.field(name)
        return column.dictionary.take(column.indices) if pa.types.is_dictionary(column.type) else column

    def lists(self, name: str) -> tuple[Ints32, pa.ListArray]:
        """Return the number of each member's list in a column of lists of names, and the lists."""
        column = self.members.field(name)
        if not pa.types.is_dictionary(column.type):
            return np.arange(len(column), dtype=np.int32), column
        return numbers(column.indices).astype(np.int32, copy=False), column.dictionary

    def with_lists_written_out(self) -> "GroupBatch":
        """Return the same groups with the list of each member, as in the members table."""
        names = self.members.type.names
        members = pa.StructArray.from_arrays([self.column(name) for name in names], names=names)
        return replace(self, members=members)

    def has(self, name: str) -> bool:
        """Return whether the members have a column."""
        return self.members.type.get_field_index(name) >= 0

    @property
    def offered(self) -> Ints32:
        """The list of ``preferences`` that each member offers."""
        return self.lists("protocols")[0]

    @cached_property
    def preferences(self) -> tuple[PreferenceLists, pa.Array]:
        """The protocol lists as indices, and the names that they index."""
        _, lists = self.lists("protocols")
        protocols, names = codes(lists.flatten())
        return PreferenceLists(list_offsets(lists), protocols, java_hashes(strings(names))), names

    @cached_property
    def join_order(self) -> Ints:
        """The position of each member in the join order; members without one come last."""
        return numbers(self.members.field("join_order").fill_null(_LAST)).astype(np.int64, copy=False)

    @cached_property
    def member_ids(self) -> Strings:
        """The ids of the members."""
        return strings(self.column("member_id"))

    @cached_property
    def group_of_member(self) -> Ints32:
        """Index of the group of each member."""
        return np.repeat(np.arange(len(self.group_ids), dtype=np.int32), np.diff(self.offsets))

    @cached_property
    def cluster_of_member(self) -> Ints32:
        """Number of the cluster of each member."""
        return np.repeat(codes(self.clusters)[0], np.diff(self.offsets))

    @cached_property
    def shares(self) -> Flags:
        """Whether each member is of a share group (KIP-932)."""
        types = self.column("protocol_type")
        if types.null_count == len(types):
            return np.zeros(len(types), np.bool_)
        return numbers(pc.equal(types, SHARE_TYPE).fill_null(False)).astype(np.bool_)

    @cached_property
    def of_shares(self) -> Flags:
        """Whether each group is a share group (KIP-932)."""
        counts = np.bincount(self.group_of_member[self.shares], minlength=len(self.group_ids))
        of_shares: Flags = counts > 0
        return of_shares

    def keep(self, kept: Flags) -> "GroupBatch":
        """Leave out members."""
        if kept.all():
            return self
        before = np.concatenate([[0], np.cumsum(kept)]).astype(np.int32)
        members = self.members.filter(pa.array(kept))
        columns = [_without_unused_lists(column) for column in members.flatten()]
        members = pa.StructArray.from_arrays(columns, names=members.type.names)
        return replace(self, offsets=before[self.offsets], members=members)

    def reject(self, reasons: dict[int, str]) -> tuple["GroupBatch", list[RejectedRow]]:
        """Leave out members; ``reasons`` are by index."""
        if not reasons:
            return self, []
        kept = np.ones(len(self.members), np.bool_)
        rejected = []
        for member, reason in sorted(reasons.items()):
            kept[member] = False
            group = int(self.group_of_member[member])
            rejected.append(RejectedRow(group, self._as_json(group, member), reason))
        counts = np.bincount(self.group_of_member[~kept], minlength=len(self.group_ids)).astype(np.int32)
        return replace(self.keep(kept), rejected_members=self.rejected_members + counts), rejected

    def _as_json(self, group: int, member: int) -> str:
        row = {"cluster": self.clusters[group].as_py(), "group_id": self.group_ids[group].as_py()}
        given = self.members[member].as_py()
        if "protocol_type" in given and given["protocol_type"] is None:
            given["protocol_type"] = DEFAULT_PROTOCOL_TYPE
        # ``sent`` replaces a missing list of owned partitions by an empty one.
        row |= {name: value for name, value in given.items() if value is not None and (name, value) != ("owned", [])}
        return json.dumps(row, ensure_ascii=False, default=_base64)

    def without_unusable_members(self, all_vote: bool) -> tuple["GroupBatch", list[RejectedRow]]:
        """Leave out members with values that Kafka does not allow, and repeated members.

        Unless ``all_vote``, members with protocols that Kafka does not allow stay; ``voters`` leaves them out.
        """
        usable, unusable = self.reject(self._unusable() | (self._bad_protocols() if all_vote else {}))
        distinct, repeated = usable.reject(usable._repeated())
        return distinct, unusable + repeated

    def voters(self) -> "GroupBatch":
        """Leave out the members with protocols that Kafka does not allow."""
        kept = np.ones(len(self.members), np.bool_)
        kept[list(self._bad_protocols())] = False
        return self.keep(kept)

    def _unusable(self) -> dict[int, str]:
        reasons: dict[int, str] = {}
        if self.has("owned"):
            reasons |= self._bad_owned()
        if self.has("subscription"):
            reasons |= self._bad_names("subscription")
        return reasons

    def _bad_names(self, column: str) -> dict[int, str]:
        of_members, lists = self.lists(column)
        names = lists.flatten()
        bad = pc.or_kleene(names.is_null(), pc.equal(pc.binary_length(names), 0)).fill_null(True)
        reasons = _members_with(of_members, _lists_with(lists, bad), f"{column} holds a name that is null or empty")
        # A name with a comma is a list that was written as text: topics and assignors have no comma.
        commas = pc.match_substring(names, ",").fill_null(False)
        return reasons | _members_with(of_members, _lists_with(lists, commas), f"{column} holds a name with a comma")

    def _bad_protocols(self) -> dict[int, str]:
        (preferences, _), offered = self.preferences, self.offered
        empty = np.flatnonzero(np.diff(preferences.offsets) == 0)
        reasons = _members_with(offered, empty, "protocols is empty")
        repeats = np.flatnonzero(repeats_a_protocol(preferences))
        reasons |= _members_with(offered, repeats, "protocols names an assignor twice")
        return self._bad_names("protocols") | self._no_offers() | self._no_share_assignors() | reasons

    def _no_offers(self) -> dict[int, str]:
        preferences, names = self.preferences
        server = numbers(pc.is_in(names, value_set=pa.array(SERVER_ASSIGNORS))).astype(np.bool_)
        if not server.any():
            return {}
        mixed = np.flatnonzero(mixes_protocols(preferences, server))
        return _members_with(self.offered, mixed, f"protocols is not {OFFERS}")

    def _no_share_assignors(self) -> dict[int, str]:
        """Members of share groups have no choice of an assignor, and others cannot have theirs."""
        preferences, names = self.preferences
        of_shares = numbers(pc.is_in(names, value_set=pa.array(SHARE_ASSIGNORS))).astype(np.bool_)
        if not (of_shares.any() or self.shares.any()):
            return {}
        named = np.append(of_shares, False)[preferences.protocols]
        counts = np.concatenate([[0], np.cumsum(named)])
        some = np.diff(counts[preferences.offsets])
        only = (some == 1) & (np.diff(preferences.offsets) == 1)
        wrong = np.where(self.shares, ~only[self.offered], some[self.offered] > 0)
        (assignor,) = SHARE_ASSIGNORS
        reason = f"protocols has {assignor} alone if protocol_type is {SHARE_TYPE}, and not otherwise"
        return dict.fromkeys(np.flatnonzero(wrong).tolist(), reason)

    def _bad_owned(self) -> dict[int, str]:
        lists = self.column("owned")
        entries = lists.flatten()
        topics, partitions = entries.field("topic"), entries.field("partition")
        bad = pc.or_kleene(
            pc.or_(topics.is_null(), pc.equal(pc.binary_length(topics), 0).fill_null(True)),
            pc.less(partitions, 0).fill_null(True),
        )
        reason = "owned holds a partition without a topic or a number from 0"
        return dict.fromkeys(_lists_with(lists, bad).tolist(), reason)

    def _repeated(self) -> dict[int, str]:
        """Return repeated members: the first in join order is used, between equal join orders the first by content."""
        # A member id is a key of the coordinator's map of members, so a group cannot have it twice.
        reasons: dict[int, str] = {}
        for group in np.flatnonzero(groups_with_repeated_members(self.offsets, self.member_ids)):
            by_id: dict[str, list[tuple[int, str, int]]] = {}
            for member in range(self.offsets[group], self.offsets[group + 1]):
                join_order = self.column("join_order")[member].as_py()
                key = (_LAST if join_order is None else join_order, self._as_json(int(group), member), member)
                by_id.setdefault(self.column("member_id")[member].as_py(), []).append(key)
            for member_id, rows in by_id.items():
                for _, _, member in sorted(rows)[1:]:
                    reasons[member] = f"member_id {member_id!r} is given {len(rows)} times in its group; one is used"
        return reasons


def _without_unused_lists(column: pa.Array) -> pa.Array:
    """Leave out lists of a dictionary that hardly any of the members uses."""
    if not pa.types.is_dictionary(column.type) or len(column.dictionary) <= len(column):
        return column
    used, places = np.unique(numbers(column.indices), return_inverse=True)
    return pa.DictionaryArray.from_arrays(pa.array(places.astype(np.int32)), column.dictionary.take(pa.array(used)))


def _with_lists_stored_once(members: pa.StructArray, clusters: pa.StringArray, offsets: Ints32) -> pa.StructArray:
    """Store the members' lists of names once; names of different clusters differ."""
    columns = {name: members.field(name) for name in members.type.names}
    of_groups, distinct = codes(clusters)
    of_members = np.zeros(len(members), np.int32) if len(distinct) == 1 else np.repeat(of_groups, np.diff(offsets))
    for name, column in columns.items():
        if _is_of_names(column.type):
            columns[name] = store_once(column, of_members)
    return pa.StructArray.from_arrays(list(columns.values()), names=list(columns))


def _rises_in_sections(values: Ints, offsets: Ints32) -> bool:
    """Return whether each value is above the one before it, but for the first of each section."""
    rises = np.diff(values) > 0
    firsts = offsets[(offsets > 0) & (offsets < len(values))]
    rises[firsts - 1] = True
    return bool(rises.all())


def _is_of_names(of: pa.DataType) -> bool:
    return bool(pa.types.is_list(of) and pa.types.is_string(of.value_type))


def _lists_with(lists: pa.ListArray, bad: pa.Array) -> Ints:
    """Return the lists with a bad entry."""
    if not pc.any(bad).as_py():
        return np.empty(0, np.int64)
    return np.unique(np.searchsorted(list_offsets(lists), np.flatnonzero(numbers(bad)), side="right") - 1)


def _members_with(of_members: Ints32, bad: Ints, reason: str) -> dict[int, str]:
    """Return the reason for each member that has a bad list."""
    if len(bad) == 0:
        return {}
    return dict.fromkeys(np.flatnonzero(np.isin(of_members, bad)).tolist(), reason)
