"""Which Kafka release follows which rules."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from enum import IntEnum
from functools import cache
from typing import Any

from rebalance_sim.errors import UserError


class MapRule(IntEnum):
    """The hash map in which a release of the group coordinator keeps members and votes.

    Its iteration order decides ties (see ``rebalance_sim.kafka.runtime.hash_order``).
    """

    JAVA = 0
    SCALA_2_11 = 1
    """Builds with Scala 2.11, and with Scala 2.12 up to 2.12.12."""
    SCALA_2_13 = 2
    SCALA_2_12_13 = 3
    """Builds with Scala 2.12.13 or later: as 2.11, but up to four protocols are counted in the order of their votes."""


class MemberList(IntEnum):
    """The collection in which the coordinator lists members in a JoinGroup response."""

    IMMUTABLE_MAP = 0
    """Scala's immutable map, filled in the order of the coordinator's own map: beyond four members, a hash trie."""
    COORDINATOR_MAP = 1
    """A list in the order of the coordinator's own map (since 2.3)."""


class CoordinatorRules(IntEnum):
    """Rules of the group coordinator for classic groups; each adds some to those before it."""

    SCALA_1_0 = 0
    SCALA_2_3 = 1
    """Static members (KIP-345), member ids required before joining (KIP-394), ``group.max.size`` (KIP-389)."""
    SCALA_2_4 = 2
    """LeaveGroup in batches (KIP-345); offsets of topics without subscribers expire (KIP-496)."""
    SCALA_2_4_1 = 3
    """New members are not removed by their sessions, only five minutes after they came (KAFKA-9232)."""
    SCALA_2_5 = 4
    """Every new member has a session once it has joined (KAFKA-9752); a static member that joins while the leader
    assigns causes a rebalance (KAFKA-9801); SyncGroups name the protocol (KIP-559)."""
    SCALA_2_6 = 5
    """A full group counts the members that have joined during a rebalance (KAFKA-9885)."""
    SCALA_2_6_1 = 6
    """Heartbeats are accepted while the leader assigns (KAFKA-10134); a static member that returns is written to the
    log, and causes a rebalance if the group elects another protocol (KAFKA-10284)."""
    SCALA_2_8 = 7
    """Loaded members are static only if they have an instance id, which only its member can lose (KAFKA-10497,
    pull request 9952)."""
    SCALA_2_8_1 = 8
    """A timeout for pending SyncGroups (KAFKA-12890)."""
    SCALA_3_0 = 9
    """An instance id that no member has is an error in every request (pull request 9958)."""
    SCALA_3_2 = 10
    """A static leader that returns stays the leader, without assigning (KIP-814)."""
    SCALA_3_3 = 11
    """Every client may commit offsets of an empty group, if it sends no generation (KAFKA-14201)."""
    SCALA_3_3_2 = 12
    """Members that rejoin can change their timeouts (KAFKA-14009)."""
    JAVA = 13
    """The Java coordinator (KIP-848), with its rules for classic groups."""


class ConsumerGroupRules(IntEnum):
    """Rules of the group coordinator for consumer-protocol groups (KIP-848); each adds to those before it."""

    KIP_848 = 0
    """The first heartbeat after the conversion of a classic group raises the epoch (4.0)."""
    TOPICS_AT_UPGRADE = 1
    """It does so only if the member's subscription or the topics changed (4.0.1)."""
    ONLY_SUBSCRIBED = 2
    """Members revoke unsubscribed topics at once, keep their epoch between two revocations, and may rejoin (4.2)."""
    ASSIGNMENT_INTERVAL = 3
    """Target assignments are a minimum time apart; epochs begin with 2; partitions have epochs (4.3)."""
    EMPTY_GROUPS = 4
    """A group without members needs no target assignment; a full group lets its static members rejoin (4.4)."""


class RangeWalk(IntEnum):
    """The hash map in whose order ``RangeAssignor`` visits topics."""

    NAMED_BY_PUT = 0
    """Topics that members name, added with ``put`` (1.0)."""
    NAMED_BY_COMPUTE_IF_ABSENT = 1
    """The same, added with ``computeIfAbsent`` (2.3)."""
    KNOWN = 2
    """Topics that exist in the metadata."""


class ConsumerWriter(IntEnum):
    """The order in which consumers write topics to the bytes of subscriptions and assignments."""

    HASHED_BY_PUT = 0
    """Subscriptions as given; assignments and sticky user data in the order of a hash map filled with ``put`` (1.0)."""
    HASHED_BY_COMPUTE_IF_ABSENT = 1
    """The same, filled with ``computeIfAbsent`` (2.1)."""
    SORTED_SUBSCRIPTIONS = 2
    """Subscriptions sorted (2.8.1); assignments and user data as before."""
    SORTED = 3
    """Assignments in the order of first occurrence, too (3.0); user data as before."""


