"""The vocabulary: every table of the program, with a line for each column."""

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

STRING, INT, LONG, DOUBLE, BOOLEAN = StringType(), IntegerType(), LongType(), DoubleType(), BooleanType()
BINARY = BinaryType()
STRINGS = ArrayType(STRING)
TOPIC_PARTITIONS = ArrayType(StructType([StructField("topic", STRING), StructField("partition", INT)]))
DEFAULT_CLUSTER = "default"
DEFAULT_PROTOCOL_TYPE = "consumer"
DEFAULT_CLIENT = "java-3.3"
MAX_PARTITIONS = 1_000_000
"""Partitions of one topic that are believed; Kafka clusters hold fewer in all their topics together."""


@dataclass(frozen=True)
class Column:
    """A column of a table."""

    name: str
    type: DataType
    meaning: str
    required: bool = False
    """Must be present. A column that is not required and not there is read as null, or as its default."""
    default: Any = None


@dataclass(frozen=True)
class Table:
    """A table: its name, what a row is, and its columns."""

    name: str
    meaning: str
    columns: tuple[Column, ...]

    @property
    def schema(self) -> StructType:
        """The Spark schema."""
        return StructType([StructField(column.name, column.type) for column in self.columns])

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return [column.name for column in self.columns]


_CLUSTER = Column("cluster", STRING, "namespace of topics and groups", default=DEFAULT_CLUSTER)
_GROUP = Column("group_id", STRING, "consumer group", required=True)

TOPICS = Table(
    "topics",
    "a topic of a cluster",
    (
        _CLUSTER,
        Column("topic", STRING, "name", required=True),
        Column("partitions", INT, f"number of partitions, 0 to {MAX_PARTITIONS:,}", required=True),
        Column(
            "topic_id",
            STRING,
            "Uuid, as Kafka prints it (base64url); null or zero: MurmurHash3 of the name, for server-uniform",
        ),
        Column("unavailable", ArrayType(INT), "partitions without a leader"),
        Column("racks", ArrayType(STRINGS), "racks of the replicas, a list for each partition"),
    ),
)

TOPICS_AFTER = replace(TOPICS, name="topics_after", meaning="a topic as it will be")
"""What may be asked of a job: a topics table in which no topic is without partitions."""

MEMBERS = Table(
    "members",
    "a member of a consumer group",
    (
        _CLUSTER,
        _GROUP,
        Column("member_id", STRING, "id that the coordinator knows the member by", required=True),
        Column("instance_id", STRING, "group.instance.id of a static member"),
        Column("client_id", STRING, "client.id"),
        Column("host", STRING, "where the client connects from"),
        Column("rack", STRING, "client.rack"),
        Column("protocol_type", STRING, "only members of one type share a group", default=DEFAULT_PROTOCOL_TYPE),
        Column("protocols", STRINGS, "assignors the member offers, the preferred one first", required=True),
        Column("subscription", STRINGS, "topics the member wants", required=True),
        Column("owned", TOPIC_PARTITIONS, "partitions the member has, as it tells the leader when it joins"),
        Column("generation", INT, "generation that `owned` comes from; null if not known"),
        Column("user_data", BINARY, "user data of the member's subscription, for a user's own assignor"),
        Column("join_order", LONG, "place in the order of joining: the lowest leads; equal or null: by member_id"),
        Column("session_timeout_ms", INT, "session.timeout.ms"),
        Column("rebalance_timeout_ms", INT, "max.poll.interval.ms"),
    ),
)

OFFSETS = Table(
    "offsets",
    "the committed offset of a group in a partition",
    (
        _CLUSTER,
        _GROUP,
        Column("topic", STRING, "name", required=True),
        Column("partition", INT, "number", required=True),
        Column("committed", LONG, "committed offset; null or, as Kafka has it, -1: none"),
        Column("end", LONG, "log end offset; null: not known"),
        Column("metadata", STRING, "what the client stored with the offset"),
        Column("committed_at_ms", LONG, "time of the commit"),
        Column("expires_at_ms", LONG, "time after which the offset goes"),
    ),
)

