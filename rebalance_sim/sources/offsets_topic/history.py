"""Read the history of groups from ``__consumer_offsets``: every generation that it still has, and not only the last.

Dumps of the topic that were taken at different times are merged by partition and offset, so that together they outlive
compaction. Records of members come together by group in one exchange, sorted by their position; a worker reads a group
as a stream. Commits, which most records are, stay where they are: of each there is a bit, which says that its offset is
not missing, and those between two generations are reduced to the first and the last one. Only if some offset occurs
twice, all positions come together.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import pyarrow.compute as pc
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from rebalance_sim.engine.spark.driver_rows import DriverRows, map_batches
from rebalance_sim.engine.tables.inputs import fit_topics, rejected, union, usable
from rebalance_sim.kafka.wire.offsets_topic import RecordType
from rebalance_sim.sources.offsets_topic.commits import (
    NO_COMMITS,
    PRINTED_COMMITS,
    around_generations,
    with_commits,
    with_sums,
)
from rebalance_sim.sources.offsets_topic.fleet import RECORD, REJECTED, USED, check, type_name
from rebalance_sim.sources.offsets_topic.gaps import MISSING, Gaps, missing_offsets
from rebalance_sim.sources.offsets_topic.generation_rows import ROW
from rebalance_sim.sources.offsets_topic.generations import PRINTED, place_batches, read_batches, read_printed_batches
from rebalance_sim.sources.offsets_topic.reading import EVERYTHING, Reading
from rebalance_sim.sources.offsets_topic.stored_members import LONGEST_SAMPLE
from rebalance_sim.tables import TOPICS

NOT_NEEDED, DUPLICATE = "not needed", "duplicate"
"""Statuses of records: of offset commits and other groups, and of records that another dump has too."""
NEEDED, CHOSEN = "needed", "chosen"
"""Columns: whether the history needs a record, and whether it is of one of the groups that are read."""
_TYPES = {each.value: each for each in RecordType}
_COMMITS = [each.value for each in RecordType if each.is_offset_commit]
_NOT_NEEDED = [each.value for each in RecordType if not each.is_of_consumers or each.is_offset_commit]
_TYPE = (
    f"CASE WHEN substring(key, 1, 2) = X'0001' THEN {RecordType.OFFSET_COMMIT.value}"
    " WHEN length(key) >= 2 THEN CAST(conv(hex(substring(key, 1, 2)), 16, 10) AS INT) END"
)
_GROUP = "CASE WHEN length(key) >= 4 THEN substring(key, 5, CAST(conv(hex(substring(key, 3, 2)), 16, 10) AS INT)) END"
"""Every key begins with its type and the id of its group. Most are keys of commits, and ``conv`` takes long."""
_CONFLICT = "least <> most"
_POSITION = ("partition", "offset")
_PLACE = ("file", "block", "line", "nth")
_READ = ("key", "value", *_POSITION, "recorded_at_ms")


Stage = Callable[[DataFrame, str], DataFrame]
"""Stores rows, which are read several times, under a name."""


def persisted(rows: DataFrame, _: str) -> DataFrame:
    """Let Spark keep rows."""
    return rows.persist()


@dataclass(frozen=True)
class History:
    """The tables read from the topic."""

    generations: DataFrame
    generation_members: DataFrame
    episodes: DataFrame
    rejects: DataFrame
    records: dict[str, dict[str, int]]
    """The number of records by type and status."""


def read_history(
    dumps: Sequence[DataFrame],
    reading: Reading = EVERYTHING,
    *,
    groups: Collection[str] = (),
    topics: DataFrame | None = None,
    stage: Stage = persisted,
) -> History:
    """Read dumps of one topic: ``key``, ``value``, ``partition``, ``offset`` and, where it is known, ``timestamp``.

    ``groups`` are the only ones that are read, unless there are none. ``topics`` gives names to the topic ids of
    consumer-protocol groups. ``stage`` may store the rows, which are read several times. Raises UserError for columns
    that are missing or have another type.
    """
    for dump in dumps:
        check(dump)
    records = _records(dumps, groups)
    blocks = stage(records.transform(_by_block), "blocks")
    missing = map_batches(blocks.transform(_whole_blocks), missing_offsets, MISSING).toArrow()
    counts = blocks.transform(_counted).collect()
    needed, rejects = records.where(NEEDED), [] if topics is None else [rejected(fit_topics(topics), TOPICS)]
    in_log = records.transform(_with_commits)
    if pc.any(missing["doubled"]).as_py():
        by_position = _by_position(records)
        counts = stage(by_position.transform(_counted_positions), "counts").collect()
        if any(row["conflicting"] for row in counts):
            conflicting = by_position.where(_CONFLICT).select(*_POSITION)
            rejects.append(_conflicts(records.join(conflicting, [*_POSITION], "left_semi"), reading.cluster))
            needed, in_log = (rows.join(conflicting, [*_POSITION], "left_anti") for rows in (needed, in_log))
        in_log = in_log.transform(_each_once)
    has_commits = any(row["type"] in _COMMITS and row["records"] for row in counts)
    whole = replace(
        reading,
        gaps=Gaps.of(missing),
        topic_names=_names(topics, reading.cluster),
        without_commits="" if has_commits else NO_COMMITS,
    )
    in_order = needed.repartition("group").sortWithinPartitions(
        "group", *_POSITION, "key", "value", F.desc("recorded_at_ms")
    )
    rows = stage(map_batches(in_order.select(*_READ), partial(read_batches, whole), ROW), "rows")
    history = _history(rows, rejects, _by_type(counts))
    if not has_commits:
        return history
    around = stage(around_generations(in_log, history.generations, whole.gaps), "commits")
    return replace(
        history,
        generations=with_commits(history.generations, around),
        episodes=with_sums(history.episodes, history.generations, around),
    )


def read_printed_history(
    lines: DataFrame, reading: Reading = EVERYTHING, *, groups: Collection[str] = (), stage: Stage = persisted
) -> History:
    """Read the console consumer's output: lines with ``text`` and their position ``file``, ``block`` and ``line``.

    Positions are in the order of printing, and lines of one group may not occur twice: offsets are not printed. The
    other parameters are those of ``read_history``.
    """
    printed = map_batches(lines, partial(place_batches, frozenset(groups)), PRINTED)
    in_order = printed.where("text IS NOT NULL").repartition("group_id").sortWithinPartitions("group_id", *_PLACE)
    whole = replace(reading, without_commits=PRINTED_COMMITS)
    rows = stage(map_batches(in_order, partial(read_printed_batches, whole), ROW), "rows")
    kinds = printed.groupBy("type", F.expr(f"text IS NOT NULL AS {NEEDED}")).agg(F.count("*").alias("records"))
    counts = kinds.selectExpr("*", "0L AS duplicates", "0L AS conflicting")
    return _history(rows, [], _by_type(stage(counts, "counts").collect()))


def _history(rows: DataFrame, rejects: list[DataFrame], records: dict[str, dict[str, int]]) -> History:
    """Return the tables that workers made, and count the records that they rejected."""
    is_record = "generation IS NULL AND episode IS NULL"
    for row in rows.where(is_record).groupBy("type").count().collect():
        of_type = records[_name(row["type"])]
        of_type[USED] -= row["count"]
        of_type[REJECTED] = of_type.get(REJECTED, 0) + row["count"]
    return History(
        generations=_structs(rows, "generation"),
        generation_members=rows.select(F.inline("members")),
        episodes=_structs(rows, "episode"),
        rejects=union([*rejects, rows.select(F.inline("rejects"))]),
        records={name: {status: n for status, n in of_type.items() if n} for name, of_type in records.items()},
    )


def _structs(rows: DataFrame, name: str) -> DataFrame:
    """Return the rows in a column of structs."""
    if isinstance(rows, DriverRows):
        return rows.field(name)
    return rows.where(F.col(name).isNotNull()).select(f"{name}.*")


# ---- records


def _records(dumps: Sequence[DataFrame], groups: Collection[str]) -> DataFrame:
    """Return the records of all dumps, with their types and groups, and whether the history needs them."""
    chosen = f"`group` IS NULL OR `group` IN ({', '.join(map(_binary, groups))})" if groups else "true"
    needed = f"(type IS NULL OR type NOT IN ({', '.join(map(str, _NOT_NEEDED))})) AND {CHOSEN}"
    positioned = [
        dump.selectExpr("key", "value", "CAST(partition AS INT)", "CAST(offset AS BIGINT)", _recorded_at(dump))
        for dump in dumps
    ]
    named = union(positioned).selectExpr("*", f"{_TYPE} AS type", f"{_GROUP} AS `group`")
    return named.selectExpr("*", f"{chosen} AS {CHOSEN}").selectExpr("*", f"{needed} AS {NEEDED}")


def _with_commits(records: DataFrame) -> DataFrame:
    """Return all records as ``around_generations`` takes them; a deleted offset is no commit."""
    is_commit = f"{CHOSEN} AND type IN ({', '.join(map(str, _COMMITS))}) AND length(value) >= 10"
    return records.where("partition IS NOT NULL AND offset IS NOT NULL").selectExpr(
        f"CASE WHEN {CHOSEN} THEN `group` END AS `group`",
        f"CASE WHEN {is_commit} THEN key END AS key",
        f"CASE WHEN {is_commit} THEN substring(value, 3, 8) END AS committed",
        *(NEEDED, *_POSITION, "recorded_at_ms"),
    )


def _each_once(in_log: DataFrame) -> DataFrame:
    """Return records of several dumps in their order. A dump may lack their times."""
    others = [F.max(name).alias(name) for name in in_log.columns if name not in _POSITION]
    merged = in_log.groupBy(*_POSITION).agg(*others)
    return merged.repartition("partition").sortWithinPartitions(*_POSITION).select(*in_log.columns)


def _recorded_at(dump: DataFrame) -> str:
    """Return the timestamps of records, as Spark's source for Kafka has them, in milliseconds."""
    kind = dict(dump.dtypes).get("timestamp")
    values = {"timestamp": "unix_millis(timestamp)", "bigint": "timestamp"}
    return f"CAST({values.get(kind or '', 'NULL')} AS BIGINT) AS recorded_at_ms"


