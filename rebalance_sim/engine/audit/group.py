"""What an audit knows about one group: its rows of all tables."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

from rebalance_sim.defaults import SCENARIO
from rebalance_sim.engine.audit.search_terms import SEARCH_TERMS
from rebalance_sim.engine.audit.topic_keys import KeyFacts
from rebalance_sim.engine.simulation.streams_groups import CLASSIC_ROLLOUT
from rebalance_sim.errors import UserError
from rebalance_sim.kafka.assignors.by_library import SEPARATOR, Leader
from rebalance_sim.kafka.brokers import Brokers
from rebalance_sim.kafka.clients import JAVA, LIBRARIES
from rebalance_sim.kafka.clients.assumed_protocols import SHOW_ELECTED
from rebalance_sim.kafka.clients.library import ClientLibrary
from rebalance_sim.kafka.group_kinds import (
    CONNECT_TYPE,
    OF_GROUP_TYPES,
    STREAMS_PROTOCOL,
    STREAMS_TYPE,
    GroupKind,
    GroupSigns,
    KindOfGroup,
    kind_of_group,
)
from rebalance_sim.kafka.migration import MigratingGroup, Migration, Verdict, migration
from rebalance_sim.kafka.workloads import workload
from rebalance_sim.releases import SERVER_ASSIGNORS, SHARE_ASSIGNORS, KafkaVersion
from rebalance_sim.tables import (
    ADVICE,
    BALANCE,
    CLASSIC,
    COMPARISON,
    CONNECTORS,
    COSTS,
    ELECTIONS,
    EXPIRING_OFFSETS,
    LAG_BALANCE,
    LAG_COSTS,
    LISTED_GROUPS,
    MEMBERS,
    MIGRATION_COSTS,
    OFFSETS,
    REJECTS,
    STREAMS_BALANCE,
    STREAMS_MEMBERS,
    TOPIC_LAG,
    WITHOUT_MEMBERS_STATES,
    WORKERS,
)

Row = Mapping[str, Any]
RowsByTable = Mapping[str, Sequence[Row]]
"""Rows about one group by their table, in any order."""
_WITH_MEMBERS = (MEMBERS.name, "groups", "offsets_topic")
"""Tables of rejects whose rows may have members: the description of a group, and a record, have all of the group's."""
_OF_MEMBERS = (MEMBERS.name, WORKERS.name, STREAMS_MEMBERS.name)
"""Tables with a row per member."""
_UNREAD = "none of its members could be read"
_UNDESCRIBED = "it is listed, but nothing shows its members"
TOPIC_OWNERS = "topic_owners"
"""Rows of topics whose owned partitions are all on one host, of several members."""
OWNED_NOW = "owned_now"
"""Rows of topics by member that owns partitions of them, of groups whose assignment is not predicted."""
LAG_TREND = "lag_trend"
"""The row of how the lag of a group has changed since an earlier audit: ``lag_trends``."""
LAST_HOUR = "last_hour"
"""The row about the hour before the last generation in the history of a group: ``last_hours``."""
COMMITS = "commits"
"""Rows of members with lag: their latest commit, and the lag of the partitions that they own."""


@dataclass(frozen=True)
class TopicFacts:
    """What an audit knows about the topics of all clusters."""

    without_leader: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """By cluster and topic, the number of partitions without a leader."""
    with_racks: frozenset[str] = frozenset()
    """Clusters with a topic whose replicas have racks."""
    latest_commit_ms: Mapping[str, int] = field(default_factory=dict)
    """By cluster, the time of the latest commit."""
    read_at_ms: int = 0
    """When the groups were read from brokers; 0 if that is unknown."""
    elapsed_ms: int = 0
    """Since the earlier audit whose offsets are compared; 0 without."""
    partitions: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """By cluster and topic, the number of partitions."""
    keys: KeyFacts | None = None
    """What the records show; None without records."""

    def has_topics_of(self, cluster: str) -> bool:
        """Return whether some topic of a cluster is known."""
        return cluster in self._clusters

    @cached_property
    def _clusters(self) -> frozenset[str]:
        return frozenset(cluster for cluster, _ in self.partitions)


