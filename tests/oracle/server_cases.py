"""
Random cases for the server-side assignors (KIP-848): topics have ids, members own what the coordinator gave them last.

At most seven ids share a hash code: the eighth in a bucket doubles a small map that ``computeIfAbsent`` fills. No set
of topics or of names that is copied has 12, 24, ... elements, for which Java 19 and later make another table than the
Java before. No bucket of the set of all partitions has more than eight: Java orders the partitions of such a bucket by
their identity hash codes.
"""

import base64
import random
from collections import Counter
from collections.abc import Iterator

from tests.oracle.conversation import uuid_hash
from tests.oracle.random_cases import JsonObject, assignor_case, bucket, drawn, place_racks
from tests.support.java import java_hash


def early_server_cases(seed: int, count: int) -> Iterator[JsonObject]:
    """The same, half of them with racks, which 3.7 takes into account; some racks have the same hash code."""
    rng = random.Random(seed)
    for i in range(count):
        case = server_case(rng, f"s{seed}-{i}")
        if rng.random() < 0.5:
            names = rng.choice((("r0", "r1", "r2", "r3"), ("Aa", "BB", "r2", "C#")))
            case["racks"] = place_racks(rng, case["members"], case["topics"], names)
        yield case


@drawn("s")
def share_cases(rng: random.Random, case_id: str) -> JsonObject:
    """A share group (KIP-932): several members have a partition, and some partitions cannot be assigned yet.

    What a member has is in the order of its record: topic by topic. At most three ids share a hash code, so that no
    bucket of partitions becomes a tree.
    """
    case = server_case(rng, case_id)
    topics: dict[str, int] = case["topics"]
    names = [*topics, "deleted-topic"]
    density, most = rng.choice((0.0, 0.1, 0.3, 0.6, 1.0)), rng.randint(1, len(names))
    for member in case["members"]:
        member["instance_id"] = None
        had = [
            [[name, p] for p in range(topics.get(name, 3)) if rng.random() < density]
            for name in rng.sample(names, rng.randint(0, most))
        ]
        for listed in had:
            rng.shuffle(listed)
        member["owned"] = [partition for listed in had for partition in listed]
    alike = rng.getrandbits(31) if rng.random() < 0.2 else None
    case["topic_ids"] = {name: _share_topic_id(rng, alike if k < 3 else None) for k, name in enumerate(names)}
    closed = rng.choice((0.0, 0.0, 0.0, 0.3, 0.9))
    case["unavailable"] = [[name, p] for name, n in topics.items() for p in range(n) if rng.random() < closed]
    return case


def _share_topic_id(rng: random.Random, alike: int | None) -> str:
    """Return a random id, of a hash code if one is given."""
    high = rng.getrandbits(64)
    low = rng.getrandbits(64) if alike is None else high ^ alike
    return base64.urlsafe_b64encode(high.to_bytes(8) + low.to_bytes(8)).decode().rstrip("=")


def server_case(rng: random.Random, case_id: str) -> JsonObject:
    """A group without a "rule", which is good for every server-side assignor."""
    case = assignor_case(rng, case_id)
    case.pop("racks", None)
    members: list[JsonObject] = case["members"]
    topics: dict[str, int] = case["topics"]
    if rng.random() < 0.12:
        _name_many_topics(rng, members, topics)
    if topics and rng.random() < 0.15:
        topics[rng.choice(list(topics))] = rng.randint(30, 60)
    for member in members:
        member["owned"] = []
        member["generation"] = -1
        member["rack"] = None
    if rng.random() < 0.75:
        _assign_before(rng, members, topics)
    names = [*topics, *dict.fromkeys(topic for member in members for topic, _ in member["owned"])]
    case["topic_ids"] = _topic_ids(rng, [(name, topics.get(name, 0)) for name in dict.fromkeys(names)])
    return case


server_cases = drawn("s")(server_case)


def _name_many_topics(rng: random.Random, members: list[JsonObject], topics: dict[str, int]) -> None:
    """Makes the maps of topics grow past their first size.

    No bucket has more than eight names: the ninth would double a small map.
    """
    more = {f"more-{i}": rng.randint(1, 3) for i in range(rng.randint(14, 21) - len(topics))}
    names = Counter(bucket(java_hash(name)) for name in topics)
    for name, partitions in more.items():
        of_name = bucket(java_hash(name))
        if names[of_name] < 8:
            names[of_name] += 1
            topics[name] = partitions
    for member in members:
        member["topics"] += [name for name in rng.sample(list(more), len(more)) if name in topics]


def _assign_before(rng: random.Random, members: list[JsonObject], topics: dict[str, int]) -> None:
    """A target assignment of the past: of other members, other subscriptions, fewer partitions, or another assignor."""
    holders = rng.sample(members, rng.randint(1, len(members)))
    weights = [rng.choice((1, 1, 1, 3, 10)) for _ in holders]
    in_blocks = rng.random() < 0.5
    given = rng.choice((1.0, 1.0, 0.8, 0.4))
    everything = [[topic, p] for topic, count in topics.items() for p in range(count)]
    if rng.random() < 0.15:
        everything += [["deleted-topic", p] for p in range(rng.randint(1, 3))]
    if rng.random() < 0.03:
        everything += [[topic, count + 1] for topic, count in topics.items()]
    if rng.random() < 0.4:
        rng.shuffle(everything)
    twice = 0.05 if rng.random() < 0.05 else 0.0
    if in_blocks:
        everything.sort()
        takers = sorted(rng.choices(range(len(holders)), weights, k=len(everything)))
    else:
        takers = rng.choices(range(len(holders)), weights, k=len(everything))
    for partition, taker in zip(everything, takers, strict=True):
        if rng.random() < given:
            holders[taker]["owned"].append(partition)
            if rng.random() < twice:
                rng.choice(members)["owned"].append(partition)


def _topic_ids(rng: random.Random, topics: list[tuple[str, int]]) -> dict[str, str]:
    """Random ids as Kafka makes them; some of the same hash code, or the same upper half."""
    kind = rng.choices(("random", "one hash", "one upper half"), weights=(80, 12, 8))[0]
    upper = rng.getrandbits(64)
    alike = rng.getrandbits(31)
    halves = _halves(rng, kind, upper, alike, len(topics))
    while _fullest_bucket([uuid_hash(*ids) for ids in halves], [count for _, count in topics]) > 8:
        halves = _halves(rng, kind, upper, alike, len(topics))
    ids = (base64.urlsafe_b64encode(high.to_bytes(8) + low.to_bytes(8)).decode().rstrip("=") for high, low in halves)
    return dict(zip((name for name, _ in topics), ids, strict=True))


def _halves(rng: random.Random, kind: str, upper: int, alike: int, count: int) -> list[tuple[int, int]]:
    halves: dict[tuple[int, int], None] = {}
    while len(halves) < count:
        high, low = rng.getrandbits(64), rng.getrandbits(64)
        if kind == "one hash" and len(halves) < 7:
            low = high ^ alike
        elif kind == "one hash" and bucket(uuid_hash(high, low)) == bucket(alike):
            continue
        elif kind == "one upper half":
            high = upper
        halves[high, low] = None
    return list(halves)


def _fullest_bucket(hashes: list[int], partitions: list[int]) -> int:
    """The most partitions in a bucket of a table of 64, the smallest whose full buckets become trees."""
    places = (31 * (31 + code) + p for code, count in zip(hashes, partitions, strict=True) for p in range(count))
    return max(Counter((place ^ (place & 0xFFFFFFFF) >> 16) & 63 for place in places).values(), default=0)
