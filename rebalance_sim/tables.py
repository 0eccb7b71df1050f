"""The vocabulary: every input and output table, with a description of each column."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DoubleType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
)

from rebalance_sim.defaults import CLIENT, CLUSTER

STRING, INT, LONG, DOUBLE, BOOLEAN = StringType(), IntegerType(), LongType(), DoubleType(), BooleanType()
BINARY = BinaryType()
STRINGS = ArrayType(STRING)


def struct(types: Mapping[str, DataType]) -> StructType:
    """Return the type of a struct, by the names of its fields."""
    return StructType([StructField(name, of) for name, of in types.items()])


def structs(types: Mapping[str, DataType]) -> ArrayType:
    """Return the type of a list of structs."""
    return ArrayType(struct(types))


TOPIC_PARTITIONS = structs({"topic": STRING, "partition": INT})
DEFAULT_CLUSTER = CLUSTER
DEFAULT_PROTOCOL_TYPE = "consumer"
DEFAULT_CLIENT = CLIENT
REBALANCING_STATES = ("PreparingRebalance", "CompletingRebalance", "AwaitingSync", "Assigning", "Reconciling")
"""States of a group that rebalances, as Kafka's tools print them."""
WITHOUT_MEMBERS_STATES = ("Empty", "Dead")
"""States of a group that has no members."""
MAX_PARTITIONS = 1_000_000
"""Upper limit for one topic, against typing errors: whole Kafka clusters hold fewer partitions."""


@dataclass(frozen=True)
class Column:
    """A column: its name, type and description."""

    name: str
    type: DataType
    meaning: str
    required: bool = False
    """Whether the input must have the column. A missing optional column is read as null or as its default."""
    default: Any = None


@dataclass(frozen=True)
class Table:
    """A table: its name, what one row stands for, and its columns."""

    name: str
    meaning: str
    columns: tuple[Column, ...]

    @property
    def schema(self) -> StructType:
        """Return the Spark schema."""
        return struct({column.name: column.type for column in self.columns})

    @property
    def names(self) -> list[str]:
        """Return the column names."""
        return [column.name for column in self.columns]


_CLUSTER = Column("cluster", STRING, "cluster that the topic or group belongs to", default=DEFAULT_CLUSTER)
_OF_GROUP = (_CLUSTER, Column("group_id", STRING, "group.id", required=True))
_OF_STRATEGY = (*_OF_GROUP, Column("strategy", STRING, "assignor"))
_OF_SIMULATION = (*_OF_GROUP, Column("strategy", STRING, "assignor, or `elected`"))
_TOPIC = Column("topic", STRING, "topic name")
_PARTITION = Column("partition", INT, "partition number")
_CLIENT = Column("client", STRING, "client library whose partitioner is used")
_OF_CLIENT = (_CLIENT, _CLUSTER, _TOPIC)
_SIZE = (
    Column("members", INT, "number of members"),
    Column("partitions", INT, "partitions of the topics the group subscribes to"),
)
_ELECTED = Column("elected", STRING, "elected protocol, or the coordinator's assignor for a consumer-protocol group")
_FAILED = Column("failed", INT, "consumers stopped by a fatal Kafka error")
_EVICTED = Column("evicted", INT, "members the coordinator removes because their session or rebalance timeout expires")
_EPOCHS = Column(
    "epochs",
    INT,
    "how many of them are epochs of a share group or streams group, in which no member waits for all others; else null",
)
_REBALANCE = Column("rebalance", INT, "number of the rebalance, from 1")
_P99 = "99th percentile, by nearest rank, of the"
"""As ``rebalance_sim.engine.tables.percentiles`` defines it."""
_LAG_PARTITIONS = Column("lag_partitions", INT, "partitions with lag")
_UNKNOWN_PARTITIONS = Column("unknown_partitions", INT, "partitions whose lag is unknown")

TOPICS = Table(
    "topics",
    "One row per topic.",
    (
        _CLUSTER,
        Column("topic", STRING, "topic name", required=True),
        Column("partitions", INT, f"number of partitions, 0 to {MAX_PARTITIONS:,}", required=True),
        Column(
            "topic_id",
            STRING,
            "topic id as Kafka prints it (base64url), used by server-uniform and share-simple; if null or the zero id, "
            "a MurmurHash3 of the name is used instead",
        ),
        Column("unavailable", ArrayType(INT), "partitions without a leader"),
        Column("racks", ArrayType(STRINGS), "racks of the replicas: one list per partition"),
        Column(
            "end_offsets",
            ArrayType(LONG),
            "log end offsets, by partition; of changelog topics of Kafka Streams, how much state there is to restore",
        ),
    ),
)

TOPICS_AFTER = replace(
    TOPICS, name="topics_after", meaning="One row per topic with its new number of partitions, which is at least 1."
)

MEMBERS = Table(
    "members",
    "One row per member of a consumer group or share group (KIP-932).",
    (
        *_OF_GROUP,
        Column("member_id", STRING, "member id assigned by the coordinator or, under KIP-848, chosen by the client",
               required=True),
        Column("instance_id", STRING, "group.instance.id; null if the member is dynamic"),
        Column("client_id", STRING, "client.id"),
        Column("host", STRING, "address the client connects from"),
        Column("rack", STRING, "client.rack"),
        Column(
            "protocol_type",
            STRING,
            "protocol type, the same for all members of a group; `share` for a share group",
            default=DEFAULT_PROTOCOL_TYPE,
        ),
        Column(
            "protocols",
            STRINGS,
            "assignors the member offers, most preferred first; in a share group `share-simple` alone",
            required=True,
        ),
        Column("subscription", STRINGS, "topics the member subscribes to", required=True),
        Column(
            "subscribed_regex",
            STRING,
            "regular expression the member subscribes with, matched by the brokers (KIP-848); null if it has none. "
            "`subscription` lists the matching topics",
        ),
        Column(
            "owned",
            TOPIC_PARTITIONS,
            "partitions the member owns when it joins; in a share group its target assignment, in the order of the "
            "coordinator's record",
        ),
        Column("generation", INT, "generation in which the member received `owned`; null if unknown"),
        Column("user_data", BINARY, "user data of the member's subscription, for custom assignors"),
        Column("join_order", LONG, "position in the join order: the lowest leads; ties and nulls sort by member_id"),
        Column("session_timeout_ms", INT, "session.timeout.ms; null for the default"),
        Column("rebalance_timeout_ms", INT, "max.poll.interval.ms; null for the default"),
        Column(
            "client_library",
            STRING,
            "client library; null if unknown: then Java is assumed. Several possible libraries are separated by `;`, "
            "the most likely first",
        ),
        Column("client_version", STRING, "release of the client library; null if it is unknown"),
        Column(
            "client_evidence",
            STRING,
            "evidence for the client library: client id, member id, protocol NAME, protocol type NAME or subscription "
            "bytes, or the file that names it, consumers.csv or clients file; null if the library is unknown and Java "
            "is assumed",
        ),
        Column("group_state", STRING, "state of the group when it was read, by Kafka's name; null if unknown"),
        Column("generation_at_ms", LONG, "time at which the members of `generation` had joined; null if unknown"),
        Column(
            "earlier_generation", INT, "first generation known to be in the hour before `generation`; null if none"
        ),
        Column("earlier_generation_at_ms", LONG, "time at which the members of `earlier_generation` had joined"),
        Column(
            "protocols_assumed",
            STRING,
            "source of an assumed list of `protocols`, such as the elected protocol or the library's default; null if "
            "the member is known to offer them",
        ),
        Column("team", STRING, "team that owns the member, shown by an audit; null if unknown"),
        Column(
            "weight",
            INT,
            "how much the member's group matters: of findings with the same harm and severity, an audit ranks those of "
            "groups with a higher weight first; null for 1",
        ),
        Column(
            "start_ms",
            INT,
            "milliseconds from the start of the member's process to its first poll; null for the scenario's value",
        ),
        Column(
            "revoke_ms",
            INT,
            "milliseconds the application takes when partitions are revoked; null for the scenario's value",
        ),
    ),
)  # fmt: skip

CLUSTERS = Table(
    "clusters",
    "One row per cluster: the settings of its brokers; a null is replaced by the option of the run.",
    (
        Column("cluster", STRING, "name of the cluster", default=DEFAULT_CLUSTER),
        Column("broker_version", STRING, "Kafka release of the brokers; null for --kafka-version"),
        Column(
            "scala_version",
            STRING,
            "Scala version of the brokers' build, which decides ties of elections before 4.0; null for the build that "
            "Kafka recommended for the release",
        ),
        Column(
            "client_version",
            STRING,
            "Kafka release of the Java clients whose client_version is null; null for --client-version, or else "
            "broker_version",
        ),
        Column("offsets_partitions", INT, "offsets.topic.num.partitions; null for --offsets-partitions"),
        Column(
            "migration_policy",
            STRING,
            "group.consumer.migration.policy of the brokers, for an audit: bidirectional (also if null), upgrade, "
            "downgrade or disabled",
        ),
    ),
)

OFFSETS = Table(
    "offsets",
    "One row per group and partition: the committed offset.",
    (
        *_OF_GROUP,
        Column("topic", STRING, "topic name", required=True),
        Column("partition", INT, "partition number", required=True),
        Column("committed", LONG, "committed offset; null or -1 if the group has committed none"),
        Column("end", LONG, "log end offset; null if unknown"),
        Column("metadata", STRING, "metadata the client committed with the offset"),
        Column("committed_at_ms", LONG, "commit timestamp"),
        Column("expires_at_ms", LONG, "expiry timestamp; null if the commit has none"),
    ),
)

LISTED_GROUPS = Table(
    "listed_groups",
    "One row per group that the cluster lists, of any type; for groups that no other table shows.",
    (
        *_OF_GROUP,
        Column("type", STRING, "`classic`, `consumer`, `share` or `streams`; null if unknown"),
        Column(
            "protocol_type",
            STRING,
            "protocol type, such as `connect`; empty for a classic group that never had members; null if unknown",
        ),
        Column("state", STRING, "state of the group; null if unknown"),
        Column("members", INT, "number of members; null if unknown"),
    ),
)

_RECORD = (
    _CLUSTER,
    Column("topic", STRING, "topic name", required=True),
    Column("key", BINARY, "serialized key; null if the record has none"),
    Column("explicit_partition", INT, "partition set by the application; null if it sets none"),
    Column("value_bytes", INT, "length of the serialized value; null for a tombstone"),
    Column("producer_id", STRING, "name of the producer; all records of a cluster with null share one producer"),
)
_ORDER = (
    Column("timestamp_ms", LONG, "time of the send; null counts as 0"),
    Column("seq", LONG, "position in the producer's send order; if null, timestamp_ms; ties sort by content"),
)
_ACTUAL_PARTITION = Column(
    "actual_partition", INT, "partition the record was read from; null if it was not read from a topic"
)

