"""Read streams groups (KIP-1071) from ``__consumer_offsets``: topologies, members, their targets and present tasks."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rebalance_sim.engine.spark.driver_rows import map_batches
from rebalance_sim.kafka.wire.offsets_topic import Key, RecordType, decode_key, decode_value
from rebalance_sim.kafka.wire.readable import SchemaError
from rebalance_sim.kafka.wire.streams_records import (
    StreamsGroupCurrentMemberAssignment,
    StreamsGroupMemberMetadata,
    StreamsGroupMetadata,
    StreamsGroupTargetAssignmentMember,
    StreamsGroupTopology,
    TaskIds,
)
from rebalance_sim.sources.offsets_topic.last_records import last_values, tables_of
from rebalance_sim.sources.offsets_topic.stored_members import as_json, in_hex
from rebalance_sim.tables import BINARY, REJECTS, STREAMS_MEMBERS, STRING, SUBTOPOLOGIES, struct, structs

_ROW = struct({"member": STREAMS_MEMBERS.schema, "subtopology": SUBTOPOLOGIES.schema, "reject": REJECTS.schema})
_OF_GROUP = struct({"group_id": STRING, "key": BINARY, "value": BINARY})
_RECORDS = structs({"key": BINARY, "value": BINARY})
_TYPES = [each for each in RecordType if each.is_of_streams_group and each.is_decoded]
_STANDBYS = "num.standby.replicas"
_TABLE = "offsets_topic"
ASSUMED = (
    "members of streams groups joined in the order of their ids, and no member has the state of a task that it does "
    "not run on its disk: neither __consumer_offsets nor a description by the coordinator has it"
)


def read_streams_groups(records: DataFrame, cluster: str) -> tuple[DataFrame, DataFrame, DataFrame]:
    """Return members, subtopologies and rejects, from records with ``key``, ``value``, ``partition`` and ``offset``.

    The last record of each key counts. The subtopologies' numbers of tasks follow from the topics that they read.
    """
    named = map_batches(last_values(records, _TYPES), _with_group, _OF_GROUP)
    groups = named.groupBy("group_id").agg(F.collect_list(F.struct("key", "value")).cast(_RECORDS).alias("records"))
    members, subtopologies, rejects = tables_of(groups, partial(_rows, cluster), _ROW)
    return members, subtopologies, rejects


def _with_group(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Add the group of each record; a key that cannot be decoded is in a group without a name."""
    for batch in batches:
        ids = pa.array([_group_id(key) for key in batch["key"].to_pylist()], pa.string())
        yield pa.RecordBatch.from_arrays([ids, batch["key"], batch["value"]], names=_OF_GROUP.names)


def _group_id(key: bytes) -> str:
    try:
        return decode_key(key).group_id
    except SchemaError:
        return ""


def _rows(cluster: str, group_id: str, records: Iterable[dict[str, bytes]]) -> Iterator[dict[str, Any]]:
    """Yield the rows of a group; records that cannot be decoded are rejects."""
    values: list[tuple[Key, Any]] = []
    for record in records:
        try:
            key = decode_key(record["key"])
            values.append((key, decode_value(key.type, record["value"])))
        except SchemaError as problem:
            shown = as_json({"key": in_hex(record["key"]), "value": in_hex(record["value"])})
            reject = {"table": _TABLE, "cluster": cluster, "group_id": group_id, "row": shown, "reason": str(problem)}
            yield {"reject": reject}
    of_group = {"cluster": cluster, "group_id": group_id}
    of_type = {kind: [pair for pair in values if isinstance(pair[1], kind)] for kind in _READ}
    standbys = next((_standbys(value) for _, value in of_type[StreamsGroupMetadata]), None)
    for _, topology in of_type[StreamsGroupTopology]:
        for subtopology in topology.subtopologies:
            repartitioned = (topic.name for topic in subtopology.repartition_source_topics)
            row = {
                "subtopology": subtopology.subtopology_id,
                "topics": [*subtopology.source_topics, *repartitioned],
                "topic_patterns": list(subtopology.source_topic_regex),
                "stateful": bool(subtopology.state_changelog_topics),
                "standby_replicas": standbys,
                "changelogs": [topic.name for topic in subtopology.state_changelog_topics],
            }
            yield {"subtopology": of_group | row}
    targets = {key.member_id: value for key, value in of_type[StreamsGroupTargetAssignmentMember]}
    current = {key.member_id: value for key, value in of_type[StreamsGroupCurrentMemberAssignment]}
    for key, member in of_type[StreamsGroupMemberMetadata]:
        row = of_group | {"member_id": key.member_id, "process_id": member.process_id}
        row |= {"instance_id": member.instance_id, "client_id": member.client_id, "host": member.client_host}
        yield {"member": row | _tasks(targets.get(key.member_id), "") | _tasks(current.get(key.member_id), "current_")}


_READ = (
    StreamsGroupMetadata,
    StreamsGroupTopology,
    StreamsGroupMemberMetadata,
    StreamsGroupTargetAssignmentMember,
    StreamsGroupCurrentMemberAssignment,
)


def _standbys(group: StreamsGroupMetadata) -> int | None:
    """Return num.standby.replicas of the group's last assignment (since 4.2)."""
    configured = dict(group.assignment_configs).get(_STANDBYS)
    return int(configured) if configured is not None else None


def _tasks(
    assignment: StreamsGroupTargetAssignmentMember | StreamsGroupCurrentMemberAssignment | None, prefix: str
) -> dict[str, Any]:
    if assignment is None:
        return {}
    return {f"{prefix}active": _listed(assignment.active), f"{prefix}standby": _listed(assignment.standby)}


def _listed(tasks: Sequence[TaskIds]) -> list[dict[str, Any]]:
    return [{"subtopology": of.subtopology_id, "partition": number} for of in tasks for number in of.partitions]
