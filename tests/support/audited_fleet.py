"""A fleet with a group for each kind of finding of an audit, named after the kind."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

Rows = list[dict[str, Any]]
_DAY_MS = 86_400_000
NOW_MS = 400 * _DAY_MS
"""Time of the latest commit."""


def _members(group: str, count: int, topics: Sequence[str], protocols: Sequence[str], **more: Any) -> Rows:
    """Return the members of a group, with a release of Java whose consumers have the consumer protocol."""
    columns = {"cluster": "new", "client_version": "4.1.0", "protocols": list(protocols), "subscription": list(topics)}
    rows = [{"group_id": group, "member_id": f"{group}-{number}", "join_order": number} for number in range(count)]
    return [columns | row | more for row in rows]


def rebalanced(generation: int, earlier: int, ago_ms: int = 60_000) -> dict[str, int]:
    """Return the columns of members whose group went through these generations within half an hour."""
    times = {"generation_at_ms": NOW_MS - ago_ms, "earlier_generation_at_ms": NOW_MS - ago_ms - 1_800_000}
    return {"generation": generation, "earlier_generation": earlier, **times}


SHOWN = 2
"""The weight of groups whose details tests of the page need: it shows those of some groups."""
COOPERATIVE = ["cooperative-sticky"]
_CHAIN = {"link-1": 16, "link-2": 12, "link-3": 20, "link-4": 5, "link-5": 25, "link-6": 2, "link-7": 25}
"""Topics with their partitions."""
_LINKS = [list(_CHAIN)[link : link + 2] for link in range(len(_CHAIN))]
"""What each member of a chain subscribes to: partitions can only move from one to the next."""
_HALVES = [[{"topic": "eight", "partition": number} for number in half] for half in (range(4), range(4, 8))]
"""The partitions of a topic that each of two members owns."""
_SIXES = [{"topic": topic, "partition": number} for topic in ("six", "six-too") for number in range(6)]
MEMBERS: Rows = [
    *_members("healthy", 3, ["six"], COOPERATIVE),
    *_members("healthy-keys", 3, ["healthy-keys"], COOPERATIVE),
    *_members("healthy-range", 3, ["six"], ["range"], weight=SHOWN),
    *_members("healthy-roundrobin", 3, ["six"], ["roundrobin"]),
    *_members("healthy-sticky", 3, ["six"], ["sticky"]),
    *_members("healthy-consumer-protocol", 3, ["six"], ["server-uniform"]),
    *_members("healthy-several-topics", 2, ["six", "eight"], COOPERATIVE),
    *_members("healthy-four", 4, ["eight"], COOPERATIVE),
    *_members("healthy-librdkafka", 3, ["six"], ["range"], client_library="librdkafka", client_version="2.12.0",
              weight=SHOWN),
    *(row | {"instance_id": row["member_id"]}
      for row in _members("healthy-static", 3, ["six"], COOPERATIVE, session_timeout_ms=60_000)),
    *_members("migration-custom-assignor", 2, ["six"], ["by-lag"]),
    *_members("migration-library", 3, ["six"], ["range"], client_library="sarama", client_version="1.43.0",
              weight=SHOWN),
    *_members("migration-offline", 3, ["six"], ["roundrobin"], client_library="platformatic-kafka",
              client_version="1.35.0"),
    *_members("migration-brokers", 3, ["six"], COOPERATIVE, cluster="old", client_version="3.9.0"),
    *_members("migration-policy", 3, ["six"], COOPERATIVE, cluster="strict"),
    *_members("other-kind-of-group", 2, ["six"], ["compatible"], protocol_type="connect"),
    *_members("healthy-streams", 2, ["six"], ["stream"]),
    *_members("healthy-sharing", 9, ["six"], ["share-simple"], protocol_type="share", weight=SHOWN),
    *(row | {"subscription": topics} for row, topics in zip(
        _members("migration-less-balanced", 7, [], ["sticky"]), _LINKS, strict=True)),
    *_members("migration-loses-racks", 3, ["racked"], ["sticky"], rack="a"),
    *_members("members-refused", 2, ["six"], ["range"]),
    *(row | {"member_id": "late", "join_order": 9} for row in _members("members-refused", 1, ["six"], ["sticky"])),
    *_members("group-refused", 2, ["six"], ["server-uniform"], cluster="older"),
    *_members("election-tie", 1, ["six"], ["range", "roundrobin"]),
    *(row | {"member_id": "other"} for row in _members("election-tie", 1, ["six"], ["roundrobin", "range"])),
    *_members("election-depends-on-build", 1, ["six"], ["range", "sticky", "roundrobin"], cluster="old"),
    *(row | {"member_id": "other", "join_order": 9}
      for row in _members("election-depends-on-build", 1, ["six"], ["roundrobin", "range", "sticky"], cluster="old")),
    *_members("eager-by-default", 3, ["six"], ["range", "cooperative-sticky"]),
    *_members("idle-members", 2, ["one", "one-too"], ["range"]),
    *_members("more-members-than-partitions", 3, ["two"], COOPERATIVE),
    *_members("imbalance", 2, ["three-1", "three-2", "three-3", "three-4"], ["range"]),
    *(row | owned for row, owned in zip(
        _members("topic-on-one-member", 2, ["six", "six-too"], COOPERATIVE, client_version="3.6.0"),
        ({"owned": _SIXES, "generation": 1}, {"owned": [], "generation": -1}), strict=True)),
    *(row | columns for row, columns in zip(
        _members("topic-on-one-host", 4, ["eight"], COOPERATIVE),
        (*({"host": "10.0.0.1", "owned": owned, "generation": 1} for owned in _HALVES),
         *({"host": "10.0.0.2", "owned": [], "generation": -1} for _ in range(2))), strict=True)),
    *_members("lag-on-one-member", 2, ["eight"], ["range"]),
    *_members("lag-in-one-partition", 2, ["eight"], ["range"]),
    *_members("large-lag", 2, ["eight"], ["range"]),
    *_members("offset-above-log-end", 2, ["eight"], COOPERATIVE),
    *_members("lag-without-subscriber", 2, ["six"], COOPERATIVE),
    *_members("leader-cannot-read-members", 1, ["six"], ["roundrobin"]),
    *(row | {"member_id": "node", "join_order": 9} for row in _members(
        "leader-cannot-read-members", 1, ["six"], ["roundrobin"], client_library="platformatic-kafka",
        client_version="1.35.0")),
    *_members("assignment-fails", 1, ["six", "eight"], ["roundrobin"], client_library="kafka-python",
              client_version="3.0.0"),
    *(row | {"member_id": "other", "join_order": 9} for row in _members(
        "assignment-fails", 1, ["six"], ["roundrobin"], client_library="kafka-python", client_version="3.0.0")),
    *(row | {"subscription": [topic]} for row, topic in zip(
        _members("partitions-not-consumed", 2, [], ["RoundRobinAssigner"], client_library="kafkajs",
                 client_version="2.2.4"), ("six", "eight"), strict=True)),
    *_members("assignment-unknown", 2, ["six"], ["by-lag"]),
    *_members("assignment-unpredictable", 3, ["six", "eight"], COOPERATIVE, client_library="franz-go",
              client_version="1.21.0"),
    *_members("leader-decides-assignment", 3, ["seven"], ["range"], client_library="java;kafka-go"),
    *_members("partitions-without-leader", 2, ["broken"], COOPERATIVE),
    *_members("rejected-rows", 2, ["six"], COOPERATIVE),
    *(row | {"member_id": "text"} for row in _members("rejected-rows", 1, ["six,eight"], COOPERATIVE)),
    *_members("group-unread", 2, ["six"], COOPERATIVE, protocol_type=""),
    *(row | {"instance_id": row["member_id"]}
      for row in _members("session-shorter-than-restart", 2, ["six"], COOPERATIVE, session_timeout_ms=10_000)),
    *(row | {"instance_id": "pod"} for row in _members("shared-instance-id", 2, ["six"], COOPERATIVE)),
    *_members("topic-not-found", 2, ["sicks"], COOPERATIVE),
    *_members("regex-matches-nothing", 1, ["six"], ["server-uniform"]),
    *_members("regex-matches-nothing", 1, [], ["server-uniform"], subscribed_regex="sixes", member_id="lost"),
    *_members("regular-expression", 2, ["six"], ["server-uniform"], subscribed_regex="si.*"),
    *(row | {"owned": owned} for row, owned in zip(
        _members("commits-overdue", 2, ["eight"], COOPERATIVE), _HALVES, strict=True)),
    *(row | {"owned": owned} for row, owned in zip(
        _members("healthy-commits", 2, ["eight"], COOPERATIVE, rebalance_timeout_ms=600_000), _HALVES, strict=True)),
    *_members("rebalances-repeatedly", 3, ["six"], COOPERATIVE, **rebalanced(140, 100)),
    *_members("healthy-after-rebalances", 3, ["six"], COOPERATIVE, **rebalanced(140, 100, ago_ms=2 * _DAY_MS)),
    *_members("healthy-after-deployment", 3, ["six"], COOPERATIVE, group_state="Stable", **rebalanced(116, 110)),
    *_members("rebalancing-now", 3, ["six"], COOPERATIVE, group_state="PreparingRebalance"),
    *_members("keys-placed-differently", 3, ["written-by-two"], COOPERATIVE),
    *_members("keys-in-several-partitions", 3, ["grown"], COOPERATIVE),
    *_members("hot-partition", 3, ["hot"], COOPERATIVE),
    *_members("not-co-partitioned", 3, ["orders", "payments"], COOPERATIVE),
    *_members("growth-breaks-key-order", 3, ["growing"], COOPERATIVE),
    *_members("rollout-fails", 3, ["six"], COOPERATIVE, session_timeout_ms=3000),
    *_members("rollout-unstable", 2, ["six"], COOPERATIVE, rebalance_timeout_ms=2000),
    *_members("rebalance-storm", 3, ["six"], ["range"], rebalance_timeout_ms=2000),
    *_members("rollout-downtime", 5, ["three-1"], ["range"]),
]  # fmt: skip


def _workers(group: str, tasks: Sequence[Sequence[int]], **more: Any) -> Rows:
    """Return the workers of a Connect cluster with these tasks of one connector, which the first worker runs."""
    known = {"cluster": "new", "group_id": group, "client_version": "4.1.0", "max_delay_ms": 0}
    known |= {"session_timeout_ms": 10_000}
    return [
        known
        | {"member_id": f"{group}-{number}", "join_order": number, "connectors": ["copy"] if number == 0 else []}
        | {"tasks": [{"connector": "copy", "task": task} for task in of_worker]}
        | more
        for number, of_worker in enumerate(tasks)
    ]


WORKERS: Rows = [
    *_workers("healthy-connect", [[0, 1], [2, 3]]),
    *_workers("tasks-not-running", [[0, 1], [2]]),
    *_workers("tasks-wait-for-delay", [[0], [1]], pending_delay_ms=60_000),
    *_workers("tasks-imbalanced", [[0, 1, 2, 3], []]),
    *_workers("more-members-than-tasks", [[0], [1], []]),
    *_workers("delay-of-lost-tasks", [[0, 1], [2, 3], [4, 5]], max_delay_ms=None),
]
"""Workers of Connect clusters, whose members no other table has."""
_TASKS = {"more-members-than-tasks": 2, "delay-of-lost-tasks": 6}
CONNECTORS: Rows = [
    {"cluster": "new", "group_id": group, "connector": "copy", "tasks": _TASKS.get(group, 4)}
    for group in dict.fromkeys(row["group_id"] for row in WORKERS)
]


def _threads(group: str, tasks: Sequence[tuple[Sequence[int], Sequence[int]]], **more: Any) -> Rows:
    """Return the threads of an application, one per process, with their active and standby tasks."""
    return [
        {"cluster": "new", "group_id": group, "member_id": f"{group}-{number}", "join_order": number}
        | {"process_id": f"00000000-0000-4000-8000-{number:012d}"}
        | {role: [{"subtopology": "0", "partition": task} for task in of[place]] for place, role in enumerate(ROLES)}
        | more
        for number, of in enumerate(tasks)
    ]


ROLES = ("active", "standby")
STREAMS_MEMBERS: Rows = [
    *_threads("healthy-application", [([0, 1, 2], [3, 4, 5]), ([3, 4, 5], [0, 1, 2])]),
    *_threads("no-standby-replicas", [([0, 1, 2], []), ([3, 4, 5], [])]),
    *_threads("warm-ups-follow", [([0, 1, 2], []), ([3, 4, 5], [])], protocol="classic"),
    *_threads("one-process", [(range(6), [])]),
]
"""Threads of applications of Kafka Streams, whose members no other table has."""
KINDS_OF_STREAMS = {"one-process": "rollout-downtime"}
"""By group that is not named after the kind of its finding, this kind, which a group of consumers has, too."""
SUBTOPOLOGIES: Rows = [
    {"cluster": "new", "group_id": group, "subtopology": "0", "topics": ["six"], "stateful": True}
    | {"standby_replicas": 1 if group == "healthy-application" else None}
    for group in dict.fromkeys(row["group_id"] for row in STREAMS_MEMBERS)
]
_PARTITIONS = {"one": 1, "one-too": 1, "two": 2, "six": 6, "seven": 7, "eight": 8, "racked": 6, "broken": 4}
_PARTITIONS |= {"written-by-two": 6, "grown": 6, "hot": 6, "orders": 6, "payments": 9, "healthy-keys": 6}
_PARTITIONS |= {"growing": 6, "six-too": 6}
_PARTITIONS |= _CHAIN
_PARTITIONS |= {f"three-{number}": 3 for number in range(1, 5)}
TOPICS: Rows = [
    {
        "cluster": cluster,
        "topic": topic,
        "partitions": partitions,
        "unavailable": [1, 3] if topic == "broken" else None,
        "racks": [["a"]] * partitions if topic == "racked" else None,
    }
    for cluster in ("new", "old", "older", "strict")
    for topic, partitions in _PARTITIONS.items()
]
AFTER: Rows = [{"cluster": "new", "topic": "growing", "partitions": 9}]
"""The topic that is to grow."""
CLUSTERS: Rows = [
    {"cluster": "new", "broker_version": "4.3"},
    {"cluster": "old", "broker_version": "3.9"},
    {"cluster": "older", "broker_version": "3.6"},
    {"cluster": "strict", "migration_policy": "disabled"},
]


def _offsets(group: str, lags: Sequence[int], committed_at_ms: int = NOW_MS) -> Iterator[dict[str, Any]]:
    for partition, lag in enumerate(lags):
        yield {
            "cluster": "new",
            "group_id": group,
            "topic": "eight",
            "partition": partition,
            "committed": 10,
            "end": 10 + lag,
            "committed_at_ms": committed_at_ms,
        }


OFFSETS: Rows = [
    *_offsets("lag-on-one-member", [2000] * 4 + [0] * 4),
    *_offsets("lag-in-one-partition", [0] * 3 + [5000] + [1] * 4),
    *_offsets("large-lag", [12_000, 9_000] * 4),
    *_offsets("offset-above-log-end", [0, -8, -3, 1]),
    *_offsets("lag-without-subscriber", [50_000, 3] * 4),
    *_offsets("commits-overdue", [500] * 8, NOW_MS - 270_000),
    *_offsets("healthy-commits", [500] * 8, NOW_MS - 270_000),
    *_offsets("offsets-expire", [0, 0], NOW_MS - 6 * _DAY_MS),
    *_offsets("no-members", [0, 0, 0]),
    *_offsets("lag-without-assignment", [10, 3000, 0]),
]


LISTED_GROUPS: Rows = [
    {"cluster": "new", "group_id": "group-not-described", "type": "classic", "protocol_type": "consumer"},
    {"cluster": "new", "group_id": "healthy-share", "type": "share", "state": "Stable", "members": 2},
    {"cluster": "new", "group_id": "healthy-streams-group", "type": "streams"},
    {"cluster": "new", "group_id": "healthy", "type": "classic", "state": "Stable", "members": 3},
]
"""Groups that the cluster lists; all but the last one are in no other table."""


def _records(topic: str, keys: Sequence[str | None], **more: Any) -> Iterator[dict[str, Any]]:
    for key in keys:
        yield {"cluster": "new", "topic": topic, "key": key, "value_bytes": 10, **more}


_KEYS = [f"k{number}" for number in range(60)]
RECORDS: Rows = [
    *_records("written-by-two", _KEYS),
    *_records("written-by-two", _KEYS, client="librdkafka"),
    *_records("grown", _KEYS, actual_partition=1),
    *_records("grown", _KEYS[:20], actual_partition=4),
    *_records("hot", ["hot"] * 1500),
    *_records("hot", _KEYS),
    *_records("growing", _KEYS),
    *_records("orders", _KEYS),
    # The partitions that this client chooses are not known; that the topics share keys is.
    *_records("payments", _KEYS[:40] + [f"other-{key}" for key in _KEYS[:5]], client="librdkafka-random"),
    *_records("healthy-keys", [f"{key}-{number}" for key in _KEYS for number in range(30)]),
    *_records("healthy-keys", [f"{key}-0" for key in _KEYS], client="kafka-python"),
    *_records("six", [None]),
]
"""Records of topics for each kind of finding about keys; those of ``healthy-keys`` show none."""


_JAVA = {"client_library": None, "client_version": "4.1.0"}
FOLLOWED: dict[str, dict[str, Any]] = {
    "migration-custom-assignor": {"protocols": COOPERATIVE},
    "migration-library": {"client_library": "librdkafka", "client_version": "2.12.0"},
    "migration-offline": {"protocols": ["server-uniform"]},
    "migration-less-balanced": {"subscription": list(_CHAIN)},
    "migration-loses-racks": {"protocols": ["server-uniform"]},
    "migration-brokers": {"cluster": "new"},
    "migration-policy": {"cluster": "new"},
    "group-refused": {"protocols": ["range"]},
    "members-refused": {"protocols": ["range"]},
    "election-tie": {"protocols": ["range", "roundrobin"]},
    "election-depends-on-build": {"protocols": ["range", "sticky", "roundrobin"]},
    "eager-by-default": {"protocols": COOPERATIVE},
    "topic-on-one-member": {"client_version": "4.1.0"},
    "lag-in-one-partition": {},
    "large-lag": {},
    "offset-above-log-end": {},
    "lag-without-subscriber": {"subscription": ["six", "eight"]},
    "leader-cannot-read-members": _JAVA,
    "assignment-fails": {"protocols": ["range"]},
    "partitions-not-consumed": {"subscription": ["six", "eight"]},
    "assignment-unknown": {},
    "assignment-unpredictable": {"protocols": ["range"]},
    "leader-decides-assignment": _JAVA,
    "partitions-without-leader": {},
    "rejected-rows": {},
    "group-unread": {"protocol_type": None},
    "group-not-described": {},
    "offsets-expire": {},
    "shared-instance-id": {},
    "topic-not-found": {"subscription": ["six"]},
    "regex-matches-nothing": {"subscription": ["six"], "subscribed_regex": None},
    "commits-overdue": {},
    "rebalances-repeatedly": rebalanced(104, 100),
    "rebalancing-now": {"group_state": "Stable"},
    "keys-placed-differently": {},
    "keys-in-several-partitions": {},
    "hot-partition": {},
    "not-co-partitioned": {},
    "growth-breaks-key-order": {},
    "rollout-fails": {"session_timeout_ms": 45_000},
    "rollout-unstable": {"rebalance_timeout_ms": 300_000},
    "rebalance-storm": {},
    "tasks-not-running": {},
    "tasks-wait-for-delay": {},
    "tasks-imbalanced": {},
    "delay-of-lost-tasks": {},
    "no-standby-replicas": {},
    "warm-ups-follow": {},
}
"""By kind, the columns of its group's members that change if its recommendation is followed.

