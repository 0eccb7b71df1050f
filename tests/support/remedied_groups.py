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
_OF_SINKS = "connect-"
"""The beginning of the ids of sink connectors' groups."""
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


@dataclass(frozen=True)
class Case:
    """A group with a finding, and what its owner does about it."""

    library: str
    members: Rows
    remedy: Remedy = by_settings
    offsets: Rows | tuple[()] = ()
    offsets_after: Rows | tuple[()] | None = None
    """None: the same."""

    @property
    def group(self) -> str:
        """The id of the group, which begins with the kind of its finding unless it is that of a sink connector."""
        return str(self.members[0]["group_id"])

    @property
    def group_kind(self) -> str:
        """The kind of the group."""
        return SINK if self.group.startswith(_OF_SINKS) else CONSUMERS

    @property
    def kind(self) -> str:
        """The kind of its finding."""
        return self.group.removeprefix(_OF_SINKS).partition("/")[0]


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
    group = f"{_OF_SINKS}{kind}" if more.pop("sink", False) else f"{kind}/{more.pop('variant', library)}"
    common = {
        "cluster": "new",
        "group_id": group,
        "client_library": library,
        "client_version": NEWEST[library],
        "protocols": list(protocols),
        "subscription": list(topics),
    }
    ids = ({"member_id": f"{group}-{number}", "join_order": number} for number in range(count))
    tasks = [f"connector-consumer-{kind}-{n}" for n in range(count)] if group.startswith(_OF_SINKS) else [None] * count
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
        yield Case(library, _members("migration-possible", library, 3, ["six"], [protocol]))
        policy = _members("migration-policy", library, 3, ["six"], [protocol], cluster="strict")
        yield Case(library, policy, by(cluster="new"))
        yield Case(
            library, _members("migration-brokers", library, 3, ["six"], [protocol], cluster="old"), by(cluster="new")
        )
    yield Case("java", _members("migration-possible", "java", 3, ["six"], COOPERATIVE, sink=True))
    for library, protocol in (("platformatic-kafka", "roundrobin"), ("librdkafka", "cooperative-sticky")):
        rows = _members("migration-offline", library, 3, ["six"], [protocol])
        yield Case(library, rows, by(protocols=["server-uniform"]))
    for library, protocol in (
        ("java", "range"),
        ("franz-go", "cooperative-sticky"),
        ("platformatic-kafka", "roundrobin"),
    ):
        rows = _members("migration-custom-assignor", library, 2, ["six"], ["by-lag"])
        yield Case(library, rows, by(protocols=[protocol]))
    for library, record in LIBRARIES.items():
        if record.consumer_protocol_since is None:
            rows = _members("migration-library", library, 3, ["six"], _own(library))
            yield Case(library, rows, by(client_library="java", client_version=NEWEST["java"], protocols=["range"]))
    rows = _members("migration-fails", "java", 3, ["six"], COOPERATIVE, session_timeout_ms=3000)
    yield Case("java", rows, by(protocols=["server-uniform"], session_timeout_ms=None))


def _of_elections() -> Iterator[Case]:
    for library in WITH_RANGE:
        for kind, cluster in (("election-tie", "new"), ("election-depends-on-build", "old")):
            others = ["sticky"] if library == "java" and cluster == "old" else []
            rows = _members(kind, library, 2, ["six"], ["range", *others, "roundrobin"], cluster=cluster)
            rows = _at(rows, 1, protocols=["roundrobin", "range", *others])
            if cluster == "new" or others:
                yield Case(library, rows)
    for library in MIGRATING:
        rows = _members("election-tie", library, 2, ["six"], ["server-uniform"], variant=f"{library}-consumers")
        yield Case(library, _at(rows, 1, protocols=["server-range"]))
        rows = _members("group-refused", library, 2, ["six"], ["server-uniform"], cluster="older")
        yield Case(library, rows, by(protocols=_own(library)))
    default = ["range", "cooperative-sticky"]
    yield Case("java", _members("eager-by-default", "java", 3, ["six"], default))
    yield Case("java", _members("eager-by-default", "java", 3, ["six"], default, sink=True))
    for library, record in LIBRARIES.items():
        rows = _members("members-refused", "java", 3, ["six"], ["range"], variant=library)
        late = {"client_library": library, "client_version": NEWEST[library], "join_order": 9, "protocols": ["mine"]}
        has_range = library == "java" or (record.assignor("range") and not record.subscriptions.end_early)
        accepted = {"protocols": ["range"]} if has_range else {"group_id": f"own-{library}"}

        def join(members: Rows, _: Settings, accepted: Row = accepted) -> Rows:
            return _at(members, 2, **accepted)

        yield Case(library, _at(rows, 2, **late), join)