@dataclass(frozen=True)
class Group:
    """One group."""

    cluster: str
    group_id: str
    rows: RowsByTable
    brokers: Brokers
    topics: TopicFacts
    scenario: str = SCENARIO
    """The scenario that was simulated."""
    assumed_ms: Mapping[str, int] = field(default_factory=dict)
    """The latencies that it assumes, by the names of the settings."""
    seen: Mapping[str, int | None] = field(default_factory=dict)
    """What its past shows instead, as a row of ``GroupTimings``."""

    @cached_property
    def members(self) -> list[Row]:
        """The members that the coordinator accepts, in the order of their ids."""
        refused = {row["member_id"] for row in self.refused}
        return [row for row in self._all_members if row["member_id"] not in refused]

    @property
    def accepted(self) -> int | None:
        """How many members the coordinator accepts, without those that predictions reject; None if it is unknown."""
        if self.is_unread:
            return None
        if self.election:
            return self.election["members"]
        if self.has_tasks:
            return len(self.workers or self.streams_members)
        if self.has_unseen_members and self.listed:
            return self.listed["members"]
        return len(self.members)

    @property
    def is_unread(self) -> bool:
        """Whether nothing is known of the group: its members, or all rows that name it, were rejected."""
        if self.election is not None or (self.listed and self.listed["type"] in OF_GROUP_TYPES):
            return False
        if self.has_tasks:
            return False
        may_have_members = any(row["table"] in _WITH_MEMBERS for row in self.rows[REJECTS.name])
        return may_have_members or bool(self.rows[REJECTS.name] and not self.rows[OFFSETS.name])

    @property
    def workers(self) -> Sequence[Row]:
        """Its workers, if it is a Connect cluster whose workers are known."""
        return self.rows[WORKERS.name]

    @property
    def is_played(self) -> bool:
        """Whether it is a Connect cluster whose workers or configured connectors are known."""
        return bool(self.workers or self.rows[CONNECTORS.name])

    @property
    def streams_members(self) -> Sequence[Row]:
        """Its members, if it is an application of Kafka Streams whose tasks are known."""
        return self.rows[STREAMS_MEMBERS.name]

    @property
    def is_classic_application(self) -> bool:
        """Whether it is an application of Kafka Streams over the classic protocol whose tasks are known."""
        return any(member["protocol"] == CLASSIC for member in self.streams_members)

    @property
    def has_tasks(self) -> bool:
        """Whether it shares tasks, not partitions, and they are known."""
        return bool(self.is_played or self.streams_members)

    @property
    def tasks_error(self) -> str | None:
        """Why the tasks of an application of Kafka Streams have no predicted assignment; None if they have one."""
        return self._error(STREAMS_BALANCE.name) if self.streams_members else None

    @property
    def rollout_of_tasks_error(self) -> str | None:
        """Why the rollout of an application of Kafka Streams is not simulated; None if it is, or of another group."""
        if self.is_classic_application:
            return CLASSIC_ROLLOUT
        return self.simulation_error if self.streams_members else None

    @property
    def listed(self) -> Row | None:
        """What the cluster lists of the group; None if it is not listed."""
        return self._only(LISTED_GROUPS.name)

    @cached_property
    def has_unseen_members(self) -> bool:
        """Whether the group has, or may have, members, although no row of ``members`` shows any.

        A classic group with offsets that is only listed is taken to have none, as one is that nothing lists.
        """
        listed = self.listed
        if listed is None or self._all_members:
            return False
        if listed["members"] is not None:
            return bool(listed["members"])
        if listed["state"] is not None:
            return listed["state"] not in WITHOUT_MEMBERS_STATES
        return listed["type"] in OF_GROUP_TYPES or not self.rows[OFFSETS.name]

    @property
    def is_undescribed(self) -> bool:
        """Whether the group is listed, and nothing shows what its members are."""
        return self.kind.kind is GroupKind.UNKNOWN and not self.is_unread

    @property
    def reject_reason(self) -> str:
        """Why some row of the group was rejected; of a member if there is one."""
        of_members_first = sorted(self.rows[REJECTS.name], key=lambda row: (row["table"] != MEMBERS.name, row["table"]))
        return of_members_first[0]["reason"]

    @cached_property
    def _all_members(self) -> list[Row]:
        """The members that can be used, each once."""
        by_id: dict[str, list[Row]] = {}
        for row in self.rows[MEMBERS.name]:
            if row["protocols"]:
                by_id.setdefault(row["member_id"], []).append(row)
        return [_used(by_id[member_id]) for member_id in sorted(by_id)]

    @property
    def election(self) -> Row | None:
        """The row of ``elections``."""
        return self._only(ELECTIONS.name)

    @property
    def type(self) -> str | None:
        """The type of the group: that of its members, or the listed one; None if it is unknown."""
        if self.election:
            return str(self.election["type"])
        return self.listed["type"] if self.listed else None

    @property
    def balance(self) -> Row | None:
        """The row of ``balance`` under the elected protocol; None if the group cannot be predicted."""
        return self.without_error(BALANCE.name)

    @property
    def prediction_error(self) -> str | None:
        """Why the group has no predicted assignment; None if it has one, or is not predicted."""
        return self._error(BALANCE.name)

    @property
    def bounds(self) -> Row | None:
        """What holds for every assignment of a group that cannot be predicted; None if it can, or nothing is known."""
        row = self._only(BALANCE.name)
        return row["bounds"] if row else None

    @property
    def alternatives(self) -> list[str]:
        """Assignors that other possible leaders may run, and that assign differently."""
        row = self._only(BALANCE.name)
        return list(row["alternatives"] or ()) if row else []

    @cached_property
    def optimum(self) -> Row | None:
        """The figures of the most balanced assignment; None for a group with refused members."""
        comparison = self._only(COMPARISON.name)
        return comparison["optimum"] if comparison and not self.refused else None

    @property
    def partitions(self) -> int | None:
        """The partitions of the topics that its members subscribe to; None if they are not compared."""
        comparison = self._only(COMPARISON.name)
        return comparison["partitions"] if comparison else None

    @cached_property
    def strategies(self) -> dict[str, Row]:
        """The figures under every assignor that gives each partition to one subscriber."""
        comparison = self._only(COMPARISON.name)
        if comparison is None or self.refused:
            return {}
        return {name: row for name, row in comparison["strategies"] if row["excess_max"] is not None}

    @property
    def lag(self) -> dict[str, Row]:
        """The rows of ``lag_balance`` by strategy."""
        return {row["strategy"]: row for row in self.rows[LAG_BALANCE.name]}

    @property
    def topic_lag(self) -> Sequence[Row]:
        """The rows of ``topic_lag``, which need no assignment."""
        return self.rows[TOPIC_LAG.name]

    def has_topic(self, topic: str) -> bool:
        """Return whether the cluster has a topic, as far as topics were read."""
        return (self.cluster, topic) in self.topics.partitions

    def has_left(self, topic: str) -> bool:
        """Return whether the group has members and none of them subscribes to a topic.

        Unknown subscriptions, and regular expressions that brokers resolve, may have any topic.
        """
        return self._subscribed_topics is not None and topic not in self._subscribed_topics

    @cached_property
    def _subscribed_topics(self) -> frozenset[str] | None:
        """The topics to which a member subscribes; None if they are not known to be all."""
        members = self._all_members
        known = all(member["subscription"] and not member["subscribed_regex"] for member in members)
        if not members or not known or self.has_unseen_members or self.rows[REJECTS.name]:
            return None
        return frozenset(topic for member in members for topic in member["subscription"])

    @property
    def lag_trend(self) -> Row | None:
        """How the lag of its partitions has changed; None if no earlier audit shows it."""
        return self._only(LAG_TREND)

    @property
    def last_hour(self) -> Row | None:
        """The hour before its last generation; None if no history has it."""
        return self._only(LAST_HOUR)

    @property
    def total_lag(self) -> int | None:
        """The lag of its committed offsets; None without offsets, or if it is unknown in all partitions."""
        known = [row["lag"] for row in self.topic_lag if row["lag"] is not None]
        if self.topic_lag:
            return sum(known) if known else None
        # Topics whose lag is known to be 0 have no row.
        return 0 if self.rows[OFFSETS.name] else None

    @property
    def costs(self) -> Row | None:
        """The row of ``costs``; None if the group cannot be simulated."""
        return self.without_error(COSTS.name)

    @property
    def simulation_error(self) -> str | None:
        """Why the group has no simulated rollout; None if it has one."""
        return self._error(COSTS.name)

    @property
    def lag_costs(self) -> Row | None:
        """The row of ``lag_costs``; None without offsets, or if no record waits or moves."""
        return self._only(LAG_COSTS.name)

    @property
    def migration_costs(self) -> Row | None:
        """The row of ``migration_costs``; None if the migration of the group cannot be simulated."""
        return self.without_error(MIGRATION_COSTS.name)

    @property
    def advice(self) -> Sequence[Row]:
        """The rows of ``advice``."""
        return self.rows[ADVICE.name]

    @property
    def expiring(self) -> Row | None:
        """The number of expiring offsets, and when the first of them expires."""
        return self._only(EXPIRING_OFFSETS.name)

    @cached_property
    def refused(self) -> list[Row]:
        """The members that the coordinator refuses, with the errors."""
        return list(self.election["refused"] or ()) if self.election else []

    @property
    def rejected(self) -> int:
        """The number of its members' rows that cannot be used; the coordinator refuses none of these members."""
        of_members = sum(row["rows"] for row in self.rows[REJECTS.name] if row["table"] in _OF_MEMBERS)
        return max(of_members - len(self.refused), 0)

    @property
    def protocol(self) -> str | None:
        """The elected protocol, or the coordinator's assignor."""
        return self.election["protocol"] if self.election else None

    @property
    def strategy(self) -> str | None:
        """The assignor that is used now."""
        return self.balance["strategy"] if self.balance else None

    @cached_property
    def classic_members(self) -> list[Row]:
        """The members that use the classic protocol."""
        return [member for member in self.members if not _is_modern(member)]

    @cached_property
    def classic_clients(self) -> frozenset[Leader]:
        """The clients of the members that use the classic protocol, each once."""
        return frozenset(map(client_of, self.classic_members))

    @cached_property
    def assumes_libraries(self) -> bool:
        """Whether the library of a classic member is unknown, so that Java or the most likely one is assumed."""
        return any(not client.library or SEPARATOR in client.library for client in self.classic_clients)

    @cached_property
    def protocols_assumed(self) -> set[str]:
        """What the protocols of members are assumed from; empty if all members are known to offer them."""
        return {member["protocols_assumed"] for member in self.members} - {None}

    @property
    def workloads(self) -> Counter[str]:
        """How many members each workload has, of those whose names show one."""
        names = (workload(member["client_id"], member["instance_id"]) for member in self.members)
        return Counter(sorted(filter(None, names)))

    @property
    def hosts(self) -> int | None:
        """How many addresses its members connect from; None if any is unknown."""
        hosts = {member["host"] for member in self.members}
        return len(hosts) if hosts and None not in hosts else None

    @property
    def weight(self) -> int:
        """How much the group matters to its owner: the highest weight of a member."""
        return max((member["weight"] for member in self.members if member["weight"] is not None), default=1)

    @property
    def search_terms(self) -> Row:
        """What the group can be found by, as columns of ``verdicts``."""
        return self._only(SEARCH_TERMS) or {}

    @property
    def teams(self) -> list[str]:
        """The teams of its members, in alphabetical order."""
        return sorted({member["team"] for member in self.members if member["team"]})

    @cached_property
    def kind(self) -> KindOfGroup:
        """What kind of program its members are."""
        if self.is_unread:
            return KindOfGroup(GroupKind.UNKNOWN, _UNREAD, is_certain=False)
        members = self._all_members
        types, clients = ([row[name] for row in members if row[name]] for name in ("protocol_type", "client_id"))
        protocols = [self.protocol] if self.protocol else []
        has_offsets = bool(self.rows[OFFSETS.name])
        listed = self.listed or {"protocol_type": None, "type": None}
        types += [listed["protocol_type"]] if listed["protocol_type"] else []
        types += [CONNECT_TYPE] if self.is_played else []
        if self.is_classic_application:
            protocols = [STREAMS_PROTOCOL]
        elif self.streams_members:
            listed = {**listed, "type": STREAMS_TYPE}
        signs = GroupSigns(self.group_id, types, protocols, clients, len(members), listed["type"], has_offsets)
        found = kind_of_group(replace(signs, never_had_members=listed["protocol_type"] == ""))
        if found.kind in (GroupKind.OFFSETS_ONLY, GroupKind.FLINK) and self.has_unseen_members:
            return KindOfGroup(GroupKind.UNKNOWN, _UNDESCRIBED, is_certain=False)
        return found

    @cached_property
    def migration(self) -> Migration:
        """Whether the group can migrate to the consumer protocol."""
        if self.is_unread:
            return Migration(Verdict.UNKNOWN, _UNREAD)
        if self.is_undescribed:
            return Migration(Verdict.UNKNOWN, _UNDESCRIBED)
        members = self.members or self._all_members
        classic = tuple(client_of(member) for member in members if not _is_modern(member))
        modern = len(members) - len(classic)
        is_assumed = not self.protocols_assumed <= SHOW_ELECTED
        group = MigratingGroup(self.kind.kind, self.protocol, classic, modern, self.leader, is_assumed)
        return _migration_of(group, self.brokers)

    @cached_property
    def library(self) -> str | None:
        """The client library of all classic members; None if they may use several, or if there are none."""
        libraries = {client.library or JAVA for client in self.classic_clients}
        return libraries.pop() if len(libraries) == 1 and SEPARATOR not in min(libraries) else None

    @cached_property
    def records(self) -> list[ClientLibrary]:
        """The records of the client libraries of all members, each once; of uncertain ones, the most likely."""
        return records_of(self.members or self._all_members)

    @property
    def record(self) -> ClientLibrary:
        """The record of the library of all members; Java's if they use several."""
        return self.records[0] if len(self.records) == 1 else LIBRARIES[JAVA]

    @property
    def refused_members(self) -> list[Row]:
        """The members that the coordinator refuses."""
        refused = {row["member_id"] for row in self.refused}
        return [row for row in self._all_members if row["member_id"] in refused]

    @cached_property
    def leader(self) -> Leader | None:
        """The client of the leader; None for a group without one."""
        leader_id = self.election["leader_id"] if self.election else None
        return next((client_of(member) for member in self.members if member["member_id"] == leader_id), None)

    @cached_property
    def leader_is_known(self) -> bool:
        """Whether one member certainly leads: no other one shares its place in the join order."""
        leader_id = self.election["leader_id"] if self.election else None
        places = {member["member_id"]: member["join_order"] for member in self.members}
        place = places.get(leader_id)
        return place is not None and list(places.values()).count(place) == 1

    def all_have(self, assignor: str) -> bool:
        """Return whether the clients of all classic members have one of Java's assignors, as Java implements it."""
        return all(
            client.library in ("", JAVA) and assignor in self.rules_of(client).assignors
            for client in self.classic_clients
        )

    def rules_of(self, client: Leader) -> KafkaVersion:
        """Return the rules of a Java client; one whose release is unknown, or does not exist, has that of a run."""
        try:
            return self.brokers.rules(client.release or None)
        except UserError:
            return self.brokers.rules()

    def without_error(self, table: str) -> Row | None:
        """Return the row of a table with one row per group; None without one, or if it has an error."""
        row = self._only(table)
        return row if row and row["error"] is None else None

    def _error(self, table: str) -> str | None:
        row = self._only(table)
        return row["error"] if row else None

    def _only(self, table: str) -> Row | None:
        return next(iter(self.rows[table]), None)


