"""Read a fleet from ``__consumer_offsets``, in which group coordinators store groups and committed offsets.

The last record of each key counts, as in Kafka's log compaction. Records are decoded in Spark's workers; only counts
reach the driver. What the topic does not contain is assumed, and listed in ``assumptions``.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, StructType

from rebalance_sim.engine.spark.driver_rows import map_batches
from rebalance_sim.engine.tables.arrow import arrow_type
from rebalance_sim.engine.tables.inputs import fit_topics, rejected, union, usable
from rebalance_sim.errors import UserError
from rebalance_sim.kafka.clients.assumed_protocols import Basis
from rebalance_sim.kafka.clients.recognition import Signs
from rebalance_sim.kafka.clients.stated import StatedClient, StatedClients
from rebalance_sim.kafka.group_kinds import SHARE_TYPE
from rebalance_sim.kafka.wire.consumer_protocol import decode_assignment
from rebalance_sim.kafka.wire.offsets_topic import (
    ConsumerGroupCurrentMemberAssignment,
    ConsumerGroupMemberMetadata,
    ConsumerGroupPartitionMetadata,
    ConsumerGroupRegularExpression,
    GroupMember,
    GroupMetadata,
    Key,
    OffsetCommit,
    RecordType,
    ShareGroupCurrentMemberAssignment,
    ShareGroupMemberMetadata,
    ShareGroupTargetAssignmentMember,
    Value,
    decode_generation,
    decode_key,
    decode_value,
)
from rebalance_sim.kafka.wire.readable import SchemaError
from rebalance_sim.releases import SHARE_ASSIGNORS
from rebalance_sim.sources.assumptions import (
    MOST_NAMES,
    OF_OTHER_TYPES,
    OPAQUE,
    PROTOCOLS,
    SHARED,
    USED_TOPICS,
    WITHOUT_MEMBERS,
    MembersAsStated,
    checked_protocols,
    groups,
)
from rebalance_sim.sources.client_columns import client_columns
from rebalance_sim.sources.consumer_groups import server_protocols
from rebalance_sim.sources.offsets_topic.stored_members import (
    LONGEST_SAMPLE,
    as_json,
    consumer_columns,
    in_hex,
    set_protocols,
    stored_columns,
)
from rebalance_sim.sources.offsets_topic.text import BadText, NotPrinted, Printed, read_printed
from rebalance_sim.sources.sent_subscriptions import sent_columns
from rebalance_sim.tables import (
    DEFAULT_CLUSTER,
    DEFAULT_PROTOCOL_TYPE,
    INT,
    LISTED_GROUPS,
    LONG,
    MEMBERS,
    OFFSETS,
    REJECTS,
    STRING,
    STRINGS,
    TOPICS,
    struct,
    structs,
)
from rebalance_sim.wording import plural

RECORD = "offsets_topic"
"""The table of a record in ``rejects``; members of records that can be decoded are rejected as ``members``."""
ASSIGNED = "assigned_partitions"
"""The table in ``rejects`` of a member's partitions whose topic id has no name."""
USED, TOMBSTONE, REJECTED, OTHER_GROUP, NOT_PRINTED = "used", "tombstone", "rejected", "other group", "not printed"
SUPERSEDED = "superseded"
"""The status of a record that is followed by one with the same key."""

_GENERATION_BYTES = 256
"""Bytes of each record of a classic group in which its generation and time are looked for, before the members."""
_GENERATIONS_MS = 3_600_000
"""How long before a group's last generation its earlier ones count."""

_SERVER = "server assignor is not set for {}; the one that most members of the group prefer is used, or uniform"
_LEADER = "join order is unknown for {}, except for the leader. Predicted tie-breaks may differ"
_ORDER = (
    "join order is unknown for {}: Kafka's formatters up to 3.8 do not print the leader. Predicted leaders and "
    "tie-breaks may differ"
)
_NOT_PRINTED = "owned partitions and rack are unknown for {}: Kafka's formatters up to 3.8 do not print them"
_SHARE_TYPES = [each.value for each in RecordType if each.is_of_share_group]
_REGEX = "regular expressions of {} are replaced with the topics that the coordinator last found to match, if any"
_SENTENCES = (*PROTOCOLS, _SERVER, USED_TOPICS, _REGEX, _NOT_PRINTED, OPAQUE, _LEADER, _ORDER, SHARED)