def _of_balance() -> Iterator[Case]:
    topics, threes = ["one", "one-too"], [f"three-{n}" for n in range(1, 5)]
    for library in EAGER:
        yield Case(library, _members("idle-members", library, 2, topics, ["range"]))
        both = _members("idle-members", library, 2, topics, ["range", "roundrobin"], variant=f"{library}-offering-both")
        yield Case(library, both)
        yield Case(library, _members("imbalance", library, 2, threes, ["range"]))
    yield Case("java", _members("idle-members", "java", 2, topics, ["range"], sink=True))
    old = _members("idle-members", "sarama", 2, topics, ["range"], client_version="1.35.0", variant="sarama-1.35")
    yield Case("sarama", old)
    yield Case("java", _members("idle-members", "java", 2, topics, ["server-range"], variant="java-consumers"))
    rows = _members("idle-members", "kafka-go", 2, topics, _own("kafka-go"))
    yield Case("kafka-go", rows, by(subscription=["six", "eight"]))
    old = _members("idle-members", "kafkajs", 2, topics, ["RoundRobinAssigner"], client_version="1.12.0")
    yield Case("kafkajs", old, by(client_version="1.13.0"))
    yield Case("java", _members("imbalance", "java", 2, threes, ["range"], sink=True))
    for library in WITH_RANGE:
        rows = _members("lag-on-one-member", library, 2, ["eight"], ["range"])
        yield Case(library, rows, offsets=_lag(rows, [2000] * 4 + [0] * 4))
    sixes = [{"topic": topic, "partition": n} for topic in ("six", "six-too") for n in range(6)]
    for is_sink in (False, True):
        rows = _members(
            "topic-on-one-member", "java", 2, ["six", "six-too"], COOPERATIVE, client_version="3.6.0", sink=is_sink
        )
        owned = ({"owned": sixes, "generation": 1}, {"owned": [], "generation": -1})
        yield Case("java", [row | has for row, has in zip(rows, owned, strict=True)], by(client_version="3.7.1"))


def _of_leaders() -> Iterator[Case]:
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
        rows = _members(
            "assignment-unpredictable",
            library,
            3,
            ["six", "eight"],
            protocols,
            variant=f"{library}-{protocols[0]}",
            **columns,
        )
        yield Case(library, rows, by(**upgraded.get(library, {"protocols": ["range"]})))
    rows = _members("assignment-unknown", "brod", 2, ["six"], ["roundrobin"], client_version="3.3.2")
    yield Case("brod", rows, by(client_version="3.3.3", protocols=["roundrobin_v2"]))
    rows = _at(
        _members("assignment-fails", "kafka-python", 2, ["six"], ["roundrobin"]), 0, subscription=["six", "eight"]
    )
    yield Case("kafka-python", rows)
    for library, release, remedy in (
        ("kafkajs", NEWEST["kafkajs"], by(subscription=["six", "eight"])),
        ("platformatic-kafka", NEWEST["platformatic-kafka"], by_each(lambda row: {"group_id": row["member_id"]})),
        ("ruby-kafka", "1.3.0", by(client_version="1.4.0")),
    ):
        rows = _members("partitions-not-consumed", library, 2, ["six"], _own(library), client_version=release)
        yield Case(library, _at(rows, 1, subscription=["eight"]), remedy)
    for library in ("platformatic-kafka", "kafka-go"):
        rows = _members("leader-cannot-read-members", "java", 4, ["six"], ["roundrobin"], variant=library)
        other = {"client_library": library, "client_version": NEWEST[library], "join_order": 9}

        def alone(members: Rows, _: Settings, library: str = library) -> Rows:
            return _at(members, 3, group_id=f"alone-{library}")

        yield Case(library, _at(rows, 3, **other), alone)
    for first, second in (("sarama", "kafka-go"), ("librdkafka", "kafka-go"), ("franz-go", "kafka-go")):
        rows = _members(
            "leader-decides-assignment", first, 3, ["seven"], ["range"], variant=f"{first}-{second}", join_order=None
        )
        rows = _at(rows, 1, client_library=second, client_version=NEWEST[second])
        yield Case(first, rows, by(client_library=first, client_version=NEWEST[first]))


