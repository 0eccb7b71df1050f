"""Groups of every client library with each kind of finding that it can have, before and after the remedy."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rebalance_sim.engine.audit.changes import as_kafka_names_them
from rebalance_sim.kafka.clients import LIBRARIES
from rebalance_sim.kafka.group_kinds import as_consumers_name_them
from tests.support.audited_fleet import COOPERATIVE, NOW_MS, Rows, rebalanced

Row = dict[str, Any]
Settings = Mapping[str, str]
Remedy = Callable[[Rows, Settings], Rows]
"""Returns the members after the remedy: from those before, and the settings of the finding by Kafka's names."""
CONSUMERS, SINK = "consumers", "connect-sink"
NEWEST = {
    "java": "4.1.0",
    "librdkafka": "2.16.0",
    "sarama": "1.61.1",
    "franz-go": "1.22.2",
    "kafka-go": "0.4.51",
    "kafkajs": "2.2.4",
    "platformatic-kafka": "1.35.0",
    "kafka-python": "3.0.12",
    "aiokafka": "0.14.0",
    "kafka-node": "5.0.0",
    "ruby-kafka": "1.5.0",
    "brod": "4.6.2",
}
"""The release of each library that the groups use unless the case is about another one."""
EAGER = ("java", "librdkafka", "sarama", "franz-go", "kafka-python", "aiokafka", "kafka-node")
"""Libraries with range and with another assignor that divides the partitions of all topics together."""
WITH_RANGE = (*EAGER, "kafka-go")
MIGRATING = ("java", "librdkafka", "franz-go")
"""Libraries whose groups can migrate online."""
FAIL_ON_MISSING = ("kafka-node", "ruby-kafka", "brod")
"""Libraries whose leaders fail if a topic does not exist."""
STATIC = tuple(name for name, record in LIBRARIES.items() if record.has_static_members)


@dataclass(frozen=True)
class Case:
    """A group with a finding, and what its owner does about it."""

    kind: str
    library: str
    remedy: Remedy
    members: Rows
    group_kind: str = CONSUMERS
    offsets: Rows | tuple[()] = ()
    offsets_after: Rows | tuple[()] | None = None
    """None: the same."""
    settings: bool = False
    """Whether the finding has to recommend settings."""

    @property
    def group(self) -> str:
        """The id of the group."""
        return str(self.members[0]["group_id"])


def by_settings(members: Rows, settings: Settings) -> Rows:
    """Return the members with new settings, as their library sends them after restarts."""
    return [_with_settings(row, settings) for row in members]


def _with_settings(member: Row, settings: Settings) -> Row:
    changed = dict(member)
    for name, value in settings.items():
        match name:
            case "session.timeout.ms":
                changed["session_timeout_ms"] = int(value)
            case "partition.assignment.strategy":
                changed["protocols"] = value.split(",")
            case "group.remote.assignor":
                changed |= {"protocols": [f"server-{value}"], "session_timeout_ms": None}
            case "group.instance.id":
                changed["instance_id"] = changed["member_id"]
            case "group.protocol":
                assert value == "consumer"
            case _:
                raise AssertionError(f"no client has {name}")
    return changed


def by(**columns: Any) -> Remedy:
    """Return a remedy that changes columns of all members."""
    return lambda members, _: [row | columns for row in members]


def by_each(change: Callable[[Row], Row]) -> Remedy:
    """Return a remedy that changes columns of each member by its row."""
    return lambda members, _: [row | change(row) for row in members]


def settings_of(case: Case, settings: Settings | None) -> Settings:
    """Return the settings of a finding by Kafka's names."""
    return as_kafka_names_them(as_consumers_name_them(case.group_kind, settings or {}))


def _members(kind: str, library: str, count: int, topics: Sequence[str], protocols: Sequence[str], **more: Any) -> Rows:
    """Return the members of a group; of a sink connector, if they have ``sink``."""
    group = f"connect-{kind}" if more.pop("sink", False) else f"{kind}/{more.pop('variant', library)}"
    common = {
        "cluster": "new",
        "group_id": group,
        "client_library": library,
        "client_version": NEWEST[library],
        "protocols": list(protocols),
        "subscription": list(topics),
    }
    ids = ({"member_id": f"{group}-{number}", "join_order": number} for number in range(count))
    tasks = [f"connector-consumer-{kind}-{n}" for n in range(count)] if group == f"connect-{kind}" else [None] * count
    return [common | row | {"client_id": task} | more for row, task in zip(ids, tasks, strict=True)]