_MEMBER = StructType([field for field in MEMBERS.schema if field.name not in ("cluster", "group_id")])
_OFFSET_COLUMNS = ("topic", "partition", "committed", "metadata", "committed_at_ms", "expires_at_ms")
_ROW = struct(
    {"type": INT, "status": STRING, "group_id": STRING}
    | {name: OFFSETS.schema[name].dataType for name in _OFFSET_COLUMNS}
    | {"topic_id": STRING, "member_id": STRING, "epoch": INT, "regex": STRING, "matched": STRINGS}
    | {
        "named": structs({"topic_id": STRING, "topic": STRING, "partitions": INT}),
        "assigned": structs({"topic_id": STRING, "partitions": ArrayType(INT)}),
        "members": ArrayType(_MEMBER),
        "generations": structs({"generation": INT, "at_ms": LONG}),
        "rejects": structs({"row": STRING, "reason": STRING}),
        "notes": structs({"sentence": STRING, "members": INT}),
    }
)
"""A decoded record: the columns of its type; all others are null."""
_COUNTED = StructType([*_ROW, *struct({"records": LONG})])
_PLACE = struct({"file": STRING, "block": LONG, "line": LONG, "nth": INT})
_PLACED = StructType([*_ROW, *_PLACE])

Stage = Callable[[DataFrame], DataFrame]
_Values = dict[str, Any]


@dataclass(frozen=True)
class OffsetsTopic:
    """The tables read from the topic, and what was assumed."""

    topics: DataFrame
    """Those of the given topics table, or else those stored by consumer-protocol groups (before Kafka 4.1)."""
    members: DataFrame
    offsets: DataFrame
    rejects: DataFrame
    listed_groups: DataFrame
    """Share groups and streams groups."""
    assumptions: list[str]
    """A sentence for each kind of assumption."""
    records: dict[str, dict[str, int]]
    """The number of records by type and status."""
    given: DataFrame | None = None
    """The records as they were read; None if a formatter has printed them, which loses what other protocols send."""


def read_offsets_topic(
    records: DataFrame,
    *,
    topics: DataFrame | None = None,
    protocols: Sequence[str] | None = None,
    clients: Sequence[StatedClient] = (),
    cluster: str = DEFAULT_CLUSTER,
    stage: Stage = DataFrame.persist,
) -> OffsetsTopic:
    """Read records with ``key``, ``value``, ``partition`` and ``offset``, as Spark's source for Kafka returns them.

    ``topics`` gives names to the topic ids of consumer-protocol groups. ``clients`` is what the owner of the cluster
    says about clients. ``protocols`` are the assignors that all other classic members offer, instead of the one that
    their group elected. ``stage`` may store the decoded records, which are read several times. Raises UserError for
    columns that are missing or have another type.
    """
    as_stated = MembersAsStated(checked_protocols(protocols), StatedClients(tuple(clients)))
    return read_stored_records(records, as_stated, topics, cluster, stage)


def read_stored_records(
    records: DataFrame, as_stated: MembersAsStated, topics: DataFrame | None, cluster: str, stage: Stage
) -> OffsetsTopic:
    """Read records as ``read_offsets_topic`` does; ``as_stated`` is what a user says about members."""
    check(records)
    decoded = map_batches(_last_of_each_key(records), partial(_decode_batches, as_stated), _COUNTED)
    return _tables(stage(decoded), topics, cluster)


def read_printed_offsets_topic(
    lines: DataFrame, as_stated: MembersAsStated, topics: DataFrame | None, cluster: str, stage: Stage
) -> OffsetsTopic:
    """Read the console consumer's output: lines with ``text`` and their position ``file``, ``block`` and ``line``.

    Positions are in the order of printing. The other parameters are those of ``read_stored_records``.
    """
    placed = map_batches(lines, partial(_read_batches, as_stated), _PLACED)
    tables = _tables(stage(_last_printed(placed)), topics, cluster)
    return replace(tables, members=_with_used_topics(tables.members, tables.offsets))