Where no column does, the rows differ, those of the other tables (``followed_tables``), or the options of the audit.
"""
_BECOME_STATIC = ("shared-instance-id", "rebalance-storm")


def followed_tables() -> dict[str, Rows]:
    """Return the tables after all these recommendations are followed."""
    usable = [row for row in MEMBERS if row["group_id"] in FOLLOWED and row["subscription"] != ["six,eight"]]
    members = [row | FOLLOWED[row["group_id"]] for row in usable]
    for row in members:
        if row["group_id"] in _BECOME_STATIC:
            row["instance_id"] = row["member_id"]
    members += _members("offsets-expire", 2, ["eight"], COOPERATIVE)
    members += _members("group-not-described", 3, ["six"], COOPERATIVE)
    in_one_partition = [row | {"actual_partition": 1} if "actual_partition" in row else row for row in RECORDS]
    records = [
        row | {"client": "java-3.3"} | ({"key": f"hot-{number}"} if row["key"] == "hot" else {})
        for number, row in enumerate(in_one_partition)
    ]
    changed: dict[str, dict[str, Any]] = {
        "broken": {"unavailable": []},
        "payments": {"partitions": _PARTITIONS["orders"]},
        "growing": {"partitions": AFTER[0]["partitions"]},
    }
    topics = [row | changed.get(row["topic"], {}) for row in TOPICS]
    changed_offsets = (
        *("lag-in-one-partition", "large-lag", "lag-without-subscriber", "offset-above-log-end", "commits-overdue"),
    )
    consumed = [row for row in OFFSETS if row["group_id"] not in changed_offsets]
    return {"members": members, "topics": topics, "records": records, "offsets": consumed}


def write_fleet(folder: Path, **changed: Rows) -> list[str]:
    """Write the tables of the fleet, or others instead, as JSON lines, and return the options that name them."""
    tables: Mapping[str, Rows] = {
        "topics": TOPICS,
        "members": MEMBERS,
        "offsets": OFFSETS,
        "listed-groups": LISTED_GROUPS,
        "clusters": CLUSTERS,
        "records": RECORDS,
        "partitions-after": AFTER,
        "workers": WORKERS,
        "connectors": CONNECTORS,
        "streams-members": STREAMS_MEMBERS,
        "subtopologies": SUBTOPOLOGIES,
        **changed,
    }
    for name, rows in tables.items():
        (folder / f"{name}.json").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return [part for name in tables for part in (f"--{name}", str(folder / f"{name}.json"))]
