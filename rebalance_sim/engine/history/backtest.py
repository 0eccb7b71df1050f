"""Predict past generations from what their leaders saw, and compare the predictions with what was assigned.

A generation is predicted as any group is: the members with what they sent when they joined, and the topics with as
many partitions as they had then. The assignment itself is read for one thing only: the number of partitions of a topic
that no other generation shows (``partition_counts``). Such generations are marked.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, cast
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from rebalance_sim.engine.groups.by_brokers import by_brokers
from rebalance_sim.engine.groups.group_plan import GroupPlan
from rebalance_sim.engine.groups.prediction import ELECTED, Prediction
from rebalance_sim.engine.history.generations import Entries, Generations, differences, entries, numbered_names
from rebalance_sim.engine.history.partition_counts import TopicCounts, topic_counts
from rebalance_sim.engine.tables.arrow import arrow_type, list_offsets, lists, numbers, rows_of
from rebalance_sim.engine.tables.topic_metadata import TopicMetadata
from rebalance_sim.kafka.assignors.consumer_partition_assignor import ConsumerPartitionAssignor
from rebalance_sim.kafka.brokers import Brokers, Clusters
from rebalance_sim.kafka.runtime.lists import gather
from rebalance_sim.kafka.runtime.strings import Flags, Ints
from rebalance_sim.releases import SERVER_ASSIGNORS
from rebalance_sim.tables import ASSIGNMENTS, BACKTEST, BALANCE, REJECTS, SCORE, STRINGS

AS_JOINED, GENERATION_BEFORE = "as joined", "generation before"
"""What a generation is predicted from."""
PREDICTED_FROM = {AS_JOINED: "what the members sent", GENERATION_BEFORE: "the generation before"}
"""The same in words."""
EQUAL, DIFFERS, NOT_PREDICTABLE, INCOMPLETE = "equal", "differs", "not predictable", "inputs incomplete"
"""Results."""
KNOWN, FROM_ANSWER = "known", "from the answer"
"""Kinds of partition counts."""

_GENERATION = (
    "history_group_id", "recreated", "history_generation", "completed_at_ms", "recorded_at_ms", "protocol"
)  # fmt: skip
"""Columns of the group that all of its members have."""
_ACTUAL = ("client_library", "client_version", "assigned")
_SCORED_BY = ("basis", "client_library", "client_version", "strategy", "partition_counts")
"""What generations are counted by; the other columns of ``score`` are counts."""
_FIRST = cast(StructType, BACKTEST.schema["first_differing"].dataType)
_OF_MISS = ("differing", "first_differing", "miss")
"""Columns of predictions that differ."""
_NEW_TOPICS = "topic {} yet: no partition of it is assigned, and the others are as predicted without it"
_OTHER_LIBRARY = "the leader's library is uncertain, and the others that it may use assign differently"


def as_joined(generation_members: DataFrame) -> DataFrame:
    """Return members of generations as their leader saw them, for ``Backtest``.

    A consumer-protocol group has no leader: its coordinator goes by the target assignment before
    (``from_generation_before``).
    """
    return generation_members.where(~_is_of_consumers()).transform(_as_groups)


def from_generation_before(generation_members: DataFrame) -> DataFrame:
    """Return the same for members as the generation before them leaves them: a simulation knows no more.

    A member that was in the group's generation before owns what it was assigned there, one that has joined since owns
    nothing. A static member is the same one under a new member id. An epoch of a consumer-protocol group for which no
    target was computed leaves the one before. The first generation of a group is left out.
    """
    group, identity = ("cluster", "group_id", "recreated"), F.coalesce("instance_id", "member_id")
    by_group = Window.partitionBy(*group).orderBy("generation")
    by_member = Window.partitionBy(*group, identity).orderBy("generation")
    placed = generation_members.withColumn("_place", F.dense_rank().over(by_group))
    before = F.lag(F.struct("_place", "generation", "assigned")).over(by_member)
    stays = F.col("_before._place") == F.col("_place") - 1
    nothing = F.array().cast(generation_members.schema["owned"].dataType)
    target = F.when(_is_of_consumers(), F.col("_target"))
    of_before = {
        "owned": F.when(stays, F.coalesce("_before.assigned", target)).otherwise(nothing),
        "owned_generation": F.when(stays, F.col("_before.generation")),
    }
    last = F.last("assigned", ignorenulls=True).over(by_member.rowsBetween(Window.unboundedPreceding, -1))
    members = placed.withColumns({"_before": before, "_target": last}).where("_place > 1").withColumns(of_before)
    return members.drop("_place", "_before", "_target").transform(_as_groups)


def _is_of_consumers() -> Column:
    """Return whether a member is of a consumer-protocol group."""
    return F.coalesce(F.col("protocols")[0].isin(*SERVER_ASSIGNORS), F.lit(False))


def _as_groups(generation_members: DataFrame) -> DataFrame:
    """Make each generation a group. Its protocol is the only one offered, since records do not have the others."""
    is_of_consumers = _is_of_consumers()
    group = F.concat_ws("@", "group_id", F.col("recreated").cast("string"), F.col("generation").cast("string"))
    protocol = F.when(is_of_consumers, F.col("protocols")[0]).otherwise(F.col("protocol"))
    elected = F.when(protocol.isNull(), F.array().cast(STRINGS)).otherwise(F.array(protocol))
    return generation_members.withColumns(
        {
            "history_group_id": F.col("group_id"),
            "history_generation": F.col("generation"),
            "group_id": group,
            "generation": F.col("owned_generation"),
            "protocol": protocol,
            "protocols": F.when(is_of_consumers, F.col("protocols")).otherwise(elected),
        }
    )


@dataclass(frozen=True)
class Backtest:
    """How generations are predicted and compared."""

    clusters: Clusters
    basis: str
    """What the generations are predicted from."""
    spans: pa.Table
    """Times between which each topic is seen with a count (``partition_counts.spans``)."""
    described: pa.Table
    """``cluster, topic, racks, topic_id`` of the topics table, if there is one."""
    assignors: tuple[ConsumerPartitionAssignor, ...] = ()

    def __call__(self, members: DataFrame) -> DataFrame:
        """From members of ``as_joined`` or ``from_generation_before`` to rows of ``backtest``."""
        return GroupPlan.of_members(members, self.columns, self.batches, BACKTEST.schema).rows()

    @property
    def columns(self) -> list[str]:
        """Columns of the members that are needed."""
        return list(dict.fromkeys([*self._prediction(self.clusters, None).columns, *_GENERATION, *_ACTUAL]))

    def batches(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Predict batches of generations with their members nested, and compare."""
        for brokers, batch in by_brokers(batches, self.clusters):
            if len(batch):
                rows = self._rows(brokers, Generations(batch), topic_counts(batch, self.spans))
                for shows in (("owned", "assigned"), ("assigned",)):
                    rows = self._without_new_topics(brokers, batch, rows, shows)
                yield pa.RecordBatch.from_struct_array(rows)

    def _rows(self, brokers: Brokers, generations: Generations, counts: TopicCounts) -> pa.StructArray:
        topics = self.topics(generations, counts)
        missing = generations.undescribed(counts.groups, topics) | generations.perhaps_rewritten()
        missing |= generations.unreadable()
        numbered = topics.append_column("cluster", numbered_names(counts.groups))
        answers = self._answers(brokers, generations, missing, numbered)
        return rows_of(BACKTEST.schema, self._compared(generations, counts, missing, answers))

    def _without_new_topics(
        self, brokers: Brokers, batch: pa.RecordBatch, rows: pa.StructArray, shows: Sequence[str]
    ) -> pa.StructArray:
        """Mark generations of which the leader did not know a topic yet: without it, the answer is as predicted.

        A topic may be new if no member has a partition of it in the columns ``shows``.
        A leader learns of the topics of other members when they join, and may assign with a Metadata response that was
        under way by then (``ConsumerCoordinator.onJoinPrepare``); it rejoins as soon as it knows them.
        """
        differ = numbers(pc.equal(rows.field("result"), DIFFERS)).astype(np.bool_)
        places = np.flatnonzero(differ)
        again = Generations(batch.take(pa.array(places)))
        counts = topic_counts(batch.take(pa.array(places)), self.spans)
        shown = [entries(np.arange(len(again.members)), again.members.field(name)) for name in shows]
        keys = [_keys(numbered_names(again.of_members[each.members]), each.topics) for each in shown]
        known = pc.is_in(_keys(numbered_names(counts.groups), counts.topics), pa.concat_arrays(keys))
        is_new = ~numbers(known).astype(np.bool_)
        if not is_new.any():
            return rows
        results = self._rows(brokers, again, counts.chosen(~is_new)).field("result").to_pylist()
        reasons = [
            f"the leader did not know {_NEW_TOPICS.format(', '.join(names))}" if result == EQUAL and names else None
            for result, names in zip(results, counts.chosen(is_new).names(len(places)), strict=True)
        ]
        all_reasons = np.full(len(rows), None, object)
        all_reasons[places] = reasons
        reason = pa.array(all_reasons, pa.string())
        unknown = reason.is_valid()
        columns = {name: rows.field(name) for name in BACKTEST.names}
        columns |= {
            "result": pc.if_else(unknown, NOT_PREDICTABLE, columns["result"]),
            "reason": pc.if_else(unknown, reason, columns["reason"]),
            **{name: pc.if_else(unknown, pa.scalar(None, columns[name].type), columns[name]) for name in _OF_MISS},
        }
        return rows_of(BACKTEST.schema, columns)

    def _compared(
        self, generations: Generations, counts: TopicCounts, missing: dict[int, str], answers: "_Answers"
    ) -> dict[str, pa.Array]:
        number, actual = len(generations), generations.assigned()
        found = differences(generations, actual, answers.entries(generations))
        differ = found.partitions
        results = [answers.result(each, missing.get(each), int(count)) for each, count in enumerate(differ)]
        is_miss = np.array([result == DIFFERS for result, _ in results])
        loads = np.bincount(actual.members, minlength=len(generations.members))
        assigned = np.bincount(generations.of_members, loads, number).astype(np.int64)
        complete = assigned == np.bincount(counts.groups, counts.partitions, number)
        shown = np.bincount(counts.groups[~counts.known], minlength=number) > 0
        within = [
            _is_within(loads[start:end], answers.bounds.get(each)) if complete[each] else None
            for each, (start, end) in enumerate(pairwise(generations.offsets.tolist()))
        ]
        return {
            "cluster": generations.clusters,
            "group_id": generations.column("history_group_id"),
            "generation": generations.column("history_generation"),
            **{name: generations.column(name) for name in ("recreated", "completed_at_ms", "protocol")},
            "basis": pa.repeat(self.basis, number),
            "strategy": pa.array([answers.strategies.get(each) for each in range(number)], pa.string()),
            **{name: generations.of_leaders(name) for name in ("client_library", "client_version")},
            "members": pa.array(np.diff(generations.offsets)),
            "partitions": pa.array(assigned),
            "result": pa.array([result for result, _ in results]),
            "reason": pa.array([reason for _, reason in results], pa.string()),
            "differing": pa.array(differ, mask=~answers.has_answer(number)),
            "first_differing": pa.array(found.first(is_miss), arrow_type(_FIRST)),
            "miss": pc.if_else(pa.array(is_miss), self.names(generations), pa.scalar(None, pa.string())),
            "alternatives": pa.array([answers.alternatives.get(each) for each in range(number)], pa.list_(pa.string())),
            "partition_counts": pa.array(np.where(shown, FROM_ANSWER, KNOWN)),
            "within_bounds": pa.array(within, pa.bool_()),
        }

    def _answers(
        self, brokers: Brokers, generations: Generations, missing: dict[int, str], topics: pa.Table
    ) -> "_Answers":
        prediction, answers = self._prediction(Clusters(brokers), TopicMetadata(topics)), _Answers()
        numbered = generations.numbered(prediction.columns, missing)
        for name, rows in prediction.tables([numbered] if len(numbered) else []):
            answers.add(name, rows)
        return answers

    def _prediction(self, clusters: Clusters, metadata: TopicMetadata | None) -> Prediction:
        outputs = (ASSIGNMENTS.name, BALANCE.name, REJECTS.name)
        return Prediction(outputs, clusters, (ELECTED,), metadata, self.assignors)

    def names(self, generations: Generations) -> pa.Array:
        """Return a name for each generation on this basis, which no other has: group ids may have any character."""
        clusters = [quote(cluster, safe="") for cluster in generations.clusters.to_pylist()]
        numbers_of = (generations.column(name).to_pylist() for name in _GENERATION[:3])
        rows = zip(clusters, *numbers_of, strict=True)
        return pa.array(["/".join([*map(str, row), self.basis]) for row in rows], pa.string())

    def topics(self, generations: Generations, counts: TopicCounts) -> pa.Table:
        """Return ``topic, partitions, racks, topic_id`` of the topics of each generation.

        The topics table has racks of today: those of later partitions are left out, and a topic that has fewer
        partitions than then is another one.
        """
        clusters = generations.clusters.take(pa.array(counts.groups))
        places = pc.index_in(_keys(clusters, counts.topics), _keys(self.described["cluster"], self.described["topic"]))
        described = self.described.select(["racks", "topic_id"]).take(places).combine_chunks()
        racks = pa.concat_arrays([pa.array([], described.schema.field("racks").type), *described["racks"].chunks])
        starts = list_offsets(racks)
        lacks = np.diff(starts) < counts.partitions
        offsets, chosen = gather(starts[:-1], np.where(lacks, 0, counts.partitions))
        cut = lists(offsets, racks.flatten().take(pa.array(chosen)))
        known = pc.if_else(pa.array(lacks), pa.scalar(None, cut.type), cut)
        columns = [counts.topics, pa.array(counts.partitions), known, described["topic_id"]]
        return pa.table(columns, ["topic", "partitions", "racks", "topic_id"])