RECORDS = Table(
    "records",
    "One row per record that a producer sends.",
    (*_RECORD, Column("client", STRING, _CLIENT.meaning, default=DEFAULT_CLIENT), *_ORDER, _ACTUAL_PARTITION),
)

KEYS = Table(
    "keys",
    "One row per key, for `partition --keys`: it counts as one record.",
    (
        Column("cluster", STRING, "cluster of the topic; null for every cluster"),
        Column("topic", STRING, "topic name; null for every topic of the topics table"),
        Column("key", BINARY, "serialized key", required=True),
        Column("client", STRING, _CLIENT.meaning, default=DEFAULT_CLIENT),
    ),
)

_REJECTED_MEMBERS = Column(
    "rejected_members",
    INT,
    "rows of the group in members that cannot be used (see rejects): the prediction leaves them out",
)
REFUSED_MEMBERS = structs({"member_id": STRING, "error": STRING})

CLASSIC, CONSUMER = "classic", "consumer"
"""Group types as Kafka's command-line tools print them."""

ELECTIONS = Table(
    "elections",
    "One row per group: the protocol a classic group elects, or the assignor a consumer-protocol group (KIP-848) uses.",
    (
        *_OF_GROUP,
        Column(
            "type",
            STRING,
            "`classic`, `consumer` if a member uses group.protocol=consumer (KIP-848), or `share` (KIP-932): the "
            "coordinator assigns groups of the last two types",
        ),
        Column("members", INT, "members the coordinator accepts"),
        Column(
            "protocol",
            STRING,
            "elected protocol; consumer: the server-side assignor most members prefer; share: its only assignor",
        ),
        Column(
            "candidates",
            STRINGS,
            "protocols every member supports, in the leader's order; consumer: assignors at least one member prefers",
        ),
        Column("votes", MapType(STRING, INT), "votes per candidate, without zeros; consumer: members preferring each"),
        Column(
            "tie",
            BOOLEAN,
            "several candidates have the most votes, so that hash order decides and another Kafka version may elect "
            "another protocol; consumer: several assignors are preferred equally and uniform is used",
        ),
        Column("leader_id", STRING, "member that computes the assignment: the first to join; consumer and share: null"),
        Column("coordinator_partition", INT, "partition of __consumer_offsets whose leader coordinates the group"),
        Column("refused", REFUSED_MEMBERS, "members the coordinator refuses, in join order, with the error it returns"),
        _REJECTED_MEMBERS,
        Column("error", STRING, "why no protocol is elected; null if one is"),
        Column(
            "other_builds",
            MapType(STRING, STRING),
            "if a tie depends on the brokers' build, which is unknown: what other builds elect, by Scala version; null "
            "otherwise",
        ),
    ),
)

_ALTERNATIVES = Column(
    "alternatives",
    STRINGS,
    "assignors that the leader may run instead, if its client_library names several libraries, and that assign "
    "differently; null if none does",
)
_MEMBER = Column("member_id", STRING, "member id")
_PARTITIONS = Column(
    "partitions",
    TOPIC_PARTITIONS,
    "assigned partitions in the order Kafka's assignor returns; server-* and share-simple: sorted",
)

ASSIGNMENTS = Table(
    "assignments",
    "One row per member and strategy: the partitions the assignor assigns in the first rebalance.",
    (*_OF_STRATEGY, _MEMBER, _PARTITIONS, _REJECTED_MEMBERS, _ALTERNATIVES),
)

LAST_ASSIGNMENTS = replace(
    ASSIGNMENTS,
    name="last_assignments",
    meaning="One row per member and strategy: the partitions the member owns after the last rebalance. Returned in the "
    "shell; a job writes them to assignments and, for cooperative assignors, to cooperative_rebalances where `last`.",
)

COOPERATIVE_REBALANCES = Table(
    "cooperative_rebalances",
    "One row per member, strategy and rebalance of a cooperative assignor. The first rebalance is also in assignments.",
    (
        *_OF_STRATEGY,
        _REBALANCE,
        Column("last", BOOLEAN, "no member requests a further rebalance"),
        _MEMBER,
        _PARTITIONS,
        Column("revoked", TOPIC_PARTITIONS, "partitions the member owned and must revoke, sorted"),
        Column("added", TOPIC_PARTITIONS, "partitions the member did not own and is assigned, sorted"),
        _REJECTED_MEMBERS,
        _ALTERNATIVES,
    ),
)

BOUNDS = dict.fromkeys(
    ("min", "max", "idle_members_min", "idle_members_max", "moved_min", "moved_max", "unconsumed_min"), INT
)

NAMED = 5
"""Partitions without a consumer, and topics on one member, that a row of ``balance`` names."""
BALANCE = Table(
    "balance",
    "One row per group and strategy: how balanced the assignment is after the last rebalance, and what moves.",
    (
        *_OF_STRATEGY,
        *_SIZE,
        Column("min", INT, "fewest partitions of any member"),
        Column("max", INT, "most partitions of any member"),
        Column("stddev", DOUBLE, "standard deviation of partitions per member"),
        Column("topic_spread", INT, "for the most imbalanced topic: most minus fewest partitions per subscriber"),
        Column("idle_members", INT, "members without partitions"),
        Column(
            "moved",
            INT,
            "partitions assigned to a member other than their previous owner; share-simple: times that a member gets a "
            "partition that only others had",
        ),
        Column(
            "kept",
            INT,
            "partitions that stay with their previous owner; share-simple: times that a member keeps a partition",
        ),
        Column("unassigned", INT, "partitions assigned to no member"),
        Column(
            "assigned_twice",
            INT,
            "partitions assigned more than once (a bug of Kafka's assignor, reproduced); share-simple: 0",
        ),
        Column("min_sharing", INT, "share-simple: fewest members that share a partition; null for other strategies"),
        Column("max_sharing", INT, "share-simple: most members that share a partition; null for other strategies"),
        Column(
            "not_subscribed", INT, "partitions assigned to a member not subscribed to the topic (a bug, reproduced)"
        ),
        Column("nonexistent", INT, "partitions assigned although the topic has no such partition (a bug, reproduced)"),
        Column("unconsumed", INT, "subscribed partitions assigned to no subscriber of their topic"),
        Column(
            "first_unconsumed",
            ArrayType(struct({"topic": STRING, "partition": INT, "member_id": STRING})),
            f"up to {NAMED} unconsumed partitions, by topic, with a member that is assigned the partition without "
            "subscribing to its topic; null if there are none",
        ),
        Column(
            "whole_topics",
            ArrayType(struct({"topic": STRING, "partitions": INT, "subscribers": INT, "member_id": STRING})),
            f"up to {NAMED} topics with several partitions and several subscribers, one of which has all partitions; "
            "the topics whose owner exceeds its share most come first; null if there are none",
        ),
        Column(
            "co_partitioned_topics",
            INT,
            "co-partitioned topics: another topic has the same number of partitions, and every pair of partitions with "
            "the same number is on one member, over at least two members. `range` assigns topics with the same "
            "subscribers so",
        ),
        Column("rebalances", INT, "rebalances until no member requests another"),
        Column("revoked", INT, "partitions revoked on the way; eager members revoke everything they own"),
        _REJECTED_MEMBERS,
        _ALTERNATIVES,
        Column("error", STRING, "why the group has no assignment; null if it has one"),
        Column(
            "bounds",
            struct(BOUNDS),
            "bounds of the assignment if the leader's library assigns the group in a way that cannot be predicted; "
            "null otherwise",
        ),
    ),
)

OPTIMUM = Table(
    "optimum",
    "One row per group: the most balanced assignment that exists, with the fewest moves that reach it. Returned in the "
    "shell; a job writes it to comparison.",
    (
        *_OF_GROUP,
        *_SIZE,
        Column("min", INT, "fewest partitions of any member; an upper bound unless balance_exact"),
        Column("max", INT, "most partitions of any member; a lower bound unless balance_exact"),
        Column("stddev", DOUBLE, "standard deviation of partitions per member; a lower bound unless balance_exact"),
        Column("idle_members", INT, "members without partitions; a lower bound unless balance_exact"),
        Column("moved", INT, "fewest partitions that must change owner; a lower bound unless moved_exact"),
        Column("balance_exact", BOOLEAN, "min, max, stddev and idle_members are exact"),
        Column("moved_exact", BOOLEAN, "moved is exact"),
    ),
)

MEMBER_LAG = Table(
    "member_lag",
    "One row per member and strategy: lag after the last rebalance. Groups whose lag is known to be 0 are left out.",
    (
        *_OF_STRATEGY,
        _MEMBER,
        Column("partitions", INT, "assigned partitions"),
        _LAG_PARTITIONS,
        _UNKNOWN_PARTITIONS,
        Column("lag", LONG, "lag of its partitions: log end offset minus committed offset; null if all are unknown"),
        Column("share", DOUBLE, "share of the group's lag, 0 to 1; null if the group's lag is 0 or unknown"),
        Column("max_partition_lag", LONG, "largest lag of one partition; null if it has no lag"),
        Column(
            "max_lag_partition", TOPIC_PARTITIONS.elementType, "partition with the largest lag; null if none has any"
        ),
    ),
)

TOPIC_LAG = Table(
    "topic_lag",
    "One row per group and topic: the lag of its committed offsets, with or without owners of the partitions. Topics "
    "whose offsets are known to be at the log ends are left out.",
    (
        *_OF_GROUP,
        _TOPIC,
        Column("partitions", INT, "partitions with a row in offsets"),
        _LAG_PARTITIONS,
        _UNKNOWN_PARTITIONS,
        Column("lag", LONG, "lag of its partitions: log end offset minus committed offset; null if all are unknown"),
        Column("max_partition_lag", LONG, "largest lag of one partition; null if all are unknown"),
        Column("max_lag_partition", INT, "first partition with the largest lag; null if none has any"),
        Column("max_lag_committed_at_ms", LONG, "commit timestamp of max_lag_partition; null if unknown"),
        Column(
            "negative_partitions",
            INT,
            "partitions whose committed offset is above the log end offset, counted as no lag: as after the topic "
            "was created again, or lost records",
        ),
        Column(
            "max_negative",
            LONG,
            "largest difference between a committed offset and the log end below it; null if there are none",
        ),
        Column("max_negative_partition", INT, "first partition with this difference; null if there are none"),
    ),
)

EXPIRING_OFFSETS = Table(
    "expiring_offsets",
    "One row per committed offset that expires (offsets.retention.minutes) unless the group commits it again.",
    (
        *_OF_GROUP,
        _TOPIC,
        _PARTITION,
        Column("committed_at_ms", LONG, "commit timestamp; null if unknown"),
        Column(
            "expires_at_ms",
            LONG,
            "earliest time at which the coordinator may delete the offset; null if no commit timestamp is known. The "
            "retention of a group without members starts when it becomes empty, which is unknown; its latest commit is "
            "used instead. The retention of a group that never had members starts with each commit",
        ),
        Column("reason", STRING, "why the offset expires, and when its retention starts"),
    ),
)