_CLIENT = Column("client", STRING, "client library whose rules place the record")
_RECORD = (
    _CLUSTER,
    Column("topic", STRING, "name", required=True),
    Column("key", BINARY, "key as it is sent; null: none"),
    Column("explicit_partition", INT, "partition that the application asks for"),
    Column("value_bytes", INT, "length of the value; null: a tombstone"),
    Column("producer_id", STRING, "producer; null: all such records of a cluster have one"),
)
_ORDER = (
    Column("timestamp_ms", LONG, "time of sending; null: 0"),
    Column("seq", LONG, "place in the order of the producer; null: timestamp_ms; equal: by what is sent"),
)
_SENT_TO = Column("sent_to", INT, "partition that the record is in, where it was read from a real topic")

RECORDS = Table(
    "records",
    "a record that a producer sends",
    (*_RECORD, Column("client", STRING, _CLIENT.meaning, default=DEFAULT_CLIENT), *_ORDER, _SENT_TO),
)

INADMISSIBLE = ArrayType(StructType([StructField("member_id", STRING), StructField("error", STRING)]))

CLASSIC, CONSUMER = "classic", "consumer"
"""Types of groups, in the words of Kafka's tools."""

ELECTIONS = Table(
    "elections",
    "the protocol that a group elects, or the assignor that its coordinator runs (KIP-848)",
    (
        _CLUSTER,
        _GROUP,
        Column(
            "type",
            STRING,
            "classic, or consumer: with a member of `group.protocol=consumer`, its coordinator assigns (KIP-848)",
        ),
        Column("members", INT, "members that the coordinator admits"),
        Column("protocol", STRING, "the elected protocol; consumer: the assignor that most members wish for"),
        Column(
            "candidates",
            STRINGS,
            "protocols that every member supports, in the leader's order; consumer: assignors that some wish for",
        ),
        Column("votes", MapType(STRING, INT), "votes for each candidate that has some; consumer: wishes"),
        Column(
            "tie",
            BOOLEAN,
            "others had as many votes: hash order decided, and another Kafka may decide otherwise; consumer: it is "
            "uniform",
        ),
        Column("leader_id", STRING, "member that computes the assignment: the first to join; consumer: none"),
        Column("coordinator_partition", INT, "partition of __consumer_offsets whose leader coordinates the group"),
        Column(
            "inadmissible",
            INADMISSIBLE,
            "members that the coordinator refuses, in join order, with its answer",
        ),
        Column("error", STRING, "why nothing was elected"),
    ),
)

_MEMBER = Column("member_id", STRING, "member")
_PARTITIONS = Column(
    "partitions", TOPIC_PARTITIONS, "partitions, in the order in which Kafka returns them; server-*: sorted"
)

ASSIGNMENTS = Table(
    "assignments",
    "what the assignor gives a member, with `owned` as what the leader is told",
    (
        _CLUSTER,
        _GROUP,
        Column("strategy", STRING, "assignor"),
        _MEMBER,
        _PARTITIONS,
    ),
)

LAST_ASSIGNMENTS = replace(
    ASSIGNMENTS,
    name="last_assignments",
    meaning="what a member has after the last rebalance (in a shell; what a job finds is in assignments and, where the "
    "assignor is cooperative, in the last of cooperative_rebalances)",
)

COOPERATIVE_REBALANCES = Table(
    "cooperative_rebalances",
    "what a member gives up and takes in a rebalance, where the assignor is cooperative; the first is in assignments",
    (
        _CLUSTER,
        _GROUP,
        Column("strategy", STRING, "assignor"),
        Column("rebalance", INT, "number of the rebalance, from 1; above it members have joined again"),
        Column("last", BOOLEAN, "nobody asks for another rebalance: so the group ends"),
        _MEMBER,
        _PARTITIONS,
        Column("revoked", TOPIC_PARTITIONS, "what it stops consuming, sorted"),
        Column("added", TOPIC_PARTITIONS, "what it takes and did not join with, sorted"),
    ),
)