class StickyRules(IntEnum):
    """The rules of ``sticky`` and ``cooperative-sticky``: each adds to those before it."""

    CLAIMS = 0
    """Members keep every partition that they claim to own (0.11)."""
    GENERATIONS = 1
    """The claim of the latest generation counts (2.3)."""
    NEW_PARTITIONS_FIRST = 2
    """Unassigned partitions are balanced before owned ones (2.4)."""
    CONSTRAINED = 3
    """A faster algorithm for members with equal subscriptions (2.5.1)."""
    NO_DOUBLE_CLAIMS = 4
    """It drops partitions that two members claim in one generation; cooperative members send generations (2.8.1)."""
    QUOTAS = 5
    """It fills members up to a minimum and a maximum; the general algorithm counts the newest generation only (3.0)."""
    CLAIM_GENERATIONS = 6
    """The generations of two claims on a partition are compared with each other (3.4.1)."""
    LARGER_GAP = 7
    """A difference of one partition is balanced, and the first of two claims is remembered (3.5.2)."""
    OWNED_SORTED = 8
    """Members above their quota keep partitions with low numbers; revocations name the owner (3.7.1)."""


class KafkaStreamsRules(IntEnum):
    """The rules by which the leader of a Kafka Streams application assigns tasks (classic protocol): each adds to those
    before it.
    """

    KIP_441 = 0
    """Tasks stay where their state is until another process has restored it: ``HighAvailabilityTaskAssignor`` (2.6)."""
    LAG_SENTINELS = 1
    """A task that runs on a process has no other lag there if end offsets are unknown (2.7)."""
    TASK_ID_HASH = 2
    """Task ids have another hash code (3.0)."""
    KNOWN_TASKS = 3
    """Tasks that a thread reports but that no longer exist are skipped (3.1)."""
    MOST_CAUGHT_UP = 4
    """Without a caught-up process, the most caught-up one keeps a task; threads are balanced by all of their tasks;
    standby tasks go to other tags (3.2)."""
    POLLED_MOVEMENTS = 5
    """Movements of tasks are made in order of priority (3.3)."""
    OWNED_STANDBYS = 6
    """A task that waits for its revocation is a standby task only where it was one (3.5.2)."""
    RACKS = 7
    """Tasks may be moved to processes in the racks of their partitions (3.6)."""
    SUBTOPOLOGIES = 8
    """They may also be balanced within each subtopology (3.7)."""


class PartitionOrder(IntEnum):
    """The order in which brokers list the partitions of a topic in a Metadata response."""

    HASH_MAP = 0
    """That of a Scala ``HashMap``."""
    LONG_MAP = 1
    """That of a Scala ``LongMap`` (2.1), which changes when the broker copies the map for an update."""
    HASH_SET = 2
    """That of a Scala ``HashSet`` of what the response says of each partition: brokers with KRaft before 4.3.

    The hash covers the partition's leader, its epoch, replicas and in-sync replicas.
    """
    ASCENDING = 3
    """By number (4.3)."""

    @property
    def certain(self) -> int:
        """The most partitions that are certainly listed in ascending order.

        A ``HashMap`` lists 1 before 0, as a ``HashSet`` may. A ``LongMap`` lists 0, 1, 2 or, if it is a copy, 0, 2, 1.
        """
        return {PartitionOrder.LONG_MAP: 2, PartitionOrder.ASCENDING: 2**31 - 1}.get(self, 1)


class ServerRangeRules(IntEnum):
    """The rules of ``server-range`` (KIP-848)."""

    STICKY = 0
    """Members keep partitions up to their share and get consecutive ones of the rest, in the order of a hash map."""
    RANGES = 1
    """Members, sorted, get consecutive partitions, whatever they own (3.9)."""


class ServerUniformRules(IntEnum):
    """The rules of ``server-uniform`` (KIP-848)."""

    RACKS = 0
    """Members get partitions with a replica in their rack; members with equal subscriptions take turns (3.7)."""
    QUOTAS = 1
    """Racks do not count; members with equal subscriptions are filled up one after the other (3.8)."""
    BALANCED_TOPICS = 2
    """With different subscriptions, partitions move topic by topic from the most to the least loaded members (4.0)."""
    KEPT_EXTRAS = 3
    """With equal subscriptions, members keep an extra partition that they own (4.0.1)."""


class ShareRules(IntEnum):
    """The rules of ``share-simple``, the assignor of share groups (KIP-932)."""

    ALL_PARTITIONS = 0
    """Every member gets all partitions of its topics (4.0)."""
    HASHED_IDS = 1
    """Members get a partition by the hash code of their ids, then what they had (4.1)."""
    BALANCED = 2
    """Members keep what they have; as many share each partition as it takes to give every member one (4.2)."""