def check(records: DataFrame) -> None:
    """Raise UserError for columns that are missing or have another type."""
    wanted = {"key": ("binary",), "value": ("binary",), "partition": ("int", "bigint"), "offset": ("int", "bigint")}
    types = dict(records.dtypes)
    for name, allowed in wanted.items():
        if name not in types:
            raise UserError(f"{RECORD}: column {name!r} is missing; found: {', '.join(records.columns)}")
        if types[name] not in allowed:
            raise UserError(f"{RECORD}: column {name!r} is {types[name]}, expected {allowed[0]}")


# ---- the last record of each key


def _last_of_each_key(records: DataFrame) -> DataFrame:
    """Return the last record of each key, and every record without a key.

    ``begins`` has the first bytes of all records of a classic group, including those before the last.
    """
    # Both key versions of an offset commit replay into the same offset (OffsetMetadataManager.replay).
    newest = F.concat(F.lit(b"\0\1"), F.substring("key", 3, 2**31 - 1))
    key = F.when(F.substring("key", 1, 2) == F.lit(b"\0\0"), newest).otherwise(F.col("key"))
    alone = F.when(F.col("key").isNull(), F.struct("partition", "offset"))
    last = F.max(F.struct("partition", "offset", "value")).alias("last")
    is_group = F.substring("key", 1, 2) == F.lit(RecordType.GROUP_METADATA.to_bytes(2))
    begins = F.collect_list(F.when(is_group, F.substring("value", 1, _GENERATION_BYTES))).alias("begins")
    reduced = records.groupBy(key.alias("key"), alone.alias("alone"))
    counted = reduced.agg(last, begins, F.count(F.lit(1)).alias("records"))
    return counted.select("key", "last.partition", "last.offset", "last.value", "begins", "records")


def _last_printed(placed: DataFrame) -> DataFrame:
    """Return the last record of each key, every line that cannot be used, and one row per type without a key."""
    place = F.struct(*_PLACE.names)
    alone = F.when(F.col("status") == REJECTED, place)
    identity = [F.col(name) for name in ("type", "group_id", "topic", "partition")]
    last = F.max_by(F.struct(*_ROW.names), place).alias("last")
    generations = F.flatten(F.collect_list("generations")).alias("generations")
    reduced = placed.groupBy(*identity, alone.alias("alone"))
    counted = reduced.agg(last, generations, F.count(F.lit(1)).alias("records"))
    return counted.withColumn("last", F.col("last").withField("generations", F.col("generations"))).select(
        "last.*", "records"
    )


# ---- decoding in the workers