def _own(library: str) -> list[str]:
    """Return what members of a library offer by default."""
    return list(LIBRARIES[library].protocols_of())


def _static(rows: Rows) -> Rows:
    return [row | {"instance_id": row["member_id"]} for row in rows]


def _at(rows: Rows, place: int, **columns: Any) -> Rows:
    return [row | (columns if number == place else {}) for number, row in enumerate(rows)]


def _lag(rows: Rows, lags: Sequence[int], committed_at_ms: int = NOW_MS) -> Rows:
    group = {name: rows[0][name] for name in ("cluster", "group_id")} | {"topic": "eight", "committed": 10}
    times = {"committed_at_ms": committed_at_ms}
    return [group | times | {"partition": n, "end": 10 + lag} for n, lag in enumerate(lags)]


def _of_migration() -> Iterator[Case]:
    for library in MIGRATING:
        protocol = "range" if library == "librdkafka" else "cooperative-sticky"
        kind = "migration-possible"
        yield Case(kind, library, by_settings, _members(kind, library, 3, ["six"], [protocol]), settings=True)
        kind = "migration-policy"
        policy = _members(kind, library, 3, ["six"], [protocol], cluster="strict")
        yield Case(kind, library, by(cluster="new"), policy)
        kind = "migration-brokers"
        yield Case(kind, library, by(cluster="new"), _members(kind, library, 3, ["six"], [protocol], cluster="old"))
    rows = _members("migration-possible", "java", 3, ["six"], COOPERATIVE, sink=True)
    yield Case("migration-possible", "java", by_settings, rows, SINK, settings=True)
    kind = "migration-offline"
    for library, protocol in (("platformatic-kafka", "roundrobin"), ("librdkafka", "cooperative-sticky")):
        rows = _members(kind, library, 3, ["six"], [protocol])
        yield Case(kind, library, by(protocols=["server-uniform"]), rows)
    kind = "migration-custom-assignor"
    for library, protocol in (
        ("java", "range"),
        ("franz-go", "cooperative-sticky"),
        ("platformatic-kafka", "roundrobin"),
    ):
        rows = _members(kind, library, 2, ["six"], ["by-lag"])
        yield Case(kind, library, by(protocols=[protocol]), rows)
    kind = "migration-library"
    for library, record in LIBRARIES.items():
        if record.consumer_protocol_since is None:
            rows = _members(kind, library, 3, ["six"], _own(library))
            java = by(client_library="java", client_version=NEWEST["java"], protocols=["range"])
            yield Case(kind, library, java, rows)
    kind = "migration-fails"
    rows = _members(kind, "java", 3, ["six"], COOPERATIVE, session_timeout_ms=3000)
    yield Case(kind, "java", by(protocols=["server-uniform"], session_timeout_ms=None), rows)


