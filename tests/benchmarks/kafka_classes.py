"""The rules against Kafka's released classes: groups per processor second, each on one warm thread in the same run.

Ours is what a worker does, from the Arrow batches that Spark sends to those that it gets back. Answers are compared
before times are.
"""

import base64
import random
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from rebalance_sim.engine.groups.group_batches import collect_members
from rebalance_sim.engine.groups.prediction import Prediction
from rebalance_sim.engine.tables.topic_metadata import TopicMetadata
from rebalance_sim.kafka.assignors import ASSIGNORS
from rebalance_sim.kafka.brokers import Clusters
from rebalance_sim.releases import NEWEST, kafka_version
from rebalance_sim.tables import ASSIGNMENTS, ELECTIONS
from tests.benchmarks.assignors import processor_seconds
from tests.oracle import JsonObject, OracleUnavailable, answers, measure
from tests.support.batches import Batch
from tests.support.model import Cluster, Group, Member, Partition

Fleet = Callable[[str, int], tuple[DataFrame, DataFrame]]
"""Makes topics and members of a benchmark fleet of so many groups."""

_KAFKA, _VERSION = "4.3", kafka_version(NEWEST)
_LIMITS = {"election": 2.0, "range": 3.0, "roundrobin": 2.0, "server-range": 3.0, "server-uniform": 3.0}
"""How many times as many groups as Kafka's class."""
_KAFKAS_GROUPS, _SECONDS, _LONGEST_CALL = 1000, 0.5, 60
_COMPARED = 5000
"""Members whose answers are compared."""
_MOVED, _MOST_SECONDS = 100_000, 1.0
_BUCKETS = 5
_OWNED = pa.list_(pa.struct([("topic", pa.string()), ("partition", pa.int32())]))
_MEMBER = pa.struct(
    [
        ("group_id", pa.string()),
        ("member_id", pa.string()),
        ("join_order", pa.int64()),
        ("bucket", pa.int32()),
        ("owned", _OWNED),
    ]
)