class ShareGroupRules(IntEnum):
    """Rules of the group coordinator for share groups (KIP-932); each adds to those before it."""

    EARLY_ACCESS = 0
    """All partitions of subscribed topics are assigned; a known member cannot join again with a new epoch (4.0)."""
    INITIALIZED = 1
    """Only partitions with share state are assigned; the epoch rises until the target has just these (4.1)."""
    ONLY_SUBSCRIBED = 2
    """Only subscribed topics count for that; members get no others, and may join again (4.2)."""
    ASSIGNMENT_INTERVAL = 3
    """Target assignments are a minimum time apart; epochs begin with 2 (4.3)."""
    EMPTY_GROUPS = 4
    """A group without members needs no target assignment (4.4)."""


class ConnectRules(IntEnum):
    """The rules by which the leader of a Connect cluster assigns connectors and tasks; each adds to those before it."""

    EAGER = 0
    """Every rebalance stops everything (before 2.3)."""
    COOPERATIVE = 1
    """Workers keep what they run; what a departed worker ran is assigned after a delay (KIP-415)."""
    RESETS_DELAY = 2
    """The delay ends when nothing is lost any longer (2.4)."""
    GENERATIONS = 3
    """Leaders forget what is not of the last generation, and revoke what several workers run (2.5.1)."""
    SEVERAL_CANDIDATES = 4
    """Several idle workers share what is lost; workers are balanced at once (2.6.2, 2.7.1)."""
    COUNTS_COPIES = 5
    """What several workers run counts several times (3.3)."""
    BALANCED = 6
    """Workers stop what is beyond their share, in rebalances in a row after a growing delay (3.4)."""
    WITHOUT_DELAY = 7
    """With a delay of 0, what is lost is assigned at once (3.5.2, 3.6.1)."""


class MirrorRules(IntEnum):
    """The rules by which MirrorMaker 2's connectors select what they replicate, and divide it among their tasks.

    Each adds to those before it.
    """

    RANGES = 0
    """A task replicates partitions that follow each other (2.4)."""
    IN_TURN = 1
    """Partitions are given to the tasks in turn; connectors that are to emit nothing have no tasks (2.5)."""
    EXCLUDED = 2
    """What is not replicated is in ``topics.exclude`` and ``groups.exclude``, or still in ``.blacklist`` (2.7)."""
    SEPARATED = 3
    """Topics are internal, too, if the separator of remote topics is before ``internal`` (3.1)."""
    COMMITTED = 4
    """Checkpoints are only of groups that have committed offsets of a replicated topic (3.4.1)."""
    SET_OF_GROUPS = 5
    """Groups are divided in the order of a set; internal topics can keep their separator where remote topics have
    another one (3.6)."""
    OWN_INTERNAL = 6
    """Internal are Kafka's topics and MirrorMaker's own, and not those of Connect or of users; others are excluded by
    default. Heartbeats topics can be left out; ``.blacklist`` is ignored (4.0)."""


class StreamsRules(IntEnum):
    """The rules of ``streams-sticky``, the task assignor of streams groups (KIP-1071)."""

    TASK_PAIRS = 0
    """Members prefer tasks that no member has had together; ties are decided by identity hash codes (4.1)."""
    LEAST_LOADED = 1
    """Tasks that no member keeps go to the least loaded process, and there to the least loaded member (4.2)."""
    FREE_STANDBYS = 2
    """A standby task can stay with any member that had it, whatever the first of them holds (4.2.2, 4.4)."""
    TASK_OFFSETS = 3
    """Members keep what they have now, not their target; the offsets of state on their disks count, too (4.4)."""


class StreamsGroupRules(IntEnum):
    """Rules of the group coordinator for streams groups (KIP-1071); each adds to those before it."""

    KIP_1071 = 0
    """A member revokes a task before it gets it in another role (4.1)."""
    ASSIGNMENT_INTERVAL = 1
    """Target assignments are a minimum time apart (4.3)."""
    ROLE_CHANGES = 2
    """A member changes the role of a task in place: standby tasks become active, and active ones standby tasks. Members
    may be static, and report the state on their disks; a group without members needs no target assignment (4.4)."""