def _of_elections() -> Iterator[Case]:
    for library in WITH_RANGE:
        for kind, cluster in (("election-tie", "new"), ("election-depends-on-build", "old")):
            others = ["sticky"] if library == "java" and cluster == "old" else []
            rows = _members(kind, library, 2, ["six"], ["range", *others, "roundrobin"], cluster=cluster)
            rows = _at(rows, 1, protocols=["roundrobin", "range", *others])
            if cluster == "new" or others:
                yield Case(kind, library, by_settings, rows, settings=True)
    for library in MIGRATING:
        kind = "election-tie"
        rows = _members(kind, library, 2, ["six"], ["server-uniform"], variant=f"{library}-consumers")
        yield Case(kind, library, by_settings, _at(rows, 1, protocols=["server-range"]), settings=True)
        kind = "group-refused"
        rows = _members(kind, library, 2, ["six"], ["server-uniform"], cluster="older")
        yield Case(kind, library, by(protocols=_own(library)), rows)
    kind = "eager-by-default"
    default = ["range", "cooperative-sticky"]
    yield Case(kind, "java", by_settings, _members(kind, "java", 3, ["six"], default), settings=True)
    sink = _members(kind, "java", 3, ["six"], default, sink=True)
    yield Case(kind, "java", by_settings, sink, SINK, settings=True)
    kind = "members-refused"
    for library, record in LIBRARIES.items():
        rows = _members(kind, "java", 3, ["six"], ["range"], variant=library)
        late = {"client_library": library, "client_version": NEWEST[library], "join_order": 9, "protocols": ["mine"]}
        has_range = library == "java" or (record.assignor("range") and not record.subscriptions.end_early)
        accepted = {"protocols": ["range"]} if has_range else {"group_id": f"own-{library}"}

        def join(members: Rows, _: Settings, accepted: Row = accepted) -> Rows:
            return _at(members, 2, **accepted)

        yield Case(kind, library, join, _at(rows, 2, **late))


def _of_balance() -> Iterator[Case]:
    topics, threes = ["one", "one-too"], [f"three-{n}" for n in range(1, 5)]
    for library in EAGER:
        kind = "idle-members"
        yield Case(kind, library, by_settings, _members(kind, library, 2, topics, ["range"]), settings=True)
        both = _members(kind, library, 2, topics, ["range", "roundrobin"], variant=f"{library}-offering-both")
        yield Case(kind, library, by_settings, both, settings=True)
        kind = "imbalance"
        yield Case(kind, library, by_settings, _members(kind, library, 2, threes, ["range"]), settings=True)
    kind = "idle-members"
    sink = _members(kind, "java", 2, topics, ["range"], sink=True)
    yield Case(kind, "java", by_settings, sink, SINK, settings=True)
    old = _members(kind, "sarama", 2, topics, ["range"], client_version="1.35.0", variant="sarama-1.35")
    yield Case(kind, "sarama", by_settings, old, settings=True)
    consumers = _members(kind, "java", 2, topics, ["server-range"], variant="java-consumers")
    yield Case(kind, "java", by_settings, consumers, settings=True)
    rows = _members(kind, "kafka-go", 2, topics, _own("kafka-go"))
    yield Case(kind, "kafka-go", by(subscription=["six", "eight"]), rows)
    old = _members(kind, "kafkajs", 2, topics, ["RoundRobinAssigner"], client_version="1.12.0")
    yield Case(kind, "kafkajs", by(client_version="1.13.0"), old)
    kind = "imbalance"
    sink = _members(kind, "java", 2, threes, ["range"], sink=True)
    yield Case(kind, "java", by_settings, sink, SINK, settings=True)
    kind = "lag-on-one-member"
    for library in WITH_RANGE:
        rows = _members(kind, library, 2, ["eight"], ["range"])
        yield Case(kind, library, by_settings, rows, offsets=_lag(rows, [2000] * 4 + [0] * 4), settings=True)
    kind = "topic-on-one-member"
    sixes = [{"topic": topic, "partition": n} for topic in ("six", "six-too") for n in range(6)]
    for is_sink in (False, True):
        rows = _members(kind, "java", 2, ["six", "six-too"], COOPERATIVE, client_version="3.6.0", sink=is_sink)
        owned = ({"owned": sixes, "generation": 1}, {"owned": [], "generation": -1})
        rows = [row | has for row, has in zip(rows, owned, strict=True)]
        yield Case(kind, "java", by(client_version="3.7.1"), rows, SINK if is_sink else CONSUMERS)


