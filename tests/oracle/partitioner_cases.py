"""
Random cases for the producers' partitioners, each good for every release that knows its rule.

Batches are small, so that records fill them; sizes lie at the limits of variable-length numbers, and some batches are
filled to the last byte. Partitions without a leader, up to all of them, are given records as well.
"""

import random
from collections.abc import Iterator

from tests.oracle.random_cases import JsonObject, drawn

_TOPICS = ("t", "orders", "payments.eu", "ähre", "a-rather-long-name-of-a-topic")
_BATCH_OVERHEAD = 61
_RECORD_OVERHEAD = 7
"""Of a record without key and of fewer than 57 bytes, at most 63 ms and 63 records after the first of its batch."""
_LIMITS_OF_LENGTHS = (0, 1, 49, 57, 58, 63, 64, 65, 8_180, 8_192)


@drawn("m")
def murmur2_cases(rng: random.Random, case_id: str) -> JsonObject:
    keys = [rng.randbytes(rng.choice((0, 1, 2, 3, 4, rng.randint(5, 40), rng.randint(5, 40)))) for _ in range(20)]
    return {"rule": "murmur2", "id": case_id, "keys": [key.hex() for key in keys]}


def _metadata(rng: random.Random, case_id: str, rule: str, most_topics: int) -> JsonObject:
    topics = {topic: rng.randint(1, 12) for topic in rng.sample(_TOPICS, rng.randint(1, most_topics))}
    # The state of the generator may be any; as a Java long it has a sign.
    seed = rng.choice((0, rng.getrandbits(64) - 2**63, rng.getrandbits(64) - 2**63, rng.getrandbits(64) - 2**63))
    return {"rule": rule, "id": case_id, "topics": topics, "unavailable": _unavailable(rng, topics), "seed": seed}


def _unavailable(rng: random.Random, topics: dict[str, int]) -> list[list[object]]:
    share = {topic: rng.choice((0.0, 0.0, 0.0, 0.2, 0.6, 1.0)) for topic in topics}
    return [[topic, p] for topic, count in topics.items() for p in range(count) if rng.random() < share[topic]]


@drawn("d")
def default_partitioner_cases(rng: random.Random, case_id: str) -> JsonObject:
    case = _metadata(rng, case_id, "default-partitioner", most_topics=3)
    topics: dict[str, int] = case["topics"]
    steps: list[JsonObject] = []
    for _ in range(rng.randint(1, 40)):
        topic = rng.choice(list(topics))
        match rng.choices(("partition", "on-new-batch", "metadata"), weights=(60, 35, 5))[0]:
            case "partition":
                key = rng.choice((None, None, None, "", rng.randbytes(rng.randint(1, 12)).hex()))
                steps.append({"call": "partition", "topic": topic, "key": key})
            case "on-new-batch":
                previous = rng.randrange(topics[topic])
                steps.append({"call": "on-new-batch", "topic": topic, "partition": previous})
            case _:
                steps.append({"call": "metadata", "unavailable": _unavailable(rng, topics)})
    return case | {"steps": steps}