@lru_cache(maxsize=4096)
def _migration_of(group: MigratingGroup, brokers: Brokers) -> Migration:
    """Return whether a group can migrate; a fleet has many groups that are alike in what decides it."""
    return migration(group, brokers)


def client_of(member: Row) -> Leader:
    """Return the client of a member."""
    return Leader(member["client_library"] or "", member["client_version"] or "")


def records_of(members: Iterable[Row]) -> list[ClientLibrary]:
    """Return the records of the client libraries of members, each once; an unknown one is taken to be Java."""
    names = {client_of(member).candidates[0].library or JAVA for member in members}
    return [LIBRARIES[name] for name in sorted(names & LIBRARIES.keys())] or [LIBRARIES[JAVA]]


def _is_modern(member: Row) -> bool:
    """Return whether the coordinator assigns to a member."""
    return member["protocols"][0] in (*SERVER_ASSIGNORS, *SHARE_ASSIGNORS)


def _used(repeated: Sequence[Row]) -> Row:
    """Return the row of a member that predictions use: the first in join order; of equal ones, the first by content."""
    if len(repeated) == 1:
        return repeated[0]
    return min(repeated, key=lambda row: (row["join_order"] is None, row["join_order"] or 0, _content(row)))


def _content(row: Row) -> str:
    return json.dumps({name: value for name, value in row.items() if value is not None}, ensure_ascii=False)