LAG_BALANCE = Table(
    "lag_balance",
    "One row per group and strategy: how balanced the lag is after the last rebalance. Groups whose lag is known to be "
    "0 are left out; partitions with unknown lag are not part of any sum.",
    (
        *_OF_STRATEGY,
        Column("rank", INT, "rank of the group within the strategy, from 1: by excess_lag, then by lag"),
        Column("members", INT, "number of members"),
        Column("partitions", INT, "partitions that are assigned or have a committed offset"),
        _LAG_PARTITIONS,
        _UNKNOWN_PARTITIONS,
        Column(
            "negative_partitions",
            INT,
            "partitions whose committed offset is above the log end offset. Kafka's tools print a negative lag; here "
            "it counts as 0",
        ),
        Column("lag", LONG, "lag of all partitions; null if all are unknown"),
        Column("unassigned_lag", LONG, "lag of partitions assigned to no member"),
        Column("max_partition_lag", LONG, "largest lag of an assigned partition"),
        Column("max_lag", LONG, "largest lag of a member"),
        Column("max_lag_member_id", STRING, "member with the largest lag"),
        Column("min_lag", LONG, "smallest lag of a member"),
        Column("mean_lag", DOUBLE, "mean lag per member"),
        Column("p99_lag", LONG, f"{_P99} lag per member; the maximum is max_lag"),
        Column("imbalance", DOUBLE, "max_lag / mean_lag: 1 is balanced; null if no member has lag"),
        Column(
            "max_lag_bound",
            LONG,
            "lower bound of max_lag over all assignments of these partitions to subscribers; may not be reachable",
        ),
        Column("excess_lag", LONG, "max_lag - max_lag_bound: the most that another assignment could save"),
        Column("moved_lag", LONG, "lag of partitions that change owner; null if owned_max_lag is"),
        Column(
            "owned_max_lag",
            LONG,
            "largest lag of a member before the rebalance; null if members owned nothing or the lag is unknown",
        ),
    ),
)

_OF_THE_GROUP = ("cluster", "group_id", "strategy", "members", "partitions", "rejected_members")

BEST_FIGURES = {field.name: field.dataType for field in OPTIMUM.schema if field.name not in _OF_THE_GROUP}
"""The figures that a comparison has of a group's optimum."""

_NO_FIGURES = ("min_sharing", "max_sharing", "first_unconsumed", "whole_topics", "error", "bounds")
FIGURES = {
    **{field.name: field.dataType for field in BALANCE.schema if field.name not in (*_OF_THE_GROUP, *_NO_FIGURES)},
    "excess_max": INT,
    "excess_stddev": DOUBLE,
    "excess_moved": INT,
    "error": STRING,
}
"""The figures that a comparison has of a group under one strategy."""


COMPARISON = Table(
    "comparison",
    "One row per group: its balance under every strategy, beside the optimum. Share groups have no row.",
    (
        *_OF_GROUP,
        *_SIZE,
        _ELECTED,
        Column("optimum", struct(BEST_FIGURES), "see table optimum"),
        Column(
            "strategies",
            MapType(STRING, struct(FIGURES)),
            "per assignor: the figures of balance, and how far max, stddev and moved exceed the optimum (`excess_*`; "
            "null unless every partition is assigned to exactly one member subscribed to its topic)",
        ),
        _REJECTED_MEMBERS,
    ),
)

DISTRIBUTIONS = Table(
    "distributions",
    "One row per strategy and figure: its distribution over all groups.",
    (
        Column("strategy", STRING, "assignor, or `optimum`"),
        Column("figure", STRING, "column of balance or comparison"),
        Column("groups", LONG, "groups with a value"),
        Column("missing", LONG, "groups without a value"),
        Column("zero", LONG, "groups where the value is 0"),
        Column("total", DOUBLE, "sum"),
        Column("mean", DOUBLE, "mean"),
        Column("min", DOUBLE, "minimum"),
        Column("p50", DOUBLE, "median, by nearest rank"),
        Column("p90", DOUBLE, "90th percentile, by nearest rank"),
        Column(
            "p99",
            DOUBLE,
            "99th percentile, by nearest rank: the smallest value that at least 99 % of the groups do not exceed",
        ),
        Column("max", DOUBLE, "maximum"),
    ),
)

CHANGES = Table(
    "changes",
    "One row per strategy and group that would gain or lose most by switching from its elected protocol.",
    (
        Column("strategy", STRING, "assignor"),
        Column("change", STRING, "`gain` or `loss`, in stddev or, if stddev stays the same, in moved"),
        Column("rank", INT, "rank among the gains or losses of the strategy, from 1"),
        *_OF_GROUP,
        *_SIZE,
        _ELECTED,
        Column("elected_stddev", DOUBLE, "standard deviation of partitions per member under the elected protocol"),
        Column("stddev", DOUBLE, "standard deviation of partitions per member under the strategy"),
        Column("elected_moved", INT, "partitions that change owner under the elected protocol"),
        Column("moved", INT, "partitions that change owner under the strategy"),
    ),
)

_PRODUCER = Column("producer_id", STRING, "name of the producer")

RECORD_PARTITIONS = Table(
    "record_partitions",
    "One row per record: the partition it is sent to.",
    (*_RECORD, _CLIENT, *_ORDER, Column("partition", INT, "predicted partition"), _ACTUAL_PARTITION),
)

HEAVY_KEYS = structs({"key": BINARY, "records": LONG, "bytes": LONG})

PARTITION_LOAD = Table(
    "partition_load",
    "One row per partition and client library: the load it receives.",
    (
        *_OF_CLIENT,
        _PARTITION,
        Column("records", LONG, "number of records"),
        Column("bytes", LONG, "bytes of their keys and values"),
        Column("share", DOUBLE, "share of the topic's bytes, 0 to 1; share of its records if the topic has no bytes"),
        Column("imbalance", DOUBLE, "share x number of partitions: 1 is balanced"),
        Column("heaviest_keys", HEAVY_KEYS, "keys with the most records in the partition, heaviest first"),
    ),
)

PARTITION_LOAD_AFTER = replace(
    PARTITION_LOAD,
    name="partition_load_after",
    meaning="One row per partition and client library: the load it would receive with the new number of partitions. "
    "Records placed neither by their key nor by the application are left out.",
)

PARTITION_GROWTH = Table(
    "partition_growth",
    "One row per topic and client library: the keys and records that move if the number of partitions changes.",
    (
        *_OF_CLIENT,
        Column("partitions", INT, "current number of partitions"),
        Column("partitions_after", INT, "new number of partitions"),
        Column("keys", LONG, "distinct keys the client hashes"),
        Column("keys_moved", LONG, "of these, keys that hash to another partition"),
        Column("keys_moved_share", DOUBLE, "share of the keys, 0 to 1; null if there are none"),
        Column("records", LONG, "records placed by their key; includes null keys for clients that hash them"),
        Column("records_moved", LONG, "of these, records that go to another partition"),
        Column("records_moved_share", DOUBLE, "share of the records, 0 to 1; null if there are none"),
        Column("bytes", LONG, "bytes of these records' keys and values"),
        Column("bytes_moved", LONG, "of these, bytes that go to another partition"),
        Column("bytes_moved_share", DOUBLE, "share of the bytes, 0 to 1; null if there are none"),
        Column("records_out_of_range", LONG, "records whose explicit partition would not exist"),
        Column(
            "imbalance", DOUBLE, "largest imbalance of a partition, of records placed by their key or the application"
        ),
        Column("imbalance_after", DOUBLE, "imbalance with the new number of partitions"),
    ),
)

MOVED_KEYS = Table(
    "moved_keys",
    "One row per key that goes to another partition if the number of partitions changes.",
    (
        *_OF_CLIENT,
        Column("key", BINARY, "serialized key; null for records without a key, if the client hashes a null key"),
        Column("records", LONG, "records with this key"),
        Column("bytes", LONG, "bytes of their keys and values"),
        Column("partition", INT, "partition of the key with the current number of partitions"),
        Column("partition_after", INT, "partition of the key with the new number of partitions"),
    ),
)

_AGREEMENT_EXAMPLES = structs({"key": BINARY, "records": LONG, "partition": INT, "other_partition": INT})

CLIENT_AGREEMENT = Table(
    "client_agreement",
    "One row per topic and pair of client libraries: how many keys both send to the same partition.",
    (
        _CLUSTER,
        _TOPIC,
        Column("client", STRING, "first client library"),
        Column("other_client", STRING, "second client library"),
        Column("keys", LONG, "distinct keys of records without an explicit partition"),
        Column("keys_agreed", LONG, "of these, keys both send to the same partition"),
        Column("keys_agreed_share", DOUBLE, "share of the keys, 0 to 1"),
        Column("records", LONG, "records with these keys"),
        Column("records_agreed", LONG, "of these, records whose key both send to the same partition"),
        Column("records_agreed_share", DOUBLE, "share of the records, 0 to 1"),
        Column(
            "examples",
            _AGREEMENT_EXAMPLES,
            "keys placed differently, most records first, with both partitions; null if the key decides none",
        ),
    ),
)

CONFLICTING_KEYS = Table(
    "conflicting_keys",
    "One row per key and pair of client libraries that do not send it to the same partition.",
    (
        _CLUSTER,
        _TOPIC,
        Column("client", STRING, "first client library"),
        Column("other_client", STRING, "second client library"),
        Column("key", BINARY, "serialized key"),
        Column("records", LONG, "records with this key and without an explicit partition"),
        Column("partition", INT, "partition of the first client library; null if it does not hash the key"),
        Column("other_partition", INT, "partition of the second client library; null if it does not hash the key"),
    ),
)

_KEYS_PLACED_DIFFERENTLY = structs(
    {"key": BINARY, "records": LONG, "partitions": structs({"client": STRING, "partition": INT})}
)

TOPICS_AT_RISK = Table(
    "topics_at_risk",
    "One row per topic written by several client libraries that place some of its keys differently.",
    (
        _CLUSTER,
        _TOPIC,
        Column("clients", STRINGS, "client libraries that send keys to the topic, sorted"),
        Column("keys", LONG, "distinct keys of records without an explicit partition"),
        Column("keys_conflicting", LONG, "of these, keys the clients would not all send to the same partition"),
        Column("keys_shared", LONG, "keys that several clients send"),
        Column("keys_split", LONG, "of these, keys whose records are in several partitions, or in any"),
        Column("records_split", LONG, "records with these keys"),
        Column(
            "examples",
            _KEYS_PLACED_DIFFERENTLY,
            "conflicting keys, split ones first, then most records first, with each client's partition; null if the "
            "key decides none",
        ),
    ),
)