def _decode_batches(as_stated: MembersAsStated, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        columns = [batch.column(name).to_pylist() for name in ("key", "value", "partition", "offset", "begins")]
        rows = _Rows(as_stated)
        for key, value, partition, offset, begins in zip(*columns, strict=True):
            rows.add_bytes(key, value, partition, offset)
            rows.set_generations(begins)
        yield rows.batch({"records": batch.column("records")}, _COUNTED)


def _read_batches(as_stated: MembersAsStated, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        rows, places = _Rows(as_stated), list[tuple[object, ...]]()
        columns = [batch.column(name).to_pylist() for name in ("text", *_PLACE.names[:-1])]
        for text, *place in zip(*columns, strict=True):
            for nth, record in enumerate(read_printed(text or "")):
                places.append((*place, nth))
                rows.add_printed(record, place)
        positions = zip(_PLACE.names, zip(*places, strict=True) if places else ((),) * len(_PLACE), strict=True)
        fields = arrow_type(_PLACED)
        yield rows.batch({name: pa.array(values, fields.field(name).type) for name, values in positions}, _PLACED)


class _Rows:
    """Decoded records, as columns."""

    def __init__(self, as_stated: MembersAsStated) -> None:
        self._as_stated = as_stated
        self._columns: dict[str, list[Any]] = {name: [] for name in _ROW.names}

    def add_bytes(self, key: bytes | None, value: bytes | None, partition: int, offset: int) -> None:
        """Decode a record."""
        name: Key | None = None
        try:
            if key is None:
                raise SchemaError("record key: null")
            name = decode_key(key)
            decoded = None if value is None or not _is_used(name.type) else decode_value(name.type, value)
        except SchemaError as problem:
            row = {"partition": partition, "offset": offset, "key": in_hex(key), "value": in_hex(value)}
            self._reject(name, row, str(problem))
            return
        if not _is_used(name.type):
            status = TOMBSTONE if value is None else OTHER_GROUP
            self._add(type=name.type.value, status=status, group_id=name.group_id)
        else:
            self._add_record(name, decoded)

    def set_generations(self, begins: Iterable[bytes]) -> None:
        """Set the generations of the group added last, from the beginnings of all its records."""
        if begins:
            self._columns["generations"][-1] = [generation for data in begins for generation in _generations(data)]

    def add_printed(self, record: Printed | NotPrinted | BadText, place: Sequence[object]) -> None:
        """Add a record that was printed."""
        if isinstance(record, BadText):
            row = dict(zip(_PLACE.names, place, strict=False)) | {"text": record.text[:LONGEST_SAMPLE]}
            self._reject(None, row, record.reason)
        elif isinstance(record, NotPrinted):
            self._add(type=record.type, status=NOT_PRINTED)
        else:
            newest = max(record.key.type, RecordType.OFFSET_COMMIT)
            self._add_record(replace(record.key, type=newest), record.value)

    def batch(self, more: dict[str, pa.Array], schema: StructType) -> pa.RecordBatch:
        """Return the rows, with the caller's additional columns."""
        fields = arrow_type(schema)
        arrays = {field.name: pa.array(self._columns[field.name], field.type) for field in arrow_type(_ROW)}
        arrays |= {name: array.cast(fields.field(name).type) for name, array in more.items()}
        return pa.RecordBatch.from_arrays([arrays[field.name] for field in fields], names=schema.names)

    def _add(self, **values: Any) -> None:
        for name, column in self._columns.items():
            column.append(values.get(name))

    def _reject(self, key: Key | None, row: _Values, reason: str) -> None:
        self._add(
            type=key and key.type.value,
            status=REJECTED,
            group_id=key and key.group_id,
            rejects=[{"row": as_json(row), "reason": reason}],
        )

    def _add_record(self, key: Key, value: Value | None) -> None:
        columns = {"type": key.type.value, "group_id": key.group_id, "topic": key.topic, "partition": key.partition}
        columns |= {"member_id": key.member_id, "regex": key.regular_expression}
        if value is None:
            self._add(**columns, status=TOMBSTONE)
        else:
            self._add(**columns | _columns(key, value, self._as_stated), status=USED)


def _is_used(record_type: RecordType) -> bool:
    """Return whether members or offsets come from records of a type. Those of streams groups are only counted."""
    return record_type.is_decoded and not record_type.is_of_streams_group


def _columns(key: Key, value: Value, as_stated: MembersAsStated) -> _Values:
    """Return the columns of a record."""
    match value:
        case OffsetCommit():
            return {
                "committed": value.offset,
                "metadata": value.metadata,
                "committed_at_ms": value.commit_timestamp_ms,
                "expires_at_ms": value.expire_timestamp_ms,
                "topic_id": value.topic_id,
            }
        case GroupMetadata():
            return _classic_members(key.group_id, value, as_stated) | {"generations": [_generation(value)]}
        case ConsumerGroupMemberMetadata():
            return _consumer_member(key, value, as_stated)
        case ConsumerGroupCurrentMemberAssignment():
            assigned = [{"topic_id": topic_id, "partitions": numbers} for topic_id, numbers in value.assigned]
            return {"epoch": value.member_epoch, "assigned": assigned}
        case ShareGroupMemberMetadata():
            return _share_member(key, value, as_stated)
        case ShareGroupTargetAssignmentMember():
            return {
                "assigned": [{"topic_id": topic_id, "partitions": numbers} for topic_id, numbers in value.partitions]
            }
        case ShareGroupCurrentMemberAssignment():
            return {"epoch": value.member_epoch}
        case ConsumerGroupPartitionMetadata():
            return {"named": [vars(topic) for topic in value.topics]}
        case ConsumerGroupRegularExpression():
            return {"matched": value.topics}
        case _:
            return {}


def _generations(data: bytes) -> Iterator[_Values]:
    """Yield the generation of a record; none if it cannot be decoded, or is cut off too early."""
    with suppress(SchemaError):
        yield _generation(decode_generation(data))


def _generation(group: GroupMetadata) -> _Values:
    return {"generation": group.generation, "at_ms": group.state_timestamp_ms}


def _classic_members(group_id: str, group: GroupMetadata, as_stated: MembersAsStated) -> _Values:
    """Return the members of a classic group, and rejects for members with malformed bytes.

    These members have no subscription, so that later runs reject them too and mark their group.
    """
    members, rejects, notes = list[_Values](), list[_Values](), list[str]()
    for place, member in enumerate(group.members):
        columns = stored_columns(group, member, place)
        elected = (group.protocol,) if group.protocol else ()
        ids = (group_id, member.member_id, member.client_id, member.group_instance_id)
        signs = Signs(*ids, elected, protocol_type=group.protocol_type)
        stated = as_stated.clients.of(group_id, member.client_id)
        columns |= client_columns(signs, stated)
        try:
            sent, assumed = _sent_by(group, member, signs, stated)
            columns |= sent
            notes += [_ORDER if group.leader is None else _LEADER, *assumed]
        except SchemaError as problem:
            row = {"member_id": member.member_id, "client_id": member.client_id, "host": member.client_host}
            rejects.append({"row": as_json(row), "reason": str(problem)})
            columns["generation"] = group.generation
        members.append(columns)
    notes += set_protocols(members, group_id, group, as_stated)
    counted = [{"sentence": sentence, "members": notes.count(sentence)} for sentence in _SENTENCES if sentence in notes]
    return {"members": members, "rejects": rejects, "notes": counted}


def _sent_by(
    group: GroupMetadata, member: GroupMember, signs: Signs, stated: StatedClient
) -> tuple[_Values, list[str]]:
    """Return the columns that a member's own bytes fill, and the assumptions made; raise SchemaError for bad bytes."""
    if not group.protocol:
        raise SchemaError("group metadata value: protocol: null, though the group has members")
    if group.protocol_type != DEFAULT_PROTOCOL_TYPE:
        return {"subscription": []}, [OPAQUE]
    if member.subscription is None or member.assignment is None:
        return {}, [USED_TOPICS, _NOT_PRINTED]
    columns = sent_columns(signs, member.subscription, stated)
    # The assignment is empty if the leader left the member out.
    owned = decode_assignment(member.assignment).partitions if member.assignment else ()
    columns |= {"owned": [each._asdict() for each in owned]}
    return columns | {"generation": group.generation, "generation_at_ms": group.state_timestamp_ms}, []


def _consumer_member(key: Key, member: ConsumerGroupMemberMetadata, as_stated: MembersAsStated) -> _Values:
    """Return a member of a consumer-protocol group; its current assignment is in another record."""
    columns = consumer_columns(key, member, as_stated)
    notes = [_SERVER] * (columns["protocols"] is None) + [_REGEX] * (member.subscribed_regex is not None)
    counted = [{"sentence": sentence, "members": 1} for sentence in notes]
    return {"members": [columns], "regex": member.subscribed_regex, "notes": counted}


def _share_member(key: Key, member: ShareGroupMemberMetadata, as_stated: MembersAsStated) -> _Values:
    """Return a member of a share group; its target assignment is in another record."""
    signs = Signs(key.group_id, key.member_id or "", member.client_id, None, protocol_type=SHARE_TYPE)
    columns = {
        "member_id": key.member_id,
        "client_id": member.client_id,
        "host": member.client_host,
        "rack": member.rack_id,
        "protocol_type": SHARE_TYPE,
        "protocols": list(SHARE_ASSIGNORS),
        "subscription": member.subscribed_topics,
        **client_columns(signs, as_stated.clients.of(key.group_id, member.client_id)),
    }
    return {"members": [columns], "notes": [{"sentence": SHARED, "members": 1}]}


# ---- tables


def _tables(decoded: DataFrame, topics: DataFrame | None, cluster: str) -> OffsetsTopic:
    used = decoded.where(F.col("status") == USED)
    rejects = [decoded.where(F.col("status") == REJECTED).select("group_id", F.lit(RECORD).alias("table"), "rejects")]
    rejects.append(used.select("group_id", F.lit(MEMBERS.name).alias("table"), "rejects"))
    named_rejects = (each.select("group_id", "table", F.inline("rejects")) for each in rejects)
    tables = [_fit(each, REJECTS.schema, cluster) for each in named_rejects]
    fitted = None if topics is None else fit_topics(topics)
    if fitted is None:
        named = _named_topics(used, cluster)
    else:
        named = usable(fitted)
        tables.append(rejected(fitted, TOPICS))
    offsets = _fit(used.where(_is(RecordType.OFFSET_COMMIT)), OFFSETS.schema, cluster)
    joined = used.where(_is(RecordType.GROUP_METADATA)).select("group_id", "generations", F.inline("members"))
    classic = joined.transform(_with_earlier_generation)
    consumers, unnamed = _consumer_members(used, named, cluster)
    tables.append(_fit(unnamed, REJECTS.schema, cluster))
    sharing, unnamed = _share_members(used, named, cluster)
    tables.append(_fit(unnamed, REJECTS.schema, cluster))
    members = union([_fit(classic, MEMBERS.schema, cluster), consumers, sharing])
    records = _counts(decoded)
    return OffsetsTopic(
        topics=named,
        members=members,
        offsets=offsets,
        rejects=union(tables),
        listed_groups=_listed_groups(decoded, cluster),
        assumptions=[
            *(*_assumed(used), *_about_groups(decoded)),
            *(*_about_records(records), *_about_topics(fitted is not None)),
        ],
        records=records,
    )


def _listed_groups(decoded: DataFrame, cluster: str) -> DataFrame:
    """Return the share groups and streams groups that have records."""
    group_type = F.when(F.col("type").isin(_SHARE_TYPES), "share").otherwise("streams")
    of_other_types = decoded.where(F.col("status") == OTHER_GROUP).groupBy("group_id")
    return _fit(of_other_types.agg(F.max(group_type).alias("type")), LISTED_GROUPS.schema, cluster)


def _with_earlier_generation(members: DataFrame) -> DataFrame:
    """Add the first generation of the hour before each member's generation, if the topic still has one."""
    by_time = F.array_sort(F.transform("generations", lambda entry: F.struct(entry["at_ms"], entry["generation"])))
    since_ms = F.col("generation_at_ms") - _GENERATIONS_MS
    first = F.get(
        F.filter(by_time, lambda entry: (entry["at_ms"] >= since_ms) & (entry["generation"] < F.col("generation"))), 0
    )
    return members.withColumns({"earlier_generation": first["generation"], "earlier_generation_at_ms": first["at_ms"]})


def _is(record_type: RecordType) -> Column:
    return F.col("type") == record_type.value


def _fit(rows: DataFrame, schema: StructType, cluster: str) -> DataFrame:
    """Return the columns of a table; those that the rows do not have are null."""
    values = {name: F.col(name) for name in rows.columns} | {"cluster": F.lit(cluster)}
    null = F.lit(None)
    return rows.select(*[values.get(of.name, null).cast(of.dataType).alias(of.name) for of in schema])


def _named_topics(used: DataFrame, cluster: str) -> DataFrame:
    """Return the topics that consumer-protocol groups store (before Kafka 4.1); the newest have the most partitions."""
    named = used.where(_is(RecordType.CONSUMER_GROUP_PARTITION_METADATA)).select(F.inline("named"))
    newest = named.groupBy("topic").agg(F.max(F.struct("partitions", "topic_id")).alias("newest"))
    return _fit(newest.select("topic", "newest.*"), TOPICS.schema, cluster)


def _with_used_topics(members: DataFrame, offsets: DataFrame) -> DataFrame:
    """Replace unknown subscriptions with the topics for which the group has offsets.

    Members with malformed bytes, which have a generation, stay without a subscription.
    """
    topics = offsets.groupBy("group_id").agg(F.sort_array(F.collect_set("topic")).alias("used_topics"))
    is_unknown = F.col("subscription").isNull() & F.col("generation").isNull()
    unknown = members.where(is_unknown).join(topics, "group_id", "left")
    used = F.coalesce("used_topics", F.array().cast(STRINGS))
    filled = unknown.withColumn("subscription", used).select(*members.columns)
    return union([members.where(~is_unknown), filled])


def _consumer_members(used: DataFrame, topics: DataFrame, cluster: str) -> tuple[DataFrame, DataFrame]:
    """Return the members of consumer-protocol groups, and the partitions of topics whose ids have no name."""
    member = ["group_id", "member_id"]
    base = used.where(_is(RecordType.CONSUMER_GROUP_MEMBER_METADATA)).select("group_id", "regex", F.inline("members"))
    current = used.where(_is(RecordType.CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT))
    assigned = current.select(*member, F.inline("assigned")).join(_names(used, topics, cluster), "topic_id", "left")
    partitions = assigned.where("topic IS NOT NULL").select(
        *member, "topic", F.explode("partitions").alias("partition")
    )
    owned = partitions.groupBy(*member).agg(F.sort_array(F.collect_list(F.struct("topic", "partition"))).alias("has"))
    matched = used.where(_is(RecordType.CONSUMER_GROUP_REGULAR_EXPRESSION)).select("group_id", "regex", "matched")
    joined = (
        base.drop("owned", "generation")
        .join(current.select(*member, F.col("epoch").alias("generation")), member, "left")
        .join(owned, member, "left")
        .join(matched, ["group_id", "regex"], "left")
        .join(_preferred(base), "group_id", "left")
    )
    likely = F.coalesce("preferred", F.array(*map(F.lit, server_protocols(None).protocols)))
    preferred = F.when(F.col("preferred").isNotNull(), F.lit(Basis.GROUPS_ASSIGNOR.value))
    basis = F.coalesce(preferred, F.lit(Basis.COORDINATORS_DEFAULT.value))
    owned_type = MEMBERS.schema["owned"].dataType
    nothing = F.array().cast(owned_type)
    listed_and_matched = F.array_sort(F.array_distinct(F.concat("subscription", "matched")))
    members = joined.withColumns(
        {
            "owned": F.coalesce(F.col("has").cast(owned_type), F.when(F.col("generation").isNotNull(), nothing)),
            "subscription": F.coalesce(listed_and_matched, "subscription"),
            "protocols": F.coalesce("protocols", likely),
            "protocols_assumed": F.when(F.col("protocols").isNull(), basis),
        }
    )
    return _fit(members, MEMBERS.schema, cluster), _unnamed(assigned)


def _unnamed(assigned: DataFrame) -> DataFrame:
    """Return rejects for the assigned partitions of topics without a name."""
    row = F.to_json(F.struct("member_id", "topic_id", "partitions"))
    reason = F.concat(F.lit("topic id "), "topic_id", F.lit(" has no name; --topics with a topic_id gives it one"))
    return assigned.where("topic IS NULL").select(
        F.lit(ASSIGNED).alias("table"), "group_id", row.alias("row"), reason.alias("reason")
    )


def _share_members(used: DataFrame, topics: DataFrame, cluster: str) -> tuple[DataFrame, DataFrame]:
    """Return the members of share groups, and the partitions of topics whose ids have no name.

    A member owns its target assignment, in the order of the record, on which the next one depends.
    """
    member = ["group_id", "member_id"]
    base = used.where(_is(RecordType.SHARE_GROUP_MEMBER_METADATA)).select("group_id", F.inline("members"))
    current = used.where(_is(RecordType.SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT))
    target = used.where(_is(RecordType.SHARE_GROUP_TARGET_ASSIGNMENT_MEMBER))
    listed = target.select(*member, F.posexplode("assigned").alias("topic_place", "of_topic"))
    assigned = listed.select(*member, "topic_place", "of_topic.*").join(
        _names(used, topics, cluster), "topic_id", "left"
    )
    partitions = assigned.where("topic IS NOT NULL").select(
        *member, "topic_place", "topic", F.posexplode("partitions").alias("place", "partition")
    )
    in_order = F.sort_array(F.collect_list(F.struct("topic_place", "place", "topic", "partition")))
    has = F.transform(in_order, lambda each: F.struct(each["topic"], each["partition"]))
    owned_type = MEMBERS.schema["owned"].dataType
    owned = partitions.groupBy(*member).agg(has.cast(owned_type).alias("owned"))
    members = (
        base.drop("owned", "generation")
        .join(current.select(*member, F.col("epoch").alias("generation")), member, "left")
        .join(owned, member, "left")
        .withColumn("owned", F.coalesce("owned", F.array().cast(owned_type)))
    )
    return _fit(members, MEMBERS.schema, cluster), _unnamed(assigned)


def _preferred(members: DataFrame) -> DataFrame:
    """Return the server assignor that most members of each group prefer.

    As in ``ConsumerGroup.preferredServerAssignor``, members without a preference do not count. In a tie the last
    name is used, which is uniform.
    """
    preferences = members.where(F.col("protocols")[0].startswith("server-")).groupBy("group_id", "protocols").count()
    return preferences.groupBy("group_id").agg(F.max_by("protocols", F.struct("count", "protocols")).alias("preferred"))


def _names(used: DataFrame, topics: DataFrame, cluster: str) -> DataFrame:
    """Return the topics' names by id, from the topics table, offset commits and stored topics."""
    kept = used.where(_is(RecordType.CONSUMER_GROUP_PARTITION_METADATA)).select(F.inline("named"))
    sources = [topics.where(F.col("cluster") == cluster), used.where(_is(RecordType.OFFSET_COMMIT)), kept]
    ids = union([rows.select(F.substring("topic_id", 1, 22).alias("topic_id"), "topic") for rows in sources])
    return ids.where("topic_id IS NOT NULL").groupBy("topic_id").agg(F.min("topic").alias("topic"))


# ---- counts and assumptions


def _counts(decoded: DataFrame) -> dict[str, dict[str, int]]:
    """Return the number of records by type and status."""
    counted = decoded.groupBy("type", "status").agg(F.count("*").alias("keys"), F.sum("records").alias("records"))
    counts: dict[str, dict[str, int]] = {}
    for row in counted.orderBy("type", "status").collect():
        of_type = counts.setdefault("unreadable" if row["type"] is None else type_name(row["type"]), {})
        if row["status"] == NOT_PRINTED:
            of_type[NOT_PRINTED] = row["records"]
            continue
        of_type[row["status"]] = row["keys"]
        if row["records"] > row["keys"]:
            of_type[SUPERSEDED] = of_type.get(SUPERSEDED, 0) + row["records"] - row["keys"]
    return counts


def type_name(number: int) -> str:
    """Return the name of a record type.

    >>> type_name(1)
    'offset commit'
    """
    return RecordType(number).name.lower().replace("_", " ")


def _assumed(used: DataFrame) -> list[str]:
    """Return the assumptions about members."""
    notes = used.select("group_id", F.inline("notes")).groupBy("sentence")
    rows = notes.agg(F.sum("members").alias("members"), F.count_distinct("group_id").alias("groups")).collect()
    counted = {
        row["sentence"]: f"{plural(row['members'], 'member')} in {plural(row['groups'], 'group')}" for row in rows
    }
    return [sentence.replace("{}", counted[sentence]) for sentence in _SENTENCES if sentence in counted]


def _about_groups(decoded: DataFrame) -> Iterator[str]:
    """Yield a sentence about groups without members, and one about groups of other types, if there are any."""
    is_other, has_members = F.col("status") == OTHER_GROUP, F.size("members") > 0
    has_members = F.coalesce(has_members, F.lit(False))
    by_group = decoded.where(F.col("status").isin(USED, OTHER_GROUP)).groupBy("group_id")
    described = by_group.agg(F.max(has_members).alias("has_members"), F.max(is_other).alias("is_other"))
    without = described.where(~F.col("has_members"))
    for sentence, condition in ((WITHOUT_MEMBERS, ~F.col("is_other")), (OF_OTHER_TYPES, F.col("is_other"))):
        group_ids = without.where(condition).select("group_id")
        number = group_ids.count()
        if number:
            first = [row["group_id"] for row in group_ids.orderBy("group_id").limit(MOST_NAMES).collect()]
            yield sentence.replace("{}", groups(first, number))


def _about_records(records: dict[str, dict[str, int]]) -> Iterator[str]:
    for name, of_type in records.items():
        if of_type.get(NOT_PRINTED):
            yield f"{plural(of_type[NOT_PRINTED], f'{name} record')} ignored: the formatter does not print them"


def _about_topics(is_given: bool) -> Iterator[str]:
    if not is_given:
        yield "no topics table is given: the only topics are those stored by consumer-protocol groups before Kafka 4.1"
    yield "log end offsets are unknown: the topic does not contain them"