@dataclass(frozen=True)
class ServerShape:
    """Equal groups as in Kafka's ``ServerSideAssignorBenchmark``; they differ in their ids only."""

    members: int
    partitions_per_member: int
    topics: int
    homogeneous: bool = True
    """Whether all members subscribe to all topics; otherwise there are five buckets of members and topics."""
    incremental: bool = False
    """Whether all members but one have been assigned partitions before."""

    def __str__(self) -> str:
        size = f"{self.members:,} x {self.partitions_per_member}, {self.topics:,} topics"
        kind = "homogeneous" if self.homogeneous else "heterogeneous"
        return f"{size}, {kind}, {'incremental' if self.incremental else 'full'}"

    @property
    def groups(self) -> int:
        """Number of groups of a batch: as Spark sends them, but of less than the 2 GiB of names that Arrow allows."""
        return min(100_000 // self.members, 50_000_000 // (self.members * self.topics))

    @property
    def kafkas_groups(self) -> int:
        """Number of groups that Kafka's class assigns: few enough to read them fast."""
        return max(1, 200_000 // (self.members * max(self.topics, self.partitions_per_member)))


_SIZES = ((100, 5, 10), (100, 50, 10), (1000, 10, 100), (1000, 5, 1000), (5000, 10, 1000), (10_000, 50, 100))


def bench_kafka(spark: SparkSession, fleet: Fleet, groups: int) -> None:
    """Print groups per second of both, their ratio and its limit, and name the limits that are missed."""
    print(f"\none thread, Arrow included: groups a processor second, against Kafka {_KAFKA}")
    missed = [rule for rule in ("election", "range", "roundrobin") if not _classic(fleet, rule, groups)]
    for size, homogeneous, incremental in product(_SIZES, (True, False), (False, True)):
        shape = ServerShape(*size, homogeneous, incremental)
        # server-range does not read what members own.
        rules = ("server-uniform",) if incremental else ("server-range", "server-uniform")
        missed += [f"{rule} of {shape}" for rule in rules if not _server(spark, rule, shape)]
    print(f"  limits missed: {'; '.join(missed) or 'none'}")
    seconds = seconds_of_moves(_MOVED)
    print(f"  sticky, a topic of which {_MOVED:,} partitions move: {seconds:.2f} s (limit {_MOST_SECONDS})")


def seconds_of_moves(moved: int) -> float:
    """Return the processor seconds that ``sticky`` takes to move partitions of one topic to a new member."""
    partitions = tuple(Partition("t", number) for number in range(2 * moved))
    first, new = Member("a", ("t",), owned=partitions, generation=1), Member("b", ("t", "u"), generation=1)
    batch = Batch([Group((first, new, Member("c", ("u",))), Cluster({"t": 2 * moved, "u": 1}))])
    return processor_seconds(lambda: ASSIGNORS["sticky"].assign(batch.arrays, batch.topics, _VERSION))


# ---- rules of clients


def _classic(fleet: Fleet, rule: str, groups: int) -> bool:
    elects = rule == "election"
    topics, members = fleet("benchmark-election" if elects else "benchmark-assignment", groups)
    predict = (
        Prediction((ELECTIONS.name,), Clusters())
        if elects
        else Prediction((ASSIGNMENTS.name,), Clusters(), (rule,), TopicMetadata.of(topics))
    )
    batches = _batches(collect_members(members, predict.columns))
    return _compare(rule, f"{groups:,} groups", predict, batches, list(_classic_cases(rule, batches[0])))


def _classic_cases(rule: str, batch: pa.RecordBatch) -> Iterator[JsonObject]:
    """Write the first groups as the oracle's cases."""
    for row in batch.slice(0, _KAFKAS_GROUPS).to_pylist():
        members = sorted(row["members"], key=lambda member: member["join_order"])
        case = {"rule": rule, "id": row["group_id"]}
        if rule == "election":
            yield case | {"members": [{name: m[name] for name in ("member_id", "protocols")} for m in members]}
            continue
        subscribers = [_subscriber(m["member_id"], m["subscription"], ()) for m in members]
        yield case | {"topics": {name: 24 for m in members for name in m["subscription"]}, "members": subscribers}


# ---- rules of the coordinator


def _server(spark: SparkSession, rule: str, shape: ServerShape) -> bool:
    topics, members = _topics(shape), _members(shape)
    predict = Prediction((ASSIGNMENTS.name,), Clusters(), (rule,), TopicMetadata(topics))
    if shape.incremental:
        before = members.filter(pc.less(members["join_order"], shape.members - 1))
        given = predict.predict_batches([_sent(spark, shape, before, topics, predict)])
        owned = {row["member_id"]: row["partitions"] for batch in given for row in batch.to_pylist()}
        lists = [owned.get(member_id, []) for member_id in members["member_id"].to_pylist()]
        members = members.set_column(4, "owned", pa.array(lists, _OWNED))
    batch = pa.concat_batches([_sent(spark, shape, members, topics, predict)] * shape.groups)
    ids = pa.array([f"group-{number}" for number in range(shape.groups)])
    batch = batch.set_column(batch.schema.get_field_index("group_id"), "group_id", ids)
    return _compare(rule, str(shape), predict, [batch], list(_server_cases(rule, shape, members, topics)))


def _topics(shape: ServerShape) -> pa.Table:
    # Numbered names have close hash codes: partitions would crowd in the buckets of Kafka's maps (see hash_order).
    draw = random.Random(1)
    names = [f"topic-{draw.getrandbits(64):016x}" for _ in range(shape.topics)]
    ids = [base64.urlsafe_b64encode(draw.randbytes(16)).decode().rstrip("=") for _ in names]
    partitions = max(1, shape.members * shape.partitions_per_member // shape.topics)
    racks = pa.nulls(len(names), pa.list_(pa.list_(pa.string())))
    columns = [["default"] * len(names), names, pa.array([partitions] * len(names), pa.int32()), racks, ids]
    return pa.table(columns, names=["cluster", "topic", "partitions", "racks", "topic_id"])


def _members(shape: ServerShape) -> pa.Table:
    draw = random.Random(2)
    in_bucket = shape.members if shape.homogeneous else -(-shape.members // _BUCKETS)
    rows = [
        {
            "group_id": "group",
            "member_id": f"consumer-{draw.getrandbits(64):016x}",
            "join_order": number,
            "bucket": number // in_bucket,
            "owned": [],
        }
        for number in range(shape.members)
    ]
    return pa.table(pa.array(rows, _MEMBER).flatten(), names=_MEMBER.names)


def _subscriptions(shape: ServerShape, topics: pa.Table) -> list[list[str]]:
    """Return the topics of each bucket."""
    names = topics["topic"].to_pylist()
    size = len(names) if shape.homogeneous else -(-len(names) // _BUCKETS)
    return [names[first : first + size] for first in range(0, len(names), size)]


def _sent(
    spark: SparkSession, shape: ServerShape, members: pa.Table, topics: pa.Table, predict: Prediction
) -> pa.RecordBatch:
    """Return what Spark sends to a worker."""
    lists = spark.createDataFrame(
        list(enumerate(_subscriptions(shape, topics))), "bucket int, subscription array<string>"
    )
    nothing = {name: F.lit(None).cast("string") for name in ("instance_id", "rack")}
    rows = spark.createDataFrame(members).join(F.broadcast(lists), "bucket")
    rows = rows.withColumns({"cluster": F.lit("default"), "generation": F.lit(1)} | nothing)
    (batch,) = _batches(collect_members(rows, predict.columns))
    return batch


def _server_cases(rule: str, shape: ServerShape, members: pa.Table, topics: pa.Table) -> Iterator[JsonObject]:
    """Write groups as the oracle's cases."""
    lists = _subscriptions(shape, topics)
    counts, ids = (
        dict(zip(topics["topic"].to_pylist(), topics[name].to_pylist(), strict=True))
        for name in ("partitions", "topic_id")
    )
    subscribers = [_subscriber(row["member_id"], lists[row["bucket"]], row["owned"]) for row in members.to_pylist()]
    for number in range(shape.kafkas_groups):
        yield {"rule": rule, "id": f"group-{number}", "topics": counts, "topic_ids": ids, "members": subscribers}


# ---- both sides


def _batches(nested: DataFrame) -> list[pa.RecordBatch]:
    return nested.toArrow().combine_chunks().to_batches(max_chunksize=10_000)


def _subscriber(member_id: str, topics: Sequence[str], owned: Iterable[Mapping[str, Any]]) -> JsonObject:
    return {
        "member_id": member_id,
        "instance_id": None,
        "topics": topics,
        "owned": [[each["topic"], each["partition"]] for each in owned],
        "generation": -1,
        "rack": None,
    }


def _compare(
    rule: str, title: str, predict: Prediction, batches: list[pa.RecordBatch], cases: Sequence[JsonObject]
) -> bool:
    """Print how fast both are; return whether the limit is met, as it is where Kafka's classes cannot run."""
    groups = sum(len(batch) for batch in batches)
    ours = groups / processor_seconds(lambda: deque(predict.predict_batches(batches), maxlen=0), _SECONDS)
    line = f"  {rule:15} {title:48} {ours:12,.1f} ours"
    try:
        _check(rule, predict, batches[0], cases[: max(1, _COMPARED // len(cases[0]["members"]))])
        measured = measure(_KAFKA, "election_with_join" if rule == "election" else rule, cases, _SECONDS)
    except OracleUnavailable as reason:
        print(f"{line}; Kafka's classes cannot run here: {reason}")
        return True
    kafka = float(measured["cases_per_cpu_second"])
    print(f"{line}  {kafka:12,.1f} Kafka  {ours / kafka:6.2f} x (limit {_LIMITS[rule]})", flush=True)
    return ours >= kafka * _LIMITS[rule]


def _check(rule: str, predict: Prediction, batch: pa.RecordBatch, cases: Sequence[JsonObject]) -> None:
    """Raise AssertionError if Kafka's answers to these cases, the first groups of the batch, are not ours."""
    ours: dict[str, Any] = {}
    for found in predict.predict_batches([batch.slice(0, len(cases))]):
        for row in found.to_pylist():
            if rule == "election":
                ours[row["group_id"]] = row["protocol"]
            else:
                partitions = [[each["topic"], each["partition"]] for each in row["partitions"]]
                ours.setdefault(row["group_id"], {})[row["member_id"]] = partitions
    theirs = {
        case["id"]: answer["protocol" if rule == "election" else "assignment"]
        for case, answer in zip(cases, answers(_KAFKA, cases, _LONGEST_CALL), strict=True)
    }
    if {group: ours[group] for group in theirs} != theirs:
        raise AssertionError(f"{rule}: Kafka's answers are not ours")