KEY_FINDINGS = Table(
    "key_findings",
    "One row per finding about the keys that a client library's producers send to a topic.",
    (
        *_OF_CLIENT,
        Column(
            "finding",
            STRING,
            "`empty_keys`: records have an empty key; `null_keys_hashed`: null keys are hashed, so that all records "
            "without a key go to one partition; `keys_ignored`: the partitioner does not use keys; `dominant_key`: one "
            "key has more than half of the records of a partition with more than its share; `idle_partitions`: no key "
            "goes to some partitions",
        ),
        Column("records", LONG, "records affected; dominant_key: records with the key in the partition"),
        Column("share", DOUBLE, "share of the topic's records, 0 to 1; dominant_key: of the partition's records"),
        Column("partitions", INT, "partitions affected; dominant_key: partitions with a dominant key"),
        Column("partition", INT, "partition the records go to; if several, the one whose key has the most records"),
        Column("key", BINARY, "key affected; null if the finding is not about one key"),
        Column("description", STRING, "the finding as a sentence"),
    ),
)

BATCHES = Table(
    "batches",
    "One row per batch that a producer sends.",
    (
        _CLIENT,
        _CLUSTER,
        _PRODUCER,
        _TOPIC,
        _PARTITION,
        Column("records", INT, "number of records"),
        Column("bytes", INT, "uncompressed size on the wire, including the batch header"),
        Column("opened_ms", LONG, "time at which its first record is appended"),
        Column("closed_ms", LONG, "time at which it is sent; null if never, because the partition has no leader"),
        Column("waited_ms", LONG, "closed_ms - opened_ms; null if it is never sent"),
    ),
)

PRODUCE_REQUESTS = Table(
    "produce_requests",
    "One row per cluster and client library: what its producers send.",
    (
        _CLIENT,
        _CLUSTER,
        Column("producers", LONG, "number of producers"),
        Column("records", LONG, "number of records"),
        Column("unsent", LONG, "records in batches that are never sent, because the partition has no leader"),
        Column("bytes", LONG, "bytes of all batches"),
        Column("batches", LONG, "number of batches"),
        Column("records_per_batch", DOUBLE, "mean records per batch"),
        Column("p99_records_per_batch", INT, f"{_P99} records per batch"),
        Column("max_records_per_batch", INT, "most records of a batch"),
        Column("bytes_per_batch", DOUBLE, "mean bytes per batch"),
        Column("p99_bytes_per_batch", INT, f"{_P99} bytes per batch"),
        Column("max_bytes_per_batch", INT, "most bytes of a batch"),
        Column("waited_ms", DOUBLE, "mean time from a batch's first record until it is sent"),
        Column("p99_waited_ms", LONG, f"{_P99} time from a batch's first record until it is sent"),
        Column("max_waited_ms", LONG, "longest time from a batch's first record until it is sent"),
        Column("min_requests", LONG, "produce requests if one broker leads all partitions"),
        Column("max_requests", LONG, "produce requests if every partition has another leader"),
    ),
)

EVENTS = Table(
    "events",
    "One row per event that `simulate` applies to a group.",
    (
        *_OF_GROUP,
        Column("at_ms", LONG, "simulated time of the event, in milliseconds from the start", required=True),
        Column(
            "event",
            STRING,
            "join, leave, crash, restart, stall, subscribe, protocols, grow, move-coordinator or fail-store. A group's "
            "events at the same time are applied in this order, and those of one kind by member_id",
            required=True,
        ),
        Column("member_id", STRING, "consumer affected; join: a new name; null for events of the whole group"),
        Column("down_ms", LONG, "restart: time until the process starts again; move-coordinator: time until the new "
               "coordinator has loaded the group"),
        Column("for_ms", LONG, "stall: time without a poll"),
        Column("topic", STRING, "grow: topic"),
        Column("partitions", INT, "grow: new number of partitions"),
        Column("error", STRING, "fail-store: error that writes to __consumer_offsets return from now on; NONE ends it"),
        Column("subscription", STRINGS, "subscribe and join: topics the consumer subscribes to"),
        Column("protocols", STRINGS, "protocols and join: assignors the consumer offers from its next start on"),
        Column("instance_id", STRING, "join: group.instance.id"),
        Column("client_id", STRING, "join: client.id"),
        Column("rack", STRING, "join: client.rack"),
        Column("session_timeout_ms", INT, "join: session.timeout.ms"),
        Column("rebalance_timeout_ms", INT, "join: max.poll.interval.ms"),
    ),
)  # fmt: skip

_CONSUMER = Column("member_id", STRING, "consumer, by its member_id in members or events")

TIMELINE = Table(
    "timeline",
    "One row per step of a simulation: a request, a response, a change of state, or an action of a consumer.",
    (
        *_OF_SIMULATION,
        Column("number", INT, "position in the group's timeline, from 0"),
        Column("at_ms", LONG, "simulated time, in milliseconds from the start"),
        Column(
            "kind",
            STRING,
            "EVENT, STATE, REQUEST, ANSWER, STARTED, STOPPED, FAILED, REVOKED, LOST, ASSIGNED or POLL_EXPIRED",
        ),
        replace(_CONSUMER, meaning=f"{_CONSUMER.meaning}; null if the step concerns the whole group"),
        Column("detail", STRING, "the event, the request or the reason"),
        Column("error", STRING, "error code of a response or, for fail-store, of the log; null if there is none"),
        Column("generation", INT, "generation of the group; group epoch of a consumer-protocol or share group"),
        Column("state", STRING, "state of the group after the step"),
        Column("partitions", INT, "partitions revoked, lost or assigned"),
        Column("value", LONG, "EVENT: down_ms, for_ms, or the topic's new number of partitions"),
    ),
)

REBALANCES = Table(
    "rebalances",
    "One row per simulated rebalance.",
    (
        *_OF_SIMULATION,
        _REBALANCE,
        Column("reason", STRING, "why the group rebalances"),
        Column("member_id", STRING, "consumer that triggers the rebalance; null if none does"),
        Column("from_ms", LONG, "time at which the rebalance starts"),
        Column(
            "joined_ms",
            LONG,
            "time at which the join phase completes, or the coordinator of a share group has assigned; null if it does "
            "not",
        ),
        Column("to_ms", LONG, "time at which the group is stable; null if the next rebalance starts first"),
        Column(
            "all_owned_ms", LONG, "time at which every partition has an owner; null if the next rebalance starts first"
        ),
        Column("generation", INT, "generation; group epoch of a consumer-protocol or share group"),
        Column("protocol", STRING, "elected protocol"),
        Column("leader", STRING, "consumer that leads the generation"),
        Column("joined", INT, "members of the generation"),
        _EVICTED,
        Column("revoked", INT, "partitions that consumers revoke"),
        Column("moved", INT, "partitions that go to another consumer; of a share group, once for each"),
        Column("unowned_ms", LONG, "partition-milliseconds without an owner since the group was last stable"),
    ),
)

OWNED_PARTITIONS = Table(
    "owned_partitions",
    "One row per consumer that is running when a simulation ends: the partitions it owns.",
    (*_OF_SIMULATION, _CONSUMER, Column("partitions", TOPIC_PARTITIONS, "owned partitions, sorted")),
)

PARTITION_COSTS = Table(
    "partition_costs",
    "One row per partition that is unowned for some time in a simulation or goes to another consumer.",
    (
        *_OF_SIMULATION,
        _TOPIC,
        _PARTITION,
        Column("unowned_ms", LONG, "milliseconds without an owner"),
        Column("moved", INT, "how many times it went to another consumer"),
        Column("member_id", STRING, "consumer that owns it at the end; null if none does, or several of a share group"),
    ),
)

COSTS = Table(
    "costs",
    "One row per group and strategy: what the simulated scenario costs.",
    (
        *_OF_SIMULATION,
        Column("consumers", INT, "consumers, including those that join later"),
        Column("partitions", INT, "partitions of the subscribed topics at the end"),
        Column("events", INT, "events of the scenario and the events table that affect the group"),
        Column("rebalances", INT, "rebalances that started"),
        _EPOCHS,
        Column("completed", INT, "rebalances after which the group was stable"),
        Column(
            "storms",
            INT,
            "windows of --storm-window-ms in which at least --storm-rebalances rebalances start; epochs of "
            "consumer-protocol groups do not count, because no member stops consuming",
        ),
        Column("stable", BOOLEAN, "at the end the group is stable and every partition has an owner"),
        Column(
            "stable_ms",
            LONG,
            "time from the first event until the group is and stays stable; null if there is no event or it never is",
        ),
        Column("unowned_ms", LONG, "partition-milliseconds without an owner; divided by partitions: the mean downtime"),
        Column("p99_unowned_ms", LONG, f"{_P99} time that a partition is without an owner, over all partitions"),
        Column("max_unowned_ms", LONG, "longest time that a partition is without an owner"),
        Column(
            "downtimes",
            structs({"unowned_ms": LONG, "partitions": INT}),
            "number of partitions by the time they are without an owner, the longest first; those that always have "
            "one are left out",
        ),
        Column("moved", INT, "times a partition goes to another consumer"),
        Column("moved_back", INT, "of these, times it returns to the previous owner"),
        _EVICTED,
        _FAILED,
        Column(
            "finished",
            BOOLEAN,
            "all events of the scenario have happened; false if the rollout waits for consumers that never come back",
        ),
        Column(
            "failure",
            STRING,
            "why the rollout fails: the first consumer that fails (error, consumer, time and preceding event) or, if "
            "none does, what the rollout waits for; null if it succeeds",
        ),
        Column("messages", LONG, "requests and responses"),
        Column("simulated_ms", LONG, "length of the simulation"),
        _REJECTED_MEMBERS,
        Column(
            "other_libraries",
            STRINGS,
            "client libraries other than Java's that consumers use or may use: they are simulated as Java's. null if "
            "there are none",
        ),
        Column("error", STRING, "why the group is not simulated; null if it is"),
    ),
)

MIGRATION_COSTS = replace(
    COSTS,
    name="migration_costs",
    meaning="One row per classic group that can migrate to the consumer protocol (KIP-848): what the scenario "
    "`migration` costs, from the protocols that its members offer to the coordinator's assignor that comes closest to "
    "the elected one. The columns are those of costs.",
)

BOUNCES = Table(
    "bounces",
    "One row per group, strategy and bounce of the scenario: what the bounce costs. Events of an events table belong "
    "to the first bounce.",
    (
        *_OF_SIMULATION,
        Column("bounce", INT, "number of the bounce, from 1"),
        Column("partitions", INT, "partitions of the subscribed topics at the end"),
        Column("from_ms", LONG, "time of the first event or, after the first bounce, the end of the previous one"),
        Column(
            "to_ms",
            LONG,
            "time at which all consumers are members and every partition has an owner; null if that never happens",
        ),
        Column("rebalances", INT, "rebalances that started"),
        _EPOCHS,
        Column("unowned_ms", LONG, "partition-milliseconds without an owner"),
        Column("moved", INT, "times a partition goes to another consumer"),
        Column("moved_back", INT, "of these, times it returns to the previous owner"),
        _FAILED,
    ),
)

