"""Read the workers of Connect clusters from ``__consumer_offsets``: what they ran when they joined, and were assigned.

The connectors' configurations are in another topic. Without a table of them, those that run are taken.
"""

from collections.abc import Iterable
from functools import partial
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rebalance_sim.kafka.connect.leader import ConnectLeader, WorkerMoves
from rebalance_sim.kafka.connect.worker import ConnectWorker
from rebalance_sim.kafka.group_kinds import CONNECT_TYPE
from rebalance_sim.kafka.wire.connect_protocol import decode_connect_assignment, decode_worker_metadata
from rebalance_sim.kafka.wire.offsets_topic import GroupMember, GroupMetadata
from rebalance_sim.kafka.wire.readable import SchemaError
from rebalance_sim.releases import ConnectRules
from rebalance_sim.sources.offsets_topic.last_records import CLASSIC_GROUPS, classic_group, last_values, tables_of
from rebalance_sim.sources.offsets_topic.stored_members import as_json
from rebalance_sim.tables import REJECTS, WORKERS, struct

_ROW = struct({"worker": WORKERS.schema, "reject": REJECTS.schema})
ASSUMED_CONNECTORS = (
    "the configured connectors are those that run, with the tasks that run: __consumer_offsets does not have the others"
)
ASSUMED_DELAY = "a delay that the last rebalance sent has just begun"


def read_workers(records: DataFrame, cluster: str) -> tuple[DataFrame, DataFrame]:
    """Return workers, and rejects, from records with ``key``, ``value``, ``partition`` and ``offset``.

    The last record of each group counts.
    """
    workers, rejects = tables_of(last_values(records, CLASSIC_GROUPS), partial(_rows, cluster), _ROW)
    return workers, rejects


def connectors_that_run(workers: DataFrame) -> DataFrame:
    """Return the connectors that some worker runs, or of which it runs a task, with the tasks up to the highest."""
    keys = ("cluster", "group_id")
    named = workers.select(*keys, F.explode("connectors").alias("connector"), F.lit(0).alias("tasks"))
    tasks = workers.select(*keys, F.inline("tasks")).select(*keys, "connector", (F.col("task") + 1).alias("tasks"))
    counted = named.unionByName(tasks).groupBy(*keys, "connector").agg(F.max("tasks").alias("tasks"))
    return counted.select(*keys, "connector", "tasks")


def _rows(cluster: str, key: bytes, value: bytes) -> Iterable[dict[str, Any]]:
    """Yield the workers of a group, if it is one of Connect; those with malformed bytes as rejects."""
    group_id, group = classic_group(key, value) or ("", None)
    if group is None or group.protocol_type != CONNECT_TYPE:
        return
    for member in group.members:
        row: dict[str, Any] = {"cluster": cluster, "group_id": group_id, "member_id": member.member_id}
        try:
            yield {"worker": row | _worker(group, member)}
        except SchemaError as problem:
            reject = {"table": WORKERS.name, "cluster": cluster, "group_id": group_id}
            yield {"reject": reject | {"row": as_json(row), "reason": str(problem)}}


def _worker(group: GroupMetadata, member: GroupMember) -> dict[str, Any]:
    """Return what a worker runs since its last rebalance, as ``WorkerCoordinator.onJoinComplete`` computes it."""
    metadata = decode_worker_metadata(member.subscription or b"")
    assigned = decode_connect_assignment(member.assignment or b"")
    runs = metadata.runs
    worker = ConnectWorker(ConnectLeader(ConnectRules.WITHOUT_DELAY))
    if runs is not None:
        worker.connectors, worker.tasks = runs.connectors, runs.tasks
    moves = WorkerMoves(assigned.connectors, assigned.tasks, assigned.revoked_connectors, assigned.revoked_tasks)
    worker.complete(moves, group.generation, group.protocol or "")
    return {
        "worker": metadata.url,
        "join_order": 0 if member.member_id == group.leader else None,
        "connectors": list(worker.connectors),
        "tasks": [task._asdict() for task in worker.tasks],
        "protocol": group.protocol,
        "session_timeout_ms": member.session_timeout_ms,
        "pending_delay_ms": assigned.delay_ms or None,
    }
