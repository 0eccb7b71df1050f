"""
Random connectors of MirrorMaker 2, with topics or consumer groups of the cluster from which they replicate.

Names share hash codes and buckets, as in the other cases. Many of them are special to a connector: internal, remote,
of heartbeats, excluded by default.
"""

import random
from collections.abc import Iterator

from tests.oracle.random_cases import JsonObject
from tests.support.java import PREFIXES

IDENTITY = "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"
"""Since 3.0."""
_SPECIAL = (
    *("heartbeats", "west.heartbeats", "east.heartbeats", "north.east.heartbeats", "my_heartbeats", "east_heartbeats"),
    *("west.orders", "east.orders", "north.west.orders", "west_orders", "west-orders", "west--orders", "west."),
    *("..orders", ".orders", "orders.", "orders..", "a.replica", "orders.internal", "orders-internal"),
    *("orders_internal", "orders--internal", "mm2-offset-syncs.west.internal", "west.checkpoints.internal"),
    *("__consumer_offsets", "__transaction_state", "__share_group_state", "__orders", "connect-offsets"),
)
_GROUPS = ("console-consumer-1", "connect-sink", "__group", "größe", "\U0001f600", "orders app")
_PATTERNS = (
    *(
        ".*",
        ".*",
        "orders.*",
        "orders, payments",
        "[a-o].*",
        r"topic-\d+",
        "(?i)TOPIC-.*,orders",
        "",
        "topic-1,,orders",
    ),
    *(".*[13579]", r"west\..*", "topic-[0-9]{2}", ".*heartbeats", "(topic|orders)-?.*", "^orders$", r"\w+", ".*,b"),
)


def mirror_cases(seed: int, count: int, most_names: int = 400) -> Iterator[JsonObject]:
    rng = random.Random(seed)
    return (_mirror_case(rng, f"m{seed}-{i}", most_names) for i in range(count))


def _mirror_case(rng: random.Random, case_id: str, most_names: int) -> JsonObject:
    names = _names(rng, _SPECIAL, most_names)
    case: JsonObject = {"rule": "mirror", "id": case_id, "config": {"settings": _settings(rng)}}
    if rng.random() < 0.7:
        most = rng.choice((1, 4, most_names // 12))
        as_kraft = rng.random() < 0.5
        topics = {name: rng.randint(1, most) for name in names}
        return case | {"topics": topics, "config": case["config"] | {"as_kraft": as_kraft}}
    consumed = {
        group: rng.sample(names, rng.randint(0, min(3, len(names)))) for group in _names(rng, _GROUPS, most_names)
    }
    return case | {"config": case["config"] | {"consumed": consumed}}


def _names(rng: random.Random, special: tuple[str, ...], most: int) -> list[str]:
    names = ["orders", "payments", *(f"{prefix}{i}" for prefix in PREFIXES for i in range(2))]
    names += [f"topic-{i}" for i in range(rng.choice((0, 3, 20, min(most, 100), most)))]
    names += [f"{rng.getrandbits(32):x}" for _ in range(rng.choice((0, 3, most // 8)))]
    chosen = [name for name in [*names, *special] if rng.random() < 0.7]
    rng.shuffle(chosen)
    return list(dict.fromkeys(chosen))


def _settings(rng: random.Random) -> dict[str, str]:
    settings = {
        "source.cluster.alias": "east",
        "target.cluster.alias": "east" if rng.random() < 0.05 else "west",
        "tasks.max": str(rng.choice((1, 2, 3, 8, rng.randint(1, 60)))),
    }
    for of in ("topics", "groups"):
        for name, likely in ((of, 0.5), (f"{of}.exclude", 0.3), (f"{of}.blacklist", 0.3)):
            if rng.random() < likely:
                settings[name] = rng.choice(_PATTERNS)
    others = {
        "replication.policy.class": (0.3, (IDENTITY, "org.apache.kafka.connect.mirror.DefaultReplicationPolicy")),
        "replication.policy.separator": (0.4, ("_", "-", "--", ".", "")),
        "replication.policy.internal.topic.separator.enabled": (0.2, ("false", "true")),
        "heartbeats.replication.enabled": (0.2, ("false", "true")),
        "enabled": (0.05, ("false", "true")),
        "emit.checkpoints.enabled": (0.05, ("false", "true")),
        "emit.checkpoints.interval.seconds": (0.05, ("-1", "0", "5")),
    }
    return settings | {name: rng.choice(values) for name, (likely, values) in others.items() if rng.random() < likely}