@dataclass(frozen=True)
class KafkaVersion:
    """The rules of brokers of a Kafka release and of Java clients, of the same release or of another one.

    Releases with the same rules are equal, whatever their names.
    """

    name: str = field(compare=False)
    coordinator_map: MapRule
    """The hash map of the group coordinator."""
    coordinator: CoordinatorRules
    member_list: MemberList
    rebalancing_offsets_expire: bool
    """Whether committed offsets of topics without subscribers expire during a rebalance, too (KAFKA-13636)."""
    partition_order: PartitionOrder
    consumer_groups: ConsumerGroupRules
    reclaims_revoked: bool
    """Whether a consumer-protocol member gets a partition back that it was to revoke (KAFKA-19449)."""
    rebalances_after_replacement: bool
    """Whether a classic member with another subscription that replaces the last consumer-protocol member causes a
    rebalance (KAFKA-19546)."""
    static_members_first: bool
    """Whether range and roundrobin sort static members first, by instance id (KIP-345, since 2.4)."""
    range_walk: RangeWalk
    rack_aware: bool
    """Whether assignors match the racks of members and replicas (KIP-881, since 3.5)."""
    sticky: StickyRules
    subscription_generation: bool
    """Whether cooperative-sticky takes the generation of a member from its subscription, if it has one there, and not
    from its user data (KIP-792, since 3.4)."""
    consumer_writer: ConsumerWriter
    consumer_assignors: tuple[str, ...]
    """Names of the assignors of its consumers."""
    server_assignors: tuple[str, ...]
    """Names of the assignors of its coordinator (KIP-848)."""
    cooperative: bool
    """Whether members may keep their partitions in a rebalance, and send them to the leader (KIP-429, since 2.4)."""
    session_timeout_ms: int
    """Default of the consumer's ``session.timeout.ms`` (KIP-735: 45 s since 3.0)."""
    linger_ms: int
    """Default of the producer's ``linger.ms`` (KIP-1030: 5 since 4.0)."""
    server_range: ServerRangeRules
    server_uniform: ServerUniformRules
    kafka_streams: KafkaStreamsRules
    streams_protocol: int
    """The newest version of the user data that members of Kafka Streams applications send."""
    share_assignors: tuple[str, ...]
    """Names of the assignors of its share groups (KIP-932)."""
    share: ShareRules
    share_groups: ShareGroupRules
    connect: ConnectRules
    """Of the leader of a Connect cluster: its workers are clients."""
    mirror: MirrorRules
    """Of MirrorMaker 2 (KIP-382, since 2.4)."""
    streams_assignors: tuple[str, ...]
    """Names of the assignors of its streams groups (KIP-1071)."""
    streams: StreamsRules
    streams_groups: StreamsGroupRules

    @property
    def assignors(self) -> tuple[str, ...]:
        """Names of all assignors of consumer groups."""
        return (*self.consumer_assignors, *self.server_assignors)

    @property
    def is_early_access(self) -> bool:
        """Whether its brokers have the consumer protocol (KIP-848) only if it is enabled: 3.7 to 3.9."""
        return bool(self.server_assignors) and self.coordinator < CoordinatorRules.JAVA

    @property
    def simulated(self) -> "KafkaVersion":
        """The rules that simulations follow: not those of coordinators whose consumer protocol is early access."""
        return replace(self, name=f"{self.name} (simulated)", server_assignors=()) if self.is_early_access else self


@dataclass(frozen=True)
class RuleChange:
    """The rules that change with a release."""

    since: str
    """The first release with the rules."""
    cause: str
    """The KIP, issue or pull request that changed them; empty for the oldest release."""
    rules: Mapping[str, Any]
    """The fields of ``KafkaVersion`` that change, with their new values."""


SERVER_ASSIGNORS = ("server-uniform", "server-range")
"""Assignors of the coordinator (KIP-848, since 3.7, for production since 4.0), by names that distinguish them from the
consumers' own. In the order of ``group.consumer.assignors``: the first is the default.

A member whose only protocol is one of them uses ``group.protocol=consumer``."""
SHARE_ASSIGNORS = ("share-simple",)
"""Assignors of share groups (KIP-932, since 4.0 as early access, for production since 4.2): Kafka's names, after a word
that tells them from those of consumer groups."""
STREAMS_ASSIGNORS = ("streams-sticky",)
"""Assignors of streams groups (KIP-1071, since 4.1 as early access, for production since 4.2), named likewise."""
OFFSETS_PARTITIONS = 50
"""Kafka's default of offsets.topic.num.partitions."""
BATCH_SIZE = 16_384
"""Java's default of batch.size, in bytes."""
_EAGER = ("range", "roundrobin", "sticky")