def _of_leaders() -> Iterator[Case]:
    kind = "assignment-unpredictable"
    unpredictable: list[tuple[str, list[str], Row]] = [
        *((library, [protocol], {}) for library, protocol in (
            ("sarama", "sticky"), ("sarama", "cooperative-sticky"), ("kafka-python", "sticky"),
            ("kafka-python", "cooperative-sticky"), ("aiokafka", "sticky"), ("franz-go", "cooperative-sticky"),
            ("kafka-go", "rack-affinity"))),
        ("ruby-kafka", ["standard"], {"client_version": "0.7.10"}),
        ("kafkajs", ["RoundRobinAssigner"], {"client_version": "1.4.0"}),
        ("platformatic-kafka", ["roundrobin"], {"client_version": "1.6.0"}),
        ("librdkafka", ["cooperative-sticky"], {"client_version": "2.5.0"}),
    ]  # fmt: skip
    upgraded: dict[str, Row] = {
        "ruby-kafka": {"client_version": "1.0.0", "protocols": ["roundrobin"]},
        "kafkajs": {"client_version": "1.5.0"},
        "platformatic-kafka": {"client_version": "1.7.0"},
        "librdkafka": {"client_version": "2.6.1"},
    }
    for library, protocols, columns in unpredictable:
        rows = _members(kind, library, 3, ["six", "eight"], protocols, variant=f"{library}-{protocols[0]}", **columns)
        yield Case(kind, library, by(**upgraded.get(library, {"protocols": ["range"]})), rows)
    kind = "assignment-unknown"
    rows = _members(kind, "brod", 2, ["six"], ["roundrobin"], client_version="3.3.2")
    yield Case(kind, "brod", by(client_version="3.3.3", protocols=["roundrobin_v2"]), rows)
    kind = "assignment-fails"
    rows = _at(_members(kind, "kafka-python", 2, ["six"], ["roundrobin"]), 0, subscription=["six", "eight"])
    yield Case(kind, "kafka-python", by_settings, rows, settings=True)
    kind = "partitions-not-consumed"
    for library, release, remedy in (
        ("kafkajs", NEWEST["kafkajs"], by(subscription=["six", "eight"])),
        ("platformatic-kafka", NEWEST["platformatic-kafka"], by_each(lambda row: {"group_id": row["member_id"]})),
        ("ruby-kafka", "1.3.0", by(client_version="1.4.0")),
    ):
        rows = _members(kind, library, 2, ["six"], _own(library), client_version=release)
        yield Case(kind, library, remedy, _at(rows, 1, subscription=["eight"]))
    kind = "leader-cannot-read-members"
    for library in ("platformatic-kafka", "kafka-go"):
        rows = _members(kind, "java", 4, ["six"], ["roundrobin"], variant=library)
        other = {"client_library": library, "client_version": NEWEST[library], "join_order": 9}

        def alone(members: Rows, _: Settings, library: str = library) -> Rows:
            return _at(members, 3, group_id=f"alone-{library}")

        yield Case(kind, library, alone, _at(rows, 3, **other))
    kind = "leader-decides-assignment"
    for first, second in (("sarama", "kafka-go"), ("librdkafka", "kafka-go"), ("franz-go", "kafka-go")):
        rows = _members(kind, first, 3, ["seven"], ["range"], variant=f"{first}-{second}", join_order=None)
        rows = _at(rows, 1, client_library=second, client_version=NEWEST[second])
        one = by(client_library=first, client_version=NEWEST[first])
        yield Case(kind, first, one, rows)