BALANCE = Table(
    "balance",
    "how even a group's assignment is after its last rebalance, and what it moves",
    (
        _CLUSTER,
        _GROUP,
        Column("strategy", STRING, "assignor"),
        Column("members", INT, "members"),
        Column("partitions", INT, "partitions of the topics that the group subscribes to"),
        Column("min", INT, "fewest partitions that a member has"),
        Column("max", INT, "most partitions that a member has"),
        Column("stddev", DOUBLE, "standard deviation of the partitions a member"),
        Column("topic_spread", INT, "largest difference of two subscribers' partitions of one topic"),
        Column("idle_members", INT, "members without a partition"),
        Column("moved", INT, "partitions that another member owned before"),
        Column("kept", INT, "partitions that stay with their owner"),
        Column("unassigned", INT, "partitions that nobody gets"),
        Column("assigned_twice", INT, "partitions that are given more than once: a quirk of Kafka's assignor"),
        Column("not_subscribed", INT, "partitions that a member gets without subscribing to the topic: a quirk"),
        Column("nonexistent", INT, "partitions that are given though the topic has no such number: a quirk"),
        Column("rebalances", INT, "rebalances that it takes"),
        Column("revoked", INT, "partitions that members stop consuming on the way; eager ones give up all they own"),
        Column("error", STRING, "why the group has no assignment in the end"),
    ),
)

OPTIMUM = Table(
    "optimum",
    "the best for a group: most even, with the fewest moves to it (in a shell; what a job finds is in comparison)",
    (
        _CLUSTER,
        _GROUP,
        Column("members", INT, "members"),
        Column("partitions", INT, "partitions of the topics that the group subscribes to"),
        Column("min", INT, "fewest partitions that a member has; where not exact, no assignment has more"),
        Column("max", INT, "most partitions that a member has; where not exact, no assignment has less"),
        Column("stddev", DOUBLE, "standard deviation of the partitions a member; where not exact, at least that"),
        Column("idle_members", INT, "members without a partition; where not exact, at least that"),
        Column(
            "moved",
            INT,
            "fewest partitions to take from another owner for such an assignment; where not exact, at least that",
        ),
        Column("balance_exact", BOOLEAN, "min, max, stddev and idle_members are exact"),
        Column("moved_exact", BOOLEAN, "moved is exact"),
    ),
)

_LAG_PARTITIONS = Column("lag_partitions", INT, "partitions with lag")
_UNKNOWN_PARTITIONS = Column("unknown_partitions", INT, "partitions whose lag is not known")

MEMBER_LAG = Table(
    "member_lag",
    "the lag that a member has after its group's last rebalance; of groups with lag, or with partitions whose lag is "
    "not known",
    (
        _CLUSTER,
        _GROUP,
        Column("strategy", STRING, "assignor"),
        _MEMBER,
        Column("partitions", INT, "partitions that it has"),
        _LAG_PARTITIONS,
        _UNKNOWN_PARTITIONS,
        Column("lag", LONG, "log end offset less committed offset, of all its partitions; null: known of none of them"),
        Column("share", DOUBLE, "share of the group's lag, 0 to 1; null: the group has none, or it is not known"),
        Column("max_partition_lag", LONG, "largest lag of one partition; null: no lag"),
        Column("max_lag_partition", TOPIC_PARTITIONS.elementType, "the partition that has it"),
    ),
)

LAG_BALANCE = Table(
    "lag_balance",
    "how even the lag of a group is after its last rebalance; of groups with lag, or with partitions whose lag is not "
    "known, which count with what is known",
    (
        _CLUSTER,
        _GROUP,
        Column("strategy", STRING, "assignor"),
        Column("rank", INT, "place among the groups of the strategy, from 1: by excess_lag, then by lag"),
        Column("members", INT, "members"),
        Column("partitions", INT, "partitions that members have, or that the group has offsets of"),
        _LAG_PARTITIONS,
        _UNKNOWN_PARTITIONS,
        Column(
            "negative_partitions",
            INT,
            "partitions whose committed offset is above the log end offset: Kafka's tools print a negative lag, here "
            "it is 0",
        ),
        Column("lag", LONG, "log end offset less committed offset, of all partitions; null: known of none of them"),
        Column("unassigned_lag", LONG, "of this, lag in partitions that no member has"),
        Column("max_partition_lag", LONG, "largest lag of a partition that a member has"),
        Column("max_lag", LONG, "largest lag of a member"),
        Column("max_lag_member_id", STRING, "the member that has it"),
        Column("min_lag", LONG, "least lag of a member"),
        Column("mean_lag", DOUBLE, "mean lag of the members"),
        Column("imbalance", DOUBLE, "max_lag as a multiple of mean_lag: 1 is even; null: no member has lag"),
        Column(
            "max_lag_bound",
            LONG,
            "no way to give the same partitions to members that subscribe to them has a smaller max_lag; there need "
            "not be one that has no more",
        ),
        Column("excess_lag", LONG, "max_lag above that bound: what another assignment could save at the most"),
        Column("moved_lag", LONG, "lag in partitions that another member owned before; null as owned_max_lag"),
        Column(
            "owned_max_lag",
            LONG,
            "largest lag of a member by what they owned before; null: nothing, or with no lag known",
        ),
    ),
)