def _binary(text: str) -> str:
    return f"X'{text.encode().hex()}'"


def _by_block(records: DataFrame) -> DataFrame:
    """Count records by block of offsets and type; ``present`` has a bit for each offset.

    A task reads records mostly in their order, so that few rows remain to be exchanged.
    """
    bit = "shiftleft(1L, CAST(offset & 63 AS INT))"
    narrow = records.selectExpr("partition", "shiftright(offset, 6) AS block", "type", NEEDED, f"{bit} AS bit")
    return narrow.groupBy("partition", "block", "type", NEEDED).agg(
        F.bit_or("bit").alias("present"), F.count("*").alias("records")
    )


def _whole_blocks(blocks: DataFrame) -> DataFrame:
    """Return one row per block, in the order of positions."""
    position = ("partition", "block")
    return (
        blocks.repartition("partition")
        .groupBy(*position)
        .agg(
            F.bit_or("present").alias("present"),
            F.expr(f"coalesce(bit_or(CASE WHEN {NEEDED} THEN present END), 0L) AS {NEEDED}"),
            F.sum("records").alias("records"),
        )
        .sortWithinPartitions(*position)
    )


def _counted(blocks: DataFrame) -> DataFrame:
    """Count records by type; all have positions of their own."""
    by_type = blocks.groupBy("type", NEEDED).agg(F.sum("records").alias("records"))
    return by_type.selectExpr("*", "0L AS duplicates", "0L AS conflicting")