RULE_CHANGES = (
    RuleChange(
        "0.11.0",
        "",
        {
            "coordinator_map": MapRule.SCALA_2_11,
            "coordinator": CoordinatorRules.SCALA_1_0,
            "member_list": MemberList.IMMUTABLE_MAP,
            "rebalancing_offsets_expire": False,
            "partition_order": PartitionOrder.HASH_MAP,
            "consumer_groups": ConsumerGroupRules.KIP_848,
            "reclaims_revoked": False,
            "rebalances_after_replacement": False,
            "static_members_first": False,
            "range_walk": RangeWalk.NAMED_BY_PUT,
            "rack_aware": False,
            "sticky": StickyRules.CLAIMS,
            "subscription_generation": False,
            "consumer_writer": ConsumerWriter.HASHED_BY_PUT,
            "consumer_assignors": _EAGER,
            "server_assignors": (),
            "cooperative": False,
            "session_timeout_ms": 10_000,
            "linger_ms": 0,
            "server_range": ServerRangeRules.STICKY,
            "server_uniform": ServerUniformRules.RACKS,
            "kafka_streams": KafkaStreamsRules.KIP_441,
            "streams_protocol": 8,
            "share_assignors": (),
            "share": ShareRules.ALL_PARTITIONS,
            "share_groups": ShareGroupRules.EARLY_ACCESS,
            "connect": ConnectRules.EAGER,
            "mirror": MirrorRules.RANGES,
            "streams_assignors": (),
            "streams": StreamsRules.TASK_PAIRS,
            "streams_groups": StreamsGroupRules.KIP_1071,
        },
    ),
    RuleChange("2.1.0", "pull request 5427", {"range_walk": RangeWalk.NAMED_BY_COMPUTE_IF_ABSENT}),
    RuleChange("2.1.0", "pull request 5427", {"consumer_writer": ConsumerWriter.HASHED_BY_COMPUTE_IF_ABSENT}),
    RuleChange("2.1.0", "MetadataCache in Scala's LongMap", {"partition_order": PartitionOrder.LONG_MAP}),
    RuleChange("2.3.0", "KIP-345", {"coordinator": CoordinatorRules.SCALA_2_3}),
    RuleChange("2.3.0", "KIP-345", {"member_list": MemberList.COORDINATOR_MAP}),
    RuleChange("2.3.0", "KIP-341, KAFKA-7026", {"sticky": StickyRules.GENERATIONS}),
    RuleChange("2.3.0", "KIP-415", {"connect": ConnectRules.COOPERATIVE}),
    RuleChange("2.4.0", "KIP-345, KIP-496", {"coordinator": CoordinatorRules.SCALA_2_4}),
    RuleChange("2.4.0", "KIP-345, KAFKA-8355, KAFKA-8356", {"static_members_first": True}),
    RuleChange("2.4.0", "KIP-429", {"consumer_assignors": (*_EAGER, "cooperative-sticky"), "cooperative": True}),
    RuleChange("2.4.0", "KIP-429", {"sticky": StickyRules.NEW_PARTITIONS_FIRST}),
    RuleChange("2.4.0", "KIP-496", {"rebalancing_offsets_expire": True}),
    RuleChange("2.4.0", "KAFKA-9184", {"connect": ConnectRules.RESETS_DELAY}),
    RuleChange("2.4.1", "KAFKA-9232", {"coordinator": CoordinatorRules.SCALA_2_4_1}),
    RuleChange("2.5.0", "KAFKA-9752, KAFKA-9801, KIP-559", {"coordinator": CoordinatorRules.SCALA_2_5}),
    RuleChange("2.5.0", "KAFKA-9352, KAFKA-9360", {"mirror": MirrorRules.IN_TURN}),
    RuleChange("2.5.1", "KAFKA-9987", {"sticky": StickyRules.CONSTRAINED}),
    RuleChange("2.5.1", "KAFKA-9841, KAFKA-9848", {"connect": ConnectRules.GENERATIONS}),
    RuleChange("2.6.0", "default build with Scala 2.13", {"coordinator_map": MapRule.SCALA_2_13}),
    RuleChange("2.6.0", "KAFKA-9885", {"coordinator": CoordinatorRules.SCALA_2_6}),
    RuleChange("2.6.1", "KAFKA-10134, KAFKA-10284, KAFKA-10401", {"coordinator": CoordinatorRules.SCALA_2_6_1}),
    RuleChange("2.6.2", "KAFKA-10413", {"connect": ConnectRules.SEVERAL_CANDIDATES}),
    RuleChange("2.7.0", "KAFKA-10068", {"kafka_streams": KafkaStreamsRules.LAG_SENTINELS}),
    RuleChange("2.7.0", "released before the fix of 2.6.2", {"connect": ConnectRules.GENERATIONS}),
    RuleChange("2.7.0", "KAFKA-10572", {"mirror": MirrorRules.EXCLUDED}),
    RuleChange("2.7.1", "KAFKA-10413", {"connect": ConnectRules.SEVERAL_CANDIDATES}),
    RuleChange("2.8.0", "KAFKA-10497, pull request 9952", {"coordinator": CoordinatorRules.SCALA_2_8}),
    RuleChange("2.8.0", "KIP-671", {"streams_protocol": 9}),
    RuleChange("2.8.1", "KAFKA-12890", {"coordinator": CoordinatorRules.SCALA_2_8_1}),
    RuleChange("2.8.1", "KAFKA-12984", {"sticky": StickyRules.NO_DOUBLE_CLAIMS}),
    RuleChange("2.8.1", "KAFKA-12898", {"consumer_writer": ConsumerWriter.SORTED_SUBSCRIPTIONS}),
    RuleChange("2.8.2", "KAFKA-13636", {"rebalancing_offsets_expire": False}),
    RuleChange("3.0.0", "pull request 9958", {"coordinator": CoordinatorRules.SCALA_3_0}),
    RuleChange("3.0.0", "released before the fix of 2.8.2", {"rebalancing_offsets_expire": True}),
    RuleChange("3.0.0", "KIP-735", {"session_timeout_ms": 45_000}),
    RuleChange("3.0.0", "KAFKA-12464, KAFKA-12675, KAFKA-12984", {"sticky": StickyRules.QUOTAS}),
    RuleChange("3.0.0", "KAFKA-12675", {"consumer_writer": ConsumerWriter.SORTED}),
    RuleChange("3.0.0", "KAFKA-12648", {"kafka_streams": KafkaStreamsRules.TASK_ID_HASH, "streams_protocol": 10}),
    RuleChange("3.0.1", "KAFKA-13636", {"rebalancing_offsets_expire": False}),
    RuleChange("3.1.0", "released before the fix of 3.0.1", {"rebalancing_offsets_expire": True}),
    RuleChange("3.1.0", "KAFKA-12648", {"kafka_streams": KafkaStreamsRules.KNOWN_TASKS}),
    RuleChange("3.1.0", "KIP-690", {"mirror": MirrorRules.SEPARATED}),
    RuleChange("3.1.1", "KAFKA-13636", {"rebalancing_offsets_expire": False}),
    RuleChange("3.2.0", "KIP-814", {"coordinator": CoordinatorRules.SCALA_3_2}),
    RuleChange(
        "3.2.0",
        "KAFKA-12959, KAFKA-13600, KIP-708",
        {"kafka_streams": KafkaStreamsRules.MOST_CAUGHT_UP, "streams_protocol": 11},
    ),
    RuleChange("3.3.0", "KAFKA-14201", {"coordinator": CoordinatorRules.SCALA_3_3}),
    RuleChange("3.3.0", "KIP-833", {"partition_order": PartitionOrder.HASH_SET}),
    RuleChange("3.3.0", "TaskMovement polls its queue", {"kafka_streams": KafkaStreamsRules.POLLED_MOVEMENTS}),
    RuleChange("3.3.0", "active assignments in a list", {"connect": ConnectRules.COUNTS_COPIES}),
    RuleChange("3.3.2", "KAFKA-14009", {"coordinator": CoordinatorRules.SCALA_3_3_2}),
    RuleChange("3.4.0", "KAFKA-12495", {"connect": ConnectRules.BALANCED}),
    RuleChange("3.4.0", "KIP-792", {"subscription_generation": True}),
    RuleChange("3.4.1", "KAFKA-14639", {"sticky": StickyRules.CLAIM_GENERATIONS}),
    RuleChange("3.4.1", "KAFKA-14837", {"mirror": MirrorRules.COMMITTED}),
    RuleChange(
        "3.5.0", "KIP-881, KAFKA-14451, KAFKA-14452, KAFKA-14891", {"rack_aware": True, "range_walk": RangeWalk.KNOWN}
    ),
    RuleChange("3.5.2", "KAFKA-15106", {"sticky": StickyRules.LARGER_GAP}),
    RuleChange("3.5.2", "pull request 14149", {"kafka_streams": KafkaStreamsRules.OWNED_STANDBYS}),
    RuleChange("3.5.2", "KAFKA-15693", {"connect": ConnectRules.WITHOUT_DELAY}),
    RuleChange("3.6.0", "KIP-925", {"kafka_streams": KafkaStreamsRules.RACKS}),
    RuleChange("3.6.0", "KAFKA-15139, KIP-949", {"mirror": MirrorRules.SET_OF_GROUPS}),
    RuleChange("3.6.0", "released before the fix of 3.5.2", {"connect": ConnectRules.BALANCED}),
    RuleChange("3.6.1", "KAFKA-15693", {"connect": ConnectRules.WITHOUT_DELAY}),
    RuleChange("3.7.0", "KIP-848", {"server_assignors": SERVER_ASSIGNORS}),
    RuleChange("3.7.0", "KIP-925", {"kafka_streams": KafkaStreamsRules.SUBTOPOLOGIES}),
    RuleChange("3.7.1", "KAFKA-16277, KAFKA-15170", {"sticky": StickyRules.OWNED_SORTED}),
    RuleChange("3.8.0", "KAFKA-16694, KAFKA-16864", {"server_uniform": ServerUniformRules.QUOTAS}),
    RuleChange("3.9.0", "KAFKA-16944", {"server_range": ServerRangeRules.RANGES}),
    RuleChange("4.0.0", "KIP-848", {"coordinator_map": MapRule.JAVA, "coordinator": CoordinatorRules.JAVA}),
    RuleChange("4.0.0", "KAFKA-17710", {"server_uniform": ServerUniformRules.BALANCED_TOPICS}),
    RuleChange("4.0.0", "KIP-1030", {"linger_ms": 5}),
    RuleChange("4.0.0", "KIP-932", {"share_assignors": SHARE_ASSIGNORS}),
    RuleChange("4.0.0", "KAFKA-17200, KAFKA-17529, KAFKA-17534", {"mirror": MirrorRules.OWN_INTERNAL}),
    RuleChange("4.0.1", "KAFKA-18688", {"server_uniform": ServerUniformRules.KEPT_EXTRAS}),
    RuleChange("4.0.1", "KAFKA-18687", {"consumer_groups": ConsumerGroupRules.TOPICS_AT_UPGRADE}),
    RuleChange("4.0.2", "KAFKA-19449", {"reclaims_revoked": True}),
    RuleChange("4.0.2", "KAFKA-19546", {"rebalances_after_replacement": True}),
    RuleChange(
        "4.1.0",
        "released before the fixes of 4.0.2",
        {"reclaims_revoked": False, "rebalances_after_replacement": False},
    ),
    RuleChange("4.1.0", "KAFKA-18757, KAFKA-18901", {"share": ShareRules.HASHED_IDS}),
    RuleChange("4.1.0", "KAFKA-18827", {"share_groups": ShareGroupRules.INITIALIZED}),
    RuleChange("4.1.0", "KIP-1071", {"streams_assignors": STREAMS_ASSIGNORS}),
    RuleChange("4.1.1", "KAFKA-19546", {"rebalances_after_replacement": True}),
    RuleChange("4.1.2", "KAFKA-19449", {"reclaims_revoked": True}),
    RuleChange("4.2.0", "KAFKA-19431, KAFKA-19233", {"consumer_groups": ConsumerGroupRules.ONLY_SUBSCRIBED}),
    RuleChange("4.2.0", "KAFKA-19362, KAFKA-19363", {"share": ShareRules.BALANCED}),
    RuleChange("4.2.0", "KAFKA-19468, KAFKA-19431", {"share_groups": ShareGroupRules.ONLY_SUBSCRIBED}),
    RuleChange("4.2.0", "KAFKA-19478, KAFKA-19661", {"streams": StreamsRules.LEAST_LOADED}),
    RuleChange("4.2.2", "KAFKA-20899", {"streams": StreamsRules.FREE_STANDBYS}),
    RuleChange("4.3.0", "released before the fix of 4.2.2", {"streams": StreamsRules.LEAST_LOADED}),
    RuleChange("4.3.0", "KRaftMetadataCache without a set", {"partition_order": PartitionOrder.ASCENDING}),
    RuleChange("4.3.0", "KIP-1263, KIP-1251", {"consumer_groups": ConsumerGroupRules.ASSIGNMENT_INTERVAL}),
    RuleChange("4.3.0", "KAFKA-20291", {"share_groups": ShareGroupRules.ASSIGNMENT_INTERVAL}),
    RuleChange("4.3.0", "KIP-1263", {"streams_groups": StreamsGroupRules.ASSIGNMENT_INTERVAL}),
    RuleChange("4.4.0", "KAFKA-20442", {"share_groups": ShareGroupRules.EMPTY_GROUPS}),
    RuleChange("4.4.0", "KAFKA-20442, KAFKA-20601", {"consumer_groups": ConsumerGroupRules.EMPTY_GROUPS}),
    RuleChange("4.4.0", "KAFKA-20719, KAFKA-20899", {"streams": StreamsRules.TASK_OFFSETS}),
    RuleChange("4.4.0", "KAFKA-20665", {"streams_groups": StreamsGroupRules.ROLE_CHANGES}),
)
"""Every change of a rule, by release: what a release does is the sum of the changes up to it."""
BROKER_RULES = (
    *("coordinator_map", "coordinator", "member_list", "rebalancing_offsets_expire", "partition_order"),
    *("consumer_groups", "reclaims_revoked", "rebalances_after_replacement"),
    *("server_assignors", "server_range", "server_uniform", "share_assignors", "share", "share_groups"),
    *("streams_assignors", "streams", "streams_groups"),
)
"""The rules of brokers; the others are those of clients."""
NEWEST = "4.3"
"""The release whose rules are the default."""
NEWEST_TESTED = "4.4"
"""The newest release that was compared with the program; later ones are taken to follow its rules."""
SCALA_VERSIONS = ("2.11", "2.12", "2.13")
"""The Scala versions of Kafka's builds."""
_NEWEST_MINOR = {"0": 11, "1": 1, "2": 8, "3": 9}
_ALLOWED = f"releases from 0.11.0 to {NEWEST_TESTED} and later ones, with or without a patch level"
_Release = tuple[int, ...]