_OF_THE_GROUP = ("cluster", "group_id", "strategy", "members", "partitions")

BEST_FIGURES = {field.name: field.dataType for field in OPTIMUM.schema if field.name not in _OF_THE_GROUP}
"""What a comparison says of the optimum of a group."""

FIGURES = {
    **{field.name: field.dataType for field in BALANCE.schema if field.name not in (*_OF_THE_GROUP, "error")},
    "excess_max": INT,
    "excess_stddev": DOUBLE,
    "excess_moved": INT,
    "error": STRING,
}
"""What a comparison says of a strategy in a group."""


def _struct(types: dict[str, DataType]) -> StructType:
    return StructType([StructField(name, of) for name, of in types.items()])


COMPARISON = Table(
    "comparison",
    "a group under every strategy, beside the best that any could do",
    (
        _CLUSTER,
        _GROUP,
        Column("members", INT, "members"),
        Column("partitions", INT, "partitions of the topics that the group subscribes to"),
        Column("elected", STRING, "the protocol that the group elects, or the assignor that its coordinator runs"),
        Column("optimum", _struct(BEST_FIGURES), "as in the table optimum"),
        Column(
            "strategies",
            MapType(STRING, _struct(FIGURES)),
            "by assignor: as in balance, and how much max, stddev and moved are above the optimum's; that is null "
            "where not every partition is with one member that asked",
        ),
    ),
)

DISTRIBUTIONS = Table(
    "distributions",
    "how a figure of a strategy is distributed over the groups",
    (
        Column("strategy", STRING, "assignor, or `optimum`"),
        Column("figure", STRING, "figure of balance or of comparison"),
        Column("groups", LONG, "groups that have the figure"),
        Column("missing", LONG, "groups that have not"),
        Column("zero", LONG, "groups where it is 0"),
        Column("total", DOUBLE, "sum over the groups"),
        Column("mean", DOUBLE, "mean over the groups"),
        Column("min", DOUBLE, "least"),
        Column("p50", DOUBLE, "median, between two values linear"),
        Column("p90", DOUBLE, "90th percentile, so too"),
        Column("p99", DOUBLE, "99th percentile, so too"),
        Column("max", DOUBLE, "greatest"),
    ),
)

CHANGES = Table(
    "changes",
    "a group that would gain or lose most by a strategy, against the one that it elects",
    (
        Column("strategy", STRING, "assignor"),
        Column("change", STRING, "gain or loss: in stddev, and where that stays the same in moved"),
        Column("rank", INT, "place among the gains or the losses of the strategy, from 1"),
        _CLUSTER,
        _GROUP,
        Column("members", INT, "members"),
        Column("partitions", INT, "partitions of the topics that the group subscribes to"),
        Column("elected", STRING, "the protocol that the group elects, or the assignor that its coordinator runs"),
        Column("elected_stddev", DOUBLE, "standard deviation of the partitions a member, by the elected protocol"),
        Column("stddev", DOUBLE, "the same by the strategy"),
        Column("elected_moved", INT, "partitions that another member owned before, by the elected protocol"),
        Column("moved", INT, "the same by the strategy"),
    ),
)

_PRODUCER = Column("producer_id", STRING, "producer")
_PARTITION = Column("partition", INT, "number")