LAG_COSTS = Table(
    "lag_costs",
    "One row per group and strategy with lag in partitions that are unowned for some time or move in the simulation.",
    (
        *_OF_SIMULATION,
        Column("rank", INT, "rank of the group within the strategy, from 1: by unowned_record_ms, then by moved_lag"),
        _LAG_PARTITIONS,
        Column("lag", LONG, "known lag of the group when the simulation starts"),
        Column("unowned_lag_partitions", INT, "partitions with lag that are unowned for some time"),
        Column("unowned_lag", LONG, "lag of these partitions"),
        Column("moved_lag", LONG, "lag of partitions that go to another consumer"),
        Column("max_unowned_ms", LONG, "longest time a partition with lag is unowned"),
        Column("unowned_record_ms", LONG, "record-milliseconds: the lag of each partition x the time it is unowned"),
        Column("delay_ms", DOUBLE, "mean delay per waiting record: unowned_record_ms / lag"),
        Column("p99_delay_ms", LONG, f"{_P99} delay per waiting record; the maximum is max_unowned_ms"),
        Column(
            "delays",
            structs({"unowned_ms": LONG, "records": LONG}),
            "for each partition with lag that is unowned for some time: this time and its lag, the longest first",
        ),
        Column(
            "worst_partition", TOPIC_PARTITIONS.elementType, "partition with most record-milliseconds; null if none"
        ),
        Column("worst_lag", LONG, "lag of worst_partition"),
        Column("worst_unowned_ms", LONG, "time worst_partition is unowned"),
    ),
)

AT_LONGEST = {
    "latency": STRING, "longest_ms": LONG, "unowned_ms": LONG, "unowned_ms_saved": LONG, "fails": BOOLEAN
}  # fmt: skip
"""What a setting saves at the end of the range of one assumed time."""
ADVICE = Table(
    "advice",
    "One row per group, strategy and setting: what the setting saves in the same scenario, found by simulating it.",
    (
        *_OF_SIMULATION,
        Column("setting", STRING, "setting that is changed"),
        Column("value", STRING, "value it is changed to"),
        Column("rebalances", INT, "rebalances with the setting"),
        Column("rebalances_saved", INT, "rebalances it saves; negative if there are more"),
        Column("unowned_ms", LONG, "partition-milliseconds without an owner, with the setting"),
        Column("unowned_ms_saved", LONG, "partition-milliseconds it saves; negative if there are more"),
        Column("p99_unowned_ms_saved", LONG, "how much shorter p99_unowned_ms of costs becomes; negative if longer"),
        Column("max_unowned_ms_saved", LONG, "how much shorter max_unowned_ms of costs becomes; negative if longer"),
        Column(
            "stable_ms_saved", LONG, "how much earlier the group is stable; null if stable_ms is, with or without it"
        ),
        Column("moved_saved", INT, "partition moves it saves; negative if there are more"),
        Column(
            "unowned_lag_saved",
            LONG,
            "how much smaller unowned_lag of lag_costs becomes; negative if larger, null without offsets",
        ),
        Column(
            "delay_ms_saved",
            DOUBLE,
            "how much shorter delay_ms of lag_costs becomes; negative if longer, null without lag",
        ),
        Column("fails", BOOLEAN, "the rollout fails with the setting: a consumer fails, or it does not finish"),
        Column(
            "best",
            BOOLEAN,
            "the rollout succeeds with the setting and saves unowned_ms, and no other setting saves this group more",
        ),
        Column(
            "at_longest",
            structs(AT_LONGEST),
            "what it saves if one assumed latency is as long as usual and the others as assumed, by the latency; at "
            "the end of network_ms, heartbeats also happen at other times; null for settings and groups not tried",
        ),
    ),
)

_FIGURES_BY_NAME = MapType(STRING, DOUBLE)
_MEMBERS_OF_GROUP = Column(
    "members", INT, "members the coordinator accepts; null if none of the group's members could be read, or none shows"
)
_LAG_OF_GROUP = Column(
    "lag", LONG, "lag of its committed offsets, with or without an assignment; null without offsets, or if unknown"
)
_HARM = (
    "what it means for the group's records, the worst first: `unknown` (nothing is known of its members), `stopped` "
    "(records are not consumed), `behind` (records wait a long time), `uneven` (members are imbalanced, keys out of "
    "order, or some rows could not be read), `next-change` (the next restart, rollout, migration or growth fails or "
    "costs more than necessary), `habit` (no harm is known)"
)
_WEIGHT_OF_GROUP = Column("weight", INT, "the highest weight of its members, 1 if none is given")
FINDINGS = Table(
    "findings",
    "One row per finding of an audit about a group.",
    (
        *_OF_GROUP,
        _MEMBERS_OF_GROUP,
        _WEIGHT_OF_GROUP,
        _LAG_OF_GROUP,
        Column("family", STRING, "`migration`, `elections`, `balance`, `leaders`, `risks`, `keys` or `rollouts`"),
        Column("kind", STRING, "kind of finding"),
        Column("severity", STRING, "`error`, `warning` or `note`"),
        Column("harm", STRING, _HARM),
        Column(
            "scenario", STRING, "hypothetical scenario that has this result; null for a finding about the present state"
        ),
        Column("description", STRING, "the finding as a sentence about the group"),
        Column("figures", _FIGURES_BY_NAME, "the figures behind it, by name; those ending in `_ms` are milliseconds"),
        Column("recommendation", STRING, "what to do; null if there is nothing to do"),
        Column(
            "settings",
            MapType(STRING, STRING),
            "settings to change, by the names that the group's client library has; null if none would help",
        ),
        Column("saving", _FIGURES_BY_NAME, "what these settings save, by name; null if it is unknown"),
        Column(
            "confidence",
            STRING,
            "`certain`: follows from the inputs; `simulated`: depends on the assumptions of a simulation; `assumed`: "
            "depends on inputs that are missing, such as a client's library or release, or rejected rows",
        ),
    ),
)

VERDICTS = Table(
    "verdicts",
    "One row per group: the result of an audit.",
    (
        *_OF_GROUP,
        Column(
            "type",
            STRING,
            "`classic` or `consumer`, or as the cluster lists a group without rows of members, also `share` or "
            "`streams`; null if it is unknown",
        ),
        _MEMBERS_OF_GROUP,
        _WEIGHT_OF_GROUP,
        Column("partitions", INT, "partitions of the topics the group subscribes to; null if it cannot be predicted"),
        _LAG_OF_GROUP,
        Column(
            "rank",
            INT,
            "position among all groups, from 1: groups with errors or warnings first, by the harm of the first "
            "finding, then by severity, weight, errors, lag if records wait, and members",
        ),
        Column("severity", STRING, "the worst severity of its findings; null if there are none"),
        Column("harm", STRING, "harm of its first finding; null if there are none"),
        Column("errors", INT, "findings that are errors"),
        Column("warnings", INT, "findings that are warnings"),
        Column("notes", INT, "findings that are notes"),
        Column("kind", STRING, "kind of its first finding: that with the most harm, notes last"),
        Column(
            "group_kind",
            STRING,
            "what kind of program its members are: `consumers`, `connect` (workers of a Connect cluster), "
            "`connect-sink` (consumers of a sink connector), `mirrormaker`, `kafka-streams`, `ksqldb`, "
            "`schema-registry`, `console-consumer`, `kcat`, `spark`, `flink`, `share` (a share group), `streams` "
            "(a streams group), `offsets-only` (no members), `other`, `unknown` (no member could be read, or none was "
            "described)",
        ),
        Column("group_kind_evidence", STRING, "what `group_kind` rests on; null for consumers"),
        Column("teams", STRINGS, "teams of its members, in alphabetical order; null if no member's is known"),
        Column(
            "workloads",
            MapType(STRING, INT),
            "number of members by the name that replicas have in common: client or instance ids without a pod's suffix "
            "or an ordinal; null if no member has such a name",
        ),
        Column("hosts", INT, "number of addresses that its members connect from; null if any is unknown"),
        Column(
            "topics",
            STRINGS,
            "topics that its members subscribe to, in alphabetical order: the first 1,000; null if there are none",
        ),
        Column(
            "offsets_topics",
            STRINGS,
            "topics that the group has rows of offsets for, and no member subscribes to: the first 1,000; null if "
            "there are none",
        ),
        Column("topics_left_out", INT, "topics that `topics` and `offsets_topics` leave out; 0 if they have all"),
        Column("client_ids", STRINGS, "client ids of its members: the first 100; null if none is known"),
        Column("addresses", STRINGS, "addresses that its members connect from: the first 100; null if none is known"),
        Column(
            "client_libraries",
            STRINGS,
            "client libraries of its members, with their releases, and `java (assumed)` for unknown ones; null if it "
            "has no members",
        ),
        Column(
            "clients_left_out",
            INT,
            "client ids, addresses and client libraries that these columns leave out; 0 if they have all",
        ),
        Column(
            "settings",
            MapType(STRING, STRING),
            "consumer settings that the findings recommend; where two recommend different assignors, that of the worse "
            "one",
        ),
        Column(
            "settings_in_use",
            MapType(STRING, STRING),
            "how its members are configured, as far as the inputs show it: elected assignor, assignors offered, client "
            "libraries, static membership and timeouts; `; ` separates different values of its members; null without "
            "members",
        ),
        Column(
            "topic_partitions",
            MapType(STRING, INT),
            "partitions of the topics it subscribes to, by topic; null without members",
        ),
        Column("brokers", STRING, "release and settings of the brokers of its cluster, as the audit uses them"),
        Column(
            "impossible_settings",
            STRINGS,
            "settings in `advice` that the group cannot use: its clients or brokers do not have them, they apply to a "
            "whole broker, the tasks of a connector cannot differ in them, or a static member's session would be "
            "shorter than a restart",
        ),
        Column(
            "rollout_setting",
            STRING,
            "the setting, of those that the group can use, that saves most downtime in the rollout with the assumed "
            "latencies, if it pays off (downtime_ms and downtime_share of the thresholds)",
        ),
        Column(
            "rollout_turns",
            MapType(STRING, LONG),
            "assumed latencies on which that depends: the milliseconds from which on another setting, or none, is "
            "best; no value for network_ms, at whose end heartbeats also happen at other times; empty if the choice "
            "holds over the range of each; null if these were not tried",
        ),
        Column(
            "migration",
            STRING,
            "whether the group can migrate to the consumer protocol (KIP-848): `online` (in a rolling restart), "
            "`offline` (after all members have stopped), `no`, `done`, or `unknown` if it has no members, or none that "
            "could be read",
        ),
        Column(
            "migration_assumes",
            STRING,
            "libraries that `migration` assumes of clients whose library is uncertain; null if it is the same for all "
            "libraries that they may use",
        ),
        Column("migration_reason", STRING, "why, in one line"),
        Column("outdated_members", INT, "members whose client has to be upgraded before the group migrates"),
        Column(
            "migration_unowned_ms",
            LONG,
            "partition-milliseconds without an owner in the simulated migration; null if none is simulated",
        ),
        Column(
            "migration_order",
            INT,
            "position among the groups that can migrate online, from 1: by errors, by warnings, those without "
            "outdated_members first, by migration_unowned_ms, by members",
        ),
    ),
)

