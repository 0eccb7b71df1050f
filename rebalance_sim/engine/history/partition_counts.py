"""How many partitions topics had in the past.

No record says so. But the leader assigns every partition of a topic, so that the greatest number that the members of a
generation own or are assigned shows the count at that time. A topic never loses partitions: between two generations
that show the same count, the topic had that count, whatever a generation in between was assigned.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rebalance_sim.engine.tables.arrow import arrow_type, list_of_items, list_offsets, numbers
from rebalance_sim.kafka.runtime.strings import Flags, Ints
from rebalance_sim.tables import TOPICS

_NOW = 2**63 - 1
"""Time of the topics table, which is later than all generations."""
_DESCRIBED = ("cluster", "topic", "racks", "topic_id")
_SPAN = ("cluster", "topic", "partitions", "first_ms", "last_ms")


@dataclass(frozen=True)
class TopicCounts:
    """The topics of some groups with the number of partitions at the time of each: a row per group and topic."""

    groups: Ints
    topics: pa.Array
    partitions: Ints
    known: Flags
    """Whether other generations, before and after, show the number."""

    def chosen(self, rows: Flags) -> "TopicCounts":
        """Return some of the rows."""
        topics = self.topics.filter(pa.array(rows))
        return TopicCounts(self.groups[rows], topics, self.partitions[rows], self.known[rows])

    def names(self, groups: int) -> list[list[str]]:
        """Return the topics of each of so many groups."""
        names: list[list[str]] = [[] for _ in range(groups)]
        for group, topic in zip(self.groups.tolist(), self.topics.to_pylist(), strict=True):
            names[group].append(topic)
        return names


def spans(generation_members: DataFrame, topics: DataFrame | None) -> pa.Table:
    """Return the times between which topics are seen with a count: ``cluster, topic, partitions, first_ms, last_ms``.

    The topics table has the counts of today.
    """
    generation = ("cluster", "group_id", "recreated", "generation", "completed_at_ms")
    seen = F.concat(F.coalesce("assigned", F.array()), F.coalesce("owned", F.array()))
    partitions = generation_members.where("completed_at_ms IS NOT NULL").select(*generation, F.inline(seen))
    counts = partitions.groupBy(*generation, "topic").agg((F.max("partition") + 1).alias("partitions"))
    first_and_last = (F.min("completed_at_ms").alias("first_ms"), F.max("completed_at_ms").alias("last_ms"))
    seen_counts = counts.groupBy(*_SPAN[:3]).agg(*first_and_last).select(*_SPAN).toArrow()
    if topics is None:
        return seen_counts
    today = topics.select(*_SPAN[:3], *(F.lit(_NOW).alias(name) for name in _SPAN[3:])).toArrow()
    together = pa.concat_tables([seen_counts, today.cast(seen_counts.schema)]).group_by(list(_SPAN[:3]))
    return together.aggregate([("first_ms", "min"), ("last_ms", "max")]).rename_columns(
        {"first_ms_min": "first_ms", "last_ms_max": "last_ms"}
    )


def topic_counts(batch: pa.RecordBatch, spans_of_topics: pa.Table) -> TopicCounts:
    """Return the counts of the topics of some generations, each at the time of its generation.

    ``batch`` has a row per generation, with its members nested: ``subscription``, ``owned``, ``assigned`` and
    ``completed_at_ms`` are read. A topic of which neither they nor other generations show a partition is left out: it
    is not known to exist.
    """
    rows = _own_counts(batch)
    nested = batch.column("members")
    times_ms = nested.flatten().field("completed_at_ms").take(pa.array(list_offsets(nested)[:-1]))
    groups = numbers(rows["group"].combine_chunks())
    keyed = pa.table(
        {
            "place": pa.array(np.arange(len(rows))),
            "cluster": batch.column("cluster").take(pa.array(groups)),
            "topic": rows["topic"],
            "at_ms": times_ms.take(pa.array(groups)),
        }
    )
    candidates = keyed.join(spans_of_topics, ["cluster", "topic"], join_type="inner")
    candidates = candidates.filter(pc.less_equal(candidates["first_ms"], candidates["at_ms"]))
    greatest = _last_of_each(candidates.sort_by([("place", "ascending"), ("partitions", "ascending")]))
    between = pc.and_(pc.less(greatest["first_ms"], greatest["at_ms"]), pc.less(greatest["at_ms"], greatest["last_ms"]))
    others = greatest.filter(between)
    partitions, known = numbers(rows["partitions"].combine_chunks()).copy(), np.zeros(len(rows), np.bool_)
    places = numbers(others["place"].combine_chunks())
    partitions[places], known[places] = numbers(others["partitions"].combine_chunks()), True
    exists = partitions > 0
    topics = rows["topic"].combine_chunks().filter(pa.array(exists))
    return TopicCounts(groups[exists], topics, partitions[exists], known[exists])


def _own_counts(batch: pa.RecordBatch) -> pa.Table:
    """Return ``group, topic, partitions``: the counts that each group's own members show, 0 if they show none."""
    nested = batch.column("members")
    members = nested.flatten()
    of_members = list_of_items(nested)
    parts = []
    for name in ("owned", "assigned"):
        entries = members.field(name).flatten()
        counts = pc.add(entries.field("partition"), 1).cast(pa.int64())
        parts.append((of_members[list_of_items(members.field(name))], entries.field("topic"), counts))
    subscribed = members.field("subscription")
    names = subscribed.flatten()
    parts.append((of_members[list_of_items(subscribed)], names, pa.array(np.zeros(len(names), np.int64))))
    rows = pa.concat_tables(
        [pa.table({"group": pa.array(of), "topic": topics, "partitions": counts}) for of, topics, counts in parts]
    )
    own = rows.group_by(["group", "topic"]).aggregate([("partitions", "max")])
    return own.rename_columns({"partitions_max": "partitions"})


def _last_of_each(rows: pa.Table) -> pa.Table:
    """Return the last row of each place; rows of a place follow each other."""
    places = numbers(rows["place"].combine_chunks())
    is_last = np.append(places[1:] != places[:-1], True)[: len(places)]
    return rows.filter(pa.array(is_last))


def described_topics(topics: DataFrame | None) -> pa.Table:
    """Return ``cluster, topic, racks, topic_id`` of the topics table; without one, no topics."""
    if topics is None:
        fields = [field for field in arrow_type(TOPICS.schema) if field.name in _DESCRIBED]
        return pa.schema(fields).empty_table()
    return topics.select(*_DESCRIBED).toArrow()