RECORD_PARTITIONS = Table(
    "record_partitions",
    "a record and the partition that it goes to",
    (*_RECORD, _CLIENT, *_ORDER, Column("partition", INT, "partition that it goes to"), _SENT_TO),
)

HEAVY_KEYS = ArrayType(
    StructType([StructField("key", BINARY), StructField("records", LONG), StructField("bytes", LONG)])
)

PARTITION_LOAD = Table(
    "partition_load",
    "what a partition gets",
    (
        _CLIENT,
        _CLUSTER,
        Column("topic", STRING, "name"),
        _PARTITION,
        Column("records", LONG, "records"),
        Column("bytes", LONG, "bytes of their keys and values"),
        Column("share", DOUBLE, "share of the topic's bytes, 0 to 1; of a topic without bytes, of its records"),
        Column("imbalance", DOUBLE, "share as a multiple of an even one: 1 is even"),
        Column("heaviest_keys", HEAVY_KEYS, "keys with the most records in it, first the heaviest"),
    ),
)

PARTITION_LOAD_AFTER = replace(
    PARTITION_LOAD,
    name="partition_load_after",
    meaning="what a partition would get if topics had other numbers of partitions; records that no key or application "
    "places are left out",
)

PARTITION_GROWTH = Table(
    "partition_growth",
    "what would move if a topic had another number of partitions",
    (
        _CLIENT,
        _CLUSTER,
        Column("topic", STRING, "name"),
        Column("partitions", INT, "number of partitions"),
        Column("partitions_after", INT, "number of partitions that it would have"),
        Column("keys", LONG, "different keys by which the client places records"),
        Column("keys_moved", LONG, "of these, keys that would go to another partition"),
        Column("keys_moved_share", DOUBLE, "share of the keys, 0 to 1; null without any"),
        Column("records", LONG, "records that go by their key; a client that hashes null may place those without, too"),
        Column("records_moved", LONG, "of these, records that would go to another partition"),
        Column("records_moved_share", DOUBLE, "share of the records; null without any"),
        Column("bytes", LONG, "bytes of these records' keys and values"),
        Column("bytes_moved", LONG, "bytes of the records that would go to another partition"),
        Column("bytes_moved_share", DOUBLE, "share of the bytes; null without any"),
        Column("records_gone", LONG, "records that ask for a partition that would not be there"),
        Column("imbalance", DOUBLE, "the largest of its partitions, of records that a key or the application places"),
        Column("imbalance_after", DOUBLE, "the same afterwards"),
    ),
)

_AGREEMENT_EXAMPLES = ArrayType(
    StructType(
        [
            StructField("key", BINARY),
            StructField("records", LONG),
            StructField("partition", INT),
            StructField("other_partition", INT),
        ]
    )
)

CLIENT_AGREEMENT = Table(
    "client_agreement",
    "how far two clients would place the keys of a topic alike",
    (
        _CLUSTER,
        Column("topic", STRING, "name"),
        Column("client", STRING, "client library"),
        Column("other_client", STRING, "another"),
        Column("keys", LONG, "different keys of records that ask for no partition"),
        Column("keys_agreed", LONG, "of these, keys that both would send to one and the same partition"),
        Column("keys_agreed_share", DOUBLE, "share of the keys, 0 to 1"),
        Column("records", LONG, "records with these keys"),
        Column("records_agreed", LONG, "records with a key that both would send to one partition"),
        Column("records_agreed_share", DOUBLE, "share of the records"),
        Column(
            "examples",
            _AGREEMENT_EXAMPLES,
            "keys that part, the heaviest first, and where each would send them; null: anywhere",
        ),
    ),
)

_PARTED_KEYS = ArrayType(
    StructType(
        [
            StructField("key", BINARY),
            StructField("records", LONG),
            StructField(
                "partitions", ArrayType(StructType([StructField("client", STRING), StructField("partition", INT)]))
            ),
        ]
    )
)