@drawn("b")
def built_in_partitioner_cases(rng: random.Random, case_id: str) -> JsonObject:
    case = _metadata(rng, case_id, "built-in-partitioner", most_topics=1)
    ((topic, partitions),) = case["topics"].items()
    sticky_batch_size = rng.choice((1, 100, rng.randint(1, 2000), 16_384))
    largest = rng.choice((sticky_batch_size // 4, sticky_batch_size, 3 * sticky_batch_size)) + 1
    without_leader = {number for _, number in case["unavailable"]}
    steps: list[JsonObject] = []
    for _ in range(rng.randint(1, 40)):
        match rng.choices(("peek", "update", "load", "metadata"), weights=(15, 60, 20, 5))[0]:
            case "peek":
                steps.append({"call": "peek"})
            case "update":
                size = rng.choice((0, rng.randint(1, largest), rng.randint(1, largest), sticky_batch_size))
                steps.append({"call": "update", "bytes": size, "enable_switch": rng.random() < 0.6})
            case "load":
                steps.append({"call": "load", "load": _load(rng, partitions, without_leader)})
            case _:
                unavailable = _unavailable(rng, {topic: partitions})
                without_leader = {number for _, number in unavailable}
                steps.append({"call": "metadata", "unavailable": unavailable})
    return case | {"sticky_batch_size": sticky_batch_size, "steps": steps}


def _load(rng: random.Random, partitions: int, without_leader: set[int]) -> JsonObject | None:
    """Return load statistics as the accumulator passes them: room for all partitions, those with a leader first."""
    if rng.random() < 0.15:
        return None
    numbers = [number for number in range(partitions) if number not in without_leader]
    longest = rng.choice((0, 1, 5, 1000))
    padding = [0] * (partitions - len(numbers))
    sizes = [rng.randint(0, longest) for _ in numbers]
    return {"queue_sizes": sizes + padding, "partition_ids": numbers + padding, "length": len(numbers)}


def round_robin_partitioner_cases(seed: int, count: int) -> Iterator[JsonObject]:
    """Yield producers with ``partitioner.class`` set to ``RoundRobinPartitioner``."""
    return (case | {"partitioner": "RoundRobinPartitioner"} for case in producer_cases(seed, count))


def uniform_sticky_partitioner_cases(seed: int, count: int) -> Iterator[JsonObject]:
    """Yield producers with ``partitioner.class`` set to ``UniformStickyPartitioner``."""
    return (case | {"partitioner": "UniformStickyPartitioner"} for case in producer_cases(seed, count))


@drawn("p")
def producer_cases(rng: random.Random, case_id: str) -> JsonObject:
    case = _metadata(rng, case_id, "producer", most_topics=3)
    topics: dict[str, int] = case["topics"]
    if rng.random() < 0.4:
        # With few partitions each of them soon has had a batch, from which on their loads count.
        topics |= {topic: min(count, 3) for topic, count in topics.items()}
        case["unavailable"] = [[topic, p] for topic, p in case["unavailable"] if p < topics[topic]]
    sizes, batch_size = _sizes_and_batch_size(rng)
    placed = rng.choice((0.0, 0.1, 0.4, 0.9))
    gaps = rng.choice(((0,), (0, 0, 0, 0, 1), (0, 0, 1, 2, 5), (0, 1, 7, 40), (1, 60, 150, 9000)))
    at_ms = rng.choice((0, 1_700_000_000_000, rng.randint(0, 2**40)))
    records = []
    for _ in range(rng.choice((rng.randint(0, 10), rng.randint(10, 60), rng.randint(60, 200)))):
        at_ms += rng.choice(gaps)
        topic = rng.choice(list(topics))
        partition = rng.randrange(topics[topic]) if rng.random() < placed else None
        key_bytes = None if partition is None else rng.choice((None, 0, rng.randint(1, 12), rng.randint(1, 80)))
        records.append(
            {
                "at_ms": at_ms,
                "topic": topic,
                "partition": partition,
                "key_bytes": key_bytes,
                "value_bytes": rng.choice(sizes),
            }
        )
    lingers = (0, 0, rng.randint(1, 8), rng.randint(1, 50), rng.randint(1, 50), rng.randint(50, 400))
    return case | {
        "batch_size": batch_size,
        "linger_ms": rng.choice(lingers),
        "adaptive": rng.random() < 0.75,
        "records": records,
    }


def _sizes_and_batch_size(rng: random.Random) -> tuple[list[int | None], int]:
    """Sizes of values, and a batch size that some of them fill."""
    match rng.choice(("exact", "random", "random", "tiny", "large", "limits")):
        case "exact":
            size = rng.randint(0, 56)
            return [size], _BATCH_OVERHEAD + rng.randint(1, 6) * (_RECORD_OVERHEAD + size)
        case "random":
            return [None, 0, *(rng.randint(1, 400) for _ in range(12))], rng.randint(100, 2000)
        case "tiny":
            return [None, 0, 1, 2], rng.randint(500, 2000)
        case "large":
            return [rng.randint(1, 3000) for _ in range(12)], rng.randint(1, 1000)
        case _:
            return [*_LIMITS_OF_LENGTHS], rng.choice((rng.randint(1, 300), rng.randint(300, 2000), 16_384))