def kafka_version(name: str, scala: str | None = None, clients: str | None = None) -> KafkaVersion:
    """Return the rules of brokers of a Kafka release, given as ``2.8`` or ``2.8.1``, and of Java clients.

    Without a patch level it is ``.0``. ``scala`` is the Scala version with which the brokers are built, which decides
    ties of elections before 4.0; without it, the build is the one that Kafka recommended for the release. ``clients``
    is the release of the clients, by default that of the brokers. A release later than ``NEWEST_TESTED`` follows the
    rules of that release (``is_tested``).

    >>> kafka_version("2.3.1").coordinator_map.name
    'SCALA_2_11'
    >>> kafka_version("3.5.1", scala="2.12").coordinator_map.name
    'SCALA_2_12_13'
    >>> kafka_version("4.0", clients="2.3").assignors
    ('range', 'roundrobin', 'sticky', 'server-uniform', 'server-range')
    >>> kafka_version("0.8")
    Traceback (most recent call last):
    ...
    rebalance_sim.errors.UserError: kafka version '0.8' is not known; allowed: releases from 0.11.0 to 4.4 and later \
ones, with or without a patch level
    """
    release = _parsed(name)
    of_clients = release if clients is None else _parsed(clients)
    shown = name if of_clients == release else f"{name} with clients {clients}"
    return _with_rules(shown, release, of_clients, _map_of(name, release, scala))