TOPICS_AT_RISK = Table(
    "topics_at_risk",
    "a topic whose producers, of more than one client, would place some of its keys differently",
    (
        _CLUSTER,
        Column("topic", STRING, "name"),
        Column("clients", STRINGS, "clients whose producers send keys to it, sorted"),
        Column("keys", LONG, "different keys of records that ask for no partition"),
        Column("keys_parting", LONG, "of these, keys that they would not all send to one and the same partition"),
        Column("keys_shared", LONG, "keys that producers of more than one client send"),
        Column("keys_parted", LONG, "of these, keys that are now in more than one partition, or anywhere"),
        Column("records_parted", LONG, "records with these keys"),
        Column(
            "examples",
            _PARTED_KEYS,
            "keys that part, first those that are parted, then the heaviest; and where each of the clients would send "
            "them; null: anywhere",
        ),
    ),
)

KEY_FINDINGS = Table(
    "key_findings",
    "something odd about the keys that a client's producers send to a topic",
    (
        _CLIENT,
        _CLUSTER,
        Column("topic", STRING, "name"),
        Column(
            "finding",
            STRING,
            "`empty_keys`; `null_keys_hashed`: records without key, all in one partition; `keys_ignored`; "
            "`dominant_key`: one with more than half of the records of a partition that has more than an even share; "
            "`idle_partitions`: no key goes there",
        ),
        Column("records", LONG, "records that it is about; with `dominant_key` those with the key in the partition"),
        Column("share", DOUBLE, "share of the topic's records, 0 to 1; with `dominant_key` of the partition's"),
        Column("partitions", INT, "partitions that it is about; with `dominant_key` that have such a key"),
        Column("partition", INT, "partition that they go to; of several, that of the key with the most records"),
        Column("key", BINARY, "key that it is about"),
        Column("told", STRING, "the finding in words"),
    ),
)

BATCHES = Table(
    "batches",
    "a batch that a producer sends",
    (
        _CLIENT,
        _CLUSTER,
        _PRODUCER,
        Column("topic", STRING, "name"),
        _PARTITION,
        Column("records", INT, "records"),
        Column("bytes", INT, "bytes on the wire, not compressed, the batch's header included"),
        Column("opened_ms", LONG, "time of its first record"),
        Column("closed_ms", LONG, "time at which it is sent; null if never, since the partition has no leader"),
        Column("waited_ms", LONG, "from its first record to its sending"),
    ),
)

PRODUCE_REQUESTS = Table(
    "produce_requests",
    "what the producers of a cluster send",
    (
        _CLIENT,
        _CLUSTER,
        Column("producers", LONG, "producers"),
        Column("records", LONG, "records"),
        Column("unsent", LONG, "records in batches that are never sent, since their partition has no leader"),
        Column("bytes", LONG, "bytes of the batches"),
        Column("batches", LONG, "batches"),
        Column("records_a_batch", DOUBLE, "mean"),
        Column("bytes_a_batch", DOUBLE, "mean"),
        Column("waited_ms", DOUBLE, "mean time of a batch from its first record to its sending"),
        Column("requests_least", LONG, "requests if one broker leads all partitions"),
        Column("requests_most", LONG, "requests if each partition is led by another broker"),
    ),
)

EVENTS = Table(
    "events",
    "something that will happen to a group, for simulate",
    (
        _CLUSTER,
        _GROUP,
        Column("at_ms", LONG, "when, in milliseconds from the beginning", required=True),
        Column(
            "event",
            STRING,
            "join, leave, crash, restart, stall, subscribe, protocols, grow, move-coordinator, fail-store; events of a "
            "group at one time happen in this order, those of one kind by member_id",
            required=True,
        ),
        Column("member_id", STRING, "the consumer it happens to; of join a new name, of the group's events null"),
        Column("down_ms", LONG, "restart: until the process starts again; move-coordinator: until there is another"),
        Column("for_ms", LONG, "stall: how long there is no poll"),
        Column("topic", STRING, "grow: the topic"),
        Column("partitions", INT, "grow: how many partitions it has then"),
        Column("error", STRING, "fail-store: what the log answers to writes from now on; NONE: nothing"),
        Column("subscription", STRINGS, "subscribe and join: topics the consumer wants"),
        Column("protocols", STRINGS, "protocols and join: assignors it offers, from its next start on"),
        Column("instance_id", STRING, "join: group.instance.id"),
        Column("client_id", STRING, "join: client.id"),
        Column("rack", STRING, "join: client.rack"),
        Column("session_timeout_ms", INT, "join: session.timeout.ms"),
        Column("rebalance_timeout_ms", INT, "join: max.poll.interval.ms"),
    ),
)