def _of_risks() -> Iterator[Case]:
    for library in STATIC:
        rows = _static(
            _members("session-shorter-than-restart", library, 2, ["six"], _own(library), session_timeout_ms=10_000)
        )
        yield Case(library, rows)
        rows = _members("shared-instance-id", library, 2, ["six"], _own(library), instance_id="pod")
        yield Case(library, rows, by_each(lambda row: {"instance_id": row["member_id"]}))
    rows = _static(
        _members("session-shorter-than-restart", "java", 1, ["six"], COOPERATIVE, session_timeout_ms=10_000, sink=True)
    )
    yield Case("java", rows)
    rows = _members("shared-instance-id", "java", 2, ["six"], COOPERATIVE, instance_id="pod", sink=True)
    yield Case("java", rows, by(instance_id=None))
    for library in LIBRARIES:
        if library not in FAIL_ON_MISSING:
            yield Case(
                library, _members("topic-not-found", library, 2, ["sicks"], _own(library)), by(subscription=["six"])
            )
    sink = _members("topic-not-found", "java", 2, ["sicks"], COOPERATIVE, sink=True)
    yield Case("java", sink, by(subscription=["six"]))
    for library in LIBRARIES:
        rows = _members("offset-above-log-end", library, 2, ["eight"], _own(library))
        yield Case(library, rows, by(), offsets=_lag(rows, [0, -8]), offsets_after=_lag(rows, [0, 0]))
    left, kept = (
        _members("lag-without-subscriber", "java", 2, ["six"], COOPERATIVE, variant=name) for name in ("left", "kept")
    )
    yield Case("java", left, by(), offsets=_lag(left, [50_000] * 8), offsets_after=())
    again = by(subscription=["six", "eight"])
    yield Case("java", kept, again, offsets=_lag(kept, [50_000] * 8), offsets_after=_lag(kept, [0] * 8))
    sink = _members("lag-without-subscriber", "java", 2, ["six"], COOPERATIVE, sink=True)
    yield Case("java", sink, by(), offsets=_lag(sink, [50_000] * 8), offsets_after=())
    halves = [[{"topic": "eight", "partition": number} for number in half] for half in (range(4), range(4, 8))]
    for library in LIBRARIES:
        rows = _members(
            "commits-overdue",
            library,
            2,
            ["eight"],
            _own(library),
            rebalance_timeout_ms=300_000 if library in ("java", "librdkafka", "kafka-python", "aiokafka") else 60_000,
        )
        rows = [row | {"owned": owned} for row, owned in zip(rows, halves, strict=True)]
        overdue, committed = (_lag(rows, [500] * 8, NOW_MS - ago_ms) for ago_ms in (270_000, 0))
        yield Case(library, rows, by(), offsets=overdue, offsets_after=committed)
        rows = _members("rebalances-repeatedly", library, 3, ["six"], _own(library), **rebalanced(140, 100))
        yield Case(library, rows, by(**rebalanced(104, 100)))


def _of_rollouts() -> Iterator[Case]:
    """Return groups of protocols that can be simulated; that a rollout hurts depends on the members, and on chance."""
    for library in EAGER:
        rows = _members("rollout-fails", library, 3, ["six"], _own(library), session_timeout_ms=3000)
        yield Case(library, rows, by(session_timeout_ms=45_000))
    longer = by(rebalance_timeout_ms=300_000)
    for library, count in (("java", 2), ("librdkafka", 4), ("sarama", 2), ("kafka-python", 2), ("franz-go", 2)):
        more = {"variant": f"{library}-{count}", "rebalance_timeout_ms": 2000}
        yield Case(library, _members("rollout-unstable", library, count, ["six"], COOPERATIVE, **more), longer)
    for library in WITH_RANGE:
        rows = _members("rebalance-storm", library, 3, ["six"], ["range"], rebalance_timeout_ms=2000)
        static = by_each(lambda row: {"instance_id": row["member_id"]})
        yield Case(library, rows, static if library in STATIC else longer)
    shapes = [(library, 1, "eight") for library in STATIC if library != "brod"]
    shapes += [("java", 5, "three-1"), ("librdkafka", 5, "three-1"), ("sarama", 5, "three-1"), ("franz-go", 3, "six")]
    for library, count, topic in shapes:
        variant = f"{library}-{count}-{topic}"
        yield Case(library, _members("rollout-downtime", library, count, [topic], _own(library)[:1], variant=variant))
    yield Case("java", _members("rollout-downtime", "java", 1, ["six"], ["range"], sink=True))


def cases() -> list[Case]:
    """Return all cases, each with a group of its own."""
    families = (_of_migration, _of_elections, _of_balance, _of_leaders, _of_risks, _of_rollouts)
    return [case for family in families for case in family()]