def first_release(rule: str, value: Any) -> str:
    """Return the first release in which a rule has a value.

    >>> first_release("sticky", StickyRules.OWNED_SORTED)
    '3.7.1'
    """
    return next(change.since for change in RULE_CHANGES if change.rules.get(rule) == value)


def with_clients_that_have(assignor: str, version: KafkaVersion) -> KafkaVersion:
    """Return the rules of the same brokers with the first Java clients that have an assignor, unless theirs have it.

    >>> with_clients_that_have("cooperative-sticky", kafka_version("2.3")).name
    '2.3 with clients 2.4.0'
    >>> with_clients_that_have("cooperative-sticky", kafka_version("3.9")).name
    '3.9'
    """
    since = next((c.since for c in RULE_CHANGES if assignor in c.rules.get("consumer_assignors", ())), None)
    if since is None or assignor in version.consumer_assignors:
        return version
    clients = kafka_version(since)
    of_clients = [each.name for each in fields(version) if each.name not in (*BROKER_RULES, "name")]
    rules: dict[str, Any] = {name: getattr(clients, name) for name in of_clients}
    return replace(version, name=f"{version.name} with clients {since}", **rules)


def is_tested(name: str) -> bool:
    """Return whether a release is at most ``NEWEST_TESTED``, the newest that was compared with the program.

    >>> is_tested("4.4.1"), is_tested("4.5")
    (True, False)
    """
    return _parsed(name)[:2] <= _parsed(NEWEST_TESTED)[:2]