_STRATEGY = Column("strategy", STRING, "assignor, or `elected`")

TIMELINE = Table(
    "timeline",
    "something that happened in a simulation: a request, an answer, a change of state, or what a consumer did",
    (
        _CLUSTER,
        _GROUP,
        _STRATEGY,
        Column("number", INT, "place in the order of what happened to the group, from 0"),
        Column("at_ms", LONG, "when, in milliseconds from the beginning"),
        Column(
            "what",
            STRING,
            "EVENT, STATE, REQUEST, ANSWER, STARTED, STOPPED, FAILED, REVOKED, LOST, ASSIGNED, POLL_EXPIRED",
        ),
        Column("member_id", STRING, "the consumer, by the name that it has in members or events"),
        Column("detail", STRING, "the event, the request or the reason"),
        Column("error", STRING, "Kafka's error, of fail-store the log's; null: none"),
        Column("generation", INT, "generation, or group epoch, of the group"),
        Column("state", STRING, "state of the group afterwards"),
        Column("partitions", INT, "partitions that are given up, lost or assigned"),
        Column("value", LONG, "of an event: down_ms, for_ms, or how many partitions a topic has then"),
    ),
)

REBALANCES = Table(
    "rebalances",
    "a rebalance of a simulation",
    (
        _CLUSTER,
        _GROUP,
        _STRATEGY,
        Column("rebalance", INT, "number, from 1"),
        Column("reason", STRING, "why it began"),
        Column("member_id", STRING, "the consumer that it began with"),
        Column("from_ms", LONG, "when it began"),
        Column("joined_ms", LONG, "when all had joined, or the wait for them ended; null: it did not come to that"),
        Column("to_ms", LONG, "when the group was stable; null: it did not come to that"),
        Column("settled_ms", LONG, "when all partitions were consumed again; null: not before the next rebalance"),
        Column("generation", INT, "generation, or group epoch"),
        Column("protocol", STRING, "the elected protocol"),
        Column("leader", STRING, "the consumer that leads"),
        Column("joined", INT, "members of the generation"),
        Column("evicted", INT, "members that were removed because nothing was heard of them"),
        Column("revoked", INT, "partitions that consumers gave up"),
        Column("moved", INT, "partitions that went to another consumer"),
        Column(
            "paused_ms", LONG, "partition-milliseconds that nobody consumed, since the rebalance before had settled"
        ),
    ),
)

OWNED_PARTITIONS = Table(
    "owned_partitions",
    "what a consumer that is there has when a simulation ends",
    (
        _CLUSTER,
        _GROUP,
        _STRATEGY,
        Column("member_id", STRING, "the consumer, by the name that it has in members or events"),
        Column("partitions", TOPIC_PARTITIONS, "partitions, sorted"),
    ),
)

PARTITION_COSTS = Table(
    "partition_costs",
    "a partition that stands still in a simulation, or goes to another consumer",
    (
        _CLUSTER,
        _GROUP,
        _STRATEGY,
        Column("topic", STRING, "name"),
        Column("partition", INT, "number"),
        Column("paused_ms", LONG, "milliseconds for which nobody consumed it"),
        Column("moved", INT, "how often it went to another consumer"),
        Column("member_id", STRING, "the consumer that has it in the end; null: nobody"),
    ),
)