NEWS = Table(
    "news",
    "One row per change since the earlier audit of `--previous`: of a finding, a group, or settings.",
    (
        Column("rank", INT, "position among all changes, from 1: new and worse errors and warnings first, by harm"),
        Column(
            "change",
            STRING,
            "of a finding: `new`, `worse`, `better`, `resolved`, or `unread` (the group cannot be read any more); of a "
            "group: `appeared`, `vanished`; of the settings of a group, a topic or the brokers: `changed`",
        ),
        _CLUSTER,
        Column("group_id", STRING, "group.id; null for a change of a topic or of the brokers"),
        Column("topic", STRING, "topic whose partitions have changed; null for any other change"),
        Column("kind", STRING, "kind of finding; null for a change of a group or of settings"),
        Column("scenario", STRING, "hypothetical scenario of the finding; null for the present state"),
        Column(
            "severity",
            STRING,
            "severity of the finding, or the worst one of a group that appeared; null if there is none any more",
        ),
        Column("severity_before", STRING, "the same in the earlier audit; null if there was none"),
        Column("harm", STRING, "harm of the finding as in `findings`, of the earlier one if it is resolved"),
        Column("description", STRING, "what is new, and what was before"),
        Column("members", INT, "members of the group in the later of the two audits that knows them; null if unknown"),
    ),
)

_OF_GENERATION = (
    *_OF_GROUP,
    Column("recreated", INT, "how often the group was deleted, or changed its type, before this generation"),
    Column("generation", INT, "generation of a classic group, or epoch of a consumer-protocol group (KIP-848)"),
    Column(
        "completed_at_ms",
        LONG,
        "time at which the members of the generation had joined; null for consumer-protocol groups and before version "
        "2 of the record (Kafka 2.1), which do not contain it",
    ),
)
_LIST_OF = "member ids of those that"
GENERATIONS = Table(
    "generations",
    "One row per generation of a classic group that became stable or empty, and per epoch of a consumer-protocol "
    "group. A record that the coordinator wrote again, because a static member was replaced, has a row of its own.",
    (
        *_OF_GENERATION,
        Column("type", STRING, "`classic` or `consumer`"),
        Column("protocol_type", STRING, "protocol type, such as `connect`; null for consumer-protocol groups"),
        Column("recorded_at_ms", LONG, "timestamp of the record; null if the dump has none"),
        Column(
            "since_last_ms",
            LONG,
            "time since the generation before, by completed_at_ms, or else recorded_at_ms; null if it is unknown, if "
            "clocks ran backwards, or if the record is rewritten",
        ),
        Column(
            "rewritten", BOOLEAN, "no rebalance: the record repeats its generation with the new id of a static member"
        ),
        Column(
            "converged_ms",
            LONG,
            "time from the record of an epoch until all members had their target assignments; null for classic groups, "
            "if the next epoch came before, if the dump has no timestamps, and if records between may be missing",
        ),
        Column("protocol", STRING, "elected protocol; null for consumer-protocol groups and groups without members"),
        Column("leader_id", STRING, "member that computed the assignment; null without one, and if it is not printed"),
        Column("members", INT, "number of members"),
        Column("joined", INT, "members that joined since the generation before; 0 for the first one"),
        Column("left", INT, "members that left or timed out since then"),
        Column("replaced", INT, "static members whose member id was replaced with a new one"),
        Column(
            "restarted",
            INT,
            "new members with the client id and host, or the group.instance.id, of a member that left in the same "
            "episode: restarted, or removed and back",
        ),
        Column("changed_subscription", INT, "members that subscribe to other topics than before"),
        Column("changed_library", INT, "members whose client library or its release is another than before"),
        Column("joined_ids", STRINGS, f"{_LIST_OF} joined"),
        Column("left_ids", STRINGS, f"{_LIST_OF} left"),
        Column("replaced_ids", STRINGS, "new member ids of those that were replaced"),
        Column("restarted_ids", STRINGS, "new member ids of those that restarted"),
        Column("changed_subscription_ids", STRINGS, f"{_LIST_OF} subscribe to other topics"),
        Column("changed_library_ids", STRINGS, f"{_LIST_OF} have another client library or release"),
        Column(
            "topics_grown",
            structs({"topic": STRING, "partitions_before": LONG, "partitions": LONG}),
            "topics of which more partitions are assigned or owned than ever before",
        ),
        Column("assigned", INT, "partitions assigned; null if an assignment could not be read"),
        Column(
            "moved",
            INT,
            "partitions assigned to another member than the last time; a replaced or restarted member counts as the "
            "same member",
        ),
        Column("moved_back", INT, "partitions that moved to the member that had them before the last one"),
        Column(
            "skipped",
            LONG,
            "generations between this one and the one before that have no row: they never became stable, or their "
            "records are missing; null for the first one",
        ),
        Column(
            "complete",
            BOOLEAN,
            "no record of the group can be missing between this one and the one before, or before the first; null if "
            "the dump has no offsets",
        ),
        Column("incomplete_reason", STRING, "which records may be missing; null if complete"),
        Column(
            "cause",
            STRING,
            "`member joined`, `member left`, `members joined and left`, `member restarted`, `static member replaced`, "
            "`subscription changed`, `topic grew`, `revoked partitions reassigned` (the second rebalance of a "
            "cooperative group), `leader rejoined`, `group emptied`, `first generation seen`, or `unknown`",
        ),
        Column("cause_member", STRING, "group.instance.id or client.id of the only member that the cause is about"),
        Column("evidence", STRING, "what the records show, in words"),
        Column(
            "log_reasons",
            STRINGS,
            "why the rebalance to this generation began, and began anew, as the logs of the brokers have it; null "
            "without --broker-logs, if they have no reason, or if they may mean another generation with this number",
        ),
        Column("episode", INT, "number of its episode among those of the group, from 1"),
        Column(
            "commits_compared",
            INT,
            "partitions of topics with a commit before the record of the generation and one after it, up to the next "
            "generation, none of which can be missing; null if commits are not compared (see downtime_reason), or if "
            "the record is rewritten",
        ),
        Column(
            "rewound",
            INT,
            "of them, partitions of which the first commit after the generation has a lower offset than the last one "
            "before: records were read again, or the offset was reset",
        ),
        Column("rewound_records", LONG, "sum of the offsets by which these partitions went back"),
        Column(
            "downtime_ms",
            LONG,
            "estimate of its downtime, in partition-milliseconds: by how much longer than usual the partitions had no "
            "commit; null if the commits are too rare, too irregular or incomplete",
        ),
        Column("downtime_partitions", INT, "partitions of which downtime_ms is the sum: they are committed regularly"),
        Column("downtime_reason", STRING, "why downtime_ms is null; null for rewritten records"),
        Column("record_partition", INT, "partition of __consumer_offsets; null if it is not printed"),
        Column("record_offset", LONG, "offset of the record that completed the generation; null if it is not printed"),
    ),
)

_NOT_SENT = ("cluster", "group_id", "group_state", "generation_at_ms", "earlier_generation", "earlier_generation_at_ms")
_OWNED_GENERATION = "owned_generation"
"""The column of ``generation_members`` that has the generation of ``owned``."""
GENERATION_MEMBERS = Table(
    "generation_members",
    "One row per generation and member: what the member sent to the leader, and what the leader answered. The columns "
    "of members mean the same here. Rewritten records have no rows.",
    (
        *_OF_GENERATION,
        Column("protocol", STRING, "elected protocol; null for consumer-protocol groups"),
        *(
            replace(column, name=_OWNED_GENERATION) if column.name == "generation" else column
            for column in MEMBERS.columns
            if column.name not in _NOT_SENT
        ),
        Column(
            "assigned",
            TOPIC_PARTITIONS,
            "partitions that the leader, or for a consumer-protocol group the coordinator, assigned to the member; "
            "null if they are unknown",
        ),
        Column(
            "revoked_ms",
            LONG,
            "time from the record by which the member has to revoke partitions to the one after it "
            "has, the longest until the next epoch; null for classic groups, if it had none to revoke, if it was "
            "removed before, and if records between may be missing",
        ),
        Column("record_partition", INT, "partition of __consumer_offsets; null if it is not printed"),
        Column("record_offset", LONG, "offset of the record of the generation; null if it is not printed"),
        Column("recorded_at_ms", LONG, "timestamp of the record of the generation; null if the dump has none"),
    ),
)

EPISODES = Table(
    "episodes",
    "One row per episode: consecutive generations of a group, each at most 5 minutes after the one before.",
    (
        *_OF_GROUP,
        Column("episode", INT, "number among the episodes of the group, from 1"),
        Column(
            "kind",
            STRING,
            "`rolling restart`, `crash loop` (a member restarted three times or more), `scale up`, `scale down`, "
            "`members replaced`, `topics changed`, `single change` or `mixed`",
        ),
        Column("first_generation", INT, "its first generation"),
        Column("last_generation", INT, "its last generation"),
        Column("started_at_ms", LONG, "time of its first generation; null if it is unknown"),
        Column("ended_at_ms", LONG, "time of its last generation; null if it is unknown"),
        Column("generations", INT, "rows of generations"),
        Column("members_before", INT, "members before it; null if it begins with the first generation seen"),
        Column("members_after", INT, "members after it"),
        Column("moved", INT, "sum of moved"),
        Column("moved_back", INT, "sum of moved_back"),
        Column("causes", MapType(STRING, INT), "number of generations by cause"),
        Column(
            "names",
            MapType(STRING, INT),
            "how often members joined, left or restarted, by group.instance.id or client.id: up to 1,000 names",
        ),
        Column("rewound", LONG, "sum of rewound; null if commits are not compared"),
        Column("rewound_records", LONG, "sum of rewound_records"),
        Column("downtime_ms", LONG, "sum of downtime_ms; null if it is null for all of its generations"),
        Column("downtime_generations", INT, "generations of which it is the sum"),
    ),
)