def _of_risks() -> Iterator[Case]:
    for library in STATIC:
        kind = "session-shorter-than-restart"
        rows = _static(_members(kind, library, 2, ["six"], _own(library), session_timeout_ms=10_000))
        yield Case(kind, library, by_settings, rows, settings=True)
        kind = "shared-instance-id"
        rows = _members(kind, library, 2, ["six"], _own(library), instance_id="pod")
        yield Case(kind, library, by_each(lambda row: {"instance_id": row["member_id"]}), rows)
    kind = "session-shorter-than-restart"
    rows = _static(_members(kind, "java", 1, ["six"], COOPERATIVE, session_timeout_ms=10_000, sink=True))
    yield Case(kind, "java", by_settings, rows, SINK, settings=True)
    kind = "shared-instance-id"
    rows = _members(kind, "java", 2, ["six"], COOPERATIVE, instance_id="pod", sink=True)
    yield Case(kind, "java", by(instance_id=None), rows, SINK)
    kind = "topic-not-found"
    for library in LIBRARIES:
        if library not in FAIL_ON_MISSING:
            yield Case(kind, library, by(subscription=["six"]), _members(kind, library, 2, ["sicks"], _own(library)))
    sink = _members(kind, "java", 2, ["sicks"], COOPERATIVE, sink=True)
    yield Case(kind, "java", by(subscription=["six"]), sink, SINK)
    kind = "offset-above-log-end"
    for library in LIBRARIES:
        rows = _members(kind, library, 2, ["eight"], _own(library))
        yield Case(kind, library, by(), rows, offsets=_lag(rows, [0, -8]), offsets_after=_lag(rows, [0, 0]))
    kind = "lag-without-subscriber"
    left, kept = (_members(kind, "java", 2, ["six"], COOPERATIVE, variant=name) for name in ("left", "kept"))
    yield Case(kind, "java", by(), left, offsets=_lag(left, [50_000] * 8), offsets_after=())
    again = by(subscription=["six", "eight"])
    yield Case(kind, "java", again, kept, offsets=_lag(kept, [50_000] * 8), offsets_after=_lag(kept, [0] * 8))
    sink = _members(kind, "java", 2, ["six"], COOPERATIVE, sink=True)
    yield Case(kind, "java", by(), sink, SINK, offsets=_lag(sink, [50_000] * 8), offsets_after=())
    halves = [[{"topic": "eight", "partition": number} for number in half] for half in (range(4), range(4, 8))]
    for library in LIBRARIES:
        kind = "commits-overdue"
        own_limit = library in ("java", "librdkafka", "kafka-python", "aiokafka")
        rows = _members(
            kind, library, 2, ["eight"], _own(library), rebalance_timeout_ms=300_000 if own_limit else 60_000
        )
        rows = [row | {"owned": owned} for row, owned in zip(rows, halves, strict=True)]
        overdue, committed = (_lag(rows, [500] * 8, NOW_MS - ago_ms) for ago_ms in (270_000, 0))
        yield Case(kind, library, by(), rows, offsets=overdue, offsets_after=committed)
        kind = "rebalances-repeatedly"
        rows = _members(kind, library, 3, ["six"], _own(library), **rebalanced(140, 100))
        yield Case(kind, library, by(**rebalanced(104, 100)), rows)


def _of_rollouts() -> Iterator[Case]:
    """Return groups of protocols that can be simulated; that a rollout hurts depends on the members, and on chance."""
    for library in EAGER:
        kind = "rollout-fails"
        rows = _members(kind, library, 3, ["six"], _own(library), session_timeout_ms=3000)
        yield Case(kind, library, by(session_timeout_ms=45_000), rows)
    longer = by(rebalance_timeout_ms=300_000)
    for library, count in (("java", 2), ("librdkafka", 4), ("sarama", 2), ("kafka-python", 2), ("franz-go", 2)):
        kind, more = "rollout-unstable", {"variant": f"{library}-{count}", "rebalance_timeout_ms": 2000}
        yield Case(kind, library, longer, _members(kind, library, count, ["six"], COOPERATIVE, **more))
    for library in WITH_RANGE:
        kind = "rebalance-storm"
        rows = _members(kind, library, 3, ["six"], ["range"], rebalance_timeout_ms=2000)
        static = by_each(lambda row: {"instance_id": row["member_id"]})
        yield Case(kind, library, static if library in STATIC else longer, rows)
    kind = "rollout-downtime"
    shapes = [(library, 1, "eight") for library in STATIC if library != "brod"]
    shapes += [("java", 5, "three-1"), ("librdkafka", 5, "three-1"), ("sarama", 5, "three-1"), ("franz-go", 3, "six")]
    for library, count, topic in shapes:
        variant = f"{library}-{count}-{topic}"
        rows = _members(kind, library, count, [topic], _own(library)[:1], variant=variant)
        yield Case(kind, library, by_settings, rows, settings=True)
    yield Case(kind, "java", by_settings, _members(kind, "java", 1, ["six"], ["range"], sink=True), SINK, settings=True)


def cases() -> list[Case]:
    """Return all cases, each with a group of its own."""
    families = (_of_migration, _of_elections, _of_balance, _of_leaders, _of_risks, _of_rollouts)
    return [case for family in families for case in family()]