def untested(name: str) -> str | None:
    """Return the warning about a release later than ``NEWEST_TESTED``; None for others.

    >>> untested("9.9")
    'Kafka 9.9 is newer than 4.4, the newest tested release, whose rules are used'
    """
    if is_tested(name):
        return None
    return f"Kafka {name} is newer than {NEWEST_TESTED}, the newest tested release, whose rules are used"


@cache
def _parsed(name: str) -> _Release:
    """Return the numbers of a release, three or more; 0.11.0.3 has four."""
    if not re.fullmatch(r"0\.\d+(\.\d+){0,2}|[1-9]\d*(\.\d+){1,2}", name, re.ASCII):
        raise UserError(f"kafka version {name!r} is not known; allowed: {_ALLOWED}")
    numbers = tuple(map(int, name.split(".")))
    release = (*numbers, *[0] * (3 - len(numbers)))
    exists = release[1] <= _NEWEST_MINOR.get(str(release[0]), release[1])
    if release < (0, 11) or not exists:
        raise UserError(f"kafka version {name!r} is not known; allowed: {_ALLOWED}")
    return release


def scala_versions(name: str) -> tuple[str, ...]:
    """Return the Scala versions with which Kafka built a release.

    >>> scala_versions("2.8"), scala_versions("4.0")
    (('2.12', '2.13'), ('2.13',))
    """
    release = _parsed(name)
    built = {"2.11": release < (2, 5), "2.12": release < (4,), "2.13": release >= (2, 4)}
    return tuple(version for version in SCALA_VERSIONS if built[version])


def _map_of(name: str, release: _Release, scala: str | None) -> MapRule | None:
    """Return the hash map of a build of the coordinator; None for the recommended build."""
    if scala is None:
        return None
    if scala not in scala_versions(name):
        allowed = ", ".join(scala_versions(name))
        raise UserError(f"scala version {scala!r} is not a build of Kafka {name}; allowed: {allowed}")
    if release >= (4,):
        return MapRule.JAVA
    if scala == "2.13":
        return MapRule.SCALA_2_13
    return MapRule.SCALA_2_12_13 if scala == "2.12" and release >= (2, 8) else MapRule.SCALA_2_11


@cache
def _with_rules(name: str, brokers: _Release, clients: _Release, built: MapRule | None) -> KafkaVersion:
    """Apply the changes up to the releases of brokers and clients."""
    rules: dict[str, Any] = {}
    for change in RULE_CHANGES:
        since = _parsed(change.since)
        rules |= {
            rule: value
            for rule, value in change.rules.items()
            if since <= (brokers if rule in BROKER_RULES else clients)
        }
    if built is not None:
        rules["coordinator_map"] = built
    return KafkaVersion(name, **rules)