def _by_position(records: DataFrame) -> DataFrame:
    """Return one row per position, with hashes of its records."""
    content = "xxhash64(key, key IS NULL, value, value IS NULL) AS content"
    narrow = records.selectExpr(*_POSITION, "type", NEEDED, content)
    return narrow.groupBy(*_POSITION).agg(
        F.min("content").alias("least"),
        F.max("content").alias("most"),
        F.min("type").alias("type"),
        F.max(NEEDED).alias(NEEDED),
        F.count("*").alias("dumps"),
    )


def _counted_positions(by_position: DataFrame) -> DataFrame:
    """Count records by type, those that several dumps have, and those about which dumps disagree."""
    return by_position.groupBy("type", NEEDED).agg(
        F.expr(f"count_if(NOT {_CONFLICT})").alias("records"),
        F.expr(f"sum(CASE WHEN {_CONFLICT} THEN 0 ELSE dumps - 1 END)").alias("duplicates"),
        F.expr(f"sum(CASE WHEN {_CONFLICT} THEN dumps ELSE 0 END)").alias("conflicting"),
    )


def _conflicts(records: DataFrame, cluster: str) -> DataFrame:
    """Return the rejects of records about which dumps disagree."""
    row = "to_json(struct(partition, offset, lower(hex(key)) AS key, lower(hex(value)) AS value))"
    name = "CASE WHEN is_valid_utf8(CAST(`group` AS STRING)) THEN CAST(`group` AS STRING) END"
    reason = "concat('dumps disagree about offset ', offset, ' of partition ', partition)"
    return records.select(
        F.lit(RECORD).alias("table"),
        F.lit(cluster).alias("cluster"),
        F.expr(f"{name} AS group_id"),
        F.expr(f"left({row}, {LONGEST_SAMPLE}) AS row"),
        F.expr(f"{reason} AS reason"),
    )


# ---- counts


def _by_type(counts: Iterable[Row]) -> dict[str, dict[str, int]]:
    """Return the number of records by type and status."""
    by_type: dict[str, dict[str, int]] = {}
    for row in sorted(counts, key=lambda row: (row["type"] is None, row["type"])):
        of_type = by_type.setdefault(_name(row["type"]), {})
        for status, number in (
            (USED if row[NEEDED] else NOT_NEEDED, row["records"]),
            (DUPLICATE, row["duplicates"]),
            (REJECTED, row["conflicting"]),
        ):
            of_type[status] = of_type.get(status, 0) + number
    return by_type


def _name(number: int | None) -> str:
    return type_name(number) if number in _TYPES else "unreadable"


# ---- topics


def _names(topics: DataFrame | None, cluster: str) -> dict[str, str]:
    """Return the names of topics by id."""
    if topics is None:
        return {}
    named = usable(fit_topics(topics)).where("topic_id IS NOT NULL").where(F.col("cluster") == cluster)
    return {row["topic_id"][:22]: row["topic"] for row in named.select("topic_id", "topic").collect()}