COSTS = Table(
    "costs",
    "what a simulation costs a group",
    (
        _CLUSTER,
        _GROUP,
        _STRATEGY,
        Column("consumers", INT, "consumers, those that join later included"),
        Column("partitions", INT, "partitions of their topics, in the end"),
        Column("events", INT, "events that happen to the group; 0: neither scenario nor events table has one for it"),
        Column("rebalances", INT, "rebalances that began"),
        Column("completed", INT, "those after which the group was stable"),
        Column("storms", INT, "windows of --storm-window-ms in which at least --storm-rebalances began"),
        Column("settled", BOOLEAN, "whether the group is stable in the end and all partitions are consumed"),
        Column(
            "settle_ms",
            LONG,
            "from the first event until that was so for the last time; null: it is not so, or no event",
        ),
        Column("paused_ms", LONG, "partition-milliseconds that nobody consumed"),
        Column("moved", INT, "partitions that went to another consumer"),
        Column("moved_back", INT, "those that went back to the one before"),
        Column("evicted", INT, "members that were removed because nothing was heard of them"),
        Column("failed", INT, "consumers that an error of Kafka's ended"),
        Column("failure", STRING, "the first of them: error, consumer, time, and after which event"),
        Column("messages", LONG, "requests and answers"),
        Column("simulated_ms", LONG, "how long the simulation is"),
        Column("error", STRING, "why there is no simulation"),
    ),
)

LAG_COSTS = Table(
    "lag_costs",
    "what a simulation costs a group where records wait; of groups with lag in partitions that stand still or move",
    (
        _CLUSTER,
        _GROUP,
        _STRATEGY,
        Column("rank", INT, "place among the groups of the strategy, from 1: by paused_record_ms, then by moved_lag"),
        _LAG_PARTITIONS,
        Column("lag", LONG, "lag of the group when the simulation begins, as far as it is known"),
        Column("paused_lag_partitions", INT, "partitions with lag that stand still"),
        Column("paused_lag", LONG, "lag in them"),
        Column("moved_lag", LONG, "lag in partitions that go to another consumer"),
        Column("max_paused_ms", LONG, "longest time for which a partition with lag stands still"),
        Column("paused_record_ms", LONG, "record-milliseconds: lag of each partition times the time it stands still"),
        Column("delay_ms", DOUBLE, "by how much a record that waits is late, in the mean: paused_record_ms a record"),
        Column("worst_partition", TOPIC_PARTITIONS.elementType, "the partition with most of them; null: none"),
        Column("worst_lag", LONG, "its lag"),
        Column("worst_paused_ms", LONG, "how long it stands still"),
    ),
)

ADVICE = Table(
    "advice",
    "what another setting would have saved a group in the same scenario, found by running it",
    (
        _CLUSTER,
        _GROUP,
        _STRATEGY,
        Column("setting", STRING, "what would have been otherwise"),
        Column("value", STRING, "to what"),
        Column("rebalances", INT, "rebalances with it"),
        Column("rebalances_saved", INT, "fewer than without; negative: more"),
        Column("paused_ms", LONG, "partition-milliseconds that nobody consumed, with it"),
        Column("paused_ms_saved", LONG, "fewer than without"),
        Column("settle_ms_saved", LONG, "sooner settled than without; null where settle_ms is, with or without"),
        Column("moved_saved", INT, "fewer partitions moved than without"),
        Column("best", BOOLEAN, "no other setting saves the group more paused_ms, and it saves some"),
    ),
)

REJECTS = Table(
    "rejects",
    "an input row that could not be used",
    (
        Column("table", STRING, "table that the row was given in"),
        _CLUSTER,
        _GROUP,
        Column("row", STRING, "the row as JSON; of a member, the columns that the job reads"),
        Column("reason", STRING, "what is wrong with it"),
    ),
)

INPUTS = {table.name: table for table in (TOPICS, MEMBERS, OFFSETS, RECORDS, EVENTS)}
OUTPUTS = {
    table.name: table
    for table in (
        ELECTIONS,
        ASSIGNMENTS,
        COOPERATIVE_REBALANCES,
        LAST_ASSIGNMENTS,
        BALANCE,
        OPTIMUM,
        COMPARISON,
        DISTRIBUTIONS,
        CHANGES,
        MEMBER_LAG,
        LAG_BALANCE,
        RECORD_PARTITIONS,
        PARTITION_LOAD,
        PARTITION_LOAD_AFTER,
        PARTITION_GROWTH,
        CLIENT_AGREEMENT,
        TOPICS_AT_RISK,
        KEY_FINDINGS,
        BATCHES,
        PRODUCE_REQUESTS,
        TIMELINE,
        REBALANCES,
        OWNED_PARTITIONS,
        PARTITION_COSTS,
        COSTS,
        LAG_COSTS,
        ADVICE,
        REJECTS,
    )
}