def _keys(clusters: pa.Array, topics: pa.Array) -> pa.Array:
    return pc.binary_join_element_wise(clusters, topics, "\0")


@dataclass(frozen=True)
class _Answers:
    """What is predicted of a batch of generations, by their numbers."""

    assignments: list[pa.StructArray] = field(default_factory=list)
    answered: set[int] = field(default_factory=set)
    strategies: dict[int, str] = field(default_factory=dict)
    errors: dict[int, str] = field(default_factory=dict)
    """Why an assignment cannot be predicted, or a later one of a cooperative group."""
    rejected: dict[int, str] = field(default_factory=dict)
    """Why a member cannot be used."""
    bounds: dict[int, dict[str, int]] = field(default_factory=dict)
    alternatives: dict[int, list[str]] = field(default_factory=dict)

    def add(self, name: str, rows: pa.StructArray) -> None:
        """Take rows of a table."""
        of_rows = rows.field("cluster").cast(pa.int64()).to_pylist()
        if name == ASSIGNMENTS.name:
            self.assignments.append(rows)
            self.answered.update(of_rows)
        elif name == REJECTS.name:
            self.rejected.update(zip(of_rows, rows.field("reason").to_pylist(), strict=True))
        elif name == BALANCE.name:
            columns: dict[str, dict[int, Any]] = {"strategy": self.strategies, "error": self.errors}
            columns |= {"bounds": self.bounds, "alternatives": self.alternatives}
            for column, values in columns.items():
                pairs = zip(of_rows, rows.field(column).to_pylist(), strict=True)
                values.update({number: value for number, value in pairs if value is not None})

    def has_answer(self, number: int) -> Flags:
        """Return which of the generations have an assignment."""
        return np.array([each in self.answered for each in range(number)], np.bool_)

    def entries(self, generations: Generations) -> Entries:
        """Return the predicted partitions."""
        rows = pa.concat_arrays([pa.array([], arrow_type(ASSIGNMENTS.schema)), *self.assignments])
        return entries(generations.places(rows.field("cluster"), rows.field("member_id")), rows.field("partitions"))

    def result(self, number: int, missing: str | None, differing_partitions: int) -> tuple[str, str | None]:
        """Return the result of a generation, and the reason for it."""
        missing = missing or self.rejected.get(number)
        if missing is not None:
            return INCOMPLETE, missing
        if number not in self.answered:
            return NOT_PREDICTABLE, self.errors.get(number, "no assignment is predicted")
        if number in self.alternatives:
            return INCOMPLETE, _OTHER_LIBRARY
        return (DIFFERS, None) if differing_partitions else (EQUAL, None)


