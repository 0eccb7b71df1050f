"""Random groups with random events under random settings."""

import random
from collections.abc import Sequence

from rebalance_sim.kafka.coordinator.errors import Errors
from rebalance_sim.kafka.simulation.group_events import GroupEvent
from rebalance_sim.kafka.simulation.settings import SimulationSettings
from tests.support.cases import JsonObject
from tests.support.simulated import History, at, consumer

TOPICS = {"t": 4, "u": 3, "v": 1}
LAST_MS = 120_000
MOST_AT_FIRST = 4
"""No group exceeds ``group.max.size`` in the beginning."""
_PROTOCOLS = {
    "1.0": [["range"], ["sticky"], ["roundrobin", "range"]],
    "2.3": [["range"], ["sticky"], ["sticky", "range"]],
    "3.9": [["range"], ["sticky"], ["cooperative-sticky"], ["cooperative-sticky", "range"]],
    "4.3": [["range"], ["sticky"], ["cooperative-sticky"], ["range", "cooperative-sticky"]],
}
MIGRATING = "4.3 with KIP-848"
_PROTOCOLS[MIGRATING] = [["range"], ["cooperative-sticky"], ["server-uniform"], ["server-uniform"], ["server-range"]]
_LONGEST_MS = {"restart": 60_000, "stall": 400_000}
_STORE_ERRORS = (Errors.NOT_ENOUGH_REPLICAS, Errors.REQUEST_TIMED_OUT, Errors.NOT_LEADER_OR_FOLLOWER)


def random_settings(rng: random.Random) -> SimulationSettings:
    """Return random settings. The network always takes time: otherwise a client that retries at once would do so for
    ever.
    """
    return SimulationSettings(
        group_initial_rebalance_delay_ms=rng.choice([0, 3000]),
        group_max_size=rng.choice([MOST_AT_FIRST, 2**31 - 1, 2**31 - 1]),
        heartbeat_interval_ms=rng.choice([1000, 3000]),
        retry_backoff_ms=rng.choice([0, 100, 1000]),
        metadata_max_age_ms=rng.choice([0, 10_000, 300_000]),
        enable_auto_commit=rng.random() < 0.7,
        network_ms=rng.choice([1, 1, 20]),
        network_jitter_ms=rng.choice([0, 1, 30]),
        store_ms=rng.choice([0, 5, 200]),
        assignor_ms=rng.choice([0, 2, 500]),
        revoke_ms=rng.choice([0, 0, 2000]),
        poll_interval_ms=rng.choice([0, 100, 5000]),
        start_ms=rng.choice([0, 1000, 60_000]),
    )


def random_histories(rng: random.Random, version: str, count: int) -> list[History]:
    """Return groups that use the protocols of a version; with MIGRATING, groups that migrate to the consumer protocol
    and back.
    """
    return [_history(rng, version, f"g{rng.getrandbits(48)}") for _ in range(count)]


def _history(rng: random.Random, version: str, name: str) -> History:
    protocols = rng.choice(_PROTOCOLS[version])
    static = version != "1.0" and rng.random() < 0.4
    size = rng.randrange(1, 7)
    first = rng.randrange(0 if rng.random() < 0.2 else 1, min(size, MOST_AT_FIRST) + 1)
    consumers = [_consumer(rng, f"c{place}", protocols, static) for place in range(size)]
    if version == MIGRATING:
        # An async consumer needs three polls to revoke: with a shorter timeout every rebalance would fence it.
        consumers = [row | {"rebalance_timeout_ms": max(row["rebalance_timeout_ms"], 60_000)} for row in consumers]
    joins = {place: rng.randrange(LAST_MS) for place in range(first, size)}
    events = [at(at_ms, "join", place) for place, at_ms in joins.items()]
    for _ in range(rng.randrange(7)):
        events += _events(rng, version, _time(rng, events), size, joins)
    return History(consumers[:first], consumers[first:], events, name)


def _time(rng: random.Random, events: Sequence[GroupEvent]) -> int:
    """Return a random time, often soon after another event, while the group is still busy with that."""
    if events and rng.random() < 0.4:
        return min(rng.choice(events).at_ms + rng.randrange(rng.choice([100, 5000])), LAST_MS)
    return rng.randrange(LAST_MS)


def _consumer(rng: random.Random, name: str, protocols: Sequence[str], static: bool) -> JsonObject:
    return consumer(
        name,
        *rng.choice([["t"], ["t", "u"], ["v", "u", "t"]]),
        protocols=protocols,
        instance_id=f"i-{name}" if static and rng.random() < 0.8 else None,
        session_timeout_ms=rng.choice([6000, 10_000, 45_000]),
        rebalance_timeout_ms=rng.choice([10_000, 60_000, 300_000]),
    )


def _events(rng: random.Random, version: str, at_ms: int, size: int, joins: dict[int, int]) -> list[GroupEvent]:
    """Return one random event; a failure of the offsets topic ends later."""
    there = [place for place in range(size) if joins.get(place, -1) < at_ms]
    place = rng.choice(there) if there else None
    kind = rng.choice(
        ["leave", "crash", "restart", "restart", "stall", "subscribe", "protocols", "grow", "move", "fail"]
    )
    if kind == "grow":
        return [at(at_ms, "grow", value=rng.randrange(1, 4), topic=rng.choice([None, *TOPICS]))]
    if kind == "move":
        return [at(at_ms, "move-coordinator", value=rng.randrange(5000))]
    if kind == "fail":
        return [
            at(at_ms, "fail-store", value=rng.choice(_STORE_ERRORS)),
            at(at_ms + rng.randrange(1, 10_000), "fail-store", value=Errors.NONE),
        ]
    if place is None:
        return []
    if kind == "subscribe":
        return [at(at_ms, "subscribe", place, names=tuple(rng.choice([["t"], ["u", "v"], ["t", "u", "v"]])))]
    if kind == "protocols":
        return [at(at_ms, "protocols", place, names=tuple(rng.choice(_PROTOCOLS[version])))]
    return [at(at_ms, kind, place, rng.randrange(_LONGEST_MS.get(kind, 1)))]