BACKTEST = Table(
    "backtest",
    "One row per generation of a group's history that has members, and per basis: what would have been predicted, "
    "compared with what was assigned.",
    (
        *_OF_GENERATION,
        Column(
            "basis",
            STRING,
            "what is predicted from: `as joined` (what the members sent to the leader), or `generation before` (what "
            "they were assigned before, and who has joined and left since)",
        ),
        Column("protocol", STRING, "protocol of the generation"),
        Column("strategy", STRING, "rules that predict: the protocol as the leader's library implements it"),
        Column("client_library", STRING, "client library of the leader; null if unknown: Java is assumed"),
        Column("client_version", STRING, "release of that library; null if unknown: the run's is used"),
        Column("members", INT, "members of the generation"),
        Column("partitions", INT, "partitions that were assigned"),
        Column(
            "result",
            STRING,
            "`equal`; `differs`; `not predictable` (the assignment is not a function of what the record contains); "
            "`inputs incomplete` (something that decides is unknown)",
        ),
        Column("reason", STRING, "why it is not predictable, or what is unknown; null otherwise"),
        Column("differing", INT, "partitions assigned to another member than predicted, or to none"),
        Column(
            "first_differing",
            struct({"topic": STRING, "partition": INT, "assigned_to": STRING, "predicted": STRING}),
            "the first of them by topic and number, the member that it is assigned to, and the member for which it is "
            "predicted; null unless the result is `differs`",
        ),
        Column(
            "miss",
            STRING,
            "name of the generation as a `cluster` of `miss_topics`, `miss_members` and `miss_clusters`; null unless "
            "the result is `differs`",
        ),
        Column("alternatives", STRINGS, "rules of other libraries that the leader may use and that assign differently"),
        Column(
            "partition_counts",
            STRING,
            "`known` if generations before and after show how many partitions each topic had; `from the answer` if the "
            "assignment itself had to be used for a topic",
        ),
        Column(
            "within_bounds",
            BOOLEAN,
            "of a generation that is not predictable: whether partitions per member were within the bounds that the "
            "program gives; null if it gives none, or if not every partition was assigned",
        ),
    ),
)

_MISS = Column("cluster", STRING, "the miss, by its name in `backtest`: its topics had other partitions than now")
MISS_TOPICS = replace(
    TOPICS,
    name="miss_topics",
    meaning="One row per generation that was predicted wrongly and topic, as its leader saw it: an input of `explain` "
    "and `assign`.",
    columns=(_MISS, *TOPICS.columns[1:]),
)
MISS_MEMBERS = replace(
    MEMBERS,
    name="miss_members",
    meaning="One row per generation that was predicted wrongly and member: what it is predicted from, an input of "
    "`explain` and `assign`, and what was assigned.",
    columns=(
        _MISS,
        *MEMBERS.columns[1:],
        Column("assigned", TOPIC_PARTITIONS, "partitions that the leader or the coordinator assigned to the member"),
    ),
)
MISS_CLUSTERS = replace(
    CLUSTERS,
    name="miss_clusters",
    meaning="One row per generation that was predicted wrongly: the brokers by whose rules it is predicted.",
    columns=(_MISS, *CLUSTERS.columns[1:]),
)

SCORE = Table(
    "score",
    "One row per basis, library, release, rules and kind of partition counts: how many generations were predicted.",
    (
        *(BACKTEST.columns[BACKTEST.names.index(name)] for name in ("basis", "client_library", "client_version")),
        *(BACKTEST.columns[BACKTEST.names.index(name)] for name in ("strategy", "partition_counts")),
        Column("generations", LONG, "generations"),
        Column("equal", LONG, "generations whose prediction equals the assignment"),
        Column("differs", LONG, "generations whose prediction differs from the assignment"),
        Column("not_predictable", LONG, "generations whose assignment is not a function of what the record contains"),
        Column("within_bounds", LONG, "of these, generations within the bounds that the program gives"),
        Column("outside_bounds", LONG, "of these, generations outside of the bounds that the program gives"),
        Column("inputs_incomplete", LONG, "generations of which something that decides is unknown"),
    ),
)

PREVENTION = Table(
    "prevention",
    "One row per classic group and setting: how many rebalances of its history the setting would have prevented. Its "
    "episodes are simulated again, with the members that joined, left and restarted, with the setting and without it. "
    "Groups have no rows if each of their episodes is a single rebalance, for which no member came back.",
    (
        *_OF_GROUP,
        Column("setting", STRING, "setting that is changed"),
        Column("value", STRING, "value it is changed to"),
        Column("episodes", INT, "episodes that are simulated: those whose times are known"),
        Column("generations", LONG, "generations in them"),
        Column(
            "rebalances",
            LONG,
            "simulated rebalances without the setting; as many as `generations` if the replay is right",
        ),
        Column(
            "rebalances_saved",
            LONG,
            "rebalances that the setting saves; negative if there are more, null if the setting is not possible",
        ),
        Column("unowned_ms", LONG, "simulated partition-milliseconds without an owner, without the setting"),
        Column(
            "unowned_ms_saved",
            LONG,
            "partition-milliseconds that the setting saves; negative if there are more, null if it is not possible",
        ),
        Column(
            "failing",
            LONG,
            "episodes, or parts of long ones, in which consumers fail with the setting; null if it is not possible",
        ),
        Column(
            "possible",
            BOOLEAN,
            "whether the clients of the group have the setting, as in `impossible_settings` of verdicts; false for the "
            "consumer protocol if that depends on a client library that is uncertain",
        ),
    ),
)

TIMINGS = Table(
    "timings",
    "One row per group, or workload of a group, and timing: how long members and leaders took in its past rebalances.",
    (
        *_OF_GROUP,
        Column("workload", STRING, "workload of the members, as in `verdicts`; null for the group as a whole"),
        Column(
            "timing",
            STRING,
            "`assign` (from the time at which all members had joined to the leader's assignment), `join` (from the "
            "beginning of a rebalance until all members had joined), `revoke` (from an "
            "assignment that takes partitions from members of a cooperative group until they have rejoined; of a "
            "consumer-protocol group, until the member has revoked those that it has to revoke), `converge` (from "
            "an epoch of a consumer-protocol group until all members had their assignments), `restart` "
            "(from a member's departure in a rolling restart until it has rejoined), `return` (the same of other "
            "members that came back)",
            required=True,
        ),
        Column("bound", STRING, "`measured`, or `upper bound`: it took at most that long", required=True),
        Column("source", STRING, "`records` of __consumer_offsets, or `broker logs`", required=True),
        Column("count", LONG, "how often it was seen", required=True),
        Column("min_ms", LONG, "shortest time, in milliseconds", required=True),
        Column("median_ms", LONG, "median: the smallest time that half of them do not exceed", required=True),
        Column("max_ms", LONG, "longest time", required=True),
    ),
)

CONNECTOR_TASKS = structs({"connector": STRING, "task": INT})
_CONNECTOR = Column("connector", STRING, "name of the connector")

WORKERS = Table(
    "workers",
    "One row per worker of a Kafka Connect cluster, whose group.id is `group_id`.",
    (
        *_OF_GROUP,
        Column("member_id", STRING, "member id assigned by the coordinator", required=True),
        Column("worker", STRING, "name of the worker that stays when it restarts, such as its URL; null for member_id"),
        Column("join_order", LONG, "position in the join order: the lowest leads; ties and nulls sort by member_id"),
        Column("connectors", STRINGS, "connectors that the worker runs, in the order in which it lists them"),
        Column("tasks", CONNECTOR_TASKS, "tasks that the worker runs, in the order in which it lists them"),
        Column("protocol", STRING, "elected protocol of the cluster: default, compatible or sessioned",
               default="sessioned"),
        Column("client_version", STRING, "Kafka release of the workers; null for --client-version"),
        Column("max_delay_ms", INT, "scheduled.rebalance.max.delay.ms; null for the default, 300000"),
        Column("session_timeout_ms", INT, "session.timeout.ms; null for the default, 10000"),
        Column("pending_delay_ms", INT, "what is left of the delay of the last rebalance; null for none"),
    ),
)  # fmt: skip

CONNECTORS = Table(
    "connectors",
    "One row per configured connector of a Kafka Connect cluster.",
    (
        *_OF_GROUP,
        Column("connector", STRING, "name of the connector", required=True),
        Column("tasks", INT, "number of its tasks, 0 or more", required=True),
        Column(
            "config",
            MapType(STRING, STRING),
            "its configuration, from which the tasks of MirrorMaker 2's connectors are predicted; null if unknown",
        ),
    ),
)

_MAX_DELAY = Column("max_delay_ms", INT, "scheduled.rebalance.max.delay.ms of the workers")
_RESOURCES = "connectors and tasks"
_DOWNTIME = (
    Column("downtime_ms", LONG, f"sum over all {_RESOURCES} of the time during which no worker runs them"),
    Column("longest_downtime_ms", LONG, f"longest time during which one of the {_RESOURCES} does not run"),
    Column("started", INT, f"starts of {_RESOURCES}"),
)

CONNECT_COSTS = Table(
    "connect_costs",
    "One row per Kafka Connect cluster: what a scenario costs it.",
    (
        *_OF_GROUP,
        Column("workers", INT, "workers at the beginning"),
        Column("connectors", INT, "configured connectors at the end"),
        Column("tasks", INT, "configured tasks at the end"),
        Column("protocol", STRING, "elected protocol"),
        _MAX_DELAY,
        Column("rebalances", INT, "number of rebalances"),
        *_DOWNTIME,
        Column("moved", INT, f"{_RESOURCES} that another worker runs at the end than at the beginning"),
        Column("unassigned", INT, f"configured {_RESOURCES} that no worker runs at the end"),
        Column("stable", BOOLEAN, f"whether all {_RESOURCES} run at the end, and no rebalance is due"),
        Column("stable_ms", LONG, "time of the last rebalance, in milliseconds"),
        Column("min_tasks", INT, "fewest tasks of a worker at the end"),
        Column("max_tasks", INT, "most tasks of a worker at the end"),
        Column("max_tasks_before", INT, "most tasks of a worker before the scenario"),
        Column("error", STRING, "why the cluster is not simulated; null if it is"),
    ),
)

CONNECT_REBALANCES = Table(
    "connect_rebalances",
    "One row per rebalance of a Kafka Connect cluster.",
    (
        *_OF_GROUP,
        _REBALANCE,
        Column("at_ms", LONG, "time at which it completes, in milliseconds"),
        Column("reason", STRING, "what caused it"),
        Column("leader", STRING, "worker that leads"),
        Column("workers", INT, "workers that take part"),
        Column("started", INT, f"{_RESOURCES} that workers have to start"),
        Column("stopped", INT, f"{_RESOURCES} that workers have to stop; they rebalance again afterwards"),
        Column("unassigned", INT, f"configured {_RESOURCES} that no worker runs afterwards"),
        Column("delay_ms", INT, "after so much time the workers rebalance again, for what is lost; 0: they do not"),
    ),
)  # fmt: skip