def _is_within(loads: Ints, bounds: dict[str, int] | None) -> bool | None:
    """Return whether partitions per member are within bounds, if there are any."""
    if bounds is None:
        return None
    idle = np.count_nonzero(loads == 0)
    few, many = int(loads.min()), int(loads.max())
    return bool(
        bounds["min"] <= few
        and many <= bounds["max"]
        and bounds["idle_members_min"] <= idle <= bounds["idle_members_max"]
    )


def score(backtest: DataFrame) -> DataFrame:
    """From ``backtest`` to how many generations were predicted, by basis, library, release and rules."""
    is_unpredictable = F.col("result") == NOT_PREDICTABLE
    counts = {
        "generations": F.count("*"),
        "equal": F.count_if(F.col("result") == EQUAL),
        "differs": F.count_if(F.col("result") == DIFFERS),
        "not_predictable": F.count_if(is_unpredictable),
        "within_bounds": F.count_if(is_unpredictable & F.col("within_bounds")),
        "outside_bounds": F.count_if(is_unpredictable & ~F.col("within_bounds")),
        "inputs_incomplete": F.count_if(F.col("result") == INCOMPLETE),
    }
    return backtest.groupBy(*_SCORED_BY).agg(*(count.alias(name) for name, count in counts.items()))


def by_basis(scored: DataFrame) -> DataFrame:
    """From ``score`` to one row per basis. ``known`` are equal, with partition counts that other generations show."""
    sums = [F.sum(name).alias(name) for name in SCORE.names if name not in _SCORED_BY]
    known = F.sum(F.when(F.col("partition_counts") == KNOWN, F.col("equal")).otherwise(0)).alias("known")
    return scored.groupBy("basis").agg(*sums, known)