TASK_ASSIGNMENTS = Table(
    "task_assignments",
    "One row per configured connector, and per configured task, of a Kafka Connect cluster at the end.",
    (
        *_OF_GROUP,
        _CONNECTOR,
        Column("task", INT, "number of the task; null for the connector itself"),
        Column("worker", STRING, "worker that runs it; null if none does"),
        Column("previous_worker", STRING, "worker that ran it at the beginning; null if none did"),
        Column("downtime_ms", LONG, "time during which no worker runs it"),
    ),
)

MIRROR_TASKS = Table(
    "mirror_tasks",
    "One row per partition, or consumer group, that a task of a connector of MirrorMaker 2 replicates, and one per "
    "connector whose tasks are not predicted.",
    (
        *_OF_GROUP,
        _CONNECTOR,
        Column("tasks_max", INT, "the most tasks of the connector: tasks.max, or what the scenario configures"),
        Column("task", INT, "number of the task"),
        Column("topic", STRING, "topic of the source cluster, of a task of a `MirrorSourceConnector`"),
        Column("partition", INT, "partition of the topic"),
        Column(
            "consumer_group", STRING, "consumer group of the source cluster, of a task of a `MirrorCheckpointConnector`"
        ),
        Column("worker", STRING, "worker that runs the task at the end; null if none does"),
        Column(
            "certain",
            BOOLEAN,
            "whether the task depends neither on the order in which the source cluster's brokers list topics or "
            "groups, nor on the workers' release of Java",
        ),
        Column("error", STRING, "why the tasks of the connector are not predicted; null if they are"),
    ),
)

CONNECT_ADVICE = Table(
    "connect_advice",
    "One row per Kafka Connect cluster and tried value of scheduled.rebalance.max.delay.ms.",
    (
        *_OF_GROUP,
        _MAX_DELAY,
        Column("current", BOOLEAN, "whether it is the value of the workers"),
        *_DOWNTIME,
        Column("unassigned", INT, f"configured {_RESOURCES} that no worker runs at the end"),
        Column("saved_downtime_ms", LONG, "downtime that it saves, against the current value"),
        Column(
            "best",
            BOOLEAN,
            "whether it has the least downtime, of equal ones the fewest starts, and else is the current value",
        ),
        Column(
            "best_up_to_start_ms",
            LONG,
            "for the best value: how long a start may take until another value, with fewer starts, has less downtime; "
            "null if none can",
        ),
    ),
)

STREAMS_TASK_IDS = structs({"subtopology": STRING, "partition": INT})
_SUBTOPOLOGY = Column("subtopology", STRING, "id of the subtopology", required=True)

STREAMS_MEMBERS = Table(
    "streams_members",
    "One row per member of a streams group (KIP-1071), or of a classic application of Kafka Streams: a thread of a "
    "process.",
    (
        *_OF_GROUP,
        Column("member_id", STRING, "member id, chosen by the client", required=True),
        Column("process_id", STRING, "id of the member's process", required=True),
        Column("instance_id", STRING, "group.instance.id of the thread; null for a dynamic member"),
        Column("client_id", STRING, "client.id"),
        Column("host", STRING, "address the client connects from"),
        Column("join_order", LONG, "position in the join order; ties and nulls sort by member_id"),
        Column("active", STREAMS_TASK_IDS, "active tasks of its target assignment"),
        Column("standby", STREAMS_TASK_IDS, "standby tasks of its target assignment"),
        Column("current_active", STREAMS_TASK_IDS, "active tasks that it has now; null for those of the target"),
        Column("current_standby", STREAMS_TASK_IDS, "standby tasks that it has now; null for those of the target"),
        Column("protocol", STRING, "`streams` (KIP-1071) or `classic`; null for `streams`"),
        Column(
            "supported_version",
            INT,
            "newest version of Kafka Streams' user data that a classic member can read (8 in 2.6, 9 in 2.8, 10 in 3.0, "
            "11 since 3.2); null for that of its release",
        ),
        Column(
            "task_offsets",
            structs({"subtopology": STRING, "partition": INT, "offset_sum": LONG}),
            "stateful tasks of which its process has state on its disk, with the sum of the offsets of their "
            "changelogs that it has (-2 for all of it, as active tasks send it); null if it has all state of its "
            "tasks, and no other",
        ),
    ),
)

SUBTOPOLOGIES = Table(
    "subtopologies",
    "One row per subtopology of a streams group, or of a classic application of Kafka Streams.",
    (
        *_OF_GROUP,
        _SUBTOPOLOGY,
        Column(
            "topics",
            STRINGS,
            "topics that it reads, with repartition topics: it has as many tasks as the largest of them has partitions",
        ),
        Column("topic_patterns", STRINGS, "regular expressions of topics that it reads, too"),
        Column("stateful", BOOLEAN, "whether it has state stores with changelog topics", required=True),
        Column("standby_replicas", INT, "num.standby.replicas of the group; null for 0"),
        Column(
            "inferred",
            BOOLEAN,
            "whether it follows from the tasks that members of a classic application got; null or false if it is known",
        ),
        Column("changelogs", STRINGS, "changelog topics of its state stores; null if they are unknown"),
    ),
)

STREAMS_TASKS = Table(
    "streams_tasks",
    "One row per task of a streams group and role of it: where it runs, and where it ran before.",
    (
        *_OF_GROUP,
        replace(_SUBTOPOLOGY, required=False),
        _PARTITION,
        Column("role", STRING, "`active` or `standby`"),
        Column("member_id", STRING, "member that gets it"),
        Column("process_id", STRING, "process of the member"),
        Column("previous", STRING, "role that the process had of it before: `active`, `standby`, or null for none"),
        Column(
            "records",
            LONG,
            "offsets between the state that the process has of it and the ends of its changelogs: at most so many "
            "records are restored; null for stateless tasks and if the ends are unknown",
        ),
        Column(
            "restored_ms",
            LONG,
            "when the process has restored all of them, at --restore-rate; null if that is unknown, or if it loses the "
            "task before",
        ),
    ),
)

STREAMS_MOVES = Table(
    "streams_moves",
    "One row per active stateful task that moves to another process: in the next rebalance and, if it is known how "
    "long state is restored, in the probing rebalances that follow (KIP-441). Times begin with the next rebalance.",
    (
        *_OF_GROUP,
        replace(_SUBTOPOLOGY, required=False),
        _PARTITION,
        Column("from_process", STRING, "process that has it before"),
        Column("process_id", STRING, "process to which it moves"),
        Column("member_id", STRING, "member of that process that gets it"),
        Column("begun_ms", LONG, "when the process began to restore its state; 0 also if it had it before"),
        Column("records", LONG, "records that it then had to restore, at most; null if that is unknown"),
        Column("restored_ms", LONG, "when the process has restored them: the task is warm; null if that is unknown"),
        Column("moved_ms", LONG, "when the task becomes active there: until `restored_ms` it processes no records"),
    ),
)

STREAMS_BALANCE = Table(
    "streams_balance",
    "One row per streams group or classic application of Kafka Streams: its next assignment in figures.",
    (
        *_OF_GROUP,
        Column("protocol", STRING, "`streams` (KIP-1071) or `classic`"),
        Column("members", INT, "number of members"),
        Column("processes", INT, "number of processes"),
        Column("tasks", INT, "number of tasks"),
        Column("standby_replicas", INT, "num.standby.replicas"),
        Column("moved", INT, "active tasks that another process had before"),
        Column(
            "restored",
            INT,
            "stateful active tasks whose process had neither them nor a standby of them before: their state is "
            "restored from changelog topics",
        ),
        Column("standbys_started", INT, "standby tasks whose process had neither them nor their active task before"),
        Column("min_active", INT, "fewest active tasks of a member"),
        Column("max_active", INT, "most active tasks of a member"),
        Column(
            "probing",
            BOOLEAN,
            "whether a probing rebalance follows after probing.rebalance.interval.ms (KIP-441), because some standby "
            "tasks are warming up; null for streams groups",
        ),
        Column("records", LONG, "records that its active tasks restore, at most; null if that is unknown"),
        Column(
            "restored_ms",
            LONG,
            "how long it takes until all active tasks have restored their state, at --restore-rate; null if that is "
            "unknown",
        ),
        Column(
            "probing_rebalances",
            INT,
            "how many probing rebalances follow, until every task is on its target; null if that is unknown, and for "
            "streams groups",
        ),
        Column("stable_ms", LONG, "when the last stateful active task moves; null if that is unknown"),
        Column("error", STRING, "why the group has no assignment; null if it has one"),
    ),
)

REJECTS = Table(
    "rejects",
    "One row per input row that cannot be used.",
    (
        Column("table", STRING, "input table of the row"),
        *_OF_GROUP,
        Column("row", STRING, "the row as JSON; for a member, only the columns the job reads"),
        Column("reason", STRING, "what is wrong with the row"),
    ),
)

INPUTS = {
    table.name: table
    for table in (
        *(TOPICS, MEMBERS, CLUSTERS, OFFSETS, LISTED_GROUPS, RECORDS, KEYS, EVENTS),
        *(WORKERS, CONNECTORS, STREAMS_MEMBERS, SUBTOPOLOGIES),
    )
}
OUTPUTS = {
    table.name: table
    for table in (
        *(ELECTIONS, ASSIGNMENTS, COOPERATIVE_REBALANCES, LAST_ASSIGNMENTS, BALANCE),
        *(OPTIMUM, COMPARISON, DISTRIBUTIONS, CHANGES),
        *(MEMBER_LAG, LAG_BALANCE, TOPIC_LAG, EXPIRING_OFFSETS),
        *(RECORD_PARTITIONS, PARTITION_LOAD, PARTITION_LOAD_AFTER, PARTITION_GROWTH, MOVED_KEYS),
        *(CLIENT_AGREEMENT, CONFLICTING_KEYS, TOPICS_AT_RISK, KEY_FINDINGS, BATCHES, PRODUCE_REQUESTS),
        *(TIMELINE, REBALANCES, OWNED_PARTITIONS, PARTITION_COSTS, COSTS, MIGRATION_COSTS, BOUNCES, LAG_COSTS, ADVICE),
        *(FINDINGS, VERDICTS, NEWS),
        *(CONNECT_COSTS, CONNECT_REBALANCES, TASK_ASSIGNMENTS, MIRROR_TASKS, CONNECT_ADVICE),
        *(STREAMS_TASKS, STREAMS_BALANCE, STREAMS_MOVES),
        *(GENERATIONS, GENERATION_MEMBERS, EPISODES, BACKTEST, SCORE, PREVENTION, TIMINGS),
        *(MISS_TOPICS, MISS_MEMBERS, MISS_CLUSTERS),
        REJECTS,
    )
}
